"""Plays steps with a program: in as few processes as they allow, and on after one that failed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from accord.check.budget import Budget
from accord.check.case import Case, Played, reached
from accord.check.ledger import Ledger, Untouched
from accord.check.link import Program
from accord.check.options import Options
from accord.check.patience import Patience
from accord.check.restoring import Restored, restore_in, restore_last
from accord.check.step import Company, Step
from accord.check.talk import BARE, PROMPT_RULE, REPLIES, StepFailed, Talk
from accord.check.wire import Silence, Wire

__all__ = ["Progress", "Stage"]

Progress: TypeAlias = Callable[[str, int, int], None]
"""Gets the name of what is checked, its number, and how many there are."""
"""Called with what is being done, how many steps are done, and how many there are."""

AUTH_REQUIRED = -32000
LEAVING_SECONDS = 1.0
"""For the end of an agent when the check is cancelled."""
VERSIONS = {"v1": 1, "v2_june": 2, "v2": 2}


class Stage:
    """Where steps are played, each once."""

    def __init__(
        self, program: Program, options: Options, folder: Path, progress: Progress, ledger: Ledger | None = None
    ) -> None:
        self._program = program
        self._options = options
        self._folder = folder
        self._progress = progress
        self._notes: dict[str, dict[str, Any]] = {}
        self._initialized: dict[str, dict[str, Any]] = {}
        """The result of the handshake of each process that steps share."""
        self._patience = Patience()
        self._budget = Budget()
        self.ledger = ledger or Ledger(options, None)
        self._flood = ""
        """The rule that was broken when the agent first wrote without end."""
        self._is_leaving = False
        self._slots = asyncio.Semaphore(options.jobs)
        self._processes = 0
        self._done = 0
        self._total = 0
        self.case = Case(options)

    async def play(self, steps: list[Step]) -> Case:
        """Meet the agent, then play what makes sense with it.

        Raises:
            ConnectFailed: There is no such command.
        """
        self._total = len(steps) + 1
        await self._meet()
        if self.case.blocked_by_version:
            steps = [step for step in steps if step.company == "own" and not step.gate]
        wanted = [step for step in steps if self._makes_sense(step)]
        met = self.case.steps["meet"]
        if met.failure is not None and met.failure.blame == "ACP-INIT-001":
            # Every process would begin with the handshake that has just failed.
            for step in wanted:
                self.case.steps[step.name] = replace(met, name=step.name)
            wanted = []
        groups = self._groups(wanted)
        first = [self._play_group(company, group) for company, group in groups if company != "again"]
        # With exceptions as results it also waits for all of them when it is cancelled: none is left to run.
        for failure in await asyncio.gather(*first, return_exceptions=True):
            if isinstance(failure, BaseException):
                raise failure
        for company, group in groups:
            if company == "again":
                await self._play_group(company, group)
        self.case.records.sort(key=lambda record: record.name)
        self.case.blame_turns(PROMPT_RULE[self._options.edition])
        return self.case

    def _groups(self, steps: list[Step]) -> list[tuple[Company, list[Step]]]:
        steps = sorted(steps, key=lambda step: step.order)
        companies: tuple[Company, ...] = ("bare", "able", "again")
        shared = [(company, [step for step in steps if step.company == company]) for company in companies]
        alone: list[tuple[Company, list[Step]]] = [("own", [step]) for step in steps if step.company == "own"]
        return [(company, group) for company, group in [*shared, *alone] if group]

    def _makes_sense(self, step: Step) -> bool:
        gate = step.gate.get(self._options.edition, "")
        if gate and not reached(self.case.advertised, gate):
            self.case.skipped[step.name] = f"not advertised: {gate}"
            return False
        if self.case.blocked_by_auth and step.company != "own":
            self.case.skipped[step.name] = "AUTH-GATED: give --auth-method"
            return False
        return True

    # --- what is advertised

    async def _meet(self) -> None:
        """The handshake and a session of a client that offers nothing: the step `meet`, and what is gated by it."""
        self._progress("meet", 0, self._total)
        wire = await self._open("meet")
        try:
            talk = self._talk(wire)
            played = Played("meet", wire.entries, 0, 0)
            self.case.steps["meet"] = played
            try:
                await self._met(talk, played.notes)
            except StepFailed as failure:
                played.failure = failure
            played.end = talk.now
            self.case.advertised["initialize"] = talk.initialized
            self.case.agent_info = talk.initialized.get("agentInfo") or talk.initialized.get("info")
        except asyncio.CancelledError:
            self._is_leaving = True
            raise
        finally:
            await self._shut(wire)
        self._done += 1

    async def _met(self, talk: Talk, notes: dict[str, Any]) -> None:
        edition = self._options.edition
        initialize = talk.ask("initialize", BARE[edition])
        notes |= {"initialize": initialize, "new": []}
        answer = await talk.answer(initialize, "ACP-INIT-001", self._options.start_seconds)
        if not isinstance(answer.get("result"), dict):
            raise StepFailed("the handshake did not succeed", "ACP-INIT-001")
        talk.initialized = answer["result"]
        self.case.blocked_by_version = talk.initialized.get("protocolVersion") != VERSIONS[edition]
        if self.case.blocked_by_version:
            return
        if self._options.auth_method:
            await talk.log_in()
        without: dict[str, Any] = {} if edition == "v2" else {"mcpServers": []}
        servers: dict[str, Any] = {"mcpServers": []}
        for given in (servers, without):
            new = talk.ask("session/new", {"cwd": talk.cwd, **given})
            notes["new"].append(new)
            answered = await talk.answer(new, "ACP-SESSION-001")
            if "result" in answered:
                self.case.advertised.setdefault("new", answered["result"])
            elif _code(answered) == AUTH_REQUIRED and talk.initialized.get("authMethods"):
                self.case.blocked_by_auth = not self._options.auth_method
        await talk.is_alive()

    # --- processes

    async def _play_group(self, company: Company, steps: list[Step]) -> None:
        async with self._slots:
            wire: Wire | None = None
            try:
                for step in steps:
                    self._progress(step.name, self._done, self._total)
                    if wire is None and self._budget.is_spent:
                        self._give_up(step)
                        continue
                    if wire is None:
                        wire = await self._open(step.name if company == "own" else company)
                    is_sound = await self._play_step(step, wire, is_new=not wire.entries)
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

    def _give_up(self, step: Step) -> None:
        """The agent wrote more than a check keeps: nothing more can be seen of it."""
        reason = "the agent wrote more than a check keeps in memory, so this was not played"
        failure = StepFailed(reason, self._flood or PROMPT_RULE[self._options.edition])
        failure.is_silence = True
        self.case.steps[step.name] = Played(step.name, [], 0, 0, failure=failure)
        self._done += 1

    async def _play_step(self, step: Step, wire: Wire, *, is_new: bool) -> bool:
        """Whether the process is good for another step."""
        talk = self._talk(wire)
        played = Played(step.name, wire.entries, talk.now, talk.now)
        self.case.steps[step.name] = played
        try:
            if is_new and step.company != "own":
                self._initialized[wire.name] = await talk.shake_hands(able=step.company == "able")
            played.notes = self._notes[step.name] = await step.play(talk)
        except StepFailed as failure:
            played.failure = failure
        except Silence as silence:
            played.failure = StepFailed(str(silence))
        except Untouched as untouched:
            self.case.skipped[step.name] = str(untouched)
            self.case.untouched.append(str(untouched))
        except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
            # As with judges: a shape that no step expected is a shape that is wrong.
            reason = f"what the agent said has an unexpected shape ({type(error).__name__}: {error})"
            played.failure = StepFailed(reason)
        if wire.overflowed and played.failure is not None:
            # All that an endless stream spoils has one cause.
            self._flood = self._flood or played.failure.blame or PROMPT_RULE[self._options.edition]
            played.failure = StepFailed(played.failure.reason, self._flood, *played.failure.evidence)
            played.failure.is_silence = True
        reasons = played.get("untouched") or []
        self.case.untouched += [reasons] if isinstance(reasons, str) else reasons
        played.end = talk.now
        await restore_in(talk, self.ledger)
        return played.failure is None

    async def restore(self) -> list[Restored]:
        """Show in a process of its own that everything is set back, and set back what is not."""
        if not self.ledger.changes:
            return []
        return await restore_last(self._program, self._options, self._folder, self.ledger, dict(self.ledger.changes))

    def _talk(self, wire: Wire) -> Talk:
        talk = Talk(wire, self._options, self._folder, self._notes, self._patience, self.ledger)
        talk.initialized = self._initialized.get(wire.name, {})
        return talk

    async def _open(self, name: str) -> Wire:
        self._processes += 1
        options = self._options
        return await Wire.open(
            f"{self._processes:02} {name}",
            self._program,
            options.env,
            options.timeout_seconds,
            REPLIES,
            self._budget,
            self.ledger,
        )

    async def _shut(self, wire: Wire) -> None:
        grace = self._options.grace_seconds
        self.case.records.append(await wire.shut(min(grace, LEAVING_SECONDS) if self._is_leaving else grace))


def _code(answer: dict[str, Any]) -> Any:
    error = answer.get("error")
    return error.get("code") if isinstance(error, dict) else None
