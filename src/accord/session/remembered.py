"""Remembered answers: a user's "always" for exactly what was shown, or for a wider scope that was named.

Answers are kept as documents with a version. A reader takes a document whole or not at all: an unknown field, a wrong
type or a later version means that nothing in it holds.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from accord.jsonrpc.plain import plain_value

__all__ = [
    "AnswersDocument",
    "CommandTarget",
    "DocumentError",
    "InputTarget",
    "PathTarget",
    "RememberedAnswer",
    "Target",
    "decode_answers",
    "encode_answers",
]

FORMAT = "accord remembered answers"
VERSION = 1


class PathTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="path"):
    """An access to one file; `path` is absolute with its links resolved."""

    kind: str
    path: str


class CommandTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag="command"):
    """One command as it was shown: `argv`, or one `line` for a shell, with its directory and environment changes.

    `input_sha256` is the digest of further input that changes what the command does.
    """

    directory: str
    argv: tuple[str, ...] | None = None
    line: str | None = None
    environment: tuple[tuple[str, str], ...] = ()
    input_sha256: str | None = None


class InputTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="input"):
    """A call that is neither about files nor about a command: the digest of all its input."""

    kind: str
    sha256: str


Target: TypeAlias = PathTarget | CommandTarget | InputTarget
"""The subject of a remembered answer."""
Scope: TypeAlias = Literal["exact", "folder", "kind", "program"]
"""The scope of a remembered answer."""


class RememberedAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer that applies to later requests. `exact` covers its targets and nothing else.

    The wider scopes are choices of their own: every file below a `folder` for one kind, every call of one `kind`,
    every command of one `program`.
    """

    effect: Literal["allow", "deny"]
    scope: Scope = "exact"
    targets: tuple[Target, ...] = ()
    kind: str | None = None
    folder: str | None = None
    program: str | None = None

    def covers(self, target: Target | None, kind: str, path: str | None, program: str | None) -> bool:
        """Whether it applies to an access."""
        if self.scope == "exact":
            return target is not None and target in self.targets
        if self.scope == "program":
            return kind == "execute" and program is not None and program == self.program
        if kind != self.kind:
            return False
        if self.scope == "kind":
            return True
        return path is not None and self.folder is not None and path.startswith(self.folder.rstrip("/") + "/")

    def __str__(self) -> str:
        if self.scope == "folder":
            return f"{self.effect} {self.kind} below {self.folder}"
        if self.scope in {"kind", "program"}:
            return f"{self.effect} every {self.kind if self.scope == 'kind' else f'command of {self.program}'}"
        return f"{self.effect} what was shown"


class DocumentError(ValueError):
    """A document of answers that cannot be used; `is_newer` where a later version wrote it."""

    def __init__(self, message: str, *, is_newer: bool = False) -> None:
        super().__init__(message)
        self.is_newer = is_newer


class AnswersDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answers of one session. They hold only where session key, directory and agent are those of the document."""

    format: str
    version: int
    session: str
    directory: str
    agent: tuple[str, ...]
    answers: tuple[RememberedAnswer, ...] = ()


class _Head(msgspec.Struct):
    format: Any = None
    version: Any = None


def encode_answers(
    session: str, directory: str, agent: tuple[str, ...], answers: tuple[RememberedAnswer, ...]
) -> bytes:
    """The document as bytes.

    Raises:
        DocumentError: It holds half a character, which no document can.
    """
    document = AnswersDocument(FORMAT, VERSION, session, directory, agent, answers)
    try:
        return msgspec.json.format(msgspec.json.encode(document, enc_hook=plain_value), indent=2) + b"\n"
    except UnicodeEncodeError as error:
        raise DocumentError("an answer about half a character cannot be written down") from error


def decode_answers(data: bytes) -> AnswersDocument:
    """The document that bytes hold.

    Raises:
        DocumentError: They hold none of this version, or one with anything unknown in it.
    """
    try:
        head = msgspec.json.decode(data, type=_Head)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DocumentError(f"it is no JSON object: {error}") from error
    if head.format != FORMAT:
        raise DocumentError("it holds no remembered answers")
    if isinstance(head.version, int) and head.version > VERSION:
        raise DocumentError(f"a later Accord wrote it (version {head.version})", is_newer=True)
    if head.version != VERSION:
        raise DocumentError(f"it has no version that is known: {head.version!r}")
    try:
        document = msgspec.json.decode(data, type=AnswersDocument)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DocumentError(f"it has not the form of this version: {error}") from error
    for answer in document.answers:
        _check(answer)
    return document


def _check(answer: RememberedAnswer) -> None:
    """Refuse an answer with fields beyond its scope, or without those of its scope."""
    given = {name for name in ("targets", "kind", "folder", "program") if getattr(answer, name) not in (None, ())}
    wanted = {"exact": {"targets"}, "folder": {"kind", "folder"}, "kind": {"kind"}, "program": {"program"}}
    if given != wanted[answer.scope]:
        raise DocumentError(f"an answer of the scope {answer.scope!r} names no subject")
