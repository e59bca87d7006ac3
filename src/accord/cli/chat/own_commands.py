"""The table of the chat's own slash commands, and the parser of typed lines.

Where the agent has a command of the same name, `/name` is the chat's and `//name` is the agent's: a command of the chat
works the same with every agent. A line that begins with `!` is a command for the user's own shell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from accord.session.option import Command

OWN_COMMANDS: tuple[Command, ...] = (
    Command("help", "The keys and the commands of this chat"),
    Command("exit", "Leave; the session can be gone on with"),
    Command("new", "A new session"),
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
ESCAPE = "/"

Kind: TypeAlias = Literal["prompt", "own", "shell"]


@dataclass(frozen=True, slots=True)
class Typed:
    """A line of the user: a prompt for the agent, a command of the chat, or a command for a shell."""

    kind: Kind
    text: str
    """The prompt; the argument of a command; the line for the shell."""
    name: str = ""


def typed(text: str) -> Typed:
    """The meaning of a text that the user sent."""
    if text.startswith("!"):
        return Typed("shell", text[1:].strip())
    head, _, rest = text.partition("\n")[0].partition(" ")
    if head.startswith("//") and head[2:] in NAMES:
        # The agent's command, also where the chat has one of that name.
        return Typed("prompt", text[1:])
    if head.startswith("/") and head[1:] in NAMES and "\n" not in text:
        return Typed("own", rest.strip(), head[1:])
    return Typed("prompt", text)


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
