"""The store of reference agents, so that a restart finds their sessions: in memory for each kind, or in a folder."""

from __future__ import annotations

import contextlib
import json
import time
import uuid
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["FolderStore", "Session", "Store"]


@dataclass
class Session:
    """One conversation: all that a restart must not lose."""

    cwd: str
    roots: list[str] = field(default_factory=list)
    """Additional directories."""
    id: str = field(default_factory=lambda: f"session-{uuid.uuid4().hex}")
    serial: int = field(default_factory=time.time_ns)
    """Grows from session to session."""
    title: str = ""
    updated_at: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    """Of its options."""
    history: list[dict[str, Any]] = field(default_factory=list)
    """Updates, as they are replayed."""


class Store:
    """In memory: for agents that are started and started again in one process."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}

    def keep(self, session: Session) -> None:
        """Put a session there, or put it back."""
        self._sessions[session.id] = session

    def find(self, id_: Any) -> Session | None:
        return self._sessions.get(id_) if isinstance(id_, str) else None

    def forget(self, id_: Any) -> None:
        """Remove a session, if it is there."""
        if isinstance(id_, str):
            self._sessions.pop(id_, None)

    def all(self) -> list[Session]:
        return sorted(self._sessions.values(), key=lambda session: -session.serial)


class FolderStore(Store):
    """One file for each session: for agents that are processes."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def keep(self, session: Session) -> None:
        super().keep(session)
        self._folder.mkdir(parents=True, exist_ok=True)
        # Replaced as a whole: an agent that is started while another one is killed reads no half of a file.
        draft = self._folder / f".{uuid.uuid4().hex}"
        draft.write_text(json.dumps(asdict(session)), encoding="utf-8")
        draft.replace(self._folder / f"{session.id}.json")

    def find(self, id_: Any) -> Session | None:
        return next((session for session in self.all() if session.id == id_), None)

    def forget(self, id_: Any) -> None:
        if self.find(id_) is not None:
            super().forget(id_)
            (self._folder / f"{id_}.json").unlink(missing_ok=True)

    def all(self) -> list[Session]:
        for file in self._folder.glob("session-*.json") if self._folder.is_dir() else ():
            if file.stem not in self._sessions:
                with contextlib.suppress(FileNotFoundError):  # another agent deleted it meanwhile
                    self._sessions[file.stem] = Session(**json.loads(file.read_text(encoding="utf-8")))
        return super().all()
