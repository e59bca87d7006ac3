"""What must be done for a session's turn: the outputs of the turn automaton, to be carried out in order."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from accord.session.event import StateChanged, StopReason, TokenUsage, WorkError
from accord.session.turn_input import Input, Key

__all__ = [
    "AnswerClosed",
    "AnswerFailed",
    "AnswerInserted",
    "AnswerStopped",
    "AnswerWithdrawn",
    "CancelHandler",
    "Hold",
    "Illegal",
    "Insert",
    "Output",
    "PublishState",
    "Retire",
    "SessionEnded",
    "Start",
    "StopBackground",
    "TurnState",
]

TurnState: TypeAlias = Literal["idle", "inserting", "running", "requires_action", "cancelling", "closing", "closed"]


class Insert(msgspec.Struct, frozen=True):
    """Give the prompt its place and keep it; say `PromptInserted` or `InsertionFailed` when that is done."""

    prompt: Key


class Hold(msgspec.Struct, frozen=True):
    """Nothing: the prompt waits here for its turn."""

    prompt: Key


class Start(msgspec.Struct, frozen=True):
    """Start the handler; say how it ended."""

    prompt: Key


class CancelHandler(msgspec.Struct, frozen=True):
    """Cancel whatever works in the foreground; say how it ended."""


class Retire(msgspec.Struct, frozen=True):
    """Stop waiting for these answers; they count as not approved."""

    questions: tuple[Key, ...]


class AnswerInserted(msgspec.Struct, frozen=True):
    """Answer with the id of the user's message."""

    prompt: Key


class AnswerStopped(msgspec.Struct, frozen=True):
    """Answer with a stop reason."""

    prompt: Key
    stop_reason: StopReason
    token_usage: TokenUsage | None = None


class AnswerFailed(msgspec.Struct, frozen=True):
    """Answer with an error."""

    prompt: Key
    error: WorkError


class AnswerWithdrawn(msgspec.Struct, frozen=True):
    """Answer with -32800."""

    prompt: Key


class AnswerClosed(msgspec.Struct, frozen=True):
    """Answer as for a session that is not there (-32002)."""

    prompt: Key


class PublishState(msgspec.Struct, frozen=True):
    """Report the state; an edition without such reports has no words for it."""

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
