"""Agents of v1 that are wrong about sessions."""

from __future__ import annotations

from typing import Any

from accord.testing.faults.agent_v1 import FullV1, PlainV1
from accord.testing.faults.fault import breaks
from accord.testing.faults.raw import Refused
from accord.testing.faults.shelf import Session

__all__: list[str] = []

INTERNAL_ERROR = -32603


class TwoAtOnce(PlainV1):
    """Conforms, and knows who asks for a second session before anything was done with the first."""

    before = ""
    """The method of the last request."""

    async def take_request(self, message: dict[str, Any]) -> None:
        """A request."""
        method, before = message["method"], self.before
        self.before = method
        if method == before == "session/new" and len(self.sessions) == 1:
            await self.take_second(message)
        else:
            await super().take_request(message)

    async def take_second(self, message: dict[str, Any]) -> None:
        """A request for a second session right behind the first."""
        await super().take_request(message)


@breaks("ACP-SESSION-001", "v1")
class NoSessions(PlainV1):
    """Opens no session without MCP servers."""

    def servers_of(self, params: dict[str, Any]) -> list[Any]:
        """The MCP servers of a session."""
        servers = super().servers_of(params)
        if not servers:
            raise Refused(INTERNAL_ERROR, "Internal error")
        return servers


@breaks("ACP-SESSION-002", "v1")
class TheSameSessionTwice(TwoAtOnce):
    """Gives a session again to who wants two at once."""

    async def take_second(self, message: dict[str, Any]) -> None:
        """A request for a second session right behind the first."""
        self.answer(message["id"], self.session_result(next(iter(self.sessions.values()))))


# --- loaded, resumed


@breaks("ACP-LOAD-001", "v1")
class LoadFails(FullV1):
    """Advertises a load that fails."""

    async def on_session_load(self, _params: dict[str, Any]) -> Any:
        """A session with all that was said in it."""
        raise Refused(INTERNAL_ERROR, "Internal error")


@breaks("ACP-LOAD-002", "v1")
class ReplaysTooLate(FullV1):
    """Answers a load before it has said everything again."""

    def replay(self, session: Session) -> None:
        """Say all of it again."""

    async def after_answer(self, id_: Any, method: str, params: dict[str, Any], result: Any) -> None:
        """A request was answered."""
        await super().after_answer(id_, method, params, result)
        if method == "session/load":
            super().replay(self.sessions[params["sessionId"]])


@breaks("ACP-LOAD-003", "v1")
class LoadIsNull(FullV1):
    """Has nothing to say about a session that was loaded."""

    def load_result(self, _session: Session) -> Any:
        """The answer to a request to load."""
        return None


@breaks("ACP-RESUME-001", "v1")
class ResumeWantsServers(FullV1):
    """Resumes nothing without a list of MCP servers."""

    async def on_session_resume(self, params: dict[str, Any]) -> Any:
        """A session without what was said in it."""
        if "mcpServers" not in params:
            raise Refused(-32602, "Invalid params: mcpServers")
        return await super().on_session_resume(params)


@breaks("ACP-RESUME-002", "v1")
class ResumeReplays(FullV1):
    """Tells who resumes a session what that one knows."""

    def resume_result(self, session: Session) -> Any:
        """The answer to a request to resume."""
        for update in session.history:
            if update["sessionUpdate"] in {"user_message", "user_message_chunk", "agent_message_chunk"}:
                self.update(session, update["sessionUpdate"], messageId=self.message_id(), content=update["content"])
        return super().resume_result(session)


# --- listed, deleted, closed


@breaks("ACP-LIST-001", "v1")
class ListFails(FullV1):
    """Advertises a list that it does not have."""

    def listed(self, cwd: Any) -> list[Session]:
        """The sessions of a folder, or all."""
        if cwd is None:
            raise Refused(INTERNAL_ERROR, "Internal error")
        return super().listed(cwd)


@breaks("ACP-LIST-002", "v1")
class EmptyListIsAnError(FullV1):
    """Finds nothing and calls that an error."""

    def listed(self, cwd: Any) -> list[Session]:
        """The sessions of a folder, or all."""
        found = super().listed(cwd)
        if not found:
            raise Refused(-32002, "Folder not found")
        return found


@breaks("ACP-DELETE-001", "v1")
class DeleteFails(FullV1):
    """Deletes nothing that is there."""

    async def on_session_delete(self, params: dict[str, Any]) -> Any:
        """A session is gone."""
        if self.shelf.find(params.get("sessionId")) is not None:
            self.shelf.forget(params["sessionId"])
            raise Refused(INTERNAL_ERROR, "Internal error")
        return await super().on_session_delete(params)


@breaks("ACP-DELETE-002", "v1")
class DeleteMissesIt(FullV1):
    """Complains that there is nothing to delete."""

    async def on_session_delete(self, params: dict[str, Any]) -> Any:
        """A session is gone."""
        if self.shelf.find(params.get("sessionId")) is None:
            raise Refused(-32002, "Session not found")
        return await super().on_session_delete(params)


@breaks("ACP-CLOSE-001", "v1")
class IdleCannotBeClosed(FullV1):
    """Closes only what works."""

    async def on_session_close(self, params: dict[str, Any]) -> Any:
        """A session is left."""
        if not self.turns.get(params["sessionId"]):
            raise Refused(INTERNAL_ERROR, "Internal error")
        return await super().on_session_close(params)


@breaks("ACP-CLOSE-002", "v1")
class CloseEndsTheTurn(FullV1):
    """Says that a turn had done its work when its session was closed."""

    is_closing = False

    async def on_session_close(self, params: dict[str, Any]) -> Any:
        """A session is left."""
        self.is_closing = True
        return await super().on_session_close(params)

    def cancelled_reason(self) -> str:
        """Why a turn ends that was cancelled."""
        return "end_turn" if self.is_closing else super().cancelled_reason()


@breaks("ACP-ADDDIRS-001", "v1")
class OneRootOnly(FullV1):
    """Advertises further roots and takes none."""

    def roots_of(self, params: dict[str, Any]) -> list[str]:
        """The additional folders of a session."""
        if params.get("additionalDirectories"):
            raise Refused(-32602, "Invalid params: additionalDirectories")
        return []
