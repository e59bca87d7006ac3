"""The client on Accord's typed API: `client.py --edition v1|v2|v2_june --scenario … -- <agent argv>`."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module

# By their names: they are loaded here, as the other contestants load theirs, and not while the agent starts.
from accord import Connection, Handlers, spawn
from benchmarks.contestants.play import Player, Stage, run

EDITION = import_module(f"client_{sys.argv[sys.argv.index('--edition') + 1]}")


@asynccontextmanager
async def open_player(stage: Stage, agent: list[str]) -> AsyncIterator[Player]:
    transport = await spawn(*agent)
    handlers = Handlers()
    async with Connection(transport, "client", handlers) as connection:
        player: Player = EDITION.Player(connection, handlers, stage, transport.pid)
        yield player


run(open_player)
