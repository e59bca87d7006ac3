"""One session as its client sees it: the transcript as live state, prompts, settings."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Protocol

from accord.client.deadline import Deadlines
from accord.client.prompt import Promptable, prompt_blocks
from accord.client.turn import PromptTurn
from accord.errors import AccordError, LocalProtocolError, RequestCancelled, RequestError, request_error
from accord.session.ability import AgentAbilities
from accord.session.ask import (
    Cancel,
    CancelTerminal,
    CancelTool,
    CloseSession,
    DeleteSession,
    OptionsSet,
    Prompt,
    PromptAnswered,
    SessionOpened,
    SetMode,
    SetModel,
    SetOption,
)
from accord.session.content import Text
from accord.session.dialect import Dialect
from accord.session.event import (
    CommandsChanged,
    ConfigChanged,
    Event,
    MessageChanged,
    MessageChunk,
    StateChanged,
    WorkError,
)
from accord.session.mode import MADE_FROM, mode_option, with_made
from accord.session.option import Command, ConfigOption, Select, Toggle
from accord.session.transcript import Transcript

__all__ = ["ClientSession"]

log = logging.getLogger("accord.client")


class Line(Protocol):
    """The way to the agent, whatever connection it is just now."""

    @property
    def dialect(self) -> Dialect: ...
    @property
    def abilities(self) -> AgentAbilities: ...
    async def ask(self, ask: Any, *, timeout_seconds: float | None = None) -> Any:
        """Ask the agent."""

    async def cancel(self, ask: Cancel) -> None:
        """Tell it to stop a session's work."""

    async def attend(self, session: ClientSession) -> None:
        """Return when the agent has the session open; a new process is told of it first."""

    def forget(self, session: ClientSession) -> None:
        """The session is closed."""


class ClientSession:
    """Prompts, settings and the transcript of one session. Made by an agent's `new_session` and its sisters."""

    def __init__(
        self, line: Line, session_id: str, cwd: str, roots: Sequence[str], servers: Sequence[Any], deadlines: Deadlines
    ) -> None:
        self.id = session_id
        self.key = secrets.token_hex(16)
        """A random name of ours. Agents choose session ids and may use one again; nothing of theirs chooses this."""
        self.cwd = cwd
        self.roots = (cwd, *roots)
        self.servers = list(servers)
        self.transcript = Transcript()
        self.is_closed = False
        self.is_reopening = False
        """Whether the agent opens it again just now: what it reports meanwhile is history."""
        self._line = line
        self._deadlines = deadlines
        self._ear = line.dialect.ear()
        self._turns: list[PromptTurn] = []
        """Those that were sent and are not over, the oldest first."""
        self._unsent: list[PromptTurn] = []
        self._one_at_a_time = asyncio.Lock()
        self._busy_when_sent: dict[PromptTurn, bool] = {}
        self._worked: dict[PromptTurn, bool] = {}
        self._idle: dict[PromptTurn, StateChanged] = {}
        self._inserted: set[PromptTurn] = set()
        self._cancelled: PromptTurn | None = None
        self._stopped: set[PromptTurn] = set()
        """The turns that were running or waiting when the user stopped the session's work."""
        self._echo = ""
        self._listeners: list[Callable[[Event], Any]] = []
        self.on_cancel: Callable[[], None] = lambda: None
        """Called when the user stops the session's work: whatever is asked is answered so at once."""

    def __repr__(self) -> str:
        return f"<session {self.id} in {self.cwd}>"

    @property
    def is_cancelling(self) -> bool:
        """Whether the turn that runs was cancelled: what is still asked in it is answered so (v1 rule 37).

        Never where states tell the end: there only the agent knows which question belongs to the cancelled work.
        """
        return self._cancelled is not None and self._cancelled in self._turns

    @property
    def has_turn(self) -> bool:
        """Whether a prompt was sent whose turn is not over, also one that was cancelled."""
        return any(not turn.is_over for turn in self._turns)

    @property
    def running_turn(self) -> PromptTurn | None:
        """The turn that the agent works on. None before a prompt, during a load, after a cancel and after the end."""
        return next((turn for turn in self._turns if not turn.is_over and turn not in self._stopped), None)

    # --- prompts

    def prompt(self, *content: Promptable, deadlines: Deadlines | None = None) -> PromptTurn:
        """Say something: texts, paths of files, content blocks. See `PromptTurn` for what to do with it.

        Files become embedded resources, images or audio where the agent takes those, and links otherwise. A prompt
        that is sent while the agent works waits for its turn.
        """
        blocks = prompt_blocks(content, self.cwd, self._line.abilities.prompts)
        return PromptTurn(self, blocks, deadlines or self._deadlines)

    def listen(self, listener: Callable[[Event], Any]) -> Callable[[], None]:
        """Let somebody hear every event, also outside of turns; call what is returned to stop that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def submit(self, turn: PromptTurn) -> None:
        """Send a prompt when its time has come, and see it to its end."""
        try:
            self._check_open()
            await self._line.attend(self)
            if self._line.dialect.rule == "end":
                await self._submit_in_order(turn)
            else:
                await self._submit_at_once(turn)
        except RequestCancelled:
            turn.end("cancelled")
        except AccordError as error:
            turn.end(None, error)
        except asyncio.CancelledError:
            turn.end("cancelled")
            raise
        except Exception as error:  # a bug of ours: whoever waits must not wait for ever
            log.exception("a prompt failed")
            turn.end(None, LocalProtocolError(f"the prompt failed: {type(error).__name__}"))
        finally:
            self._drop(turn)

    def _check_open(self) -> None:
        if self.is_closed:
            raise LocalProtocolError("the session is closed")

    def _drop(self, turn: PromptTurn) -> None:
        if turn in self._turns:
            self._turns.remove(turn)
        for held in (self._busy_when_sent, self._worked, self._idle):
            held.pop(turn, None)
        self._inserted.discard(turn)

    async def _submit_in_order(self, turn: PromptTurn) -> None:
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
            turn.sent()
            try:
                answer: PromptAnswered = await self._line.ask(Prompt(self.id, turn.prompt))
            except RequestError as error:
                self._happen(StateChanged("idle", "error", WorkError(error.code, error.message, error.data)))
                raise
            except (AccordError, asyncio.CancelledError):
                self._happen(StateChanged("idle", "error"))
                raise
            self._happen(StateChanged("idle", answer.stop_reason or "end_turn"))
            turn.end(answer.stop_reason or "end_turn")
        finally:
            self._one_at_a_time.release()

    async def _submit_at_once(self, turn: PromptTurn) -> None:
        """Where states tell the end: the agent inserts or holds it."""
        self._turns.append(turn)
        self._busy_when_sent[turn] = self.transcript.state != "idle"
        self._worked[turn] = self._busy_when_sent[turn]
        turn.sent()
        answer: PromptAnswered = await self._line.ask(Prompt(self.id, turn.prompt))
        turn.message_id = answer.message_id
        self._inserted.add(turn)
        if turn in self._idle:
            self._end(turn, self._idle[turn])
        await turn.over()

    def lost(self, error: AccordError) -> None:
        """The connection is gone, and every turn with it."""
        for turn in [*self._turns, *self._unsent]:
            turn.end(None, error)
        if self.transcript.state != "idle":
            self._happen(StateChanged("idle", "error"))

    async def cancel(self) -> None:
        """Stop the session's work; unfinished tool calls show as cancelled at once, and later updates still apply."""
        for turn in self._unsent:
            turn.end("cancelled")
        if self._turns and self._line.dialect.rule == "end":
            self._cancelled = self._turns[0]
        self._stopped = set(self._turns)
        self.on_cancel()
        await self._line.cancel(Cancel(self.id))
        self.transcript.mark_cancelled()

    # --- what is heard

    def hear(self, update: Any) -> Awaitable[None] | None:
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
        pause = self._turns[0].offer(event) if self._turns else None
        if type(event) is StateChanged:
            self._state_changed(event)
        for listener in self._listeners:
            listener(event)
        return pause

    @contextlib.contextmanager
    def asked(self) -> Iterator[None]:
        """While somebody is asked on the agent's behalf: that time is not the agent's."""
        turns = list(self._turns)
        for turn in turns:
            turn.alive()
            turn.rest()
        try:
            yield
        finally:
            for turn in turns:
                turn.go_on()

    def reopened(self, dialect: Dialect) -> None:
        """A new process has it: nothing of what the old one said is repeated."""
        self._ear = dialect.ear()

    def happen(self, event: Event) -> Awaitable[None] | None:
        """Something that the agent said in a question, or that was done for it; who can should await what it gives."""
        return self._happen(event)

    def _is_echo(self, event: MessageChunk) -> bool:
        """Whether an agent repeats the prompt, which is in the transcript already."""
        if not self._turns or not isinstance(event.block, Text) or not self._echo.startswith(event.block.text):
            self._echo = ""
            return False
        self._echo = self._echo[len(event.block.text) :]
        return True

    def _state_changed(self, event: StateChanged) -> None:
        if self._line.dialect.rule == "end":
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

    def _end(self, turn: PromptTurn, event: StateChanged) -> None:
        if event.stop_reason == "error":
            error = event.error
            turn.end("error", request_error(-32603, "The agent failed") if error is None else _raised(error))
        else:
            turn.end(event.stop_reason or "end_turn")

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
        """What the agent calls the session."""
        return self.transcript.title

    @property
    def mode(self) -> str | None:
        """The current mode."""
        option = mode_option(self.options)
        return self.transcript.mode if option is None else option.value

    def option(self, option_id: str) -> Select | Toggle:
        """An option by its id.

        Raises:
            LocalProtocolError: There is no such option; says which there are.
        """
        known = [option for option in self.options if isinstance(option, Select | Toggle)]
        for option in known:
            if option.id == option_id:
                return option
        names = ", ".join(option.id for option in known) or "none"
        raise LocalProtocolError(f"this session has no option {option_id!r}; it has {names}", field=option_id)

    async def set_option(self, option_id: str, value: Any) -> None:
        """Give an option another value.

        Raises:
            LocalProtocolError: There is no such option.
            InvalidParams: The agent refused the value.
        """
        option = self.option(option_id)
        made_from = (option.meta or {}).get(MADE_FROM)
        if made_from == "modes":
            await self._line.ask(SetMode(self.id, value))
        elif made_from == "models":
            await self._line.ask(SetModel(self.id, value))
        else:
            answer: OptionsSet = await self._line.ask(SetOption(self.id, option_id, value))
            self._happen(ConfigChanged(answer.options))
            return
        options = [o if o is not option else _with_value(o, value) for o in self.options]
        self._happen(ConfigChanged(options))

    async def set_mode(self, mode: str) -> None:
        """Another mode, in whichever words the agent has for it.

        Raises:
            LocalProtocolError: The agent has no modes.
        """
        option = mode_option(self.options)
        if option is None:
            raise LocalProtocolError("this agent has no modes")
        await self.set_option(option.id, mode)

    def opened(self, opened: SessionOpened) -> None:
        """What the answer that opened it says; it came later than the updates that were sent before it."""
        if opened.options:
            self._happen(ConfigChanged(opened.options))
        if opened.commands:
            self._happen(CommandsChanged(opened.commands))

    # --- the end

    async def cancel_tool(self, tool_id: str) -> None:
        """Stop one tool call, where the edition and the agent allow it."""
        await self._line.ask(CancelTool(self.id, tool_id))

    async def cancel_terminal(self, terminal_id: str) -> None:
        """Stop one terminal of the agent, where the edition and the agent allow it."""
        await self._line.ask(CancelTerminal(self.id, terminal_id))

    async def close(self) -> None:
        """Let the agent free the session; where it cannot, its work is cancelled."""
        if self.is_closed:
            return
        self.is_closed = True
        self.on_cancel()
        try:
            if self._line.abilities.close:
                await self._line.ask(CloseSession(self.id))
            elif self._turns:
                await self._line.cancel(Cancel(self.id))
        except RequestError as error:
            # v2 rule A31: unknown is closed; real agents advertise it and do not serve it.
            log.debug("closing a session was refused: %s", error)
        finally:
            for turn in [*self._turns, *self._unsent]:
                turn.end("cancelled")
            self._line.forget(self)

    async def delete(self) -> None:
        """Close it and let the agent forget it.

        Raises:
            LocalProtocolError: The agent cannot.
        """
        if not self._line.abilities.delete:
            raise LocalProtocolError("this agent cannot delete sessions")
        await self.close()
        await self._line.ask(DeleteSession(self.id))


def _with_value(option: ConfigOption, value: Any) -> ConfigOption:
    if isinstance(option, Select | Toggle):
        changed = type(option)(**{name: getattr(option, name) for name in option.__struct_fields__})
        changed.value = value
        return changed
    return option


def _raised(error: WorkError) -> RequestError:
    return request_error(error.code, error.message, error.data)
