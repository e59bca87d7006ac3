"""Row by row: what v2 says for each event, and what is heard of each update."""

from __future__ import annotations

from typing import Any

import msgspec

from accord.protocol import v2
from accord.protocol.codec import Codec
from accord.protocol.model import UNSET, Unknown
from accord.protocol.v2 import draft
from accord.session.content import Annotations, Audio, Block, Icon, Image, Link, Resource, Text
from accord.session.custom import custom
from accord.session.editions.v2 import tools as codec
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
from accord.session.meta_original import ORIGINAL
from accord.session.option import Choice, Command, ConfigOption, Group, Select, Toggle
from accord.session.tool import Diff, FileChange, Location, Shown, TerminalView
from tests.session.editions import PLAIN, V2
from tests.tables import rows

MODE = Select("m", "Mode", "ask", [Choice("ask", "Ask"), Choice("code", "Code")], category="mode")
FURTHER = Unknown("_x", {"type": "_x", "k": 1})


def said(*events: Event) -> list[Any]:
    """What goes out, as plain JSON; what a strict reader refuses fails here."""
    encoder = V2.encoder(PLAIN)
    updates = [update for event in events for update in encoder.encode(event)]
    assert encoder.flush() == []
    return [msgspec.to_builtins(V2.carried(update), enc_hook=lambda u: u.payload) for update in updates]


def heard(update: dict[str, Any]) -> list[Event]:
    decoded = Codec().convert(v2.UpdateSessionNotification, {"sessionId": "s", "update": update}).update
    return V2.decoders().decode(decoded)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


# ── messages ──


def test_a_chunk_goes_with_its_id_whoever_else_has_used_it() -> None:
    assert said(MessageChunk("agent", Text("a"), "m"), MessageChunk("thought", Text("b"), "m", {"k": 1})) == [
        {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": text("a")},
        {"sessionUpdate": "agent_thought_chunk", "messageId": "m", "content": text("b"), "_meta": {"k": 1}},
    ]


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
        MessageChanged("agent", "agent-5"),
        MessageChunk("agent", Text("g")),
    ]
    names = [update["messageId"] for update in said(*events) if "messageId" in update]
    assert names == ["agent", "agent", "agent-2", "agent-3", "agent-4", "agent-5", "agent-6"]


@rows(
    ("event", "fields"),
    [
        (MessageChanged("user", "m"), {}),
        (MessageChanged("user", "m", None, None), {"content": None, "_meta": None}),
        (MessageChanged("user", "m", [Text("a")], {"k": None}), {"content": [text("a")], "_meta": {"k": None}}),
    ],
)
def test_a_whole_message_keeps_clears_or_replaces(event: MessageChanged, fields: dict[str, Any]) -> None:
    assert said(event) == [{"sessionUpdate": "user_message", "messageId": "m", **fields}]
    assert V2.received([event]) == [event]


# ── blocks ──

BLOCKS: list[Block] = [
    Text("a", Annotations(["user", custom("_x")], "2026", 0.5, {"k": 1}), {"k": 2}),
    Image("data", "image/png", "https://x/y", meta={"k": 1}),
    Image("data", "image/png"),
    Audio("data", "audio/wav"),
    Link("file:///a", "a", "A", "d", "text/plain", 7, [Icon("https://x", "image/png", ["any"], "dark", {"k": 1})]),
    Link("file:///a", "a"),
    Resource("file:///a", "text", mime_type="text/plain", meta={"k": 1}, contents_meta={"k": 2}),
    Resource("file:///a", blob="blob"),
    FURTHER,
]


def test_blocks_go_and_come_back() -> None:
    assert codec.BLOCKS.decode_all(codec.BLOCKS.encode_all(BLOCKS)) == BLOCKS


def test_what_older_editions_allow_is_brought_within_bounds() -> None:
    loose: list[Block] = [
        Link("/a b/ü%.py", "a", size=-1, annotations=Annotations(priority=7)),
        Image("d", "m", "/a"),
        Resource("/a"),
        Text("t", Annotations(priority=-1)),
    ]
    assert codec.BLOCKS.decode_all(codec.BLOCKS.encode_all(loose)) == [
        Link("file:///a%20b/%C3%BC%25.py", "a", annotations=Annotations(priority=1)),
        Image("d", "m", "file:///a"),
        Resource("file:///a", ""),
        Text("t", Annotations(priority=0)),
    ]


# ── tool calls ──


def test_every_report_of_a_call_is_a_patch() -> None:
    event = ToolChanged("c", title="T", kind=None, locations=[Location("/a", 0), Location("/b", 3)], created=True)
    assert said(event) == [
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "c",
            "title": "T",
            "kind": None,
            "locations": [{"path": "/a"}, {"path": "/b", "line": 3}],
        }
    ]


def test_a_known_call_that_starts_anew_has_everything_else_cleared() -> None:
    again = said(ToolChanged("c", title="T"), ToolChanged("c", status="pending", created=True))[1]
    cleared = ["name", "title", "kind", "content", "locations", "rawInput", "rawOutput", "capabilities", "_meta"]
    assert again == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "c",
        "status": "pending",
        **dict.fromkeys(cleared, None),
    }


def test_a_call_is_known_from_its_content_too() -> None:
    again = said(ToolContentAdded("c", Shown(Text("a"))), ToolChanged("c", created=True))[1]
    assert again["content"] is None


@rows(("capabilities", "cancellable"), [(None, False), ({}, False), ({"cancel": None}, False), ({"cancel": {}}, True)])
def test_a_marker_counts_when_it_is_there(capabilities: Any, cancellable: bool) -> None:  # noqa: FBT001
    tool = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "capabilities": capabilities}
    terminal = {"sessionUpdate": "terminal_update", "terminalId": "t", "capabilities": capabilities}
    assert heard(tool) == [ToolChanged("c", cancellable=cancellable)]
    assert heard(terminal) == [TerminalChanged("t", cancellable=cancellable)]


def test_an_item_more_is_a_chunk() -> None:
    event = ToolContentAdded("c", Shown(Text("a"), {"k": 1}), {"k": 2})
    item = {"type": "content", "content": text("a"), "_meta": {"k": 1}}
    chunk = {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": item, "_meta": {"k": 2}}
    assert said(event) == [chunk]
    assert V2.received([event]) == [event]


def test_items_go_and_come_back() -> None:
    event = ToolChanged("c", content=[Shown(FURTHER), TerminalView("t", {"k": 1}), FURTHER])
    assert V2.received([event]) == [event]


# ── diffs ──

PATCH = "diff --git /a /a\n--- /a\n+++ /a\n@@ -1 +1 @@\n-o\n+n\n"


def diffed(diff: Diff) -> Any:
    return said(ToolContentAdded("c", diff))[0]["content"]


def test_a_patch_is_made_from_the_texts_which_are_kept_beside() -> None:
    diff = Diff([FileChange("/a", "o\n", "n\n", file_type="text", mime_type="text/x", meta={"k": 1})], meta={"k": 2})
    assert diffed(diff) == {
        "type": "diff",
        "changes": [
            {
                "operation": "modify",
                "path": "/a",
                "fileType": "text",
                "mimeType": "text/x",
                "_meta": {"k": 1, ORIGINAL: {"old": "o\n", "new": "n\n"}},
            }
        ],
        "patch": {"format": "git_patch", "text": PATCH},
        "_meta": {"k": 2, ORIGINAL: {"made": True}},
    }
    assert V2.received([ToolContentAdded("c", diff)]) == [ToolContentAdded("c", diff)]


@rows(
    ("change", "operation"),
    [
        (FileChange("/a", None, "n"), {"operation": "add", "path": "/a"}),
        (FileChange("/a", "o", None, "delete"), {"operation": "delete", "path": "/a"}),
        (FileChange("/a", "o", "n", "move", "/b"), {"operation": "move", "oldPath": "/b", "path": "/a"}),
        (FileChange("/a", operation="copy", old_path="/b"), {"operation": "copy", "oldPath": "/b", "path": "/a"}),
        (FileChange("/a", operation="move"), {"operation": "add", "path": "/a"}),
        (FileChange("/a", operation=custom("_touch")), {"operation": "_touch", "path": "/a", "_meta": {}}),
        (
            FileChange("/a", operation=custom("_touch"), payload={"operation": "_touch", "k": 1}),
            {"operation": "_touch", "k": 1},
        ),
    ],
)
def test_each_change_is_told_by_its_operation(change: FileChange, operation: dict[str, Any]) -> None:
    (told,) = diffed(Diff([change]))["changes"]
    assert {key: value for key, value in told.items() if key != "_meta"} == {
        key: value for key, value in operation.items() if key != "_meta"
    }


def test_a_diff_without_texts_has_no_patch() -> None:
    assert diffed(Diff([FileChange("/a")], meta={"k": 1})) == {
        "type": "diff",
        "changes": [{"operation": "modify", "path": "/a"}],
        "_meta": {"k": 1},
    }


def test_the_agent_s_own_patch_is_told_as_it_is() -> None:
    diff = Diff([FileChange("/a", "o", "n")], "my patch", "_mine", {"k": 1})
    assert diffed(diff)["patch"] == {"format": "_mine", "text": "my patch"}
    assert V2.received([ToolContentAdded("c", diff)]) == [ToolContentAdded("c", diff)]


def test_the_texts_of_another_agent_s_patch_are_those_of_its_hunks() -> None:
    item = {
        "type": "diff",
        "changes": [{"operation": "modify", "path": "/a"}, {"operation": "delete", "path": "/b"}],
        "patch": {"format": "git_patch", "text": PATCH},
    }
    (event,) = heard({"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": item})
    changes = [FileChange("/a", "o\n", "n\n"), FileChange("/b", operation="delete")]
    assert event == ToolContentAdded("c", Diff(changes, PATCH))


@rows("patch", [None, {"format": "_other", "text": PATCH}])
def test_without_a_patch_that_can_be_read_there_are_no_texts(patch: Any) -> None:
    changes = [{"operation": "modify", "path": "/a"}, {"operation": "_touch", "path": 7}]
    item = {"type": "diff", "changes": changes, "patch": patch}
    (event,) = heard({"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": item})
    assert isinstance(event, ToolContentAdded)
    assert isinstance(event.content, Diff)
    assert event.content.changes == [
        FileChange("/a"),
        FileChange("", operation=custom("_touch"), payload={"operation": "_touch", "path": 7}),
    ]


# ── terminals ──


@rows(
    ("event", "fields"),
    [
        (TerminalChanged("t"), {}),
        (
            TerminalChanged("t", None, None, None, None, None, cancellable=False, meta=None),
            dict.fromkeys(["command", "cwd", "output", "exitStatus", "size", "capabilities", "_meta"], None),
        ),
        (
            TerminalChanged("t", "ls", "/w", b"\xff", TerminalExit(-1, "S", {"k": 1}), (80, 24), cancellable=True),
            {
                "command": "ls",
                "cwd": "/w",
                "output": {"data": "/w=="},
                "exitStatus": {"exitCode": -1, "signal": "S", "_meta": {"k": 1}},
                "size": {"cols": 80, "rows": 24},
                "capabilities": {"cancel": {}},
            },
        ),
        (TerminalChanged("t", exit=TerminalExit()), {"exitStatus": {}}),
    ],
)
def test_a_terminal_keeps_clears_or_replaces(event: TerminalChanged, fields: dict[str, Any]) -> None:
    assert said(event) == [{"sessionUpdate": "terminal_update", "terminalId": "t", **fields}]
    assert V2.received([event]) == [event]


def test_output_is_told_in_base64_chunk_by_chunk() -> None:
    event = TerminalOutput("t", b"\xc3", {"k": 1})
    assert said(event) == [
        {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": "ww==", "_meta": {"k": 1}}
    ]
    assert V2.received([event]) == [event]


@rows("data", ["no base64", "ü", "w"])
def test_bytes_that_cannot_be_read_change_nothing_and_are_kept(data: str) -> None:
    chunk = {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": data}
    assert heard(chunk) == [UnknownUpdate("terminal_output_chunk", chunk)]
    update = {"sessionUpdate": "terminal_update", "terminalId": "t", "command": "ls", "output": {"data": data}}
    assert heard(update) == [TerminalChanged("t", "ls")]


# ── the session ──


def test_a_plan_goes_with_its_id() -> None:
    event = PlanChanged([PlanEntry("a", "cancelled", custom("_further"), {"k": 1})], "p", {"k": 2})
    entries = [{"content": "a", "priority": "_further", "status": "cancelled", "_meta": {"k": 1}}]
    plan = {"type": "items", "planId": "p", "entries": entries}
    assert said(event) == [{"sessionUpdate": "plan_update", "plan": plan, "_meta": {"k": 2}}]
    assert V2.received([event]) == [event]
    nested = {"sessionUpdate": "plan_update", "plan": {**plan, "_meta": {"k": 1, "l": 1}}, "_meta": {"k": 2}}
    assert heard(nested) == [msgspec.structs.replace(event, meta={"k": 2, "l": 1})]


def test_a_plan_of_another_type_replaces_the_entries_and_is_kept() -> None:
    update = {"sessionUpdate": "plan_update", "plan": {"type": "_x", "planId": "p"}}
    assert heard(update) == [PlanChanged([], "p"), UnknownUpdate("plan_update", update)]
    nameless = {"sessionUpdate": "plan_update", "plan": {"type": "_x"}}
    assert heard(nameless) == [UnknownUpdate("plan_update", nameless)]


def test_commands_are_typed() -> None:
    commands = CommandsChanged([Command("a", "A"), Command("b", "B", "what", {"k": 1})], {"k": 2})
    assert said(commands) == [
        {
            "sessionUpdate": "available_commands_update",
            "availableCommands": [
                {"type": "command", "name": "a", "description": "A"},
                {
                    "type": "command",
                    "name": "b",
                    "description": "B",
                    "input": {"type": "text", "hint": "what"},
                    "_meta": {"k": 1},
                },
            ],
            "_meta": {"k": 2},
        }
    ]
    assert V2.received([commands]) == [commands]


@rows(
    ("payload", "name"),
    [
        ({"type": "_macro", "name": "a", "description": "A", "k": 1}, "a"),
        ({"type": "_macro", "name": "a"}, ""),
        ({"type": "command", "name": "a", "description": "A", "input": {"type": "_form", "k": 1}}, "a"),
    ],
)
def test_a_command_of_which_more_is_said_comes_back_whole(payload: dict[str, Any], name: str) -> None:
    update = {"sessionUpdate": "available_commands_update", "availableCommands": [payload]}
    (event,) = heard(update)
    assert isinstance(event, CommandsChanged)
    assert [command.name for command in event.commands] == [name]
    assert said(event) == [update]


def test_options_go_and_come_back() -> None:
    group = Group("h", "H", [Choice("x", "X", "d", {"k": 1})], {"k": 2})
    options: list[ConfigOption] = [
        MODE,
        Select("g", "G", "x", groups=[group], description="D", category="model", meta={"k": 1}),
        Toggle("t", "T", value=True, description="D"),
        FURTHER,
    ]
    assert codec.OPTIONS.decode(codec.OPTIONS.encode(options)) == options
    written = msgspec.to_builtins(codec.OPTIONS.encode(options[1:2]))
    assert written[0]["configId"] == "g"
    assert written[0]["options"][0]["groupId"] == "h"


def test_selects_and_groups_without_values_are_left_out() -> None:
    group = Group("h", "H", [Choice("x", "X")])
    options: list[ConfigOption] = [Select("e", "E", "x"), Select("g", "G", "x", groups=[Group("i", "I", []), group])]
    assert codec.OPTIONS.decode(codec.OPTIONS.encode(options)) == [Select("g", "G", "x", groups=[group])]


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
    assert V2.received(events) == [ConfigChanged([MODE]), ConfigChanged([code], {"k": 1})]


def test_title_and_time_can_be_cleared() -> None:
    event = InfoChanged("T", None, {"k": None})
    assert said(event) == [
        {"sessionUpdate": "session_info_update", "title": "T", "updatedAt": None, "_meta": {"k": None}}
    ]
    assert V2.received([event, InfoChanged()]) == [event, InfoChanged()]


@rows("cost", [UNSET, None, Cost(1.5, "credits", {"k": 1})])
def test_a_cost_is_kept_cleared_or_replaced(cost: Any) -> None:
    event = UsageChanged(1, 9, cost, {"k": 1})
    assert V2.received([event]) == [event]
    assert ("cost" in said(event)[0]) == (cost is not UNSET)


def test_notices_and_compaction_need_no_capability() -> None:
    events: list[Event] = [
        Noticed("T", "warning", "D", {"k": 1}),
        CompactionChanged("c", "in_progress", None, UNSET, {"k": 1}),
        CompactionChunk("c", Text("a"), {"k": 1}),
        CompactionChanged("c", "failed", [Text("b")], None),
    ]
    assert V2.received(events, PLAIN) == events
    assert said(Noticed("", "error"))[0]["title"] == "error"


@rows(
    ("event", "fields"),
    [
        (StateChanged("running"), {"state": "running"}),
        (StateChanged("running", "end_turn", WorkError(1, "m")), {"state": "running"}),
        (StateChanged("requires_action", background=[]), {"state": "requires_action", "background": []}),
        (
            StateChanged("idle", "error", WorkError(-1, "m", {"k": 1}), meta={"k": 1}),
            {
                "state": "idle",
                "stopReason": "error",
                "error": {"code": -1, "message": "m", "data": {"k": 1}},
                "_meta": {"k": 1},
            },
        ),
        (
            StateChanged(
                "idle",
                background=[
                    Background("terminal", "t", {"k": 1}),
                    Background("tool_call", "c"),
                    Background("_job", "", payload={"type": "_job", "jobId": "j"}),
                    Background("_other", "o"),
                ],
            ),
            {
                "state": "idle",
                "background": [
                    {"type": "terminal", "terminalId": "t", "_meta": {"k": 1}},
                    {"type": "tool_call", "toolCallId": "c"},
                    {"type": "_job", "jobId": "j"},
                    {"type": "_other"},
                ],
            },
        ),
    ],
)
def test_a_state_is_a_snapshot(event: StateChanged, fields: dict[str, Any]) -> None:
    assert said(event) == [{"sessionUpdate": "state_update", **fields}]


def test_a_background_of_null_was_not_told() -> None:
    update = {"sessionUpdate": "state_update", "state": "idle", "background": None, "stopReason": None}
    assert heard(update) == [StateChanged("idle")]


def test_an_unknown_state_is_neither_idle_nor_the_old_one() -> None:
    work = [{"type": "terminal", "terminalId": "t"}]
    update = {"sessionUpdate": "state_update", "state": "_dreaming", "background": work}
    event = StateChanged("_dreaming", background=[Background("terminal", "t")])
    assert heard(update) == [event]
    assert said(event) == [update]


def test_an_unknown_update_passes_both_ways() -> None:
    event = UnknownUpdate("_x", {"sessionUpdate": "_x", "k": 1})
    assert said(event) == [event.payload]
    assert V2.received([event]) == [event]


def test_updates_of_the_draft_are_heard_or_kept() -> None:
    decoder = V2.decoders()
    chunk: Any = draft.AgentMessageChunk("m", v2.TextContent("a"))
    assert decoder.decode(chunk) == [MessageChunk("agent", Text("a"), "m")]
    removed: Any = draft.PlanRemoved("p")
    assert decoder.decode(removed) == [UnknownUpdate("plan_removed", {"sessionUpdate": "plan_removed", "planId": "p"})]
    working: Any = draft.StateUpdated("running", background=[draft.BackgroundSubagent("s")])
    (state,) = decoder.decode(working)
    assert state == StateChanged(
        "running", background=[Background("subagent", "", payload={"type": "subagent", "sessionId": "s"})]
    )


def test_commands_of_results_go_through_the_same_door() -> None:
    commands = [Command("a", "A", "what")]
    assert codec.OPTIONS.decode_commands(codec.OPTIONS.encode_commands(commands)) == commands
