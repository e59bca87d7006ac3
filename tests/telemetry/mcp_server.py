"""An MCP server with one tool, which answers with the trace context that its request carried."""

from __future__ import annotations

import json
import sys
from typing import Any

for line in sys.stdin:
    request: dict[str, Any] = json.loads(line)
    if "id" not in request:
        continue
    match request["method"]:
        case "initialize":
            version = request["params"]["protocolVersion"]
            result: dict[str, Any] = {"protocolVersion": version, "capabilities": {"tools": {}}}
            result["serverInfo"] = {"name": "meta", "version": "1"}
        case "tools/list":
            result = {"tools": [{"name": "meta", "inputSchema": {"type": "object"}}]}
        case _:
            sent = request["params"].get("_meta", {}).get("traceparent", "nothing")
            result = {"content": [{"type": "text", "text": sent}]}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}) + "\n")
    sys.stdout.flush()
