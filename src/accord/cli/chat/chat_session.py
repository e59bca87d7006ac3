"""The agent and the session of a chat: opened, prompted, cancelled, lost and reopened, without a screen."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import msgspec

from accord.cli.agent_session import SessionRequest, logged_in, open_session
from accord.cli.chat.agent_log import AgentLog
from accord.cli.chat.completion import prompt_of
from accord.cli.chat.failures import OPENING, ending_note, failure_in, failure_note
from accord.cli.show.presentation import Note, respawn_note
from accord.cli.status import Status
from accord.cli.stray_output import StrayOutput
from accord.client.agent import ConnectedAgent
from accord.client.question import ElicitCallback, PermissionCallback
from accord.client.session import Session
from accord.client.turn import Turn
from accord.config import ClientSessionRecord
from accord.connection.sender import Observer
from accord.errors import AccordError, AuthRequired, ConnectionLost, LocalProtocolError
from accord.session.capability import AuthMethod
from accord.session.client_requests import McpServer, SessionSummary
from accord.session.entry import Message

Prepare = Callable[[ConnectedAgent, Session], Awaitable[None]]
"""Called with every session that was opened: to set options, or to note it."""


class Connect(Protocol):
    """Makes the agent; `accord.connect` with its target filled in is one."""

    def __call__(
        self,
        *,
        permission: PermissionCallback,
        elicit: ElicitCallback,
        stderr: Callable[[bytes], None],
        observers: Sequence[Observer],
    ) -> ConnectedAgent:
        """An agent that is not open yet."""


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """The options of new and reopened sessions; `session` is the id of one to reopen."""

    cwd: str
    session: str | None = None
    key: str | None = None
    """Our key for that session: the answers that were remembered under it apply."""
    session_cwd: str | None = None
    """The directory of that session, where it differs."""
    find: Callable[[ConnectedAgent], Awaitable[ClientSessionRecord | None]] | None = None
    """Searches the agent's sessions for the requested one."""
    roots: Sequence[str | os.PathLike[str]] = ()
    servers: Sequence[McpServer] = ()
    prepare: Prepare | None = None
    known: Callable[[], tuple[Sequence[SessionSummary], set[str]]] = field(default=lambda: ((), set()))
    """Sessions in our records, beside those that the agent lists, and the ids of those to leave out."""
    set_up: Callable[[], str] = field(default=str)
    """How the agent is set up, for failures that a missing login or key may have caused; asked when one happens."""


class ChatView(Protocol):
    """The interface of a chat session to its screen."""

    async def session_opened(self, session: Session) -> None:
        """Show this session from now on."""

    def show_note(self, note: Note) -> None: ...

    def changed(self) -> None:
        """The state of the chat session has changed."""

    @property
    def is_behind(self) -> bool:
        """Whether more events wait for a repaint than the limit."""

    async def catch_up(self) -> None:
        """Return when the screen shows all events."""

    def give_back(self, text: str) -> None:
        """Return an unsent prompt to the user."""

    def turn_ended(self, seconds: float) -> None:
        """A turn is over, also if it failed, after so many seconds."""

    async def choose_login(self, methods: Sequence[AuthMethod]) -> str | None:
        """The login method that the user chooses."""

    def own_terminal(self) -> contextlib.AbstractContextManager[None]:
        """Give the terminal to another program while this lasts."""


class ChatSession:
    """One agent and its session, until it is closed. Prompts that are submitted while the agent works are queued."""

    def __init__(
        self,
        connect: Connect,
        options: ChatOptions,
        view: ChatView,
        permission: PermissionCallback,
        elicit: ElicitCallback,
    ) -> None:
        self._connect = connect
        self._options = options
        self._view = view
        self._callbacks = (permission, elicit)
        self._news = asyncio.Event()
        self._one = asyncio.Lock()
        self.agent: ConnectedAgent | None = None
        self.session: Session | None = None
        self.queue: deque[str] = deque()
        self.turn: Turn | None = None
        self.doing = "starting the agent"
        self.since = 0.0
        self.status = Status.DONE
        self._wanted = options.session
        self.log = AgentLog()
        self._output: StrayOutput | None = None
        """The output of an agent that has not started yet."""
        self.can_go_on = False
        """Whether the agent can open this session again."""

    @property
    def is_busy(self) -> bool:
        """Whether the agent works, or is being started."""
        return bool(self.doing)

    # --- from outside

    def submit(self, text: str) -> None:
        """Queue a prompt, which is sent after the earlier ones."""
        self.queue.append(text)
        self._news.set()
        self._view.changed()

    async def cancel(self) -> None:
        """Cancel the agent's work; queued prompts go back to the user."""
        if self.turn is None:
            return
        if self.queue:
            waiting, self.queue = self.queue, deque()
            self._view.give_back("\n".join(waiting))
        self._set_doing("cancelling")
        self.turn.cancel()
        self._view.changed()

    async def run(self) -> None:
        """Open the agent and a session, then send the queued prompts, one at a time."""
        self.since = asyncio.get_running_loop().time()
        async with self._one:
            await self._open_wanted()
        while True:
            while self.queue:
                async with self._one:
                    await self._submit_prompt(self.queue.popleft())
            self._news.clear()
            await self._news.wait()

    async def switch(self, session_id: str | None) -> None:
        """Switch to another session; None creates a new one."""
        async with self._one:
            self._wanted = session_id
            before, kept = self.session, session_id
            if not await self._open_wanted():
                self._wanted = None if before is None else kept
                return
            if before is not None and before is not self.session:
                with contextlib.suppress(AccordError):
                    await before.close()

    async def sessions(self) -> list[SessionSummary]:
        """The agent's sessions in this directory and those of our records, the newest first.

        Raises:
            AccordError: The agent cannot list them.
        """
        known, hidden = self._options.known()
        found = {each.id: each for each in known}
        if self.agent is not None and self.agent.capabilities.listing:
            async for each in self.agent.list_sessions(self._options.cwd):
                if each.id not in hidden:
                    # The first prompt identifies a session better than most titles.
                    title = (found[each.id].title if each.id in found else None) or each.title
                    found[each.id] = msgspec.structs.replace(each, title=title)
        return sorted(found.values(), key=lambda each: each.updated_at or "", reverse=True)

    @property
    def last_answer(self) -> str:
        """The agent's last message; empty where there is none."""
        timeline = [] if self.session is None else self.session.transcript.timeline
        said = (entry.text for entry in reversed(timeline) if isinstance(entry, Message) and entry.speaker == "agent")
        return next((text for text in said if text.strip()), "")

    async def close(self) -> None:
        """End the agent; bounded in time."""
        agent, self.agent = self.agent, None
        if agent is not None:
            await agent.close()

    # --- opening

    async def _open_wanted(self) -> bool:
        """Open an agent and a session; returns whether that succeeded."""
        self._set_doing(OPENING[self.agent is not None])
        try:
            await self._open()
        except (AccordError, OSError) as error:
            wanted = None if self.agent is None else self._wanted
            self.status = failure_in(error, self.doing, wanted).status
            note = failure_note(error, self.doing, wanted, set_up=self._options.set_up(), output=self._output)
            self._view.show_note(note)
            return False
        finally:
            self._set_doing("")
        self.status = Status.DONE
        return True

    async def _open(self) -> None:
        if self.agent is None:
            permission, elicit = self._callbacks
            output = self._output = StrayOutput(lambda text: self._view.show_note(Note(text, "warning")))
            agent = self._connect(
                permission=permission,
                elicit=elicit,
                stderr=self.log.add_stderr,
                observers=[self.log.add_wire, output],
            )
            try:
                await agent.open()
            finally:
                output.end()
            self._output = None
            agent.on_respawn = self._respawned
            self.agent = agent
        self._set_doing(OPENING[1])
        await self._find(self.agent)
        session = await open_session(self.agent, self._request(), self._login)
        self.session, self._wanted = session, None
        capabilities = self.agent.capabilities
        self.can_go_on = capabilities.load or capabilities.resume
        await self._view.session_opened(session)
        await self._prepare(self.agent, session)

    async def _prepare(self, agent: ConnectedAgent, session: Session) -> None:
        """A failure is shown; the session is open all the same."""
        if self._options.prepare is None:
            return
        try:
            await self._options.prepare(agent, session)
        except (AccordError, OSError) as error:
            self._view.show_note(failure_note(error, "preparing the session"))

    def _request(self) -> SessionRequest:
        """The session to open. Only the one that the line named has its key: an agent may reuse the ids of its list."""
        options = self._options
        is_named = self._wanted is not None and self._wanted == options.session
        cwd = (options.session_cwd if is_named else None) or options.cwd
        key = options.key if is_named else None
        return SessionRequest(cwd, options.roots, options.servers, self._wanted, key, "preferred")

    async def _find(self, agent: ConnectedAgent) -> None:
        """Find the session that the line names among those of the agent, where we have no record of it."""
        find = self._options.find
        if find is None or self._wanted is not None:
            return
        record = await logged_in(agent, lambda: find(agent), self._login)
        self._options = replace(self._options, find=None)
        if record is not None:
            self._options = replace(self._options, session=record.session_id, session_cwd=record.cwd)
            self._wanted = record.session_id

    def _agent(self) -> ConnectedAgent:
        if self.agent is None:
            raise LocalProtocolError("there is no agent")
        return self.agent

    async def _login(self, agent: ConnectedAgent) -> bool:
        if not agent.auth_methods:
            return False
        wanted = await self._view.choose_login(agent.auth_methods)
        method = next((each for each in agent.auth_methods if each.id == wanted), None)
        if method is None:
            return False
        before, self.doing = self.doing, "logging in"
        self._view.changed()
        try:
            with self._view.own_terminal() if method.type == "terminal" else contextlib.nullcontext():
                await agent.login(method.id)
        finally:
            self.doing = before
        return True

    def _respawned(self, reason: ConnectionLost) -> None:
        self._view.show_note(respawn_note(reason.message))

    # --- one prompt

    async def _submit_prompt(self, text: str) -> None:
        if self.session is None and not await self._open_wanted():
            self._view.give_back(text)
            return
        self._set_doing("working")
        began, line = asyncio.get_running_loop().time(), self.log.count
        try:
            await self._turn(text)
        except AuthRequired as error:
            self._view.show_note(failure_note(error, "the prompt", set_up=self._options.set_up()))
            self._view.give_back(text)
            await self._try_login()
        except (AccordError, OSError, ValueError) as error:
            self._failed(error, text, line)
        finally:
            self.turn = None
            self._set_doing("")
            self._view.turn_ended(asyncio.get_running_loop().time() - began)

    def _failed(self, error: AccordError | OSError | ValueError, text: str, line: int) -> None:
        never_sent = isinstance(error, LocalProtocolError | OSError | ValueError)
        stderr = self.log.stderr_since(line)
        self._view.show_note(failure_note(error, "the prompt", stderr=stderr, set_up=self._options.set_up()))
        if never_sent:
            self._view.give_back(text)

    async def _try_login(self) -> None:
        try:
            await self._login(self._agent())
        except (AccordError, OSError) as error:
            self._view.show_note(failure_note(error, "the login"))

    async def _turn(self, text: str) -> None:
        session = self.session
        if session is None:
            return
        self.turn = session.prompt(*prompt_of(text, session.cwd))
        async with self.turn:
            async for _ in self.turn:
                # Back-pressure: the agent is not read while events wait for the screen.
                if self._view.is_behind:
                    await self._view.catch_up()
        note = ending_note(self.turn.stop_reason)
        if note is not None:
            self._view.show_note(note)

    def _set_doing(self, doing: str) -> None:
        if doing and not self.doing:
            self.since = asyncio.get_running_loop().time()
        self.doing = doing
        self._view.changed()
