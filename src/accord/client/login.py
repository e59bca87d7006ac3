"""The login to an agent that requires one: by a call, or by its own program in a terminal."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from accord.errors import AuthRequired, ConnectFailed
from accord.session.capability import AuthMethod
from accord.transport.interpreter import environment_of

__all__ = ["LoginCallback", "choose", "method_of", "run_in_terminal"]

LoginCallback: TypeAlias = Callable[[Sequence[AuthMethod]], "str | Awaitable[str | None] | None"]
"""Gets the login methods and returns the id of one, or None to give up."""


def method_of(methods: Sequence[AuthMethod], method_id: str) -> AuthMethod:
    """The login method of an id.

    Raises:
        ValueError: There is none; the message lists those that exist.
    """
    method = next((each for each in methods if each.id == method_id), None)
    if method is None:
        known = ", ".join(each.id for each in methods) or "none"
        raise ValueError(f"the agent has no login {method_id!r}; it has {known}")
    return method


async def choose(callback: LoginCallback | None, methods: Sequence[AuthMethod], error: AuthRequired) -> AuthMethod:
    """The login method that the caller selects.

    Raises:
        AuthRequired: It selects none; the exception names the methods, also where the agent's answer did not.
    """
    if callback is not None and methods:
        wanted = callback(methods)
        if inspect.isawaitable(wanted):
            wanted = await wanted
        if wanted is not None:
            return method_of(methods, wanted)
    if not error.auth_methods:
        encoded = error.data if isinstance(error.data, Mapping) else {}
        error.data = {**encoded, "authMethods": [_as_json(each) for each in methods]}
    raise error


def _as_json(method: AuthMethod) -> dict[str, Any]:
    fields = {"id": method.id, "name": method.name, "type": method.type, "description": method.description}
    return {name: value for name, value in fields.items() if value is not None}


async def run_in_terminal(
    argv: Sequence[str],
    method: AuthMethod,
    env: Mapping[str, str | None] | None,
    cwd: str | os.PathLike[str] | None = None,
) -> None:
    """Run the agent's own program with the method's arguments, on the terminal of this process.

    Raises:
        ConnectFailed: It cannot be started, or ended with another status than 0.
    """
    environment = environment_of(argv, os.environ, {**(env or {}), **method.env})
    try:
        process = await asyncio.create_subprocess_exec(*argv, *method.args, env=environment, cwd=cwd)
    except OSError as error:
        raise ConnectFailed(f"the login program cannot be started: {error.strerror}", argv=tuple(argv)) from error
    try:
        status = await process.wait()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if status != 0:
        raise ConnectFailed(f"the login ended with status {status}", argv=tuple(argv))
