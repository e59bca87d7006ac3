"""The transcript: what each event does to it, and that it can tell itself again in fewer words."""

from __future__ import annotations

import copy
import time
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from accord.protocol.model import UNSET, Unknown
from accord.session.content import Annotations, Block, Image, Link, Text
from accord.session.entry import PIECES, CompactionEntry, Message, Plan, ToolCall, UnknownEntry
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
    Speaker,
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
from accord.session.option import Choice, Command, Select, Toggle
from accord.session.tool import Diff, FileChange, Location, Shown, TerminalView, ToolContent
from accord.session.transcript import Transcript
from tests.tables import rows

PICTURE = Image("AAAA", "image/png")
ASIDE = Text("aside", annotations=Annotations(audience=["user"]))
TRACED = Text("traced", meta={"traceparent": "00-1"})
RUNNING = StateChanged("running")
ENDED = StateChanged("idle", "end_turn")


def said(text: str, speaker: Speaker = "agent", id_: str | None = None) -> MessageChunk:
    return MessageChunk(speaker, Text(text), id_)


def fold(*events: Event) -> Transcript:
    return Transcript(events)


def texts(transcript: Transcript) -> list[str]:
    return [f"{entry.speaker}: {entry.text}" for entry in transcript if isinstance(entry, Message)]


def spans(transcript: Transcript) -> list[tuple[int, int | None, str | None]]:
    return [(turn.start, turn.end, turn.stop_reason) for turn in transcript.turns]


# --- messages


def test_a_new_transcript_is_empty_and_idle() -> None:
    transcript = Transcript()
    assert (len(transcript), transcript.text, transcript.last_message) == (0, "", None)
    assert (transcript.state, transcript.stop_reason, transcript.error) == ("idle", None, None)
    assert transcript.background is None
    assert transcript.events() == []
    # It is there, though there is nothing in it.
    assert transcript


def test_chunks_of_one_id_make_one_message_also_when_they_interleave() -> None:
    transcript = fold(said("Hel", id_="a"), said("Good", id_="b"), said("lo", id_="a"), said("bye", id_="b"))
    assert texts(transcript) == ["agent: Hello", "agent: Goodbye"]
    assert transcript.text == "Hello\n\nGoodbye"


def test_ids_are_per_speaker() -> None:
    transcript = fold(said("hm", "thought", "1"), said("Hi", "user", "1"), said("Hello", "agent", "1"))
    assert texts(transcript) == ["thought: hm", "user: Hi", "agent: Hello"]
    assert [message.text for message in transcript.messages] == ["Hi", "Hello"]
    assert [message.text for message in transcript.thoughts] == ["hm"]


@rows(
    "between",
    [
        said("hm", "thought"),
        said("and you?", "user"),
        said("other", id_="m"),
        ToolChanged("t", title="Read", status="in_progress"),
        ToolChanged("t", status="completed", created=True),
        ToolChanged("t", status="_odd"),
        CompactionChanged("c", "in_progress"),
        CompactionChunk("c", Text("short")),
        RUNNING,
    ],
)
def test_this_parts_messages_without_ids(between: Event) -> None:
    transcript = fold(said("one"), between, said("two"))
    expected = ["one", "othertwo"] if between == said("other", id_="m") else ["one", "two"]
    assert [m.text for m in transcript.messages if m.speaker == "agent"] == expected


def test_the_end_of_a_turn_parts_messages_without_ids() -> None:
    assert texts(fold(RUNNING, said("one"), ENDED, said("two"))) == ["agent: one", "agent: two"]


@rows(
    "between",
    [
        PlanChanged([]),
        UsageChanged(1, 2),
        Noticed("psst"),
        ModeChanged("ask"),
        UnknownUpdate("new", {}),
        TerminalOutput("term", b"x"),
        ToolChanged("old", status="completed"),
        ToolChanged("t", title="Read"),
        ToolChanged("t", status="pending", created=True),
        ToolContentAdded("t", Shown(Text("x"))),
        CompactionChanged("old", "completed"),
        StateChanged("requires_action"),
    ],
)
def test_this_does_not_part_messages_without_ids(between: Event) -> None:
    transcript = fold(
        RUNNING, ToolChanged("old"), CompactionChanged("old", "x"), said("one "), between, said("message")
    )
    assert texts(transcript) == ["agent: one message"]


def test_a_call_that_is_announced_inside_a_message_parts_it_from_the_next_one_when_it_begins() -> None:
    announced, begun, back = (ToolChanged("t", status=status) for status in ("pending", "in_progress", "pending"))
    transcript = fold(said("I will "), announced, said("look."), begun, said("Found "), back, said("it."))
    assert texts(transcript) == ["agent: I will look.", "agent: Found it."]
    assert Transcript(transcript.events()) == transcript


def test_a_call_that_was_announced_before_a_message_does_not_part_it() -> None:
    transcript = fold(said("one"), ToolChanged("t"), said("hm", "thought"), said("two "), ToolChanged("t", status="x"))
    transcript.fold(said("three"))
    assert texts(transcript) == ["agent: one", "thought: hm", "agent: two three"]


def test_a_message_replaces_what_was_said_under_its_id_and_chunks_append_to_that() -> None:
    transcript = fold(
        said("draft", id_="m"),
        MessageChanged("agent", "m", content=[Text("final"), PICTURE]),
        said(" word", id_="m"),
        said("!", id_="m"),
    )
    assert transcript.messages[0].content == [Text("final"), PICTURE, Text(" word!")]
    assert transcript.text == "final word!"


def test_absent_content_keeps_a_message_and_null_clears_it() -> None:
    kept = fold(said("x", id_="m"), MessageChanged("agent", "m"))
    cleared = fold(said("x", id_="m"), MessageChanged("agent", "m", content=None))
    assert (kept.text, cleared.text, len(cleared)) == ("x", "", 1)


def test_plain_texts_flow_together_and_others_stand_alone() -> None:
    blocks: list[Block] = [Text("a"), Text("b"), ASIDE, Text("c"), TRACED, PICTURE]
    transcript = fold(*(MessageChunk("agent", block, "m") for block in blocks))
    assert transcript.messages[0].content == [Text("ab"), *blocks[2:]]


def test_blocks_of_a_whole_message_stay_apart() -> None:
    transcript = fold(MessageChanged("user", "m", content=[Text("a"), Text("b")]), said("c", "user", "m"))
    assert transcript.messages[0].content == [Text("a"), Text("bc")]


def test_a_character_that_was_cut_between_two_chunks_is_whole_again() -> None:
    transcript = fold(said("\ud83d", id_="m"))
    assert transcript.text == "\ud83d"
    transcript.fold(said("\ude00!", id_="m"))
    assert transcript.text == "\U0001f600!"


def test_folding_leaves_the_events_as_they_were() -> None:
    events: list[Event] = [
        MessageChanged("agent", "m", content=[Text("a")]),
        said("b", id_="m"),
        ToolChanged("t", content=[Shown(Text("a"))], locations=[Location("/a")]),
        ToolContentAdded("t", Shown(Text("b"))),
        ConfigChanged([Select("m", "Mode", "ask", category="mode")]),
        ModeChanged("code"),
        InfoChanged(meta={"a": 1}),
        InfoChanged(meta={"a": None}),
    ]
    before = copy.deepcopy(events)
    transcript = fold(*events)
    assert transcript.text == "ab"
    assert transcript.events()
    assert events == before


def test_what_a_transcript_told_stays_as_it_was_told() -> None:
    transcript = fold(ToolChanged("t", content=[Shown(Text("a"))]), said("a", id_="m"))
    told = transcript.events()
    before = copy.deepcopy(told)
    transcript.fold(ToolContentAdded("t", Shown(Text("b"))))
    transcript.fold(MessageChunk("agent", PICTURE, "m"))
    assert told == before


# --- tool calls


def test_a_tool_call_begins_with_its_defaults() -> None:
    assert fold(ToolChanged("t")).tool_calls["t"] == ToolCall("t", title=None, kind="other", status="pending")


FULL = ToolChanged(
    "t",
    title="Edit",
    kind="edit",
    status="in_progress",
    name="edit_file",
    content=[Shown(Text("x"))],
    locations=[Location("/a", 3)],
    raw_input={"path": "/a"},
    raw_output=0,
    cancellable=True,
    meta={"a": 1, "b": 2},
)


def test_what_a_patch_does_not_carry_stays() -> None:
    transcript = fold(FULL, ToolChanged("t", status="completed"))
    call = transcript.tool_calls["t"]
    assert (call.title, call.kind, call.status, call.name) == ("Edit", "edit", "completed", "edit_file")
    assert (call.content, call.locations) == ([Shown(Text("x"))], [Location("/a", 3)])
    assert (call.raw_input, call.raw_output, call.cancellable) == ({"path": "/a"}, 0, True)
    assert len(transcript) == 1


def test_null_clears_what_a_tool_call_has() -> None:
    nothing = ToolChanged(
        "t", title=None, kind=None, status=None, name=None, content=None, locations=None, raw_input=None,
        raw_output=None, cancellable=False, meta=None,
    )  # fmt: skip
    assert fold(FULL, nothing).tool_calls["t"] == ToolCall("t")


def test_a_created_tool_call_forgets_what_was_known_under_its_id() -> None:
    transcript = fold(FULL, said("x"), ToolChanged("t", title="Again", created=True))
    assert transcript.timeline[0] == ToolCall("t", title="Again")
    assert len(transcript) == 2


def test_meta_is_patched_key_by_key() -> None:
    changes: list[dict[str, Any]] = [{"b": None, "c": {"x": 1}}, {}, {"c": {"y": 2}}]
    transcript = fold(FULL, *(ToolChanged("t", meta=change) for change in changes))
    assert transcript.tool_calls["t"].meta == {"a": 1, "c": {"y": 2}}


def test_content_chunks_append_to_what_is_there_also_for_a_call_nobody_has_seen() -> None:
    items: list[ToolContent] = [Shown(Text("a")), Diff([FileChange("/a", "x", "y")]), TerminalView("term")]
    transcript = fold(*(ToolContentAdded("t", item) for item in items))
    assert transcript.tool_calls["t"].content == items


@rows(
    ("status", "finished"),
    [
        ("pending", False),
        ("paused", False),
        ("_new", False),
        ("completed", True),
        ("failed", True),
        ("cancelled", True),
    ],
)
def test_a_tool_call_is_finished_by_the_known_ends_only(status: str, *, finished: bool) -> None:
    assert fold(ToolChanged("t", status=status)).tool_calls["t"].finished is finished


def test_a_cancel_shows_unfinished_tool_calls_as_cancelled_and_later_news_still_apply() -> None:
    transcript = fold(
        ToolChanged("done", status="completed"),
        ToolChanged("open"),
        ToolChanged("strange", status="_new"),
        ToolChanged("beside", status="in_progress"),
        StateChanged("running", background=[Background("tool_call", "beside"), Background("terminal", "open")]),
    )
    assert [call.id for call in transcript.mark_cancelled()] == ["open", "strange"]
    assert [call.status for call in transcript.tool_calls.values()] == [
        "completed",
        "cancelled",
        "cancelled",
        "in_progress",
    ]
    transcript.fold(ToolChanged("open", status="completed"))
    assert transcript.tool_calls["open"].status == "completed"
    assert [call.id for call in fold(ToolChanged("t")).mark_cancelled()] == ["t"]


# --- terminals


def test_output_is_appended_until_a_report_replaces_it() -> None:
    transcript = fold(TerminalOutput("x", b"one"), TerminalOutput("x", b" two"))
    assert transcript.terminals["x"].output == b"one two"
    assert transcript.terminals["x"].text == "one two"
    transcript.fold(TerminalChanged("x", output=b"new"))
    transcript.fold(TerminalOutput("x", b"er"))
    assert transcript.terminals["x"].text == "newer"
    transcript.fold(TerminalChanged("x", output=None))
    assert transcript.terminals["x"].output == b""


def test_a_character_cut_between_chunks_waits_for_its_rest() -> None:
    transcript = fold(TerminalOutput("x", "é".encode()[:1]))
    terminal = transcript.terminals["x"]
    assert terminal.text == ""
    transcript.fold(TerminalOutput("x", "é".encode()[1:] + b"\xff" + "é".encode()[:1]))
    assert terminal.text == "é\ufffd"
    # Nothing can follow any more.
    transcript.fold(TerminalChanged("x", exit=TerminalExit(0)))
    assert terminal.text == "é\ufffd\ufffd"


def test_the_beginning_of_a_character_does_not_outlive_the_output_it_ended() -> None:
    transcript = fold(TerminalOutput("x", "é".encode()[:1]))
    assert transcript.terminals["x"].text == ""
    transcript.fold(TerminalChanged("x", output=b"new"))
    assert transcript.terminals["x"].text == "new"


def test_a_terminal_keeps_what_a_report_does_not_carry() -> None:
    transcript = fold(
        TerminalChanged("x", command="make", cwd="/a", size=(80, 24), cancellable=True, meta={"a": 1}),
        TerminalChanged("x", exit=TerminalExit(signal="TERM")),
    )
    terminal = transcript.terminals["x"]
    assert (terminal.command, terminal.cwd, terminal.size, terminal.cancellable) == ("make", "/a", (80, 24), True)
    assert (terminal.exit, terminal.meta) == (TerminalExit(signal="TERM"), {"a": 1})
    transcript.fold(TerminalChanged("x", command=None, cwd=None, size=None, cancellable=False, exit=None, meta=None))
    assert transcript == fold(TerminalChanged("x"))


def test_terminals_have_no_place_of_their_own() -> None:
    assert len(fold(TerminalChanged("x", command="make"))) == 0


# --- plans, compactions, notices, unknown updates


def test_a_plan_is_replaced_where_it_first_stood() -> None:
    steps = [PlanEntry("one"), PlanEntry("two", "completed", "high")]
    transcript = fold(PlanChanged(steps[:1], meta={"a": 1}), said("x"), PlanChanged(steps), PlanChanged([], "other"))
    assert transcript.timeline[0] == Plan("plan", steps)
    assert list(transcript.plans) == ["plan", "other"]


def test_a_compaction_stays_where_it_was_first_seen() -> None:
    transcript = fold(
        CompactionChunk("c", Text("so ")),
        CompactionChunk("c", Text("far")),
        said("x"),
        CompactionChanged("c", "failed", error="too long", meta={"a": 1}),
    )
    assert transcript.timeline[0] is transcript.compactions["c"]
    assert (transcript.compactions["c"].status, transcript.compactions["c"].error) == ("failed", "too long")
    assert transcript.compactions["c"].summary == [Text("so far")]
    transcript.fold(CompactionChanged("c", "completed", summary=None, error=None, meta={"a": None}))
    assert transcript.compactions["c"] == CompactionEntry("c", "completed")


def test_notices_are_listed_and_nothing_else() -> None:
    transcript = fold(Noticed("psst", "warning"))
    assert transcript.notices == [Noticed("psst", "warning")]
    assert len(transcript) == 0
    assert transcript == Transcript()
    assert transcript.events() == []


def test_updates_that_nobody_names_are_kept_in_their_place() -> None:
    update = UnknownUpdate("_new", {"sessionUpdate": "_new", "x": 1})
    transcript = fold(said("a"), update, said("b", "user"))
    assert transcript.timeline[1] == UnknownEntry(update)
    assert transcript.unknown == [update]


# --- settings

MODE = Select("m", "Mode", "ask", [Choice("ask", "Ask"), Choice("code", "Code")], category="mode")
FAST = Toggle("f", "Fast", value=True, category="mode")
STRANGE: Any = Unknown("slider", {"type": "slider"})


def test_the_mode_and_its_option_are_kept_in_step() -> None:
    transcript = fold(ConfigChanged([FAST, STRANGE, MODE], meta={"a": 1}))
    assert transcript.mode == "ask"
    transcript.fold(ModeChanged("code"))
    assert transcript.mode == "code"
    coding = Select("m", "Mode", "code", MODE.choices, category="mode")
    assert transcript.events() == [ConfigChanged([FAST, STRANGE, coding], meta={"a": 1})]
    transcript.fold(ConfigChanged([MODE]))
    assert transcript.mode == "ask"


def test_a_mode_without_an_option_stands_alone() -> None:
    transcript = fold(ModeChanged("code"), ConfigChanged([FAST]))
    assert (transcript.mode, transcript.config) == ("code", [FAST])
    assert transcript.events() == [ConfigChanged([FAST]), ModeChanged("code")]


def test_commands_are_replaced_whole() -> None:
    transcript = fold(CommandsChanged([Command("a", "A")]), CommandsChanged([Command("b", "B", "what")]))
    assert transcript.commands == [Command("b", "B", "what")]


def test_title_and_time_are_patched() -> None:
    transcript = fold(InfoChanged("A", "2026-01-01T00:00:00Z", {"a": 1, "b": 2}), InfoChanged(meta={"b": None}))
    assert (transcript.title, transcript.updated_at, transcript.meta) == ("A", "2026-01-01T00:00:00Z", {"a": 1})
    transcript.fold(InfoChanged("", None, None))
    assert (transcript.title, transcript.updated_at, transcript.meta) == ("", None, {})
    assert transcript.events() == [InfoChanged("")]


def test_usage_keeps_the_cost_until_it_is_cleared() -> None:
    transcript = fold(UsageChanged(1, 10))
    assert transcript.usage == UsageChanged(1, 10, cost=None)
    transcript.fold(UsageChanged(2, 10, Cost(0.5, "EUR")))
    transcript.fold(UsageChanged(3, 10))
    assert transcript.usage == UsageChanged(3, 10, Cost(0.5, "EUR"))
    transcript.fold(UsageChanged(4, 10, None))
    assert transcript.usage == UsageChanged(4, 10, None)
    assert transcript.events() == [UsageChanged(4, 10)]


# --- turns and states


def test_a_turn_is_from_the_prompt_to_idle() -> None:
    transcript = fold(said("Hi", "user"), RUNNING, said("Hello"), ENDED, ENDED, said("Bye", "user"), said("Bye!"))
    assert spans(transcript) == [(0, 2, "end_turn"), (2, None, None)]
    assert [turn.worked for turn in transcript.turns] == [True, False]
    assert (transcript.state, transcript.stop_reason) == ("idle", "end_turn")


def test_a_turn_is_known_by_its_end_alone() -> None:
    transcript = fold(said("Hi", "user"), said("Hello"), StateChanged("idle", "max_tokens"))
    assert spans(transcript) == [(0, 2, "max_tokens")]


def test_user_messages_during_work_belong_to_its_turn() -> None:
    transcript = fold(RUNNING, said("a", "user", "1"), said("x"), said("b", "user", "2"), ENDED)
    assert spans(transcript) == [(0, 3, "end_turn")]


def test_histories_without_states_part_at_user_messages() -> None:
    transcript = fold(said("a", "user"), said("b", "user"), said("x"), said("c", "user"), said("y"))
    assert texts(transcript)[0] == "user: ab"
    assert spans(transcript) == [(0, 2, None), (2, None, None)]


def test_work_without_a_prompt_is_a_turn() -> None:
    transcript = fold(StateChanged("_pondering"), said("x"), StateChanged("idle"))
    assert spans(transcript) == [(0, 1, None)]


def test_an_idle_that_ends_nothing_is_no_turn() -> None:
    transcript = fold(said("x"), ENDED)
    assert transcript.turns == []
    assert transcript.stop_reason == "end_turn"


def test_a_failed_turn_says_why() -> None:
    broken = WorkError(-32603, "Internal error")
    transcript = fold(said("a", "user"), StateChanged("idle", "error", broken))
    assert transcript.turns[0].error == broken
    assert transcript.error == broken


def test_a_refusal_marks_the_prompt_and_what_followed_and_nothing_else() -> None:
    transcript = fold(
        said("a", "user"),
        said("x"),
        ENDED,
        said("b", "user"),
        RUNNING,
        said("y"),
        ToolChanged("t"),
        PlanChanged([]),
        CompactionChanged("c", "completed"),
        UnknownUpdate("u", {}),
        StateChanged("idle", "refusal"),
        said("z"),
    )
    assert [entry.refused for entry in transcript] == [False] * 2 + [True] * 6 + [False]
    assert [turn.refused for turn in transcript.turns] == [False, True]


def test_the_background_is_what_the_last_report_says() -> None:
    transcript = fold(StateChanged("idle", background=[Background("terminal", "x")]))
    assert transcript.background == [Background("terminal", "x")]
    transcript.fold(StateChanged("idle", background=[]))
    assert transcript.background == []
    transcript.fold(RUNNING)
    assert transcript.background is None


# --- telling again


def test_a_transcript_is_told_again_in_few_events() -> None:
    transcript = fold(
        said("Hi", "user", "1"),
        RUNNING,
        said("Hel", id_="2"),
        said("lo", id_="2"),
        FULL,
        ToolChanged("t", status="completed"),
        TerminalOutput("x", b"a"),
        TerminalOutput("x", b"b"),
        CompactionChanged("c", "in_progress"),
        CompactionChunk("c", Text("short")),
        CompactionChanged("c", "completed"),
        StateChanged("requires_action"),
        RUNNING,
        Noticed("psst"),
        ENDED,
        ENDED,
    )
    completed = msgspec.structs.replace(FULL, status="completed", created=True)
    conversation: list[Event] = [
        TerminalChanged("x", output=b"ab"),
        MessageChanged("user", "1", [Text("Hi")]),
        MessageChanged("agent", "2", [Text("Hello")]),
        completed,
        CompactionChanged("c", "completed", [Text("short")]),
    ]
    assert transcript.events(states=False) == conversation
    assert transcript.events() == [*conversation[:2], RUNNING, *conversation[2:], ENDED]


def test_turns_that_end_alike_are_told_apart() -> None:
    talk: list[Event] = [MessageChanged("user", "1"), ENDED, MessageChanged("user", "2"), ENDED]
    assert fold(*talk).events() == talk


def test_a_transcript_equals_only_its_like() -> None:
    assert fold(said("a"), said("b")) == fold(said("ab"))
    assert fold(said("a")) != fold(said("b"))
    assert fold(said("a")) != [said("a")]
    assert fold(said("a")).timeline[0] != fold(said("a"), said("b")).timeline[0]
    assert fold(said("a")).messages[0].passage != "a"


def test_its_repr_says_how_much_there_is() -> None:
    assert repr(fold(said("a", "user"), RUNNING)) == "<Transcript: 1 entries, 1 turns, running>"
    assert "Passage([Text(text='a')])" in repr(fold(said("a")).messages[0])


# Few names, so that events meet.
IDS = st.sampled_from(["a", "b"])
SPEAKERS: st.SearchStrategy[Speaker] = st.sampled_from(["user", "agent", "thought"])
BLOCKS: st.SearchStrategy[Block] = st.sampled_from([
    Text("a"), Text(""), Text("\ud83d"), Text("\ude00"), ASIDE, TRACED, PICTURE,
    Link("file:///a", "a"), Unknown("hologram", {"type": "hologram"}),
])  # fmt: skip
META: st.SearchStrategy[Any] = st.sampled_from([UNSET, None, {}, {"a": 1}, {"a": None, "b": {"c": None}}])
KEPT_META: st.SearchStrategy[Any] = st.sampled_from([None, {}, {"a": None}])


def maybe(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from([UNSET, None, *values])


TOOL_CONTENT: st.SearchStrategy[ToolContent] = st.sampled_from(
    [Shown(Text("a")), Diff([FileChange("/a", "x")]), TerminalView("a"), Unknown("u", {})]
)
STATES = st.builds(
    StateChanged,
    st.sampled_from(["running", "requires_action", "idle", "idle", "_odd"]),
    st.sampled_from([None, "end_turn", "refusal"]),
    st.sampled_from([None, WorkError(1, "x")]),
    st.sampled_from([UNSET, [], [Background("tool_call", "a")]]),
    KEPT_META,
)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(MessageChunk, SPEAKERS, BLOCKS, st.none() | IDS, KEPT_META),
    st.builds(MessageChanged, SPEAKERS, IDS, st.none() | st.just(UNSET) | st.lists(BLOCKS, max_size=3), META),
    st.builds(
        ToolChanged,
        IDS,
        title=maybe("", "Read"),
        kind=maybe("read", "_odd"),
        status=maybe("pending", "in_progress", "completed", "_odd"),
        name=maybe("read_file"),
        content=st.none() | st.just(UNSET) | st.lists(TOOL_CONTENT, max_size=2),
        locations=maybe([], [Location("/a")]),
        raw_input=maybe(0, "", {"a": None}),
        raw_output=maybe(0.0, []),
        cancellable=st.sampled_from([UNSET, True, False]),
        created=st.booleans(),
        meta=META,
    ),
    st.builds(ToolContentAdded, IDS, TOOL_CONTENT),
    st.builds(
        TerminalChanged,
        IDS,
        command=maybe("", "make"),
        cwd=maybe("/a"),
        output=maybe(b"", b"\xc3"),
        exit=maybe(TerminalExit(), TerminalExit(1)),
        size=maybe((80, 24)),
        cancellable=st.sampled_from([UNSET, True, False]),
        meta=META,
    ),
    st.builds(TerminalOutput, IDS, st.sampled_from([b"a", b"\xc3", b"\xa9", b"\xff"])),
    st.builds(PlanChanged, st.lists(st.builds(PlanEntry, IDS), max_size=2), IDS, KEPT_META),
    st.builds(CommandsChanged, st.sampled_from([[], [Command("a", "A")]]), KEPT_META),
    st.builds(ConfigChanged, st.sampled_from([[], [MODE], [FAST, STRANGE], [STRANGE, MODE]]), KEPT_META),
    st.builds(ModeChanged, st.sampled_from(["ask", "code"])),
    st.builds(InfoChanged, maybe("", "A"), maybe("2026-01-01T00:00:00Z"), META),
    st.builds(UsageChanged, st.integers(0, 2), st.just(10), maybe(Cost(1, "EUR")), KEPT_META),
    st.builds(Noticed, IDS),
    st.builds(
        CompactionChanged,
        IDS,
        st.sampled_from(["in_progress", "completed", "_odd"]),
        st.none() | st.just(UNSET) | st.lists(BLOCKS, max_size=2),
        maybe("", "x"),
        META,
    ),
    st.builds(CompactionChunk, IDS, BLOCKS),
    STATES,
    st.builds(UnknownUpdate, IDS, st.just({"x": 1})),
)
# The hard part is where turns and messages without ids begin and end, so half of all talks are about nothing else.
PARTING: st.SearchStrategy[Event] = st.one_of(
    st.builds(said, st.just("x"), SPEAKERS, st.none() | IDS),
    st.sampled_from([RUNNING, StateChanged("requires_action"), ENDED, StateChanged("idle", "refusal")]),
    st.builds(ToolChanged, IDS, status=maybe("pending", "in_progress")),
)
TALKS = st.lists(EVENTS, max_size=30) | st.lists(PARTING, max_size=30)


@settings(max_examples=50, deadline=None)
@given(TALKS, TALKS)
def test_what_a_transcript_tells_folds_into_its_equal_and_goes_on_as_it_would(
    talk: list[Event], more: list[Event]
) -> None:
    transcript = Transcript(talk)
    told = transcript.events()
    again = Transcript(told)
    assert again == transcript
    assert again.events() == told
    assert len(told) <= len(talk) + len([entry for entry in transcript if isinstance(entry, Message)])
    for event in more:
        transcript.fold(event)
        again.fold(event)
    assert again == transcript


@settings(max_examples=50, deadline=None)
@given(TALKS)
def test_reading_in_between_changes_nothing(talk: list[Event]) -> None:
    read, unread = Transcript(), Transcript(talk)
    for event in talk:
        read.fold(event)
        assert read.text is not None
        assert all(terminal.text is not None for terminal in read.terminals.values())
    assert read == unread
    assert [each.text for each in read.terminals.values()] == [each.text for each in unread.terminals.values()]


@settings(max_examples=50, deadline=None)
@given(TALKS)
def test_turns_follow_one_another_and_hold_every_user_message(talk: list[Event]) -> None:
    transcript = Transcript(talk)
    ends = [0]
    for turn in transcript.turns:
        assert ends[-1] <= turn.start <= (len(transcript) if turn.end is None else turn.end)
        ends.append(len(transcript) if turn.end is None else turn.end)
    places = range(len(transcript))
    within = {place: turn for turn in transcript.turns for place in places[turn.start : turn.end]}
    for place, entry in enumerate(transcript):
        assert entry.refused is (place in within and within[place].refused)
        assert place in within or not (isinstance(entry, Message) and entry.speaker == "user")


@pytest.mark.parametrize(
    "event",
    [
        said("word "),
        said("word ", id_="m"),
        ToolContentAdded("t", Shown(Text("x"))),
        TerminalOutput("x", b"word "),
        RUNNING,
    ],
    ids=["chunk", "chunk with id", "tool content", "output", "state"],
)
def test_folding_costs_the_same_however_long_the_conversation_is(event: Event) -> None:
    def seconds(count: int) -> float:
        transcript = Transcript([RUNNING])
        started = time.process_time()
        for _ in range(count):
            transcript.fold(event)
        transcript.events()
        return time.process_time() - started

    # Quadratic work would take minutes; the bound is wide because machines are shared.
    assert seconds(100_000) < 5


def test_a_text_in_more_pieces_than_are_kept_is_whole_whenever_it_is_read() -> None:
    transcript = Transcript()
    halves = ["\ud83d", "\ude00"]
    for number in range(3 * PIECES + 7):
        # Pieces that cut a character, also where many are joined to one.
        transcript.fold(MessageChunk("agent", Text(halves[number % 2])))
        if number == PIECES + 3:
            assert transcript.text == "\U0001f600" * (number // 2 + 1)
    assert transcript.text == "\U0001f600" * ((3 * PIECES + 7) // 2) + "\ud83d"


def test_every_event_can_be_folded() -> None:
    assert set(Transcript._FOLDS) == set(get_args(Event))
