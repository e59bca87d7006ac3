"""The terminals of a client by hand: real commands, in small steps that can be overridden."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from typing import Any

__all__ = ["Terminal", "decode"]

_READ_BYTES = 64 * 1024
_CONTINUES = range(0x80, 0xC0)
"""The bytes of UTF-8 that begin no character."""


def decode(output: bytes) -> str:
    """Bytes of an output that may begin in the middle of a character: without what is left of it."""
    while output and output[0] in _CONTINUES:
        output = output[1:]
    return output.decode(errors="replace")


class Terminal:
    """One command and what it wrote."""

    def __init__(self, process: asyncio.subprocess.Process, limit: int | None) -> None:
        self.process = process
        self.limit = limit
        self.output = b""
        self.is_cut = False
        self.is_released = asyncio.Event()
        self._reading = asyncio.ensure_future(self._read())

    @classmethod
    async def start(cls, params: dict[str, Any], env: dict[str, str]) -> Terminal:
        process = await asyncio.create_subprocess_exec(
            params["command"],
            *params.get("args", ()),
            cwd=params.get("cwd"),
            env={**os.environ, **env},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        return cls(process, params.get("outputByteLimit"))

    async def _read(self) -> None:
        if self.process.stdout is None:
            return
        while data := await self.process.stdout.read(_READ_BYTES):
            self.output += data
            self.cut()
        await self.process.wait()

    def cut(self) -> None:
        if self.limit is not None and len(self.output) > self.limit:
            self.output = self.output[len(self.output) - self.limit :]
            self.is_cut = True

    @property
    def status(self) -> dict[str, Any] | None:
        """How it ended; None while it runs."""
        code = self.process.returncode
        if code is None or not self._reading.done():
            return None
        if code < 0:
            return {"exitCode": None, "signal": signal.Signals(-code).name}
        return {"exitCode": code, "signal": None}

    async def ended(self) -> None:
        """Wait until it has ended, or was released."""
        released = asyncio.ensure_future(self.is_released.wait())
        try:
            await asyncio.wait([self._reading, released], return_when=asyncio.FIRST_COMPLETED)
        finally:
            released.cancel()

    def kill(self) -> None:
        """End it with all that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    async def close(self) -> None:
        self.kill()
        await asyncio.wait([self._reading])
