"""Agents of v1 that are wrong about several sessions, cancellation of nothing, sessions from before, and settings."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, ClassVar

from accord.testing.faults.agent_v1 import FullV1, PlainV1
from accord.testing.faults.fault import breaks
from accord.testing.faults.raw import Refused
from accord.testing.faults.shelf import Session

__all__: list[str] = []

INVALID_REQUEST, INTERNAL_ERROR, CANCELLED = -32600, -32603, -32800
NOBODY = "accord-check-nobody"
_PAGE_SIZE = 2


# --- whose turn


@breaks("ACCORD-SESSION-004", "v1")
class SpeaksForTheSessionOpenedLast(FullV1):
    """Takes the session that was loaded or resumed last for the one that it works for."""

    def __init__(self) -> None:
        super().__init__()
        self.opened_last = ""

    async def on_session_load(self, params: dict[str, Any]) -> Any:
        """A session with all that was said in it."""
        result = await super().on_session_load(params)
        self.opened_last = params["sessionId"]
        return result

    async def on_session_resume(self, params: dict[str, Any]) -> Any:
        """A session without what was said in it."""
        result = await super().on_session_resume(params)
        self.opened_last = params["sessionId"]
        return result

    def show(self, session: Session, kind: str, /, **fields: Any) -> None:
        """Tell the client, and again when the session is replayed."""
        if not kind.startswith("agent_message") or not self.opened_last:
            super().show(session, kind, **fields)
            return
        session.history.append({"sessionUpdate": kind, **fields})
        update = {"sessionUpdate": kind, **fields}
        self.notify("session/update", {"sessionId": self.opened_last, "update": update})


# --- at once


@breaks("ACCORD-SESSION-002", "v1")
class OneAtATime(PlainV1):
    """Has one turn at a time, whosever it is."""

    def __init__(self) -> None:
        super().__init__()
        self.turning = asyncio.Lock()

    async def turn(self, session: Session, blocks: list[Any]) -> str:
        """The work."""
        async with self.turning:
            return await super().turn(session, blocks)


@breaks("ACCORD-SESSION-003", "v1", note="refused with -32600")
class BusyIsBusy(PlainV1):
    """Takes no prompt while it works on another."""

    async def on_session_prompt(self, params: dict[str, Any]) -> Any:
        """A prompt."""
        if self.turns.get(str(params.get("sessionId"))):
            raise Refused(INVALID_REQUEST, "A turn is running")
        return await super().on_session_prompt(params)


@breaks("ACCORD-MODES-002", "v1")
class ModesWait(FullV1):
    """Sets a mode when the turn is over."""

    in_background: ClassVar[frozenset[str]] = FullV1.in_background | {"session/set_mode"}  # type: ignore[misc]

    async def on_session_set_mode(self, params: dict[str, Any]) -> Any:
        """Another mode."""
        async with self.locks.setdefault(self.find(params).id, asyncio.Lock()):
            return await super().on_session_set_mode(params)


# --- cancellation


@breaks("ACCORD-CANCEL-001", "v1")
class RemembersCancellations(PlainV1):
    """Keeps a cancellation for the next turn."""

    def __init__(self) -> None:
        super().__init__()
        self.cancelled: set[str] = set()

    async def on_session_cancel(self, params: dict[str, Any]) -> None:
        """Stop."""
        if not self.turns.get(params["sessionId"]):
            self.cancelled.add(params["sessionId"])
        await super().on_session_cancel(params)

    async def turn(self, session: Session, blocks: list[Any]) -> str:
        """The work."""
        if session.id in self.cancelled:
            self.cancelled.discard(session.id)
            return self.cancelled_reason()
        return await super().turn(session, blocks)


@breaks("ACCORD-CANCEL-002", "v1")
class DiesOfCancellations(PlainV1):
    """Thinks that whoever cancels has a session."""

    async def on_session_cancel(self, params: dict[str, Any]) -> None:
        """Stop."""
        if params.get("sessionId") == NOBODY:
            raise LookupError(NOBODY)
        await super().on_session_cancel(params)


@breaks("ACCORD-CANCEL-003", "v1")
class StaysCancelled(PlainV1):
    """Cannot go on after it was stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.stopped: set[str] = set()

    async def after_cancel(self, session: Session) -> None:
        """A turn was cancelled."""
        self.stopped.add(session.id)

    async def turn(self, session: Session, blocks: list[Any]) -> str:
        """The work."""
        return self.cancelled_reason() if session.id in self.stopped else await super().turn(session, blocks)


@breaks("ACCORD-REQCANCEL-001", "v1")
class AnswersTwice(PlainV1):
    """Answers a request that is taken back, and again."""

    async def take_cancel_request(self, request_id: Any) -> None:
        """The client takes a request back."""
        if request_id in self.open_requests:
            self.refuse(request_id, CANCELLED, "Request cancelled")
        await super().take_cancel_request(request_id)


@breaks("ACCORD-REQCANCEL-002", "v1")
class TakenBackIsInternal(PlainV1):
    """Falls over a request that is taken back."""

    is_taken_back = False

    async def take_cancel_request(self, request_id: Any) -> None:
        """The client takes a request back."""
        self.is_taken_back = request_id in self.open_requests
        await super().take_cancel_request(request_id)

    def cancelled_reason(self) -> str:
        """Why a turn ends that was cancelled."""
        if self.is_taken_back:
            self.is_taken_back = False
            raise Refused(INTERNAL_ERROR, "Internal error")
        return super().cancelled_reason()


@breaks("ACCORD-REQCANCEL-003", "v1")
class DiesOfTakingBack(PlainV1):
    """Thinks that whoever takes back has asked."""

    async def take_cancel_request(self, request_id: Any) -> None:
        """The client takes a request back."""
        if request_id not in self.open_requests:
            raise LookupError(request_id)
        await super().take_cancel_request(request_id)


# --- sessions from before


class _Forgetful(FullV1):
    forgets: ClassVar[tuple[str, ...]] = ()

    def replay(self, session: Session) -> None:
        """Say all of it again."""
        for update in session.history:
            fields = {name: value for name, value in update.items() if name != "sessionUpdate"}
            if update["sessionUpdate"] not in self.forgets:
                self.update(session, update["sessionUpdate"], **fields)


@breaks("ACCORD-LOAD-001", "v1")
class ForgetsTheUser(_Forgetful):
    """Replays its own part only."""

    forgets: ClassVar[tuple[str, ...]] = ("user_message_chunk", "user_message")


@breaks("ACCORD-LOAD-002", "v1")
class ForgetsItself(_Forgetful):
    """Replays the user's part only."""

    forgets: ClassVar[tuple[str, ...]] = ("agent_message_chunk", "agent_message")


@breaks("ACCORD-LOAD-003", "v1")
class LoadsNothing(FullV1):
    """Loads what never was."""

    async def on_session_load(self, params: dict[str, Any]) -> Any:
        """A session with all that was said in it."""
        return {} if params.get("sessionId") == NOBODY else await super().on_session_load(params)


@breaks("ACCORD-RESUME-001", "v1")
class ResumesNothing(FullV1):
    """Resumes what never was."""

    async def on_session_resume(self, params: dict[str, Any]) -> Any:
        """A session without what was said in it."""
        return {} if params.get("sessionId") == NOBODY else await super().on_session_resume(params)


@breaks("ACCORD-LIST-001", "v1")
class AnyCursorWillDo(FullV1):
    """Begins again where it does not know a cursor."""

    def place_of(self, cursor: Any) -> int | None:
        """Where a page begins."""
        return super().place_of(None if cursor == NOBODY else cursor)


@breaks("ACCORD-LIST-002", "v1")
class PagesRepeat(FullV1):
    """Tells the last session of a page again on the next."""

    def place_of(self, cursor: Any) -> int | None:
        """Where a page begins."""
        below = super().place_of(cursor)
        return None if below is None else below + 1

    def list_result(self, sessions: list[Session], *, is_last: bool) -> Any:
        """The answer to a request to list: few on a page."""
        return super().list_result(sessions[:_PAGE_SIZE], is_last=is_last and len(sessions) <= _PAGE_SIZE)


@breaks("ACCORD-LIST-003", "v1")
class RelativeList(FullV1):
    """Lists folders as the user would name them."""

    async def on_session_list(self, params: dict[str, Any]) -> Any:
        """What there is."""
        result = await super().on_session_list(params)
        if "cwd" not in params:
            for session in result["sessions"]:
                session["cwd"] = Path(session["cwd"]).name
        return result


@breaks("ACCORD-LIST-004", "v1")
class FilterIsRough(FullV1):
    """Lists everything, if the folder has any session."""

    def listed(self, cwd: Any) -> list[Session]:
        """The sessions of a folder, or all."""
        return super().listed(None) if super().listed(cwd) else []


@breaks("ACCORD-LIST-005", "v1")
class TimesInWords(FullV1):
    """Tells times as people do."""

    def list_entry(self, session: Session) -> dict[str, Any]:
        """What a list says of one session."""
        return {**super().list_entry(session), "updatedAt": "yesterday"}


@breaks("ACCORD-LIST-006", "v1", note="one without is not listed")
class EmptyIsNotListed(FullV1):
    """Lists sessions in which something was said."""

    def listed(self, cwd: Any) -> list[Session]:
        """The sessions of a folder, or all."""
        return [session for session in super().listed(cwd) if session.history]


@breaks("ACCORD-DELETE-001", "v1")
class DeletedIsListed(FullV1):
    """Says that a session is gone."""

    async def on_session_delete(self, params: dict[str, Any]) -> Any:
        """A session is gone."""
        session = self.shelf.find(params.get("sessionId"))
        result = await super().on_session_delete(params)
        if session is not None:
            self.shelf.keep(session)
        return result


# --- servers


@breaks("ACCORD-MCP-001", "v1")
class NoServers(PlainV1):
    """Has no room for MCP servers."""

    async def connect(self, session: Session, servers: list[Any]) -> None:
        """Connect to the MCP servers of a session."""
        if servers:
            raise Refused(INTERNAL_ERROR, "Internal error")
        await super().connect(session, servers)


@breaks("ACCORD-MCP-002", "v1")
class IgnoresServers(PlainV1):
    """Takes MCP servers and does not start them."""

    async def connect(self, session: Session, servers: list[Any]) -> None:
        """Connect to the MCP servers of a session."""


@breaks("ACCORD-MCP-003", "v1")
class DiesOfMissingServers(PlainV1):
    """Cannot be without a server."""

    async def connect(self, session: Session, servers: list[Any]) -> None:
        """Connect to the MCP servers of a session."""
        if any("accord-check-missing" in str(server.get("command")) for server in servers):
            raise SystemExit(1)
        await super().connect(session, servers)


# --- settings


@breaks("ACCORD-CONFIG-001", "v1")
class ModeWithoutOption(FullV1):
    """Does not say which option is the mode."""

    def options(self, session: Session) -> list[dict[str, Any]]:
        """All options."""
        options = super().options(session)
        for option in options:
            option.pop("category", None)
        return options


@breaks("ACCORD-CONFIG-002", "v1")
class TwoModesAtOnce(FullV1):
    """Begins in two modes."""

    def session_result(self, session: Session) -> dict[str, Any]:
        """The answer to a request for a new session."""
        result = super().session_result(session)
        return {**result, "modes": {**result["modes"], "currentModeId": "code"}}


@breaks("ACCORD-CONFIG-003", "v1")
class OptionIsNotTold(FullV1):
    """Tells a new mode as a mode only."""

    def update(self, session: Session, kind: str, /, **fields: Any) -> None:
        """Tell the client."""
        if kind != "config_option_update":
            super().update(session, kind, **fields)


@breaks("ACCORD-CONFIG-004", "v1")
class ModeIsNotTold(FullV1):
    """Tells a new mode as an option only, if it was set as one."""

    is_quiet = False

    async def on_session_set_config_option(self, params: dict[str, Any]) -> Any:
        """Another value of an option."""
        self.is_quiet = True
        try:
            return await super().on_session_set_config_option(params)
        finally:
            self.is_quiet = False

    def show_mode(self, session: Session) -> None:
        """Tell the mode that holds."""
        if not self.is_quiet:
            super().show_mode(session)


@breaks("ACCORD-CONFIG-005", "v1")
class AnyOptionWillDo(FullV1):
    """Sets what is not there."""

    async def on_session_set_config_option(self, params: dict[str, Any]) -> Any:
        """Another value of an option."""
        if params.get("configId") == NOBODY:
            return self.option_result(self.find(params))
        return await super().on_session_set_config_option(params)


@breaks("ACCORD-CONFIG-006", "v1")
class ChoicesShareAnId(FullV1):
    """Offers one value under two names."""

    def options(self, session: Session) -> list[dict[str, Any]]:
        """All options."""
        options = super().options(session)
        model = next(option for option in options if option["id"] == "model")
        model["options"] = [*model["options"], {"value": "large", "name": "Largest"}]
        return options


@breaks("ACCORD-MODES-001", "v1")
class AnyModeWillDo(FullV1):
    """Sets a mode that is not there."""

    async def on_session_set_mode(self, params: dict[str, Any]) -> Any:
        """Another mode."""
        return {} if params.get("modeId") == NOBODY else await super().on_session_set_mode(params)


@breaks("ACCORD-MODES-003", "v1")
class ModesShareAnId(FullV1):
    """Offers one mode under two names."""

    def modes(self, session: Session) -> dict[str, Any]:
        """The modes, and the one that holds."""
        modes = super().modes(session)
        return {**modes, "availableModes": [*modes["availableModes"], {"id": "code", "name": "Hack"}]}
