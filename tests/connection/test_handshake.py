"""The handshake over a live link: which edition, what may come before it, and what may come again."""

import asyncio
from typing import Any

import pytest

from accord.connection import Connection, Handlers
from accord.errors import NegotiationFailed, RemoteProtocolError, UnsupportedVersion
from accord.protocol import v1, v2, v2_june
from accord.protocol.edition import V1, V2, V2_JUNE, Edition
from accord.transport import memory_pair
from tests.connection.rig import (
    BOUND_SECONDS,
    EDITIONS,
    REQUEST_PARAMS,
    RESULTS,
    agent_handlers,
    initialize,
    talk,
    until,
)
from tests.tables import rows


@rows("edition", EDITIONS)
async def test_an_agent_speaks_what_its_client_asks_for(edition: Edition) -> None:
    async with talk("agent") as (connection, hand):
        await initialize(connection, hand, edition)
        assert connection.edition is edition


@rows("version", [0, 1, 65535])
async def test_version_probes_are_answered_with_a_version_that_is_spoken(version: int) -> None:
    async with talk("agent") as (connection, hand):
        answer = await hand.request("initialize", {"protocolVersion": version, "clientCapabilities": {}})
        assert answer["result"]["protocolVersion"] == 1
        assert connection.edition is V1


@rows("version", [-1, 65536, "1", 1.5, True, None, [], {}])
async def test_what_is_no_version_is_refused_and_may_be_tried_again(version: Any) -> None:
    async with talk("agent") as (connection, hand):
        answer = await hand.request("initialize", {"protocolVersion": version})
        assert answer["error"]["code"] == -32602
        assert answer["error"]["data"]["field"] == "protocolVersion"
        await initialize(connection, hand)


@rows("params", [None, [], "text", 5, {}])
async def test_params_that_are_none_are_refused(params: Any) -> None:
    async with talk("agent") as (connection, hand):
        assert (await hand.request("initialize", params))["error"]["code"] == -32602
        await initialize(connection, hand)


async def test_the_answer_never_echoes_a_version_that_is_not_spoken() -> None:
    handlers = Handlers()
    handlers.on(v1.INITIALIZE, lambda params: v1.InitializeResponse(params.protocol_version))
    async with talk("agent", handlers) as (connection, hand):
        answer = await hand.request("initialize", REQUEST_PARAMS["v2"])
        assert answer["result"]["protocolVersion"] == 1
        assert connection.edition is V1


async def test_an_agent_that_speaks_v2_alone_says_so_to_an_older_client() -> None:
    handlers = Handlers()
    handlers.on(v2.INITIALIZE, lambda _: v2.InitializeResponse(2, v2.Implementation("x", "1")))
    async with talk("agent", handlers) as (connection, hand):
        error = (await hand.request("initialize", REQUEST_PARAMS["v1"]))["error"]
        assert (error["code"], error["data"]) == (-32022, {"requested": 1, "supported": [2]})
        await initialize(connection, hand, V2)


async def test_a_client_of_a_newer_version_is_read_leniently() -> None:
    seen: list[Any] = []
    handlers = Handlers()

    def keep(params: v2.InitializeRequest) -> v2.InitializeResponse:
        seen.append(params)
        return v2.InitializeResponse(2, v2.Implementation("x", "1"))

    handlers.on(v2.INITIALIZE, keep)
    async with talk("agent", handlers) as (_, hand):
        answer = await hand.request("initialize", {"protocolVersion": 9, "capabilities": {}})
        assert answer["result"]["protocolVersion"] == 2
        assert seen[0].info == v2.Implementation("unknown", version="unknown")


@rows("method", ["session/new", "_x", "nonsense"])
async def test_a_request_before_initialize_is_refused_and_notifications_are_ignored(method: str) -> None:
    async with talk("agent") as (connection, hand):
        await hand.notify("session/cancel", {"sessionId": "s"})
        assert (await hand.request(method, {"cwd": "/", "mcpServers": []}))["error"]["code"] == -32600
        await initialize(connection, hand)
        assert "result" in await hand.request("session/new", {"cwd": "/", "mcpServers": []})


async def test_a_failed_initialize_leaves_the_connection_for_another_try() -> None:
    tries: list[int] = []
    handlers = agent_handlers()

    async def at_second(params: v1.InitializeRequest) -> v1.InitializeResponse:
        tries.append(1)
        if len(tries) == 1:
            raise RuntimeError
        return v1.InitializeResponse(params.protocol_version)

    handlers.on(v1.INITIALIZE, at_second)
    async with talk("agent", handlers) as (connection, hand):
        assert (await hand.request("initialize", REQUEST_PARAMS["v1"]))["error"]["code"] == -32603
        assert connection.edition is None
        assert (await hand.request("session/new", {"cwd": "/", "mcpServers": []}))["error"]["code"] == -32600
        await initialize(connection, hand)


async def test_requests_sent_behind_initialize_without_waiting_are_served() -> None:
    gate = asyncio.Event()
    handlers = agent_handlers()

    async def slow(params: v1.InitializeRequest) -> v1.InitializeResponse:
        await gate.wait()
        return v1.InitializeResponse(params.protocol_version)

    handlers.on(v1.INITIALIZE, slow)
    async with talk("agent", handlers) as (connection, hand):
        await hand.ask("initialize", REQUEST_PARAMS["v1"], id_=1)
        await hand.ask("session/new", {"cwd": "/", "mcpServers": []}, id_=2)
        await hand.say(b"{broken")
        assert (await hand.hear())["error"]["code"] == -32700
        gate.set()
        assert (await hand.hear())["id"] == 1
        assert (await hand.hear())["result"] == {"sessionId": "s"}
        assert connection.backlog_bytes == 0


async def test_v2_may_be_initialized_again_until_another_request_came() -> None:
    async with talk("agent") as (connection, hand):
        await initialize(connection, hand, V2)
        await initialize(connection, hand, V2)
        lower = await hand.request("initialize", REQUEST_PARAMS["v1"])
        assert lower["error"]["code"] == -32600
        assert connection.edition is V2
        await hand.request("session/new", {"cwd": "/"})
        assert (await hand.request("initialize", REQUEST_PARAMS["v2"]))["error"]["code"] == -32600


@rows("edition", [V1, V2_JUNE])
async def test_elsewhere_a_repetition_is_welcome_as_long_as_the_edition_stays(edition: Edition) -> None:
    async with talk("agent") as (connection, hand):
        await initialize(connection, hand, edition)
        await hand.request("session/new", {"cwd": "/", "mcpServers": []})
        await initialize(connection, hand, edition)
        assert (await hand.request("initialize", REQUEST_PARAMS["v2"]))["error"]["code"] == -32600
        assert connection.edition is edition


# --- as client


ROWS: list[tuple[Edition, Any, Any]] = [
    (V1, v1.INITIALIZE, v1.InitializeRequest(1)),
    (V2, v2.INITIALIZE, v2.InitializeRequest(2, v2.Implementation("t", "1"))),
    (V2_JUNE, v2_june.INITIALIZE, v2_june.InitializeRequest(2)),
]


@rows(("edition", "row", "params"), ROWS)
async def test_a_typed_initialize_fixes_the_edition(edition: Edition, row: Any, params: Any) -> None:
    async with talk("client") as (connection, hand):
        calling = asyncio.ensure_future(connection.call(row, params))
        asked = await hand.hear()
        await hand.say({"jsonrpc": "2.0", "id": asked["id"], "result": RESULTS[edition.name]})
        assert isinstance(await calling, row.result)
        assert connection.edition is edition


async def test_a_false_two_is_recognised_as_v1() -> None:
    async with talk("client") as (connection, hand):
        calling = asyncio.ensure_future(connection.initialize(REQUEST_PARAMS["v2"]))
        asked = await hand.hear()
        result = {"protocolVersion": 2, "agentCapabilities": {"loadSession": True}}
        await hand.say({"jsonrpc": "2.0", "id": asked["id"], "result": result})
        assert (await calling).agent_capabilities.load_session is True
        assert connection.edition is V1


@pytest.mark.parametrize("notice", [[], [{"jsonrpc": "2.0", "method": "_notice"}]], ids=["alone", "behind another"])
async def test_a_june_agent_may_answer_initialize_in_a_batch(notice: list[Any]) -> None:
    async with talk("client") as (connection, hand):
        calling = asyncio.ensure_future(connection.initialize(REQUEST_PARAMS["v2_june"], timeout_seconds=BOUND_SECONDS))
        asked = await hand.hear()
        await hand.say([*notice, {"jsonrpc": "2.0", "id": asked["id"], "result": RESULTS["v2_june"]}])
        await calling
        assert connection.edition is V2_JUNE


@pytest.mark.parametrize("edition", [V1, V2], ids=["v1", "v2"])
async def test_where_no_proposed_edition_has_batches_the_answer_may_not_come_in_one(edition: Edition) -> None:
    async with talk("client") as (connection, hand):
        calling = asyncio.ensure_future(connection.initialize(REQUEST_PARAMS[edition.name], (edition,)))
        asked = await hand.hear()
        whole = {"jsonrpc": "2.0", "id": asked["id"], "result": RESULTS[edition.name]}
        await hand.say([whole])
        assert (await hand.hear())["error"]["code"] == -32600
        assert not calling.done()
        await hand.say(whole)
        await calling


async def test_an_answer_in_another_edition_fails_the_negotiation() -> None:
    async with talk("client") as (connection, hand):
        calling = asyncio.ensure_future(connection.call(*ROWS[1][1:]))
        asked = await hand.hear()
        await hand.say({"jsonrpc": "2.0", "id": asked["id"], "result": RESULTS["v1"]})
        with pytest.raises(NegotiationFailed) as caught:
            await calling
        assert caught.value.answered == 1
        assert connection.edition is None
        assert connection.is_open


async def test_an_answer_that_does_not_fit_its_edition_is_the_peers_fault() -> None:
    async with talk("client") as (connection, hand):
        calling = asyncio.ensure_future(connection.initialize(REQUEST_PARAMS["v2"]))
        asked = await hand.hear()
        await hand.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"protocolVersion": 2, "info": {}}})
        with pytest.raises(RemoteProtocolError):
            await calling


async def test_a_refused_version_is_told_with_the_versions_there_are() -> None:
    async with talk("client") as (connection, hand):
        calling = asyncio.ensure_future(connection.initialize(REQUEST_PARAMS["v1"]))
        asked = await hand.hear()
        error = {"code": -32022, "message": "no", "data": {"requested": 1, "supported": [2]}}
        await hand.say({"jsonrpc": "2.0", "id": asked["id"], "error": error})
        with pytest.raises(UnsupportedVersion) as caught:
            await calling
        assert caught.value.supported == [2]


async def test_a_cancel_that_waited_for_initialize_does_not_take_its_answer_away() -> None:
    go = asyncio.Event()
    handlers = Handlers()

    async def answer(_: v1.InitializeRequest) -> v1.InitializeResponse:
        await go.wait()
        return v1.InitializeResponse(1)

    handlers.on(v1.INITIALIZE, answer)
    async with talk("agent", handlers) as (connection, hand):
        request = await hand.ask("initialize", REQUEST_PARAMS["v1"])
        await hand.notify("$/cancel_request", {"requestId": request})
        await until(lambda: bool(connection._receiver._handshake.held))
        # No room on the way out: the answer has to wait, and is waited for by the task that was to be cancelled.
        filling = asyncio.ensure_future(connection.transport.send(b'{"pad":"%s"}' % (b"x" * 2_000_000)))
        await until(lambda: bool(connection.transport._outgoing.is_over()))  # type: ignore[attr-defined]
        go.set()
        for _ in range(10):
            # Turns in which a cancelled task would take its answer back.
            await asyncio.sleep(0)
        answered = await hand.answer_to(request)
        assert answered["result"]["protocolVersion"] == 1
        await filling


async def test_an_edition_that_is_known_before_needs_no_handshake_and_allows_one() -> None:
    ours, theirs = memory_pair()
    handlers = agent_handlers()
    handlers.on(v1.SESSION_NEW, lambda params: v1.NewSessionResponse(f"session in {params.cwd}"))
    async with (
        Connection(ours, "agent", handlers, edition=V1) as agent,
        Connection(theirs, "client", edition=V1) as client,
    ):
        assert (agent.edition, client.edition) == (V1, V1)
        made = await client.call(v1.SESSION_NEW, v1.NewSessionRequest("/work", []))
        assert made.session_id == "session in /work"
        await client.call(v1.INITIALIZE, v1.InitializeRequest(1))
        assert agent.edition is V1
