"""The repetition of the prompt by an agent, and the history of a loaded session that may come before it.

Some servers send the history on another stream than the answer to the load: behind it, and behind the first prompt.
Where the agent then repeats the prompt, everything before that is history. Until then it is not known: from a user's
message on that is not the prompt, messages and tool calls are held back. They belong to the turn where the agent makes
a request, or where the turn ends without a repetition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from accord.client.turn import Turn
from accord.session.client_turn import ClientTurns, PromptEcho
from accord.session.content import Block, Text
from accord.session.entry import Entry
from accord.session.event import Event, MessageChanged, MessageChunk, ToolChanged, ToolContentAdded
from accord.session.transcript import Transcript

__all__ = ["LateReplay"]

_HISTORY = frozenset({MessageChunk, MessageChanged, ToolChanged, ToolContentAdded})


class LateReplay:
    """See the heading. History is possible from the load of a session to the end of its first turn."""

    def __init__(
        self, transcript: Transcript, turns: ClientTurns[Turn], listeners: Sequence[Callable[[Event], object]]
    ) -> None:
        self._transcript = transcript
        self._turns = turns
        self._listeners = listeners
        self._echo = PromptEcho([])
        self._prompt: Entry | None = None
        """The prompt, where it was taken out of the transcript until its place is known."""
        self._is_repeating = False
        """Whether the last event repeated the prompt: a part that is written otherwise is no history."""
        self.held: list[Event] | None = None
        self.is_possible = False

    def expect(self, prompt: list[Block]) -> None:
        """A prompt is sent, which the agent may repeat."""
        self._echo = PromptEcho(prompt)

    def takes(self, event: Event) -> bool:
        """Whether an event repeats the prompt, which is in the transcript already."""
        if type(event) is not MessageChunk or event.speaker != "user" or not self._turns.sent:
            self._is_repeating = self._is_repeating and type(event) not in _HISTORY
            return False
        if not self.is_possible:
            return bool(self._echo) and self._echo.takes(event)
        turn = self._turns.sent[0]
        if event.block in (*turn.prompt, Text("".join(each.text for each in turn.prompt if isinstance(each, Text)))):
            self._begin_turn(turn)
        elif self.held is None and not self._is_repeating:
            self.held, self._prompt = [], self._set_aside(turn)
        return self._is_repeating

    def holds(self, event: Event) -> bool:
        """Whether an event is held back."""
        if self.held is None or type(event) not in _HISTORY:
            return False
        self.held.append(event)
        self._turns.sent[0]._alive()
        return True

    def release(self) -> None:
        """The turn runs, or is over: what is held back belongs to it."""
        if not self._turns.sent:
            return
        turn = self._turns.sent[0]
        held, self.held, self.is_possible = self.held or [], None, False
        if self._prompt is not None:
            turn._first, self._prompt = self._transcript.put_back(self._prompt, turn._first), None
        for event in held:
            turn._enqueue(event)
            for listener in self._listeners:
                listener(event)

    def _begin_turn(self, turn: Turn) -> None:
        """Everything before it is history. An equal prompt may have come in that: then this is not the last one."""
        prompt, self._is_repeating = self._prompt or self._set_aside(turn), True
        self.held = self._prompt = None
        turn._first = self._transcript.put_back(prompt)

    def _set_aside(self, turn: Turn) -> Entry:
        turn._first = (turn._first or 1) - 1
        return self._transcript.set_aside(turn._first)
