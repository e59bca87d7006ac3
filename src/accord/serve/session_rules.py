"""The rules of a host for sessions: whose they are, in which directories they may work, what a client may start.

They judge messages by their params, before the agent sees them; for an `accord.Agent` and a program they are the same.
"""

from __future__ import annotations

import json
import os
from copy import copy
from pathlib import Path
from typing import Any

from accord.agent.request_errors import unknown_session
from accord.errors import InvalidParams, RateLimited
from accord.serve.member_names import check_names, check_spelling
from accord.serve.principal import Principal
from accord.serve.session_owners import SessionOwners
from accord.transport.routing import CREATING_METHODS, OPENING_METHODS, Envelope

__all__ = ["LIST", "SessionRules"]

LIST = "session/list"
_ENDING = frozenset({"session/close", "session/delete"})
_DELETE = "session/delete"
# These are reached over the network; every other kind is a program that the agent's machine would start.
_REMOTE_SERVERS = frozenset({"http", "sse", "acp"})


class SessionRules:
    """The rules for one principal. Shared by its connections.

    `owners` is None where one principal has all sessions.
    """

    def __init__(
        self, principal: Principal, root: Path, owners: SessionOwners | None, *, stdio_mcp: bool, max_sessions: int
    ) -> None:
        self._principal = principal
        self._root = root
        self._owners = owners
        self._stdio_mcp = stdio_mcp
        self._max_sessions = max_sessions
        self._open: dict[str, int] = {}
        """How many connections have each session open."""

    @property
    def open_sessions(self) -> int:
        return len(self._open)

    def under(self, principal: Principal, root: Path) -> SessionRules:
        """The rules under the root that the principal has now; its open sessions are counted together."""
        if root == self._root:
            return self
        rules = copy(self)
        rules._principal, rules._root = principal, root  # noqa: SLF001 - one class
        return rules

    def check(self, message: Envelope, text: bytes, *, is_open: bool = False) -> None:
        """Whether the principal may use the session that a message names; `is_open`: this connection has it open.

        Two programs may call their sessions alike: an open one is that of the program behind this connection, also
        if the name has another owner. What is kept under the name is its owner's.

        Raises:
            ResourceNotFound: It is another principal's, or does not exist; both look the same.
            InvalidParams: A reader that does not care for the case of names would find another session in it.
        """
        if self._owners is None:
            return
        check_names(text)
        session_id = message.session_id
        if is_open and message.method not in OPENING_METHODS and message.method != _DELETE:
            return
        if session_id is not None and not self._owners.owns(self._principal.name, session_id):
            raise unknown_session(session_id)

    def opens(self, message: Envelope) -> bool:
        """Whether a request opens a session, and so has directories and servers to be judged."""
        return message.method in OPENING_METHODS or message.method in CREATING_METHODS

    def judge_opening(self, text: bytes) -> bytes:
        """A request that opens a session, as the agent should get it: without a directory it is the principal's root.

        The text is written anew: the agent reads exactly what was judged here.

        Raises:
            RequestError: A directory is outside of the root, a server is a program, or there are too many sessions.
        """
        if len(self._open) >= self._max_sessions:
            raise RateLimited(message="This principal has too many open sessions")
        check_names(text)
        message: dict[str, Any] = json.loads(text)
        params = message.get("params")
        if not isinstance(params, dict):
            return text  # the agent says what is wrong with it
        if params.get("cwd") in (None, ""):
            params["cwd"] = str(self._root)
        self._check_directory(params["cwd"], "cwd")
        directories = params.get("additionalDirectories")
        for place, directory in enumerate(directories if isinstance(directories, list) else ()):
            self._check_directory(directory, f"additionalDirectories.{place}")
        servers = params.get("mcpServers")
        for place, server in enumerate(servers if isinstance(servers, list) else ()):
            self._check_server(server, place)
        return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode(errors="surrogatepass")

    def _check_directory(self, directory: Any, field: str) -> None:
        try:
            inside = isinstance(directory, str) and Path(os.path.realpath(directory)).is_relative_to(self._root)
        except ValueError:
            inside = False
        if not inside:
            expected = f"a directory inside {self._root}"
            raise InvalidParams("The directory is outside of the root", {"field": field, "expected": expected})

    def _check_server(self, server: Any, place: int) -> None:
        if isinstance(server, dict):
            check_spelling(server, f"mcpServers.{place}.")
        if self._stdio_mcp or (
            isinstance(server, dict) and server.get("type") in _REMOTE_SERVERS and "command" not in server
        ):
            return
        expected = f"one of {', '.join(sorted(_REMOTE_SERVERS))}"
        raise InvalidParams(
            "This host starts no MCP servers for its clients",
            {"field": f"mcpServers.{place}.type", "expected": expected},
        )

    # --- what the agent answers

    def opened(self, session_id: str) -> None:
        """A connection has the session open from now on."""
        if self._owners is not None:
            self._owners.claim(self._principal.name, session_id)
        self._open[session_id] = self._open.get(session_id, 0) + 1

    def closed(self, session_id: str) -> None:
        """A connection has it open no more."""
        count = self._open.get(session_id, 0) - 1
        if count > 0:
            self._open[session_id] = count
        else:
            self._open.pop(session_id, None)

    def ends(self, method: str) -> bool:
        return method in _ENDING

    def ended(self, method: str, session_id: str) -> None:
        """A session was closed or deleted by its client."""
        if method == _DELETE and self._owners is not None:
            self._owners.forget(session_id)

    def filter_list(self, text: bytes) -> bytes:
        """The answer to a list of sessions, without those of other principals."""
        if self._owners is None:
            return text
        message: dict[str, Any] = json.loads(text)
        result = message.get("result")
        sessions = result.get("sessions") if isinstance(result, dict) else None
        if not isinstance(result, dict) or not isinstance(sessions, list):
            return text
        owns, name = self._owners.owns, self._principal.name
        result["sessions"] = [
            each for each in sessions if isinstance(each, dict) and owns(name, str(each.get("sessionId")))
        ]
        return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode(errors="surrogatepass")
