"""Agents that speak the dialect of simse's page: their transport in v1's words.

What is said instead of what is `accord.session.dialect_simse`'s knowledge; order, pressure and time are ours.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

from accord.client.agent import ConnectedAgent
from accord.client.simse_tools import Tool, ToolBench
from accord.errors import LocalProtocolError, TransportError
from accord.protocol.codec import encode, parse_json
from accord.session.dialect_simse import TOOL_METHOD, Translator
from accord.transport.interface import Transport

__all__ = ["Simse", "SimseTransport"]

INITIALIZE_SECONDS = 30.0
# How much of the time for its start an agent may be silent before that is its answer. The rest is for its program to
# start, which takes from the same time.
SILENCE = 0.8
# How many answers may wait for an agent that does not read before it is not read any more.
MAX_UNSAID = 64


class SimseTransport:
    """A `Transport` to a client that speaks v1, over one to an agent that speaks the page.

    Whatever is not the page's business passes as it came, byte for byte. An agent that does not answer `initialize`
    within `initialize_seconds` is taken for one that does not know it.
    """

    def __init__(self, link: Transport, tools: Collection[str] = (), initialize_seconds: float | None = None) -> None:
        self._link = link
        self._translator = Translator(tools)
        self._initialize_seconds = INITIALIZE_SECONDS if initialize_seconds is None else initialize_seconds
        self._silence: asyncio.TimerHandle | None = None
        self._heard: deque[bytes] = deque()
        self._reading: asyncio.Task[bytes | None] | None = None
        self._news: asyncio.Future[None] | None = None
        self._unsaid: deque[bytes] = deque()
        """Answers of our own, which nobody who sends waits for."""
        self._writing: asyncio.Task[None] | None = None
        self._all_said = asyncio.Event()
        self._all_said.set()
        self._in_turn = asyncio.Lock()
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The number of the agent's process, where it is one."""
        return getattr(self._link, "pid", None)

    @property
    def exit_status(self) -> int | None:
        """How the agent's process ended, if it did."""
        return getattr(self._link, "exit_status", None)

    @property
    def stderr_tail(self) -> str:
        """The end of what the agent wrote to stderr."""
        return getattr(self._link, "stderr_tail", "")

    async def send(self, text: bytes | bytearray) -> None:
        """Send what the agent understands instead of one text of the client, behind all that was said before."""
        message = _read(bytes(text))
        if message is None:
            to_agent = [bytes(text)]
        else:
            steps = self._translator.say(message)
            self._put(_write(each) for each in steps.to_client)
            to_agent = [bytes(text) if each is message else _write(each) for each in steps.to_agent]
            self._expect_an_introduction()
        first, rest = to_agent[:1], to_agent[1:]
        try:
            async with self._in_turn:
                await self._all_said.wait()
                for each in first:
                    await self._link.send(each)
        finally:
            # Also for a sender that is cancelled: somebody at the other end waits for them.
            self._say(rest)

    async def receive(self) -> bytes | None:
        """The next text that the client understands."""
        if self._news is not None:
            raise RuntimeError("somebody else is receiving from this transport")
        while not self._closed:
            if self._heard:
                return self._heard.popleft()
            if len(self._unsaid) < MAX_UNSAID:
                reading = self._read_on()
                if reading.done():
                    self._reading = None
                    text = reading.result()
                    if text is None:
                        break
                    self._hear(text)
                    continue
            self._news = asyncio.get_running_loop().create_future()
            try:
                await self._news
            finally:
                self._news = None
        return None

    async def close(self) -> None:
        """End the link below."""
        self._closed = True
        if self._silence is not None:
            self._silence.cancel()
        self._wake()
        await self._link.close()

    # --- what comes

    def _read_on(self) -> asyncio.Task[bytes | None]:
        if self._reading is None:
            self._reading = asyncio.get_running_loop().create_task(self._link.receive())
            self._reading.add_done_callback(self._read_one)
        return self._reading

    def _read_one(self, reading: asyncio.Task[bytes | None]) -> None:
        if not reading.cancelled():
            reading.exception()  # looked at, also if nobody receives any more
        self._wake()

    def _hear(self, text: bytes) -> None:
        message = _read(text)
        if message is None:
            self._heard.append(text)
            return
        try:
            steps = self._translator.hear(message)
            self._heard.extend([text if each is message else _write(each) for each in steps.to_client])
            self._say([_write(each) for each in steps.to_agent])
        except (LocalProtocolError, RecursionError):
            # It can be read and not be written again, being nested so deeply: for the connection to judge.
            self._heard.append(text)
        if self._silence is not None and not self._translator.awaits_initialize:
            self._silence.cancel()
            self._silence = None

    def _put(self, texts: Iterable[bytes]) -> None:
        self._heard.extend(texts)
        self._wake()

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    # --- what we say ourselves

    def _say(self, texts: Iterable[bytes]) -> None:
        if self._closed:
            return
        self._unsaid.extend(texts)
        if self._unsaid and self._writing is None:
            self._all_said.clear()
            # Not by whoever receives: an agent that writes before it reads would wait for us, and we for it.
            self._writing = asyncio.get_running_loop().create_task(self._write_all())

    async def _write_all(self) -> None:
        try:
            with contextlib.suppress(TransportError):  # whoever receives hears of it
                while self._unsaid:
                    await self._link.send(self._unsaid[0])
                    self._unsaid.popleft()
        finally:
            self._unsaid.clear()
            self._writing = None
            self._all_said.set()
            self._wake()

    def _expect_an_introduction(self) -> None:
        if self._silence is None and self._translator.awaits_initialize:
            loop = asyncio.get_running_loop()
            self._silence = loop.call_later(self._initialize_seconds, self._take_silence)

    def _take_silence(self) -> None:
        self._silence = None
        self._put(_write(each) for each in self._translator.take_silence().to_client)


class Simse:
    """The dialect as `accord.connect` wires it: around every new link to the agent, and with the user's tools.

    Raises:
        LocalProtocolError: A tool that cannot be called, or an edition that is not v1.
    """

    edition: Literal["1"] = "1"
    """The page is a reading of v1."""

    def __init__(
        self, tools: Mapping[str, Tool], *, edition: str, start_seconds: float | None, tool_seconds: float | None
    ) -> None:
        if edition not in ("auto", "1"):
            raise LocalProtocolError("the dialect of simse is one of v1", field="edition", expected="auto or 1")
        for name, tool in tools.items():
            if not callable(tool):
                raise LocalProtocolError(f"{name!r} is no tool", field="tools", expected="functions by name")
        self._tools = dict(tools)
        self._tool_seconds = tool_seconds
        self._initialize_seconds = None if start_seconds is None else start_seconds * SILENCE

    def wrap(self, link: Transport) -> SimseTransport:
        """A new link to the agent in v1's words; what held on the one before is forgotten."""
        return SimseTransport(link, self._tools, self._initialize_seconds)

    def serve(self, agent: ConnectedAgent) -> None:
        """Run tools for an agent."""
        agent.on_request(TOOL_METHOD, ToolBench(self._tools, self._tool_seconds, agent.session).run)


def _read(text: bytes) -> dict[str, Any] | None:
    try:
        message = parse_json(text)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def _write(message: dict[str, Any]) -> bytes:
    return encode(message)
