"""Row by row: what v1 says for each event, and what is heard of each update."""

from __future__ import annotations

from typing import Any

import msgspec

from accord.protocol import v1
from accord.protocol.codec import Codec
from accord.protocol.model import UNSET, Unknown
from accord.protocol.v1 import draft
from accord.session.capability import ClientCapabilities
from accord.session.content import Annotations, Audio, Block, Icon, Image, Link, Resource, Text
from accord.session.custom import custom
from accord.session.editions.v1 import tools as codec
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
from accord.session.tool import Diff, FileChange, Location, Shown, TerminalView, ToolContent
from accord.session.tool_state import SMALL
from tests.session.editions import ABLE, PLAIN, V1, content, plain
from tests.session.folding import picture
from tests.tables import rows

MODE = Select("m", "Mode", "ask", [Choice("ask", "Ask"), Choice("code", "Code")], category="mode")
TOGGLE = Toggle("t", "T", value=True)
FURTHER = Unknown("_x", {"type": "_x", "k": 1})


def said(*events: Event, capabilities: ClientCapabilities = ABLE) -> list[Any]:
    """What goes out, as plain JSON without the originals; what a strict reader refuses fails here."""
    encoder = V1.encoder(capabilities)
    updates = [update for event in events for update in encoder.encode(event)]
    return [plain(msgspec.to_builtins(V1.carried(update), enc_hook=lambda u: u.payload)) for update in updates]


def heard(update: dict[str, Any]) -> list[Event]:
    decoded = Codec().convert(v1.SessionNotification, {"sessionId": "s", "update": update}).update
    return V1.decoders().decode(decoded)


def chunk(text: str, message_id: str | None = None, speaker: str = "agent_message") -> dict[str, Any]:
    named = {} if message_id is None else {"messageId": message_id}
    return {"sessionUpdate": f"{speaker}_chunk", "content": {"type": "text", "text": text}, **named}


# ── messages ──


def test_a_chunk_goes_with_its_id_or_without() -> None:
    assert said(MessageChunk("agent", Text("a"), "m"), MessageChunk("user", Text("b"))) == [
        chunk("a", "m"),
        chunk("b", speaker="user_message"),
    ]


def test_an_id_that_two_speakers_use_is_told_apart() -> None:
    events: list[Event] = [MessageChunk("agent", Text("a"), "m"), MessageChunk("thought", Text("b"), "m", {"k": 1})]
    assert said(*events)[1] == {**chunk("b", "thought-m", "agent_thought"), "_meta": {"k": 1}}
    assert V1.received(events) == events


def test_a_whole_message_is_one_chunk_per_block() -> None:
    whole = MessageChanged("agent", "m", [Text("a"), Text("b")], {"k": 1})
    assert said(whole) == [{**chunk("a", "m"), "_meta": {"k": 1}}, chunk("b", "m")]


@rows(
    ("before", "after", "rest"),
    [
        ([Text("a")], [Text("a")], []),
        ([Text("a"), Text("b")], [Text("abc")], ["c"]),
        ([Text("ab")], [Text("a"), Text("bc"), Text("d")], ["cd"]),
        ([Text("a"), FURTHER], [Text("a"), FURTHER, Text("b")], ["b"]),
        ([Text("a")], [Text("ab"), FURTHER], ["b", "[x]"]),
    ],
)
def test_a_message_that_grows_is_told_by_what_it_adds(before: list[Block], after: list[Block], rest: list[str]) -> None:
    updates = said(*(MessageChunk("agent", block, "m") for block in before), MessageChanged("agent", "m", after))
    assert updates[len(before) :] == [chunk(text, "m") for text in rest]


def test_a_message_may_grow_again_and_again() -> None:
    growing = [MessageChanged("agent", "m", [Text(text)]) for text in ("a", "ab", "abc")]
    assert said(*growing, MessageChanged("agent", "m", None), growing[2], MessageChunk("agent", Text("d"), "m")) == [
        chunk(text, "m") for text in "abcd"
    ]


@rows(
    ("before", "after"),
    [
        ([Text("abc")], [Text("ab")]),
        ([Text("abc")], [Text("xyz")]),
        ([FURTHER], [Text("xyz")]),
        ([Text("a"), FURTHER], [Text("b"), FURTHER]),
        ([Text("a"), FURTHER], [Text("a")]),
        ([Text("a", meta={"k": 1})], [Text("ab", meta={"k": 1})]),
    ],
)
def test_a_corrected_message_is_another_message(before: list[Block], after: list[Block]) -> None:
    events: list[Event] = [
        *(MessageChunk("agent", block, "m") for block in before),
        MessageChanged("agent", "m", after),
    ]
    updates = said(*events)[len(before) :]
    assert {update["messageId"] for update in updates} == {"agent-m"}
    assert len(updates) == len(after)
    correction, *rest = V1.received(events)[len(before) :]
    assert correction == MessageChanged("agent", "m", after[:1])
    assert rest == [MessageChunk("agent", block, "m") for block in after[1:]]


# Clients of v1 join the chunks of one speaker whatever their id: what they show is what these tests look at.


def shown(*events: Event, capabilities: ClientCapabilities = PLAIN) -> str:
    """The text of a client that joins all chunks of the agent that follow one another; other updates are `|`."""
    updates = said(*events, capabilities=capabilities)
    return "".join(
        each["content"]["text"] if each["sessionUpdate"] == "agent_message_chunk" else "|" for each in updates
    )


def one(text: str, message_id: str) -> MessageChunk:
    return MessageChunk("agent", Text(text), message_id)


BLANK_LINES: list[tuple[list[Event], str]] = [
    ([one("a", "m"), one("b", "m"), one("c", "n"), one("d", "n")], "ab\n\ncd"),
    ([one("a", "m"), one("b", "n"), one("c", "m")], "a\n\nb\n\nc"),
    ([MessageChanged("agent", each, [Text(each)]) for each in "abc"], "a\n\nb\n\nc"),
    ([MessageChanged("agent", "m", [Text("a"), Text("b")]), one("c", "n"), one("d", "m")], "ab\n\nc\n\nd"),
    ([one("a", "m"), Noticed("T"), one("b", "m")], "a\n\nInfo: T\n\nb"),
    ([Noticed("T"), Noticed("U")], "Info: T\n\nInfo: U"),
    ([one("a", "m"), MessageChanged("agent", "m", [Text("x"), Text("y")])], "a\n\nxy"),
    ([one("a", "m"), MessageChanged("agent", "m", None), one("b", "m")], "a\n\nb"),
    ([one("a", "m"), one("b", "n"), MessageChanged("agent", "m", [Text("ac")])], "a\n\nb\n\nc"),
    ([one("a", "m"), PlanChanged([]), one("b", "n")], "a|\n\nb"),
    ([ToolChanged("t"), one("a", "m"), ToolChanged("t", status="completed"), one("b", "n")], "|a|\n\nb"),
    # What a client shows between them parts them already.
    ([one("a", "m"), ToolChanged("t"), one("b", "n"), one("c", "k")], "a|b\n\nc"),
    ([one("a", "m"), ToolChanged("t"), one("b", "m"), one("c", "n")], "a|b\n\nc"),
    ([one("a", "m"), MessageChunk("thought", Text("h"), "h"), one("b", "n")], "a|b"),
    ([one("a", "m"), MessageChunk("user", Text("u"), "u"), one("b", "n")], "a|b"),
    # Chunks without an id belong together.
    ([MessageChunk("agent", Text("a")), MessageChunk("agent", Text("b"))], "ab"),
]


@rows(("events", "text"), BLANK_LINES)
def test_a_blank_line_parts_messages_that_a_client_would_join(events: list[Event], text: str) -> None:
    assert shown(*events) == text


@rows("events", [events for events, _ in BLANK_LINES])
def test_our_client_hears_the_messages_without_the_blank_lines(events: list[Event]) -> None:
    assert picture(V1.received(events, PLAIN), clears=False) == picture(events, clears=False)


def test_the_user_s_words_are_never_changed_and_thoughts_are_parted() -> None:
    events = [MessageChunk(speaker, Text(text), text) for speaker in ("user", "thought") for text in "ab"]
    assert [update["content"]["text"] for update in said(*events)] == ["a", "b", "a", "\n\nb"]


def test_a_picture_needs_no_blank_line() -> None:
    picture_block = Image("", "image/png")
    assert said(one("a", "m"), MessageChunk("agent", picture_block, "n"))[1]["content"]["type"] == "image"


def test_v1_cannot_clear_a_message_but_does_not_add_to_a_cleared_one() -> None:
    cleared: list[Event] = [
        MessageChunk("agent", Text("a"), "m"),
        MessageChanged("agent", "m", None),
        MessageChunk("agent", Text("b"), "m", {"k": 1}),
    ]
    assert said(*cleared) == [chunk("a", "m"), {**chunk("\n\nb", "agent-m"), "_meta": {"k": 1}}]
    assert V1.received(cleared)[1] == MessageChanged("agent", "m", [Text("b")], {"k": 1})


def test_a_message_without_content_has_no_words() -> None:
    assert (
        said(MessageChanged("agent", "m"), MessageChanged("agent", "m", []), MessageChanged("agent", "m", None)) == []
    )
    assert said(MessageChanged("agent", "m", None), MessageChunk("agent", Text("a"), "m")) == [chunk("a", "m")]


def test_a_chunk_is_heard_with_or_without_an_id() -> None:
    assert heard(chunk("a", "m")) == [MessageChunk("agent", Text("a"), "m")]
    assert heard({**chunk("a"), "messageId": None}) == [MessageChunk("agent", Text("a"))]
    assert heard({**chunk("a"), "_meta": {ORIGINAL: {"id": None}}}) == [MessageChunk("agent", Text("a"))]


# ── blocks ──

BLOCKS: list[Block] = [
    Text("a", Annotations(["user"], "2026", 0.5, {"k": 1}), {"k": 2}),
    Image("data", "image/png", "https://x/y", meta={"k": 1}),
    Audio("data", "audio/wav"),
    Link("file:///a", "a", "A", "d", "text/plain", 7),
    Resource("file:///a", "text", mime_type="text/plain", meta={"k": 1}, contents_meta={"k": 2}),
    Resource("file:///a", blob="blob"),
    FURTHER,
]


def test_blocks_go_and_come_back() -> None:
    assert codec.BLOCKS.decode_all(codec.BLOCKS.encode_all(BLOCKS)) == BLOCKS


def test_a_block_without_a_name_is_a_line_of_text() -> None:
    assert said(MessageChunk("agent", FURTHER), MessageChunk("agent", Unknown("_", {}))) == [
        chunk("[x]"),
        chunk("[unknown]"),
    ]


def test_icons_and_further_roles_have_no_place() -> None:
    link = Link("file:///a", "a", icons=[Icon("https://x")], annotations=Annotations(["user", custom("_x")]))
    assert codec.BLOCKS.decode_all(codec.BLOCKS.encode_all([link])) == [
        Link("file:///a", "a", annotations=Annotations(["user"]))
    ]


def test_a_resource_without_contents_is_an_empty_text() -> None:
    assert codec.BLOCKS.decode_all(codec.BLOCKS.encode_all([Resource("file:///a")])) == [Resource("file:///a", "")]


def test_an_unknown_block_that_comes_all_the_same_is_kept() -> None:
    assert codec.BLOCKS.decode_all([FURTHER]) == [FURTHER]


def test_a_text_loses_an_original_that_says_nothing() -> None:
    text = v1.TextContent("a", meta={ORIGINAL: 7, "k": 1})
    assert codec.BLOCKS.decode_all([text]) == [Text("a", meta={"k": 1})]


# ── tool calls ──


def test_the_first_report_of_a_call_creates_it_and_later_ones_change_it() -> None:
    assert said(ToolChanged("c", title="T", kind="read"), ToolChanged("c", status="completed", meta={"k": 1})) == [
        {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "T", "kind": "read"},
        {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed", "_meta": {"k": 1}},
    ]


def test_a_call_that_starts_anew_is_created_again() -> None:
    again = said(ToolChanged("c", title="T", name="n"), ToolChanged("c", created=True))[1]
    assert again == {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "tool call"}


@rows(
    ("event", "title"),
    [
        (ToolChanged("c"), "tool call"),
        (ToolChanged("c", kind="read"), "read"),
        (ToolChanged("c", kind="read", name="cat"), "cat"),
        (ToolChanged("c", title=None, name="cat"), "cat"),
        (ToolChanged("c", title="", name="cat"), ""),
    ],
)
def test_a_call_without_a_title_is_called_by_its_name_or_kind(event: ToolChanged, title: str) -> None:
    assert said(event)[0]["title"] == title
    (meant,) = V1.received([event])
    assert isinstance(meant, ToolChanged)
    assert meant.title == (event.title if event.title is not UNSET else None)


def test_a_title_that_is_cleared_gives_way_to_the_name() -> None:
    events: list[Event] = [ToolChanged("c", title="T", name="cat"), ToolChanged("c", title=None)]
    assert said(*events)[1] == {"sessionUpdate": "tool_call_update", "toolCallId": "c", "title": "cat"}
    assert V1.received(events)[1] == ToolChanged("c", title=None)


@rows(
    ("event", "fields"),
    [
        (ToolChanged("c", status="paused"), {"status": "in_progress"}),
        (ToolChanged("c", status="cancelled"), {"status": "failed"}),
        (ToolChanged("c", status="_further"), {"status": "in_progress"}),
        (ToolChanged("c", status=None), {"status": "pending"}),
        (ToolChanged("c", kind="_further"), {"kind": "other"}),
        (ToolChanged("c", kind=None), {"kind": "other"}),
        (ToolChanged("c", content=None), {"content": []}),
        (ToolChanged("c", locations=None), {"locations": []}),
        (ToolChanged("c", name=None, raw_input=None, raw_output=None, meta=None), {}),
    ],
)
def test_what_v1_has_no_word_for_is_said_in_the_nearest(event: ToolChanged, fields: dict[str, Any]) -> None:
    events: list[Event] = [ToolChanged("c", title="T"), event]
    assert said(*events)[1] == {"sessionUpdate": "tool_call_update", "toolCallId": "c", **fields}
    meant = V1.received(events)[1]
    defaults = {"kind": "other", "status": "pending", "content": [], "locations": []}
    cleared = {name: default for name, default in defaults.items() if getattr(event, name) is None}
    assert meant == msgspec.structs.replace(event, **cleared)


def test_a_change_that_v1_cannot_tell_at_all_is_not_said() -> None:
    assert len(said(ToolChanged("c", title="T"), ToolChanged("c", cancellable=True))) == 1


def test_null_changes_nothing_in_v1() -> None:
    nothing = dict.fromkeys(
        ["kind", "status", "title", "name", "content", "locations", "rawInput", "rawOutput", "_meta"], None
    )
    update = {"sessionUpdate": "tool_call_update", "toolCallId": "c", **nothing}
    assert heard(update) == [ToolChanged("c")]


def test_a_line_0_is_no_line() -> None:
    places = [{"path": "/a", "line": 0}, {"path": "/b", "line": 3, "_meta": {"k": 1}}]
    update = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "locations": places}
    assert heard(update) == [ToolChanged("c", locations=[Location("/a"), Location("/b", 3, {"k": 1})])]


def test_an_item_more_repeats_the_whole_list() -> None:
    events = [ToolContentAdded("c", Shown(Text("a"))), ToolContentAdded("c", Shown(Text("b")), {"k": 1})]
    created, added = said(*events)
    assert created == {
        "sessionUpdate": "tool_call",
        "toolCallId": "c",
        "title": "tool call",
        "content": [content("a")],
    }
    assert added == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "c",
        "content": [content("a"), content("b")],
        "_meta": {"k": 1},
    }


@rows("last", [StateChanged("idle"), ToolChanged("c", status="completed"), None])
def test_what_was_held_back_of_a_long_list_comes_with_the_next_word(last: Event | None) -> None:
    encoder = V1.encoder()
    encoder.encode(ToolChanged("c", content=[Shown(Text("x" * SMALL))]))
    assert encoder.encode(ToolContentAdded("c", Shown(Text("y")))) == []
    (update,) = encoder.encode(last) if last is not None else encoder.flush()
    assert len(update.content) == 2
    assert encoder.flush() == []


@rows(
    ("change", "items"),
    [
        (FileChange("/a", "o", "n"), [{"type": "diff", "path": "/a", "newText": "n", "oldText": "o"}]),
        (FileChange("/a", None, "n"), [{"type": "diff", "path": "/a", "newText": "n"}]),
        (FileChange("/a", "o", None, "delete"), [{"type": "diff", "path": "/a", "newText": "", "oldText": "o"}]),
        (
            FileChange("/a", "o", "n", "move", "/b", "text", "text/plain"),
            [content("Moved /b to /a"), {"type": "diff", "path": "/a", "newText": "n", "oldText": "o"}],
        ),
        (FileChange("/a", operation="copy", old_path="/b"), [content("Copied /b to /a")]),
        (FileChange("/a", file_type="binary"), [content("Changed /a")]),
        (FileChange("/a", "o"), [content("Changed /a")]),
        (FileChange("/a", operation=custom("_touch"), payload={"k": 1}), [content("Changed /a")]),
    ],
)
def test_a_file_change_is_a_path_with_two_texts_or_a_line(change: FileChange, items: list[Any]) -> None:
    event = ToolChanged("c", title="T", content=[Diff([change], meta={"k": 1})], created=True)
    (update,) = said(event)
    assert plain_metas(update["content"]) == items
    meant = msgspec.structs.replace(change, operation="add") if change.new and change.old is None else change
    assert V1.received([event]) == [msgspec.structs.replace(event, content=[Diff([meant], meta={"k": 1})])]


def plain_metas(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in item.items() if key != "_meta"} for item in items]


def test_the_texts_of_a_patch_are_told_where_no_others_are() -> None:
    patch = "diff --git /a /a\n--- /a\n+++ /a\n@@ -1 +1 @@\n-o\n+n\n"
    other = Diff([FileChange("/a")], patch, "_other")
    diff = Diff([FileChange("/a", meta={"k": 1}), FileChange("/b")], patch)
    (update,) = said(ToolChanged("c", content=[diff, other]))
    assert update["content"] == [
        {"type": "diff", "path": "/a", "newText": "n\n", "oldText": "o\n", "_meta": {"k": 1}},
        content("Changed /b"),
        content("Changed /a"),
    ]


def test_an_item_without_a_name_is_a_line_and_comes_back() -> None:
    event = ToolChanged("c", title="T", content=[FURTHER, Shown(FURTHER)], created=True)
    (update,) = said(event)
    assert update["content"] == [content("[x]"), content("[x]")]
    assert V1.received([event]) == [event]


def test_items_that_come_from_other_agents_are_heard() -> None:
    items = [
        {"type": "terminal", "terminalId": "t"},
        {"type": "_x", "k": 1},
        {"type": "content", "content": {"type": "text", "text": "a"}, "_meta": {ORIGINAL: {}, "k": 1}},
        {"type": "diff", "path": "/a", "oldText": None, "newText": "n", "_meta": {ORIGINAL: {}}},
    ]
    update = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "T", "content": items}
    expected: list[ToolContent] = [
        TerminalView("t"),
        FURTHER,
        Shown(Text("a"), {"k": 1}),
        Diff([FileChange("/a", None, "n", "add")]),
    ]
    assert heard(update) == [ToolChanged("c", title="T", content=expected, created=True)]


def test_a_terminal_of_the_agent_is_a_text_with_the_exit_code() -> None:
    updates = said(
        ToolChanged("c", title="T", content=[Shown(Text("a")), TerminalView("t")]),
        TerminalChanged("t", command="make"),
        TerminalOutput("t", "é".encode()[:1]),
        TerminalOutput("t", "é".encode()[1:]),
        TerminalChanged("t", exit=TerminalExit(2)),
    )
    assert [update.get("content") for update in updates] == [
        [content("a")],
        [content("a")],
        [content("a"), content("é")],
        [content("a"), content("é\n[exit code 2]")],
    ]


def test_a_terminal_of_the_client_is_a_terminal() -> None:
    encoder = V1.encoder()
    encoder.client_terminals.add("t")
    (update,) = encoder.encode(ToolChanged("c", content=[TerminalView("t", {"k": 1})]))
    assert update.content == [v1.Terminal("t", {"k": 1})]
    assert encoder.encode(TerminalOutput("t", b"out")) == []


# ── the session ──


def entry(text: str, status: str = "pending", priority: str = "medium") -> dict[str, Any]:
    return {"content": text, "priority": priority, "status": status}


def test_a_plan_is_told_in_known_words() -> None:
    plan = PlanChanged(
        [
            PlanEntry("a", "cancelled"),
            PlanEntry("b", custom("_further"), custom("_further"), {"k": 1}),
            PlanEntry("c", "completed", "low"),
        ],
        meta={"k": 2},
    )
    entries = [
        entry("a (cancelled)", "completed"),
        {**entry("b"), "_meta": {"k": 1}},
        entry("c", "completed", "low"),
    ]
    assert said(plan) == [{"sessionUpdate": "plan", "entries": entries, "_meta": {"k": 2}}]
    assert V1.received([plan]) == [plan]


def test_several_plans_are_joined_as_long_as_they_are_open() -> None:
    plans: list[Event] = [
        PlanChanged([PlanEntry("a", "completed"), PlanEntry("b")], "first"),
        PlanChanged([PlanEntry("c")], "second"),
        PlanChanged([PlanEntry("a", "completed"), PlanEntry("b", "cancelled")], "first"),
        PlanChanged([PlanEntry("d")], "second"),
    ]
    assert [[item["content"] for item in update["entries"]] for update in said(*plans)] == [
        ["a", "b"],
        ["a", "b", "c"],
        ["a", "b (cancelled)", "c"],
        ["d"],
    ]
    assert V1.received(plans) == plans


def test_a_plan_of_another_agent_is_the_plan() -> None:
    assert heard({"sessionUpdate": "plan", "entries": [entry("a")]}) == [PlanChanged([PlanEntry("a")])]


def test_commands_have_no_type() -> None:
    commands = CommandsChanged(
        [
            Command("a", "A"),
            Command("b", "B", "what", {"k": 1}),
            Command("c", "C", payload={"type": "_x", "name": "c"}),
            Command("", "", payload={"type": "_y"}),
        ]
    )
    assert said(commands) == [
        {
            "sessionUpdate": "available_commands_update",
            "availableCommands": [
                {"name": "a", "description": "A"},
                {"name": "b", "description": "B", "input": {"hint": "what"}, "_meta": {"k": 1}},
                {"name": "c", "description": "C"},
            ],
        }
    ]
    assert V1.received([commands]) == [
        CommandsChanged([Command("a", "A"), Command("b", "B", "what", {"k": 1}), Command("c", "C")])
    ]


GROUPED = Select("g", "G", "x", groups=[Group("h", "H", [Choice("x", "X", "d", {"k": 1})], {"k": 2})], category="model")


def test_options_go_and_come_back() -> None:
    options: list[ConfigOption] = [MODE, GROUPED, TOGGLE, FURTHER]
    assert codec.OPTIONS.decode(codec.OPTIONS.encode(options, toggles=True)) == options
    assert codec.OPTIONS.decode(codec.OPTIONS.encode(options, toggles=False)) == [MODE, GROUPED, FURTHER]


def test_values_with_and_without_a_heading_stand_in_one_list() -> None:
    mixed = Select("g", "G", "x", [Choice("y", "Y")], GROUPED.groups)
    (option,) = codec.OPTIONS.decode(codec.OPTIONS.encode([mixed], toggles=True))
    assert isinstance(option, Select)
    assert (option.values(), option.groups) == (["y", "x"], [])


def test_toggles_are_for_clients_that_can_show_them() -> None:
    assert said(ConfigChanged([TOGGLE]), capabilities=PLAIN)[0]["configOptions"] == []
    assert said(ConfigChanged([TOGGLE]))[0]["configOptions"] == [
        {"type": "boolean", "id": "t", "name": "T", "currentValue": True}
    ]


def test_a_mode_is_told_as_an_option_and_as_a_mode() -> None:
    code = msgspec.structs.replace(MODE, value="code")
    updates = said(ConfigChanged([MODE]), ConfigChanged([MODE]), ConfigChanged([code]), ConfigChanged([TOGGLE]))
    assert [update["sessionUpdate"] for update in updates] == [
        "config_option_update",
        "current_mode_update",
        "config_option_update",
        "config_option_update",
        "current_mode_update",
        "config_option_update",
    ]
    assert updates[4]["currentModeId"] == "code"


def test_a_mode_alone_changes_its_option_too() -> None:
    updates = said(ModeChanged("ask", {"k": 1}), ConfigChanged([MODE]), ModeChanged("code"), ModeChanged("code"))
    assert [(update.get("currentModeId"), "configOptions" in update) for update in updates] == [
        ("ask", False),
        (None, True),
        ("code", False),
        (None, True),
        ("code", False),
    ]
    assert heard(updates[0]) == [ModeChanged("ask", {"k": 1})]


def test_title_and_time_can_be_cleared() -> None:
    assert said(InfoChanged("T", None, {"k": 1}), InfoChanged(UNSET, "2026")) == [
        {"sessionUpdate": "session_info_update", "title": "T", "updatedAt": None, "_meta": {"k": 1}},
        {"sessionUpdate": "session_info_update", "updatedAt": "2026"},
    ]


def test_a_cost_is_repeated_until_it_is_cleared() -> None:
    cost = Cost(1.5, "EUR", {"k": 1})
    events = [
        UsageChanged(1, 9),
        UsageChanged(2, 9, cost),
        UsageChanged(3, 9),
        UsageChanged(4, 9, None),
        UsageChanged(5, 9),
    ]
    assert [update.get("cost", "absent") for update in said(*events)] == [
        "absent",
        {"amount": 1.5, "currency": "EUR", "_meta": {"k": 1}},
        {"amount": 1.5, "currency": "EUR", "_meta": {"k": 1}},
        None,
        "absent",
    ]
    assert V1.received([*events])[1] == events[1]


def test_a_notice_is_a_notice_or_a_message_of_the_agent() -> None:
    notice = Noticed("T", "warning", "D", {"k": 1})
    assert said(notice, Noticed("")) == [
        {"sessionUpdate": "notice", "severity": "warning", "title": "T", "description": "D", "_meta": {"k": 1}},
        {"sessionUpdate": "notice", "severity": "info", "title": "info"},
    ]
    assert said(notice, Noticed("U", "_"), capabilities=PLAIN) == [
        {**chunk("Warning: T\n\nD", "notice"), "_meta": {"k": 1}},
        chunk("\n\nNotice: U", "notice-2"),
    ]
    assert V1.received([notice], PLAIN) == V1.received([notice]) == [notice]


def test_compaction_is_for_clients_that_can_show_it() -> None:
    events: list[Event] = [
        CompactionChanged("c", "in_progress", None, UNSET, {"k": 1}),
        CompactionChunk("c", Text("a"), {"k": 1}),
        CompactionChanged("c", "failed", [Text("b")], "why"),
    ]
    assert V1.received(events) == events
    assert said(*events, capabilities=PLAIN) == []


def test_a_state_has_no_words() -> None:
    assert said(StateChanged("running"), StateChanged("idle", "end_turn")) == []


def test_an_unknown_update_passes_both_ways() -> None:
    event = UnknownUpdate("_x", {"sessionUpdate": "_x", "k": 1})
    assert said(event) == [event.payload]
    assert V1.received([event]) == [event]


def test_an_update_of_the_draft_is_kept_as_it_came() -> None:
    update = draft.PlanRemoved("p")
    assert V1.decoders().decode(update) == [
        UnknownUpdate("plan_removed", {"sessionUpdate": "plan_removed", "planId": "p"})
    ]


def test_the_draft_s_chunks_are_heard_as_chunks() -> None:
    update = draft.AgentMessageChunk(v1.TextContent("a"), "m")
    assert V1.decoders().decode(update) == [MessageChunk("agent", Text("a"), "m")]
