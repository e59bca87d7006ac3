"""A client by hand for every edition, in small steps that can be overridden; it offers nothing.

It has no help from the rest of Accord: what is judged must not share its mistakes with the judge.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable
from typing import Any

from tests.check.faults.reference.raw import CANCELLED, INVALID_PARAMS, NOT_FOUND, RawPeer, Refused

__all__ = ["Choked", "PlainClient", "PlainClientJune", "PlainClientV1", "PlainClientV2", "title_of"]


class Choked(Exception):
    """A client that could not take what it was told, and ended."""


def title_of(params: dict[str, Any]) -> str:
    """What a question for permission is called."""
    tool = params.get("toolCall")
    return str(params.get("title") or (tool.get("title") if isinstance(tool, dict) else ""))


class PlainClient(RawPeer):
    """Shakes hands, opens a session, prompts twice, and ends; JSON-RPC is the same on both sides."""

    version = 1
    fields = ("clientCapabilities", "clientInfo")
    """What its capabilities and its name are called in the handshake."""
    in_background = frozenset({"session/request_permission", "elicitation/create"})
    choker = b""
    """What it cannot take in a line; nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.session = ""
        self.folder = tempfile.gettempdir()
        self.idle = asyncio.Event()
        self._batch: list[Any] | None = None

    # --- its life

    async def serve(self, lines: AsyncIterator[bytes], write: Callable[[bytes], None]) -> None:
        """Live until all was said, or the agent has ended."""
        self._write = write
        driving = asyncio.ensure_future(self.drive())
        reading = asyncio.ensure_future(super().serve(lines, write))
        try:
            done, _ = await asyncio.wait([driving, reading], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            driving.cancel()
            reading.cancel()
            await asyncio.gather(driving, reading, return_exceptions=True)
            await self.at_end()

    async def drive(self) -> None:
        """All that it does by itself."""
        answer = await self.ask("initialize", self.introduction())
        if not self.is_spoken(answer):
            return
        answer = await self.ask("session/new", self.opening())
        self.session = answer["result"]["sessionId"]
        await self.before_prompt()
        await self.prompt("Hello")
        await self.prompt("Something that I shall cancel")
        await self.at_last()

    def introduction(self) -> dict[str, Any]:
        capabilities, info = self.fields
        return {"protocolVersion": self.version, capabilities: self.offers(), info: self.info()}

    def info(self) -> dict[str, Any]:
        return {"name": "by-hand", "version": "1.0"}

    def offers(self) -> Any:
        return {}

    def is_spoken(self, answer: dict[str, Any]) -> bool:
        """Whether it can go on with what the agent answered."""
        return bool(answer.get("result", {}).get("protocolVersion") == self.version)

    def opening(self) -> dict[str, Any]:
        return {"cwd": self.folder, "mcpServers": []}

    async def before_prompt(self) -> None:
        """What it does when its session is open."""

    async def at_last(self) -> None:
        """What it does at the very end."""

    async def prompt(self, words: str) -> None:
        """One turn, up to its end."""
        await self.ask("session/prompt", self.prompting(words))

    def prompting(self, words: str) -> dict[str, Any]:
        return {"sessionId": self.session, "prompt": [{"type": "text", "text": words}]}

    # --- what it is told

    async def take(self, line: bytes) -> None:
        if self.is_too_much(line):
            raise Choked(line[:80])
        await super().take(line)

    def is_too_much(self, line: bytes) -> bool:
        """Whether it ends at this line."""
        return bool(self.choker) and self.choker in line

    async def take_notification(self, method: str, params: Any) -> None:
        """A notification; what makes no sense is passed over."""
        await super().take_notification(method, params if isinstance(params, dict) else {})

    async def take_cancel_request(self, request_id: Any) -> None:
        task = self.open_requests.get(request_id)
        if task is not None and not task.done():
            task.cancel()
            self.refuse(request_id, CANCELLED, "Request cancelled")

    # --- what it is asked

    async def on_session_request_permission(self, params: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(params.get("options"), list):
            raise Refused(INVALID_PARAMS, "Invalid params")
        if params.get("sessionId") != self.session:
            raise Refused(NOT_FOUND, "There is no such session")
        title = title_of(params)
        if "please cancel" in title:
            return {"outcome": self.when_cancelling()}
        if "taken back" in title:
            await asyncio.Event().wait()
        return {"outcome": self.decide(title)}

    def decide(self, _title: str) -> Any:
        return {"outcome": "selected", "optionId": "yes"}

    def when_cancelling(self) -> dict[str, Any]:
        """Cancel the turn; gives the outcome of the question that is open."""
        self.notify("session/cancel", {"sessionId": self.session})
        return {"outcome": "cancelled"}

    async def on_elicitation_create(self, _params: dict[str, Any]) -> dict[str, Any]:
        """A question with a form or an address, which it did not offer."""
        raise Refused(INVALID_PARAMS, "That mode was not offered")


class PlainClientV1(PlainClient):
    """In v1."""


class PlainClientJune(PlainClient):
    """In the v2 of June: the same turns, and batches."""

    version = 2
    fields = ("capabilities", "clientInfo")

    async def take_array(self, messages: list[Any]) -> None:
        """A batch: what it answers is one array too."""
        self._batch = []
        for message in messages:
            await self.take_json(message)
        answers, self._batch = self._batch, None
        if answers:
            self.say(answers)

    def say(self, message: Any) -> None:
        """One message, or a part of the batch that is being answered."""
        if self._batch is None:
            super().say(message)
        else:
            self._batch.append(message)


class PlainClientV2(PlainClient):
    """In v2: the answer to a prompt is a receipt, the end of the work is a state."""

    version = 2
    fields = ("capabilities", "info")

    async def on_session_update(self, params: dict[str, Any]) -> None:
        """An update: only the end of the work means something to it."""
        update = params.get("update")
        if isinstance(update, dict) and update.get("sessionUpdate") == "state_update" and update.get("state") == "idle":
            self.idle.set()

    async def prompt(self, words: str) -> None:
        self.idle.clear()
        await super().prompt(words)
        await self.idle.wait()
