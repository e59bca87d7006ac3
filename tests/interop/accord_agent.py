"""An agent on Accord, v1 and v2 by negotiation: other people's clients start it as a program of its own."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import accord
from tests.interop.agent_v1 import AgentV1
from tests.interop.agent_v2 import AgentV2
from tests.interop.record import counts


class Extensions:
    """What is outside the specification, the same in every edition."""

    connection: accord.Connection

    def __init__(self, handlers: accord.Handlers) -> None:
        self.notes: list[int] = []
        self.hung = False
        handlers.on_extension_request("_interop/add", lambda params: {"sum": params["a"] + params["b"]})
        handlers.on_extension_notification("_interop/note", lambda params: self.notes.append(params["n"]))
        handlers.on_extension_request("_interop/noted", self.noted)
        handlers.on_extension_request("_interop/hang", self.hang)
        handlers.on_extension_request("_interop/hung", lambda _: {"cancelled": self.hung})
        handlers.on_extension_request("_interop/counts", lambda _: counts(self.connection))

    def noted(self, _: Any) -> dict[str, Any]:
        return {"count": len(self.notes), "ordered": self.notes == list(range(len(self.notes)))}

    async def hang(self, _: Any) -> None:
        await self.connection.notify_extension("_interop/hanging")
        try:
            await asyncio.Event().wait()
        finally:
            self.hung = True


async def main(editions: list[str]) -> None:
    handlers = accord.Handlers()
    parts: list[AgentV1 | AgentV2 | Extensions] = [Extensions(handlers)]
    if "v1" in editions:
        parts.append(AgentV1(handlers))
    if "v2" in editions:
        parts.append(AgentV2(handlers))
    connection = accord.Connection(accord.open_stdio(), "agent", handlers)
    for part in parts:
        part.connection = connection
    async with connection:
        await connection.wait_closed()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:] or ["v1", "v2"]))
