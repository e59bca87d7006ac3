"""What can happen to a session's turn: the inputs of the turn automaton."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeAlias

from accord.session.event import Background, StopReason, WorkError

__all__ = [
    "BackgroundChanged",
    "CancelAsked",
    "CloseAsked",
    "ConnectionLost",
    "HandlerCancelled",
    "HandlerFailed",
    "HandlerFinished",
    "Input",
    "InsertionFailed",
    "Key",
    "PromptArrived",
    "PromptInserted",
    "PromptWithdrawn",
    "QuestionAnswered",
    "QuestionAsked",
    "WorkStarted",
]

Key: TypeAlias = Hashable
"""How the caller names a prompt or a question; each name is used once."""


@dataclass(frozen=True, slots=True)
class PromptArrived:
    """A prompt was read, and is one that the session can take."""

    prompt: Key


@dataclass(frozen=True, slots=True)
class PromptInserted:
    """An `Insert` is done: the user's message has its place and is kept."""

    prompt: Key


@dataclass(frozen=True, slots=True)
class InsertionFailed:
    """An `Insert` could not be done: the message is nowhere."""

    prompt: Key
    error: WorkError


@dataclass(frozen=True, slots=True)
class PromptWithdrawn:
    """The client takes one prompt back (`$/cancel_request`)."""

    prompt: Key


@dataclass(frozen=True, slots=True)
class WorkStarted:
    """The agent works in the foreground without having been prompted; a handler's end ends it."""


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """The user was asked something; `blocking` if nothing else goes on until the answer."""

    question: Key
    blocking: bool = True


@dataclass(frozen=True, slots=True)
class QuestionAnswered:
    """A question has its answer, whatever it is."""

    question: Key


@dataclass(frozen=True, slots=True)
class CancelAsked:
    """The client wants the foreground to stop."""


@dataclass(frozen=True, slots=True)
class HandlerFinished:
    """The handler came to its end."""

    stop_reason: StopReason = "end_turn"


@dataclass(frozen=True, slots=True)
class HandlerFailed:
    """The handler raised."""

    error: WorkError


@dataclass(frozen=True, slots=True)
class HandlerCancelled:
    """The handler was aborted, whoever did it."""


@dataclass(frozen=True, slots=True)
class BackgroundChanged:
    """All that goes on beside the turns; the end of what is gone was told before (A45)."""

    background: tuple[Background, ...] = ()


@dataclass(frozen=True, slots=True)
class CloseAsked:
    """The session is to end."""


@dataclass(frozen=True, slots=True)
class ConnectionLost:
    """Nobody is there any more."""


Input: TypeAlias = (
    PromptArrived
    | PromptInserted
    | InsertionFailed
    | PromptWithdrawn
    | WorkStarted
    | QuestionAsked
    | QuestionAnswered
    | CancelAsked
    | HandlerFinished
    | HandlerFailed
    | HandlerCancelled
    | BackgroundChanged
    | CloseAsked
    | ConnectionLost
)
