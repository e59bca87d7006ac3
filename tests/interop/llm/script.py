"""The steps of a model in one conversation, one for each tool result that it gets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

__all__ = ["Event", "Hang", "Say", "Script", "Speaker", "Step", "Use", "Voice", "pieces"]

Event: TypeAlias = tuple[str | None, Any]
"""One server-sent event: its name, where the interface names them, and its data as JSON (or text as it is)."""


@dataclass(frozen=True)
class Say:
    """Some text, after which the model waits for its user."""

    text: str


@dataclass(frozen=True)
class Use:
    """A call of one of the agent's tools."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Hang:
    """The beginning of a text, and then silence for as long as somebody listens."""

    text: str


Step: TypeAlias = Say | Use | Hang


class Speaker(NamedTuple):
    """Which model answers, and how often it has: what has an id gets its own in every answer, as in real life."""

    model: str
    number: int


class Voice(Protocol):
    """One provider's interface: how a question is read there and how an answer is said."""

    def is_conversation(self, body: Any) -> bool:
        """Whether this asks the model to work, with tools, and is no side question such as one for a title."""

    def results(self, body: Any) -> int:
        """How many tool results the question brings, from the beginning of the conversation."""

    def say(self, text: str, by: Speaker) -> Iterator[Event]:
        """Some text, in pieces."""

    def use(self, step: Use, by: Speaker) -> Iterator[Event]:
        """A tool call."""


@dataclass(frozen=True)
class Script:
    """The steps of one conversation. Side questions all get the same answer, and they do not count."""

    steps: Sequence[Step]
    aside: str = "A conversation"

    def step(self, voice: Voice, body: Any) -> Step:
        """What to answer: it depends on the question alone, so that a retry gets the same again."""
        if not voice.is_conversation(body):
            return Say(self.aside)
        return self.steps[min(voice.results(body), len(self.steps) - 1)]


def pieces(text: str) -> Iterator[str]:
    """A text as a model streams it: word by word."""
    for index, word in enumerate(text.split(" ")):
        yield word if index == 0 else f" {word}"
