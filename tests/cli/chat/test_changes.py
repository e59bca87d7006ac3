from __future__ import annotations

from accord.cli.chat.changes import ChangeTracker
from accord.cli.show.presentation import Note
from accord.display import own
from accord.session.content import Text
from accord.session.entry import Message, TerminalEntry, ToolCall
from accord.session.event import (
    Event,
    MessageChanged,
    MessageChunk,
    TerminalChanged,
    TerminalOutput,
    ToolChanged,
    ToolContentAdded,
    UnknownUpdate,
)
from accord.session.tool import TerminalView
from accord.session.transcript import Transcript


class Told:
    """A transcript and its feed."""

    def __init__(self) -> None:
        self.transcript = Transcript()
        self.changes = ChangeTracker(self.transcript)

    def tell(self, *events: Event) -> None:
        for event in events:
            self.transcript.fold(event)
            self.changes.track(event)


def chunk(text: str, id_: str | None = None) -> MessageChunk:
    return MessageChunk("agent", Text(text), id_)


def test_a_new_entry_is_told_once() -> None:
    told = Told()
    told.tell(chunk("a"))
    assert told.changes.take().new == told.transcript.timeline
    assert not told.changes.take()


def test_a_chunk_without_an_id_changes_the_message_that_it_continues() -> None:
    told = Told()
    told.tell(chunk("a"), UnknownUpdate("x", {}))
    told.changes.take()
    told.tell(chunk("b"))
    changes = told.changes.take()
    assert changes.new == []
    assert [entry.text for entry in changes.changed if isinstance(entry, Message)] == ["ab"]


def test_a_message_that_is_corrected_is_rewritten() -> None:
    told = Told()
    told.tell(chunk("a", "1"))
    told.changes.take()
    told.tell(MessageChanged("agent", "1", [Text("b")]))
    changes = told.changes.take()
    assert changes.rewritten == changes.changed == told.transcript.timeline


def test_output_of_a_terminal_changes_the_tool_calls_that_show_it() -> None:
    told = Told()
    told.tell(ToolChanged("t", title="Run"), TerminalChanged("x"), ToolContentAdded("t", TerminalView("x")))
    told.changes.take()
    told.tell(TerminalOutput("x", b"out"))
    changed = told.changes.take().changed
    assert [entry.id for entry in changed if isinstance(entry, ToolCall)] == ["t"]


def test_a_terminal_that_nobody_shows_gets_a_place_once() -> None:
    told = Told()
    told.tell(TerminalChanged("x", command="ls"), TerminalOutput("x", b"out"))
    told.changes.add_terminals()
    told.changes.add_terminals()
    assert [item for item in told.changes.take().new if isinstance(item, TerminalEntry)] == [
        told.transcript.terminals["x"]
    ]


def test_a_note_stands_behind_what_happened_before_it() -> None:
    told = Told()
    told.tell(chunk("a"))
    note = Note(own("later"))
    told.changes.add(note)
    told.tell(ToolChanged("t"))
    assert told.changes.take().new == [told.transcript.timeline[0], note, told.transcript.timeline[1]]


def test_what_was_there_before_is_new_to_a_changes() -> None:
    transcript = Transcript([chunk("a"), ToolChanged("t", content=[TerminalView("x")])])
    feed = ChangeTracker(transcript)
    assert feed.take().new == transcript.timeline
