"""The shapes of each edition that a scripted peer writes by hand: the handshake, turns, messages and permission.

A table, so that the scripts' steps never compare editions; one row is a wrong edition, as some agents speak it.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

__all__ = ["SHAPES", "Greeting", "WireShape", "agent_greeting", "client_greeting"]

Greeting: TypeAlias = Literal["v1", "v2", "v2_june", "false v2"]
"""The edition of a scripted peer's handshake; a false v2 announces v2 in the shape of v1."""

WHO = {"name": "scripted", "version": "1"}


class WireShape(NamedTuple):
    """One edition as a scripted peer writes it."""

    version: int
    agent_info: str
    client_info: str
    agent_capabilities: str
    client_capabilities: str
    agent_baseline: dict[str, Any]
    """The capabilities that every agent of the edition declares."""
    agent_fields: dict[str, Any]
    """Further fields of every agent's answer to `initialize`."""
    reports_states: bool
    """Whether a prompt is answered on its insertion, and states report the run and the end of its turn."""
    names_messages: bool
    names_permission_subject: bool
    """Whether a permission request has a title and a subject of its own, and not only a tool call."""


_V1 = WireShape(
    version=1,
    agent_info="agentInfo",
    client_info="clientInfo",
    agent_capabilities="agentCapabilities",
    client_capabilities="clientCapabilities",
    agent_baseline={},
    agent_fields={"authMethods": []},
    reports_states=False,
    names_messages=False,
    names_permission_subject=False,
)
_JUNE = _V1._replace(
    version=2,
    agent_capabilities="capabilities",
    client_capabilities="capabilities",
    agent_baseline={"session": {}},
    agent_fields={},
    names_messages=True,
)
SHAPES: dict[Greeting, WireShape] = {
    "v1": _V1,
    "false v2": _V1._replace(version=2),
    "v2_june": _JUNE,
    "v2": _JUNE._replace(agent_info="info", client_info="info", reports_states=True, names_permission_subject=True),
}


def agent_greeting(edition: Greeting, capabilities: dict[str, Any]) -> dict[str, Any]:
    """The result of `initialize`; `capabilities` are in the edition's own shape."""
    shape = SHAPES[edition]
    declared = {**shape.agent_baseline, **capabilities}
    return {
        "protocolVersion": shape.version,
        shape.agent_info: WHO,
        shape.agent_capabilities: declared,
        **shape.agent_fields,
    }


def client_greeting(edition: Greeting, capabilities: dict[str, Any]) -> dict[str, Any]:
    """The params of `initialize`; `capabilities` are in the edition's own shape."""
    shape = SHAPES[edition]
    return {"protocolVersion": shape.version, shape.client_info: WHO, shape.client_capabilities: capabilities}
