"""What an agent asks its user, as the callbacks of a client get it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from accord.client.session import ClientSession
from accord.session.agent_ask import AskPermission, CommandSubject, Elicited, ElicitForm, ElicitUrl, PermissionGiven
from accord.session.entry import ToolCall
from accord.session.option import PermissionOption

__all__ = [
    "DISMISSED",
    "ElicitCallback",
    "FormQuestion",
    "OpenQuestions",
    "PermissionCallback",
    "PermissionQuestion",
    "UrlQuestion",
    "called",
]


@dataclass(frozen=True)
class PermissionQuestion:
    """May the agent do this? `tool` is the tool call as the transcript has it, with what the question said about it."""

    session: ClientSession
    title: str
    options: Sequence[PermissionOption]
    tool: ToolCall | None = None
    command: CommandSubject | None = None
    description: str | None = None
    meta: dict[str, Any] = field(default_factory=dict)

    def option(self, *kinds: str) -> PermissionOption | None:
        """The first option of one of these kinds, the first kind first: `question.option("allow_once")`."""
        for kind in kinds:
            for option in self.options:
                if option.kind == kind:
                    return option
        return None

    def allow(self) -> PermissionOption | None:
        """The least that allows it; None where the agent offers no such answer."""
        return self.option("allow_once", "allow_always")

    def reject(self) -> PermissionOption | None:
        """The least that rejects it; None where the agent offers no such answer, and dismissing must do."""
        return self.option("reject_once", "reject_always")


@dataclass(frozen=True)
class FormQuestion:
    """A form to fill in: a flat JSON schema of an object. Return its values, or None to decline."""

    session: ClientSession | None
    message: str
    schema: dict[str, Any]
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class UrlQuestion:
    """An address to visit: show all of it, ask for consent, fetch nothing before. Return True once it is opened."""

    session: ClientSession | None
    message: str
    url: str
    elicitation_id: str
    meta: dict[str, Any] = field(default_factory=dict)


PermissionAnswer: TypeAlias = PermissionOption | str | bool | None
"""An option or its id; True and False for the least that allows or rejects; None to dismiss the question."""
PermissionCallback: TypeAlias = Callable[[PermissionQuestion], PermissionAnswer | Awaitable[PermissionAnswer]]
ElicitAnswer: TypeAlias = dict[str, Any] | bool | Literal["cancel"] | None
ElicitCallback: TypeAlias = Callable[[FormQuestion | UrlQuestion], ElicitAnswer | Awaitable[ElicitAnswer]]


def permission_given(question: PermissionQuestion, answer: PermissionAnswer) -> PermissionGiven:
    """What a callback's answer says; an id that was not offered, and what cannot be said, is a dismissal."""
    if isinstance(answer, bool):
        answer = question.allow() if answer else question.reject()
    chosen = answer.id if isinstance(answer, PermissionOption) else answer
    return PermissionGiven(next((option.id for option in question.options if option.id == chosen), None))


def elicited(answer: ElicitAnswer) -> Elicited:
    """What a callback's answer says."""
    if answer is DISMISSED:
        return Elicited("cancel")
    if isinstance(answer, dict):
        return Elicited("accept", answer)
    if answer is True:
        return Elicited("accept")
    return Elicited("cancel" if answer == "cancel" else "decline")


def permission_question(session: ClientSession, ask: AskPermission) -> PermissionQuestion:
    """The question; what it says about a tool call becomes part of the conversation first (v2 rule A72)."""
    tool: ToolCall | None = None
    if ask.tool is not None:
        session.happen(ask.tool)
        tool = session.transcript.tool_calls.get(ask.tool.id)
    elif ask.command is not None and ask.command.tool_id is not None:
        tool = session.transcript.tool_calls.get(ask.command.tool_id)
    title = ask.title or (tool.title if tool is not None else None) or (ask.command.command if ask.command else None)
    return PermissionQuestion(
        session, title or "Permission required", ask.options, tool, ask.command, ask.description, ask.meta or {}
    )


def elicit_question(session: ClientSession | None, ask: ElicitForm | ElicitUrl) -> FormQuestion | UrlQuestion:
    """The question."""
    if isinstance(ask, ElicitForm):
        return FormQuestion(session, ask.message, ask.schema, ask.meta or {})
    return UrlQuestion(session, ask.message, ask.url, ask.elicitation_id, ask.meta or {})


DISMISSED: Any = object()
"""The answer to a question that was not answered in time."""


class OpenQuestions:
    """The questions of one session that nobody has answered yet."""

    def __init__(self) -> None:
        self._open: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._open)

    async def ask(self, callback: Callable[[Any], Any], question: Any) -> Any:
        """What the callback answers; `DISMISSED` as soon as the session's work is cancelled, whatever it says later."""
        task = asyncio.get_running_loop().create_task(called(callback, question))
        self._open.add(task)
        try:
            await asyncio.wait([task])
        finally:
            self._open.discard(task)
            task.cancel()
        return DISMISSED if task.cancelled() else task.result()

    def cancel(self) -> None:
        """Answer all of them so."""
        for task in self._open:
            task.cancel()


async def called(callback: Callable[[Any], Any], question: Any) -> Any:
    """What a callback answers, whether it is a coroutine function or not."""
    answer = callback(question)
    return await answer if inspect.isawaitable(answer) else answer
