"""The chat on a real terminal: it comes up, takes keys, and leaves the terminal and no process behind."""

from __future__ import annotations

import contextlib
import os
import select
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.cli.chat.program import chat
from tests.forked import ForkedProgram, accord_command
from tests.limits import limit

pty = pytest.importorskip("pty", reason="this system has no terminals of that kind")
fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")

WAIT_SECONDS = limit(30.0)


class Screen:
    """The other end of the terminal."""

    def __init__(self, process: subprocess.Popen[Any], descriptor: int) -> None:
        self._process = process
        self._descriptor = descriptor
        self.printed = b""

    def type(self, keys: str) -> None:
        os.write(self._descriptor, keys.encode())

    def read_until(self, words: bytes) -> None:
        """Read until words come, or the program ends."""
        before = len(self.printed)
        deadline = time.monotonic() + WAIT_SECONDS
        while words not in self.printed[before:]:
            left = deadline - time.monotonic()
            assert left > 0, f"{words!r} did not come: {self.printed[-2000:]!r}"
            if not select.select([self._descriptor], [], [], left)[0] or not self._read():
                return

    def _read(self) -> bool:
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:
            return False  # the program has closed its end
        self.printed += data
        return bool(data)

    def exit_status(self) -> int:
        self.read_until(b"\0never\0")
        return self._process.wait(WAIT_SECONDS)


def chat_process(note: Path, **options: Any) -> ForkedProgram:
    accord_command()
    return ForkedProgram(lambda: chat(str(note)), ["chat"], **options)


@contextlib.contextmanager
def terminal(start: Callable[..., subprocess.Popen[Any]], columns: int = 80, rows: int = 24) -> Iterator[Screen]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    env = {**os.environ, "TERM": "xterm-256color"}
    process = start(stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True)
    os.close(theirs)
    try:
        yield Screen(process, ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("leave", ["\x11", "\x03\x03"])
def test_a_chat_on_a_terminal_is_left_by_a_key_and_nothing_stays(tmp_path: Path, leave: str) -> None:
    note = tmp_path / "pid"
    with terminal(partial(chat_process, note)) as screen:
        screen.read_until(b"ready")
        screen.type("hello\r")
        screen.read_until(b"You said: hello")
        screen.type(leave)
        assert screen.exit_status() == 0
    # The other screen of the terminal is back, the cursor seen, the mouse its own.
    assert screen.printed.rfind(b"\x1b[?1049l") > screen.printed.rfind(b"\x1b[?1049h")
    assert b"\x1b[?25h" in screen.printed[screen.printed.rfind(b"\x1b[?1049l") - 100 :]
    assert b"Traceback" not in screen.printed
    assert not is_alive(int(note.read_text()))


def test_a_chat_whose_terminal_is_gone_ends_with_its_agent(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color"}
    # In a session of its own, without a controlling terminal: nobody sends it SIGHUP.
    process = chat_process(note, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True)
    os.close(theirs)
    try:
        screen = Screen(process, ours)
        screen.read_until(b"ready")
        os.close(ours)
        process.wait(WAIT_SECONDS)
    finally:
        process.kill()
        process.wait()
    deadline = time.monotonic() + WAIT_SECONDS
    while is_alive(int(note.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.05)
