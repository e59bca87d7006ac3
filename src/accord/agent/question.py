"""Permission requests and elicitations of an agent, and their answers."""

from __future__ import annotations

import asyncio
import functools
import shlex
from collections.abc import Callable, Coroutine, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, NoReturn, ParamSpec, TypeVar

from accord.agent.turn_values import absolute_directory
from accord.session.agent_requests import CommandSubject, Elicited
from accord.session.custom import check_value
from accord.session.option import PERMISSION_KINDS, PermissionOption

__all__ = [
    "ALLOW_OPTIONS",
    "Elicitation",
    "PendingQuestion",
    "Permission",
    "QuestionCoroutine",
    "check_options",
    "command_subject",
    "decision",
]

P = ParamSpec("P")
T = TypeVar("T")

ALLOW_OPTIONS = (
    PermissionOption("allow", "Allow", "allow_once"),
    PermissionOption("allow-always", "Always allow", "allow_always"),
    PermissionOption("reject", "Reject", "reject_once"),
)
"""The default options of a permission request."""


def check_options(options: Sequence[PermissionOption]) -> None:
    """Refuse options that a client could not offer.

    Raises:
        ValueError: There are none, or two of them have the same id, or there is no such kind.
    """
    if not options or len({option.id for option in options}) != len(options):
        raise ValueError("a permission question needs options, with different ids")
    for option in options:
        check_value(option.kind, PERMISSION_KINDS, "kind of a permission option")


def command_subject(
    command: Sequence[str] | None, shell_line: str | None, directory: str | None, cwd: str, tool_id: str | None
) -> CommandSubject | None:
    """The command that a permission request is about; None without one.

    Raises:
        ValueError: There are both a command and a line.
    """
    if command is not None and shell_line is not None:
        raise ValueError("a question is about a command or about a line for a shell, not about both")
    line = shell_line if command is None else shlex.join(command)
    return None if line is None else CommandSubject(line, absolute_directory(directory, cwd), tool_id)


@dataclass(frozen=True, slots=True)
class Permission:
    """The answer to a permission request: the option that was chosen, None if none was.

    It is true if the option allows: `if await turn.request_permission("Delete it?"):`.
    """

    option: PermissionOption | None
    """The option that the user chose; None if none was chosen."""

    @classmethod
    def _chosen(cls, option_id: str | None, offered: Iterable[PermissionOption]) -> Permission:
        """The permission of an answer: an id that was never offered is no answer (v2 rule A75)."""
        return cls(next((option for option in offered if option.id == option_id), None))

    @property
    def option_id(self) -> str | None:
        """The id of the chosen option."""
        return None if self.option is None else self.option.id

    @property
    def allowed(self) -> bool:
        """Whether the option is one that allows."""
        return self.option is not None and self.option.kind.startswith("allow")

    @property
    def always(self) -> bool:
        """Whether the answer is meant for later requests too; remembering it is up to the author."""
        return self.option is not None and self.option.kind.endswith("_always")

    def __bool__(self) -> bool:
        return self.allowed


@dataclass(frozen=True, slots=True)
class Elicitation:
    """The result of a form or an address; true if the user accepted. `content` are a form's values.

    `id` is that of an address; `Client.complete_elicitation` takes it when the interaction there is finished.
    """

    action: Literal["accept", "decline", "cancel"]
    """The action of the user."""
    content: dict[str, Any]
    """The values of the form, by field."""
    id: str | None = None
    """The id of an elicitation by address."""

    @classmethod
    def _given(cls, answer: Elicited | None, id_: str | None) -> Elicitation:
        """The result of an answer; None is a question that was withdrawn. Only what was accepted has values."""
        if answer is None:
            return cls("cancel", {}, id_)
        return cls(answer.action, answer.content or {} if answer.action == "accept" else {}, id_)

    def __bool__(self) -> bool:
        return self.action == "accept"


class QuestionCoroutine(Coroutine[Any, Any, T], Generic[T]):
    """The coroutine of a method whose result is tested for truth. Without `await` it has no truth, and says so.

    Every other coroutine is true: `if turn.request_permission(tool):` would be a permission that no user gave.
    """

    __slots__ = ("_name", "_work")

    def __init__(self, work: Coroutine[Any, Any, T], name: str) -> None:
        self._work = work
        self._name = name

    def __bool__(self) -> NoReturn:
        self._work.close()
        raise TypeError(f"{self._name} was not awaited: write `if await …{self._name}(…):`")

    def __await__(self) -> Generator[Any, Any, T]:
        return self._work.__await__()

    def send(self, value: Any) -> Any:
        """See `Coroutine.send`."""
        return self._work.send(value)

    def throw(self, *error: Any) -> Any:
        """See `Coroutine.throw`."""
        return self._work.throw(*error)

    def close(self) -> None:
        """See `Coroutine.close`."""
        self._work.close()


def decision(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, QuestionCoroutine[T]]:
    """The method, with coroutines that have no truth before they are awaited."""

    @functools.wraps(method)
    def decide(*arguments: P.args, **named: P.kwargs) -> QuestionCoroutine[T]:
        return QuestionCoroutine(method(*arguments, **named), method.__name__)

    return decide


class PendingQuestion:
    """An open question. Retiring it ends the wait, and `answer` returns None."""

    def __init__(self, request: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self._send = request
        self._task: asyncio.Task[Any] | None = None
        self._retired = False

    def retire(self) -> None:
        """Stop waiting: it counts as not approved, also if it is answered later."""
        self._retired = True
        if self._task is not None:
            self._task.cancel()

    async def answer(self) -> Any:
        """Send the request and return the answer; None once it is retired."""
        if self._retired:
            return None
        self._task = asyncio.get_running_loop().create_task(self._send())
        try:
            return await self._task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if self._retired and (current is None or not current.cancelling()):
                return None
            raise
