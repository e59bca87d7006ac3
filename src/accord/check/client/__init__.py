"""`check_client`: starts a client with our stub agent, judges every rule, and reports the failures."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shlex
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from accord.check.client import files, handshake, lines, questions, relay, terminals, updates
from accord.check.client.conversation import STEPS, ClientWire
from accord.check.client.stub import StubAgent
from accord.check.engine.evidence import Evidence, StepFailed
from accord.check.engine.judging import (
    CheckClock,
    Progress,
    judged,
    judges_of,
    report_of,
    silent_progress,
    steps_for,
    wanted,
)
from accord.check.engine.program import Program, RunningPeer, RunningProcess, RunningProgram, outlives
from accord.check.engine.report import Judgement, Outcome, Report
from accord.check.engine.wire import Silence
from accord.check.rule import VERSIONS, CheckRule, Options
from accord.time_scale import scaled
from accord.transport.interpreter import own_command
from accord.transport.process import start

MAX_STARTS = 8
"""A client that ends early is started again for the remaining steps, at most this often."""
STRANGE = "ACCORD-CLIENT-INIT-005"
PLACEHOLDER = "{agent}"
_READ_BYTES = 64 * 1024
# The pipes of a client close a little after its end.
LAST_OUTPUT_SECONDS = scaled(1.0)
TERMINATE_SECONDS = scaled(2.0)

# Importing a topic registers its steps and judges.
_TOPICS = (files, handshake, lines, questions, terminals, updates)
RULES: tuple[CheckRule, ...] = tuple(rule for topic in _TOPICS for rule in topic.RULES)
"""Every rule that clients have to keep."""


async def check_client(program: Program, options: Options | None = None, progress: Progress | None = None) -> Report:
    """Judge a client by the rules of one edition.

    Where an argument of the command is or contains `{agent}`, the command of the agent is put in; the environment has
    it too, as `ACCORD_CHECK_AGENT` (one line for a shell) and `ACCORD_CHECK_AGENT_JSON` (a list).

    Raises:
        ConnectFailed: There is no such command.
    """
    options = options or Options()
    rules = wanted(RULES, options)
    clock = CheckClock()
    evidence = await _run_steps(program, options, rules, progress or silent_progress)
    outcomes = [Outcome(rule, _judged(rule, evidence)) for rule in rules]
    processes = len({record.name.partition(".")[0] for record in evidence.records})
    return report_of(program, "client", evidence, outcomes, (), clock, processes=processes)


async def _run_steps(program: Program, options: Options, rules: list[CheckRule], progress: Progress) -> Evidence:
    names = steps_for(rules)
    steps = [step for name, step in STEPS.items() if name in names and options.edition in step.editions]
    agent = StubAgent(options, steps, progress)
    for _ in range(MAX_STARTS):
        before = agent.runner.finished
        await serve_once(program, options, agent)
        if not agent.runner.remaining or agent.runner.finished == before or agent.budget.is_spent:
            break
    agent.evidence.blocked_by_version = _is_blocked(agent.evidence)
    is_wanted = any(rule.id == STRANGE for rule in rules)
    if is_wanted and not agent.evidence.blocked_by_version and not agent.budget.is_spent:
        agent.is_strange = True
        await serve_once(program, options, agent)
    return agent.evidence


def _is_blocked(evidence: Evidence) -> bool:
    """Whether the client supports other versions only: it asked for one and never opened a session."""
    asked = [message for _, _, message in evidence.messages() if message.get("method") == "initialize"]
    if any(message.get("method") == "session/new" for _, _, message in evidence.messages()):
        return False
    versions = [
        message["params"].get("protocolVersion") for message in asked if isinstance(message.get("params"), dict)
    ]
    return any(isinstance(version, int) and version != VERSIONS[evidence.edition] for version in versions)


def _judged(rule: CheckRule, evidence: Evidence) -> tuple[Judgement, ...]:
    skipped = "it speaks another version" if evidence.blocked_by_version else ""
    if rule.gate and not evidence.advertises(rule.gate):
        skipped = f"not offered: {rule.gate}"

    def excuse(failure: StepFailed) -> str:
        # The blamed rule fails; this one can be judged when that is fixed.
        return f"not seen, because {failure.blame} is broken" if failure.blame != rule.id else ""

    tests = judged(rule, evidence, "client", excuse, skipped)
    if skipped or any(test.status == "FAIL" for test in tests):
        return tuple(tests)
    judges = judges_of(rule.edition, rule.id)
    excused = {
        name for judge, test in zip(judges, tests, strict=True) if test.status == "SKIPPED" for name in judge.steps
    }
    return (*tests, *_blamed(rule, evidence, excused))


def _blamed(rule: CheckRule, evidence: Evidence, excused: set[str]) -> list[Judgement]:
    """A failure for each part that ended because this rule is broken, without those that a judge examined."""
    others = [run.failure for name, run in evidence.steps.items() if name not in excused]
    return [
        Judgement("was_kept_in_every_part", "FAIL", failure.reason, "", failure.evidence)
        for failure in others
        if failure is not None and failure.blame == rule.id
    ]


# --- the process of the client


def with_agent(argv: Sequence[str], agent: Sequence[str]) -> list[str]:
    """A command with the agent's command in place of `{agent}`."""
    given: list[str] = []
    for argument in argv:
        if argument == PLACEHOLDER:
            given += agent
        else:
            given.append(argument.replace(PLACEHOLDER, shlex.join(agent)))
    return given


async def serve_once(program: Program, options: Options, agent: StubAgent) -> None:
    """Start the client and serve it until it ends, or stays inactive.

    Raises:
        ConnectFailed: There is no such command.
    """
    agent.begin()
    if callable(program):
        wire = agent.accept()
        client: RunningProgram = RunningPeer(program(), wire.feed)
        wire.join(client)
        await _serve(client, options, agent)
        return
    relays = _RelayServer(agent)
    server = await asyncio.start_server(relays.accept, "127.0.0.1", 0)
    try:
        command = own_command(Path(relay.__file__), str(server.sockets[0].getsockname()[1]), relays.token)
        env = {**options.env, "ACCORD_CHECK_AGENT": shlex.join(command), "ACCORD_CHECK_AGENT_JSON": json.dumps(command)}
        client = await _start(with_agent(program, command), options.cwd, env)
        await _serve(client, options, agent)
    finally:
        server.close()
        relays.close()


async def _start(argv: Sequence[str], cwd: str, env: Mapping[str, str | None]) -> RunningProgram:
    """Start it in our directory, unless another one is given: relative paths of the command start here."""
    child, pipes = start(argv, cwd or None, env)
    client = RunningProcess(child, pipes, lambda _: None)
    await client.open()
    # A client that reads prompts from stdin needs a wrapping command that supplies them.
    client.close_stdin()
    return client


async def _serve(client: RunningProgram, options: Options, agent: StubAgent) -> None:
    ended_by, left = "itself", True
    try:
        if not await _watch(client, options, agent):
            ended_by = await _end(client, options, agent)
        for wire in agent.wires:
            with suppress(Silence):
                await wire.until(lambda _: False, len(wire.entries), LAST_OUTPUT_SECONDS)
        await agent.settle()
        left = await _is_left(agent, wait=ended_by == "itself")
    finally:
        status = await client.destroy()
        agent.runner.sweep()
    # A client that never started its agent may have the reason on stderr.
    wires = agent.wires or [agent.accept()]
    agent.evidence.records += [wire.record(bytes(client.stderr), ended_by, status) for wire in wires]
    run = agent.evidence.steps.get("left_running")
    if run is not None and "alive" not in run.notes:
        run.notes["alive"] = left
        run.notes["ended_by"] = ended_by


async def _watch(client: RunningProgram, options: Options, agent: StubAgent) -> bool:
    """Whether the client ended by itself, within the bounds."""
    ending = asyncio.ensure_future(client.wait(24 * 3600.0))
    try:
        while not ending.done():
            agent.changed.clear()
            changing = asyncio.ensure_future(agent.changed.wait())
            done, _ = await asyncio.wait(
                [ending, changing], timeout=_wait_seconds(options, agent), return_when=asyncio.FIRST_COMPLETED
            )
            changing.cancel()
            if not done or agent.is_flooded:
                return False
        return True
    finally:
        ending.cancel()


def _wait_seconds(options: Options, agent: StubAgent) -> float:
    if agent.is_busy:
        # The running step has bounds of its own.
        return options.turn_seconds + options.timeout_seconds
    if not agent.is_met:
        return options.start_seconds
    return options.grace_seconds if agent.is_strange or not agent.runner.remaining else options.turn_seconds


async def _end(client: RunningProgram, options: Options, agent: StubAgent) -> str:
    await agent.leave()
    if await client.wait(options.grace_seconds):
        return "closed stdin"
    client.terminate()
    return "SIGTERM" if await client.wait(TERMINATE_SECONDS) else "SIGKILL"


async def _is_left(agent: StubAgent, *, wait: bool) -> bool:
    """Whether the command that was left running outlives its client; it is ended here."""
    run = agent.evidence.steps.get("left_running")
    if run is None or "alive" in run.notes or "pid" not in run.notes:
        return False
    pid = run.notes["pid"]
    if not await outlives(pid, LAST_OUTPUT_SECONDS if wait else 0.0):
        return False
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
    return True


class _RelayServer:
    """Accepts connections of the relay only, which has the token."""

    def __init__(self, agent: StubAgent) -> None:
        self.token = secrets.token_hex(16)
        self._host = agent
        self._writers: list[asyncio.StreamWriter] = []

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        try:
            if await reader.readline() != self.token.encode() + b"\n":
                return
            wire = self._host.accept()
            wire.join(_SocketPipe(writer))
            await self._read(reader, wire)
        finally:
            writer.close()

    async def _read(self, reader: asyncio.StreamReader, wire: ClientWire) -> None:
        try:
            while data := await reader.read(_READ_BYTES):
                wire.feed(data)
                if wire.overflowed:
                    break
        except ConnectionError:
            pass  # Killing it also ends the connection.
        finally:
            wire.feed(b"")
            self._host.changed.set()

    def close(self) -> None:
        for writer in self._writers:
            writer.close()


class _SocketPipe:
    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def write(self, data: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(data)

    def close_stdin(self) -> None:
        self._writer.close()
