"""The recorder: every text of a connection with its direction and its order, and an outline that is the same each run.

Texts are kept as they are and parsed when they are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from accord.json_values import JsonValue
from accord.testing.message import JsonRpcMessage, messages_of
from accord.transport.interface import Transport

__all__ = ["Direction", "RecordedMessage", "Recorder", "outline"]

Direction: TypeAlias = Literal["in", "out"]
"""Whether a text came in or went out."""


class RecordedMessage(NamedTuple):
    """One message; `direction` is that of the observed side. A text that is no message has an empty message."""

    direction: Direction
    text: bytes
    message: JsonRpcMessage


class Recorder:
    """Sees every text of a connection: `accord.connect(..., observers=[recorder])`.

    Also `connection.observe(recorder)` on either side, and `agent.serve(recorder.tap(transport))` for an agent whose
    connection is not accessible. One recorder may observe several connections; their messages are then in one list.
    """

    def __init__(self) -> None:
        self._texts: list[tuple[Direction, bytes]] = []
        self._read: list[RecordedMessage] = []
        self._read_texts = 0

    def __repr__(self) -> str:
        return f"<recorder of {len(self._texts)} texts>"

    def __call__(self, direction: Direction, text: bytes | bytearray) -> None:
        """Record one text."""
        self._texts.append((direction, bytes(text)))

    def __len__(self) -> int:
        return len(self._texts)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[RecordedMessage]:
        return iter(self.records)

    def tap(self, transport: Transport) -> Transport:
        """A transport that records the texts of another one: `out` are the texts sent on it."""
        return _Tap(transport, self)

    def clear(self) -> None:
        """Forget everything so far."""
        self._texts.clear()
        self._read.clear()
        self._read_texts = 0

    # --- records

    @property
    def records(self) -> Sequence[RecordedMessage]:
        """All records, in order; the messages of a batch are one record each, with the same text."""
        for direction, text in self._texts[self._read_texts :]:
            messages = messages_of(text) or [JsonRpcMessage()]
            self._read += [RecordedMessage(direction, text, message) for message in messages]
        self._read_texts = len(self._texts)
        return self._read

    @property
    def texts(self) -> list[tuple[Direction, bytes]]:
        """All texts as they were on the wire, malformed ones included."""
        return list(self._texts)

    def find(
        self,
        method: str | None = None,
        *,
        id: JsonValue = None,  # noqa: A002
        direction: Direction | None = None,
    ) -> list[JsonRpcMessage]:
        """The messages of a method, with an id, in a direction: those that fit all that is given."""
        return [
            record.message
            for record in self.records
            if (method is None or record.message.method == method)
            and (id is None or ("id" in record.message and record.message.id == id))
            and (direction is None or record.direction == direction)
        ]

    def one(self, method: str, *, direction: Direction | None = None) -> JsonRpcMessage:
        """The only message of a method.

        Raises:
            LookupError: There is none, or there are several.
        """
        found = self.find(method, direction=direction)
        if len(found) != 1:
            raise LookupError(f"{len(found)} messages are {method}; there were {', '.join(self.methods()) or 'none'}")
        return found[0]

    def answer_to(self, request: JsonRpcMessage) -> JsonRpcMessage | None:
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
        """The conversation, a line per message, without the parts that differ between runs: to be compared with a text.

        `→` are messages that the observed side sent and `←` those that it received. Answers have the name of their
        request, chunks of one message are joined, ids and times are left out, and sessions have numbers where there are
        several.
        """
        return outline((record.direction, record.text, record.message) for record in self.records)


class _Tap:
    """A transport whose texts are recorded."""

    def __init__(self, transport: Transport, recorder: Recorder) -> None:
        self._transport = transport
        self._recorder = recorder

    async def send(self, text: bytes | bytearray) -> None:
        # A sender passes ownership of the text, so it is recorded before it is sent.
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


ARROWS = {"in": "←", "out": "→"}
MAX_CHARACTERS = 60


def outline(records: Iterable[tuple[str, bytes, JsonRpcMessage]]) -> str:
    """One line for each message; see `Recorder.outline`."""
    drawing = _Drawing()
    for direction, text, message in records:
        drawing.add(direction, text, message)
    return drawing.text()


class _Line:
    def __init__(self, arrow: str, parts: list[str], session: str | None, chunk: str | None = None) -> None:
        self.arrow = arrow
        self.parts = parts
        self.session = session
        self.chunk = chunk

    def is_like(self, arrow: str, parts: list[str], message: JsonRpcMessage) -> bool:
        return (self.arrow, self.parts, self.session) == (arrow, parts, message.session)


class _Drawing:
    def __init__(self) -> None:
        self._lines: list[_Line] = []
        self._sessions: list[str] = []
        self._requests: dict[tuple[str, str], JsonRpcMessage] = {}

    def add(self, direction: str, text: bytes, message: JsonRpcMessage) -> None:
        arrow = ARROWS[direction]
        if message.session is not None and message.session not in self._sessions:
            self._sessions.append(message.session)
        if message.body:
            self._add_update(arrow, message)
        elif message.method:
            if message.is_request:
                self._requests[direction, _key(message.id)] = message
            self._put(arrow, [message.method, *_subject_of(message)], message.session)
        elif message.is_answer:
            self._add_answer(direction, arrow, message)
        else:
            self._put(arrow, [f"garbage {_short(text.decode(errors='replace'))}"], None)

    def text(self) -> str:
        many = len(self._sessions) > 1
        return "".join(f"{' '.join(self._parts(line, many=many))}\n" for line in self._lines)

    def _parts(self, line: _Line, *, many: bool) -> list[str]:
        parts = [line.arrow, *line.parts]
        if line.chunk is not None:
            parts.append(_short(line.chunk))
        if many and line.session is not None:
            parts.append(f"#{self._sessions.index(line.session) + 1}")
        return parts

    def _put(self, arrow: str, parts: list[str], session: str | None, chunk: str | None = None) -> None:
        self._lines.append(_Line(arrow, parts, session, chunk))

    def _add_update(self, arrow: str, message: JsonRpcMessage) -> None:
        update = message.body
        parts = [str(update.get("sessionUpdate"))]
        chunk = _chunk(update)
        last = self._lines[-1] if self._lines else None
        if chunk is not None and last is not None and last.chunk is not None and last.is_like(arrow, parts, message):
            last.chunk += chunk
            return
        parts += [str(update[key]) for key in ("title", "status", "state", "stopReason") if _is_plain(update.get(key))]
        self._put(arrow, parts, message.session, chunk)

    def _add_answer(self, direction: str, arrow: str, message: JsonRpcMessage) -> None:
        request = self._requests.get(("in" if direction == "out" else "out", _key(message.id)))
        method = f"answer to {_key(message.id)}" if request is None else request.method
        session = None if request is None else request.session
        if message.error is not None:
            code = message.error.get("code") if isinstance(message.error, dict) else message.error
            self._put(arrow, [method, "error", str(code)], session)
        else:
            self._put(arrow, [method, "ok", *_outcome(message.get("result"))], session)


def _subject_of(message: JsonRpcMessage) -> list[str]:
    """The subject of a request: the prompt's text, or a title."""
    params = message.params
    if not isinstance(params, dict):
        return []
    blocks = params.get("prompt")
    if isinstance(blocks, list):
        texts = [block.get("text") or f"[{block.get('type')}]" for block in blocks if isinstance(block, dict)]
        return [_short("".join(map(str, texts)))]
    tool = params.get("toolCall")
    title = tool.get("title") if isinstance(tool, dict) else params.get("title")
    return [_short(title)] if isinstance(title, str) else []


def _outcome(result: Any) -> list[str]:
    """The important fields of a result: the stop reason, the chosen option."""
    if not isinstance(result, dict):
        return []
    chosen = result.get("outcome")
    if isinstance(chosen, dict):
        return [str(chosen[key]) for key in ("outcome", "optionId") if key in chosen]
    return [str(result[key]) for key in ("stopReason", "action") if _is_plain(result.get(key))]


def _chunk(update: dict[str, Any]) -> str | None:
    content = update.get("content")
    if not str(update.get("sessionUpdate")).endswith("_chunk") or not isinstance(content, dict):
        return None
    text = content.get("text")
    return text if isinstance(text, str) else None


def _is_plain(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _short(text: str) -> str:
    cut = text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}…"
    return json.dumps(cut, ensure_ascii=False)


def _key(id_: Any) -> str:
    # By its JSON: `1` and `"1"` are two ids.
    return json.dumps(id_)
