"""Outages of PostgreSQL under running turns, and what is left of them at the client and in the log.

`python -m tests.fleet.outages KIND --seed N --count N` tries by hand, in front of a server of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import psycopg

from accord.agent import Turn
from accord.agent.shared_sessions import SharedSessions
from accord.session.event import Event, MessageChunk, StateChanged
from accord.stores import PostgresStore
from tests.agent.rig import Hand, Heard, agent_of, served
from tests.agent.sessions import messages, reopening
from tests.postgres import Database, OwnServer, own_server
from tests.stores.postgres.proxy import Proxy, proxied

KINDS = ("locked", "refused", "black hole", "stuck", "restarted")
SESSIONS = 3
PAUSE_SECONDS = 0.02


@dataclass
class Trial:
    """One outage: its kind, when it begins and how long it lasts."""

    kind: str
    seconds: float
    lease_seconds: float
    edition: str
    begins: float = 0.3
    ends: Counter[str] = field(default_factory=Counter)
    """How the turns ended that the outage met."""
    opened: int = 0
    _begun: asyncio.Event = field(default_factory=asyncio.Event)
    faults: list[str] = field(default_factory=list)

    async def run(self, server: OwnServer) -> None:
        with server.database() as database, proxied(database) as proxy:
            shared = SharedSessions()
            through = database.through(proxy.port)
            store = PostgresStore(through, node="one", direct=through, lease_seconds=self.lease_seconds)
            store.on_lost(shared.lose)
            agent = agent_of(count, store=store)
            try:
                clients = [served(agent, self.edition, shared=shared) for _ in range(SESSIONS)]
                async with contextlib.AsyncExitStack() as stack:
                    hands = [await stack.enter_async_context(client) for client in clients]
                    outage = asyncio.create_task(self._outage(server, database, proxy))
                    sessions = await asyncio.gather(*map(self._converse, hands))
                    await outage
                    # What was given up arrives late.
                    await asyncio.sleep(0.5)
                    for hand, (session, told) in zip(hands, sessions, strict=True):
                        await self._judge(hand, store, session, told)
            finally:
                await shared.close()
                with contextlib.suppress(Exception):
                    await store.close()

    async def _outage(self, server: OwnServer, database: Database, proxy: Proxy) -> None:
        await self._begun.wait()
        await asyncio.sleep(self.begins)
        match self.kind:
            case "locked":
                with psycopg.connect(database.conninfo) as connection:
                    connection.execute("lock table accord.events, accord.sessions in exclusive mode")
                    await asyncio.sleep(self.seconds)
            case "refused":
                proxy.refuses = True
                proxy.cut()
                await asyncio.sleep(self.seconds)
                proxy.refuses = False
            case "black hole":
                proxy.freeze()
                await asyncio.sleep(self.seconds)
                proxy.thaw()
            case "stuck":
                proxy.hold()
                await asyncio.sleep(self.seconds)
                proxy.let_go()
            case _:
                await asyncio.to_thread(server.stop, random.choice(("fast", "immediate")))
                await asyncio.sleep(self.seconds)
                await asyncio.to_thread(server.start)

    async def _converse(self, hand: Hand) -> tuple[str, list[str]]:
        """One turn that the outage meets, then prompts until one is answered; the texts that were told of each."""
        session = await hand.new_session()
        self.opened += 1
        if self.opened == SESSIONS:
            self._begun.set()
        await self._begun.wait()
        many = int((self.begins + self.seconds + 1.0) / PAUSE_SECONDS)
        first = await self._turn(hand, session, f"{many}")
        told = [first.text]
        self.ends[first.stop_reason or ""] += 1
        if first.stop_reason == "end_turn" and numbers(first.text) != list(range(many)):
            self.faults.append(f"{session}: a whole turn is not whole at the client")
        deadline = time.monotonic() + self.seconds + 6 * self.lease_seconds + 30.0
        while time.monotonic() < deadline:
            heard = await self._turn(hand, session, "5")
            told.append(heard.text)
            if heard.stop_reason == "end_turn":
                return session, told
            if heard.error["code"] in {-32002, -32009} or "lost" in str(heard.error):
                await self._request(hand, *reopening(hand, session, replay=False))
            await asyncio.sleep(0.2)
        self.faults.append(f"{session}: no prompt is answered any more: {heard.error}")
        return session, told

    async def _turn(self, hand: Hand, session: str, text: str) -> Heard:
        start = len(hand.received)
        content = [{"type": "text", "text": text}]
        answer = await self._request(hand, "session/prompt", {"sessionId": session, "prompt": content})
        message_id = answer.get("result", {}).get("messageId")
        if message_id is not None:
            while not hand._is_over(message_id):
                await self._hear(hand)
        return Heard(hand.received[start:], answer)

    async def _request(self, hand: Hand, method: str, params: Any) -> dict[str, Any]:
        id_ = await hand.ask(method, params)
        while True:
            message = await self._hear(hand)
            if message.get("id") == id_ and "method" not in message:
                return message

    async def _hear(self, hand: Hand) -> dict[str, Any]:
        async with asyncio.timeout(2 * self.seconds + 6 * self.lease_seconds + 30.0):
            text = await hand.transport.receive()
        assert text is not None
        message: dict[str, Any] = json.loads(text)
        hand.received.append(message)
        return message

    async def _judge(self, hand: Hand, store: PostgresStore, session: str, told: list[str]) -> None:
        log = await store.read(session)
        turns, fault = turns_of(log)
        if fault:
            self.faults.append(f"{session}: {fault}")
        for events in turns:
            found = numbers(spoken(events))
            if found != list(range(len(found))):
                self.faults.append(f"{session}: a hole, or out of order, in the log: {found}")
        # What a client was told is in the log, turn by turn; a prompt that failed may be in no log.
        kept = [spoken(events) for events in turns]
        for text in filter(None, told):
            place = next((n for n, each in enumerate(kept) if each.startswith(text)), None)
            if place is None:
                self.faults.append(f"{session}: told and not kept: {text[-40:]!r}")
                return
            if text is told[-1] and kept[place] != text:
                self.faults.append(f"{session}: the last turn differs")
            del kept[: place + 1]
        start = len(hand.received)
        await self._request(hand, *reopening(hand, session))
        shown = [text for who, text in messages(Heard(hand.received[start:])) if who == "agent"]
        if "".join(shown) != spoken(log):
            self.faults.append(f"{session}: the replay differs from the log")


async def count(turn: Turn) -> None:
    """Say the numbers up to that of the prompt."""
    for number in range(int(turn.text)):
        await turn.say(f"{number} ")
        await asyncio.sleep(PAUSE_SECONDS)


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split()]


def spoken(events: list[Event]) -> str:
    return "".join(getattr(event.block, "text", "") for event in events if isinstance(event, MessageChunk))


def turns_of(log: list[Event]) -> tuple[list[list[Event]], str]:
    """The events of each turn, and what is wrong with their beginnings and ends."""
    turns: list[list[Event]] = []
    is_open = False
    for event in log:
        if isinstance(event, StateChanged) and event.state == "running":
            if is_open:
                return turns, "a turn begins inside another one"
            turns.append([])
            is_open = True
        elif isinstance(event, StateChanged) and event.state == "idle":
            if not is_open:
                return turns, "a turn has two ends"
            is_open = False
        elif isinstance(event, MessageChunk):
            if not is_open:
                return turns, "something is said behind the end of a turn"
            turns[-1].append(event)
    return turns, "a turn has no end" if is_open else ""


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def _try_by_hand(kind: str, seed: int, number: int, lease_seconds: float) -> bool:
    chance = random.Random(seed)
    ends: Counter[str] = Counter()
    faults: list[str] = []
    with own_server() as server:
        for each in range(number):
            trial = Trial(
                kind, chance.uniform(3.0, 20.0), lease_seconds, chance.choice(("v1", "v2")), chance.uniform(0.2, 1.5)
            )
            try:
                await trial.run(server)
            except Exception as error:  # noqa: BLE001 - noted, and the next one is tried
                trial.faults.append(f"{type(error).__name__}: {error}")
            ends += trial.ends
            faults += trial.faults
            _say(f"{kind} {each + 1}: {trial.seconds:.1f} s, {dict(trial.ends)} {trial.faults}")
    what = f"{kind}, seed {seed}, lease {lease_seconds:g} s: {number} tries"
    _say(f"{what}, {dict(ends)}, {len(faults)} faults")
    return not faults


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--lease", type=float, default=10.0)
    options = parser.parse_args()
    return 0 if asyncio.run(_try_by_hand(options.kind, options.seed, options.count, options.lease)) else 1


if __name__ == "__main__":
    sys.exit(main())
