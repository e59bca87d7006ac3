"""The steps of every asyncio client in a scenario, independent of any SDK, so that all do the same work."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from benchmarks.contestants.meter import Meter, file_text

__all__ = ["Player", "Stage", "run"]


class Stage:
    """What the handlers of a client need: a tally of the updates, and the one file there is."""

    def __init__(self, scenario: dict[str, Any]) -> None:
        self.count = 0
        self.out_of_order = 0
        self.first_at: float | None = None
        self.file = ""
        self._next: dict[str, int] = {}
        self._sleep_seconds = scenario.get("slow_ms", 0) / 1000
        self._stalls = scenario["kind"] == "stall"
        self.suspends = self._stalls or self._sleep_seconds > 0

    def tally(self, session: str, text: str) -> None:
        """One update was handled; its text begins with its number."""
        if self.first_at is None:
            self.first_at = time.monotonic()
        number = int(text[:8])
        if number != self._next.get(session, 0):
            self.out_of_order += 1
        self._next[session] = number + 1
        self.count += 1

    async def suspend(self, text: str) -> None:
        """Every second handler sleeps; in a stall none returns."""
        if self._stalls:
            await asyncio.Event().wait()
        if int(text[:8]) % 2:
            await asyncio.sleep(self._sleep_seconds)


class Player(Protocol):
    """One SDK's client, connected to an agent process and initialized by `initialize`."""

    @property
    def pid(self) -> int: ...

    async def initialize(self) -> None: ...

    async def new_session(self) -> str: ...

    async def ping(self, session: str) -> None: ...

    async def prompt(self, session: str, text: str, image: str | None = None) -> dict[str, Any]:
        """Prompt and wait for the end of the turn; gives the `_meta` that ends it."""
        ...


@dataclass
class Scene:
    """One scenario being played; `session` is there from the start."""

    scenario: dict[str, Any]
    stage: Stage
    player: Player
    session: str

    def meter(self) -> Meter:
        return Meter(self.player.pid)

    async def until(self, count: int) -> None:
        """Wait for so many updates: an SDK may answer a prompt before it has handled all of them."""
        while self.stage.count < count:  # noqa: ASYNC110 - an event per update would be measured too
            await asyncio.sleep(0)

    def counted(self, measured: dict[str, float]) -> dict[str, Any]:
        return {**measured, "received": self.stage.count, "ooo": self.stage.out_of_order}


Open = Callable[[Stage, list[str]], AbstractAsyncContextManager[Player]]


def run(open_player: Open) -> None:
    """The main program of a client: `--scenario <json> … -- <agent argv>`; prints one line of JSON."""
    end = sys.argv.index("--")
    scenario = json.loads(sys.argv[sys.argv.index("--scenario") + 1])
    asyncio.run(_run(open_player, scenario, sys.argv[end + 1 :]))


async def _run(open_player: Open, scenario: dict[str, Any], agent: list[str]) -> None:
    stage = Stage(scenario)
    began = time.monotonic()
    async with open_player(stage, agent) as player:
        await player.initialize()
        result: dict[str, Any] = {"init_s": time.monotonic() - began}
        session = await player.new_session()
        play = _SCENARIOS[scenario["kind"]]
        result |= await play(Scene(scenario, stage, player, session))
        if stage.first_at is not None:
            result |= {"first_update_s": stage.first_at - began, "first_update_abs": stage.first_at}
    print(json.dumps(result))


def _stream(count: int, size: int) -> str:
    return json.dumps({"op": "stream", "n": count, "size": size})


async def _startup(scene: Scene) -> dict[str, Any]:
    await scene.player.prompt(scene.session, _stream(1, 100))
    await scene.until(1)
    return {}


async def _streaming(scene: Scene) -> dict[str, Any]:
    scenario = scene.scenario
    meter = scene.meter()
    await scene.player.prompt(scene.session, _stream(scenario["n"], scenario["size"]))
    await scene.until(scenario["n"])
    return scene.counted(meter.stop())


async def _sessions(scene: Scene) -> dict[str, Any]:
    scenario, player = scene.scenario, scene.player
    meter = scene.meter()
    sessions = await asyncio.gather(*(player.new_session() for _ in range(scenario["sessions"])))
    work = _stream(scenario["chunks"], scenario["size"])
    await asyncio.gather(*(player.prompt(session, work) for session in sessions))
    await scene.until(scenario["sessions"] * scenario["chunks"])
    return scene.counted(meter.stop())


async def _stall(scene: Scene) -> dict[str, Any]:
    scenario, player = scene.scenario, scene.player
    meter = scene.meter()
    prompt = asyncio.ensure_future(player.prompt(scene.session, _stream(scenario["n"], scenario["size"])))
    await asyncio.wait((prompt,), timeout=scenario["secs"])
    print(json.dumps({"init_s": 0, **meter.stop()}), flush=True)
    # How an SDK gets out of this is not what is measured.
    os.kill(player.pid, signal.SIGKILL)
    os._exit(0)


async def _ping(scene: Scene) -> dict[str, Any]:
    player, session = scene.player, scene.session
    for _ in range(scene.scenario["warm"]):
        await player.ping(session)
    latencies = []
    meter = scene.meter()
    for _ in range(scene.scenario["n"]):
        began = time.perf_counter()
        await player.ping(session)
        latencies.append((time.perf_counter() - began) * 1e6)
    return {**meter.stop(), "lat_us": latencies}


async def _read(scene: Scene) -> dict[str, Any]:
    count, size = scene.scenario["n"], scene.scenario["size"]
    scene.stage.file = file_text(size)
    meter = scene.meter()
    work = json.dumps({"op": "read", "n": count, "path": f"/bench/{size}", "size": size})
    meta = await scene.player.prompt(scene.session, work)
    return {**meter.stop(), "lat_us": meta["lat_us"]}


async def _image(scene: Scene) -> dict[str, Any]:
    image = "iVBORw0KGgoAAAAN" * (scene.scenario["size"] // 16)
    latencies = []
    meter = scene.meter()
    for _ in range(scene.scenario["n"]):
        began = time.perf_counter()
        meta = await scene.player.prompt(scene.session, json.dumps({"op": "noop"}), image)
        latencies.append((time.perf_counter() - began) * 1e6)
        if meta["bytes"] != len(image):
            raise ValueError("the image did not arrive whole")
    return {**meter.stop(), "lat_us": latencies}


_SCENARIOS = {
    "startup": _startup,
    "stream": _streaming,
    "sessions": _sessions,
    "stall": _stall,
    "ping": _ping,
    "read": _read,
    "bigprompt": _image,
}
