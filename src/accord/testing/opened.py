"""The blocking sessions of one test: opened with the patience of a test, closed when it is over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from accord.client import BlockingSession
from accord.client.blocking import open_session
from accord.testing.joint import check_end, in_a_test
from accord.testing.recorder import Recorder
from accord.testing.scripted import release

__all__ = ["OpenSessions"]


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
        # The last one is called first: the session ends, then the store is closed, and then it is told what was wrong.
        self._stack.callback(check_end, target, options)
        self._stack.callback(_release, target)
        self._stack.callback(session.close)
        return session.open()

    def close(self) -> None:
        """End all of them, the last one first.

        Raises:
            UnexpectedQuestion: An agent asked what there was no answer for.
            Exception: What the script of a `ScriptedAgent` raised.
        """
        self._stack.close()


def _release(target: tuple[Any, ...]) -> None:
    # In a thread: there may be a loop in this one.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(release(*target))).result()
