"""Every event is read back as exactly what was written down."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, strategies as st

from accord.errors import StoreError
from accord.protocol.model import UNSET, Unknown
from accord.session.content import Annotations, Audio, Block, Image, Link, Resource, Text
from accord.session.event import (
    Background,
    CommandsChanged,
    CompactionChanged,
    CompactionChunk,
    ConfigChanged,
    Cost,
    Event,
    InfoChanged,
    MessageChanged,
    MessageChunk,
    ModeChanged,
    Noticed,
    PlanChanged,
    PlanEntry,
    StateChanged,
    TerminalChanged,
    TerminalExit,
    TerminalOutput,
    ToolChanged,
    ToolContentAdded,
    UnknownUpdate,
    UsageChanged,
    WorkError,
)
from accord.session.option import Choice, Command, Group, Select, Toggle
from accord.session.tool import Diff, FileChange, Location, Shown, TerminalView
from accord.stores.text import decode_event, encode_event, encode_events
from tests.limits import limit
from tests.tables import rows

META = {"vendor/key": [1, None, {"a": "b"}]}
UNKNOWN = Unknown("hologram", {"type": "hologram", "voxels": [1, 2]})
BLOCKS: list[Block] = [
    Text("é→😀\n", annotations=Annotations(["user"], "2026-01-01", 0.5, META), meta=META),
    Image("AAAA", "image/png", uri="file:///a"),
    Audio("AAAA", "audio/wav"),
    Link("file:///a", "a", size=3),
    Resource("file:///a", text="x"),
    UNKNOWN,
]

EVENTS: list[Event] = [
    *(MessageChunk("agent", block, id="m", meta=META) for block in BLOCKS),
    MessageChanged("user", "m"),
    MessageChanged("thought", "m", content=BLOCKS, meta=None),
    MessageChanged("thought", "m", content=None),
    MessageChanged("thought", "m", content=[]),
    ToolChanged("t"),
    ToolChanged("t", title=None, kind=None, status=None, name=None, content=None, locations=None, raw_input=None),
    ToolChanged(
        "t",
        title="Title",
        kind="further",
        status="paused",
        content=[Shown(UNKNOWN), Diff([FileChange("/a", None, "x")]), TerminalView("t"), Unknown("", {})],
        locations=[Location("/a", 3)],
        raw_input={"n": 2**80, "f": 1e300, "list": [True, None]},
        raw_output="text",
        cancellable=False,
        created=True,
        meta=META,
    ),
    ToolContentAdded("t", Shown(Text("x"), META)),
    ToolContentAdded("t", UNKNOWN),
    TerminalChanged("t", command="ls", output=bytes(range(256)), exit=TerminalExit(1, "KILL"), size=(80, 24)),
    TerminalChanged("t", command=None, output=None, exit=None, size=None, cancellable=True),
    TerminalOutput("t", b"\xff\xfe"),
    PlanChanged([PlanEntry("a", "completed", "high", META)], id="p"),
    CommandsChanged([Command("a", "b", "c", META)]),
    ConfigChanged(
        [
            Select("a", "A", "x", [Choice("x", "X")], [Group("g", "G", [Choice("y", "Y")])], meta=META),
            Toggle("b", "B", value=True),
            Unknown("slider", {"type": "slider"}),
        ]
    ),
    ModeChanged("ask"),
    InfoChanged(),
    InfoChanged(title=None, updated_at="2026-01-01T00:00:00Z", meta={}),
    UsageChanged(1, 2, Cost(0.1, "EUR")),
    UsageChanged(1, 2, None),
    Noticed("title", "error", "description"),
    CompactionChanged("c", "completed", summary=BLOCKS, error=None),
    CompactionChunk("c", UNKNOWN),
    StateChanged("idle", "error", WorkError(-32603, "x", {"a": 1}), [Background("terminal", "t")]),
    StateChanged("running", background=[]),
    UnknownUpdate("later", {"sessionUpdate": "later"}),
]


def test_there_is_an_example_of_every_event() -> None:
    assert {type(event) for event in EVENTS} == set(get_args(Event))


@rows("event", EVENTS)
def test_an_event_is_read_back_as_it_was_written(event: Event) -> None:
    text = encode_event(event)
    assert b"\n" not in text
    assert decode_event(text) == event


ODD: list[Event] = [
    MessageChunk("agent", Text("\ud83d")),
    ToolChanged("t", raw_output=math.nan),
    MessageChunk("agent", Text("a line\nand null")),
]


@rows("odd", [None, *ODD])
def test_events_together_are_the_lines_of_each(odd: Event | None) -> None:
    events = EVENTS if odd is None else [*EVENTS[:3], odd, *EVENTS[3:5]]
    assert encode_events(events).split(b"\n") == [encode_event(event) for event in events]


def test_no_events_are_no_lines() -> None:
    assert encode_events([]) == b""


@rows("value", [object(), msgspec.Raw(b"[1,\n2]")])
def test_of_events_together_one_that_cannot_be_written_is_refused(value: object) -> None:
    with pytest.raises(StoreError) as caught:
        encode_events([EVENTS[0], ToolChanged("t", raw_output=value)])
    assert caught.value.reason == "unwritable"


def test_absent_and_null_stay_different() -> None:
    event = decode_event(encode_event(ToolChanged("t", title=None)))
    assert isinstance(event, ToolChanged)
    assert event.title is None
    assert event.kind is UNSET


@rows("payload", [{"type": "text", "text": 3}, {"type": "unknown", "tag": "x"}, {}, {"type": ["a"]}])
def test_an_unknown_block_keeps_its_payload_whatever_it_looks_like(payload: dict[str, Any]) -> None:
    event = MessageChunk("agent", Unknown("a tag of its own", payload))
    assert decode_event(encode_event(event)) == event


def test_half_an_emoji_is_kept() -> None:
    event = MessageChunk("agent", Text("\ud83d"), meta={"\ude00": "\ud83d"})
    assert decode_event(encode_event(event)) == event


def test_what_is_no_number_does_not_become_null() -> None:
    event = decode_event(encode_event(ToolChanged("t", raw_output=[math.nan, math.inf, None])))
    assert isinstance(event, ToolChanged)
    assert math.isnan(event.raw_output[0])
    assert event.raw_output[1:] == [math.inf, None]


def cyclic() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["again"] = value
    return value


@rows("value", [object(), cyclic(), [None, object()], {"\ud800": object()}, ["\ud800", cyclic()], msgspec.Raw(b"{\n}")])
def test_what_json_has_no_words_for_is_refused(value: Any) -> None:
    with pytest.raises(StoreError) as caught:
        encode_event(ToolChanged("t", raw_output=value))
    assert caught.value.reason == "unwritable"


@rows(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"3",
        b'"text"',
        b"{}",
        b'{"event":"from a later version"}',
        b'{"event":["x"]}',
        b'{"event":"message_chunk"}',
        b'{"event":"message_chunk","speaker":"agent","block":null}',
        b'{"event":"message_chunk","speaker":"agent","block":{"type":"hologram"}}',
        b'{"event":"message_chunk","speaker":"nobody","block":{"type":"text","text":"x"}}',
        b'{"event":"message","speaker":"agent","id":"m","content":3}',
        b'{"event":"message","speaker":"agent","id":"m","content":"text"}',
        b'{"event":"terminal_output","id":"t","data":"not base64!"}',
        b'{"event":"mode","mode":"\xff"}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_event_is_unreadable(text: bytes) -> None:
    with pytest.raises(StoreError) as caught:
        decode_event(text)
    assert caught.value.reason == "unreadable"


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(categories=["L", "Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(plain)
def test_any_json_in_an_event_is_kept(value: Any) -> None:
    event = ToolChanged("t", raw_input=value, meta={"value": value})
    text = encode_event(event)
    assert b"\n" not in text
    assert decode_event(text) == event


@given(plain)
def test_the_text_is_json_for_everybody(value: Any) -> None:
    assert json.loads(encode_event(ToolChanged("t", raw_input=value)))["raw_input"] == value


@pytest.mark.parametrize("processes", [20, pytest.param(400, marks=pytest.mark.long)])
def test_threads_may_read_the_first_events_of_a_process_at_once(processes: int) -> None:
    program = [sys.executable, str(Path(__file__).with_name("first_use.py")), str(processes)]
    # Without the lock about one of twenty processes ends with a segmentation fault, on a busy machine fewer.
    done = subprocess.run(program, capture_output=True, check=False, timeout=limit(100.0))
    assert (done.returncode, done.stderr) == (0, b"")
