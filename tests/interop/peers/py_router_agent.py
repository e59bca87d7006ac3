"""An agent on the official Python SDK that speaks v1 and v2, whichever the client asks for."""

from __future__ import annotations

import asyncio
from typing import Any

from acp import schema
from acp.experimental import AgentProtocolRouter, v2


class Older:
    """The agent for clients that speak v1."""

    async def initialize(self, **_: Any) -> Any:
        return schema.InitializeResponse(protocol_version=1, agent_capabilities=schema.AgentCapabilities())

    async def new_session(self, **_: Any) -> Any:
        return schema.NewSessionResponse(session_id="older")


class Newer:
    """The agent for clients that speak v2."""

    async def initialize(self, **_: Any) -> Any:
        return v2.schema.InitializeResponse(
            protocol_version=2,
            info=v2.schema.Implementation(name="router", version="1"),
            capabilities=v2.schema.AgentCapabilities(session=v2.schema.SessionCapabilities()),
        )

    async def new_session(self, **_: Any) -> Any:
        return v2.schema.NewSessionResponse(session_id="newer")


if __name__ == "__main__":
    asyncio.run(AgentProtocolRouter(v1=lambda _: Older(), v2=lambda _: Newer()).run())
