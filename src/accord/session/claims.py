"""Claims about a tool call: the paths and commands in every field of it that may hold them.

Agents put the same facts into different places: locations, diffs, patches, `rawInput` under a dozen names. The claims
collect all of them, as the agent spelled them; `accord.workspace.subject` resolves them and `accord.session.rules`
judges them. A title is a label for people and never a claim.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from accord.protocol.model import Unknown
from accord.session.content import Text
from accord.session.entry import TerminalEntry, ToolCall
from accord.session.git_patch import NOWHERE, is_shown_by, patch_paths
from accord.session.tool import Diff, FileChange, Shown, TerminalView

__all__ = [
    "ARGUMENT_KEYS",
    "COMMAND_KEYS",
    "DIRECTORY_KEYS",
    "ENVIRONMENT_KEYS",
    "CallClaims",
    "CommandClaim",
    "PathClaim",
    "change_kinds",
    "claims_in",
    "claims_of",
    "field_name",
    "terminal_claim",
    "with_shown_blocks",
]

FILE_KINDS = frozenset({"read", "edit", "delete", "move", "search"})
WRITING_KINDS = frozenset({"edit", "delete", "move"})
# The paths or the command of such a call are all of it. Elsewhere they are parameters among others.
_EXACT_KINDS = FILE_KINDS | {"execute"}

# More claims about one call than a user could read before answering: the rest counts as unknown.
MAX_CLAIMS = 256
MAX_CHARACTERS = 256 * 1024
MAX_DEPTH = 6
_UNREAD = "(nested too deeply)"

# Names are compared without case and separators: `file_path`, `filePath` and `FilePath` are one.
COMMAND_KEYS = frozenset(
    {
        *("command", "commands", "cmd", "cmds", "commandline", "cmdline", "commandstring", "commandtext"),
        *("shell", "shellcommand", "shellline", "shellscript", "bash", "bashcommand", "terminalcommand", "script"),
        *("argv", "exec", "execute", "executable", "program", "binary", "run", "powershell"),
    }
)
DIRECTORY_KEYS = frozenset({"cwd", "workdir", "workingdirectory", "workingdir", "directory", "dir", "currentdirectory"})
ENVIRONMENT_KEYS = frozenset({"env", "environment", "envvars", "environmentvariables"})
ARGUMENT_KEYS = frozenset({"args", "arguments", "parameters"})
_STANDARD_INPUT_KEYS = frozenset({"stdin", "input", "heredoc"})
# A text under these keys is a shell line, independent of the keys beside it.
_LINE_KEYS = frozenset({"line", "script", "shell", "shellscript", "shellline"})
_PATH_KEYS = frozenset(
    {
        *("path", "paths", "file", "files", "filepath", "filepaths", "filename", "filenames", "abspath"),
        *("absolutepath", "relativepath", "relativeworkspacepath", "targetfile", "targetpath", "notebook"),
        *("notebookpath", "oldpath", "newpath", "source", "sourcepath", "destinationpath", "uri", "uris"),
        *("destination", "outputfile", "outputpath", "outfile", "folder", "folderpath"),
    }
)
# These mean files where the call is about files, and anything elsewhere: a recipient, a date.
_FILE_KEYS = frozenset({"target", "src", "from", "to", "dest", "dst", "output", "name"})
# Texts that a call brings along. A string anywhere else that looks like a path counts as one.
_TEXT_KEYS = frozenset(
    {
        *("content", "contents", "text", "oldstring", "newstring", "oldstr", "newstr", "oldtext", "newtext", "old"),
        *("new", "replacement", "replace", "insert", "code", "pattern", "regex", "query", "search", "description"),
        *("explanation", "reason", "prompt", "message", "instructions", "title", "patch", "diff", "input", "stdin"),
    }
)
_NO_PATHS = _TEXT_KEYS | COMMAND_KEYS | ENVIRONMENT_KEYS | ARGUMENT_KEYS
_PATCH_KEYS = frozenset({"patch", "diff", "input"})
_PATH_BEGINS = ("/", "./", "../", "~/", "file:")
MAX_PATH_CHARACTERS = 4096
_SEPARATORS = re.compile(r"[\s_-]")
# The headings of the patch format that some models write instead of Git's.
_PATCH_HEADING = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PathClaim:
    """A file that the call touches, as the agent spells it; `kind` is what happens to it."""

    kind: str
    path: str


@dataclass(frozen=True, slots=True)
class CommandClaim:
    """A command that the call runs: an argv, or a line for a shell; neither where it could not be read.

    `input_digest` identifies the standard input that it is given.
    """

    argv: tuple[str, ...] | None = None
    line: str | None = None
    directory: str | None = None
    environment: tuple[tuple[str, str], ...] = ()
    input_digest: str | None = None


@dataclass(frozen=True, slots=True)
class CallClaims:
    """All claims about one call. `is_complete` is False where there was more than is kept.

    `input_digest` identifies the whole input of a call that is neither about files nor a command.
    """

    kind: str = "other"
    paths: tuple[PathClaim, ...] = ()
    commands: tuple[CommandClaim, ...] = ()
    is_complete: bool = True
    input_digest: str | None = None
    former: tuple[str, ...] = ()
    """Further kinds: those that the call had before (not `other`, which also stands for none), and those of claims
    that are not kept or that a terminal stands for."""

    def joined(self, earlier: CallClaims) -> CallClaims:
        """These claims and those that were made before: a later report takes nothing back."""
        paths = tuple(dict.fromkeys((*earlier.paths, *self.paths)))
        commands = tuple(dict.fromkeys((*earlier.commands, *self.commands)))
        # It was called an edit or a command once; calling it a read afterwards does not make it one.
        former = dict.fromkeys((*earlier.former, earlier.kind, *self.former))
        fits = len(paths) + len(commands) <= MAX_CLAIMS and _size(paths, commands) <= MAX_CHARACTERS
        if not fits:
            former.update(dict.fromkeys(_kinds(earlier.paths, earlier.commands)))
            paths, commands = self.paths, self.commands
        return CallClaims(
            self.kind,
            paths,
            commands,
            self.is_complete and earlier.is_complete and fits,
            self.input_digest,
            tuple(each for each in former if each not in ("other", self.kind)),
        )


def claims_of(call: ToolCall, terminals: Mapping[str, TerminalEntry] | None = None) -> CallClaims:
    """The claims of the call in its current state; `terminals` are those of its session, by id."""
    # Nearly all items of a call with many of them are texts, which claim nothing.
    items = [item for item in call.content if type(item) is not Shown]
    diffs = [item for item in items if isinstance(item, Diff)]
    unknown = [item.payload for item in items if isinstance(item, Unknown)]
    operations = [change.payload for diff in diffs for change in diff.changes if change.payload is not None]
    views = [item.terminal_id for item in items if isinstance(item, TerminalView)]
    paths = dict.fromkeys(PathClaim(call.kind, location.path) for location in call.locations)
    for diff in diffs:
        paths.update(dict.fromkeys(_diff_claims(call.kind, diff)))
    located = frozenset(location.path for location in call.locations)
    for value in (_opened(call.raw_input), *unknown):
        paths.update(dict.fromkeys(_input_claims(call.kind, value, located)))
    inputs = (call.raw_input, *unknown, *operations)
    found_commands = [each for value in inputs for each in _input_commands(value, 0)]
    if call.kind == "execute" and isinstance(call.raw_input, str) and not found_commands:
        found_commands = [CommandClaim(line=call.raw_input)]
    run = [claim for each in views if (claim := terminal_claim((terminals or {}).get(each))) is not None]
    digest = None
    if call.raw_input is not None and (call.kind not in _EXACT_KINDS or not (paths or found_commands)):
        digest = _digest([call.kind, call.name, call.raw_input, *unknown])
    found, commands = tuple(paths), tuple(dict.fromkeys([*found_commands, *run]))
    # A call that shows a terminal runs a command, also one that is not named.
    former = ("execute",) if views and call.kind != "execute" else ()
    if len(found) + len(commands) <= MAX_CLAIMS and _size(found, commands) <= MAX_CHARACTERS:
        return CallClaims(call.kind, found, commands, is_complete=True, input_digest=digest, former=former)
    kinds = (kind for kind in dict.fromkeys((*former, *_kinds(found, commands))) if kind not in ("other", call.kind))
    return CallClaims(call.kind, is_complete=False, input_digest=digest, former=tuple(kinds))


def terminal_claim(terminal: TerminalEntry | None) -> CommandClaim | None:
    """The command of a terminal, where the agent names it."""
    if terminal is None or not terminal.command:
        return None
    return CommandClaim(line=terminal.command, directory=terminal.cwd or None)


def _kinds(paths: Iterable[PathClaim], commands: Sequence[CommandClaim]) -> Iterator[str]:
    yield from (claim.kind for claim in paths)
    if commands:
        yield "execute"


def with_shown_blocks(claims: CallClaims, call: ToolCall) -> CallClaims:
    """The claims for a question about the call: where its input identifies it, so do the blocks shown with it.

    Only for questions: a call that streams its results has a digest of its input alone.
    """
    blocks = [item.block for item in call.content if isinstance(item, Shown)]
    if claims.input_digest is None or not blocks:
        return claims
    texts = [block.text if isinstance(block, Text) else repr(block) for block in blocks]
    return replace(claims, input_digest=_digest([claims.input_digest, *texts]))


def field_name(key: object) -> str:
    """A key of an input without case and separators, as the tables of names have it."""
    return _SEPARATORS.sub("", str(key)).lower()


def _size(paths: Iterable[PathClaim], commands: Iterable[CommandClaim]) -> int:
    in_paths = sum(len(each.path) for each in paths)
    return in_paths + sum(len(each.line or "") + sum(map(len, each.argv or ())) for each in commands)


def _digest(value: Any) -> str | None:
    """The digest of an input, independent of the order of its keys."""
    try:
        text = json.dumps(value, sort_keys=True, default=repr)
    except (ValueError, RecursionError):
        return None
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# --- files


def _diff_claims(kind: str, diff: Diff) -> Iterator[PathClaim]:
    for change in diff.changes:
        yield from _change_claims(kind, change)
    if diff.patch is None:
        return
    paths = patch_paths(diff.patch)
    if paths is None:
        # A patch that cannot be read touches files that are not known.
        yield PathClaim("edit", "")
        return
    named = {path for change in diff.changes for path in (change.path, change.old_path)}
    if not is_shown_by(diff.patch, diff.changes):
        # It does something else than its changes say.
        named = set()
    yield from (PathClaim("edit", path) for path in paths if path not in named)


def _change_claims(kind: str, change: FileChange) -> Iterator[PathClaim]:
    for path in (change.path, change.old_path):
        if path and path != NOWHERE:
            for each in change_kinds(kind, change):
                yield PathClaim(each, path)
    if change.payload is not None:
        # An operation that no edition names may change every file that it names.
        yield from _input_claims("edit", change.payload, frozenset())
    if not change.path:
        yield PathClaim("edit", "")


def change_kinds(kind: str, change: FileChange) -> tuple[str, ...]:
    """The kinds of one change in a call of this kind: a diff changes files whatever the call is called."""
    if kind == "delete" and not change.new:
        return ("delete",)
    kinds: set[str] = {change.operation if change.operation in WRITING_KINDS else "edit"}
    if change.operation == "move" and change.old != change.new:
        kinds.add("edit")
    if kind in WRITING_KINDS:
        kinds.add(kind)
    return tuple(sorted(kinds))


def claims_in(kind: str, payload: Any) -> CallClaims:
    """The claims of an object of a kind that no edition defines, for instance the subject of a permission request."""
    return claims_of(ToolCall("", kind=kind, raw_input=payload))


def _opened(value: Any) -> Any:
    """The value; a text that is a JSON object or list is decoded, because a model's arguments may come as a text."""
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["} and len(value) <= MAX_CHARACTERS:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _input_claims(kind: str, raw_input: Any, located: frozenset[str]) -> Iterator[PathClaim]:
    keys = _PATH_KEYS | _FILE_KEYS if kind in FILE_KINDS else _PATH_KEYS
    # A patch changes files whatever the call's kind is.
    changing = kind if kind in WRITING_KINDS else "edit"
    for name, value in _fields(raw_input, 0):
        values = value if isinstance(value, list) else [value]
        if name is _UNREAD:
            yield PathClaim(kind, "")
        elif name in keys:
            yield from (PathClaim(kind, each) for each in values if isinstance(each, str) and each)
        elif name in _PATCH_KEYS and isinstance(value, str):
            named = [*map(str.strip, _PATCH_HEADING.findall(value)), *(patch_paths(value) or ())]
            yield from (PathClaim(changing, _rooted(path, located)) for path in named)
            if not named and value.strip() and name != "input" and kind in WRITING_KINDS:
                # Files that are not known.
                yield PathClaim(changing, "")
        elif name == "changes" and isinstance(value, dict):
            # One adapter keys its changes by path.
            yield from (PathClaim(changing, each) for each in value if isinstance(each, str) and each)
        elif name not in _NO_PATHS:
            yield from (PathClaim(kind, each) for each in values if _looks_like_a_path(each))


def _rooted(path: str, located: frozenset[str]) -> str:
    """A path of a patch; with its first slash again where an absolute one was written behind `a/` and `b/`.

    Only a location of the same call shows that: without one, both paths are claimed.
    """
    return f"/{path}" if f"/{path}" in located else path


def _looks_like_a_path(value: Any) -> bool:
    is_short = isinstance(value, str) and len(value) <= MAX_PATH_CHARACTERS
    return is_short and value.startswith(_PATH_BEGINS) and "\n" not in value


def _fields(value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Every key of nested objects with its value, the key without case and separators.

    An object beyond the limit is not read: it has the key `_UNREAD`.
    """
    if depth > MAX_DEPTH:
        if value and isinstance(value, dict | list):
            yield _UNREAD, value
        return
    if isinstance(value, dict):
        for key, each in value.items():
            name = field_name(key)
            each = each if name in _TEXT_KEYS else _opened(each)  # noqa: PLW2901 - the same value, read
            yield name, each
            if name not in ENVIRONMENT_KEYS:
                yield from _fields(each, depth + 1)
    elif isinstance(value, list):
        for each in value:
            yield from _fields(each, depth + 1)


# --- commands


def _input_commands(value: Any, depth: int) -> Iterator[CommandClaim]:
    """The commands of nested objects, each with the directory and environment of the same object."""
    value = _opened(value)
    if _is_too_deep(value, depth):
        yield CommandClaim()
    elif isinstance(value, list):
        for each in value:
            yield from _input_commands(each, depth + 1)
    elif isinstance(value, dict):
        fields = [(field_name(key), each) for key, each in value.items()]
        for name, each in fields:
            if name in COMMAND_KEYS:
                yield from _Beside(fields).commands(name, each, depth)
            elif name not in _TEXT_KEYS or not isinstance(each, str):
                yield from _input_commands(each, depth + 1)


def _is_too_deep(value: Any, depth: int) -> bool:
    """Whether a value is an object that is not read: nested beyond the limit, or a text that is too large."""
    if isinstance(value, str):
        return len(value) > MAX_CHARACTERS and value.lstrip()[:1] in {"{", "["}
    return depth > MAX_DEPTH and bool(value) and isinstance(value, dict | list)


_UNREADABLE: Any = object()


def _one(fields: Sequence[tuple[str, Any]], keys: frozenset[str]) -> Any:
    """The one value under any of these keys; two that differ are not readable: which one counts is unknown."""
    values = [each for name, each in fields if name in keys and each is not None]
    if any(each != values[0] for each in values):
        return _UNREADABLE
    return values[0] if values and values[0] not in ("", [], {}) else None


class _Beside:
    """The fields beside a command in the same object: its arguments, directory and environment."""

    def __init__(self, fields: Sequence[tuple[str, Any]]) -> None:
        directory = _one(fields, DIRECTORY_KEYS)
        environment = _one(fields, ENVIRONMENT_KEYS)
        self._arguments = _one(fields, ARGUMENT_KEYS)
        given = [each for each in fields if each[0] in _STANDARD_INPUT_KEYS and each[1] not in (None, "", [], {})]
        self._input_digest = _digest(given) if given else None
        self._directory: str | None = directory if isinstance(directory, str) else None
        self._environment = None if environment is _UNREADABLE else _environment(environment)
        self._is_readable = (
            self._environment is not None
            and self._arguments is not _UNREADABLE
            and (directory is None or isinstance(directory, str))
        )

    def commands(self, name: str, value: Any, depth: int) -> Iterator[CommandClaim]:
        """The commands under one name: a line, an argv, several of either, or an object of its own."""
        if value in ("", [], {}) or not isinstance(value, str | list | dict):
            # `"shell": true` and the like are options of a run, not commands.
            return
        if not self._is_readable:
            yield CommandClaim()
        elif isinstance(value, str):
            yield self._line(name, value)
        elif isinstance(value, list) and name in {"commands", "cmds"}:
            for each in value:
                yield from self.commands("line", each, depth)
        elif isinstance(value, list) and all(isinstance(each, str) for each in value):
            yield CommandClaim(tuple(value), None, self._directory, self._environment or (), self._input_digest)
        else:
            yield from list(_input_commands(value, depth + 1)) or [CommandClaim(directory=self._directory)]

    def _line(self, name: str, line: str) -> CommandClaim:
        arguments, environment = self._arguments, self._environment or ()
        if name in _LINE_KEYS or arguments in (None, "", {}):
            return CommandClaim(None, line, self._directory, environment, self._input_digest)
        if isinstance(arguments, list) and all(isinstance(each, str) for each in arguments):
            # A program beside its arguments is one argv.
            return CommandClaim((line, *arguments), None, self._directory, environment, self._input_digest)
        return CommandClaim(directory=self._directory)


def _environment(value: Any) -> tuple[tuple[str, str], ...] | None:
    """Names and values; None where they cannot be read."""
    if value is None:
        return ()
    if isinstance(value, dict):
        return tuple((str(name), str(each)) for name, each in value.items())
    if isinstance(value, list) and all(isinstance(each, dict) and isinstance(each.get("name"), str) for each in value):
        return tuple((each["name"], str(each.get("value", ""))) for each in value)
    return None
