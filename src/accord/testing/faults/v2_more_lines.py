"""Agents of v2 that are wrong with single lines, or before there is a session; rules of ours."""

from __future__ import annotations

import asyncio
from typing import Any

from accord.testing.faults.agent_v2 import FullV2, PlainV2
from accord.testing.faults.agent_v2_handshake import INVALID_PARAMS, INVALID_REQUEST, NO_VERSION
from accord.testing.faults.fault import breaks
from accord.testing.faults.raw import Refused

__all__: list[str] = []

_LARGE_BYTES = 1 << 16


@breaks("ACCORD-WIRE-201", "v2")
class ThinksInArrays(FullV2):
    def update(self, session_id: str, update: dict[str, Any]) -> None:
        if update["sessionUpdate"] != "agent_thought":
            super().update(session_id, update)
            return
        params = {"sessionId": session_id, "update": update}
        self.say([{"jsonrpc": "2.0", "method": "session/update", "params": params}])


@breaks("ACCORD-WIRE-202", "v2")
class RefusesArraysTwice(PlainV2):
    async def take_array(self, messages: list[Any]) -> None:
        await super().take_array(messages)
        if messages:
            await super().take_array(messages)


@breaks("ACCORD-WIRE-203", "v2")
class WorksThroughArrays(PlainV2):
    async def take_array(self, messages: list[Any]) -> None:
        await super().take_array(messages)
        for message in messages:
            if isinstance(message, dict) and message.get("method") == "session/close":
                self.answer(message.get("id"), {})


@breaks("ACCORD-WIRE-204", "v2")
class AnswersResponses(PlainV2):
    def take_answer(self, message: dict[str, Any]) -> None:
        if ("result" in message) != isinstance(message.get("error"), dict):
            self.refuse(None, INVALID_REQUEST, "Invalid request")


@breaks("ACCORD-WIRE-205", "v2")
class AnswersMalformedResponses(PlainV2):
    def take_answer(self, message: dict[str, Any]) -> None:
        if ("result" in message) == isinstance(message.get("error"), dict):
            self.refuse(None, INVALID_REQUEST, "Invalid request")


@breaks("ACCORD-WIRE-206", "v2")
class TakesFractionsForIds(PlainV2):
    def is_id(self, id_: Any) -> bool:
        return isinstance(id_, float) or super().is_id(id_)


@breaks("ACCORD-WIRE-207", "v2")
class ExcusesNonsense(PlainV2):
    async def take_broken(self, _line: bytes) -> None:
        return


@breaks("ACCORD-WIRE-208", "v2")
class IgnoresScalars(PlainV2):
    async def take_strange(self, message: Any) -> None:
        if isinstance(message, dict):
            await super().take_strange(message)


@breaks("ACCORD-WIRE-209", "v2")
class ReadsBlankLines(PlainV2):
    async def take(self, line: bytes) -> None:
        if line.strip():
            await super().take(line)
        else:
            await self.take_broken(line)


@breaks("ACCORD-WIRE-210", "v2")
class DiesOfBadNotifications(PlainV2):
    async def take_notification(self, method: str, params: Any) -> None:
        if method == "session/cancel" and not isinstance(params, dict):
            raise SystemExit(1)
        await super().take_notification(method, params)


@breaks("ACCORD-WIRE-211", "v2")
class CannotReadMuch(PlainV2):
    async def take(self, line: bytes) -> None:
        if len(line) < _LARGE_BYTES:
            await super().take(line)


@breaks("ACCORD-WIRE-212", "v2")
class ClosesTwice(PlainV2):
    async def after_answer(self, id_: Any, method: str, params: dict[str, Any], result: Any) -> None:
        await super().after_answer(id_, method, params, result)
        if method == "session/close":
            self.answer(id_, result)


@breaks("ACCORD-WIRE-213", "v2")
class CountsInFractions(FullV2):
    def say(self, message: Any) -> None:
        if "method" in message and "id" in message:
            message = {**message, "id": self.fraction(message["id"])}
        super().say(message)

    def fraction(self, id_: str) -> float:
        """Half more than the number that an id has."""
        return int(id_[1:]) + 0.5

    def take_answer(self, message: dict[str, Any]) -> None:
        id_ = message.get("id")
        super().take_answer({**message, "id": f"a{int(id_)}"} if isinstance(id_, float) else message)

    def take_back(self, request_id: Any) -> None:
        super().take_back(self.fraction(request_id))


@breaks("ACCORD-WIRE-214", "v2")
class ComplainsAboutWhatIsTakenBack(PlainV2):
    async def take_cancel_request(self, request_id: Any) -> None:
        held = [prompt.request for session in self.sessions.values() for prompt in session.held]
        if request_id not in held:
            self.refuse(None, INVALID_PARAMS, "No such request")
        await super().take_cancel_request(request_id)


@breaks("ACCORD-WIRE-215", "v2")
class WantsParams(PlainV2):
    async def take_request(self, message: dict[str, Any]) -> None:
        if message["method"] == "session/list" and message.get("params") is None:
            self.refuse(message["id"], INVALID_PARAMS, "Invalid params")
        else:
            await super().take_request(message)


@breaks("ACCORD-WIRE-216", "v2")
class WantsIdsOfItsOwn(FullV2):
    async def take_request(self, message: dict[str, Any]) -> None:
        if self.is_id(message["id"]) and message["id"] in self._waiting:
            self.refuse(None, INVALID_REQUEST, "This id is taken")
        else:
            await super().take_request(message)


@breaks("ACCORD-WIRE-217", "v2")
class WantsNewIds(PlainV2):
    def __init__(self) -> None:
        super().__init__()
        self.used: set[Any] = set()

    async def take_request(self, message: dict[str, Any]) -> None:
        if self.is_id(message["id"]) and message["id"] in self.used:
            self.refuse(message["id"], INVALID_REQUEST, "This id was used before")
            return
        if self.is_id(message["id"]):
            self.used.add(message["id"])
        await super().take_request(message)


@breaks("ACCORD-ERROR-201", "v2")
class ShowsItsStack(PlainV2):
    def refuse(self, id_: Any, code: int, message: str, data: Any = None) -> None:
        if code == INVALID_PARAMS:
            data = 'Traceback (most recent call last):\n  File "agent.py", line 7, in serve\n'
        super().refuse(id_, code, message, data)


@breaks("ACCORD-EXIT-201", "v2")
class StaysUntilItsWorkIsDone(PlainV2):
    async def at_end(self) -> None:
        try:
            if any(session.work is not None for session in self.sessions.values()):
                await asyncio.get_running_loop().create_future()
        finally:
            await super().at_end()


@breaks("ACCORD-EXIT-202", "v2", note="status 3")
class EndsWithAStatus(PlainV2):
    async def at_end(self) -> None:
        is_working = any(session.work is not None for session in self.sessions.values())
        await super().at_end()
        if is_working:
            raise SystemExit(3)


# --- the handshake


@breaks("ACCORD-INIT-201", "v2")
class ServesBeforeTheHandshake(PlainV2):
    def check_order(self) -> None:
        if self.version:
            super().check_order()


@breaks("ACCORD-INIT-202", "v2")
class AnswersEarlyNotifications(PlainV2):
    async def take_notification(self, method: str, params: Any) -> None:
        if not self.version:
            self.refuse(None, INVALID_REQUEST, "Initialize first")
        await super().take_notification(method, params)


@breaks("ACCORD-INIT-203", "v2")
class WelcomesTheNameless(PlainV2):
    def check_client(self, _asked: int, _params: dict[str, Any]) -> None:
        return


@breaks("ACCORD-INIT-204", "v2")
class GivesUpAfterABadHandshake(PlainV2):
    has_failed = False

    async def on_initialize(self, params: dict[str, Any]) -> Any:
        if self.has_failed:
            raise Refused(INVALID_REQUEST, "It is too late for that")
        self.has_failed = True
        result = await super().on_initialize(params)
        self.has_failed = False
        return result


@breaks("ACCORD-INIT-205", "v2")
class WelcomesAncientClients(PlainV2):
    def choose_version(self, asked: int) -> int:
        return super().choose_version(asked) if asked >= min(self.versions) else max(self.versions)


@breaks("ACCORD-INIT-206", "v2")
class KeepsItsVersionsToItself(PlainV2):
    def choose_version(self, asked: int) -> int:
        if asked < min(self.versions):
            raise Refused(NO_VERSION, "Unsupported protocol version")
        return super().choose_version(asked)


@breaks("ACCORD-INIT-207", "v2")
class WantsGoodCapabilities(PlainV2):
    async def on_initialize(self, params: dict[str, Any]) -> Any:
        capabilities = params.get("capabilities") or {}
        if any(value is not None and not isinstance(value, dict) for value in capabilities.values()):
            raise Refused(INVALID_PARAMS, "Invalid params")
        return await super().on_initialize(params)


@breaks("ACCORD-INIT-208", "v2")
class ShakesHandsOnce(PlainV2):
    def check_repetition(self, _asked: int) -> None:
        if self.version:
            raise Refused(INVALID_REQUEST, "This handshake cannot be repeated")


@breaks("ACCORD-INIT-209", "v2")
class ShakesHandsAnytime(PlainV2):
    def check_repetition(self, _asked: int) -> None:
        return


@breaks("ACCORD-INIT-210", "v2")
class WantsANameFromTheFuture(PlainV2):
    def check_client(self, asked: int, params: dict[str, Any]) -> None:
        super().check_client(min(asked, max(self.versions)), params)


@breaks("ACCORD-INIT-211", "v2")
class SpeaksOnlyItsLatest(PlainV2):
    def choose_version(self, asked: int) -> int:
        return max(self.versions) if asked == 1 else super().choose_version(asked)


@breaks("ACCORD-AUTH-201", "v2")
class KnowsOnlyItsLogin(FullV2):
    async def on_auth_login(self, params: dict[str, Any]) -> Any:
        if params.get("methodId") != "token":
            raise Refused(-32601, "Method not found")
        return await super().on_auth_login(params)
