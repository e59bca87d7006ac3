"""Hundreds of sessions in one process, each with tools, files and commands: when they are closed, nothing is left.

What is counted: tasks, descriptors, child processes, threads, the framework's own objects, and resident memory. Every
session ends in one of three ways: its turn comes to its end, is cancelled in the middle, or is closed in the middle.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import json
import logging
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from accord.agent import Agent, Session, Tool, Turn
from accord.agent.open_prompt import OpenPrompt
from accord.agent.publisher import EventPublisher
from accord.agent.question import PendingQuestion
from accord.agent.terminals import Terminal, Terminals
from accord.agent.turn_runner import TurnRunner
from accord.connection.lanes import Lane
from accord.stores import Store
from accord.transport import memory_pair
from accord.transport.interface import Transport
from accord.workspace import RunningCommand, Workspace, start_command
from tests.limits import limit
from tests.stores.places import IN_BOTH_STORES, IN_BOTH_STORES_LONG, is_database, open_place
from tests.transport.processes import until

BATCH = 25
WARM_UP = 100
BOUND_SECONDS = limit(30.0)
# What passes through each session.
SESSION_BYTES = 64 * 1024
# Room for SQLite's page caches (two connections, 2 MiB each at most), not for sessions: 25 MiB pass through those that
# are measured, so who keeps what one in six has said is over it. Who keeps an object of ours is counted exactly.
MOST_BYTES = 4 * 1024 * 1024

OURS = (
    Session,
    Turn,
    Tool,
    TurnRunner,
    OpenPrompt,
    EventPublisher,
    PendingQuestion,
    Terminals,
    Terminal,
    RunningCommand,
    Workspace,
    Lane,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts in /proc: run it on Linux")

CAPABILITIES: dict[str, dict[str, Any]] = {
    "v1": {
        "protocolVersion": 1,
        "clientCapabilities": {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True},
    },
    "v2": {"protocolVersion": 2, "info": {"name": "hand", "version": "1"}, "capabilities": {}},
}


# --- counting


class Count(NamedTuple):
    """What this process has."""

    tasks: int
    descriptors: int
    children: int
    threads: int
    objects: int

    @classmethod
    def now(cls) -> Count:
        gc.collect()
        return cls(
            len(asyncio.all_tasks()),
            len(os.listdir("/proc/self/fd")),  # noqa: PTH208
            len(children()),
            # The loop's own pool grows up to a few and stays.
            sum(not thread.name.startswith("asyncio_") for thread in threading.enumerate()),
            sum(isinstance(each, OURS) for each in gc.get_objects()),
        )

    def exceeds(self, other: Count) -> bool:
        return any(mine > others for mine, others in zip(self, other, strict=True))


def children() -> list[int]:
    """Our child processes, the dead that nobody has buried among them."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int((folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1]) == os.getpid():
                found.append(int(folder.name))
    return found


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


# --- the agent


def make_agent(store: Store) -> Agent:
    agent = Agent("tidy", version="1", store=store)

    @agent.prompt
    async def reply(turn: Turn) -> None:
        name = f"{turn.session.id}.txt"
        async with turn.tool("Write", kind="edit") as tool:
            await turn.files.write(name, turn.text)
            await tool.diff(name, None, turn.text)
        async with turn.tool("Run", kind="execute") as tool:
            outcome = await turn.terminals.run(["sh", "-c", f"cat {name}"], on_start=tool.show)
        assert outcome.output == await turn.files.read(name) == turn.text
        turn.session.keep(await turn.terminals.start(["sleep", "600"]))
        for _ in range(SESSION_BYTES // 4096):
            await turn.say(4096 * "x")
        if turn.text != "end":
            async with turn.tool("Wait", kind="execute") as tool:
                await turn.say("waiting")
                if turn.text == "ask":
                    await turn.request_permission(tool)
                await turn.terminals.run(["sleep", "600"], on_start=tool.show)

    return agent


# --- the client


class Client:
    """A client with a machine of its own; sessions run beside each other."""

    def __init__(self, transport: Transport, folder: Path, edition: str) -> None:
        self._transport = transport
        self._folder = folder
        self._edition = edition
        self._workspace = Workspace([folder])
        self._ids = itertools.count()
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._updates: dict[str, Callable[[dict[str, Any]], None]] = {}
        self._commands: dict[str, RunningCommand] = {}
        self._serving: set[asyncio.Task[None]] = set()
        self._reading = asyncio.ensure_future(self._read())

    async def close(self) -> None:
        """Vanish."""
        await self._transport.close()
        await self._reading
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
        # v1 rule 52: a client ends what it runs when its agent is gone.
        for command in self._commands.values():
            await command.release()
        self._commands.clear()
        self._updates.clear()
        self._answers.clear()

    async def _read(self) -> None:
        while texts := await self._transport.receive():
            for text in texts:
                self._hear(json.loads(text))

    def _hear(self, message: Any) -> None:
        if message.get("method") == "session/update":
            hear = self._updates.get(message["params"]["sessionId"])
            if hear is not None:
                hear(message["params"]["update"])
        elif "method" in message:
            task = asyncio.ensure_future(self._serve(message))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)
        else:
            self._answers.pop(message["id"]).set_result(message)

    async def _send(self, message: dict[str, Any]) -> None:
        await self._transport.send(json.dumps({"jsonrpc": "2.0", **message}).encode())

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        """Ask and wait; bounded."""
        number = next(self._ids)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        await self._send({"id": number, "method": method, "params": params})
        async with asyncio.timeout(BOUND_SECONDS):
            message = await answer
        assert "result" in message, message
        return message["result"]

    async def begin(self, text: str) -> tuple[str, asyncio.Task[None], asyncio.Event]:
        """A session with a turn; its end, and whether it waits for something that does not come."""
        opened = await self.call("session/new", {"cwd": str(self._folder), "mcpServers": []})
        session: str = opened["sessionId"]
        idle, waiting = asyncio.Event(), asyncio.Event()

        def hear(update: dict[str, Any]) -> None:
            if update.get("state") == "idle" and "stopReason" in update:
                idle.set()
            if update["sessionUpdate"] == "agent_message_chunk" and update["content"]["text"] == "waiting":
                waiting.set()

        self._updates[session] = hear
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": text}]}

        async def turn() -> None:
            answer = await self.call("session/prompt", prompt)
            if "stopReason" not in answer:
                async with asyncio.timeout(BOUND_SECONDS):
                    await idle.wait()

        return session, asyncio.ensure_future(turn()), waiting

    async def live(self, number: int) -> None:
        """One session from its beginning to its end."""
        way = ("end", "end", "end", "cancel", "close")[number % 5]
        session, turn, waiting = await self.begin(way)
        if way != "end":
            async with asyncio.timeout(BOUND_SECONDS):
                await waiting.wait()
        if way == "cancel":
            await self._send({"method": "session/cancel", "params": {"sessionId": session}})
        if way != "close":
            await turn
        await self.call("session/close", {"sessionId": session})
        await turn
        del self._updates[session]

    # --- what the agent asks (v1)

    async def _serve(self, message: dict[str, Any]) -> None:
        serve: dict[str, Callable[[dict[str, Any]], Awaitable[Any]]] = {
            "fs/read_text_file": self._read_file,
            "fs/write_text_file": self._write_file,
            "terminal/create": self._start,
            "terminal/output": self._output,
            "terminal/wait_for_exit": self._wait,
            "terminal/kill": self._kill,
            "terminal/release": self._release,
            "session/request_permission": self._think,
        }
        result = await serve[message["method"]](message["params"])
        await self._send({"id": message["id"], "result": result})

    async def _read_file(self, params: dict[str, Any]) -> Any:
        return {"content": await self._workspace.read_text(params["path"], params.get("line"), params.get("limit"))}

    async def _write_file(self, params: dict[str, Any]) -> Any:
        await self._workspace.write_text(params["path"], params["content"])
        return {}

    async def _start(self, params: dict[str, Any]) -> Any:
        argv = [params["command"], *params.get("args", [])]
        command = await start_command(argv, cwd=params.get("cwd"), within=self._workspace)
        terminal = f"terminal-{next(self._ids)}"
        self._commands[terminal] = command
        return {"terminalId": terminal}

    async def _output(self, params: dict[str, Any]) -> Any:
        command = self._commands[params["terminalId"]]
        output = command.output
        shown: dict[str, Any] = {"output": output.text, "truncated": output.truncated}
        if command.exit is not None:
            shown["exitStatus"] = {"exitCode": command.exit.code, "signal": command.exit.signal}
        return shown

    async def _wait(self, params: dict[str, Any]) -> Any:
        ended = await self._commands[params["terminalId"]].wait()
        return {"exitCode": ended.code, "signal": ended.signal}

    async def _kill(self, params: dict[str, Any]) -> Any:
        await self._commands[params["terminalId"]].kill()
        return {}

    async def _release(self, params: dict[str, Any]) -> Any:
        await self._commands.pop(params["terminalId"]).release()
        return {}

    async def _think(self, _: dict[str, Any]) -> Any:
        """A user who is not there."""
        await asyncio.Event().wait()


@contextlib.asynccontextmanager
async def talking(folder: Path, place: str, edition: str) -> AsyncIterator[Client]:
    """An agent that serves a client; it must come to its end soon after the client did."""
    store = open_place(place)
    # Begins its reading thread, as its first checkpoint would in the middle of the count.
    await store.list_sessions()
    ours, theirs = memory_pair()
    serving = asyncio.ensure_future(make_agent(store).serve(ours))
    client = Client(theirs, folder, edition)
    try:
        await client.call("initialize", CAPABILITIES[edition])
        yield client
    finally:
        await client.close()
        async with asyncio.timeout(BOUND_SECONDS):
            await serving
        await store.close()


# --- the promises


async def live_through(folder: Path, place: str, edition: str, sessions: int, warm_up: int, batch: int = BATCH) -> int:
    """Open and close so many sessions; how many bytes are held that were not after the warm-up."""
    warm: tuple[Count, int] | None = None
    async with talking(folder, place, edition) as client:
        for start in range(0, sessions, batch):
            await asyncio.gather(*(client.live(number) for number in range(start, start + batch)))
            done = start + batch
            if done == warm_up:
                warm = Count.now(), resident_bytes()
            elif warm is not None:
                count = Count.now()
                assert not count.exceeds(warm[0]), f"after {done} sessions {count}, after {warm_up} {warm[0]}"
        assert warm is not None
        return resident_bytes() - warm[1]


@pytest.mark.timeout(120)
@IN_BOTH_STORES_LONG
@pytest.mark.parametrize("edition", [pytest.param("v1", marks=pytest.mark.long), "v2"])
async def test_twenty_closed_sessions_leave_nothing_behind(edition: str, place: str, tmp_path: Path) -> None:
    # What is counted is exact: one that is left of twenty shows as well as one of hundreds.
    await live_through(tmp_path, place, edition, 30, 10, batch=10)


@pytest.mark.long
@pytest.mark.rotated("edition")
@pytest.mark.timeout(900)
@IN_BOTH_STORES
@pytest.mark.parametrize("edition", ["v1", "v2"])
async def test_five_hundred_closed_sessions_leave_nothing_behind(
    edition: str, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grown_bytes = await live_through(tmp_path, place, edition, 500, WARM_UP)
    kind = "PostgreSQL" if is_database(place) else "SQLite"
    with capsys.disabled():
        sys.stderr.write(f"\n{edition} on {kind}: {grown_bytes / 1024:+.0f} KiB after 500 sessions\n")
    assert grown_bytes < MOST_BYTES, f"{grown_bytes} bytes more are held"


@pytest.mark.usefixtures("short_graces")
@IN_BOTH_STORES_LONG
@pytest.mark.parametrize("edition", ["v1", pytest.param("v2", marks=pytest.mark.long)])
async def test_a_client_that_vanishes_in_the_middle_of_twenty_busy_sessions_leaves_nothing(
    edition: str, place: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # What is logged holds the frames of what failed, for as long as the test may ask for it.
    caplog.set_level(logging.CRITICAL, "accord")
    (tmp_path / "first").mkdir()
    async with talking(tmp_path / "first", place, edition) as client:
        # What is made once and stays: the watchdog, the threads that look after files.
        await asyncio.gather(*(client.live(number) for number in range(10)))
    before = Count.now()
    async with talking(tmp_path, place, edition) as client:
        begun = await asyncio.gather(*(client.begin(("wait", "ask")[number % 2]) for number in range(20)))
        for _, _, waiting in begun:
            async with asyncio.timeout(BOUND_SECONDS):
                await waiting.wait()
        assert len(children()) > before.children + 20
    for _, turn, _ in begun:
        turn.cancel()
    await asyncio.gather(*(turn for _, turn, _ in begun), return_exceptions=True)
    del begun, client, turn, waiting
    assert await until(lambda: len(children()) <= before.children)
    count = Count.now()
    assert not count.exceeds(before), f"{count}, before {before}"
