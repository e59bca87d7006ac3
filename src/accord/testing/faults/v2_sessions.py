"""Agents of v2 that are wrong about their sessions: opening, resuming, listing, closing, deleting, options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from accord.testing.faults.agent_v2 import FullV2, PlainV2
from accord.testing.faults.agent_v2_handshake import INVALID_PARAMS, NO_METHOD, NO_SESSION
from accord.testing.faults.agent_v2_history import KeptSession, Update
from accord.testing.faults.agent_v2_sessions import OpenSession
from accord.testing.faults.fault import breaks
from accord.testing.faults.raw import Refused

__all__: list[str] = []


@breaks("ACP-SESSION-001", "v2")
class MakesNoSessions(PlainV2):
    async def on_session_new(self, params: dict[str, Any]) -> Any:
        self.check_folders(params)
        self.check_servers(params)
        raise Refused(-32603, "Internal error")


@breaks("ACP-SESSION-002", "v2")
class GivesTheSameSessionAgain(PlainV2):
    async def on_session_new(self, params: dict[str, Any]) -> Any:
        self.check_folders(params)
        if self.sessions and "mcpServers" not in params:
            return {"sessionId": list(self.sessions)[-1]}
        return await super().on_session_new(params)


@breaks("ACP-SESSION-203", "v2")
class WantsAListOfServers(PlainV2):
    def check_servers(self, params: dict[str, Any]) -> None:
        if "mcpServers" not in params and "sessionId" not in params:
            raise Refused(INVALID_PARAMS, "Invalid params")
        super().check_servers(params)


# --- resuming


@breaks("ACP-RESUME-201", "v2")
class CannotResume(PlainV2):
    async def on_session_resume(self, params: dict[str, Any]) -> Any:
        self.find_kept(params)
        raise Refused(NO_METHOD, "Method not found")


@breaks("ACP-RESUME-202", "v2")
class RepliesBeforeItsReplay(PlainV2):
    def replay(self, session: OpenSession) -> None:
        """It comes later."""

    async def after_answer(self, _id: Any, method: str, params: dict[str, Any], _result: Any) -> None:
        if method == "session/resume" and self.wants_replay(params):
            super().replay(self.sessions[params["sessionId"]])


@breaks("ACP-RESUME-203", "v2")
class ReplaysUnasked(PlainV2):
    def wants_replay(self, _params: dict[str, Any]) -> bool:
        return True


@breaks("ACP-RESUME-204", "v2")
class RenamesMessagesInItsReplay(PlainV2):
    def replayed(self, entry: Update) -> list[Update]:
        renamed = {"messageId": self.new_message_id()} if entry["sessionUpdate"] == "user_message" else {}
        return [{**entry, **renamed}]


@breaks("ACP-RESUME-205", "v2")
class ReplaysChunksAlone(FullV2):
    def replayed(self, entry: Update) -> list[Update]:
        updates = super().replayed(entry)
        return updates[1:] if entry["sessionUpdate"] == "agent_message" else updates


# --- listing, closing, deleting


@breaks("ACP-LIST-201", "v2")
class CannotList(PlainV2):
    methods = PlainV2.methods - {"session/list"}


@breaks("ACP-LIST-202", "v2")
class RefusesAnUnknownFolder(PlainV2):
    async def on_session_list(self, params: dict[str, Any]) -> Any:
        cwd = params.get("cwd")
        if cwd is not None and cwd not in [kept.cwd for kept in self.kept.values()]:
            raise Refused(INVALID_PARAMS, "Invalid params")
        return await super().on_session_list(params)


@breaks("ACP-LIST-203", "v2")
class ListsTheFoldersAbove(PlainV2):
    def is_listed(self, kept: KeptSession, cwd: str | None) -> bool:
        known = cwd in [each.cwd for each in self.kept.values()]
        return super().is_listed(kept, cwd) or (known and Path(str(cwd)).is_relative_to(kept.cwd))


@breaks("ACP-LIST-204", "v2")
class ListsRelativeFolders(PlainV2):
    async def on_session_list(self, params: dict[str, Any]) -> Any:
        result = await super().on_session_list(params)
        if "cwd" not in params:
            for session in result["sessions"]:
                session["cwd"] = Path(session["cwd"]).name
        return result


@breaks("ACP-CLOSE-201", "v2")
class ClosesOnlyWhatWorks(PlainV2):
    async def on_session_close(self, params: dict[str, Any]) -> Any:
        session = self.sessions.get(params["sessionId"])
        if session is not None and session.work is None:
            raise Refused(INVALID_PARAMS, "Invalid params")
        return await super().on_session_close(params)


@breaks("ACP-CLOSE-202", "v2")
class ClosesWithoutAnEnd(PlainV2):
    def tell_cancelled(self, session: OpenSession) -> None:
        if not session.is_closing:
            super().tell_cancelled(session)


@breaks("ACP-DELETE-201", "v2")
class CannotDelete(FullV2):
    async def on_session_delete(self, params: dict[str, Any]) -> Any:
        if params.get("sessionId") in self.kept:
            raise Refused(-32603, "Internal error")
        return await super().on_session_delete(params)


@breaks("ACP-DELETE-202", "v2")
class ListsWhatWasDeleted(FullV2):
    async def on_session_list(self, params: dict[str, Any]) -> Any:
        result = await super().on_session_list(params)
        return {**result, "sessions": [*map(self.listed, self.deleted), *result["sessions"]]}

    async def on_session_delete(self, params: dict[str, Any]) -> Any:
        if params.get("sessionId") in self.kept:
            self.deleted.append(self.kept[params["sessionId"]])
        return await super().on_session_delete(params)

    def __init__(self) -> None:
        super().__init__()
        self.deleted: list[KeptSession] = []


@breaks("ACP-DELETE-203", "v2")
class DeletesOnlyWhatIsThere(FullV2):
    async def on_session_delete(self, params: dict[str, Any]) -> Any:
        if params.get("sessionId") not in self.kept:
            raise Refused(NO_SESSION, "Session not found", {"sessionId": params.get("sessionId")})
        return await super().on_session_delete(params)


# --- roots


@breaks("ACP-ADDDIRS-201", "v2")
class RefusesFurtherRoots(FullV2):
    def check_folders(self, params: dict[str, Any]) -> None:
        if params.get("additionalDirectories") and "sessionId" not in params:
            raise Refused(INVALID_PARAMS, "Invalid params")
        super().check_folders(params)


@breaks("ACP-ADDDIRS-202", "v2")
class RefusesOtherRoots(FullV2):
    def check_folders(self, params: dict[str, Any]) -> None:
        if params.get("additionalDirectories") and "sessionId" in params:
            raise Refused(INVALID_PARAMS, "Invalid params")
        super().check_folders(params)


# --- options


@breaks("ACP-CONFIG-201", "v2")
class MixesGroupsAndChoices(FullV2):
    def new_result(self, session: OpenSession) -> Any:
        result = super().new_result(session)
        result["configOptions"][1]["options"].append({"value": "cold", "name": "Cold"})
        return result


@breaks("ACP-CONFIG-202", "v2")
class AnswersWithOneOption(FullV2):
    def set_result(self, session: OpenSession) -> Any:
        return {"configOptions": self.options(session)[:1]}


@breaks("ACP-CONFIG-203", "v2")
class ResumesWithNamelessOptions(FullV2):
    async def on_session_resume(self, params: dict[str, Any]) -> Any:
        result = await super().on_session_resume(params)
        for option in result["configOptions"]:
            del option["name"]
        return result


@breaks("ACP-CONFIG-204", "v2")
class IsSetToNoChoice(FullV2):
    def first_values(self) -> dict[str, Any]:
        return {**super().first_values(), "mode": "dream"}


@breaks("ACP-CONFIG-206", "v2")
class TellsOneOption(FullV2):
    def tell_options(self, session: OpenSession) -> None:
        self.tell(session, "config_option_update", configOptions=self.options(session)[:1])
