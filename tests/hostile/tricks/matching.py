"""A question is allowed, and then something else is wanted: what was allowed is what happens, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.hostile.hand import Hand, diff
from tests.hostile.registry import trick

Play = Callable[[Hand], object]
ASKED_AGAIN: dict[str, Any] = {"answers": ("y", "n"), "granted": ("permission",), "status": 0}
PASSES: dict[str, Any] = {"answers": ("y",), "status": 0}


def edit(hand: Hand, path: str, **more: Any) -> dict[str, Any]:
    return {"toolCallId": "c", "kind": "edit", "title": "edit", "locations": [{"path": hand.path(path)}], **more}


def edits(asked: str, written: str) -> Play:
    def play(hand: Hand) -> None:
        hand.permission(edit(hand, asked.replace("CWD", hand.cwd)))
        hand.write(written)

    return play


def command(asked: dict[str, Any], *argv: str, **more: Any) -> Play:
    def play(hand: Hand) -> None:
        placed = {name: f"{hand.cwd}/{value}" if name == "cwd" else value for name, value in more.items()}
        hand.permission({"toolCallId": "c", "kind": "execute", "title": "touch made", "rawInput": asked})
        hand.terminal(*argv, **placed)

    return play


# --- paths

trick("match-other-path", "asks for one file and writes another", edits("a.txt", "b.txt"), **ASKED_AGAIN)
trick("match-below", "asks for a folder and writes a file in it", edits("src", "src/main.py"), **ASKED_AGAIN)
trick("match-case", "asks for the name in capitals", edits("A.TXT", "a.txt"), **ASKED_AGAIN)
trick(
    "match-look-alike", "asks for a name with a Cyrillic letter", edits("\u0430.txt", "a.txt"), **ASKED_AGAIN, chat=True
)
trick(
    "match-composed",
    "asks for a composed letter and writes the decomposed one",
    edits("\u00e9", "e\u0301"),
    **ASKED_AGAIN,
)
trick("match-percent", "asks for a name with a percent sign in it", edits("a%2etxt", "a.txt"), **ASKED_AGAIN)
trick("match-blank", "asks for a name with a blank behind it", edits("a.txt ", "a.txt"), **ASKED_AGAIN, chat=True)
trick(
    "match-invisible",
    "asks for a name with an invisible character",
    edits("a\u200b.txt", "a.txt"),
    **ASKED_AGAIN,
    chat=True,
)
trick("match-tilde", "asks for a file by a tilde", edits("=~/work/a.txt", "a.txt"), **ASKED_AGAIN)
trick("match-host", "asks for a file on another host", edits("=file://elsewhere/CWD/a.txt", "a.txt"), **ASKED_AGAIN)
trick(
    "match-address", "asks for a file by its address", edits("=file://CWD/%61.txt", "a.txt"),
    **PASSES, granted=("permission", "write"), changes=("a.txt",),
)  # fmt: skip
trick(
    "match-relative", "asks for a file by a relative path", edits("=a.txt", "a.txt"),
    **PASSES, granted=("permission", "write"), changes=("a.txt",),
)  # fmt: skip


@trick("match-nothing-named", "asks for an edit of nothing", **ASKED_AGAIN)
def _(hand: Hand) -> None:
    hand.permission({"kind": "edit", "title": "edit a.txt"})
    hand.write("a.txt")


@trick(
    "match-spellings",
    "asks for a file and writes it in other spellings",
    **PASSES,
    granted=("permission", "write", "write"),
    changes=("a.txt",),
)
def _(hand: Hand) -> None:
    hand.permission(edit(hand, "./src/..//a.txt"))
    hand.write("/a.txt")
    hand.write("src/../alias.txt")


@trick("match-read-then-write", "asks to read a file and writes it", **ASKED_AGAIN)
def _(hand: Hand) -> None:
    hand.permission(edit(hand, "a.txt", kind="read"))
    hand.write("a.txt")


@trick("match-swapped-link", "asks for a file behind a link and then turns the link", **ASKED_AGAIN, changes=("turn",))
def _(hand: Hand) -> None:
    hand.link("src", "turn")
    hand.permission(edit(hand, "turn/key"))
    hand.link("secret", "turn")
    hand.write("turn/key")


@trick(
    "match-swapped-out",
    "asks for a file behind a link and then turns the link out of the directory",
    **PASSES,
    granted=("permission",),
    changes=("turn",),
)
def _(hand: Hand) -> None:
    hand.link("src", "turn")
    hand.permission(edit(hand, "turn/canary"))
    hand.link("../outside", "turn")
    hand.write("turn/canary")


@trick("match-file-to-link", "asks for a file and then puts a link into its place", **ASKED_AGAIN, changes=("a.txt",))
def _(hand: Hand) -> None:
    hand.permission(edit(hand, "a.txt"))
    hand.link("secret/key", "a.txt")
    hand.write("a.txt")


@trick(
    "match-parent-replaced", "asks for a file and then replaces its folder by a link", **ASKED_AGAIN,
    changes=("src/main.py", "src/util.py", "old/main.py", "old/util.py"),
)  # fmt: skip
def _(hand: Hand) -> None:
    hand.permission(edit(hand, "src/key"))
    hand.rename("src", "old")
    hand.link("secret", "src")
    hand.write("src/key")


# --- commands

TOUCH = {"command": "touch made"}
trick(
    "match-argv-more",
    "asks for a command and runs it with one more argument",
    command(TOUCH, "touch", "made", "more"),
    **ASKED_AGAIN,
)
trick("match-argv-other", "asks for a command and runs another", command(TOUCH, "rm", "a.txt"), **ASKED_AGAIN)
trick(
    "match-argv-path",
    "asks for a program by name and runs one by path",
    command(TOUCH, "./touch", "made"),
    **ASKED_AGAIN,
)
trick(
    "match-argv-joined",
    "asks for two words and runs a line of three",
    command(TOUCH, "touch made a.txt"),
    **ASKED_AGAIN,
)
trick(
    "match-directory",
    "asks for a command here and runs it elsewhere",
    command(TOUCH, "touch", "made", cwd="src"),
    **ASKED_AGAIN,
)
trick(
    "match-environment",
    "asks for a command and runs it with another PATH",
    command(TOUCH, "touch", "made", env=[{"name": "PATH", "value": "."}]),
    **ASKED_AGAIN,
)
trick(
    "match-line-longer",
    "asks for a line and runs a longer one",
    command(TOUCH, "sh", "-c", "touch made; rm a.txt"),
    **ASKED_AGAIN,
)
trick(
    "match-quoted",
    "asks for a quoted separator and runs a real one",
    command({"command": "echo 'x; touch made'"}, "sh", "-c", "echo x; touch made"),
    **ASKED_AGAIN,
)
trick("match-command-nothing", "asks for a command without naming one", command({}, "touch", "made"), **ASKED_AGAIN)
trick(
    "match-title-only",
    "names its command in the title alone",
    command({"note": "see title"}, "touch", "made"),
    **ASKED_AGAIN,
)
trick(
    "match-same-command", "asks for a line and runs its argv", command(TOUCH, "touch", "made"),
    **PASSES, granted=("permission", "terminal"), changes=("made",),
)  # fmt: skip

# --- the call and the turn


@trick("match-call-ended", "writes after its call has ended", **ASKED_AGAIN)
def _(hand: Hand) -> None:
    hand.permission(edit(hand, "a.txt"))
    hand.change("c", status="completed")
    hand.write("a.txt")


@trick("match-call-failed", "writes after its call has failed", **ASKED_AGAIN)
def _(hand: Hand) -> None:
    hand.permission(edit(hand, "a.txt"))
    hand.change("c", status="failed")
    hand.write("a.txt")


@trick("match-id-again", "uses the id of an allowed call for another", **ASKED_AGAIN)
def _(hand: Hand) -> None:
    hand.permission(edit(hand, "a.txt"))
    hand.change("c", status="completed")
    hand.call("c", kind="edit", locations=[{"path": f"{hand.cwd}/a.txt"}])
    hand.write("a.txt")


@trick("match-ended-before", "asks about a call that has ended, and writes", **ASKED_AGAIN)
def _(hand: Hand) -> None:
    hand.call("c", kind="edit", status="completed")
    hand.permission(edit(hand, "a.txt"))
    hand.write("a.txt")


@trick("match-never-was", "asks about a call of which nobody has heard, and writes", **ASKED_AGAIN)
def _(hand: Hand) -> None:
    hand.permission({"toolCallId": "never"})
    hand.write("a.txt")


@trick(
    "match-two-calls", "has two calls for one file, of which one has ended",
    answers=("y", "y"), granted=("permission", "permission", "write"), changes=("a.txt",), status=0,
)  # fmt: skip
def _(hand: Hand) -> None:
    hand.permission(edit(hand, "a.txt"))
    hand.permission(edit(hand, "a.txt", toolCallId="d"))
    hand.change("c", status="completed")
    hand.write("a.txt")


@trick(
    "match-two-calls-ended",
    "has two calls for one file, of which both have ended",
    answers=("y", "y", "n"),
    granted=("permission", "permission"),
    status=0,
)
def _(hand: Hand) -> None:
    for each in ("c", "d"):
        hand.permission(edit(hand, "a.txt", toolCallId=each))
    for each in ("d", "c"):
        hand.change(each, status="completed")
    hand.write("a.txt")


@trick("match-changed-later", "changes its call after it was allowed, and does what it says then", **ASKED_AGAIN)
def _(hand: Hand) -> None:
    hand.permission(edit(hand, "a.txt"))
    hand.change("c", locations=[{"path": f"{hand.cwd}/secret/key"}], content=[diff(f"{hand.cwd}/secret/key")])
    hand.write("secret/key")


@trick("match-command-changed-later", "changes its command after it was allowed", **ASKED_AGAIN)
def _(hand: Hand) -> None:
    hand.permission({"toolCallId": "c", "kind": "execute", "rawInput": TOUCH})
    hand.change("c", rawInput={"command": "rm a.txt"})
    hand.terminal("rm", "a.txt")


@trick("match-refused", "does what was refused", answers=("n", "n"), status=0)
def _(hand: Hand) -> None:
    hand.permission(edit(hand, "a.txt"))
    hand.write("a.txt")


@trick(
    "match-other-session",
    "uses what one session was allowed under the id of another",
    answers=("y",),
    library_questions=2,
    granted=("permission",),
    sessions=2,
    status=0,
)
def _(hand: Hand) -> None:
    hand.permission(edit(hand, "a.txt"))
    hand.session = hand.sessions[1] if len(hand.sessions) > 1 else "s-2"
    hand.write("a.txt")


@trick(
    "match-one-id",
    "gives two sessions one id, and writes in the turn of the first",
    rules=("allow all",),
    sessions=2,
    same_id=True,
    status=0,
)
def _(hand: Hand) -> None:
    if len(hand.sessions) > 1:
        hand.write("a.txt")
