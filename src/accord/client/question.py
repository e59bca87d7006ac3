"""The questions of an agent to its user, as the callbacks of a client get them."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from accord.client.session import Session
from accord.connection.request import WithdrawnByPeer
from accord.session.agent_requests import (
    ANSWERED,
    CommandSubject,
    Elicited,
    ElicitForm,
    ElicitUrl,
    PermissionGiven,
    ReadFile,
    RequestPermission,
    StartTerminal,
    WriteFile,
)
from accord.session.claims import CallClaims, claims_of, terminal_claim
from accord.session.custom import check_value
from accord.session.entry import ToolCall
from accord.session.event import Noticed
from accord.session.option import PERMISSION_KINDS, PermissionKind, PermissionOption
from accord.session.remembered import RememberedAnswer
from accord.session.rules import Subject

__all__ = [
    "ElicitCallback",
    "FormQuestion",
    "OpenQuestions",
    "PermissionCallback",
    "PermissionQuestion",
    "UrlQuestion",
    "WiderAnswer",
    "answered_elsewhere",
    "called",
    "chosen_option",
]

log = logging.getLogger("accord.client")

MachineRequest: TypeAlias = ReadFile | WriteFile | StartTerminal
"""A request of the agent that touches this machine."""
# A question that names no call is shown with the calls that run; a person reads no more of them than this.
MAX_OPEN_CALLS = 20
# The end of the title of a request for a file or a terminal.
UNASKED = "without having asked"
# How much of a title is quoted in a notice.
MAX_TITLE = 200
# The default turn of a question: the one that runs when the question is made.
NOW: Any = object()


@dataclass(frozen=True)
class PermissionQuestion:
    """May the agent do this? Frozen when it was asked: later reports of the call change nothing in it.

    `tool` is the call at that time, with the question's changes to it. `title` and `description` are the agent's own
    words, and not verified. `claims` are all paths and commands that the call ever named, in its terminals too.

    `request` is a request to this client that no question preceded: a file to be written or read, a terminal. Then
    `tool` and `command` describe that, and the options are our own. `open_calls` are the open tool calls, where
    the question names none, or one that was never announced and says nothing. `announced` is the call that it repeats
    under another id.
    """

    session: Session
    title: str
    options: Sequence[PermissionOption]
    tool: ToolCall | None = None
    command: CommandSubject | None = None
    description: str | None = None
    meta: dict[str, Any] = field(default_factory=dict)
    claims: CallClaims | None = None
    request: MachineRequest | None = None
    open_calls: Sequence[ToolCall] = ()
    announced: ToolCall | None = None
    other: dict[str, Any] | None = None
    subject: Subject | None = None
    """Its resolved subject; a `Policy` fills it in before it asks."""
    turn: object | None = NOW
    """The turn that ran when the question came; None outside of one. One that begins later is another's."""

    def __post_init__(self) -> None:
        if self.turn is NOW:
            object.__setattr__(self, "turn", self.session.running_turn)

    @property
    def is_in_turn(self) -> bool:
        """Whether the turn in which it came still runs."""
        return self.turn is not None and self.turn is self.session.running_turn

    def option(self, *kinds: PermissionKind) -> PermissionOption | None:
        """The first option of one of these kinds, the first kind first: `question.option("allow_once")`.

        An option that cannot be given is none: its name contradicts its kind, or another one has its id too.

        Raises:
            ValueError: There is no such kind.
        """
        for kind in kinds:
            check_value(kind, PERMISSION_KINDS, "kind of a permission option")
            for option in self.options:
                if option.kind == kind and option.can_be_given(self.options):
                    return option
        return None

    def allow(self) -> PermissionOption | None:
        """The least that allows it; None where the agent offers no such answer."""
        return self.option("allow_once", "allow_always")

    def reject(self) -> PermissionOption | None:
        """The least that rejects it; None where the agent offers no such answer, and dismissing must do."""
        return self.option("reject_once", "reject_always")

    @property
    def _call_ids(self) -> list[str]:
        """The ids of the tool calls that it is about, or may be; the one that ends with it last."""
        if self.request is not None or self.call_id is None:
            return []
        return [self.call_id, *(call.id for call in self.open_calls), *([self.announced.id] if self.announced else [])]

    @property
    def call_id(self) -> str | None:
        """The id of the tool call that it is about."""
        if self.request is not None:
            return None
        if self.tool is not None:
            return self.tool.id
        return None if self.command is None else self.command.tool_id


@dataclass(frozen=True)
class FormQuestion:
    """A form to fill in: a flat JSON schema of an object. Return its values, or None to decline."""

    session: Session | None
    message: str
    schema: dict[str, Any]
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class UrlQuestion:
    """An address to visit: show all of it, ask for consent, fetch nothing before. Return True once it is opened."""

    session: Session | None
    message: str
    url: str
    elicitation_id: str
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class WiderAnswer:
    """An option together with the answer to remember, whose scope the user chose to be wider than the subject."""

    option: PermissionOption
    remembered: RememberedAnswer


PermissionAnswer: TypeAlias = PermissionOption | WiderAnswer | str | bool | None
"""An option or its id; True and False for the least that allows or rejects; None to dismiss the question."""
PermissionCallback: TypeAlias = Callable[[PermissionQuestion], PermissionAnswer | Awaitable[PermissionAnswer]]
"""Answers a permission request for the user."""
ElicitAnswer: TypeAlias = dict[str, Any] | bool | Literal["cancel"] | None
"""The values of a form; True for an address that was opened; False or None to decline; "cancel" to dismiss."""
ElicitCallback: TypeAlias = Callable[[FormQuestion | UrlQuestion], ElicitAnswer | Awaitable[ElicitAnswer]]
"""Answers a form, or visits an address, for the user."""


def chosen_option(question: PermissionQuestion, answer: PermissionAnswer) -> PermissionOption | None:
    """The option that a callback's answer means; None for a dismissal.

    An id that was not offered or that two options share, and an option whose name refuses what its kind allows, are
    dismissals: no answer that can be read as a refusal is sent as a permission.
    """
    if isinstance(answer, bool):
        return question.allow() if answer else question.reject()
    if answer is None or answer is DISMISSED:
        return None
    if isinstance(answer, WiderAnswer):
        answer = answer.option
    wanted = answer.id if isinstance(answer, PermissionOption) else answer
    found = [option for option in question.options if option.id == wanted]
    return found[0] if len(found) == 1 and found[0].can_be_given(question.options) else None


def given_option(question: PermissionQuestion, answer: PermissionAnswer) -> PermissionOption | None:
    """The option that the user's callback means; what is no answer is a dismissal, and in the log."""
    option = chosen_option(question, answer)
    is_known = answer is DISMISSED or isinstance(answer, bool | PermissionOption | WiderAnswer | None)
    if option is None and not is_known:
        expected = ", ".join([*(repr(each.id) for each in question.options), "True, False or None"])
        log.warning("a question is dismissed: %.100r is not an answer to it, which is one of %s", answer, expected)
    return option


def permission_given(question: PermissionQuestion, answer: PermissionAnswer) -> PermissionGiven:
    """The answer of a callback for the wire."""
    option = given_option(question, answer)
    return PermissionGiven(None if option is None else option.id)


def elicited(answer: ElicitAnswer) -> Elicited:
    """The action that a callback's answer means."""
    if answer is DISMISSED:
        return Elicited("cancel")
    if isinstance(answer, dict):
        return Elicited("accept", answer)
    if answer is True:
        return Elicited("accept")
    if not (answer is None or answer is False or answer == "cancel"):
        log.warning("a form or an address is declined: a callback returned a %s", type(answer).__name__)
    return Elicited("cancel" if answer == "cancel" else "decline")


def permission_question(
    session: Session, request: RequestPermission, claims: Callable[[str], CallClaims | None] = lambda _: None
) -> PermissionQuestion:
    """The question; its changes to a tool call become part of the conversation first (v2 rule A72).

    `claims` returns all claims about a call so far, by its id.
    """
    tool: ToolCall | None = None
    is_announced = True
    if request.tool is not None:
        is_announced = request.tool.id in session.transcript.tool_calls
        session._apply(request.tool)
        tool = session.transcript.tool_calls.get(request.tool.id)
    elif request.command is not None and request.command.tool_id is not None:
        tool = session.transcript.tool_calls.get(request.command.tool_id)
    title = (
        request.title
        or (tool.title if tool is not None else None)
        or (request.command.command if request.command else None)
    )
    terminals = session.transcript.terminals
    known = None if tool is None else claims(tool.id) or claims_of(tool, terminals)
    run = None if request.command is None else terminal_claim(terminals.get(request.command.terminal_id or ""))
    if run is not None:
        # The command is to run in a terminal for which the agent named one already.
        known = (known or CallClaims("execute")).joined(CallClaims("execute", commands=(run,)))
    unfinished = [call for call in session.transcript.tool_calls.values() if not call.finished and call is not tool]
    announced: ToolCall | None = None
    if tool is not None and not is_announced:
        # Deep Agents asks under an id of its own, with the input of the call; OpenHands asks about the calls that wait.
        announced = next((call for call in unfinished if tool.raw_input and call.raw_input == tool.raw_input), None)
        if announced is not None and tool.kind == "other" and not (tool.content or tool.locations):
            tool = replace(tool, kind=announced.kind, content=announced.content, locations=announced.locations)
            known = claims(announced.id) or claims_of(tool, terminals)
    says_nothing = tool is None or (not is_announced and known == CallClaims(tool.kind) and not tool.content)
    return PermissionQuestion(
        session,
        title or "Permission required",
        tuple(request.options),
        None if tool is None else frozen(tool),
        request.command,
        request.description,
        request.meta or {},
        known,
        open_calls=tuple(frozen(call) for call in unfinished[-MAX_OPEN_CALLS:]) if says_nothing else (),
        announced=announced,
        other=request.other,
    )


def frozen(call: ToolCall) -> ToolCall:
    """A copy that later reports do not change: they replace a call's fields, and append to its content alone."""
    return replace(call, content=list(call.content), locations=list(call.locations))


def elicit_question(session: Session | None, request: ElicitForm | ElicitUrl) -> FormQuestion | UrlQuestion:
    if isinstance(request, ElicitForm):
        return FormQuestion(session, request.message, request.schema, request.meta or {})
    return UrlQuestion(session, request.message, request.url, request.elicitation_id, request.meta or {})


def unanswerable(question: PermissionQuestion) -> Noticed:
    """The notice for a question without options, which can only be dismissed."""
    title = question.title if len(question.title) <= MAX_TITLE else f"{question.title[:MAX_TITLE]}…"
    return Noticed(f"The agent asked for permission, offered no answer, and was refused: {title}", "warning")


def answered_elsewhere(withdrawn: asyncio.CancelledError, options: Sequence[PermissionOption]) -> Noticed | None:
    """The notice for a question that another client of the same session answered; None for any other withdrawal.

    Its `meta` has the answer as the agent sent it, under `accord/answered`.
    """
    withdrawal = withdrawn.args[0] if withdrawn.args else None
    answer = withdrawal.meta.get(ANSWERED) if isinstance(withdrawal, WithdrawnByPeer) else None
    if not isinstance(answer, dict):
        return None
    chosen = answer.get("optionId")
    if isinstance(chosen, str):
        name = next((option.name for option in options if option.id == chosen), chosen)
        title = f"Another client of this session answered: {name}"
    elif answer.get("outcome") == "cancelled" or answer.get("action") == "cancel":
        title = "Another client of this session dismissed the question"
    elif isinstance(answer.get("action"), str):
        title = f"Another client of this session answered: {answer['action']}"
    else:
        return None
    return Noticed(title, meta={ANSWERED: answer})


DISMISSED: Any = object()
"""The answer to a question that was not answered in time."""


class OpenQuestions:
    """The questions of one session that are not answered yet."""

    def __init__(self) -> None:
        self._open: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        return len(self._open)

    async def call(self, callback: Callable[[Any], Any], question: Any) -> Any:
        """The answer of the callback; `DISMISSED` as soon as the session's work is cancelled."""
        task = asyncio.get_running_loop().create_task(called(callback, question))
        self._open.add(task)
        try:
            await asyncio.wait([task])
        finally:
            self._open.discard(task)
            task.cancel()
        return DISMISSED if task.cancelled() else task.result()

    def cancel(self) -> None:
        for task in self._open:
            task.cancel()


async def called(callback: Callable[[Any], Any], question: Any) -> Any:
    """The result of a callback, whether it is a coroutine function or not."""
    answer = callback(question)
    return await answer if inspect.isawaitable(answer) else answer
