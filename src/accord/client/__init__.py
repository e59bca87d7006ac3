"""What a client author says and hears: any agent, in whichever edition it speaks."""

from accord.client.agent import RemoteAgent
from accord.client.connect import connect
from accord.client.deadline import Deadlines
from accord.client.question import FormQuestion, PermissionQuestion, UrlQuestion
from accord.client.session import ClientSession
from accord.client.turn import PromptTurn

__all__ = [
    "ClientSession",
    "Deadlines",
    "FormQuestion",
    "PermissionQuestion",
    "PromptTurn",
    "RemoteAgent",
    "UrlQuestion",
    "connect",
]
