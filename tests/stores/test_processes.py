"""Processes that die, share a file, have no space or may not write."""

from __future__ import annotations

import asyncio
import os
import random
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from accord.session.content import Text
from accord.session.event import Event, MessageChunk
from tests.forked import ForkedProgram
from tests.limits import limit
from tests.stores import writer
from tests.stores.places import open_place

PATIENCE_SECONDS = limit(60.0)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes, limits and permissions as POSIX has them")


class Process:
    """A child that runs `writer.py` or another program; every wait for it is bounded.

    It is a fork, so this process must not have the same file open: SQLite forbids that.
    """

    def __init__(self, *arguments: object, program: Callable[[], int] = writer.main) -> None:
        command = ["program", *map(str, arguments)]
        self.child = ForkedProgram(program, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self._rest = b""

    def line(self) -> str | None:
        """The next line it says, or None when it has nothing more to say."""
        assert self.child.stdout is not None
        deadline = time.monotonic() + PATIENCE_SECONDS
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self.child.stdout], [], [], max(deadline - time.monotonic(), 0))
            assert ready, "the child says nothing"
            chunk = os.read(self.child.stdout.fileno(), 65536)
            if not chunk:
                return None
            self._rest += chunk
        line, self._rest = self._rest.split(b"\n", 1)
        return line.decode()

    def lines(self) -> list[str]:
        return list(iter(self.line, None))

    def kill(self) -> None:
        self.child.kill()

    def end(self) -> int:
        for stream in (self.child.stdin, self.child.stdout):
            if stream is not None:
                stream.close()
        return self.child.wait(PATIENCE_SECONDS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


async def log_of(place: object) -> list[str]:
    store = open_place(str(place))
    events = await store.read("a")
    await store.close()
    return [said(event) for event in events]


def said(event: Event) -> str:
    assert isinstance(event, MessageChunk)
    assert isinstance(event.block, Text)
    return event.block.text


def survive(path: object, rounds: int, seed: int) -> None:
    """Kill a writer again and again; after each death all it had told must be in the log, in order."""
    chance = random.Random(seed)
    for number in range(rounds):
        process = Process("stream", path, chance.random())
        positions = [process.line() for _ in range(chance.randint(1, 40))]
        # Somewhere within the next group or two, wherever the writer happens to be.
        for _ in range(chance.randint(0, 20_000)):
            pass
        process.kill()
        positions += process.lines()
        process.end()
        reported = [int(position) for position in positions if position is not None]
        log = asyncio.run(log_of(path))
        assert len(log) >= reported[-1], (
            f"round {number} (seed {seed}): {reported[-1]} events were told, {len(log)} are kept"
        )
        assert [text.split()[1] for text in log] == list(map(str, range(len(log))))


def test_what_was_committed_survives_ten_kills(path: Path) -> None:
    survive(path, rounds=10, seed=random.randrange(10**6))


@pytest.mark.every
@pytest.mark.timeout(600)
def test_what_was_committed_survives_a_hundred_kills(path: Path) -> None:
    survive(path, rounds=100, seed=random.randrange(10**6))


def test_processes_that_share_a_new_file_never_collide(path: Path) -> None:
    share(path, 100)


def share(path: object, count: int) -> None:
    """Let four processes write to one session at once; each event has a position of its own, in order."""
    names = [f"writer{number}" for number in range(4)]
    processes = [Process("share", path, name, count) for name in names]
    assert [process.line() for process in processes] == ["ready"] * len(names)
    for process in processes:
        assert process.child.stdin is not None
        process.child.stdin.write(b"go\n")
    positions = [list(map(int, process.lines())) for process in processes]
    assert [process.end() for process in processes] == [0] * len(names)
    assert sorted(position for own in positions for position in own) == list(range(1, count * len(names) + 1))
    log = asyncio.run(log_of(path))
    for name, own in zip(names, positions, strict=True):
        assert [log[position - 1] for position in own] == [f"{name} {number}" for number in range(count)]


def test_a_file_that_may_not_grow_keeps_what_it_has_and_goes_on_when_it_may(path: Path) -> None:
    process = Process("full", path)
    reported = dict(line.split() for line in process.lines())
    assert process.end() == 0
    kept = int(reported["kept"])
    assert kept > 0
    assert reported["reason"] in {"full", "failed"}
    assert int(reported["read"]) == kept
    assert int(reported["position"]) == kept + 1
    log = asyncio.run(log_of(path))
    assert [text.split()[1] for text in log] == list(map(str, range(kept + 1)))


@pytest.fixture
def foreign_folder() -> Iterator[Path]:
    """A folder that others may look into but not change, outside of what only its owner may enter."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield folder
        folder.chmod(0o755)


def test_a_folder_that_may_not_be_written_is_read_only(foreign_folder: Path) -> None:
    path = foreign_folder / "sessions.db"
    foreign_folder.chmod(0o555)
    process = Process("locked", path)
    assert process.lines() == [f"read_only {path}"] * 2
    assert process.end() == 0


@pytest.mark.parametrize("schema", [1, 2])
def test_a_file_that_may_not_be_written_is_read_and_not_written(foreign_folder: Path, schema: int) -> None:
    path = foreign_folder / "sessions.db"
    shutil.copyfile(Path(__file__).with_name("fixtures") / f"sessions-{schema}.sqlite", path)
    path.chmod(0o444)
    foreign_folder.chmod(0o555)
    before = path.read_bytes()
    process = Process("unwritable", path, "talk")
    assert process.lines() == ["3 sessions, 15 events, state True", f"read_only {path}", f"read_only {path}"]
    assert process.end() == 0
    assert path.read_bytes() == before
    assert list(foreign_folder.iterdir()) == [path]
