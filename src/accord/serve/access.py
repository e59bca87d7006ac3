"""The checks of a request before anything is allocated for it: path, host, origin, and the principal."""

from __future__ import annotations

import base64
import binascii
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from accord.serve.fleet_pass import FORWARD_HEADER, FleetPass
from accord.serve.principals import Authenticate, Credentials, Principal

__all__ = ["BEARER_SUBPROTOCOL", "AccessCheck", "headers_of"]

# A page of a browser cannot set a header of its WebSocket, only the subprotocols that it offers.
BEARER_SUBPROTOCOL = "bearer."
_HOST = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(?::[0-9]*)?")


class HttpRefusal(Exception):
    """A request that gets a status and nothing else. `cause` is for the log and the metrics."""

    def __init__(self, status: int, cause: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.cause = cause
        self.message = message
        self.headers = dict(headers or {})


def headers_of(scope: Mapping[str, Any]) -> dict[str, str]:
    """The headers of a request by name, in lower case; of a header that came twice the last one counts."""
    # The names are shared: each connection keeps its headers.
    return {sys.intern(name.decode("latin-1").lower()): value.decode("latin-1") for name, value in scope["headers"]}


class AccessCheck:
    """The principals, host names and origins of pages that may connect."""

    def __init__(
        self,
        authenticate: Authenticate,
        hosts: Iterable[str],
        origins: Iterable[str],
        read_pass: Callable[[str], FleetPass] | None = None,
    ) -> None:
        self.authenticate = authenticate
        self._is_quick = not inspect.iscoroutinefunction(authenticate)
        """Whether principals are found without waiting, as far as is known."""
        self._read_pass = read_pass
        """Reads the pass of a request that another node of the fleet forwarded; None where there is no fleet."""
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)

    def check_page(self, headers: Mapping[str, str], *, any_host: bool = False) -> None:
        """Refuse a foreign `Host`, by which a page reaches a loopback server, unless any will do; a foreign `Origin`.

        A request without `Origin` comes from no page, and neither does one with the pass of another node.
        """
        if self._pass_of(headers) is not None:
            return
        host = _without_port(headers.get("host", ""))
        if not any_host and "*" not in self._hosts and host not in self._hosts:
            raise HttpRefusal(403, "host", "The name in the header Host is not served here (hosts, --allow-host)")
        origin = headers.get("origin")
        if origin is not None and not self.allows_origin(origin):
            raise HttpRefusal(403, "origin", "This origin may not connect")

    def allows_origin(self, origin: str) -> bool:
        return origin.lower().rstrip("/") in self._origins

    async def principal(
        self, headers: Mapping[str, str], client: str | None, subprotocols: Sequence[str] = ()
    ) -> tuple[Principal, Credentials]:
        """The principal of a request; that of an upgrade may have its token in one of its subprotocols.

        Raises:
            HttpRefusal: 401: its credentials are missing, wrong or expired.
        """
        given = self._pass_of(headers)
        if given is not None:
            return given.principal, Credentials(None, headers, client, given.sender)
        token = _bearer(headers.get("authorization", "")) or _offered(subprotocols)
        credentials = Credentials(token, headers, client)
        principal = await self.find(credentials)
        if principal is None:
            cause = "no_token" if credentials.token is None else "token"
            raise HttpRefusal(401, cause, "A valid token is needed", {"WWW-Authenticate": "Bearer"})
        return principal, credentials

    def principal_at_once(self, headers: Mapping[str, str], client: str | None) -> Principal | None:
        """The principal of a request without a pass; None if it has none, or if `authenticate` has to be awaited."""
        if FORWARD_HEADER in headers or not self._is_quick:
            return None
        found = self.authenticate(Credentials(_bearer(headers.get("authorization", "")), headers, client))
        if found is None or isinstance(found, Principal):
            return found
        self._is_quick = False
        if inspect.iscoroutine(found):
            found.close()
        return None

    def _pass_of(self, headers: Mapping[str, str]) -> FleetPass | None:
        value = headers.get(FORWARD_HEADER)
        return None if value is None or self._read_pass is None else self._read_pass(value)

    async def find(self, credentials: Credentials) -> Principal | None:
        found = self.authenticate(credentials)
        return await found if inspect.isawaitable(found) else found


def _bearer(header: str) -> str | None:
    scheme, _, token = header.partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def _offered(subprotocols: Sequence[str]) -> str | None:
    """The token in the first subprotocol that has one, in base64url with or without its padding."""
    for name in subprotocols:
        if name.startswith(BEARER_SUBPROTOCOL):
            encoded = name.removeprefix(BEARER_SUBPROTOCOL).rstrip("=")
            try:
                return base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True).decode()
            except (binascii.Error, ValueError):
                return None
    return None


def _without_port(host: str) -> str:
    """The name in a `Host` header; the whole header where something else than a port is behind it."""
    found = _HOST.fullmatch(host.lower())
    return host if found is None else found[1]
