"""The principal of each session, in an append-only file, so that a restart knows it too."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

__all__ = ["SessionOwners"]


class _Line(msgspec.Struct, omit_defaults=True):
    session: str
    principal: str | None = None


class SessionOwners:
    """The owners of all sessions that were opened here. Without a path they are forgotten with this process."""

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
