"""`accord cancel` and `accord sessions watch`: what other processes of the user have open, through private sockets."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accord.cli import owner, owner_sockets
from accord.cli.run.owner_socket import MAX_BUFFER_BYTES
from tests.cli.command import SECONDS, Accord, noted, scripted
from tests.cli.test_records import check
from tests.limits import limit

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Unix sockets")


@pytest.fixture
def accord() -> Iterator[Accord]:
    """The command, with a home whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="a-", dir="/tmp") as folder:
        yield Accord(Path(folder))


class Running:
    """The command in another process, on pipes."""

    def __init__(self, accord: Accord, *words: str, **env: str) -> None:
        self.process = accord.start(
            *words, env={**accord.env, **env}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def record(self, type_: str) -> dict[str, Any]:
        """The next record of a type, of a process that writes records."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            record: dict[str, Any] = json.loads(line)
            if record["type"] == type_:
                return record
        pytest.fail(f"there is no record {type_!r}: {self.end()}")

    def line(self, text: str) -> None:
        """Wait for a line that has this in it, of a process that writes text."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if text in line.decode():
                return
        pytest.fail(f"there is no line {text!r}: {self.end()}")

    def end(self) -> tuple[int, str, str]:
        stdout, stderr = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, stdout.decode(), stderr.decode()


@contextlib.contextmanager
def running(accord: Accord, *words: str, **env: str) -> Iterator[Running]:
    started = Running(accord, *words, **env)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.process.kill()
        started.process.communicate(timeout=SECONDS)


@contextlib.contextmanager
def at_work(accord: Accord, agent: str = "patient", **env: str) -> Iterator[Running]:
    """A run whose agent works until it is told to stop."""
    with running(accord, "run", "go", "-o", "events", *scripted(agent), **env) as run:
        run.record("message_chunk")
        yield run


def sockets(accord: Accord) -> list[Path]:
    return sorted((accord.home / ".local/state/accord/live").glob("*"))


# --- cancel


def test_a_turn_is_cancelled_from_another_terminal(accord: Accord) -> None:
    with at_work(accord) as run:
        result = accord("cancel")
        assert (result.status, result.stderr) == (0, "")
        assert "s-1234567890: cancelled" in result.stdout
        status, stdout, _ = run.end()
    assert status == 130
    assert json.loads(stdout.splitlines()[-1])["stop_reason"] == "cancelled"
    assert sockets(accord) == []


def test_where_nothing_runs_that_is_said_and_the_exit_code_is_4(accord: Accord) -> None:
    for words in (
        ("cancel",),
        ("cancel", "demo"),
        ("cancel", "--all"),
        ("sessions", "watch"),
        ("sessions", "watch", "x"),
    ):
        result = accord(*words)
        assert result.status == 4, words
        assert "nothing" in result.stderr
        assert len(result.stderr.splitlines()) == 1


def test_a_turn_is_named_by_its_session_its_agent_or_its_command(accord: Accord) -> None:
    elsewhere = accord.cwd.parent / "elsewhere"
    elsewhere.mkdir()
    with at_work(accord) as run:
        assert accord("cancel", "unknown").status == 4
        accord.cwd = elsewhere
        result = accord("cancel")
        assert result.status == 4
        assert "s-1234567890" in result.stderr
        assert accord("cancel", "s-123").status == 0
        assert run.end()[0] == 130
    with at_work(accord) as run:
        assert accord("cancel", *scripted("patient")).status == 0
        assert run.end()[0] == 130


def test_of_several_turns_one_must_be_named_or_all_be_meant(accord: Accord) -> None:
    with at_work(accord) as one, at_work(accord) as two:
        assert accord("cancel").status == 2
        result = accord("cancel", "--all")
        assert result.status == 0
        assert result.stdout.count("cancelled") == 2
        assert [one.end()[0], two.end()[0]] == [130, 130]


def test_an_agent_that_does_not_stop_is_a_timeout(accord: Accord) -> None:
    with running(accord, "run", "go", *scripted("silent")):
        noted(accord, "prompted")
        assert accord("cancel", "--timeout", "0.2").status == 3


def test_a_chat_in_which_nothing_runs_is_not_cancelled(accord: Accord) -> None:
    pytest.importorskip("textual")
    with accord.terminal("chat", *scripted("patient")) as screen:
        screen.expect("ready")
        assert accord("cancel").status == 4
        screen.type("go\r")
        screen.expect("working on it")
        assert accord("cancel").status == 0
        screen.type("\x11")
        assert screen.status() == 0
    assert sockets(accord) == []


# --- watch


def test_a_watcher_gets_the_records_of_the_turn(accord: Accord) -> None:
    with at_work(accord) as run:
        with running(accord, "sessions", "watch", "-o", "events") as one, running(accord, "sessions", "watch") as two:
            assert one.record("start")["session"] == "s-1234567890"
            assert one.record("message")["content"][0]["text"] == "go"
            assert one.record("state")["state"] == "running"
            two.line("working on it")
            assert accord("cancel").status == 0
            assert one.record("end")["stop_reason"] == "cancelled"
            assert one.end()[0] == 0
            status, text, stderr = two.end()
            assert status == 0
            assert "cancelled" in text
            assert "the session was closed" in stderr
        assert run.end()[0] == 130


def test_a_watcher_that_does_not_read_never_slows_the_turn(accord: Accord) -> None:
    words = ("run", "go", "-o", "final", *scripted("floods_later"))
    with accord.start(*words, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL):
        noted(accord, "prompted")
        (path,) = sockets(accord)
        watcher = socket.socket(socket.AF_UNIX)
        with contextlib.closing(watcher):
            watcher.connect(str(path))
            watcher.sendall(b'{"do": "watch", "session": "s-1234567890"}\n')
            # The first line is the greeting, the next ones are records: it watches, and reads no more.
            watcher.settimeout(SECONDS)
            received = b""
            while received.count(b"\n") < 2:
                received += watcher.recv(1)
            (accord.cwd / "go-on").touch()
            noted(accord, "flooded", limit(60.0))
            # What was kept for it is bounded; when it reads again, it is told that it has missed something.
            while len(received) < MAX_BUFFER_BYTES:
                received += watcher.recv(1024 * 1024)
            assert accord("cancel").status == 0
            while data := watcher.recv(1024 * 1024):
                received += data
            # Once or more: the client may still have been reading the flood while there was room again.
            missed = [json.loads(line) for line in received.splitlines() if b'"type": "missed"' in line]
            assert missed
            for record in missed:
                check(record)
                assert record["count"] > 0


def test_a_process_that_does_not_answer_is_mentioned_and_nothing_is_pruned(
    accord: Accord, monkeypatch: pytest.MonkeyPatch
) -> None:
    with at_work(accord) as run:
        run.process.send_signal(signal.SIGSTOP)
        try:
            with monkeypatch.context() as patched:
                patched.setattr(owner, "HELLO_SECONDS", 0.1)
                cancel, prune = accord("cancel"), accord("sessions", "prune", "--older-than", "0s")
        finally:
            run.process.send_signal(signal.SIGCONT)
        assert (cancel.status, prune.status) == (4, 1)
        assert "1 process does not answer" in cancel.stderr
        assert "nothing was forgotten" in prune.stderr
        assert len(json.loads(accord("sessions", "ls", "--all", "--json").stdout)) == 1
        assert accord("cancel").status == 0


def test_a_process_that_dies_in_a_turn_ends_its_watchers(accord: Accord) -> None:
    with at_work(accord) as run, running(accord, "sessions", "watch", "-o", "events") as watcher:
        watcher.record("start")
        run.process.send_signal(signal.SIGKILL)
        status, _, stderr = watcher.end()
    assert status == 7
    assert "is gone" in stderr


# --- the sockets


def test_the_socket_is_for_its_user_alone(accord: Accord) -> None:
    with at_work(accord):
        (path,) = sockets(accord)
        assert stat.S_ISSOCK(path.stat().st_mode)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        accord("cancel")


def test_the_socket_of_a_process_that_was_killed_is_removed_by_the_next(accord: Accord) -> None:
    with at_work(accord) as run:
        run.process.kill()
        run.process.wait(SECONDS)
        assert len(sockets(accord)) == 1
        assert accord("cancel").status == 4
        assert sockets(accord) == []


def test_a_path_that_is_too_long_for_a_socket_is_no_hindrance(accord: Accord) -> None:
    state = accord.home / ("x" * 60) / ("y" * 60)
    env = {"XDG_STATE_HOME": str(state)}
    with at_work(accord, **env) as run:
        cancelled = running(accord, "cancel", **env)
        with cancelled as cancel:
            assert cancel.end()[0] == 0
        assert run.end()[0] == 130


def _received_as(user: int, path: Path) -> bytes:
    """What another user gets from a socket; a forked child, because that user may not run our interpreter."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setuid(user)
        connected = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(OSError):
            connected.connect(str(path))
            connected.settimeout(SECONDS)
            os.write(writing, connected.recv(1))
        os._exit(0)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    assert status == 0
    with open(reading, "rb") as file:  # noqa: PTH123 - a descriptor
        return file.read()


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="needs root, to be another user")
def test_another_user_is_refused(accord: Accord) -> None:
    with at_work(accord):
        (path,) = sockets(accord)
        for each in (path, *path.parents):
            if each == Path("/tmp"):  # noqa: S108 - where the tests' folders begin
                break
            each.chmod(0o777)
        assert _received_as(65534, path) == b""
        path.parent.chmod(0o700)
        path.chmod(0o600)
        assert accord("cancel").status == 0


def test_a_folder_that_is_open_to_others_is_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "live"
    folder.mkdir(mode=0o700)
    owner_sockets.check_private(folder)
    folder.chmod(0o755)
    with pytest.raises(PermissionError):
        owner_sockets.check_private(folder)
    link = tmp_path / "link"
    folder.chmod(0o700)
    link.symlink_to(folder)
    with pytest.raises(PermissionError):
        owner_sockets.check_private(link)


def test_only_what_refuses_a_connection_is_removed(tmp_path: Path) -> None:
    listening = socket.socket(socket.AF_UNIX)
    dead = socket.socket(socket.AF_UNIX)
    with contextlib.closing(listening), contextlib.closing(dead):
        listening.bind(str(tmp_path / "alive.sock"))
        listening.listen(1)
        dead.bind(str(tmp_path / "dead.sock"))
        dead.close()
        (tmp_path / "file.sock").touch()
        begun = socket.socket(socket.AF_UNIX)
        with contextlib.closing(begun):
            begun.bind(str(tmp_path / "begun.new"))
            owner_sockets.sweep(tmp_path)
            assert {each.name for each in tmp_path.iterdir()} == {"alive.sock", "file.sock", "begun.new"}
            old = time.time() - 3600
            os.utime(tmp_path / "begun.new", (old, old))
            owner_sockets.sweep(tmp_path)
            assert {each.name for each in tmp_path.iterdir()} == {"alive.sock", "file.sock"}
