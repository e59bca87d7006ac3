"""Agents of v1 that are wrong about turns, cancellation, and what they ask of a client."""

from __future__ import annotations

from typing import Any, ClassVar

from accord.testing.faults.agent_v1 import FullV1, PlainV1
from accord.testing.faults.fault import breaks
from accord.testing.faults.raw import Refused
from accord.testing.faults.shelf import Session

__all__: list[str] = []

INVALID_PARAMS = -32602


@breaks("ACP-PROMPT-001", "v1")
class UnknownStopReason(PlainV1):
    """Stops for a reason that nobody knows."""

    def stop_reason(self) -> str:
        """Why a turn ends that has done its work."""
        return "done"


@breaks("ACP-PROMPT-002", "v1")
class UpdatesOfAnotherSession(PlainV1):
    """Tells what happens under another name."""

    def show_message(self, session: Session, words: str) -> None:
        """The agent says something."""
        super().show_message(session, words)
        super().show_message(Session(session.cwd, id="somebody-else"), words)


@breaks("ACP-PROMPT-003", "v1")
class NoLinks(PlainV1):
    """Understands words only."""

    accepts: ClassVar[frozenset[str]] = frozenset({"text"})


@breaks("ACP-PROMPTCAP-001", "v1")
class NoImages(FullV1):
    """Advertises that it can see."""

    accepts: ClassVar[frozenset[str]] = FullV1.accepts - {"image"}


@breaks("ACP-PROMPTCAP-002", "v1")
class NoRecordings(FullV1):
    """Advertises that it can hear."""

    accepts: ClassVar[frozenset[str]] = FullV1.accepts - {"audio"}


@breaks("ACP-PROMPTCAP-003", "v1")
class NoResources(FullV1):
    """Advertises that it reads what is embedded."""

    accepts: ClassVar[frozenset[str]] = FullV1.accepts - {"resource"}


@breaks("ACP-META-001", "v1")
class NoMetadata(PlainV1):
    """Understands only what it knows."""

    def blocks_of(self, params: dict[str, Any]) -> list[Any]:
        """What was said."""
        if "_meta" in params:
            raise Refused(INVALID_PARAMS, "Invalid params: _meta")
        return super().blocks_of(params)


@breaks("ACP-INFO-UNKNOWNSESSION-001", "v1", note="-32603")
class UnknownSessionIsInternalError(PlainV1):
    """Has no code for a session that is not there."""

    def find(self, params: dict[str, Any]) -> Session:
        """An open session."""
        id_ = params.get("sessionId")
        if isinstance(id_, str) and id_ not in self.sessions:
            raise Refused(-32603, "Internal error")
        return super().find(params)


# --- cancellation


@breaks("ACP-CANCEL-001", "v1")
class CancelIsAnError(PlainV1):
    """Takes a cancellation for a failure."""

    def cancelled_reason(self) -> str:
        """Why a turn ends that was cancelled."""
        raise Refused(-32800, "Request cancelled")


@breaks("ACP-CANCEL-001", "v1")
class CancelIsAnEnd(PlainV1):
    """Says that it had done its work when it was cancelled."""

    def cancelled_reason(self) -> str:
        """Why a turn ends that was cancelled."""
        return "end_turn"


@breaks("ACP-CANCEL-002", "v1")
class SpeaksAfterCancel(PlainV1):
    """Has the last word."""

    cancelled = ""
    """The session that was cancelled last."""

    async def on_session_cancel(self, params: dict[str, Any]) -> None:
        """Stop."""
        self.cancelled = params["sessionId"]
        await super().on_session_cancel(params)

    async def after_answer(self, id_: Any, method: str, params: dict[str, Any], result: Any) -> None:
        """A request was answered."""
        await super().after_answer(id_, method, params, result)
        if (method, result, params.get("sessionId")) == ("session/prompt", {"stopReason": "cancelled"}, self.cancelled):
            self.show_message(self.sessions[self.cancelled], "I had almost done it")


# --- what is asked of a client that does not offer it


@breaks("ACP-CLIENTCAP-001", "v1")
class FilesOfAll(FullV1):
    """Reads and writes files of clients that offer none."""

    def offers(self, *path: str) -> bool:
        """Whether the client offers something."""
        return path[0] == "fs" or super().offers(*path)


@breaks("ACP-CLIENTCAP-002", "v1")
class TerminalsOfAll(FullV1):
    """Runs commands of clients that offer no terminals."""

    def offers(self, *path: str) -> bool:
        """Whether the client offers something."""
        return path == ("terminal",) or super().offers(*path)


@breaks("ACP-CLIENTCAP-003", "v1")
class FormsForWhoHasNone(FullV1):
    """Asks clients to fill in what they cannot show."""

    def offers(self, *path: str) -> bool:
        """Whether the client offers something."""
        return path[0] == "elicitation" or super().offers(*path)
