"""`accord.as_function`: an agent as an async function, which every agent framework takes as a tool."""

from __future__ import annotations

import contextlib
import keyword
import os
from collections.abc import AsyncIterator, Awaitable, Sequence
from typing import Any, Protocol, Unpack, overload

from accord.client.agent import ConnectedAgent
from accord.client.connect import ConnectOptions, StrPath, connect
from accord.client.launch import InProcessAgent
from accord.client.session import Listener, Session
from accord.client.turn import Turn
from accord.session.client_requests import McpServer
from accord.transport.interface import Transport

__all__ = ["AgentFunction", "as_function", "open_target"]

DESCRIPTION = "Let a coding agent work on a task in its folder. It answers with what it did and what it found."
MAX_NAMED_FILES = 50


class AgentFunction(Protocol):
    """An agent as a function. Made by `as_function`."""

    __name__: str

    def __call__(self, task: str) -> Awaitable[str]:
        """Let the agent work on a task; returns its answer, and the names of the files that it changed."""


@overload
def as_function(
    session: Session, /, *, name: str = ..., description: str = ..., progress: Listener | None = ...
) -> AgentFunction: ...
@overload
def as_function(
    connected: ConnectedAgent,
    /,
    *,
    name: str = ...,
    description: str = ...,
    progress: Listener | None = ...,
    cwd: StrPath = ...,
    mcp_servers: Sequence[McpServer] = ...,
) -> AgentFunction: ...
@overload
def as_function(
    agent: StrPath | InProcessAgent | Transport,
    /,
    *arguments: StrPath,
    name: str = ...,
    description: str = ...,
    progress: Listener | None = ...,
    cwd: StrPath = ...,
    mcp_servers: Sequence[McpServer] = ...,
    **options: Unpack[ConnectOptions],
) -> AgentFunction: ...
def as_function(
    *target: Any,
    name: str = "coding_agent",
    description: str = DESCRIPTION,
    progress: Listener | None = None,
    cwd: StrPath = ".",
    mcp_servers: Sequence[McpServer] = (),
    **options: Any,
) -> AgentFunction:
    """An agent as a typed async function `(task: str) -> str`, for the tools of any framework.

    The target decides how long the agent and its session live. A command or an agent in this process is started for
    every call and ended after it. An open agent of `accord.connect` gets a new session for every call. A session is
    prompted as it is, so that it remembers the calls before; calls at the same time wait for each other.

    The model reads `name` and `description`. `progress` gets every event of the work, and must not block. A
    tool has no user to ask: give `permission`, such as a `Policy`, to `as_function` or to `accord.connect`; without it
    every question is dismissed. A framework that cancels the call cancels the agent's turn.

    The result is the text of the agent, the files that it changed, and how the turn ended where it was cut short.

    Raises:
        ValueError: The name is not one that every framework takes.
        TypeError: These options belong to `accord.connect`, which was called already.
    """
    if not name.isidentifier() or not name.isascii() or keyword.iskeyword(name):
        raise ValueError(f"{name!r} is no name for a function: letters, digits and underscores")
    if options and isinstance(target[0], ConnectedAgent | Session):
        raise TypeError(f"give these options to accord.connect: {', '.join(options)}")

    async def function(task: str) -> str:
        async with open_target(target, cwd, mcp_servers, options) as session, session.prompt(task) as turn:
            async for event in turn:
                if progress is not None:
                    progress(event)
        return result_text(turn)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{description}\n\nArgs:\n    task: What to do, in full sentences.\n"
    # Classes and not strings: frameworks look at them at once, where these names mean nothing.
    function.__annotations__ = {"task": str, "return": str}
    return function


@contextlib.asynccontextmanager
async def open_target(
    target: tuple[Any, ...], cwd: StrPath, mcp_servers: Sequence[McpServer], options: dict[str, Any]
) -> AsyncIterator[Session]:
    """A session for one call; closed afterwards, unless it was given."""
    if len(target) == 1 and isinstance(target[0], Session):
        yield target[0]
        return
    async with contextlib.AsyncExitStack() as stack:
        if len(target) == 1 and isinstance(target[0], ConnectedAgent):
            agent = target[0]
        else:
            agent = await stack.enter_async_context(connect(*target, **options))
        session = await agent.new_session(os.fspath(cwd), mcp_servers=mcp_servers)
        try:
            yield session
        finally:
            await session.close()


def result_text(turn: Turn) -> str:
    """The result for a model: the turn's text, the changed files, and its end where that is not the usual one."""
    parts = [turn.text.strip()]
    changed = list(dict.fromkeys(change.path for change in turn.diffs))
    if changed:
        more = len(changed) - MAX_NAMED_FILES
        names = ", ".join(changed[:MAX_NAMED_FILES]) + (f" and {more} more" if more > 0 else "")
        parts.append(f"[changed: {names}]")
    if turn.stop_reason != "end_turn":
        parts.append(f"[ended: {turn.stop_reason}]")
    return "\n\n".join(part for part in parts if part)
