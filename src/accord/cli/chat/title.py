"""The terminal's title while a chat runs: the agent and the folder. The title from before comes back at the end."""

from __future__ import annotations

from pathlib import Path

from accord.display import SafeText, exact, filled

# XTWINOPS: terminals that support it keep a stack of titles.
SAVE_TITLE = "\x1b[22;2t"
RESTORE_TITLE = "\x1b[23;2t"
_SET, _END = "\x1b]2;", "\x1b\\"


def title_text(agent: str, cwd: str) -> SafeText:
    """The title; it contains no text of the agent."""
    return filled("accord · {} · {}", exact(agent, 40), exact(Path(cwd).name or cwd, 60))


def title_sequence(agent: str, cwd: str) -> str:
    """The sequence that saves the current title and sets ours."""
    return f"{SAVE_TITLE}{_SET}{title_text(agent, cwd)}{_END}"
