"""The log of messages: one line for each, without their content, and nothing at all where it is off."""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest

import accord
from accord.connection.message_log import MAX_OPEN, MessageLog

ROWS = [
    ("out", b'{"id":1,"method":"session/prompt","params":{"k":"SECRET"}}', "session/prompt id=1, 58 bytes"),
    ("in", b'{"method":"session/update","params":"SECRET"}', "session/update, 45 bytes"),
    ("in", b'{"id":"a","method":"fs/read_text_file","params":{}}', 'fs/read_text_file id="a", 51 bytes'),
    ("out", b'{"id":"a","result":"SECRET"}', 'result of fs/read_text_file id="a", 28 bytes, N ms'),
    ("in", b'{"id":1,"error":{"code":-1,"message":"SECRET"}}', "error -1 of session/prompt id=1, 47 bytes, N ms"),
    ("in", b'{"id":1,"result":{}}', "result of no request id=1, 20 bytes"),
    ("in", b'{"id":2,"error":"SECRET"}', "error without a code of no request id=2, 25 bytes"),
    ("in", b"SECRET", "no message, 6 bytes"),
    ("in", b'{"method":7}', "no message, 12 bytes"),
    ("in", b'[{"method":"SECRET"}]', "several messages at once, 21 bytes"),
]  # fmt: skip


def test_a_message_is_one_line_with_direction_method_id_size_and_time(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "accord.connection.message_log")
    observer = MessageLog("client")
    for direction, text, _ in ROWS:
        observer(direction, text)  # type: ignore[arg-type]
    lines = [re.sub(r"\d+ ms", "N ms", line) for line in caplog.messages]
    assert lines == [f"client {direction} {line}" for direction, _, line in ROWS]
    assert "SECRET" not in caplog.text


def test_requests_that_are_never_answered_take_a_bounded_room(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "accord.connection.message_log")
    observer = MessageLog("agent")
    for number in range(MAX_OPEN + 10):
        observer("in", b'{"id":%d,"method":"m"}' % number)
    assert len(observer._open) == MAX_OPEN
    observer("out", b'{"id":%d,"result":1}' % (MAX_OPEN + 9))
    assert caplog.messages[-1].startswith("agent out result of m id=")


async def echo(turn: accord.agent.Turn) -> None:
    await turn.say(turn.text)


async def _talk() -> tuple[Any, ...]:
    agent = accord.Agent("echo", store=None)
    agent.prompt(echo)
    async with accord.connect(agent) as remote:
        await (await remote.new_session("/")).prompt("SECRET")
        return remote.connection._sender.observers


async def test_a_connection_has_the_log_only_where_it_is_wanted(caplog: pytest.LogCaptureFixture) -> None:
    assert await _talk() == ()
    caplog.set_level(logging.DEBUG, "accord.connection.message_log")
    (observer,) = await _talk()
    assert isinstance(observer, MessageLog)
    assert "SECRET" not in "\n".join(
        record.getMessage() for record in caplog.records if record.name == "accord.connection.message_log"
    )
    assert any(line.startswith("client in result of session/prompt id=") for line in caplog.messages)
    assert any(line.startswith("agent out session/update, ") for line in caplog.messages)
