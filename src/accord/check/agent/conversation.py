"""The client's side of a conversation with an agent, in every edition: handshake, sessions, turns and their ends.

Where an agent lacks something that every agent must do, the step fails and the failure names the broken rule, so that
rules which could not be judged for that reason are grouped with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from accord.check.engine.evidence import Entry, StepFailed, has_path, is_answer, is_state, is_update
from accord.check.engine.journal import SettingsLedger
from accord.check.engine.judging import Notes, StepRegistry
from accord.check.engine.wire import ProgramEnded, RecordedWire, Reply, Silence
from accord.check.rule import EDITIONS, EditionName, Options, gate

P = TypeVar("P", bound=Callable[..., Awaitable[Notes]])
ProcessGroup: TypeAlias = Literal["bare", "able", "own", "again"]
"""The steps that share a process.

`bare`: one process whose client offers nothing; `able`: one whose client offers everything; `own`: a process for the
step alone, which sends its own `initialize`; `again`: one that is started when the `bare` one has ended.
"""

INFO = {"name": "accord-check", "version": "1"}

BARE: dict[EditionName, dict[str, Any]] = {
    "v1": {"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": INFO},
    "v2": {"protocolVersion": 2, "capabilities": {}, "info": INFO},
    "v2_june": {"protocolVersion": 2, "capabilities": {}, "clientInfo": INFO},
}
"""The handshake of a client that offers nothing."""
_ELICITATION: dict[str, Any] = {"form": {}, "url": {}}
ABLE: dict[EditionName, dict[str, Any]] = {
    "v1": BARE["v1"]
    | {
        "clientCapabilities": {
            "fs": {"readTextFile": True, "writeTextFile": True},
            "terminal": True,
            "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
            "auth": {"terminal": True},
            "elicitation": _ELICITATION,
        }
    },
    "v2": BARE["v2"] | {"capabilities": {"auth": {"terminal": {}}, "elicitation": _ELICITATION}},
    "v2_june": BARE["v2_june"],
}
"""The handshake of a client that offers everything."""
PROMPT_RULE: dict[EditionName, str] = {"v1": "ACP-PROMPT-001", "v2_june": "ACP-PROMPT-001", "v2": "ACP-PROMPT-201"}
"""The rule that is broken where a prompt is not answered, or is answered with an error."""
IDLE_RULE = "ACP-STATE-202"
EXTENSION_RULE = "ACP-EXT-001"
LOGIN = {"v1": "authenticate", "v2_june": "authenticate", "v2": "auth/login"}
LOGOUT = {"v1": "logout", "v2_june": "logout", "v2": "auth/logout"}


def _allow(params: Any) -> Any:
    try:
        option = params["options"][0]["optionId"]
    except (KeyError, TypeError, IndexError):
        return {"outcome": {"outcome": "cancelled"}}
    return {"outcome": {"outcome": "selected", "optionId": option}}


REPLIES: dict[str, Reply] = {
    "session/request_permission": _allow,
    "elicitation/create": lambda _: {"action": "decline"},
    "fs/read_text_file": lambda _: {"content": "hello\n"},
    "fs/write_text_file": lambda _: {},
    "terminal/create": lambda _: {"terminalId": "terminal-1"},
    "terminal/output": lambda _: {"output": "hello\n", "truncated": False, "exitStatus": {"exitCode": 0}},
    "terminal/wait_for_exit": lambda _: {"exitCode": 0},
    "terminal/kill": lambda _: {},
    "terminal/release": lambda _: {},
}
"""Answers of a client that grants every request, offered or not: the requests themselves are judged later."""


STEPS = StepRegistry()
"""The steps of checks of agents."""


def step(
    group: ProcessGroup = "bare",
    *,
    editions: tuple[EditionName, ...] = EDITIONS,
    gate: Mapping[EditionName, str] | None = None,
    order: int = 50,
) -> Callable[[P], P]:
    """Make a function a step, named like it."""
    return STEPS.step(group, editions=editions, gate=gate, order=order)


def can(agent: AgentConversation, word: str) -> bool:
    """Whether the agent advertised a capability in this process."""
    path = gate(word)[agent.edition]
    return not path or has_path({"initialize": agent.initialized}, path)


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "text": content}


MAX_SILENCES = 2
"""How often the full time is waited in vain for the same thing."""
_SHORT_SECONDS = 0.2


class WaitLimits:
    """Bounds of the waits of one check, shorter after repeated silence; a wait is named by the rule it is for."""

    def __init__(self) -> None:
        self._silences: Counter[str] = Counter()

    def note(self, rule: str) -> None:
        """Note that the full time passed in vain."""
        if rule:
            self._silences[rule] += 1

    def count(self, rule: str) -> int:
        return self._silences[rule]

    def is_over(self, rule: str) -> bool:
        """Whether waiting for it has been given up."""
        return self._silences[rule] >= MAX_SILENCES

    def seconds(self, seconds: float, rule: str) -> float:
        return min(seconds, _SHORT_SECONDS) if self.is_over(rule) else seconds

    @staticmethod
    def reason() -> str:
        return f"it is not waited for any more, since it did not come {MAX_SILENCES} times before"


class AgentConversation:
    """A client connected to one start of an agent. `notes` has the notes of earlier steps, by step name."""

    def __init__(
        self,
        wire: RecordedWire,
        options: Options,
        folder: Path,
        notes: Mapping[str, Mapping[str, Any]],
        limits: WaitLimits | None = None,
        ledger: SettingsLedger | None = None,
    ) -> None:
        self.wire = wire
        self.options = options
        self.edition = options.edition
        self.folder = folder
        self.notes = notes
        self.limits = limits or WaitLimits()
        self.ledger = ledger
        """The ledger of settings; None where nothing is ever set."""
        self.initialized: dict[str, Any] = {}
        """The result of the handshake."""
        self.ask = wire.ask
        self.notify = wire.notify

    @property
    def cwd(self) -> str:
        return str(self.folder)

    @property
    def tool_prompt(self) -> str:
        """A prompt that makes the agent use a tool."""
        return self.options.tool_prompt or self.options.prompt

    @property
    def now(self) -> int:
        """The place of the next line in the record."""
        return len(self.wire.entries)

    @contextmanager
    def replying(self, **replies: Reply) -> Iterator[None]:
        """Answer some of the agent's requests in another way; `__` stands for the slash: `fs__read_text_file`."""
        before = dict(self.wire.replies)
        self.wire.replies.update({name.replace("__", "/", 1): reply for name, reply in replies.items()})
        try:
            yield
        finally:
            self.wire.replies = before

    # --- requests

    async def answer(self, id_: Any, rule: str = "", seconds: float | None = None) -> dict[str, Any]:
        """The answer to a request, result or error.

        Raises:
            StepFailed: There was none; `rule` is blamed.
        """
        bound = self.limits.seconds(self.options.timeout_seconds if seconds is None else seconds, rule)
        try:
            return await self.wire.answer(id_, bound)
        except Silence as silence:
            raise self._failure(f"request {id_!r} was not answered", rule, silence, *self._asked(id_)) from None

    def _failure(self, what: str, rule: str, silence: Silence, *evidence: Entry) -> StepFailed:
        """The failure of a step that waited in vain, which is noted."""
        if isinstance(silence, ProgramEnded):
            return StepFailed(f"{what}: {silence}", rule, *evidence)
        why = self.limits.reason() if self.limits.is_over(rule) else str(silence)
        self.limits.note(rule)
        failure = StepFailed(f"{what}: {why}", rule, *evidence)
        failure.is_silence = True
        return failure

    async def end_of_answered_turn(self, id_: Any, rule: str) -> dict[str, Any]:
        """The answer to a prompt where that ends its turn (v1, June).

        Raises:
            StepFailed: There was none. Where plain turns do not end either, that is to blame, and `rule` is not.
        """
        try:
            return await self.answer(id_, self.turn_rule(rule), self.options.turn_seconds)
        except StepFailed as failure:
            failure.is_turn = True
            raise

    def turn_rule(self, rule: str) -> str:
        """The rule to blame for a turn that does not end: that of plain turns where those do not end either."""
        plain = PROMPT_RULE[self.edition]
        return plain if self.limits.count(plain) else rule

    async def request(self, method: str, params: Any, rule: str = "", seconds: float | None = None) -> dict[str, Any]:
        """Send a request and wait for the answer, result or error."""
        return await self.answer(self.ask(method, params), rule, seconds)

    async def result(self, method: str, params: Any, rule: str) -> dict[str, Any]:
        """Send a request that has to succeed; returns the result.

        Raises:
            StepFailed: It did not; `rule` is blamed.
        """
        id_ = self.ask(method, params)
        answer = await self.answer(id_, rule)
        result = answer.get("result")
        if not isinstance(result, dict):
            raise StepFailed(f"{method} did not succeed", rule, *self._asked(id_))
        return result

    def _asked(self, id_: Any) -> list[Entry]:
        return [
            entry
            for entry in self.wire.entries
            if isinstance(entry.message, dict)
            and entry.message.get("id") == id_
            and entry.sent is ("method" in entry.message)
        ]

    # --- the handshake

    async def handshake(self, *, able: bool = False) -> dict[str, Any]:
        """Send `initialize`, and log in if a login method is configured; returns the result of `initialize`.

        Raises:
            StepFailed: It did not succeed.
        """
        params = (ABLE if able else BARE)[self.edition]
        id_ = self.ask("initialize", params)
        answer = await self.answer(id_, "ACP-INIT-001", self.options.start_seconds)
        if not isinstance(answer.get("result"), dict):
            raise StepFailed("the handshake did not succeed", "ACP-INIT-001", *self._asked(id_))
        self.initialized = answer["result"]
        if self.options.auth_method:
            await self.log_in()
        return self.initialized

    async def log_in(self) -> dict[str, Any]:
        """Log in with the configured method; returns the answer."""
        return await self.request(LOGIN[self.edition], {"methodId": self.options.auth_method})

    async def open(self) -> tuple[Any, dict[str, Any]]:
        """Open a session; returns the id of the request, and its result if it has a session id.

        Raises:
            StepFailed: There is none.
        """
        new = self.ask("session/new", {"cwd": self.cwd, "mcpServers": []})
        result = (await self.answer(new, "ACP-SESSION-001")).get("result")
        if not isinstance(result, dict) or not isinstance(result.get("sessionId"), str):
            raise StepFailed("session/new gave no session id", "ACP-SESSION-001")
        return new, result

    async def new(self, **params: Any) -> str:
        """Open a session; returns its id.

        Raises:
            StepFailed: There is none.
        """
        result = await self.result("session/new", {"cwd": self.cwd, "mcpServers": [], **params}, "ACP-SESSION-001")
        session = result.get("sessionId")
        if not isinstance(session, str) or not session:
            raise StepFailed("session/new gave no session id", "ACP-SESSION-001")
        return session

    # --- turns

    def prompt(self, session: str, *blocks: Any, **params: Any) -> Any:
        """Send a prompt without waiting; returns the id of its request."""
        prompt = [text(block) if isinstance(block, str) else block for block in blocks]
        return self.ask("session/prompt", {"sessionId": session, "prompt": prompt, **params})

    async def turn(self, session: str, *blocks: Any, **params: Any) -> Any:
        """Send a prompt (by default the plain one) and wait for the end of its turn; returns the id of its request."""
        since = self.now
        id_ = self.prompt(session, *(blocks or (self.options.prompt,)), **params)
        await self.end_of_turn(session, id_, since)
        return id_

    async def end_of_turn(self, session: str, id_: Any, since: int) -> dict[str, Any]:
        """Wait for the answer and, where that is a receipt only, for the end of the work; returns the answer.

        Raises:
            StepFailed: The turn did not end. A prompt that was answered with an error has ended.
        """
        answer = await self.answer(id_, PROMPT_RULE[self.edition], self.options.turn_seconds)
        if self.edition == "v2" and "result" in answer:
            await self.idle(session, since)
        return answer

    async def idle(self, session: str, since: int) -> Entry:
        """Wait until a session is idle (v2).

        Raises:
            StepFailed: It never was.
        """
        bound = self.limits.seconds(self.options.turn_seconds, IDLE_RULE)
        try:
            return await self.wire.until(lambda entry: is_state(entry.message, session, "idle"), since, bound)
        except Silence as silence:
            last = [entry for entry in self.wire.entries if is_update(entry.message, session, "state_update")][-1:]
            raise self._failure("the session never became idle", IDLE_RULE, silence, *last) from None

    async def begin(self, session: str) -> Any:
        """Begin a turn that should go on for a while, and wait for its first message; returns the id of its request.

        A short turn is given the time to end, so that its end is not mistaken for a reaction to the next message.
        """
        since = self.now
        id_ = self.prompt(session, self.options.cancel_prompt)

        def ends(entry: Entry) -> bool:
            answered = self.edition != "v2" and is_answer(entry.message, id_)
            return answered or is_state(entry.message, session, "idle")

        def begins(entry: Entry) -> bool:
            return is_update(entry.message, session, "agent_message_chunk", "agent_message", "tool_call") or ends(entry)

        # Without a message it may still be working: that can be cancelled as well.
        with suppress(Silence):
            await self.wire.until(begins, since, min(self.options.turn_seconds, 3.0))
            await self.wire.until(ends, since, self.options.quiet_seconds)
        return id_

    async def until(
        self, holds: Callable[[Entry], bool], since: int, reason: str, rule: str = "", seconds: float | None = None
    ) -> Entry:
        """Wait for a message of the agent.

        Raises:
            StepFailed: It did not come; `reason` names the message.
        """
        bound = self.limits.seconds(self.options.timeout_seconds if seconds is None else seconds, rule)
        try:
            return await self.wire.until(holds, since, bound)
        except Silence as silence:
            raise self._failure(reason, rule, silence) from None

    async def is_alive(self) -> bool:
        """Whether the agent still answers; earlier messages of it have arrived by then.

        Raises:
            StepFailed: It does not.
        """
        if not self.limits.count(EXTENSION_RULE):
            try:
                await self.request("_accord.check/are_you_there", {}, EXTENSION_RULE)
            except StepFailed:
                if self.wire.ended:
                    raise
            else:
                return True
        # An agent that does not answer extensions may be alive.
        await self.request("session/new", {"cwd": self.cwd, "mcpServers": []}, "ACP-SESSION-001")
        return True
