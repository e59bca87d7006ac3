"""Agents of June's v2 that are wrong about batches, which no other edition has."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.check.faults.change import before, instead, skips, takes
from tests.check.faults.fault import JUNE, breaks, plain
from tests.check.faults.reference.agent_june import Batch, PlainJune
from tests.check.faults.reference.raw import INTERNAL_ERROR, INVALID_REQUEST

__all__: list[str] = []

_NOTHING_TO_DO = {"jsonrpc": "2.0", "id": None, "error": {"code": INVALID_REQUEST, "message": "Nothing to do"}}


def _refuses(code: int) -> Any:
    return lambda peer, _: peer.refuse(None, code, "Refused")


def _one_by_one(peer: Any, batch: Batch) -> None:
    for reply in batch.replies:
        peer.say(reply)


def _numbered(batch: Batch) -> Batch:
    return Batch([{**reply, "id": f"entry {place}"} for place, reply in enumerate(batch.replies)], batch.later)


def _is_echo(_: Any, message: Any) -> bool:
    params = message.get("params") if isinstance(message, dict) else None
    return isinstance(params, dict) and params.get("update", {}).get("sessionUpdate") == "user_message"


plain("ACP-BATCH-201", JUNE, "EmptyBatchIsAnswered")(
    take_array=instead(_refuses(INTERNAL_ERROR), lambda _, some: not some)
)
plain("ACP-BATCH-202", JUNE, "NotificationsAreAnswered")(
    take_array=before(
        lambda peer, _: peer.say([_NOTHING_TO_DO]),
        lambda _, messages: messages and all(isinstance(each, dict) and "id" not in each for each in messages),
    )
)
plain("ACP-BATCH-203", JUNE, "OneBadEntrySpoilsAll")(
    take_array=instead(
        _refuses(INVALID_REQUEST),
        lambda _, messages: not all(isinstance(each, dict) and "jsonrpc" in each for each in messages),
    )
)
plain("ACP-BATCH-204", JUNE, "AnswersOneByOne")(answer_batch=instead(_one_by_one))
# Alone or behind an error the numbers would be noticed.
plain("ACP-BATCH-205", JUNE, "AnswersByPlace")(
    answer_batch=takes(
        _numbered, lambda _, batch: len(batch.replies) == 3 and None not in [reply["id"] for reply in batch.replies]
    )
)
plain("ACP-BATCH-207", JUNE, "SpeaksInBatches", note="arrays")(say=takes(lambda message: [message], _is_echo))
plain("ACP-BATCH-208", JUNE, "NoHandshakeInABatch", note="-32600")(
    take_entry=instead(
        lambda peer, message: peer.refuse(message.get("id"), INVALID_REQUEST, "Invalid request"),
        lambda _, message: isinstance(message, dict) and message.get("method") == "initialize",
    )
)
plain("ACP-INFO-BATCH-201", JUNE, "SilentAboutBrokenBatches", note="ignored")(
    take_broken=skips(lambda _, line: line.startswith(b"["))
)
plain("ACP-INFO-BATCH-202", JUNE, "NoAnswersInABatch", note="an array of 2")(
    take_entry=instead(
        lambda peer, message: peer.take_strange(message),
        lambda _, message: isinstance(message, dict) and "result" in message,
    )
)


@breaks("ACP-BATCH-206", "v2_june", note="work, quick")
class OneAfterTheOther(PlainJune):
    """Works on the entries of a batch one by one."""

    async def work_on_batch(self, messages: list[Any]) -> None:
        lock = asyncio.Lock()
        take = self.take_entry

        async def take_in_turn(message: Any) -> None:
            async with lock:
                await take(message)

        self.take_entry = take_in_turn  # type: ignore[method-assign]
        await super().work_on_batch(messages)
