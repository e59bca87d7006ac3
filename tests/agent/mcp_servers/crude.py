"""An MCP server written by hand, for what the official package refuses to do: `crude.py <behaviour>`.

It uses the standard library alone and starts at once.
"""

from __future__ import annotations

import json
import os
import sys

# No `signal`, `pathlib` or `typing`: they take half of each start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from signal import SIG_IGN, SIGTERM, pause as wait_for_signal, signal
    from typing import Any, NoReturn
else:
    from _signal import SIG_IGN, SIGTERM, pause as wait_for_signal, signal

BEHAVIOUR = sys.argv[1]
MODERN = "2026-07-28"
CALLED: list[int] = []
CONTENT: dict[str, list[Any]] = {
    "young_block": [{"type": "hologram", "depth": {"mimeType": 3}, "_meta": {"k": 1}}, {"type": "text", "text": "t"}],
    "bad_block": [{"type": "text", "text": 5}],
    "untagged_block": ["t"],
    "bad_resource": [{"type": "resource", "resource": {"uri": "a:b"}}],
    "no_resource": [{"type": "resource"}],
}


def say(**message: Any) -> None:
    os.write(1, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def pause() -> NoReturn:
    while True:
        wait_for_signal()


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, **more}


def handshake() -> dict[str, Any]:
    capabilities = {} if BEHAVIOUR == "toolless" else {"tools": {"listChanged": True}}
    version = "1999-01-01" if BEHAVIOUR == "old" else "2025-06-18"
    return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": {"name": "crude", "version": "1"}}


def listing(cursor: str) -> dict[str, Any]:
    if BEHAVIOUR == "endless":
        return {"tools": [], "nextCursor": cursor + "x"}
    if BEHAVIOUR == "pages":
        number = int(cursor or 0)
        return {"tools": [tool(f"t{number}")], **({"nextCursor": str(number + 1)} if number < 3 else {})}
    if BEHAVIOUR == "bad_list" or (BEHAVIOUR == "bad_relist" and CALLED):
        return {"tools": [{"name": 7}]}
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    if BEHAVIOUR == "bad_schema":
        return {"tools": [tool("do", outputSchema=schema)]}
    return {"tools": [tool("do", annotations={"readOnlyHint": True, "youngHint": 1}, title="Do")]}


def answer_modern(method: str, request: dict[str, Any]) -> None:
    """As a server that knows nothing older than 2026."""
    number = request["id"]
    complete = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    if method == "server/discover":
        capabilities = {"tools": {"listChanged": True}}
        say(id=number, result={"supportedVersions": [MODERN], "capabilities": capabilities, **complete})
    elif method == "tools/list":
        answer_modern.lists += 1  # type: ignore[attr-defined]
        say(id=number, result={"tools": [tool(f"t{answer_modern.lists}")], **complete})  # type: ignore[attr-defined]
    elif method == "subscriptions/listen":
        meta = {"io.modelcontextprotocol/subscriptionId": number}
        wanted = {"toolsListChanged": True}
        say(method="notifications/subscriptions/acknowledged", params={"notifications": wanted, "_meta": meta})
        answer_modern.meta = meta  # type: ignore[attr-defined]
    elif method == "tools/call":
        say(method="notifications/tools/list_changed", params={"_meta": answer_modern.meta})  # type: ignore[attr-defined]
        if request["params"]["arguments"].get("ask"):
            say(id=number, result={"resultType": "input_required", "requestState": "s"})
        else:
            say(id=number, result={"content": [], "structuredContent": [1], "resultType": "complete"})
    else:
        say(id=number, error={"code": -32022, "message": "too old", "data": {"supported": [MODERN], "requested": "?"}})


answer_modern.lists = 0  # type: ignore[attr-defined]


def call(number: int) -> None:
    CALLED.append(number)
    if BEHAVIOUR == "bad_relist":
        say(method="notifications/message", params={"level": "info", "data": "unasked"})
        say(method="notifications/tools/list_changed")
    if BEHAVIOUR == "refuse_call":
        say(id=number, error={"code": -32000, "message": "Closed on Mondays", "data": {"day": 1}})
    elif BEHAVIOUR == "shut":
        os.close(1)
        pause()
    elif BEHAVIOUR == "deaf":
        pause()
    elif BEHAVIOUR == "bad_result":
        say(id=number, result={"content": [], "isError": "perhaps"})
    elif BEHAVIOUR == "bad_schema":
        say(id=number, result={"content": [], "structuredContent": {"n": "many"}})
    else:
        say(id=number, result={"content": CONTENT.get(BEHAVIOUR, []), "structuredContent": {"young": 1}})


def answer(request: dict[str, Any]) -> None:
    method, number = request.get("method", ""), request.get("id")
    if number is None:
        return
    if BEHAVIOUR == "modern":
        answer_modern(method, request)
    elif BEHAVIOUR == "refuse":
        say(id=number, error={"code": -32601, "message": f"no {method} today"})
    elif method == "initialize":
        say(id=number, result={"protocolVersion": 7} if BEHAVIOUR == "bad_handshake" else handshake())
    elif method == "tools/list":
        say(id=number, result=listing(request.get("params", {}).get("cursor", "")))
    elif method == "tools/call":
        call(number)
    else:
        say(id=number, error={"code": -32601, "message": "Method not found"})


def misbehave() -> None:
    """What it does before anybody asked."""
    if BEHAVIOUR == "exit":
        os.write(2, b"no flour\nno sugar\n")
        sys.exit(3)
    if BEHAVIOUR == "meet":
        folder, name, count = sys.argv[2:]
        os.close(os.open(f"{folder}/{name}", os.O_CREAT))
        while len(os.listdir(folder)) < int(count):  # noqa: PTH208
            os.sched_yield()
    if BEHAVIOUR == "stubborn":
        signal(SIGTERM, SIG_IGN)
    if BEHAVIOUR in {"hang", "stubborn"}:
        os.write(2, b"%d\n" % os.getpid())
        pause()
    if BEHAVIOUR in {"nonsense", "banner"}:
        os.write(1, b"Welcome!\n[1]\n\xff\n")
    if BEHAVIOUR == "flood":
        sys.stdout.write("x" * (65 * 1024 * 1024))


misbehave()
for line in sys.stdin:
    if BEHAVIOUR != "nonsense":
        answer(json.loads(line))
