"""Agents of v2 that are wrong with prompts, cancellations and questions; rules of ours."""

from __future__ import annotations

import asyncio
from typing import Any

from accord.testing.faults.agent_v2 import FullV2, PlainV2
from accord.testing.faults.agent_v2_handshake import INVALID_PARAMS
from accord.testing.faults.agent_v2_sessions import HeldPrompt, OpenSession, wrong
from accord.testing.faults.fault import breaks
from accord.testing.faults.raw import Refused

__all__: list[str] = []

_INTERNAL = -32603


@breaks("ACCORD-PROMPT-201", "v2")
class ReadsPigeons(PlainV2):
    def check_block(self, block: Any) -> None:
        if not str(block.get("type")).startswith("_"):
            super().check_block(block)


@breaks("ACCORD-PROMPT-202", "v2")
class ReadsWhatItDoesNotAdvertise(PlainV2):
    def check_block(self, block: Any) -> None:
        if block.get("type") not in {"image", "audio", "resource"}:
            super().check_block(block)


@breaks("ACCORD-PROMPT-203", "v2")
class ReadsBlocksWithoutText(PlainV2):
    def check_block(self, block: Any) -> None:
        if block.get("type") == "text":
            block.setdefault("text", "")
        super().check_block(block)


@breaks("ACCORD-PROMPT-204", "v2")
class ShowsWhatItRefuses(PlainV2):
    def take_prompt(self, request: Any, params: Any) -> None:
        try:
            super().take_prompt(request, params)
        except Refused as refused:
            if refused.code == INVALID_PARAMS and params["prompt"]:
                content = [{"type": "text", "text": "?"}]
                update = {"sessionUpdate": "user_message", "messageId": self.new_message_id(), "content": content}
                self.update(params["sessionId"], update)
            raise


@breaks("ACCORD-PROMPT-205", "v2")
class AnswersWhenItsWorkIsDone(PlainV2):
    def __init__(self) -> None:
        super().__init__()
        self.receipts: dict[Any, str] = {}

    def receipt(self, request: Any, message_id: str) -> None:
        self.receipts[request] = message_id

    def end(self, session: OpenSession, work: asyncio.Task[str]) -> None:
        for request, message_id in self.receipts.items():
            super().receipt(request, message_id)
        self.receipts.clear()
        super().end(session, work)


@breaks("ACCORD-PROMPT-206", "v2")
class ServesTheLastFirst(PlainV2):
    def end(self, session: OpenSession, work: asyncio.Task[str]) -> None:
        session.held.reverse()
        super().end(session, work)


@breaks("ACCORD-PROMPT-208", "v2", note="inserted")
class InsertsNothing(PlainV2):
    def check_prompt(self, blocks: Any) -> None:
        if blocks != []:
            super().check_prompt(blocks)


@breaks("ACCORD-PROMPT-209", "v2")
class WantsGoodAnnotations(PlainV2):
    def check_block(self, block: Any) -> None:
        super().check_block(block)
        priority = (block.get("annotations") or {}).get("priority", 0)
        if not isinstance(priority, (int, float)):
            raise wrong("annotations", "a number")


# --- cancelling


@breaks("ACCORD-CANCEL-202", "v2")
class CancelsWhatComesNext(PlainV2):
    def place_prompt(self, session: OpenSession, prompt: HeldPrompt) -> None:
        if session.work is not None and session.work.cancelling():
            self.drop(prompt)
        else:
            super().place_prompt(session, prompt)


@breaks("ACCORD-CANCEL-203", "v2")
class WaitsForItsUser(FullV2):
    async def on_session_cancel(self, params: dict[str, Any]) -> None:
        session = self.sessions.get(str(params.get("sessionId")))
        if session is None or session.state != "requires_action":
            await super().on_session_cancel(params)


class _TakesBackSome(FullV2):
    """Of its questions some are left open when the work is cancelled."""

    left_open = ""
    """Questions of which method."""

    async def ask(self, method: str, params: Any) -> dict[str, Any]:
        """Ask; see `TurnsV2.ask`."""
        id_ = f"a{self._next_id + 1}"
        if method == self.left_open:
            self.open_ids.add(id_)
        return await super().ask(method, params)

    def __init__(self) -> None:
        super().__init__()
        self.open_ids: set[Any] = set()

    def take_back(self, request_id: Any) -> None:
        """Take a question back; see `TurnsV2.take_back`."""
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


@breaks("ACCORD-CANCEL-206", "v2")
class DoesWhatNobodyAllowed(FullV2):
    def retire(self, session: OpenSession) -> None:
        for id_ in session.unfinished:
            self.tell(session, "tool_call_update", toolCallId=id_, status="completed", capabilities=None)
        session.unfinished.clear()
        super().retire(session)


@breaks("ACCORD-CANCEL-207", "v2")
class HasALastWord(PlainV2):
    def end(self, session: OpenSession, work: asyncio.Task[str]) -> None:
        super().end(session, work)
        if work.cancelled() and not self.is_over:
            self.say_words(session, "By the way")


# --- one thing alone


@breaks("ACCORD-CANCEL-208", "v2")
class CancelsUnknownToolCalls(PlainV2):
    async def on_tool_call_cancel(self, params: dict[str, Any]) -> Any:
        self.open_session(params)
        return {}


@breaks("ACCORD-CANCEL-209", "v2")
class CancelsUnknownTerminals(PlainV2):
    async def on_terminal_cancel(self, params: dict[str, Any]) -> Any:
        self.open_session(params)
        return {}


@breaks("ACCORD-CANCEL-210", "v2")
class CancelsFinishedToolCalls(FullV2):
    async def on_tool_call_cancel(self, params: dict[str, Any]) -> Any:
        id_ = params["toolCallId"]
        if id_.startswith("tool-") and id_ not in self.open_session(params).cancellable:
            return {}
        return await super().on_tool_call_cancel(params)


@breaks("ACCORD-CANCEL-211", "v2")
class CancelsTerminalsThatExited(FullV2):
    async def on_terminal_cancel(self, params: dict[str, Any]) -> Any:
        id_ = params["terminalId"]
        if id_.startswith("terminal-") and id_ not in self.open_session(params).cancellable:
            return {}
        return await super().on_terminal_cancel(params)


@breaks("ACCORD-CANCEL-212", "v2")
class CannotCancelToolCalls(FullV2):
    async def on_tool_call_cancel(self, params: dict[str, Any]) -> Any:
        if params["toolCallId"] in self.open_session(params).cancellable:
            raise Refused(_INTERNAL, "Internal error")
        return await super().on_tool_call_cancel(params)


@breaks("ACCORD-CANCEL-213", "v2")
class CannotCancelTerminals(FullV2):
    async def on_terminal_cancel(self, params: dict[str, Any]) -> Any:
        if params["terminalId"] in self.open_session(params).cancellable:
            raise Refused(_INTERNAL, "Internal error")
        return await super().on_terminal_cancel(params)


# --- questions


@breaks("ACCORD-PERM-201", "v2")
class TakesAnyChoice(FullV2):
    async def ask(self, method: str, params: Any) -> dict[str, Any]:
        answer = await super().ask(method, params)
        outcome = answer.get("result", {}).get("outcome")
        if method == "session/request_permission" and outcome.get("outcome") == "selected":
            return {"result": {"outcome": {"outcome": "selected", "optionId": "yes"}}}
        return answer


@breaks("ACCORD-PERM-202", "v2")
class OffersAnOptionTwice(FullV2):
    def question(self, session: OpenSession, id_: str) -> dict[str, Any]:
        question = super().question(session, id_)
        return {**question, "options": [*question["options"], question["options"][0]]}


@breaks("ACCORD-PERM-203", "v2")
class AsksForACommandSomewhere(FullV2):
    def question(self, session: OpenSession, id_: str) -> dict[str, Any]:
        subject = {"type": "command", "command": "wc -l notes.txt", "cwd": "notes", "toolCallId": id_}
        return {**super().question(session, id_), "subject": subject}


@breaks("ACCORD-ELICIT-201", "v2")
class AsksEveryoneInForms(FullV2):
    def client_has(self, *path: str) -> bool:
        return super().client_has(*(path[:1] if path[0] == "elicitation" else path))


@breaks("ACCORD-ELICIT-202", "v2")
class AsksForTwoReasons(FullV2):
    def form(self, session: OpenSession) -> dict[str, Any]:
        return {**super().form(session), "requestId": 1}


@breaks("ACCORD-ELICIT-203", "v2")
class AsksForAPassword(FullV2):
    def form(self, session: OpenSession) -> dict[str, Any]:
        schema = {"type": "object", "properties": {"password": {"type": "string", "title": "Password"}}}
        return {**super().form(session), "requestedSchema": schema}


@breaks("ACCORD-ELICIT-204", "v2")
class WaitsForAnActionThatItKnows(FullV2):
    async def ask(self, method: str, params: Any) -> dict[str, Any]:
        answer = await super().ask(method, params)
        action = answer.get("result", {}).get("action")
        if method == "elicitation/create" and action not in {"accept", "decline", "cancel"}:
            await asyncio.get_running_loop().create_future()
        return answer
