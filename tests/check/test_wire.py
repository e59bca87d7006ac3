"""Our end of the pipes: everything kept, every wait bounded, and nothing left of the program."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from accord.check.engine.evidence import RecordBudget
from accord.check.engine.wire import ProgramEnded, RecordedWire, Refusal, Silence
from accord.errors import ConnectFailed
from tests.limits import limit

pytest.importorskip("termios")


class Echo:
    """A peer that says every line again."""

    async def serve(self, lines: AsyncIterator[bytes], write: Callable[[bytes], None]) -> None:
        async for line in lines:
            write(line[:2])
            write(line[2:] + b"\n")
        write(b"unended")


def program(code: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(code)]


async def test_every_line_is_kept_as_it_came_in_its_place() -> None:
    wire = await RecordedWire.open("x", Echo, {}, 5.0, {})
    for line in (b"no JSON", b"", b"\xff\xfe", b"[1]\r"):
        wire.send(line)
    await wire.until(lambda entry: entry.message == [1])
    record = await wire.shut(1.0)
    assert [entry.raw for entry in record.received()] == [b"no JSON", b"", b"\xff\xfe", b"[1]\r"]
    assert [entry.place for entry in record.entries] == list(range(8))
    assert (record.unended, record.ended_by, record.status) == (b"unended", "closed stdin", 0)


async def test_requests_of_the_program_are_answered_refused_or_left() -> None:
    replies = {"a": lambda params: {"got": params}, "b": lambda _: Refusal(5, "no", {"x": 1}), "c": lambda _: None}
    wire = await RecordedWire.open("x", Echo, {}, 5.0, replies)
    for id_, method in enumerate(("a", "b", "c", "d")):
        wire.ask(method, 7, id_)
    await wire.until(lambda entry: b'"d"' in entry.raw)
    said = [entry.message for entry in wire.entries if entry.sent and "method" not in entry.message]
    await wire.shut(1.0)
    assert said == [
        {"jsonrpc": "2.0", "id": 0, "result": {"got": 7}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 5, "message": "no", "data": {"x": 1}}},
        {"jsonrpc": "2.0", "id": 3, "error": {"code": -32601, "message": "Method not found"}},
    ]


async def test_waiting_ends_in_time_and_at_once_when_the_program_is_gone() -> None:
    wire = await RecordedWire.open(
        "x", program("import sys; sys.stdin.readline(); print('bye', file=sys.stderr)"), {}, 60.0, {}
    )
    with pytest.raises(Silence) as silence:
        await wire.until(lambda _: True, seconds=0.05)
    assert not isinstance(silence.value, ProgramEnded)
    wire.send(b"go")
    async with asyncio.timeout(limit(10)):
        with pytest.raises(ProgramEnded):
            await wire.answer(1)
    record = await wire.shut(1.0)
    assert (record.ended_by, record.status, record.stderr) == ("itself", 0, b"bye\n")


@pytest.mark.parametrize(
    ("code", "ended_by"),
    [
        ("import sys; sys.stdin.read()", "closed stdin"),
        ("import time; time.sleep(60)", "SIGTERM"),
        (
            "import signal, time; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)",
            "SIGKILL",
        ),
    ],
)
async def test_a_program_is_ended_by_the_gentlest_way_that_works(
    code: str, ended_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.check.engine.wire.TERMINATE_SECONDS", 0.3)
    wire = await RecordedWire.open("x", program(code), {}, 10.0, {})
    if ended_by == "SIGKILL":
        await wire.until(lambda entry: entry.raw == b"ready")
    record = await wire.shut(5.0 if ended_by == "closed stdin" else 0.2)
    assert record.ended_by == ended_by


async def test_what_is_said_while_it_ends_is_still_heard() -> None:
    wire = await RecordedWire.open("x", program("import sys; sys.stdin.read(); print('late' * 50000)"), {}, 10.0, {})
    record = await wire.shut(5.0)
    assert [len(entry.raw) for entry in record.received()] == [200_000]


@pytest.mark.parametrize("end", [b"\n", b""], ids=["lines", "one line"])
async def test_a_program_that_never_stops_talking_is_heard_so_far_and_not_further(end: bytes) -> None:
    budget = RecordBudget(total_bytes=1_500_000, start_bytes=1_000_000)
    code = f"import os\nwhile True: os.write(1, b'x' * 10_000 + {end!r})"
    wire = await RecordedWire.open("x", program(code), {}, 30.0, {}, budget)
    with pytest.raises(ProgramEnded):
        await wire.answer(1)
    record = await wire.shut(0.1)
    assert sum(len(entry.raw) for entry in record.entries) + len(record.unended) <= 1_000_000
    assert wire.overflowed


@pytest.mark.parametrize("end", ["", "\\n"], ids=["one line", "lines"])
async def test_a_program_that_says_much_and_then_pauses_does_not_write_without_end(
    end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.check.engine.wire.PAUSE_SECONDS", limit(0.2))
    budget = RecordBudget(total_bytes=1_500_000, start_bytes=1_000_000)
    code = f"import sys; sys.stdin.readline(); print('{'x' * 1000}{end}' * 3000, flush=True); sys.stdin.read()"
    wire = await RecordedWire.open("x", program(code), {}, 30.0, {}, budget)
    with pytest.raises(ProgramEnded):
        await wire.answer(wire.ask("session/new", {}))
    record = await wire.shut(5.0)
    assert (wire.overflowed, wire.is_endless, record.unended, record.ended_by) == (True, False, b"", "closed stdin")


async def test_a_command_that_is_not_there_is_said_so() -> None:
    with pytest.raises(ConnectFailed):
        await RecordedWire.open("x", ["/no/such/program"], {}, 1.0, {})


def test_nothing_of_the_program_survives_a_judge_that_is_killed(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    agent = tmp_path / "agent.py"
    agent.write_text(
        textwrap.dedent(f"""
        import os, subprocess, sys, time
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
        with open({str(pids)!r}, "a") as file:
            file.write(f"{{os.getpid()}}\\n{{child.pid}}\\n")
        time.sleep(60)
        """)
    )
    judge = subprocess.Popen(
        [sys.executable, "-m", "accord", "check", "--edition", "1", "--", sys.executable, str(agent)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 30
    while not (pids.exists() and pids.read_text().count("\n") >= 2):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    judge.send_signal(signal.SIGKILL)
    judge.wait()
    left = {int(line) for line in pids.read_text().split()}
    while any(_lives(pid) for pid in left):
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(0.02)


def _lives(pid: int) -> bool:
    try:
        # One that nobody has waited for yet is dead all the same.
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
