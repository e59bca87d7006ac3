"""A translated transport: order, back-pressure, and texts that pass as they are."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from accord.dialects import Json, TranslatedTransport, Translation
from accord.transport import check_transport, memory_pair
from accord.transport.interface import Transport
from tests.connection.rig import Hand
from tests.limits import limit
from tests.tables import rows

BOUND_SECONDS = limit(20.0)


class Upper:
    """Renames methods: ours are capital letters to the peer. `ping` is answered here, `echo` is doubled to us."""

    def outgoing(self, message: Json) -> Translation:
        if message.get("method") == "fail":
            raise ValueError("a bug of the plug-in")
        if "method" not in message:
            return Translation([message], [])
        return Translation([{**message, "method": message["method"].upper()}], [])

    def incoming(self, message: Json) -> Translation:
        match message.get("method"):
            case "PING":
                return Translation([{"id": message.get("id"), "result": "pong"}], [])
            case "ECHO":
                told = {**message, "method": "echo"}
                return Translation([], [told, told])
            case "FAIL":
                raise ValueError("a bug of the plug-in")
            case _:
                return Translation([], [message])


async def received(link: Transport) -> Any:
    async with asyncio.timeout(BOUND_SECONDS):
        return json.loads(*await link.receive())


def test_it_keeps_what_transports_promise() -> None:
    async def pair() -> tuple[Transport, Transport]:
        ours, theirs = memory_pair()
        return TranslatedTransport(ours, Upper()), theirs

    asyncio.run(check_transport(pair))


async def test_a_message_becomes_others_in_either_direction() -> None:
    ours, theirs = memory_pair()
    link = TranslatedTransport(ours, Upper())
    await link.send(b'{"method":"hello"}')
    assert await received(theirs) == {"method": "HELLO"}
    await theirs.send(b'{"method":"PING","id":4}')
    await theirs.send(b'{"method":"ECHO"}')
    assert [json.loads(text) for text in await link.receive()] == [{"method": "echo"}, {"method": "echo"}]
    assert await received(theirs) == {"id": 4, "result": "pong"}
    link.inject([{"method": "made"}])
    assert await received(link) == {"method": "made"}
    await link.close()


@rows("text", [b'{"x": 1e0, "s":"\\ud83d"}', b"[1]", b"banner", b'{"x":NaN}', b'{"a":' * 100_000])
async def test_a_text_that_needs_no_change_passes_byte_for_byte(text: bytes) -> None:
    ours, theirs = memory_pair()
    link = TranslatedTransport(ours, Upper())
    await theirs.send(text)
    await link.send(text)
    assert (await link.receive(), await theirs.receive()) == ([text], [text])
    await link.close()


async def test_a_translator_that_fails_is_logged_and_the_message_passes(caplog: pytest.LogCaptureFixture) -> None:
    ours, theirs = memory_pair()
    link = TranslatedTransport(ours, Upper())
    await theirs.send(b'{"method":"FAIL"}')
    await link.send(b'{"method":"fail"}')
    assert (await received(link), await received(theirs)) == ({"method": "FAIL"}, {"method": "fail"})
    assert [record.name for record in caplog.records] == ["accord.dialects", "accord.dialects"]
    await Hand(theirs).notify("ECHO", {})
    assert [json.loads(text)["method"] for text in await link.receive()] == ["echo", "echo"]
    await link.close()


async def test_what_cannot_be_encoded_again_passes_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_message: Any) -> bytes:
        raise RecursionError

    monkeypatch.setattr("accord.dialects.encode", refuse)
    ours, theirs = memory_pair()
    link = TranslatedTransport(ours, Upper())
    await theirs.send(b'{"method":"ECHO"}')
    assert await link.receive() == [b'{"method":"ECHO"}']
    await link.close()


async def test_one_receives_at_a_time() -> None:
    ours, _theirs = memory_pair()
    link = TranslatedTransport(ours, Upper())
    receiving = asyncio.ensure_future(link.receive())
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError):
        await link.receive()
    await link.close()
    assert await receiving == []
