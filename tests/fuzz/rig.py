"""A connection under fire: real descriptors, raw bytes on the other end, and the books of what is owed.

One `Target` is one side. Its rounds send mutated texts, then settle: everything owed was answered exactly once, nothing
else was said, nothing internal leaked, and the connection is as empty as it was before.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, Literal, NamedTuple

from accord.connection import Connection, Handlers
from accord.errors import LocalProtocolError, RemoteProtocolError, RequestError
from accord.protocol.codec import Codec, encode
from accord.protocol.edition import Edition
from accord.protocol.method import RequestMethod
from accord.transport import StreamTransport
from accord.wire import Framing
from tests.fuzz.corpus import CORPORA, HIDDEN
from tests.fuzz.mutator import Mutator
from tests.fuzz.oracle import NULL, Due, differences, key_of, owed
from tests.limits import limit

BOUND_SECONDS = limit(30.0)
RAISED = "raised-inside"
PROBE = "_fuzz/probe"

Side = Literal["agent", "client"]


class Way(NamedTuple):
    """How the bytes travel: what the target's transport expects and what it hears."""

    link: Literal["pipes", "socketpair"]
    framing: Framing
    spoken: Literal["lines", "headers"]
    force_threads: bool = False


# --- raw bytes


class RawEnd:
    """The other ends of the target's descriptors, by hand and without waiting."""

    def __init__(self, read_from: int, write_to: int) -> None:
        self._read_from = read_from
        self._write_to = write_to
        self._heard = b""
        for descriptor in (read_from, write_to):
            os.set_blocking(descriptor, False)

    async def say(self, data: bytes) -> None:
        """Write all of it, as fast as the target reads; bounded. To one that is gone nothing can be said."""
        async with asyncio.timeout(BOUND_SECONDS):
            while data:
                try:
                    data = data[os.write(self._write_to, data) :]
                except BlockingIOError:
                    self._read()
                    await asyncio.sleep(0)
                except ConnectionError:
                    return

    def hear(self) -> Iterator[bytes]:
        """The texts that are there."""
        self._read()
        while True:
            text, rest = _first_text(self._heard)
            if text is None:
                return
            self._heard = rest
            yield text

    @property
    def silent(self) -> bool:
        """Whether nothing is left that `hear` would give."""
        self._read()
        return not self._heard

    def close(self) -> None:
        for descriptor in {self._read_from, self._write_to}:
            os.close(descriptor)

    def _read(self) -> None:
        with contextlib.suppress(BlockingIOError, ConnectionError):
            while data := os.read(self._read_from, 1 << 20):
                self._heard += data


_FRAME = re.compile(rb"Content-Length: (\d+)\r\n\r\n")


def _first_text(heard: bytes) -> tuple[bytes | None, bytes]:
    """A text and what follows it, whether framed as a line or by its length: a target with `auto` may change."""
    frame = _FRAME.match(heard)
    if frame is not None:
        end = frame.end() + int(frame[1])
        return (heard[frame.end() : end], heard[end:]) if len(heard) >= end else (None, heard)
    line, newline, rest = heard.partition(b"\n")
    return (line, rest) if newline and not line.startswith(b"Content-Length") else (None, heard)


def _ends(way: Way) -> tuple[StreamTransport, RawEnd]:
    options: dict[str, Any] = {"framing": way.framing, "force_threads": way.force_threads}
    if way.link == "pipes":
        read_from, their_write = os.pipe()
        their_read, write_to = os.pipe()
        return StreamTransport(read_from, write_to, **options), RawEnd(their_read, their_write)
    ours, theirs = socket.socketpair()
    transport = StreamTransport(os.dup(ours.fileno()), ours.detach(), **options)
    end = theirs.detach()
    return transport, RawEnd(end, end)


# --- handlers that do all a handler may do


class Zoo:
    """Handlers of one side; each call behaves differently. `gate` lets go those that wait."""

    def __init__(self, edition: Edition, side: Side) -> None:
        self._side = side
        self._codec = Codec()
        self._turn = 0
        self.gate = asyncio.Event()
        self.unwritable: list[str] = []
        """What was read and could not be written again."""
        self.handlers = Handlers()
        corpus = CORPORA[edition.name, side]
        for method in edition.methods:
            if method.side not in (side, "both"):
                continue
            if not isinstance(method, RequestMethod):
                handle = self._note_slowly if method.name == "session/update" and edition.version == 1 else self._note
                self.handlers.on(method, handle)
            elif method.name == "initialize":
                self.handlers.on(method, self._answering(method, corpus.results[method.name], tame=True))
            else:
                self.handlers.on(method, self._answering(method, corpus.results[method.name]))
        self.handlers.on_extension_request("_fuzz/echo", lambda params: params)
        self.handlers.on_extension_notification("_fuzz/note", self._note)

    def _answering(self, method: RequestMethod[Any, Any], result: Any, *, tame: bool = False) -> Callable[[Any], Any]:
        text = json.dumps(result).encode()

        async def answer(params: Any) -> Any:
            self._check(method.name, params)
            if not tame:
                await self._misbehave()
            return self._codec.decode(method.result, text)

        return answer

    async def _misbehave(self) -> None:
        self._turn += 1
        match self._turn % 16:
            case 0 | 1:
                await asyncio.sleep(0)
            case 2:
                raise ValueError(RAISED)
            case 3:
                raise RequestError("Refused", {"why": "on purpose"}, code=-32099)
            case 4:
                await self.gate.wait()
            case 5:
                raise RequestError("Came from elsewhere", RAISED, received=True)
            case 6:
                raise KeyError(RAISED, object())
            case 7:
                await asyncio.wait_for(asyncio.Event().wait(), 0)
            case _:
                pass

    def _note(self, params: Any) -> None:
        self._check("a notification", params)
        self._turn += 1
        if self._turn % 16 == 0:
            raise ValueError(RAISED)

    async def _note_slowly(self, params: Any) -> None:
        if self._turn % 4:
            await asyncio.sleep(0)
        self._note(params)

    def _check(self, name: str, params: Any) -> None:
        """Whatever was let in can be shown and passed on."""
        try:
            repr(params)
            encode(params)
        except (LocalProtocolError, RecursionError) as error:
            self.unwritable.append(f"{name}: {error!r} from {error.__cause__!r}")


# --- one side under fire


class Target:
    """One connection, its hand-held other end, and the books."""

    def __init__(self, edition: Edition, side: Side, way: Way, seed: int) -> None:
        self.edition = edition
        self.side: Side = side
        self.way = way
        other: Side = "client" if side == "agent" else "agent"
        self._theirs = CORPORA[edition.name, other]
        self._other: Side = other
        self.mutator = Mutator(seed, CORPORA[edition.name, side])
        self.zoo = Zoo(edition, side)
        transport, self.end = _ends(way)
        self.connection = Connection(transport, side, self.zoo.handlers, editions=(edition,))
        self._dues: list[Due] = []
        self._used: set[str] = set()
        self._received: Counter[str] = Counter()
        self._calls: list[asyncio.Task[Any]] = []
        self._probes = 0
        self.texts_sent = 0
        self.answers_heard = 0

    # --- the round

    async def shake_hands(self) -> None:
        params = CORPORA[self.edition.name, "agent"].requests["initialize"][0]
        if self.side == "agent":
            await self._send(_request("i-1", "initialize", params))
            await self._send(_request("i-2", PROBE, {}))
            await self.settle()
            return
        calling = asyncio.ensure_future(self.connection.initialize(params, (self.edition,)))
        self._calls.append(calling)
        await self.settle()

    async def fire(self, texts: int) -> None:
        """One round: some calls of the target's own, and so many texts."""
        self._start_calls()
        for start in range(0, texts, 20):
            batch = b"".join(self._framed(self.mutator.text()) for _ in range(min(20, texts - start)))
            for piece in self.mutator.cuts(batch):
                await self.end.say(piece)
            await asyncio.sleep(0)
            self._listen()

    async def fire_damaged_frames(self, texts: int) -> None:
        """Frames whose headers lie; what they cost is anybody's guess, so the books stay closed."""
        for _ in range(texts):
            await self.end.say(self.mutator.damaged_frame(self.mutator.text()))
            await asyncio.sleep(0)
            self._listen()
        async with asyncio.timeout(BOUND_SECONDS):
            while not any("probe" in key for key in self._received):
                self._probes += 1
                await self._send(_request(f"probe-{self._probes}", PROBE, {}))
                await asyncio.sleep(0)
                self._listen()
            # The next round must not hear what belongs to this one.
            self.zoo.gate.set()
            while self.connection._running() or not self.end.silent:
                self._listen()
                await asyncio.sleep(0)
        self.zoo.gate.clear()
        self._close_books()

    async def close(self) -> None:
        await self.connection.close()
        self.end.close()
        await asyncio.gather(*self._calls, return_exceptions=True)

    async def settle(self) -> None:
        """Wait until nothing moves, and look at the books."""
        self.zoo.gate.set()
        try:
            async with asyncio.timeout(BOUND_SECONDS):
                await self._probe()
                await self._answer_calls()
                while not self._is_idle():
                    self._listen()
                    await asyncio.sleep(0)
                # What was answered last may still be on its way, through a thread: this comes behind it.
                await self._probe()
                while not self._is_idle():
                    self._listen()
                    await asyncio.sleep(0)
        except TimeoutError:
            raise AssertionError(f"{self!r} did not settle: {self._state()}, {self._differences()}") from None
        self.zoo.gate.clear()
        await self._judge_calls()
        for problem in (self._differences(), self._state(), self.zoo.unwritable):
            assert not problem, f"{self!r}: {problem}"
        self._close_books()

    def _close_books(self) -> None:
        self._dues.clear()
        self._used.clear()
        self._received.clear()

    def __repr__(self) -> str:
        return f"<{self.edition.name} {self.side} over {self.way}>"

    # --- the books

    def _differences(self) -> list[str]:
        return differences(self._dues, self._received)[:20]

    def _state(self) -> dict[str, Any]:
        """Everything that should be empty between rounds and is not."""
        connection = self.connection
        peer = connection._incoming._pending
        held: dict[str, Any] = {
            "tasks": len(connection._running()),
            "backlog": connection.backlog_bytes,
            "open requests": len(peer._open),
            "waiting calls": peer.calls,
            "calls inside": connection._budget.calls_inside + len(connection._outgoing._inside),
            "lanes": len(connection._lanes._lanes),
            "held texts": len(connection._receiver._handshake.held or ()),
            "half a text": connection.transport._reader.pending_bytes,  # type: ignore[attr-defined]
        }
        return {name: count for name, count in held.items() if count}

    def _is_idle(self) -> bool:
        return not self._state() and self.end.silent

    def _owe(self, text: bytes) -> None:
        self.texts_sent += 1
        for due in owed(text, self.side, batches=self.edition.rules.batches):
            # A second request under an id that may still be open is refused under null.
            repeated = due.ids[0] in self._used
            self._dues.append(Due((*due.ids, NULL), due.sure) if repeated else due)
            self._used.update(id_ for id_ in due.ids if id_ != NULL)

    def _framed(self, text: bytes) -> bytes:
        """The text as it goes out; what the target owes for it is written down."""
        if self.way.spoken == "lines":
            for line in text.split(b"\n"):
                if line.strip():
                    self._owe(line.removesuffix(b"\r"))
            return text + self.mutator.pick(b"\n", b"\n", b"\n", b"\r\n", b"\n\n", b"\r\n \r\n")
        if text.strip() and text != b"\xef\xbb\xbf":
            self._owe(text)
        name = self.mutator.pick(b"Content-Length: ", b"Content-Length: ", b"content-length:", b"CONTENT-LENGTH :\t")
        end = self.mutator.pick(b"\r\n", b"\r\n", b"\n")
        more = self.mutator.pick(b"", b"", b"Content-Type: application/json" + end, b"X-Mine: 1" + end)
        return more + name + b"%d" % len(text) + end + end + text

    async def _send(self, message: dict[str, Any]) -> None:
        await self.end.say(self._framed(json.dumps(message).encode()))

    def _listen(self) -> None:
        assert self.connection.is_open, f"{self!r} ended: {self.connection._lost!r}"
        assert not self.connection.counts.internal_errors, f"{self!r} met a bug of ours: the log has it"
        for text in self.end.hear():
            message = json.loads(text)
            assert isinstance(message, dict) or self.edition.rules.batches, text
            for each in message if isinstance(message, list) else [message]:
                if "method" in each:
                    self._hear_call(each)
                else:
                    self._hear_answer(each)

    def _hear_answer(self, answer: dict[str, Any]) -> None:
        self.answers_heard += 1
        self._received[key_of(answer)] += 1
        assert set(answer) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"}), answer
        if "error" in answer:
            _check_error(answer["error"])

    async def _probe(self) -> None:
        """The target still listens and answers."""
        self._probes += 1
        key = json.dumps(f"probe-{self._probes}")
        await self._send(_request(json.loads(key), PROBE, {}))
        while not self._received[key]:
            await asyncio.sleep(0)
            self._listen()

    # --- the target's own calls

    def _start_calls(self) -> None:
        for name, all_params in self._theirs.requests.items():
            method = self.edition.request(self._other, name)
            if method is not None and name != "initialize":
                params = Codec().decode(method.params, json.dumps(all_params[0]).encode())
                self._calls.append(asyncio.ensure_future(self.connection.call(method, params)))

    def _hear_call(self, message: dict[str, Any]) -> None:
        if "id" in message:
            self.mutator.pending.append((message["id"], self._theirs.results[message["method"]]))

    async def _answer_calls(self) -> None:
        """Whatever was made of their answers so far: now each call gets a proper one."""
        while not all(call.done() for call in self._calls):
            self._listen()
            for id_, result in self.mutator.pending:
                await self._send({"jsonrpc": "2.0", "id": id_, "result": result})
            self.mutator.pending.clear()
            await asyncio.sleep(0)
        self.mutator.pending.clear()

    async def _judge_calls(self) -> None:
        outcomes = await asyncio.gather(*self._calls, return_exceptions=True)
        self._calls.clear()
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                assert isinstance(outcome, RequestError | RemoteProtocolError), outcome
                assert not isinstance(outcome, RequestError) or outcome.received


def _request(id_: str, method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


_OUR_WORDS = {
    -32700: {"Parse error"},
    -32600: {
        "Invalid request",
        "A request with this id is still open",
        "This connection is initialized already",
        "The first request must be initialize",
    },
    -32601: {"Method not found"},
    -32602: {"Invalid params"},
    -32603: {"Internal error"},
    -32022: {"Unsupported protocol version"},
    -32800: {"Request cancelled"},
    -32099: {"Refused"},
}
_DATA_KEYS: dict[int, set[str]] = {
    -32601: {"method"},
    -32602: {"field", "expected"},
    -32603: {"correlationId"},
    -32022: {"requested", "supported"},
    -32099: {"why"},
}
_INTERNAL = re.compile(r"Traceback|object at 0x|\.py\b|accord[./]|msgspec|asyncio|Error\b|Exception|/home|line \d")


def _check_error(error: dict[str, Any]) -> None:
    """Only our words, and nothing that was received or raised."""
    assert error["message"] in _OUR_WORDS[error["code"]], error
    assert set(error.get("data", {})) == _DATA_KEYS.get(error["code"], set()), error
    data = {name: value for name, value in error.get("data", {}).items() if name != "method"}
    words = json.dumps(data)
    assert not _INTERNAL.search(words), error
    assert RAISED not in words, error
    assert HIDDEN not in words, error


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Handlers that fail are logged, thousands of them here: nobody keeps them."""
    log = logging.getLogger("accord.connection")
    propagate, log.propagate = log.propagate, False
    sink = logging.NullHandler()
    log.addHandler(sink)
    try:
        yield
    finally:
        log.removeHandler(sink)
        log.propagate = propagate


@asynccontextmanager
async def under_fire(edition: Edition, way: Way, seed: int) -> AsyncIterator[tuple[Target, Target]]:
    """An agent and a client, both past their handshake."""
    targets = (Target(edition, "agent", way, seed), Target(edition, "client", way, seed + 1))
    with quiet():
        try:
            for target in targets:
                target.connection.start()
                await target.shake_hands()
            yield targets
        finally:
            for target in targets:
                await target.close()
