"""The common part of the rich agents on the Python SDKs: the story, and one session that survives restarts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

STORY: dict[str, Any] = json.loads(Path(__file__).with_name("rich_story.json").read_text(encoding="utf-8"))
SESSION = "session-1"
CHANGES = "made it friendly\n"
COUNT = " 5 tool calls, the last one cancelled."


class Memory:
    """The one session."""

    def __init__(self) -> None:
        self._file = Path(os.environ["XDG_STATE_HOME"], "session.json")
        self.kept: dict[str, Any] = {"mode": "ask", "model": "small", "said": [], "noted": [], "updates": []}

    def load(self) -> bool:
        if self._file.exists():
            self.kept = json.loads(self._file.read_text(encoding="utf-8"))
        return "cwd" in self.kept

    def save(self, **facts: Any) -> None:
        self.kept.update(facts)
        self._file.write_text(json.dumps(self.kept), encoding="utf-8")

    def note(self, prompt: str) -> None:
        self.kept["said"].append(prompt)
        if not prompt.startswith("/"):
            self.kept["noted"].append(prompt)
        self.save()

    def recall(self) -> str:
        return f"You said {', '.join(self.kept['said'])}; I noted {', '.join(self.kept['noted'])}."

    @property
    def cwd(self) -> Path:
        return Path(self.kept["cwd"])

    @property
    def greeting(self) -> Path:
        return self.cwd / "greeting.txt"

    @property
    def changes(self) -> Path:
        return self.cwd / "log" / "changes.txt"


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def shown(words: str) -> dict[str, Any]:
    return {"type": "content", "content": text(words)}


def better(greeting: str) -> str:
    return greeting.replace("Go away", "Welcome")


def plan_entries(done: int) -> list[dict[str, Any]]:
    states = ["completed"] * done + ["in_progress"] + ["pending"] * len(STORY["steps"])
    return [{**step, "status": state} for step, state in zip(STORY["steps"], states, strict=False)]
