"""Lines that are no messages, of a program that has not answered `initialize`."""

from __future__ import annotations

import asyncio

import pytest

from accord.cli import stray_output
from accord.cli.stray_output import StrayOutput
from accord.display import SafeText
from tests.limits import limit


async def test_a_line_is_reported_while_the_answer_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stray_output, "PATIENCE_SECONDS", 0.0)
    reported: asyncio.Queue[SafeText] = asyncio.Queue()
    output = StrayOutput(reported.put_nowait)
    output("in", b"{not json")
    async with asyncio.timeout(limit(10.0)):
        assert "{not json" in await reported.get()


async def test_nothing_is_reported_once_the_agent_has_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stray_output, "PATIENCE_SECONDS", 0.0)
    reported: list[SafeText] = []
    output = StrayOutput(reported.append)
    output("in", b"Welcome!")
    output.end()
    output("in", b"Debugger attached.")
    for _ in range(10):
        await asyncio.sleep(0)
    assert reported == []
    assert output.lines == ["Welcome!"]


@pytest.mark.parametrize(
    "text",
    [
        b'{"jsonrpc": "2.0", "method": "session/update", "params": {}}',
        b'[{"jsonrpc": "2.0", "method": "session/update"}]',
        b"\xe2\x94\x82  \xe2\x94\x82",
        b"",
    ],
)
async def test_messages_and_frames_of_a_screen_explain_nothing(text: bytes) -> None:
    output = StrayOutput()
    output("in", text)
    output("out", b"no message of ours")
    assert output.explanation == ""
