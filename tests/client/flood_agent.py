"""An agent without Accord that answers a prompt of `COUNT SIZE` with so many updates, as fast as they are taken.

Started as `flood_agent.py 1` or `flood_agent.py 2`: the edition that it speaks.
"""

from __future__ import annotations

import json
import sys
from typing import Any

V2 = sys.argv[1] == "2"
BATCH = 500


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def update(**fields: Any) -> None:
    send(method="session/update", params={"sessionId": "s", "update": fields})


def initialized() -> dict[str, Any]:
    if V2:
        return {"protocolVersion": 2, "info": {"name": "flood", "version": "1"}, "capabilities": {"session": {}}}
    return {"protocolVersion": 1, "agentCapabilities": {}}


def flood(count: int, size: int) -> None:
    fields = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "@"}}
    params = {"sessionId": "s", "update": {**fields, **({"messageId": "m"} if V2 else {})}}
    text = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params})
    head, tail = text.split("@")
    tail = "x" * (size - 8) + tail + "\n"
    for start in range(0, count, BATCH):
        numbers = range(start, min(count, start + BATCH))
        sys.stdout.write("".join([f"{head}{number:08d}{tail}" for number in numbers]))


def answer(method: str, params: dict[str, Any], id_: Any) -> None:
    if method == "initialize":
        send(id=id_, result=initialized())
    elif method == "session/new":
        send(id=id_, result={"sessionId": "s"})
    elif method == "session/prompt" and V2:
        update(sessionUpdate="user_message", messageId="u", content=params["prompt"])
        send(id=id_, result={"messageId": "u"})
        update(sessionUpdate="state_update", state="running")
        flood(*map(int, params["prompt"][0]["text"].split()))
        update(sessionUpdate="state_update", state="idle", stopReason="end_turn")
    elif method == "session/prompt":
        flood(*map(int, params["prompt"][0]["text"].split()))
        send(id=id_, result={"stopReason": "end_turn"})
    elif id_ is not None:
        send(id=id_, error={"code": -32601, "message": "no such method"})


for line in sys.stdin:
    message = json.loads(line)
    if "method" in message:
        answer(message["method"], message.get("params", {}), message.get("id"))
        sys.stdout.flush()
