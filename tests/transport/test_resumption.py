"""Taking a WebSocket connection up again: nothing lost, nothing twice, order kept, wherever the socket is cut."""

from __future__ import annotations

import json
from collections import deque
from typing import Any

from hypothesis import given, strategies as st

from accord.transport.resumption import (
    ACKNOWLEDGE_TEXTS,
    Advertisement,
    WebSocketResumption,
    acknowledgement,
    is_control,
    read_advertisement,
)
from tests.tables import rows

INITIALIZE = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'
ADVERTISEMENT = {"accord/resume": {"connectionId": "c1", "graceSeconds": 30}}


def initialized(meta: Any = ADVERTISEMENT) -> bytes:
    result = {"protocolVersion": 1, "agentCapabilities": {"_meta": meta}}
    return json.dumps({"jsonrpc": "2.0", "id": 0, "result": result}).encode()


class Server:
    """The other side of docs/remote-wire.md, as plainly as possible."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.received: list[bytes] = []
        self.wire: deque[bytes] = deque()
        self.told = 0
        self.is_attached = False

    def send(self, text: bytes) -> None:
        self.sent.append(text)
        if self.is_attached:
            self.wire.append(text)

    def take(self, text: bytes) -> None:
        message = json.loads(text)
        match message.get("method"):
            case "initialize":
                resumes = "_meta" in message["params"]
                assert not resumes or message["params"]["_meta"] == {"accord/resume": {"connectionId": "c1"}}
                self.is_attached = not resumes
                self.wire.append(initialized())
            case "_accord/resume":
                cursor = int(message["params"]["cursor"])
                assert cursor >= self.told
                result = {"received": str(len(self.received))}
                self.wire.append(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode())
                self.wire.extend(self.sent[cursor:])
                self.is_attached = True
            case "_accord/received":
                self.told = int(message["params"]["cursor"])
                assert self.told <= len(self.sent)
            case _:
                assert self.is_attached
                self.received.append(text)
                if len(self.received) % 3 == 0:
                    self.wire.append(acknowledgement(str(len(self.received))))


class World:
    """One connection and its sockets."""

    def __init__(self, **options: Any) -> None:
        self.server = Server()
        self.client = WebSocketResumption(**options)
        self.queue: deque[bytes | bytearray] = deque([INITIALIZE])
        self.wire: deque[bytes] = deque()
        self.delivered: list[bytes] = []
        self.said: list[bytes] = []

    def write(self) -> bool:
        item = self.client.next_text(self.queue)
        if item is not None:
            self.wire.append(bytes(item[0]))
        return item is not None

    def up(self) -> bool:
        if self.wire:
            self.server.take(self.wire.popleft())
            return True
        return False

    def down(self) -> bool:
        if not self.server.wire:
            return False
        text = self.server.wire.popleft()
        if self.client.receive(text):
            self.delivered.append(text)
        return True

    def say(self) -> None:
        text = b'{"jsonrpc":"2.0","id":%d,"method":"x","params":{}}' % (len(self.said) + 1)
        self.said.append(text)
        self.queue.append(text)

    def update(self) -> None:
        number = len(self.server.sent)
        self.server.send(b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","n":%d}}' % number)

    def cut(self) -> None:
        self.wire.clear()
        self.server.wire.clear()
        self.server.is_attached = False
        self.client.begin_link()

    def settle(self) -> None:
        while self.write() or self.up() or self.down():
            pass


def opened(**options: Any) -> World:
    world = World(**options)
    world.settle()
    assert world.delivered == [initialized()]
    world.delivered.clear()
    return world


STEPS = st.lists(st.sampled_from(["say", "update", "write", "up", "down", "cut"]), max_size=150)


@given(STEPS)
def test_nothing_is_lost_and_nothing_comes_twice_wherever_the_socket_is_cut(steps: list[str]) -> None:
    world = opened()
    for step in steps:
        getattr(world, step)()
    world.settle()
    assert world.server.received == world.said
    assert world.delivered == world.server.sent


@given(STEPS)
def test_it_holds_also_where_texts_have_to_wait_for_acknowledgements(steps: list[str]) -> None:
    world = opened(max_unacknowledged_bytes=1)
    for step in steps:
        getattr(world, step)()
    world.settle()
    # One text waits for an acknowledgement that comes every third time only.
    assert world.server.received == world.said[: len(world.server.received)]
    assert world.delivered == world.server.sent
    assert len(world.said) - len(world.server.received) == len(world.queue)


def test_the_server_hears_of_what_was_received_at_once_and_then_now_and_then() -> None:
    world = opened()
    assert world.server.told == 0
    for _ in range(ACKNOWLEDGE_TEXTS + 1):
        world.update()
    world.settle()
    assert world.server.told >= ACKNOWLEDGE_TEXTS


def test_a_large_text_is_acknowledged_at_once() -> None:
    world = opened()
    world.server.send(b'{"jsonrpc":"2.0","method":"x","params":"' + b"x" * 100_000 + b'"}')
    world.settle()
    assert world.server.told == 1


def test_what_the_server_has_is_forgotten() -> None:
    world = opened()
    for _ in range(300):
        world.say()
        world.settle()
    assert len(world.client._kept) < 3


def test_nothing_is_added_or_counted_for_a_server_without_the_advertisement() -> None:
    client, queue = WebSocketResumption(), deque[bytes | bytearray]([INITIALIZE, b'{"id":1,"method":"x"}'])
    assert client.next_text(queue) == (INITIALIZE, True)
    assert client.receive(initialized({}))
    for _ in range(ACKNOWLEDGE_TEXTS * 2):
        assert client.receive(b'{"jsonrpc":"2.0","method":"_accord/received","params":{"cursor":"1"}}')
    assert client.next_text(queue) == (b'{"id":1,"method":"x"}', True)
    assert client.next_text(queue) is None
    assert not client.can_resume


@rows(
    "answer",
    [
        b'{"jsonrpc":"2.0","id":"_accord/resume","error":{"code":-32002,"message":"","data":{"reason":"gap"}}}',
        b'{"jsonrpc":"2.0","id":"_accord/resume","result":{"received":"99"}}',
        b'{"jsonrpc":"2.0","id":"_accord/resume","result":{"received":"-1"}}',
        b'{"jsonrpc":"2.0","id":"_accord/resume","result":{"received":1}}',
        b'{"jsonrpc":"2.0","id":"_accord/resume","result":null}',
    ],
)
def test_a_server_that_cannot_take_it_up_is_given_up(answer: bytes) -> None:
    world = opened()
    world.cut()
    assert world.write()
    assert not world.client.receive(initialized())
    assert world.write()
    assert not world.client.receive(answer)
    assert world.client.refusal == ("gap" if b"gap" in answer else "unknown")
    assert not world.client.can_resume


def test_a_refused_initialize_is_no_connection() -> None:
    client, queue = WebSocketResumption(), deque[bytes | bytearray]([INITIALIZE])
    client.next_text(queue)
    assert client.receive(b'{"jsonrpc":"2.0","id":0,"error":{"code":1,"message":""}}')
    queue.append(INITIALIZE.replace(b"1}", b"2}"))
    assert client.next_text(queue) is not None
    assert client.receive(initialized())
    assert client.advertisement == Advertisement("c1", 30)


@rows(
    ("answer", "expected"),
    [
        ({"result": {"capabilities": {"_meta": ADVERTISEMENT}}}, Advertisement("c1", 30)),
        ({"result": {"_meta": ADVERTISEMENT}}, Advertisement("c1", 30)),
        (
            {"result": {"_meta": {"accord/resume": {"connectionId": "c", "graceSeconds": 1e9}}}},
            Advertisement("c", 3600),
        ),
        ({"result": {"_meta": {"accord/resume": {"connectionId": "c", "graceSeconds": True}}}}, Advertisement("c", 0)),
        ({"result": {"_meta": {"accord/resume": {"connectionId": 1}}}}, None),
        ({"result": {"_meta": {"accord/resume": []}}}, None),
        ({"result": {"_meta": ["accord/resume"]}}, None),
        ({"result": ["accord/resume"]}, None),
        (["accord/resume"], None),
    ],
)
def test_an_advertisement_is_read_from_any_of_its_places(answer: Any, expected: Advertisement | None) -> None:
    assert read_advertisement(json.dumps(answer).encode()) == expected


def test_texts_of_the_transports_are_told_from_all_others() -> None:
    assert is_control(acknowledgement("1", "s1"))
    assert is_control(b'{"jsonrpc":"2.0","id":"_accord/resume","result":{}}')
    assert not is_control(b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"_accord/"}}')
    assert not is_control(b'{"_accord/')
