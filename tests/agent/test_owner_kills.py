"""One session, two processes, kills at any moment: always one owner, nothing lost, nothing wrongly marked.

One process owns the session and works in it; the other asks for it again and again and is refused. Then one of them is
killed, both are, or the owner closes the session. Whatever a client has received counts, up to the last whole line in
the pipe of a killed process. A tool call may be marked as failed only if its process was killed while it ran.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import random
import re
import secrets
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import pytest

from accord.session.content import Text
from accord.session.event import MessageChunk, ToolChanged
from tests.forked import forked_python
from tests.limits import limit
from tests.stores.places import IN_BOTH_STORES, LEASE_SECONDS, is_database, open_place

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no flock and no kill")

ROOT = Path(__file__).parents[2]
PROGRAM = "tests.agent.owning_agent"
BOUND_SECONDS = limit(60.0)
IN_USE = -32009
MARK = re.compile(r"\[\d+\.\d+\]")

Action = Literal["owner", "other", "both", "close"]
ACTIONS: tuple[Action, ...] = ("owner", "other", "owner", "close", "owner", "both", "other")
KILLS: dict[Action, int] = {"owner": 1, "other": 1, "both": 2, "close": 0}


class Told:
    """What clients have received of the session, by whichever process."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.tools: dict[str, str] = {}
        """The last status of each tool call, by its title."""
        self._titles: dict[str, str] = {}

    def hear(self, update: dict[str, Any]) -> None:
        kind = update["sessionUpdate"]
        if kind == "agent_message_chunk":
            self.texts += MARK.findall(update["content"]["text"])
        elif kind in {"tool_call", "tool_call_update"}:
            if "title" in update:
                self._titles[update["toolCallId"]] = update["title"]
            if "status" in update:
                self.tools[self._titles[update["toolCallId"]]] = update["status"]


class Client:
    """One process and the client that started it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.told = Told()
        self.reading = asyncio.ensure_future(self._read())

    @classmethod
    async def start(cls, place: str) -> Client:
        with forked_python(PROGRAM):
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", PROGRAM, place),
                cwd=ROOT,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
        client = cls(process)
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        return client

    async def _read(self) -> None:
        assert self._process.stdout is not None
        rest = b""
        while data := await self._process.stdout.read(1 << 16):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                message = json.loads(line)
                if message.get("method") == "session/update":
                    self.told.hear(message["params"]["update"])
                elif not (answer := self._answers.pop(message["id"])).done():
                    answer.set_result(message)

    def ask(self, method: str, params: dict[str, Any]) -> asyncio.Future[dict[str, Any]]:
        number = secrets.randbits(40)
        future = self._answers[number] = asyncio.get_running_loop().create_future()
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        return future

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        async with asyncio.timeout(BOUND_SECONDS):
            return await self.ask(method, params)

    async def load(self, session: str, folder: str) -> bool:
        """Whether the session is this process's now; otherwise it must be another's."""
        self.told = Told()
        answer = await self.request("session/load", {"sessionId": session, "cwd": folder, "mcpServers": []})
        if "result" in answer:
            return True
        assert (answer["error"]["code"], answer["error"]["data"]["sessionId"]) == (IN_USE, session), answer
        assert not self.told.texts, "a session that was refused was told"
        return False

    async def kill(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        await self.gone()

    async def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self.gone()

    async def gone(self) -> None:
        """Reaped, and read to the last byte: from here on the system holds no file of it."""
        await asyncio.wait_for(self._process.wait(), BOUND_SECONDS)
        await asyncio.wait_for(self.reading, BOUND_SECONDS)


class Contest:
    """The session and what is known of it."""

    def __init__(self, folder: Path, seed: int, place: str, free_within: float) -> None:
        self.place = place
        self.free_within = free_within
        """How long after its owner's death a session may still be refused: a database hears of it a moment later."""
        self.folder = str(folder)
        self.random = random.Random(seed)
        self.spare: asyncio.Future[Client] | None = None
        self.session = ""
        self.turns = 0
        self.texts: list[str] = []
        self.finished: set[str] = set()
        """The tool calls that a client saw completed."""
        self.broken: set[str] = set()
        """Those that a killed owner had begun and not completed, as far as its client saw."""
        self.cancelled: set[str] = set()
        """Those that an owner cancelled when its client closed the session; v1 calls them failed too."""
        self.seen_to: dict[int, int] = {}
        """For each turn that was cut off: the last step of it that a client saw."""
        self.may_go = False
        """Whether the owner is being killed or asked to close the session."""
        self.free_since = math.inf
        """When that was done."""
        self.done: Counter[str] = Counter()

    async def start(self) -> Client:
        """A process that was started before it was needed: most of this test is the starting of processes."""
        ready, self.spare = self.spare, asyncio.ensure_future(Client.start(self.place))
        return await (ready or Client.start(self.place))

    async def begin(self) -> tuple[Client, Client]:
        owner, other = await asyncio.gather(self.start(), self.start())
        answer = await owner.request("session/new", {"cwd": self.folder, "mcpServers": []})
        self.session = answer["result"]["sessionId"]
        return owner, other

    def note(self, client: Client) -> None:
        """Take over what the client of an owner has received, when its work is over, however it ended."""
        told = client.told
        assert told.texts[: len(self.texts)] == self.texts, "what was received before is not told again"
        for title, status in told.tools.items():
            allowed = title in self.broken or title in self.cancelled or self.is_unseen(title)
            assert status != "failed" or allowed, f"{title} is marked as failed, and its process lived"
        lost = {title for title in self.finished if told.tools.get(title) != "completed"}
        assert not lost, f"finished tool calls are told otherwise: {lost}"
        self.texts = told.texts
        self.finished = {title for title, status in told.tools.items() if status == "completed"}

    async def work(self, owner: Client) -> None:
        """Let the owner work, and return when it has said something new, at no special moment."""
        self.turns += 1
        heard = len(owner.told.texts)
        text = {"type": "text", "text": f"stream {self.turns}"}
        owner.ask("session/prompt", {"sessionId": self.session, "prompt": [text]})
        wanted = heard + self.random.randint(1, 20)
        async with asyncio.timeout(BOUND_SECONDS):
            while len(owner.told.texts) < wanted:
                await asyncio.sleep(0)
        for _ in range(self.random.randint(0, 2000)):
            pass

    def killed(self, owner: Client) -> None:
        """Its client has seen the last of it; it may have kept more tool calls that it could not tell any more."""
        self.note(owner)
        self.broken |= self._unfinished(owner)

    def closed(self, owner: Client) -> None:
        """Its client has closed the session in the middle of its work."""
        self.cancelled |= self._unfinished(owner)
        self.note(owner)

    def _unfinished(self, owner: Client) -> set[str]:
        begun = [step for turn, step in map(step_of, owner.told.tools) if turn == self.turns]
        self.seen_to[self.turns] = max(begun, default=0)
        return {title for title, status in owner.told.tools.items() if status != "completed"}

    def is_unseen(self, title: str) -> bool:
        """Whether it is a step that an owner may have kept and could not tell any more: several are kept in one go."""
        turn, step = step_of(title)
        return step > self.seen_to.get(turn, step)

    async def contend(self, other: Client) -> None:
        """Ask for the session until it is ours: never while its owner lives, and at once when that is gone."""
        while True:
            was_free = time.monotonic() - self.free_since > self.free_within
            if await other.load(self.session, self.folder):
                assert self.may_go, "two processes own the session"
                return
            assert not was_free, "a session that nobody owns was refused"
            self.done["refused"] += 1

    async def round(self, owner: Client, other: Client, action: Action) -> tuple[Client, Client]:
        """One action at any moment; gives the owner and the other one afterwards."""
        self.may_go, self.free_since = False, math.inf
        contending = asyncio.ensure_future(self.contend(other))
        await self.work(owner)
        if action in {"owner", "close"}:
            # From here on the other may have it, and from the end of the first line on it must.
            self.may_go = True
            await (owner.kill() if action == "owner" else self.close(owner))
            self.free_since = time.monotonic()
            self.killed(owner) if action == "owner" else self.closed(owner)
            await contending
            return other, await self.start() if action == "owner" else owner
        contending.cancel()
        await asyncio.wait([contending])
        assert contending.cancelled(), contending.exception()
        other.ask("session/load", {"sessionId": self.session, "cwd": self.folder, "mcpServers": []})
        await other.kill()
        if action == "other":
            other = await self.start()
            assert not await other.load(self.session, self.folder)
            await self.close(owner)
            self.closed(owner)
            assert await owner.load(self.session, self.folder)
            return owner, other
        await owner.kill()
        self.killed(owner)
        self.free_since = time.monotonic()
        one, two = await asyncio.gather(self.start(), self.start())
        won = (False, False)
        while not any(won):
            is_late = time.monotonic() - self.free_since > self.free_within
            won = await asyncio.gather(one.load(self.session, self.folder), two.load(self.session, self.folder))
            assert any(won) or not is_late, "a session that nobody owns was refused"
        assert sorted(won) == [False, True], "of two processes that ask at once one is the owner"
        return (one, two) if won[0] else (two, one)

    async def close(self, owner: Client) -> None:
        assert "result" in await owner.request("session/close", {"sessionId": self.session})

    async def check_log(self) -> None:
        """The log itself, when everybody is gone."""
        store = open_place(self.place)
        events = await store.read(self.session)
        assert await store.acquire(self.session)
        await store.close()
        said = "".join(
            event.block.text for event in events if isinstance(event, MessageChunk) and isinstance(event.block, Text)
        )
        assert MARK.findall(said)[: len(self.texts)] == self.texts
        titles = {event.id: event.title for event in events if isinstance(event, ToolChanged) and event.title}
        failed = {titles[event.id] for event in events if isinstance(event, ToolChanged) and event.status == "failed"}
        assert {title for title in failed if not self.is_unseen(title)} <= self.broken


def step_of(title: str) -> tuple[int, int]:
    turn, step = title[1:-1].split(".")
    return int(turn), int(step)


async def contest(folder: Path, place: str, kills: int) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")  # noqa: T201 - shown with a failure
    game = Contest(folder, seed, place, limit(LEASE_SECONDS) if is_database(place) else 0.0)
    owner, other = await game.begin()
    clients = owner, other
    killed = 0
    try:
        for action in itertools.cycle(ACTIONS):
            owner, other = clients = await game.round(owner, other, action)
            killed += KILLS[action]
            if killed >= kills:
                break
        await game.close(owner)
        # The last owner had no turn: what it was told to have failed belongs to the one before, which was killed.
        game.note(owner)
        await asyncio.gather(owner.end(), other.end())
        await game.check_log()
        assert game.done["refused"]
    finally:
        assert game.spare is not None
        for client in (*clients, await game.spare):
            await client.kill()


@pytest.mark.timeout(180)
@IN_BOTH_STORES
async def test_one_session_two_processes_and_a_few_kills(tmp_path: Path, place: str) -> None:
    await contest(tmp_path, place, 6 if is_database(place) else 14)


@pytest.mark.long
@pytest.mark.rotated("place")
@pytest.mark.timeout(1200)
@IN_BOTH_STORES
async def test_one_session_two_processes_and_two_hundred_kills(tmp_path: Path, place: str) -> None:
    await contest(tmp_path, place, 100 if is_database(place) else 200)
