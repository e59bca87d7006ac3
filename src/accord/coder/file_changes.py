"""The changes that turns made to files, kept as patches beside the memory of a session.

The digests of a file before and after are kept beside its patch, so that it is taken back only from the very text that
its turn left. Changes by commands are not kept.
"""

from __future__ import annotations

import hashlib
import re

import msgspec

from accord.session.git_patch import write_patch
from accord.session.tool import FileChange

MAX_TURNS = 20
# Of the patches of one turn, and of all turns.
MAX_TURN_CHARACTERS = 512 * 1024
MAX_CHARACTERS = 2 * 1024 * 1024
MAX_HEADLINE = 60
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")


class FilePatch(msgspec.Struct, omit_defaults=True):
    """One change of a file; `before` and `after` are digests of its text, None where there was no file."""

    path: str
    patch: str
    after: str
    before: str | None = None


class TurnChanges(msgspec.Struct, omit_defaults=True):
    """The changes of one turn, in their order. `is_complete` is False where there were more than are kept."""

    headline: str
    patches: list[FilePatch] = []
    is_complete: bool = True


class ChangeLog(msgspec.Struct, omit_defaults=True):
    """The changes of a session's turns, the latest last."""

    turns: list[TurnChanges] = []
    headline: str = ""
    is_begun: bool = False
    """Whether the turn that runs has changed a file."""

    def begin_turn(self, text: str) -> None:
        """A turn begins; it has an entry as soon as it changes a file."""
        self.headline, self.is_begun = " ".join(text.split())[:MAX_HEADLINE], False

    def note(self, path: str, before: str | None, after: str) -> None:
        """A file was changed from one text to another."""
        if not self.is_begun:
            self.turns.append(TurnChanges(self.headline))
            self.is_begun = True
        last = self.turns[-1]
        patch = write_patch([FileChange(path, before, after, "add" if before is None else "modify")]) or ""
        if sum(len(each.patch) for each in last.patches) + len(patch) > MAX_TURN_CHARACTERS:
            last.is_complete, last.patches = False, []
        if last.is_complete:
            last.patches.append(FilePatch(path, patch, digest(after), None if before is None else digest(before)))
        while len(self.turns) > MAX_TURNS or self._characters() > MAX_CHARACTERS:
            del self.turns[0]

    def _characters(self) -> int:
        return sum(len(each.patch) for turn in self.turns for each in turn.patches)


def digest(text: str) -> str:
    """The digest of a file's text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def take_back(patch: str, text: str) -> str:
    """The text before a patch, from the text after it.

    Raises:
        ValueError: The patch does not fit the text.
    """
    lines, result, at = _lines(text), [], 0
    for start, old, new in _hunks(patch):
        if start < at or lines[start : start + len(new)] != new:
            raise ValueError("the patch does not fit")
        result += [*lines[at:start], *old]
        at = start + len(new)
    return "".join([*result, *lines[at:]])


def _hunks(patch: str) -> list[tuple[int, list[str], list[str]]]:
    """Of each hunk the index of its first line in the text after the patch, its old lines and its new ones."""
    found: list[tuple[int, list[str], list[str]]] = []
    for section in re.split(r"^(?=@@ )", patch, flags=re.MULTILINE)[1:]:
        head, *body = _lines(section)
        place = _HUNK.match(head)
        if place is None:
            raise ValueError("the patch cannot be read")
        old: list[str] = []
        new: list[str] = []
        touched: tuple[list[str], ...] = ()
        for line in body:
            if line[0] == "\\":
                for side in touched:
                    side[-1] = side[-1].removesuffix("\n")
                continue
            touched = {"-": (old,), "+": (new,)}.get(line[0], (old, new))
            for side in touched:
                side.append(line[1:])
        # A hunk without new lines has the number of the line before it.
        found.append((int(place[1]) - (1 if new else 0), old, new))
    return found


def _lines(text: str) -> list[str]:
    # To a patch only a line feed ends a line.
    return re.findall(r"[^\n]*\n|[^\n]+", text)
