"""Agents that are wrong about lines and JSON-RPC, whatever these say, and about their own end."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.check.faults.change import (
    NOBODY,
    after,
    before,
    edited,
    ends,
    instead,
    named,
    refuses,
    repeats,
    skips,
    takes,
)
from tests.check.faults.fault import JUNE, V1, V2, breaks, full, plain
from tests.check.faults.reference.agent_v2 import FullV2, PlainV2
from tests.check.faults.reference.raw import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, NO_METHOD, NOT_FOUND

__all__: list[str] = []

_LARGE_BYTES, _LARGE_BYTES_V2 = 1_000_000, 1 << 16
_OLD_ENCODING = b'{"jsonrpc":"2.0","method":"_example.com/greeting","params":{"words":"gr\xfc\xdf"}}\n'
_TRACEBACK = 'Traceback (most recent call last):\n  File "agent.py", line 7, in serve\n'


def _writes(data: bytes) -> Any:
    return lambda peer, *_: peer.write(data)


def _refuses_it(code: int) -> Any:
    """With an error that belongs to no request."""
    return lambda peer, *_: peer.refuse(None, code, "Refused")


def _is_busy_v2(peer: Any) -> bool:
    return any(session.work is not None for session in peer.sessions.values())


# --- lines

for _editions, _id in ((V1, "ACP-TRANSPORT-001"), (JUNE, "ACP-TRANSPORT-201")):
    plain(_id, _editions, "BannerOnStdout")(at_start=before(_writes(b"Welcome to the agent!\n")))
    plain(_id, _editions, "LateGarbage")(at_end=after(_writes(b"bye\n")))
    plain(_id, _editions, "UnendedLine")(at_end=after(_writes(b'{"jsonrpc":"2.0"')))
plain("ACP-TRANSPORT-201", V2, "GreetsOnStdout")(at_start=before(_writes(b"Welcome!\n")))
plain("ACP-TRANSPORT-002", V1 + JUNE, "InvalidUtf8")(at_start=before(_writes(_OLD_ENCODING)))


def _spreads(peer: Any, message: Any) -> None:
    peer.write(json.dumps(message, indent=1).encode() + b"\n")


def _usage_of(session: Any) -> dict[str, Any]:
    update = {"sessionUpdate": "usage_update", "used": 1, "size": 9}
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session.id, "update": update}}


def _thinks_in_latin_1(peer: Any, session: Any) -> None:
    message = json.dumps(_usage_of(session), ensure_ascii=False).replace("usage_update", "grübel")
    peer.write(message.encode("latin-1") + b"\n")


def _is_thought(_: Any, message: Any) -> bool:
    return '"agent_thought"' in json.dumps(message)


full("ACP-TRANSPORT-002", V2, "ThinksInLatin1")(think=instead(_thinks_in_latin_1))
plain("ACP-TRANSPORT-203", JUNE, "PrettyPrinted")(
    say=instead(_spreads, lambda _, message: isinstance(message, dict) and "user_message" in json.dumps(message))
)
plain("ACP-TRANSPORT-203", V2, "SpreadsAMessageOverLines")(
    reply=after(lambda peer, session, _: _spreads(peer, _usage_of(session)))
)
plain("ACCORD-WIRE-001", V1 + JUNE, "DeafToCarriageReturns")(take=skips(lambda _, line: line.endswith(b"\r")))
plain("ACCORD-WIRE-002", V1 + JUNE, "DeafToIndentation")(take=skips(lambda _, line: line.startswith((b" ", b"\t"))))
plain("ACCORD-SIZE-001", V1 + JUNE, "DeafToLargeLines")(
    take=skips(lambda _, line: len(line) >= _LARGE_BYTES and b'"session/prompt"' not in line)
)
plain("ACCORD-SIZE-002", V1 + JUNE, "RefusesLargePrompts")(
    on_session_prompt=refuses(INVALID_PARAMS, lambda _, params: len(str(params.get("_meta"))) > _LARGE_BYTES)
)
plain("ACCORD-WIRE-211", V2, "CannotReadMuch")(take=skips(lambda _, line: len(line) >= _LARGE_BYTES_V2))
_reads_blank_lines = instead(lambda peer, line: peer.take_broken(line), lambda _, line: not line.strip())
plain("ACCORD-WIRE-008", V1 + JUNE, "BlankLinesAreErrors", note="the error -32700")(
    take=instead(lambda peer, line: peer.take_broken(line), lambda _, line: not line)
)
plain("ACCORD-WIRE-209", V2, "ReadsBlankLines")(take=_reads_blank_lines)
_ignores_bytes = skips(lambda _, line: b"\xff" in line)
plain("ACCORD-WIRE-009", V1 + JUNE, "SilentAboutBytes", note="nothing was said")(take_broken=_ignores_bytes)
plain("ACP-INFO-PARSE-001", V2, "IgnoresWhatIsNoUtf8", note="silence")(take_broken=_ignores_bytes)
plain("ACP-INFO-PARSE-001", V1 + JUNE, "SilentAboutBrokenLines", note="silence")(take_broken=skips())
plain("ACCORD-WIRE-207", V2, "ExcusesNonsense")(take_broken=skips())
plain("ACP-INFO-INVALIDREQ-001", V1, "SilentAboutStrangeJson", note="silence")(take_strange=skips())
plain("ACP-INFO-INVALIDREQ-001", JUNE, "SilentAboutStrangeJson", note="silence")(
    take_strange=skips(lambda peer, _: not peer.is_in_batch())
)
plain("ACP-INFO-INVALIDREQ-001", V2, "IgnoresWhatIsNoMessage", note="silence")(
    take_strange=skips(lambda _, message: isinstance(message, dict) and "hello" in message)
)
plain("ACCORD-WIRE-208", V2, "IgnoresScalars")(take_strange=skips(lambda _, message: not isinstance(message, dict)))

# --- ids


def _has_other_id(change: Any) -> Any:
    """Messages with ids of their own; `change` gives the id for one."""

    def edit(_: Any, old: Any, message: Any) -> None:
        old({**message, "id": change(message["id"])} if isinstance(message, dict) and "id" in message else message)

    return edit


plain("ACP-JSONRPC-001", V1 + JUNE, "EmptyIdIsNull")(say=_has_other_id(lambda id_: None if id_ == "" else id_))
plain("ACP-JSONRPC-001", V1 + JUNE, "NegativeIdsAreText")(
    say=_has_other_id(lambda id_: str(id_) if isinstance(id_, int) and id_ < 0 else id_)
)
plain("ACP-JSONRPC-001", V2, "LosesEmptyIds")(
    refuse=lambda _, old, id_, code, message, data=None: old(id_ or None, code, message, data)
)
plain("ACCORD-WIRE-005", V1 + JUNE, "IdsAreFractions")(
    take_request=lambda _, old, message: old(
        {**message, "id": int(float(message["id"]))} if type(message["id"]) is int else message
    )
)
plain("ACCORD-WIRE-010", V1 + JUNE, "StrictAboutIds", note="the error -32600")(
    take_request=instead(_refuses_it(INVALID_REQUEST), lambda _, message: not isinstance(message["id"], int | str))
)
plain("ACCORD-WIRE-206", V2, "TakesFractionsForIds")(is_id=edited(lambda is_so, id_: is_so or isinstance(id_, float)))
full("ACCORD-WIRE-216", V2, "WantsIdsOfItsOwn")(
    take_request=instead(
        _refuses_it(INVALID_REQUEST), lambda peer, message: peer.is_id(message["id"]) and message["id"] in peer._waiting
    )
)


@breaks("ACCORD-WIRE-213", "v2")
class CountsInFractions(FullV2):
    def say(self, message: Any) -> None:
        if "method" in message and "id" in message:
            message = {**message, "id": self.fraction(message["id"])}
        super().say(message)

    def fraction(self, id_: str) -> float:
        return int(id_[1:]) + 0.5

    def take_answer(self, message: dict[str, Any]) -> None:
        id_ = message.get("id")
        super().take_answer({**message, "id": f"a{int(id_)}"} if isinstance(id_, float) else message)

    def take_back(self, request_id: Any) -> None:
        super().take_back(self.fraction(request_id))


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


# --- answers and errors


def _with_result(_: Any, old: Any, message: Any) -> None:
    old({**message, "result": None} if isinstance(message, dict) and "error" in message else message)


def _has_error(code: int, **fields: Any) -> Any:
    """Whether a message is an error with a code, and with these data."""

    def when(_: Any, message: Any) -> bool:
        error = message.get("error") if isinstance(message, dict) else None
        if not isinstance(error, dict) or error["code"] != code:
            return False
        return all((error.get("data") or {}).get(key) == value for key, value in fields.items())

    return when


plain("ACP-JSONRPC-002", V1 + JUNE, "ResultAndError")(say=_with_result)
plain("ACP-JSONRPC-002", V2, "HasAResultBesideTheError")(
    say=takes(lambda message: {**message, "result": None}, _has_error(INVALID_PARAMS, field="cwd"))
)
plain("ACP-JSONRPC-002", V1 + JUNE, "ErrorWithoutMessage")(
    say=takes(lambda message: {**message, "error": {"code": NOT_FOUND}}, _has_error(NOT_FOUND))
)
plain("ACP-JSONRPC-003", V1 + JUNE, "AnswersNotifications")(
    take_notification=before(_refuses_it(NO_METHOD), named("nonsense/note"))
)
plain("ACP-JSONRPC-003", V2, "AnswersUnknownNotifications")(
    take_notification=before(lambda peer, method, _: peer.answer(method, {}), named("nonsense/note"))
)
plain("ACP-JSONRPC-004", V1 + JUNE, "UnknownMethodIsInternalError")(
    refuse=lambda _, old, id_, code, *more: old(id_, INTERNAL_ERROR if code == NO_METHOD else code, *more)
)
plain("ACP-JSONRPC-004", V2, "SaysYesToUnknownMethods")(
    perform=instead(lambda *_: {}, lambda _, __, method, ___: method.startswith("nonsense/"))
)


def _is_all_wrong(_: Any, message: Any) -> bool:
    params = message.get("params") if isinstance(message, dict) else None
    return isinstance(params, dict) and (params.get("cwd"), params.get("mcpServers")) == (5, "none")


plain("ACP-JSONRPC-005", V1 + JUNE, "DiesOfABadRequest")(take_json=ends(_is_all_wrong))
plain("ACP-JSONRPC-005", V2, "DiesOfABadRequest")(
    on_session_new=ends(lambda _, params: isinstance(params.get("mcpServers"), str))
)
plain("ACCORD-WIRE-003", V1 + JUNE, "WantsParams")(take_request=skips(lambda _, message: "params" not in message))
plain("ACCORD-WIRE-215", V2, "WantsParams")(
    take_request=instead(
        lambda peer, message: peer.refuse(message["id"], INVALID_PARAMS, "Invalid params"),
        lambda _, message: message["method"] == "session/list" and message.get("params") is None,
    )
)
plain("ACCORD-WIRE-004", V1 + JUNE, "DeafToNullParams")(
    take_request=skips(lambda _, message: message.get("params", {}) is None)
)
plain("ACCORD-WIRE-006", V1, "DiesOfNotifications")(take_notification=ends(named("_accord.check/unknown")))
plain("ACCORD-WIRE-210", V2, "DiesOfBadNotifications")(
    take_notification=ends(lambda _, method, params: method == "session/cancel" and not isinstance(params, dict))
)
plain("ACCORD-WIRE-007", V1 + JUNE, "AnswersAnswers")(
    take_answer=after(_refuses_it(INVALID_REQUEST), lambda _, message: message.get("id") == NOBODY)
)


def _is_whole(_: Any, message: dict[str, Any]) -> bool:
    return ("result" in message) != isinstance(message.get("error"), dict)


plain("ACCORD-WIRE-204", V2, "AnswersResponses")(take_answer=instead(_refuses_it(INVALID_REQUEST), _is_whole))
plain("ACCORD-WIRE-205", V2, "AnswersMalformedResponses")(
    take_answer=instead(_refuses_it(INVALID_REQUEST), lambda _, message: not _is_whole(_, message))
)
plain("ACCORD-WIRE-212", V2, "ClosesTwice")(
    after_answer=after(
        lambda peer, id_, _, __, result: peer.answer(id_, result), lambda _, __, method, *___: method == "session/close"
    )
)


def _is_held(peer: Any, request_id: Any) -> bool:
    return request_id in [prompt.request for session in peer.sessions.values() for prompt in session.held]


plain("ACCORD-WIRE-214", V2, "ComplainsAboutWhatIsTakenBack")(
    take_cancel_request=before(_refuses_it(INVALID_PARAMS), lambda peer, id_: not _is_held(peer, id_))
)
plain("ACP-ERROR-001", V1 + JUNE, "ErrorsWithParagraphs")(
    refuse=lambda _, old, id_, code, message, *data: old(id_, code, f"{message}.\nPlease try again.", *data)
)
plain("ACP-ERROR-001", V1 + JUNE, "ErrorsWithoutWords")(
    refuse=lambda _, old, id_, code, __, *data: old(id_, code, "", *data)
)
plain("ACP-ERROR-001", V2, "ExplainsErrorsAtLength")(
    refuse=lambda _, old, id_, code, message, *data: old(id_, code, f"{message}\n  in line 5\n  in line 3", *data)
)
plain("ACCORD-ERROR-001", V1 + JUNE, "TracebacksForAll")(
    refuse=lambda _, old, id_, code, message, data=None: old(
        id_, code, message, {"details": _TRACEBACK} if code == NOT_FOUND else data
    )
)
plain("ACCORD-ERROR-201", V2, "ShowsItsStack")(
    refuse=lambda _, old, id_, code, message, data=None: old(
        id_, code, message, _TRACEBACK if code == INVALID_PARAMS else data
    )
)

# --- extensions

plain("ACP-EXT-001", V1 + JUNE, "ExtensionsAreIgnored")(
    take_request=skips(lambda _, message: message["method"].startswith("_example.com/"))
)
plain("ACP-EXT-001", V2, "LeavesAnExtensionUnanswered")(
    take_request=skips(lambda _, message: message["method"] == "_example.com/unknown")
)
plain("ACP-EXT-201", JUNE, "AnswersAnExtensionNotification")(
    take_notification=before(
        _refuses_it(NO_METHOD), lambda peer, method, _: method.startswith("_") and not peer.is_in_batch()
    )
)
plain("ACP-EXT-201", V2, "AnswersAnExtensionNotification")(
    take_notification=before(_refuses_it(NO_METHOD), lambda _, method, __: method.startswith("_"))
)
plain("ACP-EXT-203", JUNE, "AnswersDollarNotifications", note="_example.com/what")(
    take_notification=before(
        lambda peer, method, _: peer.notify("_example.com/what", {"method": method}), named("$/nonsense")
    )
)
plain("ACP-EXT-203", V2, "AnswersANotificationWithADollar", note="answered")(
    take_notification=before(_refuses_it(NO_METHOD), named("$/nonsense"))
)

# --- arrays, where there are no batches

plain("ACCORD-WIRE-011", V1, "SilentAboutArrays", note="nothing was said")(take_array=skips())
plain("ACP-BATCH-201", V2, "IgnoresAnEmptyArray")(take_array=skips(lambda _, messages: not messages))
plain("ACCORD-WIRE-202", V2, "RefusesArraysTwice")(take_array=repeats(lambda _, messages: messages))


def _answers_closing(peer: Any, messages: list[Any]) -> None:
    for message in messages:
        if isinstance(message, dict) and message.get("method") == "session/close":
            peer.answer(message.get("id"), {})


plain("ACCORD-WIRE-203", V2, "WorksThroughArrays")(take_array=after(_answers_closing))
plain("ACP-INFO-BATCH-201", V2, "IgnoresABrokenArray", note="ignored")(
    take_broken=skips(lambda _, line: line.startswith(b"["))
)
plain("ACP-INFO-BATCH-202", V2, "HasACodeForAnswersInArrays", note="single answers")(
    take_array=instead(
        _refuses_it(-32099), lambda _, messages: any(isinstance(each, dict) and "result" in each for each in messages)
    )
)
plain("ACP-BATCH-207", V2, "SpeaksInArrays", note="arrays")(
    reply=after(lambda peer, session, _: peer.say([_usage_of(session)]))
)
full("ACCORD-WIRE-201", V2, "ThinksInArrays")(say=takes(lambda message: [message], _is_thought))

# --- the end


async def _waits(*_: Any) -> None:
    await asyncio.Event().wait()


plain("ACP-SHUTDOWN-001", V1 + JUNE, "NeverEnds")(at_end=after(_waits))


@breaks("ACP-SHUTDOWN-001", "v2")
class StaysForEver(PlainV2):
    async def at_end(self) -> None:
        is_working = _is_busy_v2(self)
        await super().at_end()
        if not is_working:
            await _waits()


plain("ACP-STDERR-001", V1 + JUNE, "ChattersOnStderr", note="bytes")(
    at_start=before(lambda peer: peer.complain("hello"))
)


def _fails(*_: Any) -> None:
    raise RuntimeError("this is the end")


plain("ACP-STDERR-001", V2, "EndsWithATraceback", note="bytes")(at_end=after(_fails))


async def _finishes_first(peer: Any, old: Any) -> None:
    try:
        if _is_busy(peer):
            await _waits()
    finally:
        await old()


async def _ends_with_status(peer: Any, old: Any) -> None:
    is_busy = _is_busy(peer)
    await old()
    if is_busy:
        raise SystemExit(3)


def _is_busy(peer: Any) -> bool:
    return _is_busy_v2(peer) if isinstance(peer, PlainV2) else any(peer.turns.values())


plain("ACCORD-EXIT-001", V1 + JUNE, "FinishesItsWorkFirst")(at_end=_finishes_first)
plain("ACCORD-EXIT-201", V2, "StaysUntilItsWorkIsDone")(at_end=_finishes_first)
plain("ACCORD-EXIT-002", V1 + JUNE, "ComplainsAtTheEnd", note="status 3")(at_end=_ends_with_status)
plain("ACCORD-EXIT-202", V2, "EndsWithAStatus", note="status 3")(at_end=_ends_with_status)
