"""Agents of June's v2 that are wrong about what is June's own in turns."""

from __future__ import annotations

from typing import Any

from accord.testing.faults.agent_june import FullJune, PlainJune
from accord.testing.faults.fault import breaks
from accord.testing.faults.raw import Refused
from accord.testing.faults.shelf import Session

__all__: list[str] = []


@breaks("ACP-CANCEL-205", "v2_june")
class AnswersACancel(PlainJune):
    """Confirms a cancellation."""

    async def on_session_cancel(self, params: dict[str, Any]) -> None:
        """Stop."""
        await super().on_session_cancel(params)
        self.answer(None, {})


@breaks("ACP-CANCEL-206", "v2_june")
class CancelWithoutMetadata(PlainJune):
    """Does not stop when there is more to read than a name."""

    async def on_session_cancel(self, params: dict[str, Any]) -> None:
        """Stop."""
        if set(params) == {"sessionId"}:
            await super().on_session_cancel(params)


@breaks("ACP-CLIENTCAP-202", "v2_june")
class FilesFromThePast(FullJune):
    """Asks for files, which June's clients do not have."""

    def offers(self, *path: str) -> bool:
        """Whether the client offers something."""
        return path[0] == "fs"

    async def change(self, session: Session, tool: str) -> bool:
        """Run the tool."""
        await self.use_files(session)
        return await super().change(session, tool)


@breaks("ACP-PATCH-201", "v2_june")
class MessagesWithoutIds(PlainJune):
    """Says who speaks and not in which message."""

    def update(self, session: Session, kind: str, /, **fields: Any) -> None:
        """Tell the client."""
        fields.pop("messageId", None)
        super().update(session, kind, **fields)


@breaks("ACP-PATCH-204", "v2_june")
class ChunksWithoutContent(FullJune):
    """Appends nothing to a tool."""

    def update(self, session: Session, kind: str, /, **fields: Any) -> None:
        """Tell the client."""
        if kind == "tool_call_content_chunk":
            fields.pop("content", None)
        super().update(session, kind, **fields)


@breaks("ACP-ENUM-201", "v2_june")
class KindOfItsOwn(FullJune):
    """Has a kind of tool that June does not know."""

    def tool_fields(self, session: Session) -> dict[str, Any]:
        """What is told of a tool at first."""
        return {**super().tool_fields(session), "kind": "embroider"}


@breaks("ACP-ENUM-202", "v2_june")
class UpdateOfItsOwn(PlainJune):
    """Has an update that June does not know."""

    def show_message(self, session: Session, words: str) -> None:
        """The agent says something."""
        self.update(session, "mood", mood="good")
        super().show_message(session, words)


# --- what is only recorded


@breaks("ACP-INFO-CANCEL-201", "v2_june", note="agent_message")
class SpeaksWhenCancelledIdle(PlainJune):
    """Says that there was nothing to cancel."""

    async def on_session_cancel(self, params: dict[str, Any]) -> None:
        """Stop."""
        session = self.sessions.get(params["sessionId"])
        if session is not None and not self.turns.get(session.id):
            self.show_message(session, "There was nothing to cancel")
        await super().on_session_cancel(params)


@breaks("ACP-INFO-CONCURRENT-201", "v2_june", note="-32600")
class OnePromptAtATime(PlainJune):
    """Refuses a second prompt."""

    async def on_session_prompt(self, params: dict[str, Any]) -> Any:
        """A prompt."""
        if self.turns.get(params["sessionId"]):
            raise Refused(-32600, "A turn is going on")
        return await super().on_session_prompt(params)


@breaks("ACP-EXT-203", "v2_june", note="_example.com/what")
class AnswersDollarNotifications(PlainJune):
    """Complains about a notification of the protocol level that it does not know."""

    async def take_notification(self, method: str, params: Any) -> None:
        """A notification."""
        if method == "$/nonsense":
            self.notify("_example.com/what", {"method": method})
        await super().take_notification(method, params)
