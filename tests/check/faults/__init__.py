"""Peers that are wrong in exactly one way, and conforming ones to compare them with: how a judge is judged.

`agent` and `client` have one module for each topic; importing them fills `FAULTS`. The peers that they
change lie in `reference`.
"""

from __future__ import annotations

from tests.check.faults.agent import (
    batches,
    cancel,
    elicitation,
    handshake,
    lines,
    login,
    mcp,
    options,
    permission,
    prompts,
    replay,
    sessions,
    terminals,
    tools,
    updates,
)
from tests.check.faults.client import (
    files as client_files,
    lines as client_lines,
    questions as client_questions,
    sessions as client_sessions,
)
from tests.check.faults.fault import FAULTS, FULL, FULL_CLIENTS, PLAIN, PLAIN_CLIENTS, Fault

__all__ = [
    "FAULTS",
    "FULL",
    "FULL_CLIENTS",
    "PLAIN",
    "PLAIN_CLIENTS",
    "Fault",
    "batches",
    "cancel",
    "client_files",
    "client_lines",
    "client_questions",
    "client_sessions",
    "elicitation",
    "handshake",
    "lines",
    "login",
    "mcp",
    "options",
    "permission",
    "prompts",
    "replay",
    "sessions",
    "terminals",
    "tools",
    "updates",
]
