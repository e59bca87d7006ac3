"""Conformance as tests: one pytest test per rule, for authors of agents and clients."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal

from accord.check.agent import check_agent, rules_of
from accord.check.client import check_client
from accord.check.engine.address import AgentAddress, JudgedAgent
from accord.check.engine.judging import wanted
from accord.check.engine.outcome import Outcome, Report
from accord.check.options import Options
from accord.check.report import shown
from accord.check.rules import rules_for


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
