"""One session of a client: the transcript as live state, prompts, settings."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import msgspec

from accord.client.deadline import Deadlines
from accord.client.late_replay import LateReplay
from accord.client.prompt import Promptable, prompt_blocks
from accord.client.turn import Turn
from accord.errors import (
    AccordError,
    CallTimeout,
    LocalProtocolError,
    RequestCancelled,
    RequestError,
    request_error,
)
from accord.session.capability import AgentCapabilities, Implementation
from accord.session.client_requests import (
    Cancel,
    CancelTerminal,
    CancelTool,
    CloseSession,
    DeleteSession,
    McpServer,
    OptionsSet,
    Prompt,
    PromptAnswered,
    SessionOpened,
    setting_request,
)
from accord.session.client_turn import (
    Abandoned,
    Accepted,
    ClientTurns,
    EndTurn,
    MaySend,
    PromptInput,
    Refused,
    SendStarted,
    ShowPrompt,
    ShowState,
    StateReported,
    Submitted,
)
from accord.session.dialect import Dialect
from accord.session.event import (
    CommandsChanged,
    ConfigChanged,
    Event,
    MessageChanged,
    MessageChunk,
    Meta,
    StateChanged,
    WorkError,
)
from accord.session.option import Command, ConfigOption, Select, Toggle, mode_option, with_made
from accord.session.transcript import Transcript
from accord.telemetry import OperationSpan

__all__ = ["Listener", "Session"]

log = logging.getLogger("accord.client")

Listener: TypeAlias = Callable[[Event], object]
"""Gets every event of a session; must not block."""


class SessionAgent(Protocol):
    """The interface of a session to its agent, independent of the current connection."""

    info: Implementation | None
    """The name and the version that the agent gave in `initialize`."""

    @property
    def _dialect(self) -> Dialect: ...
    @property
    def capabilities(self) -> AgentCapabilities: ...
    async def _request(
        self,
        request: Any,
        *,
        timeout_seconds: float | None = None,
        span: OperationSpan | None = None,
        on_answer: Callable[[Any], None] | None = None,
    ) -> Any: ...
    def _prompt_span(self, prompt: Prompt) -> OperationSpan: ...
    def _cancel(self, request: Cancel) -> None: ...
    async def _attend(self, session: Session) -> None:
        """Return when the agent has the session open; a new process reopens it first."""

    async def _elsewhere(self, ask: Callable[[], Awaitable[Any]]) -> Any: ...
    def _forget(self, session: Session) -> None: ...


class Session:
    """A session in the client author's API: prompts, settings, the transcript.

    Made by `ConnectedAgent.new_session`, `load_session`, `resume_session` and `fork_session`.
    """

    def __init__(
        self,
        agent: SessionAgent,
        session_id: str,
        cwd: str,
        roots: Sequence[str],
        servers: Sequence[Any],
        deadlines: Deadlines,
    ) -> None:
        self.id: str = session_id
        """The id of the session; the agent chose it."""
        self.key: str = secrets.token_hex(16)
        """A random name of ours. Agents choose session ids and may use one again; no agent chooses this."""
        self.cwd: str = cwd
        """The session's directory, an absolute path."""
        self.additional_directories: tuple[str, ...] = tuple(roots)
        """Further directories that the agent may use, absolute paths."""
        self.mcp_servers: list[McpServer] = list(servers)
        """The MCP servers that the session was given."""
        self.transcript: Transcript = Transcript()
        """The conversation so far, live."""
        self.is_closed: bool = False
        """Whether the session was closed here."""
        self._roots = (cwd, *roots)
        self._is_reopening = False
        """Whether the agent is reopening it: updates that arrive meanwhile are its history."""
        self._agent = agent
        self._deadlines = deadlines
        self._decoder = agent._dialect.decoder()
        self._turns: ClientTurns[Turn] = ClientTurns(agent._dialect.rule)
        self._listeners: list[Listener] = []
        self._late = LateReplay(self.transcript, self._turns, self._listeners)
        self._on_cancel: Callable[[], None] = lambda: None
        """Called when the user cancels the session's work: every open question is dismissed at once."""

    def __repr__(self) -> str:
        return f"<session {self.id} in {self.cwd}>"

    def _repr_html_(self) -> str:
        from accord.session.notebook import conversation_html  # noqa: PLC0415 - for notebooks, and they have time

        seen = self.transcript
        return conversation_html(self._heading(), seen.timeline, seen.terminals, seen.state)

    def _repr_markdown_(self) -> str:
        from accord.session.notebook import conversation_markdown  # noqa: PLC0415 - as above

        seen = self.transcript
        return conversation_markdown(self._heading(), seen.timeline, seen.terminals, seen.state)

    def _heading(self) -> str:
        return " · ".join(part for part in (self.title, f"session {self.id}", self.cwd) if part)

    @property
    def _is_cancelling(self) -> bool:
        """Whether the running turn was cancelled: its further questions are answered `cancelled` (v1 rule 37)."""
        return self._turns.is_cancelling

    @property
    def running_turn(self) -> Turn | None:
        """The turn that the agent works on. None before a prompt, during a load, after a cancel and after the end."""
        return next((turn for turn in self._turns.running if not turn.is_over), None)

    # --- prompts

    def prompt(self, *content: Promptable, deadlines: Deadlines | None = None, meta: Meta | None = None) -> Turn:
        """Prompt the agent with texts, paths of files or content blocks. See `Turn` for the ways to use the result.

        Files become embedded resources, images or audio where the agent takes those, and links otherwise. A prompt
        that is sent while the agent works waits for its turn. `meta` is the `_meta` of the request.

        Raises:
            ValueError: There is no content, or a path leads to no file.
            TypeError: Something is no text, path or content block.
            LocalProtocolError: The agent does not take such a block.
        """
        blocks = prompt_blocks(content, self.cwd, self._agent.capabilities.prompts)
        return Turn(self, blocks, deadlines or self._deadlines, meta)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call a function with every event, also outside of turns; call the result to stop that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def _submit(self, turn: Turn) -> None:
        """Send a prompt when the automaton allows it, and wait for the end of its turn."""
        try:
            self._check_open()
            await self._agent._elsewhere(lambda: self._agent._attend(self))
            if turn._is_unwanted:
                turn._finish("cancelled")
                return
            self._feed(Submitted(turn))
            await turn._wait_ready()
            if turn.is_over:
                return
            self._feed(SendStarted(turn))
            turn._sent()
            prompt = Prompt(self.id, turn.prompt, turn.meta)
            turn._span = self._agent._prompt_span(prompt)
            await self._agent._elsewhere(functools.partial(self._ask, turn, prompt))
            await turn._wait_over()
        except RequestError as error:
            self._feed(Refused(turn, WorkError(error.code, error.message, error.data)))
            if isinstance(error, RequestCancelled):
                turn._finish("cancelled")
            else:
                turn._finish(None, error)
        except AccordError as error:
            self._feed(Abandoned(turn))
            turn._finish(None, error)
        except asyncio.CancelledError:
            self._feed(Abandoned(turn))
            turn._finish("cancelled")
            raise
        except Exception as error:  # a bug of ours: the caller must not wait for ever
            log.exception("a prompt failed")
            turn._finish(None, LocalProtocolError(f"the prompt failed: {type(error).__name__}"))
        finally:
            self._feed(Abandoned(turn))
            turn._end_span()

    async def _ask(self, turn: Turn, prompt: Prompt) -> None:
        """Send a prompt where the session is open now."""
        await self._agent._attend(self)
        turn._is_moving = False
        try:
            await self._agent._request(prompt, span=turn._span, on_answer=functools.partial(self._accepted, turn))
        except RequestError:
            turn._is_moving = True  # until another server takes it, or the turn ends with this error
            raise

    def _accepted(self, turn: Turn, answer: PromptAnswered) -> None:
        """The prompt is answered: reports behind the answer, also those of the same read, are not of what it ends."""
        turn.message_id = answer.message_id
        self._feed(Accepted(turn, answer.stop_reason, answer.token_usage))

    def _feed(self, event: PromptInput[Turn]) -> None:
        """Feed an input to the automaton of the client's turns, and execute its outputs."""
        if isinstance(event, Accepted | Refused | Abandoned) and self._turns.sent[:1] == [event.prompt]:
            self._late.release()
        for output in self._turns.feed(event):
            match output:
                case MaySend():
                    output.prompt._ready()
                case ShowPrompt():
                    blocks = output.prompt.prompt
                    self._late.expect(blocks)
                    self._apply(MessageChanged("user", f"prompt-{secrets.token_hex(8)}", list(blocks)))
                case ShowState():
                    self._apply(output.state, output.prompt)
                case EndTurn():
                    error = output.error
                    failure = None if error is None else request_error(error.code, error.message, error.data)
                    output.prompt._finish(output.stop_reason, failure, output.token_usage)

    def _check_open(self) -> None:
        if self.is_closed:
            raise LocalProtocolError("the session is closed")

    def _lost(self, error: AccordError) -> None:
        """The connection is gone, and every turn with it."""
        is_moving = any(turn._is_moving for turn in self._turns.sent)
        for turn in [*self._turns.sent, *([] if is_moving else self._turns.unsent)]:
            if not turn._is_moving:
                turn._finish(None, error)
        if self.transcript.state != "idle" and not is_moving:
            self._apply(StateChanged("idle", "error"))

    def cancel(self) -> None:
        """Ask the agent to stop the session's work; returns at once.

        Prompts that were not sent yet end. Unfinished tool calls show as cancelled, and later updates still apply.
        A turn that has not ended when `cancel_seconds` of its deadlines have passed fails.
        """
        for turn in self._turns.unsent:
            turn._finish("cancelled")
        for turn in self._turns.sent:
            turn._stopping()
        self._turns.stop()
        self._on_cancel()
        self._agent._cancel(Cancel(self.id))
        self.transcript.mark_cancelled()

    # --- updates

    def _receive(self, update: Any) -> Awaitable[None] | None:
        """Apply an update; the result, if any, is back-pressure to be awaited before the next one."""
        events = self._decoder.decode(update)
        if len(events) == 1:
            return self._apply(events[0])
        pause: Awaitable[None] | None = None
        for event in events:
            pause = self._apply(event) or pause
        return pause

    def _receive_run(self, updates: Iterator[Any]) -> Awaitable[None] | None:
        """`_receive` for several: takes them until there is back-pressure.

        Nearly all updates are chunks of the agent's messages in the turn that runs; `_apply` is written out for them.
        """
        decoders, fold, sent = self._decoder.chunk_decoders, self.transcript.fold, self._turns.sent
        for update in updates:
            decode = decoders.get(type(update))
            if decode is None:
                pause = self._receive(update)
            else:
                event = decode(update)
                is_plain = type(event) is MessageChunk and event.speaker != "user" and not self._listeners
                if is_plain and sent and not self._late.is_possible:
                    fold(event)
                    pause = sent[0]._enqueue(event)
                else:
                    pause = self._apply(event)
            if pause is not None:
                return pause
        return None

    def _apply(self, event: Event, turn: Turn | None = None) -> Awaitable[None] | None:
        if self._late.takes(event):
            return None
        if type(event) is ConfigChanged:
            event = ConfigChanged(with_made(event.options, self.options), event.meta)
        self.transcript.fold(event)
        if self._late.holds(event):
            return None
        if turn is None and (sent := self._turns.sent):
            turn = sent[0]
        pause = None if turn is None else turn._enqueue(event)
        if type(event) is StateChanged:
            self._feed(StateReported(event))
        for listener in self._listeners:
            listener(event)
        return pause

    @contextlib.contextmanager
    def _while_agent_waits(self) -> Iterator[None]:
        """While the agent waits for an answer of the user: that time counts for no deadline of the agent."""
        turns = list(self._turns.sent)
        for turn in turns:
            turn._alive()
            turn._rest()
        try:
            yield
        finally:
            for turn in turns:
                turn._go_on()

    def _reopened(self, dialect: Dialect) -> None:
        """A new process has reopened the session: no event of the old one is repeated."""
        self._decoder = dialect.decoder()

    # --- settings

    @property
    def options(self) -> list[ConfigOption]:
        """The config options with their values; the mode is among them, however the edition sends it."""
        return self.transcript.config

    @property
    def commands(self) -> list[Command]:
        """The slash commands; run one by prompting `/name argument`."""
        return self.transcript.commands

    @property
    def title(self) -> str | None:
        """The title that the agent gave the session."""
        return self.transcript.title

    @property
    def mode(self) -> str | None:
        """The current mode."""
        option = mode_option(self.options)
        return self.transcript.mode if option is None else option.value

    def option(self, option_id: str) -> Select | Toggle:
        """An option by its id.

        Raises:
            ValueError: There is no such option; the message lists those that exist.
        """
        known = [option for option in self.options if isinstance(option, Select | Toggle)]
        for option in known:
            if option.id == option_id:
                return option
        names = ", ".join(option.id for option in known) or "none"
        raise ValueError(f"this session has no option {option_id!r}; it has {names}")

    async def set_option(self, option_id: str, value: str | bool) -> None:  # noqa: FBT001 - the value of a toggle
        """Give an option another value.

        Raises:
            ValueError: There is no such option.
            InvalidParams: The agent refused the value.
        """
        option = self.option(option_id)
        answer = await self._agent._request(setting_request(self.id, option, value))
        if isinstance(answer, OptionsSet):
            self._apply(ConfigChanged(answer.options))
        else:
            changed = msgspec.structs.replace(option, value=value)
            self._apply(ConfigChanged([changed if each is option else each for each in self.options]))

    async def set_mode(self, mode: str) -> None:
        """Choose another mode, however the agent's edition says so.

        Raises:
            LocalProtocolError: The agent has no modes.
        """
        option = mode_option(self.options)
        if option is None:
            raise LocalProtocolError("this agent has no modes")
        await self.set_option(option.id, mode)

    def _opened(self, opened: SessionOpened) -> None:
        """Apply the response that opened it; it is newer than the updates before it."""
        if opened.options:
            self._apply(ConfigChanged(opened.options))
        if opened.commands:
            self._apply(CommandsChanged(opened.commands))

    # --- the end

    async def cancel_tool(self, tool_id: str) -> None:
        """Stop one tool call, where the edition and the agent allow it."""
        await self._agent._request(CancelTool(self.id, tool_id))

    async def cancel_terminal(self, terminal_id: str) -> None:
        """Stop one terminal of the agent, where the edition and the agent allow it."""
        await self._agent._request(CancelTerminal(self.id, terminal_id))

    async def close(self) -> None:
        """Have the agent close the session; where it cannot, its work is cancelled.

        An agent that does not answer is waited for as long as after a cancel (`cancel_seconds` of the deadlines).
        """
        if self.is_closed:
            return
        self.is_closed = True
        self._on_cancel()
        try:
            if self._agent.capabilities.close:
                await self._agent._request(CloseSession(self.id), timeout_seconds=self._deadlines.cancel_seconds)
            elif self._turns.sent:
                self._agent._cancel(Cancel(self.id))
        except RequestError as error:
            # v2 rule A31: unknown is closed; real agents advertise it and do not serve it.
            log.debug("closing a session was refused: %s", error)
        except CallTimeout as error:
            log.warning("a session is closed here alone: %s", error)
        finally:
            for turn in [*self._turns.sent, *self._turns.unsent]:
                turn._finish("cancelled")
            self._agent._forget(self)

    async def delete(self) -> None:
        """Close the session and have the agent delete it.

        Raises:
            LocalProtocolError: The agent cannot.
        """
        if not self._agent.capabilities.delete:
            raise LocalProtocolError("this agent cannot delete sessions")
        await self.close()
        await self._agent._request(DeleteSession(self.id))
