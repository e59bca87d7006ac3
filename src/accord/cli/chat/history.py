"""The prompts that were sent, kept over runs: one JSON text a line, the last ones, in a file of the user's own."""

from __future__ import annotations

import json
from pathlib import Path

from accord.cli.chat.private_file import append_private, write_private
from accord.display import prose, whole

MAX_PROMPTS = 500
MAX_PROMPT_CHARS = 20_000
# Beyond this only the end of the file is read, and the file is written anew.
MAX_BYTES = 1024 * 1024


class PromptHistory:
    """All prompts, the oldest first; without a path those of this chat alone."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.prompts: list[str] = []
        self.problem: str | None = None
        """Why prompts are not kept, where that is so."""
        if path is not None:
            self._load(path)

    def add(self, prompt: str) -> None:
        """Keep a prompt; not twice in a row, and not one that is a document of its own."""
        if self.prompts and self.prompts[-1] == prompt:
            return
        self.prompts = [*self.prompts[1 - MAX_PROMPTS :], prompt]
        if self._path is None or self.problem is not None or len(prompt) > MAX_PROMPT_CHARS:
            return
        try:
            append_private(self._path, _line(prompt))
        except OSError as error:
            self.problem = error.strerror or str(error)

    def _load(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                size = file.seek(0, 2)
                file.seek(max(0, size - MAX_BYTES))
                # The first line may be half of one then: it is no JSON, and is left out.
                lines = file.read(MAX_BYTES).splitlines()
        except FileNotFoundError:
            return
        except OSError as error:
            self.problem = error.strerror or str(error)
            return
        found = [prompt for line in lines if (prompt := _prompt(line)) is not None]
        self.prompts = found[-MAX_PROMPTS:]
        if size > MAX_BYTES or len(lines) > 2 * MAX_PROMPTS:
            self._compact(path)

    def _compact(self, path: Path) -> None:
        try:
            write_private(path, b"".join(map(_line, self.prompts)))
        except OSError as error:
            self.problem = error.strerror or str(error)


def _line(prompt: str) -> bytes:
    return json.dumps(whole(prompt), ensure_ascii=False).encode() + b"\n"


def _prompt(line: bytes) -> str | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    # It was typed into this chat once; whoever changed the file since must not steer the screen.
    return prose(found) if isinstance(found, str) and found.strip() else None
