"""Claims about a tool call: the paths and commands in every field of it that may hold them.

Agents put the same facts into different places: locations, diffs, patches, `rawInput` under a dozen names. The claims
collect all of them, as the agent spelled them; `accord.workspace.subject` resolves them and `accord.session.rules`
judges them. A title is a label for people and never a claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from accord.protocol.model import DROPPED, Unknown
from accord.session.content import Text
from accord.session.entry import TerminalEntry, ToolCall
from accord.session.git_patch import NOWHERE, is_shown_by, patch_paths
from accord.session.input_commands import (
    MAX_CHARACTERS,
    MAX_DEPTH,
    CommandClaim,
    digest_of,
    input_commands,
    opened,
)
from accord.session.input_names import (
    ADDRESS,
    ASKED_KEYS,
    ASKING_KINDS,
    DESTINATION_KEYS,
    ENVIRONMENT_KEYS,
    FILE_KEYS,
    NO_PATHS,
    PATCH_KEYS,
    PATCH_LINE,
    PATH_BEGINS,
    PATH_KEYS,
    TEXT_KEYS,
    WRITTEN_KEYS,
    field_name,
)
from accord.session.readings import FILE_KINDS, WRITING_KINDS, reading
from accord.session.tool import Diff, FileChange, Shown, TerminalView

__all__ = [
    "CallClaims",
    "CommandClaim",
    "PathClaim",
    "change_kinds",
    "claims_in",
    "claims_of",
    "terminal_claim",
    "with_shown_blocks",
]

# The paths or the command of such a call are all of it. Elsewhere they are parameters among others.
_EXACT_KINDS = FILE_KINDS | {"execute"}

# More claims about one call than a user could read before answering: the rest counts as unknown.
MAX_CLAIMS = 256
_UNREAD = "(nested too deeply)"

MAX_PATH_CHARACTERS = 4096
# The headings of the patch format that some models write instead of Git's.
_PATCH_HEADING = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PathClaim:
    """A file that the call touches, as the agent spells it; `kind` is what happens to it."""

    kind: str
    path: str


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
    is_unread: bool = False
    """Whether a part of the call was not read: what it would have named is not known."""
    refused: tuple[str, ...] = ()
    """Kinds of which only a rule that denies or asks counts."""
    names_address: bool = False
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
            self.is_unread or earlier.is_unread,
            tuple(dict.fromkeys((*earlier.refused, *self.refused))),
            self.names_address or earlier.names_address,
            tuple(each for each in former if each not in ("other", self.kind)),
        )


def claims_of(call: ToolCall, terminals: Mapping[str, TerminalEntry] | None = None) -> CallClaims:
    """The claims of the call in its current state; `terminals` are those of its session, by id."""
    # Nearly all items of a call with many of them are texts, which claim nothing.
    items = [
        item.block if type(item) is Shown else item
        for item in call.content
        if type(item) is not Shown or type(item.block) is Unknown
    ]
    diffs = [item for item in items if isinstance(item, Diff)]
    unknown = [item.payload for item in items if isinstance(item, Unknown)]
    operations = [change.payload for diff in diffs for change in diff.changes if change.payload is not None]
    views = [item.terminal_id for item in items if isinstance(item, TerminalView)]
    given = opened(call.raw_input)
    found_commands = [each for value in (call.raw_input, *unknown, *operations) for each in input_commands(value, 0)]
    if call.kind == "execute" and isinstance(call.raw_input, str) and not found_commands:
        found_commands = [CommandClaim(line=call.raw_input)]
    kind, further, refused = _kinds_said(call, [given, *unknown], has_command=bool(found_commands))
    located = frozenset(location.path for location in call.locations)
    places = [PathClaim(kind, location.path) for location in call.locations]
    inside = [each for value in (given, *unknown) for each in _input_claims(kind, value, located)]
    # The ends of a move in their order, which locations do not show.
    paths = dict.fromkeys((*inside, *places) if kind == "move" else places)
    for diff in diffs:
        paths.update(dict.fromkeys(_diff_claims(kind, diff)))
    paths.update(dict.fromkeys(inside))
    paths.update(dict.fromkeys(PathClaim(each, claim.path) for each in further for claim in tuple(paths)))
    for directory in {each.directory for each in found_commands if each.directory} - located:
        # The directory of a command is not one of its files.
        paths.pop(PathClaim(kind, directory), None)
    run = [claim for each in views if (claim := terminal_claim((terminals or {}).get(each))) is not None]
    digest = None
    if call.raw_input is not None and (kind not in _EXACT_KINDS or not (paths or found_commands)):
        digest = digest_of([kind, call.name, call.raw_input, *unknown])
    found, commands = tuple(paths), tuple(dict.fromkeys([*found_commands, *run]))
    is_unread = (
        any(DROPPED in (meta or {}) for meta in (call.meta, *(diff.meta for diff in diffs)))
        or (kind in FILE_KINDS and not _is_read(given))
        or not all(any(_input_claims(kind, each, located)) or any(input_commands(each, 0)) for each in unknown)
    )
    addressed = any(_is_address(name, value) for each in (given, *unknown) for name, value in _fields(each, 0))
    # A call that shows a terminal runs a command, also one that is not named.
    former = ("execute",) if views and kind != "execute" else ()
    if len(found) + len(commands) <= MAX_CLAIMS and _size(found, commands) <= MAX_CHARACTERS:
        return CallClaims(kind, found, commands, True, digest, is_unread, refused, addressed, former)  # noqa: FBT003 - complete
    kinds = (each for each in dict.fromkeys((*former, *_kinds(found, commands))) if each not in ("other", kind))
    return CallClaims(kind, (), (), False, digest, is_unread, refused, addressed, tuple(kinds))  # noqa: FBT003 - not complete


def _kinds_said(
    call: ToolCall, inputs: Sequence[Any], *, has_command: bool
) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The kind of the call, further kinds of its paths, and kinds that only count for a rule that denies or asks."""
    kind, refused = call.kind or "other", []
    fields = [each for value in inputs for each in _fields(value, 0)]
    if has_command:
        refused = [] if reading("a command", kind).says == "allow" else [kind]
    written = WRITTEN_KEYS - (ASKED_KEYS if kind in ASKING_KINDS else frozenset())
    is_written = any(name in written and value is not None and not isinstance(value, bool) for name, value in fields)
    names_path = bool(call.locations) or any(any(_input_claims(kind, value, frozenset())) for value in inputs)
    further: tuple[str, ...] = ()
    if is_written and names_path and not has_command:
        row = reading("a path and a text", kind)
        if row.says == "refuse":
            return row.judged[0], (), (*refused, kind)
        further = row.judged
    return kind, further, tuple(refused)


def _is_address(name: str, value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return name not in NO_PATHS and any(isinstance(each, str) and ADDRESS.match(each) for each in values)


def _is_read(value: Any) -> bool:
    """Whether the input of a call about files has a form in which paths are found."""
    if isinstance(value, dict | list):
        for name, each in _fields(value, 0):
            values = each if isinstance(each, list) else [each]
            if name in PATH_KEYS and not all(map(_may_name_a_path, values)):
                return False
        return all(isinstance(each, dict) for each in value) if isinstance(value, list) else True
    return not value


def _may_name_a_path(value: Any) -> bool:
    if isinstance(value, dict):
        return not value or any(_input_claims("edit", value, frozenset()))
    return not value or isinstance(value, str)


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
    return replace(claims, input_digest=digest_of([claims.input_digest, *texts]))


def _size(paths: Iterable[PathClaim], commands: Iterable[CommandClaim]) -> int:
    in_paths = sum(len(each.path) for each in paths)
    return in_paths + sum(len(each.line or "") + sum(map(len, each.argv or ())) for each in commands)


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
    for path in (change.old_path, change.path):
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


def _input_claims(kind: str, raw_input: Any, located: frozenset[str]) -> Iterator[PathClaim]:
    keys = PATH_KEYS | FILE_KEYS if kind in FILE_KINDS else PATH_KEYS
    changing = kind if kind in WRITING_KINDS else "edit"
    fields = _fields(raw_input, 0)
    for name, value in sorted(fields, key=_is_destination) if kind == "move" else fields:
        values = value if isinstance(value, list) else [value]
        if name is _UNREAD:
            yield PathClaim(kind, "")
        elif name in keys:
            yield from (PathClaim(kind, each) for each in values if isinstance(each, str) and each)
        elif any(_is_patch(name, each) for each in values):
            yield from (claim for text in values for claim in _patch_claims(kind, name, str(text), located))
        elif isinstance(value, dict):
            # One adapter keys its changes by path.
            yield from (PathClaim(changing, each) for each in value if name == "changes" or _may_be_a_path(kind, each))
        elif name not in NO_PATHS:
            yield from (PathClaim(kind, each) for each in values if _may_be_a_path(kind, each))


def _is_destination(field: tuple[str, Any]) -> bool:
    return field[0] in DESTINATION_KEYS


def _rooted(path: str, located: frozenset[str]) -> str:
    """A path of a patch; with its first slash again where an absolute one was written behind `a/` and `b/`.

    Only a location of the same call shows that: without one, both paths are claimed.
    """
    return f"/{path}" if f"/{path}" in located else path


def _patch_claims(kind: str, name: str, text: str, located: frozenset[str]) -> Iterator[PathClaim]:
    # A patch changes files whatever the call's kind is.
    changing = kind if kind in WRITING_KINDS else "edit"
    named = [*map(str.strip, _PATCH_HEADING.findall(text)), *(patch_paths(text) or ())]
    yield from (PathClaim(changing, _rooted(path, located)) for path in named)
    if not named and text.strip() and name != "input" and kind in WRITING_KINDS:
        # Files that are not known.
        yield PathClaim(changing, "")


def _is_patch(name: str, value: Any) -> bool:
    if not isinstance(value, str):
        return False
    return name in PATCH_KEYS or (name not in TEXT_KEYS and PATCH_LINE.search(value) is not None)


def _may_be_a_path(kind: str, value: Any) -> bool:
    """Whether a text under any name looks like a path; in a call that changes files, a slash is enough."""
    is_short = isinstance(value, str) and len(value) <= MAX_PATH_CHARACTERS and "\n" not in value
    return is_short and (value.startswith(PATH_BEGINS) or (kind in WRITING_KINDS and "/" in value))


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
            each = each if name in TEXT_KEYS else opened(each)  # noqa: PLW2901 - the same value, read
            yield name, each
            if name not in ENVIRONMENT_KEYS:
                yield from _fields(each, depth + 1)
    elif isinstance(value, list):
        for each in value:
            yield from _fields(each, depth + 1)
