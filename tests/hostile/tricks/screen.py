"""Text that steers a screen, in every place where a string of an agent can stand; through chat too."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from tests.hostile.hand import NO, YES, Hand, diff
from tests.hostile.poison import ALL, MARKUP, bad
from tests.hostile.registry import trick

Play = Callable[[Hand], object]


def drawn(name: str, says: str, play: Play, **more: Any) -> None:
    """A row whose text must be on the screen, without anything that steers it."""
    trick(f"screen-{name}", says, play, **{"status": 0, "chat": True, "printed": True, **more})


def says(text: str) -> Play:
    return lambda hand: hand.say(text)


def tells(tag: str, **fields: Any) -> Play:
    """One update of version 1."""
    return lambda hand: hand.update(tag, **fields)


def calls(**fields: Any) -> Play:
    """A call that begins and ends."""

    def play(hand: Hand) -> None:
        hand.call("c", **{"status": "completed", **fields})

    return play


def text(value: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": value}}


def asks(call: dict[str, Any], options: Any = (YES, NO)) -> Play:
    """A question that somebody refuses."""
    return lambda hand: hand.permission(call, list(options)) and None


ASKED: dict[str, Any] = {"answers": ("n",)}

# --- what is said

drawn("message", "says a message of poison", says(bad()))
drawn("thought", "thinks poison", tells("agent_thought_chunk", content={"type": "text", "text": bad()}))
drawn(
    "report", "asks a terminal where its cursor is", says("QZ\x1b[6nQZ\x1b[cQZ\x1b[>qQZ\x1b[21tQZ\x1bZQZ\x05QZ\x9b6nQZ")
)
drawn("zalgo", "floods its letters with combining marks", says("QZ " + ("a" + "\u0301\u0489\u0336" * 200) * 20 + " QZ"))
drawn("long-line", "says one line without a blank that is very long", says("W" * 100_000), printed=False)
drawn(
    "wide-line",
    "says a line of wide letters and emoji families",
    says("QZ " + "\U0001f468\u200d\U0001f469\u200d\U0001f466漢" * 3_000 + " QZ"),
)
drawn("many-lines", "says ten thousand lines", says("QZ\n" * 10_000))
drawn("tabs", "says tabs without end", says("QZ\t" * 3_000), answers=())
drawn(
    "overwrite",
    "overwrites its own line",
    says("QZ rm -rf /\rQZ ls      \x08\x08\x08QZ\x1b[1AQZ\x1b[2KQZ\nQZ\x1b[FQZ"),
    answers=(),
)


def _cut(hand: Hand) -> None:
    for piece in ("QZ \x1b", "]52;c;UVo=", "\x07QZ", "\x1b[", "31", "mQZ", "\x9b", "2J", "\ud83d", "\ude00", "\x1b"):
        hand.say(piece)


drawn("cut-sequence", "says escape sequences that are cut between messages", _cut, answers=())
drawn(
    "markdown",
    "says links, images and HTML of every kind",
    says(
        "# QZ\n[click](javascript:alert(1)) ![i](http://127.0.0.1:1/x.png) <script>QZ</script> <img src=x onerror=y>\n"
        "[a][b]\n\n[b]: file:///etc/passwd\n<http://user@evil/>\n| a | b |\n|--|--|\n| \x1b[31mQZ | \u202e |\n"
    ),
)
drawn("nested", "nests quotes and lists without end", says("> " * 400 + "QZ\n\n" + "* " * 400 + "QZ"), printed=False)
drawn(
    "endless-fence",
    "opens fences and quotes that never end",
    says("QZ\n```python\n~~~\n" + "`" * 5_000 + "\n<!-- QZ\n" + "* " * 2_000),
)
drawn("entities", "hides poison in entities", says("QZ&#27;[31mQZ&#x9b;QZ&#8238;QZ&zwj;QZ&#0;QZ&#xD800;QZ"))
drawn("openers", "says a megabyte of characters that begin a string", says("QZ " + "\x9d" * 1_000_000))
drawn("markup", "writes the markup of screens", says(MARKUP), answers=())


@trick("screen-links", "links to addresses that do things", status=0, chat=True, printed=True)
def _(hand: Hand) -> None:
    for uri in (
        "javascript:alert(1)",
        "file:///etc/passwd\x1b]8;;x\x07QZ",
        f"http://x/{ALL}",
        "data:text/html,\u202eQZ",
    ):
        link = {"type": "resource_link", "name": bad("name"), "title": bad(), "uri": uri, "description": bad()}
        hand.update("agent_message_chunk", content=link)
    hand.update("agent_message_chunk", content={"type": "resource", "resource": {"uri": bad("file://"), "text": bad()}})
    hand.update(
        "agent_message_chunk", content={"type": "image", "mimeType": bad("image/"), "data": "QZ\x1b", "uri": bad()}
    )
    hand.update("agent_message_chunk", content={"type": bad("hologram"), "depth": bad()})


# --- calls

drawn("call-title", "calls a tool by a title of poison", calls(title=bad("title"), kind="other"))
drawn("call-blanks", "calls a tool by a title of blanks", calls(title="QZ" + " " * 1_000_000 + "x", kind="other"))
drawn("call-markup", "calls a tool by a title of markup", calls(title=MARKUP, kind=MARKUP, status=MARKUP), answers=())
drawn("call-kind", "calls a tool of an unknown kind of poison", calls(kind=bad("kind"), status=bad("status")))
drawn(
    "call-input",
    "shows poison as raw input, in keys too",
    calls(rawInput={bad("key"): [bad(), {ALL: ALL}], "command": bad("ls")}),
    printed=False,
)
drawn(
    "call-output",
    "gives poison as raw output",
    calls(title="QZ", rawOutput={bad("key"): bad()}, content=[text(bad("out"))]),
)
drawn(
    "call-path",
    "names a place with poison in its path",
    calls(title="QZ", kind="read", locations=[{"path": bad("/x/"), "line": 2}]),
)
drawn(
    "diff-path",
    "shows a diff whose path is poison",
    calls(kind="edit", content=[diff(bad("/x/")), diff("/x/\u202etxt.QZ\ufe0f")]),
)
drawn(
    "diff-text",
    "shows a diff whose lines are poison",
    calls(title="QZ", kind="edit", content=[diff("/x/y", f"a\n{bad()}\n", f"b\r{bad()}\nc\x1b[2J\n\u2028QZ")]),
)


@trick("screen-patch", "shows a patch of Git with poison in it", status=0, version=2, chat=True, printed=True)
def _(hand: Hand) -> None:
    path = f"/x/{ALL}"
    patch = f"diff --git {path} {path}\n--- {path}\n+++ {path}\n@@ -1 +1 @@\n-{bad()}\n+{ALL}\n@@ -9999999999 +0 @@\n"
    change = {"operation": "modify", "path": bad("/x/"), "oldPath": bad()}
    content = [{"type": "diff", "changes": [change], "patch": {"format": "git_patch", "diff": patch, "text": patch}}]
    hand.call("c", title=bad(), kind="edit", content=content, status="completed")


def prints(*argv: str) -> Play:
    """A command whose output is part of a call."""

    def play(hand: Hand) -> None:
        answer = hand.request("terminal", "terminal/create", command=argv[0], args=list(argv[1:]))
        terminal = (answer.get("result") or {}).get("terminalId")
        hand.call("c", title="QZ", kind="execute", content=[{"type": "terminal", "terminalId": terminal}])
        if terminal is not None:
            hand.wait(hand.ask("terminal/wait_for_exit", terminalId=terminal))
            hand.wait(hand.ask("terminal/output", terminalId=terminal))
        hand.change("c", status="completed")

    return play


RUN: dict[str, Any] = {"rules": ("allow execute",), "granted": ("terminal",)}
drawn(
    "terminal-titles",
    "prints titles, a clipboard and links to its terminal",
    prints(
        "printf",
        r"QZ\033]0;QZ\007QZ\033]2;QZ\033\\QZ\033]52;c;UVo=\007QZ\033]8;;file:///\007QZ\033]8;;\007QZ\033]777;QZ",
    ),
    **RUN,
)
drawn(
    "terminal-bytes",
    "prints control characters, C1 and bytes that are no text to its terminal",
    prints(
        "printf", r"QZ\302\233QZ\233QZ\377QZ\342\200\256QZ\330\234QZ\033[2JQZ\010QZ\177QZ\000QZ\033[6nQZ\rQZ\033PQZ"
    ),
    **RUN,
)

drawn(
    "terminal-line",
    "prints a megabyte without an end of line to its terminal",
    prints("sh", "-c", "printf QZ; head -c 1000000 /dev/zero | tr '\\000' x; printf QZ"),
    **RUN,
)

# --- questions

drawn(
    "question-command",
    "asks about a command of poison",
    asks({"kind": "execute", "title": bad(), "rawInput": {"command": bad("ls"), "cwd": bad("/")}}),
    **ASKED,
)
drawn(
    "question-argv",
    "asks about arguments and an environment of poison",
    asks(
        {"kind": "execute", "rawInput": {"command": "ls", "args": [bad(), "\u200b", " ", ""], "env": {bad("X"): bad()}}}
    ),
    **ASKED,
)
drawn(
    "question-joiner",
    "asks about a command in which joiners hide",
    asks({"kind": "execute", "rawInput": {"command": "QZ l\u200ds \u200c-x\ufe0f"}}),
    said=("\\u200d",),
    **ASKED,
)
drawn(
    "question-selector",
    "asks about a path in which variation selectors hide",
    asks(
        {"kind": "edit", "locations": [{"path": "/x/QZ\ufe0f\U000e0100"}], "content": [diff("/x/QZ\ufe0f\U000e0100")]}
    ),
    said=("\\ufe0f",),
    **ASKED,
)
drawn(
    "question-overwrite",
    "asks about a command that overwrites itself",
    asks({"kind": "execute", "rawInput": {"command": "QZ rm -rf /\r\x1b[2KQZ ls\x08\x08"}}),
    said=("rm -rf",),
    **ASKED,
)
drawn(
    "question-lines",
    "asks about a command with every separator of lines",
    asks(
        {
            "kind": "execute",
            "title": "QZ\n" * 300,
            "rawInput": {"command": "QZ\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029QZ" * 20},
        }
    ),
    **ASKED,
)
drawn(
    "question-options",
    "offers options with names and ids of poison",
    asks(
        {"kind": "edit", "title": "QZ"},
        [
            {"optionId": bad("y"), "name": bad("Yes"), "kind": "allow_once"},
            {"optionId": bad("n"), "name": bad("No"), "kind": "reject_once"},
            {"optionId": ALL, "name": ALL, "kind": ALL},
        ],
    ),
    **ASKED,
)
drawn(
    "question-markup",
    "offers options with names of markup",
    asks({"kind": MARKUP, "title": MARKUP}, [{**YES, "name": MARKUP}, {**NO, "name": MARKUP}]),
    **ASKED,
)
drawn(
    "question-long",
    "asks about a command of a megabyte",
    asks({"kind": "execute", "title": "QZ", "rawInput": {"command": "QZ " + "x" * 1_000_000}}),
    **ASKED,
)


def form(hand: Hand) -> None:
    field = {
        "type": "string",
        "title": bad("Choice"),
        "description": bad(),
        "enum": [bad("one"), MARKUP],
        "default": bad("one"),
    }
    other = {"type": "string", "oneOf": [{"const": ALL, "title": ALL}, {"const": "b", "title": bad()}]}
    properties = {bad("choice"): field, "other": other, "text": {"type": "string", "default": ALL, "pattern": "("}}
    elicits(
        hand,
        mode="form",
        message=bad("fill in"),
        requestedSchema={"type": "object", "title": ALL, "properties": properties},
    )


def elicits(hand: Hand, **params: Any) -> None:
    hand.note({"asks": "form"})
    hand.note({"formed": str(hand.wait(hand.ask("elicitation/create", **params)))[:500]})


drawn("form", "asks for a form with choices of poison", form, printed=False)


@trick("screen-address", "asks to visit addresses that look like others", status=0, chat=True)
def _(hand: Hand) -> None:
    for url in (
        "https://b\u0430nk.com/\u202eQZ",
        "https://bank.com@127.0.0.1:1/QZ",
        f"https://x/{ALL}",
        "javascript:QZ",
    ):
        elicits(hand, mode="url", message=bad("visit"), elicitationId=bad("e"), url=url)


# --- what surrounds a conversation

drawn(
    "plan",
    "plans poison with priorities of poison",
    tells(
        "plan",
        entries=[
            {"content": bad("step"), "priority": bad(), "status": bad()},
            {"content": MARKUP, "priority": "high", "status": "in_progress"},
        ],
    ),
)
drawn(
    "usage",
    "counts in a currency of poison",
    tells("usage_update", used=10, size=100, cost={"amount": 0.5, "currency": bad("USD")}),
    printed=False,
)
drawn(
    "commands",
    "offers commands of poison",
    printed=False,
    play=tells(
        "available_commands_update",
        availableCommands=[
            {"name": bad("do"), "description": bad(), "input": {"hint": bad()}},
            {"name": MARKUP, "description": MARKUP},
        ],
    ),
)
drawn(
    "title",
    "names its session by poison",
    tells("session_info_update", title=bad("title"), updatedAt=bad()),
    printed=False,
)
drawn("unknown-update", "sends an update that nobody knows", tells(bad("weather"), sky=bad()), printed=False)


@trick("screen-notice", "gives notices of poison", status=0, version=2, chat=True)
def _(hand: Hand) -> None:
    hand.update("notice", noticeId=bad("n"), title=bad("notice"), description=bad(), severity=bad())
    hand.update("notice", noticeId="m", title=MARKUP, description=MARKUP, severity="error")


OPTIONS = [
    {
        "type": "select",
        "id": bad("o"),
        "name": bad("Option"),
        "description": bad(),
        "category": bad(),
        "currentValue": bad("v"),
        "options": [{"value": bad("v"), "name": bad("One"), "description": bad()}, {"value": MARKUP, "name": MARKUP}],
    },
]
MODES = {
    "currentModeId": bad("m"),
    "availableModes": [{"id": bad("m"), "name": bad("Mode"), "description": bad()}, {"id": MARKUP, "name": MARKUP}],
}


def opens(**fields: Any) -> Play:
    """Its first session is answered with more fields."""

    def play(hand: Hand) -> None:
        greeted = hand.read() or {}
        hand.answer(greeted.get("id"), {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}})
        asked = hand.wait_for("session/new")
        if asked:
            hand.cwd, hand.session = asked["params"]["cwd"], fields.get("sessionId", "s-1")
            hand.sessions.append(hand.session)
            hand.answer(asked["id"], {"sessionId": hand.session, **fields})

    return play


drawn("modes", "has modes and options of poison", opens(modes=MODES, configOptions=OPTIONS), at="start", printed=False)
drawn("session-id", "names its session by an id of poison", opens(sessionId=bad("s")), at="start", printed=False)


def greets(**fields: Any) -> Play:
    def play(hand: Hand) -> None:
        greeted = hand.read() or {}
        hand.answer(greeted.get("id"), {"protocolVersion": 1, "agentCapabilities": {}, **fields})

    return play


drawn(
    "agent-name",
    "introduces itself by poison",
    greets(agentInfo={"name": bad("n"), "title": MARKUP + ALL, "version": bad("1")}),
    at="start",
    printed=False,
    check=("ACP-INIT",),
    check_status=0,
)


@trick("screen-stderr", "writes poison to its stderr", status=0, chat=True, check=("ACP-STDERR",), check_status=0)
def _(_hand: Hand) -> None:
    sys.stderr.buffer.write(ALL.encode("utf-8", "replace") + b"\xff\x9bQZ\n" * 20)
    sys.stderr.buffer.flush()


@trick("screen-noise", "prints what is no message", status=0, chat=True, check=("ACP-TRANSPORT",))
def _(hand: Hand) -> None:
    hand.raw(ALL.encode("utf-8", "replace") + b"\n\xff\x9bQZ\x1b[31mQZ\n{QZ\x1b}\n")


@trick("screen-stop-reason", "ends for a reason of poison", status=0, chat=True, check=("ACP-PROMPT",))
def _(hand: Hand) -> None:
    hand.end(bad("reason"))


@trick(
    "screen-error",
    "fails with a message and data of poison",
    status=1,
    chat=True,
    said=("QZ",),
    check=("ACP-ERROR",),
    check_status=0,
)
def _(hand: Hand) -> None:
    fails(hand, {"code": -32603, "message": bad("it broke\n"), "data": {"details": bad(), ALL: ALL}})


@trick("screen-last-words", "dies with last words of poison", status=7, said=("QZ",))
def _(hand: Hand) -> None:
    sys.stderr.buffer.write(ALL.encode("utf-8", "replace"))
    hand.note({"dies": True})
    sys.exit(3)


def fails(hand: Hand, error: Any) -> None:
    """The prompt is answered by an error."""
    hand.note({"ends": "error"})
    hand.ended = True
    hand.send({"id": hand.prompt_id, "error": error})


@trick(
    "screen-login", "wants a login by methods of poison", at="start", status=6, said=("QZ",), check=("ACP-SESSION-001",)
)
def _(hand: Hand) -> None:
    methods = [{"id": bad("key"), "name": bad("Key"), "description": bad()}, {"id": MARKUP, "name": MARKUP}]
    greets(authMethods=methods)(hand)
    while asked := hand.wait_for("session/new"):
        hand.send({"id": asked["id"], "error": {"code": -32000, "message": bad("log in")}})
