"""The memory of a session: the messages of its model, kept beside the conversation as the agent's own state.

It only ever holds whole exchanges: a reply that calls tools is followed by their results.
"""

from __future__ import annotations

import logging
from typing import Any

import msgspec

from accord.coder.model import Message, ModelReply, ToolResult, ToolResults, UserMessage, estimated_tokens
from accord.session.remembered import RememberedAnswer

log = logging.getLogger("accord.coder")

SUMMARY = "What was said before, in short:\n\n"
SHORT_RESULT = 400


class Memory(msgspec.Struct, omit_defaults=True):
    """The messages, what the user allowed, and what it took so far."""

    messages: list[UserMessage | ModelReply | ToolResults] = []
    answers: list[RememberedAnswer] = []
    """What the user allowed for the whole session. Earlier versions kept `allowed`, which is not taken over."""
    counted_tokens: int = 0
    """What a provider counted, for the first `counted` messages with all that was sent beside them."""
    counted: int = 0
    cost: float = 0.0
    priced: bool = False

    @property
    def tokens(self) -> int:
        """How full the context is: counted as far as possible, then estimated."""
        return self.counted_tokens + estimated_tokens(*self.messages[self.counted :])

    def add(self, *messages: Message) -> None:
        self.messages.extend(messages)

    def count(self, tokens: int) -> None:
        """A provider counted all that is here now."""
        self.counted_tokens, self.counted = tokens, len(self.messages)

    def pay(self, cost: float | None) -> None:
        """A request had its price, if that is known."""
        if cost is not None:
            self.cost += cost
            self.priced = True

    def forget_from(self, place: int) -> None:
        """Forget the messages from there on."""
        del self.messages[place:]
        if self.counted > place:
            self.counted_tokens = self.counted = 0

    def summarise(self, before: int, summary: str) -> int:
        """Keep a summary instead of the messages before a place; where what stood there stands now."""
        self.messages[:before] = [UserMessage(SUMMARY + summary), ModelReply("Understood.")]
        self.counted_tokens = self.counted = 0
        return 2

    def shorten_results(self, start: int, tokens: int) -> None:
        """Cut the results of tools from a place on, the oldest first, until no more than so many tokens are left."""
        self.counted_tokens = self.counted = 0
        for place in range(start, len(self.messages) - 1):
            if self.tokens <= tokens:
                return
            message = self.messages[place]
            if isinstance(message, ToolResults):
                self.messages[place] = ToolResults([_shortened(result) for result in message.results])


def _shortened(result: ToolResult) -> ToolResult:
    if len(result.text) <= SHORT_RESULT and not result.pictures:
        return result
    return ToolResult(result.call_id, result.name, f"{result.text[:SHORT_RESULT]}\n[cut, to save room]", result.failed)


def remembered(state: Any) -> Memory:
    """The memory of a session from before; an empty one where there is none that can be read."""
    if state is None:
        return Memory()
    try:
        return msgspec.convert(state, Memory)
    except msgspec.ValidationError as error:
        log.warning("what the model remembered of this session cannot be read: %s", error)
        return Memory()
