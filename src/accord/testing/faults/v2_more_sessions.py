"""Agents of v2 that are wrong with sessions, their replays, lists, options and commands; rules of ours."""

from __future__ import annotations

import copy
from typing import Any

from accord.testing.faults.agent_v2 import FullV2, PlainV2
from accord.testing.faults.agent_v2_handshake import CANCELLED, INVALID_PARAMS, NO_SESSION
from accord.testing.faults.agent_v2_history import KeptSession
from accord.testing.faults.agent_v2_sessions import OpenSession, wrong
from accord.testing.faults.fault import breaks
from accord.testing.faults.raw import Refused

__all__: list[str] = []

_INTERNAL = -32603


@breaks("ACCORD-SESSION-201", "v2")
class WorksInRelativeFolders(PlainV2):
    async def on_session_new(self, params: dict[str, Any]) -> Any:
        cwd = params.get("cwd")
        if isinstance(cwd, str) and not cwd.startswith("/"):
            params = {**params, "cwd": f"/{cwd}"}
        return await super().on_session_new(params)


@breaks("ACCORD-SESSION-202", "v2")
class WorksNowhere(PlainV2):
    async def on_session_new(self, params: dict[str, Any]) -> Any:
        return await super().on_session_new({"cwd": "/", **params})


@breaks("ACCORD-SESSION-203", "v2")
class WantsNoNullForAList(PlainV2):
    async def on_session_new(self, params: dict[str, Any]) -> Any:
        if params.get("mcpServers", []) is None:
            raise wrong("mcpServers", "a list")
        return await super().on_session_new(params)


@breaks("ACCORD-SESSION-204", "v2")
class HasNullForOptions(PlainV2):
    def session_result(self, session: OpenSession) -> dict[str, Any]:
        return {**super().session_result(session), "configOptions": None}


@breaks("ACCORD-SESSION-205", "v2")
class SpeaksForTheSessionResumedLast(FullV2):
    """Takes the session that was resumed last for the one that it works for."""

    resumed_last = ""

    async def on_session_resume(self, params: dict[str, Any]) -> Any:
        """One from before."""
        result = await super().on_session_resume(params)
        self.resumed_last = params["sessionId"]
        return result

    def tell(self, session: OpenSession, kind: str, /, **fields: Any) -> None:
        """An update, which is kept as well."""
        if not kind.startswith("agent_message") or not self.resumed_last:
            super().tell(session, kind, **fields)
            return
        update = {"sessionUpdate": kind, **fields}
        session.kept.keep(update)
        self.update(self.resumed_last, update)


@breaks("ACCORD-ADDDIRS-201", "v2")
class DropsRelativeRoots(FullV2):
    async def on_session_new(self, params: dict[str, Any]) -> Any:
        roots = [root for root in params.get("additionalDirectories") or [] if root.startswith("/")]
        return await super().on_session_new({**params, "additionalDirectories": roots})


@breaks("ACCORD-MCP-201", "v2")
class AcceptsPigeons(PlainV2):
    def check_servers(self, params: dict[str, Any]) -> None:
        servers = [server for server in params.get("mcpServers") or [] if not server["type"].startswith("_")]
        super().check_servers({"mcpServers": servers})


@breaks("ACCORD-MCP-202", "v2")
class AcceptsEveryTransport(PlainV2):
    def check_servers(self, params: dict[str, Any]) -> None:
        servers = [server for server in params.get("mcpServers") or [] if server["type"] not in {"stdio", "http"}]
        super().check_servers({"mcpServers": servers})


# --- sessions that are not there


@breaks("ACCORD-UNKNOWN-201", "v2")
class FindsPromptsForNobodyInvalid(PlainV2):
    def take_prompt(self, request: Any, params: Any) -> None:
        if params["sessionId"] not in self.kept:
            raise wrong("sessionId", "a session")
        super().take_prompt(request, params)


@breaks("ACCORD-UNKNOWN-202", "v2")
class FindsResumingNobodyInvalid(PlainV2):
    def find_kept(self, params: dict[str, Any]) -> KeptSession:
        if params["sessionId"] not in self.kept:
            raise wrong("sessionId", "a session")
        return super().find_kept(params)


@breaks("ACCORD-UNKNOWN-203", "v2")
class DoesNotSayWhoIsUnknown(PlainV2):
    def refuse(self, id_: Any, code: int, message: str, data: Any = None) -> None:
        super().refuse(id_, code, message, None if code == NO_SESSION else data)


# --- resuming


@breaks("ACCORD-RESUME-201", "v2")
class ResumesWithoutAState(PlainV2):
    def tell_state(self, _session: OpenSession) -> None:
        return


@breaks("ACCORD-RESUME-202", "v2")
class TellsTheStateBeforeTheHistory(PlainV2):
    is_told = False

    def replay(self, session: OpenSession) -> None:
        self.tell_state(session)
        self.is_told = True
        super().replay(session)

    def tell_state(self, session: OpenSession) -> None:
        if not self.is_told:
            super().tell_state(session)
        self.is_told = False


@breaks("ACCORD-RESUME-203", "v2")
class ReplaysFromYesterday(PlainV2):
    def check_cursor(self, cursor: Any) -> None:
        if not isinstance(cursor, dict):
            super().check_cursor(cursor)


@breaks("ACCORD-RESUME-204", "v2")
class ReadsWordsAsCursors(PlainV2):
    def check_cursor(self, cursor: Any) -> None:
        if not isinstance(cursor, str):
            super().check_cursor(cursor)


@breaks("ACCORD-RESUME-205", "v2")
class ReplaysNotices(FullV2):
    def replay(self, session: OpenSession) -> None:
        super().replay(session)
        self.update(session.id, {"sessionUpdate": "notice", "severity": "info", "title": "Almost done"})


@breaks("ACCORD-RESUME-206", "v2")
class RemembersOtherWords(PlainV2):
    def replayed(self, entry: dict[str, Any]) -> list[dict[str, Any]]:
        if entry["sessionUpdate"] == "agent_message":
            entry = {**entry, "content": [{"type": "text", "text": "I forgot"}]}
        return super().replayed(entry)


@breaks("ACCORD-RESUME-207", "v2")
class ReplaysTerminalsInPieces(FullV2):
    def replayed(self, entry: dict[str, Any]) -> list[dict[str, Any]]:
        updates = super().replayed(entry)
        if entry["sessionUpdate"] == "terminal_update":
            piece = {"terminalId": entry["terminalId"], "data": "Cg=="}
            updates.append({"sessionUpdate": "terminal_output_chunk", **piece})
        return updates


@breaks("ACCORD-RESUME-208", "v2", note="-32602")
class ResumesOnlyAtHome(PlainV2):
    async def on_session_resume(self, params: dict[str, Any]) -> Any:
        if self.find_kept(params).cwd != params.get("cwd"):
            raise wrong("cwd", "the folder of the session")
        return await super().on_session_resume(params)


# --- listing


@breaks("ACCORD-LIST-201", "v2")
class ListsInCircles(FullV2):
    def place_of_cursor(self, cursor: Any, count: int) -> int:
        return super().place_of_cursor(cursor, count) * 0


@breaks("ACCORD-LIST-202", "v2", note="succeeded")
class ListsFromNowhere(PlainV2):
    def place_of_cursor(self, _cursor: Any, _count: int) -> int:
        return 0


@breaks("ACCORD-LIST-203", "v2")
class TellsTimesInWords(PlainV2):
    def listed(self, kept: KeptSession) -> Any:
        return {**super().listed(kept), "updatedAt": "yesterday"}


# --- closing and deleting


@breaks("ACCORD-CLOSE-201", "v2")
class SpeaksAfterClosing(PlainV2):
    async def on_session_close(self, params: dict[str, Any]) -> Any:
        is_open = params.get("sessionId") in self.sessions
        await super().on_session_close(params)
        return {"_meta": {"example.com/was-open": is_open}}

    async def after_answer(self, id_: Any, method: str, params: dict[str, Any], result: Any) -> None:
        await super().after_answer(id_, method, params, result)
        if method == "session/close" and result["_meta"]["example.com/was-open"]:
            self.update(params["sessionId"], {"sessionUpdate": "session_info_update", "title": "Closed"})


@breaks("ACCORD-CLOSE-202", "v2")
class FailsHeldPromptsWhenItCloses(PlainV2):
    async def stop(self, session: OpenSession) -> None:
        for prompt in session.held:
            self.refuse(prompt.request, _INTERNAL, "Internal error")
        session.held.clear()
        await super().stop(session)


@breaks("ACCORD-CLOSE-203", "v2")
class FindsPromptsForTheClosedInvalid(PlainV2):
    def take_prompt(self, request: Any, params: Any) -> None:
        if params["sessionId"] in self.kept and params["sessionId"] not in self.sessions:
            raise wrong("sessionId", "an open session")
        super().take_prompt(request, params)


@breaks("ACCORD-CLOSE-204", "v2")
class ClosesOnlyWhatIsOpen(PlainV2):
    async def on_session_close(self, params: dict[str, Any]) -> Any:
        self.open_session(params)
        return await super().on_session_close(params)


@breaks("ACCORD-DELETE-201", "v2")
class OnlyHidesWhatItDeletes(FullV2):
    hidden: frozenset[str] = frozenset()

    async def on_session_delete(self, params: dict[str, Any]) -> Any:
        await self.close(params.get("sessionId"))
        type(self).hidden |= {str(params.get("sessionId"))}
        return {}

    def is_listed(self, kept: KeptSession, cwd: str | None) -> bool:
        return super().is_listed(kept, cwd) and kept.id not in self.hidden


# --- options and commands


class _Forgives(FullV2):
    """Options that are set wrongly are answered as if nothing was wrong."""

    def forgives(self, _params: dict[str, Any]) -> bool:
        """Which."""
        return False

    async def on_session_set_config_option(self, params: dict[str, Any]) -> Any:
        try:
            return await super().on_session_set_config_option(params)
        except Refused as refused:
            if refused.code == INVALID_PARAMS and self.forgives(params):
                return self.set_result(self.open_session(params))
            raise


@breaks("ACCORD-CONFIG-201", "v2")
class IgnoresUnknownOptions(_Forgives):
    def forgives(self, params: dict[str, Any]) -> bool:
        return params.get("configId") not in self.first_values()


@breaks("ACCORD-CONFIG-202", "v2")
class IgnoresUnknownValues(_Forgives):
    def forgives(self, params: dict[str, Any]) -> bool:
        return params.get("configId") in self.first_values() and params.get("type") == "id"


@breaks("ACCORD-CONFIG-203", "v2")
class IgnoresUnknownTypes(_Forgives):
    def forgives(self, params: dict[str, Any]) -> bool:
        return str(params.get("type")).startswith("_")


@breaks("ACCORD-CONFIG-204", "v2")
class ChangesWhatItRefuses(_Forgives):
    def forgives(self, params: dict[str, Any]) -> bool:
        if params.get("configId") == "mode":
            self.open_session(params).kept.values["mode"] = "code"
        return False


@breaks("ACCORD-CONFIG-205", "v2")
class HasAValueTwice(FullV2):
    def options(self, session: OpenSession) -> list[Any]:
        options = copy.deepcopy(super().options(session))
        options[0]["options"].append({"value": "ask", "name": "Ask again"})
        return options


@breaks("ACCORD-COMMAND-201", "v2")
class HasACommandOfTwoWords(FullV2):
    def commands(self) -> list[Any]:
        return [{**command, "name": "greet somebody"} for command in super().commands()]


@breaks("ACCORD-COMMAND-202", "v2")
class HasACommandTwice(FullV2):
    def commands(self) -> list[Any]:
        return [*super().commands(), *super().commands()]


# --- prompts that wait


@breaks("ACCORD-CANCEL-201", "v2")
class FailsHeldPromptsWhenItIsCancelled(PlainV2):
    async def on_session_cancel(self, params: dict[str, Any]) -> None:
        session = self.sessions.get(str(params.get("sessionId")))
        for prompt in session.held if session else []:
            self.refuse(prompt.request, _INTERNAL, "Internal error")
        if session:
            session.held.clear()
        await super().on_session_cancel(params)


@breaks("ACCORD-CANCEL-201", "v2")
class KeepsHeldPromptsWhenItIsCancelled(PlainV2):
    async def on_session_cancel(self, params: dict[str, Any]) -> None:
        session = self.sessions.get(str(params.get("sessionId")))
        if session is not None and session.work is not None:
            session.work.cancel()


@breaks("ACCORD-PROMPT-207", "v2")
class FailsPromptsThatAreTakenBack(PlainV2):
    is_taking_back = False

    async def take_cancel_request(self, request_id: Any) -> None:
        self.is_taking_back = True
        await super().take_cancel_request(request_id)
        self.is_taking_back = False

    def refuse(self, id_: Any, code: int, message: str, data: Any = None) -> None:
        super().refuse(id_, _INTERNAL if code == CANCELLED and self.is_taking_back else code, message, data)
