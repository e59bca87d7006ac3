"""Exchanges with an agent that several steps share; they go on where a request stays unanswered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from accord.check.agent.conversation import IDLE_RULE, PROMPT_RULE, STEPS, AgentConversation, can
from accord.check.engine.evidence import (
    NOT_FOUND,
    Entry,
    StepFailed,
    has_path,
    is_answer,
    is_request,
    is_state,
    is_update,
)
from accord.check.engine.judging import CheckStep, Notes
from accord.check.engine.wire import Deferred, Refusal, Reply, Silence
from accord.check.rule import V2, EditionName

NO_SESSION = "accord-check-no-such-session"
"""The id of a session that never existed."""
CANCEL_RULE: dict[EditionName, str] = {"v1": "ACP-CANCEL-001", "v2_june": "ACP-CANCEL-001", "v2": "ACP-CANCEL-201"}
UNKNOWN_ID = "accord-check-nobody"
TRACE = {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
LATE = 70
"""After the steps that must not be disturbed."""


async def answer_or_none(agent: AgentConversation, id_: Any, seconds: float | None = None) -> dict[str, Any] | None:
    """Wait for an answer; None for silence, which the judges of the request report."""
    try:
        return await agent.answer(id_, seconds=seconds)
    except StepFailed:
        return None


async def ask_and_wait(agent: AgentConversation, method: str, params: Any, id_: Any = None) -> Any:
    """Send a request and wait for its answer or the timeout; returns the request's id."""
    id_ = agent.ask(method, params, id_)
    await answer_or_none(agent, id_)
    return id_


async def lives(agent: AgentConversation) -> bool:
    """Whether the agent still answers; the judges report that it does not."""
    try:
        return await agent.is_alive()
    except StepFailed:
        return False


@contextmanager
def folders(agent: AgentConversation, *names: str) -> Iterator[list[Path]]:
    """Sibling folders below the working directory; removed afterwards where that directory is the user's."""
    made = [agent.folder / f"accord-check-{name}" for name in names]
    for folder in made:
        folder.mkdir(exist_ok=True)
    try:
        yield made
    finally:
        for folder in made if agent.options.cwd else ():
            with suppress(OSError):
                folder.rmdir()


async def wait_for_answers(agent: AgentConversation, *ids: Any) -> list[Any]:
    """Wait for the answers to some requests, as far as they come; returns the ids."""
    for id_ in ids:
        # The judge of this request reports that it was not answered.
        with suppress(Silence):
            await agent.wire.answer(id_, agent.options.timeout_seconds)
    return list(ids)


async def ask_all(agent: AgentConversation, **requests: tuple[str, Any]) -> dict[str, Any]:
    """Send requests one after the other; returns their ids by name."""
    ids = {}
    for name, (method, params) in requests.items():
        ids[name] = agent.ask(method, params)
        await wait_for_answers(agent, ids[name])
    return ids


async def shows_life(agent: AgentConversation, rule: str = "ACCORD-CLOSE-204") -> None:
    """Get a sign of life: any answer to a request without effect.

    Closing a session that does not exist works also with agents that do not refuse unknown methods.
    """
    await agent.request("session/close", {"sessionId": NO_SESSION}, rule)


async def wait_or_none(
    agent: AgentConversation, holds: Callable[[Entry], bool], since: int, seconds: float | None = None
) -> Entry | None:
    """Wait for a line, as long as for a turn; None if it does not come."""
    try:
        # With an agent that never becomes idle the full bound is not spent on every turn: CAUSES groups the failures.
        bound = agent.limits.seconds(agent.options.turn_seconds, IDLE_RULE) if seconds is None else seconds
        return await agent.wire.until(holds, since, bound)
    except Silence:
        return None


async def settle(agent: AgentConversation, session: str, since: int) -> Entry | None:
    """Wait until a session is idle; None if it never is."""
    return await wait_or_none(agent, lambda entry: is_state(entry.message, session, "idle"), since)


async def settle_cancelled(agent: AgentConversation, session: str, since: int) -> Entry | None:
    """Cancel the work of a session and wait until it is idle; one that was idle before sends no further state."""
    states = [entry for entry in agent.wire.entries[since:] if is_update(entry.message, session, "state_update")]
    cancelled = agent.notify("session/cancel", {"sessionId": session})
    if states and is_state(states[-1].message, session, "idle"):
        await shows_life(agent)
        return states[-1]
    return await settle(agent, session, cancelled)


async def wait_for_question(
    agent: AgentConversation, method: str, session: str, since: int, prompt: Any
) -> Entry | None:
    """Wait for a request of the agent in a turn; None if the turn ended, or never began, without one."""

    def is_over(message: Any) -> bool:
        return is_state(message, session, "idle") or (is_answer(message, prompt) and "error" in message)

    found = await wait_or_none(agent, lambda entry: is_request(entry.message, method) or is_over(entry.message), since)
    return None if found is None or is_over(found.message) else found


def first_option(question: Any) -> Any:
    """The id of the first option of a permission request, or None."""
    params = question.get("params")
    options = params.get("options") if isinstance(params, dict) else None
    first = options[0] if isinstance(options, list) and options else None
    return first.get("optionId") if isinstance(first, dict) else None


def advertises(agent: AgentConversation, path: str) -> bool:
    """Whether the agent advertised a session capability in the handshake of this process."""
    asked = [
        entry.message["id"] for entry in agent.wire.entries if entry.sent and is_request(entry.message, "initialize")
    ]
    for entry in agent.wire.entries:
        if not entry.sent and asked and is_answer(entry.message, asked[-1]):
            return has_path(entry.message.get("result"), f"capabilities.session.{path}")
    return False


async def end_of_cancelled(agent: AgentConversation, session: str, prompt: Any, since: int) -> None:
    """Wait for the end of a turn that was cancelled."""
    rule, seconds = CANCEL_RULE[agent.edition], agent.options.turn_seconds
    if agent.edition != "v2":
        await agent.answer(prompt, rule, seconds)
        return
    answer = await agent.answer(prompt, PROMPT_RULE[agent.edition], seconds)
    if "result" in answer:
        await agent.until(
            lambda entry: is_state(entry.message, session, "idle"), since, "a cancelled turn went on", rule, seconds
        )


async def answered_turn(agent: AgentConversation, session: str, text_: str, rule: str) -> Any:
    """Run a turn up to its answer, result or error; returns the id of the prompt."""
    prompt = agent.prompt(session, text_)
    await agent.end_of_answered_turn(prompt, rule)
    return prompt


async def comes(agent: AgentConversation, id_: Any, seconds: float) -> bool:
    try:
        await agent.wire.answer(id_, seconds)
    except Silence:
        return False
    return True


async def ask_and_blame(agent: AgentConversation, method: str, params: Any, rule: str) -> Any:
    """Send a request and wait; `rule` is blamed where there is no answer. Returns the id of the request."""
    id_ = agent.ask(method, params)
    await agent.answer(id_, rule)
    return id_


async def closed(agent: AgentConversation, session: str) -> bool:
    """Close a session, so that it can be opened again in this process; whether the agent can do that and did."""
    if not can(agent, "close"):
        return False
    answer = await answer_or_none(agent, agent.ask("session/close", {"sessionId": session}))
    return answer is not None and "result" in answer


async def answers_received(agent: AgentConversation, id_: Any) -> list[Any]:
    """Wait for the answer to a request; returns every answer that came."""
    await wait_for_answers(agent, id_)
    return [entry.message for entry in agent.wire.entries if not entry.sent and is_answer(entry.message, id_)]


async def send_each(
    agent: AgentConversation, rule: str, lines: dict[str, bytes], *, are_refused: bool = False
) -> Notes:
    """Send lines, each followed by a sign of life; notes the part of the record (from, to) of each line.

    Where the agent has several streams, the sign of life may overtake the error that refuses a line, on another stream.
    """
    parts = {}
    for name, line in lines.items():
        since = agent.wire.send(line)
        await shows_life(agent, rule)
        if are_refused and agent.wire.has_streams:
            await wait_or_none(agent, _is_error_without_id, since, agent.options.timeout_seconds)
        parts[name] = (since, agent.now)
    return {"parts": parts}


def _is_error_without_id(entry: Entry) -> bool:
    message = entry.message
    return not entry.sent and isinstance(message, dict) and "error" in message and message.get("id") is None


def line_step(name: str, rule: str, lines: dict[str, bytes], *, are_refused: bool = False) -> None:
    """Register a step (v2) that sends lines, each followed by a sign of life; `rule` is blamed for silence.

    With `are_refused` each line has to get an error with the id null.
    """

    async def run(agent: AgentConversation) -> Notes:
        return await send_each(agent, rule, lines, are_refused=are_refused)

    STEPS.add(CheckStep(name, run, "bare", V2, {}, LATE))


# --- terminals of the client

_KILLED = {"exitCode": None, "signal": "SIGTERM"}


class TerminalReplies:
    """Terminals with an id each. With a status their commands have ended; without one each runs until it is killed.

    `terminal/kill` and `terminal/release` end a command that runs (v1, terminals): every `terminal/wait_for_exit` that
    waits for it is answered then, and `terminal/output` has its exit status from then on.
    """

    def __init__(self, **status: Any) -> None:
        self._status = status
        self._exits: dict[str, dict[str, Any] | None] = {}
        self._waiting: dict[str, list[Deferred]] = {}

    def replies(self) -> dict[str, Reply]:
        """For `AgentConversation.replying`."""
        return {
            "terminal__create": self._create,
            "terminal__output": self._output,
            "terminal__wait_for_exit": self._wait,
            "terminal__kill": self._kill,
            "terminal__release": self._release,
        }

    def _create(self, _params: Any) -> Any:
        id_ = f"accord-terminal-{len(self._exits) + 1}"
        self._exits[id_] = dict(self._status) or None
        return {"terminalId": id_}

    def _output(self, params: Any) -> Any:
        id_ = self._id(params)
        if id_ is None:
            return _unknown_terminal(params)
        output = {"output": "hello\n", "truncated": False}
        ended = self._exits[id_]
        return output if ended is None else {**output, "exitStatus": ended}

    def _wait(self, params: Any) -> Any:
        id_ = self._id(params)
        if id_ is None:
            return _unknown_terminal(params)
        ended = self._exits[id_]
        if ended is not None:
            return ended
        deferred = Deferred()
        self._waiting.setdefault(id_, []).append(deferred)
        return deferred

    def _kill(self, params: Any) -> Any:
        id_ = self._id(params)
        if id_ is None:
            return _unknown_terminal(params)
        self._end(id_)
        return {}

    def _release(self, params: Any) -> Any:
        id_ = self._id(params)
        if id_ is not None:
            self._end(id_)
        return {}

    def _end(self, id_: str) -> None:
        if self._exits[id_] is None:
            self._exits[id_] = dict(_KILLED)
        for deferred in self._waiting.pop(id_, []):
            deferred.give(self._exits[id_])

    def _id(self, params: Any) -> str | None:
        id_ = params.get("terminalId") if isinstance(params, dict) else None
        return id_ if isinstance(id_, str) and id_ in self._exits else None


def _unknown_terminal(params: Any) -> Refusal:
    id_ = params.get("terminalId") if isinstance(params, dict) else None
    return Refusal(NOT_FOUND, "Resource not found", {"terminalId": str(id_)})
