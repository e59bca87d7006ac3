"""A client's steps that several tests take."""

from __future__ import annotations

import asyncio

import accord
from tests.limits import limit

__all__ = ["answer_to"]


async def answer_to(session: accord.client.Session, text: str) -> str:
    """The agent's whole answer to a prompt."""
    async with asyncio.timeout(limit(30.0)), session.prompt(text) as turn:
        async for _ in turn:
            pass
    assert turn.stop_reason == "end_turn"
    return turn.answer
