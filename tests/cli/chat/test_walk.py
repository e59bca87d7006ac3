"""A new user's walk through `accord chat demo`, typed on a real terminal.

What stands on the screen is put together by a small terminal of our own: cells, the cursor, and nothing else.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import select
import signal
import stat
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.cli.command import Accord, is_gone
from tests.limits import limit

pty = pytest.importorskip("pty", reason="this system has no terminals of that kind")
fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")

ROOT = Path(__file__).parents[3]
SECONDS = limit(30.0)
_PIECE = re.compile(
    r"\x1b\[([0-?]*)([ -/]*)([@-~])|\x1b\]([^\x07\x1b]*)(?:\x07|\x1b\\)"
    r"|\x1b[P_^X][^\x1b]*\x1b\\|\x1b(?![\[\]PX^_])[ -/]*[0-~]|[\x00-\x1a\x1c-\x1f]|[^\x00-\x1f\x1b]"
)
DARK, LIGHT = "\x1b]11;rgb:1010/1010/1010\x1b\\", "\x1b]11;rgb:fafa/fafa/fafa\x1b\\"
CTRL_C, CTRL_Q, CTRL_X, F2, ESC = "\x03", "\x11", "\x18", "\x1bOQ", "\x1b"


class Cells:
    """What a terminal shows, as far as Textual uses one."""

    def __init__(self, columns: int, rows: int) -> None:
        self.resize(columns, rows)
        self.title = ""
        self.titles: list[str] = []
        self.bells = 0
        self._main: list[list[str]] = []
        self.is_alternate = False

    def resize(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self._cells = [[" "] * columns for _ in range(rows)]
        self._x = self._y = 0

    @property
    def text(self) -> str:
        return "\n".join("".join(row).rstrip() for row in self._cells)

    def feed(self, text: str) -> None:  # noqa: C901 - a table of what a terminal can be told
        for match in _PIECE.finditer(text):
            piece = match[0]
            if match[3]:
                self._control(match[1], match[3])
            elif match[4] is not None:
                if match[4].startswith("2;"):
                    self.title = match[4][2:]
            elif piece == "\r":
                self._x = 0
            elif piece == "\n":
                self._down()
            elif piece == "\a":
                self.bells += 1
            elif piece >= " ":
                self._put(piece)

    def _put(self, character: str) -> None:
        width = cell_len(character)
        if not width:
            return
        if self._x + width > self.columns:
            self._x = 0
            self._down()
        self._cells[self._y][self._x] = character
        for further in range(1, width):
            self._cells[self._y][self._x + further] = ""
        self._x = min(self._x + width, self.columns)

    def _down(self) -> None:
        if self._y + 1 < self.rows:
            self._y += 1
        else:
            self._cells = [*self._cells[1:], [" "] * self.columns]

    def _control(self, parameters: str, final: str) -> None:
        numbers = [int(part) if part.isdigit() else 0 for part in parameters.lstrip("?>").split(";")]
        if final in "Hf":
            row, column = (*numbers, 0)[:2] if len(numbers) > 1 else (numbers[0], 1)
            self._y, self._x = min(max(row - 1, 0), self.rows - 1), min(max(column - 1, 0), self.columns - 1)
        elif final == "J":
            self._cells = [[" "] * self.columns for _ in range(self.rows)]
        elif final == "K":
            self._cells[self._y][self._x :] = [" "] * (self.columns - self._x)
        elif final == "t" and numbers[0] == 22:
            self.titles.append(self.title)
        elif final == "t" and numbers[0] == 23:
            self.title = self.titles.pop()
        elif parameters == "?1049" and final in "hl":
            self.is_alternate = final == "h"
            if self.is_alternate:
                self._main = self._cells
            self._cells = [[" "] * self.columns for _ in range(self.rows)] if self.is_alternate else self._main


class Terminal:
    """`accord` on a terminal that answers, and that can be resized."""

    def __init__(
        self, accord: Accord, words: list[str], size: tuple[int, int], reply: str, env: dict[str, str]
    ) -> None:
        self._reply = reply
        self.cells = Cells(*size)
        self._ours, theirs = pty.openpty()
        self._set_size(size)
        self.process = accord.start(
            *words, stdin=theirs, stdout=theirs, stderr=theirs, env={**accord.env, **env}, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(theirs)
        self.raw = ""
        self._rest = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def _set_size(self, size: tuple[int, int]) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))

    def resize(self, columns: int, rows: int) -> None:
        self.cells.resize(columns, rows)
        self._set_size((columns, rows))
        os.killpg(self.process.pid, signal.SIGWINCH)

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def sees(self, *words: str) -> None:
        self.until(lambda: all(word in self.cells.text for word in words), f"{words}")

    def sees_no(self, *words: str) -> None:
        self.until(lambda: not any(word in self.cells.text for word in words), f"an end of {words}")

    def reads_until(self, holds: Callable[[], object], what: str) -> None:
        """Wait for something beside the screen, which is drawn meanwhile."""
        deadline = time.monotonic() + SECONDS
        while not holds():
            assert time.monotonic() < deadline, what
            self._read(time.monotonic() + 0.05)

    def answer(self, key: str, words: str) -> None:
        """Press a key; once more where it came too early: a dialog takes none in its first half second."""
        deadline = time.monotonic() + SECONDS
        patience = 1.0
        while "allow the edit" in self.cells.text:
            assert time.monotonic() < deadline, self.cells.text
            end = time.monotonic() + patience
            while time.monotonic() < end and "allow the edit" in self.cells.text:
                self._read(end)
            if "allow the edit" in self.cells.text:
                self.type(key)
                patience = limit(10.0)
        self.sees(words)

    def until(self, holds: Callable[[], object], what: str) -> None:
        deadline = time.monotonic() + SECONDS
        while not holds():
            if not self._read(deadline):
                pytest.fail(f"{what} did not come; the screen shows:\n{self.cells.text}\nafter {self.raw[-500:]!r}")

    def _read(self, deadline: float) -> bool:
        if not select.select([self._ours], [], [], max(0.0, deadline - time.monotonic()))[0]:
            return False
        try:
            data = os.read(self._ours, 65536)
        except OSError:
            return False  # the program has closed its end
        text = self._rest + self._decoder.decode(data)
        # A sequence may be cut; its rest comes with the next read.
        cut = text.rfind("\x1b") if "\x1b" in text[-40:] else len(text)
        if cut != len(text) and _PIECE.match(text, cut) and not text[cut:].startswith("\x1b]"):
            cut = len(text)
        self._rest = text[cut:]
        if "\x1b]11;?" in text[:cut] and self._reply:
            self.type(f"{self._reply}\x1b[?62c")
        self.raw += text[:cut]
        self.cells.feed(text[:cut])
        return bool(data)

    def status(self) -> int:
        deadline = time.monotonic() + SECONDS
        while self._read(deadline):
            pass
        return self.process.wait(SECONDS)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._ours)


@contextlib.contextmanager
def terminal(
    accord: Accord,
    *words: str,
    size: tuple[int, int] = (100, 30),
    reply: str = DARK,
    variables: Mapping[str, str] | None = None,
    **env: str,
) -> Iterator[Terminal]:
    screen = Terminal(accord, list(words), size, reply, {**(variables or {}), **env})
    try:
        yield screen
    finally:
        screen.close()


@pytest.fixture
def accord(tmp_path: Path) -> Accord:
    found = Accord(tmp_path)
    (found.cwd / "greet.py").write_text('pritn("Hello!")\n')
    return found


def is_light(raw: str) -> bool:
    """Whether the background that was drawn most often is light."""
    drawn = Counter(re.findall(r"48;2;(\d+);(\d+);(\d+)", raw))
    return bool(drawn) and min(map(int, drawn.most_common(1)[0][0])) > 150


def test_a_new_user_walks_through_it(accord: Accord) -> None:
    walk(accord, COLORTERM="truecolor")


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_new_user_walks_through_it_from_the_wheel(accord: Accord, tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    built = subprocess.run(
        [*pip, "wheel", "--no-deps", "-w", tmp_path / "wheel", ROOT], check=False, capture_output=True
    )
    if built.returncode:
        pytest.skip("the wheel cannot be built here: pip needs an index with hatchling")
    (wheel,) = (tmp_path / "wheel").glob("*.whl")
    site = tmp_path / "site"
    subprocess.run([*pip, "install", "--no-deps", "--target", site, wheel], check=True, capture_output=True)
    env = {**accord.env, "PYTHONPATH": str(site)}
    line = [sys.executable, "-c", "import accord; print(accord.__file__)"]
    found = subprocess.run(line, env=env, cwd=accord.cwd, check=True, capture_output=True, text=True).stdout
    assert found.startswith(str(site))
    walk(accord, COLORTERM="truecolor", PYTHONPATH=str(site))


def walk(accord: Accord, **env: str) -> None:
    with terminal(accord, "chat", "demo", variables=env) as screen:
        # The first screen.
        screen.sees("Welcome to accord chat", "it is no model", "1  what can you do?", "F1 help", "● ready")
        assert screen.cells.title == "accord · demo · work"
        screen.type("1")
        screen.sees("│ what can you do?")
        screen.type("\r")
        screen.sees("This is what I understand", "● ready")
        # An edit, with permission.
        screen.type("replace pritn with print in greet.py\r")
        screen.sees("allow the edit of greet.py?", "Allow once", "Reject")
        screen.answer("y", "Replaced 1 occurrence")
        screen.sees("Replaced 1 occurrence", "● ready")
        assert (accord.cwd / "greet.py").read_text() == 'print("Hello!")\n'
        # A command of one's own, and an error.
        screen.type("!python3 greet.py; exit 4\r")
        screen.sees("! python3 greet.py; exit 4", "Hello!", "exit status 4")
        screen.type("read nothing.txt\r")
        screen.sees("There is no such file", "● ready")
        # Other sizes, and the light theme.
        for columns, rows in ((80, 24), (200, 60), (80, 24)):
            screen.resize(columns, rows)
            screen.until(lambda: bars_fill(screen.cells), f"bars at {columns}x{rows}")
        screen.type("/theme light\r")
        screen.until(lambda: is_light(screen.raw[-3000:]), "a light background")
        # Leave.
        screen.type("/exit\r")
        assert screen.status() == 0
        after = screen.raw[screen.raw.rindex("\x1b[?1049l") :]
        assert "I could not read nothing.txt" in after
        assert "go on: accord chat demo -c" in after
        assert screen.cells.title == ""
        assert "Traceback" not in screen.raw
    # Go on, another day: the theme, the session and what was typed are there.
    with terminal(accord, "chat", "demo", "-c", variables=env) as screen:
        screen.sees("I could not read nothing.txt", "● ready")
        assert is_light(screen.raw)
        screen.type("\x1b[A\x1b[A")
        screen.sees("│ read nothing.txt")
        screen.type(CTRL_Q)
        assert screen.status() == 0


def bars_fill(cells: Cells) -> bool:
    lines = cells.text.split("\n")
    return lines[0].endswith("Code · offline") and len(lines[0]) == cells.columns - 1 and "● ready" in lines[-1]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("reply", "shade"), [(LIGHT, "light"), (DARK, "dark"), ("", "dark")], ids=["light", "dark", "silent"]
)
def test_the_theme_is_that_of_the_terminal_which_is_asked_once_and_not_for_long(
    accord: Accord, reply: str, shade: str
) -> None:
    with terminal(accord, "chat", "demo", reply=reply, COLORTERM="truecolor") as screen:
        screen.sees("Welcome", "● ready")
        assert is_light(screen.raw) is (shade == "light")
        # The answer is not typed into the prompt.
        assert "rgb" not in screen.cells.text


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("value", "shade"), [("0;15", "light"), ("15;0", "dark")])
def test_the_variable_is_believed_without_asking(accord: Accord, value: str, shade: str) -> None:
    with terminal(accord, "chat", "demo", COLORTERM="truecolor", COLORFGBG=value) as screen:
        screen.sees("Welcome", "● ready")
        assert is_light(screen.raw) is (shade == "light")
        assert "\x1b]11;?" not in screen.raw


def test_the_bell_rings_at_the_end_of_a_long_turn_and_of_no_short_one(accord: Accord) -> None:
    with terminal(accord, "chat", "demo") as screen:
        screen.sees("● ready")
        screen.type("list\r")
        screen.sees("greet.py", "● ready")
        assert screen.cells.bells == 0
        screen.type("/bell 0\r")
        screen.sees("Rings when a turn took 0 s")
        screen.type("list\r")
        screen.until(lambda: screen.cells.bells, "the bell")


def test_no_bell_rings_while_the_terminal_is_looked_at(accord: Accord) -> None:
    with terminal(accord, "chat", "demo") as screen:
        screen.sees("● ready")
        screen.type("/bell 0\r")
        screen.sees("Rings when a turn took 0 s")
        screen.type("\x1b[I")
        screen.type("what can you do?\r")
        screen.sees("This is what I understand", "● ready")
        assert screen.cells.bells == 0
        screen.type("\x1b[O")
        screen.type("list\r")
        screen.until(lambda: screen.cells.bells, "the bell")


def test_the_bell_rings_when_the_agent_asks_something(accord: Accord) -> None:
    with terminal(accord, "chat", "demo") as screen:
        screen.sees("● ready")
        screen.type("/bell 0\r")
        screen.sees("Rings when a turn took 0 s")
        screen.type("replace pritn with print in greet.py\r")
        screen.until(lambda: screen.cells.bells, "the bell")
        screen.sees("allow the edit of greet.py?")


EDITOR = """
import signal
import sys
from pathlib import Path

signal.signal(signal.SIGINT, lambda *_: print("EDITOR TAKES IT", flush=True))
file = Path(sys.argv[-1])
Path("seen").write_text(file.read_text() + "|" + oct(file.parent.stat().st_mode)[-3:])
if "{how}" == "fails":
    sys.exit(7)
print("EDITOR IS HERE", flush=True)
sys.stdin.readline()
file.write_text(file.read_text() + " and\\nmore\\n")
"""


def test_the_prompt_is_written_in_the_users_editor(accord: Accord) -> None:
    (accord.cwd / "editor.py").write_text(EDITOR.replace("{how}", "works"))
    with terminal(accord, "chat", "demo", VISUAL=f"{sys.executable} editor.py", EDITOR="false") as screen:
        screen.sees("● ready")
        screen.type("some text")
        screen.sees("│ some text")
        screen.type(CTRL_X)
        screen.sees("EDITOR IS HERE")
        screen.type(CTRL_C)
        screen.sees("EDITOR TAKES IT")
        screen.type("\n")
        screen.sees("│ some text and", "│ more")
        assert (accord.cwd / "seen").read_text() == "some text|700"
        screen.type(CTRL_Q)
        assert screen.status() == 0


def test_an_editor_that_fails_leaves_the_prompt_as_it_was(accord: Accord) -> None:
    (accord.cwd / "editor.py").write_text(EDITOR.replace("{how}", "fails"))
    with terminal(accord, "chat", "demo", VISUAL=f"{sys.executable} editor.py") as screen:
        screen.sees("● ready")
        screen.type("/editor some text\r")
        screen.sees("The prompt stays as it was", "the editor ended with status 7", "│ some text")


def test_what_is_kept_is_for_its_owner_alone(accord: Accord) -> None:
    with terminal(accord, "chat", "demo") as screen:
        screen.sees("● ready")
        screen.type("list\r")
        screen.sees("greet.py", "● ready")
        screen.type("/theme dark\r")
        state = accord.home / ".local" / "state" / "accord"
        screen.reads_until((state / "chat.json").exists, "the settings")
        assert (state / "prompts.jsonl").read_text().splitlines() == ['"list"', '"/theme dark"']
        for name in ("prompts.jsonl", "chat.json"):
            assert stat.S_IMODE((state / name).stat().st_mode) == 0o600


def test_a_command_of_ones_own_ends_with_the_chat(accord: Accord) -> None:
    with terminal(accord, "chat", "demo") as screen:
        screen.sees("● ready")
        screen.type("!sleep 1000 & echo $! > pid; wait\r")
        screen.sees("running your command")
        pid = accord.cwd / "pid"
        screen.reads_until(lambda: pid.exists() and pid.read_text().endswith("\n"), "the command's process")
        screen.type(CTRL_Q)
        assert screen.status() == 0
    assert is_gone(int(pid.read_text()))


def test_a_chat_in_which_nothing_was_said_leaves_nothing_behind(accord: Accord) -> None:
    with terminal(accord, "chat", "demo") as screen:
        screen.sees("● ready")
        screen.type(CTRL_Q)
        assert screen.status() == 0
        assert "go on" not in screen.raw[screen.raw.rindex("\x1b[?1049l") :]


def test_a_log_that_was_asked_for_is_in_the_pane_and_not_across_the_screen(accord: Accord) -> None:
    with terminal(accord, "chat", "demo", ACCORD_LOG="debug") as screen:
        screen.sees("● ready")
        assert "DEBUG" not in screen.cells.text
        screen.type("/log log\r")
        screen.sees("DEBUG asyncio")
        screen.type(F2)
        screen.sees_no("DEBUG asyncio")
        screen.type(F2)
        screen.sees("stderr, log and wire")
        screen.type(CTRL_Q)
        assert screen.status() == 0
