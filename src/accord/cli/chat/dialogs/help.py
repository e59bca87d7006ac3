"""The help page (F1, `/help`): all keys, the commands of the chat, and those of the agent."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from accord.cli.chat.lines import Lines
from accord.cli.chat.own_commands import OWN_COMMANDS
from accord.cli.chat.widgets import styled
from accord.display import exact, filled, own
from accord.session.option import Command

_KEYS = (
    ("Enter", "send; while the agent works, it waits for its turn"),
    ("Ctrl+J", "a new line (also Alt+Enter)"),
    ("Esc, Ctrl+C", "cancel; waiting prompts come back into the composer"),
    ("Ctrl+C twice, Ctrl+Q", "leave"),
    ("/", "commands of the chat and of the agent; Tab completes"),
    ("@", "files, sent along; also a pasted path of a picture"),
    ("!", "a line for your own shell; the agent never sees it"),
    ("Up, Down", "earlier prompts, also of earlier chats"),
    ("Ctrl+X", "write the prompt in your editor ($VISUAL, $EDITOR)"),
    ("PgUp, PgDn", "scroll the conversation"),
    ("Tab", "to its parts: Enter unfolds one, Esc comes back"),
    ("Ctrl+G", "unfold everything, or fold it"),
    ("Ctrl+T", "diffs side by side if there is room, or inline"),
    ("Ctrl+L", "the whole plan, or one line of it"),
    ("Ctrl+O", "options: model, mode, and others"),
    ("Shift+Tab", "the next mode"),
    ("Ctrl+R", "sessions of this directory"),
    ("Ctrl+N", "a new session"),
    ("F2", "the agent's stderr, the log and the wire"),
    ("y a n x, 1-9", "answer a permission question"),
    ("Shift+drag", "select text as in any terminal"),
)


def help_view(commands: Sequence[Command] = ()) -> Lines:
    """A line each; `commands` are the agent's."""
    lines = [styled((own("Keys"), "bold underline"))]
    lines += [_line(keys, meaning) for keys, meaning in _KEYS]
    lines += [styled((own(""), "")), styled((own("Commands of the chat"), "bold underline"))]
    theirs = {command.name for command in commands}
    for command in OWN_COMMANDS:
        words = f"/{command.name} {command.hint or ''}".strip()
        other = f" (the agent's own: //{command.name})" if command.name in theirs else ""
        lines.append(_line(words, f"{command.description}{other}"))
    if commands:
        lines += [styled((own(""), "")), styled((own("Commands of the agent are completed behind /"), "dim"))]
    return Lines(lines)


def _line(words: str, meaning: str) -> Text:
    return styled((filled("{:<26}", exact(words)), "bold"), (exact(meaning), ""))
