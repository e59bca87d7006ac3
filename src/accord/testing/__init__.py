"""The test kit: both ends of a conversation in memory, scripted peers, a recorder, checkers.

Its modules are loaded at their first use, because pytest imports this package for its plugin in every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.lazy import lazy_exports

if TYPE_CHECKING:
    from accord.stores import (
        StoreCheckFailed as StoreCheckFailed,
        check_store as check_store,
    )
    from accord.testing.files import (
        MakeWorkspace as MakeWorkspace,
        read_files as read_files,
        write_files as write_files,
    )
    from accord.testing.joint import (
        TEST_DEADLINES as TEST_DEADLINES,
        Answers as Answers,
        JoinOptions as JoinOptions,
        OpenAgent as OpenAgent,
        Question as Question,
        UnexpectedQuestion as UnexpectedQuestion,
        join as join,
    )
    from accord.testing.message import (
        JsonRpcMessage as JsonRpcMessage,
    )
    from accord.testing.peer import (
        ScriptFailed as ScriptFailed,
    )
    from accord.testing.program import (
        command_of as command_of,
    )
    from accord.testing.recorder import (
        Direction as Direction,
        RecordedMessage as RecordedMessage,
        Recorder as Recorder,
    )
    from accord.testing.replayed import (
        OpenReplay as OpenReplay,
        ReplayedAgent as ReplayedAgent,
    )
    from accord.testing.roles import (
        AgentPeer as AgentPeer,
        AgentScript as AgentScript,
        ClientPeer as ClientPeer,
        Greeting as Greeting,
    )
    from accord.testing.scripted import (
        ClientScript as ClientScript,
        ScriptedAgent as ScriptedAgent,
        ScriptedClient as ScriptedClient,
    )
    from accord.transport.check import (
        TransportCheckFailed as TransportCheckFailed,
        check_transport as check_transport,
    )

    __all__: list[str]
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "accord.testing.joint": "Answers JoinOptions OpenAgent Question TEST_DEADLINES UnexpectedQuestion join",
            "accord.stores": "StoreCheckFailed check_store",
            "accord.transport.check": "TransportCheckFailed check_transport",
            "accord.testing.files": "MakeWorkspace read_files write_files",
            "accord.testing.roles": "AgentPeer AgentScript ClientPeer Greeting",
            "accord.testing.message": "JsonRpcMessage",
            "accord.testing.peer": "ScriptFailed",
            "accord.testing.program": "command_of",
            "accord.testing.recorder": "Direction RecordedMessage Recorder",
            "accord.testing.replayed": "OpenReplay ReplayedAgent",
            "accord.testing.scripted": "ClientScript ScriptedAgent ScriptedClient",
        },
    )
