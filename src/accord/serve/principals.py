"""Principals: who may connect, in which directory, and the credentials by which a request names one.

A token file has hashed bearer tokens with the names of their principals. The tokens have 256 random bits, so a plain
digest of one cannot be turned back. The file is no secret by itself, but a user who may write to it can grant access.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

import msgspec

from accord.errors import LocalProtocolError
from accord.stores.interface import date_of

__all__ = ["Authenticate", "Credentials", "Principal", "TokenFile", "anyone", "one_token"]

log = logging.getLogger("accord.serve")

_TOKEN_BYTES = 32


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


class _Entry(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    name: str
    sha256: str
    expires: datetime | None = None
    root: str | None = None


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    tokens: list[_Entry]


class TokenFile:
    """A file of hashed tokens: an `Authenticate` for `Agent.asgi` and `accord serve`.

    ```json
    {"tokens": [{"name": "ada", "sha256": "9f86…", "expires": "2027-01-01T00:00:00Z", "root": "/srv/ada"}]}
    ```

    `expires` and `root` may be absent. The file is read again when it changes. A token that is taken out, or has
    expired, is refused, and the connections that were opened with it are closed.
    """

    recheck_seconds: float = 1.0
    """How often the principals of open connections are checked again."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Path = Path(path)
        """Where the file is."""
        self._stamp: tuple[int, int, int] | None = None
        self._entries: dict[str, _Entry] = {}
        self.read()

    def __call__(self, credentials: Credentials) -> Principal | None:
        self.refresh()
        if credentials.token is None:
            return None
        # Compared by digest, so that the time of the comparison reveals nothing about the token.
        entry = self._entries.get(_digest(credentials.token))
        if entry is None:
            return None
        expires_at = None if entry.expires is None else entry.expires.timestamp()
        if expires_at is not None and expires_at <= time.time():
            return None
        return Principal(entry.name, entry.root, expires_at)

    def read(self) -> None:
        """Read the file.

        Raises:
            LocalProtocolError: It cannot be read, or is no token file.
        """
        try:
            stamp = _stamp(self.path)
            document = msgspec.json.decode(self.path.read_bytes(), type=_Document)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise LocalProtocolError(f"{self.path}: {reason}", field="tokens", expected="a token file") from error
        for entry in document.tokens:
            if entry.expires is not None and entry.expires.tzinfo is None:
                message = f"{self.path}: the expiry of {entry.name!r} has no time zone; write it with a Z at its end"
                raise LocalProtocolError(message, field="expires", expected="a time that ends in Z")
        self._entries = {entry.sha256.lower(): entry for entry in document.tokens}
        self._stamp = stamp

    def refresh(self) -> None:
        """Read the file again if it changed. While it cannot be read, no token is accepted."""
        try:
            if _stamp(self.path) == self._stamp:
                return
            self.read()
        except (OSError, LocalProtocolError) as error:
            if self._stamp is not None:
                log.error("the token file cannot be read, so every request is refused: %s", error)  # noqa: TRY400
            self._stamp, self._entries = None, {}

    @staticmethod
    def add(
        path: str | os.PathLike[str], name: str, *, expires_at: float | None = None, root: str | None = None
    ) -> str:
        """Add a new token to the file, which is made if it is not there; returns the token, which is kept nowhere.

        `expires_at` is in seconds since 1970.
        """
        place = Path(path)
        document = _Document([])
        if place.exists():
            TokenFile(place)
            document = msgspec.json.decode(place.read_bytes(), type=_Document)
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        expires = None if expires_at is None else date_of(expires_at)
        document.tokens.append(_Entry(name, _digest(token), expires, root))
        text = msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
        # Replaced as a whole: a server that reads meanwhile has the old file or the new one.
        draft = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
        draft.replace(place)
        return token


def one_token(token: str, name: str = "local") -> Callable[[Credentials], Principal | None]:
    """An `Authenticate` for one token and one principal."""
    expected = _digest(token)

    def authenticate(credentials: Credentials) -> Principal | None:
        given = _digest(credentials.token or "")
        return Principal(name) if credentials.token and hmac.compare_digest(given, expected) else None

    return authenticate


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogateescape")).hexdigest()


def _stamp(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino
