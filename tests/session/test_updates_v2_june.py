"""Row by row: what the June draft says for each event, and what is heard of each update."""

from __future__ import annotations

from typing import Any

import msgspec

from accord.protocol import v2_june
from accord.protocol.codec import Codec
from accord.protocol.model import UNSET, Unknown
from accord.session.content import Annotations, Audio, Block, Icon, Image, Link, Resource, Text
from accord.session.custom import custom
from accord.session.editions.v2_june import tools as codec
from accord.session.event import (
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
)
from accord.session.meta_original import ORIGINAL
from accord.session.option import Choice, Command, ConfigOption, Group, Select, Toggle
from accord.session.tool import Diff, FileChange, Location, Shown, TerminalView
from accord.session.tool_state import SMALL
from tests.session.editions import JUNE, content, plain
from tests.tables import rows

MODE = Select("m", "Mode", "ask", [Choice("ask", "Ask"), Choice("code", "Code")], category="mode")
FURTHER = Unknown("_x", {"type": "_x", "k": 1})


def said(*events: Event) -> list[Any]:
    """What goes out, as plain JSON without the originals; what a strict reader refuses fails here."""
    encoder = JUNE.encoder()
    updates = [update for event in events for update in encoder.encode(event)]
    return [plain(msgspec.to_builtins(JUNE.carried(update), enc_hook=lambda u: u.payload)) for update in updates]


def heard(update: dict[str, Any]) -> list[Event]:
    decoded = Codec().convert(v2_june.SessionNotification, {"sessionId": "s", "update": update}).update
    return JUNE.decoders().decode(decoded)


def chunk(text: str, message_id: str, speaker: str = "agent_message") -> dict[str, Any]:
    return {"sessionUpdate": f"{speaker}_chunk", "content": {"type": "text", "text": text}, "messageId": message_id}


# ── messages ──


def test_every_chunk_has_an_id_that_no_other_speaker_uses() -> None:
    events: list[Event] = [
        MessageChunk("agent", Text("a"), "m"),
        MessageChunk("thought", Text("b"), "m", {"k": 1}),
        MessageChanged("user", "m", [Text("c")], {"k": 1}),
        MessageChanged("user", "m", None, None),
    ]
    assert said(*events) == [
        chunk("a", "m"),
        {**chunk("b", "thought-m", "agent_thought"), "_meta": {"k": 1}},
        {
            "sessionUpdate": "user_message",
            "messageId": "user-m",
            "content": [{"type": "text", "text": "c"}],
            "_meta": {"k": 1},
        },
        {"sessionUpdate": "user_message", "messageId": "user-m", "content": None},
    ]
    assert JUNE.received(events)[:3] == events[:3]
    assert JUNE.received(events)[3] == MessageChanged("user", "m", None)


def test_chunks_without_an_id_get_one_until_something_comes_between() -> None:
    events: list[Event] = [
        MessageChunk("agent", Text("a")),
        MessageChunk("agent", Text("b")),
        ToolChanged("c", status="in_progress"),
        MessageChunk("agent", Text("c")),
        ToolChanged("d", status="completed"),
        MessageChunk("agent", Text("e")),
        StateChanged("idle"),
        MessageChunk("agent", Text("f")),
    ]
    names = [update["messageId"] for update in said(*events) if "messageId" in update]
    assert names == ["agent", "agent", "agent-2", "agent-3", "agent-4"]


@rows(
    "event",
    [
        MessageChanged("agent", "m"),
        MessageChanged("agent", "m", None, None),
        MessageChanged("agent", "m", [Text("a")], {"k": 1}),
        MessageChunk("user", Text("a"), "m", {"k": 1}),
    ],
)
def test_messages_go_and_come_back(event: Event) -> None:
    assert JUNE.received([event]) == [event]


# ── blocks ──

BLOCKS: list[Block] = [
    Text("a", Annotations(["user", custom("_x")], "2026", 7, {"k": 1}), {"k": 2}),
    Image("data", "image/png", "https://x/y", meta={"k": 1}),
    Audio("data", "audio/wav"),
    Link("/a", "a", "A", "d", "text/plain", -1),
    Resource("file:///a", "text", mime_type="text/plain", meta={"k": 1}, contents_meta={"k": 2}),
    Resource("file:///a", blob="blob"),
    FURTHER,
]


def test_blocks_go_and_come_back() -> None:
    assert codec.BLOCKS.decode_all(codec.BLOCKS.encode_all(BLOCKS)) == BLOCKS


def test_icons_have_no_place() -> None:
    assert codec.BLOCKS.decode_all(codec.BLOCKS.encode_all([Link("/a", "a", icons=[Icon("https://x")])])) == [
        Link("/a", "a")
    ]


# ── tool calls ──


def test_every_report_of_a_call_is_a_patch() -> None:
    event = ToolChanged("c", title="T", kind=None, locations=[Location("/a", 3)], raw_input=None, meta=None)
    assert said(event) == [
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "c",
            "title": "T",
            "kind": None,
            "locations": [{"path": "/a", "line": 3}],
            "rawInput": None,
            "_meta": None,
        }
    ]
    assert JUNE.received([event]) == [event]


def test_a_known_call_that_starts_anew_has_everything_else_cleared() -> None:
    events: list[Event] = [ToolChanged("c", title="T", name="n"), ToolChanged("c", status="pending", created=True)]
    again = said(*events)[1]
    assert again == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "c",
        "status": "pending",
        **dict.fromkeys(["title", "kind", "content", "locations", "rawInput", "rawOutput"], None),
    }
    meant = JUNE.received(events)[1]
    assert isinstance(meant, ToolChanged)
    assert (meant.name, meant.title, meant.meta) == (None, None, None)


@rows(
    ("status", "nearest"),
    [("paused", "in_progress"), ("cancelled", "failed"), ("_further", "_further"), ("failed", "failed"), (None, None)],
)
@rows("meta", [UNSET, None, {"k": 1}])
def test_two_statuses_are_not_known_yet(status: Any, nearest: Any, meta: Any) -> None:
    event = ToolChanged("c", status=status, name="n", meta=meta)
    assert said(event)[0]["status"] == nearest
    assert JUNE.received([event]) == [event]


def test_an_item_more_is_a_chunk() -> None:
    events: list[Event] = [
        ToolContentAdded("c", Shown(Text("a"))),
        ToolContentAdded("c", Shown(Text("b")), {"k": 1}),
        ToolContentAdded("c", FURTHER),
        ToolContentAdded("c", Diff([FileChange("/a", "o", "n", "move", "/b"), FileChange("/c", None, "n")])),
    ]
    assert said(*events) == [
        {"sessionUpdate": "tool_call_update", "toolCallId": "c", "content": [content("a")]},
        {
            "sessionUpdate": "tool_call_content_chunk",
            "toolCallId": "c",
            "content": content("b"),
            "_meta": {"k": 1},
        },
        *(
            {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": item}
            for item in [
                {"type": "_x", "k": 1},
                content("Moved /b to /a"),
                {"type": "diff", "path": "/a", "newText": "n", "oldText": "o"},
                {"type": "diff", "path": "/c", "newText": "n"},
            ]
        ),
    ]
    assert JUNE.received(events)[3:] == [
        ToolContentAdded("c", Diff([FileChange("/a", "o", "n", "move", "/b")])),
        ToolContentAdded("c", Diff([FileChange("/c", None, "n", "add")])),
    ]


def test_a_line_0_is_no_line() -> None:
    update = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "locations": [{"path": "/a", "line": 0}]}
    assert heard(update) == [ToolChanged("c", locations=[Location("/a")])]


def test_a_terminal_is_a_text_with_the_exit_code() -> None:
    updates = said(
        ToolContentAdded("c", TerminalView("t")),
        TerminalChanged("t", command="make"),
        ToolContentAdded("c", Shown(Text("a"))),
        TerminalOutput("t", b"out"),
        TerminalChanged("t", exit=TerminalExit(2)),
        ToolContentAdded("c", TerminalView("t")),
    )
    assert [update["content"] for update in updates] == [
        [],
        content("a"),
        [content("out"), content("a")],
        [content("out\n[exit code 2]"), content("a")],
        content("out\n[exit code 2]"),
    ]


@rows("last", [StateChanged("idle"), ToolChanged("c", status="completed"), None])
def test_what_was_held_back_of_a_long_output_comes_with_the_next_word(last: Event | None) -> None:
    encoder = JUNE.encoder()
    encoder.encode(ToolChanged("c", content=[TerminalView("t")]))
    encoder.encode(TerminalOutput("t", b"x" * SMALL))
    assert encoder.encode(TerminalOutput("t", b"y")) == []
    (update,) = encoder.encode(last) if last is not None else encoder.flush()
    assert update.content[0].content.text.endswith("y")
    assert encoder.flush() == []


def test_a_client_has_no_terminals_and_hears_of_one_as_something_unknown() -> None:
    encoder = JUNE.encoder()
    encoder.client_terminals.add("t")
    (update,) = encoder.encode(ToolChanged("c", content=[TerminalView("t")]))
    assert update.content == [Unknown("terminal", {"type": "terminal", "terminalId": "t"})]


# ── the session ──


def test_a_plan_goes_with_its_id() -> None:
    event = PlanChanged(
        [PlanEntry("a", "cancelled"), PlanEntry("b", custom("_further"), custom("_further"), {"k": 1})], "p", {"k": 2}
    )
    entries = [
        {"content": "a (cancelled)", "priority": "medium", "status": "completed"},
        {"content": "b", "priority": "_further", "status": "_further", "_meta": {"k": 1}},
    ]
    plan = {"type": "items", "id": "p", "entries": entries}
    assert said(event) == [{"sessionUpdate": "plan_update", "plan": plan, "_meta": {"k": 2}}]
    assert JUNE.received([event]) == [event]


def test_a_plan_of_another_type_replaces_the_entries_and_is_kept() -> None:
    update = {"sessionUpdate": "plan_update", "plan": {"type": "_x", "id": "p"}}
    assert heard(update) == [PlanChanged([], "p"), UnknownUpdate("plan_update", update)]
    nameless = {"sessionUpdate": "plan_update", "plan": {"type": "_x"}}
    assert heard(nameless) == [UnknownUpdate("plan_update", nameless)]


def test_commands_have_no_type_but_may_take_another_input() -> None:
    form = {"type": "_form", "k": 1}
    further = {"name": "c", "description": "C", "input": form}
    events = CommandsChanged(
        [
            Command("a", "A"),
            Command("b", "B", "what", {"k": 1}),
            Command("c", "C", payload=further),
            Command("d", "D", payload={"type": "_macro"}),
            Command("", "", payload={"type": "_y"}),
        ]
    )
    assert said(events)[0]["availableCommands"] == [
        {"name": "a", "description": "A"},
        {"name": "b", "description": "B", "input": {"hint": "what"}, "_meta": {"k": 1}},
        further,
        {"name": "d", "description": "D"},
    ]
    (meant,) = JUNE.received([events])
    assert isinstance(meant, CommandsChanged)
    assert meant.commands == [*events.commands[:3], Command("d", "D")]


def test_options_go_and_come_back_without_toggles() -> None:
    group = Group("h", "H", [Choice("x", "X", "d", {"k": 1})], {"k": 2})
    options: list[ConfigOption] = [MODE, Select("g", "G", "x", groups=[group]), FURTHER]
    assert codec.OPTIONS.decode(codec.OPTIONS.encode([*options, Toggle("t", "T", value=True)])) == options


def test_values_with_and_without_a_heading_stand_in_one_list() -> None:
    mixed = Select("g", "G", "x", [Choice("y", "Y")], [Group("h", "H", [Choice("x", "X")])])
    assert codec.OPTIONS.decode(codec.OPTIONS.encode([mixed])) == [
        Select("g", "G", "x", [Choice("y", "Y"), Choice("x", "X")])
    ]


def test_a_mode_alone_is_told_by_its_option() -> None:
    code = msgspec.structs.replace(MODE, value="code")
    events: list[Event] = [
        ModeChanged("code"),
        ConfigChanged([MODE]),
        ModeChanged("code", {"k": 1}),
        ModeChanged("code"),
    ]
    assert JUNE.received(events) == [ConfigChanged([MODE]), ConfigChanged([code], {"k": 1})]


def test_title_and_time_can_be_cleared() -> None:
    assert JUNE.received([InfoChanged("T", None, {"k": 1})]) == [InfoChanged("T", None, {"k": 1})]


def test_a_cost_is_repeated_until_it_is_cleared_and_has_no_metadata() -> None:
    cost = Cost(1.5, "EUR", {"k": 1})
    events = [
        UsageChanged(1, 9),
        UsageChanged(2, 9, cost),
        UsageChanged(3, 9),
        UsageChanged(4, 9, None),
        UsageChanged(5, 9),
    ]
    told = Cost(1.5, "EUR")
    assert [event.cost for event in JUNE.received([*events]) if isinstance(event, UsageChanged)] == [
        UNSET,
        told,
        told,
        None,
        UNSET,
    ]


def test_a_notice_is_a_message_of_the_agent() -> None:
    notice = Noticed("T", "warning", "D", {"k": 1})
    assert said(notice) == [{**chunk("Warning: T\n\nD", "notice"), "_meta": {"k": 1}}]
    assert JUNE.received([notice]) == [notice]


def test_compaction_and_states_have_no_words() -> None:
    events: list[Event] = [
        CompactionChanged("c", "completed"),
        CompactionChunk("c", Text("a")),
        StateChanged("running"),
    ]
    assert said(*events) == []


def test_an_unknown_update_passes_both_ways() -> None:
    event = UnknownUpdate("_x", {"sessionUpdate": "_x", "k": 1})
    assert said(event) == [event.payload]
    assert JUNE.received([event]) == [event]


def test_an_original_of_which_nothing_can_be_read_is_forgotten() -> None:
    update = {**chunk("a", "m"), "_meta": {ORIGINAL: 7, "k": 1}}
    assert heard(update) == [MessageChunk("agent", Text("a"), "m", {"k": 1})]
    whole = {"sessionUpdate": "agent_message", "messageId": "m", "_meta": {"k": 1}}
    assert heard(whole) == [MessageChanged("agent", "m", meta={"k": 1})]
