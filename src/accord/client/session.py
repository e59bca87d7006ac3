"""One session as its client sees it: the transcript as live state, prompts, settings."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import msgspec

from accord.client.deadline import Deadlines
from accord.client.prompt import Promptable, prompt_blocks
from accord.client.turn import Turn
from accord.errors import AccordError, LocalProtocolError, RequestCancelled, RequestError, request_error
from accord.session.ask import (
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
    SetMode,
    SetModel,
    SetOption,
)
from accord.session.capability import AgentCapabilities
from accord.session.content import Text
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
from accord.session.mode import MADE_FROM, mode_option, with_made
from accord.session.option import Command, ConfigOption, Select, Toggle
from accord.session.transcript import Transcript

__all__ = ["Listener", "Session"]

log = logging.getLogger("accord.client")

Listener: TypeAlias = Callable[[Event], object]
"""Gets every event of a session; must not block."""


class Line(Protocol):
    """The way to the agent, whatever connection it is just now."""

    @property
    def _dialect(self) -> Dialect: ...
    @property
    def capabilities(self) -> AgentCapabilities: ...
    async def _request(self, ask: Any, *, timeout_seconds: float | None = None) -> Any:
        """Ask the agent."""

    def _cancel(self, ask: Cancel) -> None:
        """Tell it to stop a session's work."""

    async def _attend(self, session: Session) -> None:
        """Return when the agent has the session open; a new process is told of it first."""

    def _forget(self, session: Session) -> None:
        """The session is closed."""


class Session:
    """A session as its client sees it: prompts, settings, the transcript.

    Made by `ConnectedAgent.new_session`, `load_session`, `resume_session` and `fork_session`.
    """

    def __init__(
        self, line: Line, session_id: str, cwd: str, roots: Sequence[str], servers: Sequence[Any], deadlines: Deadlines
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
        """Whether the agent opens it again just now: what it reports meanwhile is history."""
        self._line = line
        self._deadlines = deadlines
        self._ear = line._dialect.ear()
        self._turns: list[Turn] = []
        """The turns that were sent and are not over, the oldest first."""
        self._unsent: list[Turn] = []
        self._one_at_a_time = asyncio.Lock()
        self._busy_when_sent: dict[Turn, bool] = {}
        self._worked: dict[Turn, bool] = {}
        self._idle: dict[Turn, StateChanged] = {}
        self._inserted: set[Turn] = set()
        self._cancelled: Turn | None = None
        self._stopped: set[Turn] = set()
        """The turns that were running or waiting when the user stopped the session's work."""
        self._echo = ""
        self._listeners: list[Listener] = []
        self._on_cancel: Callable[[], None] = lambda: None
        """Called when the user stops the session's work: every open question is answered so at once."""

    def __repr__(self) -> str:
        return f"<session {self.id} in {self.cwd}>"

    @property
    def _is_cancelling(self) -> bool:
        """Whether the turn that runs was cancelled: what is still asked in it is answered so (v1 rule 37).

        Never where states tell the end: there only the agent knows which question belongs to the cancelled work.
        """
        return self._cancelled is not None and self._cancelled in self._turns

    @property
    def _has_turn(self) -> bool:
        """Whether a prompt was sent whose turn is not over, also one that was cancelled."""
        return any(not turn.is_over for turn in self._turns)

    @property
    def running_turn(self) -> Turn | None:
        """The turn that the agent works on. None before a prompt, during a load, after a cancel and after the end."""
        return next((turn for turn in self._turns if not turn.is_over and turn not in self._stopped), None)

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
        blocks = prompt_blocks(content, self.cwd, self._line.capabilities.prompts)
        return Turn(self, blocks, deadlines or self._deadlines, meta)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call a function with every event, also outside of turns; call the result to stop that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def _submit(self, turn: Turn) -> None:
        """Send a prompt when its time has come, and see it to its end."""
        try:
            self._check_open()
            await self._line._attend(self)
            if self._line._dialect.rule == "end":
                await self._submit_in_order(turn)
            else:
                await self._submit_at_once(turn)
        except RequestCancelled:
            turn._finish("cancelled")
        except AccordError as error:
            turn._finish(None, error)
        except asyncio.CancelledError:
            turn._finish("cancelled")
            raise
        except Exception as error:  # a bug of ours: whoever waits must not wait for ever
            log.exception("a prompt failed")
            turn._finish(None, LocalProtocolError(f"the prompt failed: {type(error).__name__}"))
        finally:
            self._drop(turn)

    def _check_open(self) -> None:
        if self.is_closed:
            raise LocalProtocolError("the session is closed")

    def _drop(self, turn: Turn) -> None:
        if turn in self._turns:
            self._turns.remove(turn)
        for held in (self._busy_when_sent, self._worked, self._idle):
            held.pop(turn, None)
        self._inserted.discard(turn)

    async def _submit_in_order(self, turn: Turn) -> None:
        """Where the answer is the end of the turn: one at a time, because the edition is silent about more."""
        self._unsent.append(turn)
        try:
            await self._one_at_a_time.acquire()
        finally:
            self._unsent.remove(turn)
        try:
            if turn.is_over:
                return
            self._turns.append(turn)
            self._echo = "".join(block.text for block in turn.prompt if isinstance(block, Text))
            self._happen(MessageChanged("user", f"prompt-{secrets.token_hex(8)}", list(turn.prompt)))
            self._happen(StateChanged("running"))
            turn._sent()
            try:
                answer: PromptAnswered = await self._line._request(Prompt(self.id, turn.prompt, turn.meta))
            except RequestError as error:
                self._happen(StateChanged("idle", "error", WorkError(error.code, error.message, error.data)))
                raise
            except (AccordError, asyncio.CancelledError):
                self._happen(StateChanged("idle", "error"))
                raise
            reason = answer.stop_reason or "end_turn"
            self._happen(StateChanged("idle", reason, token_usage=answer.token_usage))
            turn._finish(reason, usage=answer.token_usage)
        finally:
            self._one_at_a_time.release()

    async def _submit_at_once(self, turn: Turn) -> None:
        """Where states tell the end: the agent inserts or holds it."""
        self._turns.append(turn)
        self._busy_when_sent[turn] = self.transcript.state != "idle"
        self._worked[turn] = self._busy_when_sent[turn]
        turn._sent()
        answer: PromptAnswered = await self._line._request(Prompt(self.id, turn.prompt, turn.meta))
        turn.message_id = answer.message_id
        self._inserted.add(turn)
        if turn in self._idle:
            self._end(turn, self._idle[turn])
        await turn._wait_over()

    def _lost(self, error: AccordError) -> None:
        """The connection is gone, and every turn with it."""
        for turn in [*self._turns, *self._unsent]:
            turn._finish(None, error)
        if self.transcript.state != "idle":
            self._happen(StateChanged("idle", "error"))

    def cancel(self) -> None:
        """Ask the agent to stop the session's work; returns at once.

        Prompts that were not sent yet end. Unfinished tool calls show as cancelled, and later updates still apply.
        """
        for turn in self._unsent:
            turn._finish("cancelled")
        if self._turns and self._line._dialect.rule == "end":
            self._cancelled = self._turns[0]
        self._stopped = set(self._turns)
        self._on_cancel()
        self._line._cancel(Cancel(self.id))
        self.transcript.mark_cancelled()

    # --- what is heard

    def _hear(self, update: Any) -> Awaitable[None] | None:
        """An update came; what is returned is to be awaited before the next one."""
        events = self._ear.hear(update)
        if len(events) == 1:
            return self._happen(events[0])
        pause: Awaitable[None] | None = None
        for event in events:
            pause = self._happen(event) or pause
        return pause

    def _happen(self, event: Event) -> Awaitable[None] | None:
        if type(event) is MessageChunk:
            if self._echo and event.speaker == "user" and self._is_echo(event):
                return None
        elif type(event) is ConfigChanged:
            event = ConfigChanged(with_made(event.options, self.options), event.meta)
        self.transcript.fold(event)
        pause = self._turns[0]._offer(event) if self._turns else None
        if type(event) is StateChanged:
            self._state_changed(event)
        for listener in self._listeners:
            listener(event)
        return pause

    @contextlib.contextmanager
    def _asked(self) -> Iterator[None]:
        """While somebody is asked on the agent's behalf: that time is not the agent's."""
        turns = list(self._turns)
        for turn in turns:
            turn._alive()
            turn._rest()
        try:
            yield
        finally:
            for turn in turns:
                turn._go_on()

    def _reopened(self, dialect: Dialect) -> None:
        """A new process has it: nothing of what the old one said is repeated."""
        self._ear = dialect.ear()

    def _is_echo(self, event: MessageChunk) -> bool:
        """Whether an agent repeats the prompt, which is in the transcript already."""
        if not self._turns or not isinstance(event.block, Text) or not self._echo.startswith(event.block.text):
            self._echo = ""
            return False
        self._echo = self._echo[len(event.block.text) :]
        return True

    def _state_changed(self, event: StateChanged) -> None:
        if self._line._dialect.rule == "end":
            return
        for turn in list(self._turns):
            if event.state != "idle":
                self._worked[turn] = True
                self._idle.pop(turn, None)
            elif turn in self._inserted:
                if self._worked.get(turn):
                    self._end(turn, event)
            elif self._busy_when_sent.get(turn):
                # The work that was going on when it was sent is over; its own has not begun.
                self._busy_when_sent[turn] = self._worked[turn] = False
            elif self._worked.get(turn):
                self._idle[turn] = event

    def _end(self, turn: Turn, event: StateChanged) -> None:
        if event.stop_reason == "error":
            error = event.error or WorkError(-32603, "The agent failed")
            turn._finish("error", request_error(error.code, error.message, error.data), event.token_usage)
        else:
            turn._finish(event.stop_reason or "end_turn", usage=event.token_usage)

    # --- settings

    @property
    def options(self) -> list[ConfigOption]:
        """The config options with their values; the mode is among them, however the edition tells it."""
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
            ValueError: There is no such option; says which there are.
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
        made_from = (option.meta or {}).get(MADE_FROM)
        if made_from == "modes":
            await self._line._request(SetMode(self.id, str(value)))
        elif made_from == "models":
            await self._line._request(SetModel(self.id, str(value)))
        else:
            answer: OptionsSet = await self._line._request(SetOption(self.id, option_id, value))
            self._happen(ConfigChanged(answer.options))
            return
        options = [o if o is not option else _with_value(o, value) for o in self.options]
        self._happen(ConfigChanged(options))

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
        """What the answer that opened it says; it came later than the updates that were sent before it."""
        if opened.options:
            self._happen(ConfigChanged(opened.options))
        if opened.commands:
            self._happen(CommandsChanged(opened.commands))

    # --- the end

    async def cancel_tool(self, tool_id: str) -> None:
        """Stop one tool call, where the edition and the agent allow it."""
        await self._line._request(CancelTool(self.id, tool_id))

    async def cancel_terminal(self, terminal_id: str) -> None:
        """Stop one terminal of the agent, where the edition and the agent allow it."""
        await self._line._request(CancelTerminal(self.id, terminal_id))

    async def close(self) -> None:
        """Let the agent free the session; where it cannot, its work is cancelled."""
        if self.is_closed:
            return
        self.is_closed = True
        self._on_cancel()
        try:
            if self._line.capabilities.close:
                await self._line._request(CloseSession(self.id))
            elif self._turns:
                self._line._cancel(Cancel(self.id))
        except RequestError as error:
            # v2 rule A31: unknown is closed; real agents advertise it and do not serve it.
            log.debug("closing a session was refused: %s", error)
        finally:
            for turn in [*self._turns, *self._unsent]:
                turn._finish("cancelled")
            self._line._forget(self)

    async def delete(self) -> None:
        """Close it and let the agent forget it.

        Raises:
            LocalProtocolError: The agent cannot.
        """
        if not self._line.capabilities.delete:
            raise LocalProtocolError("this agent cannot delete sessions")
        await self.close()
        await self._line._request(DeleteSession(self.id))


def _with_value(option: ConfigOption, value: Any) -> ConfigOption:
    if isinstance(option, Select | Toggle):
        return msgspec.structs.replace(option, value=value)
    return option
