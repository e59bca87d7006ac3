"""An agent on the bare engine: it echoes the prompt word by word, in the edition of its client.

Start it from an editor, or run `examples/engine_conversation.py`. The engine has typed messages, their order, one
answer to each request, and the withdrawal of questions. Sessions, the queue of turns and cancellation are written
here, and the three editions are three sets of handlers. With `accord.Agent` (`examples/agents/echo.py`) that is one
function. `accord check` judges both.
"""

import asyncio
import contextlib
import uuid
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Protocol, TypeAlias, TypeVar

import accord
from accord.protocol import v1, v2, v2_june

NAME, VERSION = "echo", "0.2"
QUESTION = "Repeat what you said"

TEXT: TypeAlias = v1.TextContent | v2.TextContent | v2_june.TextContent
LINK: TypeAlias = v1.ResourceLink | v2.ResourceLink | v2_june.ResourceLink


def fresh_id() -> str:
    """A unique id for a session, a message or a tool call."""
    return uuid.uuid4().hex


def words(blocks: Sequence[object]) -> list[str]:
    """The words of all text blocks.

    Raises:
        InvalidParams: There is a block that this agent does not advertise; links are always allowed.
    """
    if not all(isinstance(block, TEXT | LINK) for block in blocks):
        raise accord.InvalidParams("A prompt here has text and links only")
    return " ".join(block.text for block in blocks if isinstance(block, TEXT)).split()


def refuse_extras(params: v2.NewSessionRequest | v2.ResumeSessionRequest | v2_june.NewSessionRequest) -> None:
    """v2: refuse values that are not advertised."""
    if params.mcp_servers or params.additional_directories:
        raise accord.InvalidParams("This agent has no MCP client, and its sessions have one folder")


# --- sessions and turns: for every edition


@dataclass(eq=False)
class Session:
    """A conversation, and its unfinished prompts in the order of arrival."""

    cwd: str
    id: str = field(default_factory=fresh_id)
    turns: list[asyncio.Task[None]] = field(default_factory=list)
    is_open: bool = True

    def cancel(self) -> None:
        """Cancel the running turn and the queued ones; later prompts are not affected."""
        for turn in self.turns:
            if not turn.cancelling():
                turn.cancel()


def no_such_session(session_id: str) -> accord.ResourceNotFound:
    """The same answer in every edition; v2 requires its data."""
    return accord.ResourceNotFound("There is no such session", {"sessionId": session_id})


class Sessions(dict[str, Session]):
    """All sessions of this process, by their ids."""

    def new(self, cwd: str) -> Session:
        """Open one; its folder must be absolute."""
        if not Path(cwd).is_absolute():
            raise accord.InvalidParams("The folder of a session is an absolute path", {"field": "cwd"})
        session = Session(cwd)
        self[session.id] = session
        return session

    def opened(self, session_id: str) -> Session | None:
        """The session, if there is one that was not closed."""
        session = self.get(session_id)
        return session if session is not None and session.is_open else None


class InSession(Protocol):
    """Params that name a session: those of a prompt and of a cancel, in any edition."""

    session_id: str


P = TypeVar("P", bound=InSession)
R = TypeVar("R")
Work: TypeAlias = Callable[[P, asyncio.Future[R]], Awaitable[None]]
"""One turn: it sets the prompt's answer when its edition requires it, and may continue."""


class Turns(Generic[P, R]):
    """The prompts of all sessions, from the moment they are read; a session's turns run one after the other.

    A turn's task is made when its prompt is read (`arrive`) and not when the handler of prompts runs: so a cancel that
    is read right behind the prompt finds something to cancel. `cancelled` answers a prompt that is cancelled before it
    had an answer; where it is None, the error -32800 does.
    """

    def __init__(self, sessions: Sessions, work: Work[P, R], cancelled: R | None = None) -> None:
        self._sessions = sessions
        self._work = work
        self._cancelled = cancelled
        self._arrived: dict[int, tuple[asyncio.Task[None], asyncio.Future[R]]] = {}

    def arrive(self, params: P) -> None:
        """A prompt was read."""
        session = self._sessions.opened(params.session_id)
        if session is None:
            return  # the handler raises the error
        answer: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        before = session.turns[-1] if session.turns else None
        task = asyncio.create_task(self._run(before, params, answer))
        session.turns.append(task)
        task.add_done_callback(session.turns.remove)
        task.add_done_callback(lambda task: self._settle(task, answer))
        self._arrived[id(params)] = (task, answer)

    async def answer(self, params: P) -> R:
        """The handler of prompts."""
        if id(params) not in self._arrived:
            raise no_such_session(params.session_id)
        task, answer = self._arrived.pop(id(params))
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:  # the client withdraws its prompt, which has no effect once there is an answer
            if not answer.done():
                task.cancel()
            return await answer

    def cancel(self, params: InSession) -> None:
        """The handler of cancels: a plain function, so it runs when the cancel is read."""
        session = self._sessions.opened(params.session_id)
        if session is not None:
            session.cancel()

    async def _run(self, before: asyncio.Task[None] | None, params: P, answer: asyncio.Future[R]) -> None:
        if before is not None:
            await asyncio.wait({before})
        with contextlib.suppress(accord.ConnectionLost):  # the client is gone
            await self._work(params, answer)

    def _settle(self, task: asyncio.Task[None], answer: asyncio.Future[R]) -> None:
        if answer.done():
            return
        if not task.cancelled():
            answer.set_exception(task.exception() or accord.RequestCancelled())
        elif self._cancelled is None:
            answer.set_exception(accord.RequestCancelled())
        else:
            answer.set_result(self._cancelled)


# --- v1


class V1:
    """v1: the answer to the prompt ends the turn."""

    def __init__(self, handlers: accord.Handlers, connection: accord.Connection) -> None:
        self.connection = connection
        self.sessions = Sessions()
        turns = Turns(self.sessions, self.turn, cancelled=v1.PromptResponse("cancelled"))
        handlers.on(v1.INITIALIZE, self.initialize)
        handlers.on(v1.SESSION_NEW, self.new)
        handlers.on_arrival(v1.SESSION_PROMPT, turns.arrive)
        handlers.on(v1.SESSION_PROMPT, turns.answer)
        handlers.on(v1.SESSION_CANCEL, turns.cancel)

    async def initialize(self, _: v1.InitializeRequest) -> v1.InitializeResponse:
        """Capabilities that are absent here are not offered."""
        return v1.InitializeResponse(1, agent_info=v1.Implementation(NAME, VERSION))

    async def new(self, params: v1.NewSessionRequest) -> v1.NewSessionResponse:
        """v1 requires agents to connect to the MCP servers of a session; the engine has no client for them."""
        return v1.NewSessionResponse(self.sessions.new(params.cwd).id)

    async def turn(self, params: v1.PromptRequest, answer: asyncio.Future[v1.PromptResponse]) -> None:
        """Ask, and echo if the answer is yes."""
        said = words(params.prompt)
        if not await self.permitted(params.session_id):
            answer.set_result(v1.PromptResponse("refusal"))
            return
        for word in said:
            chunk = v1.AgentMessageChunk(v1.TextContent(word + " "))
            await self.connection.notify(v1.SESSION_UPDATE, v1.SessionNotification(params.session_id, chunk))
        answer.set_result(v1.PromptResponse("end_turn"))

    async def permitted(self, session_id: str) -> bool:
        """Only the option `yes` allows. When the turn is cancelled meanwhile, the engine withdraws the question."""
        options = [v1.PermissionOption("yes", "Go on", "allow_once"), v1.PermissionOption("no", "Stop", "reject_once")]
        question = v1.ToolCallUpdate(fresh_id(), title=QUESTION, kind="think")
        request = v1.RequestPermissionRequest(session_id, question, options)
        try:
            answer = await self.connection.call(v1.SESSION_REQUEST_PERMISSION, request)
        except accord.AccordError:
            return False
        return isinstance(answer.outcome, v1.SelectedPermissionOutcome) and answer.outcome.option_id == "yes"


# --- June's v2


class V2June:
    """June's v2: the turns of v1, but every message has an id, and values that are not advertised are refused."""

    def __init__(self, handlers: accord.Handlers, connection: accord.Connection) -> None:
        self.connection = connection
        self.sessions = Sessions()
        turns = Turns(self.sessions, self.turn, cancelled=v2_june.PromptResponse("cancelled"))
        handlers.on(v2_june.INITIALIZE, self.initialize)
        handlers.on(v2_june.SESSION_NEW, self.new)
        handlers.on_arrival(v2_june.SESSION_PROMPT, turns.arrive)
        handlers.on(v2_june.SESSION_PROMPT, turns.answer)
        handlers.on(v2_june.SESSION_CANCEL, turns.cancel)

    async def initialize(self, _: v2_june.InitializeRequest) -> v2_june.InitializeResponse:
        """Sessions, and none of their extras."""
        capabilities = v2_june.AgentCapabilities(session=v2_june.SessionCapabilities())
        info = v2_june.Implementation(NAME, VERSION)
        return v2_june.InitializeResponse(2, capabilities=capabilities, agent_info=info)

    async def new(self, params: v2_june.NewSessionRequest) -> v2_june.NewSessionResponse:
        """Without extras, in an absolute folder."""
        refuse_extras(params)
        return v2_june.NewSessionResponse(self.sessions.new(params.cwd).id)

    async def turn(self, params: v2_june.PromptRequest, answer: asyncio.Future[v2_june.PromptResponse]) -> None:
        """Ask, and echo if the answer is yes."""
        said, message_id = words(params.prompt), fresh_id()
        if not await self.permitted(params.session_id):
            answer.set_result(v2_june.PromptResponse("refusal"))
            return
        for word in said:
            chunk = v2_june.AgentMessageChunk(v2_june.TextContent(word + " "), message_id)
            update = v2_june.SessionNotification(params.session_id, chunk)
            await self.connection.notify(v2_june.SESSION_UPDATE, update)
        answer.set_result(v2_june.PromptResponse("end_turn"))

    async def permitted(self, session_id: str) -> bool:
        """As in v1."""
        options = [
            v2_june.PermissionOption("yes", "Go on", "allow_once"),
            v2_june.PermissionOption("no", "Stop", "reject_once"),
        ]
        question = v2_june.ToolCallUpdate(fresh_id(), title=QUESTION, kind="think")
        request = v2_june.RequestPermissionRequest(session_id, question, options)
        try:
            answer = await self.connection.call(v2_june.SESSION_REQUEST_PERMISSION, request)
        except accord.AccordError:
            return False
        return isinstance(answer.outcome, v2_june.SelectedPermissionOutcome) and answer.outcome.option_id == "yes"


# --- v2


class V2:
    """v2: the answer says that the prompt is inserted; states report the progress.

    An agent that advertises `session` also lists sessions, resumes them with their history, and closes them.
    """

    def __init__(self, handlers: accord.Handlers, connection: accord.Connection) -> None:
        self.connection = connection
        self.sessions = Sessions()
        self.history: defaultdict[str, list[v2.UserMessage | v2.AgentMessage]] = defaultdict(list)
        self.states: defaultdict[str, v2.StateUpdated] = defaultdict(lambda: v2.StateUpdated("idle"))
        turns = Turns(self.sessions, self.turn)
        handlers.on(v2.INITIALIZE, self.initialize)
        handlers.on(v2.SESSION_NEW, self.new)
        handlers.on(v2.SESSION_LIST, self.list_sessions)
        handlers.on(v2.SESSION_RESUME, self.resume)
        handlers.on(v2.SESSION_CLOSE, self.close)
        handlers.on(v2.TOOL_CALL_CANCEL, self.cancel_part)
        handlers.on(v2.TERMINAL_CANCEL, self.cancel_part)
        handlers.on_arrival(v2.SESSION_PROMPT, turns.arrive)
        handlers.on(v2.SESSION_PROMPT, turns.answer)
        handlers.on(v2.SESSION_CANCEL, turns.cancel)

    async def initialize(self, _: v2.InitializeRequest) -> v2.InitializeResponse:
        """Sessions, and none of their extras."""
        capabilities = v2.AgentCapabilities(session=v2.SessionCapabilities())
        return v2.InitializeResponse(2, v2.Implementation(NAME, VERSION), capabilities=capabilities)

    async def new(self, params: v2.NewSessionRequest) -> v2.NewSessionResponse:
        """Without extras, in an absolute folder."""
        refuse_extras(params)
        return v2.NewSessionResponse(self.sessions.new(params.cwd).id)

    async def list_sessions(self, params: v2.ListSessionsRequest) -> v2.ListSessionsResponse:
        """All sessions of this process, on one page."""
        if isinstance(params.cursor, str):
            raise accord.InvalidParams("There is one page only", {"field": "cursor"})
        rows = [v2.SessionInfo(session.id, session.cwd) for session in self.sessions.values()]
        return v2.ListSessionsResponse([row for row in rows if not params.cwd or row.cwd == params.cwd])

    async def resume(self, params: v2.ResumeSessionRequest) -> v2.ResumeSessionResponse:
        """Send the history, if the client asks for it, then the state; only then answer."""
        session = self.sessions.get(params.session_id)
        if session is None:
            raise no_such_session(params.session_id)
        refuse_extras(params)
        if params.cwd != session.cwd:
            raise accord.InvalidParams("The session is in another folder", {"field": "cwd"})
        if params.replay_from and not isinstance(params.replay_from, v2.ReplayFromStart):
            raise accord.InvalidParams("History is replayed from its start or not at all", {"field": "replayFrom"})
        session.is_open = True
        for message in self.history[session.id] if params.replay_from else []:
            await self.tell(session.id, message)
        await self.tell(session.id, self.states[session.id])
        return v2.ResumeSessionResponse()

    async def close(self, params: v2.CloseSessionRequest) -> v2.CloseSessionResponse:
        """End its work, and then answer: no update of a closed session is sent."""
        session = self.sessions.opened(params.session_id)
        if session is not None:
            session.is_open = False
            session.cancel()
            if session.turns:
                await asyncio.wait(session.turns)
        return v2.CloseSessionResponse()

    async def cancel_part(self, params: v2.CancelToolCallRequest | v2.CancelTerminalRequest) -> None:
        """v2 requires this method, though this agent has neither tool calls nor terminals."""
        if self.sessions.opened(params.session_id) is None:
            raise no_such_session(params.session_id)
        raise accord.InvalidParams("Nothing here can be cancelled by itself")

    async def turn(self, params: v2.PromptRequest, answer: asyncio.Future[v2.PromptResponse]) -> None:
        """Insert the prompt, answer it, work; the last state is always `idle`."""
        session_id, said = params.session_id, words(params.prompt)
        message = v2.UserMessage(fresh_id(), content=params.prompt)
        self.history[session_id].append(message)
        answer.set_result(v2.PromptResponse(message.message_id))
        try:
            await self.tell(session_id, message)
            await self.change(session_id, v2.StateUpdated("running"))
            stop_reason = await self.echo(session_id, said)
        except asyncio.CancelledError:
            stop_reason = "cancelled"
        await self.change(session_id, v2.StateUpdated("idle", stop_reason=stop_reason))

    async def echo(self, session_id: str, said: list[str]) -> v2.StopReason:
        """Ask, and echo if the answer is yes: sent in chunks, kept as a whole."""
        await self.change(session_id, v2.StateUpdated("requires_action"))
        permitted = await self.permitted(session_id)
        await self.change(session_id, v2.StateUpdated("running"))
        if not permitted:
            return "refusal"
        blocks: list[v2.ContentBlock] = []
        message = v2.AgentMessage(fresh_id(), content=blocks)
        self.history[session_id].append(message)
        for word in said:
            blocks.append(v2.TextContent(word + " "))
            await self.tell(session_id, v2.AgentMessageChunk(message.message_id, blocks[-1]))
        return "end_turn"

    async def permitted(self, session_id: str) -> bool:
        """As in v1, but the question need not be about a tool call."""
        options = [v2.PermissionOption("yes", "Go on", "allow_once"), v2.PermissionOption("no", "Stop", "reject_once")]
        request = v2.RequestPermissionRequest(session_id, QUESTION, options)
        try:
            answer = await self.connection.call(v2.SESSION_REQUEST_PERMISSION, request)
        except accord.AccordError:
            return False
        return isinstance(answer.outcome, v2.SelectedPermissionOutcome) and answer.outcome.option_id == "yes"

    async def change(self, session_id: str, state: v2.StateUpdated) -> None:
        """Send the state, and keep it for clients that resume."""
        self.states[session_id] = state
        await self.tell(session_id, state)

    async def tell(self, session_id: str, update: v2.SessionUpdate) -> None:
        """Send one update."""
        await self.connection.notify(v2.SESSION_UPDATE, v2.UpdateSessionNotification(session_id, update))


async def main() -> None:
    """Serve the client on stdin and stdout until it disconnects."""
    handlers = accord.Handlers()
    async with accord.Connection(accord.open_stdio(), "agent", handlers) as connection:
        V1(handlers, connection)
        V2June(handlers, connection)
        V2(handlers, connection)
        print("this stray print does no harm: it goes to stderr")
        await connection.wait_closed()


asyncio.run(main())
