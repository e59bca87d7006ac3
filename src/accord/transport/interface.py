"""Knows what every way of moving texts can do, whatever it runs over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Callable

    from accord.transport.burst import Burst
    from accord.wire.piece import Piece

__all__ = [
    "DeliveringTransport",
    "DrainingTransport",
    "HangUpTransport",
    "PostingTransport",
    "QueueingTransport",
    "Transport",
]


@runtime_checkable
class Transport(Protocol):
    """One end of a link that carries whole texts, in order, both ways.

    A text is one JSON document as bytes, without a newline. `accord.transport.check_transport` proves that an
    implementation keeps what is promised here.
    """

    async def send(self, text: bytes | bytearray) -> None:
        """Send one text, behind all that were sent before it.

        Where several tasks have to wait, they are served in the order in which they came; one that was just served may
        say a little more before the next.

        Suspends while the peer does not read, and otherwise now and then for one turn of the loop. A sender
        that is cancelled has sent all of its text or nothing: frames are never torn. The text belongs to the
        transport from now on: a large one is not copied.

        Raises:
            ConnectionLost: The link is gone, or this end was closed.
        """
        ...

    async def receive(self) -> bytes | None:
        """The next text, or None when the stream has ended and after `close`.

        For one receiver at a time. While nobody receives, hardly anything is read: the peer feels it.

        Raises:
            ConnectionLost: The link broke.
            FrameError: What the peer sends cannot be read any further.
        """
        ...

    async def close(self) -> None:
        """End the link; what was sent is still written out, for a bounded time.

        A pending `receive` returns None, a pending `send` raises `ConnectionLost`. May be called again, and
        returns when the link is gone.
        """
        ...


@runtime_checkable
class ProcessTransport(Transport, Protocol):
    """A transport to a program that was started for it. Made by `spawn`."""

    @property
    def pid(self) -> int:
        """The id of the process."""

    @property
    def exit_status(self) -> int | None:
        """The exit status of the process, negative for a signal; None while it runs."""

    @property
    def stderr_tail(self) -> str:
        """The end of what the program wrote to stderr."""


@runtime_checkable
class DeliveringTransport(Transport, Protocol):
    """A transport that can also hand texts over in the instant they are read, without a turn of the loop in between."""

    async def deliver(self, take: Callable[[Piece], bool]) -> bool:
        """Call `take` with each piece that was read, until it returns False; then return True.

        What it leaves stays for the next `deliver` or `receive`. Returns False when the stream has ended and after
        `close`. What `take` raises is raised here.

        Raises:
            ConnectionLost: The link broke.
            FrameError: What the peer sends cannot be read any further.
        """
        ...


@runtime_checkable
class QueueingTransport(Transport, Protocol):
    """A transport that can also take a text from somebody who cannot wait."""

    def queue(self, text: bytes | bytearray) -> Future[bool] | None:
        """Send one text behind all that were sent before it and before all that are sent after it, and return at once.

        For few and small texts: a bound does not hold them. What is returned is done when there was room for the text,
        False if there never will be; None if there is nothing to wait for, also because the link is gone.
        """
        ...


@runtime_checkable
class DrainingTransport(Transport, Protocol):
    """A transport that can also say when what it holds of large texts is written."""

    async def drain(self) -> None:
        """Wait while it holds more than it would take at once from several senders; returns at once after `close`.

        `send` takes a text of any size where it holds no other: its sender does not have to wait for the peer to read
        it, but one who counts bytes has to.
        """
        ...


@runtime_checkable
class HangUpTransport(Transport, Protocol):
    """A transport that can also say that its peer is gone while nobody receives."""

    def hung_up(self) -> bool:
        """Whether nothing more can come than what is on its way already; False where that is not known."""
        ...


@runtime_checkable
class PostingTransport(Transport, Protocol):
    """A transport that can also take a text without a coroutine, where there is nothing to wait for."""

    def post(self, text: bytes | bytearray) -> bool:
        """Send one text as `send` would, if that would not suspend; False if `send` has to do it.

        Now and then it is False for no other reason than that the loop needs a turn.
        """
        ...

    def post_lines(self, lines: bytes) -> bool:
        """`post` for several texts, with a newline between each two: all of them, or none and False."""
        ...

    @property
    def burst(self) -> Burst:
        """What is about to leave, for whoever writes texts in place; the same one as long as the transport lives."""
        ...
