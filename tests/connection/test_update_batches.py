"""Runs of updates that one read brings: each is handled, in its order, whatever becomes of the one before it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

from accord.connection import Connection, Handlers
from accord.connection.update_batches import ReadBatch
from accord.protocol import v1
from accord.transport import StreamTransport
from tests.connection.rig import Hand, initialize
from tests.limits import limit
from tests.tables import rows

UPDATE = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s","update":%s}}'
CHUNK = '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}'


def updates(session: str, *texts: str) -> list[str]:
    return [UPDATE % (session, CHUNK % text) for text in texts]


class Wire:
    """A client over real pipes and the ends its agent would hold: what is said at once is read at once."""

    def __init__(self, connection: Connection, write_to: int) -> None:
        self.connection = connection
        self._write_to = write_to

    def say(self, *lines: str) -> None:
        data = "".join(f"{line}\n" for line in lines).encode(errors="surrogateescape")
        assert os.write(self._write_to, data) == len(data)

    async def say_all(self, lines: list[str]) -> None:
        """More than the pipe holds: waits while it is full."""
        data = memoryview("".join(f"{line}\n" for line in lines).encode())
        while data:
            try:
                data = data[os.write(self._write_to, data) :]
            except BlockingIOError:
                await asyncio.sleep(0)


@asynccontextmanager
async def wired(handlers: Handlers, **options: Any) -> AsyncIterator[Wire]:
    read_from, write_to = os.pipe()
    their_read, our_write = os.pipe()
    transport = StreamTransport(read_from, our_write)
    far = StreamTransport(their_read, os.dup(write_to))
    try:
        async with asyncio.timeout(limit(20)), Connection(transport, "client", handlers, **options) as connection:
            await initialize(connection, Hand(far))
            yield Wire(connection, write_to)
    finally:
        os.close(write_to)
        await far.close()


def recorder(heard: list[str], then: Callable[[str], Any] | None = None) -> Handlers:
    handlers = Handlers()

    async def on_update(notification: v1.SessionNotification) -> None:
        update = notification.update
        assert isinstance(update, v1.AgentMessageChunk)
        assert isinstance(update.content, v1.TextContent)
        if then is not None:
            await then(update.content.text)
        heard.append(f"{notification.session_id}{update.content.text}")

    handlers.on(v1.SESSION_UPDATE, on_update)
    return handlers


async def until(heard: list[str], count: int) -> None:
    async with asyncio.timeout(limit(10)):
        while len(heard) < count:
            await asyncio.sleep(0.005)


async def nap(text: str) -> None:
    await asyncio.sleep(int(text) % 3 / 1000)


async def test_a_run_of_several_sessions_keeps_the_order_of_each() -> None:
    heard: list[str] = []
    async with wired(recorder(heard, nap)) as wire:
        mixed = [text for n in range(0, 60, 4) for s in "ab" for text in updates(s, *map(str, range(n, n + 4)))]
        wire.say(*mixed)
        await until(heard, 120)
    for session in "ab":
        assert [name for name in heard if name[0] == session] == [f"{session}{n}" for n in range(60)]


async def test_what_stands_between_two_runs_is_handled_between_them() -> None:
    heard: list[str] = []
    handlers = recorder(heard, nap)

    def read(request: v1.ReadTextFileRequest) -> v1.ReadTextFileResponse:
        heard.append(request.path)
        return v1.ReadTextFileResponse("")

    handlers.on(v1.FS_READ_TEXT_FILE, read)
    params = {"sessionId": "a", "path": "/f"}
    request = json.dumps({"jsonrpc": "2.0", "id": 5, "method": "fs/read_text_file", "params": params})
    async with wired(handlers) as wire:
        wire.say(*updates("a", "0", "1"), *updates("a", "2"), request, "no message", *updates("a", "3", "4"))
        await until(heard, 6)
        assert wire.connection.counts.malformed == 1
    # A request begins in its turn; it does not hold up what follows it.
    assert heard.index("/f") >= 3
    assert [name for name in heard if name != "/f"] == ["a0", "a1", "a2", "a3", "a4"]


async def test_a_handler_that_fails_within_a_run_is_counted_and_the_next_one_runs() -> None:
    heard: list[str] = []

    async def fail(text: str) -> None:
        if text == "1":
            raise ValueError(text)
        if text == "2":
            raise asyncio.CancelledError

    async with wired(recorder(heard, fail)) as wire:
        wire.say(*updates("a", "0", "1"))
        wire.say(*updates("a", "1", "2", "3", "4"))
        await until(heard, 3)
        assert wire.connection.counts.failed_handlers == 2
    assert heard == ["a0", "a3", "a4"]


async def test_a_handler_that_never_returns_holds_up_its_session_only() -> None:
    heard: list[str] = []

    async def stick(text: str) -> None:
        if text == "1":
            await asyncio.Event().wait()

    async with wired(recorder(heard, stick)) as wire:
        wire.say(*updates("a", "0"))
        await until(heard, 1)
        wire.say(*updates("a", "1", "2", "3"), *updates("b", "4", "5"))
        await until(heard, 3)
        await asyncio.sleep(0.02)
    assert heard == ["a0", "b4", "b5"]


@rows("sessions", ["a", "ab"])
async def test_a_run_over_the_budget_is_cut_and_nothing_of_it_is_lost(sessions: str) -> None:
    heard: list[str] = []
    most = 0

    async def measure(_text: str) -> None:
        nonlocal most
        await asyncio.sleep(0)
        most = max(most, wire.connection._budget.bytes)

    async with wired(recorder(heard, measure), max_backlog_bytes=4096) as wire:
        wire.say(*updates("a", "0"))
        await until(heard, 1)
        lines = updates(sessions[-1], *map(str, range(1, 100))) + updates(sessions[0], *map(str, range(100, 200)))
        wire.say(*lines)
        await until(heard, 200)
    assert 2048 < most < 4096 + 1024
    assert [int(name[1:]) for name in heard] == list(range(200)) or sessions == "ab"


async def test_closing_ends_a_run_in_the_middle() -> None:
    heard: list[str] = []
    reached = asyncio.Event()

    async def stop(text: str) -> None:
        if text == "2":
            reached.set()
            await asyncio.sleep(5)

    async with wired(recorder(heard, stop), grace_seconds=0) as wire:
        wire.say(*updates("a", "0"))
        await until(heard, 1)
        wire.say(*updates("a", "1", "2", "3"))
        await reached.wait()
    assert heard == ["a0", "a1"]


async def test_a_run_may_be_written_in_any_way_that_means_the_same() -> None:
    heard: list[str] = []
    other = {"params": json.loads(UPDATE % ("a", CHUNK % "2"))["params"], "method": "session/update", "jsonrpc": "2.0"}
    async with wired(recorder(heard)) as wire:
        wire.say(*updates("a", "0"))
        wire.say(*updates("a", "1"), json.dumps(other), *updates("a", "ü"), *updates("a", "4"))
        await until(heard, 5)
        assert wire.connection.counts.malformed == 0
    assert heard == ["a0", "a1", "a2", "aü", "a4"]


async def test_what_is_no_update_within_a_run_is_told_apart_from_those_around_it() -> None:
    heard: list[str] = []
    good = UPDATE % ("a", CHUNK % "1")
    doubtful = [
        good[:-1] + ',"id":7}',
        good[:-1] + ',"result":{}}',
        good.replace('"2.0"', '"1.0"'),
        good.replace("session/update", "session/updated"),
        good + good,
        good[:-1],
        good + ",",
    ]
    async with wired(recorder(heard)) as wire:
        wire.say(*updates("a", "0"))
        await until(heard, 1)
        for index, line in enumerate(doubtful):
            wire.say(*updates("a", "before"), line, line, *updates("a", "after"))
            await until(heard, 3 + 2 * index)
        counts = wire.connection.counts
        assert counts.malformed + counts.unknown_notifications >= 2 * (len(doubtful) - 1)
    assert heard == ["a0", *["abefore", "aafter"] * len(doubtful)]


async def test_bytes_that_are_no_text_spoil_their_own_line_alone() -> None:
    heard: list[str] = []
    async with wired(recorder(heard)) as wire:
        wire.say(*updates("a", "0"))
        await until(heard, 1)
        extra = UPDATE[:-1] % ("a", CHUNK % "2") + ',"skipped":"\udcff"}'
        wire.say(*updates("a", "1"), extra, *updates("a", "3"))
        await until(heard, 3)
        assert wire.connection.counts.malformed == 1
    assert heard == ["a0", "a1", "a3"]


async def test_updates_and_other_texts_in_turn_are_all_heard() -> None:
    heard: list[str] = []
    count = 20_000
    async with wired(recorder(heard)) as wire:
        wire.say(*updates("a", "0"))
        await until(heard, 1)
        lines = [each for number in range(count) for each in (*updates("a", str(number)), "stray")]
        await wire.say_all(lines)
        await until(heard, count + 1)
        assert wire.connection.counts.malformed == count
    assert heard[1:] == [f"a{number}" for number in range(count)]


def test_what_was_taken_of_a_read_is_counted_however_it_was_taken() -> None:
    batch = ReadBatch([b"a", b"bc", b"d"])
    assert batch.taken == 0
    assert next(batch.left) == b"a"
    assert batch.taken == 1
    assert list(map(len, batch.left)) == [2, 1]
    assert batch.taken == 3
    assert next(batch.left, None) is None
    assert batch.size_bytes == 4


@rows(("texts", "expected"), [([], True), ([b"a", b"b"], True), ([b"a", "ü".encode()], True), ([b"a", b"\xff"], False)])
def test_a_read_is_utf8_if_each_of_its_texts_is(texts: list[bytes], expected: bool) -> None:  # noqa: FBT001
    assert ReadBatch(texts).is_utf8 is expected


# --- a plain function that takes runs


class RunRecorder:
    """A handler of runs: `pauses` has the texts after which it wants to wait, `fails` those it raises for."""

    def __init__(self, *, pauses: tuple[str, ...] = (), fails: tuple[str, ...] = ()) -> None:
        self.heard: list[str] = []
        self.runs: list[int] = []
        self.room = asyncio.Event()
        self._pauses = pauses
        self._fails = fails

    def handlers(self) -> Handlers:
        handlers = Handlers()
        handlers.on(v1.SESSION_UPDATE, self.take_one, run_handler=self.take_run)
        return handlers

    def take_one(self, notification: v1.SessionNotification) -> Awaitable[None] | None:
        update = notification.update
        assert isinstance(update, v1.AgentMessageChunk)
        assert isinstance(update.content, v1.TextContent)
        text = update.content.text
        if text in self._fails:
            raise ValueError(text)
        self.heard.append(f"{notification.session_id}{text}")
        return self._wait() if text in self._pauses else None

    def take_run(self, session: str, run: Iterator[v1.SessionNotification]) -> Awaitable[None] | None:
        before = len(self.heard)
        try:
            for notification in run:
                assert notification.session_id == session
                pause = self.take_one(notification)
                if pause is not None:
                    return pause
            return None
        finally:
            self.runs.append(len(self.heard) - before)

    async def _wait(self) -> None:
        await self.room.wait()


async def test_a_plain_function_gets_the_updates_of_a_read_in_one_call() -> None:
    recorder = RunRecorder()
    async with wired(recorder.handlers()) as wire:
        wire.say(*updates("a", "0"))
        await until(recorder.heard, 1)
        wire.say(*updates("a", "1", "2", "3"), *updates("b", "4", "5"))
        await until(recorder.heard, 6)
    assert recorder.heard == ["a0", "a1", "a2", "a3", "b4", "b5"]
    assert recorder.runs == [3, 2], "the first update taught how the others begin"


async def test_updates_behind_one_that_has_to_wait_are_handled_after_it_and_in_order() -> None:
    recorder = RunRecorder(pauses=("2",))
    async with wired(recorder.handlers()) as wire:
        wire.say(*updates("a", "0"))
        await until(recorder.heard, 1)
        wire.say(*updates("a", "1", "2", "3", "4"), *updates("b", "5"))
        await until(recorder.heard, 4)
        wire.say(*updates("a", "6"), *updates("b", "7"))
        await until(recorder.heard, 5)
        assert recorder.heard == ["a0", "a1", "a2", "b5", "b7"]
        assert wire.connection._budget.bytes > 0, "what waits counts"
        recorder.room.set()
        await until(recorder.heard, 8)
        assert wire.connection._budget.bytes == 0
    assert recorder.heard[5:] == ["a3", "a4", "a6"]


async def test_an_update_of_a_run_that_fails_is_counted_and_the_next_one_is_handled() -> None:
    recorder = RunRecorder(fails=("1", "4"))
    async with wired(recorder.handlers()) as wire:
        wire.say(*updates("a", "0"))
        await until(recorder.heard, 1)
        wire.say(*updates("a", "1", "2", "3", "4"))
        await until(recorder.heard, 3)
        assert wire.connection.counts.failed_handlers == 2
    assert recorder.heard == ["a0", "a2", "a3"]


async def test_a_handler_of_runs_that_takes_nothing_and_fails_does_not_stop_the_reader() -> None:
    taken: list[str] = []

    def refuse(_session: str, _run: Iterator[v1.SessionNotification]) -> None:
        raise ValueError

    handlers = Handlers()
    handlers.on(v1.SESSION_UPDATE, lambda each: taken.append(each.session_id), run_handler=refuse)
    async with wired(handlers) as wire:
        wire.say(*updates("a", "0"))
        await until(taken, 1)
        wire.say(*updates("a", "1", "2", "3"), "no message")
        async with asyncio.timeout(limit(10)):
            while not wire.connection.counts.malformed:
                await asyncio.sleep(0.005)
        assert wire.connection.counts.failed_handlers == 3


async def test_a_run_over_the_budget_is_handled_one_by_one() -> None:
    recorder = RunRecorder()
    async with wired(recorder.handlers(), max_backlog_bytes=4096) as wire:
        wire.say(*updates("a", "0"))
        await until(recorder.heard, 1)
        wire.say(*updates("a", *map(str, range(1, 100))))
        await until(recorder.heard, 100)
    assert recorder.heard == [f"a{n}" for n in range(100)]
    assert not recorder.runs
