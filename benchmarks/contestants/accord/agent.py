"""The agent on Accord's typed API, in the editions that its arguments name: `agent.py v1 v2 v2_june`."""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module

import accord


async def main() -> None:
    handlers = accord.Handlers()
    connection = accord.Connection(accord.open_stdio(), "agent", handlers)
    for edition in sys.argv[1:]:
        import_module(f"agent_{edition}").serve(handlers, connection)
    async with connection:
        await connection.wait_closed()


asyncio.run(main())
