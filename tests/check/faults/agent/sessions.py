"""Agents that are wrong about sessions: opened, several at once, listed, closed, deleted, with further roots."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.check.faults.change import NOBODY, after, before, edited, gives, instead, refuses, sets, skips, takes
from tests.check.faults.fault import JUNE, V1, V2, breaks, full, plain
from tests.check.faults.reference.agent_v1 import PlainV1
from tests.check.faults.reference.agent_v1_full import FullV1
from tests.check.faults.reference.agent_v2 import FullV2, PlainV2
from tests.check.faults.reference.agent_v2_history import KeptSession
from tests.check.faults.reference.agent_v2_sessions import OpenSession
from tests.check.faults.reference.raw import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, NOT_FOUND, Refused
from tests.check.faults.reference.store import Session

__all__ = ["TwoAtOnce"]


def _is_unknown(peer: Any, params: dict[str, Any]) -> bool:
    return params.get("sessionId") not in peer.sessions


def _is_not_kept(peer: Any, params: dict[str, Any]) -> bool:
    return params.get("sessionId") not in peer.kept


# --- opened


class TwoAtOnce(PlainV1):
    """Conforms, and knows who asks for a second session before anything was done with the first."""

    before = ""
    """The method of the last request."""

    async def take_request(self, message: dict[str, Any]) -> None:
        method, before = message["method"], self.before
        self.before = method
        if method == before == "session/new" and len(self.sessions) == 1:
            await self.take_second(message)
        else:
            await super().take_request(message)

    async def take_second(self, message: dict[str, Any]) -> None:
        """A request for a second session right behind the first."""
        await super().take_request(message)


@breaks("ACP-SESSION-002", "v1", "v2_june")
class TheSameSessionTwice(TwoAtOnce):
    async def take_second(self, message: dict[str, Any]) -> None:
        self.answer(message["id"], self.session_result(next(iter(self.sessions.values()))))


def _refuses_servers(code: int, when: Any) -> Any:
    """For what is found in the list of MCP servers, which is read as it should be."""

    def change(_: Any, old: Any, params: dict[str, Any]) -> list[Any]:
        servers: list[Any] = old(params)
        if when(servers):
            raise Refused(code, "Refused")
        return servers

    return change


async def _makes_none(peer: Any, _: Any, params: dict[str, Any]) -> None:
    peer.check_folders(params)
    peer.check_servers(params)
    raise Refused(INTERNAL_ERROR, "Internal error")


def _gives_the_last(peer: Any, params: dict[str, Any]) -> Any:
    peer.check_folders(params)
    return {"sessionId": list(peer.sessions)[-1]}


plain("ACP-SESSION-001", V1 + JUNE, "NoSessions")(
    servers_of=_refuses_servers(INTERNAL_ERROR, lambda servers: not servers)
)
plain("ACP-SESSION-001", V2, "MakesNoSessions")(on_session_new=_makes_none)
plain("ACP-SESSION-002", V2, "GivesTheSameSessionAgain")(
    on_session_new=instead(_gives_the_last, lambda peer, params: peer.sessions and "mcpServers" not in params)
)
plain("ACP-SESSION-203", V2, "WantsAListOfServers")(
    check_servers=refuses(INVALID_PARAMS, lambda _, params: not {"mcpServers", "sessionId"} & params.keys())
)
plain("ACCORD-VALID-001", V1 + JUNE, "MissingFolderIsInternal")(
    cwd_of=refuses(INTERNAL_ERROR, lambda _, params: "cwd" not in params)
)
plain("ACCORD-VALID-002", V1 + JUNE, "RelativeFoldersWillDo")(
    cwd_of=takes(
        lambda params: {**params, "cwd": str(Path(params["cwd"]).absolute())},
        lambda _, params: isinstance(params.get("cwd"), str),
    )
)
plain("ACCORD-VALID-003", V1 + JUNE, "ServersMayBeMissing", note="accepted")(
    servers_of=takes(lambda p: {"mcpServers": [], **p})
)
plain("ACCORD-SESSION-201", V2, "WorksInRelativeFolders")(
    on_session_new=takes(
        lambda params: {**params, "cwd": f"/{params['cwd']}"},
        lambda _, params: isinstance(params.get("cwd"), str) and not params["cwd"].startswith("/"),
    )
)
plain("ACCORD-SESSION-202", V2, "WorksNowhere")(on_session_new=takes(lambda params: {"cwd": "/", **params}))
plain("ACCORD-SESSION-203", V2, "WantsNoNullForAList")(
    on_session_new=refuses(INVALID_PARAMS, lambda _, params: params.get("mcpServers", []) is None)
)
plain("ACCORD-SESSION-204", V2, "HasNullForOptions")(session_result=sets(configOptions=None))

# --- sessions that are not there

plain("ACP-INFO-UNKNOWNSESSION-001", V1 + JUNE, "UnknownSessionIsInternalError", note="-32603")(
    find=refuses(
        INTERNAL_ERROR, lambda peer, params: isinstance(params.get("sessionId"), str) and _is_unknown(peer, params)
    )
)
plain("ACP-INFO-UNKNOWNSESSION-001", V2, "HasNoWordForUnknownSessions", note="-32602")(
    open_session=refuses(INVALID_PARAMS, _is_unknown)
)
plain("ACCORD-UNKNOWN-201", V2, "FindsPromptsForNobodyInvalid")(
    take_prompt=refuses(INVALID_PARAMS, lambda peer, _, params: _is_not_kept(peer, params))
)
plain("ACCORD-UNKNOWN-202", V2, "FindsResumingNobodyInvalid")(find_kept=refuses(INVALID_PARAMS, _is_not_kept))
plain("ACCORD-UNKNOWN-203", V2, "DoesNotSayWhoIsUnknown")(
    refuse=lambda _, old, id_, code, message, data=None: old(id_, code, message, None if code == NOT_FOUND else data)
)

# --- several at once


@breaks("ACCORD-SESSION-002", "v1", "v2_june")
class OneAtATime(PlainV1):
    def __init__(self) -> None:
        super().__init__()
        self.turning = asyncio.Lock()

    async def turn(self, session: Session, blocks: list[Any]) -> str:
        async with self.turning:
            return await super().turn(session, blocks)


def _has_a_turn(peer: Any, params: dict[str, Any]) -> Any:
    return peer.turns.get(str(params.get("sessionId")))


plain("ACCORD-SESSION-003", V1, "BusyIsBusy", note="refused with -32600")(
    on_session_prompt=refuses(INVALID_REQUEST, _has_a_turn)
)
plain("ACP-INFO-CONCURRENT-201", JUNE, "OnePromptAtATime", note="-32600")(
    on_session_prompt=refuses(INVALID_REQUEST, _has_a_turn)
)


@breaks("ACCORD-SESSION-004", "v1", "v2_june")
class SpeaksForTheSessionOpenedLast(FullV1):
    """Takes the session that was loaded or resumed last for the one that it works for."""

    opened_last = ""

    async def on_session_load(self, params: dict[str, Any]) -> Any:
        result = await super().on_session_load(params)
        self.opened_last = params["sessionId"]
        return result

    async def on_session_resume(self, params: dict[str, Any]) -> Any:
        result = await super().on_session_resume(params)
        self.opened_last = params["sessionId"]
        return result

    def show(self, session: Session, kind: str, /, **fields: Any) -> None:
        if not kind.startswith("agent_message") or not self.opened_last:
            super().show(session, kind, **fields)
            return
        update = {"sessionUpdate": kind, **fields}
        session.history.append(update)
        self.notify("session/update", {"sessionId": self.opened_last, "update": update})


@breaks("ACCORD-SESSION-205", "v2")
class SpeaksForTheSessionResumedLast(FullV2):
    resumed_last = ""

    async def on_session_resume(self, params: dict[str, Any]) -> Any:
        result = await super().on_session_resume(params)
        self.resumed_last = params["sessionId"]
        return result

    def tell(self, session: OpenSession, kind: str, /, **fields: Any) -> None:
        if not kind.startswith("agent_message") or not self.resumed_last:
            super().tell(session, kind, **fields)
            return
        update = {"sessionUpdate": kind, **fields}
        session.kept.keep(update)
        self.update(self.resumed_last, update)


plain("ACCORD-UPDATE-201", V2, "TellsOfStrangers")(
    after_answer=after(
        lambda peer, *_: peer.update("a-stranger", {"sessionUpdate": "session_info_update", "title": "Somebody"}),
        lambda _, __, method, *___: method == "session/close",
    )
)

# --- listed


def _relative(result: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    if "cwd" not in params:
        for session in result["sessions"]:
            session["cwd"] = Path(session["cwd"]).name
    return result


def _above(peer: Any, old: Any, kept: Any, cwd: Any) -> bool:
    known = cwd in [each.cwd for each in peer.kept.values()]
    return old(kept, cwd) or (known and Path(str(cwd)).is_relative_to(kept.cwd))


def _or_refuses(found: list[Any], *_: Any) -> list[Any]:
    if not found:
        raise Refused(NOT_FOUND, "Folder not found")
    return found


full("ACP-LIST-001", V1 + JUNE, "ListFails")(listed=refuses(INTERNAL_ERROR, lambda _, cwd: cwd is None))
full("ACP-LIST-002", V1 + JUNE, "EmptyListIsAnError")(listed=edited(_or_refuses))
plain("ACP-LIST-201", V2, "CannotList")(methods=PlainV2.methods - {"session/list"})
plain("ACP-LIST-202", V2, "RefusesAnUnknownFolder")(
    on_session_list=refuses(
        INVALID_PARAMS, lambda peer, params: params.get("cwd") not in [None, *(kept.cwd for kept in peer.kept.values())]
    )
)
full("ACP-LIST-203", JUNE, "FilterIsIgnored")(listed=lambda _, old, cwd: old(cwd) and old(None))
full("ACCORD-LIST-004", V1, "FilterIsRough")(listed=lambda _, old, cwd: old(cwd) and old(None))
plain("ACP-LIST-203", V2, "ListsTheFoldersAbove")(is_listed=_above)
full("ACP-LIST-204", JUNE, "FoldersAreRelative")(
    list_entry=edited(lambda entry, session: {**entry, "cwd": Path(session.cwd).name or "."})
)
full("ACCORD-LIST-003", V1, "RelativeList")(on_session_list=edited(_relative))
plain("ACP-LIST-204", V2, "ListsRelativeFolders")(on_session_list=edited(_relative))
full("ACCORD-LIST-001", V1 + JUNE, "AnyCursorWillDo")(
    place_of=takes(lambda cursor: None if cursor == NOBODY else cursor)
)
full("ACCORD-LIST-201", V2, "ListsInCircles")(place_of_cursor=edited(lambda place, *_: place * 0))
plain("ACCORD-LIST-202", V2, "ListsFromNowhere", note="succeeded")(place_of_cursor=gives(0))
full("ACCORD-LIST-005", V1 + JUNE, "TimesInWords")(list_entry=sets(updatedAt="yesterday"))
plain("ACCORD-LIST-203", V2, "TellsTimesInWords")(listed=sets(updatedAt="yesterday"))
full("ACCORD-LIST-006", V1 + JUNE, "EmptyIsNotListed", note="one without is not listed")(
    listed=edited(lambda found, _: [session for session in found if session.history])
)
full("ACCORD-LIST-002", V1 + JUNE, "PagesRepeat")(
    place_of=edited(lambda below, _: None if below is None else below + 1),
    list_result=lambda _, old, sessions, *, is_last: old(sessions[:2], is_last=is_last and len(sessions) <= 2),
)

# --- deleted


def _is_stored(peer: Any, params: dict[str, Any]) -> bool:
    return peer.store.find(params.get("sessionId")) is not None


def _loses_it(peer: Any, params: dict[str, Any]) -> None:
    peer.store.forget(params["sessionId"])
    raise Refused(INTERNAL_ERROR, "Internal error")


async def _keeps_it(peer: Any, old: Any, params: dict[str, Any]) -> Any:
    session = peer.store.find(params.get("sessionId"))
    result = await old(params)
    if session is not None:
        peer.store.keep(session)
    return result


full("ACP-DELETE-001", V1 + JUNE, "DeleteFails")(on_session_delete=instead(_loses_it, _is_stored))
full("ACP-DELETE-201", V2, "CannotDelete")(
    on_session_delete=refuses(INTERNAL_ERROR, lambda p, x: not _is_not_kept(p, x))
)
full("ACP-DELETE-002", V1 + JUNE, "DeleteMissesIt")(
    on_session_delete=refuses(NOT_FOUND, lambda peer, params: not _is_stored(peer, params))
)
full("ACP-DELETE-203", V2, "DeletesOnlyWhatIsThere")(
    on_session_delete=before(lambda peer, params: peer.find_kept(params))
)
full("ACCORD-DELETE-001", V1, "DeletedIsListed")(on_session_delete=_keeps_it)
full("ACP-DELETE-202", JUNE, "DeletedIsListed")(on_session_delete=_keeps_it)


@breaks("ACP-DELETE-202", "v2")
class ListsWhatWasDeleted(FullV2):
    def __init__(self) -> None:
        super().__init__()
        self.deleted: list[KeptSession] = []

    async def on_session_list(self, params: dict[str, Any]) -> Any:
        result = await super().on_session_list(params)
        return {**result, "sessions": [*map(self.listed, self.deleted), *result["sessions"]]}

    async def on_session_delete(self, params: dict[str, Any]) -> Any:
        if params.get("sessionId") in self.kept:
            self.deleted.append(self.kept[params["sessionId"]])
        return await super().on_session_delete(params)


@breaks("ACCORD-DELETE-201", "v2")
class OnlyHidesWhatItDeletes(FullV2):
    hidden: frozenset[str] = frozenset()

    async def on_session_delete(self, params: dict[str, Any]) -> Any:
        await self.close(params.get("sessionId"))
        type(self).hidden |= {str(params.get("sessionId"))}
        return {}

    def is_listed(self, kept: KeptSession, cwd: str | None) -> bool:
        return super().is_listed(kept, cwd) and kept.id not in self.hidden


# --- closed

full("ACP-CLOSE-001", V1 + JUNE, "IdleCannotBeClosed")(
    on_session_close=refuses(INTERNAL_ERROR, lambda peer, params: not _has_a_turn(peer, params))
)


@breaks("ACP-CLOSE-002", "v1", "v2_june")
class CloseEndsTheTurn(FullV1):
    is_closing = False

    async def on_session_close(self, params: dict[str, Any]) -> Any:
        self.is_closing = True
        return await super().on_session_close(params)

    def cancelled_reason(self) -> str:
        return "end_turn" if self.is_closing else super().cancelled_reason()


def _is_idle_v2(peer: Any, params: dict[str, Any]) -> bool:
    session = peer.sessions.get(params["sessionId"])
    return session is not None and session.work is None


plain("ACP-CLOSE-201", V2, "ClosesOnlyWhatWorks")(on_session_close=refuses(INVALID_PARAMS, _is_idle_v2))
plain("ACP-CLOSE-202", V2, "ClosesWithoutAnEnd")(tell_cancelled=skips(lambda _, session: session.is_closing))


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


def _fails_held(peer: Any, old: Any, session: Any) -> Any:
    for prompt in session.held:
        peer.refuse(prompt.request, INTERNAL_ERROR, "Internal error")
    session.held.clear()
    return old(session)


plain("ACCORD-CLOSE-202", V2, "FailsHeldPromptsWhenItCloses")(stop=_fails_held)
plain("ACCORD-CLOSE-203", V2, "FindsPromptsForTheClosedInvalid")(
    take_prompt=refuses(
        INVALID_PARAMS, lambda peer, _, params: not _is_not_kept(peer, params) and _is_unknown(peer, params)
    )
)
plain("ACCORD-CLOSE-204", V2, "ClosesOnlyWhatIsOpen")(
    on_session_close=before(lambda peer, params: peer.open_session(params))
)

# --- further roots


def _names_roots(_: Any, params: dict[str, Any]) -> Any:
    return params.get("additionalDirectories")


def _drops_relative(params: dict[str, Any]) -> dict[str, Any]:
    roots = [root for root in params.get("additionalDirectories") or [] if root.startswith("/")]
    return {**params, "additionalDirectories": roots}


full("ACP-ADDDIRS-001", V1 + JUNE, "OneRootOnly")(roots_of=refuses(INVALID_PARAMS, _names_roots))
full("ACP-ADDDIRS-201", V2, "RefusesFurtherRoots")(
    check_folders=refuses(INVALID_PARAMS, lambda _, params: _names_roots(_, params) and "sessionId" not in params)
)
full("ACP-ADDDIRS-202", V2, "RefusesOtherRoots")(
    check_folders=refuses(INVALID_PARAMS, lambda _, params: _names_roots(_, params) and "sessionId" in params)
)
full("ACCORD-ADDDIRS-201", V2, "DropsRelativeRoots")(on_session_new=takes(_drops_relative))
