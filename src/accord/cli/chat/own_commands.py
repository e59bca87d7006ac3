"""The chat's own slash commands: their table, the parser of typed lines, and the help page with all keys."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, TypeAlias

from rich.text import Text

from accord.cli.chat.lines import Lines
from accord.cli.chat.widgets import styled
from accord.display import exact, filled, own
from accord.session.option import Command

OWN_COMMANDS: tuple[Command, ...] = (
    Command("help", "The keys and the commands of this chat"),
    Command("exit", "Leave (also /quit, /q); the session can be gone on with"),
    Command("new", "A new session (also /clear)"),
    Command("sessions", "The sessions of this directory"),
    Command("model", "Choose the model", hint="[name]"),
    Command("mode", "Choose the mode", hint="[name]"),
    Command("theme", "Light or dark, from now on", hint="[auto|dark|light]"),
    Command("bell", "Ring when a turn took so many seconds", hint="[seconds|off]"),
    Command("export", "The conversation as a Markdown file", hint="[file]"),
    Command("log", "What the agent writes to stderr, the log and the wire", hint="[stderr|log|wire]"),
    Command("editor", "Write the prompt in your editor", hint="[text]"),
)
NAMES = frozenset(command.name for command in OWN_COMMANDS)
# What other chats call them; an agent's command of that name goes first.
ALIASES = {"quit": "exit", "q": "exit", "clear": "new"}
ESCAPE = "/"
# A command, and not a path such as /etc/hosts.
_WORD = re.compile(r"/([^\W_][\w.:-]*)\Z")

Kind: TypeAlias = Literal["prompt", "own", "shell"]


@dataclass(frozen=True, slots=True)
class Typed:
    """A line of the user: a prompt for the agent, a command of the chat, or a command for a shell."""

    kind: Kind
    text: str
    """The prompt; the argument of a command; the line for the shell."""
    name: str = ""


def typed(text: str, commands: Sequence[Command] = ()) -> Typed:
    """The meaning of a text that the user sent; `commands` are the agent's."""
    if text.startswith("!"):
        return Typed("shell", text[1:].strip())
    head, _, rest = text.partition("\n")[0].partition(" ")
    if head.startswith("//") and head[2:] in NAMES | ALIASES.keys():
        # The agent's command, also where the chat has one of that name.
        return Typed("prompt", text[1:])
    if head.startswith("/") and "\n" not in text:
        theirs = {command.name for command in commands}
        name = head[1:] if head[1:] in NAMES | theirs else ALIASES.get(head[1:], "")
        if name in NAMES:
            return Typed("own", rest.strip(), name)
    return Typed("prompt", text)


def unknown_command(text: str, commands: Sequence[Command]) -> tuple[str, str | None] | None:
    """The name of a command that neither the chat nor the agent has, and the one that it looks like.

    None where the text names a command that exists, or may be a prompt.
    """
    head = text.split(maxsplit=1)[0] if text.startswith("/") else ""
    named = _WORD.match(head)
    names = NAMES.union(command.name for command in commands)
    if named is None or named[1] in names:
        return None
    return named[1], next(iter(get_close_matches(named[1], sorted({*names, *ALIASES}), 1, 0.6)), None)


@dataclass(frozen=True, slots=True, order=True)
class CommandOffer:
    """A command as it is typed behind the slash, and its description."""

    word: str
    about: str
    hint: str = ""


def offered(commands: Sequence[Command]) -> list[CommandOffer]:
    """Every command: the agent's, then the chat's. Where both have a name, the description says how to type each."""
    theirs = {command.name for command in commands}
    offers = [
        CommandOffer(
            f"{ESCAPE}{command.name}" if command.name in NAMES else command.name,
            command.description,
            command.hint or "",
        )
        for command in commands
    ]
    for command in OWN_COMMANDS:
        other = f" (the agent's: //{command.name})" if command.name in theirs else ""
        offers.append(CommandOffer(command.name, f"chat: {command.description}{other}", command.hint or ""))
    return offers


# --- the help page

_KEYS = (
    ("Enter", "send; while the agent works, it waits for its turn"),
    ("Ctrl+J", "a new line (also Alt+Enter)"),
    ("Esc, Ctrl+C", "cancel; waiting prompts come back into the composer"),
    ("Ctrl+C", "clear the prompt, where the agent does not work; Ctrl+Z brings it back"),
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
