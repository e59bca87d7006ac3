"""The record forms of output, one JSON record per line: the session's events (`events`), or all texts (`wire`).

`docs/cli.md` documents the records one by one.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import msgspec

from accord.cli.permission import decided_by
from accord.cli.run.output import Ending, RunOpening, RunOutput
from accord.cli.show.screen import put
from accord.cli.status import CommandFailure
from accord.cli.target import Target
from accord.client import Verdict
from accord.display import json_line
from accord.jsonrpc.plain import plain_value
from accord.protocol.model import UNSET, Unknown
from accord.session.entry import ToolCall
from accord.session.event import Event, TokenUsage, UsageChanged
from accord.session.rules import Rule


def as_record(event: Event) -> dict[str, Any]:
    """An event as a record: its tag is the `type`."""
    record: dict[str, Any] = msgspec.to_builtins(event, enc_hook=_hooked)
    return {"type": record.pop("event"), **record}


def _hooked(value: Any) -> Any:
    if isinstance(value, Unknown):
        return value.payload
    return plain_value(value)


def _write(record: dict[str, Any]) -> None:
    # ASCII: lone surrogates, which some agents send, have no UTF-8; and no character controls a terminal.
    put(json_line(record))
    sys.stdout.flush()


class EventsOutput(RunOutput):
    """One record for each event, the same in every edition."""

    def __init__(self, write: Callable[[dict[str, Any]], None] = _write) -> None:
        self._write = write
        self._session: str | None = None
        self._target: Target | None = None

    def _write_record(self, type_: str, **fields: Any) -> None:
        self._write({"type": type_, "t": time.time(), "session": self._session, **fields})

    def take(self, opening: RunOpening) -> None:
        """Set the session of the records, without a record `start`."""
        self._session, self._target = opening.session.id, opening.target

    def opened(self, opening: RunOpening) -> None:
        """`start`, and the settings that the session begins with."""
        agent, session = opening.agent, opening.session
        self.take(opening)
        who = None if agent.info is None else {"name": agent.info.name, "version": agent.info.version}
        self._write_record(
            "start", agent=who, edition=agent.edition, cwd=session.cwd, resumed=opening.resumed, name=opening.name
        )
        for event in session.transcript.events(states=False):
            self.happened(event)

    def happened(self, event: Event) -> None:
        record = as_record(event)
        self._write_record(record.pop("type"), **record)

    def noise(self, text: str) -> None:
        self._write_record("noise", text=text)

    def judged(self, verdict: Verdict) -> None:
        question = verdict.question
        by = verdict.by if self._target is None else decided_by(verdict, self._target)
        rule = None if verdict.rule is None else str(verdict.rule)
        if question.request is not None:
            self._write_record("request", **_request(verdict), allowed=verdict.is_allowed, by=by, rule=rule)
            return
        self._write_record(
            "permission",
            title=question.title,
            tool=None if question.tool is None else question.tool.id,
            options=[{"id": each.id, "name": each.name, "kind": each.kind} for each in question.options],
            option=None if verdict.option is None else verdict.option.id,
            by=by,
            rule=rule,
        )

    def completed_unasked(self, call: ToolCall, rule: Rule, *, refused: bool = False) -> None:
        self._write_record("unasked", tool=call.id, kind=call.kind, title=call.title, rule=str(rule), refused=refused)

    def respawned(self, reason: str) -> None:
        self._write_record("respawn", reason=reason)

    def ended(self, ending: Ending) -> None:
        self._write_record(
            "end",
            stop_reason=ending.stop_reason,
            seconds=round(ending.seconds, 3),
            answer=ending.answer,
            usage=_usage(ending.usage),
            token_usage=_token_usage(ending.token_usage),
            **asdict(ending.consent),
        )

    def failed(self, failure: CommandFailure) -> None:
        self._write_record("error", **failure.record)


def _request(verdict: Verdict) -> dict[str, Any]:
    question = verdict.question
    if question.command is not None:
        return {"kind": "execute", "command": question.command.command, "cwd": question.command.cwd}
    call = question.tool
    return {} if call is None else {"kind": call.kind, "path": call.locations[0].path}


def _usage(usage: UsageChanged | None) -> dict[str, Any] | None:
    if usage is None:
        return None
    cost = usage.cost if usage.cost is not UNSET else None
    money = None if cost is None else {"amount": cost.amount, "currency": cost.currency}
    return {"used": usage.used, "size": usage.size, "cost": money}


def _token_usage(usage: TokenUsage | None) -> dict[str, int | None] | None:
    if usage is None:
        return None
    return {
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "total": usage.total_tokens,
        "thought": usage.thought_tokens,
        "cached_read": usage.cached_read_tokens,
        "cached_write": usage.cached_write_tokens,
    }


class WireOutput(RunOutput):
    """Every text of the wire, unchanged."""

    def __init__(self) -> None:
        self._connection = 0
        self._highest = -1

    def observe(self, direction: Any, text: bytes | bytearray) -> None:
        if self.is_broken:
            return
        if direction == "out":
            self._count(bytes(text))
        try:
            _write({"t": time.time(), "dir": direction, "conn": self._connection, "raw": _decoded(bytes(text))})
        except BrokenPipeError:
            self.is_broken = True

    def _count(self, text: bytes) -> None:
        """Count the connections: our ids restart with each connection, and only then."""
        if b'"method"' not in text:
            return
        try:
            id_ = json.loads(text).get("id")
        except (ValueError, AttributeError, RecursionError):
            return
        if isinstance(id_, int):
            if id_ <= self._highest or self._connection == 0:
                self._connection += 1
            self._highest = id_

    def failed(self, failure: CommandFailure) -> None:
        _write({"t": time.time(), "type": "error", **failure.record})


def _decoded(text: bytes) -> str:
    # Bytes that are no UTF-8 are shown as escapes.
    return text.decode("utf-8", "backslashreplace")
