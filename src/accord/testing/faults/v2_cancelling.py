"""Agents of v2 that are wrong when they are cancelled."""

from __future__ import annotations

from typing import Any

from accord.testing.faults.agent_v2 import PlainV2
from accord.testing.faults.agent_v2_sessions import OpenSession
from accord.testing.faults.fault import breaks

__all__: list[str] = []


class _SaysAnotherReason(PlainV2):
    reason = ""

    def tell_cancelled(self, session: OpenSession) -> None:
        if session.is_closing:
            super().tell_cancelled(session)
        else:
            self.tell_idle(session, self.reason)


@breaks("ACP-CANCEL-201", "v2")
class SaysNoReason(_SaysAnotherReason):
    def tell_idle(self, session: OpenSession, reason: str) -> None:
        if reason:
            super().tell_idle(session, reason)
        else:
            self.enter(session, "idle")


@breaks("ACP-CANCEL-203", "v2")
class SaysThatTheTurnEnded(_SaysAnotherReason):
    reason = "end_turn"


@breaks("ACP-CANCEL-207", "v2")
class SaysThatItWasAborted(_SaysAnotherReason):
    reason = "aborted"


@breaks("ACP-CANCEL-202", "v2")
class RunsBehindTheEnd(PlainV2):
    def tell_cancelled(self, session: OpenSession) -> None:
        super().tell_cancelled(session)
        if not session.is_closing:
            self.enter(session, "running")
            self.enter(session, "idle", stopReason="cancelled")


@breaks("ACP-CANCEL-205", "v2")
class AnswersACancellation(PlainV2):
    async def on_session_cancel(self, params: dict[str, Any]) -> None:
        await super().on_session_cancel(params)
        if params.get("sessionId") in self.sessions:
            self.answer(None, {})


@breaks("ACP-CANCEL-206", "v2")
class IgnoresACancellationWithMetadata(PlainV2):
    async def on_session_cancel(self, params: dict[str, Any]) -> None:
        if "_meta" not in params:
            await super().on_session_cancel(params)


@breaks("ACP-CANCEL-208", "v2")
class ClosesWithAnotherReason(PlainV2):
    def tell_cancelled(self, session: OpenSession) -> None:
        self.tell_idle(session, "end_turn" if session.is_closing else "cancelled")
