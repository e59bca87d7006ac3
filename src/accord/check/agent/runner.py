"""The runner of a check of an agent: runs steps in as few processes as possible and restores changed settings."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from accord.check.agent.conversation import BARE, PROMPT_RULE, REPLIES, AgentConversation, ProcessGroup, WaitLimits
from accord.check.engine.evidence import (
    AUTH_REQUIRED,
    INVALID_PARAMS,
    NOT_KEPT,
    Evidence,
    RecordBudget,
    StepFailed,
    StepResult,
    has_path,
)
from accord.check.engine.journal import Change, Journal, JournalError, SettingsLedger, Untouched
from accord.check.engine.judging import PROBLEMS, CheckStep, Progress, unexpected
from accord.check.engine.program import AgentAddress, JudgedAgent
from accord.check.engine.settings import Key, Setting, Value, request_for
from accord.check.engine.wire import RecordedWire, Silence
from accord.check.rule import VERSIONS, Options
from accord.errors import ConnectFailed
from accord.time_scale import scaled

RESTORE_SECONDS = scaled(20.0)
"""The time limit of the process that restores settings, from its start to its last answer."""
ANSWER_SECONDS = scaled(5.0)
_ROUNDS = 3
"""One setting may change another: values that still differ are set once more."""
State: TypeAlias = Literal["set back", "left changed", "changed by another", "not offered", "not visible"]


@dataclass(frozen=True)
class Restored:
    key: Key
    old: Value
    now: Value | None
    """The value in a new session; None where it could not be read."""
    state: State

    @property
    def line(self) -> str:
        if self.state == "set back":
            return f"{self.key} was left at {self.now!r} and is set back to {self.old!r}"
        if self.state == "not offered":
            return f"{self.key} was {self.old!r} before and is no longer offered"
        now = "could not be seen" if self.now is None else f"is {self.now!r}"
        why = ", set by another program" if self.state == "changed by another" else ""
        return f"{self.key} {now}{why}; before the check it was {self.old!r}"


# --- restoring in the process that changed a setting


async def restore_in(agent: AgentConversation, ledger: SettingsLedger) -> None:
    """Restore the settings that a process changed, in the same sessions; failures are left to `restore_last`."""
    for session, keys in ledger.changed_in(agent.wire).items():
        for _ in range(_ROUNDS):
            for key in reversed(keys):
                if agent.wire.ended or not await _set(agent, session, key, ledger.changes[key].old):
                    break
            keys = ledger.changed_in(agent.wire).get(session, [])  # noqa: PLW2901 - others may have come with them
            if ledger.is_back(agent.wire, session):
                break


async def _set(agent: AgentConversation, session: str, key: Key, value: Value) -> bool:
    seconds = min(agent.options.timeout_seconds, ANSWER_SECONDS)
    with suppress(Silence, Untouched):
        await agent.wire.request(*request_for(agent.edition, session, key, value), seconds=seconds)
        return True
    return False


# --- restoring in a process of its own


async def restore_last(
    program: JudgedAgent, options: Options, folder: Path, ledger: SettingsLedger, changes: Mapping[Key, Change]
) -> list[Restored]:
    """Start the agent once more and restore the remaining settings; bounded by `RESTORE_SECONDS`.

    Only values that the check set are replaced. Restored settings are removed from the ledger and the journal; those
    that could not be read stay there for the next run.
    """
    found: dict[Key, Restored] = {
        key: Restored(key, change.old, None, "not visible") for key, change in changes.items()
    }
    wire: RecordedWire | None = None
    try:
        async with asyncio.timeout(RESTORE_SECONDS):
            wire = await RecordedWire.open(
                "restore", program, options.env, options.timeout_seconds, REPLIES, None, ledger
            )
            agent = AgentConversation(wire, options, folder, {})
            await agent.handshake(able=True)
            await _restore_all(agent, ledger, changes, found)
    except (TimeoutError, Silence, StepFailed, Untouched, ConnectFailed):
        pass  # Settings that were not seen to be restored are reported.
    finally:
        if wire is not None:
            await wire.shut(min(options.grace_seconds, 1.0))
    for key, restored in found.items():
        if restored.state not in ("not visible", "left changed"):
            with suppress(JournalError):
                ledger.forget(key)
    return list(found.values())


async def _restore_all(
    agent: AgentConversation, ledger: SettingsLedger, changes: Mapping[Key, Change], found: dict[Key, Restored]
) -> None:
    first: dict[Key, Setting] = {}
    for _ in range(_ROUNDS):
        session = await agent.new()
        settings = ledger.settings(agent.wire, session)
        first = first or settings
        wrong = []
        for key, change in changes.items():
            found[key] = _restored(change, settings.get(key), first.get(key))
            if found[key].state == "left changed":
                wrong.append(key)
        if not wrong:
            return
        for key in wrong:
            await _set(agent, session, key, changes[key].old)


def _restored(change: Change, setting: Setting | None, first: Setting | None) -> Restored:
    """The state of a setting in a new session; `first` is the setting in the first session of this process."""
    if setting is None:
        return Restored(change.key, change.old, None, "not offered")
    if setting.value == change.old:
        return Restored(change.key, change.old, change.old if first is None else first.value, "set back")
    is_ours = setting.value in change.new
    return Restored(change.key, change.old, setting.value, "left changed" if is_ours else "changed by another")


# --- settings that a killed run left changed


async def leftovers(program: JudgedAgent, options: Options, folder: Path, journal: Journal) -> list[Restored]:
    """Settings that an earlier check left changed, restored where they still have the value of that check.

    Raises:
        JournalError: The journal cannot be read.
    """
    page = journal.read()
    if page is None or not journal.lock():
        return []  # Nothing is left; or the run that wrote it is alive.
    page = journal.read()
    if page is None:
        journal.unlock()
        return []
    if page.env != journal.env:
        # With other variables it may be another configuration of the agent: only the same one is touched.
        journal.unlock()
        return [Restored(each.key, each.old, None, "not visible") for each in page.changes]
    ledger = SettingsLedger(replace(options, edition=page.edition), journal)
    ledger.changes = {change.key: change for change in page.changes}
    try:
        return await restore_last(program, replace(options, edition=page.edition), folder, ledger, dict(ledger.changes))
    finally:
        ledger.close()


LEAVING_SECONDS = scaled(1.0)
"""The time limit for the end of an agent when the check is cancelled."""


class AgentRunner:
    """Runs each step once and collects the evidence."""

    def __init__(
        self,
        program: JudgedAgent,
        options: Options,
        folder: Path,
        progress: Progress,
        ledger: SettingsLedger | None = None,
    ) -> None:
        self._program = program
        self._options = options
        self._folder = folder
        self._progress = progress
        self._notes: dict[str, dict[str, Any]] = {}
        self._initialized: dict[str, dict[str, Any]] = {}
        """The result of the handshake of each process that steps share."""
        self._limits = WaitLimits()
        self._budget = RecordBudget()
        self.ledger = ledger or SettingsLedger(options, None)
        self._flood = ""
        """The rule that was broken when the agent first wrote without end."""
        self._is_short = False
        """Whether a step was not judged because the agent wrote more than is kept, which may be honest."""
        self._is_leaving = False
        self._slots = asyncio.Semaphore(options.jobs)
        self._processes = 0
        self._done = 0
        self._total = 0
        self.evidence = Evidence(options)

    async def run(self, steps: list[CheckStep]) -> Evidence:
        """Run the step `meet`, then the steps whose capabilities the agent advertises.

        Raises:
            ConnectFailed: There is no such command, or no agent at the address; or it refuses the directory.
        """
        self._total = len(steps) + 1
        await self._meet()
        if self.evidence.blocked_by_version:
            steps = [step for step in steps if step.group == "own" and not step.gate]
        wanted = [step for step in steps if self._makes_sense(step)]
        met = self.evidence.steps["meet"]
        if met.failure is not None and met.failure.blame == "ACP-INIT-001":
            # Every process would begin with the handshake that has just failed.
            for step in wanted:
                self.evidence.steps[step.name] = replace(met, name=step.name)
            wanted = []
        groups = self._groups(wanted)
        first = [self._run_group(group, members) for group, members in groups if group != "again"]
        # With exceptions as results it also waits for all of them when it is cancelled: none is left to run.
        for failure in await asyncio.gather(*first, return_exceptions=True):
            if isinstance(failure, BaseException):
                raise failure
        for group, members in groups:
            if group == "again":
                await self._run_group(group, members)
        self.evidence.records.sort(key=lambda record: record.name)
        self.evidence.blame_turns(PROMPT_RULE[self._options.edition])
        return self.evidence

    def _groups(self, steps: list[CheckStep]) -> list[tuple[ProcessGroup, list[CheckStep]]]:
        steps = sorted(steps, key=lambda step: step.order)
        names: tuple[ProcessGroup, ...] = ("bare", "able", "again")
        shared = [(group, [step for step in steps if step.group == group]) for group in names]
        alone: list[tuple[ProcessGroup, list[CheckStep]]] = [("own", [step]) for step in steps if step.group == "own"]
        return [(group, members) for group, members in [*shared, *alone] if members]

    def _makes_sense(self, step: CheckStep) -> bool:
        gate = step.gate.get(self._options.edition, "")
        if gate and not has_path(self.evidence.advertised, gate):
            self.evidence.skipped[step.name] = f"not advertised: {gate}"
            return False
        if self.evidence.blocked_by_auth and step.group != "own":
            self.evidence.skipped[step.name] = "AUTH-GATED: give --auth-method"
            return False
        return True

    # --- the advertised capabilities

    async def _meet(self) -> None:
        """The step `meet`: the handshake and sessions of a client that offers nothing; records the capabilities."""
        self._progress("meet", 0, self._total)
        wire = await self._open("meet")
        try:
            agent = self._conversation(wire)
            run = StepResult("meet", wire.entries, 0, 0)
            self.evidence.steps["meet"] = run
            try:
                await self._met(agent, run.notes)
            except StepFailed as failure:
                if wire.refusal is not None:
                    raise wire.refusal from None
                run.failure = failure
            run.end = agent.now
            self.evidence.advertised["initialize"] = agent.initialized
            self.evidence.agent_info = agent.initialized.get("agentInfo") or agent.initialized.get("info")
        except asyncio.CancelledError:
            self._is_leaving = True
            raise
        finally:
            await self._shut(wire)
        self._done += 1

    async def _met(self, agent: AgentConversation, notes: dict[str, Any]) -> None:
        edition = self._options.edition
        initialize = agent.ask("initialize", BARE[edition])
        notes |= {"initialize": initialize, "new": []}
        answer = await agent.answer(initialize, "ACP-INIT-001", self._options.start_seconds)
        if not isinstance(answer.get("result"), dict):
            raise StepFailed("the handshake did not succeed", "ACP-INIT-001")
        agent.initialized = answer["result"]
        self.evidence.blocked_by_version = agent.initialized.get("protocolVersion") != VERSIONS[edition]
        if self.evidence.blocked_by_version:
            return
        if self._options.auth_method:
            await agent.log_in()
        without: dict[str, Any] = {} if edition == "v2" else {"mcpServers": []}
        servers: dict[str, Any] = {"mcpServers": []}
        for given in (servers, without):
            new = agent.ask("session/new", {"cwd": agent.cwd, **given})
            notes["new"].append(new)
            answered = await agent.answer(new, "ACP-SESSION-001")
            if "result" in answered:
                self.evidence.advertised.setdefault("new", answered["result"])
            elif (
                _code(answered) == INVALID_PARAMS and isinstance(self._program, AgentAddress) and not self._options.cwd
            ):
                raise ConnectFailed(
                    "the agent refuses the directory of the check for its sessions: name one of its own machine (--dir)"
                )
            elif _code(answered) == AUTH_REQUIRED and agent.initialized.get("authMethods"):
                self.evidence.blocked_by_auth = not self._options.auth_method
        await agent.is_alive()

    # --- processes

    async def _run_group(self, group: ProcessGroup, steps: list[CheckStep]) -> None:
        async with self._slots:
            wire: RecordedWire | None = None
            try:
                for step in steps:
                    self._progress(step.name, self._done, self._total)
                    if wire is None and self._budget.is_spent:
                        self._give_up(step)
                        continue
                    if wire is None:
                        wire = await self._open(step.name if group == "own" else group)
                    is_sound = await self._run_step(step, wire, is_new=not wire.entries)
                    self._done += 1
                    if not is_sound or wire.ended:
                        closing, wire = wire, None
                        await self._shut(closing)
            except asyncio.CancelledError:
                self._is_leaving = True
                raise
            finally:
                if wire is not None:
                    await self._shut(wire)

    def _give_up(self, step: CheckStep) -> None:
        """Do not run a step: the agent wrote more than a check keeps. One that did so without end is to blame."""
        self._done += 1
        if not self._flood:
            self._leave_unjudged(step)
            return
        reason = "the agent wrote more than a check keeps in memory, so this was not played"
        failure = StepFailed(reason, self._flood)
        failure.is_silence = True
        self.evidence.steps[step.name] = StepResult(step.name, [], 0, 0, failure=failure)

    async def _run_step(self, step: CheckStep, wire: RecordedWire, *, is_new: bool) -> bool:
        """Run one step; whether the process can be used for another one."""
        agent = self._conversation(wire)
        run = StepResult(step.name, wire.entries, agent.now, agent.now)
        self.evidence.steps[step.name] = run
        try:
            if is_new and step.group != "own":
                self._initialized[wire.name] = await agent.handshake(able=step.group == "able")
            run.notes = self._notes[step.name] = await step.run(agent)
        except StepFailed as failure:
            run.failure = failure
        except Silence as silence:
            run.failure = StepFailed(str(silence))
        except Untouched as untouched:
            self.evidence.skipped[step.name] = run.skipped = str(untouched)
            self.evidence.untouched.append(str(untouched))
        except OSError as error:
            run.skipped = self._skip_without_files(step, error)
        except PROBLEMS as error:
            run.failure = StepFailed(unexpected("agent", error))
        self._weigh(step, run, wire)
        reasons = run.get("untouched") or []
        self.evidence.untouched += [reasons] if isinstance(reasons, str) else reasons
        run.end = agent.now
        await restore_in(agent, self.ledger)
        return run.failure is None

    def _weigh(self, step: CheckStep, run: StepResult, wire: RecordedWire) -> None:
        if wire.is_endless:
            run.failure = self._of_the_flood(run.failure)
        elif wire.overflowed or (self._is_short and run.failure is not None and not run.failure.blame):
            self._leave_unjudged(step)

    def _leave_unjudged(self, step: CheckStep) -> None:
        """Skip a step whose answers were not kept, or that needed the notes of such a step."""
        self._is_short = True
        self.evidence.skipped[step.name] = NOT_KEPT
        self.evidence.steps.pop(step.name, None)
        self._notes.pop(step.name, None)

    def _of_the_flood(self, failure: StepFailed | None) -> StepFailed | None:
        """All failures that an endless stream causes have one cause."""
        if failure is None:
            return None
        self._flood = self._flood or failure.blame or PROMPT_RULE[self._options.edition]
        grouped = StepFailed(failure.reason, self._flood, *failure.evidence)
        grouped.is_silence = True
        return grouped

    def _skip_without_files(self, step: CheckStep, error: OSError) -> str:
        """Skip a step whose files cannot be made, since the directory is on another machine; returns the reason."""
        if not isinstance(self._program, AgentAddress):
            raise error
        reason = self.evidence.skipped[step.name] = f"no files can be made in {self._folder}: {error.strerror}"
        return reason

    async def restore(self) -> list[Restored]:
        """Verify in a new process that every setting is restored, and restore the others."""
        if not self.ledger.changes:
            return []
        return await restore_last(self._program, self._options, self._folder, self.ledger, dict(self.ledger.changes))

    def _conversation(self, wire: RecordedWire) -> AgentConversation:
        agent = AgentConversation(wire, self._options, self._folder, self._notes, self._limits, self.ledger)
        agent.initialized = self._initialized.get(wire.name, {})
        return agent

    async def _open(self, name: str) -> RecordedWire:
        self._processes += 1
        options = self._options
        return await RecordedWire.open(
            f"{self._processes:02} {name}",
            self._program,
            options.env,
            options.timeout_seconds,
            REPLIES,
            self._budget,
            self.ledger,
        )

    async def _shut(self, wire: RecordedWire) -> None:
        grace = self._options.grace_seconds
        self.evidence.records.append(await wire.shut(min(grace, LEAVING_SECONDS) if self._is_leaving else grace))


def _code(answer: dict[str, Any]) -> Any:
    error = answer.get("error")
    return error.get("code") if isinstance(error, dict) else None
