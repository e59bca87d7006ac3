"""How a session from before is opened again, as far as an agent can: told whole, not at all, or to nobody."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from accord.errors import MethodNotFound
from accord.session.ask import ReopenSession, SessionOpened

__all__ = ["absolute", "reopen"]


async def reopen(
    ask: ReopenSession,
    send: Callable[[Any], Awaitable[SessionOpened]],
    deaf: Callable[[str], AbstractContextManager[None]],
    *,
    can_resume: bool,
    can_load: bool,
) -> SessionOpened:
    """Open it as it is asked for, or, where the agent can only tell everything again, let it and be `deaf` meanwhile.

    Raises:
        RequestError: The agent refused.
    """
    if ask.replay or can_resume or not can_load:
        try:
            return await send(ask)
        except MethodNotFound:
            # Some agents advertise that they resume sessions, and do not.
            if ask.replay or not can_load:
                raise
    ask.replay = True
    with deaf(ask.session_id):
        return await send(ask)


def absolute(path: str | os.PathLike[str]) -> str:
    """A directory as the protocol wants it."""
    return str(Path(path).absolute())
