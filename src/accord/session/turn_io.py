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
"""The caller's name for a prompt or a question; each name is used once."""


class PromptArrived(msgspec.Struct, frozen=True):
    """A valid prompt for the session was read."""

    prompt: PromptKey


class PromptInserted(msgspec.Struct, frozen=True):
    """An `Insert` is done: the user's message is in the conversation and in the store."""

    prompt: PromptKey


class InsertionFailed(msgspec.Struct, frozen=True):
    """An `Insert` failed: the message is neither in the conversation nor in the store."""

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
    """A question was answered, in whatever way."""

    question: PromptKey


class CancelRequested(msgspec.Struct, frozen=True):
    """The client cancels the work in the foreground."""


class HandlerFinished(msgspec.Struct, frozen=True):
    stop_reason: StopReason | str = "end_turn"
    token_usage: TokenUsage | None = None


class HandlerFailed(msgspec.Struct, frozen=True):
    error: WorkError
    token_usage: TokenUsage | None = None


class HandlerCancelled(msgspec.Struct, frozen=True):
    """The handler was aborted, for any reason."""

    token_usage: TokenUsage | None = None


class BackgroundChanged(msgspec.Struct, frozen=True):
    """The complete list of background work; the ends of other work were published before (A45)."""

    background: tuple[Background, ...] = ()


class CloseRequested(msgspec.Struct, frozen=True):
    """The session has to end."""


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
    """Add the prompt to the conversation and the store, then feed `PromptInserted` or `InsertionFailed`.

    `running` is kept with it, in one step: a log that breaks off behind a prompt says that its turn had begun.
    """

    prompt: PromptKey
    running: StateChanged


class Hold(msgspec.Struct, frozen=True):
    """Do nothing: the automaton holds the prompt until its turn."""

    prompt: PromptKey


class Start(msgspec.Struct, frozen=True):
    """Start the handler, and feed its end."""

    prompt: PromptKey


class CancelHandler(msgspec.Struct, frozen=True):
    """Cancel the work in the foreground, and feed its end."""


class Retire(msgspec.Struct, frozen=True):
    """Stop waiting for these answers; they count as not approved."""

    questions: tuple[PromptKey, ...]


class AnswerInserted(msgspec.Struct, frozen=True):
    """Answer with the id of the user's message."""

    prompt: PromptKey


class AnswerStopped(msgspec.Struct, frozen=True):
    prompt: PromptKey
    stop_reason: StopReason | str
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
    """Publish the state; an edition without state updates sends nothing. With `keep=False` it is in the store."""

    state: StateChanged
    keep: bool = True


class StopBackground(msgspec.Struct, frozen=True):
    """Stop the background work, and feed `BackgroundChanged` when it is over."""


class SessionEnded(msgspec.Struct, frozen=True):
    """The session is over: answer the request that closed it, and free its resources."""


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
