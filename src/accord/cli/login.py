"""Logging in on the way to a session: which of the agent's ways the user takes, and how they are named in one line."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeAlias

from accord.cli.fault import phase
from accord.cli.question import Questions
from accord.client import ConnectedAgent
from accord.display import own
from accord.errors import AuthRequired

__all__ = ["LogIn", "naming_ways", "ways_at_terminal"]

LogIn: TypeAlias = Callable[[ConnectedAgent], Awaitable[bool]]
"""Logs the user in; False where the user does not want to, or the agent offers no way."""


def ways_at_terminal(questions: Questions, typed: str) -> LogIn:
    """The user is asked which way, also where there is only one: it may open a browser, or cost something.

    `typed` is how the agent is named on the line.
    """

    async def log_in(agent: ConnectedAgent) -> bool:
        ways = {way.id: way for way in agent.auth_methods}
        if not ways:
            return False
        choices = [(way.id, way.name) for way in ways.values()]
        chosen = await questions.choose(own("the agent wants you to log in; Enter alone leaves it:"), choices)
        if chosen is None:
            return False
        with phase("login", typed):
            # A program in the terminal has it to itself; any other login may ask the user something.
            async with questions.alone() if ways[chosen].type == "terminal" else contextlib.nullcontext():
                await agent.login(chosen)
        return True

    return log_in


@contextlib.contextmanager
def naming_ways(agent: ConnectedAgent) -> Iterator[None]:
    """An agent that wants a login in here names its ways, also where its answer does not: the handshake had them."""
    try:
        yield
    except AuthRequired as error:
        if not error.auth_methods and agent.auth_methods:
            ways = [{"id": way.id, "name": way.name} for way in agent.auth_methods]
            error.data = {"reason": "auth_required", "authMethods": ways}
        raise
