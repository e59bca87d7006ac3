"""`connect(trace=…)` and `open(trace=…)`: the wire of a connection in a file, and never at its cost."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.trace import TraceWriter
from tests.client.programs import RawAgent

IN_EVERY_EDITION = pytest.mark.parametrize("edition", ["1", "2", "2-june"])
NAMES = {"1": "v1", "2": "v2", "2-june": "v2_june"}

# Answers as an agent does, and leaves a line of rubbish, lines on stderr and an exit status of its own.
NOISY = """
import json, sys
print("Loaded cached credentials.", flush=True)
sys.stderr.write("warming up\\nAuthorization: Bearer abcdefghijklmnop\\n")
sys.stderr.flush()
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = {"protocolVersion": 1, "agentCapabilities": {}, "sessionId": "s1", "stopReason": "end_turn"}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
sys.exit(3)
"""


def records(path: Path, kind: str | None = None) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [record for record in found if kind in (None, record["type"])]


def methods(path: Path) -> list[tuple[str, str]]:
    """The sender and the method of each request and notification."""
    texts = [(record["from"], json.loads(record["raw"])) for record in records(path, "text")]
    return [(source, text["method"]) for source, text in texts if "method" in text]


@IN_EVERY_EDITION
async def test_every_text_of_a_conversation_is_recorded(tmp_path: Path, edition: Any) -> None:
    raw, file = RawAgent(tmp_path, edition=NAMES[edition]), tmp_path / "talk.jsonl"
    seen: list[tuple[str, bytes]] = []
    observers = [lambda direction, text: seen.append((direction, bytes(text)))]
    async with accord.connect(*raw.argv, edition=edition, trace=file, observers=observers) as agent:
        session = await agent.new_session(tmp_path)
        await session.prompt("hello")

    sender = {"out": "client", "in": "agent"}
    crossed = [(sender[direction], text.decode()) for direction, text in seen]
    assert [(record["from"], record["raw"]) for record in records(file, "text")] == crossed
    header, start = records(file)[:2]
    assert (header["format"], header["redacted"], header["command"]) == ("accord-trace", True, list(raw.argv))
    assert (start["type"], start["pid"]) == ("start", raw.pids[0])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_faulty_lines_stderr_and_exit_are_recorded(tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    async with accord.connect(sys.executable, "-c", NOISY, trace=file) as agent:
        await agent.new_session(tmp_path)

    (rubbish,) = [record for record in records(file, "text") if "fault" in record]
    assert (rubbish["raw"], rubbish["fault"]) == ("Loaded cached credentials.", "not-json")
    first, second = records(file, "stderr")
    assert first["raw"] == "warming up"
    assert second["redacted"]
    assert "abcdefghijklmnop" not in file.read_text(encoding="utf-8")
    (end,) = records(file, "end")
    assert (end["exit"], end["texts"], end["lost"]) == (3, len(records(file, "text")), 0)


async def test_a_restarted_agent_is_another_connection(tmp_path: Path) -> None:
    raw, file = RawAgent(tmp_path, edition="v1", session=["load"]), tmp_path / "talk.jsonl"
    async with accord.connect(*raw.argv, trace=file) as agent:
        session = await agent.new_session(tmp_path)
        with pytest.raises(accord.ConnectionLost):
            await session.prompt("kill")
        await session.prompt("again")

    assert [record["conn"] for record in records(file, "start")] == [1, 2]
    assert [record.get("signal") for record in records(file, "end")] == [9, None]


async def test_a_file_that_exists_is_not_touched(tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    file.write_text("mine")
    raw = RawAgent(tmp_path, edition="v1")
    async with accord.connect(*raw.argv, trace=file) as agent:
        await agent.new_session(tmp_path)

    assert file.read_text() == "mine"
    assert ("client", "session/new") in methods(tmp_path / "talk-2.jsonl")


async def test_a_path_without_a_folder_is_an_error_of_the_start(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path, edition="v1")
    agent = accord.connect(*raw.argv, trace=tmp_path / "missing" / "talk.jsonl")
    with pytest.raises(FileNotFoundError):
        await agent.open()
    assert raw.starts == 0


async def test_a_writer_is_used_as_it_is_and_stays_open(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path, edition="v1")
    writer = TraceWriter(tmp_path / "talk.jsonl", raw=True)
    for _ in range(2):
        async with accord.connect(*raw.argv, trace=writer) as agent:
            await agent.new_session(tmp_path)
    writer.note("still open")
    writer.close()

    assert not records(writer.path, "header")[0]["redacted"]
    assert len(records(writer.path, "start")) == 2
    assert records(writer.path)[-1]["type"] == "note"


async def test_an_agent_in_this_process_is_recorded_too(tmp_path: Path) -> None:
    agent = accord.Agent("here", version="1", store=None)

    @agent.prompt
    async def answer(turn: accord.agent.Turn) -> None:
        await turn.say("done")

    async with accord.connect(agent, trace=tmp_path / "talk.jsonl") as remote:
        session = await remote.new_session(tmp_path)
        await session.prompt("hello")

    assert ("agent", "session/update") in methods(tmp_path / "talk.jsonl")
    assert len(records(tmp_path / "talk.jsonl", "end")) == 1


def test_a_blocking_session_is_recorded(tmp_path: Path) -> None:
    raw, file = RawAgent(tmp_path, edition="v1"), tmp_path / "talk.jsonl"
    with accord.open(*raw.argv, cwd=tmp_path, trace=file) as session:
        session.prompt("hello")
        assert ("client", "session/prompt") in methods(file), "while it runs"

    assert records(file)[-1]["type"] == "end"


# --- a recorder that fails


async def test_a_recorder_that_fails_harms_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise MemoryError

    raw, writer = RawAgent(tmp_path, edition="v1"), TraceWriter(tmp_path / "talk.jsonl")
    monkeypatch.setattr(writer, "text", fail)
    monkeypatch.setattr(writer, "end", fail)
    async with accord.connect(*raw.argv, trace=writer) as agent:
        session = await agent.new_session(tmp_path)
        turn = await session.prompt("hello")

    assert turn.text == "you said hello"
    assert writer.lost > 4
    assert len([each for each in caplog.records if each.name == "accord.trace"]) == 1


async def test_a_disk_that_fails_harms_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    raw, writer = RawAgent(tmp_path, edition="v1"), TraceWriter(tmp_path / "talk.jsonl")
    async with accord.connect(*raw.argv, trace=writer) as agent:
        session = await agent.new_session(tmp_path)
        # Writes fail from here on, as on a full disk.
        other = os.open("/dev/full", os.O_WRONLY)
        os.dup2(other, writer._file)
        os.close(other)
        turn = await session.prompt("hello")

    assert turn.text == "you said hello"
    assert writer.lost > 0
    (warning,) = [each.message for each in caplog.records if each.name == "accord.trace"]
    assert warning.startswith(f"{writer.path} cannot be written: ")
