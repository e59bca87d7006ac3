"""`accord sessions watch`: the records of a session that another process has open, as they come, or as text."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Literal

from accord.cli.owner import LiveSession, connection
from accord.cli.run.output import ConsentCounts, Ending, RunOpening
from accord.cli.run.text import TextOutput
from accord.cli.session_index import short_id
from accord.cli.show.line import Span
from accord.cli.show.screen import Progress, put, stdout_screen
from accord.cli.status import CommandFailure, Status, remark
from accord.cli.target import Target
from accord.config import AgentEntry
from accord.display import exact, filled, json_line, json_text, own
from accord.errors import StoreError
from accord.session.event import UsageChanged
from accord.session.transcript import Transcript
from accord.stores.text import decode_event

Form = Literal["text", "events"]
LINE_CHARACTERS = 400


@dataclass
class _WatchedSession:
    """The part of a session that the text output needs, folded from its records."""

    id: str
    cwd: str
    transcript: Transcript = field(default_factory=Transcript)

    @property
    def options(self) -> list[Any]:
        return self.transcript.config

    @property
    def title(self) -> str | None:
        return self.transcript.title


class _TextWatch:
    """Shows records as `accord run` shows a turn."""

    def __init__(self, wanted: LiveSession) -> None:
        self._wanted = wanted
        self._screen = stdout_screen(Progress(sys.stderr, shown=False))
        self._output = TextOutput(self._screen)
        self._session = _WatchedSession(wanted.session_id, wanted.cwd)
        self._others: dict[str, Callable[[dict[str, Any]], None]] = {
            "start": self._start,
            "end": self._end,
            "error": lambda record: remark(exact(str(record.get("message")))),
            "noise": lambda record: self._output.noise(str(record.get("text"))),
            "respawn": lambda record: self._output.respawned(str(record.get("reason"))),
            "permission": self._decided,
            "request": self._decided,
            "unasked": self._decided,
            "missed": self._missed,
        }

    def show(self, record: dict[str, Any]) -> None:
        type_ = str(record.get("type"))
        if type_ in self._others:
            self._others[type_](record)
            return
        fields = {name: value for name, value in record.items() if name not in {"type", "t", "session"}}
        try:
            event = decode_event(json.dumps({"event": type_, **fields}).encode())
        except StoreError:
            # An entry of an unknown kind: shown raw.
            self._line(filled("  {}  {}", type_, json_text(fields, None, LINE_CHARACTERS)), "dim")
            return
        self._session.transcript.fold(event)
        self._output.happened(event)

    def _start(self, record: dict[str, Any]) -> None:
        who = record.get("agent")
        info = None if who is None else SimpleNamespace(name=str(who["name"]), version=str(who["version"]))
        agent: Any = SimpleNamespace(info=info, edition=record.get("edition"), can_reopen_sessions=False)
        entry = AgentEntry(self._wanted.agent.split()[-1], (), "user", "")
        target = Target(entry, self._wanted.agent, is_command=info is not None)
        session: Any = self._session
        short = short_id(session.id, ())
        self._output.opened(RunOpening(agent, session, target, bool(record["resumed"]), record["name"], short))

    def _end(self, record: dict[str, Any]) -> None:
        usage = record.get("usage")
        shown = None if usage is None else UsageChanged(usage["used"], usage["size"])
        consent = ConsentCounts(**{name: record.get(name, 0) for name in ConsentCounts.__dataclass_fields__})
        self._output.ended(
            Ending(str(record["stop_reason"]), record["seconds"], record["answer"], shown, None, consent)
        )

    def _decided(self, record: dict[str, Any]) -> None:
        what = record.get("title") or record.get("path") or record.get("command") or record.get("kind") or ""
        how = record.get("option") or ("allowed" if record.get("allowed") else "not allowed")
        by = record.get("rule") or record.get("by") or ""
        self._line(filled("    {}: {}: {} ({})", str(record["type"]), str(what), str(how), str(by)), "dim")

    def _missed(self, record: dict[str, Any]) -> None:
        self._line(filled("    {} records were missed: this was read too slowly", int(record["count"])), "yellow")

    def _line(self, text: Any, style: str) -> None:
        self._output.step_aside()
        self._screen.line([Span(text, style)])
        self._screen.flush()


def watch(wanted: LiveSession, form: Form) -> int:
    """Show the session's events until it is closed.

    Raises:
        CommandFailure: It was closed just now, or its process died in a turn.
    """
    show = _TextWatch(wanted).show if form == "text" else _put_record
    runs = wanted.running
    with connection(wanted.socket_path) as owner:
        if owner is None:
            raise _closed(wanted)
        try:
            owner.send("watch", wanted.session_id)
            for record in owner.lines():
                if "accord" in record:
                    raise _closed(wanted)
                runs = _runs_after(record, runs=runs)
                show(record)
        except OSError:
            pass  # as if it had been closed
    if runs:
        message = f"the process {wanted.pid}, which ran the session, is gone"
        raise CommandFailure(Status.NO_AGENT, "session", message)
    if form == "text":
        remark(own("the session was closed"))
    return Status.DONE


def _runs_after(record: dict[str, Any], *, runs: bool) -> bool:
    if record.get("type") in {"end", "error"}:
        return False
    return record.get("state") != "idle" if record.get("type") == "state" else runs


def _put_record(record: dict[str, Any]) -> None:
    put(json_line(record))
    sys.stdout.flush()


def _closed(wanted: LiveSession) -> CommandFailure:
    return CommandFailure(Status.NO_SESSION, "session", f"{wanted.session_id} is not open any more")
