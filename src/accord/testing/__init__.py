"""Both ends of a conversation in memory, scripted peers, a recorder, checkers: for tests.

Nothing of it is loaded before it is used: pytest imports this package for its plugin, whatever it then runs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from accord.testing.answers import Answers, Question, UnexpectedQuestion
    from accord.testing.checkers import StoreCheckFailed, TransportCheckFailed, check_store, check_transport
    from accord.testing.files import read_files, write_files
    from accord.testing.greeting import Greeting
    from accord.testing.joint import TEST_DEADLINES, JoinOptions, join
    from accord.testing.message import Message
    from accord.testing.peer import ScriptFailed
    from accord.testing.program import command_of
    from accord.testing.recorder import Direction, Record, Recorder
    from accord.testing.roles import AgentPeer, ClientPeer
    from accord.testing.scripted import AgentScript, ClientScript, ScriptedAgent, ScriptedClient

__all__ = [
    "TEST_DEADLINES",
    "AgentPeer",
    "AgentScript",
    "Answers",
    "ClientPeer",
    "ClientScript",
    "Direction",
    "Greeting",
    "JoinOptions",
    "Message",
    "Question",
    "Record",
    "Recorder",
    "ScriptFailed",
    "ScriptedAgent",
    "ScriptedClient",
    "StoreCheckFailed",
    "TransportCheckFailed",
    "UnexpectedQuestion",
    "check_store",
    "check_transport",
    "command_of",
    "join",
    "read_files",
    "write_files",
]

_HOMES = {
    "Question": "answers",
    "JoinOptions": "joint",
    "Greeting": "greeting",
    "Direction": "recorder",
    "ClientScript": "scripted",
    "AgentScript": "scripted",
    "TEST_DEADLINES": "joint",
    "AgentPeer": "roles",
    "Answers": "answers",
    "ClientPeer": "roles",
    "Message": "message",
    "Record": "recorder",
    "Recorder": "recorder",
    "ScriptFailed": "peer",
    "ScriptedAgent": "scripted",
    "ScriptedClient": "scripted",
    "StoreCheckFailed": "checkers",
    "TransportCheckFailed": "checkers",
    "UnexpectedQuestion": "answers",
    "check_store": "checkers",
    "check_transport": "checkers",
    "command_of": "program",
    "join": "joint",
    "read_files": "files",
    "write_files": "files",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
