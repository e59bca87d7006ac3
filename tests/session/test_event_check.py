"""Values of the wrong type in events are refused; every value that an edition can say passes."""

from __future__ import annotations

import datetime
import enum
import uuid
from typing import Any

import pytest

from accord.protocol.model import Unknown
from accord.session.content import Annotations, Image, Link, Resource, Text
from accord.session.custom import custom
from accord.session.event import (
    Background,
    CommandsChanged,
    CompactionChanged,
    ConfigChanged,
    Cost,
    Event,
    InfoChanged,
    MessageChanged,
    MessageChunk,
    Noticed,
    PlanChanged,
    PlanEntry,
    StateChanged,
    TerminalChanged,
    TerminalOutput,
    TokenUsage,
    ToolChanged,
    ToolContentAdded,
    UnknownUpdate,
    UsageChanged,
    WorkError,
)
from accord.session.event_check import check_event
from accord.session.option import Choice, Command, Select, Toggle
from accord.session.tool import Diff, FileChange, Location, Shown, TerminalView
from tests.tables import rows


class Word(str):
    """A text of a subclass."""

    __slots__ = ()


class Kind(enum.Enum):
    READ = "read"


FITTING: list[Event] = [
    MessageChunk("agent", Text("a", Annotations(["user"], "2026", 1), {"a": 1}), "m", {"a": None}),
    MessageChunk("user", Unknown("video", {"type": "video"})),
    MessageChanged("thought", "m", [Image("aGk=", "image/png"), Link("file:///a", "a", size=1), Resource("a", "b")]),
    MessageChanged("agent", "m", None, None),
    MessageChanged("agent", "m", (Text("a"),)),  # type: ignore[arg-type]
    ToolChanged("t", title=None, locations=[Location("/a", 1)], content=[Shown(Text("a")), TerminalView("x")]),
    ToolChanged(uuid.UUID(int=1), title=Word("a"), kind=Kind.READ, raw_input=object()),  # type: ignore[arg-type]
    ToolContentAdded("t", Diff([FileChange("/a", None, "b")])),
    TerminalChanged("x", output=b"a", size=(80, 24), cancellable=True),
    TerminalOutput("x", bytearray(b"a")),  # type: ignore[arg-type]
    PlanChanged([PlanEntry("a", custom("_waiting"))]),
    CommandsChanged([Command("a", "b")]),
    ConfigChanged([Select("a", "b", "c", [Choice("c", "d")]), Toggle("e", "f", value=True), Unknown("g", {})]),
    InfoChanged(updated_at=datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)),  # type: ignore[arg-type]
    UsageChanged(1, 2, Cost(1, "USD")),
    Noticed("a"),
    CompactionChanged("c", "completed", [Text("a")]),
    StateChanged(
        "idle", "_later", WorkError(1, "a", object()), [Background("terminal", "x")], None, TokenUsage(1, 2, 3)
    ),
    UnknownUpdate("a", {}),
]


@rows("event", FITTING)
def test_an_event_whose_values_fit_passes(event: Event) -> None:
    check_event(event)


NUMBER: Any = 5
FRACTION: Any = 1.5
TEXT: Any = "a"
NOTHING: Any = None
BYTES: Any = b"a"
STEP: Any = {"content": "a"}
BLOCK: Any = Text("a")
SIZE: Any = (80, "24")

WRONG: list[tuple[Any, str]] = [
    (TEXT, ""),
    (BLOCK, ""),
    (MessageChunk("agent", TEXT), "block"),
    (MessageChunk("agent", Text(NOTHING)), "block.text"),
    (MessageChunk("agent", Text(BYTES)), "block.text"),
    (MessageChunk("agent", Text("a", Annotations(priority=TEXT))), "block.annotations.priority"),
    (MessageChunk(TEXT, BLOCK), "speaker"),
    (MessageChunk("agent", BLOCK, "m", NUMBER), "meta"),
    (MessageChanged("agent", "m", BLOCK), "content"),
    (MessageChanged("agent", "m", [BLOCK, NUMBER]), "content[1]"),
    (ToolChanged(NUMBER), "id"),
    (ToolChanged("t", title=NUMBER), "title"),
    (ToolChanged("t", kind=NUMBER), "kind"),
    (ToolChanged("t", locations=[Location("/a", TEXT)]), "locations[0].line"),
    (ToolChanged("t", cancellable=NUMBER), "cancellable"),
    (ToolContentAdded("t", BLOCK), "content"),
    (ToolContentAdded("t", Diff([FileChange("/a", None, NUMBER)])), "content.changes[0].new"),
    (TerminalChanged("x", output=TEXT), "output"),
    (TerminalChanged("x", size=SIZE), "size[1]"),
    (PlanChanged(TEXT), "entries"),
    (PlanChanged([STEP]), "entries[0]"),
    (UsageChanged(FRACTION, 2), "used"),
    (UsageChanged(used=True, size=2), "used"),
    (UsageChanged(1, 2, Cost(TEXT, "USD")), "cost.amount"),
    (StateChanged("idle", NUMBER), "stop_reason"),
]


@rows(("event", "field"), WRONG)
def test_a_value_of_another_type_is_refused_and_its_field_is_named(event: Any, field: str) -> None:
    with pytest.raises(TypeError) as refused:
        check_event(event)
    if field:
        assert str(refused.value).partition(" ")[0] == f"{type(event).__name__}.{field}"
