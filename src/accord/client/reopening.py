"""How a session from before is opened again, as far as an agent can: told whole, not at all, or to nobody."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Any

from accord.errors import ConnectionLost, MethodNotFound
from accord.session.ask import ReopenSession, SessionOpened

__all__ = ["lost_session", "reopen"]


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


def lost_session(reason: ConnectionLost | None) -> ConnectionLost:
    """Why a session cannot go on with an agent that was started again."""
    reason = reason or ConnectionLost("the agent was started again")
    message = f"the session is lost, because the agent can neither resume nor load it: {reason.message}"
    return ConnectionLost(message, exit_status=reason.exit_status, stderr_tail=reason.stderr_tail)
