"""Who may open sessions: the ways to log in, and the gate before everything that needs it."""

from __future__ import annotations

import asyncio

from accord.agent.registrations import Registrations
from accord.errors import AuthRequired, InvalidParams

__all__ = ["LoginGate"]


class LoginGate:
    """One agent's login, for all its connections: a program has one user.

    Without a function of `check_login` it is closed until a login succeeds, and again after a logout. An agent without
    any way to log in is open.
    """

    def __init__(self, registrations: Registrations) -> None:
        self._registrations = registrations
        self._open = False
        self._lock = asyncio.Lock()

    async def check(self) -> None:
        """Return if sessions may be used.

        Raises:
            AuthRequired: Log in first.
        """
        if not self._registrations.logins:
            return
        is_open = (
            self._open
            if self._registrations.check_login is None
            else await self._registrations.threads.call(self._registrations.check_login)
        )
        if not is_open:
            raise AuthRequired

    async def login(self, method_id: str) -> None:
        """Log in by a method that needs no terminal.

        Raises:
            InvalidParams: There is no such method, or it is not one that can be called.
        """
        _, handler = self._registrations.logins.get(method_id, (None, None))
        if handler is None:
            raise InvalidParams(
                "This is no way to log in by a call", {"field": "methodId", "expected": self._expected()}
            )
        async with self._lock:
            if await self._registrations.threads.call(handler) is False:
                raise AuthRequired("The login failed")
            self._open = True

    def _expected(self) -> str:
        called_ones = [name for name, (_, given) in self._registrations.logins.items() if given is not None]
        if called_ones:
            return f"one of {', '.join(called_ones)}"
        return (
            "no call: log in by a terminal method" if self._registrations.logins else "no login: this agent needs none"
        )

    async def logout(self) -> None:
        """Forget the login; sessions that are open stay open."""
        async with self._lock:
            if self._registrations.logout is not None:
                await self._registrations.threads.call(self._registrations.logout)
            self._open = False
