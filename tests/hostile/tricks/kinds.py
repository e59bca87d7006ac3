"""Kinds that lie, titles that are no facts, and calls of a denied kind that are completed unasked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.hostile.hand import Hand, diff
from tests.hostile.registry import trick

Play = Callable[[Hand], object]
NAMED = "the agent did this without asking, which a rule denies"


def place(hand: Hand, path: str) -> list[dict[str, str]]:
    return [{"path": f"{hand.cwd}/{path}"}]


def asks(**call: Any) -> Any:
    return lambda hand: hand.permission({"title": "a call", **call})


# --- kinds


@trick(
    "kind-read-diff-denied", "calls an edit a read, where edits are denied", rules=("deny edit", "allow all"), status=0
)
def _(hand: Hand) -> None:
    hand.permission({"kind": "read", "title": "read", "content": [diff(f"{hand.cwd}/a.txt")]})


@trick("kind-read-diff-allowed", "calls an edit a read, where reads are allowed", rules=("allow read",), chat=True)
def _(hand: Hand) -> None:
    hand.permission({"kind": "read", "title": "read", "content": [diff(f"{hand.cwd}/a.txt")]})


trick(
    "kind-think-command",
    "calls a command a thought",
    asks(kind="think", rawInput={"command": "touch made"}),
    rules=("allow think",),
)
trick(
    "kind-search-command",
    "calls a denied command a search",
    asks(kind="search", rawInput={"command": "rm a.txt"}),
    rules=("deny execute:rm *", "allow all"),
    status=0,
)
trick(
    "kind-missing",
    "leaves the kind of a command out",
    asks(rawInput={"command": "rm a.txt"}),
    rules=("deny execute", "allow all"),
    status=0,
)
trick(
    "kind-unknown",
    "has a kind for a command that nobody knows",
    asks(kind="teleport", rawInput={"command": "rm a.txt"}),
    rules=("deny execute", "allow all"),
    status=0,
)
trick(
    "kind-poisoned",
    "has a kind that would clear the screen",
    asks(kind="QZ\x1b[2J\u202eQZ", title="x"),
    answers=("n",),
    status=0,
    chat=True,
)
trick(
    "kind-null",
    "says null for its kind",
    asks(kind=None, rawInput={"command": "rm a.txt"}),
    rules=("deny execute", "allow all"),
    status=0,
)
trick(
    "kind-switch-mode",
    "calls a command a switch of modes",
    asks(kind="switch_mode", rawInput={"command": "touch made"}),
    rules=("allow switch_mode",),
)
trick(
    "kind-fetch-edit",
    "calls an edit a fetch",
    lambda hand: hand.permission({"kind": "fetch", "content": [diff(f"{hand.cwd}/a.txt")]}),
    rules=("allow fetch",),
)
trick(
    "title-as-command",
    "names an allowed command in its title alone",
    asks(kind="execute", title="git status"),
    rules=("allow execute:git *",),
)
trick(
    "title-denied",
    "names a denied command in its title, which is no command",
    asks(kind="execute", title="rm -rf /", rawInput={"command": "git status"}),
    rules=("deny execute:rm *", "allow execute:git *"),
    granted=("permission",),
    status=0,
)
trick(
    "title-lies",
    "calls a deletion a listing in its title",
    asks(kind="execute", title="ls -l", rawInput={"command": "rm -rf src"}),
    answers=("n",),
    status=0,
    said=("rm -rf src",),
    chat=True,
)


@trick("kind-changed", "calls an edit a read before it asks", rules=("deny edit:secret/**", "allow all"), status=0)
def _(hand: Hand) -> None:
    hand.call("c", kind="edit", locations=place(hand, "secret/key"))
    hand.change("c", kind="read", locations=place(hand, "a.txt"))
    hand.permission({"toolCallId": "c", "kind": "read", "locations": place(hand, "a.txt")})


@trick(
    "kind-changed-no-path", "calls an edit of nothing a read before it asks", rules=("deny edit", "allow all"), status=0
)
def _(hand: Hand) -> None:
    hand.call("c", kind="edit")
    hand.change("c", kind="read")
    hand.permission({"toolCallId": "c", "kind": "read", "locations": place(hand, "a.txt")})


@trick("command-changed", "shows another command before it asks", rules=("deny execute:rm *", "allow all"), status=0)
def _(hand: Hand) -> None:
    hand.call("c", kind="execute", rawInput={"command": "rm a.txt"})
    hand.change("c", rawInput={"command": "ls"})
    hand.permission({"toolCallId": "c", "rawInput": {"command": "ls"}})


@trick(
    "command-changed-kind",
    "makes a thought of its command before it asks",
    rules=("deny execute", "allow all"),
    status=0,
)
def _(hand: Hand) -> None:
    hand.call("c", kind="execute", title="x")
    hand.change("c", kind="think")
    hand.permission({"toolCallId": "c", "kind": "think"})


# --- completed unasked


def unasked(name: str, says: str, **more: Any) -> Callable[[Play], Play]:
    return trick(name, says, **{"rules": ("deny edit", "deny execute"), "said": (NAMED,), "counts": (0, 0, 1), **more})


@unasked("unasked-edit", "edits by itself what a rule denies", chat=True)
def _(hand: Hand) -> None:
    hand.call("c", kind="edit", locations=place(hand, "a.txt"))
    hand.change("c", status="completed")


@unasked("unasked-at-once", "reports a denied call when it is over")
def _(hand: Hand) -> None:
    hand.call("c", kind="execute", status="completed", rawInput={"command": "rm a.txt"})


@unasked("unasked-diff-only", "reports a denied edit by its result alone")
def _(hand: Hand) -> None:
    hand.change("c", status="completed", content=[diff(f"{hand.cwd}/a.txt")])


@unasked("unasked-refused", "does what was refused by a rule")
def _(hand: Hand) -> None:
    hand.permission({"toolCallId": "c", "kind": "edit", "locations": place(hand, "a.txt")})
    hand.change("c", status="completed")


@unasked("unasked-before-prompt", "edits by itself before the prompt", at="opened", granted=("read",))
def _(hand: Hand) -> None:
    hand.call("c", kind="edit", locations=place(hand, "a.txt"), status="completed")
    hand.read_file("a.txt")


@unasked("unasked-renamed", "calls its edit a read when it is over")
def _(hand: Hand) -> None:
    hand.call("c", kind="edit", locations=place(hand, "a.txt"))
    hand.change("c", kind="read", status="completed")


@unasked("unasked-v2", "edits by itself in version 2", version=2)
def _(hand: Hand) -> None:
    hand.call("c", kind="edit", locations=place(hand, "a.txt"))
    hand.change("c", status="completed")


@unasked(
    "unasked-changed", "was allowed to edit, and then runs a command under the same call",
    rules=("deny execute",), answers=("y",), granted=("permission",),
)  # fmt: skip
def _(hand: Hand) -> None:
    hand.permission({"toolCallId": "c", "kind": "edit", "locations": place(hand, "a.txt")})
    hand.change("c", kind="execute", rawInput={"command": "rm b.txt"})
    hand.change("c", status="completed")


@unasked(
    "unasked-more-files", "was allowed one file, and then edits a denied one under the same call",
    rules=("deny edit:secret/**",), answers=("y",), granted=("permission",),
)  # fmt: skip
def _(hand: Hand) -> None:
    hand.permission({"toolCallId": "c", "kind": "edit", "locations": place(hand, "a.txt")})
    hand.change("c", status="completed", content=[diff(f"{hand.cwd}/secret/key")])


@unasked(
    "unasked-id-again",
    "completes a denied call under an id that was used",
    rules=("deny execute",),
    answers=("y",),
    granted=("permission",),
)
def _(hand: Hand) -> None:
    hand.permission({"toolCallId": "c", "kind": "edit", "locations": place(hand, "a.txt")})
    hand.change("c", status="completed")
    hand.call("c", kind="execute", rawInput={"command": "rm a.txt"})
    hand.change("c", status="completed")


@unasked("unasked-failed", "fails at what a rule denies", status=0, said=(), unsaid=(NAMED,), counts=(0, 0, 0))
def _(hand: Hand) -> None:
    hand.call("c", kind="edit", locations=place(hand, "a.txt"))
    hand.change("c", status="failed")


@unasked("unasked-never-ends", "never ends what a rule denies", status=0, said=(), unsaid=(NAMED,), counts=(0, 0, 0))
def _(hand: Hand) -> None:
    hand.call("c", kind="edit", locations=place(hand, "a.txt"))


@unasked(
    "unasked-allowed",
    "completes what a person allowed",
    rules=("deny execute",),
    answers=("y",),
    granted=("permission",),
    status=0,
    said=(),
    unsaid=(NAMED,),
    counts=(0, 0, 0),
)
def _(hand: Hand) -> None:
    hand.permission({"toolCallId": "c", "kind": "edit", "locations": place(hand, "a.txt")})
    hand.change("c", status="completed", content=[diff(f"{hand.cwd}/a.txt")])


@trick("five-nobody", "is denied because nobody can be asked", said=("there was no user to ask",), counts=(1, 0, 0))
def _(hand: Hand) -> None:
    hand.permission({"kind": "edit", "locations": place(hand, "a.txt")})


@trick(
    "five-rule",
    "is refused a file by a rule",
    rules=("deny edit",),
    said=("a rule refused a file or a command",),
    counts=(0, 1, 0),
)
def _(hand: Hand) -> None:
    hand.write("a.txt")


@trick(
    "five-not", "is refused a question by a rule, which is no failure", rules=("deny edit",), status=0, counts=(0, 0, 0)
)
def _(hand: Hand) -> None:
    hand.permission({"kind": "edit", "locations": place(hand, "a.txt")})
