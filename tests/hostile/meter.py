"""Runs the command as often as it is asked to, and reports the process, its exit status and the most memory it had.

Each run is a fork of this process, which has what the command imports and nothing else: a fork begins with the memory
of the process that it is made of.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import socket
import subprocess
import sys
from typing import Any, NamedTuple

from tests.conftest import ROOT
from tests.forked import ForkedProgram, accord_command
from tests.limits import limit

__all__ = ["Run", "close", "ended", "start"]

ANSWER_BYTES = 4096
REQUEST_BYTES = 1 << 20
# The time that it takes is seen at its end, as that of one test.
MOST_RUNS = 16
_started: list[str] = []


class Run(NamedTuple):
    """How a run ended."""

    status: int
    memory_kib: int


def start(words: list[str], files: tuple[int, int], cwd: str, env: dict[str, str]) -> int:
    """Run the command with these files as its stdin, and as its stdout and stderr; returns its process."""
    if len(_started) == MOST_RUNS:
        close()
    _started.append(words[0])
    asked = json.dumps({"words": words, "cwd": cwd, "env": env})
    socket.send_fds(_meter(), [asked.encode()], list(files))
    return int(_meter().recv(ANSWER_BYTES))


def ended(seconds: float) -> Run:
    """Wait for the end of the command that was started last.

    Raises:
        TimeoutError: It did not end.
    """
    _meter().settimeout(limit(seconds))
    return Run(*json.loads(_meter().recv(ANSWER_BYTES)))


def close() -> None:
    """End it, if it was started."""
    if _started:
        process, client = _running()
        _running.cache_clear()
        _started.clear()
        client.close()
        process.wait(limit(10))


def _meter() -> socket.socket:
    return _running()[1]


@functools.cache
def _running() -> tuple[subprocess.Popen[bytes], socket.socket]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen([sys.executable, "-m", "tests.hostile.meter"], stdin=theirs.fileno(), cwd=ROOT)
    return process, ours


def main() -> None:
    """Run what is asked for, one after the other."""
    client = socket.socket(fileno=0)
    command = accord_command()
    while True:
        data, files, _, _ = socket.recv_fds(client, REQUEST_BYTES, 2)
        if not data:
            return
        asked: Any = json.loads(data)
        importlib.import_module(f"accord.cli.verbs.{asked['words'][0]}")
        stdin, stdout = files
        program = ForkedProgram(
            command, ["accord", *asked["words"]], stdin=stdin, stdout=stdout, stderr=stdout,
            cwd=asked["cwd"], env=asked["env"], start_new_session=True,
        )  # fmt: skip
        for file in files:
            os.close(file)
        client.send(str(program.pid).encode())
        _, status, usage = os.wait4(program.pid, 0)
        program.returncode = os.waitstatus_to_exitcode(status)
        client.send(json.dumps([program.returncode & 0xFF, usage.ru_maxrss]).encode())


if __name__ == "__main__":
    main()
