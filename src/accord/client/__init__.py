"""What a client author says and hears: any agent, in whichever edition it speaks."""

from accord.client.agent import RemoteAgent
from accord.client.blocking import BlockingSession, Reply
from accord.client.blocking import open_session as open  # noqa: A004 - as a file is opened: to be closed again
from accord.client.connect import connect
from accord.client.deadline import Deadlines
from accord.client.policy import Policy, RulesFileError, load_rules
from accord.client.question import FormQuestion, PermissionQuestion, UrlQuestion
from accord.client.session import ClientSession
from accord.client.turn import PromptTurn

__all__ = [
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
    "connect",
    "load_rules",
    "open",
]
