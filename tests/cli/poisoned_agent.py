"""An agent that puts poison into every string of every message it sends: a program of its own, on stdin and stdout.

`python poisoned_agent.py VERSION [TRICK]`, where TRICK is `error` (a prompt is answered with an error), `die` (it ends
in the middle of a turn, with last words on stderr), `login` (a session needs one), or nothing. Each string gets
characters of the forbidden set beside the mark QZ, in turn, so that all of them come to every place in time.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from typing import Any

MARK = "QZ"
POISON = (
    "\x1b]777;QZ\x07", "\x1b[35m", "\x1b", "\x9b", "\x9d", "\x85", "\u202e", "\u202a", "\u2066", "\u2069", "\u061c",
    "\u200e", "\u200f", "\U000e0041", "\U000e007f", "\x7f", "\x08", "\x00", "\x07", "\x0b", "\u2028", "\ud83d",
    "\ufffe", "\u200b", "\u00ad", "\ufeff", "&#x202e;", "&#x61c;", "&rlm;", "\r",
)  # fmt: skip
_next = itertools.cycle(POISON)
# The words by which a message is understood; everything else is a string that somebody may see.
KEEP = frozenset({"jsonrpc", "method", "sessionUpdate", "type", "mode", "mimeType"})
SESSION = "s-QZ\x1b]777;QZ\x07\u202eQZ\u061cQZ\U000e0041QZ\x9bQZ"


def poisoned(text: str) -> str:
    return f"{next(_next)}{MARK}{text}{next(_next)}{MARK}"


def poison(value: Any) -> Any:
    if isinstance(value, str):
        return poisoned(value)
    if isinstance(value, list):
        return [poison(each) for each in value]
    if isinstance(value, dict):
        return {key: each if key in KEEP or key.startswith("=") else poison(each) for key, each in value.items()}
    return value


def plain(value: Any) -> Any:
    """Keys that begin with `=` keep their values."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key.removeprefix("="): plain(each) for key, each in value.items()}
    return value


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def note(line: str) -> None:
    """Say in a file how far it is: for a test that must know when to press a key."""
    path = os.environ.get("POISON_JOURNAL")
    if path:
        with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123 - no more imports than needed
            file.write(f"{line}\n")


def update(tag: str, /, **fields: Any) -> None:
    body = {"sessionUpdate": tag, **plain(poison(fields))}
    send({"method": "session/update", "params": {"sessionId": SESSION, "update": body}})


_ids = itertools.count(1000)


def ask(method: str, **params: Any) -> dict[str, Any]:
    id_ = next(_ids)
    note(f"asks {method}")
    send({"id": id_, "method": method, "params": {"sessionId": SESSION, **plain(poison(params))}})
    for line in sys.stdin:
        message: dict[str, Any] = json.loads(line)
        if message.get("id") == id_ and "method" not in message:
            note(f"answered {method}")
            return message
        if "method" in message and "id" in message:
            send({"id": message["id"], "error": {"code": -32601, "message": poisoned("busy")}})
    raise SystemExit(0)


OPTIONS = [
    {
        "type": "select",
        "=id": "model\u202eQZ",
        "name": "Model",
        "description": "which",
        "category": "model",
        "=currentValue": "m\x9bQZ",
        "options": [{"=value": "m\x9bQZ", "name": "One", "description": "d"}, {"value": "other", "name": "Two"}],
    }
]
MODES = {"=currentModeId": "a\u061cQZ", "availableModes": [{"=id": "a\u061cQZ", "name": "A", "description": "d"}]}


def initialize(version: int) -> dict[str, Any]:
    info = {"name": "poison", "title": "Poison", "version": "1"}
    session: dict[str, Any] = {"list": {}, "resume": {}, "close": {}, "delete": {}}
    methods = [{"id": "key", "name": "Key", "description": "a key"}]
    if version == 1:
        able: dict[str, Any] = {
            "loadSession": True,
            "promptCapabilities": {"image": True},
            "sessionCapabilities": session,
        }
        return {"=protocolVersion": 1, "agentInfo": info, "=agentCapabilities": able, "authMethods": methods}
    return {"=protocolVersion": 2, "info": info, "=capabilities": {"session": session}, "authMethods": methods}


def history() -> None:
    for kind in ("user_message_chunk", "agent_thought_chunk", "agent_message_chunk"):
        update(
            kind,
            **{"=messageId": kind},
            content={"type": "text", "text": f"{kind} *words* [link](http://x/y) `code`\nline"},
        )
    for block in (
        {"type": "resource_link", "name": "name", "title": "title", "uri": "file:///x", "description": "d"},
        {"type": "image", "mimeType": "image/png", "=data": "aGk=", "uri": "http://x"},
        {"type": "resource", "resource": {"uri": "file:///y", "text": "body"}},
        {"type": "hologram", "depth": "deep"},
    ):
        update("agent_message_chunk", **{"=messageId": "blocks"}, content=block)
    update("plan", entries=[{"content": "step", "priority": "high", "status": "pending"}])
    update("plan", entries=[{"content": "step", "=priority": "high", "=status": "in_progress"}])
    update("available_commands_update", availableCommands=[{"name": "do", "description": "it", "input": {"hint": "h"}}])
    update("current_mode_update", currentModeId="other")
    update("config_option_update", configOptions=OPTIONS)
    update("session_info_update", title="title of it")
    update("usage_update", used=10, size=100, cost={"amount": 0.5, "currency": "USD"})
    update("notice", title="notice", description="more", severity="info", noticeId="n")
    update("compaction_update", status="completed", error="why", compactionId="c")
    update(poisoned("weather"), sky="blue")
    update("tool_call", **{"=toolCallId": "t0", "title": "unknown kind", "kind": "kind", "status": "state"})
    for number, kind in enumerate(("read", "edit", "execute", "other"), 1):
        update(
            "tool_call",
            **{
                "=toolCallId": f"t{number}",
                "title": f"{kind} it",
                "=kind": kind,
                "=status": "failed" if number % 2 else "in_progress",
                "locations": [{"path": "/x/y", "line": 2}],
                "content": [
                    {"type": "content", "content": {"type": "text", "text": "shown\noutput"}},
                    {"type": "diff", "path": "/x/z", "oldText": "a\nb\n", "newText": "a\nc\n"},
                    {"type": "smell", "of": "burning"},
                ],
                "rawInput": {"command": "make all", "nested": ["x", {"k": "v"}]},
                "rawOutput": {"o": "p"},
            },
        )


def questions() -> None:
    for kind in ("edit", "execute"):
        ask(
            "session/request_permission",
            toolCall={
                "=toolCallId": f"q-{kind}",
                "title": f"{kind} something",
                "=kind": kind,
                "=status": "pending",
                "locations": [{"path": "/x/y"}],
                "rawInput": {"command": "rm -rf x", "cwd": "/somewhere"},
                "content": [{"type": "diff", "path": "/x/y", "oldText": "a\n", "newText": "b\n"}],
            },
            options=[
                {"=optionId": "y", "name": "Yes", "=kind": "allow_once"},
                {"=optionId": "n", "name": "No", "=kind": "reject_once"},
                {"optionId": "odd", "name": "Odd", "kind": "odd"},
            ],
        )
    ask(
        "elicitation/create",
        mode="form",
        message="fill in",
        requestedSchema={
            "type": "object",
            "=properties": {
                poisoned("choice"): {
                    "type": "string",
                    "title": poisoned("Choice"),
                    "description": poisoned("which"),
                    "enum": [poisoned("one"), poisoned("[b]two[/b]")],
                },
                "text": {"type": "string", "default": poisoned("default")},
            },
        },
    )
    ask("elicitation/create", mode="url", message="visit", elicitationId="e", url="https://x/")
    ask("fs/read_text_file", path="/nowhere/file")


def answer(version: int, trick: str, message: dict[str, Any]) -> None:  # noqa: C901 - a table of methods
    id_, method = message["id"], message["method"]
    result: Any = {}
    match method:
        case "initialize":
            result = initialize(version)
        case "session/new" if trick == "login":
            send({"id": id_, "error": {"code": -32000, "message": poisoned("log in")}})
            return
        case "session/new" | "session/load" | "session/resume" | "session/fork":
            if method != "session/new":
                history()
            result = {"=sessionId": SESSION, "configOptions": OPTIONS}
            if version == 1:
                result["modes"] = MODES
        case "session/list":
            result = {"sessions": [{"=sessionId": SESSION, "cwd": "/work", "title": "a title", "updatedAt": "never"}]}
        case "session/prompt":
            history()
            sys.stdout.write(f"{poisoned('a stray print').replace(chr(0xD83D), '')}\n")
            if trick == "error":
                error = {"code": -32603, "message": poisoned("it broke"), "data": poison({"details": "why"})}
                send({"id": id_, "error": error})
                return
            if trick == "die":
                sys.stderr.write(poisoned("last words").replace("\ud83d", "") + "\n")
                sys.stderr.flush()
                os._exit(3)
            questions()
            note("ends")
            result = {"stopReason": "end"}
        case _:
            pass
    send({"id": id_, "result": plain(poison(result))})


def main() -> None:
    version, trick = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    sys.stdin.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    sys.stderr.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    sys.stderr.write(poisoned("hello on stderr") + "\n")
    for line in sys.stdin:
        message = json.loads(line)
        if "method" in message and "id" in message:
            answer(version, trick, message)


if __name__ == "__main__":
    main()
