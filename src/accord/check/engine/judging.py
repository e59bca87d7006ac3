"""The registry of steps and judges, and the judging of rules by the evidence of a check, for agents and clients."""

from __future__ import annotations

import functools
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from accord.check.engine.evidence import Evidence, Inconclusive, StepFailed, Violation
from accord.check.engine.program import JudgedAgent, command_of
from accord.check.engine.report import Judgement, Outcome, Report, group
from accord.check.rule import EDITIONS, Cause, CheckRule, EditionName, Options

Notes: TypeAlias = dict[str, Any]
"""The notes of a step for its judges: ids of sessions and requests, places in the record."""
StepFunction: TypeAlias = Callable[[Any], Awaitable[Notes]]
"""Runs a step in a conversation; raises `StepFailed` where it could not be completed."""
Verdict: TypeAlias = Callable[[Evidence], str | None]
"""Returns a note for the report, or None; raises `Violation`, `Inconclusive` or the `StepFailed` of a step."""
P = TypeVar("P", bound=Callable[..., Awaitable[Notes]])
V = TypeVar("V", bound=Callable[..., str | None])


@dataclass(frozen=True, slots=True)
class CheckStep:
    """One exchange with a program, whose record judges read."""

    name: str
    run: StepFunction
    group: str
    """The process it runs in (agents), or the part of a turn (clients)."""
    editions: tuple[EditionName, ...]
    gate: Mapping[EditionName, str]
    """By edition the capability that the step needs; see `CheckRule.gate`."""
    order: int
    """Order within a process: steps that disturb others come late."""


class StepRegistry(dict[str, CheckStep]):
    """The steps of one side by name."""

    def add(self, step: CheckStep) -> None:
        """Add a step.

        Raises:
            ValueError: There is one of that name.
        """
        if step.name in self:
            message = f"there are two steps {step.name!r}"
            raise ValueError(message)
        self[step.name] = step

    def step(
        self,
        group: str,
        *,
        editions: tuple[EditionName, ...] = EDITIONS,
        gate: Mapping[EditionName, str] | None = None,
        order: int = 50,
    ) -> Callable[[P], P]:
        """Make a function a step, named like it."""

        def add(run: P) -> P:
            self.add(CheckStep(run.__name__, run, group, editions, gate or {}, order))
            return run

        return add


class Judge(NamedTuple):
    """A function that judges some rules by some steps."""

    ids: tuple[str, ...]
    editions: tuple[EditionName, ...]
    steps: tuple[str, ...]
    verdict: Verdict
    name: str
    """The name in reports."""


JUDGES: list[Judge] = []


def judge(
    *ids: str, steps: tuple[str, ...] = (), editions: tuple[EditionName, ...] = EDITIONS, name: str = ""
) -> Callable[[V], V]:
    """Register a function as the judge of the rules with these ids, in those of `editions` that have them.

    `steps` have to run for it; the evidence has all steps that ran. `name` is for a judge of a rule that another
    edition judges by another function of that name.
    """

    def add(verdict: V) -> V:
        JUDGES.append(Judge(ids, editions, steps, verdict, name or verdict.__name__))
        return verdict

    return add


def judge_rows(
    verdict: Callable[..., str | None],
    *rows: tuple[Any, ...],
    steps: tuple[str, ...] = (),
    editions: tuple[EditionName, ...] = EDITIONS,
) -> None:
    """Register `verdict(evidence, *arguments)` for one rule per row: its id, the judge's name, and the arguments.

    Without `steps` the first argument names the step that the judge needs.
    """
    for id_, name, *arguments in rows:
        judge(id_, steps=steps or (arguments[0],), editions=editions, name=name)(_bound(verdict, arguments))


def _bound(verdict: Callable[..., str | None], arguments: Sequence[Any]) -> Verdict:
    return lambda evidence: verdict(evidence, *arguments)


def step_completes(evidence: Evidence, step: str) -> None:
    """For `judge_rows`: the step was completed."""
    evidence.step(step)


def request_succeeds(evidence: Evidence, step: str, note: str) -> None:
    """For `judge_rows`: the request under a note was answered with a result."""
    run = evidence.step(step)
    run.result(run[note])


def request_is_answered(evidence: Evidence, step: str, note: str) -> None:
    """For `judge_rows`: the request under a note was answered."""
    run = evidence.step(step)
    run.answer(run[note])


def request_fails(evidence: Evidence, step: str, note: str) -> None:
    """For `judge_rows`: the request under a note was answered with an error."""
    run = evidence.step(step)
    run.error(run[note])


@functools.cache
def judges_of(edition: EditionName, id_: str) -> list[Judge]:
    return [each for each in JUDGES if edition in each.editions and id_ in each.ids]


Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the name of the current step, the number of finished steps, and the number of steps."""
Excuse: TypeAlias = Callable[[StepFailed], str]
"""The reason why a failed step excuses a rule from being judged; "" where it does not."""
PROBLEMS = (KeyError, TypeError, AttributeError, IndexError, ValueError)
"""Errors of our code on data of an unexpected shape, which came from the judged program."""


def silent_progress(_what: str, _done: int, _total: int) -> None:
    """The progress of a check that is not shown."""


def wanted(rules: Sequence[CheckRule], options: Options) -> list[CheckRule]:
    """The selected rules of an edition, sorted by id."""
    found = [rule for rule in rules if rule.edition == options.edition]
    return sorted(
        (rule for rule in found if not options.only or rule.id.startswith(options.only)), key=lambda rule: rule.id
    )


def steps_for(rules: Sequence[CheckRule]) -> set[str]:
    """The names of the steps that judges of some rules look at."""
    return {
        name
        for rule in rules
        if not rule.superseded
        for judge in judges_of(rule.edition, rule.id)
        for name in judge.steps
    }


def judged(rule: CheckRule, evidence: Evidence, side: str, excuse: Excuse, skipped: str = "") -> list[Judgement]:
    """The judgement of every judge of a rule; with `skipped`, all of them are skipped for that reason."""
    judges = judges_of(rule.edition, rule.id)
    if skipped:
        return [Judgement(judge.name, "SKIPPED", skipped) for judge in judges]
    return [_judgement(rule, judge, evidence, side, excuse) for judge in judges]


def _judgement(rule: CheckRule, judge: Judge, evidence: Evidence, side: str, excuse: Excuse) -> Judgement:
    name, began = judge.name, time.monotonic()
    try:
        note = judge.verdict(evidence)
    except Inconclusive as skipped:
        return Judgement(name, "SKIPPED", str(skipped))
    except Violation as violation:
        record = evidence.record_with(violation.evidence)
        return Judgement(name, "FAIL", violation.message, "", violation.evidence, time.monotonic() - began, record)
    except StepFailed as failure:
        reason = excuse(failure)
        if reason:
            return Judgement(name, "SKIPPED", reason)
        because = failure.blame if failure.blame != rule.id else ""
        record = evidence.record_with(failure.evidence)
        return Judgement(name, "FAIL", failure.reason, because, failure.evidence, time.monotonic() - began, record)
    except PROBLEMS as error:
        return Judgement(name, "FAIL", unexpected(side, error))
    return Judgement(name, "PASS", note or "", seconds=time.monotonic() - began)


def unexpected(side: str, error: BaseException) -> str:
    """The failure for data of a shape that no judge and no step expected."""
    return f"what the {side} said has an unexpected shape ({type(error).__name__}: {error})"


class CheckClock:
    def __init__(self) -> None:
        self.began = time.monotonic()
        self.started_at = _now()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def report_of(
    program: JudgedAgent,
    side: Literal["agent", "client"],
    evidence: Evidence,
    outcomes: list[Outcome],
    causes: Sequence[Cause],
    clock: CheckClock,
    **further: Any,
) -> Report:
    """The report of a check; `further` are the fields that only one side has."""
    options = evidence.options
    said = evidence.advertised.get("initialize", {})
    said = said if isinstance(said, dict) else {}
    return Report(
        options=options,
        side=side,
        command=command_of(program),
        outcomes=outcomes,
        started_at=clock.started_at,
        finished_at=_now(),
        seconds=time.monotonic() - clock.began,
        info=evidence.agent_info,
        capabilities=said.get(f"{side}Capabilities", said.get("capabilities")),
        scoped=bool(options.only),
        blocked_by_auth=evidence.blocked_by_auth,
        blocked_by_version=evidence.blocked_by_version,
        findings=group(outcomes, causes),
        **further,
    )
