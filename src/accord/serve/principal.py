"""Principals: who may connect, in which directory, and the credentials by which a request names one."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

__all__ = ["Authenticate", "Credentials", "Principal", "anyone"]


@dataclass(frozen=True)
class Principal:
    """The user or program that a request was authenticated as. Connections and sessions belong to it."""

    name: str
    """The name in logs, and the owner of sessions."""
    root: str | os.PathLike[str] | None = None
    """The directory that the directories of its sessions must lie in; None is the server's root."""
    expires_at: float | None = None
    """When its connections end, in seconds since 1970; None means never."""


@dataclass(frozen=True)
class Credentials:
    """The credentials of one request. Made by the application for each request."""

    token: str | None = field(repr=False)
    """The bearer token, if there is one."""
    headers: Mapping[str, str] = field(repr=False)
    """All headers, their names in lower case."""
    client: str | None = None
    """The address that the request came from."""
    forwarded_by: str | None = None
    """The node of the fleet that authenticated the request and forwarded it; None if it came from its client."""


Authenticate: TypeAlias = Callable[[Credentials], Principal | Awaitable[Principal | None] | None]
"""Finds the principal of a request; None refuses it. Called for every request, before anything is allocated."""


def anyone(credentials: Credentials) -> Principal:  # noqa: ARG001 - the signature of `Authenticate`
    """Accept every request as one principal: for a server behind another one that authenticates."""
    return Principal("anyone")


def directory_of(principal: Principal, default: Path) -> Path:
    """The root of a principal, with links resolved."""
    return Path(os.path.realpath(default if principal.root is None else principal.root))
