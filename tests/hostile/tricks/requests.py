"""Requests that touch the machine: files and terminals that the agent wants from its client without having asked."""

from __future__ import annotations

from tests.hostile.hand import Hand
from tests.hostile.registry import trick


@trick("write-nobody", "writes a file where nobody can be asked", bare_changes=("new.txt",))
def _(hand: Hand) -> None:
    hand.write("new.txt")


@trick("write-deny-all", "writes a file although everything is denied", rules=("deny all",), counts=(0, 1, 0))
def _(hand: Hand) -> None:
    hand.write("a.txt")


@trick(
    "terminal-nobody",
    "runs a command where nobody can be asked",
    bare_changes=("made",),
    check=("ACP-PROMPT",),
    check_status=0,
)
def _(hand: Hand) -> None:
    hand.terminal("touch", "made")


@trick("read-served", "reads a file inside the directories", granted=("read",), status=0)
def _(hand: Hand) -> None:
    hand.read_file("a.txt")


@trick(
    "write-asked",
    "writes a file, which somebody allows",
    answers=("y",),
    granted=("write",),
    changes=("a.txt",),
    status=0,
    chat=True,
)
def _(hand: Hand) -> None:
    hand.write("a.txt")
