"""Path patterns of permission rules: `*` and `?` inside one name, `**` over folders, and what can lie below a path."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

__all__ = ["Glob", "matches_path"]

# One step of a path pattern: a character of its own, any character but the slash, and runs of either.
_ANY_BUT_SLASH = "?"
_RUN_IN_NAME = "*"
_RUN = "**"
_FOLDERS = "**/"
_INSIDE = "**/ begun"
# How far each wildcard can be passed without a character: `**/` is followed by its inside, which it may leave out.
_WITHOUT_CHARACTER = {_RUN_IN_NAME: (1,), _RUN: (1,), _FOLDERS: (1, 2)}
_WILDCARDS = frozenset("*?")
_Step = tuple[str, bool]
"""The step, and whether it is a wildcard."""


def matches_path(pattern: str, path: str) -> bool:
    """Whether a path pattern matches a whole path. Both are absolute, or both relative to the same folder.

    All places in the pattern that the text read so far can have reached are kept side by side, so that no text makes
    the pattern try again: the time is the length of the path times that of the pattern.
    """
    return len(_steps(pattern)) in _reached(pattern, path)


def _reached(pattern: str, text: str) -> set[int]:
    """The places in the pattern after the text; none where it can match nothing that begins with it."""
    steps = _steps(pattern)
    reached = _skipped(steps, {0})
    for character in text:
        reached = _skipped(steps, _moved(steps, reached, character))
        if not reached:
            break
    return reached


def _moved(steps: tuple[_Step, ...], reached: set[int], character: str) -> set[int]:
    moved: set[int] = set()
    for at in reached:
        step, is_wildcard = steps[at] if at < len(steps) else ("", False)
        if is_wildcard:
            moved.update(at + distance for distance in _distances(step, character))
        elif step == character:
            moved.add(at + 1)
    return moved


def _distances(wildcard: str, character: str) -> tuple[int, ...]:
    """How far a character takes a wildcard: it stays, or it is done."""
    if wildcard == _RUN:
        return (0,)
    if wildcard == _INSIDE:
        # A slash ends a folder; then either another folder begins or the rest of the pattern.
        return (0, 1) if character == "/" else (0,)
    if character == "/" or wildcard == _FOLDERS:
        return ()
    return (0,) if wildcard == _RUN_IN_NAME else (1,)


def _skipped(steps: tuple[_Step, ...], reached: set[int]) -> set[int]:
    """With all places that are reached without a further character: a run may be empty."""
    waiting = list(reached)
    while waiting:
        at = waiting.pop()
        step = steps[at] if at < len(steps) else ("", False)
        following = () if not step[1] else _WITHOUT_CHARACTER.get(step[0], ())
        for distance in following:
            if at + distance not in reached:
                reached.add(at + distance)
                waiting.append(at + distance)
    return reached


@lru_cache(maxsize=256)
def _steps(pattern: str) -> tuple[_Step, ...]:
    if pattern.endswith("/"):
        pattern += "**"
    steps: list[_Step] = []
    at = 0
    while at < len(pattern):
        for wildcard in (_FOLDERS, _RUN, _RUN_IN_NAME, _ANY_BUT_SLASH):
            if pattern.startswith(wildcard, at):
                steps.append((wildcard, True))
                if wildcard == _FOLDERS:
                    steps.append((_INSIDE, True))
                at += len(wildcard)
                break
        else:
            steps.append((pattern[at], False))
            at += 1
    return tuple(steps)


@dataclass(frozen=True, slots=True)
class Glob:
    """A path pattern below a folder whose links are resolved; no character of the folder is a wildcard."""

    folder: str
    pattern: str

    def matches(self, path: str) -> bool:
        """Whether it matches a whole path."""
        if not self.pattern:
            return path == self.folder
        before = self.folder.rstrip("/") + "/"
        return path.startswith(before) and matches_path(self.pattern, path[len(before) :])

    def matches_below(self, path: str, *, is_folder: bool) -> bool:
        """Whether it can match something below a path; one that may be a file has only what the pattern spells."""
        before, above = self.folder.rstrip("/") + "/", path.rstrip("/") + "/"
        names = self.pattern.split("/")
        plain = next((at for at, name in enumerate(names) if _WILDCARDS & set(name)), len(names))
        if f"{before}{'/'.join(names[:plain])}/".startswith(above):
            return True
        return is_folder and above.startswith(before) and bool(_reached(self.pattern, above[len(before) :]))
