"""A backend that speaks simse's page and nothing else: a bare program, without Accord. It writes down what it hears.

Started as `page_backend.py JOURNAL PLAN`, with the plan as JSON: `silent` leaves requests that the page does not know
unanswered. What a prompt says is what it does, line by line:

- `say TEXT`: says it in each of the four shapes that the page may mean;
- `ask ACTION DESCRIPTION`: asks for permission, waits, and says the answer; `ask-nested` in the other shape;
- `tool NAME INPUT`: orders a tool, waits, and says what came back;
- `leave`: orders a tool that hangs and asks, and waits for neither;
- `hang`: does nothing, until its stdin ends;
- `result JSON`: what it answers the prompt with, which else is an empty object.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

JOURNAL, PLAN = Path(sys.argv[1]), json.loads(sys.argv[2])
COUNT = {"request": 0}


def note(entry: Any) -> None:
    """Add a line to the journal, before anything else can happen."""
    with JOURNAL.open("a", encoding="utf-8") as journal:
        journal.write(json.dumps(entry) + "\n")


def send(message: dict[str, Any]) -> None:
    """Send one message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(session: str, *, nested: bool = False, **fields: Any) -> None:
    """Tell something about a session, beside its id or below it."""
    send({"method": "session/update", "params": {"sessionId": session, **({"update": fields} if nested else fields)}})


def hear() -> dict[str, Any]:
    """The next message; the end of stdin is the end of everything."""
    line = sys.stdin.readline()
    if not line:
        os._exit(0)
    message: dict[str, Any] = json.loads(line)
    note(message)
    return message


def wait_for(kind: str, name: str, value: str) -> dict[str, Any]:
    """The client's update of a kind about one thing; whatever else comes meanwhile is served."""
    while True:
        message = hear()
        params = message.get("params") or {}
        if message.get("method") != "session/update":
            serve(message)
        elif params.get("type") == kind and params.get(name) == value and params.get("status") != "in_progress":
            return dict(params)


def ask(session: str, action: str, description: str, *, nested: bool, wait: bool = True) -> str:
    """Ask for permission, in an update."""
    COUNT["request"] += 1
    request = f"r{COUNT['request']}"
    update(session, nested=nested, type="request_permission", action=action, description=description, requestId=request)
    return str(wait_for("permission_response", "requestId", request)["response"]) if wait else ""


def order(session: str, name: str, given: str, *, wait: bool = True) -> str:
    """Let the client run a tool."""
    COUNT["request"] += 1
    call = f"t{COUNT['request']}"
    update(session, type="tool_call", toolCallId=call, toolName=name, input=json.loads(given or "{}"))
    if not wait:
        return ""
    told = wait_for("tool_call_update", "toolCallId", call)
    return json.dumps({key: told[key] for key in ("status", "output", "error") if key in told})


def say(session: str, text: str, *, nested: bool = False, tag: str = "sessionUpdate") -> None:
    """Say something."""
    kind: Any = {tag: "agent_message_chunk"}
    update(session, nested=nested, content={"type": "text", "text": text}, **kind)


def say_in_every_shape(session: str, text: str) -> None:
    """Say something four times."""
    for nested in (False, True):
        for tag in ("sessionUpdate", "type"):
            say(session, text, nested=nested, tag=tag)


def work(session: str, line: str) -> None:
    """Do what one line of a prompt says."""
    word, _, rest = line.partition(" ")
    name, _, more = rest.partition(" ")
    match word:
        case "say":
            say_in_every_shape(session, rest + " ")
        case "ask" | "ask-nested":
            say(session, ask(session, name, more, nested=word == "ask-nested") + " ")
        case "tool":
            say(session, order(session, name, more) + "\n")
        case "leave":
            order(session, "hang", "{}", wait=False)
            ask(session, "leave", "", nested=False, wait=False)
        case "hang":
            while True:
                hear()
        case _:
            pass


def prompt(message: dict[str, Any]) -> None:
    """Work on a prompt, which must be a string."""
    session, text = message["params"]["sessionId"], message["params"]["prompt"]
    if not isinstance(text, str):
        send({"id": message["id"], "error": {"code": -32602, "message": "prompt must be a string"}})
        return
    result: Any = {}
    for line in text.splitlines():
        if line.startswith("result "):
            result = json.loads(line.removeprefix("result "))
        else:
            work(session, line)
    send({"id": message["id"], "result": result})


def serve(message: dict[str, Any]) -> None:
    """Do what one message asks."""
    match message.get("method"):
        case "session/new":
            send({"id": message["id"], "result": {"sessionId": f"s-{os.getpid()}"}})
        case "session/prompt":
            prompt(message)
        case _:
            if "id" in message and not PLAN.get("silent"):
                send({"id": message["id"], "error": {"code": -32601, "message": "unknown"}})


while True:
    serve(hear())
