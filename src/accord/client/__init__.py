"""What a client author says and hears: any agent, in whichever edition it speaks."""

from accord.client.agent import RemoteAgent
from accord.client.blocking import BlockingSession, Reply
from accord.client.blocking import open_session as open  # noqa: A004 - as a file is opened: to be closed again
from accord.client.connect import connect
from accord.client.deadline import Deadlines
from accord.client.policy import AnswerStore, Policy, Verdict
from accord.client.question import FormQuestion, PermissionQuestion, UrlQuestion, WiderAnswer
from accord.client.rules_file import RulesFileError, load_rules
from accord.client.session import ClientSession
from accord.client.turn import PromptTurn

__all__ = [
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
]
