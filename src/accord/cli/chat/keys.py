"""What the keys do, for those who ask."""

from __future__ import annotations

from accord.cli.chat.lines import Lines
from accord.cli.chat.plain import styled
from accord.display import exact, filled

__all__ = ["help_view"]

_KEYS = (
    ("Enter", "send; while the agent works, it waits for its turn"),
    ("Ctrl+J", "a new line (also Alt+Enter)"),
    ("Esc, Ctrl+C", "cancel; what waits comes back into the prompt"),
    ("Ctrl+C twice, Ctrl+Q", "leave"),
    ("/", "the agent's commands; Tab completes"),
    ("@", "files, sent along; also a pasted path of a picture"),
    ("Up, Down", "what you said before"),
    ("PgUp, PgDn", "scroll the conversation"),
    ("Tab", "to its parts: Enter unfolds one, Esc comes back"),
    ("Ctrl+G", "unfold everything, or fold it"),
    ("Ctrl+T", "diffs side by side if there is room, or inline"),
    ("Ctrl+L", "the whole plan, or one line of it"),
    ("Ctrl+O", "options: model, mode, and others"),
    ("Shift+Tab", "the next mode"),
    ("Ctrl+R", "sessions of this directory"),
    ("Ctrl+N", "a new session"),
    ("y a n x, 1-9", "answer a permission question"),
    ("Shift+drag", "select text as in any terminal"),
)


def help_view() -> Lines:
    """All keys, a line each."""
    return Lines([styled((filled("{:<22}", keys), "bold"), (exact(words), "")) for keys, words in _KEYS])
