"""An agent that opens every session and requires a login at the prompt, in an answer without login methods."""

from __future__ import annotations

from accord.testing import AgentPeer


async def late(peer: AgentPeer) -> None:
    """The ways are in its handshake only."""
    await peer.greet("v1", authMethods=[{"id": "browser", "name": "In the browser"}])
    await peer.open_session("s-1234567890")
    await peer.fail(await peer.take_prompt(), -32000, "Please log in")
