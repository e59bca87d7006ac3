"""`join` and the fixture `accord_open`: a client and an agent in one process, with deadlines and prepared answers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias, Unpack

from accord.client import (
    BlockingSession,
    ConnectedAgent,
    Deadlines,
    FormQuestion,
    PermissionQuestion,
    UrlQuestion,
    connect,
)
from accord.client.blocking import open_session
from accord.client.connect import CommonOptions, StrPath
from accord.client.launch import InProcessAgent
from accord.client.question import ElicitCallback, PermissionCallback
from accord.errors import AccordError
from accord.testing.recorder import Recorder
from accord.testing.scripted import ScriptedAgent, release
from accord.transport.interface import Transport

__all__ = [
    "TEST_DEADLINES",
    "Answers",
    "JoinOptions",
    "OpenAgent",
    "OpenSessions",
    "Question",
    "UnexpectedQuestion",
    "join",
]


Question: TypeAlias = PermissionQuestion | FormQuestion | UrlQuestion
"""A question of an agent to its user."""
OpenAgent: TypeAlias = Callable[..., BlockingSession]
"""The type of the fixture `accord_open`."""


class UnexpectedQuestion(AccordError):
    """The agent asked a question without a prepared answer; `questions` has all of those."""

    def __init__(self, questions: Sequence[Question]) -> None:
        titles = ", ".join(repr(_title(question)) for question in questions)
        super().__init__(f"the agent asked questions without a prepared answer: {titles}")
        self.questions: Sequence[Question] = questions
        """The questions."""


class Answers:
    """A callback for `permission` or `elicit` that gives one answer after the other.

    An answer may be any value that such a callback may return, a function of the question, or an exception to raise. A
    question beyond the last answer is dismissed, and `check` raises.
    """

    def __init__(self, *answers: object) -> None:
        self._left = list(answers)
        self.questions: list[Question] = []
        """All questions, in order."""
        self.unexpected: list[Question] = []
        """The questions for which no answer was left."""

    def __repr__(self) -> str:
        return f"<answers: {len(self.questions)} given, {len(self._left)} left>"

    def __call__(self, question: Question) -> Any:
        """The next answer."""
        self.questions.append(question)
        if not self._left:
            self.unexpected.append(question)
            return None
        answer = self._left.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer(question) if callable(answer) else answer

    @property
    def left(self) -> int:
        """How many answers are left."""
        return len(self._left)

    @property
    def titles(self) -> list[str]:
        """The titles of the questions so far."""
        return [_title(question) for question in self.questions]

    def check(self) -> None:
        """Check that every question had an answer.

        Raises:
            UnexpectedQuestion: One had none.
        """
        if self.unexpected:
            raise UnexpectedQuestion(self.unexpected)


def answers_of(given: Any) -> Any:
    """A callback unchanged, a series of answers as `Answers`."""
    return Answers(*given) if isinstance(given, Iterable) and not callable(given) else given


def _title(question: Question) -> str:
    return question.title if isinstance(question, PermissionQuestion) else question.message


# --- the connection

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
