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
    requests,
    resume,
    schema,
    sessions,
    terminals,
    tools,
    updates,
)
from accord.check.agent.conversation import BARE, IDLE_RULE, PROMPT_RULE, STEPS
from accord.check.agent.remote import REMOTE_STEPS, RULES as REMOTE_RULES, not_for, run_remote
from accord.check.agent.runner import AgentRunner, Restored, leftovers
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
from accord.check.engine.program import AgentAddress, JudgedAgent, command_of
from accord.check.engine.report import Judgement, Outcome, Report
from accord.check.engine.wire import RecordedWire, Silence
from accord.check.rule import EDITIONS, Cause, CheckRule, EditionName, Options
from accord.errors import NegotiationFailed
from accord.protocol.edition import V1, V2, V2_JUNE
from accord.protocol.negotiation import select_as_client

_TURN_RULES = frozenset((*PROMPT_RULE.values(), IDLE_RULE))
_NEEDS_LOGIN = "AUTH-GATED: give --auth-method"

# Importing a topic registers its steps and judges.
# fmt: off
_TOPICS = (
    batches, cancel, cancelled_work, client_requests, closing, handshake, lines, listing, load, login, mcp, modes,
    options, permission, prompt_blocks, prompts, refusals, requests, resume, schema,
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


# --- causes


def _falls(edition: EditionName, root: str, says: str, also: str) -> Cause:
    """`also` are ids with spaces between them."""
    return Cause(edition, root, says, tuple(also.split()))


# fmt: off
CAUSES: tuple[Cause, ...] = (
    _falls("v1", "ACP-INIT-001", "The handshake does not succeed, and without it nothing can be done",
        "ACP-CANCEL-001 ACP-CANCEL-002 ACP-META-001 ACP-PROMPT-001 ACP-PROMPT-002 ACP-PROMPT-003 "
        "ACP-SESSION-002 ACP-AUTH-005 ACP-EXT-001 ACP-INFO-INVALIDREQ-001 ACP-INFO-PARSE-001 "
        "ACP-INFO-UNKNOWNSESSION-001 ACP-INIT-002 ACP-INIT-003 ACP-INIT-004 ACP-JSONRPC-001 ACP-JSONRPC-003 "
        "ACP-JSONRPC-004 ACP-JSONRPC-005 ACP-SESSION-001"),
    _falls("v1", "ACP-SESSION-001", "No session can be made, and without one there is no turn",
        "ACP-CANCEL-001 ACP-CANCEL-002 ACP-META-001 ACP-PROMPT-001 ACP-PROMPT-002 ACP-PROMPT-003 "
        "ACP-SESSION-002"),
    _falls("v1", "ACCORD-META-001", "Metadata are no objects, so they do not fit the schema",
        "ACP-SCHEMA-001"),
    _falls("v1", "ACCORD-ELICIT-004", "A form has fields that the schema has no word for",
        "ACP-SCHEMA-001"),
    _falls("v2_june", "ACP-INIT-001", "The handshake fails, so nothing else can be asked",
        "ACP-INIT-003 ACP-INIT-004 ACP-INIT-201 ACP-INIT-202 ACP-INIT-204 ACP-SCHEMA-001 ACP-AUTH-001 "
        "ACP-AUTH-005 ACP-BATCH-201 ACP-BATCH-202 ACP-BATCH-203 ACP-BATCH-204 ACP-BATCH-205 ACP-BATCH-206 "
        "ACP-BATCH-207 ACP-BATCH-208 ACP-EXT-001 ACP-EXT-201 ACP-EXT-202 ACP-EXT-203 ACP-META-201 "
        "ACP-JSONRPC-001 ACP-JSONRPC-003 ACP-JSONRPC-004 ACP-JSONRPC-005 ACP-INFO-BATCH-201 "
        "ACP-INFO-BATCH-202 ACP-INFO-INVALIDREQ-001 ACP-INFO-PARSE-001"),
    _falls("v2_june", "ACP-SESSION-001", "No session can be opened, so nothing that needs one works",
        "ACP-SESSION-002 ACP-PROMPT-001 ACP-PROMPT-002 ACP-PROMPT-003 ACP-META-001 ACP-CLIENTCAP-202 "
        "ACP-CANCEL-001 ACP-CANCEL-002 ACP-CANCEL-205 ACP-CANCEL-206 ACP-PATCH-201 ACP-PATCH-204 "
        "ACP-ENUM-201 ACP-ENUM-202"),
    _falls("v2_june", "ACP-PROMPT-001", "Prompts are not answered, so there are no turns",
        "ACP-PROMPT-003 ACP-META-001 ACP-CANCEL-001 ACP-CANCEL-002 ACP-CANCEL-206"),
    _falls("v2_june", "ACP-INIT-201", "The agent speaks a version that does not exist, whatever it is asked for",
        "ACP-INIT-202"),
    _falls("v2_june", "ACP-INIT-204", "A capability is no object, which the schema does not allow either",
        "ACP-SCHEMA-001"),
    _falls("v2_june", "ACP-LIST-001", "Sessions cannot be listed at all",
        "ACP-LIST-002 ACP-LIST-203 ACP-LIST-204"),
    _falls("v2_june", "ACP-LIST-001", "Sessions cannot be listed at all, nor can it be seen that one is gone",
        "ACP-LIST-002 ACP-LIST-203 ACP-LIST-204 ACP-DELETE-202"),
    _falls("v2_june", "ACP-PATCH-201", "A message has no id, which the schema demands",
        "ACP-PROMPT-002"),
    _falls("v2_june", "ACP-PATCH-204", "A tool call has no id, which the schema demands",
        "ACP-PROMPT-002"),
    _falls("v2_june", "ACP-BATCH-202", "An array of notifications is answered with an empty array, which is no message",
        "ACP-TRANSPORT-201"),
    _falls("v2_june", "ACP-CANCEL-205", "A cancellation is a notification, and it is answered",
        "ACP-JSONRPC-003"),
    _falls("v2_june", "ACP-EXT-201", "An extension notification is a notification, and it is answered",
        "ACP-JSONRPC-003"),
    _falls("v2_june", "ACP-EXT-202", "A capability of the agent's own stands where the schema has no place for it",
        "ACP-SCHEMA-002"),
    _falls("v2_june", "ACCORD-JUNE-INIT-001", "The handshake has keys of another edition",
        "ACP-SCHEMA-002"),
    _falls("v2_june", "ACCORD-JUNE-PLAN-001", "Plans have no id, so they do not fit the schema",
        "ACP-PROMPT-002"),
    _falls("v2", "ACP-INIT-001", "The handshake fails, so nothing else can be asked",
        "ACP-INIT-003 ACP-INIT-201 ACP-INIT-202 ACP-INIT-203 ACP-INIT-204 ACP-SCHEMA-001 ACP-AUTH-201 "
        "ACP-AUTH-202 ACP-AUTH-205 ACP-AUTH-206 ACP-AUTH-207 ACP-BATCH-201 ACP-BATCH-207 ACP-EXT-001 "
        "ACP-EXT-201 ACP-EXT-202 ACP-EXT-203 ACP-META-201 ACP-JSONRPC-001 ACP-JSONRPC-003 ACP-JSONRPC-004 "
        "ACP-JSONRPC-005 ACP-INFO-BATCH-201 ACP-INFO-BATCH-202 ACP-INFO-INVALIDREQ-001 ACP-INFO-PARSE-001"),
    _falls("v2", "ACP-SESSION-001", "No session can be opened, so nothing that needs one works",
        "ACP-SESSION-002 ACP-SESSION-203 ACP-LIST-202 ACP-LIST-203 ACP-LIST-204 ACP-LIST-201 ACP-CLOSE-201 "
        "ACP-CLOSE-202 ACP-RESUME-201 ACP-RESUME-202 ACP-RESUME-203 ACP-RESUME-204 ACP-RESUME-205 "
        "ACP-PROMPT-003 ACP-PROMPT-201 ACP-PROMPT-203 ACP-PROMPT-205 ACP-META-001 ACP-STATE-201 "
        "ACP-STATE-202 ACP-STATE-203 ACP-CLIENTCAP-201 ACP-CLIENTCAP-202 ACP-CANCEL-201 ACP-CANCEL-202 "
        "ACP-CANCEL-203 ACP-CANCEL-205 ACP-CANCEL-206 ACP-CANCEL-207 ACP-CANCEL-208 ACP-PATCH-201 "
        "ACP-PATCH-203 ACP-PATCH-204 ACP-PATCH-205 ACP-PATCH-206 ACP-PATCH-207 ACP-PATCH-208 ACP-PATCH-209 "
        "ACP-ENUM-201 ACP-ENUM-202 ACP-ENUM-203"),
    _falls("v2", "ACP-STATE-202", "Turns never become idle, so nothing that comes behind the end of one can be done",
        "ACP-CANCEL-201 ACP-CANCEL-202 ACP-CANCEL-206 ACP-CLOSE-202 ACP-META-001 ACP-PROMPT-003 "
        "ACP-RESUME-201 ACP-RESUME-202 ACP-RESUME-203 ACP-RESUME-204 ACP-RESUME-205"),
    _falls("v2", "ACP-PROMPT-201", "Prompts are not answered, so there are no turns",
        "ACP-PROMPT-003 ACP-META-001 ACP-CLOSE-202 ACP-CANCEL-201 ACP-CANCEL-202 ACP-CANCEL-203 "
        "ACP-CANCEL-206 ACP-CANCEL-207 ACP-CANCEL-208 ACP-RESUME-201 ACP-RESUME-202 ACP-RESUME-203 "
        "ACP-RESUME-204 ACP-RESUME-205"),
    _falls("v2", "ACP-INIT-204", "A capability is no object, which the schema does not allow either",
        "ACP-SCHEMA-001"),
    _falls("v2", "ACP-INIT-203", "The agent gives no name and version, which the schema demands too",
        "ACP-SCHEMA-001"),
    _falls("v2", "ACP-AUTH-207", "A terminal login is malformed, which the schema does not allow either",
        "ACP-SCHEMA-001"),
    _falls("v2", "ACP-LIST-201", "Sessions cannot be listed at all",
        "ACP-LIST-202 ACP-LIST-203 ACP-LIST-204"),
    _falls("v2", "ACP-LIST-201", "Sessions cannot be listed at all, nor can it be seen that one is gone",
        "ACP-LIST-202 ACP-LIST-203 ACP-LIST-204 ACP-DELETE-202"),
    _falls("v2", "ACP-PROMPT-201", "The answer to a prompt has a stop reason, which is no key of it",
        "ACP-SCHEMA-002"),
    _falls("v2", "ACP-PATCH-201", "A message has no id, which the schema demands",
        "ACP-PROMPT-205"),
    _falls("v2", "ACP-PATCH-204", "A tool call has no id, which the schema demands",
        "ACP-PROMPT-205"),
    _falls("v2", "ACP-PATCH-205", "A plan has no id, which the schema demands",
        "ACP-PROMPT-205"),
    _falls("v2", "ACP-CANCEL-203", "A cancelled turn ends as if it had not been cancelled",
        "ACP-CANCEL-201"),
    _falls("v2", "ACP-CANCEL-207", "A cancelled turn ends with an unknown stop reason",
        "ACP-CANCEL-201"),
    _falls("v2", "ACP-CANCEL-205", "A cancellation is a notification, and it is answered",
        "ACP-JSONRPC-003"),
    _falls("v2", "ACP-EXT-201", "An extension notification is answered, and no notification may be",
        "ACP-JSONRPC-003"),
    _falls("v2", "ACP-EXT-202", "A capability of the agent's own stands where the schema has no place for it",
        "ACP-SCHEMA-002"),
    _falls("v2", "ACP-INIT-001", "The handshake fails, so nothing else can be asked",
        "ACCORD-INIT-201 ACCORD-INIT-202 ACCORD-INIT-203 ACCORD-INIT-204 ACCORD-INIT-205 ACCORD-INIT-206 "
        "ACCORD-INIT-207 ACCORD-INIT-208 ACCORD-INIT-209 ACCORD-INIT-210 ACCORD-INIT-211 ACCORD-WIRE-202 "
        "ACCORD-WIRE-204 ACCORD-WIRE-205 ACCORD-WIRE-206 ACCORD-WIRE-207 ACCORD-WIRE-208 ACCORD-WIRE-209 "
        "ACCORD-WIRE-210 ACCORD-WIRE-211 ACCORD-WIRE-214 ACCORD-WIRE-217"),
    _falls("v2", "ACP-SESSION-001", "No session can be opened, so nothing that needs one works",
        "ACCORD-CANCEL-201 ACCORD-CANCEL-202 ACCORD-CANCEL-203 ACCORD-CANCEL-204 ACCORD-CANCEL-205 "
        "ACCORD-CANCEL-206 ACCORD-CANCEL-207 ACCORD-CANCEL-208 ACCORD-CANCEL-209 ACCORD-CANCEL-210 "
        "ACCORD-CANCEL-211 ACCORD-CANCEL-212 ACCORD-CANCEL-213 ACCORD-CLOSE-201 ACCORD-CLOSE-202 "
        "ACCORD-CLOSE-203 ACCORD-CLOSE-204 ACCORD-ELICIT-204 ACCORD-ELICIT-205 ACCORD-EXIT-201 "
        "ACCORD-EXIT-202 ACCORD-PERM-201 ACCORD-MESSAGE-201 ACCORD-STATE-205 ACCORD-TERM-203 "
        "ACCORD-TOOL-207 ACCORD-WIRE-216 ACCORD-PROMPT-201 ACCORD-PROMPT-202 ACCORD-PROMPT-203 "
        "ACCORD-PROMPT-204 ACCORD-PROMPT-205 ACCORD-PROMPT-206 ACCORD-PROMPT-207 ACCORD-PROMPT-208 "
        "ACCORD-PROMPT-209 ACCORD-RESUME-201 ACCORD-RESUME-202 ACCORD-RESUME-203 ACCORD-RESUME-204 "
        "ACCORD-RESUME-205 ACCORD-RESUME-206 ACCORD-RESUME-207 ACCORD-RESUME-208 ACCORD-SESSION-203"),
    _falls("v2", "ACP-STATE-202", "Turns never become idle, so nothing that comes behind the end of one can be done",
        "ACCORD-CANCEL-208 ACCORD-CANCEL-209 ACCORD-CANCEL-210 ACCORD-CANCEL-211 ACCORD-EXIT-201 "
        "ACCORD-EXIT-202 ACCORD-PERM-201 ACCORD-RESUME-201 ACCORD-RESUME-202 ACCORD-RESUME-203 "
        "ACCORD-RESUME-204 ACCORD-RESUME-205 ACCORD-RESUME-206 ACCORD-RESUME-207 ACCORD-RESUME-208"),
    _falls("v2", "ACP-PATCH-203", "All messages have the same id, of every speaker and turn",
        "ACCORD-MESSAGE-201"),
)
# fmt: on
"""The failures that follow from other failures."""
