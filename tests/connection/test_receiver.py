"""However a peer's lines are cut into pieces, the same is heard, counted and answered."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import given, settings, strategies as st

from accord.connection import Connection, Handlers
from accord.protocol import v1
from accord.protocol.edition import V1
from tests.limits import limit
from tests.transport.one_by_one import MinimalTransport

SESSIONS = st.sampled_from(["a", "b", "c"])
WORDS = st.text(st.characters(codec="utf-8"), max_size=12)


def update(session: str, text: str) -> dict[str, Any]:
    content = {"type": "text", "text": text}
    return {"sessionId": session, "update": {"sessionUpdate": "agent_message_chunk", "content": content}}


def line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


def notification(params: Any, **more: Any) -> bytes:
    return line({"jsonrpc": "2.0", "method": "session/update", "params": params, **more})


UPDATES = st.builds(lambda session, text: notification(update(session, text)), SESSIONS, WORDS)
UNKNOWN = st.builds(
    lambda session: notification({"sessionId": session, "update": {"sessionUpdate": "dance", "steps": 3}}), SESSIONS
)
REQUESTS = st.builds(
    lambda id_, session: line(
        {"jsonrpc": "2.0", "id": id_, "method": "fs/read_text_file", "params": {"sessionId": session, "path": "/f"}}
    ),
    st.integers(0, 3),
    SESSIONS,
)
OTHERS = st.sampled_from(
    [
        b"{",
        b"null",
        b"[]",
        b"stray print",
        notification(update("a", "with an id"), id=7),
        notification(update("a", "with a result"), result={}),
        notification(update("a", "with more"), extra="\u2028"),
        notification({"sessionId": "a"}),
        notification(update("a", "x"))[:-1],
        notification(update("a", "x")) + notification(update("b", "y")),
        notification(update("a", "x")).replace(b'"2.0"', b'"2"'),
        notification(update("a", "x"))[:-1] + b',"skipped":"\xff"}',
        b" " + notification(update("a", "behind a space")),
        line({"params": update("b", "the other way round"), "method": "session/update", "jsonrpc": "2.0"}),
        line({"jsonrpc": "2.0", "method": "_ours/ping", "params": {"sessionId": "a"}}),
        line({"jsonrpc": "2.0", "id": 99, "result": {}}),
    ]
)
LINES = st.lists(st.one_of(UPDATES, UPDATES, UPDATES, UNKNOWN, REQUESTS, OTHERS), min_size=1, max_size=40)


class Script(MinimalTransport):
    """A transport whose reads bring what it was given, cut as it was told."""

    def __init__(self, pieces: list[list[bytes]]) -> None:
        self._pieces = pieces
        self.said: list[Any] = []

    async def send(self, text: bytes | bytearray) -> None:
        self.said.append(json.loads(text))

    async def receive(self) -> list[bytes]:
        await asyncio.sleep(0)
        return self._pieces.pop(0) if self._pieces else []

    async def close(self) -> None:
        self._pieces.clear()


async def heard_of(pieces: list[list[bytes]], *, suspends: bool, max_bytes: int) -> dict[str, Any]:
    heard: dict[str, list[Any]] = {}
    handlers = Handlers()

    def hear(params: v1.SessionNotification) -> None:
        heard.setdefault(params.session_id, []).append(params.update)

    async def hear_slowly(params: v1.SessionNotification) -> None:
        hear(params)
        await asyncio.sleep(0)

    async def read(request: v1.ReadTextFileRequest) -> v1.ReadTextFileResponse:
        heard.setdefault(request.session_id, []).append("read")
        return v1.ReadTextFileResponse("")

    handlers.on(v1.SESSION_UPDATE, hear_slowly if suspends else hear)
    handlers.on(v1.FS_READ_TEXT_FILE, read)
    script = Script(pieces)
    connection = Connection(script, "client", handlers, max_backlog_bytes=max_bytes)
    connection._receiver.edition = V1
    async with asyncio.timeout(limit(10)), connection:
        await connection.wait_closed()
    counts = connection.counts
    said = sorted(json.dumps(message, sort_keys=True) for message in map(_without_chance, script.said))
    return {
        # A request starts in its turn and then runs beside its lane: where it stands among later updates is chance.
        "heard": {key: [each for each in values if each != "read"] for key, values in heard.items()},
        "read": {key: values.count("read") for key, values in heard.items()},
        "counts": (counts.malformed, counts.unknown_notifications, counts.bad_notifications, counts.internal_errors),
        "strays": connection.stray_answers,
        "said": said,
    }


def _without_chance(message: dict[str, Any]) -> dict[str, Any]:
    if isinstance(message.get("error"), dict):
        message["error"].pop("data", None)
    return message


def cut(lines: list[bytes], ends: list[int]) -> list[list[bytes]]:
    pieces, start = [], 0
    for end in [*sorted({each % (len(lines) + 1) for each in ends}), len(lines)]:
        if end > start:
            pieces.append(lines[start:end])
            start = end
    return pieces


@settings(deadline=None)
@given(LINES, st.lists(st.integers(0, 40), max_size=4), st.booleans(), st.sampled_from([600, 4096, 1 << 20]))
def test_the_same_lines_mean_the_same_however_they_are_cut(
    lines: list[bytes],
    ends: list[int],
    suspends: bool,  # noqa: FBT001
    max_bytes: int,
) -> None:
    # Two open requests with one id are told apart by which was first: so each id once.
    lines = _with_ids_once(lines)

    async def compare() -> None:
        one_by_one = await heard_of([[each] for each in lines], suspends=suspends, max_bytes=1 << 20)
        in_pieces = await heard_of(cut(lines, ends), suspends=suspends, max_bytes=max_bytes)
        assert in_pieces == one_by_one

    asyncio.run(compare())


def _with_ids_once(lines: list[bytes]) -> list[bytes]:
    kept: list[bytes] = []
    for number, each in enumerate(lines):
        kept.append(each.replace(b'"id":', b'"id":%d' % (100 + number), 1) if b'"method":"fs/' in each else each)
    return kept
