"""Clients that say nonsense are judged like others: nothing of it reaches who asked for the check."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from accord.check.client import check_client
from accord.check.rule import EditionName, Options
from tests.client.clock import timeless
from tests.limits import limit

EDITIONS: tuple[EditionName, ...] = ("v1", "v2_june", "v2")
NONSENSE: tuple[Any, ...] = (
    {"jsonrpc": "2.0", "id": [1], "method": "initialize", "params": [1]},
    {"jsonrpc": "2.0", "id": {}, "method": "initialize", "params": None},
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": [], "capabilities": 7}},
    {"jsonrpc": "2.0", "id": 2, "method": ["session/new"], "params": {}},
    {"jsonrpc": "2.0", "id": 3, "method": "session/new", "params": {"cwd": {}, "mcpServers": [1, {"name": []}]}},
    {"jsonrpc": "2.0", "id": 4, "method": "session/prompt", "params": {"sessionId": [], "prompt": {}}},
    {
        "jsonrpc": "2.0",
        "id": 5,
        "method": "session/prompt",
        "params": {"sessionId": "session-1-1", "prompt": [1, None]},
    },
    {"jsonrpc": "2.0", "id": 6, "method": "session/set_config_option", "params": {"value": {}, "configId": []}},
    {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": {}}},
    {"jsonrpc": "2.0", "method": "session/cancel", "params": [1]},
    {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": {}}},
    {"jsonrpc": "2.0", "id": [], "result": 5},
    {"jsonrpc": "2.0", "id": 1, "error": "no"},
    [],
    [1, [2], {"method": 3}],
    None,
    True,
    "text",
    1e400,
)


class Babbler:
    """Says all of it, and answers everything with the same."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    async def serve(self, lines: AsyncIterator[bytes], write: Callable[[bytes], None]) -> None:
        for each in NONSENSE:
            write(json.dumps(each).encode() + b"\n")
        write(b"\xff\xfe\n" + b"[" * 20_000 + b"\n")
        async for line in lines:
            message = json.loads(line) if line[:1] == b"{" and line[-1:] == b"}" else {}
            if "id" in message and "method" in message:
                write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **self._answer}).encode() + b"\n")


ANSWERS: tuple[dict[str, Any], ...] = (
    {"result": None},
    {"result": []},
    {"result": {"outcome": []}},
    {"result": {"outcome": {"outcome": "selected", "optionId": {}}, "action": [], "terminalId": "x", "output": 5}},
    {"error": "no"},
    {"error": {"code": {}, "message": 5}},
    {},
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("answer", ANSWERS, ids=json.dumps)
@timeless
async def test_nonsense_is_judged(edition: EditionName, answer: dict[str, Any]) -> None:
    options = Options(
        edition=edition, timeout_seconds=0.3, turn_seconds=0.3, start_seconds=0.3, grace_seconds=0.1, quiet_seconds=0.05
    )
    async with asyncio.timeout(limit(60)):
        report = await check_client(lambda: Babbler(answer), options)

    assert not report.conformant
    assert {outcome.status for outcome in report.outcomes} >= {"FAIL"}
