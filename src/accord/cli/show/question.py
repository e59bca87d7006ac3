"""A permission request as lines: the effect of the call, from everything that the agent has reported about it.

Facts come first: each file with its diff, each command with its directory and environment changes, input that names
neither as JSON. The title and the description are the agent's own words: they come last and are marked as such. `accord
run` and `accord chat` show the same lines.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any
from urllib.parse import urlsplit

from accord.cli.show.diff import INDENT, diff_lines, place_of, unusual_type
from accord.cli.show.line import Line, Span, hidden_after, line_of, wrapped
from accord.cli.show.presentation import block_label, changed, kind_label
from accord.client import PermissionQuestion
from accord.display import SafeText, exact, filled, joined, json_text, own, prose, safe_lines
from accord.protocol.model import Unknown
from accord.session.agent_requests import StartTerminal
from accord.session.claims import CallClaims, change_kinds, claims_of
from accord.session.content import Block, Resource, Text
from accord.session.input_names import (
    ARGUMENT_KEYS,
    COMMAND_KEYS,
    DIRECTORY_KEYS,
    ENVIRONMENT_KEYS,
    field_name,
)
from accord.session.readings import FILE_KINDS
from accord.session.tool import Diff, FileChange, Shown
from accord.workspace.subject import spelled_path

QUOTED = own("        | ")
"""The beginning of each row of the agent's own words."""


@dataclass(frozen=True, slots=True)
class _Limits:
    """How much of each part is shown at first; None is all of it."""

    diff_lines: int | None = 12
    files: int | None = 40
    commands: int | None = 20
    variables: int | None = 20
    text_lines: int | None = 10
    path_characters: int | None = 1000
    input_characters: int | None = 600
    command_characters: int | None = 4000
    value_characters: int | None = 400
    columns: int | None = None
    """Where the agent's own words are broken into rows, at blanks. Paths and commands are not: every blank counts."""


_FIRST = _Limits()


def _whole(max_characters: int | None, columns: int | None = None) -> _Limits:
    texts = (max_characters,) * 4
    return _Limits(None, None, None, None, None, *texts, columns)


def _left_out(count: int, limit: int | None) -> int:
    return 0 if limit is None else max(0, count - limit)


# Words that add no information to the facts in a title.
_FILLING = frozenset(
    {"the", "a", "file", "edit", "write", "run", "read", "delete", "move", "execute", "of", "in", "to", "command"}
)
_NOUNS = {"edit": own("edit"), "delete": own("deletion"), "read": own("reading"), "move": own("move")}


def host_text(address: str) -> SafeText:
    """The host of an address that the user is asked to visit.

    Letters of other scripts look like Latin ones, so that such a name is also shown as it is looked up (`xn--…`).
    """
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        host = ""
    if not host:
        return own("an address without a host")
    if host.isascii():
        return exact(host)
    try:
        return filled("{} ({})", exact(host.encode("idna").decode("ascii")), host)
    except UnicodeError:
        return filled("{} (no valid name)", host)


# --- the lines


def question_lines(question: PermissionQuestion, *, diffs: bool = True, columns: int | None = None) -> list[Line]:
    """The lines of the question, long parts clipped; without `diffs` where they are shown in another way.

    The agent's own words are broken at blanks to rows of so many `columns`.
    """
    return _lines(question, replace(_FIRST, columns=columns), diffs=diffs)


def whole_lines(
    question: PermissionQuestion,
    *,
    diffs: bool = True,
    max_characters: int | None = None,
    columns: int | None = None,
) -> list[Line]:
    """All that the question is about: nothing is clipped, except texts with more than `max_characters`."""
    lines = _lines(question, _whole(max_characters, columns), diffs=diffs)
    if question.tool is not None and question.tool.raw_input is not None:
        text = json_text(question.tool.raw_input, 2, max_characters)
        lines += [line_of(INDENT, line) for line in safe_lines(text)]
    return lines


def is_clipped(question: PermissionQuestion) -> bool:
    """Whether `whole_lines` has more than `question_lines`, diffs aside."""
    return _lines(question, _FIRST, diffs=False) != _lines(question, _whole(None), diffs=False)


def can_be_shown_whole(question: PermissionQuestion) -> bool:
    """Whether `whole_lines` may hold more than the question shows."""
    return bool(_diffs(question)) or is_clipped(question)


def _lines(question: PermissionQuestion, limits: _Limits, *, diffs: bool) -> list[Line]:
    claims = _claims(question)
    lines: list[Line] = []
    lines += _files(question, claims, limits, diffs=diffs)
    lines += _commands(question, claims, limits)
    lines += [
        line_of(_kind_span(kind), own(" something that is not named")) for kind in _unnamed_kinds(question, claims)
    ]
    if claims.is_unread:
        lines.append([Span(own("      a part of this call could not be read"), "yellow")])
    lines += _unnamed(question, claims, limits, shown=bool(lines))
    lines += _description_lines(question, claims, limits)
    lines += _open_calls(question, limits)
    return lines


def sentence_of(question: PermissionQuestion) -> SafeText:
    """The question in one line, in our own words: never the agent's title."""
    claims = _claims(question)
    commands = _command_texts(question, claims)
    cwd = question.session.cwd
    paths = list(dict.fromkeys((claim.kind, place_of(claim.path, cwd)) for claim in claims.paths if claim.path))
    is_whole = claims.is_complete and all(claim.path for claim in claims.paths)
    if not is_whole or _unnamed_kinds(question, claims):
        commands, paths = [], []
    if len(commands) == 1 and not any(kind != "execute" for kind, _ in paths):
        return filled("allow to run {}?", exact(commands[0][0], 200))
    if len(paths) == 1 and not commands and paths[0][0] in _NOUNS:
        kind, path = paths[0]
        return filled("allow the {} of {}?", _NOUNS[kind], exact(path, 200))
    return own("allow this?")


# --- the subject


def _claims(question: PermissionQuestion) -> CallClaims:
    if question.claims is not None:
        return question.claims
    return CallClaims() if question.tool is None else claims_of(question.tool)


def _unnamed_kinds(question: PermissionQuestion, claims: CallClaims) -> list[str]:
    """The kinds that the call has, or had, without saying what it touches."""
    named = {claim.kind for claim in claims.paths} | ({"execute"} if _command_texts(question, claims) else set())
    return [kind for kind in claims.former if kind not in named]


def _diffs(question: PermissionQuestion) -> list[Diff]:
    return [] if question.tool is None else [item for item in question.tool.content if isinstance(item, Diff)]


def _files(question: PermissionQuestion, claims: CallClaims, limits: _Limits, *, diffs: bool) -> Iterator[Line]:
    cwd = question.session.cwd
    shown: set[tuple[str, str]] = set()
    for diff in _diffs(question):
        paths = [path for change in diff.changes for path in (change.old_path, change.path) if path]
        kind = _diff_kind(question, diff)
        shown.update(
            (each, place_of(path, cwd))
            for change in diff.changes
            for path in (change.old_path, change.path)
            for each in (kind, change.operation)
            if path
        )
        several = len(diff.changes) > 1
        shown_changes = diff.changes[: limits.files]
        shown_names = (_change_name(change, cwd, limits, kind if several else None) for change in shown_changes)
        names = joined(shown_names, own(", ")) or own("a patch")
        if _left_out(len(diff.changes), limits.files):
            names = filled("{} and {} more", names, _left_out(len(diff.changes), limits.files))
        head = line_of(_kind_span(kind), filled(" {}", names), own("   "))
        yield [*head, *changed([diff]), *_leads_elsewhere(question, paths)]
        for payload in (change.payload for change in shown_changes if change.payload is not None):
            yield _dim(json_text(payload, None, limits.input_characters))
        if diffs:
            yield from diff_lines(diff, _diff_limit(diff, limits))
    others = list(dict.fromkeys((claim.kind, claim.path and place_of(claim.path, cwd)) for claim in claims.paths))
    directories = {directory for text, directory, _ in _command_texts(question, claims)[: limits.commands] if text}
    others = [
        (kind, path)
        for kind, path in others
        if (kind, path) not in shown and not _is_said_by_command(question, kind, path, directories)
    ]
    for kind, path in others[: limits.files]:
        name = exact(path, limits.path_characters) if path else own("files that are not named")
        yield [*line_of(_kind_span(kind), filled(" {}", name)), *_leads_elsewhere(question, [path])]
    if _left_out(len(others), limits.files) or not claims.is_complete:
        yield _dim(own("and more files and commands than can be shown"))


def _diff_kind(question: PermissionQuestion, diff: Diff) -> str:
    """The kind of a diff: that of the call where it fits. One that is called a read is an edit by its diff."""
    called = "other" if question.tool is None else question.tool.kind
    kinds = {kind for change in diff.changes for kind in change_kinds(called, change)} or {"edit"}
    if called in kinds:
        return called
    return "edit" if "edit" in kinds else min(kinds)


def _change_name(change: FileChange, cwd: str, limits: _Limits, kind: str | None) -> SafeText:
    """A changed file; with its operation, where there is a `kind` of several files and the operation is another."""
    path = exact(place_of(change.path, cwd), limits.path_characters) if change.path else own("a file that is not named")
    if change.old_path:
        path = filled("{} → {}", exact(place_of(change.old_path, cwd), limits.path_characters), path)
    facts: list[str] = [change.operation] if kind is not None and change.operation not in {"modify", kind} else []
    facts += unusual_type(change)
    return filled("{} ({})", path, joined((exact(fact, 40) for fact in facts), own(", "))) if facts else path


def _diff_limit(diff: Diff, limits: _Limits) -> int | None:
    if limits.diff_lines is None or limits.files is None:
        return None
    return limits.diff_lines * max(1, min(len(diff.changes), limits.files))


def _is_said_by_command(question: PermissionQuestion, kind: str, path: str, directories: set[str]) -> bool:
    """Whether the path is only the directory of a command, which is shown below that."""
    is_directory = kind == "execute" and bool(path) and _whole_path(question, path) in directories
    return is_directory and not _leads_elsewhere(question, [path])


def _leads_elsewhere(question: PermissionQuestion, paths: list[str]) -> list[Span]:
    """The targets of these paths through links, where they differ from the written path."""
    if question.subject is None:
        return []
    here, real_here = question.session.cwd, question.subject.roots[0]
    spellings = {spelled_path(path, base) for path in paths if path for base in (here, real_here)}
    real = [
        access.path
        for access in question.subject.accesses
        if access.path is not None
        and access.spelled is not None
        and access.spelled in spellings
        # Not where the session's directory alone is behind a link.
        and place_of(access.path, real_here) not in {place_of(access.spelled, base) for base in (here, real_here)}
    ]
    if not real:
        return []
    return [Span(filled("   leads to {}", joined(map(exact, dict.fromkeys(real)), own(", "))), "yellow")]


def _command_texts(
    question: PermissionQuestion, claims: CallClaims
) -> list[tuple[str, str, tuple[tuple[str, str], ...]]]:
    """Each command once, with its directory and its environment changes; an empty text where it could not be read."""
    found: list[tuple[str, str | None, tuple[tuple[str, str], ...]]] = []
    if isinstance(question.request, StartTerminal):
        argv = [question.request.command, *question.request.args]
        cwd = question.command.cwd if question.command is not None else question.request.cwd
        found.append((shlex.join(argv), cwd, tuple(question.request.env)))
    elif question.command is not None:
        found.append((question.command.command, question.command.cwd, ()))
    for claim in claims.commands:
        text = claim.line if claim.argv is None else shlex.join(claim.argv)
        found.append((text or "", claim.directory, claim.environment))
    # A call and its report name the directory of the session in different ways, or not at all.
    whole = [(text, _whole_path(question, directory or ""), environment) for text, directory, environment in found]
    return list(dict.fromkeys(whole))


def _whole_path(question: PermissionQuestion, path: str) -> str:
    return str(PurePath(question.session.cwd, path))


def _commands(question: PermissionQuestion, claims: CallClaims, limits: _Limits) -> Iterator[Line]:
    commands = _command_texts(question, claims)
    for text, directory, environment in commands[: limits.commands]:
        shown = exact(text, limits.command_characters) if text else own("a command that could not be read")
        yield line_of(_kind_span("execute"), filled(" {}", shown))
        yield _dim(filled("in {}", exact(directory, limits.path_characters)))
        for name, value in environment[: limits.variables]:
            shown_name, shown_value = (exact(each, limits.value_characters) for each in (name, value))
            yield line_of(Span(filled("        with {}={}", shown_name, shown_value), "yellow"))
        if _left_out(len(environment), limits.variables):
            yield _dim(filled("and {} more variables", _left_out(len(environment), limits.variables)))
    if _left_out(len(commands), limits.commands):
        yield _dim(filled("and {} more commands", _left_out(len(commands), limits.commands)))


def _unnamed(question: PermissionQuestion, claims: CallClaims, limits: _Limits, *, shown: bool) -> Iterator[Line]:
    """Input that names neither a file nor a command, and the results that came with the question."""
    tool = question.tool
    if not shown and tool is not None:
        kind = "other" if question.request is not None else claims.kind
        # In quotes: a name of a tool must not look like a path.
        name = filled(" the tool {}", json_text(tool.name, None, 200)) if tool.name else None
        yield line_of(_kind_span(kind), name or own(" what it touches is not said"))
    if question.other is not None:
        yield _dim(json_text(question.other, None, limits.input_characters))
    if tool is None:
        return
    is_read = all(text for text, _, _ in _command_texts(question, claims))
    rest = _rest(tool.raw_input) if is_read else tool.raw_input
    if rest is not None and not (_diffs(question) and tool.kind in FILE_KINDS):
        yield _dim(json_text(rest, None, limits.input_characters))
    for item in tool.content:
        if isinstance(item, Unknown):
            yield _dim(json_text(item.payload, None, limits.input_characters))
        elif isinstance(item, Shown):
            yield from _block_lines(item.block, limits)


def _block_lines(block: Block, limits: _Limits) -> Iterator[Line]:
    if isinstance(block, Text):
        yield from _quoted(block.text, limits)
        return
    label = block_label(block)
    yield _dim(joined([label.mark, label.name, *label.facts], own(" ")))
    if isinstance(block, Resource) and block.text is not None:
        yield from _quoted(block.text, limits)


def _rest(raw_input: Any) -> Any:
    """The input without the fields that are shown as a command; None where nothing is left."""
    if not isinstance(raw_input, dict):
        return raw_input
    names = {key: field_name(key) for key in raw_input}
    if not set(names.values()) & COMMAND_KEYS:
        return raw_input or None
    shown = COMMAND_KEYS | DIRECTORY_KEYS | ENVIRONMENT_KEYS | ARGUMENT_KEYS
    return {key: value for key, value in raw_input.items() if names[key] not in shown} or None


# --- the agent's own words


def _description_lines(question: PermissionQuestion, claims: CallClaims, limits: _Limits) -> Iterator[Line]:
    if question.request is not None:
        yield from _in_rows(_dim(filled("{}", question.title)), limits)
    elif not _title_adds_nothing(question, claims):
        yield from _in_rows(_dim(filled("the agent calls it: {}", exact(question.title, 400))), limits)
    if question.description:
        yield _dim(own("the agent says:"))
        yield from _quoted(question.description, limits)


def _title_adds_nothing(question: PermissionQuestion, claims: CallClaims) -> bool:
    """Whether the title repeats only facts that are shown anyway."""
    paths = [claim.path for claim in claims.paths]
    known = {place_of(path, question.session.cwd) for path in paths} | set(paths)
    for text, _, _ in _command_texts(question, claims):
        known |= {text, *text.split()}
    return all(term in known or term.lower() in _FILLING for term in question.title.split())


def _quoted(text: str, limits: _Limits) -> Iterator[Line]:
    lines = safe_lines(prose(text.strip("\n")))
    for line in lines[: limits.text_lines]:
        for row in _in_rows([Span(line, "dim")], limits, len(QUOTED)):
            yield line_of(Span(QUOTED, "dim"), *row)
    if _left_out(len(lines), limits.text_lines):
        yield _dim(hidden_after(_left_out(len(lines), limits.text_lines)))


def _in_rows(line: Line, limits: _Limits, used: int = 0) -> list[Line]:
    return [line] if limits.columns is None else wrapped(line, max(limits.columns - used, 1))


def _open_calls(question: PermissionQuestion, limits: _Limits) -> Iterator[Line]:
    if question.request is not None:
        return
    if question.tool is None and question.command is None and not question.open_calls:
        yield _dim(own("it names no tool call, and none is running"))
    meaning = own("running now:") if question.tool is None else own("it may mean:")
    for call in question.open_calls:
        title = exact(call.title or call.name or call.id, 200)
        yield from _in_rows(_dim(filled("{} {} {}", meaning, exact(call.kind, 20), title)), limits)
        claims = claims_of(call)
        facts = [*_commands(question, claims, limits), *_files(question, claims, limits, diffs=False)]
        yield from facts
        if not facts and call.raw_input is not None:
            yield _dim(json_text(call.raw_input, None, limits.input_characters))


def _kind_span(kind: str) -> Span:
    return Span(filled("  {:<5}", kind_label(kind)), "cyan")


def _dim(text: SafeText) -> Line:
    return line_of(Span(filled("        {}", text), "dim"))
