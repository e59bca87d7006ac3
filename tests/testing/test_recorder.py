"""The queries of a recorder, and its outline, which is the same in each run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accord.agent import Agent, Turn
from accord.testing import ClientPeer, JsonRpcMessage, Recorder, ScriptedClient, join
from accord.transport import memory_pair
from tests.tables import rows

TALK: list[tuple[str, Any]] = [
    ("out", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}),
    ("in", {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1}}),
    ("out", {"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": {"sessionId": "a", "prompt": []}}),
    ("in", {"jsonrpc": "2.0", "id": 1, "method": "fs/read_text_file", "params": {"sessionId": "a"}}),
    ("out", {"jsonrpc": "2.0", "id": 1, "error": {"code": -32002, "message": "gone"}}),
    ("in", {"jsonrpc": "2.0", "id": 1, "result": {"stopReason": "end_turn"}}),
]


def update(text: str, session: str = "a", kind: str = "agent_message_chunk") -> dict[str, Any]:
    body = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": body}}


def recorded(*talk: tuple[str, Any]) -> Recorder:
    recorder = Recorder()
    for direction, message in talk:
        recorder(direction, message if isinstance(message, bytes) else json.dumps(message).encode())  # type: ignore[arg-type]
    return recorder


def test_messages_are_found_by_method_id_and_direction() -> None:
    recorder = recorded(*TALK)

    assert [message.method for message in recorder.find(direction="in") if message.method] == ["fs/read_text_file"]
    assert len(recorder.find(id=1)) == 4
    assert recorder.find("session/prompt", id=1, direction="out") == [TALK[2][1]]
    assert recorder.find("session/prompt", direction="in") == []


def test_an_answer_is_found_by_its_request_though_both_sides_use_one_id() -> None:
    recorder = recorded(*TALK)

    prompt = recorder.one("session/prompt")
    reading = recorder.one("fs/read_text_file")

    assert recorder.answer_to(prompt) == TALK[5][1]
    assert recorder.answer_to(reading) == TALK[4][1]
    assert recorded(*TALK[:3]).answer_to(JsonRpcMessage(TALK[2][1])) is None


@rows("method", ["session/new", "session/update"])
def test_one_message_is_neither_none_nor_two(method: str) -> None:
    with pytest.raises(LookupError):
        recorded(*TALK, ("in", update("x")), ("in", update("y"))).one(method)


def test_updates_are_given_by_session_and_methods_in_order() -> None:
    recorder = recorded(("in", update("x")), ("in", update("y", "b")), *TALK)

    assert [each["content"]["text"] for each in recorder.updates()] == ["x", "y"]
    assert [each["content"]["text"] for each in recorder.updates("b")] == ["y"]
    assert recorder.methods("out") == ["initialize", "session/prompt"]


def test_a_batch_is_its_messages_and_garbage_is_kept() -> None:
    recorder = recorded(("in", [update("x"), update("y")]), ("in", b"hello?"))

    assert len(recorder) == 2
    assert [record.message.method for record in recorder] == ["session/update", "session/update", ""]
    assert recorder.texts[1] == ("in", b"hello?")


def test_what_was_read_is_read_once_and_can_be_forgotten() -> None:
    recorder = recorded(*TALK[:2])
    assert len(recorder.records) == 2
    recorder("in", b"{}")
    assert len(recorder.records) == 3

    recorder.clear()

    assert (list(recorder), recorder.texts) == ([], [])
    assert recorder


def test_an_outline_names_answers_joins_chunks_and_leaves_ids_out() -> None:
    recorder = recorded(*TALK[:3], ("in", update("Hel")), ("in", update("lo")), *TALK[3:], ("in", b"hm"))

    assert recorder.outline() == (
        "→ initialize\n"
        "← initialize ok\n"
        '→ session/prompt ""\n'
        '← agent_message_chunk "Hello"\n'
        "← fs/read_text_file\n"
        "→ fs/read_text_file error -32002\n"
        "← session/prompt ok end_turn\n"
        '← garbage "hm"\n'
    )


def test_an_outline_numbers_sessions_where_there_are_several_and_keeps_their_chunks_apart() -> None:
    recorder = recorded(("in", update("x")), ("in", update("y", "b")), ("in", update("z", "b")))

    assert recorder.outline() == '← agent_message_chunk "x" #1\n← agent_message_chunk "yz" #2\n'


async def greet(turn: Turn) -> None:
    tool = {"path": "a.txt"}
    permission = await turn.request_permission("Write?")
    await turn.say(f"{bool(permission)} {tool['path']}")


def greeter() -> Agent:
    agent = Agent("greeter", store=None)
    agent.prompt(greet)
    return agent


async def test_a_conversation_has_the_same_outline_each_time() -> None:
    outlines = set()
    for _ in range(3):
        recorder = Recorder()
        async with join(greeter(), recorder=recorder, permission=["allow"]) as remote:
            session = await remote.new_session()
            await session.prompt("hi")
        outlines.add(recorder.outline())

    assert len(outlines) == 1
    assert '→ session/prompt "hi"' in outlines.pop().splitlines()


async def test_the_agents_side_is_overheard_by_a_tap() -> None:
    recorder = Recorder()
    ours, theirs = memory_pair()

    class Tapped:
        async def serve(self, link: Any) -> None:
            await greeter().serve(recorder.tap(link))

    async def script(peer: ClientPeer) -> None:
        await peer.greet()
        await peer.open_session()

    await ScriptedClient(script).run(Tapped())

    assert recorder.methods("in") == ["initialize", "session/new"]
    assert recorder.answer_to(recorder.one("session/new")) is not None
    await ours.close()
    await theirs.close()
