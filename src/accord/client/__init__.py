"""The public API for authors of clients, independent of the edition that the agent speaks."""

from accord.client.agent import ConnectedAgent
from accord.client.blocking import (
    BlockingSession,
    OpenOptions,
    SessionOptions,
    open_session as open,  # noqa: A004 - as a file is opened: to be closed again
)
from accord.client.connect import (
    CommonOptions,
    ConnectOptions,
    StrPath,
    connect,
)
from accord.client.deadline import Deadlines
from accord.client.function import AgentFunction, as_function
from accord.client.inbox import ExtensionCallback
from accord.client.launch import InProcessAgent
from accord.client.login import LoginCallback
from accord.client.policy import (
    AnswerStore,
    DecidedBy,
    Policy,
    RulesFileError,
    Verdict,
    load_rules,
)
from accord.client.prompt import Promptable
from accord.client.question import (
    ElicitAnswer,
    ElicitCallback,
    FormQuestion,
    MachineRequest,
    PermissionAnswer,
    PermissionCallback,
    PermissionQuestion,
    UrlQuestion,
    WiderAnswer,
)
from accord.client.services import (
    Offer,
    WorkspaceFactory,
)
from accord.client.session import (
    Listener,
    Session,
)
from accord.client.turn import Reply, Turn
from accord.connection.sender import Observer
from accord.session.agent_requests import CommandSubject, ReadFile, StartTerminal, WriteFile
from accord.session.claims import (
    CallClaims,
    CommandClaim,
    PathClaim,
)
from accord.session.dialect import EditionChoice
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
from accord.session.remembered import (
    CommandTarget,
    InputTarget,
    PathTarget,
    RememberedAnswer,
    Scope,
    Target,
)
from accord.session.rules import (
    Access,
    Effect,
    Glob,
    Rule,
    Subject,
)
from accord.session.shell_line import SimpleCommand
from accord.transport.remote import LinkReport

__all__ = [
    "Access",
    "AgentFunction",
    "AnswerStore",
    "Background",
    "BlockingSession",
    "CallClaims",
    "CommandClaim",
    "CommandSubject",
    "CommandTarget",
    "CommandsChanged",
    "CommonOptions",
    "CompactionChanged",
    "CompactionChunk",
    "ConfigChanged",
    "ConnectOptions",
    "ConnectedAgent",
    "Cost",
    "Deadlines",
    "DecidedBy",
    "EditionChoice",
    "Effect",
    "ElicitAnswer",
    "ElicitCallback",
    "Event",
    "ExtensionCallback",
    "FormQuestion",
    "Glob",
    "InProcessAgent",
    "InfoChanged",
    "InputTarget",
    "LinkReport",
    "Listener",
    "LoginCallback",
    "MachineRequest",
    "MessageChanged",
    "MessageChunk",
    "Meta",
    "ModeChanged",
    "Noticed",
    "Observer",
    "Offer",
    "OpenOptions",
    "PathClaim",
    "PathTarget",
    "PermissionAnswer",
    "PermissionCallback",
    "PermissionQuestion",
    "PlanChanged",
    "PlanEntry",
    "Policy",
    "Promptable",
    "ReadFile",
    "RememberedAnswer",
    "Reply",
    "Rule",
    "RulesFileError",
    "Scope",
    "Session",
    "SessionOptions",
    "SessionState",
    "Severity",
    "SimpleCommand",
    "Speaker",
    "StartTerminal",
    "StateChanged",
    "StopReason",
    "StrPath",
    "Subject",
    "Target",
    "TerminalChanged",
    "TerminalExit",
    "TerminalOutput",
    "TokenUsage",
    "ToolChanged",
    "ToolContentAdded",
    "Turn",
    "UnknownUpdate",
    "UrlQuestion",
    "UsageChanged",
    "Verdict",
    "WiderAnswer",
    "WorkError",
    "WorkspaceFactory",
    "WriteFile",
    "as_function",
    "connect",
    "load_rules",
    "open",
]
