"""`check_client`: plays an agent for a client, judges every rule that clients have to keep, and says what is wrong."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from accord.check.case import Case, Unseen, Violation
from accord.check.client.host import VERSIONS, Host
from accord.check.client.part import PARTS
from accord.check.client.place import play_once
from accord.check.grouping import group
from accord.check.judge import Judge, judges_of
from accord.check.link import Program
from accord.check.options import Options
from accord.check.outcome import Judgement, Outcome, Report
from accord.check.rule import Rule
from accord.check.rules import rules_for
from accord.check.stage import Progress
from accord.check.talk import StepFailed

__all__ = ["check_client"]

MAX_STARTS = 8
"""A client that ends in the middle is started again for what is left, but not for ever."""
STRANGE = "ACCORD-CLIENT-INIT-005"


async def check_client(program: Program, options: Options | None = None, progress: Progress | None = None) -> Report:
    """Judge a client by the rules of one edition.

    Where an argument of the command is or contains `{agent}`, the command of the agent is put in; the environment has
    it too, as `ACCORD_CHECK_AGENT` (one line for a shell) and `ACCORD_CHECK_AGENT_JSON` (a list).

    Raises:
        ConnectFailed: There is no such command.
    """
    from accord.check.client import judges, parts  # noqa: F401, PLC0415 - what can be played and judged registers itself

    options = options or Options()
    rules = [
        rule for rule in rules_for(options.edition, "client") if not options.only or rule.id.startswith(options.only)
    ]
    began, started_at = time.monotonic(), _now()
    case = await _play(program, options, rules, progress or _say_nothing)
    outcomes = [Outcome(rule, _judged(rule, case)) for rule in rules]
    said = case.advertised.get("initialize", {})
    return Report(
        options=options,
        side="client",
        command=() if callable(program) else tuple(program),
        outcomes=outcomes,
        started_at=started_at,
        finished_at=_now(),
        seconds=time.monotonic() - began,
        info=case.agent_info,
        capabilities=said.get("clientCapabilities", said.get("capabilities")),
        processes=len({record.name.partition(".")[0] for record in case.records}),
        scoped=bool(options.only),
        blocked_by_version=case.blocked_by_version,
        findings=group(options.edition, outcomes),
    )


async def _play(program: Program, options: Options, rules: list[Rule], progress: Progress) -> Case:
    wanted = {name for rule in rules for judge in judges_of(options.edition, rule.id) for name in judge.steps}
    parts = [each for name, each in PARTS.items() if name in wanted and options.edition in each.editions]
    host = Host(options, parts, progress)
    for _ in range(MAX_STARTS):
        before = host.repertoire.played
        await play_once(program, options, host)
        if not host.repertoire.remaining or host.repertoire.played == before or host.budget.is_spent:
            break
    host.case.blocked_by_version = _is_blocked(host.case)
    wanted_strange = any(rule.id == STRANGE for rule in rules)
    if wanted_strange and not host.case.blocked_by_version and not host.budget.is_spent:
        host.is_strange = True
        await play_once(program, options, host)
    return host.case


def _is_blocked(case: Case) -> bool:
    """Whether the client speaks other versions only: it asked for one and never opened a session."""
    asked = [message for _, _, message in case.messages() if message.get("method") == "initialize"]
    if any(message.get("method") == "session/new" for _, _, message in case.messages()):
        return False
    versions = [
        message["params"].get("protocolVersion") for message in asked if isinstance(message.get("params"), dict)
    ]
    return any(isinstance(version, int) and version != VERSIONS[case.edition] for version in versions)


def _judged(rule: Rule, case: Case) -> tuple[Judgement, ...]:
    judges = judges_of(rule.edition, rule.id)
    if rule.gate and not case.advertises(rule.gate):
        return tuple(Judgement(judge.verdict.__name__, "SKIPPED", f"not offered: {rule.gate}") for judge in judges)
    if case.blocked_by_version:
        return tuple(Judgement(judge.verdict.__name__, "SKIPPED", "it speaks another version") for judge in judges)
    tests = tuple(_judge(rule, judge, case) for judge in judges)
    if any(test.status == "FAIL" for test in tests):
        return tests
    excused = {
        name for judge, test in zip(judges, tests, strict=True) if test.status == "SKIPPED" for name in judge.steps
    }
    return (*tests, *_blamed(rule, case, excused))


def _blamed(rule: Rule, case: Case, excused: set[str]) -> list[Judgement]:
    """A failure for each part that ended because this rule is broken, but for those that a judge looked at."""
    others = [played.failure for name, played in case.steps.items() if name not in excused]
    return [
        Judgement("was_kept_in_every_part", "FAIL", failure.reason, "", failure.evidence)
        for failure in others
        if failure is not None and failure.blame == rule.id
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
        if failure.blame != rule.id:
            # That one fails. Whether this one holds will be seen when it does.
            return Judgement(name, "SKIPPED", f"not seen, because {failure.blame} is broken")
        record = case.record_with(failure.evidence)
        return Judgement(name, "FAIL", failure.reason, "", failure.evidence, time.monotonic() - began, record)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        # What is looked at came from somebody else: a shape that no judge expected is a shape that is wrong.
        return Judgement(
            name, "FAIL", f"what the client said has an unexpected shape ({type(error).__name__}: {error})"
        )
    return Judgement(name, "PASS", note or "", seconds=time.monotonic() - began)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _say_nothing(_what: str, _done: int, _total: int) -> None:
    """The progress of a check that nobody watches."""
