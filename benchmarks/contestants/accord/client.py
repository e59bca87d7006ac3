"""The client on Accord's typed API: `client.py --edition v1|v2|v2_june --scenario … -- <agent argv>`."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module

import accord
from benchmarks.contestants.play import Player, Stage, run


@asynccontextmanager
async def open_player(stage: Stage, agent: list[str]) -> AsyncIterator[Player]:
    edition = sys.argv[sys.argv.index("--edition") + 1]
    transport = await accord.spawn(*agent)
    handlers = accord.Handlers()
    async with accord.Connection(transport, "client", handlers) as connection:
        player: Player = import_module(f"client_{edition}").Player(connection, handlers, stage, transport.pid)
        yield player


run(open_player)
