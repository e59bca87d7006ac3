"""A log that is replayed page by page shows the same as the whole log, and only a page or two is in memory."""

from __future__ import annotations

from hypothesis import given, settings, strategies as st

from accord.session.content import Text
from accord.session.event import (
    ConfigChanged,
    Event,
    MessageChanged,
    MessageChunk,
    PlanChanged,
    PlanEntry,
    StateChanged,
    TerminalChanged,
    TerminalExit,
    TerminalOutput,
    ToolChanged,
)
from accord.session.replay import Outline, Replay
from accord.session.tool import TerminalView
from accord.session.transcript import Transcript
from tests.session.test_transcript import TALKS


def pages_of(events: list[Event], size: int) -> list[list[Event]]:
    return [events[start : start + size] for start in range(0, len(events), size)]


def outline_of(pages: list[list[Event]]) -> Outline:
    outline = Outline()
    for page in pages:
        outline.add(page)
    return outline


def told(pages: list[list[Event]]) -> list[Event]:
    """Everything that is told of a log, in order."""
    outline = outline_of(pages)
    replay = Replay(outline)
    events = outline.settings()
    for page in pages:
        events += replay.add(page)
    assert not replay.timeline
    assert not replay.terminals
    return events


@settings(max_examples=60, deadline=None)
@given(TALKS, st.integers(1, 9))
def test_pages_show_what_the_whole_log_would(talk: list[Event], size: int) -> None:
    whole = Transcript(talk).events(states=False)
    paged = told(pages_of(talk, size))
    assert Transcript(paged) == Transcript(whole)
    assert [event for event in paged if not isinstance(event, TerminalChanged)] == [
        event for event in whole if not isinstance(event, TerminalChanged)
    ]


@settings(max_examples=60, deadline=None)
@given(TALKS, st.integers(1, 9))
def test_an_outline_knows_what_goes_on_at_the_end(talk: list[Event], size: int) -> None:
    outline, transcript = outline_of(pages_of(talk, size)), Transcript(talk)
    assert set(outline.open_tools) == {call.id for call in transcript.tool_calls.values() if not call.finished}
    assert set(outline.open_terminals) == {each.id for each in transcript.terminals.values() if each.exit is None}
    running = {each.id for each in transcript.compactions.values() if each.status == "in_progress"}
    assert set(outline.open_compactions) == running
    assert outline.is_idle == (transcript.state == "idle")
    assert outline.config == transcript.config
    assert outline.length == len(talk)


@settings(max_examples=60, deadline=None)
@given(TALKS, st.integers(1, 9))
def test_a_terminal_is_told_before_the_call_that_shows_it(talk: list[Event], size: int) -> None:
    seen: set[str] = set()
    known = set(Transcript(talk).terminals)
    for event in told(pages_of(talk, size)):
        if isinstance(event, TerminalChanged):
            seen.add(event.id)
        elif isinstance(event, ToolChanged) and isinstance(event.content, list):
            shown = {item.terminal_id for item in event.content if isinstance(item, TerminalView)}
            assert shown & known <= seen


def long_talk(turns: int) -> list[Event]:
    events: list[Event] = [ConfigChanged([])]
    for turn in range(turns):
        events += [
            MessageChanged("user", f"u{turn}", [Text("go")]),
            StateChanged("running"),
            PlanChanged([PlanEntry(f"step {turn}")]),
            *(MessageChunk("agent", Text("word "), id=f"a{turn}") for _ in range(10)),
            TerminalChanged(f"t{turn}", command="make"),
            ToolChanged(f"c{turn}", title="Run", content=[TerminalView(f"t{turn}")], created=True),
            *(TerminalOutput(f"t{turn}", b"line\n") for _ in range(10)),
            TerminalChanged(f"t{turn}", exit=TerminalExit(0)),
            ToolChanged(f"c{turn}", status="completed"),
            StateChanged("idle", "end_turn"),
        ]
    return events


def test_no_more_than_a_page_and_what_goes_on_is_held() -> None:
    size = 100
    pages = pages_of(long_talk(2000), size)
    outline = outline_of(pages)
    replay = Replay(outline)
    most = 0
    for page in pages:
        replay.add(page)
        held = [replay.timeline, replay.terminals, replay.tool_calls, replay.turns, replay._messages, replay._marks]
        most = max(most, *map(len, held))
    assert most <= 4
    assert not outline.open_tools


def test_pages_of_whole_messages_are_passed_on_as_they_are() -> None:
    talk: list[Event] = [MessageChanged("user", f"m{number}", [Text("x")]) for number in range(300)]
    pages = pages_of(talk, 100)
    replay = Replay(outline_of(pages))
    assert all(a is b for page in pages for a, b in zip(replay.add(page), page, strict=True))


def test_a_message_whose_meta_was_cleared_is_told_as_the_whole_log_would() -> None:
    talk: list[Event] = [MessageChanged("user", "m1"), MessageChanged("user", "m2", [Text("x")], meta=None)]
    assert told(pages_of(talk, 1)) == Transcript(talk).events(states=False)


def test_a_call_waits_for_a_terminal_that_is_told_on_a_later_page() -> None:
    talk: list[Event] = [ToolChanged("c", content=[TerminalView("t")]), PlanChanged([]), TerminalChanged("t")]
    kinds = [type(event) for event in told(pages_of(talk, 1))]
    assert kinds.index(TerminalChanged) < kinds.index(ToolChanged)


def test_a_chunk_without_an_id_still_continues_the_message_of_the_page_before() -> None:
    talk: list[Event] = [
        MessageChanged("agent", "m1", [Text("one")]),
        MessageChanged("agent", "m2", [Text("two")]),
        PlanChanged([]),
        PlanChanged([PlanEntry("x")]),
        MessageChunk("agent", Text(" three")),
    ]
    assert told(pages_of(talk, 2)) == Transcript(talk).events(states=False)
