"""The conformance checker: judges whether an agent or a client keeps the protocol.

This module has the table of all rules of every edition for both sides, and `conformance`, which makes a pytest test
of each; what judges them is in `agent`, `client` and `engine`.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal

from accord.check.agent import CAUSES, RULES as AGENT_RULES, check_agent, editions_of, rules_of
from accord.check.client import RULES as CLIENT_RULES, check_client
from accord.check.engine.evidence import Entry, Record
from accord.check.engine.judging import Progress, wanted
from accord.check.engine.program import AgentAddress, JudgedAgent, Peer, Program
from accord.check.engine.report import Finding, Judgement, Outcome, Report, Status, shown
from accord.check.rule import Cause, CheckRule, EditionName, Options, Side, Tier

__all__ = [
    "CAUSES",
    "RULES",
    "AgentAddress",
    "Cause",
    "CheckRule",
    "EditionName",
    "Entry",
    "Finding",
    "JudgedAgent",
    "Judgement",
    "Options",
    "Outcome",
    "Peer",
    "Program",
    "Progress",
    "Record",
    "Report",
    "Side",
    "Status",
    "Tier",
    "check_agent",
    "check_client",
    "conformance",
    "editions_of",
]


RULES: tuple[CheckRule, ...] = (*AGENT_RULES, *CLIENT_RULES)
"""Every rule that is checked."""


def rules_for(edition: EditionName, side: str) -> list[CheckRule]:
    """The rules of one side in an edition, sorted by id."""
    return sorted(
        (rule for rule in RULES if rule.edition == edition and rule.side in {side, "both"}), key=lambda rule: rule.id
    )


def find(edition: EditionName, id_: str) -> CheckRule:
    """The rule with an id.

    Raises:
        KeyError: There is none.
    """
    for rule in RULES:
        if (rule.edition, rule.id) == (edition, id_):
            return rule
    raise KeyError(id_)


# --- conformance as tests


def conformance(
    program: JudgedAgent,
    options: Options | None = None,
    *,
    side: Literal["agent", "client"] = "agent",
    advisory: bool = False,
) -> Callable[[str], None]:
    """A test function for pytest, with a case for each rule of the edition; the program is judged once for all.

        test_conformance = conformance([sys.executable, "my_agent.py"], Options(edition="v1"))

    A rule that was not judged is skipped with the reason; so is a broken advisory rule, unless `advisory`.
    """
    import pytest  # noqa: PLC0415 - only a test suite has it

    chosen = options or Options()
    if side == "agent":
        rules = [rule.id for rule in rules_of(program, chosen)]
    else:
        rules = [rule.id for rule in wanted(rules_for(chosen.edition, side), chosen)]

    @functools.cache
    def judged() -> Report:
        if side == "agent":
            return asyncio.run(check_agent(program, chosen))
        if isinstance(program, AgentAddress):
            raise TypeError("a client is judged as a command: it connects by itself")
        return asyncio.run(check_client(program, chosen))

    @pytest.mark.parametrize("rule", rules)
    def test(rule: str) -> None:
        outcome = next(each for each in judged().outcomes if each.rule.id == rule)
        if outcome.status == "FAIL" and (advisory or outcome.rule.tier != "advisory"):
            pytest.fail(_reason(outcome), pytrace=False)
        if outcome.status != "PASS":
            pytest.skip(_reason(outcome))

    return test


def _reason(outcome: Outcome) -> str:
    said = outcome.deciding
    lines: Sequence[Any] = [f"{outcome.rule.says} ({outcome.rule.tier}, {outcome.rule.page})"]
    if said is None:
        return f"{lines[0]}: {outcome.rule.superseded or 'not judged'}"
    proof = [f"{'>' if entry.sent else '<'} {shown(entry.raw, 1000)}" for entry in said.evidence]
    return "\n".join([*lines, said.message, *proof])
