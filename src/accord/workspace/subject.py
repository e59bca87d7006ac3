"""Resolution of a call's claims into the subject that permission rules judge: real paths, simple commands.

A path is made absolute against the session's directory and its links are followed; a command is taken apart into the
simple commands that can run. A claim that cannot be resolved stays in the subject as an unknown access, which no
pattern allows. It reads the disk, and blocks meanwhile.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import unquote, urlsplit

from accord.session.claims import CallClaims, CommandClaim, PathClaim
from accord.session.readings import FILE_KINDS, WRITING_KINDS, reading
from accord.session.remembered import CommandTarget, InputTarget, PathTarget
from accord.session.rules import Access, Glob, Rule, Subject
from accord.session.shell_line import ShellLine, SimpleCommand, parse_argv, parse_shell_line, settings_are_harmless

__all__ = ["ResolvedPath", "SubjectResolver", "resolve_path", "resolve_rules", "spelled_path"]

_WILDCARDS = frozenset("*?")
_SHELLS = frozenset({"sh", "bash", "dash", "ksh", "ash"})
_SHELL_FOLDERS = ("", "/bin", "/usr/bin", "/usr/local/bin")
# Kimi puts it before each command.
_INTO_DIRECTORY = re.compile(r"cd (?:'(/[^']*)'|(/[\w./-]+)) && ")
# `-l` and `-i` read the user's own start-up files, `-e` and `-u` stop earlier.
_SHELL_FLAGS = frozenset("ceilu")
_STOPPING_FLAGS = frozenset("eu")


@dataclass(frozen=True, slots=True)
class ResolvedPath:
    """A path with its links followed (`real`), and as it is spelt (absolute, without `.` and `..`)."""

    real: str
    spelled: str


def resolve_path(path: str, directory: str) -> ResolvedPath | None:
    """The real path, relative to a directory; None where it is unknown: another host, `~`, a lone surrogate."""
    joined = _joined(path, directory)
    if joined is None:
        return None
    try:
        return ResolvedPath(os.path.realpath(joined), os.path.normpath(joined))
    except (OSError, ValueError):
        return None


def spelled_path(path: str, directory: str) -> str | None:
    """The path as `ResolvedPath.spelled` has it, without a look at the disk."""
    joined = _joined(path, directory)
    return None if joined is None else os.path.normpath(joined)


def _joined(path: str, directory: str) -> str | None:
    text = path
    if "://" in text:
        try:
            address = urlsplit(text)
        except ValueError:
            return None
        if address.scheme.lower() != "file" or address.netloc not in {"", "localhost"}:
            return None
        text = unquote(address.path)
    elif text[:5].lower() == "file:":
        text = unquote(text[5:])
    if not text or text[0] in "~$" or "\0" in text:
        return None
    return os.path.join(directory, text)  # noqa: PTH118 - `Path` would drop the difference of two spellings


class SubjectResolver:
    """Resolves for one session: relative paths begin in `directory`; `roots` are further ones that it may use."""

    def __init__(self, directory: str, roots: Sequence[str]) -> None:
        self.directory = os.path.realpath(directory)
        self.roots = tuple(dict.fromkeys(os.path.realpath(root) for root in (directory, *roots)))

    def of_call(self, claims: CallClaims, command: CommandClaim | None = None) -> Subject:
        """The subject of a tool call, by all fields and reports of it; `command` is one that the question names."""
        commands = [*claims.commands, *([] if command is None else [command])]
        is_about_files = claims.kind in FILE_KINDS or not (commands or claims.kind == "execute")
        accesses: list[Access] = []
        mentioned: list[str] = []
        for claim in claims.paths:
            if claim.kind in FILE_KINDS or is_about_files:
                accesses.append(self._path_access(claim, claims.input_digest))
            else:
                resolved = resolve_path(claim.path, self.directory)
                mentioned += [] if resolved is None else [resolved.real, resolved.spelled]
        for each in commands:
            if claims.input_digest is not None:
                # The command is one parameter among others: an answer is for all of them.
                each = replace(each, input_digest=claims.input_digest)  # noqa: PLW2901 - the same command
            accesses += self._command_accesses(each, tuple(dict.fromkeys(mentioned)))
        accesses += _unnamed(claims, accesses)
        return Subject(tuple(dict.fromkeys(_moved_as_files(accesses))), self.roots)

    def of_file(self, kind: str, real_path: str, spelled: str) -> Subject:
        """The subject of one request for a file, of which the real path is known already."""
        access = Access(kind, real_path, os.path.normpath(spelled), target=PathTarget(kind, real_path))
        return Subject((access,), self.roots)

    def of_command(self, argv: Sequence[str], directory: str, environment: Sequence[tuple[str, str]]) -> Subject:
        """The subject of one request for a terminal."""
        claim = CommandClaim(tuple(argv), None, directory, tuple(environment))
        accesses = self._command_accesses(claim, ())
        if len(argv) == 1 and any(character.isspace() for character in argv[0]):
            # A whole line in place of a program: judged as a shell line.
            accesses += self._command_accesses(replace(claim, argv=None, line=argv[0]), ())
        return Subject(tuple(dict.fromkeys(accesses)), self.roots)

    def command_target(self, claim: CommandClaim) -> CommandTarget | None:
        """The key by which a command is remembered: the same for a line and for the argv that it means."""
        resolved = resolve_path(claim.directory or self.directory, self.directory)
        claim = self._without_cd(claim)
        if resolved is None or (claim.argv is None and claim.line is None):
            return None
        argv, line = _canonical(claim.argv, claim.line)
        # Of a variable that is given twice, the last value counts.
        environment = tuple(sorted(dict(claim.environment).items()))
        return CommandTarget(resolved.real, argv, line, environment, claim.input_digest)

    def _without_cd(self, claim: CommandClaim) -> CommandClaim:
        """The command without a `cd` into the directory in which it runs anyway."""
        shell = claim.argv[:2] if claim.argv is not None and _is_plain_shell(SimpleCommand(claim.argv)) else None
        line = claim.argv[2] if shell and claim.argv else claim.line or ""
        begin = _INTO_DIRECTORY.match(line)
        there = None if begin is None else resolve_path(begin[1] or begin[2], "/")
        here = resolve_path(claim.directory or self.directory, self.directory)
        if begin is None or there is None or here is None or there.real != here.real:
            return claim
        return replace(claim, argv=(*shell, line[begin.end() :])) if shell else replace(claim, line=line[begin.end() :])

    def _path_access(self, claim: PathClaim, input_digest: str | None) -> Access:
        resolved = resolve_path(claim.path, self.directory)
        if resolved is None:
            return Access(claim.kind)
        target: PathTarget | InputTarget = PathTarget(claim.kind, resolved.real)
        if claim.kind not in FILE_KINDS and input_digest is not None:
            # The path is one parameter among others: an answer is for all of them, and for this file.
            digest = hashlib.sha256(f"{input_digest} {resolved.real}".encode("utf-8", "surrogatepass"))
            target = InputTarget(claim.kind, digest.hexdigest())
        also = reading("a path", claim.kind).refused
        is_folder = _may_have_below(claim, resolved.real)
        return Access(claim.kind, resolved.real, resolved.spelled, target=target, is_folder=is_folder, also=also)

    def _command_accesses(self, claim: CommandClaim, mentioned: tuple[str, ...]) -> list[Access]:
        target, claim = self.command_target(claim), self._without_cd(claim)
        if target is None:
            return [Access("execute", is_understood=False, mentioned=mentioned)]
        parsed = parse_argv(claim.argv) if claim.argv is not None else parse_shell_line(claim.line or "")
        is_understood = parsed.understood and settings_are_harmless(claim.environment)
        accesses = [
            Access(
                "execute",
                command=simple,
                is_understood=is_understood,
                transparent=is_understood and _is_plain_shell(simple),
                mentioned=mentioned,
                target=target,
                is_elsewhere=target.directory != self.directory and _is_relative(simple.words[0]),
            )
            for simple in parsed.commands
        ]
        if not is_understood or not accesses:
            accesses.append(Access("execute", is_understood=False, mentioned=mentioned, target=target))
        return [*accesses, *_redirected(parsed, target, is_understood=is_understood)]


def _may_have_below(claim: PathClaim, real: str) -> bool:
    """Whether something can lie below the path: it is a folder, is named as one, or may become one."""
    if claim.path.rpartition("/")[2] in {"", ".", ".."}:
        return True
    try:
        return stat.S_ISDIR(os.stat(real).st_mode)  # noqa: PTH116 - `Path` raises other errors for odd names
    except (OSError, ValueError):
        return claim.kind in {"delete", "move"}


def _moved_as_files(accesses: Sequence[Access]) -> Iterator[Access]:
    """The accesses; where a file is moved, its new name is that of a file."""
    moved = [access.path for access in accesses if access.kind == "move" and access.path is not None]
    is_file = any(map(os.path.isfile, moved)) and not any(map(os.path.isdir, moved))
    for access in accesses:
        yield replace(access, is_folder=False) if is_file and access.kind == "move" else access


def _unnamed(claims: CallClaims, named: Sequence[Access]) -> Iterator[Access]:
    """The accesses that the call makes without naming them."""
    kinds = {access.kind for access in named}
    beside = reading("an address", claims.kind).refused if claims.names_address else ("all",)
    bare = not named and claims.is_complete and "all" in beside
    is_act = claims.kind in {*WRITING_KINDS, "execute"}
    for kind in claims.former:
        if kind not in kinds:
            yield Access(kind, is_understood=kind != "execute", bare=bare and kind == "execute")
    if claims.is_unread:
        # A part of the call has a meaning that is not known: no rule for one kind allows it.
        yield Access("", bare=True)
    if not named or (is_act and claims.kind not in kinds):
        digest = claims.input_digest if claims.is_complete and not is_act else None
        target = None if digest is None else InputTarget(claims.kind, digest)
        yield Access(claims.kind, is_understood=claims.kind != "execute", target=target, bare=bare)
    elif not claims.is_complete:
        yield Access(claims.kind)
    further = dict.fromkeys((*claims.refused, *beside))
    yield from (Access(each, bare=True, transparent=True) for each in further if each not in {*kinds, "all"})


def _redirected(parsed: ShellLine, target: CommandTarget, *, is_understood: bool) -> Iterator[Access]:
    """The files that a shell writes for a command; which ones is not known where the line is not understood."""
    for path in parsed.writes:
        if path == os.devnull:
            continue
        resolved = resolve_path(path, target.directory) if is_understood else None
        if resolved is None:
            yield Access("edit", target=target)
        else:
            yield Access("edit", resolved.real, resolved.spelled, target=target)


def _is_relative(program: str) -> bool:
    return "/" in program and not program.startswith("/")


def _is_plain_shell(simple: SimpleCommand) -> bool:
    """Whether it is nothing but a shell around a line, which is judged by itself."""
    if len(simple.words) != 3 or simple.uncertain:  # noqa: PLR2004 - the shell, its flags, the line
        return False
    folder, _, name = simple.words[0].rpartition("/")
    flags = simple.words[1]
    is_usual = name in _SHELLS and folder in _SHELL_FOLDERS
    return is_usual and flags.startswith("-") and "c" in flags and set(flags[1:]) <= _SHELL_FLAGS


def _canonical(argv: Sequence[str] | None, line: str | None) -> tuple[tuple[str, ...] | None, str | None]:
    """One form for one meaning: an argv for a line that is one plain command, a line for a shell around it."""
    if argv is not None:
        if not _is_plain_shell(SimpleCommand(tuple(argv))) or not _STOPPING_FLAGS.isdisjoint(argv[1]):
            return tuple(argv), None
        line = argv[2]
    parsed = parse_shell_line(line or "")
    if parsed.understood and len(parsed.commands) == 1 and not parsed.writes and not parsed.has_more_than_words:
        simple = parsed.commands[0]
        if simple.words and not simple.uncertain and not simple.redirects:
            return simple.words, None
    return None, line


def resolve_rules(rules: Iterable[Rule], roots: Sequence[str]) -> tuple[Rule, ...]:
    """The rules, with their path patterns resolved through links.

    A pattern that refuses applies both to its own path and to the resolved one. One that allows is resolved only if it
    is absolute: a link below the session's directories may have been made by the agent.
    """
    return tuple(_resolved_rule(rule, roots) for rule in rules)


def _resolved_rule(rule: Rule, roots: Sequence[str]) -> Rule:
    pattern = rule.pattern
    if pattern is None or (rule.effect == "allow" and not pattern.startswith("/")):
        return rule
    bases = ["/"] if pattern.startswith("/") else list(roots)
    names = pattern.split("/")
    plain = next((at for at, name in enumerate(names) if _WILDCARDS & set(name)), len(names))
    literal, rest = "/".join(names[:plain]), "/".join(names[plain:])
    if pattern.endswith("/"):
        literal, rest = literal.rstrip("/"), rest or "**"
    globs = []
    for base in bases:
        resolved = resolve_path(literal.lstrip("/") or ".", base)
        if resolved is not None:
            globs.append(Glob(resolved.real, rest))
    return replace(rule, globs=tuple(globs))
