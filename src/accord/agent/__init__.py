"""What an agent author says and hears, in whichever edition its client speaks."""

from accord.agent.agent import Agent
from accord.agent.blocking import BlockingClient, BlockingExtension, BlockingSession, BlockingTool, BlockingTurn
from accord.agent.client import Client
from accord.agent.link import Extension
from accord.agent.question import Elicitation, Permission
from accord.agent.session import Session
from accord.agent.tool import Tool, ToolFailed
from accord.agent.turn import Compaction, Turn

__all__ = [
    "Agent",
    "BlockingClient",
    "BlockingExtension",
    "BlockingSession",
    "BlockingTool",
    "BlockingTurn",
    "Client",
    "Compaction",
    "Elicitation",
    "Extension",
    "Permission",
    "Session",
    "Tool",
    "ToolFailed",
    "Turn",
]
