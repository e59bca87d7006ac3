"""The agent that we play: shakes hands, opens sessions, and lets parts be played in the turns of the client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from accord.check.budget import Budget
from accord.check.client.part import Part, Turn
from accord.check.client.repertoire import Repertoire
from accord.check.client.seat import Seat
from accord.check.client.words import config_options, greeting, opened
from accord.check.options import Options
from accord.check.rule import EditionName
from accord.check.stage import Progress

__all__ = ["Host"]

VERSIONS: dict[EditionName, int] = {"v1": 1, "v2_june": 2, "v2": 2}
STRANGE_VERSIONS: dict[EditionName, int] = {"v1": 9999, "v2_june": 9999, "v2": 0}
"""What nobody speaks; v2 lets an agent answer with no more than it was asked for."""
SETTLE_SECONDS = 1.0
MAX_OPEN_TURNS = 1000
"""A client that begins more at once is not served any further."""
_INVALID_REQUEST, _NO_METHOD, _INVALID_PARAMS = -32600, -32601, -32602
_NOT_FOUND, _NO_VERSION = -32002, -32022


class Guest:
    """What is known of one connection."""

    def __init__(self) -> None:
        self.is_met = False
        self.offered: dict[str, Any] = {}
        self.sessions: dict[str, str] = {}
        """Where each works, by its id."""
        self.turns: dict[str, Turn] = {}


class Host:
    """One agent over as many connections and starts of the client as it takes."""

    def __init__(self, options: Options, parts: list[Part], progress: Progress) -> None:
        self.repertoire = Repertoire(options, parts, self._tell)
        self.case = self.repertoire.case
        self.seats: list[Seat] = []
        self.budget = Budget()
        self.is_strange = False
        """Whether it answers with a version that nobody speaks."""
        self.changed = asyncio.Event()
        self._options = options
        self._edition = options.edition
        self._progress = progress
        self._guests: dict[Seat, Guest] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._errors: list[BaseException] = []
        self._starts = 0

    def _tell(self, what: str, done: int, total: int) -> None:
        # Also when the client says nothing to it: what is played goes on.
        self.changed.set()
        self._progress(what, done, total)

    # --- connections

    def begin(self) -> None:
        """The client is started once more."""
        self._starts += 1
        self.seats = []

    def welcome(self) -> Seat:
        """A new connection."""
        kind = "strange" if self.is_strange else "client"
        name = f"{self._starts:02}.{len(self.seats) + 1} {kind}"
        seat = Seat(name, self._options.timeout_seconds, self._on_message, self.budget)
        self.seats.append(seat)
        self._guests[seat] = Guest()
        self.changed.set()
        return seat

    @property
    def is_busy(self) -> bool:
        """Whether something is being played."""
        return bool(self._tasks)

    @property
    def is_flooded(self) -> bool:
        """Whether a client of this start wrote, or asks for, more than is kept."""
        too_many = self.budget.is_spent or len(self._tasks) > MAX_OPEN_TURNS
        return too_many or any(seat.overflowed for seat in self.seats)

    @property
    def is_met(self) -> bool:
        """Whether a client of this start has shaken hands."""
        return any(self._guests[seat].is_met for seat in self.seats)

    async def leave(self) -> None:
        """End the agent."""
        for seat in self.seats:
            seat.leave()

    async def settle(self) -> None:
        """See to the end what is being played: the client has left, so that is soon; what takes longer is given up.

        Raises:
            BaseException: Where something of ours failed, and not of the client.
        """
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=SETTLE_SECONDS)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for error in self._errors:
            raise error

    # --- what the client says

    def _on_message(self, seat: Seat, message: dict[str, Any]) -> None:
        self.changed.set()
        if self.is_flooded:
            return
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if message["method"] == "session/cancel":
            turn = self._guests[seat].turns.get(str(params.get("sessionId")))
            if turn is not None:
                turn.cancelled.set()
        if "id" not in message:
            return
        serve = self._SERVERS.get(message["method"])
        if serve is None:
            self._refuse(seat, message["id"], _NO_METHOD, "Method not found")
        elif self._edition == "v2" and not self._guests[seat].is_met and message["method"] != "initialize":
            self._refuse(seat, message["id"], _INVALID_REQUEST, "Not initialized")
        else:
            serve(self, seat, message["id"], params)

    def _initialize(self, seat: Seat, id_: Any, params: dict[str, Any]) -> None:
        wanted, version = params.get("protocolVersion"), VERSIONS[self._edition]
        if self._edition == "v2" and isinstance(wanted, int) and wanted < version:
            data = {"requested": wanted, "supported": [version]}
            self._refuse(seat, id_, _NO_VERSION, "Unsupported protocol version", data)
            return
        guest = self._guests[seat]
        guest.is_met = True
        offered = params.get("clientCapabilities" if self._edition == "v1" else "capabilities")
        guest.offered = offered if isinstance(offered, dict) else {}
        if not self.is_strange:
            self.case.advertised.setdefault("initialize", params)
            self.case.agent_info = params.get("info") or params.get("clientInfo")
        strange = STRANGE_VERSIONS[self._edition]
        self._answer(seat, id_, greeting(self._edition, strange if self.is_strange else version))

    def _new(self, seat: Seat, id_: Any, params: dict[str, Any]) -> None:
        guest = self._guests[seat]
        session = f"session-{self._starts}-{len(guest.sessions) + 1}"
        guest.sessions[session] = str(params.get("cwd", ""))
        early = not self.is_strange and self.repertoire.tell_early(seat, session)
        self._answer(seat, id_, opened(self._edition, session))
        if early:
            self._run(self.repertoire.see_early(self._turn(seat, session)))

    def _prompt(self, seat: Seat, id_: Any, params: dict[str, Any]) -> None:
        session, prompt = params.get("sessionId"), params.get("prompt")
        if not isinstance(session, str) or session not in self._guests[seat].sessions or not isinstance(prompt, list):
            self._refuse(seat, id_, _INVALID_PARAMS, "Invalid params")
            return
        turn = self._turn(seat, session)
        self._guests[seat].turns[turn.session] = turn
        self._run(self.repertoire.play_turn(turn, id_, prompt))

    def _set_option(self, seat: Seat, id_: Any, params: dict[str, Any]) -> None:
        self._answer(seat, id_, {"configOptions": config_options(self._edition, params.get("value"))})

    def _list(self, seat: Seat, id_: Any, _params: dict[str, Any]) -> None:
        # The baseline of v2 only; who asks in another edition was told that there is no such thing.
        if self._edition == "v2":
            sessions = [{"sessionId": each, "cwd": cwd} for each, cwd in self._guests[seat].sessions.items()]
            self._answer(seat, id_, {"sessions": sessions})
        else:
            self._refuse(seat, id_, _NO_METHOD, "Method not found")

    def _close(self, seat: Seat, id_: Any, params: dict[str, Any]) -> None:
        if self._edition != "v2":
            self._refuse(seat, id_, _NO_METHOD, "Method not found")
            return
        turn = self._guests[seat].turns.get(str(params.get("sessionId")))
        if turn is not None:
            turn.cancelled.set()
        self._answer(seat, id_, {})

    def _resume(self, seat: Seat, id_: Any, params: dict[str, Any]) -> None:
        session = params.get("sessionId")
        if self._edition != "v2":
            self._refuse(seat, id_, _NO_METHOD, "Method not found")
        elif not isinstance(session, str) or session not in self._guests[seat].sessions:
            self._refuse(seat, id_, _NOT_FOUND, "There is no such session", {"sessionId": session})
        else:
            state = {"sessionUpdate": "state_update", "state": "idle"}
            seat.notify("session/update", {"sessionId": session, "update": state})
            self._answer(seat, id_, {"configOptions": config_options(self._edition)})

    _SERVERS: dict[str, Callable[[Any, Seat, Any, dict[str, Any]], None]] = {  # noqa: RUF012 - a table
        "initialize": _initialize,
        "session/new": _new,
        "session/prompt": _prompt,
        "session/set_config_option": _set_option,
        "session/list": _list,
        "session/close": _close,
        "session/resume": _resume,
    }

    def _answer(self, seat: Seat, id_: Any, result: Any) -> None:
        seat.answer_to(id_, result)

    def _refuse(self, seat: Seat, id_: Any, code: int, message: str, data: Any = None) -> None:
        error = {"code": code, "message": message}
        seat.respond({"jsonrpc": "2.0", "id": id_, "error": error if data is None else {**error, "data": data}})

    # --- turns

    def _turn(self, seat: Seat, session: str) -> Turn:
        guest = self._guests[seat]
        return Turn(seat, self._options, session, guest.sessions[session], guest.offered, self.repertoire.blamed)

    def _run(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self.changed.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._errors.append(error)
