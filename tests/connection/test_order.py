"""Promise: order. Every test here fails when a lane lets something overtake."""

import asyncio
import json
import os
import random
from contextvars import ContextVar
from typing import Any

import pytest

from accord.connection import Connection, Handlers
from accord.protocol import v1
from accord.protocol.edition import V1, Edition
from accord.transport import StreamTransport
from accord.transport.polled import PIPE_BYTES
from accord.transport.write_buffer import SLICE_BYTES
from tests.connection.rig import EDITIONS, UPDATES, initialized, until
from tests.limits import limit
from tests.tables import rows

CHUNK = (
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s%d","update":'
    b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%d"}}}}'
)


def number(params: Any) -> int:
    return int(params.update.content.text)


@pytest.mark.rotated("edition")
@pytest.mark.parametrize("edition", EDITIONS, ids=lambda edition: edition.name)
async def test_ten_thousand_updates_are_handled_in_order_although_handlers_suspend(edition: Edition) -> None:
    seen: list[int] = []
    chance = random.Random(7)

    async def slow(params: Any) -> None:
        for _ in range(chance.choice((0, 0, 0, 1, 3))):
            await asyncio.sleep(0)
        if chance.random() < 0.005:
            await asyncio.sleep(0.001)
        seen.append(number(params))

    handlers = Handlers()
    handlers.on(UPDATES[edition.name], slow)
    async with initialized("client", handlers, edition) as (_, hand):
        for index in range(10_000):
            await hand.update("s", str(index))
        await until(lambda: len(seen) == 10_000)
    assert seen == list(range(10_000))


async def test_a_handler_may_call_back_while_a_thousand_updates_follow_it() -> None:
    seen: list[int] = []
    handlers = Handlers()
    asked = asyncio.Event()

    async with initialized("client", handlers) as (connection, hand):

        async def call_back(params: Any) -> None:
            if number(params) == 0:
                asked.set()
                await connection.call(v1.SESSION_SET_MODE, v1.SetSessionModeRequest("s", "m"))
            seen.append(number(params))

        handlers.on(v1.SESSION_UPDATE, call_back)
        await hand.update("s", "0")
        request = await hand.hear()
        await asked.wait()
        for index in range(1, 1001):
            await hand.update("s", str(index))
        await hand.say({"jsonrpc": "2.0", "id": request["id"], "result": {}})
        await until(lambda: len(seen) == 1001)
    assert seen == list(range(1001))


async def test_a_call_from_a_task_that_a_handler_waits_for_is_answered_too() -> None:
    done = asyncio.Event()
    handlers = Handlers()
    async with initialized("client", handlers) as (connection, hand):

        async def call_back(_: Any) -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(connection.call(v1.SESSION_SET_MODE, v1.SetSessionModeRequest("s", "m")))
            done.set()

        handlers.on(v1.SESSION_UPDATE, call_back)
        await hand.update("s", "0")
        request = await hand.hear()
        await hand.update("s", "1")
        await hand.say({"jsonrpc": "2.0", "id": request["id"], "result": {}})
        async with asyncio.timeout(limit(5)):
            await done.wait()


async def test_a_permission_request_after_two_slow_updates_is_handled_third() -> None:
    seen: list[str] = []
    gate = asyncio.Event()
    handlers = Handlers()

    async def slow(params: Any) -> None:
        await gate.wait()
        await asyncio.sleep(0)
        seen.append(params.update.content.text)

    async def permission(_: v1.RequestPermissionRequest) -> v1.RequestPermissionResponse:
        seen.append("permission")
        return v1.RequestPermissionResponse(v1.CancelledPermissionOutcome())

    handlers.on(v1.SESSION_UPDATE, slow)
    handlers.on(v1.SESSION_REQUEST_PERMISSION, permission)
    async with initialized("client", handlers) as (_, hand):
        await hand.update("s", "first")
        await hand.update("s", "second")
        id_ = await hand.ask(
            "session/request_permission", {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": []}
        )
        await hand.update("s", "third")
        gate.set()
        assert (await hand.answer_to(id_))["result"]["outcome"] == {"outcome": "cancelled"}
        await until(lambda: len(seen) == 4)
    assert seen[:3] == ["first", "second", "permission"]


async def test_requests_of_one_session_start_in_the_order_they_came() -> None:
    seen: list[str] = []
    gate = asyncio.Event()
    handlers = Handlers()

    async def slow(_: Any) -> None:
        await gate.wait()

    async def read(params: v1.ReadTextFileRequest) -> v1.ReadTextFileResponse:
        seen.append(params.path)
        return v1.ReadTextFileResponse("")

    handlers.on(v1.SESSION_UPDATE, slow)
    handlers.on(v1.FS_READ_TEXT_FILE, read)
    async with initialized("client", handlers) as (_, hand):
        await hand.update("s", "0")
        ids = [await hand.ask("fs/read_text_file", {"sessionId": "s", "path": f"/{index}"}) for index in range(50)]
        gate.set()
        await hand.answer_to(ids[-1])
    assert seen == [f"/{index}" for index in range(50)]


PROMPT: Any = (v1.SESSION_PROMPT, v1.PromptRequest("s", [v1.TextContent("go")]), {"stopReason": "end_turn"})
LOAD: Any = (v1.SESSION_LOAD, v1.LoadSessionRequest([], "/", "s"), {})
RESUME: Any = (v1.SESSION_RESUME, v1.ResumeSessionRequest("s", "/"), {})


@rows(("method", "params", "result"), [PROMPT, LOAD, RESUME])
async def test_an_answer_waits_for_the_earlier_updates_of_the_session_it_names(
    method: Any, params: Any, result: Any
) -> None:
    seen: list[str] = []
    passed = asyncio.Event()
    gate = asyncio.Event()
    handlers = Handlers()

    async def handle(params: Any) -> None:
        if params.session_id == "other":
            passed.set()
            return
        await gate.wait()
        seen.append(params.update.content.text)

    handlers.on(v1.SESSION_UPDATE, handle)
    async with initialized("client", handlers) as (connection, hand):
        calling = asyncio.ensure_future(connection.call(method, params))
        request = await hand.hear()
        for index in range(3):
            await hand.update("s", str(index))
        await hand.say({"jsonrpc": "2.0", "id": request["id"], "result": result})
        # When this one is handled, the answer before it was read.
        await hand.update("other", "")
        await passed.wait()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not calling.done()
        gate.set()
        await calling
        assert seen == ["0", "1", "2"]


async def test_an_answer_that_names_no_session_comes_at_once() -> None:
    handlers = Handlers()

    async def stuck(_: Any) -> None:
        await asyncio.Event().wait()

    handlers.on(v1.SESSION_UPDATE, stuck)
    async with initialized("client", handlers) as (connection, hand):
        calling = asyncio.ensure_future(connection.call(v1.SESSION_NEW, v1.NewSessionRequest("/", [])))
        request = await hand.hear()
        await hand.update("s", "0")
        await hand.say({"jsonrpc": "2.0", "id": request["id"], "result": {"sessionId": "s"}})
        async with asyncio.timeout(limit(5)):
            assert (await calling).session_id == "s"


async def test_a_stuck_session_delays_nothing_of_another() -> None:
    seen: list[str] = []
    handlers = Handlers()

    async def handle(params: Any) -> None:
        if params.session_id == "stuck":
            await asyncio.Event().wait()
        seen.append(params.update.content.text)

    handlers.on(v1.SESSION_UPDATE, handle)
    async with initialized("client", handlers) as (connection, hand):
        await hand.update("stuck", "never")
        for index in range(1000):
            await hand.update("stuck", "behind")
            await hand.update("lively", str(index))
        await until(lambda: len(seen) == 1000)
        prompt = v1.PromptRequest("lively", [v1.TextContent("go")])
        calling = asyncio.ensure_future(connection.call(v1.SESSION_PROMPT, prompt))
        request = await hand.hear()
        await hand.say({"jsonrpc": "2.0", "id": request["id"], "result": {"stopReason": "end_turn"}})
        async with asyncio.timeout(limit(5)):
            await calling
    assert seen == [str(index) for index in range(1000)]


async def test_a_lane_goes_on_after_a_handler_that_raises() -> None:
    seen: list[int] = []
    handlers = Handlers()

    async def fragile(params: Any) -> None:
        if number(params) == 1:
            raise RuntimeError("boom")
        if number(params) == 2:
            raise asyncio.CancelledError
        seen.append(number(params))

    handlers.on(v1.SESSION_UPDATE, fragile)
    async with initialized("client", handlers) as (connection, hand):
        for index in range(4):
            await hand.update("s", str(index))
        await until(lambda: seen == [0, 3])
        assert connection.counts.failed_handlers == 1


async def test_a_plain_function_handles_updates_in_order_with_coroutines_around_it() -> None:
    seen: list[int] = []
    gate = asyncio.Event()
    handlers = Handlers()

    def handle(params: Any) -> Any:
        if number(params) == 1:
            return later()
        seen.append(number(params))
        return None

    async def later() -> None:
        await gate.wait()
        seen.append(1)

    handlers.on(v1.SESSION_UPDATE, handle)
    async with initialized("client", handlers) as (_, hand):
        for index in range(4):
            await hand.update("s", str(index))
        await until(lambda: seen == [0])
        gate.set()
        await until(lambda: len(seen) == 4)
    assert seen == [0, 1, 2, 3]


async def test_notifications_cost_no_task_each() -> None:
    handlers = Handlers()
    gate = asyncio.Event()

    async def wait(_: Any) -> None:
        await gate.wait()

    handlers.on(v1.SESSION_UPDATE, wait)
    async with initialized("client", handlers) as (connection, hand):
        before = len(asyncio.all_tasks())
        for index in range(500):
            await hand.update("s", str(index))
        await until(lambda: connection.backlog_bytes > 100_000)
        assert len(asyncio.all_tasks()) <= before + 1
        gate.set()
        await until(lambda: connection.backlog_bytes == 0)


async def test_many_sessions_cost_no_task_each_while_their_handlers_do_not_wait() -> None:
    seen: list[int] = []
    tasks: set[Any] = set()
    handlers = Handlers()

    async def handle(params: Any) -> None:
        tasks.add(asyncio.current_task())
        seen.append(number(params))

    handlers.on(v1.SESSION_UPDATE, handle)
    async with initialized("client", handlers) as (_, hand):
        for index in range(1000):
            await hand.transport.send(CHUNK % (index % 100, index))
        await until(lambda: len(seen) == 1000)
    assert sorted(seen) == list(range(1000))
    assert len(tasks) < 100


async def test_what_a_handler_puts_into_its_context_is_not_seen_by_another_session() -> None:
    mark: ContextVar[str] = ContextVar("mark", default="")
    seen: list[tuple[str, str]] = []
    handlers = Handlers()

    async def handle(params: Any) -> None:
        seen.append((params.session_id, mark.get()))
        mark.set(params.session_id)
        await asyncio.sleep(0)
        assert mark.get() == params.session_id

    handlers.on(v1.SESSION_UPDATE, handle)
    async with initialized("client", handlers) as (connection, hand):
        for index in range(200):
            await hand.update(f"s{index % 5}", str(index))
        await until(lambda: len(seen) == 200)
        assert connection.counts.failed_handlers == 0
    assert all(marked in {"", session} for session, marked in seen)


async def test_a_handler_may_use_timeouts_and_groups_of_tasks() -> None:
    seen: list[str] = []
    handlers = Handlers()

    async def handle(params: Any) -> None:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            seen.append(f"{params.session_id} timed out")
        async with asyncio.TaskGroup() as group:
            task = group.create_task(asyncio.sleep(0, params.session_id))
        seen.append(task.result())

    handlers.on(v1.SESSION_UPDATE, handle)
    async with initialized("client", handlers) as (connection, hand):
        await hand.update("a", "0")
        await hand.update("b", "0")
        await hand.update("a", "1")
        await until(lambda: len(seen) == 6)
        assert connection.counts.failed_handlers == 0
    assert sorted(seen) == ["a", "a", "a timed out", "a timed out", "b", "b timed out"]


async def test_a_lane_that_wakes_again_keeps_the_order() -> None:
    seen: list[int] = []
    handlers = Handlers()

    async def handle(params: Any) -> None:
        await asyncio.sleep(0)
        seen.append(number(params))

    handlers.on(v1.SESSION_UPDATE, handle)
    async with initialized("client", handlers) as (_, hand):
        for burst in range(20):
            for index in range(7):
                await hand.update("s", str(burst * 7 + index))
            await until(lambda due=burst * 7 + 7: len(seen) == due)  # type: ignore[misc]
    assert seen == list(range(140))


async def test_a_cancel_and_a_prompt_are_seen_when_they_are_read_and_never_queue() -> None:
    arrived: list[str] = []
    handlers = Handlers()
    handlers.on(v1.INITIALIZE, lambda params: v1.InitializeResponse(params.protocol_version))

    async def stuck(_: Any) -> None:
        await asyncio.Event().wait()

    handlers.on(v1.SESSION_CANCEL, stuck)
    handlers.on(v1.SESSION_PROMPT, stuck)
    handlers.on_arrival(v1.SESSION_CANCEL, lambda _: arrived.append("cancel"))
    handlers.on_arrival(v1.SESSION_PROMPT, lambda _: arrived.append("prompt"))
    async with initialized("agent", handlers) as (_, hand):
        await hand.notify("session/cancel", {"sessionId": "s"})
        await hand.notify("session/cancel", {"sessionId": "s"})
        await hand.ask("session/prompt", {"sessionId": "s", "prompt": []})
        await hand.notify("session/cancel", {"sessionId": "s"})
        await until(lambda: arrived == ["cancel", "cancel", "prompt", "cancel"])


async def test_some_of_a_stream_leave_at_once_where_nobody_has_to_wait_or_to_look() -> None:
    read_from, write_to = os.pipe()
    nothing, held = os.pipe()
    handlers = Handlers()
    async with (
        asyncio.timeout(limit(10)),
        Connection(StreamTransport(nothing, write_to), "agent", handlers) as connection,
    ):
        connection._receiver.edition = V1
        texts = [v1.SessionNotification("s", v1.AgentMessageChunk(v1.TextContent(text))) for text in "abcdef"]
        assert not connection.try_notify(v1.SESSION_UPDATE, texts[:2]), "the first of its kind is looked at"
        await connection.notify(v1.SESSION_UPDATE, texts[0])
        await connection.notify(v1.SESSION_UPDATE, texts[1])
        assert connection.try_notify(v1.SESSION_UPDATE, texts[2:4])
        stop = connection.observe(lambda _way, _text: None)
        assert not connection.try_notify(v1.SESSION_UPDATE, texts[4:]), "somebody looks"
        stop()
        for text in texts[4:]:
            await connection.notify(v1.SESSION_UPDATE, text)
        await asyncio.sleep(0)
        heard = os.read(read_from, 1 << 16).splitlines()
        os.close(held)
    os.close(read_from)
    assert [json.loads(line)["params"]["update"]["content"]["text"] for line in heard] == list("abcdef")


def chunk(text: str) -> v1.SessionNotification:
    return v1.SessionNotification("s", v1.AgentMessageChunk(v1.TextContent(text)))


async def test_an_update_does_not_overtake_one_that_waits_for_room() -> None:
    read_from, write_to = os.pipe()
    nothing, held = os.pipe()
    transport = StreamTransport(nothing, write_to)
    async with asyncio.timeout(limit(20)), Connection(transport, "agent") as connection:
        connection._receiver.edition = V1
        for text in ("first", "x" * (PIPE_BYTES + 100_000), "second"):
            await connection.notify(v1.SESSION_UPDATE, chunk(text))
        assert transport._buffer.lines is not None
        large = asyncio.create_task(connection.notify(v1.SESSION_UPDATE, chunk("y" * 200_000)))
        await asyncio.sleep(0)
        small = asyncio.create_task(connection.notify(v1.SESSION_UPDATE, chunk("third")))
        await asyncio.sleep(0)
        assert not large.done()
        heard = b""
        while heard.count(b"\n") < 5:
            heard += await asyncio.to_thread(os.read, read_from, 1 << 20)
        await asyncio.gather(large, small)
        os.close(held)
    os.close(read_from)
    texts = [json.loads(line)["params"]["update"]["content"]["text"] for line in heard.splitlines()]
    assert [text[:6] for text in texts] == ["first", "xxxxxx", "second", "yyyyyy", "third"]


async def test_an_agent_that_says_much_gives_the_loop_a_turn_now_and_then() -> None:
    read_from, write_to = os.pipe()
    nothing, held = os.pipe()
    async with asyncio.timeout(limit(20)), Connection(StreamTransport(nothing, write_to), "agent") as connection:
        connection._receiver.edition = V1
        turns = 0

        def count() -> None:
            nonlocal turns
            turns += 1
            asyncio.get_running_loop().call_soon(count)

        count()
        for _ in range(5 * SLICE_BYTES // 1000):
            await connection.notify(v1.SESSION_UPDATE, chunk("x" * 1000))
        assert turns >= 5
        os.close(held)
    os.close(read_from)
