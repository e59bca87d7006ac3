"""`accord run` and `accord chat` say the same of the same events."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

pytest.importorskip("textual", reason="needs the extra: pip install 'accord[cli]'")

from accord.cli.run.output import Ending, RunOpening
from accord.cli.run.text import TextOutput
from accord.cli.show.screen import Progress, TextScreen
from accord.cli.target import Target
from accord.config import AgentEntry
from accord.protocol.model import Unknown
from accord.session.content import Image, Link, Resource, Text
from accord.session.custom import custom
from accord.session.event import (
    CompactionChanged,
    Event,
    MessageChunk,
    PlanChanged,
    PlanEntry,
    TerminalChanged,
    TerminalExit,
    TerminalOutput,
    ToolChanged,
    UnknownUpdate,
    UsageChanged,
)
from accord.session.tool import Diff, FileChange, Location, Shown, TerminalView
from tests.cli.chat.actors import make_actor
from tests.cli.chat.rig import Chat, open_chat

STEPS = [
    PlanEntry("look", "completed"),
    PlanEntry("change", "in_progress", "high"),
    PlanEntry("test"),
    PlanEntry("never", "cancelled"),
    PlanEntry("bake", custom("_rising")),
]

# Events, and what both screens have to say of them.
ROWS: dict[str, tuple[list[Event], list[str]]] = {
    "a thought": ([MessageChunk("thought", Text("I should look."))], ["think I should look."]),
    "a plan": ([PlanChanged(STEPS)], ["✓ look", "▸ change !", "○ test", "⊘ never", "◌ bake (_rising)"]),
    "an edit": (
        [
            ToolChanged(
                "edit",
                title="Make it better",
                kind="edit",
                status="completed",
                content=[
                    Diff([FileChange("a.py", "one\ntwo\n", "one\nthree\n")]),
                    Diff([FileChange("a.py", "", "x\n")]),
                ],
            )
        ],
        ["edit a.py +2 \N{MINUS SIGN}1", "- two", "+ three"],
    ),
    "a command": (
        [
            TerminalChanged("t", command="make red"),
            TerminalOutput("t", b"no rule to make red\n"),
            ToolChanged("run", title="Build", kind="execute", status="failed", content=[TerminalView("t")]),
            TerminalChanged("t", exit=TerminalExit(3)),
            ToolChanged("run", title="Build it", kind="execute", status="failed"),
        ],
        ["run Build", "failed", "no rule to make red"],
    ),
    "a command that a signal ended": (
        [
            TerminalChanged("k", command="sleep 9", exit=TerminalExit(None, "SIGKILL")),
            ToolChanged("kill", title="Wait", kind="execute", status="completed", content=[TerminalView("k")]),
        ],
        ["run Wait", "ended by SIGKILL"],
    ),
    "a tool with a name": (
        [ToolChanged("sky", title="Ask", name="weather", status="failed", raw_output={"reason": "storm"})],
        ["weather Ask", "failed", '"reason": "storm"'],
    ),
    "a call without a title": (
        [ToolChanged("look", kind="search", status="completed", locations=[Location("/else/b.py", 7)])],
        ["search /else/b.py:7"],
    ),
    "why it failed": (
        [ToolChanged("why", title="Read", kind="read", status="failed", content=[Shown(Text("no such file"))])],
        ["read Read", "failed", "no such file"],
    ),
    "a picture": ([MessageChunk("agent", Image("AAAA", "image/png"), "1")], ["image image/png", "3 B"]),
    "a link": (
        [MessageChunk("agent", Link("https://example.org/n", "notes"), "2")],
        ["notes", "https://example.org/n"],
    ),
    "a file": (
        [MessageChunk("agent", Resource("file:///w/a.txt", "abc", mime_type="text/plain"), "3")],
        ["a.txt embedded", "file:///w/a.txt", "text/plain", "3 characters"],
    ),
    "a block without a name": (
        [MessageChunk("agent", Unknown("scent", {"of": "roses"}), "4")],
        ["scent", '{"of": "roses"}'],
    ),
    "a compaction": ([CompactionChanged("c", "completed")], ["the context was compacted"]),
    "a compaction that failed": (
        [CompactionChanged("d", "failed", error="no model")],
        ["compaction failed", "no model"],
    ),
    "an update without a name": ([UnknownUpdate("hologram", {"depth": 3})], ["hologram", '"depth": 3']),
    "usage": ([UsageChanged(1200, 200_000)], ["1.2k/200k tokens 0%"]),
}


def in_one_line(text: str) -> str:
    return " ".join(text.split())


async def test_both_screens_state_the_same_facts(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path, size=(150, 60)) as chat:
        for name, (events, facts) in ROWS.items():
            await check_row(chat, name, events, facts)


async def check_row(chat: Chat, name: str, events: list[Event], facts: list[str]) -> None:
    target = Target(AgentEntry("demo", ("demo",), "user", "a test"), "demo", is_command=False)
    written = io.StringIO()
    text = TextOutput(TextScreen(written, Progress(written, shown=False), colours=False))
    agent, session = chat.app.chat_session.agent, chat.app.chat_session.session
    assert agent is not None
    assert session is not None
    text.opened(RunOpening(agent, session, target, resumed=False, name=None, short_id="s"))
    session.listen(text.happened)
    for event in events:
        session._apply(event)
    text.ended(Ending("end_turn", 1.0, "", session.transcript.usage))
    lines = in_one_line(written.getvalue())
    assert [fact for fact in facts if fact not in lines] == [], (name, lines)
    await chat.until(lambda: all(fact in in_one_line(chat.text) for fact in facts), f"{name}: {facts}")
    # Another session, in which nothing of this is to be seen.
    await chat.press("ctrl+n")
    await chat.until(lambda: chat.app.chat_session.session is not session, "another session")
    await chat.sees("Welcome")
    await chat.ready()
