"""Patterns of permission rules: words of a command and paths, matched in time linear in the text, whatever they hold.

In a word `*` stands for any characters. In a path `*` and `?` stay inside one name, `**` spans folders, `**/` stands
for any folders or none, and a slash at the end means everything below.
"""

from __future__ import annotations

from functools import lru_cache

__all__ = ["matches_path", "matches_word"]


def matches_word(pattern: str, word: str) -> bool:
    """Whether a pattern matches one whole word of a command.

    The pieces between stars are looked for one after the other, each at its first place: stars can stand for
    anything, so an earlier place never spoils a later piece.
    """
    first, *parts = pattern.split("*")
    if not parts:
        return word == first
    last = parts.pop()
    if len(word) < len(first) + len(last) or not word.startswith(first) or not word.endswith(last):
        return False
    at, end = len(first), len(word) - len(last)
    for part in parts:
        found = word.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


# One step of a path pattern: a character of its own, any character but the slash, and runs of either.
_ANY_BUT_SLASH = "?"
_RUN_IN_NAME = "*"
_RUN = "**"
_FOLDERS = "**/"
_INSIDE = "**/ begun"
# How far each wildcard can be passed without a character: `**/` is followed by its inside, which it may leave out.
_WITHOUT_CHARACTER = {_RUN_IN_NAME: (1,), _RUN: (1,), _FOLDERS: (1, 2)}
_Step = tuple[str, bool]
"""The step, and whether it is a wildcard."""


def matches_path(pattern: str, path: str) -> bool:
    """Whether a path pattern matches a whole path. Both are absolute, or both relative to the same folder.

    All places in the pattern that the text read so far can have reached are kept side by side, so that no text makes
    the pattern try again: the time is the length of the path times that of the pattern.
    """
    steps = _steps(pattern)
    reached = _skipped(steps, {0})
    for character in path:
        reached = _skipped(steps, _moved(steps, reached, character))
        if not reached:
            return False
    return len(steps) in reached


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
