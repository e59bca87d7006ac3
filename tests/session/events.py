"""Hypothesis strategies for the events of a session: few ids, so that events meet, and every state of a field."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from accord.protocol.model import UNSET, Unknown
from accord.session.content import Annotations, Audio, Block, Icon, Image, Link, Resource, Text
from accord.session.custom import custom
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
    TokenUsage,
    ToolChanged,
    ToolContentAdded,
    UnknownUpdate,
    UsageChanged,
    WorkError,
)
from accord.session.option import Choice, Command, Group, Select, Toggle
from accord.session.tool import Diff, FileChange, Location, Shown, TerminalView, ToolContent

texts = st.text(max_size=6)
names = st.text("abc", min_size=1, max_size=3)
ids = st.sampled_from(["1", "2"])
metas = st.none() | st.dictionaries(names, st.none() | st.integers(0, 9) | texts, min_size=1, max_size=2)
json_values = st.none() | st.booleans() | st.integers(-9, 9) | texts | st.lists(texts, max_size=2)
speakers = st.sampled_from(["user", "agent", "thought"])
lines = st.sampled_from(["a\n", "b\n", "c\n", "é d\n", "\n", "-- x\n", "no end"])
files = st.lists(lines, max_size=6).map("".join)
paths = st.sampled_from(["/w/a.py", "/w/b c.py", "/w/ü\t.py"])


def maybe(values: SearchStrategy[Any]) -> SearchStrategy[Any]:
    """Absent, null, or a value."""
    return st.just(UNSET) | st.none() | values


def word(*known: str) -> SearchStrategy[str]:
    """A known word, or one of an extension."""
    return st.sampled_from([*known, "_further"])


annotated = st.none() | st.builds(
    Annotations,
    audience=st.none() | st.lists(st.sampled_from(["user", "assistant"]), max_size=2),
    last_modified=st.none() | texts,
    priority=st.none() | st.floats(0, 1),
    meta=metas,
)
unknown_variants = st.builds(lambda extra: Unknown("_extra", {"type": "_extra", "extra": extra}), json_values)
icons = st.none() | st.lists(
    st.builds(
        Icon,
        src=texts,
        mime_type=st.none() | texts,
        sizes=st.none() | st.just(["48x48"]),
        theme=st.none() | word("light", "dark"),
        meta=metas,
    ),
    min_size=1,
    max_size=1,
)
optional = st.none() | texts


def blocks(icon_lists: SearchStrategy[Any]) -> SearchStrategy[Block]:
    resources = st.builds(
        lambda content, **rest: Resource(**{content[0]: content[1]}, **rest),
        st.tuples(st.sampled_from(["text", "blob"]), texts),
        uri=st.just("file:///w/a"),
        mime_type=optional,
        annotations=annotated,
        meta=metas,
        contents_meta=metas,
    )
    shared: dict[str, SearchStrategy[Any]] = {"annotations": annotated, "meta": metas}
    return st.one_of(
        st.builds(Text, texts),
        st.builds(Text, texts, **shared),
        st.builds(Image, data=texts, mime_type=texts, uri=st.none() | st.just("https://x/y"), **shared),
        st.builds(Audio, data=texts, mime_type=texts, **shared),
        st.builds(
            Link,
            uri=st.just("https://x/y"),
            name=texts,
            title=optional,
            description=optional,
            mime_type=optional,
            size=st.none() | st.integers(0, 9),
            icons=icon_lists,
            **shared,
        ),
        resources,
        unknown_variants,
    )


def changes() -> SearchStrategy[FileChange]:
    more = {"file_type": st.none() | word("text", "binary"), "mime_type": optional}
    return st.one_of(
        st.builds(FileChange, paths, st.none(), files, **more),
        st.builds(FileChange, paths, files, files, **more),
        st.builds(FileChange, paths, files, st.none(), st.just("delete"), **more),
        st.builds(FileChange, paths, files, st.none(), st.just("modify"), **more),
        st.builds(FileChange, paths, st.none(), st.none(), st.sampled_from(["add", "delete", "modify"]), **more),
        st.builds(FileChange, paths, files, files, st.sampled_from(["move", "copy"]), st.just("/w/old"), **more),
        st.builds(FileChange, paths, operation=st.sampled_from(["move", "copy"]), old_path=st.just("/w/old"), **more),
        st.just(
            FileChange("/w/x", operation=custom("_touch"), payload={"operation": "_touch", "path": "/w/x", "x": 1})
        ),
    )


def items(content: SearchStrategy[Block]) -> SearchStrategy[ToolContent]:
    return st.one_of(
        st.builds(Shown, content, metas),
        st.builds(Diff, st.lists(changes(), max_size=2), meta=metas),
        st.builds(TerminalView, ids, metas),
        unknown_variants,
    )


places = st.builds(Location, paths, st.none() | st.integers(1, 9), metas)
entries = st.builds(
    PlanEntry,
    texts,
    word("pending", "in_progress", "completed", "cancelled"),
    word("high", "medium", "low"),
    metas,
)
choices = st.builds(Choice, names, texts, optional, metas)
categories = st.sampled_from([None, "model", "_further"])
selects = st.one_of(
    st.builds(
        Select,
        names,
        texts,
        names,
        choices=st.lists(choices, min_size=1, max_size=2),
        description=optional,
        category=categories,
        meta=metas,
    ),
    st.builds(
        Select,
        names,
        texts,
        names,
        groups=st.lists(
            st.builds(Group, names, texts, st.lists(choices, min_size=1, max_size=2), metas), min_size=1, max_size=2
        ),
        description=optional,
        category=categories,
    ),
)
mode_selects = st.builds(
    lambda value: Select("mode", "Mode", value, [Choice("ask", "Ask"), Choice("code", "Code")], category="mode"),
    st.sampled_from(["ask", "code"]),
)
toggles = st.builds(Toggle, names, texts, st.booleans(), optional, categories, metas)
options = st.builds(
    lambda mode, rest: [*mode, *rest],
    st.lists(mode_selects, max_size=1),
    st.lists(selects | toggles | unknown_variants, max_size=2),
)
commands = st.builds(Command, names, texts, optional, metas)
costs = st.builds(Cost, st.floats(0, 9), st.sampled_from(["EUR", "credits"]))
updates = st.builds(lambda x: UnknownUpdate("_x", {"sessionUpdate": "_x", "x": x}), json_values)


def tool_changes(content: SearchStrategy[Block]) -> SearchStrategy[ToolChanged]:
    return st.builds(
        ToolChanged,
        ids,
        title=maybe(texts),
        kind=maybe(word("read", "edit", "other")),
        status=maybe(word("pending", "in_progress", "paused", "completed", "failed", "cancelled")),
        name=maybe(texts),
        content=maybe(st.lists(items(content), max_size=3)),
        locations=maybe(st.lists(places, max_size=2)),
        raw_input=st.just(UNSET) | json_values,
        raw_output=st.just(UNSET) | json_values,
        cancellable=st.just(UNSET) | st.booleans(),
        created=st.booleans(),
        meta=st.just(UNSET) | metas,
    )


def named_messages(content: SearchStrategy[Block]) -> SearchStrategy[Event]:
    return st.one_of(
        st.builds(MessageChunk, speakers, content, ids, metas),
        st.builds(MessageChanged, speakers, ids, maybe(st.lists(content, max_size=3)), st.just(UNSET) | metas),
    )


def unnamed_messages(content: SearchStrategy[Block]) -> SearchStrategy[Event]:
    return st.builds(MessageChunk, speakers, content, st.none(), metas)


def happenings(content: SearchStrategy[Block]) -> SearchStrategy[Event]:
    """Whatever is no message and no state."""
    return st.one_of(
        tool_changes(content),
        st.builds(ToolContentAdded, ids, items(content)),
        st.builds(
            TerminalChanged,
            ids,
            command=maybe(texts),
            cwd=maybe(paths),
            output=maybe(st.binary(max_size=6)),
            exit=maybe(st.builds(TerminalExit, st.none() | st.integers(-1, 9), st.none() | st.just("SIGKILL"), metas)),
            size=maybe(st.tuples(st.integers(1, 200), st.integers(1, 90))),
            cancellable=st.just(UNSET) | st.booleans(),
            meta=st.just(UNSET) | metas,
        ),
        st.builds(TerminalOutput, ids, st.binary(max_size=6), metas),
        st.builds(PlanChanged, st.lists(entries, max_size=3), st.sampled_from(["plan", "other"]), metas),
        st.builds(CommandsChanged, st.lists(commands, max_size=2), metas),
        st.builds(ConfigChanged, options, metas),
        st.builds(InfoChanged, maybe(texts), maybe(texts), st.just(UNSET) | metas),
        st.builds(UsageChanged, st.integers(0, 9), st.integers(0, 9), maybe(costs), metas),
        st.builds(Noticed, names, word("info", "warning", "error"), optional, metas),
        st.builds(
            CompactionChanged,
            ids,
            word("in_progress", "completed", "failed", "cancelled"),
            maybe(st.lists(content, max_size=2)),
            maybe(texts),
            st.just(UNSET) | metas,
        ),
        st.builds(CompactionChunk, ids, content, metas),
        updates,
    )


modes = st.builds(ModeChanged, st.sampled_from(["ask", "code"]))
background = st.just(UNSET) | st.lists(
    st.builds(Background, st.sampled_from(["terminal", "tool_call"]), ids, metas)
    | st.just(Background("_job", "", payload={"type": "_job", "job": 1})),
    max_size=2,
)
counts = st.integers(0, 9)
token_usages = st.builds(
    TokenUsage, counts, counts, counts, st.none() | counts, st.none() | counts, st.none() | counts, metas
)
states = st.one_of(
    st.builds(StateChanged, word("running", "requires_action"), background=background, meta=metas),
    st.builds(
        StateChanged,
        st.just("idle"),
        st.none() | word("end_turn", "cancelled", "error"),
        st.none() | st.builds(WorkError, st.integers(-9, 9), texts, json_values),
        background,
        metas,
        st.none() | token_usages,
    ),
)
