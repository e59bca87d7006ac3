"""`join` and the fixture `accord_open`: a client and an agent in one process, with the deadlines of a test."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Unpack

from accord.client import BlockingSession, ConnectedAgent, Deadlines, connect
from accord.client.blocking import open_session
from accord.client.connect import CommonOptions, StrPath
from accord.client.launch import InProcessAgent
from accord.client.question import ElicitCallback, PermissionCallback
from accord.errors import AccordError
from accord.testing.answers import Answers, answers_of
from accord.testing.recorder import Recorder
from accord.testing.scripted import ScriptedAgent, release
from accord.transport.interface import Transport

__all__ = ["TEST_DEADLINES", "JoinOptions", "OpenSessions", "check_end", "in_a_test", "join"]

TEST_DEADLINES = Deadlines(
    start_seconds=10.0, first_seconds=10.0, idle_seconds=10.0, turn_seconds=30.0, cancel_seconds=5.0
)
"""The deadlines of `join`: seconds, so that a test with a silent agent ends."""


class JoinOptions(CommonOptions, total=False):
    """The options of `join`: those of `accord.connect`, answers in a series, and a recorder."""

    permission: PermissionCallback | Iterable[object] | None
    elicit: ElicitCallback | Iterable[object] | None
    recorder: Recorder | None


@contextlib.asynccontextmanager
async def join(
    *target: StrPath | InProcessAgent | Transport, **options: Unpack[JoinOptions]
) -> AsyncIterator[ConnectedAgent]:
    """An agent to talk to in a test, as an async context.

    ```python
    async with join(agent, permission=[True]) as remote:
        session = await remote.new_session()
    ```

    It takes the options of `accord.connect` with other defaults: `deadlines` of seconds (`TEST_DEADLINES`), `respawn`
    off, and `permission` and `elicit` may be series of answers (see `Answers`). A `recorder` sees every text.

    At the end the agent's default store is closed.

    Raises:
        UnexpectedQuestion: At the end: the agent asked more than there are answers for.
        Exception: At the end: what the script of a `ScriptedAgent` raised.
    """
    given: dict[str, Any] = {**options}
    chosen = in_a_test(given, given.pop("recorder", None))
    party: Any = target
    try:
        async with connect(*party, **chosen) as agent:
            yield agent
    except AccordError:
        # Where the script failed, the lost connection is only a consequence.
        check_end(target, chosen)
        raise
    finally:
        await release(*target)
    check_end(target, chosen)


def in_a_test(options: dict[str, Any], recorder: Recorder | None) -> dict[str, Any]:
    """The options of `connect` with a test's defaults."""
    options = {"deadlines": TEST_DEADLINES, "respawn": False, **options}
    options["permission"] = answers_of(options.get("permission", ()))
    options["elicit"] = answers_of(options.get("elicit"))
    if recorder is not None:
        options["observers"] = [*options.get("observers", ()), recorder]
    return options


def check_end(target: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Raise the failure of the other side, if there is one."""
    for party in (*target, options["permission"], options["elicit"]):
        if isinstance(party, ScriptedAgent | Answers):
            party.check()


class OpenSessions:
    """Opens sessions and remembers them."""

    def __init__(self, recorder: Recorder, workspace: Callable[[], Path]) -> None:
        self._recorder = recorder
        self._workspace = workspace
        self._stack = ExitStack()

    def open(self, *target: Any, recorder: Recorder | None = None, **options: Any) -> BlockingSession:
        """An open session; see the fixture `accord_open`."""
        options = in_a_test(options, recorder or self._recorder)
        cwd = options.pop("cwd", None) or self._workspace()
        session = open_session(*target, cwd=cwd, **options)
        # The last one is called first: the session ends, then the store is closed, and then failures are raised.
        self._stack.callback(check_end, target, options)
        self._stack.callback(_release, target)
        self._stack.callback(session.close)
        return session.open()

    def close(self) -> None:
        """End all of them, the last one first.

        Raises:
            UnexpectedQuestion: An agent asked a question without a prepared answer. Exception: What the script of a
            `ScriptedAgent` raised.
        """
        self._stack.close()


def _release(target: tuple[Any, ...]) -> None:
    # In a thread: there may be a loop in this one.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(release(*target))).result()
