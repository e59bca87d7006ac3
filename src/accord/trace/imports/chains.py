"""Importers of recordings with several ends: the conductor's events and its debug log, and the thinkwell conductor."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from accord.display import whole
from accord.trace.imports.source import (
    STEP_SECONDS,
    TraceSource,
    json_bytes,
    json_value,
    note,
    number_of,
    seconds_of_date,
    stderr,
    text,
)
from accord.trace.reader import TraceRecord

__all__ = ["DEBUG_TITLE", "EVENT_TYPES", "THINKWELL_DIRECTIONS", "read_conductor", "read_debug_log", "read_thinkwell"]

EVENT_TYPES = frozenset({"request", "response", "notification", "trace"})
THINKWELL_DIRECTIONS = frozenset({"left-to-right", "right-to-left", "internal"})
DEBUG_TITLE = b"=== Conductor Debug Log ==="
_PROXY = re.compile(r"proxy[(:]?(\d+)\)?", re.IGNORECASE)
_NAMES = {"client": "client", "agent": "agent", "conductor": "conductor"}


def end_name(name: Any) -> str:
    """The name of an end as this format writes it: `client`, `agent`, `proxy:0`, `conductor`."""
    word = whole(str(name))
    if word.lower() in _NAMES:
        return _NAMES[word.lower()]
    proxy = _PROXY.fullmatch(word)
    return f"proxy:{proxy[1]}" if proxy else word[:64] or "?"


def read_conductor(source: TraceSource) -> Iterator[TraceRecord]:
    """The conductor's `.jsons`: a message without its envelope per line; `ts` counts from the begin."""
    seconds = 0.0
    for number, value, line in source.objects():
        if value is None or str(value.get("type")) not in EVENT_TYPES:
            yield note(seconds, f"line {number} could not be read: {line[:200].decode(errors='replace')}")
            continue
        seconds = number_of(value.get("ts"), seconds + STEP_SECONDS)
        if value["type"] == "trace":
            yield note(seconds, line.decode(errors="replace"))
        else:
            yield text(seconds, end_name(value.get("from")), end_name(value.get("to")), json_bytes(_message(value)))


def _message(event: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"jsonrpc": "2.0"}
    if event["type"] == "response":
        key = "error" if event.get("is_error") else "result"
        return message | {"id": event.get("id"), key: event.get("payload")}
    if event["type"] == "request":
        message["id"] = event.get("id")
    message["method"] = event.get("method")
    if event.get("params") is not None:
        message["params"] = event["params"]
    return message


def read_thinkwell(source: TraceSource) -> Iterator[TraceRecord]:
    """The thinkwell conductor: a date, source and target, and a dispatch with the message's parts."""
    seconds = 0.0
    for number, value, line in source.objects():
        dispatch = _dispatch(value)
        if value is None or dispatch is None:
            yield note(seconds, f"line {number} could not be read: {line[:200].decode(errors='replace')}")
            continue
        date = seconds_of_date(value.get("timestamp"))
        seconds = seconds + STEP_SECONDS if date is None else date
        from_, to = end_name(value.get("source")), end_name(value.get("target"))
        yield text(seconds, from_, to, json_bytes(_dispatched(dispatch)))


def _dispatch(value: dict[str, Any] | None) -> dict[str, Any] | None:
    message = None if value is None else value.get("message")
    dispatch = message.get("dispatch") if isinstance(message, dict) else None
    return dispatch if isinstance(dispatch, dict) else None


def _dispatched(dispatch: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"jsonrpc": "2.0"}
    if "result" in dispatch or "error" in dispatch or dispatch.get("type") == "response":
        key = "error" if dispatch.get("error") is not None else "result"
        return message | {"id": dispatch.get("id"), key: dispatch.get(key)}
    if dispatch.get("id") is not None:
        message["id"] = dispatch["id"]
    message["method"] = dispatch.get("method")
    if dispatch.get("params") is not None:
        message["params"] = dispatch["params"]
    return message


_DEBUG_LINE = re.compile(r"(\S{1,64}) ([→←!]) \+(\d{1,15})ms ?(.*)", re.DOTALL)


def read_debug_log(source: TraceSource) -> Iterator[TraceRecord]:
    """The conductor's debug log: the component, an arrow into or out of it, and a line. Its order is not guaranteed."""
    seconds = 0.0
    for line in source.lines():
        found = _DEBUG_LINE.fullmatch(line.decode("utf-8", "surrogateescape"))
        if found is None:
            yield note(seconds, line.decode(errors="replace"))
            continue
        label, arrow, milliseconds, rest = found.groups()
        seconds = int(milliseconds) / 1000
        raw = rest.encode("utf-8", "surrogateescape")
        if arrow == "!":
            yield stderr(seconds, raw)
            continue
        ends = _debug_ends(label, arrow)
        yield text(seconds, *ends, raw, fault="" if json_value(raw) is not None else "not-json")


def _debug_ends(label: str, arrow: str) -> tuple[str, str]:
    # `C` is the conductor's own stdio: what goes in comes from the client. A number is a component that it started.
    inner = "client" if label == "C" else f"component:{label}"
    if label == "C":
        return ("client", "conductor") if arrow == "→" else ("conductor", "client")
    return ("conductor", inner) if arrow == "→" else (inner, "conductor")
