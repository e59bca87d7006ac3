"""`check_agent`: runs the steps that the rules need with an agent, judges every rule, and reports the failures."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

from accord.check.agent import (
    batches,
    cancel,
    cancelled_work,
    client_requests,
    closing,
    handshake,
    lines,
    listing,
    load,
    login,
    mcp,
    modes,
    options,
    permission,
    prompt_blocks,
    prompts,
    refusals,
    request_ids,
    requests,
    resume,
    schema,
    sessions,
    terminals,
    tools,
    updates,
)
from accord.check.agent.causes import CAUSES
from accord.check.agent.conversation import BARE, IDLE_RULE, PROMPT_RULE, STEPS
from accord.check.agent.process_rules import not_for
from accord.check.agent.remote import REMOTE_STEPS, RULES as REMOTE_RULES, run_remote
from accord.check.agent.runner import AgentRunner, Restored, leftovers
from accord.check.engine.address import AgentAddress, JudgedAgent, command_of
from accord.check.engine.evidence import Evidence, StepFailed
from accord.check.engine.journal import Journal, JournalError, SettingsLedger
from accord.check.engine.judging import (
    CheckClock,
    CheckStep,
    Progress,
    judged,
    report_of,
    silent_progress,
    steps_for,
    wanted,
)
from accord.check.engine.outcome import Judgement, Outcome, Report
from accord.check.engine.wire import RecordedWire, Silence
from accord.check.options import Options
from accord.check.rule import EDITIONS, CheckRule, EditionName
from accord.errors import NegotiationFailed
from accord.protocol.edition import V1, V2, V2_JUNE
from accord.protocol.negotiation import select_as_client

_TURN_RULES = frozenset((*PROMPT_RULE.values(), IDLE_RULE))
_NEEDS_LOGIN = "AUTH-GATED: give --auth-method"

# Importing a topic registers its steps and judges.
# fmt: off
_TOPICS = (
    batches, cancel, cancelled_work, client_requests, closing, handshake, lines, listing, load, login, mcp, modes,
    options, permission, prompt_blocks, prompts, refusals, request_ids, requests, resume, schema,
    sessions, terminals, tools, updates,
)
# fmt: on
RULES: tuple[CheckRule, ...] = (*(rule for topic in _TOPICS for rule in topic.RULES), *REMOTE_RULES)
"""Every rule that agents have to keep; those of the transport are for agents at an address."""
_OF_THE_TRANSPORT = frozenset(rule.id for rule in REMOTE_RULES)


def rules_of(program: JudgedAgent, options: Options) -> list[CheckRule]:
    """The selected rules for one agent: a program has none of the rules of the transport."""
    rules = wanted(RULES, options)
    return rules if isinstance(program, AgentAddress) else [rule for rule in rules if rule.id not in _OF_THE_TRANSPORT]


async def check_agent(program: JudgedAgent, options: Options | None = None, progress: Progress | None = None) -> Report:
    """Judge an agent by the rules of one edition.

    Raises:
        ConnectFailed: There is no such command, or no agent at the address.
    """
    options = options or Options()
    rules = rules_of(program, options)
    clock = CheckClock()
    with tempfile.TemporaryDirectory(prefix="accord-check-") as folder:
        place = _place(program, options, folder)
        ledger, left = await _open_ledger(program, options, place)
        runner = AgentRunner(program, options, place, progress or silent_progress, ledger)
        unrestored: list[Restored] = []
        try:
            judgeable = [rule for rule in rules if not not_for(program, rule.id)]
            evidence = await runner.run(_steps(judgeable, options))
            if isinstance(program, AgentAddress) and not evidence.blocked_by_version:
                steps = _remote_steps(rules, options)
                await run_remote(program, options, place, steps, evidence, progress or silent_progress)
        finally:
            try:
                unrestored = [each for each in await _to_its_end(runner.restore()) if each.state != "set back"]
            finally:
                ledger.close()
        outcomes = [Outcome(rule, _judged(rule, evidence, not_for(program, rule.id))) for rule in rules]
    return report_of(
        program,
        "agent",
        evidence,
        outcomes,
        CAUSES,
        clock,
        processes=len(evidence.records),
        left=tuple(left),
        untouched=tuple(dict.fromkeys(evidence.untouched)),
        unrestored=tuple(each.line for each in unrestored),
    )


def _place(program: JudgedAgent, options: Options, folder: str) -> Path:
    """The directory of the sessions. That of an agent at an address is one of its own machine."""
    if isinstance(program, AgentAddress) and options.cwd:
        return Path(options.cwd)
    return Path(options.cwd or folder).resolve()


def _steps(rules: list[CheckRule], options: Options) -> list[CheckStep]:
    names = sorted(steps_for(rules) & STEPS.keys())
    return [STEPS[name] for name in names if options.edition in STEPS[name].editions]


def _remote_steps(rules: list[CheckRule], options: Options) -> list[CheckStep]:
    names = sorted(steps_for(rules) & REMOTE_STEPS.keys())
    return [REMOTE_STEPS[name] for name in names if options.edition in REMOTE_STEPS[name].editions]


def _judged(rule: CheckRule, evidence: Evidence, skipped: str) -> tuple[Judgement, ...]:
    if rule.superseded:
        return ()
    if not skipped and rule.gate and not evidence.advertises(rule.gate):
        skipped = _NEEDS_LOGIN if evidence.blocked_by_auth else f"not advertised: {rule.gate}"

    def excuse(failure: StepFailed) -> str:
        return _NEEDS_LOGIN if failure.blame == "ACP-SESSION-001" and evidence.blocked_by_auth else ""

    tests = judged(rule, evidence, "agent", excuse, skipped)
    if skipped or rule.id not in _TURN_RULES or any(test.status == "FAIL" for test in tests):
        return tuple(tests)
    return (*tests, *_stuck(rule, evidence))


def _stuck(rule: CheckRule, evidence: Evidence) -> list[Judgement]:
    """A failure for each step in which a turn did not end: failures of that step are grouped under this rule."""
    failures = [run.failure for run in evidence.steps.values()]
    return [
        Judgement("a_turn_ends_in_every_step", "FAIL", failure.reason, evidence=failure.evidence)
        for failure in failures
        if failure is not None and failure.is_silence and failure.blame == rule.id
    ]


# --- settings that were changed


async def _open_ledger(program: JudgedAgent, options: Options, folder: Path) -> tuple[SettingsLedger, list[str]]:
    """The ledger of a check, and a line for everything that an earlier check of this agent left changed."""
    if callable(program):
        return SettingsLedger(options, None), []
    try:
        journal = Journal(command_of(program), options.env)
        found = await _to_its_end(leftovers(program, options, folder, journal))
    except JournalError as error:
        return SettingsLedger(options, str(error)), [str(error)]
    lines = [each.line for each in found]
    if any(each.state in ("left changed", "not visible") for each in found):
        reason = f"what an earlier check changed is not set back yet ({journal.path})"
        return SettingsLedger(options, reason), lines
    return SettingsLedger(options, journal), lines


def left_changed(program: Sequence[str], env: Mapping[str, str | None]) -> list[str]:
    """A line for every setting of an agent that the journal lists as changed and not restored."""
    try:
        page = Journal(program, env).read()
    except JournalError as error:
        return [str(error)]
    changes = [] if page is None else page.changes
    return [Restored(each.key, each.old, each.new[-1] if each.new else None, "left changed").line for each in changes]


async def _to_its_end(work: Coroutine[Any, Any, list[Restored]]) -> list[Restored]:
    """Finish bounded work also when the check is cancelled meanwhile; the cancellation is raised afterwards."""
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


# --- editions


async def editions_of(program: JudgedAgent, options: Options) -> list[EditionName]:
    """The editions in which an agent answers a handshake of that edition, judged by the shape of its answer.

    Raises:
        ConnectFailed: There is no such command, or no agent at the address.
    """
    slots = asyncio.Semaphore(options.jobs)

    async def serves(edition: EditionName) -> bool:
        async with slots:
            return await _serves(program, options, edition)

    served = await asyncio.gather(*map(serves, EDITIONS))
    return [edition for edition, is_served in zip(EDITIONS, served, strict=True) if is_served]


async def _serves(program: JudgedAgent, options: Options, edition: EditionName) -> bool:
    wire = await RecordedWire.open("meeting", program, options.env, options.start_seconds, {})
    try:
        answer = await wire.request("initialize", BARE[edition])
        return select_as_client(answer.get("result"), (V1, V2, V2_JUNE)).name == edition
    except (Silence, NegotiationFailed):
        if wire.refusal is not None:
            raise wire.refusal from None
        return False
    finally:
        await wire.shut(options.grace_seconds)
