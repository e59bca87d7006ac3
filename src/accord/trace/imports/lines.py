"""Importers of recordings with a message per line, of two kinds.

JSON lines name a direction by one word: ACP inspectors, sacp-tee, `-o wire`, and probes. Bare messages have no times:
NDJSON of any tool and acpx journals, whose direction `direction` infers, and Toad's log, which begins with the sender.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from accord.trace.direction import UNKNOWN, DirectionFinder
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
    "ACPX_SCHEMA",
    "FSHARP_DIRECTIONS",
    "INSPECTOR_DIRECTIONS",
    "INSPECTOR_FORMAT",
    "TEE_DIRECTIONS",
    "TEE_MARKS",
    "TOAD_MARKS",
    "is_message",
    "read_acpx",
    "read_bare",
    "read_fsharp",
    "read_inspector",
    "read_probe",
    "read_tee",
    "read_tee_text",
    "read_toad",
    "read_wire",
]


_Ends: TypeAlias = tuple[str, str]

_OUT: _Ends = ("client", "agent")
_IN: _Ends = ("agent", "client")
INSPECTOR_FORMAT = "acp-inspector-trace"
INSPECTOR_VERSION = 1
INSPECTOR_DIRECTIONS = {"client -> agent": _OUT, "agent -> client": _IN}
FSHARP_DIRECTIONS = {"fromClient": _OUT, "fromAgent": _IN}
TEE_DIRECTIONS = {"downstream": _OUT, "upstream": _IN}
TEE_MARKS = ("→ ".encode(), "← ".encode())
PROBE_DIRECTIONS = {"c>a": _OUT, "a>c": _IN, "out": _OUT, "in": _IN}


class _Keys(NamedTuple):
    """Where a line has its direction, as a word, and its content."""

    direction: str
    ends: dict[str, _Ends]
    content: str
    kind: type = str

    def find(self, value: dict[str, Any] | None) -> tuple[_Ends, Any] | None:
        """The direction and the content of a line; None where it lacks one."""
        if value is None:
            return None
        ends, content = self.ends.get(str(value.get(self.direction))), value.get(self.content)
        return (ends, content) if ends is not None and isinstance(content, self.kind) else None


def _marked_lines(
    source: TraceSource,
    keys: _Keys,
    time_of: Callable[[dict[str, Any], float], float],
    record_of: Callable[[float, _Ends, Any, dict[str, Any]], TraceRecord],
) -> Iterator[TraceRecord]:
    """A record for each line that has its keys, a note for each other; `time_of` gets a line and a time without one."""
    seconds = 0.0
    for number, value, line in source.objects():
        found = keys.find(value)
        if value is None or found is None:
            yield _unread(seconds, number, line)
        else:
            seconds = time_of(value, seconds + STEP_SECONDS)
            yield record_of(seconds, *found, value)


def _unread(seconds: float, number: int, line: bytes) -> TraceRecord:
    return note(seconds, f"line {number} could not be read: {line[:200].decode(errors='replace')}")


def _date_at(key: str) -> Callable[[dict[str, Any], float], float]:
    def time_of(value: dict[str, Any], otherwise: float) -> float:
        date = seconds_of_date(value.get(key))
        return otherwise if date is None else date

    return time_of


def _string_text(seconds: float, ends: _Ends, string: str, connection: int = 1) -> TraceRecord:
    raw = string.encode("utf-8", "surrogatepass")
    return text(seconds, *ends, raw, connection=connection, fault=_fault_of(raw))


def _fault_of(raw: bytes) -> str:
    return "" if json_value(raw) is not None else "not-json"


def read_inspector(source: TraceSource) -> Iterator[TraceRecord]:
    """`acp-inspector-trace` v1; `at` is in milliseconds. Also the lines of a bridge, which have no type and no time.

    Raises:
        TraceFileError: It is of a newer version.
    """
    keys = _Keys("direction", INSPECTOR_DIRECTIONS, "frame")
    connections: dict[str, int] = {}
    """The numbers of connections, by the tool's names for them."""
    seconds = 0.0
    for number, value, line in source.objects():
        if value is not None and value.get("type") == "header":
            _check_version(source, value)
            if value.get("dropped"):
                yield note(seconds, f"{value['dropped']} frames were not kept by the tool that recorded")
            continue
        found = keys.find(value)
        if value is None or found is None:
            yield _unread(seconds, number, line)
            continue
        ends, frame = found
        seconds = number_of(value.get("at"), (seconds + STEP_SECONDS) * 1000) / 1000
        connection = connections.setdefault(repr(value.get("connection", 1)), len(connections) + 1)
        raw, fault = _frame(frame, value.get("encoding"))
        yield text(seconds, *ends, raw, connection=connection, fault=fault)


def _check_version(source: TraceSource, header: dict[str, Any]) -> None:
    version = header.get("version")
    if type(version) is not int or version != INSPECTOR_VERSION:
        refuse(source, f"it is version {version!r} of {INSPECTOR_FORMAT}, and Accord reads version {INSPECTOR_VERSION}")


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
    return raw, _fault_of(raw)


def read_fsharp(source: TraceSource) -> Iterator[TraceRecord]:
    """Lines of the ACP-inspector in F#: a date, `fromClient` or `fromAgent`, and the text as a string."""
    keys = _Keys("direction", FSHARP_DIRECTIONS, "json")
    return _marked_lines(source, keys, _date_at("ts"), lambda seconds, ends, raw, _: _string_text(seconds, ends, raw))


def read_tee(source: TraceSource) -> Iterator[TraceRecord]:
    """sacp-tee: a date, `downstream` or `upstream`, and a message without its envelope; an error is a text."""
    keys = _Keys("direction", TEE_DIRECTIONS, "message", dict)
    return _marked_lines(source, keys, _date_at("timestamp"), _tee_record)


def _tee_record(seconds: float, ends: _Ends, message: dict[str, Any], _: object) -> TraceRecord:
    error = message.get("error")
    if isinstance(error, str):
        message = {**message, "error": {"code": -32603, "message": error}}
    return text(seconds, *ends, json_bytes({"jsonrpc": "2.0", **message}))


def read_tee_text(source: TraceSource) -> Iterator[TraceRecord]:
    """sacp-tee's raw mode: an arrow and the text."""
    for place, line in enumerate(source.lines()):
        seconds = place * STEP_SECONDS
        down, up = TEE_MARKS
        if line.startswith((down, up)):
            raw = line[len(down) :]
            ends = _OUT if line.startswith(down) else _IN
            yield text(seconds, *ends, raw, fault=_fault_of(raw))
        else:
            yield note(seconds, line.decode(errors="replace"))


def read_wire(source: TraceSource) -> Iterator[TraceRecord]:
    """`accord run -o wire`: `out` is from the client, and `raw` the text as a string."""
    keys = _Keys("dir", PROBE_DIRECTIONS, "raw")
    return _marked_lines(source, keys, _time_of, _wire_record)


def _time_of(value: dict[str, Any], otherwise: float) -> float:
    return number_of(value.get("t"), otherwise)


def _wire_record(seconds: float, ends: _Ends, string: str, value: dict[str, Any]) -> TraceRecord:
    connection = value.get("conn")
    return _string_text(seconds, ends, string, connection if type(connection) is int and connection > 0 else 1)


def read_probe(source: TraceSource) -> Iterator[TraceRecord]:
    """A probe's lines `{t, dir, msg}`: `c>a`, `a>c`, `err` (a line of stderr) or `note`."""
    seconds = 0.0
    for number, value, line in source.objects():
        if value is None or "msg" not in value:
            yield _unread(seconds, number, line)
            continue
        seconds = _time_of(value, seconds + STEP_SECONDS)
        message, word = value["msg"], value.get("dir")
        ends = PROBE_DIRECTIONS.get(str(word))
        if ends is not None:
            is_text = isinstance(message, str)
            yield _string_text(seconds, ends, message) if is_text else text(seconds, *ends, json_bytes(message))
        elif word == "err":
            yield stderr(seconds, str(message).encode("utf-8", "surrogatepass"))
        else:
            yield note(seconds, message if isinstance(message, str) else json_bytes(message).decode())


ACPX_SCHEMA = "acpx.session.journal.v1"
TOAD_MARKS = (b"[client] ", b"[agent] ", b"[error] ")


def is_message(value: Any) -> bool:
    """Whether a JSON value looks like a message of JSON-RPC, or a batch of them."""
    if isinstance(value, list):
        return bool(value) and all(is_message(each) and not isinstance(each, list) for each in value)
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("method"), str):
        return "jsonrpc" in value or "params" in value or "id" in value
    return "id" in value and ("result" in value or "error" in value)


def read_bare(source: TraceSource) -> Iterator[TraceRecord]:
    """Each line is a message, or not JSON and marked so."""
    finder = DirectionFinder()
    for place, line in enumerate(source.lines()):
        yield _placed(place * STEP_SECONDS, line, finder)


def _placed(seconds: float, line: bytes, finder: DirectionFinder) -> TraceRecord:
    if json_value(line) is None:
        return text(seconds, UNKNOWN, UNKNOWN, line, fault="not-json")
    ends = finder.find(line)
    return text(seconds, ends.source, ends.target, line)


def read_acpx(source: TraceSource) -> Iterator[TraceRecord]:
    """The messages between acpx's marker lines; a marker is a note."""
    finder = DirectionFinder()
    for place, line in enumerate(source.lines()):
        seconds = place * STEP_SECONDS
        value = json_value(line)
        if isinstance(value, dict) and value.get("schema") == ACPX_SCHEMA:
            yield note(seconds, line.decode(errors="replace"))
        else:
            yield _placed(seconds, line, finder)


def read_toad(source: TraceSource) -> Iterator[TraceRecord]:
    """Lines that begin with their sender in brackets."""
    for place, line in enumerate(source.lines()):
        seconds = place * STEP_SECONDS
        mark, _, rest = line.partition(b" ")
        fault = "" if json_value(rest) is not None else "not-json"
        if mark == b"[client]":
            yield text(seconds, "client", "agent", rest, fault=fault)
        elif mark == b"[agent]":
            yield text(seconds, "agent", "client", rest, fault=fault)
        elif mark == b"[error]":
            yield stderr(seconds, rest)
        else:
            yield note(seconds, line.decode(errors="replace"))
