"""Importers of JSON lines that name a direction by one word: ACP inspectors, sacp-tee, `-o wire`, and probes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from accord.trace.imports.source import (
    STEP_SECONDS,
    TraceSource,
    json_bytes,
    json_value,
    note,
    number_of,
    refuse,
    seconds_of_date,
    stderr,
    text,
)
from accord.trace.reader import TraceRecord

__all__ = [
    "FSHARP_DIRECTIONS",
    "INSPECTOR_DIRECTIONS",
    "INSPECTOR_FORMAT",
    "PROBE_DIRECTIONS",
    "TEE_DIRECTIONS",
    "TEE_MARKS",
    "read_fsharp",
    "read_inspector",
    "read_probe",
    "read_tee",
    "read_tee_text",
    "read_wire",
]

_OUT = ("client", "agent")
_IN = ("agent", "client")
INSPECTOR_FORMAT = "acp-inspector-trace"
INSPECTOR_VERSION = 1
INSPECTOR_DIRECTIONS = {"client -> agent": _OUT, "agent -> client": _IN}
FSHARP_DIRECTIONS = {"fromClient": _OUT, "fromAgent": _IN}
TEE_DIRECTIONS = {"downstream": _OUT, "upstream": _IN}
TEE_MARKS = ("→ ".encode(), "← ".encode())
PROBE_DIRECTIONS = {"c>a": _OUT, "a>c": _IN, "out": _OUT, "in": _IN}


def _unread(seconds: float, number: int, line: bytes) -> TraceRecord:
    return note(seconds, f"line {number} could not be read: {line[:200].decode(errors='replace')}")


def read_inspector(source: TraceSource) -> Iterator[TraceRecord]:
    """`acp-inspector-trace` v1; `at` is in milliseconds. Also the lines of a bridge, which have no type and no time.

    Raises:
        TraceFileError: It is of a newer version.
    """
    connections: dict[Any, int] = {}
    seconds = 0.0
    for number, value, line in source.objects():
        if value is not None and value.get("type") == "header":
            _check_version(source, value)
            if value.get("dropped"):
                yield note(seconds, f"{value['dropped']} frames were not kept by the tool that recorded")
            continue
        ends = None if value is None else INSPECTOR_DIRECTIONS.get(str(value.get("direction")))
        frame = None if value is None else value.get("frame")
        if value is None or ends is None or not isinstance(frame, str):
            yield _unread(seconds, number, line)
            continue
        seconds = number_of(value.get("at"), (seconds + STEP_SECONDS) * 1000) / 1000
        connection = connections.setdefault(value.get("connection", 1), len(connections) + 1)
        raw, fault = _frame(frame, value.get("encoding"))
        yield text(seconds, *ends, raw, connection=connection, fault=fault)


def _check_version(source: TraceSource, header: dict[str, Any]) -> None:
    version = header.get("version")
    if type(version) is not int or version != INSPECTOR_VERSION:
        refuse(source, f"it is an {INSPECTOR_FORMAT} of version {version!r}, and {INSPECTOR_VERSION} is known here")


def _frame(frame: str, encoding: Any) -> tuple[bytes, str]:
    import base64  # noqa: PLC0415 - few files need it
    import binascii  # noqa: PLC0415

    if encoding == "base64":
        try:
            raw = base64.b64decode(frame, validate=True)
        except (binascii.Error, ValueError):
            return frame.encode("utf-8", "surrogatepass"), "not-json"
        return raw, ""
    raw = frame.encode("utf-8", "surrogatepass")
    return raw, "" if json_value(raw) is not None else "not-json"


def read_fsharp(source: TraceSource) -> Iterator[TraceRecord]:
    """Lines of the ACP-inspector in F#: a date, `fromClient` or `fromAgent`, and the text as a string."""
    seconds = 0.0
    for number, value, line in source.objects():
        ends = None if value is None else FSHARP_DIRECTIONS.get(str(value.get("direction")))
        raw = None if value is None else value.get("json")
        if value is None or ends is None or not isinstance(raw, str):
            yield _unread(seconds, number, line)
            continue
        date = seconds_of_date(value.get("ts"))
        seconds = seconds + STEP_SECONDS if date is None else date
        data = raw.encode("utf-8", "surrogatepass")
        yield text(seconds, *ends, data, fault="" if json_value(data) is not None else "not-json")


def read_tee(source: TraceSource) -> Iterator[TraceRecord]:
    """sacp-tee: a date, `downstream` or `upstream`, and a message without its envelope; an error is a text."""
    seconds = 0.0
    for number, value, line in source.objects():
        ends = None if value is None else TEE_DIRECTIONS.get(str(value.get("direction")))
        message = None if value is None else value.get("message")
        if value is None or ends is None or not isinstance(message, dict):
            yield _unread(seconds, number, line)
            continue
        date = seconds_of_date(value.get("timestamp"))
        seconds = seconds + STEP_SECONDS if date is None else date
        error = message.get("error")
        if isinstance(error, str):
            message = {**message, "error": {"code": -32603, "message": error}}
        yield text(seconds, *ends, json_bytes({"jsonrpc": "2.0", **message}))


def read_tee_text(source: TraceSource) -> Iterator[TraceRecord]:
    """sacp-tee's raw mode: an arrow and the text."""
    for place, line in enumerate(source.lines()):
        seconds = place * STEP_SECONDS
        down, up = TEE_MARKS
        if line.startswith((down, up)):
            raw = line[len(down) :]
            ends = _OUT if line.startswith(down) else _IN
            yield text(seconds, *ends, raw, fault="" if json_value(raw) is not None else "not-json")
        else:
            yield note(seconds, line.decode(errors="replace"))


def read_wire(source: TraceSource) -> Iterator[TraceRecord]:
    """`accord run -o wire`: `out` is from the client, and `raw` the text as a string."""
    seconds = 0.0
    for number, value, line in source.objects():
        ends = None if value is None else PROBE_DIRECTIONS.get(str(value.get("dir")))
        raw = None if value is None else value.get("raw")
        if value is None or ends is None or not isinstance(raw, str):
            yield _unread(seconds, number, line)
            continue
        seconds = number_of(value.get("t"), seconds + STEP_SECONDS)
        connection = value.get("conn")
        data = raw.encode("utf-8", "surrogatepass")
        fault = "" if json_value(data) is not None else "not-json"
        count = connection if type(connection) is int and connection > 0 else 1
        yield text(seconds, *ends, data, connection=count, fault=fault)


def read_probe(source: TraceSource) -> Iterator[TraceRecord]:
    """A probe's lines `{t, dir, msg}`: `c>a`, `a>c`, `err` (a line of stderr) or `note`."""
    seconds = 0.0
    for number, value, line in source.objects():
        if value is None or "msg" not in value:
            yield _unread(seconds, number, line)
            continue
        seconds = number_of(value.get("t"), seconds + STEP_SECONDS)
        message, word = value["msg"], value.get("dir")
        ends = PROBE_DIRECTIONS.get(str(word))
        if ends is not None:
            is_text = isinstance(message, str)
            raw = message.encode("utf-8", "surrogatepass") if is_text else json_bytes(message)
            yield text(seconds, *ends, raw, fault="not-json" if is_text and json_value(raw) is None else "")
        elif word == "err":
            yield stderr(seconds, str(message).encode("utf-8", "surrogatepass"))
        else:
            yield note(seconds, message if isinstance(message, str) else json_bytes(message).decode())
