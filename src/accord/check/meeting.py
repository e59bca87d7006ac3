"""Which editions an agent speaks: it is asked in each, and judged by the shape of its answer."""

from __future__ import annotations

import asyncio

from accord.check.link import Program
from accord.check.options import Options
from accord.check.rule import EDITIONS, EditionName
from accord.check.talk import BARE
from accord.check.wire import Silence, Wire
from accord.errors import NegotiationFailed
from accord.protocol.edition import V1, V2, V2_JUNE
from accord.protocol.negotiation import select_as_client

__all__ = ["editions_of"]


async def editions_of(program: Program, options: Options) -> list[EditionName]:
    """The editions in which an agent answers a handshake of that edition.

    Raises:
        ConnectFailed: There is no such command.
    """
    slots = asyncio.Semaphore(options.jobs)

    async def speaks(edition: EditionName) -> bool:
        async with slots:
            return await _speaks(program, options, edition)

    spoken = await asyncio.gather(*map(speaks, EDITIONS))
    return [edition for edition, is_spoken in zip(EDITIONS, spoken, strict=True) if is_spoken]


async def _speaks(program: Program, options: Options, edition: EditionName) -> bool:
    wire = await Wire.open("meeting", program, options.env, options.start_seconds, {})
    try:
        answer = await wire.request("initialize", BARE[edition])
        return select_as_client(answer.get("result"), (V1, V2, V2_JUNE)).name == edition
    except (Silence, NegotiationFailed):
        return False
    finally:
        await wire.shut(options.grace_seconds)
