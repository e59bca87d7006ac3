"""`accord serve --log` and `asgi(trace=…)`: all connections in one file, with the names of their principals."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.serve import TokenFile
from accord.trace import TraceWriter
from tests.serve.in_process import running
from tests.serve.raw_clients import WebSocketClient
from tests.serve.server_process import serving

# An agent without any library, with a line on stderr and an exit status of its own.
PROGRAM = """
import json, sys
sys.stderr.write("warming up\\n")
for line in sys.stdin:
    request = json.loads(line)
    result = {"protocolVersion": 1, "agentCapabilities": {}, "sessionId": "s1", "stopReason": "end_turn"}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
sys.exit(3)
"""


def records(path: Path, kind: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [record for record in found if record["type"] == kind]


async def test_each_connection_has_a_number_and_the_name_of_its_principal(tmp_path: Path) -> None:
    tokens, log = tmp_path / "tokens.json", tmp_path / "talk.jsonl"
    ada, bob = TokenFile.add(tokens, "ada"), TokenFile.add(tokens, "bob")
    arguments = ("served_agent:agent", "--token-file", str(tokens), "--log", str(log))
    async with serving(tmp_path, *arguments, token="-") as server:  # noqa: S106 - there is a file
        async with WebSocketClient(server.websocket, ada) as first:
            session = await first.new_session(str(tmp_path / "root"))
            await first.prompt(session, "hello")
        async with WebSocketClient(server.websocket, bob) as second:
            await second.new_session(str(tmp_path / "root"))

    notes = [(record["conn"], record["text"]) for record in records(log, "note")]
    assert notes == [(1, "a connection of ada"), (2, "a connection of bob")]
    texts = [(record["conn"], record["from"], json.loads(record["raw"])) for record in records(log, "text")]
    prompts = [(connection, source) for connection, source, text in texts if text.get("method") == "session/prompt"]
    assert prompts == [(1, "client")]
    assert (1, "agent") in [(connection, source) for connection, source, _ in texts]
    assert [record["conn"] for record in records(log, "end")] == [1, 2]
    written = log.read_text(encoding="utf-8")
    assert ada not in written
    assert bob not in written
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


async def test_a_program_is_recorded_with_its_stderr_and_its_exit(tmp_path: Path) -> None:
    log = tmp_path / "talk.jsonl"
    application = accord.serve.program_application(
        [sys.executable, "-c", PROGRAM], authenticate=accord.serve.anyone, root=tmp_path, trace=log
    )
    async with running(application) as port, WebSocketClient(f"ws://127.0.0.1:{port}/acp", None) as client:
        await client.new_session(str(tmp_path))
    await application.close()

    assert [record["raw"] for record in records(log, "stderr")] == ["warming up"]
    assert len(records(log, "start")) == 1
    assert [record["exit"] for record in records(log, "end")] == [3]


async def test_a_recorder_that_fails_harms_no_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise MemoryError

    writer = TraceWriter(tmp_path / "talk.jsonl")
    monkeypatch.setattr(writer, "text", fail)
    monkeypatch.setattr(writer, "note", fail)
    application = accord.serve.program_application(
        [sys.executable, "-c", PROGRAM], authenticate=accord.serve.anyone, root=tmp_path, trace=writer
    )
    async with running(application) as port, WebSocketClient(f"ws://127.0.0.1:{port}/acp", None) as client:
        assert await client.new_session(str(tmp_path)) == "s1"
    await application.close()
    writer.close()

    assert writer.lost > 2


def test_a_file_that_cannot_be_made_is_an_error_of_the_start(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        accord.serve.program_application(
            ["true"], authenticate=accord.serve.anyone, trace=tmp_path / "nowhere" / "talk.jsonl"
        )
