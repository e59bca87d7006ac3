"""Tool calls: what an agent does, and how far it is."""

from typing import Any, Literal, TypeAlias

from accord.protocol.model import UNSET, Closed, Lenient, Maybe, Metadata, Omittable, Open, Sieved, UInt32, Wire
from accord.protocol.v1.content import ContentBlock
from accord.protocol.v1.ids import TerminalId, ToolCallId

ToolKind: TypeAlias = Closed[
    Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"] | str
]
ToolCallStatus: TypeAlias = Closed[Literal["pending", "in_progress", "completed", "failed"] | str]


class Content(Wire, tag_field="type", tag="content"):
    """Wraps an ordinary block so that it can stand among a call's diffs and terminals."""

    content: ContentBlock
    meta: Lenient[Maybe[Metadata]] = UNSET


class Diff(Wire, tag_field="type", tag="diff"):
    """What a call did or would do to files; for display, the client applies nothing."""

    path: str
    new_text: str
    old_text: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class Terminal(Wire, tag_field="type", tag="terminal"):
    """Shows a terminal among a call's results; only the id travels here, not the output."""

    terminal_id: TerminalId
    meta: Lenient[Maybe[Metadata]] = UNSET


ToolCallContent: TypeAlias = Open[Content | Diff | Terminal]


class ToolCallLocation(Wire):
    """File the agent is working on, so that an editor can follow; line counts from 1."""

    path: str
    line: Lenient[Maybe[UInt32]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ToolCallUpdate(Wire):
    """Patch for one call by id: absent keys keep their value, a given list replaces all."""

    tool_call_id: ToolCallId
    kind: Lenient[Maybe[ToolKind]] = UNSET
    status: Lenient[Maybe[ToolCallStatus]] = UNSET
    title: Lenient[Maybe[str]] = UNSET
    name: Lenient[Maybe[str]] = UNSET
    content: Lenient[Maybe[Sieved[list[ToolCallContent]]]] = UNSET
    locations: Lenient[Maybe[Sieved[list[ToolCallLocation]]]] = UNSET
    raw_input: Any = UNSET
    raw_output: Any = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class ToolCallUpdated(ToolCallUpdate, tag_field="sessionUpdate", tag="tool_call_update"):
    """Patches a known call; in the v2 drafts the first one for an id creates it."""


class ToolCall(Wire, tag_field="sessionUpdate", tag="tool_call"):
    """First report of a call; without status it is pending, without kind it is other."""

    tool_call_id: ToolCallId
    title: str
    name: Lenient[Maybe[str]] = UNSET
    kind: Lenient[Omittable[ToolKind]] = UNSET
    status: Lenient[Omittable[ToolCallStatus]] = UNSET
    content: Lenient[Omittable[Sieved[list[ToolCallContent]]]] = UNSET
    locations: Lenient[Omittable[Sieved[list[ToolCallLocation]]]] = UNSET
    raw_input: Any = UNSET
    raw_output: Any = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET
