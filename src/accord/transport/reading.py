"""Reading without a task: the texts of each read are given to a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from accord.transport.interface import Transport

__all__ = ["Take", "receive_into"]

Take: TypeAlias = Callable[[list[bytes]], bool]
"""Takes the texts of one read; False if no more are wanted for now."""


async def receive_into(transport: Transport, take: Take) -> bool:
    """Call `take` with what `receive` would give, until it returns False; then True. False at the end of the stream.

    Streams call it in the instant in which the bytes were read. To resume the task that awaits `receive` costs one more
    turn of the loop at each end, a seventh of a round trip (`benchmarks/run --scenarios ping`).

    Raises:
        TransportError: As `receive` does; and what `take` raises.
    """
    receive_at_once = getattr(transport, "_receive_into", None)
    if receive_at_once is not None:
        return bool(await receive_at_once(take))
    while texts := await transport.receive():
        if not take(texts):
            return True
    return False
