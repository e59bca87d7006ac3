"""An agent as a bare program, without Accord: it does what its plan says, and writes down what it hears.

Started as `raw_agent.py JOURNAL PLAN`, with the plan as JSON:

- `edition`: what it answers to `initialize`: v1, v2, v2_june, or `false` (says 2 and speaks v1);
- `only`: the version that it insists on; another one is answered with the error code `refuse`, or `exit`s;
- `once`: a second `initialize` is refused;
- `session`: the session capabilities it has (load, resume, delete);
- `end`: what it adds to the end of a turn, wherever its edition says that: the answer, or the state;
- `at`: what it does when a method comes: exit (with a status), hang;
- `banner`: what it prints to stdout at its start; `spoken`: what it then does before it listens (exit, hang).

What a prompt says is what it does: `die STATUS`, `kill`, `hang`, `look` (a tool call between two messages), or an echo.
"""

from __future__ import annotations

import json
import os
import sys
import time

# No `signal`, `pathlib` or `typing`: it is started hundreds of times, and they take half of each start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from signal import SIG_IGN, SIGKILL, SIGTERM, signal
    from typing import Any
else:
    from _signal import SIG_IGN, SIGKILL, SIGTERM, signal

JOURNAL, PLAN = sys.argv[1], json.loads(sys.argv[2])
DECORATION = {"name": "raw", "version": "1.2"}


def note(entry: Any) -> None:
    """Add a line to the journal, before anything else can happen."""
    with open(JOURNAL, "a", encoding="utf-8") as journal:  # noqa: PTH123
        journal.write(json.dumps(entry) + "\n")


def say(message: dict[str, Any]) -> None:
    """Send one message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(id_: Any, result: Any) -> None:
    """Answer a request."""
    say({"id": id_, "result": result})


def refuse(id_: Any, code: int, data: Any = None) -> None:
    """Refuse a request."""
    error = {"code": code, "message": "refused"}
    say({"id": id_, "error": error if data is None else {**error, "data": data}})


def update(session: str, **fields: Any) -> None:
    """Tell something about a session."""
    say({"method": "session/update", "params": {"sessionId": session, "update": fields}})


def chunk(session: str, text: str, kind: str = "agent_message_chunk") -> None:
    """Say something as a part of a message."""
    fields: dict[str, Any] = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
    if PLAN.get("edition") in {"v2", "v2_june"}:
        fields["messageId"] = f"{kind}-{os.getpid()}-{time.monotonic_ns()}"
    update(session, **fields)


def is_v2() -> bool:
    """Whether states end its turns."""
    return bool(PLAN.get("edition") == "v2")


def introduction() -> dict[str, Any]:
    """What it answers to `initialize`."""
    session = PLAN.get("session", [])
    if is_v2():
        further: dict[str, Any] = {"delete": {}} if "delete" in session else {}
        return {"protocolVersion": 2, "info": DECORATION, "capabilities": {"session": further}}
    if PLAN.get("edition") == "v2_june":
        kept: dict[str, Any] = {name: {} for name in session}
        return {"protocolVersion": 2, "agentInfo": DECORATION, "capabilities": {"session": kept}}
    capabilities: dict[str, Any] = {"loadSession": "load" in session}
    if further := {name: {} for name in session if name != "load"}:
        capabilities["sessionCapabilities"] = further
    version = 2 if PLAN.get("edition") == "false" else 1
    return {"protocolVersion": version, "agentInfo": DECORATION, "agentCapabilities": capabilities}


def act(action: Any) -> bool:
    """Do what the plan wants instead of an answer."""
    if action is None:
        return False
    if isinstance(action, int):
        sys.stderr.write(f"leaving with {action}\n")
        sys.stderr.flush()
        os._exit(action)
    if action == "hang":
        time.sleep(600)
    return True


def initialize(message: dict[str, Any], seen: list[int]) -> None:
    """Agree, or do not."""
    version = message["params"]["protocolVersion"]
    only = PLAN.get("only")
    again = bool(PLAN.get("once") and seen)
    seen.append(version)
    if only is not None and version != only:
        if PLAN.get("refuse") == "exit":
            act(7)
        refuse(message["id"], PLAN["refuse"], {"supported": [only]})
        if PLAN.get("then_exit"):
            act(8)
    elif again:
        refuse(message["id"], -32600)
    else:
        answer(message["id"], introduction())


def prompt(message: dict[str, Any], session: str) -> None:
    """Work."""
    text = message["params"]["prompt"][0]["text"]
    if is_v2():
        inserted = f"user-{time.monotonic_ns()}"
        update(session, sessionUpdate="user_message", messageId=inserted, content=message["params"]["prompt"])
        answer(message["id"], {"messageId": inserted})
        update(session, sessionUpdate="state_update", state="running")
    word, _, rest = text.partition(" ")
    chunk(session, f"you said {text}")
    match word:
        case "die":
            act(int(rest))
        case "kill":
            os.kill(os.getpid(), SIGKILL)
        case "hang":
            time.sleep(600)
        case "look":
            look(session)
        case _:
            pass
    end(message["id"], session, "end_turn")


def look(session: str) -> None:
    """Use a tool, and say in two pieces what it found."""
    kind = "tool_call" if PLAN.get("edition") == "v1" else "tool_call_update"
    update(session, sessionUpdate=kind, toolCallId="call-1", title="Look", kind="read", status="completed")
    for piece in ("found ", "it"):
        content: dict[str, Any] = {"type": "text", "text": piece}
        named = {} if PLAN.get("edition") == "v1" else {"messageId": "last"}
        update(session, sessionUpdate="agent_message_chunk", content=content, **named)


def end(id_: Any, session: str, reason: str) -> None:
    """End a turn."""
    ending = {"stopReason": reason, **PLAN.get("end", {})}
    if is_v2():
        update(session, sessionUpdate="state_update", state="idle", **ending)
    else:
        answer(id_, ending)


def serve(message: dict[str, Any], seen: list[int]) -> None:
    """Do what one message asks."""
    method, params = message.get("method"), message.get("params") or {}
    if act(PLAN.get("at", {}).get(method)):
        return
    session = params.get("sessionId", "s-1")
    match method:
        case "initialize":
            initialize(message, seen)
        case "session/new":
            answer(message["id"], {"sessionId": f"s-{os.getpid()}"})
        case "session/load":
            chunk(session, "what was said", "user_message_chunk")
            chunk(session, "and answered")
            answer(message["id"], {})
        case "session/resume" | "session/delete" if session != "unserved":
            answer(message["id"], {})
        case "session/prompt":
            prompt(message, session)
        case _:
            if "id" in message and method is not None:
                refuse(message["id"], -32601)


def main() -> None:
    """Listen until there is nothing more to hear."""
    note({"started": os.getpid(), "cwd": os.getcwd()})  # noqa: PTH109
    if "banner" in PLAN:
        sys.stdout.write(PLAN["banner"])
        sys.stdout.flush()
    act(PLAN.get("spoken"))
    seen: list[int] = []
    for line in sys.stdin:
        message = json.loads(line)
        note({"method": message.get("method"), "params": message.get("params"), "result": message.get("result")})
        serve(message, seen)
    if PLAN.get("stubborn"):
        signal(SIGTERM, SIG_IGN)
        if os.fork() == 0:
            os.setsid()
        note({"stays": os.getpid()})
        time.sleep(600)


if PLAN.get("stubborn"):
    signal(SIGTERM, SIG_IGN)
main()
