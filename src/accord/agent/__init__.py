"""What an agent's author is given and writes against, in whichever edition the client speaks."""

from accord.agent.agent import (
    Agent,
    CommandHandler,
    ExtensionHandler,
    LoginHandler,
    OptionHandler,
    PromptHandler,
    SessionHandler,
)
from accord.agent.book import PromptKind
from accord.agent.client import Client
from accord.agent.desk import InUse
from accord.agent.files import Files
from accord.agent.link import Extension
from accord.agent.mcp import (
    McpError,
    McpFailure,
    McpResult,
    McpServers,
    McpTool,
)
from accord.agent.question import (
    Elicitation,
    Permission,
)
from accord.agent.session import Session
from accord.agent.terminal import (
    CommandOutcome,
    Terminal,
    TerminalText,
)
from accord.agent.terminals import (
    OnStart,
    Terminals,
)
from accord.agent.tool import (
    Showable,
    Tool,
    ToolFailed,
)
from accord.agent.turn import (
    Compaction,
    Turn,
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
    "Agent",
    "Background",
    "Client",
    "CommandHandler",
    "CommandOutcome",
    "CommandsChanged",
    "Compaction",
    "CompactionChanged",
    "CompactionChunk",
    "ConfigChanged",
    "Cost",
    "Elicitation",
    "Event",
    "Extension",
    "ExtensionHandler",
    "Files",
    "InUse",
    "InfoChanged",
    "LoginHandler",
    "McpError",
    "McpFailure",
    "McpResult",
    "McpServers",
    "McpTool",
    "MessageChanged",
    "MessageChunk",
    "ModeChanged",
    "Noticed",
    "OnStart",
    "OptionHandler",
    "Permission",
    "PlanChanged",
    "PlanEntry",
    "PromptHandler",
    "PromptKind",
    "Session",
    "SessionHandler",
    "SessionState",
    "Showable",
    "Speaker",
    "StateChanged",
    "StopReason",
    "Terminal",
    "TerminalChanged",
    "TerminalExit",
    "TerminalOutput",
    "TerminalText",
    "Terminals",
    "Tool",
    "ToolChanged",
    "ToolContentAdded",
    "ToolFailed",
    "Turn",
    "UnknownUpdate",
    "UsageChanged",
    "WorkError",
]
