"""What was said on a connection, by whom and in which order; kept as texts, and read when somebody asks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from accord.json_values import JsonValue
from accord.testing.message import Message, messages_of
from accord.testing.outline import outline
from accord.transport.interface import Transport

__all__ = ["Direction", "Record", "Recorder"]

Direction: TypeAlias = Literal["in", "out"]
"""Whether a text came in or went out."""


class Record(NamedTuple):
    """One message; `direction` is as the observed side sees it. A text that is no message has an empty one."""

    direction: Direction
    text: bytes
    message: Message


class Recorder:
    """Sees every text of a connection: `accord.connect(..., observers=[recorder])`.

    Also `connection.observe(recorder)` on either side, and `agent.serve(recorder.tap(transport))` for an agent whose
    connection is its own affair. One recorder may see several connections; what they say is then in one list.
    """

    def __init__(self) -> None:
        self._texts: list[tuple[Direction, bytes]] = []
        self._read: list[Record] = []
        self._read_texts = 0

    def __repr__(self) -> str:
        return f"<recorder of {len(self._texts)} texts>"

    def __call__(self, direction: Direction, text: bytes | bytearray) -> None:
        """One more text."""
        self._texts.append((direction, bytes(text)))

    def __len__(self) -> int:
        return len(self._texts)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def tap(self, transport: Transport) -> Transport:
        """A transport that is this one, overheard: `out` is what is sent on it."""
        return _Tap(transport, self)

    def clear(self) -> None:
        """Forget everything so far."""
        self._texts.clear()
        self._read.clear()
        self._read_texts = 0

    # --- what was said

    @property
    def records(self) -> Sequence[Record]:
        """Everything, in order; the messages of a batch are one record each, with the same text."""
        for direction, text in self._texts[self._read_texts :]:
            messages = messages_of(text) or [Message()]
            self._read += [Record(direction, text, message) for message in messages]
        self._read_texts = len(self._texts)
        return self._read

    @property
    def texts(self) -> list[tuple[Direction, bytes]]:
        """Everything as it was on the wire, garbage included."""
        return list(self._texts)

    def find(
        self,
        method: str | None = None,
        *,
        id: JsonValue = None,  # noqa: A002
        direction: Direction | None = None,
    ) -> list[Message]:
        """The messages of a method, with an id, in a direction: those that fit all that is given."""
        return [
            record.message
            for record in self.records
            if (method is None or record.message.method == method)
            and (id is None or ("id" in record.message and record.message.id == id))
            and (direction is None or record.direction == direction)
        ]

    def one(self, method: str, *, direction: Direction | None = None) -> Message:
        """The only message of a method.

        Raises:
            LookupError: There is none, or there are several.
        """
        found = self.find(method, direction=direction)
        if len(found) != 1:
            raise LookupError(f"{len(found)} messages are {method}; there were {', '.join(self.methods()) or 'none'}")
        return found[0]

    def answer_to(self, request: Message) -> Message | None:
        """The answer to a request that was recorded, or None if there was none yet."""
        way = next((record.direction for record in self.records if record.message is request), None)
        return next(
            (
                record.message
                for record in self.records
                if record.message.is_answer and record.direction != way and record.message.id == request.id
            ),
            None,
        )

    def updates(self, session: str | None = None) -> list[dict[str, Any]]:
        """The bodies of the session updates, of one session where that is given."""
        return [
            record.message.body
            for record in self.records
            if record.message.body and (session is None or record.message.session == session)
        ]

    def methods(self, direction: Direction | None = None) -> list[str]:
        """The methods of all requests and notifications, in order."""
        return [message.method for message in self.find(direction=direction) if message.method]

    def outline(self) -> str:
        """The conversation, a line a message, without what differs from run to run: to be compared with a text.

        `→` is what the observed side said and `←` what it heard. Answers are named after what they answer, chunks of
        one message are joined, ids and times are left out, and sessions have numbers where there are several.
        """
        return outline((record.direction, record.text, record.message) for record in self.records)


class _Tap:
    """A transport and somebody who listens."""

    def __init__(self, transport: Transport, recorder: Recorder) -> None:
        self._transport = transport
        self._recorder = recorder

    async def send(self, text: bytes | bytearray) -> None:
        # A sender may hand over the text itself, so it is looked at before it is gone.
        self._recorder("out", text)
        await self._transport.send(text)

    def try_send(self, texts: Sequence[bytes | bytearray]) -> bool:
        copies = [bytes(text) for text in texts]
        if not self._transport.try_send(texts):
            return False
        for text in copies:
            self._recorder("out", text)
        return True

    async def receive(self) -> list[bytes]:
        texts = await self._transport.receive()
        for text in texts:
            self._recorder("in", text)
        return texts

    @property
    def hung_up(self) -> bool:
        return self._transport.hung_up

    async def close(self) -> None:
        await self._transport.close()
