"""Reopens a session as far as the agent can: with a replay, without one, or with a replay that is dropped."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from accord.errors import MethodNotFound
from accord.session.client_requests import ReopenSession, SessionOpened

__all__ = ["absolute", "reopen"]


async def reopen(
    request: ReopenSession,
    send: Callable[[Any], Awaitable[SessionOpened]],
    muted: Callable[[str], AbstractContextManager[None]],
    *,
    can_resume: bool,
    can_load: bool,
) -> SessionOpened:
    """Reopen a session; where the agent can only replay the conversation, `muted` drops the updates of the replay.

    Raises:
        RequestError: The agent refused.
    """
    if request.replay or can_resume or not can_load:
        try:
            return await send(request)
        except MethodNotFound:
            # Some agents advertise that they resume sessions, and do not.
            if request.replay or not can_load:
                raise
    request.replay = True
    with muted(request.session_id):
        return await send(request)


def absolute(path: str | os.PathLike[str]) -> str:
    """A directory as the protocol wants it."""
    return str(Path(path).absolute())
