"""The Agent Client Protocol for Python: both sides of it, in every edition.

Names are loaded when they are first used, so that `import accord` stays cheap. The types of an edition live in
`accord.protocol.v1`, `accord.protocol.v2` and `accord.protocol.v2_june`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from accord.version import VERSION

if TYPE_CHECKING:
    from accord.agent import Agent, Elicitation, Extension, Permission, Session, Tool, ToolFailed, Turn
    from accord.agent.mcp.errors import (
        McpError,
    )
    from accord.agent.terminal import (
        CommandOutcome,
        Terminal,
    )
    from accord.client import (
        AnswerStore,
        BlockingSession,
        ClientSession,
        Deadlines,
        FormQuestion,
        PermissionQuestion,
        Policy,
        PromptTurn,
        RemoteAgent,
        Reply,
        RulesFileError,
        UrlQuestion,
        Verdict,
        WiderAnswer,
        connect,
        load_rules,
        open,  # noqa: A004
    )
    from accord.connection import Connection, Handlers, current_request
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
    from accord.protocol.edition import V1, V2, V2_JUNE, Edition
    from accord.protocol.model import UNSET, Unknown
    from accord.session.ask import McpServer
    from accord.session.content import Annotations, Audio, Image, Link, Resource, Text
    from accord.session.event import PlanEntry
    from accord.session.option import (
        Choice,
        Command,
        Group,
        PermissionOption,
    )
    from accord.session.tool import Diff, FileChange, Location
    from accord.session.transcript import Transcript
    from accord.stores import MemoryStore, SqliteStore, Store, check_store
    from accord.transport import Transport, check_transport, memory_pair, open_stdio, spawn
    from accord.workspace import (
        Workspace,
        WorkspaceError,
    )

__version__ = VERSION

_HOMES = {
    "accord.workspace": (
        "Workspace",
        "WorkspaceError",
    ),
    "accord.agent.mcp.errors": ("McpError",),
    "accord.agent.terminal": (
        "CommandOutcome",
        "Terminal",
    ),
    "accord.agent": ("Agent", "Elicitation", "Extension", "Permission", "Session", "Tool", "ToolFailed", "Turn"),
    "accord.client": (
        "AnswerStore",
        "BlockingSession",
        "ClientSession",
        "Deadlines",
        "FormQuestion",
        "PermissionQuestion",
        "Policy",
        "PromptTurn",
        "RemoteAgent",
        "Reply",
        "RulesFileError",
        "UrlQuestion",
        "Verdict",
        "WiderAnswer",
        "connect",
        "load_rules",
        "open",
    ),
    "accord.connection": ("Connection", "Handlers", "current_request"),
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
    "accord.protocol.edition": ("V1", "V2", "V2_JUNE", "Edition"),
    "accord.protocol.model": ("UNSET", "Unknown"),
    "accord.session.ask": ("McpServer",),
    "accord.session.content": ("Annotations", "Audio", "Image", "Link", "Resource", "Text"),
    "accord.session.event": ("PlanEntry",),
    "accord.session.option": (
        "Choice",
        "Command",
        "Group",
        "PermissionOption",
    ),
    "accord.session.tool": ("Diff", "FileChange", "Location"),
    "accord.session.transcript": ("Transcript",),
    "accord.stores": ("MemoryStore", "SqliteStore", "Store", "check_store"),
    "accord.transport": ("Transport", "check_transport", "memory_pair", "open_stdio", "spawn"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "UNSET",
    "V1",
    "V2",
    "V2_JUNE",
    "AccordError",
    "Agent",
    "Annotations",
    "AnswerStore",
    "Audio",
    "AuthRequired",
    "BacklogExceeded",
    "BlockingSession",
    "CallTimeout",
    "Choice",
    "ClientSession",
    "Command",
    "CommandOutcome",
    "ConnectFailed",
    "Connection",
    "ConnectionLost",
    "DeadlineExceeded",
    "Deadlines",
    "DialectPlugin",
    "Diff",
    "Edition",
    "Elicitation",
    "ElicitationRequired",
    "Extension",
    "FileChange",
    "FormQuestion",
    "FrameError",
    "Group",
    "Handlers",
    "Image",
    "InternalError",
    "InvalidParams",
    "InvalidRequest",
    "Link",
    "LocalProtocolError",
    "Location",
    "McpError",
    "McpServer",
    "MemoryStore",
    "MethodNotFound",
    "NegotiationFailed",
    "ParseError",
    "Permission",
    "PermissionDenied",
    "PermissionOption",
    "PermissionQuestion",
    "PlanEntry",
    "Policy",
    "PromptTurn",
    "ProtocolError",
    "RateLimited",
    "RemoteAgent",
    "RemoteProtocolError",
    "Reply",
    "RequestCancelled",
    "RequestError",
    "Resource",
    "ResourceNotFound",
    "RulesFileError",
    "Session",
    "SessionInUse",
    "SqliteStore",
    "Store",
    "StoreError",
    "Terminal",
    "Text",
    "Tool",
    "ToolFailed",
    "Transcript",
    "Transport",
    "TransportError",
    "Turn",
    "Unknown",
    "UnsupportedVersion",
    "UrlQuestion",
    "Verdict",
    "WiderAnswer",
    "Workspace",
    "WorkspaceError",
    "__version__",
    "check_store",
    "check_transport",
    "connect",
    "current_request",
    "load_rules",
    "memory_pair",
    "open",
    "open_stdio",
    "spawn",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        message = f"module 'accord' has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
