"""The rules of a host for sessions: their owners, their directories, and the MCP servers that a client may name.

They judge messages by their params, before the agent sees them; for an `accord.Agent` and a program they are the same.
The names that they judge must be spelled as in the protocol: some JSON readers take `CWD` for `cwd` (Go's does), and
the last one counts. Such a program would work in a directory, or on a session, that the host did not see.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from copy import copy
from pathlib import Path
from typing import Any

import msgspec

from accord.agent.request_errors import unknown_session
from accord.errors import InvalidParams, RateLimited
from accord.serve.principals import Principal
from accord.transport.routing import CREATING_METHODS, OPENING_METHODS, Envelope

__all__ = ["LIST", "SessionOwners", "SessionRules", "check_names"]

LIST = "session/list"
_ENDING = frozenset({"session/close", "session/delete"})
_DELETE = "session/delete"
# These are reached over the network; every other kind is a program that the agent's machine would start.
_REMOTE_SERVERS = frozenset({"http", "sse", "acp"})
# The names that are judged, by their spelling in one case.
_JUDGED = {
    name.casefold(): name
    for name in (
        "id", "method", "params", "sessionId", "cwd", "additionalDirectories", "mcpServers", "type", "command",
    )
}  # fmt: skip

_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


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

        Two programs may use the same id: an open session is that of the program behind this connection, also if the
        id has another owner. A stored session belongs to the owner of its id.

        Raises:
            ResourceNotFound: It is another principal's, or does not exist; both look the same.
            InvalidParams: A reader that ignores the case of names would find another session in it.
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

        The text is serialized again: the agent reads exactly the members that were checked here.

        Raises:
            RequestError: A directory is outside of the root, a server is a program, or there are too many sessions.
        """
        if len(self._open) >= self._max_sessions:
            raise RateLimited(message="This principal has too many open sessions")
        check_names(text)
        message: dict[str, Any] = json.loads(text)
        params = message.get("params")
        if not isinstance(params, dict):
            return text  # the agent refuses it
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

    # --- answers of the agent

    def opened(self, session_id: str) -> None:
        """A connection has the session open from now on."""
        if self._owners is not None:
            self._owners.claim(self._principal.name, session_id)
        self._open[session_id] = self._open.get(session_id, 0) + 1

    def closed(self, session_id: str) -> None:
        """A connection has closed it."""
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


def check_names(text: bytes) -> None:
    """Check the names of a message and those of its params.

    Raises:
        InvalidParams: One differs from a name that is judged by its case only.
    """
    try:
        message = _members(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # Half of a surrogate pair: other readers take it.
        message = json.loads(text)
    check_spelling(message)
    check_spelling(_names_of(message.get("params")), "params.")


def _names_of(params: Any) -> Iterable[str]:
    if not isinstance(params, msgspec.Raw):
        return params if isinstance(params, dict) else ()
    try:
        return _members(params)
    except msgspec.ValidationError:
        return ()  # the agent refuses them


def check_spelling(names: Iterable[str], where: str = "") -> None:
    """Check the names of one object; `where` goes before them in the error.

    Raises:
        InvalidParams: One differs from a name that is judged by its case only.
    """
    for name in names:
        expected = _JUDGED.get(name.casefold())
        if expected is not None and expected != name:
            raise InvalidParams(
                "A name has another case than in the protocol", {"field": where + name, "expected": expected}
            )


class _Line(msgspec.Struct, omit_defaults=True):
    session: str
    principal: str | None = None


class SessionOwners:
    """The principal of each session that was opened here, in an append-only file, so that a restart knows it too.

    Without a path they are forgotten with this process.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._owners: dict[str, str] = {}
        self._path = path
        self._descriptor: int | None = None
        self._ends_in_line = False
        """Whether the file ends within a line."""
        if path is not None and path.exists():
            lines = path.read_bytes().splitlines(keepends=True)
            self._ends_in_line = bool(lines) and not lines[-1].endswith(b"\n")
            for line in lines:
                self._load(line)

    def _load(self, line: bytes) -> None:
        try:
            entry = msgspec.json.decode(line, type=_Line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return  # the last line of a process that died while it wrote
        if entry.principal is None:
            self._owners.pop(entry.session, None)
        else:
            self._owners[entry.session] = entry.principal

    def owns(self, principal: str, session_id: str) -> bool:
        return self._owners.get(session_id) == principal

    def claim(self, principal: str, session_id: str) -> None:
        """The session belongs to the principal, unless it has an owner; it is written down before this returns."""
        if session_id not in self._owners:
            self._owners[session_id] = principal
            self._write(_Line(session_id, principal))

    def forget(self, session_id: str) -> None:
        """The session was deleted."""
        if self._owners.pop(session_id, None) is not None:
            self._write(_Line(session_id))

    def _write(self, line: _Line) -> None:
        if self._path is None:
            return
        if self._descriptor is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            if self._ends_in_line:
                os.write(self._descriptor, b"\n")  # the next line must not be glued to half a line
        # One write of one line: another process that appends to the same file does not come between.
        os.write(self._descriptor, msgspec.json.encode(line) + b"\n")

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
