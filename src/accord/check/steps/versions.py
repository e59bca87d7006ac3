"""Clients that ask for other versions than that of the edition, each in a process of its own."""

from __future__ import annotations

from accord.check.step import Notes, step
from accord.check.steps.asking import heard
from accord.check.talk import BARE, Talk

__all__ = ["FAR_FUTURE", "oversized_version", "version_one"]

FAR_FUTURE = 65535
"""The largest number that can stand for a version."""


async def _probe(talk: Talk, version: int) -> Notes:
    probe = talk.ask("initialize", {**BARE[talk.edition], "protocolVersion": version})
    await heard(talk, probe, talk.options.start_seconds)
    return {"probe": probe}


@step("own")
async def oversized_version(talk: Talk) -> Notes:
    """A client from the far future."""
    return await _probe(talk, FAR_FUTURE)


@step("own", editions=("v2_june", "v2"))
async def version_one(talk: Talk) -> Notes:
    """A client with the shape of this edition that asks for version 1."""
    return await _probe(talk, 1)
