"""Agents that are wrong about the questions whether a tool may run."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.check.faults.change import edited, lacks, sets, skips
from tests.check.faults.fault import JUNE, V1, V2, breaks, full
from tests.check.faults.reference.agent_v1_full import FullV1
from tests.check.faults.reference.raw import INTERNAL_ERROR, Refused
from tests.check.faults.reference.store import Session

__all__: list[str] = []

_NEVER = {"optionId": "reject", "name": "Never", "kind": "reject_always"}


async def _falls_over_yes(peer: Any, old: Any, session: Session, tool: str) -> bool:
    is_allowed: bool = await old(session, tool)
    if is_allowed and peer.offers("terminal") and peer.offers("fs", "readTextFile"):
        raise Refused(INTERNAL_ERROR, "Internal error")
    return is_allowed


def _falls_over_no(answer: dict[str, Any], method: str, _: Any) -> dict[str, Any]:
    if method == "session/request_permission" and "'reject'" in str(answer):
        raise Refused(INTERNAL_ERROR, "Internal error")
    return answer


def _takes_any_choice(answer: dict[str, Any], method: str, _: Any) -> dict[str, Any]:
    outcome = answer.get("result", {}).get("outcome")
    if method == "session/request_permission" and outcome.get("outcome") == "selected":
        return {"result": {"outcome": {"outcome": "selected", "optionId": "yes"}}}
    return answer


def _asks_for_a_command(question: dict[str, Any], _: Any, id_: str) -> dict[str, Any]:
    subject = {"type": "command", "command": "wc -l notes.txt", "cwd": "notes", "toolCallId": id_}
    return {**question, "subject": subject}


full("ACP-SCHEMA-001", V1, "QuestionsWithNumbers")(
    permission=edited(lambda question, *_: {**question, "toolCall": {**question["toolCall"], "title": 7}})
)
full("ACP-PERM-201", V2, "AsksWithoutATitle")(question=lacks("title"))
full("ACCORD-JUNE-PERM-001", JUNE, "AsksAboutNothing")(permission=lacks("toolCall"))
full("ACCORD-PERM-001", V1 + JUNE, "OptionsShareAnId")(
    permission=edited(lambda question, *_: {**question, "options": [*question["options"], _NEVER]})
)
full("ACCORD-PERM-002", V1 + JUNE, "NothingToChoose")(permission=sets(options=[]))
full("ACCORD-PERM-003", V1, "FailsAfterYes")(is_allowed=_falls_over_yes)
full("ACCORD-PERM-004", V1 + JUNE, "FailsAfterNo")(ask=edited(_falls_over_no))
full("ACCORD-PERM-006", V1 + JUNE, "RunsAfterNo")(
    close_tool=lambda _, old, session, tool, status: old(session, tool, "completed" if status == "failed" else status)
)
full("ACCORD-PERM-201", V2, "TakesAnyChoice")(ask=edited(_takes_any_choice))
full("ACCORD-PERM-202", V2, "OffersAnOptionTwice")(
    question=edited(lambda question, *_: {**question, "options": [*question["options"], question["options"][0]]})
)
full("ACCORD-PERM-203", V2, "AsksForACommandSomewhere")(question=edited(_asks_for_a_command))
full("ACP-PATCH-209", V2, "RunsWhileItAsks")(enter=skips(lambda _, __, state, **___: state == "requires_action"))


@breaks("ACCORD-PERM-005", "v1", "v2_june")
class AskedIsNotCancelled(FullV1):
    """Takes a question that is taken back for the end of its work."""

    was_asking = False

    async def is_allowed(self, session: Session, tool: str) -> bool:
        try:
            return await super().is_allowed(session, tool)
        except asyncio.CancelledError:
            self.was_asking = True
            raise

    def cancelled_reason(self) -> str:
        was_asking, self.was_asking = self.was_asking, False
        return "end_turn" if was_asking else super().cancelled_reason()
