"""A busy agent is killed at any moment: whatever its client had received is there after the restart, in order.

One database lives through many agents. Each of them is started on it, has to show again what the clients before it were
told, works on as many sessions as it can, and is killed: while it loads, while it makes a session, while it takes a
prompt, or in the middle of all its work. What it had written to its pipe counts as received; half a line does not.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import secrets
import signal
import sys
from collections import Counter, deque
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.agent.received import Received
from tests.agent.rig import EDITIONS
from tests.forked import forked_python
from tests.limits import limit
from tests.stores.places import IN_BOTH_STORES, IN_BOTH_STORES_LONG, is_database
from tests.transport.processes import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc: run it on Linux")

ROOT = Path(__file__).parents[2]
AGENT = "tests.agent.busy_agent"
BOUND_SECONDS = limit(60.0)
FAMILY = "BUSY_AGENT_FAMILY"
IN_USE = -32009
SESSIONS = 3
# A session that has lived through so many kills makes room for another: its replay takes ever longer.
LIVES = 5

Stage = Literal["start", "load", "new", "prompt", "busy"]
ROUND: tuple[Stage, ...] = ("busy", "load", "prompt", "busy", "new", "start", "busy")
LONGEST_SECONDS: dict[Stage, float] = {"start": 0.5, "load": 0.1, "new": 0.02, "prompt": 0.02, "busy": 0.5}
"""How long after a stage has begun the kill may come."""

INTRODUCTIONS: dict[str, dict[str, Any]] = {
    "v1": {"protocolVersion": 1, "clientCapabilities": {}},
    "v2": {"protocolVersion": 2, "info": {"name": "hand", "version": "1"}, "capabilities": {}},
    "v2_june": {"protocolVersion": 2, "clientInfo": {"name": "hand", "version": "1"}, "capabilities": {}},
}


class Killed(Exception):
    """The agent is gone before it answered."""


class Knowledge:
    """What outlives every agent: the sessions as they were received, and the books of the test."""

    def __init__(self, folder: Path, place: str, edition: str, seed: int) -> None:
        self.folder = folder
        self.place = place
        self.is_shared = is_database(place)
        self.edition = edition
        self.random = random.Random(seed)
        self.sessions: dict[str, Received] = {}
        self.ages: Counter[str] = Counter()
        self.turns = 0
        self.kills: Counter[Stage] = Counter()
        self.loads = 0
        self.updates = 0

    def new_prompt(self, steps: int) -> tuple[int, str]:
        """The number of a new turn and its text."""
        self.turns += 1
        return self.turns, f"[{self.turns}.0] {steps} {self.random.randrange(10**6)}"

    def forget_the_old(self) -> None:
        for session in [each for each, age in self.ages.items() if age >= LIVES]:
            del self.sessions[session], self.ages[session]


class Life:
    """One agent from its start to its end, and the client that talks to it."""

    def __init__(self, process: asyncio.subprocess.Process, known: Knowledge) -> None:
        self._process = process
        self._known = known
        self._calls: dict[int, tuple[str, dict[str, Any], asyncio.Future[Any]]] = {}
        self._replays: dict[str, Received] = {}
        self._ends: dict[str, deque[asyncio.Future[None]]] = {}
        self._stages = {stage: asyncio.Event() for stage in LONGEST_SECONDS}
        self._is_over = False
        self.reading = asyncio.ensure_future(self._read())
        self.answered = 0

    def reached(self, stage: Stage) -> asyncio.Event:
        return self._stages[stage]

    # --- hearing

    async def _read(self) -> None:
        """Hear every complete line until the end of the stream."""
        assert self._process.stdout is not None
        rest = b""
        try:
            while data := await self._process.stdout.read(1 << 16):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._hear(json.loads(line))
        finally:
            self._is_over = True
            waiting = [call[2] for call in self._calls.values()]
            for future in [*waiting, *(end for ends in self._ends.values() for end in ends)]:
                if not future.done():
                    future.set_exception(Killed())
                    future.exception()

    def _hear(self, message: dict[str, Any]) -> None:
        if message.get("method") == "session/update":
            self._hear_update(message["params"]["sessionId"], message["params"]["update"])
        elif "method" in message:
            assert message["method"] == "session/request_permission"
            outcome = {"outcome": {"outcome": "selected", "optionId": "allow"}}
            self._send({"jsonrpc": "2.0", "id": message["id"], "result": outcome})
        else:
            self._hear_answer(message)

    def _hear_update(self, session: str, update: dict[str, Any]) -> None:
        if session in self._replays:
            self._replays[session].hear(update)
            return
        # An update of a session that nobody has named yet has no place to go.
        self._known.sessions[session].hear(update)
        self._known.updates += 1
        if update["sessionUpdate"].startswith("agent_"):
            self._stages["busy"].set()
        if update.get("state") == "idle" and "stopReason" in update:
            self._end_turn(session)

    def _end_turn(self, session: str) -> None:
        ends = self._ends.get(session)
        assert ends, "a turn ended that nobody began"
        end = ends.popleft()
        if not end.done():
            end.set_result(None)

    def _hear_answer(self, message: dict[str, Any]) -> None:
        method, params, future = self._calls.pop(message["id"])
        session = params.get("sessionId", "")
        if self._known.is_shared and message.get("error", {}).get("code") == IN_USE:
            self._replays.pop(session)
            future.set_result(None)
            return
        assert "result" in message, message
        result = message["result"]
        if method == "session/new":
            self._known.sessions[result["sessionId"]] = Received()
        elif method in {"session/load", "session/resume"}:
            replay = self._replays.pop(session)
            replay.check_replay(self._known.sessions[session])
            self._known.sessions[session] = replay
            self._known.loads += 1
        elif method == "session/prompt":
            self._known.sessions[session].turns.add(int(params["prompt"][0]["text"][1:].partition(".")[0]))
            if "stopReason" in result:
                self._end_turn(session)
        if not future.done():
            future.set_result(result)

    # --- asking

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")

    def _ask(self, method: str, params: dict[str, Any]) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self._is_over:
            raise Killed
        self.answered += 1
        self._calls[self.answered] = (method, params, future)
        self._send({"jsonrpc": "2.0", "id": self.answered, "method": method, "params": params})
        return future

    async def work(self, *, is_last: bool) -> None:
        """Everything a client wants of an agent; without an end, unless it is the last one."""
        known = self._known
        self._stages["start"].set()
        await self._ask("initialize", INTRODUCTIONS[known.edition])
        listed = await self._ask("session/list", {})
        # Those that nobody prompted before the kill are not listed any more; all can be loaded.
        prompted = {session for session, received in known.sessions.items() if received.turns}
        assert prompted <= {each["sessionId"] for each in listed["sessions"]}
        self._stages["load"].set()
        await asyncio.gather(*(self._reopen_when_free(session) for session in known.sessions))
        self._stages["new"].set()
        place = {"cwd": str(known.folder), "mcpServers": []}
        await asyncio.gather(*(self._ask("session/new", place) for _ in range(SESSIONS - len(known.sessions))))
        self._stages["prompt"].set()
        for session in known.sessions:
            known.ages[session] += 1
        await asyncio.gather(*(self._converse(session, is_last=is_last) for session in known.sessions))

    async def _reopen_when_free(self, session: str) -> None:
        """Open a session; a database may need a moment, or a lease, to know that the last agent is dead."""
        while await self._reopen(session) is None:
            """It is bounded by the life of the agent."""

    def _reopen(self, session: str) -> asyncio.Future[Any]:
        params: dict[str, Any] = {"sessionId": session, "cwd": str(self._known.folder), "mcpServers": []}
        self._replays[session] = Received()
        if self._known.edition == "v2":
            return self._ask("session/resume", {**params, "replayFrom": {"type": "start"}})
        return self._ask("session/load", params)

    async def _converse(self, session: str, *, is_last: bool) -> None:
        while True:
            steps = 20 if is_last else self._known.random.choice([1, 50, 500, 5000])
            prompts = [self._prompt(session, steps) for _ in range(self._known.random.choice([1, 1, 2]))]
            await asyncio.gather(*prompts)
            if is_last:
                return

    async def _prompt(self, session: str, steps: int) -> None:
        """One turn to its end."""
        _, text = self._known.new_prompt(steps)
        end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ends.setdefault(session, deque()).append(end)
        await self._ask("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})
        await end


@contextlib.asynccontextmanager
async def living(known: Knowledge) -> AsyncIterator[tuple[asyncio.subprocess.Process, Life]]:
    """An agent that was started; it and all that it started are gone afterwards."""
    family = secrets.token_hex(8)
    complaints = known.folder / "stderr"
    with complaints.open("wb") as stderr, forked_python(AGENT):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", AGENT, known.place),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            env={**os.environ, FAMILY: family},
        )
    life = Life(process, known)
    try:
        yield process, life
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await asyncio.wait([life.reading])
        assert process.stdin is not None
        process.stdin.close()
    life.reading.result()
    assert not complaints.read_text(encoding="utf-8", errors="replace")
    assert await is_extinct(family), "something that the agent started outlives it"


async def is_extinct(family: str) -> bool:
    """Whether everybody is gone after a moment; whoever is not is ended."""
    gone = await until(lambda: not members(family))
    for left in members(family):
        os.kill(left, signal.SIGKILL)
    return gone


def members(family: str) -> list[int]:
    """The processes that were started by the agent, or by what it started."""
    wanted = f"{FAMILY}={family}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found


async def live_and_die(known: Knowledge) -> None:
    """One agent, and one kill."""
    stage = ROUND[known.kills.total() % len(ROUND)]
    delay_seconds = known.random.random() * LONGEST_SECONDS[stage]
    async with asyncio.timeout(BOUND_SECONDS), living(known) as (process, life):
        working = asyncio.ensure_future(life.work(is_last=False))
        reaching = asyncio.ensure_future(life.reached(stage).wait())
        await asyncio.wait([working, reaching, life.reading], return_when=asyncio.FIRST_COMPLETED)
        # The clock picks the moment; nobody waits for anything here.
        await asyncio.wait([working, life.reading], timeout=delay_seconds, return_when=asyncio.FIRST_COMPLETED)
        assert process.returncode is None, "it died by itself"
        process.kill()
        await process.wait()
        await asyncio.wait([working])
        reaching.cancel()
        with contextlib.suppress(Killed):
            working.result()
    known.kills[stage] += 1
    known.forget_the_old()


async def live_to_the_end(known: Knowledge) -> None:
    """One agent that shows everything again, takes a prompt in every session, and leaves when its client does."""
    async with asyncio.timeout(BOUND_SECONDS), living(known) as (process, life):
        await life.work(is_last=True)
        assert process.stdin is not None
        process.stdin.close()
        assert await process.wait() == 0


async def kill_again_and_again(folder: Path, place: str, edition: str, seed: int, kills: int, capsys: Any) -> None:
    known = Knowledge(folder, place, edition, seed)
    while known.kills.total() < kills:
        await live_and_die(known)
    await live_to_the_end(known)
    stages = ", ".join(f"{count} at {stage}" for stage, count in sorted(known.kills.items()))
    with capsys.disabled():
        sys.stderr.write(
            f"\n{edition}: {known.kills.total()} kills ({stages}); {known.loads} sessions were loaded "
            f"and had all of {known.updates} updates that were received\n"
        )
    assert known.updates > kills * 100, "it was not busy"


SUICIDE = """
import asyncio, os, signal
from accord.workspace import start_command

async def main():
    await start_command(["sleep", "600"])
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_a_command_is_gone_also_where_the_kill_comes_right_behind_its_start() -> None:
    family = secrets.token_hex(8)
    environment = {**os.environ, FAMILY: family}
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", SUICIDE, env=environment)
    assert await process.wait() == -signal.SIGKILL
    assert await is_extinct(family)


@pytest.mark.rotated("edition")
@pytest.mark.timeout(300)
@IN_BOTH_STORES_LONG
@pytest.mark.parametrize("edition", EDITIONS)
async def test_what_a_client_received_survives_every_kill(
    edition: str, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await kill_again_and_again(tmp_path, place, edition, 3, 7, capsys)


@pytest.mark.long
@pytest.mark.rotated("place")
@pytest.mark.timeout(1800)
@IN_BOTH_STORES
@pytest.mark.parametrize("edition", EDITIONS)
async def test_what_a_client_received_survives_two_hundred_kills_in_three_editions(
    edition: str, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await kill_again_and_again(tmp_path, place, edition, 11, 67, capsys)
