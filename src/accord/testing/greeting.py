"""How each side introduces itself in each edition, and in the wrong one."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

__all__ = ["Greeting", "agent_greeting", "client_greeting"]

Greeting: TypeAlias = Literal["v1", "v2", "v2_june", "false v2"]
"""Which edition a scripted peer introduces itself in; a false v2 says v2 in the shape of v1."""
"""An edition, or one that says 2 and means v1, as several agents do."""

WHO = {"name": "scripted", "version": "1"}


def agent_greeting(edition: Greeting, capabilities: dict[str, Any]) -> dict[str, Any]:
    """The result of `initialize`; `capabilities` are in the edition's own words."""
    match edition:
        case "v1":
            return {"protocolVersion": 1, "agentInfo": WHO, "agentCapabilities": capabilities, "authMethods": []}
        case "false v2":
            return {"protocolVersion": 2, "agentInfo": WHO, "agentCapabilities": capabilities, "authMethods": []}
        case "v2":
            return {"protocolVersion": 2, "info": WHO, "capabilities": {"session": {}, **capabilities}}
        case "v2_june":
            return {"protocolVersion": 2, "agentInfo": WHO, "capabilities": {"session": {}, **capabilities}}


def client_greeting(edition: Greeting, capabilities: dict[str, Any]) -> dict[str, Any]:
    """The params of `initialize`; `capabilities` are in the edition's own words."""
    match edition:
        case "v1":
            return {"protocolVersion": 1, "clientInfo": WHO, "clientCapabilities": capabilities}
        case "false v2":
            return {"protocolVersion": 2, "clientInfo": WHO, "clientCapabilities": capabilities}
        case "v2":
            return {"protocolVersion": 2, "info": WHO, "capabilities": capabilities}
        case "v2_june":
            return {"protocolVersion": 2, "clientInfo": WHO, "capabilities": capabilities}
