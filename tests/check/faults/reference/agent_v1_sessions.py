"""The sessions of a reference agent in v1: load, resume, list, close, delete, and the checks before them."""

from __future__ import annotations

import asyncio
import base64
import binascii
from pathlib import Path
from typing import Any

from tests.check.faults.reference.agent_v1 import PlainV1
from tests.check.faults.reference.raw import INVALID_PARAMS, NOT_FOUND, Refused
from tests.check.faults.reference.store import Session

__all__ = ["SessionsV1"]

PAGE_SIZE = 10


class SessionsV1(PlainV1):
    """Sessions that stay, and a login."""

    # --- sessions from before

    def saved(self, params: dict[str, Any]) -> Session:
        """A session that was kept, with the folders that it has from now on."""
        self.check_login()
        cwd, roots = self.cwd_of(params), self.roots_of(params)
        session = self.store.find(params.get("sessionId"))
        if session is None:
            raise Refused(NOT_FOUND, "Session not found", {"sessionId": str(params.get("sessionId"))})
        session.cwd, session.roots = cwd, roots
        return session

    async def on_session_load(self, params: dict[str, Any]) -> Any:
        """A session with all that was said in it."""
        servers = self.servers_of(params)
        session = self.saved(params)
        self.sessions[session.id] = session
        await self.connect(session, servers)
        self.show_commands(session)
        self.replay(session)
        return self.load_result(session)

    def replay(self, session: Session) -> None:
        for update in self.replayed(session):
            self.update(session, update["sessionUpdate"], **_without(update, "sessionUpdate"))

    def replayed(self, session: Session) -> list[dict[str, Any]]:
        return session.history

    def load_result(self, session: Session) -> Any:
        """The answer to a request to load."""
        return self.settings(session)

    async def on_session_resume(self, params: dict[str, Any]) -> Any:
        """A session without what was said in it."""
        servers = self.servers_of({"mcpServers": [], **params})
        session = self.saved(params)
        self.sessions[session.id] = session
        await self.connect(session, servers)
        self.show_commands(session)
        return self.resume_result(session)

    def resume_result(self, session: Session) -> Any:
        """The answer to a request to resume."""
        return self.settings(session)

    def show_commands(self, session: Session) -> None:
        """Tell which commands there are."""

    async def after_answer(self, _id: Any, method: str, _params: dict[str, Any], result: Any) -> None:
        """The commands of a session can be told when its id is known."""
        if method == "session/new" and isinstance(result, dict) and result.get("sessionId") in self.sessions:
            self.show_commands(self.sessions[result["sessionId"]])

    # --- all of them

    async def on_session_list(self, params: dict[str, Any]) -> Any:
        """What there is, page by page, the newest first."""
        self.check_login()
        below = self.place_of(params.get("cursor"))
        found = [session for session in self.listed(params.get("cwd")) if below is None or session.serial < below]
        return self.list_result(found[:PAGE_SIZE], is_last=len(found) <= PAGE_SIZE)

    def listed(self, cwd: Any) -> list[Session]:
        """The sessions of a folder, or all."""
        if cwd is not None and not isinstance(cwd, str):
            raise Refused(INVALID_PARAMS, "Invalid params: cwd")
        return [session for session in self.store.all() if cwd is None or session.cwd == cwd]

    def list_result(self, sessions: list[Session], *, is_last: bool) -> Any:
        """The answer to a request to list."""
        result: dict[str, Any] = {"sessions": [self.list_entry(session) for session in sessions]}
        return result if is_last else {**result, "nextCursor": self.cursor_of(sessions[-1])}

    def list_entry(self, session: Session) -> dict[str, Any]:
        """What a list says of one session."""
        entry: dict[str, Any] = {"sessionId": session.id, "cwd": session.cwd, "updatedAt": session.updated_at}
        if session.title:
            entry["title"] = session.title
        return {**entry, "additionalDirectories": session.roots} if session.roots else entry

    def cursor_of(self, session: Session) -> str:
        return base64.urlsafe_b64encode(f"below {session.serial}".encode()).decode()

    def place_of(self, cursor: Any) -> int | None:
        """Where a page begins; None for the first."""
        if cursor is None:
            return None
        try:
            word, serial = base64.urlsafe_b64decode(cursor).decode().split()
            if word == "below":
                return int(serial)
        except (TypeError, ValueError, binascii.Error):
            pass
        raise Refused(INVALID_PARAMS, "Invalid params: cursor")

    async def on_session_close(self, params: dict[str, Any]) -> Any:
        """A session is left; its turn is cancelled."""
        session = self.find(params)
        await asyncio.gather(*self.cancel(session.id), return_exceptions=True)
        del self.sessions[session.id]
        return {}

    async def on_session_delete(self, params: dict[str, Any]) -> Any:
        """A session is gone; one that never was is gone as well."""
        id_ = params.get("sessionId")
        if not isinstance(id_, str):
            raise Refused(INVALID_PARAMS, "Invalid params: sessionId")
        await asyncio.gather(*self.cancel(id_), return_exceptions=True)
        self.sessions.pop(id_, None)
        self.store.forget(id_)
        return {}

    def roots_of(self, params: dict[str, Any]) -> list[str]:
        roots = params.get("additionalDirectories") or []
        if not isinstance(roots, list) or not all(isinstance(root, str) and Path(root).is_absolute() for root in roots):
            raise Refused(INVALID_PARAMS, "Invalid params: additionalDirectories")
        return roots

    # --- who may

    def auth_methods(self) -> list[dict[str, Any]]:
        return [{"id": "token", "name": "Log in with a token"}, *self.terminal_methods()]

    def terminal_methods(self) -> list[dict[str, Any]]:
        """How to log in at a terminal, if the client has one for that."""
        if not self.offers("auth", "terminal"):
            return []
        login = {"id": "terminal", "name": "Log in here", "args": ["--login"], "env": {"BY_HAND": "1"}}
        return [{**login, "type": "terminal"}]

    async def on_authenticate(self, params: dict[str, Any]) -> Any:
        methods = [method["id"] for method in self.auth_methods() if method.get("type", "agent") == "agent"]
        if params.get("methodId") not in methods:
            raise Refused(INVALID_PARAMS, "Invalid params: methodId")
        self.is_logged_in = True
        return {}

    async def on_logout(self, _params: dict[str, Any]) -> Any:
        self.is_logged_in = False
        return {}


def _without(update: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in update.items() if name != key}
