"""The stub agent: serves a client and runs each step once, in a turn, after it, or in one that is to be cancelled."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from accord.check.client.conversation import (
    KNOWS,
    ClientConversation,
    ClientLeft,
    ClientWire,
    chunk,
    config_options,
    greeting,
    opened,
)
from accord.check.engine.evidence import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    NO_METHOD,
    NO_VERSION,
    NOT_FOUND,
    Evidence,
    Inconclusive,
    RecordBudget,
    StepFailed,
    StepResult,
)
from accord.check.engine.judging import CheckStep, Progress
from accord.check.engine.wire import Silence
from accord.check.rule import VERSIONS, EditionName, Options
from accord.time_scale import scaled

CALM_SECONDS = scaled(0.3)
STAYS, EARLY = "ACCORD-CLIENT-TURN-001", "ACCORD-CLIENT-UPDATE-004"


class ClientRunner:
    """Runs the steps, each once; `evidence` has the results, `remaining` the steps that are left."""

    def __init__(self, options: Options, steps: list[CheckStep], progress: Progress) -> None:
        self.evidence = Evidence(options)
        self.remaining = sorted(steps, key=lambda step: step.order)
        self.finished = 0
        """How many steps were finished."""
        self.blamed: set[str] = set()
        """The rules that were found broken during steps."""
        self._options = options
        self._edition = options.edition
        self._total = len(steps)
        self._progress = progress
        self._calmed: set[ClientWire] = set()
        self._folders: list[Path] = []
        # Turns of several sessions may run at once, but steps run one after the other.
        self._lock = asyncio.Lock()

    def sweep(self) -> None:
        """Remove all folders; again when the client has ended, since its commands may have written until then."""
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)

    def send_early(self, wire: ClientWire, session: str) -> bool:
        """Send an update of a session before the answer that names it, once; whether it was sent now."""
        if "early" in self.evidence.steps:
            return False
        since = len(wire.entries)
        title = {"sessionUpdate": "session_info_update", "title": "Early"}
        wire.notify("session/update", {"sessionId": session, "update": title})
        self.evidence.steps["early"] = StepResult("early", wire.entries, since, since)
        return True

    async def check_early(self, turn: ClientConversation) -> None:
        """Check that the client still answers after that update."""
        run = self.evidence.steps["early"]
        try:
            await turn.is_alive(EARLY, turn.wire.entries[run.start])
        except ClientLeft as failure:
            run.failure = failure
        except StepFailed:
            pass  # It is connected and does not answer unknown requests: another rule judges that.
        run.end = turn.now
        self.finished += 1

    async def run_turn(self, turn: ClientConversation, id_: Any, prompt: list[Any]) -> None:
        """Run the steps that belong inside a turn, end the turn, then run those that come after one."""
        if self._edition == "v2":
            message = f"u-{id_}"
            turn.update({"sessionUpdate": "user_message", "messageId": message, "content": prompt})
            turn.wire.answer_to(id_, {"messageId": message})
            turn.update({"sessionUpdate": "state_update", "state": "running"})
        async with self._lock:
            if turn.wire.ended:
                # It disconnected during another of its turns: that is judged there.
                return
            if await self._calm(turn):
                await self._run_steps(turn)
            if turn.wire.ended:
                return
            self._end_turn(turn, id_)
            for step in [each for each in self.remaining if each.group == "after"]:
                await self._run_step(step, turn)

    def _end_turn(self, turn: ClientConversation, id_: Any) -> None:
        reason = "cancelled" if turn.cancelled.is_set() else "end_turn"
        if self._edition == "v2":
            turn.update({"sessionUpdate": "state_update", "state": "idle", "stopReason": reason})
        else:
            turn.wire.answer_to(id_, {"stopReason": reason})

    async def _calm(self, turn: ClientConversation) -> bool:
        """Whether a client stays connected while nothing happens; otherwise no step can be judged."""
        turn.update(chunk(self._edition, "Let me see. "))
        run = StepResult("calm", turn.wire.entries, turn.now, turn.now)
        try:
            await self._stays(turn)
        except ClientLeft as failure:
            run.failure = failure
            self.evidence.steps["calm"] = run
            return False
        except StepFailed:
            self.blamed.add(KNOWS)
        self.evidence.steps.setdefault("calm", run)
        return True

    async def _stays(self, turn: ClientConversation) -> None:
        await turn.is_alive(STAYS)
        if turn.wire not in self._calmed:
            self._calmed.add(turn.wire)
            # A client that leaves as soon as its prompt was accepted needs a moment for that.
            with suppress(Silence):
                await turn.wire.until(lambda _: False, turn.now, min(CALM_SECONDS, self._options.grace_seconds / 10))
            await turn.is_alive(STAYS)

    async def _run_steps(self, turn: ClientConversation) -> None:
        inside = [each for each in self.remaining if each.group == "turn"]
        for step in inside or [each for each in self.remaining if each.group == "hold"]:
            if turn.wire.ended or (turn.cancelled.is_set() and step.group != "hold"):
                return
            await self._run_step(step, turn)

    async def _run_step(self, step: CheckStep, turn: ClientConversation) -> None:
        self.remaining.remove(step)
        self._progress(step.name, self._total - len(self.remaining), self._total)
        offer = step.gate.get(self._edition, "")
        if offer and not turn.offers(*offer.split(".")):
            self.evidence.skipped[step.name] = f"not offered: {offer}"
            return
        run = StepResult(step.name, turn.wire.entries, turn.now, turn.now)
        try:
            notes = await self._notes_of(step, turn)
        except Inconclusive as skipped:
            self.evidence.skipped[step.name] = str(skipped)
            return
        except StepFailed as failure:
            run.failure = failure
        else:
            if notes is None:
                self.remaining.append(step)
                return
            run.notes = notes
        finally:
            folder = turn.sweep()
            if folder is not None:
                self._folders.append(folder)
                self.sweep()
        run.end = turn.now
        self.evidence.steps[step.name] = run
        self.finished += 1

    async def _notes_of(self, step: CheckStep, turn: ClientConversation) -> dict[str, Any] | None:
        """The notes of a step; None if the client cancelled the turn meanwhile: then it runs in another turn."""
        if step.group != "turn":
            return await step.run(turn)
        running = asyncio.ensure_future(step.run(turn))
        cancelled = asyncio.ensure_future(turn.cancelled.wait())
        try:
            await asyncio.wait([running, cancelled], return_when=asyncio.FIRST_COMPLETED)
            return await running if running.done() else None
        finally:
            running.cancel()
            cancelled.cancel()
            await asyncio.gather(running, cancelled, return_exceptions=True)


STRANGE_VERSIONS: dict[EditionName, int] = {"v1": 9999, "v2_june": 9999, "v2": 0}
"""Versions that do not exist; in v2 an agent must not answer with a higher version than requested."""
SETTLE_SECONDS = scaled(1.0)
MAX_OPEN_TURNS = 1000
"""The limit of turns at once; a client that begins more is not served any further."""


class _Client:
    """The state of one connection."""

    def __init__(self) -> None:
        self.is_met = False
        self.offered: dict[str, Any] = {}
        self.sessions: dict[str, str] = {}
        """The working directory of each session, by its id."""
        self.turns: dict[str, ClientConversation] = {}


class StubAgent:
    """One agent over as many connections and starts of the client as it takes."""

    def __init__(self, options: Options, steps: list[CheckStep], progress: Progress) -> None:
        self.runner = ClientRunner(options, steps, self._report_progress)
        self.evidence = self.runner.evidence
        self.wires: list[ClientWire] = []
        self.budget = RecordBudget()
        self.is_strange = False
        """Whether it answers with a version that does not exist."""
        self.changed = asyncio.Event()
        self._options = options
        self._edition = options.edition
        self._progress = progress
        self._clients: dict[ClientWire, _Client] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._errors: list[BaseException] = []
        self._starts = 0

    def _report_progress(self, what: str, done: int, total: int) -> None:
        # A step that runs counts as activity, also where the client sends nothing.
        self.changed.set()
        self._progress(what, done, total)

    # --- connections

    def begin(self) -> None:
        self._starts += 1
        self.wires = []

    def accept(self) -> ClientWire:
        kind = "strange" if self.is_strange else "client"
        name = f"{self._starts:02}.{len(self.wires) + 1} {kind}"
        wire = ClientWire(name, self._options.timeout_seconds, self._on_message, self.budget)
        self.wires.append(wire)
        self._clients[wire] = _Client()
        self.changed.set()
        return wire

    @property
    def is_busy(self) -> bool:
        return bool(self._tasks)

    @property
    def is_flooded(self) -> bool:
        """Whether a client of this start wrote, or requested, more than is kept."""
        too_many = self.budget.is_spent or len(self._tasks) > MAX_OPEN_TURNS
        return too_many or any(wire.overflowed for wire in self.wires)

    @property
    def is_met(self) -> bool:
        """Whether a client of this start has sent `initialize`."""
        return any(self._clients[wire].is_met for wire in self.wires)

    async def leave(self) -> None:
        for wire in self.wires:
            wire.leave()

    async def settle(self) -> None:
        """Wait for the running steps, which end soon since the client has left; cancel the others.

        Raises:
            BaseException: Where something of ours failed, and not of the client.
        """
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=SETTLE_SECONDS)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for error in self._errors:
            raise error

    # --- requests of the client

    def _on_message(self, wire: ClientWire, message: dict[str, Any]) -> None:
        self.changed.set()
        if self.is_flooded:
            return
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if message["method"] == "session/cancel":
            turn = self._clients[wire].turns.get(str(params.get("sessionId")))
            if turn is not None:
                turn.cancelled.set()
        if "id" not in message:
            return
        serve = self._SERVERS.get(message["method"])
        if serve is None:
            self._refuse(wire, message["id"], NO_METHOD, "Method not found")
        elif self._edition == "v2" and not self._clients[wire].is_met and message["method"] != "initialize":
            self._refuse(wire, message["id"], INVALID_REQUEST, "Not initialized")
        else:
            serve(self, wire, message["id"], params)

    def _initialize(self, wire: ClientWire, id_: Any, params: dict[str, Any]) -> None:
        wanted, version = params.get("protocolVersion"), VERSIONS[self._edition]
        if self._edition == "v2" and isinstance(wanted, int) and wanted < version:
            data = {"requested": wanted, "supported": [version]}
            self._refuse(wire, id_, NO_VERSION, "Unsupported protocol version", data)
            return
        client = self._clients[wire]
        client.is_met = True
        offered = params.get("clientCapabilities" if self._edition == "v1" else "capabilities")
        client.offered = offered if isinstance(offered, dict) else {}
        if not self.is_strange:
            self.evidence.advertised.setdefault("initialize", params)
            self.evidence.agent_info = params.get("info") or params.get("clientInfo")
        strange = STRANGE_VERSIONS[self._edition]
        self._answer(wire, id_, greeting(self._edition, strange if self.is_strange else version))

    def _new(self, wire: ClientWire, id_: Any, params: dict[str, Any]) -> None:
        client = self._clients[wire]
        session = f"session-{self._starts}-{len(client.sessions) + 1}"
        client.sessions[session] = str(params.get("cwd", ""))
        early = not self.is_strange and self.runner.send_early(wire, session)
        self._answer(wire, id_, opened(self._edition, session))
        if early:
            self._run(self.runner.check_early(self._turn(wire, session)))

    def _prompt(self, wire: ClientWire, id_: Any, params: dict[str, Any]) -> None:
        session, prompt = params.get("sessionId"), params.get("prompt")
        if not isinstance(session, str) or session not in self._clients[wire].sessions or not isinstance(prompt, list):
            self._refuse(wire, id_, INVALID_PARAMS, "Invalid params")
            return
        turn = self._turn(wire, session)
        self._clients[wire].turns[turn.session] = turn
        self._run(self.runner.run_turn(turn, id_, prompt))

    def _set_option(self, wire: ClientWire, id_: Any, params: dict[str, Any]) -> None:
        self._answer(wire, id_, {"configOptions": config_options(self._edition, params.get("value"))})

    def _list(self, wire: ClientWire, id_: Any, _params: dict[str, Any]) -> None:
        # Baseline of v2 only; in other editions the stub does not advertise it.
        if self._edition == "v2":
            sessions = [{"sessionId": each, "cwd": cwd} for each, cwd in self._clients[wire].sessions.items()]
            self._answer(wire, id_, {"sessions": sessions})
        else:
            self._refuse(wire, id_, NO_METHOD, "Method not found")

    def _close(self, wire: ClientWire, id_: Any, params: dict[str, Any]) -> None:
        if self._edition != "v2":
            self._refuse(wire, id_, NO_METHOD, "Method not found")
            return
        turn = self._clients[wire].turns.get(str(params.get("sessionId")))
        if turn is not None:
            turn.cancelled.set()
        self._answer(wire, id_, {})

    def _resume(self, wire: ClientWire, id_: Any, params: dict[str, Any]) -> None:
        session = params.get("sessionId")
        if self._edition != "v2":
            self._refuse(wire, id_, NO_METHOD, "Method not found")
        elif not isinstance(session, str) or session not in self._clients[wire].sessions:
            self._refuse(wire, id_, NOT_FOUND, "There is no such session", {"sessionId": session})
        else:
            state = {"sessionUpdate": "state_update", "state": "idle"}
            wire.notify("session/update", {"sessionId": session, "update": state})
            self._answer(wire, id_, {"configOptions": config_options(self._edition)})

    _SERVERS: dict[str, Callable[[Any, ClientWire, Any, dict[str, Any]], None]] = {  # noqa: RUF012 - a table
        "initialize": _initialize,
        "session/new": _new,
        "session/prompt": _prompt,
        "session/set_config_option": _set_option,
        "session/list": _list,
        "session/close": _close,
        "session/resume": _resume,
    }

    def _answer(self, wire: ClientWire, id_: Any, result: Any) -> None:
        wire.answer_to(id_, result)

    def _refuse(self, wire: ClientWire, id_: Any, code: int, message: str, data: Any = None) -> None:
        error = {"code": code, "message": message}
        wire.respond({"jsonrpc": "2.0", "id": id_, "error": error if data is None else {**error, "data": data}})

    # --- turns

    def _turn(self, wire: ClientWire, session: str) -> ClientConversation:
        client = self._clients[wire]
        return ClientConversation(
            wire, self._options, session, client.sessions[session], client.offered, self.runner.blamed
        )

    def _run(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self.changed.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._errors.append(error)
