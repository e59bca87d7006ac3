"""`check_agent`: plays with an agent what the rules need, judges every rule, and says what is wrong."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from accord.check.case import Case, Unseen, Violation
from accord.check.grouping import group
from accord.check.journal import Journal, JournalError
from accord.check.judge import Judge, judges_of
from accord.check.ledger import Ledger
from accord.check.link import Program
from accord.check.options import Options
from accord.check.outcome import Judgement, Outcome, Report
from accord.check.restoring import Restored, leftovers
from accord.check.rule import Rule
from accord.check.rules import rules_for
from accord.check.stage import Progress, Stage
from accord.check.step import STEPS, Step
from accord.check.talk import IDLE_RULE, PROMPT_RULE, StepFailed

__all__ = ["check_agent", "left_changed", "wanted_rules"]

_TURN_RULES = frozenset((*PROMPT_RULE.values(), IDLE_RULE))


def wanted_rules(options: Options, side: str) -> list[Rule]:
    """The rules of an edition that were asked for."""
    rules = rules_for(options.edition, side)
    return [rule for rule in rules if not options.only or rule.id.startswith(options.only)]


async def check_agent(program: Program, options: Options | None = None, progress: Progress | None = None) -> Report:
    """Judge an agent by the rules of one edition.

    Raises:
        ConnectFailed: There is no such command.
    """
    from accord.check import judges, steps  # noqa: F401, PLC0415 - what can be played and judged registers itself

    options = options or Options()
    rules = wanted_rules(options, "agent")
    began, started_at = time.monotonic(), _now()
    with tempfile.TemporaryDirectory(prefix="accord-check-") as folder:
        place = _absolute(options.cwd or folder)
        ledger, left = await _open_ledger(program, options, place)
        stage = Stage(program, options, place, progress or _say_nothing, ledger)
        unrestored: list[Restored] = []
        try:
            case = await stage.play(_steps_for(rules, options))
        finally:
            try:
                unrestored = [each for each in await _to_its_end(stage.restore()) if each.state != "set back"]
            finally:
                ledger.close()
        outcomes = [Outcome(rule, _judged(rule, case)) for rule in rules]
    return Report(
        options=options,
        side="agent",
        command=() if callable(program) else tuple(program),
        outcomes=outcomes,
        started_at=started_at,
        finished_at=_now(),
        seconds=time.monotonic() - began,
        info=case.agent_info,
        capabilities=_capabilities(case),
        processes=len(case.records),
        scoped=bool(options.only),
        blocked_by_auth=case.blocked_by_auth,
        blocked_by_version=case.blocked_by_version,
        findings=group(options.edition, outcomes),
        left=tuple(left),
        untouched=tuple(dict.fromkeys(case.untouched)),
        unrestored=tuple(each.line for each in unrestored),
    )


async def _open_ledger(program: Program, options: Options, folder: Path) -> tuple[Ledger, list[str]]:
    """The ledger of a check, and a line for everything that an earlier check of this agent left changed."""
    if callable(program):
        return Ledger(options, None), []
    try:
        journal = Journal(program, options.env)
        found = await _to_its_end(leftovers(program, options, folder, journal))
    except JournalError as error:
        return Ledger(options, str(error)), [str(error)]
    lines = [each.line for each in found]
    if any(each.state in ("left changed", "not visible") for each in found):
        reason = f"what an earlier check changed is not set back yet ({journal.path})"
        return Ledger(options, reason), lines
    return Ledger(options, journal), lines


def left_changed(program: Sequence[str], env: Mapping[str, str | None]) -> list[str]:
    """A line for every setting of an agent that checks of it left changed, as their journal says."""
    try:
        page = Journal(program, env).read()
    except JournalError as error:
        return [str(error)]
    changes = [] if page is None else page.changes
    return [Restored(each.key, each.old, each.new[-1] if each.new else None, "left changed").line for each in changes]


async def _to_its_end(work: Coroutine[Any, Any, list[Restored]]) -> list[Restored]:
    """Do work that has bounds of its own, also when the check is cancelled meanwhile; then it is cancelled after it."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return task.result()


def _steps_for(rules: list[Rule], options: Options) -> list[Step]:
    names = {
        name
        for rule in rules
        if not rule.superseded
        for judge in judges_of(options.edition, rule.id)
        for name in judge.steps
    }
    return [STEPS[name] for name in sorted(names - {"meet"}) if options.edition in STEPS[name].editions]


def _judged(rule: Rule, case: Case) -> tuple[Judgement, ...]:
    if rule.superseded:
        return ()
    judges = judges_of(rule.edition, rule.id)
    if rule.gate and not case.advertises(rule.gate):
        reason = f"not advertised: {rule.gate}"
        if case.blocked_by_auth:
            reason = "AUTH-GATED: give --auth-method"
        return tuple(Judgement(judge.verdict.__name__, "SKIPPED", reason) for judge in judges)
    tests = tuple(_judge(rule, judge, case) for judge in judges)
    if rule.id not in _TURN_RULES or any(test.status == "FAIL" for test in tests):
        return tests
    return (*tests, *_stuck(rule, case))


def _stuck(rule: Rule, case: Case) -> list[Judgement]:
    """A failure for each step, whatever it was about, in which a turn did not end: what fell there falls with this."""
    failures = [played.failure for played in case.steps.values()]
    return [
        Judgement("a_turn_ends_in_every_step", "FAIL", failure.reason, evidence=failure.evidence)
        for failure in failures
        if failure is not None and failure.is_silence and failure.blame == rule.id
    ]


def _judge(rule: Rule, judge: Judge, case: Case) -> Judgement:
    name, began = judge.verdict.__name__, time.monotonic()
    try:
        note = judge.verdict(case)
    except Unseen as unseen:
        return Judgement(name, "SKIPPED", str(unseen))
    except Violation as violation:
        record = case.record_with(violation.evidence)
        return Judgement(name, "FAIL", violation.message, "", violation.evidence, time.monotonic() - began, record)
    except StepFailed as failure:
        if failure.blame == "ACP-SESSION-001" and case.blocked_by_auth:
            return Judgement(name, "SKIPPED", "AUTH-GATED: give --auth-method")
        because = failure.blame if failure.blame != rule.id else ""
        record = case.record_with(failure.evidence)
        return Judgement(name, "FAIL", failure.reason, because, failure.evidence, time.monotonic() - began, record)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        # What is looked at came from somebody else: a shape that no judge expected is a shape that is wrong.
        return Judgement(name, "FAIL", f"what the agent said has an unexpected shape ({type(error).__name__}: {error})")
    return Judgement(name, "PASS", note or "", seconds=time.monotonic() - began)


def _capabilities(case: Case) -> Any:
    said = case.advertised.get("initialize", {})
    return said.get("agentCapabilities", said.get("capabilities")) if isinstance(said, dict) else None


def _absolute(folder: str) -> Path:
    return Path(folder).resolve()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _say_nothing(_what: str, _done: int, _total: int) -> None:
    """The progress of a check that nobody watches."""
