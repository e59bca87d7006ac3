"""An agent without any SDK that does what breaks clients: 400 kB on stderr, stray prints and an array on stdout."""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def say(message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(request: dict[str, Any]) -> dict[str, Any]:
    match request["method"]:
        case "initialize":
            # The whole environment of the client would hold more.
            assert os.environ["PROBE"] == "1"
            assert "PROBE_SECRET" not in os.environ
            return {"result": {"protocolVersion": 1}}
        case "session/new":
            return {"result": {"sessionId": "s"}}
        case "session/prompt":
            for number in range(50):
                content = {"type": "text", "text": f"{number}"}
                update = {"sessionUpdate": "agent_message_chunk", "content": content}
                say({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}})
            return {"result": {"stopReason": "end_turn"}}
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}


sys.stderr.write("x" * 400_000)
sys.stderr.flush()
say([1, 2, 3])
sys.stdout.write("hello from a library\n")
for line in sys.stdin:
    message = json.loads(line)
    if "method" in message and "id" in message:
        say({"jsonrpc": "2.0", "id": message["id"], **answer(message)})
