"""A client that was written after simse's page and nothing else: a bare program, without Accord.

Started as `page_client.py PLAN AGENT...`: it starts the agent, opens a session and sends prompts, one after the other.
It writes every message as a line of JSON to stdout, as `["sent", MESSAGE]` or `["heard", MESSAGE]`. The plan is JSON:

- `prompts`: the texts;
- `answers`: the words for the permissions that are asked for, in order; `null` leaves one unanswered;
- `shape`: how a permission is answered and a tool is reported: `flat` (an update beside the session's id, the default),
  `nested` (below `update`), `request` (as a request), `reply` (a JSON-RPC reply to the `requestId`; tools flat);
- `initialize`: whether it introduces itself first;
- `lines`: texts that it sends, as they are, before the first prompt;
- `cancel_at`: the type of update after whose first arrival it cancels.

Its tools: `add` adds, `fail` fails, `quick` ends without having begun, `never` begins and does not end.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PLAN = json.loads(sys.argv[1])
AGENT = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
ANSWERS = list(PLAN.get("answers", []))
SHAPE = PLAN.get("shape", "flat")
STATE: dict[str, Any] = {"id": 0, "session": None, "cancelled": False}


def note(way: str, message: Any) -> None:
    """Write down what was sent or heard."""
    sys.stdout.write(json.dumps([way, message]) + "\n")
    sys.stdout.flush()


def send(message: dict[str, Any]) -> None:
    """Send one message, as a line."""
    assert AGENT.stdin is not None
    AGENT.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    AGENT.stdin.flush()
    note("sent", message)


def tell(fields: dict[str, Any]) -> None:
    """Tell something about the session, in the plan's shape."""
    fields = {"update": fields} if SHAPE == "nested" else fields
    message: dict[str, Any] = {"method": "session/update", "params": {"sessionId": STATE["session"], **fields}}
    if SHAPE == "request":
        STATE["id"] += 1
        message["id"] = STATE["id"]
    send(message)


def answer(request: Any) -> None:
    """Answer a permission with the next word of the plan."""
    word = ANSWERS.pop(0)
    if word is None:
        return
    if SHAPE == "reply":
        send({"id": request, "result": word})
    else:
        tell({"type": "permission_response", "requestId": request, "response": word})


def run(call: str, name: str, given: dict[str, Any]) -> None:
    """Run a tool, as the page has it: it is in progress, then completed, with an output or an error."""
    told = {"type": "tool_call_update", "toolCallId": call}
    if name != "quick":
        tell({**told, "status": "in_progress"})
    match name:
        case "add":
            tell({**told, "status": "completed", "output": given["a"] + given["b"]})
        case "quick":
            tell({**told, "status": "completed", "output": {"quick": True}})
        case "never":
            pass
        case _:
            tell({**told, "status": "completed", "error": f"{name} went wrong"})


def take(params: dict[str, Any]) -> None:
    """Do what one update says."""
    kind = params.get("type", params.get("sessionUpdate"))
    if kind == PLAN.get("cancel_at") and not STATE["cancelled"]:
        STATE["cancelled"] = True
        send({"method": "session/cancel", "params": {"sessionId": STATE["session"]}})
    elif kind == "request_permission":
        answer(params["requestId"])
    elif kind == "tool_call":
        run(params["toolCallId"], params["toolName"], params["input"])


def call(method: str, params: dict[str, Any]) -> Any:
    """Send a request and wait for its answer; updates are taken meanwhile."""
    STATE["id"] += 1
    id_ = STATE["id"]
    send({"id": id_, "method": method, "params": params})
    assert AGENT.stdout is not None
    while True:
        line = AGENT.stdout.readline()
        if not line:
            sys.exit(f"the agent left during {method}")
        message = json.loads(line)
        note("heard", message)
        if message.get("method") == "session/update":
            take(message["params"])
        elif message.get("id") == id_:
            return message.get("result") or {}


if PLAN.get("initialize"):
    call("initialize", {"protocolVersion": 1})
STATE["session"] = call("session/new", {"cwd": str(Path.cwd()), **PLAN.get("new", {})})["sessionId"]
for text in PLAN.get("lines", []):
    assert AGENT.stdin is not None
    AGENT.stdin.write(text.encode() + b"\n")
for text in PLAN["prompts"]:
    call("session/prompt", {"sessionId": STATE["session"], "prompt": text})
assert AGENT.stdin is not None
AGENT.stdin.close()
assert AGENT.stdout is not None
for line in AGENT.stdout:
    note("heard", json.loads(line))
sys.exit(AGENT.wait(10))
