"""The Agent Client Protocol for Python: both sides of it, in every edition.

`accord` has the entry points (`Agent`, `connect`, `open`), what both sides share (content, events, options, the
transcript, errors) and the engine. `accord.agent` has what an agent's author is given, `accord.client` what a client's
author is given, `accord.testing` both ends for tests, `accord.check` the conformance checker, `accord.serve` the server
for the network, `accord.adapters` what serves the agents of other frameworks, `accord.trace` the wire in a file. The
types of an edition are in `accord.protocol.v1`, `accord.protocol.v2` and `accord.protocol.v2_june`.

Names are loaded when they are first used, so that `import accord` stays cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.lazy import lazy_exports
from accord.version import VERSION

__version__ = VERSION

if TYPE_CHECKING:
    from accord import (
        adapters as adapters,
        agent as agent,
        check as check,
        client as client,
        evaluation as evaluation,
        serve as serve,
        testing as testing,
        trace as trace,
        workspace as workspace,
    )
    from accord.agent import (
        Agent as Agent,
        ToolFailed as ToolFailed,
        current_turn as current_turn,
    )
    from accord.agent.mcp.tool import (
        McpError as McpError,
    )
    from accord.client import (
        Deadlines as Deadlines,
        Offer as Offer,
        Policy as Policy,
        RulesFileError as RulesFileError,
        as_function as as_function,
        connect as connect,
        load_rules as load_rules,
        open as open,  # noqa: A004
    )
    from accord.connection import (
        Connection as Connection,
        Handlers as Handlers,
        current_request as current_request,
    )
    from accord.connection.handlers import (
        Arrival as Arrival,
        Handler as Handler,
        JsonHandler as JsonHandler,
        NotificationHandler as NotificationHandler,
        RequestHandler as RequestHandler,
        RunHandler as RunHandler,
    )
    from accord.connection.receiver import (
        Counts as Counts,
    )
    from accord.connection.request import (
        IncomingRequest as IncomingRequest,
    )
    from accord.connection.sender import (
        Observer as Observer,
    )
    from accord.dialects import (
        DialectPlugin as DialectPlugin,
    )
    from accord.errors import (
        AccordError as AccordError,
        AuthRequired as AuthRequired,
        BacklogExceeded as BacklogExceeded,
        CallTimeout as CallTimeout,
        ConnectFailed as ConnectFailed,
        ConnectionLost as ConnectionLost,
        DeadlineExceeded as DeadlineExceeded,
        ElicitationRequired as ElicitationRequired,
        FrameError as FrameError,
        InternalError as InternalError,
        InvalidParams as InvalidParams,
        InvalidRequest as InvalidRequest,
        LocalProtocolError as LocalProtocolError,
        MethodNotFound as MethodNotFound,
        NegotiationFailed as NegotiationFailed,
        ParseError as ParseError,
        PermissionDenied as PermissionDenied,
        ProtocolError as ProtocolError,
        RateLimited as RateLimited,
        RemoteProtocolError as RemoteProtocolError,
        RequestCancelled as RequestCancelled,
        RequestError as RequestError,
        ResourceNotFound as ResourceNotFound,
        SessionInUse as SessionInUse,
        StoreError as StoreError,
        TransportError as TransportError,
        UnsupportedVersion as UnsupportedVersion,
    )
    from accord.evaluation import (
        evaluate as evaluate,
    )
    from accord.json_values import (
        JsonValue as JsonValue,
    )
    from accord.jsonrpc.message import (
        MessageRules as MessageRules,
    )
    from accord.protocol.edition import (
        V1 as V1,
        V2 as V2,
        V2_JUNE as V2_JUNE,
        Edition as Edition,
    )
    from accord.protocol.method import (
        Method as Method,
        NotificationMethod as NotificationMethod,
        RequestMethod as RequestMethod,
        Side as Side,
    )
    from accord.protocol.model import (
        UNSET as UNSET,
        Maybe as Maybe,
        Unknown as Unknown,
        UnsetType as UnsetType,
    )
    from accord.session.capability import (
        AgentCapabilities as AgentCapabilities,
        AuthMethod as AuthMethod,
        ClientCapabilities as ClientCapabilities,
        Implementation as Implementation,
    )
    from accord.session.client_requests import (
        McpServer as McpServer,
        SessionSummary as SessionSummary,
    )
    from accord.session.content import (
        Annotations as Annotations,
        Audio as Audio,
        Block as Block,
        Blocks as Blocks,
        Icon as Icon,
        Image as Image,
        Link as Link,
        Resource as Resource,
        Role as Role,
        Text as Text,
    )
    from accord.session.custom import (
        Custom as Custom,
        custom as custom,
    )
    from accord.session.entry import (
        CompactionEntry as CompactionEntry,
        Entry as Entry,
        Message as Message,
        Passage as Passage,
        Plan as Plan,
        TerminalEntry as TerminalEntry,
        ToolCall as ToolCall,
        TurnSpan as TurnSpan,
        UnknownEntry as UnknownEntry,
    )
    from accord.session.event import (
        Background as Background,
        CommandsChanged as CommandsChanged,
        CompactionChanged as CompactionChanged,
        CompactionChunk as CompactionChunk,
        ConfigChanged as ConfigChanged,
        Cost as Cost,
        Event as Event,
        InfoChanged as InfoChanged,
        MessageChanged as MessageChanged,
        MessageChunk as MessageChunk,
        Meta as Meta,
        ModeChanged as ModeChanged,
        Noticed as Noticed,
        PlanChanged as PlanChanged,
        PlanEntry as PlanEntry,
        PlanPriority as PlanPriority,
        PlanStatus as PlanStatus,
        SessionState as SessionState,
        Severity as Severity,
        Speaker as Speaker,
        StateChanged as StateChanged,
        StopReason as StopReason,
        TerminalChanged as TerminalChanged,
        TerminalExit as TerminalExit,
        TerminalOutput as TerminalOutput,
        TokenUsage as TokenUsage,
        ToolChanged as ToolChanged,
        ToolContentAdded as ToolContentAdded,
        UnknownUpdate as UnknownUpdate,
        UsageChanged as UsageChanged,
        WorkError as WorkError,
    )
    from accord.session.option import (
        Choice as Choice,
        Command as Command,
        ConfigOption as ConfigOption,
        Consent as Consent,
        Group as Group,
        OptionCategory as OptionCategory,
        PermissionKind as PermissionKind,
        PermissionOption as PermissionOption,
        Select as Select,
        Toggle as Toggle,
    )
    from accord.session.tool import (
        Diff as Diff,
        FileChange as FileChange,
        FileOperation as FileOperation,
        Location as Location,
        Shown as Shown,
        TerminalView as TerminalView,
        ToolContent as ToolContent,
        ToolKind as ToolKind,
        ToolStatus as ToolStatus,
    )
    from accord.session.transcript import (
        Transcript as Transcript,
    )
    from accord.stores import (
        MemoryStore as MemoryStore,
        NodeRecord as NodeRecord,
        PostgresStore as PostgresStore,
        SqliteStore as SqliteStore,
        Store as Store,
        check_store as check_store,
        copy_sessions as copy_sessions,
    )
    from accord.stores.check import (
        MakeStore as MakeStore,
    )
    from accord.stores.interface import (
        SessionPage as SessionPage,
        SessionRecord as SessionRecord,
    )
    from accord.transport import (
        Transport as Transport,
        check_transport as check_transport,
        memory_pair as memory_pair,
        open_stdio as open_stdio,
        spawn as spawn,
    )
    from accord.transport.check import (
        MakePair as MakePair,
    )
    from accord.transport.interface import (
        ProcessTransport as ProcessTransport,
    )
    from accord.wire import (
        Framing as Framing,
    )
    from accord.workspace import (
        Workspace as Workspace,
        WorkspaceError as WorkspaceError,
    )
    from accord.workspace.disk import (
        Missing as Missing,
    )
    from accord.workspace.files import (
        ReadHook as ReadHook,
        WriteHook as WriteHook,
    )

    __all__: list[str]
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "accord.agent": "Agent ToolFailed current_turn",
            "accord.agent.mcp.tool": "McpError",
            "accord.client": "Deadlines Offer Policy RulesFileError as_function connect load_rules open",
            "accord.connection": "Connection Handlers current_request",
            "accord.connection.handlers": "Arrival Handler JsonHandler NotificationHandler RequestHandler RunHandler",
            "accord.connection.receiver": "Counts",
            "accord.connection.request": "IncomingRequest",
            "accord.connection.sender": "Observer",
            "accord.dialects": "DialectPlugin",
            "accord.errors": (
                "AccordError AuthRequired BacklogExceeded CallTimeout ConnectFailed ConnectionLost "
                "DeadlineExceeded ElicitationRequired FrameError InternalError InvalidParams "
                "InvalidRequest LocalProtocolError MethodNotFound NegotiationFailed ParseError "
                "PermissionDenied ProtocolError RateLimited RemoteProtocolError RequestCancelled "
                "RequestError ResourceNotFound SessionInUse StoreError TransportError "
                "UnsupportedVersion"
            ),
            "accord.evaluation": "evaluate",
            "accord.json_values": "JsonValue",
            "accord.jsonrpc.message": "MessageRules",
            "accord.protocol.edition": "Edition V1 V2 V2_JUNE",
            "accord.protocol.method": "Method NotificationMethod RequestMethod Side",
            "accord.protocol.model": "Maybe UNSET Unknown UnsetType",
            "accord.session.capability": "AgentCapabilities AuthMethod ClientCapabilities Implementation",
            "accord.session.client_requests": "McpServer SessionSummary",
            "accord.session.content": "Annotations Audio Block Blocks Icon Image Link Resource Role Text",
            "accord.session.custom": "Custom custom",
            "accord.session.entry": (
                "CompactionEntry Entry Message Passage Plan TerminalEntry ToolCall TurnSpan UnknownEntry"
            ),
            "accord.session.event": (
                "Background CommandsChanged CompactionChanged CompactionChunk ConfigChanged Cost "
                "Event InfoChanged MessageChanged MessageChunk Meta ModeChanged Noticed PlanChanged "
                "PlanEntry PlanPriority PlanStatus SessionState Severity Speaker StateChanged StopReason "
                "TerminalChanged TerminalExit TerminalOutput TokenUsage ToolChanged ToolContentAdded UnknownUpdate "
                "UsageChanged WorkError"
            ),
            "accord.session.option": (
                "Choice Command ConfigOption Consent Group OptionCategory PermissionKind PermissionOption Select Toggle"
            ),
            "accord.session.tool": (
                "Diff FileChange FileOperation Location Shown TerminalView ToolContent ToolKind ToolStatus"
            ),
            "accord.session.transcript": "Transcript",
            "accord.stores": "MemoryStore NodeRecord PostgresStore SqliteStore Store check_store copy_sessions",
            "accord.stores.check": "MakeStore",
            "accord.stores.interface": "SessionPage SessionRecord",
            "accord.transport": "Transport check_transport memory_pair open_stdio spawn",
            "accord.transport.check": "MakePair",
            "accord.transport.interface": "ProcessTransport",
            "accord.wire": "Framing",
            "accord.workspace": "Workspace WorkspaceError",
            "accord.workspace.disk": "Missing",
            "accord.workspace.files": "ReadHook WriteHook",
        },
        eager=("__version__",),
        submodules=("adapters", "agent", "check", "client", "evaluation", "serve", "testing", "trace", "workspace"),
    )
