"""Every string of every message is poisoned, in every verb: what reaches a real terminal is looked at byte by byte."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from tests.cli.command import Accord
from tests.limits import limit

pty = pytest.importorskip("pty", reason="this system has no terminals of that kind")
fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")

AGENT = str(Path(__file__).with_name("poisoned_agent.py"))
LONG = pytest.mark.long
WAIT_SECONDS = limit(60.0)
# What no program of ours writes for its own ends, anywhere.
NEVER = re.compile(
    "[\u061c\u200b\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\u00ad\ufeff\U000e0000-\U000e007f\ufffe\x80-\x9f]"
)
# What a screen writes for its own ends, and never beside the mark.
BESIDE = re.compile("\x1b\\]777|[\x00\x07\x08\x0b\x0c\x7f\x1b]QZ|\x1b\\[35mQZ")


def assert_clean(printed: bytes) -> None:
    assert b"QZ" in printed, printed[-2000:]
    text = printed.decode("utf-8", "surrogateescape")
    for found in (NEVER.search(text), BESIDE.search(text)):
        where = "" if found is None else ascii(text[max(0, found.start() - 200) : found.end() + 60])
        assert found is None, where
    assert not re.search("[\udc80-\udcff]", text), "what is no UTF-8"
    assert "Traceback" not in text, text[text.index("Traceback") :][:1500]


class Terminal:
    """A terminal of 120 columns with a command on it."""

    def __init__(self, accord: Accord, words: tuple[str, ...], env: dict[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (40, 120))
        self._process = accord.start(
            *words, stdin=theirs, stdout=theirs, stderr=theirs, env={**accord.env, **env}, start_new_session=True
        )
        os.close(theirs)
        self.printed = b""
        self._deadline = time.monotonic() + WAIT_SECONDS

    def read(self) -> bool:
        """What comes next; False when it is over, or too late."""
        left = max(0.0, self._deadline - time.monotonic())
        try:
            data = os.read(self._ours, 65536) if select.select([self._ours], [], [], left)[0] else b""
        except OSError:
            data = b""
        self.printed += data
        return bool(data)

    def expect(self, wanted: bytes) -> None:
        """Read until something came, behind what came before."""
        start = len(self.printed)
        while wanted not in self.printed[start:]:
            assert self.read(), f"{wanted!r} did not come: {self.printed[-1500:]!r}"

    def read_for(self, seconds: float) -> None:
        """What comes in some time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and select.select([self._ours], [], [], max(0.0, end - time.monotonic()))[0]:
            if not self.read():
                return

    @property
    def is_late(self) -> bool:
        return time.monotonic() > self._deadline

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def answer(self, *lines: str) -> None:
        """Type each line when a question waits for it; what is typed before answers nothing."""
        for line in lines:
            while not self.printed.endswith(b"> "):
                if not self.read():
                    return
            self.type(f"{line}\n")
            self.read()

    def close(self) -> int:
        """To the end; the exit status."""
        while self.read():
            pass
        if self._process.poll() is None and time.monotonic() >= self._deadline:
            self._process.kill()
        status = self._process.wait(10)
        os.close(self._ours)
        return status


class Start(Protocol):
    """Starts the command on a terminal."""

    def __call__(self, *words: str, **env: str) -> Terminal: ...


@pytest.fixture
def at_terminal(accord: Accord) -> Iterator[Start]:
    terminals: list[Terminal] = []

    def start(*words: str, **env: str) -> Terminal:
        terminals.append(Terminal(accord, words, env))
        return terminals[-1]

    yield start
    for each in terminals:
        each._process.kill()
        each._process.wait(10)


def agent(version: int = 1, trick: str = "") -> list[str]:
    return ["--", sys.executable, AGENT, str(version), *([trick] if trick else [])]


@pytest.mark.parametrize(
    ("form", "version"),
    [
        ("text", 1),
        pytest.param("final", 1, marks=LONG),
        pytest.param("events", 1, marks=LONG),
        pytest.param("wire", 1, marks=LONG),
        pytest.param("text", 2, marks=LONG),
    ],
)
def test_a_run(at_terminal: Start, form: str, version: int) -> None:
    terminal = at_terminal("run", "x", "-o", form, *agent(version), ACCORD_LOG="debug")
    # Questions are answered by their keys; the form by nothing, the address by a no.
    terminal.answer("v", "n", "n", "", "", "n", "", "")
    terminal.close()
    assert_clean(terminal.printed)


@LONG
@pytest.mark.parametrize("trick", ["error", "die", "login"])
def test_a_run_that_fails(at_terminal: Start, trick: str) -> None:
    terminal = at_terminal("run", "x", *agent(1, trick))
    terminal.answer("", "", "")
    assert terminal.close() != 0
    assert_clean(terminal.printed)


def test_a_chat(at_terminal: Start, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    terminal = at_terminal("chat", *agent(), POISON_JOURNAL=str(journal))
    terminal.expect(b"ready")
    terminal.type("go\r")
    asked, patience = "", 0
    while asked != "ends":
        terminal.read_for(0.25)
        lines = journal.read_text(encoding="utf-8").splitlines() if journal.exists() else [""]
        patience = patience + 1 if lines[-1] == asked else 0
        asked = lines[-1]
        # A dialog takes no key in its first half second; Escape is the answer that every one of them knows.
        if asked.startswith("asks") and patience >= 4:
            terminal.type("\x1b")
            patience = 0
        assert not terminal.is_late
    assert {"answered session/request_permission", "answered elicitation/create"} <= set(lines)
    # All parts unfolded, then the options, then the commands, then the sessions.
    for keys in ("\x07", "\x0f", "\x1b", "/", "\t", "\x12"):
        terminal.type(keys)
        terminal.read_for(0.4)
    terminal.type("\x11")
    terminal.close()
    assert_clean(terminal.printed)
    assert b"Options" in terminal.printed


@pytest.mark.parametrize("encoding", ["ascii", pytest.param("latin-1", marks=LONG)])
def test_a_stream_without_utf_8_gets_replacements(accord: Accord, encoding: str) -> None:
    done = subprocess.run(
        [*accord.argv, "run", "sag \u00fc \u2026", *agent(1, "error")],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        cwd=accord.cwd,
        env={**accord.env, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert b"?QZ" in done.stdout


@LONG
def test_an_argument_that_is_no_utf_8_is_a_prompt_all_the_same(accord: Accord) -> None:
    words: list[str | bytes] = [*accord.argv, "run", b"cut \xff", "-o", "wire", *agent(1, "error")]
    done = subprocess.run(
        words, capture_output=True, stdin=subprocess.DEVNULL, cwd=accord.cwd, env=accord.env,
        timeout=WAIT_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    sent = [json.loads(line)["raw"] for line in done.stdout.splitlines() if b"session/prompt" in line]
    assert json.loads(sent[0])["params"]["prompt"][0]["text"] == "cut \udcff"


@pytest.fixture
def noted(accord: Accord) -> str:
    """A session in our records."""
    accord("run", "x", "-s", "nick", *agent(1, "error"))
    return "nick"


@pytest.mark.parametrize(
    "words",
    [
        ["sessions", "ls", "--all", "AGENT"],
        pytest.param(["sessions", "ls"], marks=LONG),
        pytest.param(["sessions", "ls", "--json", "AGENT"], marks=LONG),
        pytest.param(["sessions", "show", "nick"], marks=LONG),
        pytest.param(["sessions", "export", "nick"], marks=LONG),
        pytest.param(["sessions", "export", "nick", "--as", "events"], marks=LONG),
        pytest.param(["sessions", "rm", "nick"], marks=LONG),
        pytest.param(["agents", "info", "AGENT"], marks=LONG),
        pytest.param(["agents", "doctor", "AGENT"], marks=LONG),
        pytest.param(
            ["check", "--only", "ACCORD-COMMANDS", "--timeout", "2", "--turn-timeout", "3", "AGENT"], marks=LONG
        ),
    ],
    ids=" ".join,
)
def test_another_verb(at_terminal: Start, noted: str, words: list[str]) -> None:
    assert noted == "nick"
    line = [word for each in words for word in (agent() if each == "AGENT" else [each])]
    terminal = at_terminal(*line)
    terminal.close()
    if words[:2] == ["agents", "info"]:
        return  # it starts no agent
    assert_clean(terminal.printed)
