"""What must be done for a session's turn: the outputs of the turn automaton, to be carried out in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from accord.session.event import StateChanged, StopReason, WorkError
from accord.session.turn_input import Input, Key

__all__ = [
    "AnswerClosed",
    "AnswerFailed",
    "AnswerInserted",
    "AnswerStopped",
    "AnswerWithdrawn",
    "CancelHandler",
    "Closed",
    "Hold",
    "Illegal",
    "Insert",
    "Output",
    "Retire",
    "Start",
    "StopBackground",
    "Tell",
    "TurnState",
]

TurnState: TypeAlias = Literal["idle", "inserting", "running", "requires_action", "cancelling", "closing", "closed"]


@dataclass(frozen=True, slots=True)
class Insert:
    """Give the prompt its place and keep it; say `PromptInserted` or `InsertionFailed` when that is done."""

    prompt: Key


@dataclass(frozen=True, slots=True)
class Hold:
    """Nothing: the prompt waits here for its turn."""

    prompt: Key


@dataclass(frozen=True, slots=True)
class Start:
    """Start the handler; say how it ended."""

    prompt: Key


@dataclass(frozen=True, slots=True)
class CancelHandler:
    """Cancel whatever works in the foreground; say how it ended."""


@dataclass(frozen=True, slots=True)
class Retire:
    """Stop waiting for these answers; they count as not approved."""

    questions: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class AnswerInserted:
    """Answer with the id of the user's message."""

    prompt: Key


@dataclass(frozen=True, slots=True)
class AnswerStopped:
    """Answer with a stop reason."""

    prompt: Key
    stop_reason: StopReason


@dataclass(frozen=True, slots=True)
class AnswerFailed:
    """Answer with an error."""

    prompt: Key
    error: WorkError


@dataclass(frozen=True, slots=True)
class AnswerWithdrawn:
    """Answer with -32800."""

    prompt: Key


@dataclass(frozen=True, slots=True)
class AnswerClosed:
    """Answer as for a session that is not there (-32002)."""

    prompt: Key


@dataclass(frozen=True, slots=True)
class Tell:
    """Report the state; an edition without such reports has no words for it."""

    state: StateChanged


@dataclass(frozen=True, slots=True)
class StopBackground:
    """Stop what goes on beside the turns; say `BackgroundChanged` when it is over."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The session is over: answer who asked for it, free what it held."""


@dataclass(frozen=True, slots=True)
class Illegal:
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
    | Tell
    | StopBackground
    | Closed
    | Illegal
)
