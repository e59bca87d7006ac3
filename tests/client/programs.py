"""Starts `raw_agent.py` for the tests of this folder, and reads its log."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).with_name("raw_agent.py")


class RawAgent:
    """A plan for the program, and its journal."""

    def __init__(self, folder: Path, **plan: Any) -> None:
        self.journal = folder / "journal"
        self.argv = (sys.executable, "-I", "-S", str(PROGRAM), str(self.journal), json.dumps(plan))

    @property
    def entries(self) -> list[dict[str, Any]]:
        """All lines, of all its processes."""
        if not self.journal.exists():
            return []
        # The last line may be half written while it runs.
        whole = self.journal.read_text(encoding="utf-8").rpartition("\n")[0]
        return [json.loads(line) for line in whole.splitlines()]

    @property
    def pids(self) -> list[int]:
        """Its processes, and those that they left behind."""
        return [pid for entry in self.entries for name in ("started", "stays") if (pid := entry.get(name))]

    @property
    def starts(self) -> int:
        """How often it was started."""
        return sum("started" in entry for entry in self.entries)

    def received(self, method: str) -> list[dict[str, Any]]:
        """The params of every message of a method."""
        return [entry["params"] for entry in self.entries if entry.get("method") == method]

    def prompts(self) -> list[str]:
        """What it was told, in order."""
        return [params["prompt"][0]["text"] for params in self.received("session/prompt")]
