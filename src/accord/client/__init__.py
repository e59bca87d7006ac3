"""What a client's author is given and writes against: any agent, in whichever edition it speaks."""

from accord.client.agent import ConnectedAgent
from accord.client.blocking import (
    BlockingSession,
    OpenOptions,
    Reply,
)
from accord.client.blocking import open_session as open  # noqa: A004 - as a file is opened: to be closed again
from accord.client.connect import (
    ConnectOptions,
    StrPath,
    connect,
)
from accord.client.deadline import Deadlines
from accord.client.dial import Observer
from accord.client.door import InProcessAgent
from accord.client.handshake import EditionChoice
from accord.client.login import LoginCallback
from accord.client.policy import (
    AnswerStore,
    Policy,
    Verdict,
)
from accord.client.prompt import Promptable
from accord.client.question import (
    ElicitAnswer,
    ElicitCallback,
    FormQuestion,
    PermissionAnswer,
    PermissionCallback,
    PermissionQuestion,
    UrlQuestion,
    WiderAnswer,
)
from accord.client.rules_file import (
    RulesFileError,
    load_rules,
)
from accord.client.services import (
    Offer,
    WorkspaceFactory,
)
from accord.client.session import (
    Listener,
    Session,
)
from accord.client.turn import Turn
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
    ToolChanged,
    ToolContentAdded,
    UnknownUpdate,
    Usage,
    UsageChanged,
    WorkError,
)

__all__ = [
    "AnswerStore",
    "Background",
    "BlockingSession",
    "CommandsChanged",
    "CompactionChanged",
    "CompactionChunk",
    "ConfigChanged",
    "ConnectOptions",
    "ConnectedAgent",
    "Cost",
    "Deadlines",
    "EditionChoice",
    "ElicitAnswer",
    "ElicitCallback",
    "Event",
    "FormQuestion",
    "InProcessAgent",
    "InfoChanged",
    "Listener",
    "LoginCallback",
    "MessageChanged",
    "MessageChunk",
    "Meta",
    "ModeChanged",
    "Noticed",
    "Observer",
    "Offer",
    "OpenOptions",
    "PermissionAnswer",
    "PermissionCallback",
    "PermissionQuestion",
    "PlanChanged",
    "PlanEntry",
    "Policy",
    "Promptable",
    "Reply",
    "RulesFileError",
    "Session",
    "SessionState",
    "Severity",
    "Speaker",
    "StateChanged",
    "StopReason",
    "StrPath",
    "TerminalChanged",
    "TerminalExit",
    "TerminalOutput",
    "ToolChanged",
    "ToolContentAdded",
    "Turn",
    "UnknownUpdate",
    "UrlQuestion",
    "Usage",
    "UsageChanged",
    "Verdict",
    "WiderAnswer",
    "WorkError",
    "WorkspaceFactory",
    "connect",
    "load_rules",
    "open",
]
