"""Every event of a session, independent of the edition.

A patch event changes only the fields it carries: `UNSET` keeps a value, None clears it. Agents send events, clients
receive them, stores keep them, and transcripts are folded from them.
"""

from typing import Any, Literal, TypeAlias

from accord.json_values import JsonValue
from accord.protocol.model import UNSET, Maybe, UnsetType
from accord.session.content import Block, Part
from accord.session.custom import Custom
from accord.session.option import Command, ConfigOption
from accord.session.tool import Location, ToolContent, ToolKind, ToolStatus

__all__ = [
    "Background",
    "CommandsChanged",
    "CompactionChanged",
    "CompactionChunk",
    "ConfigChanged",
    "Cost",
    "Event",
    "InfoChanged",
    "MessageChanged",
    "MessageChunk",
    "Meta",
    "ModeChanged",
    "Noticed",
    "PlanChanged",
    "PlanEntry",
    "PlanPriority",
    "PlanStatus",
    "SessionState",
    "Severity",
    "Speaker",
    "StateChanged",
    "StopReason",
    "TerminalChanged",
    "TerminalExit",
    "TerminalOutput",
    "TokenUsage",
    "ToolChanged",
    "ToolContentAdded",
    "UnknownUpdate",
    "UsageChanged",
    "WorkError",
]

Speaker: TypeAlias = Literal["user", "agent", "thought"]
"""Whose message it is; `thought` are the agent's thoughts."""
StopReason: TypeAlias = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"] | Custom
"""Why a turn ends. One that ended may have another reason: `error` where it failed."""
SessionState: TypeAlias = Literal["running", "requires_action", "idle"] | str
"""The states of a session."""
Severity: TypeAlias = Literal["info", "warning", "error"] | Custom
"""How serious a notice is."""
PlanStatus: TypeAlias = Literal["pending", "in_progress", "completed", "cancelled"] | Custom
"""The status of a plan's entry."""
PlanPriority: TypeAlias = Literal["high", "medium", "low"] | Custom
"""The priority of a plan's entry."""
Meta: TypeAlias = dict[str, Any]
"""The `_meta` of a message: any JSON, by key."""


class MessageChunk(Part, tag_field="event", tag="message_chunk"):
    """A block is appended to a message; `id` is None where the edition names no messages."""

    speaker: Speaker
    block: Block
    id: str | None = None
    meta: Meta | None = None


class MessageChanged(Part, tag_field="event", tag="message"):
    """A whole message, or a correction of one: content replaces everything so far."""

    speaker: Speaker
    id: str
    content: Maybe[list[Block]] = UNSET
    meta: Maybe[Meta] = UNSET


class ToolChanged(Part, tag_field="event", tag="tool"):
    """A tool call is created or changed.

    `created` marks a report that restarts the call from its defaults, also if its id was used before.
    """

    id: str
    title: Maybe[str] = UNSET
    kind: Maybe[ToolKind | str] = UNSET
    status: Maybe[ToolStatus | str] = UNSET
    name: Maybe[str] = UNSET
    content: Maybe[list[ToolContent]] = UNSET
    locations: Maybe[list[Location]] = UNSET
    raw_input: JsonValue = UNSET
    raw_output: JsonValue = UNSET
    cancellable: bool | UnsetType = UNSET
    created: bool = False
    meta: Maybe[Meta] = UNSET


class ToolContentAdded(Part, tag_field="event", tag="tool_content"):
    """One item is appended to the content of a tool call."""

    id: str
    content: ToolContent
    meta: Meta | None = None


class TerminalExit(Part):
    """How a command ended: by a code, or by a signal."""

    code: int | None = None
    signal: str | None = None
    meta: Meta | None = None


class TerminalChanged(Part, tag_field="event", tag="terminal"):
    """A terminal of the agent is created or changed; `output` replaces all bytes so far."""

    id: str
    command: Maybe[str] = UNSET
    cwd: Maybe[str] = UNSET
    output: Maybe[bytes] = UNSET
    exit: Maybe[TerminalExit] = UNSET
    size: Maybe[tuple[int, int]] = UNSET
    """Columns and rows."""
    cancellable: bool | UnsetType = UNSET
    meta: Maybe[Meta] = UNSET


class TerminalOutput(Part, tag_field="event", tag="terminal_output"):
    """Bytes are appended; they may end within a character or an escape sequence."""

    id: str
    data: bytes
    meta: Meta | None = None


class PlanEntry(Part):
    """One step of a plan."""

    content: str
    status: PlanStatus = "pending"
    priority: PlanPriority = "medium"
    meta: Meta | None = None


class PlanChanged(Part, tag_field="event", tag="plan"):
    """A plan as a whole; it replaces the one under its id."""

    entries: list[PlanEntry]
    id: str = "plan"
    meta: Meta | None = None


class CommandsChanged(Part, tag_field="event", tag="commands"):
    """All slash commands."""

    commands: list[Command]
    meta: Meta | None = None


class ConfigChanged(Part, tag_field="event", tag="config"):
    """All config options with their values."""

    options: list[ConfigOption]
    meta: Meta | None = None


class ModeChanged(Part, tag_field="event", tag="mode"):
    """The current mode, where an edition reports it alone."""

    mode: str
    meta: Meta | None = None


class InfoChanged(Part, tag_field="event", tag="info"):
    """Title or time of the last change."""

    title: Maybe[str] = UNSET
    updated_at: Maybe[str] = UNSET
    meta: Maybe[Meta] = UNSET


class Cost(Part):
    """The cost of the session so far."""

    amount: float
    currency: str
    meta: Meta | None = None


class UsageChanged(Part, tag_field="event", tag="usage"):
    """Tokens in the context, and how many fit."""

    used: int
    size: int
    cost: Maybe[Cost] = UNSET
    meta: Meta | None = None


class Noticed(Part, tag_field="event", tag="notice"):
    """Something the user should see once; never kept, never replayed."""

    title: str
    severity: Severity | str = "info"
    description: str | None = None
    meta: Meta | None = None


class CompactionChanged(Part, tag_field="event", tag="compaction"):
    """The context is being compacted, or was; the first report fixes its place in the conversation."""

    id: str
    status: Literal["in_progress", "completed", "failed", "cancelled"] | str
    summary: Maybe[list[Block]] = UNSET
    error: Maybe[str] = UNSET
    meta: Maybe[Meta] = UNSET


class CompactionChunk(Part, tag_field="event", tag="compaction_chunk"):
    """A block is appended to the summary."""

    id: str
    block: Block
    meta: Meta | None = None


class WorkError(Part):
    """Why work failed: a JSON-RPC error object."""

    code: int
    message: str
    data: JsonValue = None


class Background(Part):
    """Work that goes on while the session is idle: a terminal, a tool call, or an edition's further word.

    `payload` is the whole of such a further one; its `id` is then empty, because how it names itself is not known here.
    """

    kind: Literal["terminal", "tool_call"] | str
    id: str
    meta: Meta | None = None
    payload: dict[str, Any] | None = None


class TokenUsage(Part):
    """The tokens that the model took for one turn; not those in the context, which `UsageChanged` reports.

    `total_tokens` is the agent's own sum: models differ in whether thoughts are part of the output and cached tokens
    part of the input. None is a count that was not reported.
    """

    input_tokens: int
    output_tokens: int
    total_tokens: int
    thought_tokens: int | None = None
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None
    meta: Meta | None = None


class StateChanged(Part, tag_field="event", tag="state"):
    """The state of the session now: a snapshot, idempotent.

    The end of a turn is an `idle` with a stop reason, also where an edition says so in the answer to the prompt. The
    token usage is that of the turn; a snapshot that is repeated repeats it.
    """

    state: SessionState
    stop_reason: StopReason | str | None = None
    error: WorkError | None = None
    background: list[Background] | UnsetType = UNSET
    meta: Meta | None = None
    token_usage: TokenUsage | None = None


class UnknownUpdate(Part, tag_field="event", tag="unknown"):
    """An update that no edition names yet, as it came."""

    tag: str
    payload: dict[str, Any]


Event: TypeAlias = (
    MessageChunk
    | MessageChanged
    | ToolChanged
    | ToolContentAdded
    | TerminalChanged
    | TerminalOutput
    | PlanChanged
    | CommandsChanged
    | ConfigChanged
    | ModeChanged
    | InfoChanged
    | UsageChanged
    | Noticed
    | CompactionChanged
    | CompactionChunk
    | StateChanged
    | UnknownUpdate
)
"""Any event of a session."""
