"""The loop of a turn: request an answer, show it, run the tools that it calls, and send their results.

Providers are not known here: a model is a stream of deltas. Editions are not known either: all output goes through the
turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from accord.agent import Tool, Turn
from accord.coder.memory import FAILED, STOPPED, Memory
from accord.coder.model import (
    CHARACTERS_PER_TOKEN,
    DEFAULT_EFFORT,
    EFFORT,
    AnswerEnd,
    Delta,
    Message,
    Model,
    ModelBroken,
    ModelError,
    ModelFull,
    ModelReply,
    ModelRequest,
    Retrying,
    Spent,
    TextDelta,
    ThoughtDelta,
    ToolResults,
    ToolUse,
    UserMessage,
    stream_answer,
)
from accord.coder.permission import PermissionGate
from accord.coder.project_commands import skills_text
from accord.coder.subagent import Subagent
from accord.coder.system_text import describe_surroundings, system_text
from accord.coder.tools.call import SessionWork
from accord.coder.tools.runner import ToolExecutor
from accord.coder.tools.toolbox import Toolbox
from accord.errors import AccordError
from accord.session.rules import Rule

SUMMARISE = (
    "Summarise this conversation between a user and a coding agent, so that the agent can go on with nothing but the "
    "summary: what the user wants, what was decided, which files matter and why, what was changed, what is open. Be "
    "brief and exact; keep names and paths. Answer with the summary alone."
)
MAX_RESULT = 1_000


def conversation_text(messages: Sequence[Message], max_characters: int) -> str:
    """A conversation as one text, its end if it is too long; every provider accepts it, whatever tools were called."""
    parts: list[str] = []
    for message in messages:
        match message:
            case UserMessage():
                parts.append(f"User: {message.text}")
                if message.attached:
                    parts.append(f"With it came: {message.attached[:MAX_RESULT]}")
            case ModelReply():
                if message.text:
                    parts.append(f"Agent: {message.text}")
                parts += [f"Agent calls {call.name}: {call.arguments}" for call in message.calls]
            case ToolResults():
                parts += [f"{result.name} gave: {result.text[:MAX_RESULT]}" for result in message.results]
    return "\n".join(parts)[-max_characters:]


log = logging.getLogger("accord.coder")

MAX_REQUESTS = 50
# The user gets a notice after each of these times of a wait.
LOADING_SECONDS = (2.0,)
WAITING_SECONDS = (10.0, 30.0, 90.0, 270.0)
TOO_LONG = "The conversation does not fit into the model any more: /compact, or a new session."


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a turn may go on, and when the context counts as nearly full."""

    max_requests: int = MAX_REQUESTS
    full_share: float = 0.8


@dataclass(slots=True)
class _Answer:
    """One answer of the model, as far as it was received."""

    texts: list[str] = field(default_factory=list)
    calls: list[ToolUse] = field(default_factory=list)
    reply: ModelReply = field(default_factory=ModelReply)
    tokens: int = 0
    cost: float | None = None
    end: str = ""
    raw: Any = None
    is_seen: bool = False
    """Whether the user has seen something of it."""

    def note(self, delta: Delta) -> None:
        """Keep a delta that is not shown as it comes."""
        match delta:
            case ToolUse():
                self.calls.append(delta)
            case Spent():
                self.tokens, self.cost = delta.input_tokens + delta.output_tokens, delta.cost
            case AnswerEnd():
                self.end, self.raw = delta.reason, delta.raw
            case _:
                pass


class Loop:
    """One turn with one model. `keeps` says whether the agent has a store to keep the memory in."""

    def __init__(
        self,
        turn: Turn,
        model: Model,
        memory: Memory,
        rules: Sequence[Rule],
        limits: Limits,
        session_work: SessionWork,
        *,
        keeps: bool,
    ) -> None:
        self._turn = turn
        self._model = model
        self._memory = memory
        self._gate = PermissionGate(turn, rules, memory)
        self._session_work = session_work
        self._runner = ToolExecutor(turn, self._gate, session_work, memory.changes, delegate=self._delegate)
        self._surroundings: str | None = None
        """The facts about the machine and the project for the system text, found once for a turn."""
        self._limits = limits
        self._keeps = keeps
        self._start = len(memory.messages)
        """Where this turn begins in the memory."""
        self._answer: _Answer | None = None
        """The answer that is coming in, until it is remembered."""

    async def run(self, message: UserMessage) -> None:
        """Answer the user's message.

        Raises:
            RequestError: The model gave no answer; the message has the reason. The turn up to then is remembered.
        """
        self._memory.begin(message, self._turn.message_id)
        try:
            # A crash in the first request must not lose the prompt.
            await self._save()
            async with contextlib.AsyncExitStack() as stack:
                async with self._announced(f"Loading what the model {self._model.name} needs", LOADING_SECONDS):
                    await stack.enter_async_context(self._model)
                await self._converse()
        except ModelError as error:
            self._break_off(f"[The turn ended here: {error}.]")
            if isinstance(error, ModelFull):
                self._memory.shorten_request(self._start)
            raise error.answer() from error
        except asyncio.CancelledError:
            self._break_off(STOPPED)
            raise
        except BaseException:
            self._break_off(FAILED)
            raise
        finally:
            self._memory.end()
            await self._save()

    @contextlib.asynccontextmanager
    async def _announced(self, what: str, after_seconds: Sequence[float]) -> AsyncIterator[asyncio.Task[None]]:
        """Send the user a notice about a wait after each of these times."""

        async def announce() -> None:
            passed = 0.0
            for seconds in after_seconds:
                await asyncio.sleep(seconds - passed)
                passed = seconds
                await self._turn.notice(f"{what}: {seconds:g} s")

        task = asyncio.create_task(announce())
        try:
            yield task
        finally:
            task.cancel()

    def _break_off(self, note: str) -> None:
        """Remember the text and the results of a turn that breaks off."""
        self._memory.break_off(note, "".join(self._answer.texts) if self._answer is not None else "")

    async def compact(self) -> bool:
        """Replace the conversation by a summary; whether there was anything to replace.

        Raises:
            RequestError: The model gave none.
        """
        if not self._can_compact():
            return False
        try:
            async with self._model:
                await self._compact()
        except ModelError as error:
            raise error.answer() from error
        await self._report_usage()
        await self._save()
        return True

    # --- the conversation

    async def _converse(self) -> None:
        for _ in range(self._limits.max_requests):
            if not await self._fit_context():
                await self._say(TOO_LONG)
                self._memory.shorten_request(self._start)
                self._turn.finish("max_tokens")
                return
            servers = await self._turn.mcp()
            has_skills = bool(self._session_work.project.skills)
            toolbox = Toolbox(str(self._turn.option("mode")), servers.tools, has_skills=has_skills)
            answer = await self._request_answer(toolbox)
            self._memory.pay(answer.cost)
            if answer.end == "refused":
                self._memory.forget_from(self._start)
                self._turn.finish("refusal")
                return
            if answer.end == "length":
                # A call may have been cut as well: none of them counts.
                self._remember(ModelReply(answer.reply.text or "[the answer was cut]"))
                await self._report_usage()
                self._turn.finish("max_tokens")
                return
            await self._take(answer, toolbox)
            if not answer.reply.calls:
                return
            await self._save()
        await self._say(
            f"I stop here: this turn has made {self._limits.max_requests} requests to the model, which is its limit. "
            "Say `go on`, and I do."
        )
        self._turn.finish("max_turn_requests")

    async def _say(self, text: str) -> None:
        """Send a text of the agent's own, and remember it."""
        self._turn.new_message()
        await self._turn.say(text)
        self._remember(ModelReply(text))

    def _remember(self, reply: ModelReply) -> None:
        self._memory.add(reply)
        self._answer = None

    async def _system(self) -> str:
        session = self._turn.session
        if self._surroundings is None:
            found = await describe_surroundings(
                session.cwd, session.additional_directories, may_read=self._gate.may_read
            )
            skills = skills_text(self._session_work.project)
            self._surroundings = f"{found}\n\n{skills}" if skills else found
        mode = str(self._turn.option("mode"))
        return system_text(session.cwd, session.additional_directories, mode, self._surroundings)

    async def _delegate(self, task: str, shown: Tool) -> str:
        """Have a task done by a sub-agent."""
        runner = ToolExecutor(self._turn, self._gate, self._session_work, self._memory.changes, parent=shown.id)
        return await Subagent(self._turn, self._model, runner, await self._system(), self._memory).run(task, shown)

    async def _request_answer(self, toolbox: Toolbox) -> _Answer:
        system = await self._system()
        for last in (False, True):
            try:
                messages = list(self._memory.messages)
                return await self._stream(ModelRequest(system, messages, toolbox.definitions, effort=self._effort()))
            except ModelFull:
                if last or (self._answer is not None and self._answer.is_seen):
                    raise
                if self._can_compact():
                    await self._compact()
                self._memory.shorten_results(self._start, self._token_limit() // 2)
        raise AssertionError("the second try returns or raises")

    def _effort(self) -> str:
        try:
            return str(self._turn.option(EFFORT))
        except KeyError:
            return DEFAULT_EFFORT  # no offered model thinks

    async def _stream(self, request: ModelRequest) -> _Answer:
        turn, answer = self._turn, _Answer()
        self._answer = answer
        turn.new_message()
        waiting = self._announced(f"Waiting for the model {self._model.name}", WAITING_SECONDS)
        async with aclosing(stream_answer(self._model, request)) as deltas, waiting as announcing:
            async for delta in deltas:
                if not isinstance(delta, Retrying):
                    announcing.cancel()
                match delta:
                    case TextDelta(text=text):
                        answer.texts.append(text)
                        answer.is_seen = True
                        await turn.say(text)
                    case ThoughtDelta(text=text):
                        answer.is_seen = True
                        await turn.think(text)
                    case Retrying(reason=reason, seconds=seconds):
                        await turn.notice(f"{reason}: trying again in {seconds:.0f} s", severity="warning")
                    case _:
                        answer.note(delta)
                        if isinstance(delta, Spent):
                            self._turn.add_token_usage(delta.input_tokens, delta.output_tokens)
        if not answer.end:
            raise ModelBroken("The model's answer has no end: try again")
        answer.reply = ModelReply("".join(answer.texts), answer.calls, self._model.name, answer.raw)
        return answer

    async def _take(self, answer: _Answer, toolbox: Toolbox) -> None:
        """Remember a reply, and run its calls."""
        self._remember(answer.reply)
        if answer.tokens:
            self._memory.count(answer.tokens)
        await self._report_usage()
        for use in answer.calls:
            # Before each of them: after a crash the memory has the calls that ended, and the one that may have run.
            await self._save()
            self._memory.add_result(await self._runner.use(use, toolbox))

    # --- the context

    def _token_limit(self) -> int:
        return int(self._model.context_tokens * self._limits.full_share)

    def _can_compact(self) -> bool:
        # A summary and the answer to it cannot be shortened further.
        return self._start > 0 and not self._memory.is_summary_at(self._start)

    async def _fit_context(self) -> bool:
        """Compact the context where it is nearly full; whether a request fits now."""
        if self._memory.tokens > self._token_limit() and self._can_compact():
            await self._compact()
        if self._memory.tokens > self._token_limit():
            self._memory.shorten_results(self._start, self._token_limit())
        return self._memory.tokens <= self._model.context_tokens

    async def _compact(self) -> None:
        before = self._memory.messages[: self._start]
        characters = self._token_limit() * CHARACTERS_PER_TOKEN
        request = ModelRequest(SUMMARISE, [UserMessage(conversation_text(before, characters))], [], "summary")
        async with self._turn.compact() as compaction:
            summary: list[str] = []
            async with aclosing(stream_answer(self._model, request)) as deltas:
                async for delta in deltas:
                    if isinstance(delta, TextDelta):
                        summary.append(delta.text)
                        await compaction.say(delta.text)
                    elif isinstance(delta, Spent):
                        self._memory.pay(delta.cost)
                        self._turn.add_token_usage(delta.input_tokens, delta.output_tokens)
            if not summary:
                raise ModelBroken("The model gave no summary of the conversation: begin a new session")
            self._start = self._memory.summarise(self._start, "".join(summary))

    async def _report_usage(self) -> None:
        cost = self._memory.cost if self._memory.priced else None
        await self._turn.update_usage(self._memory.tokens, self._model.context_tokens, cost=cost)

    async def _save(self) -> None:
        if self._keeps:
            with contextlib.suppress(AccordError):  # the conversation is kept anyway; the next save may work
                await self._turn.save()
