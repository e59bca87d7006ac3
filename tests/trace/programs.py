"""Programs on both sides of a tap, and the tap between them."""

from __future__ import annotations

import functools
import importlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Self

from accord.trace import TraceRecord, open_trace
from tests.forked import ForkedProgram, accord_command
from tests.limits import limit

ROOT = Path(__file__).parents[2]
SECONDS = limit(40.0)
TAP = (sys.executable, "-m", "accord", "tap")
RELAY = (sys.executable, str(Path(__file__).with_name("counting_relay.py")))
NOISE = (sys.executable, str(Path(__file__).with_name("noise.py")))


class Tapped:
    """A tap that runs, with its client's ends of the pipes."""

    def __init__(
        self, command: Sequence[str], *options: str, env: dict[str, str] | None = None, max_file_bytes: int = 0
    ) -> None:
        self.process = ForkedProgram(
            tap_command(),
            ["accord", "tap", *options, "--", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, **(env or {})},
            preexec_fn=functools.partial(_limit_files, max_file_bytes) if max_file_bytes else None,
        )
        self.stdin = _stream(self.process.stdin)
        self.stdout = _stream(self.process.stdout)
        self.stderr = _stream(self.process.stderr)
        self._held = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(SECONDS)
        for stream in (self.stdin, self.stdout, self.stderr):
            stream.close()

    def send(self, line: bytes) -> None:
        self.stdin.write(line + b"\n")

    def line(self) -> bytes:
        """The next line of stdout, without its end; bounded."""
        deadline = time.monotonic() + SECONDS
        while b"\n" not in self._held:
            ready, _, _ = select.select([self.stdout], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "nothing came"
            data = os.read(self.stdout.fileno(), 65536)
            assert data, "the stream has ended"
            self._held += data
        line, _, self._held = self._held.partition(b"\n")
        return line

    def end(self) -> int:
        """The end of our messages; the exit status."""
        self.stdin.close()
        return self.process.wait(SECONDS)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(SECONDS)


def _limit_files(max_bytes: int) -> None:
    import resource  # noqa: PLC0415 - not everywhere

    resource.setrlimit(resource.RLIMIT_FSIZE, (max_bytes, max_bytes))
    # Python keeps bytecode that is cut by the limit, and fails to import it from then on.
    sys.dont_write_bytecode = True


@functools.cache
def tap_command() -> Callable[[], int]:
    """The command with what a tap imports as it needs it."""
    command = accord_command()
    for name in ("accord.cli.verbs.tap", "accord.trace.tap", "accord.trace.recording", "accord.trace.new_file"):
        importlib.import_module(name)
    return command


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def records_of(path: Path) -> list[TraceRecord]:
    return list(open_trace(path))


def texts_of(path: Path, source: str) -> list[bytes]:
    """The recorded texts of one side."""
    return [record.raw for record in open_trace(path).texts() if record.source == source]


def wait_until_gone(pid: int) -> None:
    """Wait until a process has ended; fails where it does not."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
        except OSError:
            return
        if state == b"Z":
            return
        select.select([], [], [], 0.02)
    raise AssertionError(f"{pid} is still there")
