"""Requests that touch the machine: files and terminals that the agent wants from its client without having asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.hostile.hand import Hand
from tests.hostile.registry import trick

Play = Callable[[Hand], object]


def writes(path: str) -> Play:
    return lambda hand: hand.write(path)


def reads(path: str) -> Play:
    return lambda hand: hand.read_file(path)


def runs(*argv: str, **more: Any) -> Play:
    return lambda hand: hand.terminal(*argv, **more)


def variable(name: str, value: str) -> list[dict[str, str]]:
    return [{"name": name, "value": value}]


ALLOWED = ("allow all",)
REFUSED = (0, 1, 0)
NOBODY = (1, 0, 0)

# --- rules, and nobody to ask

trick(
    "write-nobody",
    "writes a file where nobody can be asked",
    writes("new.txt"),
    counts=NOBODY,
    bare_changes=("new.txt",),
    check=("ACP-PROMPT-001",),
    check_status=0,
)
trick(
    "terminal-nobody",
    "runs a command where nobody can be asked",
    runs("touch", "made"),
    counts=NOBODY,
    bare_changes=("made",),
)
trick("read-served", "reads a file inside the directories", reads("a.txt"), granted=("read",), status=0)
trick(
    "write-deny-all",
    "writes a file although everything is denied",
    writes("a.txt"),
    rules=("deny all",),
    counts=REFUSED,
)
trick(
    "terminal-deny-all",
    "runs a command although everything is denied",
    runs("touch", "made"),
    rules=("deny all",),
    counts=REFUSED,
)
trick(
    "read-deny-all", "reads a file although everything is denied", reads("a.txt"), rules=("deny all",), counts=REFUSED
)
trick(
    "write-deny-edit",
    "writes although edits are denied before all is allowed",
    writes("a.txt"),
    rules=("deny edit", *ALLOWED),
)
trick(
    "terminal-deny-execute",
    "runs although commands are denied",
    runs("touch", "made"),
    rules=("deny execute", *ALLOWED),
)
trick(
    "read-deny-pattern", "reads the one file that may not be read", reads("secret/key"), rules=("deny read:secret/**",)
)
trick(
    "write-ask-rule",
    "writes where a rule asks and nobody is there",
    writes("a.txt"),
    rules=("ask edit", *ALLOWED),
    counts=NOBODY,
)
trick(
    "write-asked", "writes a file, which somebody allows",
    writes("a.txt"), answers=("y",), granted=("write",), changes=("a.txt",), status=0, chat=True,
)  # fmt: skip
trick("write-refused", "writes a file, which somebody refuses", writes("a.txt"), answers=("n",), status=0, chat=True)
trick(
    "terminal-refused",
    "runs a command, which somebody refuses",
    runs("touch", "made"),
    answers=("n",),
    status=0,
    chat=True,
)
trick(
    "write-allowed-elsewhere", "writes through dots beyond the folder that a rule allows",
    writes("src/../a.txt"), rules=("allow edit:src/**",), counts=NOBODY,
)  # fmt: skip
trick(
    "write-allowed-link",
    "writes through a link that an allow names",
    writes("link/key"),
    rules=("allow edit:link/**",),
    counts=NOBODY,
)
trick(
    "write-denied-link",
    "writes a denied file through a link",
    writes("link/key"),
    rules=("deny edit:secret/**", *ALLOWED),
)
trick(
    "write-denied-slashes",
    "writes a denied file with more slashes",
    writes("/secret//./key"),
    rules=("deny edit:secret/**", *ALLOWED),
)
trick(
    "read-denied-link", "reads a denied file through a link", reads("link/key"), rules=("deny read:secret/**", *ALLOWED)
)

# --- out of the directories, whatever rules allow


def outside(name: str, says: str, play: Play, **more: Any) -> None:
    trick(name, says, play, **{"rules": ALLOWED, "status": 0, "counts": (0, 0, 0), "bare_changes": (), **more})


outside("write-dots-out", "writes beside the directory through dots", writes("../outside/canary"))
outside("write-link-out", "writes beside the directory through a link", writes("out/canary"))
outside("read-link-out", "reads beside the directory through a link", reads("out/canary"))
outside("read-dots-out", "reads in the home through dots", reads("../home/.ssh/id"))
outside("write-relative", "writes by a relative path", writes("=a.txt"))
outside("write-file-address", "writes by a file address", writes("=file:///a.txt"))
outside("write-tilde", "writes by a tilde", writes("=~/.bashrc"))
outside("write-null", "writes by a path with a null in it", writes("a.txt\0b"))
outside("write-long", "writes by a path of many thousand letters", writes("x" * 70_000))
outside("write-folder", "writes onto a folder", writes("src"))
outside("write-empty", "writes by an empty path", writes("="))
outside(
    "write-half-character", "writes a file whose name is half a character", writes("\ud800"), may_change=("\ufffd",)
)
outside(
    "terminal-cwd-out",
    "runs beside the directory",
    lambda hand: runs("touch", "made", cwd=f"{hand.cwd}/../outside")(hand),
)
outside(
    "terminal-cwd-link",
    "runs beside the directory through a link",
    lambda hand: runs("touch", "made", cwd=f"{hand.cwd}/out")(hand),
)
outside("terminal-null", "runs a command with a null in an argument", runs("touch", "ma\0de"))
outside("terminal-empty", "runs the empty command", runs(""))

# --- how a command is said

trick(
    "terminal-one-word",
    "says a whole line as its program",
    runs("touch made"),
    rules=("deny execute:touch *", *ALLOWED),
    counts=REFUSED,
)
trick(
    "terminal-absolute",
    "names a denied program by its path",
    runs("/usr/bin/touch", "made"),
    rules=("deny execute:touch *", *ALLOWED),
)
trick(
    "terminal-path-variable", "changes PATH for an allowed program",
    runs("touch", "made", env=variable("PATH", ".:/usr/bin:/bin")), rules=("allow execute:touch *",), counts=NOBODY,
)  # fmt: skip
trick(
    "terminal-preload-variable", "preloads a library into an allowed program",
    runs("touch", "made", env=variable("LD_PRELOAD", "/x.so")), rules=("allow execute:touch *",), counts=NOBODY,
)  # fmt: skip
trick(
    "terminal-bash-env", "has a shell read a file of its own first",
    runs("bash", "-c", "touch made", env=variable("BASH_ENV", "src/main.py")),
    rules=("allow execute:touch *",), counts=NOBODY,
)  # fmt: skip
trick(
    "terminal-left-running", "leaves an allowed command running",
    lambda hand: hand.request("terminal", "terminal/create", command="sleep", args=["600"]),
    rules=("allow execute:sleep *",), granted=("terminal",), status=0,
)  # fmt: skip
trick(
    "terminal-left-child", "leaves a child of an allowed command running in a session of its own",
    runs("sh", "-c", "setsid sleep 600 > /dev/null 2>&1 &"),
    rules=("allow execute",), granted=("terminal",), status=0,
)  # fmt: skip


@trick("many-writes", "asks for two hundred writes at once where nobody is there", counts=(200, 0, 0), heavy=True)
def _(hand: Hand) -> None:
    asked = [hand.ask("fs/write_text_file", path=f"{hand.cwd}/n{each}", content="x") for each in range(200)]
    for _each in asked:
        answer = hand.read() or {}
        hand.noted("write", answer)


# --- when

trick("write-at-start", "writes before it has said hello", writes("a.txt"), at="start", rules=ALLOWED, status=0)
trick("write-at-new", "writes before its session is open", writes("a.txt"), at="new", rules=ALLOWED, status=0)
trick("write-before-prompt", "writes before the prompt", writes("a.txt"), at="opened", rules=ALLOWED, chat=True)
trick("terminal-before-prompt", "runs a command before the prompt", runs("touch", "made"), at="opened", rules=ALLOWED)
trick(
    "write-at-load", "writes while its session is opened again", writes("a.txt"), at="load", rules=ALLOWED, or_status=0
)
trick(
    "terminal-at-load",
    "runs a command while its session is opened again",
    runs("touch", "made"),
    at="load",
    rules=ALLOWED,
    or_status=0,
)
trick("write-at-end", "writes after the end of its turn", writes("a.txt"), at="end", rules=ALLOWED, or_status=0)
trick(
    "terminal-at-end",
    "runs a command after the end of its turn",
    runs("touch", "made"),
    at="end",
    rules=ALLOWED,
    or_status=0,
)


@trick("question-before-prompt", "asks before the prompt for what a rule allows", at="opened", rules=("allow edit",))
def _(hand: Hand) -> None:
    hand.permission({"kind": "edit", "locations": [{"path": f"{hand.cwd}/a.txt"}]})


@trick("write-cancelled", "writes after the turn was cancelled", rules=ALLOWED, interrupt=True, chat=True)
def _(hand: Hand) -> None:
    hand.note({"ready": True})
    hand.wait_for("session/cancel")
    hand.write("a.txt")


@trick("terminal-cancelled", "runs a command after the turn was cancelled", rules=ALLOWED, interrupt=True)
def _(hand: Hand) -> None:
    hand.note({"ready": True})
    hand.wait_for("session/cancel")
    hand.terminal("touch", "made")


@trick("question-cancelled", "asks after the turn was cancelled", rules=ALLOWED, interrupt=True, status=130)
def _(hand: Hand) -> None:
    hand.note({"ready": True})
    hand.wait_for("session/cancel")
    hand.permission({"kind": "edit", "locations": [{"path": f"{hand.cwd}/a.txt"}]})


# --- in whose name


@trick("write-unknown-session", "writes in the name of a session that nobody opened", rules=ALLOWED, status=0)
def _(hand: Hand) -> None:
    hand.session = "another"
    hand.write("a.txt")


@trick(
    "write-second-session",
    "writes in the name of a session whose turn does not run",
    rules=ALLOWED,
    sessions=2,
    status=0,
)
def _(hand: Hand) -> None:
    hand.session = hand.sessions[1] if len(hand.sessions) > 1 else "s-2"
    hand.write("a.txt")
    hand.terminal("touch", "made")


@trick("terminal-no-session", "runs a command in the name of no session", rules=ALLOWED, status=0)
def _(hand: Hand) -> None:
    hand.request("terminal", "terminal/create", command="touch", args=["made"], sessionId=None)
