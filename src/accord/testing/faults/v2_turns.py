"""Agents of v2 that are wrong in their turns: prompts, states, questions to the client."""

from __future__ import annotations

from typing import Any

from accord.testing.faults.agent_v2 import FullV2, PlainV2
from accord.testing.faults.agent_v2_handshake import INVALID_PARAMS
from accord.testing.faults.agent_v2_sessions import HeldPrompt, OpenSession
from accord.testing.faults.fault import breaks
from accord.testing.faults.raw import Refused

__all__: list[str] = []


@breaks("ACP-PROMPT-201", "v2")
class AnswersWithAStopReason(PlainV2):
    def receipt(self, request: Any, message_id: str) -> None:
        self.answer(request, {"messageId": message_id, "stopReason": "end_turn"})


@breaks("ACP-PROMPT-203", "v2")
class ShowsTheMessageUnderAnotherId(PlainV2):
    def echo(self, session: OpenSession, message_id: str, prompt: HeldPrompt) -> None:
        message = {"sessionUpdate": "user_message", "content": prompt.blocks}
        session.kept.keep({**message, "messageId": message_id})
        self.update(session.id, {**message, "messageId": self.new_message_id()})


@breaks("ACP-PROMPT-205", "v2")
class CountsInWords(PlainV2):
    async def reply(self, session: OpenSession, prompt: HeldPrompt) -> None:
        await super().reply(session, prompt)
        self.update(session.id, {"sessionUpdate": "usage_update", "used": "many", "size": 1000})


class _RefusesABlock(FullV2):
    refused = ""

    def check_block(self, block: Any) -> None:
        super().check_block(block)
        if block["type"] == self.refused:
            raise Refused(INVALID_PARAMS, "Invalid params")


@breaks("ACP-PROMPT-003", "v2")
class RefusesLinks(_RefusesABlock):
    refused = "resource_link"


@breaks("ACP-PROMPTCAP-001", "v2")
class RefusesImages(_RefusesABlock):
    refused = "image"


@breaks("ACP-PROMPTCAP-002", "v2")
class RefusesRecordings(_RefusesABlock):
    refused = "audio"


@breaks("ACP-PROMPTCAP-003", "v2")
class RefusesResources(_RefusesABlock):
    refused = "resource"


# --- states


@breaks("ACP-STATE-201", "v2")
class NeverRuns(PlainV2):
    def tell_running(self, session: OpenSession) -> None:
        session.state = "running"


@breaks("ACP-STATE-202", "v2")
class NeverRests(PlainV2):
    def tell_idle(self, session: OpenSession, _reason: str) -> None:
        session.state = "idle"


@breaks("ACP-STATE-203", "v2")
class EndsWithAWordOfItsOwn(PlainV2):
    def stop_reason(self) -> str:
        return "satisfied"


# --- questions


@breaks("ACP-PERM-201", "v2")
class AsksWithoutATitle(FullV2):
    def question(self, session: OpenSession, id_: str) -> dict[str, Any]:
        question = super().question(session, id_)
        del question["title"]
        return question


@breaks("ACP-CLIENTCAP-201", "v2")
class ShowsFormsToWhoSaysNothing(FullV2):
    def client_has(self, *path: str) -> bool:
        return (path[0] == "elicitation" and not self.client) or super().client_has(*path)


@breaks("ACP-CLIENTCAP-202", "v2")
class ReadsFilesOfTheClient(PlainV2):
    async def reply(self, session: OpenSession, prompt: HeldPrompt) -> None:
        path = f"{session.kept.cwd}/notes.txt"
        await self.ask("fs/read_text_file", {"sessionId": session.id, "path": path})
        await super().reply(session, prompt)
