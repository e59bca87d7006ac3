"""The turn runner executes the outputs of the turn automaton: runs handlers, answers prompts, publishes states.

The automaton decides, the runner acts. Every prompt of a session passes through it, from its arrival to its answer.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import re
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ClassVar, TypeAlias

from accord.agent.client import ClientCaller
from accord.agent.kept_sessions import stopped_plans
from accord.agent.open_prompt import OpenPrompt
from accord.agent.question import PendingQuestion
from accord.agent.registrations import Registrations, arguments_for, check_result, kind_of, no_prompt
from accord.agent.request_errors import unknown_session, work_error
from accord.agent.session import Session
from accord.agent.session_repair import SessionRepair
from accord.agent.threads import HandlerScope
from accord.agent.tool import Tool
from accord.agent.turn import Turn
from accord.errors import AccordError, InvalidParams, RequestCancelled, RequestError, TransportError
from accord.session.client_requests import Prompt, PromptAnswered
from accord.session.content import Text
from accord.session.dialect import Dialect
from accord.session.event import MessageChanged, StateChanged
from accord.session.turn import TurnAutomaton
from accord.session.turn_io import (
    AnswerClosed,
    AnswerFailed,
    AnswerInserted,
    AnswerStopped,
    AnswerWithdrawn,
    BackgroundChanged,
    CancelHandler,
    HandlerCancelled,
    HandlerFailed,
    HandlerFinished,
    Hold,
    Illegal,
    Input,
    Insert,
    InsertionFailed,
    Output,
    PromptArrived,
    PromptInserted,
    PromptWithdrawn,
    PublishState,
    Retire,
    SessionEnded,
    Start,
    StopBackground,
)
from accord.telemetry import end_turn, turn_span

__all__ = ["TurnRunner", "running_turn"]

log = logging.getLogger("accord.agent")

_COMMAND = re.compile(r"/([^\s/]+)(?:\s+|$)")

RunningTurn: TypeAlias = tuple[weakref.ref[Turn], weakref.ref[HandlerScope]]
running_turn: ContextVar[RunningTurn | None] = ContextVar("accord-running-turn", default=None)
"""The turn of the handler that runs here, and the way to the loop for threads that the handler did not get from us.

Weak: whatever keeps a copy of the context, such as a thread of a pool, does not keep the session.
"""


class TurnRunner:
    """One session's turns.

    A handler that does not end within `grace_seconds` after it was cancelled is left behind: its turn is over, and
    nothing more can be sent in it.
    """

    def __init__(
        self,
        session: Session,
        caller: ClientCaller,
        registrations: Registrations,
        dialect: Dialect,
        *,
        grace_seconds: float,
    ) -> None:
        self._session = session
        self._caller = caller
        self._registrations = registrations
        self._echoes = dialect.echoes
        self._method = dialect.find(Prompt)[0].method.name
        self._automaton = TurnAutomaton(dialect.rule)
        self._inputs: deque[Input] = deque()
        self._feeding = False
        self._grace_seconds = grace_seconds
        self._tasks: set[asyncio.Task[Any]] = set()
        self._turn: Turn | None = None
        self._handler: asyncio.Task[None] | None = None
        self._foreign_threads: HandlerScope | None = None
        """Binds the threads of a framework, which find the turn by `running_turn`."""
        self._timer: asyncio.TimerHandle | None = None
        self._failure: Exception | None = None
        self._background: list[Tool] = []
        """Tool calls that went on when their turns were over."""
        self.closed = asyncio.Event()
        self._ended: asyncio.Event | None = None
        """Made for those who wait for the next end: nearly never one does."""
        session._feed = self.feed
        self.repair = None if session._store is None else SessionRepair(session, session._store, self)
        """The repair of the session's log; None where nothing is kept."""

    # --- prompts

    def check(self, request: Prompt) -> None:
        """Check that the agent accepts a prompt.

        Raises:
            InvalidParams: It is empty, has a kind of block that the agent does not accept, or names an unknown command.
        """
        if not request.content:
            expected = {"field": "prompt", "expected": "at least one block"}
            raise InvalidParams("A prompt must not be empty", expected)
        for place, block in enumerate(request.content):
            kind = kind_of(block)
            if kind not in {"text", "resource_link"} and kind not in self._registrations.accepts:
                kinds = ", ".join(["text", "resource_link", *sorted(self._registrations.accepts)])
                raise InvalidParams(
                    "This agent does not take such content",
                    {"field": f"prompt.{place}.type", "expected": f"one of {kinds}"},
                )
        if self._registrations.prompt is None and self._command(request)[0] is None:
            commands = (
                ", ".join(f"/{name}" for name in self._registrations.commands) or "none: no handler is registered"
            )
            raise InvalidParams("There is no such command", {"field": "prompt", "expected": f"one of {commands}"})

    def arrive(self, request: Prompt) -> OpenPrompt:
        """Queue a checked prompt; its turn begins when those of earlier prompts have ended."""
        prompt = OpenPrompt(request)
        self.feed(PromptArrived(prompt))
        return prompt

    def drop(self, request: Prompt) -> OpenPrompt:
        """Answer a prompt as one that a cancel dropped before it was inserted."""
        prompt = OpenPrompt(request)
        output = self._automaton.dropped(prompt)
        self._ACTIONS[type(output)](self, output)
        return prompt

    async def answer(self, prompt: OpenPrompt, *, is_open: Callable[[], bool]) -> PromptAnswered:
        """The answer to a prompt, when all earlier events were sent.

        Raises:
            RequestError: It is answered with an error.
        """
        while True:
            try:
                return await prompt.answered()
            except asyncio.CancelledError:
                if not is_open():
                    raise
                # The client withdraws this prompt; the automaton decides what follows.
                self.feed(PromptWithdrawn(prompt))

    # --- the outputs of the automaton

    def feed(self, event: Input) -> None:
        """Feed an input to the automaton and execute its outputs."""
        self._inputs.append(event)
        if self._feeding:
            return  # fed while an output is executed: handled after the remaining outputs
        self._feeding = True
        try:
            while self._inputs:
                for output in self._automaton.feed(self._inputs.popleft()):
                    self._ACTIONS[type(output)](self, output)
        finally:
            self._feeding = False

    async def next_end(self) -> None:
        """Wait for the end of a turn, or of a prompt whose turn could not begin."""
        if self._ended is None:
            self._ended = asyncio.Event()
        await self._ended.wait()

    def _note_end(self) -> None:
        if self._ended is not None:
            self._ended.set()
            self._ended = None

    @property
    def is_free(self) -> bool:
        """Whether no prompt is being inserted, worked on or held."""
        return self._automaton.state in {"idle", "closing", "closed"}

    @property
    def snapshot(self) -> StateChanged:
        return self._automaton.snapshot()

    def _start_task(self, work: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _insert(self, output: Insert) -> None:
        prompt: OpenPrompt = output.prompt  # type: ignore[assignment]
        if self._session._store is not None:
            self._start_task(self._insert_prompt(prompt, output.running))
        elif self._echoes:
            # In the next step: the request is answered before its turn begins.
            asyncio.get_running_loop().call_soon(self._insert_at_once, prompt, output.running)
        else:
            self._insert_at_once(prompt, output.running)

    def _insert_at_once(self, prompt: OpenPrompt, running: StateChanged) -> None:
        """Without a store there is nothing to wait for, as a rule: then no task is made."""
        message = MessageChanged("user", prompt.message_id, list(prompt.request.content))
        if self._session._publisher.publish_at_once(message, show=self._echoes):
            self._session._touched_at = time.time()
            self.feed(PromptInserted(prompt))
        else:
            self._start_task(self._insert_prompt(prompt, running))

    async def _insert_prompt(self, prompt: OpenPrompt, running: StateChanged) -> None:
        """Add the user's message to the conversation: it is committed before the turn starts."""
        publisher = self._session._publisher
        message = MessageChanged("user", prompt.message_id, list(prompt.request.content))
        try:
            await (self._session._touch() if self.repair is None else self.repair.touch())
            # In one step, and so in one append.
            publisher.publish_soon(message, show=self._echoes)
            await publisher.publish(running, show=False)
            await publisher.flush()
        except TransportError:
            # The client is gone: the close that follows ends all this.
            self.feed(PromptInserted(prompt))
        except Exception as error:  # noqa: BLE001 - whatever a store does, a prompt gets its answer
            log.error("a prompt could not be kept: %s", error)  # noqa: TRY400 - the reason says all
            self.feed(InsertionFailed(prompt, work_error(error)))
            self._note_end()
        else:
            self.feed(PromptInserted(prompt))

    def _hold(self, _: Hold) -> None: ...

    def _start(self, output: Start) -> None:
        prompt: OpenPrompt = output.prompt  # type: ignore[assignment]
        name, argument = self._command(prompt.request)
        self._failure = None
        turn = self._turn = Turn(self._session, self._caller, prompt.request, prompt.message_id, name, argument)
        turn._span = turn_span(self._method, prompt, self._session.client._facts, name)
        self._foreign_threads = HandlerScope(self._registrations.threads, asyncio.get_running_loop())
        self._handler = asyncio.get_running_loop().create_task(self._run(turn, self._foreign_threads))
        self._tasks.add(self._handler)
        self._handler.add_done_callback(functools.partial(self._gone, turn))

    def _command(self, request: Prompt) -> tuple[str | None, str]:
        text = "\n".join(block.text for block in request.content if isinstance(block, Text))
        match = _COMMAND.match(text)
        if match is None or match[1] not in self._registrations.commands:
            return None, text
        return match[1], text[match.end() :]

    async def _run(self, turn: Turn, foreign_threads: HandlerScope) -> None:
        end: Input
        running_turn.set((weakref.ref(turn), weakref.ref(foreign_threads)))
        turn._span.attach()  # until the end of this task
        try:
            if self._session._servers.are_used:
                await turn._report_failures()
            if turn.command is None:
                result = await self._registrations.threads.call(self._registrations.prompt or no_prompt, turn)
            else:
                handler = self._registrations.commands[turn.command][1]
                result = await self._registrations.threads.call(handler, *arguments_for(handler, turn, turn.argument))
            check_result(result, turn._speech)
            turn.finish(turn.stop_reason)  # checked again: it may have been set by hand
            await self._tidy(turn, "completed")
            await self._session._publisher.flush()
            end = (
                HandlerFinished(turn.stop_reason, turn.token_usage)
                if self._failure is None
                else self._failed(turn, self._failure)
            )
        except asyncio.CancelledError:
            end = self._cancelled(turn)
            await self._tidy(turn, "cancelled")
        except Exception as error:  # noqa: BLE001 - whatever a handler raises ends its turn and nothing else
            end = self._failed(turn, self._failure or error)
            await self._tidy(turn, "failed")
        if self._turn is turn:
            self._end(end)

    def _gone(self, turn: Turn, task: asyncio.Task[None]) -> None:
        """The handler's task is over; a cancel before its first step is reported only here."""
        self._tasks.discard(task)
        if self._turn is turn:
            self._end(self._cancelled(turn))

    def _cancelled(self, turn: Turn) -> Input:
        return HandlerCancelled(turn.token_usage) if self._failure is None else self._failed(turn, self._failure)

    def _failed(self, turn: Turn, error: Exception) -> Input:
        if isinstance(error, TransportError) and not self._session.client.is_connected:
            return HandlerCancelled(turn.token_usage)  # the client is gone: this is no failure of the handler
        failure = work_error(error, self._registrations.auth_methods(self._session.client.capabilities))
        return HandlerFailed(failure, turn.token_usage)

    async def _tidy(self, turn: Turn, status: str) -> None:
        """End the tool calls and commands that the handler left open."""
        if self._turn is not turn:
            return  # it was abandoned, and another turn may run by now
        try:
            await self._end_tools(turn, status if self._timer is None else "cancelled")
            await self._session._end_commands()
        except asyncio.CancelledError:
            if status == "completed":
                raise
        except AccordError as error:
            log.debug("a turn could not be tidied up: %s", error)
        except Exception:
            log.exception("a turn could not be tidied up")

    @staticmethod
    async def _end_tools(turn: Turn, status: str) -> None:
        for tool in turn._tools:
            if tool.started and not tool.finished:
                await {"completed": tool.complete, "failed": tool.fail, "cancelled": tool.cancel}[status]()
        if status != "completed":
            for plan in stopped_plans(turn._plans.values()):
                await turn.send(plan)

    def _end(self, end: Input) -> None:
        turn, self._turn, self._handler = self._turn, None, None
        if turn is not None:
            turn._end()
            end_turn(turn._span, end, [tool._span for tool in turn._tools])
            self._background = [tool for tool in (*self._background, *turn._background_tools) if not tool.finished]
        self._release_threads()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.feed(end)
        self._note_end()

    def _cancel_handler(self, _: CancelHandler | None = None) -> None:
        if self._handler is None or self._timer is not None:
            return
        if self._turn is not None:
            self._turn.cancelled = True
        self._handler.cancel()
        # Now: a framework may wait for its thread, which waits for a verb, before it lets the cancel through.
        self._release_threads()
        self._timer = asyncio.get_running_loop().call_later(self._grace_seconds, self._abandon)

    def _release_threads(self) -> None:
        """Let the threads of a framework do nothing more in this turn."""
        scope, self._foreign_threads = self._foreign_threads, None
        if scope is not None:
            scope.close()

    def _abandon(self) -> None:
        """End the turn of a handler that ignores its cancellation; the handler itself cannot be stopped."""
        self._timer = None
        log.warning("a prompt handler did not end within %g s after it was cancelled", self._grace_seconds)
        if self._handler is not None:
            self._handler.cancel()
        turn = self._turn
        if turn is None:
            return
        for tool in turn._tools:
            event = tool._cut_short()
            if event is not None:
                self._session._publisher.publish_soon(event)
        for plan in stopped_plans(turn._plans.values()):
            self._session._publisher.publish_soon(plan)
        self._start_task(self._session._end_commands())
        self._end(self._cancelled(turn))

    def store_failed(self, error: Exception) -> None:
        """An event could not be committed or sent: the turn ends with an error."""
        log.error("a session could not be kept: %s", error)
        if self._turn is not None:
            self._turn._fail(error)
        self.fail(error)

    def fail(self, error: Exception) -> None:
        """End the running turn with an error: its handler is cancelled, and what it left open is ended in the log."""
        self._failure = error
        if self._turn is not None:
            self._cancel_handler()
        if self.repair is not None:
            self.repair.run_later()

    def _retire(self, output: Retire) -> None:
        for question in output.questions:
            if isinstance(question, PendingQuestion):
                question.retire()

    def _answer_inserted(self, output: AnswerInserted) -> None:
        prompt: OpenPrompt = output.prompt  # type: ignore[assignment]
        prompt.answer(PromptAnswered(message_id=prompt.message_id), self._session._publisher.flush_future())

    def _answer_stopped(self, output: AnswerStopped) -> None:
        prompt: OpenPrompt = output.prompt  # type: ignore[assignment]
        # The answer is the end of the turn: all events are sent before it.
        answer = PromptAnswered(output.stop_reason, token_usage=output.token_usage)
        prompt.answer(answer, self._session._publisher.flush_future())

    def _answer_failed(self, output: AnswerFailed) -> None:
        prompt: OpenPrompt = output.prompt  # type: ignore[assignment]
        error = RequestError(output.error.message, output.error.data, code=output.error.code)
        prompt.answer(error, self._session._publisher.flush_future())

    def _answer_withdrawn(self, output: AnswerWithdrawn) -> None:
        output.prompt.answer(RequestCancelled())  # type: ignore[attr-defined]

    def _answer_closed(self, output: AnswerClosed) -> None:
        output.prompt.answer(unknown_session(self._session.id))  # type: ignore[attr-defined]

    def _publish(self, output: PublishState) -> None:
        self._session._publisher.publish_soon(output.state, keep=output.keep)

    def _stop_background(self, _: StopBackground) -> None:
        self._start_task(self._end_background())

    async def _end_background(self) -> None:
        tools = (*self._background, *(self._turn._background_tools if self._turn is not None else ()))
        try:
            for tool in tools:
                await tool.cancel()
            await self._session._stop_background()
        except Exception:
            # The close of the session waits for this input, also if something could not be stopped.
            log.exception("the background of a session could not be stopped")
            self.feed(BackgroundChanged())

    def _closed(self, _: SessionEnded) -> None:
        self.closed.set()

    def _illegal(self, output: Illegal) -> None:
        log.error("a bug of ours: %r cannot happen while a turn is %s", output.input, output.state)

    async def stop(self) -> None:
        """Cancel the tasks that still run, after the automaton has ended."""
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=self._grace_seconds)
        if self._timer is not None:
            self._timer.cancel()

    _ACTIONS: ClassVar[dict[type[Output], Callable[[Any, Any], None]]] = {
        Insert: _insert,
        Hold: _hold,
        Start: _start,
        CancelHandler: _cancel_handler,
        Retire: _retire,
        AnswerInserted: _answer_inserted,
        AnswerStopped: _answer_stopped,
        AnswerFailed: _answer_failed,
        AnswerWithdrawn: _answer_withdrawn,
        AnswerClosed: _answer_closed,
        PublishState: _publish,
        StopBackground: _stop_background,
        SessionEnded: _closed,
        Illegal: _illegal,
    }
