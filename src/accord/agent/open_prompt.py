"""A prompt of the client from its arrival to its answer, for the request that waits and the turn that gives it."""

from __future__ import annotations

import asyncio
import contextlib

from accord.agent.request_errors import store_error
from accord.agent.session import new_id
from accord.errors import AccordError, StoreError
from accord.session.client_requests import Prompt, PromptAnswered

__all__ = ["EarlyPrompt", "OpenPrompt"]


class EarlyPrompt:
    """A prompt whose session was not open when it arrived; the session may be opening."""

    __slots__ = ("is_dropped", "request")

    def __init__(self, request: Prompt) -> None:
        self.request = request
        self.is_dropped = False
        """Whether a cancel of its session came behind it."""


class OpenPrompt:
    """A prompt from its arrival to its answer; compared by identity."""

    def __init__(self, request: Prompt) -> None:
        self.request = request
        self.message_id = new_id("message")
        self.request_id: str | int | None = None
        self._answer: PromptAnswered | Exception | None = None
        self._after: asyncio.Future[None] | None = None
        self._waiter: asyncio.Future[None] | None = None
        """Of the one that waits for the answer. Not the answer itself, which a cancelled waiter would take with it."""

    def answer(self, answer: PromptAnswered | Exception, after: asyncio.Future[None] | None = None) -> None:
        """Answer it, also with an error, when `after` is done: earlier events are sent before the answer."""
        if self._answer is None:
            self._answer, self._after = answer, after
            if self._waiter is not None and not self._waiter.done():
                self._waiter.set_result(None)

    async def answered(self) -> PromptAnswered:
        """Wait for the answer; may be called again by the same task, where it was cancelled.

        Raises:
            RequestError: The answer is an error, or an earlier event could not be committed.
        """
        if self._answer is None:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        answer = self._answer
        if isinstance(answer, Exception):
            with contextlib.suppress(AccordError):
                await self._settled()
            raise answer
        assert answer is not None  # noqa: S101 - the waiter is woken by an answer alone
        try:
            await self._settled()
        except StoreError as error:
            raise store_error(error, self.request.session_id) from error
        return answer

    async def _settled(self) -> None:
        if self._after is not None:
            if self._after.done():
                self._after.result()
            else:
                await asyncio.shield(self._after)
