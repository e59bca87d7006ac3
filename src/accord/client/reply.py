"""The result of one prompt of the blocking client."""

from __future__ import annotations

from accord.client.turn import Turn
from accord.session.entry import ToolCall
from accord.session.event import StopReason, TokenUsage, UsageChanged
from accord.session.notebook import conversation_html, conversation_markdown, end_note
from accord.session.tool import FileChange

__all__ = ["Reply"]


class Reply:
    """The result of a prompt. Made by `BlockingSession.prompt`; `str` of it is its text."""

    def __init__(self, turn: Turn) -> None:
        self.text: str = turn.text
        """The text of all messages of the agent in the turn."""
        self.answer: str = turn.answer
        """The last whole message of the agent."""
        self.stop_reason: StopReason | None = turn.stop_reason
        """Why the turn ended."""
        self.tool_calls: list[ToolCall] = turn.tool_calls
        """The tool calls of the turn, in their order."""
        self.diffs: list[FileChange] = turn.diffs
        """The changes of files that the tool calls show, without those that failed or were cancelled."""
        self.token_usage: TokenUsage | None = turn.token_usage
        """The tokens that the turn took, where the agent reported them."""
        transcript = turn._session.transcript
        self.usage: UsageChanged | None = transcript.usage
        """The use of the context and the cost, as the agent had reported them at the end of the turn."""
        self._entries = list(turn._entries)
        self._terminals = transcript.terminals

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<reply, {self.stop_reason}: {self.text[:60]!r}>"

    def _repr_html_(self) -> str:
        note = end_note(self.stop_reason, self.token_usage, self.usage)
        return conversation_html("Reply", self._entries, self._terminals, note)

    def _repr_markdown_(self) -> str:
        note = end_note(self.stop_reason, self.token_usage, self.usage)
        return conversation_markdown("Reply", self._entries, self._terminals, note)
