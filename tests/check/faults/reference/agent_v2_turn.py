"""The turns of a v2 agent by hand: prompts that get their place or wait for it, the work, its end, its questions."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

from tests.check.faults.reference.agent_v2_sessions import HeldPrompt, OpenSession, SessionsV2, wrong
from tests.check.faults.reference.raw import Refused

__all__ = ["TurnsV2"]

_BLOCK_FIELDS = {
    "text": ("text",),
    "resource_link": ("uri", "name"),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource": ("resource",),
}
_CAPABILITY_OF = {"image": "image", "audio": "audio", "resource": "embeddedContext"}


class TurnsV2(SessionsV2):
    """Repeats what it is told. With `__hang__` in a prompt it goes on until it is cancelled; `__fail__` breaks it."""

    # --- prompts

    async def take_request(self, message: dict[str, Any]) -> None:
        """A prompt is answered when it has its place in the conversation, which may be later."""
        if message["method"] != "session/prompt" or not self.is_id(message["id"]):
            await super().take_request(message)
            return
        try:
            self.check_order()
            self.take_prompt(message["id"], message.get("params"))
        except Refused as refused:
            self.refuse(message["id"], refused.code, refused.message, refused.data)

    def take_prompt(self, request: Any, params: Any) -> None:
        """It gets its place now, or waits for it in the order of arrival."""
        if not isinstance(params, dict):
            raise wrong("params", "an object")
        self.check_login()
        session = self.open_session(params)
        self.check_prompt(params.get("prompt"))
        self.place_prompt(session, HeldPrompt(request, params["prompt"]))

    def place_prompt(self, session: OpenSession, prompt: HeldPrompt) -> None:
        if session.work is None:
            self.begin(session, prompt)
        else:
            session.held.append(prompt)

    def check_prompt(self, blocks: Any) -> None:
        if not isinstance(blocks, list) or not blocks:
            raise wrong("prompt", "at least one block")
        for block in blocks:
            self.check_block(block)

    def check_block(self, block: Any) -> None:
        """Whether a block of a prompt is one that we can read."""
        kind = block.get("type") if isinstance(block, dict) else None
        if not isinstance(kind, str) or kind not in _BLOCK_FIELDS:
            raise wrong("prompt", "blocks of a known type")
        if kind in _CAPABILITY_OF and not self.has("prompt", _CAPABILITY_OF[kind]):
            raise wrong("prompt", "blocks of a type that was advertised")
        if any(not block.get(field) and block.get(field) != "" for field in _BLOCK_FIELDS[kind]):
            raise wrong("prompt", "whole blocks")

    # --- a turn

    def begin(self, session: OpenSession, prompt: HeldPrompt) -> None:
        """Give a prompt its place, and start the work."""
        self.tell_running(session)
        message_id = self.new_prompt_id()
        self.echo(session, message_id, prompt)
        self.receipt(prompt.request, message_id)
        session.work = asyncio.ensure_future(self.turn(session, prompt))
        session.work.add_done_callback(lambda work: self.end(session, work))

    def new_message_id(self) -> str:
        """An id that no message had before."""
        return f"message-{uuid.uuid4()}"

    def new_prompt_id(self) -> str:
        """The same for a message of the user."""
        return self.new_message_id()

    def echo(self, session: OpenSession, message_id: str, prompt: HeldPrompt) -> None:
        """Show the message of the user in its place."""
        self.tell(session, "user_message", messageId=message_id, content=prompt.blocks)

    def receipt(self, request: Any, message_id: str) -> None:
        self.answer(request, {"messageId": message_id})

    async def turn(self, session: OpenSession, prompt: HeldPrompt) -> str:
        """The work; gives the reason why it ended."""
        await self.reply(session, prompt)
        if "__fail__" in prompt.text:
            raise RuntimeError("this was asked for")
        if "__hang__" in prompt.text:
            await self.hang(session)
        return self.stop_reason()

    async def reply(self, session: OpenSession, prompt: HeldPrompt) -> None:
        """What is done for a prompt."""
        self.say_words(session, f"You said: {prompt.text}")

    def say_words(self, session: OpenSession, *words: str) -> None:
        """A message of ours in chunks."""
        message_id = self.new_message_id()
        for each in words:
            self.tell(session, "agent_message_chunk", messageId=message_id, content={"type": "text", "text": each})

    async def hang(self, _session: OpenSession) -> None:
        await asyncio.get_running_loop().create_future()

    def stop_reason(self) -> str:
        """Why a turn ends that nobody cancelled."""
        return "end_turn"

    # --- its end

    def end(self, session: OpenSession, work: asyncio.Task[str]) -> None:
        """The work is over: the rest is told, then that nothing is left to do; what waited begins."""
        session.work = None
        if self.is_over:
            return
        if work.cancelled():
            self.retire(session)
            self.tell_cancelled(session)
        elif work.exception():
            self.tell_failed(session)
        else:
            self.tell_idle(session, work.result())
        if session.held:
            self.begin(session, session.held.pop(0))

    def retire(self, session: OpenSession) -> None:
        """What was cut off is cancelled."""
        for id_ in session.unfinished:
            self.tell(session, "tool_call_update", toolCallId=id_, status="cancelled", capabilities=None)
        for terminal in session.terminals:
            self.tell_killed(session, terminal)
        session.unfinished.clear()
        session.terminals.clear()
        session.cancellable.clear()

    def tell_cancelled(self, session: OpenSession) -> None:
        """The end of a turn that was cancelled, by a cancellation or by closing."""
        self.tell_idle(session, "cancelled")

    def tell_failed(self, session: OpenSession) -> None:
        """The end of a turn that broke."""
        self.enter(session, "idle", stopReason="error", error={"code": -32603, "message": "Internal error"})

    def tell_running(self, session: OpenSession) -> None:
        self.enter(session, "running")

    def tell_idle(self, session: OpenSession, reason: str) -> None:
        """There is no work any more."""
        self.enter(session, "idle", stopReason=reason)

    def enter(self, session: OpenSession, state: str, **more: Any) -> None:
        session.state = state
        self.update(session.id, self.state_update(session, **more))

    # --- questions

    async def ask(self, method: str, params: Any) -> dict[str, Any]:
        """Ask the client; the question of a turn that is cancelled is taken back."""
        id_ = f"a{self._next_id + 1}"
        try:
            return await super().ask(method, params)
        except asyncio.CancelledError:
            if not self.is_over:
                self.take_back(id_)
            raise

    def take_back(self, request_id: Any) -> None:
        """A question does not matter any more."""
        self.notify("$/cancel_request", {"requestId": request_id})
