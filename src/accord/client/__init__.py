"""What a client's author is given and writes against: any agent, in whichever edition it speaks."""

from accord.client.agent import ConnectedAgent
from accord.client.blocking import (
    BlockingSession,
    Reply,
)
from accord.client.blocking import open_session as open  # noqa: A004 - as a file is opened: to be closed again
from accord.client.connect import connect
from accord.client.deadline import Deadlines
from accord.client.dial import Observer
from accord.client.door import InProcessAgent
from accord.client.handshake import EditionWish
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
from accord.client.session import Session
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
    ModeChanged,
    Noticed,
    PlanChanged,
    PlanEntry,
    SessionState,
    Speaker,
    StateChanged,
    StopReason,
    TerminalChanged,
    TerminalExit,
    TerminalOutput,
    ToolChanged,
    ToolContentAdded,
    UnknownUpdate,
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
    "ConnectedAgent",
    "Cost",
    "Deadlines",
    "EditionWish",
    "ElicitAnswer",
    "ElicitCallback",
    "Event",
    "FormQuestion",
    "InProcessAgent",
    "InfoChanged",
    "LoginCallback",
    "MessageChanged",
    "MessageChunk",
    "ModeChanged",
    "Noticed",
    "Observer",
    "Offer",
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
    "Speaker",
    "StateChanged",
    "StopReason",
    "TerminalChanged",
    "TerminalExit",
    "TerminalOutput",
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
    "connect",
    "load_rules",
    "open",
]
