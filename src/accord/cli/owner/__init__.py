"""The sessions that other processes of this user have open: found and cancelled through their sockets."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accord.cli import owner_sockets
from accord.cli.session_index import PREFIXES
from accord.cli.status import CommandFailure, Status, UsageFailure
from accord.config import ConfigError
from accord.time_scale import scaled

HELLO_SECONDS = scaled(3.0)


@dataclass(frozen=True)
class LiveSession:
    """A session that another process has open, and that process's socket."""

    session_id: str
    agent: str
    cwd: str
    name: str | None
    running: bool
    pid: int
    socket_path: Path

    def is_called(self, word: str) -> bool:
        """Whether the word names the session or its agent: by name, id or the begin of the id."""
        begins = any(self.session_id.startswith(prefix + word) for prefix in ("", *PREFIXES))
        return bool(word) and (word in {self.agent, self.name} or begins)


class OwnerConnection:
    """A connection to one process: its greeting, and lines from then on."""

    def __init__(self, connected: socket.socket, socket_path: Path) -> None:
        self._socket = connected
        self._file = connected.makefile("rb")
        self._path = socket_path
        self.sessions: list[LiveSession] = []

    def greet(self) -> None:
        """Read the first line.

        Raises:
            CommandFailure: The process is of a later version.
            OSError, ValueError: Its greeting cannot be read.
        """
        self._socket.settimeout(HELLO_SECONDS)
        hello = json.loads(self._file.readline())
        if hello["accord"] != "owner":
            raise ValueError("this is no process of ours")
        if hello["version"] > owner_sockets.VERSION:
            message = f"the process {hello['pid']} is one of a later version of Accord; update this one"
            raise CommandFailure(Status.FAILED, "session", message)
        self.sessions = [
            LiveSession(
                each["session"], each["agent"], each["cwd"], each["name"], each["running"], hello["pid"], self._path
            )
            for each in hello["sessions"]
        ]

    def send(self, do: str, session_id: str) -> None:
        self._socket.sendall(json.dumps({"do": do, "session": session_id}).encode() + b"\n")

    def lines(self, seconds: float | None = None) -> Iterator[dict[str, Any]]:
        """The received lines, until the other end closes; `seconds` bound each line.

        Raises:
            OSError: The connection is gone, or nothing came in time.
        """
        self._socket.settimeout(seconds)
        for line in self._file:
            if line.endswith(b"\n"):
                yield json.loads(line)

    def close(self) -> None:
        self._file.close()
        self._socket.close()


@contextlib.contextmanager
def connection(socket_path: Path) -> Iterator[OwnerConnection | None]:
    """A connection after its greeting, or None where the process is gone, does not answer, or is another user's."""
    opened: OwnerConnection | None = None
    try:
        try:
            connected = owner_sockets.connect(socket_path, HELLO_SECONDS)
            if connected is not None:
                opened = OwnerConnection(connected, socket_path)
                opened.greet()
        except (OSError, ValueError, KeyError, TypeError):
            if opened is not None:
                opened.close()
                opened = None
        yield opened
    finally:
        if opened is not None:
            opened.close()


def live_sessions() -> tuple[list[LiveSession], int]:
    """The sessions that processes of this user have open, and how many processes do not answer.

    The sockets of dead processes are removed.
    """
    if not owner_sockets.is_supported():
        return [], 0
    try:
        folder = owner_sockets.sockets_folder()
        owner_sockets.check_private(folder)
        sockets = sorted(folder.glob(f"*{owner_sockets.SUFFIX}"))
    except (OSError, ConfigError):
        return [], 0
    found: list[LiveSession] = []
    silent = 0
    for each in sockets:
        with connection(each) as opened:
            if opened is not None:
                found += opened.sessions
            elif each.exists():
                silent += 1
    return found, silent


def wanted_sessions(words: Sequence[str], *, running: bool, everywhere: bool = False) -> list[LiveSession]:
    """The sessions that the words name, or those of this directory where there are none.

    Raises:
        CommandFailure: There is none.
    """
    if not owner_sockets.is_supported():
        raise UsageFailure("sessions of other processes cannot be reached: this system has no Unix sockets")
    known, silent = live_sessions()
    found = [each for each in known if not running or each.running]
    matching = [each for each in found if all(each.is_called(word) for word in words)]
    if not words and not everywhere:
        matching = [each for each in found if os.path.realpath(each.cwd) == str(Path.cwd().resolve())]
    if matching:
        return matching
    idle = [each for each in known if words and all(each.is_called(word) for word in words)]
    what = "runs" if running else "is open"
    if idle:
        message = f"{idle[0].session_id} is open, and nothing runs in it"
    elif words:
        message = f"nothing {what} that is called {' '.join(words)!r}"
    else:
        message = f"nothing {what}{'' if everywhere else ' in this directory'}"
    elsewhere = [f"{each.agent} {each.session_id} in {each.cwd}" for each in found if each not in matching]
    if silent:
        message += f", as far as can be seen: {silent} {'process does' if silent == 1 else 'processes do'} not answer"
    advice = f"Elsewhere: {'; '.join(elsewhere[:5])}" if elsewhere else ""
    raise CommandFailure(Status.NO_SESSION, "session", message, advice=advice)


def only_one(found: Sequence[LiveSession], verb: str) -> LiveSession:
    """The only session that was found.

    Raises:
        CommandFailure: There are several.
    """
    if len(found) > 1:
        names = "; ".join(f"{each.agent} {each.session_id}" for each in found[:5])
        message = f"several sessions match: {names}"
        raise CommandFailure(Status.USAGE, "session", message, advice=f"Name one: accord {verb} SESSION")
    return found[0]
