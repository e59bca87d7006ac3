"""The agent end of a conversation with a client, in one turn of one session, and its messages in each edition."""

from __future__ import annotations

import asyncio
import base64
import os
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from accord.check.engine.evidence import Entry, Inconclusive, Record, RecordBudget, StepFailed, cost_of, read_json
from accord.check.engine.judging import Notes, StepRegistry
from accord.check.engine.wire import ProgramEnded, RecordedWire, Silence
from accord.check.rule import EDITIONS, EditionName, Options

Update: TypeAlias = dict[str, Any]
INFO = {"name": "accord-check", "title": "The check of clients", "version": "1"}
CANCEL_ME = "accord check: please cancel this turn now, and leave the question open"
"""The message that asks a user to cancel; a client that cannot is not judged by it."""
HOLD_ON = "accord check: this question is taken back at once"
"""The title of a question that will be withdrawn."""
OPTIONS = (("yes", "allow_once"), ("always", "allow_always"), ("no", "reject_once"), ("never", "reject_always"))


def greeting(edition: EditionName, version: int) -> dict[str, Any]:
    """The answer to `initialize` of an agent without optional capabilities."""
    if edition == "v1":
        return {"protocolVersion": version, "agentCapabilities": {}, "agentInfo": INFO, "authMethods": []}
    said: dict[str, Any] = {"protocolVersion": version, "capabilities": {"session": {}}, "authMethods": []}
    return {**said, ("agentInfo" if edition == "v2_june" else "info"): INFO}


def opened(edition: EditionName, session: str) -> dict[str, Any]:
    """The answer to `session/new`: with an option, so that there is something to set."""
    return {"sessionId": session, "configOptions": config_options(edition)}


def config_options(edition: EditionName, value: Any = "small") -> list[dict[str, Any]]:
    """One option of the only kind that every edition has."""
    key = "configId" if edition == "v2" else "id"
    values = [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}]
    option = {"type": "select", "name": "Size", "category": "_size", "currentValue": value, "options": values}
    return [{key: "size", **option}]


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "text": content}


def chunk(edition: EditionName, content: str, message: str = "m1") -> Update:
    named = {} if edition == "v1" else {"messageId": message}
    return {"sessionUpdate": "agent_message_chunk", "content": text(content), **named}


def tool(edition: EditionName, id_: str, **fields: Any) -> Update:
    """The first update of a tool call."""
    kind = "tool_call" if edition == "v1" else "tool_call_update"
    return {"sessionUpdate": kind, "toolCallId": id_, "title": f"Tool {id_}", "kind": "other", **fields}


def permission(
    edition: EditionName, session: str, title: str, options: tuple[tuple[str, str], ...] = OPTIONS
) -> dict[str, Any]:
    offered = [{"optionId": id_, "name": id_.title(), "kind": kind} for id_, kind in options]
    call = {"toolCallId": "call-1", "title": title, "kind": "other", "status": "pending"}
    if edition == "v2":
        subject = {"type": "tool_call", "toolCall": call}
        return {"sessionId": session, "title": title, "subject": subject, "options": offered}
    return {"sessionId": session, "toolCall": call, "options": offered}


def elicitation(session: str, mode: str) -> dict[str, Any]:
    """The params of a question with a form or an address."""
    scope = {"sessionId": session, "mode": mode, "message": "accord check: who are you?"}
    if mode == "url":
        return {**scope, "elicitationId": "visit-1", "url": "https://example.invalid/visit?x=1"}
    properties = {
        "name": {"type": "string", "title": "Name", "default": "Ada"},
        "age": {"type": "integer", "minimum": 0, "default": 36},
        "agrees": {"type": "boolean", "default": True},
    }
    return {**scope, "requestedSchema": {"type": "object", "properties": properties, "required": ["name"]}}


# --- every update of an edition


def every_update(edition: EditionName, offered: dict[str, Any]) -> list[Update]:
    """Every kind of update that this client may get, each with all optional fields."""
    if edition == "v1":
        return [*_chunks("v1"), *_work_v1(), *_state("v1"), *_gated_v1(offered)]
    if edition == "v2_june":
        return [*_chunks("v2_june"), *_whole(), *_work_v2("v2_june"), *_state("v2_june")]
    return [*_chunks("v2"), *_whole(), *_work_v2("v2"), *_terminal_v2(), *_state("v2"), *_session_facts_v2()]


def _chunks(edition: EditionName) -> list[Update]:
    ids = {"v1": {}, "v2_june": {"messageId": "m2"}, "v2": {"messageId": "m2"}}[edition]
    blocks = [
        text("Hello, wörld 👋"),
        {"type": "image", "mimeType": "image/png", "data": base64.b64encode(b"no image").decode()},
        {"type": "audio", "mimeType": "audio/wav", "data": base64.b64encode(b"no sound").decode()},
        {
            "type": "resource_link",
            "uri": "file:///notes.txt",
            "name": "notes.txt",
            "size": 12,
            "mimeType": "text/plain",
        },
        {"type": "resource", "resource": {"uri": "file:///notes.txt", "text": "hello", "mimeType": "text/plain"}},
        {"type": "resource", "resource": {"uri": "file:///x.bin", "blob": "AAAA"}},
    ]
    said = [{"sessionUpdate": "agent_message_chunk", "content": block, **ids} for block in blocks]
    others = ("user_message_chunk", "agent_thought_chunk")
    return [*said, *({"sessionUpdate": kind, "content": text("hm"), **ids} for kind in others)]


def _whole() -> list[Update]:
    kinds = ("user_message", "agent_message", "agent_thought")
    return [{"sessionUpdate": kind, "messageId": f"{kind}-3", "content": [text("all of it")]} for kind in kinds]


def _work_v1() -> list[Update]:
    content = [
        {"type": "content", "content": text("found")},
        {"type": "diff", "path": "/notes.txt", "oldText": "a\n", "newText": "b\n"},
    ]
    fields = {"kind": "edit", "status": "pending", "rawInput": {"path": "/notes.txt"}, "content": []}
    entries = [{"content": "look", "priority": "high", "status": "in_progress"}]
    return [
        tool("v1", "call-2", **fields, locations=[{"path": "/notes.txt", "line": 3}]),
        {"sessionUpdate": "tool_call_update", "toolCallId": "call-2", "status": "in_progress"},
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "call-2",
            "status": "completed",
            "content": content,
            "rawOutput": [1],
        },
        {"sessionUpdate": "plan", "entries": entries},
    ]


def _work_v2(edition: EditionName) -> list[Update]:
    diff: dict[str, Any] = {"type": "diff", "changes": [{"operation": "modify", "path": "/notes.txt"}]}
    if edition == "v2_june":
        diff = {"type": "diff", "path": "/notes.txt", "oldText": "a\n", "newText": "b\n"}
    entries = [{"content": "look", "priority": "high", "status": "in_progress"}]
    plan = {"type": "items", ("planId" if edition == "v2" else "id"): "plan-1", "entries": entries}
    fields = {"kind": "edit", "status": "in_progress", "rawInput": {"path": "/notes.txt"}}
    content = {"type": "content", "content": text("found")}
    return [
        tool(edition, "call-2", **fields, locations=[{"path": "/notes.txt", "line": 3}]),
        {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "call-2", "content": content},
        {"sessionUpdate": "tool_call_update", "toolCallId": "call-2", "status": "completed", "content": [diff]},
        {"sessionUpdate": "plan_update", "plan": plan},
    ]


def _state(edition: EditionName) -> list[Update]:
    command: dict[str, Any] = {"name": "web", "description": "Search", "input": {"hint": "what for"}}
    if edition == "v2":
        command = {"type": "command", **command, "input": {"type": "text", "hint": "what for"}}
    return [
        {"sessionUpdate": "available_commands_update", "availableCommands": [command]},
        {"sessionUpdate": "config_option_update", "configOptions": config_options(edition)},
        {"sessionUpdate": "session_info_update", "title": "A check", "updatedAt": "2026-01-02T03:04:05Z"},
        {"sessionUpdate": "usage_update", "used": 10, "size": 100, "cost": {"amount": 0.5, "currency": "EUR"}},
    ]


def _compaction() -> list[Update]:
    summary = {"sessionUpdate": "compaction_summary_chunk", "compactionId": "c1", "content": text("short")}
    return [
        {"sessionUpdate": "compaction_update", "compactionId": "c1", "status": "in_progress"},
        summary,
        {"sessionUpdate": "compaction_update", "compactionId": "c1", "status": "completed", "summary": [text("short")]},
    ]


NOTICE = {"sessionUpdate": "notice", "severity": "warning", "title": "Nearly full", "description": "Of tokens."}
BOOLEAN = {"type": "boolean", "name": "Loud", "currentValue": True}


def _gated_v1(offered: dict[str, Any]) -> list[Update]:
    session = offered.get("session")
    session = session if isinstance(session, dict) else {}
    options = session.get("configOptions")
    said: list[Update] = [{"sessionUpdate": "current_mode_update", "currentModeId": "ask"}]
    if isinstance(session.get("notices"), dict):
        said.append(NOTICE)
    if isinstance(session.get("compaction"), dict):
        said += _compaction()
    if isinstance(options, dict) and isinstance(options.get("boolean"), dict):
        both = [*config_options("v1"), {"id": "loud", **BOOLEAN}]
        said.append({"sessionUpdate": "config_option_update", "configOptions": both})
    return said


def _terminal_v2() -> list[Update]:
    data = base64.b64encode("ö".encode()).decode()
    return [
        {"sessionUpdate": "terminal_update", "terminalId": "t1", "command": "ls", "cwd": "/", "output": {"data": data}},
        {"sessionUpdate": "terminal_output_chunk", "terminalId": "t1", "data": data},
        {"sessionUpdate": "terminal_update", "terminalId": "t1", "exitStatus": {"exitCode": 0}},
    ]


def _session_facts_v2() -> list[Update]:
    both = [*config_options("v2"), {"configId": "loud", **BOOLEAN}]
    return [
        {"sessionUpdate": "config_option_update", "configOptions": both},
        {"sessionUpdate": "state_update", "state": "requires_action", "background": []},
        {"sessionUpdate": "state_update", "state": "running", "background": []},
        NOTICE,
        *_compaction(),
    ]


# --- the conversation

When: TypeAlias = Literal["turn", "after", "hold"]
"""The part for a step: inside a turn, after its answer, or in a turn of its own that the client should cancel."""
P = TypeVar("P", bound=Callable[..., Awaitable[Notes]])

# A client that left a request unanswered does not get the full time again.
IMPATIENT_SECONDS = 0.5
KNOWS = "ACCORD-CLIENT-EXT-001"
STEPS = StepRegistry()
"""The steps of checks of clients."""


def step(
    *offer: str, editions: tuple[EditionName, ...] = EDITIONS, order: int = 50, when: When = "turn"
) -> Callable[[P], P]:
    """Make a function a step, named like it; `offer` is the capability that a client needs for it, as a path.

    It returns its notes; it raises `StepFailed` where it fails and `Inconclusive` where it does not apply to this
    client.
    """
    gate = dict.fromkeys(EDITIONS, ".".join(offer)) if offer else None
    return STEPS.step(when, editions=editions, gate=gate, order=order)


class Pipe(Protocol):
    """The connection to the client's program."""

    def write(self, data: bytes) -> None: ...

    def close_stdin(self) -> None: ...


class ClientWire(RecordedWire):
    """The agent end of a connection. `on_message` gets requests and notifications of the client, never its answers."""

    def __init__(
        self,
        name: str,
        timeout_seconds: float,
        on_message: Callable[[ClientWire, dict[str, Any]], None],
        budget: RecordBudget,
    ) -> None:
        super().__init__(name, timeout_seconds, {}, budget)
        self._on_message = on_message
        self._pipe: Pipe | None = None

    def join(self, pipe: Pipe) -> None:
        """Use a pipe for all further messages."""
        self._pipe = pipe

    def feed(self, data: bytes) -> None:
        """Take the client's output; b"" at its end."""
        self._on_data(data)

    def _take(self, line: bytes) -> None:
        message = read_json(line)
        self._keep(line, message, sent=False)
        for each in message if isinstance(message, list) else [message]:
            if isinstance(each, dict) and isinstance(each.get("method"), str):
                self._on_message(self, each)

    def send(self, line: bytes) -> int:
        """Send any line, also a malformed one; returns its place in the record."""
        place = super().send(line)
        if self._pipe is not None:
            self._pipe.write(line + b"\n")
        return place

    def answer_to(self, id_: Any, result: Any) -> None:
        self.respond({"jsonrpc": "2.0", "id": id_, "result": result})

    def respond(self, answer: dict[str, Any]) -> None:
        """Send an answer; counted, since a client may send requests without end."""
        place = self.send_json(answer)
        self._allowance.spend(cost_of(self.entries[place].raw))

    def leave(self) -> None:
        if self._pipe is not None:
            self._pipe.close_stdin()

    def record(self, stderr: bytes, ended_by: str, status: int | None) -> Record:
        """The record of this connection; `ended_by` and `status` are those of the client."""
        return Record(self.name, self.entries, b"".join(self._parts), stderr, ended_by, status)


class ClientConversation:
    """The stub agent in one turn of one session."""

    def __init__(
        self, wire: ClientWire, options: Options, session: str, cwd: str, offered: dict[str, Any], blamed: set[str]
    ) -> None:
        self.wire = wire
        self.options = options
        self.edition = options.edition
        self.session = session
        self.cwd = cwd
        """The working directory that the client gave the session."""
        self.offered = offered
        """Its capabilities."""
        self.cancelled = asyncio.Event()
        self._blamed = blamed
        self._folder: Path | None = None

    @property
    def now(self) -> int:
        """The place of the next line in the record."""
        return len(self.wire.entries)

    @property
    def folder(self) -> Path:
        """A new folder for files in the session's directory; removed after the part.

        Raises:
            Unseen: The session works somewhere else.
        """
        if self._folder is None:
            if not os.path.isabs(self.cwd):  # noqa: PTH117 - a path of the client, as text
                raise Inconclusive("it is not known where the session works")
            try:
                self._folder = Path(tempfile.mkdtemp(prefix=".accord-check-", dir=self.cwd))
            except OSError as error:
                raise Inconclusive(f"the session works where no file can be made: {error.strerror}") from None
        return self._folder

    def sweep(self) -> Path | None:
        """The folder that was made, if any; the caller removes it."""
        folder, self._folder = self._folder, None
        return folder

    def offers(self, *path: str) -> bool:
        """Whether the client offers a capability; an empty object counts."""
        said: Any = self.offered
        for key in path:
            said = said.get(key) if isinstance(said, dict) else None
        return said is not None and said is not False

    # --- updates

    def update(self, update: Update) -> int:
        """Send an update; returns its place in the record."""
        return self.wire.notify("session/update", {"sessionId": self.session, "update": update})

    # --- requests

    def ask(self, method: str, **params: Any) -> Any:
        """Send a request about this session without waiting; returns its id."""
        return self.wire.ask(method, {"sessionId": self.session, **params})

    async def answer(self, id_: Any, rule: str, seconds: float | None = None) -> dict[str, Any]:
        """The answer.

        Raises:
            StepFailed: There is none; `rule` is blamed.
        """
        bound = self.options.timeout_seconds if seconds is None else seconds
        bound = min(bound, IMPATIENT_SECONDS) if rule in self._blamed else bound
        try:
            return await self.wire.answer(id_, bound)
        except Silence as silence:
            self._blamed.add(rule)
            asked = [entry for entry in self.wire.entries if entry.sent and _id_of(entry) == id_]
            if isinstance(silence, ProgramEnded):
                raise ClientLeft("the client left instead of answering", rule, *asked) from None
            raise StepFailed(f"it was not answered: {silence}", rule, *asked) from None

    async def ask_and_wait(self, method: str, params: Any, rule: str, seconds: float | None = None) -> Notes:
        """Send a request and wait for the answer, result or error; notes its id. `rule` is blamed for silence."""
        id_ = self.wire.ask(method, params)
        await self.answer(id_, rule, seconds)
        return {"id": id_}

    def exchange(self, id_: Any) -> list[Entry]:
        """The lines with an id: a request and its answer."""
        return [entry for entry in self.wire.entries if _id_of(entry) == id_]

    async def is_alive(self, rule: str, *because: Entry) -> None:
        """Whether the client still answers.

        Raises:
            StepFailed: It does not; `rule` is blamed, `because` are the lines after which it was so.
        """
        id_ = self.wire.ask("_accord.check/are_you_there", {})
        if KNOWS in self._blamed:
            # It does not answer unknown requests, which another rule judges: a live connection has to be enough.
            with suppress(Silence):
                await self.wire.answer(id_, IMPATIENT_SECONDS / 10)
            if not self.wire.ended:
                return
        try:
            await self.answer(id_, rule)
        except StepFailed as failure:
            raise type(failure)(f"after this {failure.reason}", rule, *(because or failure.evidence)) from None


class ClientLeft(StepFailed):
    """The client disconnected in the middle of a part."""


def _id_of(entry: Entry) -> Any:
    return entry.message.get("id") if isinstance(entry.message, dict) else None
