"""The interface of every transport: `send`, `try_send`, `receive`, `close`, and the property `hung_up`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from accord.errors import ConnectionLost

__all__ = ["ProcessTransport", "Take", "TakeUnsent", "Transport", "receive_into", "report_unsent"]


@runtime_checkable
class Transport(Protocol):
    """One end of a link that carries whole texts, in order, both ways.

    A text is one JSON document as bytes, without a newline. `accord.transport.check_transport` proves that an
    implementation keeps the promises of this interface.
    """

    async def send(self, text: bytes | bytearray) -> None:
        """Send one text, behind all that were sent before it.

        Returns when the transport holds no more unwritten bytes than its high-water mark. So it suspends while the peer
        does not read; a text that is larger than the mark is accepted when no other one waits, and its sender waits
        until the peer has read most of it. Where several tasks have to wait, they are served in the order in which they
        came; one that was just served may send a little more before the next. Now and then `send` suspends for one
        turn of the loop only.

        A sender that is cancelled has sent all of its text or nothing: frames are never torn. The text belongs to the
        transport from now on: a large one is not copied.

        Raises:
            ConnectionLost: The link is gone, or this end was closed.
        """
        ...

    def try_send(self, texts: Sequence[bytes | bytearray]) -> bool:
        """Send several texts without waiting: all of them, in order behind everything that was sent before, or none.

        False means that nothing was sent and that `send` has to be used: because there is no space, because other
        senders wait, because the link is gone, or because the loop is due a turn. An implementation may always return
        False; then every text costs a coroutine.
        """
        ...

    async def receive(self) -> list[bytes]:
        """The texts of one read, at least one, in order; an empty list when the stream has ended and after `close`.

        For one receiver at a time. While `receive` is not called, hardly anything is read: that is back-pressure for
        the peer. A receiver that is cancelled loses nothing.

        Raises:
            ConnectionLost: The link broke.
            FrameError: What the peer sends cannot be read any further.
        """
        ...

    async def close(self) -> None:
        """End the link; what was sent is still written out, for a bounded time.

        A pending `receive` returns an empty list, a pending `send` raises `ConnectionLost`. May be called again, and
        returns when the link is gone.
        """
        ...

    @property
    def hung_up(self) -> bool:
        """Whether nothing more can come than what is on its way already; False where that is not known.

        It is read while `receive` is not called: a connection whose memory budget is spent does not read, and so
        does not see the end of the stream.
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


TakeUnsent: TypeAlias = "Callable[[bytes, Callable[[], Awaitable[ConnectionLost]]], object]"
"""Gets frames that `try_send` or `send` took and that cannot be written any more, and what gives the error for them."""


def report_unsent(transport: Transport, take: TakeUnsent) -> None:
    """Have a stream, also one that others wrap, report what it loses when its peer no longer reads.

    The stream goes on receiving then: a peer that has closed its input may still answer what it got before.
    """
    inner: object = transport
    while inner is not None and not hasattr(inner, "_take_unsent"):
        inner = getattr(inner, "transport", None)
    if inner is not None:
        inner._take_unsent = take  # noqa: SLF001 - its own package


Take: TypeAlias = Callable[[list[bytes]], bool]
"""Takes the texts of one read; False if no more are wanted for now."""


async def receive_into(transport: Transport, take: Take) -> bool:
    """Call `take` with each result of `receive` until it returns False; then True. False at the end of the stream.

    Streams call it in the instant in which the bytes were read. To resume the task that awaits `receive` costs one more
    turn of the loop at each end, a seventh of a round trip (`benchmarks/run --scenarios ping`).

    Raises:
        TransportError: As `receive` does; and what `take` raises.
    """
    receive_at_once = getattr(transport, "_receive_into", None)
    if receive_at_once is not None:
        return bool(await receive_at_once(take))
    while texts := await transport.receive():
        if not take(texts):
            return True
    return False
