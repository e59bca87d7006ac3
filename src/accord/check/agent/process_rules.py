"""The rules that only a program on pipes can keep or break: they are skipped for an agent at an address."""

from __future__ import annotations

from accord.check.engine.address import AgentAddress, JudgedAgent

_PROCESS = "it is about a process, and this agent is at an address"
_LINES = "it is about lines on stdin and stdout, and this agent is at an address"
_MACHINE = "it starts a program on the agent's machine, which a host may refuse"
_FOLDER = "a host may have a directory for sessions that name none"
_FIRST = "a connection to an address begins with `initialize`: see ACCORD-REMOTE-004 and ACCORD-REMOTE-109"
_ARRAYS = "one message is sent to an address at a time, and servers refuse arrays"
_AGAIN = "over HTTP every `initialize` opens a connection of its own"

PROCESS_RULES: dict[str, str] = {
    "ACP-SHUTDOWN-001": _PROCESS,
    "ACP-STDERR-001": _PROCESS,
    "ACCORD-EXIT-001": _PROCESS,
    "ACCORD-EXIT-002": _PROCESS,
    "ACCORD-EXIT-201": _PROCESS,
    "ACCORD-EXIT-202": _PROCESS,
    "ACCORD-MCP-001": _MACHINE,
    "ACCORD-MCP-002": _MACHINE,
    "ACCORD-MCP-003": _MACHINE,
    "ACCORD-SESSION-202": _FOLDER,
    "ACCORD-VALID-001": _FOLDER,
    "ACCORD-INIT-001": _FIRST,
    "ACCORD-INIT-002": _FIRST,
    "ACCORD-INIT-201": _FIRST,
    "ACCORD-INIT-202": _FIRST,
    "ACCORD-INIT-204": _FIRST,
    "ACP-BATCH-202": _ARRAYS,
    "ACP-BATCH-203": _ARRAYS,
    "ACP-BATCH-204": _ARRAYS,
    "ACP-BATCH-205": _ARRAYS,
    "ACP-TRANSPORT-203": _LINES,
    "ACCORD-WIRE-008": _LINES,
    "ACCORD-WIRE-209": _LINES,
}
"""The reason for each."""
_OVER_HTTP = {"ACCORD-INIT-209": _AGAIN}


def not_for(program: JudgedAgent, rule_id: str) -> str:
    """The reason why a rule is not judged for an agent; "" where it is."""
    if not isinstance(program, AgentAddress):
        return ""
    return PROCESS_RULES.get(rule_id) or ("" if program.is_websocket else _OVER_HTTP.get(rule_id, ""))
