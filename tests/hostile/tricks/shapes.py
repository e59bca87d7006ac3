"""Questions of every shape: what they are about stands under other names, in other places, or nowhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.hostile.hand import Hand, diff
from tests.hostile.registry import trick

NO_RM = ("deny execute:rm *", "allow all")
NO_SECRET = ("deny edit:secret/**", "allow all")


def asks(raw_input: Any, **call: Any) -> Callable[[Hand], object]:
    return lambda hand: hand.permission({"kind": "execute", "title": "ls", "rawInput": raw_input, **call})


def nested(value: Any, depth: int) -> Any:
    for _ in range(depth):
        value = {"input": value}
    return value


INPUTS: dict[str, tuple[str, Any]] = {
    "cmd": ("under the name cmd", {"cmd": "rm a.txt"}),
    "script": ("under the name script", {"script": "cd src\nrm a.txt"}),
    "argv": ("as an argv", {"argv": ["rm", "a.txt"]}),
    "args": ("as a program beside its arguments", {"command": "rm", "args": ["a.txt"]}),
    "args-line": ("as a shell beside its arguments", {"command": "sh", "args": ["-c", "rm a.txt"]}),
    "list": ("as a list", {"command": ["bash", "-lc", "rm a.txt"]}),
    "commands": ("as the second of several", {"commands": ["ls", "rm a.txt"]}),
    "commands-argv": ("as the second of several lists", {"commands": [["ls"], ["rm", "a.txt"]]}),
    "commands-objects": ("as one of several objects", {"commands": [{"command": "ls"}, {"command": "rm a.txt"}]}),
    "nested": ("two levels deep", {"tool": {"input": {"command": "rm a.txt"}}}),
    "deep": ("deeper than anybody looks", nested({"command": "rm a.txt"}, 50)),
    "capitals": ("in capitals", {"COMMAND": "rm a.txt"}),
    "hyphens": ("under a name with hyphens", {"shell-command": "rm a.txt"}),
    "twice": ("under two spellings of one name", {"command": "rm a.txt", "Command": "ls"}),
    "twice-args": ("with two spellings of its arguments", {"command": "rm", "args": ["a.txt"], "Args": []}),
    "unknown-name": ("under a name that nobody knows", {"zauberspruch": "rm a.txt"}),
    "number": ("as a number", {"command": 7}),
    "text": ("as a bare text", "rm a.txt"),
    "bare-list": ("as a bare list", ["rm", "a.txt"]),
    "nothing": ("nowhere", None),
    "mixed": ("in an argv with a number in it", {"command": ["rm", "a.txt", 7]}),
    "huge": ("behind a thousand others", {"commands": ["ls"] * 1000 + ["rm a.txt"]}),
    "environment": ("in an environment that nobody can read", {"command": "ls", "env": "PATH=."}),
}  # fmt: skip
# These name nothing, so that they are questions; and there is nobody to ask.
UNNAMED = {"unknown-name", "number", "bare-list", "nothing"}


def denied(name: str) -> dict[str, Any]:
    """The end of a trick: a rule denied it, or nobody could be asked about what a rule might mean."""
    return {"status": 5, "counts": (1, 0, 0)} if name in UNNAMED else {"status": 0, "counts": (0, 0, 0)}


for _name, (_says, _input) in INPUTS.items():
    trick(f"input-{_name}", f"has its denied command {_says}", asks(_input), rules=NO_RM, **denied(_name))

PATCH = "*** Begin Patch\n*** Update File: secret/key\n@@\n-x\n+y\n*** End Patch\n"
UNIFIED = "--- a/secret/key\n+++ b/secret/key\n@@ -1 +1 @@\n-the key\n+y\n"
MANY = [*({"path": f"f{n}"} for n in range(300)), {"path": "secret/key"}]
EDITS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "locations": ("as its second location", None, {"locations": [{"path": "a.txt"}, {"path": "secret/key"}]}),
    "input-path": ("in its input", {"file_path": "secret/key"}, {"locations": [{"path": "a.txt"}]}),
    "input-paths": ("in a list in its input", {"files": ["a.txt", "secret/key"]}, {}),
    "input-changes": ("as a key in its input", {"changes": {"secret/key": {}, "a.txt": {}}}, {}),
    "input-patch": ("in a patch in its input", {"patch": PATCH}, {"locations": [{"path": "a.txt"}]}),
    "input-unified": ("in a difference in its input", {"diff": UNIFIED}, {"locations": [{"path": "a.txt"}]}),
    "move": ("as where a file goes", {"source": "a.txt", "destination": "secret/key"}, {"kind": "move"}),
    "second-diff": ("in its second difference", None, {"content": [diff("a.txt"), diff("secret/key")]}),
    "link": ("through a link", None, {"locations": [{"path": "link/key"}]}),
    "address": ("by its address", None, {"locations": [{"path": "file:secret/key"}]}),
    "nothing": ("nowhere", None, {}),
    "tilde": ("by a tilde", None, {"locations": [{"path": "~/work/secret/key"}]}),
    "huge": ("behind three hundred others", None, {"locations": MANY}),
}  # fmt: skip
for _name, (_says, _input, _call) in EDITS.items():
    trick(
        f"edit-{_name}",
        f"has its denied file {_says}",
        asks(_input, **{"kind": "edit", **_call}),
        rules=("deny edit:secret/**", "deny move:secret/**", "allow all"),
        **denied(_name),
    )

trick(
    "allow-nothing-named", "names nothing, where a pattern allows", asks({}, kind="edit"), rules=("allow edit:src/**",)
)
trick(
    "allow-one-more",
    "names one file more than a pattern allows",
    lambda hand: hand.permission(
        {"kind": "edit", "locations": [{"path": f"{hand.cwd}/src/main.py"}, {"path": f"{hand.cwd}/a.txt"}]}
    ),
    rules=("allow edit:src/**",),
)
trick(
    "allow-environment",
    "adds a PATH to a command that a pattern allows",
    asks({"command": "echo x", "env": {"PATH": "."}}),
    rules=("allow execute:echo *",),
)
trick(
    "no-subject",
    "asks about nothing at all",
    lambda hand: hand.request(
        "permission",
        "session/request_permission",
        options=[{"optionId": "yes", "name": "Yes", "kind": "allow_once"}],
    ),
    rules=("allow read",),
    status=0,
)


@trick(
    "open-calls",
    "asks about nothing while two calls run",
    answers=("n",),
    version=2,
    status=0,
    chat=True,
    said=("rm -rf src",),
)
def _(hand: Hand) -> None:
    hand.call("c", kind="execute", title="first", rawInput={"command": "ls"})
    hand.call("d", kind="execute", title="second", rawInput={"command": "rm -rf src"})
    hand.permission(None, subject={"type": "_other"})


@trick(
    "v2-files",
    "has its denied file as the second of one difference, in version 2",
    rules=NO_SECRET,
    version=2,
    status=0,
)
def _(hand: Hand) -> None:
    changes = [{"operation": "modify", "path": f"{hand.cwd}/{each}"} for each in ("a.txt", "secret/key")]
    hand.permission({"kind": "edit", "content": [{"type": "diff", "changes": changes}]})


@trick("v2-patch", "has its denied file in a patch alone, in version 2", rules=NO_SECRET, version=2, status=0)
def _(hand: Hand) -> None:
    changes = [{"operation": "modify", "path": f"{hand.cwd}/a.txt"}]
    patch = {"format": "git_patch", "text": f"diff --git a/secret/key b/secret/key\n{UNIFIED}"}
    hand.permission({"kind": "edit", "content": [{"type": "diff", "changes": changes, "patch": patch}]})


@trick(
    "v2-command-call",
    "asks about a command whose call names a denied one, in version 2",
    rules=NO_RM,
    version=2,
    status=0,
)
def _(hand: Hand) -> None:
    hand.call("c", kind="execute", rawInput={"command": "rm a.txt"})
    hand.permission(None, subject={"type": "command", "command": "ls", "cwd": hand.cwd, "toolCallId": "c"})


@trick(
    "v2-command-subject",
    "asks about a denied command whose call names another, in version 2",
    rules=NO_RM,
    version=2,
    status=0,
)
def _(hand: Hand) -> None:
    hand.call("c", kind="read", rawInput={"command": "ls"})
    hand.permission(None, subject={"type": "command", "command": "rm a.txt", "cwd": hand.cwd, "toolCallId": "c"})


@trick(
    "v2-command-allowed",
    "asks about an allowed command whose call is an edit, in version 2",
    rules=("allow execute:ls",),
    version=2,
)
def _(hand: Hand) -> None:
    hand.call(
        "c", kind="edit", content=[{"type": "diff", "changes": [{"operation": "modify", "path": f"{hand.cwd}/a.txt"}]}]
    )
    hand.permission(None, subject={"type": "command", "command": "ls", "cwd": hand.cwd, "toolCallId": "c"})
