"""An agent examined: does it start, what does it speak, does it want a login, does it open a session, does it end."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterable
from dataclasses import replace

from accord.cli.fault import phase
from accord.cli.show.line import Span, duration, line_of
from accord.cli.show.screen import Screen
from accord.cli.status import Failure, Status, spelled
from accord.cli.talk import Talk, talking, within
from accord.cli.target import Target
from accord.cli.wish import Wish
from accord.display import SafeText, exact, filled, joined, own
from accord.session.capability import AgentCapabilities
from accord.session.option import Select, Toggle

__all__ = ["examine"]

EDITIONS = ("1", "2", "2-june")
FLAGS = ("load", "resume", "listing", "close", "delete", "fork", "additional_directories", "logout")


async def examine(target: Target, wish: Wish, screen: Screen) -> int:
    """Start it, look at everything, and tell; the exit status is that of the first thing that fails.

    Raises:
        Failure: It does not start, or does not open a session.
    """
    finding = _Finding(screen)
    finding.tell(own("command"), exact(spelled(target.entry.argv)))
    finding.tell(own("source"), exact(target.entry.source))
    found = shutil.which(target.entry.argv[0])
    finding.tell(own("program"), exact(found or "not on the PATH"), good=found is not None)
    noise: list[bytes] = []
    begun = time.monotonic()

    def observe(direction: str, text: bytes | bytearray) -> None:
        if direction == "in" and bytes(text[:64]).lstrip()[:1] not in b"{[":
            noise.append(bytes(text))

    async with talking(target, wish, observers=[observe]) as talk:
        finding.tell(own("start"), _ok(begun), good=True)
        await _look(talk, finding)
        failure = await _try_session(talk, finding)
        begun = time.monotonic()
    finding.tell(own("end"), _ok(begun), good=True)
    for line in noise[:3]:
        text = filled("prints what is no message: {}", line.decode(errors="replace")[:100])
        finding.tell(own("noise"), text, good=False)
    await _try_editions(target, wish, finding)
    if failure is not None:
        raise failure
    return Status.DONE


def _ok(begun: float) -> SafeText:
    return filled("ok, {}", duration(time.monotonic() - begun))


def _list(items: Iterable[SafeText], otherwise: SafeText) -> SafeText:
    return joined(items, own(", ")) or otherwise


class _Finding:
    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def tell(self, name: SafeText, text: SafeText, *, good: bool | None = None) -> None:
        style = "" if good is None else "green" if good else "yellow"
        self._screen.line(line_of(own("  "), Span(filled("{:<14}", name), "cyan"), Span(filled(" {}", text), style)))
        self._screen.flush()


async def _look(talk: Talk, finding: _Finding) -> None:
    agent = talk.agent
    info = agent.info
    nameless = own("does not say who it is")
    who = nameless if info is None else filled("{} {}", info.title or info.name, info.version)
    finding.tell(own("agent"), who)
    finding.tell(own("edition"), exact(agent.edition or ""))
    finding.tell(own("can"), _list(map(exact, _able(agent.capabilities)), own("only what every agent can")))
    ways = [filled("{} ({}, {})", each.id, each.name, each.type) for each in agent.auth_methods]
    finding.tell(own("logins"), _list(ways, own("none")))


def _able(capabilities: AgentCapabilities) -> list[str]:
    able = [name.replace("_", " ") for name in FLAGS if getattr(capabilities, name)]
    return [
        *able,
        *(f"{kind} prompts" for kind in sorted(capabilities.prompts)),
        *(f"mcp {kind}" for kind in sorted(capabilities.mcp)),
    ]


async def _try_session(talk: Talk, finding: _Finding) -> Failure | None:
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        try:
            with phase("session", talk.target.typed):
                session = await within(talk.deadlines.start_seconds, "session", talk.agent.new_session(folder))
                finding.tell(own("session"), _ok(begun), good=True)
                known = [each for each in session.options if isinstance(each, Select | Toggle)]
                finding.tell(
                    own("options"), _list((filled("{}={}", each.id, each.value) for each in known), own("none"))
                )
                commands = [filled("/{}", each.name) for each in session.commands]
                finding.tell(own("commands"), _list(commands, own("none")))
                if talk.agent.capabilities.delete:
                    await within(talk.deadlines.start_seconds, "session", session.delete())
                else:
                    await within(talk.deadlines.start_seconds, "session", session.close())
        except Failure as failure:
            finding.tell(own("session"), exact(failure.line), good=False)
            return failure
    return None


async def _try_editions(target: Target, wish: Wish, finding: _Finding) -> None:
    """Insist on each edition in turn."""
    for edition in EDITIONS:
        begun = time.monotonic()
        try:
            async with talking(target, replace(wish, edition=edition)):
                finding.tell(filled("edition {}", edition), _ok(begun), good=True)
        except Failure as failure:
            finding.tell(filled("edition {}", edition), filled("no: {}", (failure.message.splitlines() or [""])[0]))
