"""Every model but the built-in one: reached through pydantic-ai, and asked again where that is safe.

`accord.coder.gateway` imports pydantic-ai, which takes seconds and brings an HTTP client along. So it is imported in a
thread, when a session is opened that will use it (`prepare`), and not when the agent is started.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Self

from accord.coder.daemon_thread import in_thread
from accord.coder.model import Delta, ModelBusy, ModelError, ModelMissing, ModelRequest, ModelUnreachable, Retrying
from accord.version import install_line

if TYPE_CHECKING:
    from accord.coder.gateway import Gateway

ATTEMPTS = 4
FIRST_PAUSE_SECONDS = 1.0
# A longer wait is reported to the user instead.
MAX_PAUSE_SECONDS = 30.0
# For models whose context size is not known.
CONTEXT_TOKENS = 128_000


class ProviderModel:
    """A model by its name, `PROVIDER:NAME`; with a `base_url` any service that speaks as OpenAI's chat does."""

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        context_tokens: int | None = None,
        first_pause_seconds: float = FIRST_PAUSE_SECONDS,
    ) -> None:
        self._name = name
        self._base_url = base_url
        self._api_key = api_key
        self._context_tokens = context_tokens
        self._first_pause_seconds = first_pause_seconds
        self._gateway: Gateway | None = None
        self._opening = asyncio.Lock()

    @property
    def name(self) -> str:
        """As the user chose it."""
        return self._name

    @property
    def context_tokens(self) -> int:
        """How many tokens fit into it: as it was set, else as the provider's library knows it, else a default."""
        known = None if self._gateway is None else self._gateway.context_tokens
        return self._context_tokens or known or CONTEXT_TOKENS

    async def prepare(self) -> None:
        """Load its packages before the first request; a failure is reported by that request."""
        with contextlib.suppress(ModelError):
            await self._open()

    async def __aenter__(self) -> Self:
        gateway = await self._open()
        await gateway.enter()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._gateway is not None:
            await self._gateway.leave()

    async def _open(self) -> Gateway:
        async with self._opening:
            if self._gateway is not None:
                return self._gateway
            try:
                module = await in_thread(import_module, "accord.coder.gateway")
            except ImportError as error:
                raise ModelMissing(
                    f"The model {self._name} needs a package that is missing ({error.name or error}); "
                    f"type {install_line('agent')}"
                ) from error
            opened: Gateway = await in_thread(module.Gateway, self._name, self._base_url, self._api_key)
            self._gateway = opened
            return opened

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """The answer. A request that fails before anything of it came is sent again, after a pause."""
        gateway = await self._open()
        for attempt in range(1, ATTEMPTS + 1):
            has_begun = False
            try:
                async with aclosing(gateway.stream(request)) as deltas:
                    async for delta in deltas:
                        has_begun = True
                        yield delta
            except ModelError as error:
                pause = self._pause(error, attempt)
                if has_begun or pause is None:
                    raise
                # Before the advice; names of models have colons too, but no space behind them.
                reason = str(error).partition(": ")[0]
            else:
                return
            yield Retrying(reason, pause)
            await asyncio.sleep(pause)

    def _pause(self, error: ModelError, attempt: int) -> float | None:
        """How long to wait before the next try; None where there is to be none."""
        if attempt == ATTEMPTS or not isinstance(error, ModelBusy | ModelUnreachable):
            return None
        named = error.retry_after if isinstance(error, ModelBusy) else None
        pause: float = self._first_pause_seconds * 2 ** (attempt - 1) * random.uniform(1, 1.25)  # noqa: S311 - no secret
        if named is None:
            return min(pause, MAX_PAUSE_SECONDS)
        return named if named <= MAX_PAUSE_SECONDS else None
