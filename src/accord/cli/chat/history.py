"""The history of sent prompts, kept across runs: the last ones, one JSON text per line, in a private file."""

from __future__ import annotations

import json
from pathlib import Path

from accord.cli.chat.private_file import append_private, write_private
from accord.display import prose, whole

MAX_PROMPTS = 500
MAX_PROMPT_CHARS = 20_000
# Beyond this size only the end of the file is read, and the file is rewritten.
MAX_BYTES = 1024 * 1024


class PromptHistory:
    """All prompts, the oldest first; without a path those of this chat alone."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.prompts: list[str] = []
        self.problem: str | None = None
        """The reason why prompts cannot be kept, if there is one."""
        if path is not None:
            self._load(path)

    def add(self, prompt: str) -> None:
        """Keep a prompt, not twice in a row; one over the size limit is not written to the file."""
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
                # The first line may be cut: it is no JSON, and is left out.
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
    # The file may have been changed since: it must not control the screen.
    return prose(found) if isinstance(found, str) and found.strip() else None
