"""Agents of June's v2 that are wrong about batches, which no other edition has."""

from __future__ import annotations

import asyncio
from typing import Any

from accord.testing.faults.agent_june import PlainJune
from accord.testing.faults.fault import breaks
from accord.testing.faults.plain_june import Batch

__all__: list[str] = []

INVALID_REQUEST = -32600


@breaks("ACP-BATCH-201", "v2_june")
class EmptyBatchIsAnswered(PlainJune):
    """Answers nothing with nothing."""

    async def take_array(self, messages: list[Any]) -> None:
        """A batch."""
        if messages:
            await super().take_array(messages)
        else:
            self.refuse(None, -32603, "Internal error")


@breaks("ACP-BATCH-202", "v2_june")
class NotificationsAreAnswered(PlainJune):
    """Answers a batch also when there is nothing to answer."""

    async def take_array(self, messages: list[Any]) -> None:
        """A batch."""
        if messages and all(isinstance(message, dict) and "id" not in message for message in messages):
            self.say([{"jsonrpc": "2.0", "id": None, "error": {"code": INVALID_REQUEST, "message": "Nothing to do"}}])
        await super().take_array(messages)


@breaks("ACP-BATCH-203", "v2_june")
class OneBadEntrySpoilsAll(PlainJune):
    """Refuses a batch for one bad entry."""

    async def take_array(self, messages: list[Any]) -> None:
        """A batch."""
        if all(isinstance(message, dict) and "jsonrpc" in message for message in messages):
            await super().take_array(messages)
        else:
            self.refuse(None, INVALID_REQUEST, "Invalid request")


@breaks("ACP-BATCH-204", "v2_june")
class AnswersOneByOne(PlainJune):
    """Answers a batch in many lines."""

    def answer_batch(self, batch: Batch) -> None:
        """A line for each."""
        for reply in batch.replies:
            self.say(reply)


@breaks("ACP-BATCH-205", "v2_june")
class AnswersByPlace(PlainJune):
    """Answers the entries of a batch with their numbers."""

    def answer_batch(self, batch: Batch) -> None:
        """One array; alone or behind an error the numbers would be noticed."""
        ids = [reply["id"] for reply in batch.replies]
        if len(ids) == len(["one", "two", "three"]) and None not in ids:
            batch.replies = [{**reply, "id": f"entry {place}"} for place, reply in enumerate(batch.replies)]
        super().answer_batch(batch)


# --- what is only recorded


@breaks("ACP-BATCH-206", "v2_june", note="work, quick")
class OneAfterTheOther(PlainJune):
    """Works on the entries of a batch one by one."""

    async def work_on_batch(self, messages: list[Any]) -> None:
        """All of them."""
        lock = asyncio.Lock()
        take = self.take_entry

        async def take_in_turn(message: Any) -> None:
            async with lock:
                await take(message)

        self.take_entry = take_in_turn  # type: ignore[method-assign]
        await super().work_on_batch(messages)


@breaks("ACP-BATCH-207", "v2_june", note="arrays")
class SpeaksInBatches(PlainJune):
    """Says in an array what the user said."""

    def notify(self, method: str, params: Any) -> None:
        """A notification."""
        notification = {"jsonrpc": "2.0", "method": method, "params": params}
        is_echo = method == "session/update" and params["update"]["sessionUpdate"] == "user_message"
        self.say([notification] if is_echo else notification)


@breaks("ACP-BATCH-208", "v2_june", note="-32600")
class NoHandshakeInABatch(PlainJune):
    """Shakes no hands in a crowd."""

    async def take_entry(self, message: Any) -> None:
        """One entry of a batch."""
        if isinstance(message, dict) and message.get("method") == "initialize":
            self.refuse(message.get("id"), INVALID_REQUEST, "Invalid request")
        else:
            await super().take_entry(message)


@breaks("ACP-INFO-BATCH-201", "v2_june", note="ignored")
class SilentAboutBrokenBatches(PlainJune):
    """Ignores an array that is broken off."""

    async def take_broken(self, line: bytes) -> None:
        """A line that is no JSON."""
        if not line.startswith(b"["):
            await super().take_broken(line)


@breaks("ACP-INFO-INVALIDREQ-001", "v2_june", note="silence")
class SilentAboutStrangeJson(PlainJune):
    """Ignores JSON that is no message, unless it is part of a batch."""

    async def take_strange(self, message: Any) -> None:
        """JSON that is no message."""
        if self.is_in_batch():
            await super().take_strange(message)


@breaks("ACP-INFO-BATCH-202", "v2_june", note="an array of 2")
class NoAnswersInABatch(PlainJune):
    """Refuses answers that come with calls."""

    async def take_entry(self, message: Any) -> None:
        """One entry of a batch."""
        if isinstance(message, dict) and "result" in message:
            await self.take_strange(message)
        else:
            await super().take_entry(message)
