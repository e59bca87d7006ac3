"""The tricks of the hostile agent, one row each, as data: what it does, and what a client that holds must show.

Modules in `tricks/` add their rows with `trick`. Both sides read this: the agent to find its function, the tests to
know what is expected. So nothing here imports Accord, or anything slow.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.hostile.hand import Hand

__all__ = ["PRINTED", "ROWS", "Again", "Row", "at_chat", "everyday", "row_of", "rows", "trick", "word_of"]

Play = Callable[[Hand], object]
PRINTED = "QZ"


class Again(NamedTuple):
    """A further run after the first, in the same home: what it is started with, and what must come of it."""

    words: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    answers: tuple[str, ...] | None = None
    granted: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    status: int = 5
    arguments: tuple[str, ...] = ()
    """Further arguments of the agent, which make it another one."""
    folder: str = ""
    """The folder of the playground in which it is started."""


class Row(NamedTuple):
    """One trick. The defaults are those of a client that does nothing: nobody to ask, nothing granted or changed."""

    name: str
    says: str
    play: Play
    rules: tuple[str, ...] = ()
    """In their order: `allow …`, `deny …`, `ask …`."""
    answers: tuple[str, ...] | None = None
    """What a person types at the terminal, one for each question that must come; None where nobody is there."""
    granted: tuple[str, ...] = ()
    """What must be granted, in its order: `permission`, `write`, `read`, `terminal`; everything else is refused."""
    changes: tuple[str, ...] = ()
    """The files of the playground that must be made, changed or removed; no other may be."""
    may_change: tuple[str, ...] = ()
    """Files that may change or not: where two things race."""
    status: int = 5
    """The exit code of `accord run`."""
    or_status: int | None = None
    """Another exit code that is right too: where what is counted races with the end."""
    library_questions: int | None = None
    """How often the library asks where that differs from the number of answers."""
    said: tuple[str, ...] = ()
    """What the output of `accord run` must contain."""
    unsaid: tuple[str, ...] = ()
    """What it must not contain."""
    counts: tuple[int, int, int] | None = None
    """In the library: denied because nobody could be asked, refused by a rule, completed unasked."""
    bare_changes: tuple[str, ...] | None = None
    """What changes in the library without a policy; None where that is not played."""
    at: str = "prompt"
    """When it is played: start, new, opened, load, prompt, end (of the turn)."""
    then: tuple[Again, ...] = ()
    version: int = 1
    interrupt: bool = False
    """The user stops the turn as soon as the agent notes `ready`."""
    sessions: int = 1
    """How many sessions the library opens; the first is prompted."""
    chat: bool = False
    """Whether it goes through `accord chat` too, where every question is dismissed."""
    check: tuple[str, ...] = ()
    """The rules of `accord check --only` that it concerns."""
    check_status: int = 1
    heavy: bool = False
    """Whether the library is run in a process of its own, whose memory is measured."""
    seconds: float = 30.0
    same_id: bool = False
    """Every session gets the same id."""
    printed: bool = False
    """Whether `PRINTED` (a word that the agent put beside its poison) must be found on the screen."""
    timeout: float | None = None
    """How long each phase may take: `--timeout` of `accord run`, and the deadlines of the library."""


ROWS: dict[str, Row] = {}
# By the name of a row, a module that has it.
_MODULES: dict[str, str] = {}


def trick(name: str, says: str, play: Play | None = None, **expected: Any) -> Callable[[Play], Play]:
    """Add a row: as a decorator of its function, or with the function."""

    def add(function: Play) -> Play:
        if name in ROWS:
            raise ValueError(f"there are two tricks {name!r}")
        ROWS[name] = Row(name, says, function, **expected)
        return function

    if play is not None:
        add(play)
    return add


def rows() -> dict[str, Row]:
    """All rows, in the order of modules and lines."""
    folder = os.path.join(os.path.dirname(__file__), "tricks")  # noqa: PTH118, PTH120 - no more imports than needed
    for each in sorted(os.listdir(folder)):  # noqa: PTH208
        if each.endswith(".py") and not each.startswith("_"):
            importlib.import_module(f"tests.hostile.tricks.{each[:-3]}")
            for name in ROWS:
                _MODULES.setdefault(name, each[:-3])
    return ROWS


def word_of(row: Row) -> str:
    """What the agent is given to play a row: its module and its name."""
    return f"{_MODULES[row.name]}:{row.name}"


def row_of(word: str) -> Row:
    """The row of such a word, or of a name alone: to import all modules takes longer than to play one row."""
    module, _, name = word.rpartition(":")
    if not module:
        return rows()[name]
    importlib.import_module(f"tests.hostile.tricks.{module}")
    return ROWS[name]


def at_chat() -> list[Row]:
    """About forty rows that touch a screen, for `accord chat`, which takes longest: every second one."""
    return [row for row in rows().values() if row.chat][::2]


def everyday() -> frozenset[str]:
    """The fixed third that runs without `--long`: one of every three rows in a line, so that every topic is in it.

    It is the one that takes least, but in every twelfth group the first: chats, checks and floods run every day too.
    """
    found = list(rows().values())
    groups = [found[at : at + 3] for at in range(0, len(found), 3)]
    return frozenset(
        (group[0] if number % 12 == 0 else min(group, key=_cost)).name for number, group in enumerate(groups)
    )


def _cost(row: Row) -> float:
    """About how many starts of a program a row takes in all its ways."""
    return 1 + len(row.then) + 3 * row.chat + 3 * bool(row.check) + 5 * row.heavy + (row.answers is not None)
