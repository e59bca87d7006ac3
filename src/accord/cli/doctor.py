"""`accord agents doctor`: checks an agent's start, its editions, its login, a session, and its end."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from accord.cli.agent_session import RunningAgent, running_agent, within
from accord.cli.fault import phase
from accord.cli.options import AgentOptions
from accord.cli.show.line import Span, duration, line_of
from accord.cli.show.screen import TextScreen
from accord.cli.status import CommandFailure, Status, spelled
from accord.cli.target import Target
from accord.client import Session
from accord.display import SafeText, exact, filled, joined, own
from accord.session.capability import AgentCapabilities
from accord.session.event import CommandsChanged, Event
from accord.session.option import Select, Toggle
from accord.time_scale import scaled

EDITIONS = ("1", "2", "2-june")
FLAGS = ("load", "resume", "listing", "close", "delete", "fork", "additional_directories", "logout")
# Agents report their commands some time after a session was opened, or never.
COMMANDS_SECONDS = scaled(5.0)


async def examine(target: Target, options: AgentOptions, screen: TextScreen) -> int:
    """Start it, examine it and report; the exit status is that of the first failure.

    Raises:
        CommandFailure: It does not start, or does not open a session.
    """
    try:
        return await _examine(target, options, _Finding(screen))
    except CommandFailure as failure:
        # The advice to run the doctor is left out in the doctor itself.
        failure.examine = ""
        raise


async def _examine(target: Target, options: AgentOptions, finding: _Finding) -> int:
    is_remote = target.entry.address is not None
    finding.report(own("address" if is_remote else "command"), exact(spelled(target.entry.argv)))
    finding.report(own("source"), exact(target.entry.source))
    if not is_remote:
        found = shutil.which(target.entry.argv[0])
        finding.report(own("program"), exact(found or "not on the PATH"), good=found is not None)
    noise: list[bytes] = []
    begun = time.monotonic()

    def observe(direction: str, text: bytes | bytearray) -> None:
        if direction == "in" and bytes(text[:64]).lstrip()[:1] not in b"{[":
            noise.append(bytes(text))

    async with running_agent(target, options, observers=[observe]) as running:
        finding.report(own("start"), _ok(begun), good=True)
        await _report_handshake(running, finding)
        # While this process is examined, one process per edition starts in parallel.
        async with asyncio.TaskGroup() as tasks:
            attempts = [tasks.create_task(_try_edition(target, options, edition)) for edition in EDITIONS]
            failure = await _try_session(running, finding)
        begun = time.monotonic()
    finding.report(own("end"), _ok(begun), good=True)
    for line in noise[:3]:
        text = filled("prints lines that are no messages: {}", line.decode(errors="replace")[:100])
        finding.report(own("noise"), text, good=False)
    if noise:
        finding.report(own(""), own("stdout is for messages alone; in Python: print(..., file=sys.stderr)"), good=False)
    for edition, attempt in zip(EDITIONS, attempts, strict=True):
        result = attempt.result()
        finding.report(filled("edition {}", edition), result.text, good=result.good)
    if failure is not None:
        raise failure
    return Status.DONE


def _ok(begun: float) -> SafeText:
    return filled("ok, {}", duration(time.monotonic() - begun))


def _listed(items: Iterable[SafeText], otherwise: SafeText) -> SafeText:
    return joined(items, own(", ")) or otherwise


class _Finding:
    def __init__(self, screen: TextScreen) -> None:
        self._screen = screen

    def report(self, name: SafeText, text: SafeText, *, good: bool | None = None) -> None:
        style = "" if good is None else "green" if good else "yellow"
        self._screen.line(line_of(own("  "), Span(filled("{:<14}", name), "cyan"), Span(filled(" {}", text), style)))
        self._screen.flush()


async def _report_handshake(running: RunningAgent, finding: _Finding) -> None:
    agent = running.agent
    info = agent.info
    nameless = own("gives no name")
    who = nameless if info is None else filled("{} {}", info.title or info.name, info.version)
    finding.report(own("agent"), who)
    finding.report(own("edition"), exact(agent.edition or ""))
    finding.report(own("can"), _listed(map(exact, _able(agent.capabilities)), own("only those of every agent")))
    ways = [filled("{} ({}, {})", each.id, each.name, each.type) for each in agent.auth_methods]
    finding.report(own("logins"), _listed(ways, own("none")))


def _able(capabilities: AgentCapabilities) -> list[str]:
    able = [name.replace("_", " ") for name in FLAGS if getattr(capabilities, name)]
    return [
        *able,
        *(f"{kind} prompts" for kind in sorted(capabilities.prompts)),
        *(f"mcp {kind}" for kind in sorted(capabilities.mcp)),
    ]


async def _try_session(running: RunningAgent, finding: _Finding) -> CommandFailure | None:
    begun = time.monotonic()
    seconds = running.deadlines.start_seconds
    # An agent at an address has the directories of its server, where this one may be; nothing is asked of it there.
    is_remote = running.target.entry.address is not None
    with contextlib.nullcontext(str(Path.cwd())) if is_remote else tempfile.TemporaryDirectory() as folder:
        try:
            with phase("session", running.target.typed):
                session = await within(seconds, "session", running.agent.new_session(folder))
                finding.report(own("session"), _ok(begun), good=True)
                known = [each for each in session.options if isinstance(each, Select | Toggle)]
                finding.report(
                    own("options"), _listed((filled("{}={}", each.id, each.value) for each in known), own("none"))
                )
                await _wait_for_commands(session)
                commands = [filled("/{}", each.name) for each in session.commands]
                finding.report(own("commands"), _listed(commands, own("none")))
                if running.agent.capabilities.delete:
                    await within(seconds, "session", session.delete())
                else:
                    await within(seconds, "session", session.close())
        except CommandFailure as failure:
            failure.examine = ""
            finding.report(own("session"), exact(failure.line), good=False)
            return failure
    return None


async def _wait_for_commands(session: Session) -> None:
    """Return when the agent has reported its commands, or after the time limit."""
    told = asyncio.Event()

    def listen(event: Event) -> None:
        if isinstance(event, CommandsChanged):
            told.set()

    stop_listening = session.listen(listen)
    try:
        if not session.commands:
            async with asyncio.timeout(COMMANDS_SECONDS):
                await told.wait()
    except TimeoutError:
        pass
    finally:
        stop_listening()


@dataclass(frozen=True)
class _EditionResult:
    """The result of one edition, as text."""

    text: SafeText
    good: bool | None


async def _try_edition(target: Target, options: AgentOptions, edition: str) -> _EditionResult:
    """Connect with one edition only."""
    begun = time.monotonic()
    try:
        async with running_agent(target, replace(options, edition=edition)):
            return _EditionResult(_ok(begun), good=True)
    except CommandFailure as failure:
        return _EditionResult(filled("no: {}", (failure.message.splitlines() or [""])[0]), good=None)
