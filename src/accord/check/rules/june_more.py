"""Our own rules for agents in the v2 draft of June: those of v1 that it keeps, and what it alone demands."""

from __future__ import annotations

from dataclasses import replace

from accord.check.rule import Cause, Rule, Tier
from accord.check.rules import v1_more

__all__ = ["CAUSES", "RULES"]

_S = "initialize.capabilities.session"
_OPTIONS = "new.configOptions"
_WIRE = ""

_KEPT: dict[str, str] = {
    **dict.fromkeys(("WIRE-001", "WIRE-002", "WIRE-003", "WIRE-004", "WIRE-005", "WIRE-007"), _WIRE),
    **dict.fromkeys(("WIRE-008", "WIRE-009", "WIRE-010", "INIT-001", "INIT-002", "SIZE-001"), _WIRE),
    **dict.fromkeys(("ERROR-001", "AUTH-001"), _WIRE),
    **dict.fromkeys(("SIZE-002", "VALID-001", "VALID-002", "VALID-003", "VALID-004", "VALID-005"), _S),
    **dict.fromkeys(("EXIT-001", "EXIT-002", "ORDER-001", "ORDER-002", "TOOL-001", "TOOL-002"), _S),
    **dict.fromkeys(("PATH-001", "DIFF-001", "PERM-001", "PERM-002", "PERM-004"), _S),
    **dict.fromkeys(("PERM-005", "PERM-006", "SESSION-002", "SESSION-004"), _S),
    **dict.fromkeys(("CANCEL-001", "CANCEL-002", "CANCEL-003"), _S),
    **dict.fromkeys(("COMMANDS-001", "USAGE-001", "USAGE-002", "MESSAGE-001", "PLAN-001"), _S),
    **dict.fromkeys(("MCP-001", "MCP-002", "MCP-003"), f"{_S}.mcp.stdio"),
    **dict.fromkeys(("LOAD-001", "LOAD-002", "LOAD-003"), f"{_S}.load"),
    **dict.fromkeys(("RESUME-001",), f"{_S}.resume"),
    **dict.fromkeys(("LIST-001", "LIST-002", "LIST-005", "LIST-006"), f"{_S}.list"),
    **dict.fromkeys(("AUTH-003",), "initialize.capabilities.auth.logout"),
    **dict.fromkeys(("CONFIG-005", "CONFIG-006"), _OPTIONS),
}
"""The rules of v1 that hold in June as well, and what an agent has to advertise for them."""


def _kept(rule: Rule) -> Rule:
    """A rule of v1 as June has it: what is about sessions counts for agents that have sessions."""
    gate = _KEPT[rule.id.removeprefix("ACCORD-")]
    tier: Tier = "capability" if gate and rule.tier == "mandatory" else rule.tier
    page = rule.page.replace("protocol/v1/", "protocol/v2/").replace("schema/v1#", "schema/v2-june#")
    return replace(rule, edition="v2_june", tier=tier, page=page, gate=gate)


def _rows(tier: Tier, *rows: tuple[str, ...]) -> tuple[Rule, ...]:
    """Rules of a tier: id, sentence, page and, where there is one, the gate."""
    return tuple(
        Rule("v2_june", f"ACCORD-JUNE-{id_}", tier, says, page, gate=gate[0] if gate else "")
        for id_, says, page, *gate in rows
    )


_CHUNK = "schema/v2-june#/$defs/ContentChunk"

_OWN = (
    *_rows(
        "mandatory",
        (
            "INIT-001",
            "Both sides say what they can do in `capabilities`, and who they are in `clientInfo` and `agentInfo`",
            "schema/v2-june#/$defs/InitializeResponse",
        ),
        ("AUTH-001", "Every way to log in has a type, an id and a name", "schema/v2-june#/$defs/AuthMethod"),
    ),
    *_rows(
        "capability",
        (
            "PLAN-001",
            "A plan has an `id` and a type",
            "schema/v2-june#/$defs/PlanItems",
            _S,
        ),
        (
            "PERM-001",
            "A question for permission is about a tool call and has options with an id, a name and a kind",
            "schema/v2-june#/$defs/RequestPermissionRequest",
            _S,
        ),
        (
            "CONFIG-001",
            "Options have an `id`, a name and a type, and groups of choices are named by `group`",
            "schema/v2-june#/$defs/SessionConfigOption",
            _OPTIONS,
        ),
        ("MESSAGE-001", "An id belongs to one message: the user's, the agent's or a thought", _CHUNK, _S),
        ("MESSAGE-003", "Two prompts have two ids in a replay", "protocol/v2/session-setup", f"{_S}.load"),
    ),
    *_rows(
        "advisory",
        ("MESSAGE-002", "Chunks do not come back to a message after another one has begun", _CHUNK, _S),
        ("TOOL-001", "The first that is told of a tool call has its title", "protocol/v2/tool-calls", _S),
    ),
)

RULES: tuple[Rule, ...] = (
    *(_kept(rule) for rule in v1_more.RULES if rule.id.removeprefix("ACCORD-") in _KEPT),
    *_OWN,
)
CAUSES: tuple[Cause, ...] = (
    Cause("v2_june", "ACCORD-JUNE-INIT-001", "The handshake has keys of another edition", ("ACP-SCHEMA-002",)),
    Cause("v2_june", "ACCORD-JUNE-PLAN-001", "Plans have no id, so they do not fit the schema", ("ACP-PROMPT-002",)),
)
