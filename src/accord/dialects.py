"""The extension point for dialects: peers that speak something close to ACP, and the plug-ins that translate for them.

A plug-in wraps the transport of a connection, so that everything above it speaks an edition of ACP. It may use
`TranslatedTransport`, which translates messages one at a time, with a `Translator` that does no I/O. `docs/dialects.md`
shows how to write one, with `accord.simse` as its example. The dialects of the editions themselves are not plug-ins;
they are in `accord.session`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

from accord.errors import LocalProtocolError, TransportError
from accord.json_values import JsonValue
from accord.protocol.codec import encode, parse_json
from accord.transport.interface import Transport

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

__all__ = [
    "DialectPlugin",
    "Json",
    "TranslatedTransport",
    "Translation",
    "Translator",
    "dialect_names",
    "load_dialect",
]


class DialectPlugin:
    """A dialect of ACP for either side of a connection; subclass it and override the hooks of the sides it serves.

    A client speaks it by `accord.connect(...).use_dialect(plugin)`, an agent serves clients of it by
    `Agent.use_dialect(plugin)`, and an entry of `acp.json` names it where it is registered as an entry point of the
    group `accord.dialects`. One object may serve many connections: the state of a connection belongs to its transport.
    """

    name: ClassVar[str]
    """Its name in a config and in messages."""
    edition: ClassVar[Literal["1", "2", "2-june"]] = "1"
    """The edition that is spoken above the plug-in: a client insists on it."""

    def link_to_agent(self, link: Transport, *, start_seconds: float | None) -> Transport:  # noqa: ARG002 - subclasses do
        """The client's side: a transport that speaks `edition`, over a new `link` to an agent of the dialect.

        Called again for every new process of the agent. `start_seconds` is how long the agent may take to answer
        `initialize`; None means without a limit.

        Raises:
            LocalProtocolError: This dialect has no such side.
        """
        raise LocalProtocolError(f"no client of ours speaks the dialect {self.name}", field="dialect")

    def agent_requests(self) -> Mapping[str, Callable[[JsonValue], JsonValue]]:
        """The client's side: handlers of the extension requests (`_name`) that `link_to_agent` makes of messages.

        A handler gets the params as plain JSON and gives the result, or something to await that gives it. While it
        runs, the deadlines of the session that the params name (`sessionId`) rest.
        """
        return {}

    def link_to_client(self, link: Transport) -> Transport:  # noqa: ARG002 - subclasses do
        """The agent's side: a transport that speaks `edition`, over a new `link` to any client.

        The client may speak the dialect or plain ACP; messages of plain ACP must pass unchanged.

        Raises:
            LocalProtocolError: This dialect has no such side.
        """
        raise LocalProtocolError(f"no agent of ours serves the dialect {self.name}", field="dialect")


GROUP = "accord.dialects"


def dialect_names() -> tuple[str, ...]:
    """The names of all installed plug-ins; none of them is imported."""
    return tuple(sorted(_installed().names))


def load_dialect(name: str) -> DialectPlugin:
    """The plug-in of a name, imported and called without arguments.

    Raises:
        LocalProtocolError: No installed package has it, or what it has is no plug-in.
    """
    known = dialect_names()
    if name not in known:
        raise LocalProtocolError(
            f"no dialect {name!r} is installed", field="dialect", expected=f"one of {', '.join(known)}"
        )
    plugin = _installed()[name].load()()
    if not isinstance(plugin, DialectPlugin):
        expected = "a class or a function that gives an accord.DialectPlugin"
        raise LocalProtocolError(f"the entry point {name!r} of {GROUP} gives none", field="dialect", expected=expected)
    return plugin


def _installed() -> EntryPoints:
    from importlib.metadata import entry_points  # noqa: PLC0415 - every agent imports this module at its start

    return entry_points(group=GROUP)


log = logging.getLogger("accord.dialects")

# So many messages of the translator may wait for a peer that does not read; beyond that the peer is not read either.
MAX_UNSENT = 64

Json: TypeAlias = dict[str, Any]
"""One message as plain JSON."""


class Translation(NamedTuple):
    """The messages that replace one message, in this order each way. A message that needs no change is the same object.

    `to_peer` goes out over the link, `to_us` to the connection above.
    """

    to_peer: list[Json]
    to_us: list[Json]


class Translator(Protocol):
    """The state of one connection of a dialect. It gets any JSON object; if it raises, the message passes unchanged."""

    def outgoing(self, message: Json) -> Translation:
        """The messages that replace one message of ours."""
        ...

    def incoming(self, message: Json) -> Translation:
        """The messages that replace one message of the peer."""
        ...


class TranslatedTransport:
    """A `Transport` that speaks an edition of ACP, over a `link` to a peer that speaks a dialect of it.

    A text that is no JSON object, or that the translator does not change, passes byte for byte. A message that the
    translator sends in answer to an incoming one is written by a task of its own; while `MAX_UNSENT` of them wait for
    the peer, nothing more is read from it.
    """

    def __init__(self, link: Transport, translator: Translator) -> None:
        self._link = link
        self._translator = translator
        self._unread: deque[bytes] = deque()
        """Messages of the peer that are not translated yet."""
        self._received: list[bytes] = []
        self._reading: asyncio.Task[list[bytes]] | None = None
        self._news: asyncio.Future[None] | None = None
        self._unsent: deque[bytes] = deque()
        """Messages that the translator itself sends, without a waiting sender."""
        self._writing: asyncio.Task[None] | None = None
        self._all_sent = asyncio.Event()
        self._all_sent.set()
        self._in_order = asyncio.Lock()
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The number of the peer's process, where it is one."""
        return getattr(self._link, "pid", None)

    @property
    def exit_status(self) -> int | None:
        """The exit status of the peer's process, if it has ended."""
        return getattr(self._link, "exit_status", None)

    @property
    def stderr_tail(self) -> str:
        """The end of what the peer's process wrote to stderr."""
        return getattr(self._link, "stderr_tail", "")

    async def send(self, text: bytes | bytearray) -> None:
        """Send the translation of one text, behind everything that was sent before."""
        text = bytes(text)
        to_peer, to_us = _translated(text, self._translator.outgoing) or ([text], [])
        self._received.extend(to_us)
        self._wake()
        try:
            async with self._in_order:
                await self._all_sent.wait()
                for each in to_peer[:1]:
                    await self._link.send(each)
        finally:
            # Also for a sender that is cancelled: the peer waits for them.
            self._send_soon(to_peer[1:])

    def try_send(self, texts: Sequence[bytes | bytearray]) -> bool:  # noqa: ARG002
        """Always False: one message may become several, and for those there may be no room."""
        return False

    async def receive(self) -> list[bytes]:
        if self._news is not None:
            raise RuntimeError("another task is receiving from this transport")
        while not self._closed:
            while self._unread and len(self._unsent) < MAX_UNSENT:
                self._take(self._unread.popleft())
            if self._received:
                texts, self._received = self._received, []
                return texts
            if len(self._unsent) < MAX_UNSENT:
                reading = self._read_on()
                if reading.done():
                    self._reading = None
                    texts = reading.result()
                    if not texts:
                        break
                    self._unread.extend(texts)
                    continue
            self._news = asyncio.get_running_loop().create_future()
            try:
                await self._news
            finally:
                self._news = None
        return []

    @property
    def hung_up(self) -> bool:
        return self._link.hung_up

    async def close(self) -> None:
        self._closed = True
        self._wake()
        await self._link.close()

    def inject(self, messages: Iterable[Json]) -> None:
        """Let the connection above receive messages that no incoming text brought."""
        self._received.extend([encode(each) for each in messages])
        self._wake()

    # --- receiving

    def _read_on(self) -> asyncio.Task[list[bytes]]:
        if self._reading is None:
            self._reading = asyncio.get_running_loop().create_task(self._link.receive())
            self._reading.add_done_callback(self._read_one)
        return self._reading

    def _read_one(self, reading: asyncio.Task[list[bytes]]) -> None:
        if not reading.cancelled():
            reading.exception()  # retrieved, also if `receive` is not called again
        self._wake()

    def _take(self, text: bytes) -> None:
        to_peer, to_us = _translated(text, self._translator.incoming) or ([], [text])
        self._received.extend(to_us)
        self._send_soon(to_peer)

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    # --- sending

    def _send_soon(self, texts: Iterable[bytes]) -> None:
        if self._closed:
            return
        self._unsent.extend(texts)
        if self._unsent and self._writing is None:
            self._all_sent.clear()
            # Not by the receiver: a peer that writes before it reads would wait for us, and we for it.
            self._writing = asyncio.get_running_loop().create_task(self._send_all())

    async def _send_all(self) -> None:
        try:
            with contextlib.suppress(TransportError):  # the receiver gets it too
                while self._unsent:
                    await self._link.send(self._unsent[0])
                    self._unsent.popleft()
        finally:
            self._unsent.clear()
            self._writing = None
            self._all_sent.set()
            self._wake()


def _translated(text: bytes, translate: Callable[[Json], Translation]) -> tuple[list[bytes], list[bytes]] | None:
    """The texts for the peer and for us; None for a text that passes as it is."""
    try:
        message = parse_json(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict):
        return None
    try:
        to_peer, to_us = ([text if each is message else encode(each) for each in way] for way in translate(message))
    except (LocalProtocolError, RecursionError):
        # Nested too deeply to be encoded again: the text passes unchanged, and its receiver judges it.
        return None
    except Exception:
        log.exception("a dialect's translator failed; the message passes as it is")
        return None
    return to_peer, to_us
