"""The text form of output, for people: plan, tool calls, diffs, the agent's messages, cost."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from accord.cli.permission import decided_by
from accord.cli.run.output import ConsentCounts, Ending, RunOpening, RunOutput
from accord.cli.show.answer import (
    unasked_text,
    verdict_text,
)
from accord.cli.show.line import Line, Span, clipped, duration, usage_parts
from accord.cli.show.presentation import (
    about,
    compaction_state,
    kind_label,
    notice_note,
    respawn_note,
    stop_text,
    terminal_name,
)
from accord.cli.show.question import (
    question_lines,
)
from accord.cli.show.screen import TextScreen
from accord.cli.show.text_layout import (
    block_text,
    blocks_text,
    headed_line,
    plan_lines,
    thought_line,
    tool_line,
    tool_lines,
)
from accord.cli.status import CommandFailure
from accord.client import PermissionQuestion, Session, Verdict
from accord.display import (
    SafeText,
    clip,
    exact,
    filled,
    joined,
    json_text,
    own,
    prose,
    prose_line,
    settled,
)
from accord.protocol.model import UNSET
from accord.session.agent_requests import ReadFile
from accord.session.content import Block, Text
from accord.session.entry import ToolCall
from accord.session.event import (
    CompactionChanged,
    ConfigChanged,
    Event,
    MessageChanged,
    MessageChunk,
    ModeChanged,
    Noticed,
    PlanChanged,
    TerminalOutput,
    ToolChanged,
    ToolContentAdded,
    UnknownUpdate,
)
from accord.session.option import Select, Toggle
from accord.session.rules import Rule
from accord.session.tool import FINISHED

THOUGHT_COLUMNS = 100
THOUGHT_CHARACTERS = 1000


@dataclass
class _ShownCall:
    """The shown part of a tool call; `message` counts the messages that began before it."""

    since: float
    message: int
    status: str = "pending"
    """As of the last event that was shown: the transcript may be ahead of it."""
    head: bool = False
    over: bool = False


class TextOutput(RunOutput):
    """Writes events to a screen; a tool call when its outcome is known."""

    progress_is_shown = True

    def __init__(self, screen: TextScreen) -> None:
        self._screen = screen
        self._opening: RunOpening | None = None
        self._tools: dict[str, _ShownCall] = {}
        self._plans: dict[str, list[str]] = {}
        self._thought: list[SafeText] = []
        self._speaking: tuple[str, str | None] | None = None
        self._messages = 0
        self._held = ""
        """The begin of a character or a sequence whose end may come with the next chunk."""
        self._settings: dict[str, Any] = {}
        self.doing = own("starting")

    # --- the session

    @property
    def _session(self) -> Session:
        if self._opening is None:
            raise RuntimeError("nothing happens before a session is opened")
        return self._opening.session

    def opened(self, opening: RunOpening) -> None:
        self._opening = opening
        agent, session = opening.agent, opening.session
        info = agent.info
        name = opening.target.entry.name if info is None or opening.target.has_name else info.name
        who = exact(f"{name} {'' if info is None else info.version}".strip())
        parts = [who, exact(agent.edition or ""), filled("session {}", opening.short_id)]
        if opening.name:
            parts.append(exact(opening.name))
        if opening.resumed:
            parts.append(own("resumed"))
        self._screen.prose([Span(joined((part for part in parts if part), own(" · ")), "dim")])
        self._screen.flush()
        self._settings = _values(session)
        self.doing = own("working")

    def ended(self, ending: Ending) -> None:
        self._leave()
        parts = [stop_text(ending.stop_reason), duration(ending.seconds), *usage_parts(ending.usage)]
        parts += _served(ending.consent)
        opening = self._opening
        if opening is not None and opening.is_noted and opening.agent.can_reopen_sessions:
            parts.append(filled("go on: {}", opening.target.go_on("…")))
        self._screen.prose([Span(joined(parts, own(" · ")), "dim")])
        self._screen.flush()

    def failed(self, failure: CommandFailure) -> None:  # noqa: ARG002 - it is reported on stderr
        """End the current line, so that the reason begins on a new one."""
        if self._opening is not None:
            self._leave()
        self._screen.end_line()
        self._screen.flush()

    def step_aside(self) -> None:
        """End the line that is being written."""
        self._screen.end_line()
        self._screen.flush()

    def _leave(self) -> None:
        self._settle()
        self._leave_thought()
        for id_, call in self._session.transcript.tool_calls.items():
            if id_ in self._tools and not self._tools[id_].over:
                self._finish(call, self._tools[id_])

    def respawned(self, reason: str) -> None:
        note = respawn_note(reason)
        self._screen.prose([Span(filled("{}: {}", note.text, note.detail), note.style)])
        self._screen.flush()

    def noise(self, text: str) -> None:
        """Flagged, so that it is not taken for an answer."""
        self._settle()
        self._note(own("noise"), clipped(exact(text.strip(), 4 * THOUGHT_COLUMNS), THOUGHT_COLUMNS), "yellow")
        self._screen.flush()

    def judged(self, verdict: Verdict) -> None:
        """Show a decision that was made without the user."""
        if verdict.by in {"user", "question"}:
            # Answered by the user, or done because of that answer.
            return
        if verdict.is_allowed and isinstance(verdict.question.request, ReadFile):
            # Counted at the end: agents read hundreds of files.
            return
        self._show(verdict.question)
        by = verdict.by if self._opening is None else decided_by(verdict, self._opening.target)
        style = "dim" if verdict.is_allowed else "yellow"
        self._screen.prose([Span(filled("    {}", verdict_text(verdict, by)), style)])
        self._screen.flush()

    def completed_unasked(self, call: ToolCall, rule: Rule, *, refused: bool = False) -> None:
        self._leave_thought()
        cwd = "" if self._opening is None else self._session.cwd
        self._screen.prose([Span(filled("    {}", unasked_text(call, rule, cwd, refused=refused)), "yellow")])
        self._screen.flush()

    def shows(self, question: PermissionQuestion) -> bool:
        """Show the subject whole: the call may have changed since it was shown."""
        self._settle()
        self._leave_thought()
        self._screen.end_line()
        if not self._screen.is_terminal:
            return False
        self._show(question)
        self._screen.flush()
        return True

    def _show(self, question: PermissionQuestion) -> None:
        self._leave_thought()
        self._screen.end_line()
        self._screen.lines(question_lines(question, columns=self._screen.row_columns))
        if question.tool is not None and question.request is None:
            self._shown_call(question.tool.id).head = True

    # --- events

    def happened(self, event: Event) -> None:
        """Show an event, if its kind is shown."""
        show = self._SHOWN.get(type(event))
        if show is not None:
            if not isinstance(event, MessageChunk):
                self._settle()
            show(self, event)
            self._screen.flush()

    def _chunk(self, event: MessageChunk) -> None:
        if event.speaker == "user":
            return
        if event.speaker == "thought":
            self._speaking = None
            # One line of a thought is shown, however long it grows.
            if sum(map(len, self._thought)) < THOUGHT_CHARACTERS:
                self._thought.append(clip(block_text(event.block), THOUGHT_CHARACTERS))
            self.doing = own("thinking")
            return
        self._leave_thought()
        self._begin_message(event.id)
        self._grow(event.block)

    def _message(self, event: MessageChanged) -> None:
        if event.content is UNSET or not event.content or event.speaker == "user":
            return
        self._leave_thought()
        text = blocks_text(event.content)
        if event.speaker == "thought":
            self._thought.append(text)
            self._leave_thought()
            return
        self._begin_message(event.id)
        self._screen.text(text)

    def _grow(self, block: Block) -> None:
        """Running text; a character or an escape sequence that a chunk cuts in two waits for its other half."""
        if not isinstance(block, Text):
            self._settle()
            self._screen.text(block_text(block))
            return
        text = self._held + block.text
        end = settled(text)
        self._held = text[end:]
        self._screen.text(prose(text[:end]))

    def _settle(self) -> None:
        held, self._held = self._held, ""
        self._screen.text(prose(held))

    def _begin_message(self, message_id: str | None) -> None:
        """Begin another message on a new line."""
        if self._speaking != ("agent", message_id):
            self._settle()
            self._screen.end_line()
            self._speaking = ("agent", message_id)
            self._messages += 1
            self.doing = own("working")

    def _leave_thought(self) -> None:
        if self._thought:
            self._settle()
            thought, self._thought = joined(self._thought), []
            self._line(thought_line(thought))

    def _tool(self, event: ToolChanged | ToolContentAdded) -> None:
        call = self._session.transcript.tool_calls.get(event.id)
        if call is None:
            return
        shown_call = self._shown_call(call.id)
        if shown_call.over:
            return
        if type(event) is ToolChanged and (event.created or event.status is not UNSET):
            shown_call.status = event.status or "pending"
        if shown_call.status in FINISHED:
            self._leave_thought()
            self._finish(call, shown_call)
            self.doing = own("working")
            return
        self.doing = filled("{}: {}", kind_label(call.kind), about(call, self._session.cwd))
        if shown_call.status != "pending":
            # A call that is only announced may come in the middle of a message or a thought.
            self._leave_thought()
            if self._speaking == ("agent", None) and shown_call.message == self._messages:
                self._speaking = None

    def _shown_call(self, id_: str) -> _ShownCall:
        return self._tools.setdefault(id_, _ShownCall(time.monotonic(), self._messages))

    def _finish(self, call: ToolCall, shown_call: _ShownCall) -> None:
        shown_call.over = True
        self._speaking = None
        diffs = not shown_call.head
        if not shown_call.head or call.status != "completed":
            seconds = time.monotonic() - shown_call.since
            self._screen.prose(tool_line(call, self._session.cwd, seconds))
        shown_call.head = True
        self._screen.results(tool_lines(call, self._session.transcript.terminals, self._session.cwd, diffs=diffs))

    def _terminal(self, event: TerminalOutput) -> None:
        terminal = self._session.transcript.terminals.get(event.id)
        if terminal is not None and terminal.command:
            self.doing = filled("{}: {}", kind_label("execute"), terminal_name(terminal))

    def _plan(self, event: PlanChanged) -> None:
        self._leave_thought()
        steps = [entry.content for entry in event.entries]
        if steps != self._plans.get(event.id):
            self._speaking = None
            self._plans[event.id] = steps
            self._screen.prose(*plan_lines(event.entries, self._screen.columns))
        now = next((entry.content for entry in event.entries if entry.status == "in_progress"), None)
        if now is not None:
            self.doing = prose_line(now)

    def _config(self, _event: ConfigChanged) -> None:
        now = _values(self._session)
        for name, value in now.items():
            if name in self._settings and self._settings[name] != value:
                self._note(own("set"), filled("{} = {}", name, str(value)), "cyan")
        self._settings = now

    def _mode(self, event: ModeChanged) -> None:
        self._note(own("mode"), exact(event.mode), "cyan")
        self._settings = _values(self._session)

    def _notice(self, event: Noticed) -> None:
        note = notice_note(event)
        text = filled("{}: {}", note.text, note.detail) if note.detail else note.text
        self._note(exact(event.severity), text, note.style)

    def _compaction(self, event: CompactionChanged) -> None:
        state = compaction_state(event.status, event.error if isinstance(event.error, str) else None)
        if event.status == "in_progress":
            self.doing = joined(span.text for span in state)
        else:
            self._line(headed_line(own("compact"), *state))

    def _unknown(self, event: UnknownUpdate) -> None:
        self._speaking = None
        self._screen.results([headed_line(exact(event.tag), Span(json_text(event.payload), "dim"))])

    def _note(self, part: SafeText, text: SafeText, style: str) -> None:
        self._line(headed_line(part, Span(text, style)))

    def _line(self, line: Line) -> None:
        self._speaking = None
        self._screen.prose(line)

    _SHOWN: ClassVar[dict[type[Any], Callable[[Any, Any], None]]] = {
        MessageChunk: _chunk,
        MessageChanged: _message,
        ToolChanged: _tool,
        ToolContentAdded: _tool,
        TerminalOutput: _terminal,
        PlanChanged: _plan,
        ConfigChanged: _config,
        ModeChanged: _mode,
        Noticed: _notice,
        CompactionChanged: _compaction,
        UnknownUpdate: _unknown,
    }


def _served(counts: ConsentCounts) -> list[SafeText]:
    """The counts of requests that this client served."""
    done = {"read": counts.files_read, "written": counts.files_written}
    parts = [f"{count} file{'s' * (count > 1)} {verb}" for verb, count in done.items() if count]
    if counts.commands_run:
        parts.append(f"{counts.commands_run} command{'s' * (counts.commands_run > 1)} run")
    return [exact(part) for part in parts]


def _values(session: Session) -> dict[str, Any]:
    return {each.id: each.value for each in session.options if isinstance(each, Select | Toggle)}
