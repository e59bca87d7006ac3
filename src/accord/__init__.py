"""The Agent Client Protocol for Python: both sides of it, in every edition.

`accord` has the entry points (`Agent`, `connect`, `open`), what both sides share (content, events, options, the
transcript, errors) and the engine. `accord.agent` has what an agent's author is given, `accord.client` what a client's
author is given, `accord.testing` both ends for tests, `accord.check` the conformance checker. The types of an edition
are in `accord.protocol.v1`, `accord.protocol.v2` and `accord.protocol.v2_june`.

Names are loaded when they are first used, so that `import accord` stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from accord.version import VERSION

if TYPE_CHECKING:
    from accord import agent, check, client, testing
    from accord.agent import (
        Agent,
        ToolFailed,
    )
    from accord.agent.mcp.errors import McpError
    from accord.client import (
        Deadlines,
        Offer,
        Policy,
        RulesFileError,
        connect,
        load_rules,
        open,  # noqa: A004
    )
    from accord.connection import (
        Connection,
        Handlers,
        current_request,
    )
    from accord.connection.handlers import (
        Arrival,
        Handler,
        JsonHandler,
        NotificationHandler,
        RequestHandler,
    )
    from accord.connection.receiver import Counts
    from accord.connection.request import IncomingRequest
    from accord.connection.sender import Observer
    from accord.dialects import DialectPlugin
    from accord.errors import (
        AccordError,
        AuthRequired,
        BacklogExceeded,
        CallTimeout,
        ConnectFailed,
        ConnectionLost,
        DeadlineExceeded,
        ElicitationRequired,
        FrameError,
        InternalError,
        InvalidParams,
        InvalidRequest,
        LocalProtocolError,
        MethodNotFound,
        NegotiationFailed,
        ParseError,
        PermissionDenied,
        ProtocolError,
        RateLimited,
        RemoteProtocolError,
        RequestCancelled,
        RequestError,
        ResourceNotFound,
        SessionInUse,
        StoreError,
        TransportError,
        UnsupportedVersion,
    )
    from accord.json_values import JsonValue
    from accord.jsonrpc.message import MessageRules
    from accord.protocol.edition import (
        V1,
        V2,
        V2_JUNE,
        Edition,
    )
    from accord.protocol.method import (
        Method,
        NotificationMethod,
        RequestMethod,
        Side,
    )
    from accord.protocol.model import (
        UNSET,
        Maybe,
        Unknown,
        UnsetType,
    )
    from accord.session.capability import (
        AgentCapabilities,
        AuthMethod,
        ClientCapabilities,
        Implementation,
    )
    from accord.session.client_requests import McpServer, SessionSummary
    from accord.session.content import (
        Annotations,
        Audio,
        Block,
        Blocks,
        Icon,
        Image,
        Link,
        Resource,
        Text,
    )
    from accord.session.entry import (
        CompactionEntry,
        Entry,
        Message,
        Passage,
        Plan,
        TerminalEntry,
        ToolCall,
        TurnSpan,
        UnknownEntry,
    )
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
        Meta,
        ModeChanged,
        Noticed,
        PlanChanged,
        PlanEntry,
        SessionState,
        Severity,
        Speaker,
        StateChanged,
        StopReason,
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
    from accord.session.option import (
        Choice,
        Command,
        ConfigOption,
        Consent,
        Group,
        PermissionOption,
        Select,
        Toggle,
    )
    from accord.session.tool import (
        Diff,
        FileChange,
        Location,
        Shown,
        TerminalView,
        ToolContent,
        ToolKind,
        ToolStatus,
    )
    from accord.session.transcript import Transcript
    from accord.stores import (
        MemoryStore,
        SqliteStore,
        Store,
        check_store,
    )
    from accord.stores.check import MakeStore
    from accord.stores.interface import (
        SessionPage,
        SessionRecord,
    )
    from accord.transport import (
        Transport,
        check_transport,
        memory_pair,
        open_stdio,
        spawn,
    )
    from accord.transport.check import MakePair
    from accord.transport.interface import ProcessTransport
    from accord.wire import Framing
    from accord.workspace import (
        Workspace,
        WorkspaceError,
    )
    from accord.workspace.disk import Missing
    from accord.workspace.files import (
        ReadHook,
        WriteHook,
    )

__version__ = VERSION

_HOMES = {
    "accord.agent": (
        "Agent",
        "ToolFailed",
    ),
    "accord.agent.mcp.errors": ("McpError",),
    "accord.client": (
        "Deadlines",
        "Offer",
        "Policy",
        "RulesFileError",
        "connect",
        "load_rules",
        "open",
    ),
    "accord.connection": (
        "Connection",
        "Handlers",
        "current_request",
    ),
    "accord.connection.handlers": (
        "Arrival",
        "Handler",
        "JsonHandler",
        "NotificationHandler",
        "RequestHandler",
    ),
    "accord.connection.request": ("IncomingRequest",),
    "accord.connection.sender": ("Observer",),
    "accord.connection.receiver": ("Counts",),
    "accord.dialects": ("DialectPlugin",),
    "accord.errors": (
        "AccordError",
        "AuthRequired",
        "BacklogExceeded",
        "CallTimeout",
        "ConnectFailed",
        "ConnectionLost",
        "DeadlineExceeded",
        "ElicitationRequired",
        "FrameError",
        "InternalError",
        "InvalidParams",
        "InvalidRequest",
        "LocalProtocolError",
        "MethodNotFound",
        "NegotiationFailed",
        "ParseError",
        "PermissionDenied",
        "ProtocolError",
        "RateLimited",
        "RemoteProtocolError",
        "RequestCancelled",
        "RequestError",
        "ResourceNotFound",
        "SessionInUse",
        "StoreError",
        "TransportError",
        "UnsupportedVersion",
    ),
    "accord.json_values": ("JsonValue",),
    "accord.jsonrpc.message": ("MessageRules",),
    "accord.protocol.edition": (
        "Edition",
        "V1",
        "V2",
        "V2_JUNE",
    ),
    "accord.protocol.method": (
        "Method",
        "NotificationMethod",
        "RequestMethod",
        "Side",
    ),
    "accord.protocol.model": (
        "Maybe",
        "UNSET",
        "Unknown",
        "UnsetType",
    ),
    "accord.session.client_requests": (
        "McpServer",
        "SessionSummary",
    ),
    "accord.session.capability": (
        "AgentCapabilities",
        "AuthMethod",
        "ClientCapabilities",
        "Implementation",
    ),
    "accord.session.content": (
        "Annotations",
        "Audio",
        "Block",
        "Blocks",
        "Icon",
        "Image",
        "Link",
        "Resource",
        "Text",
    ),
    "accord.session.entry": (
        "CompactionEntry",
        "Entry",
        "Message",
        "Passage",
        "Plan",
        "TerminalEntry",
        "ToolCall",
        "TurnSpan",
        "UnknownEntry",
    ),
    "accord.session.event": (
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
    ),
    "accord.session.option": (
        "Choice",
        "Command",
        "ConfigOption",
        "Consent",
        "Group",
        "PermissionOption",
        "Select",
        "Toggle",
    ),
    "accord.session.tool": (
        "Diff",
        "FileChange",
        "Location",
        "Shown",
        "TerminalView",
        "ToolContent",
        "ToolKind",
        "ToolStatus",
    ),
    "accord.session.transcript": ("Transcript",),
    "accord.stores": (
        "MemoryStore",
        "SqliteStore",
        "Store",
        "check_store",
    ),
    "accord.stores.check": ("MakeStore",),
    "accord.stores.interface": (
        "SessionPage",
        "SessionRecord",
    ),
    "accord.transport": (
        "Transport",
        "check_transport",
        "memory_pair",
        "open_stdio",
        "spawn",
    ),
    "accord.transport.check": ("MakePair",),
    "accord.transport.interface": ("ProcessTransport",),
    "accord.wire": ("Framing",),
    "accord.workspace": (
        "Workspace",
        "WorkspaceError",
    ),
    "accord.workspace.disk": ("Missing",),
    "accord.workspace.files": (
        "ReadHook",
        "WriteHook",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_SIDES = frozenset({"agent", "check", "client", "testing"})

__all__ = [
    "UNSET",
    "V1",
    "V2",
    "V2_JUNE",
    "AccordError",
    "Agent",
    "AgentCapabilities",
    "Annotations",
    "Arrival",
    "Audio",
    "AuthMethod",
    "AuthRequired",
    "Background",
    "BacklogExceeded",
    "Block",
    "Blocks",
    "CallTimeout",
    "Choice",
    "ClientCapabilities",
    "Command",
    "CommandsChanged",
    "CompactionChanged",
    "CompactionChunk",
    "CompactionEntry",
    "ConfigChanged",
    "ConfigOption",
    "ConnectFailed",
    "Connection",
    "ConnectionLost",
    "Consent",
    "Cost",
    "Counts",
    "DeadlineExceeded",
    "Deadlines",
    "DialectPlugin",
    "Diff",
    "Edition",
    "ElicitationRequired",
    "Entry",
    "Event",
    "FileChange",
    "FrameError",
    "Framing",
    "Group",
    "Handler",
    "Handlers",
    "Icon",
    "Image",
    "Implementation",
    "IncomingRequest",
    "InfoChanged",
    "InternalError",
    "InvalidParams",
    "InvalidRequest",
    "JsonHandler",
    "JsonValue",
    "Link",
    "LocalProtocolError",
    "Location",
    "MakePair",
    "MakeStore",
    "Maybe",
    "McpError",
    "McpServer",
    "MemoryStore",
    "Message",
    "MessageChanged",
    "MessageChunk",
    "MessageRules",
    "Meta",
    "Method",
    "MethodNotFound",
    "Missing",
    "ModeChanged",
    "NegotiationFailed",
    "Noticed",
    "NotificationHandler",
    "NotificationMethod",
    "Observer",
    "Offer",
    "ParseError",
    "Passage",
    "PermissionDenied",
    "PermissionOption",
    "Plan",
    "PlanChanged",
    "PlanEntry",
    "Policy",
    "ProcessTransport",
    "ProtocolError",
    "RateLimited",
    "ReadHook",
    "RemoteProtocolError",
    "RequestCancelled",
    "RequestError",
    "RequestHandler",
    "RequestMethod",
    "Resource",
    "ResourceNotFound",
    "RulesFileError",
    "Select",
    "SessionInUse",
    "SessionPage",
    "SessionRecord",
    "SessionState",
    "SessionSummary",
    "Severity",
    "Shown",
    "Side",
    "Speaker",
    "SqliteStore",
    "StateChanged",
    "StopReason",
    "Store",
    "StoreError",
    "TerminalChanged",
    "TerminalEntry",
    "TerminalExit",
    "TerminalOutput",
    "TerminalView",
    "Text",
    "Toggle",
    "TokenUsage",
    "ToolCall",
    "ToolChanged",
    "ToolContent",
    "ToolContentAdded",
    "ToolFailed",
    "ToolKind",
    "ToolStatus",
    "Transcript",
    "Transport",
    "TransportError",
    "TurnSpan",
    "Unknown",
    "UnknownEntry",
    "UnknownUpdate",
    "UnsetType",
    "UnsupportedVersion",
    "UsageChanged",
    "WorkError",
    "Workspace",
    "WorkspaceError",
    "WriteHook",
    "__version__",
    "agent",
    "check",
    "check_store",
    "check_transport",
    "client",
    "connect",
    "current_request",
    "load_rules",
    "memory_pair",
    "open",
    "open_stdio",
    "spawn",
    "testing",
]


def __getattr__(name: str) -> Any:
    if name in _SIDES:
        return import_module(f"accord.{name}")
    home = _HOME_OF.get(name)
    if home is None:
        message = f"module 'accord' has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
