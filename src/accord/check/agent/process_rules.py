"""The rules that only a program on pipes can keep or break: they are skipped for an agent at an address."""

from __future__ import annotations

_PROCESS = "it is about a process, and this agent is at an address"
_LINES = "it is about lines on stdin and stdout, and this agent is at an address"
_FOLDER = "a host may have a directory for sessions that name none"
_MACHINE = "it starts a program on the agent's machine, which a host may refuse"

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
    "ACCORD-VALID-001": _FOLDER,
    "ACP-TRANSPORT-203": _LINES,
    "ACCORD-WIRE-008": _LINES,
    "ACCORD-WIRE-209": _LINES,
}
"""The reason for each."""
