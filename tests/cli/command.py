"""Runs the real command for the tests of this folder: here, as a process on pipes, or on a terminal of its own."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import logging
import os
import select
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from tests.forked import ForkedProgram, accord_command, forked_python, status_of
from tests.limits import limit

SCRIPTS = Path(__file__).with_name("scripts.py")
SECONDS = limit(40.0)


@dataclass(frozen=True)
class Result:
    """What one run gave."""

    status: int
    stdout: str
    stderr: str

    @property
    def records(self) -> list[dict[str, Any]]:
        """The lines of stdout as JSON."""
        return [json.loads(line) for line in self.stdout.splitlines()]

    def of_type(self, type_: str) -> list[dict[str, Any]]:
        """The records of a type."""
        return [record for record in self.records if record.get("type") == type_]


def scripted(name: str, *options: str) -> list[str]:
    """The words that name a scripted agent at the end of a line."""
    # As `accord.testing.command_of` has it; the command of a test forks it (tests/forked.py).
    return ["--", sys.executable, "-P", "-m", "accord.testing.program", f"{SCRIPTS}:{name}", *options]


class Accord:
    """The command in a directory and a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.cwd = folder / "work"
        self.home = folder / "home"
        self.cwd.mkdir()
        self.home.mkdir()

    @property
    def env(self) -> dict[str, str]:
        """The environment: this machine's, without what people set for themselves."""
        left_out = ("XDG_", "NO_COLOR", "FORCE_COLOR", "ACCORD_", "COLUMNS", "LINES")
        kept = {
            name: value
            for name, value in os.environ.items()
            if name == "ACCORD_TIME_SCALE" or not name.startswith(left_out)
        }
        return {**kept, "HOME": str(self.home), "TERM": "xterm-256color", "PYTHONUTF8": "1"}

    @property
    def config(self) -> Path:
        """The user's acp.json."""
        path = self.home / ".config" / "accord" / "acp.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    @property
    def argv(self) -> list[str]:
        # As the installed script, which does not import from the directory.
        return [sys.executable, "-P", "-m", "accord"]

    def start(self, *words: str, **options: Any) -> ForkedProgram:
        """Start it, with the options of `subprocess.Popen`."""
        if "chat" in words:
            # Once for all the forks.
            importlib.import_module("accord.cli.chat.app")
        return ForkedProgram(accord_command(), ["accord", *words], **{"cwd": self.cwd, "env": self.env, **options})

    def __call__(self, *words: str, stdin: str | bytes = b"", env: Mapping[str, str] | None = None) -> Result:
        """Run it to its end in this process, with streams in memory; the agents that it starts are processes.

        A test bounds it. Where a stream, a signal or the end of a process is the subject, `start` it.
        """
        data = stdin.encode() if isinstance(stdin, str) else stdin
        with _streams(data) as (stdout, stderr), _surroundings(self.cwd, self.env if env is None else env):
            sys.argv = ["accord", *words]
            status = status_of(accord_command())
            return Result(status, stdout.text, stderr.text)

    def on_pipes(self, *words: str, **options: Any) -> Result:
        """Run it to its end as a process of its own, with the options of `subprocess.Popen`."""
        return self.end_of(self.start(*words, **{"stdin": PIPE, "stdout": PIPE, "stderr": PIPE, **options}))

    def end_of(self, started: subprocess.Popen[bytes], stdin: bytes = b"", seconds: float = SECONDS) -> Result:
        """What it gave, when it has ended."""
        with started as process:
            try:
                stdout, stderr = process.communicate(stdin, timeout=seconds)
            except BaseException:
                process.kill()
                raise
        return Result(process.returncode, (stdout or b"").decode(), (stderr or b"").decode())

    @contextlib.contextmanager
    def terminal(self, *words: str, columns: int = 0, **env: str) -> Iterator[Screen]:
        """Run it on a terminal, of unknown width unless given; when the block is left it is gone."""
        screen = Screen(words, self.cwd, {**self.env, **env}, columns, self.start)
        try:
            yield screen
        finally:
            screen.close()


class _Output(io.TextIOWrapper):
    """A standard stream in memory."""

    def __init__(self) -> None:
        self._bytes = io.BytesIO()
        super().__init__(self._bytes, encoding="utf-8")

    @property
    def text(self) -> str:
        """What was written."""
        self.flush()
        return self._bytes.getvalue().decode()


@contextlib.contextmanager
def _streams(data: bytes) -> Iterator[tuple[_Output, _Output]]:
    before = sys.stdin, sys.stdout, sys.stderr
    stdout, stderr = _Output(), _Output()
    sys.stdin = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="surrogateescape")
    sys.stdout, sys.stderr = stdout, stderr
    try:
        yield stdout, stderr
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


@contextlib.contextmanager
def _surroundings(cwd: Path, env: Mapping[str, str]) -> Iterator[None]:
    """The directory and the environment of the command; what it changes in this process is as it was afterwards."""
    folder, environment, argv, hook = Path.cwd(), dict(os.environ), sys.argv, sys.excepthook
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    os.chdir(cwd)
    _become(env)
    root.handlers = []
    root.setLevel(logging.WARNING)
    try:
        with forked_python(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        root.handlers = handlers
        root.setLevel(level)
        sys.argv, sys.excepthook = argv, hook
        _become(environment)
        os.chdir(folder)


def _become(environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)


class Screen:
    """A terminal with a program on it, started by `start(*argv)`. Every wait is bounded."""

    def __init__(
        self,
        argv: Sequence[str],
        cwd: Path,
        env: dict[str, str],
        columns: int = 0,
        start: Callable[..., subprocess.Popen[bytes]] | None = None,
    ) -> None:
        pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
        self._master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24 if columns else 0, columns))
        self._process = (start or _execute)(
            *argv, stdin=slave, stdout=slave, stderr=slave, cwd=cwd, env=env, start_new_session=True,
            preexec_fn=_take_terminal,  # before exec, so that Ctrl+C reaches it as from a keyboard
        )  # fmt: skip
        os.close(slave)
        self.text = ""

    def expect(self, wanted: str, seconds: float = SECONDS) -> str:
        """Wait until something stands on the screen, behind what was waited for before; gives all up to it."""
        deadline = time.monotonic() + seconds
        while wanted not in self.text:
            if not self._read(deadline):
                pytest.fail(f"{wanted!r} did not come; there is: {self.text[-500:]!r}")
        before, _, self.text = self.text.partition(wanted)
        return before + wanted

    def rest(self, seconds: float = SECONDS) -> str:
        """Wait for the end; gives what is left."""
        deadline = time.monotonic() + seconds
        while self._read(deadline):
            pass
        return self.text

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:
            return False
        self.text += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)

    def type(self, text: str) -> None:
        """Type on the keyboard."""
        os.write(self._master, text.encode())

    def status(self, seconds: float = SECONDS) -> int:
        """Wait for the end; the exit status."""
        self.rest(seconds)
        return self._process.wait(seconds)

    def close(self) -> None:
        """End it, whatever it does."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(10)
        os.close(self._master)


def _execute(*argv: str, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(argv, **options)


def _take_terminal() -> None:
    import fcntl  # noqa: PLC0415 - there are systems without it
    import termios  # noqa: PLC0415

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def is_gone(pid: int, seconds: float = 10.0) -> bool:
    """Whether a process ends within some time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").exists() and ") Z " in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8"):
            return True
        select.select([], [], [], 0.02)
    return False


def eventually(holds: Callable[[], object], seconds: float = SECONDS) -> bool:
    """Whether something holds within some time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        select.select([], [], [], 0.05)
    return True


def noted(accord: Accord, word: str, seconds: float = 20.0) -> str:
    """The first line of the scripted agents' journal that begins so, once it is there."""
    journal, deadline = accord.cwd / "journal", time.monotonic() + seconds
    while time.monotonic() < deadline:
        # The last line may be half written.
        lines = journal.read_text(encoding="utf-8").rpartition("\n")[0].splitlines() if journal.exists() else []
        for line in lines:
            if line.startswith(word):
                return line
        select.select([], [], [], 0.02)
    pytest.fail(f"the agent did not note {word!r}")


def first_pid(accord: Accord) -> int:
    """The process of the scripted agent that was started first."""
    return int(noted(accord, "pid ").removeprefix("pid "))
