"""Agents that are wrong when they are cancelled, or when a request is taken back."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.check.faults.change import NOBODY, after, before, ends, gives, having, instead, refuses, skips
from tests.check.faults.fault import JUNE, V1, V2, breaks, full, plain
from tests.check.faults.reference.agent_v1 import PlainV1
from tests.check.faults.reference.agent_v2 import FullV2, PlainV2
from tests.check.faults.reference.agent_v2_sessions import HeldPrompt, OpenSession
from tests.check.faults.reference.raw import CANCELLED, INTERNAL_ERROR, Refused
from tests.check.faults.reference.store import Session

__all__: list[str] = []


def _answers(peer: Any, *_: Any) -> None:
    peer.answer(None, {})


# --- in v1 and June

plain("ACP-CANCEL-001", V1 + JUNE, "CancelIsAnError")(cancelled_reason=refuses(CANCELLED))
plain("ACP-CANCEL-001", V1 + JUNE, "CancelIsAnEnd")(cancelled_reason=gives("end_turn"))
plain("ACP-CANCEL-205", JUNE, "AnswersACancel")(on_session_cancel=after(_answers))
plain("ACP-CANCEL-206", JUNE, "CancelWithoutMetadata")(on_session_cancel=skips(lambda _, params: len(params) > 1))
plain("ACCORD-CANCEL-002", V1 + JUNE, "DiesOfCancellations")(on_session_cancel=ends(having(sessionId=NOBODY)))


@breaks("ACP-CANCEL-002", "v1", "v2_june")
class SpeaksAfterCancel(PlainV1):
    cancelled = ""
    """The session that was cancelled last."""

    async def on_session_cancel(self, params: dict[str, Any]) -> None:
        self.cancelled = params["sessionId"]
        await super().on_session_cancel(params)

    async def after_answer(self, id_: Any, method: str, params: dict[str, Any], result: Any) -> None:
        await super().after_answer(id_, method, params, result)
        if (method, result, params.get("sessionId")) == ("session/prompt", {"stopReason": "cancelled"}, self.cancelled):
            self.show_message(self.sessions[self.cancelled], "I had almost done it")


@breaks("ACCORD-CANCEL-001", "v1", "v2_june")
class RemembersCancellations(PlainV1):
    def __init__(self) -> None:
        super().__init__()
        self.cancelled: set[str] = set()

    async def on_session_cancel(self, params: dict[str, Any]) -> None:
        if not self.turns.get(params["sessionId"]):
            self.cancelled.add(params["sessionId"])
        await super().on_session_cancel(params)

    async def turn(self, session: Session, blocks: list[Any]) -> str:
        if session.id in self.cancelled:
            self.cancelled.discard(session.id)
            return self.cancelled_reason()
        return await super().turn(session, blocks)


@breaks("ACCORD-CANCEL-003", "v1", "v2_june")
class StaysCancelled(PlainV1):
    def __init__(self) -> None:
        super().__init__()
        self.stopped: set[str] = set()

    async def after_cancel(self, session: Session) -> None:
        self.stopped.add(session.id)

    async def turn(self, session: Session, blocks: list[Any]) -> str:
        return self.cancelled_reason() if session.id in self.stopped else await super().turn(session, blocks)


def _speaks_if_idle(peer: Any, params: dict[str, Any]) -> None:
    session = peer.sessions.get(params["sessionId"])
    if session is not None and not peer.turns.get(session.id):
        peer.show_message(session, "There was nothing to cancel")


plain("ACP-INFO-CANCEL-201", JUNE, "SpeaksWhenCancelledIdle", note="agent_message")(
    on_session_cancel=before(_speaks_if_idle)
)

# --- requests that are taken back


def _is_open(peer: Any, request_id: Any) -> bool:
    return request_id in peer.open_requests


plain("ACCORD-REQCANCEL-001", V1, "AnswersTwice")(
    take_cancel_request=before(lambda peer, id_: peer.refuse(id_, CANCELLED, "Request cancelled"), _is_open)
)
plain("ACCORD-REQCANCEL-003", V1, "DiesOfTakingBack")(
    take_cancel_request=ends(lambda peer, id_: not _is_open(peer, id_))
)


@breaks("ACCORD-REQCANCEL-002", "v1")
class TakenBackIsInternal(PlainV1):
    is_taken_back = False

    async def take_cancel_request(self, request_id: Any) -> None:
        self.is_taken_back = request_id in self.open_requests
        await super().take_cancel_request(request_id)

    def cancelled_reason(self) -> str:
        if self.is_taken_back:
            self.is_taken_back = False
            raise Refused(INTERNAL_ERROR, "Internal error")
        return super().cancelled_reason()


@breaks("ACCORD-PROMPT-207", "v2")
class FailsPromptsThatAreTakenBack(PlainV2):
    is_taking_back = False

    async def take_cancel_request(self, request_id: Any) -> None:
        self.is_taking_back = True
        await super().take_cancel_request(request_id)
        self.is_taking_back = False

    def refuse(self, id_: Any, code: int, message: str, data: Any = None) -> None:
        super().refuse(id_, INTERNAL_ERROR if code == CANCELLED and self.is_taking_back else code, message, data)


# --- in v2: the end of a cancelled turn


def _ends_as(reason: str, *, closing: bool = False) -> Any:
    """For another reason, if the turn was cancelled by a cancellation, or by closing."""
    return instead(
        lambda peer, session: peer.enter(session, "idle", **({"stopReason": reason} if reason else {})),
        lambda _, session: session.is_closing is closing,
    )


def _runs_again(peer: Any, session: OpenSession) -> None:
    peer.enter(session, "running")
    peer.enter(session, "idle", stopReason="cancelled")


plain("ACP-CANCEL-201", V2, "SaysNoReason")(tell_cancelled=_ends_as(""))
plain("ACP-CANCEL-203", V2, "SaysThatTheTurnEnded")(tell_cancelled=_ends_as("end_turn"))
plain("ACP-CANCEL-207", V2, "SaysThatItWasAborted")(tell_cancelled=_ends_as("aborted"))
plain("ACP-CANCEL-208", V2, "ClosesWithAnotherReason")(tell_cancelled=_ends_as("end_turn", closing=True))
plain("ACP-CANCEL-202", V2, "RunsBehindTheEnd")(
    tell_cancelled=after(_runs_again, lambda _, session: not session.is_closing)
)
plain("ACP-CANCEL-205", V2, "AnswersACancellation")(
    on_session_cancel=after(_answers, lambda peer, params: params.get("sessionId") in peer.sessions)
)
plain("ACP-CANCEL-206", V2, "IgnoresACancellationWithMetadata")(
    on_session_cancel=skips(lambda _, params: "_meta" in params)
)


def _does_it_anyway(peer: Any, session: OpenSession) -> None:
    for id_ in session.unfinished:
        peer.tell(session, "tool_call_update", toolCallId=id_, status="completed", capabilities=None)
    session.unfinished.clear()


plain("ACCORD-CANCEL-207", V2, "HasALastWord")(
    end=after(
        lambda peer, session, _: peer.say_words(session, "By the way"),
        lambda peer, _, work: work.cancelled() and not peer.is_over,
    )
)
full("ACCORD-CANCEL-206", V2, "DoesWhatNobodyAllowed")(retire=before(_does_it_anyway))


@breaks("ACP-CANCEL-204", "v2", note="after 0.")
class StopsSlowly(PlainV2):
    was_slow = False

    async def turn(self, session: OpenSession, prompt: HeldPrompt) -> str:
        try:
            return await super().turn(session, prompt)
        except asyncio.CancelledError:
            if not self.is_over and not self.was_slow:
                self.was_slow = True
                await asyncio.sleep(0.3)  # how long it takes is what is different
            raise


# --- in v2: what waits, what is asked, what is idle


def _session(peer: Any, params: dict[str, Any]) -> Any:
    return peer.sessions.get(str(params.get("sessionId")))


def _is_idle(peer: Any, params: dict[str, Any]) -> bool:
    session = _session(peer, params)
    return session is not None and session.work is None


def _fails_held(peer: Any, params: dict[str, Any]) -> None:
    session = _session(peer, params)
    for prompt in session.held if session else []:
        peer.refuse(prompt.request, INTERNAL_ERROR, "Internal error")
    if session:
        session.held.clear()


def _stops_the_work_alone(peer: Any, params: dict[str, Any]) -> None:
    session = _session(peer, params)
    if session is not None and session.work is not None:
        session.work.cancel()


plain("ACP-INFO-CANCEL-201", V2, "SaysThatItIsIdle", note="session: idle")(
    on_session_cancel=before(lambda peer, params: peer.tell_state(_session(peer, params)), _is_idle)
)
plain("ACCORD-CANCEL-201", V2, "FailsHeldPromptsWhenItIsCancelled")(on_session_cancel=before(_fails_held))
plain("ACCORD-CANCEL-201", V2, "KeepsHeldPromptsWhenItIsCancelled")(on_session_cancel=instead(_stops_the_work_alone))
plain("ACCORD-CANCEL-202", V2, "CancelsWhatComesNext")(
    place_prompt=instead(
        lambda peer, _, prompt: peer.drop(prompt),
        lambda _, session, __: session.work is not None and session.work.cancelling(),
    )
)
full("ACCORD-CANCEL-203", V2, "WaitsForItsUser")(
    on_session_cancel=skips(lambda peer, params: getattr(_session(peer, params), "state", "") == "requires_action")
)
full("ACP-INFO-CANCEL-202", V2, "TakesNoQuestionBack", note="left open")(take_back=skips())


class _TakesBackSome(FullV2):
    """Of its questions some are left open when the work is cancelled."""

    left_open = ""
    """Questions of which method."""

    def __init__(self) -> None:
        super().__init__()
        self.open_ids: set[Any] = set()

    async def ask(self, method: str, params: Any) -> dict[str, Any]:
        if method == self.left_open:
            self.open_ids.add(f"a{self._next_id + 1}")
        return await super().ask(method, params)

    def take_back(self, request_id: Any) -> None:
        if request_id not in self.open_ids:
            super().take_back(request_id)


@breaks("ACCORD-CANCEL-204", "v2")
class LeavesPermissionsOpen(_TakesBackSome):
    left_open = "session/request_permission"


@breaks("ACCORD-ELICIT-205", "v2")
class LeavesFormsOpen(_TakesBackSome):
    left_open = "elicitation/create"


@breaks("ACCORD-CANCEL-205", "v2")
class ComesBackToLife(FullV2):
    def __init__(self) -> None:
        super().__init__()
        self.asking: dict[Any, OpenSession] = {}

    def question(self, session: OpenSession, id_: str) -> dict[str, Any]:
        self.asking[f"a{self._next_id + 1}"] = session
        return super().question(session, id_)

    def take_answer(self, message: dict[str, Any]) -> None:
        session = self.asking.get(message.get("id"))
        if session is not None and message.get("id") not in self._waiting:
            self.enter(session, "running")
            self.enter(session, "idle")
        super().take_answer(message)


# --- in v2: one thing alone


def _cancellable(field: str, *, is_so: bool, prefix: str = "") -> Any:
    """Whether what the params name can be cancelled, or cannot."""

    def when(peer: Any, params: dict[str, Any]) -> bool:
        id_ = params[field]
        return id_.startswith(prefix) and (id_ in peer.open_session(params).cancellable) is is_so

    return when


def _says_yes(peer: Any, params: dict[str, Any]) -> dict[str, Any]:
    peer.open_session(params)
    return {}


plain("ACCORD-CANCEL-208", V2, "CancelsUnknownToolCalls")(on_tool_call_cancel=instead(_says_yes))
plain("ACCORD-CANCEL-209", V2, "CancelsUnknownTerminals")(on_terminal_cancel=instead(_says_yes))
full("ACCORD-CANCEL-210", V2, "CancelsFinishedToolCalls")(
    on_tool_call_cancel=instead(_says_yes, _cancellable("toolCallId", is_so=False, prefix="tool-"))
)
full("ACCORD-CANCEL-211", V2, "CancelsTerminalsThatExited")(
    on_terminal_cancel=instead(_says_yes, _cancellable("terminalId", is_so=False, prefix="terminal-"))
)
full("ACCORD-CANCEL-212", V2, "CannotCancelToolCalls")(
    on_tool_call_cancel=refuses(INTERNAL_ERROR, _cancellable("toolCallId", is_so=True))
)
full("ACCORD-CANCEL-213", V2, "CannotCancelTerminals")(
    on_terminal_cancel=refuses(INTERNAL_ERROR, _cancellable("terminalId", is_so=True))
)
