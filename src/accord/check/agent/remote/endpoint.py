"""Conversations with a served agent on plain sockets: over streamable HTTP, and over WebSocket.

They speak the protocol as far as the transport's rules need it: the handshake, a login, sessions and plain turns.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

from accord.check.agent.conversation import BARE, LOGIN, PROMPT_RULE, REPLIES, text
from accord.check.agent.remote.raw_sockets import (
    EVENTS,
    JSON,
    OK,
    EventStream,
    ExchangeRecord,
    HttpAnswer,
    RawHttp,
    RawSocket,
    open_socket,
)
from accord.check.engine.evidence import AUTH_REQUIRED, Entry, Inconclusive, StepFailed, is_answer, is_request, is_state
from accord.check.engine.judging import StepRegistry
from accord.check.engine.program import AgentAddress
from accord.check.rule import Options
from accord.time_scale import scaled

REMOTE_STEPS = StepRegistry()
"""The steps for the rules of the transport. Groups: `http`, `websocket`, `access`."""
remote_step = REMOTE_STEPS.step
INITIALIZE_RULE, UPGRADE_RULE = "ACCORD-REMOTE-001", "ACCORD-REMOTE-101"
BESIDE = 10
"""The order of steps that only wait: they run beside the others, and no other waits for them."""
LATE = 90
"""The order of steps that end some servers: they run when all others are over."""
NOWHERE = "accord-check-no-such-connection"
"""The id of a connection that never existed."""
SOON_SECONDS = scaled(2.0)
"""The time limit for a reaction that should come at once: the end of a stream, or of a socket."""
EXTENSION = "_accord.check/are_you_there"
"""An unknown method: it is answered, if only with an error."""


def message_of(method: str, params: Any, id_: Any = None) -> bytes:
    """A request, or without an id a notification."""
    head = {"jsonrpc": "2.0"} if id_ is None else {"jsonrpc": "2.0", "id": id_}
    return json.dumps({**head, "method": method, "params": params}, ensure_ascii=False).encode()


class Endpoint:
    """The address in one step: the record of its messages, and everything that it opened."""

    def __init__(self, address: AgentAddress, options: Options, folder: Path) -> None:
        self.address = address
        self.options = options
        self.edition = options.edition
        self.folder = folder
        self.record = ExchangeRecord()
        self.http = RawHttp(address, self.record, options.timeout_seconds)
        self.has_http = self.has_websocket = True
        self._opened: list[HttpConversation | SocketConversation] = []
        self._last_id = 1

    def next_id(self) -> int:
        """An id that no other request of the step has, on any connection."""
        self._last_id += 1
        return self._last_id

    @property
    def initialize(self) -> bytes:
        return message_of("initialize", BARE[self.edition], 1)

    async def connect(self) -> HttpConversation:
        """Open a connection over HTTP.

        Raises:
            StepFailed: There is none.
        """
        answer = await self.http.request("POST", JSON, self.initialize)
        id_ = answer.headers.get("acp-connection-id")
        if answer.status // 100 != OK // 100 or not id_:
            raise StepFailed("initialize by POST opened no connection", INITIALIZE_RULE, answer.asked, answer.entry)
        conversation = HttpConversation(self, id_)
        self._opened.append(conversation)
        return conversation

    async def upgrade(self) -> SocketConversation:
        """Open a socket.

        Raises:
            StepFailed: There is none.
        """
        conversation = SocketConversation(self)
        socket = await open_socket(self.http, conversation.take)
        if isinstance(socket, HttpAnswer):
            raise StepFailed(f"the upgrade was answered with {socket.status}", UPGRADE_RULE, socket.asked, socket.entry)
        conversation.socket = socket
        self._opened.append(conversation)
        return conversation

    async def close(self) -> None:
        for conversation in self._opened:
            await conversation.close()
        await self.http.close()


class ServedConversation:
    """The part of a conversation that both transports share; `send` is theirs."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.record = endpoint.record
        self.options = endpoint.options
        self.edition = endpoint.edition
        self._tasks: set[asyncio.Task[Any]] = set()

    async def send(self, line: bytes, session: str | None) -> None:
        raise NotImplementedError

    def take(self, message: Any) -> None:
        """A message has come: requests are answered as by a client that grants everything."""
        if not is_request(message):
            return
        reply = REPLIES.get(message["method"])
        error = {"code": -32601, "message": "Method not found"}
        given = {"error": error} if reply is None else {"result": reply(message.get("params"))}
        params = message.get("params")
        session = params.get("sessionId") if isinstance(params, dict) else None
        line = json.dumps({"jsonrpc": "2.0", "id": message["id"], **given}).encode()
        self._begin(self.send(line, session if isinstance(session, str) else None))

    def _begin(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def ask(self, method: str, params: Any, session: str | None = None) -> Any:
        """Send a request without waiting for its answer; returns its id."""
        id_ = self.endpoint.next_id()
        await self.send(message_of(method, params, id_), session)
        return id_

    def answered(self, id_: Any) -> Entry | None:
        """The first answer to a request."""
        return next((each for each in self.record.entries if not each.sent and is_answer(each.message, id_)), None)

    async def answer(self, id_: Any, blame: str = "", seconds: float | None = None) -> Entry:
        """Wait for the answer to a request.

        Raises:
            StepFailed: There is none; `blame` is the rule that is broken then.
        """
        bound = self.options.timeout_seconds if seconds is None else seconds
        await self.record.until(lambda: self.answered(id_) is not None, bound)
        entry = self.answered(id_)
        if entry is None:
            asked = [each for each in self.record.entries if each.sent and _asks(each.message, id_)]
            raise StepFailed(f"request {id_!r} was not answered in {bound:g} s", blame, *asked[:1])
        return entry

    async def log_in(self) -> None:
        if self.options.auth_method:
            await self.answer(await self.ask(LOGIN[self.edition], {"methodId": self.options.auth_method}))

    def session_in(self, answer: Entry) -> str:
        """The session of an answer to `session/new`.

        Raises:
            Inconclusive: The agent wants a login first.
            StepFailed: There is none.
        """
        result, error = answer.message.get("result"), answer.message.get("error")
        if isinstance(error, dict) and error.get("code") == AUTH_REQUIRED and not self.options.auth_method:
            raise Inconclusive("AUTH-GATED: give --auth-method")
        session = result.get("sessionId") if isinstance(result, dict) else None
        if not isinstance(session, str):
            raise StepFailed("session/new gave no session id", "ACP-SESSION-001", answer)
        return session

    @property
    def new_params(self) -> dict[str, Any]:
        return {"cwd": str(self.endpoint.folder), "mcpServers": []}

    async def prompt(self, session: str) -> Any:
        """Send a plain prompt; returns the id of its request."""
        return await self.ask("session/prompt", {"sessionId": session, "prompt": [text(self.options.prompt)]}, session)

    async def end_of_turn(self, session: str, prompt: Any, blame: str = "") -> Entry:
        """Wait for the end of a turn: its answer, and in v2 the state; returns the last of them."""
        rule, seconds = blame or PROMPT_RULE[self.edition], self.options.turn_seconds
        answer = await self.answer(prompt, rule, seconds)
        if self.edition != "v2" or "error" in answer.message:
            return answer

        def idle() -> list[Entry]:
            return [each for each in self.record.entries if not each.sent and is_state(each.message, session, "idle")]

        if not await self.record.until(idle, seconds):
            raise StepFailed("the session never became idle", rule, answer)
        return idle()[-1]

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class HttpConversation(ServedConversation):
    """One connection of streamable HTTP, behind `initialize`."""

    def __init__(self, endpoint: Endpoint, connection_id: str) -> None:
        super().__init__(endpoint)
        self.id = connection_id
        self.streams: dict[str | None, EventStream] = {}
        self._all: list[EventStream] = []
        self.accepted: list[HttpAnswer] = []
        """The answers to messages that were sent by `send`."""

    def headers(self, session: str | None = None, **further: str) -> dict[str, str]:
        named = {} if session is None else {"Acp-Session-Id": session}
        return {"Acp-Connection-Id": self.id, **named, **further}

    async def post(self, body: bytes, session: str | None = None, **headers: str) -> HttpAnswer:
        return await self.endpoint.http.request("POST", {**JSON, **self.headers(session), **headers}, body)

    async def send(self, line: bytes, session: str | None) -> None:
        self.accepted.append(await self.post(line, session))

    async def try_stream(self, session: str | None = None, last_id: str | None = None) -> EventStream | HttpAnswer:
        """Open a stream; the answer where it is refused."""
        cursor = {} if last_id is None else {"Last-Event-ID": last_id}
        response = await self.endpoint.http.open("GET", {**EVENTS, **self.headers(session), **cursor})
        if response.status != OK:
            return await self.endpoint.http.read(response)
        self.endpoint.http.note(response)
        stream = EventStream(response, self.record, self.take)
        self.streams[session] = stream
        self._all.append(stream)
        return stream

    async def open_stream(self, session: str | None = None) -> EventStream:
        """Open a stream.

        Raises:
            StepFailed: It was refused.
        """
        stream = await self.try_stream(session)
        if isinstance(stream, HttpAnswer):
            reason = f"the GET for a stream was answered with {stream.status} {stream.media_type}"
            raise StepFailed(reason, "ACCORD-REMOTE-009", stream.asked, stream.entry)
        return stream

    async def open_session(self) -> str:
        """Open the connection stream, log in, make a session and open its stream; returns its id."""
        await self.open_stream()
        await self.log_in()
        session = self.session_in(await self.answer(await self.ask("session/new", self.new_params)))
        await self.open_stream(session)
        return session

    async def leave(self) -> HttpAnswer:
        """Send DELETE."""
        return await self.endpoint.http.request("DELETE", self.headers())

    def stream_of(self, entry: Entry) -> str | None:
        """The name of the stream that a message came on."""
        for name, stream in self.streams.items():
            if any(each is entry for each in stream.entries):
                return name
        return None

    async def close(self) -> None:
        await super().close()
        for stream in self._all:
            await stream.close()
        with suppress(StepFailed):
            await self.leave()


class SocketConversation(ServedConversation):
    """One WebSocket."""

    socket: RawSocket

    async def send(self, line: bytes, session: str | None) -> None:  # noqa: ARG002 - one socket has all sessions
        self.socket.say(line)

    async def handshake(self) -> Entry:
        """Send `initialize`, and log in.

        Raises:
            StepFailed: It was not answered with a result.
        """
        id_ = await self.ask("initialize", BARE[self.edition])
        answer = await self.answer(id_, UPGRADE_RULE, self.options.start_seconds)
        if "result" not in answer.message:
            raise StepFailed("initialize over WebSocket did not succeed", UPGRADE_RULE, answer)
        await self.log_in()
        return answer

    async def is_alive(self, seconds: float | None = None) -> bool:
        """Whether requests are still answered."""
        id_ = await self.ask(EXTENSION, {})
        bound = self.options.timeout_seconds if seconds is None else seconds
        await self.record.until(lambda: self.answered(id_) is not None or self.socket.close_code is not None, bound)
        return self.answered(id_) is not None

    async def close(self) -> None:
        await super().close()
        await self.socket.close()


def _asks(message: Any, id_: Any) -> bool:
    return isinstance(message, dict) and "method" in message and message.get("id") == id_
