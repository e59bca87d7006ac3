"""Promise: bounded. Answers that are not written count in the budget; over it nothing starts and nothing is read."""

import asyncio
import contextlib
import itertools
import os
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from accord.connection import Connection, Handlers
from accord.connection.admission import TEXTS
from accord.connection.budget import OPEN_REQUEST_BYTES
from accord.connection.request import OpenRequest
from accord.errors import CallTimeout, ConnectionLost, RequestError
from accord.protocol import v1
from accord.protocol.codec import encode_between
from accord.protocol.edition import V2_JUNE
from accord.transport import StreamTransport
from tests.connection.rig import Hand, agent_handlers, initialize, initialized, is_paused, until
from tests.limits import limit

BUDGET = 64 * 1024
BOUND_SECONDS = limit(60.0)


@contextlib.asynccontextmanager
async def pair(left: Handlers, right: Handlers, **options: Any) -> AsyncIterator[tuple[Connection, Connection]]:
    """A client and an agent of ours over real pipes, past their handshake."""
    (here, there), (back, forth) = os.pipe(), os.pipe()
    client = Connection(StreamTransport(here, forth), "client", left, **options)
    agent = Connection(StreamTransport(back, there), "agent", right, **options)
    async with asyncio.timeout(BOUND_SECONDS), client, agent:
        await client.call(v1.INITIALIZE, v1.InitializeRequest(1))
        yield client, agent


@contextlib.asynccontextmanager
async def piped(handlers: Handlers, **options: Any) -> AsyncIterator[tuple[Connection, Hand]]:
    """An agent over real pipes, past its handshake, and the hand on their other ends."""
    (here, there), (back, forth) = os.pipe(), os.pipe()
    hand = Hand(StreamTransport(back, there))
    async with (
        asyncio.timeout(BOUND_SECONDS),
        Connection(StreamTransport(here, forth), "agent", handlers, **options) as (connection),
    ):
        try:
            await initialize(connection, hand)
            yield connection, hand
        finally:
            await hand.transport.close()


async def turns(count: int = 300) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


class Asked:
    """Handlers that say how many of them ran, and answer with `size` characters."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.ran = 0
        self.now = 0
        self.most = 0

    def at_once(self, _: Any) -> dict[str, str]:
        self.ran += 1
        return {"text": "x" * self.size}

    async def later(self, params: Any) -> dict[str, str]:
        self.now += 1
        self.most = max(self.most, self.now)
        await turns(3)
        self.now -= 1
        return self.at_once(params)


async def flood(hand: Hand, name: str, count: int) -> None:
    for number in range(count):
        await hand.ask(name, {"text": "x" * 200}, id_=number)


async def test_requests_of_a_peer_that_reads_no_answers_are_not_started() -> None:
    asked = Asked(20_000)
    handlers = agent_handlers()
    handlers.on_extension_request("_get", asked.at_once)
    async with piped(handlers, max_backlog_bytes=BUDGET) as (connection, hand):
        flooding = asyncio.ensure_future(flood(hand, "_get", 3000))
        await until(lambda: asked.ran > 3)
        await turns()
        # What both pipes and the transport's buffer take, the budget, and one.
        assert asked.ran * asked.size <= 3 * 256 * 1024 + BUDGET + 2 * asked.size
        assert connection.backlog_bytes <= 2 * BUDGET + asked.size
        assert not flooding.done()
        answers = [(await hand.hear())["id"] for _ in range(3000)]
        assert answers == list(range(3000))
        await flooding
        await until(lambda: connection.backlog_bytes == 0)


async def test_a_handler_with_a_share_runs_that_many_times_at_once() -> None:
    asked = Asked(10)
    handlers = agent_handlers()

    async def answer(params: Any) -> v1.ListSessionsResponse:
        await asked.later(params)
        return v1.ListSessionsResponse([])

    handlers.on(v1.SESSION_LIST, answer, share=4)
    async with initialized("agent", handlers) as (_, hand):
        for number in range(200):
            await hand.ask("session/list", {}, id_=number)
        assert sorted([(await hand.hear())["id"] for _ in range(200)]) == list(range(200))
        assert asked.most == 4


async def test_extension_requests_that_suspend_are_few_at_once_when_their_answers_are_large() -> None:
    asked = Asked(30_000)
    handlers = agent_handlers()
    handlers.on_extension_request("_get", asked.later)
    async with piped(handlers, max_backlog_bytes=BUDGET) as (_, hand):
        flooding = asyncio.ensure_future(flood(hand, "_get", 1000))
        for _ in range(100):
            await hand.hear()
        asked.most = asked.now
        for _ in range(900):
            await hand.hear()
        assert asked.most <= 2
        await flooding


async def test_handlers_that_wait_for_a_later_request_do_not_keep_it_from_starting() -> None:
    handlers = agent_handlers()
    signal = asyncio.Event()

    async def wait(_: Any) -> str:
        await signal.wait()
        return "x" * (2 * BUDGET)

    handlers.on_extension_request("_wait", wait)
    handlers.on_extension_request("_signal", lambda _: signal.set())
    async with initialized("agent", handlers, max_backlog_bytes=BUDGET) as (_, hand):
        signal.set()
        await hand.request("_wait")  # from now on each of them is expected to take the whole budget
        signal.clear()
        waiting = [await hand.ask("_wait") for _ in range(3)]
        signalled = await hand.ask("_signal")
        answers = [(await hand.hear())["id"] for _ in range(4)]
        assert sorted(answers) == sorted([*waiting, signalled])


async def test_reservations_of_handlers_that_take_long_lapse() -> None:
    handlers = agent_handlers()
    running = 0

    async def page(_: Any) -> v1.ListSessionsResponse:
        nonlocal running
        running += 1
        await asyncio.Event().wait()
        raise AssertionError

    handlers.on(v1.SESSION_LIST, page, share=4)
    async with initialized("agent", handlers) as (_, hand):
        for _ in range(10):
            await hand.ask("session/list", {})
        await until(lambda: running == 4)
        async with asyncio.timeout(BOUND_SECONDS):
            while running < 10:
                await asyncio.sleep(0.01)


async def test_a_request_that_is_cancelled_as_it_is_let_in_leaves_no_reservation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handlers = agent_handlers()
    gate = asyncio.Event()

    async def page(_: Any) -> v1.ListSessionsResponse:
        await gate.wait()
        return v1.ListSessionsResponse([])

    handlers.on(v1.SESSION_LIST, page, share=1)
    async with initialized("agent", handlers, max_backlog_bytes=BUDGET) as (connection, hand):
        answers = connection._incoming
        admission = answers._admission
        ids = [await hand.ask("session/list", {"cursor": "x" * 10_000}) for _ in range(3)]
        await until(lambda: admission.waits == 2)

        def start_and_cancel(inbound: OpenRequest) -> None:
            answers.start(inbound)
            answers.cancel(inbound.id)

        monkeypatch.setattr(admission, "_start", start_and_cancel)
        gate.set()
        heard = [await hand.hear() for _ in ids]
        assert sorted("error" in answer for answer in heard) == [False, True, True]
        await until(lambda: connection.backlog_bytes == 0)
        assert (admission._reserved_bytes, admission._texts_bytes, admission.waits) == (0, 0, 0)


async def test_long_requests_do_not_keep_others_from_starting() -> None:
    handlers = agent_handlers()
    running = 0

    async def prompt(_: Any) -> v1.PromptResponse:
        nonlocal running
        running += 1
        await asyncio.Event().wait()
        raise AssertionError

    handlers.on(v1.SESSION_PROMPT, prompt)
    handlers.on_extension_request("_get", Asked(10).at_once)
    async with initialized("agent", handlers) as (_, hand):
        for number in range(1000):
            await hand.ask("session/prompt", {"sessionId": f"s{number}", "prompt": []})
        assert (await hand.request("_get"))["result"] == {"text": "x" * 10}
        assert running == 1000


async def test_answers_larger_than_the_budget_pass_one_at_a_time() -> None:
    asked = Asked(20 * BUDGET)
    handlers = agent_handlers()
    handlers.on_extension_request("_get", asked.at_once)
    async with piped(handlers, max_backlog_bytes=BUDGET) as (connection, hand):
        flooding = asyncio.ensure_future(flood(hand, "_get", 20))
        await until(lambda: asked.ran > 0)
        await turns()
        # The first one is neither small enough for a pipe nor read.
        assert asked.ran == 1
        most = 0
        for number in range(20):
            answer = await hand.hear()
            most = max(most, connection.backlog_bytes)
            assert (answer["id"], len(answer["result"]["text"])) == (number, asked.size)
        assert most < 2 * asked.size
        await flooding


async def test_a_large_answer_counts_until_the_pipe_has_taken_it() -> None:
    handlers = agent_handlers()
    handlers.on_extension_request("_get", Asked(20 * BUDGET).at_once)
    async with piped(handlers, max_backlog_bytes=BUDGET) as (connection, hand):
        await hand.ask("_get")
        await until(lambda: connection.backlog_bytes > 20 * BUDGET)
        await turns()
        assert connection.backlog_bytes > 20 * BUDGET
        await hand.hear()
        await until(lambda: connection.backlog_bytes == 0)


# --- what still works


@contextlib.asynccontextmanager
async def stuck(handlers: Handlers) -> AsyncIterator[tuple[Connection, Hand]]:
    """An agent with an answer that its client does not read, larger than its budget."""
    handlers.on_extension_request("_get", Asked(20 * BUDGET).at_once)
    async with piped(handlers, max_backlog_bytes=BUDGET) as (connection, hand):
        await hand.ask("_get", id_="unread")
        await until(lambda: connection.backlog_bytes > 20 * BUDGET)
        yield connection, hand


async def test_a_request_that_waits_can_be_cancelled() -> None:
    handlers = agent_handlers()
    async with stuck(handlers) as (connection, hand):
        calling = asyncio.ensure_future(connection.call_extension("_never"))
        id_ = await hand.ask("_get")
        await hand.notify("$/cancel_request", {"requestId": id_})
        assert (await hand.answer_to(id_))["error"]["code"] == -32800
        calling.cancel()


async def test_a_prompt_that_waits_and_was_heard_of_is_cancelled_by_its_handler() -> None:
    handlers = agent_handlers()
    heard: list[str] = []

    async def prompt(_: Any) -> v1.PromptResponse:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            heard.append("cancelled")
        return v1.PromptResponse("cancelled")

    handlers.on(v1.SESSION_PROMPT, prompt)
    handlers.on_arrival(v1.SESSION_PROMPT, lambda _: heard.append("arrived"))
    async with stuck(handlers) as (connection, hand):
        calling = asyncio.ensure_future(connection.call_extension("_never"))
        id_ = await hand.ask("session/prompt", {"sessionId": "s", "prompt": []})
        await hand.notify("$/cancel_request", {"requestId": id_})
        await until(lambda: heard == ["arrived", "cancelled"])
        assert (await hand.answer_to(id_))["result"]["stopReason"] == "cancelled"
        calling.cancel()


async def test_close_and_timeouts_work_while_answers_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accord.transport.streams.FLUSH_SECONDS", limit(0.1))
    handlers = agent_handlers()
    async with stuck(handlers) as (connection, hand):
        flooding = asyncio.ensure_future(flood(hand, "_get", 2000))
        await turns()
        with pytest.raises(CallTimeout):
            await connection.call_extension("_never", timeout_seconds=0.05)
        async with asyncio.timeout(limit(5)):
            await connection.close()
        flooding.cancel()


async def test_the_answer_to_our_call_is_read_although_our_answers_are_not() -> None:
    handlers = agent_handlers()
    handlers.on_extension_request("_get", Asked(20 * BUDGET).at_once)
    async with piped(handlers, max_backlog_bytes=BUDGET) as (connection, hand):
        calling = asyncio.ensure_future(connection.call_extension("_ask"))
        request = await hand.hear()
        # More than the budget of requests stands before the answer.
        for number in range(100):
            await hand.ask("_get", {"text": "x" * 1000}, id_=number)
        await hand.say({"jsonrpc": "2.0", "id": request["id"], "result": "heard"})
        assert await calling == "heard"
        assert connection.backlog_bytes > 20 * BUDGET


async def test_the_end_of_a_peer_is_seen_while_reading_is_paused() -> None:
    handlers = agent_handlers()

    async def never(_: Any) -> None:
        await asyncio.Event().wait()

    handlers.on_extension_request("_never", never)
    async with piped(handlers, max_backlog_bytes=BUDGET, grace_seconds=0.1) as (connection, hand):

        async def flood() -> None:
            for number in range(10_000):
                await hand.ask("_never", {}, id_=number)

        flooding = asyncio.ensure_future(flood())
        await until(lambda: is_paused(connection))
        await turns()
        assert not flooding.done()
        flooding.cancel()
        assert connection.backlog_bytes > BUDGET
        await hand.transport.close()
        await connection.wait_closed()


@pytest.mark.parametrize("count", [500, pytest.param(10_000, marks=[pytest.mark.every, pytest.mark.timeout(300)])])
async def test_two_ends_that_ask_each_other_for_more_than_their_budgets_do_not_wait_for_ever(count: int) -> None:
    # The smaller count has smaller budgets: it too needs far more than both ends and the pipes hold.
    budget = {500: 256 * 1024, 10_000: 4 * 1024 * 1024}[count]
    left, right = Handlers(), agent_handlers()
    size = 64 * 1024
    for handlers in (left, right):
        handlers.on_extension_request("_get", Asked(size).later)
    async with pair(left, right, max_backlog_bytes=budget) as (client, agent):

        async def ask(end: Connection) -> int:
            return len((await end.call_extension("_get"))["text"])

        answers = await asyncio.gather(*(ask(end) for _ in range(count) for end in (client, agent)))
        assert answers == [size] * 2 * count
        await until(lambda: client.backlog_bytes == agent.backlog_bytes == 0)


# --- the texts of requests


async def test_the_texts_of_large_requests_that_run_are_bounded() -> None:
    handlers = agent_handlers()
    running = 0
    gate = asyncio.Event()

    async def prompt(_: Any) -> v1.PromptResponse:
        nonlocal running
        running += 1
        await gate.wait()
        return v1.PromptResponse("end_turn")

    handlers.on(v1.SESSION_PROMPT, prompt)
    async with initialized("agent", handlers, max_backlog_bytes=BUDGET) as (connection, hand):
        text = {"type": "text", "text": "x" * (BUDGET // 2)}

        async def flood() -> None:
            for number in range(100):
                await hand.ask("session/prompt", {"sessionId": f"s{number}", "prompt": [text]}, id_=number)

        flooding = asyncio.ensure_future(flood())
        await until(lambda: running >= 2 * TEXTS - 1)
        await turns()
        assert running == 2 * TEXTS - 1
        assert connection.backlog_bytes <= 2 * BUDGET
        gate.set()
        assert sorted([(await hand.hear())["id"] for _ in range(100)]) == list(range(100))
        await flooding


async def test_small_requests_pass_large_ones_that_wait() -> None:
    handlers = agent_handlers()

    async def never(_: Any) -> v1.PromptResponse:
        await asyncio.Event().wait()
        raise AssertionError

    handlers.on(v1.SESSION_PROMPT, never)
    async with initialized("agent", handlers, max_backlog_bytes=BUDGET) as (_, hand):
        text = {"type": "text", "text": "x" * (TEXTS * BUDGET)}
        await hand.ask("session/prompt", {"sessionId": "s", "prompt": [text]})
        small = {"type": "text", "text": "x" * (BUDGET // 2)}
        await hand.ask("session/prompt", {"sessionId": "t", "prompt": [small]})
        assert (await hand.request("session/new", {"cwd": "/", "mcpServers": []}))["result"]["sessionId"] == "s"


async def test_the_answers_of_a_batch_are_bounded_and_complete() -> None:
    handlers = agent_handlers()
    handlers.on_extension_request("_get", Asked(BUDGET // 4).later)
    async with initialized("agent", handlers, V2_JUNE, max_backlog_bytes=BUDGET) as (connection, hand):
        await hand.say([{"jsonrpc": "2.0", "id": number, "method": "_get", "params": {}} for number in range(50)])
        answers = await hand.hear()
        assert [answer["id"] for answer in answers] == list(range(50))
        assert sum("result" in answer for answer in answers) == 3
        assert all("fewer requests" in answer["error"]["message"] for answer in answers if "error" in answer)
        assert connection.backlog_bytes == 0


# --- our own calls


async def test_no_more_calls_are_open_than_a_peer_with_our_budget_holds() -> None:
    async with initialized("client", max_backlog_bytes=BUDGET) as (connection, hand):
        most = 2 * BUDGET // OPEN_REQUEST_BYTES
        calls = [asyncio.ensure_future(connection.call_extension("_ask", n)) for n in range(most + 10)]
        heard = [await hand.hear() for _ in range(most)]
        await turns()
        with pytest.raises(CallTimeout):
            await connection.call_extension("_late", timeout_seconds=0.05)
        cancelled = calls.pop()
        cancelled.cancel()
        await hand.say({"jsonrpc": "2.0", "id": heard[0]["id"], "result": 1})
        # The next one, and no word about those that were given up before they were sent.
        assert (await hand.hear())["params"] == most
        for message in heard[1:]:
            await hand.say({"jsonrpc": "2.0", "id": message["id"], "result": 1})
        for number in range(most + 1, most + 9):
            assert (await hand.hear())["params"] == number
        await connection.close()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert outcomes[:most] == [1] * most
        assert all(isinstance(outcome, ConnectionLost) for outcome in outcomes[most:])


async def test_calls_that_wait_for_their_turn_end_with_the_link() -> None:
    async with initialized("client", max_backlog_bytes=BUDGET) as (connection, hand):
        calls = [asyncio.ensure_future(connection.call_extension("_ask")) for _ in range(500)]
        await hand.hear()
        await connection.close()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(outcome, ConnectionLost) for outcome in outcomes)


# --- any mixture


SIZES = st.lists(st.integers(0, 3 * BUDGET), min_size=1, max_size=60)


@settings(max_examples=40, deadline=None)
@given(sizes=SIZES, reads=st.lists(st.integers(1, 20), min_size=1, max_size=10), suspends=st.booleans())
def test_whatever_the_sizes_all_are_answered_once_and_the_budget_holds(
    sizes: list[int],
    reads: list[int],
    suspends: bool,  # noqa: FBT001 - hypothesis gives it
) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        asyncio.run(_any_mixture(monkeypatch, sizes, reads, suspends=suspends))


async def _any_mixture(  # noqa: C901 - one conversation
    monkeypatch: pytest.MonkeyPatch, sizes: list[int], reads: list[int], *, suspends: bool
) -> None:
    handlers = agent_handlers()
    unwritten: list[int] = []

    async def get(params: Any) -> str:
        if suspends:
            await turns(params["size"] % 5)
        if params["size"] % 7 == 0:
            raise RequestError("no")
        return "x" * int(params["size"])

    handlers.on_extension_request("_get", get)
    async with initialized("agent", handlers, max_backlog_bytes=BUDGET) as (connection, hand):
        backlog = connection._budget
        watched = _watch(backlog.answered, lambda: unwritten.append(backlog.unwritten_bytes))
        monkeypatch.setattr(backlog, "answered", watched)

        async def ask() -> None:
            for number, size in enumerate(sizes):
                await hand.ask("_get", {"size": size}, id_=number)

        asking = asyncio.ensure_future(ask())
        answered: list[int] = []
        for pause in itertools.cycle(reads):
            await turns(20)
            wanted = min(pause, len(sizes) - len(answered))
            answered += [(await hand.hear())["id"] for _ in range(wanted)]
            if len(answered) == len(sizes):
                break
        await asking
        await until(lambda: connection.backlog_bytes == 0)
    assert sorted(answered) == list(range(len(sizes)))
    if not suspends:
        assert answered == sorted(answered)
        assert max(unwritten, default=0) <= BUDGET + max(sizes) + 2 * OPEN_REQUEST_BYTES


def _watch(call: Callable[[int], None], look: Callable[[], None]) -> Callable[[int], None]:
    def called(count: int) -> None:
        call(count)
        look()

    return called


async def test_answers_that_nobody_can_read_any_more_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def encode(head: bytes, result: Any, tail: bytes) -> bytes | bytearray:
        made.append(1)
        return encode_between(head, result, tail)

    monkeypatch.setattr("accord.connection.incoming.encode_between", encode)
    asked = Asked(20 * BUDGET)
    handlers = agent_handlers()
    handlers.on_extension_request("_get", asked.at_once)
    (here, there), (back, forth) = os.pipe(), os.pipe()
    asks = b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"_get","params":{}}\n' % number for number in range(200))
    os.write(there, b'{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":1}}\n' + asks)
    os.close(back)
    connection = Connection(StreamTransport(here, forth), "agent", handlers, max_backlog_bytes=BUDGET)
    async with asyncio.timeout(BOUND_SECONDS), connection:
        await until(lambda: asked.ran == 200)
        assert len(made) <= 3
        await until(lambda: connection.backlog_bytes == 0)
    os.close(there)
