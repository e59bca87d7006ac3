"""Agents at an address: what they are offered, which token they get, and how a broken link is told."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

import accord
from accord.session.event import Event, Noticed
from tests.limits import limit
from tests.transport.remote_peers import websocket_server

LIMITS = accord.Deadlines(start_seconds=limit(20.0), turn_seconds=limit(20.0), reconnect_seconds=limit(5.0))


class RemoteAgent:
    """A small v1 agent behind a WebSocket; its first turn loses the socket in the middle."""

    def __init__(self, *, is_resumable: bool) -> None:
        self.initialized: list[Any] = []
        self.authorizations: list[str | None] = []
        self.methods: list[str] = []
        self._is_resumable = is_resumable
        self._sent: list[str] = []
        self._received = 0
        self._was_cut = False

    async def talk(self, socket: ServerConnection) -> None:
        assert socket.request is not None
        self.authorizations.append(socket.request.headers.get("Authorization"))
        try:
            async for text in socket:
                await self._take(socket, json.loads(text))
        except ConnectionClosed:
            pass

    async def _take(self, socket: ServerConnection, message: Any) -> None:
        method, id_ = message.get("method"), message.get("id")
        if method == "_accord/received":
            return
        self.methods.append(method)
        if method == "initialize":
            self.initialized.append(message["params"])
            meta = {"accord/resume": {"connectionId": "c1", "graceSeconds": 30}} if self._is_resumable else {}
            capabilities = {"sessionCapabilities": {"resume": {}}, "_meta": meta}
            await self._answer(socket, id_, {"protocolVersion": 1, "agentCapabilities": capabilities})
        elif method == "_accord/resume":
            await self._answer(socket, id_, {"received": str(self._received)})
            for text in self._sent[int(message["params"]["cursor"]) :]:
                await socket.send(text)
        else:
            self._received += 1
            await self._serve(socket, method, id_)

    async def _serve(self, socket: ServerConnection, method: str, id_: Any) -> None:
        if method == "session/new":
            await self._send(socket, {"id": id_, "result": {"sessionId": "s1"}})
        elif method == "session/resume":
            await self._send(socket, {"id": id_, "result": {}})
        elif method == "session/prompt":
            await self._say(socket, "before ")
            if not self._was_cut:
                self._was_cut = True
                socket.transport.abort()
            await self._say(socket, "after")
            await self._send(socket, {"id": id_, "result": {"stopReason": "end_turn"}})

    async def _say(self, socket: ServerConnection, words: str) -> None:
        chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": words}}
        await self._send(socket, {"method": "session/update", "params": {"sessionId": "s1", "update": chunk}})

    async def _send(self, socket: ServerConnection, message: Any) -> None:
        self._sent.append(json.dumps({"jsonrpc": "2.0", **message}))
        with contextlib.suppress(ConnectionClosed):
            await socket.send(self._sent[-1])

    async def _answer(self, socket: ServerConnection, id_: Any, result: Any) -> None:
        await socket.send(json.dumps({"jsonrpc": "2.0", "id": id_, "result": result}))


def notices(events: list[Event]) -> list[str]:
    return [event.severity for event in events if isinstance(event, Noticed)]


async def test_a_turn_goes_on_over_a_broken_link_and_every_watcher_is_told() -> None:
    server, events, reports = RemoteAgent(is_resumable=True), list[Event](), list[str]()
    async with websocket_server(server.talk) as address, accord.connect(address, deadlines=LIMITS) as agent:
        agent.on_link = lambda report: reports.append(report.kind)
        session = await agent.new_session("/")
        session.listen(events.append)
        turn = await session.prompt("hello")
        assert (turn.text, turn.stop_reason) == ("before after", "end_turn")
        assert agent.respawns == 0
    assert reports == ["lost", "resumed"]
    assert notices(events) == ["warning", "info"]


async def test_an_on_link_that_fails_does_not_hold_up_the_connection() -> None:
    def fail(report: accord.client.LinkReport) -> None:
        raise RuntimeError(report.kind)

    server = RemoteAgent(is_resumable=True)
    async with websocket_server(server.talk) as address, accord.connect(address, deadlines=LIMITS) as agent:
        agent.on_link = fail
        session = await agent.new_session("/")
        assert (await session.prompt("hello")).text == "before after"


async def test_a_gap_ends_the_turn_with_an_error_and_the_next_one_connects_again() -> None:
    server, events = RemoteAgent(is_resumable=False), list[Event]()
    async with websocket_server(server.talk) as address, accord.connect(address, deadlines=LIMITS) as agent:
        session = await agent.new_session("/")
        session.listen(events.append)
        with pytest.raises(accord.ConnectionLost):
            await session.prompt("hello")
        assert notices(events) == ["error"]
        turn = await session.prompt("hello again")
        assert (turn.text, agent.respawns) == ("before after", 1)
    assert server.methods == [
        *("initialize", "session/new", "session/prompt"),
        *("initialize", "session/resume", "session/prompt"),
    ]


@pytest.mark.parametrize(
    ("offer", "expected"),
    [
        (None, {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}),
        (accord.client.Offer(), {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}),
    ],
)
async def test_files_and_terminals_are_offered_to_an_address_only_by_option(offer: Any, expected: Any) -> None:
    server = RemoteAgent(is_resumable=False)
    async with websocket_server(server.talk) as address, accord.connect(address, offer=offer, deadlines=LIMITS):
        pass
    offered = server.initialized[0]["clientCapabilities"]
    assert {
        "fs": {name: bool(offered.get("fs", {}).get(name)) for name in ("readTextFile", "writeTextFile")},
        "terminal": bool(offered.get("terminal")),
    } == expected


async def test_the_token_is_the_argument_or_that_of_the_environment_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCORD_TOKEN", "of-the-environment")
    server, seen = RemoteAgent(is_resumable=False), list[bytes]()
    async with websocket_server(server.talk) as address:
        for token in (None, "given", ""):
            observers = [lambda _, text: seen.append(text)]
            async with accord.connect(address, token=token, deadlines=LIMITS, observers=observers):
                pass
    assert server.authorizations == ["Bearer of-the-environment", "Bearer given", None]
    assert not any(b"of-the-environment" in text or b"given" in text for text in seen)


async def test_a_token_is_no_part_of_an_agent_s_representation() -> None:
    agent = accord.connect("wss://localhost:1/acp", token="secret")  # noqa: S106
    assert "secret" not in repr(agent) + repr(vars(agent._launcher))


@pytest.mark.parametrize("address", ["ws://127.0.0.1:1/acp", "http://127.0.0.1:1/acp"])
async def test_an_address_at_which_nobody_is_cannot_be_connected_to(address: str) -> None:
    async with asyncio.timeout(limit(20.0)):
        with pytest.raises(accord.ConnectFailed):
            await accord.connect(address).open()


def test_an_address_works_without_async_too() -> None:
    with pytest.raises(accord.ConnectFailed), accord.open("ws://127.0.0.1:1/acp"):
        pass
