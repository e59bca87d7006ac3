"""The inputs and the outputs of the turn automaton."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal, TypeAlias

import msgspec

from accord.session.event import Background, StateChanged, StopReason, TokenUsage, WorkError

__all__ = [
    "AnswerClosed",
    "AnswerFailed",
    "AnswerInserted",
    "AnswerStopped",
    "AnswerWithdrawn",
    "BackgroundChanged",
    "CancelHandler",
    "CancelRequested",
    "ClientLost",
    "CloseRequested",
    "HandlerCancelled",
    "HandlerFailed",
    "HandlerFinished",
    "Hold",
    "Illegal",
    "Input",
    "Insert",
    "InsertionFailed",
    "Output",
    "PromptArrived",
    "PromptInserted",
    "PromptKey",
    "PromptWithdrawn",
    "PublishState",
    "QuestionAnswered",
    "QuestionOpened",
    "Retire",
    "SessionEnded",
    "Start",
    "StopBackground",
    "TurnState",
    "WorkStarted",
]

PromptKey: TypeAlias = Hashable
"""How the caller names a prompt or a question; each name is used once."""


class PromptArrived(msgspec.Struct, frozen=True):
    """A prompt was read, and is one that the session can take."""

    prompt: PromptKey


class PromptInserted(msgspec.Struct, frozen=True):
    """An `Insert` is done: the user's message has its place and is kept."""

    prompt: PromptKey


class InsertionFailed(msgspec.Struct, frozen=True):
    """An `Insert` could not be done: the message is nowhere."""

    prompt: PromptKey
    error: WorkError


class PromptWithdrawn(msgspec.Struct, frozen=True):
    """The client takes one prompt back (`$/cancel_request`)."""

    prompt: PromptKey


class WorkStarted(msgspec.Struct, frozen=True):
    """The agent works in the foreground without having been prompted; a handler's end ends it."""


class QuestionOpened(msgspec.Struct, frozen=True):
    """The user was asked something; `blocking` if nothing else goes on until the answer."""

    question: PromptKey
    blocking: bool = True


class QuestionAnswered(msgspec.Struct, frozen=True):
    """A question has its answer, whatever it is."""

    question: PromptKey


class CancelRequested(msgspec.Struct, frozen=True):
    """The client wants the foreground to stop."""


class HandlerFinished(msgspec.Struct, frozen=True):
    stop_reason: StopReason = "end_turn"
    token_usage: TokenUsage | None = None


class HandlerFailed(msgspec.Struct, frozen=True):
    error: WorkError
    token_usage: TokenUsage | None = None


class HandlerCancelled(msgspec.Struct, frozen=True):
    """The handler was aborted, for any reason."""

    token_usage: TokenUsage | None = None


class BackgroundChanged(msgspec.Struct, frozen=True):
    """All that goes on beside the turns; the ends of the others were published before (A45)."""

    background: tuple[Background, ...] = ()


class CloseRequested(msgspec.Struct, frozen=True):
    """The session is to end."""


class ClientLost(msgspec.Struct, frozen=True):
    """The client is gone."""


Input: TypeAlias = (
    PromptArrived
    | PromptInserted
    | InsertionFailed
    | PromptWithdrawn
    | WorkStarted
    | QuestionOpened
    | QuestionAnswered
    | CancelRequested
    | HandlerFinished
    | HandlerFailed
    | HandlerCancelled
    | BackgroundChanged
    | CloseRequested
    | ClientLost
)


TurnState: TypeAlias = Literal["idle", "inserting", "running", "requires_action", "cancelling", "closing", "closed"]


class Insert(msgspec.Struct, frozen=True):
    """Give the prompt its place and keep it; say `PromptInserted` or `InsertionFailed` when that is done."""

    prompt: PromptKey


class Hold(msgspec.Struct, frozen=True):
    """Nothing: the prompt waits here for its turn."""

    prompt: PromptKey


class Start(msgspec.Struct, frozen=True):
    """Start the handler; say how it ended."""

    prompt: PromptKey


class CancelHandler(msgspec.Struct, frozen=True):
    """Cancel whatever works in the foreground; say how it ended."""


class Retire(msgspec.Struct, frozen=True):
    """Stop waiting for these answers; they count as not approved."""

    questions: tuple[PromptKey, ...]


class AnswerInserted(msgspec.Struct, frozen=True):
    """Answer with the id of the user's message."""

    prompt: PromptKey


class AnswerStopped(msgspec.Struct, frozen=True):
    prompt: PromptKey
    stop_reason: StopReason
    token_usage: TokenUsage | None = None


class AnswerFailed(msgspec.Struct, frozen=True):
    prompt: PromptKey
    error: WorkError


class AnswerWithdrawn(msgspec.Struct, frozen=True):
    """Answer with -32800."""

    prompt: PromptKey


class AnswerClosed(msgspec.Struct, frozen=True):
    """Answer as for a session that is not there (-32002)."""

    prompt: PromptKey


class PublishState(msgspec.Struct, frozen=True):
    """Publish the state; an edition without state updates sends nothing."""

    state: StateChanged


class StopBackground(msgspec.Struct, frozen=True):
    """Stop what goes on beside the turns; say `BackgroundChanged` when it is over."""


class SessionEnded(msgspec.Struct, frozen=True):
    """The session is over: answer who asked for it, free what it held."""


class Illegal(msgspec.Struct, frozen=True):
    """This cannot happen in this state; nothing was changed."""

    state: TurnState
    input: Input


Output: TypeAlias = (
    Insert
    | Hold
    | Start
    | CancelHandler
    | Retire
    | AnswerInserted
    | AnswerStopped
    | AnswerFailed
    | AnswerWithdrawn
    | AnswerClosed
    | PublishState
    | StopBackground
    | SessionEnded
    | Illegal
)
