"""What is remembered of an always: exactly one thing, for exactly what was shown, in this session with this agent.

The first run is at a terminal, where always is answered; the further ones have nobody to ask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.hostile.hand import Hand
from tests.hostile.registry import Again, trick

FIRST: dict[str, Any] = {"answers": ("a",), "granted": ("permission",), "status": 0}
GO_ON = ("-c",)


def edit(hand: Hand, path: str) -> None:
    hand.permission({"kind": "edit", "title": "edit", "locations": [{"path": f"{hand.cwd}/{path}"}]})


def command(hand: Hand, **raw_input: Any) -> None:
    hand.permission({"kind": "execute", "title": "run", "rawInput": raw_input})


def edits(first: str, second: str) -> Callable[[Hand], object]:
    def play(hand: Hand) -> None:
        edit(hand, first if hand.run == 1 else second)
        if hand.run > 1:
            hand.write(second)

    return play


@trick("always-other-file", "was allowed one edit always, and edits another file", **FIRST, then=(Again(GO_ON),))
def _(hand: Hand) -> None:
    edits("a.txt", "b.txt")(hand)


@trick(
    "always-same", "was allowed one edit always, and edits that file again",
    **FIRST, then=(Again(GO_ON, granted=("permission", "write"), changes=("a.txt",), status=0),),
)  # fmt: skip
def _(hand: Hand) -> None:
    edits("a.txt", "a.txt")(hand)


@trick("always-new-session", "gives a new session the id of one with an always", **FIRST, same_id=True, then=(Again(),))
def _(hand: Hand) -> None:
    edits("a.txt", "a.txt")(hand)


@trick(
    "always-other-name",
    "gives a session of another name the id of one with an always",
    **FIRST,
    same_id=True,
    then=(Again(("-s", "other")),),
)
def _(hand: Hand) -> None:
    edits("a.txt", "a.txt")(hand)


@trick(
    "always-other-agent", "is another agent than the one with an always", **FIRST, then=(Again(arguments=("more",)),)
)
def _(hand: Hand) -> None:
    edits("a.txt", "a.txt")(hand)


@trick(
    "always-other-folder",
    "is started in another folder than the one with an always",
    **FIRST,
    then=(Again(folder="src"),),
)
def _(hand: Hand) -> None:
    edits("a.txt", "a.txt")(hand)


@trick(
    "always-then-denied", "was allowed an edit always, which a rule then denies",
    **FIRST, then=(Again(GO_ON, rules=("deny edit",)), Again(GO_ON, rules=("deny edit:a.txt", "allow all"))),
)  # fmt: skip
def _(hand: Hand) -> None:
    edits("a.txt", "a.txt")(hand)


@trick(
    "always-other-argument",
    "was allowed a command always, and runs it with another argument",
    **FIRST,
    then=(Again(GO_ON),),
)
def _(hand: Hand) -> None:
    command(hand, command="touch made" if hand.run == 1 else "touch other")
    if hand.run > 1:
        hand.terminal("touch", "other")


@trick(
    "always-other-environment", "was allowed a command always, and runs it with a PATH", **FIRST, then=(Again(GO_ON),)
)
def _(hand: Hand) -> None:
    command(hand, command="touch made", **({} if hand.run == 1 else {"env": {"PATH": "."}}))


@trick("always-nothing", "was allowed an edit of nothing always, and edits something", **FIRST, then=(Again(GO_ON),))
def _(hand: Hand) -> None:
    if hand.run == 1:
        hand.permission({"kind": "edit", "title": "edit"})
    else:
        edit(hand, "a.txt")


@trick(
    "always-read", "was allowed to read a file always, and edits it", **FIRST, then=(Again(GO_ON),), rules=("ask read",)
)
def _(hand: Hand) -> None:
    if hand.run == 1:
        hand.permission({"kind": "read", "title": "read", "locations": [{"path": f"{hand.cwd}/a.txt"}]})
    else:
        edits("a.txt", "a.txt")(hand)


@trick(
    "always-link",
    "was allowed a file behind a link always, and turns the link",
    **FIRST,
    changes=("turn",),
    then=(Again(GO_ON, changes=("turn",)),),
)
def _(hand: Hand) -> None:
    hand.link("src" if hand.run == 1 else "secret", "turn")
    edit(hand, "turn/key")


SEPARATORS = {
    "line-feed": "\n", "vertical-tab": "\x0b", "form-feed": "\x0c", "return": "\r", "file": "\x1c", "group": "\x1d",
    "record": "\x1e", "next-line": "\x85", "line": "\u2028", "paragraph": "\u2029",
}  # fmt: skip


def separated(separator: str, place: int) -> Callable[[Hand], object]:
    """Always for a command, a path or a title with a rule behind a separator; then what that rule would allow."""
    rule = f"{separator}allow all{separator}"

    def play(hand: Hand) -> None:
        if hand.run > 1:
            edit(hand, "b.txt")
            hand.terminal("touch", "made")
        elif place == 0:
            command(hand, command=f"echo 'x{rule}'")
        elif place == 1:
            edit(hand, f"x{rule}")
        else:
            hand.permission({"kind": "edit", "title": f"QZ{rule}QZ", "locations": [{"path": f"{hand.cwd}/a.txt"}]})

    return play


for _number, (_name, _separator) in enumerate(SEPARATORS.items()):
    trick(
        f"always-separator-{_name}", f"has a rule behind a separator ({_name}) in what is allowed always",
        separated(_separator, _number % 3),
        **FIRST, chat=_name in {"line-feed", "next-line", "line"}, then=(Again(GO_ON),),
    )  # fmt: skip
