"""Promise: bounded. What is read and not handled has a budget; over it the peer waits, and nothing is dropped."""

import asyncio
from typing import Any

import pytest

from accord.connection import Handlers
from accord.errors import BacklogExceeded, CallTimeout, ConnectionLost
from accord.protocol import v1
from tests.connection.rig import agent_handlers, has_waiting_sender, initialized, is_paused, until
from tests.limits import limit

KILOBYTE = "x" * 1000
BUDGET = 64 * 1024


async def stuck(_: Any) -> None:
    await asyncio.Event().wait()


async def test_a_slow_handler_slows_the_sender_and_loses_nothing() -> None:
    seen: list[str] = []
    gate = asyncio.Event()
    handlers = Handlers()

    async def slow(params: Any) -> None:
        await gate.wait()
        seen.append(params.update.content.text[:4])

    handlers.on(v1.SESSION_UPDATE, slow)
    async with initialized("client", handlers, max_backlog_bytes=BUDGET) as (connection, hand):
        sent = 0

        async def flood() -> None:
            nonlocal sent
            for index in range(4000):
                await hand.transport.send(
                    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":'
                    b'"agent_message_chunk","content":{"type":"text","text":"%04d%s"}}}}' % (index, KILOBYTE.encode())
                )
                sent += 1

        flooding = asyncio.ensure_future(flood())
        await until(lambda: is_paused(connection) and has_waiting_sender(hand.transport))
        assert connection.backlog_bytes < BUDGET + 2000
        # The sender got as far as the link's own buffer (1 MiB) and the budget allow, and no further.
        assert sent < 1200
        assert not flooding.done()
        gate.set()
        await flooding
        await until(lambda: len(seen) == 4000)
        assert connection.backlog_bytes == 0
    assert seen == [f"{index:04d}" for index in range(4000)]


async def test_a_stuck_session_stops_the_reader_only_when_the_backlog_is_full() -> None:
    seen: list[str] = []
    handlers = Handlers()

    async def handle(params: Any) -> None:
        if params.session_id == "stuck":
            await stuck(params)
        seen.append(params.update.content.text)

    handlers.on(v1.SESSION_UPDATE, handle)
    async with initialized("client", handlers, max_backlog_bytes=BUDGET) as (connection, hand):
        for _ in range(40):
            await hand.update("stuck", KILOBYTE)
        await hand.update("lively", "heard")
        await until(lambda: seen == ["heard"])
        for _ in range(40):
            await hand.update("stuck", KILOBYTE)
        await hand.update("lively", "not heard")
        await until(lambda: is_paused(connection))
        assert seen == ["heard"]
        assert connection.backlog_bytes > BUDGET


async def test_a_message_larger_than_the_budget_is_handled() -> None:
    seen: list[int] = []
    handlers = Handlers()

    async def handle(params: Any) -> None:
        seen.append(len(params.update.content.text))

    handlers.on(v1.SESSION_UPDATE, handle)
    async with initialized("client", handlers, max_backlog_bytes=BUDGET) as (connection, hand):
        await hand.update("s", "x" * (4 * BUDGET))
        await hand.update("s", "x")
        await until(lambda: seen == [4 * BUDGET, 1])
        assert connection.backlog_bytes == 0


async def test_the_reader_reads_on_for_a_call_made_inside_a_handler() -> None:
    answered: list[Any] = []
    handlers = Handlers()
    async with initialized("client", handlers, max_backlog_bytes=BUDGET) as (connection, hand):

        async def call_back(params: Any) -> None:
            if params.update.content.text == "first":
                request = v1.SetSessionModeRequest("s", "m")
                answered.append(await connection.call(v1.SESSION_SET_MODE, request))

        handlers.on(v1.SESSION_UPDATE, call_back)
        await hand.update("s", "first")
        request = await hand.hear()
        for _ in range(150):  # more than twice the budget
            await hand.update("s", KILOBYTE)
        await hand.say({"jsonrpc": "2.0", "id": request["id"], "result": {}})
        await until(lambda: len(answered) == 1)
        await until(lambda: connection.backlog_bytes == 0)


async def test_a_call_inside_a_handler_fails_when_four_times_the_budget_is_spent() -> None:
    failures: list[BaseException] = []
    handled: list[str] = []
    handlers = Handlers()
    async with initialized("client", handlers, max_backlog_bytes=BUDGET) as (connection, hand):

        async def call_back(params: Any) -> None:
            if params.update.content.text == "first":
                try:
                    await connection.call(v1.SESSION_SET_MODE, v1.SetSessionModeRequest("s", "m"))
                except BacklogExceeded as error:
                    failures.append(error)
            handled.append(params.update.content.text)

        handlers.on(v1.SESSION_UPDATE, call_back)
        await hand.update("s", "first")
        await hand.hear()
        for _ in range(400):
            await hand.update("s", KILOBYTE)
        await until(lambda: len(failures) == 1)
        await until(lambda: len(handled) == 401)
        assert connection.is_open


async def test_close_works_while_reading_is_paused() -> None:
    handlers = Handlers()
    handlers.on(v1.SESSION_UPDATE, stuck)
    async with initialized("client", handlers, max_backlog_bytes=BUDGET) as (connection, hand):
        for _ in range(100):
            await hand.update("s", KILOBYTE)
        await until(lambda: connection.backlog_bytes > BUDGET)
        async with asyncio.timeout(limit(5)):
            await connection.close()


async def test_timeouts_and_cancellation_work_while_reading_is_paused() -> None:
    handlers = Handlers()
    handlers.on(v1.SESSION_UPDATE, stuck)
    async with initialized("client", handlers, max_backlog_bytes=BUDGET) as (connection, hand):
        for _ in range(100):
            await hand.update("s", KILOBYTE)
        await until(lambda: connection.backlog_bytes > BUDGET)
        request = v1.NewSessionRequest("/", [])
        with pytest.raises(CallTimeout):
            await connection.call(v1.SESSION_NEW, request, timeout_seconds=0.05)
        calling = asyncio.ensure_future(connection.call(v1.SESSION_NEW, request))
        await asyncio.sleep(0)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling


async def test_requests_whose_handlers_never_return_are_bounded_too() -> None:
    running = 0
    handlers = agent_handlers()

    async def never(_: Any) -> v1.SetSessionModeResponse:
        nonlocal running
        running += 1
        await stuck(None)
        raise AssertionError

    handlers.on(v1.SESSION_SET_MODE, never)
    async with initialized("agent", handlers, max_backlog_bytes=BUDGET) as (connection, hand):

        async def flood() -> None:
            for index in range(20_000):
                await hand.ask("session/set_mode", {"sessionId": f"s{index}", "modeId": "m"}, id_=index)

        flooding = asyncio.ensure_future(flood())
        await until(lambda: is_paused(connection) and running == len(connection._incoming.tasks()))
        assert running <= BUDGET // 1024 + 2
        flooding.cancel()


async def test_a_peer_that_sends_garbage_and_reads_nothing_is_slowed_down() -> None:
    async with initialized("agent", max_backlog_bytes=BUDGET) as (connection, hand):
        sent = 0

        async def flood() -> None:
            nonlocal sent
            for _ in range(100_000):
                await hand.transport.send(b"{broken" + KILOBYTE.encode())
                sent += 1

        flooding = asyncio.ensure_future(flood())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await flooding
        # Answers fill the link (1 MiB) and the budget; the rest of the flood waits in the link on its way in.
        tasks = len(asyncio.all_tasks())
        assert tasks < 500
        assert connection.backlog_bytes < 2 * BUDGET


async def test_a_large_prompt_does_not_keep_its_own_cancel_from_being_read() -> None:
    handlers = agent_handlers()
    handlers.on(v1.SESSION_PROMPT, stuck)
    async with initialized("agent", handlers, max_backlog_bytes=BUDGET) as (_, hand):
        blocks = [{"type": "text", "text": "x" * (10 * BUDGET)}]
        id_ = await hand.ask("session/prompt", {"sessionId": "s", "prompt": blocks})
        await hand.notify("$/cancel_request", {"requestId": id_})
        assert (await hand.answer_to(id_))["error"]["code"] == -32800


async def test_a_sender_is_suspended_while_the_peer_does_not_read() -> None:
    async with initialized("agent") as (connection, hand):
        chunk = v1.AgentMessageChunk(v1.TextContent("x" * 100_000))
        sent = 0

        async def flood() -> None:
            nonlocal sent
            for _ in range(1000):
                await connection.notify(v1.SESSION_UPDATE, v1.SessionNotification("s", chunk))
                sent += 1

        flooding = asyncio.ensure_future(flood())
        await until(lambda: has_waiting_sender(connection.transport))
        assert sent < 30
        await connection.close()
        with pytest.raises(ConnectionLost):
            await flooding
        assert hand.transport is not None
