"""What can happen to a session's turn: the inputs of the turn automaton."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeAlias

import msgspec

from accord.session.event import Background, StopReason, TokenUsage, WorkError

__all__ = [
    "BackgroundChanged",
    "CancelRequested",
    "ClientLost",
    "CloseRequested",
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
    "QuestionOpened",
    "WorkStarted",
]

Key: TypeAlias = Hashable
"""How the caller names a prompt or a question; each name is used once."""


class PromptArrived(msgspec.Struct, frozen=True):
    """A prompt was read, and is one that the session can take."""

    prompt: Key


class PromptInserted(msgspec.Struct, frozen=True):
    """An `Insert` is done: the user's message has its place and is kept."""

    prompt: Key


class InsertionFailed(msgspec.Struct, frozen=True):
    """An `Insert` could not be done: the message is nowhere."""

    prompt: Key
    error: WorkError


class PromptWithdrawn(msgspec.Struct, frozen=True):
    """The client takes one prompt back (`$/cancel_request`)."""

    prompt: Key


class WorkStarted(msgspec.Struct, frozen=True):
    """The agent works in the foreground without having been prompted; a handler's end ends it."""


class QuestionOpened(msgspec.Struct, frozen=True):
    """The user was asked something; `blocking` if nothing else goes on until the answer."""

    question: Key
    blocking: bool = True


class QuestionAnswered(msgspec.Struct, frozen=True):
    """A question has its answer, whatever it is."""

    question: Key


class CancelRequested(msgspec.Struct, frozen=True):
    """The client wants the foreground to stop."""


class HandlerFinished(msgspec.Struct, frozen=True):
    """The handler came to its end."""

    stop_reason: StopReason = "end_turn"
    token_usage: TokenUsage | None = None


class HandlerFailed(msgspec.Struct, frozen=True):
    """The handler raised."""

    error: WorkError
    token_usage: TokenUsage | None = None


class HandlerCancelled(msgspec.Struct, frozen=True):
    """The handler was aborted, whoever did it."""

    token_usage: TokenUsage | None = None


class BackgroundChanged(msgspec.Struct, frozen=True):
    """All that goes on beside the turns; the end of what is gone was told before (A45)."""

    background: tuple[Background, ...] = ()


class CloseRequested(msgspec.Struct, frozen=True):
    """The session is to end."""


class ClientLost(msgspec.Struct, frozen=True):
    """Nobody is there any more."""


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
