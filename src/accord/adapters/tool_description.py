"""The description of a call by the name and the arguments of its tool: its kind, its title, its files, its changes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from accord.session.tool import ToolKind

__all__ = ["kind_of", "paths_of", "proposed_change", "title_of", "todos_of"]

# The first row that fits counts.
KINDS: tuple[tuple[ToolKind, tuple[str, ...]], ...] = (
    ("read", ("read", "open", "cat", "view")),
    ("edit", ("write", "edit", "create", "update", "patch", "replace")),
    ("delete", ("delete", "remove", "rm")),
    ("move", ("move", "rename")),
    ("search", ("search", "find", "grep", "glob", "list", "ls")),
    ("execute", ("run", "exec", "shell", "bash", "command", "python")),
    ("fetch", ("fetch", "http", "browse", "web")),
    ("think", ("think", "reason")),
)
PATH_ARGUMENTS = ("path", "file_path", "filename", "file", "target_file", "notebook_path")
# Pairs of arguments: the text that is replaced, and the new text.
CHANGE_ARGUMENTS = (("old_string", "new_string"), ("old_text", "new_text"))
CONTENT_ARGUMENT = "content"
# The arguments that a title shows where a call has no path.
TITLE_ARGUMENTS = ("command", "query", "pattern", "url", "name", "title", "task")
TODO_ARGUMENTS = ("todos", "plan", "steps", "items", "entries")
MAX_TITLE_ARGUMENT = 60
# A shorter word is a verb only as a whole: `cat` is none in `catalogue`.
MIN_PREFIX = 4
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _is_verb(word: str, verb: str) -> bool:
    return word == verb or (len(verb) >= MIN_PREFIX and word.startswith(verb))


def kind_of(name: str, annotations: Mapping[str, Any] | None = None) -> ToolKind:
    """The kind of a tool: by the annotations of an MCP tool where there are some, else by the verb in its name."""
    hints = annotations or {}
    if hints.get("readOnlyHint") is True:
        return "read"
    if hints.get("destructiveHint") is True:
        return "delete"
    words = _words(name)
    if {"todo", "todos"} & set(words):
        return "think"  # `write_todos` writes no file
    for kind, verbs in KINDS:
        if any(_is_verb(word, verb) for word in words for verb in verbs):
            return kind
    return "other"


def paths_of(arguments: Any) -> list[str]:
    """The paths that the arguments of a call name."""
    if not isinstance(arguments, Mapping):
        return []
    return [value for name in PATH_ARGUMENTS if isinstance(value := arguments.get(name), str) and value]


def title_of(name: str, arguments: Any) -> str:
    """The title for the user: the words of the tool's name, and its most telling argument."""
    words = " ".join(name.replace("_", " ").replace("-", " ").split()) or "tool"
    title = f"{words[:1].upper()}{words[1:]}"
    named = paths_of(arguments)[:1]
    if not named and isinstance(arguments, Mapping):
        named = [value for key in TITLE_ARGUMENTS if isinstance(value := arguments.get(key), str) and value][:1]
    if not named:
        return title
    argument = " ".join(named[0].split())
    shown = argument if len(argument) <= MAX_TITLE_ARGUMENT else f"{argument[: MAX_TITLE_ARGUMENT - 1]}…"
    return f"{title} {shown}"


@dataclass(frozen=True, slots=True)
class ProposedChange:
    """A change of a file that the arguments of a call describe; `is_whole` if `new` is all of the file."""

    path: str
    old: str | None
    new: str
    is_whole: bool = False


def proposed_change(kind: ToolKind, arguments: Any) -> ProposedChange | None:
    """The change that a call would make; None where its arguments describe none."""
    paths = paths_of(arguments)
    if not paths:
        return None
    for old_name, new_name in CHANGE_ARGUMENTS:
        old, new = arguments.get(old_name), arguments.get(new_name)
        if isinstance(old, str) and isinstance(new, str):
            return ProposedChange(paths[0], old, new)
    content = arguments.get(CONTENT_ARGUMENT)
    if kind == "edit" and isinstance(content, str):
        return ProposedChange(paths[0], None, content, is_whole=True)
    return None


def todos_of(name: str, arguments: Any) -> list[Mapping[str, Any]] | None:
    """The todos that a call writes, for tools such as `write_todos` and `update_plan`; None for any other tool."""
    if not isinstance(arguments, Mapping) or not {"todo", "todos", "plan"} & set(_words(name)):
        return None
    for key in TODO_ARGUMENTS:
        todos = arguments.get(key)
        if isinstance(todos, list) and todos and all(isinstance(todo, Mapping) for todo in todos):
            return todos
    return None


def below(root: str) -> Callable[[str], str]:
    """For agents with a virtual root: a function that joins `/a.txt` and `a.txt` below `root`."""

    def join(path: str) -> str:
        return os.path.join(root, path.lstrip("/"))  # noqa: PTH118 - no disk is asked

    return join


def decoded(arguments: Any) -> Any:
    """Arguments or an output as the model or the user wrote them: JSON as a value, any other text as it is."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
