"""Makes the moving picture of the landing page: a newcomer's first minute in a real terminal, as one SVG file.

    . scripts/env && python -m pip install pyte && python scripts/cast.py [FILE]

A shell runs behind a pseudo-terminal, `WALK` is typed into it key by key, and pyte, which is not a dependency of the
package, keeps what the screen shows after each output. The picture moves by CSS alone, loads no font, and shows its
last screen where the reader's system asks for less motion.
"""

from __future__ import annotations

import html
import os
import pty
import select
import shutil
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path
from struct import pack
from typing import Any

FILE = Path(__file__).resolve().parents[1] / "site" / "assets" / "first-minute.svg"
COLUMNS, ROWS = 92, 27
MAX_BYTES = 150_000
# What is typed, and what the screen then shows last: the prompt, or a question.
PROMPT = "$"
WALK = (
    ("accord run demo 'replace pritn with print in greet.py'\r", ">"),
    ("y\r", PROMPT),
    ("python greet.py\r", PROMPT),
    ("cat shout.py\r", PROMPT),
    ("accord run hello -- python shout.py\r", PROMPT),
)
SHOUT = """import accord

agent = accord.Agent("shout", version="1.0")


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    await turn.say(turn.text.upper())


agent.run()
"""
GREET = 'def greet(name):\n    pritn(f"Hello, {name}!")\n\n\ngreet("world")\n'
KEY_SECONDS = 0.05
READING_SECONDS = 1.4
LAST_SECONDS = 4.0
WAIT_SECONDS = 60.0

CELL_WIDTH, CELL_HEIGHT, MARGIN, BAR = 8.0, 18.0, 14.0, 30.0
BACKGROUND, FOREGROUND = "#1b1f27", "#d7dce4"
COLOURS = {
    "default": FOREGROUND, "black": "#5b6472", "red": "#f07178", "green": "#9ece6a", "brown": "#e0af68",
    "blue": "#7aa2f7", "magenta": "#bb9af7", "cyan": "#7dcfff", "white": FOREGROUND,
}  # fmt: skip


@dataclass(frozen=True)
class Run:
    """Neighbouring cells of one look."""

    column: int
    text: str
    fill: str
    background: str
    bold: bool


Row = tuple[Run, ...]


@dataclass
class Shown:
    """A row of the screen, and from when to when it is seen."""

    row: int
    runs: Row
    begins: float
    ends: float


# --- the terminal


class Terminal:
    """A shell behind a pseudo-terminal, and what its screen shows; times are those of the picture."""

    def __init__(self, folder: Path) -> None:
        import pyte  # noqa: PLC0415 - a tool for contributors

        self.screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self.screen)
        environment = {
            "PATH": f"{folder / 'bin'}:{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(folder / "home"),
            "TERM": "xterm-256color", "PS1": f"{PROMPT} ", "LANG": "C.UTF-8", "COLORTERM": "truecolor",
        }  # fmt: skip
        self._process, self._master = pty.fork()
        if self._process == 0:
            os.chdir(folder / "project")
            ioctl(0, termios.TIOCSWINSZ, pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.execve("/bin/sh", ["sh", "-i"], environment)  # noqa: S606 - the shell is the subject
        self.now = 0.0
        self.frames: list[tuple[float, list[Row]]] = []

    def type(self, text: str, shows: str) -> None:
        """Type a line key by key, and wait until the screen ends with what is named."""
        for key in text:
            os.write(self._master, key.encode())
            self.now += KEY_SECONDS
            self._read(KEY_SECONDS)
        self.wait(shows)
        self.now += READING_SECONDS

    def wait(self, shows: str) -> None:
        """Read until the line of the cursor ends with a text and nothing more comes."""
        ends = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < ends:
            came = self._read(0.25)
            line = self.screen.display[self.screen.cursor.y][: self.screen.cursor.x].rstrip()
            if not came and (line.endswith(shows) if shows != PROMPT else line == PROMPT):
                return
        raise TimeoutError("\n".join(self.screen.display))

    def _read(self, seconds: float) -> bool:
        """Take what comes within a time; the clock of the picture runs as long as the program needs."""
        began = time.monotonic()
        came = False
        while (left := began + seconds - time.monotonic()) > 0:
            ready, _, _ = select.select([self._master], [], [], left)
            if not ready:
                break
            self._stream.feed(os.read(self._master, 65536))
            came = True
            self._keep(self.now + time.monotonic() - began)
        if came:
            self.now = max(self.now, self.frames[-1][0])
        return came

    def _keep(self, moment: float) -> None:
        rows = [row_of(self.screen, number) for number in range(ROWS)]
        if not self.frames or self.frames[-1][1] != rows:
            self.frames.append((moment, rows))

    def close(self) -> None:
        """End the shell."""
        os.close(self._master)
        os.waitpid(self._process, 0)


def row_of(screen: Any, number: int) -> Row:
    """What one row shows, without blanks at its end."""
    runs: list[Run] = []
    line = screen.buffer[number]
    for column in range(COLUMNS):
        cell = line[column]
        fill, background = colour(cell.fg), "" if cell.bg == "default" else colour(cell.bg)
        if cell.reverse:
            fill, background = background or BACKGROUND, fill
        if runs and (runs[-1].fill, runs[-1].background, runs[-1].bold) == (fill, background, cell.bold):
            last = runs[-1]
            runs[-1] = Run(last.column, last.text + cell.data, fill, background, cell.bold)
        else:
            runs.append(Run(column, cell.data, fill, background, cell.bold))
    return tuple(run for run in runs if run.text.strip() or run.background)


def colour(name: str) -> str:
    """A colour of the terminal as one of SVG."""
    name = name.removeprefix("bright")
    return COLOURS.get(name) or f"#{name}"


# --- the picture


def shown_in(frames: list[tuple[float, list[Row]]], end: float) -> Iterator[Shown]:
    """Every row that was seen, with its time."""
    seen: dict[int, Shown] = {}
    for moment, rows in frames:
        for number, runs in enumerate(rows):
            last = seen.get(number)
            if last is not None and last.runs == runs:
                continue
            if last is not None and last.runs and last.begins < moment:
                last.ends = moment
                yield last
            seen[number] = Shown(number, runs, moment, end)
    yield from (shown for shown in seen.values() if shown.runs)


def svg(frames: list[tuple[float, list[Row]]]) -> str:
    """The picture: each row is visible in its time, and the whole repeats."""
    end = frames[-1][0] + LAST_SECONDS
    width, height = COLUMNS * CELL_WIDTH + 2 * MARGIN, ROWS * CELL_HEIGHT + 2 * MARGIN + BAR
    styles: dict[tuple[float, float], str] = {}
    drawn: list[str] = []
    for shown in sorted(shown_in(frames, end), key=lambda each: (each.begins, each.row)):
        times = (round(100 * shown.begins / end, 2), round(100 * shown.ends / end, 2))
        name = styles.setdefault(times, f"t{len(styles)}")
        last = " last" if shown.ends == end else ""
        drawn.append(f'<g class="{name}{last}">{"".join(drawing(run, shown.row) for run in shown.runs)}</g>')
    rules = "".join(
        f".{name}{{animation-name:{name}}}@keyframes {name}{{0%{{visibility:{'visible' if begins == 0 else 'hidden'}}}"
        f"{begins}%{{visibility:visible}}" + (f"{ends}%{{visibility:hidden}}" if ends < 100 else "") + "}"
        for (begins, ends), name in styles.items()
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img">'
        "<title>A newcomer's first minute with Accord in a terminal</title>"
        "<style>text{font:14px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;white-space:pre}"
        ".b{font-weight:700}"
        f"g g{{visibility:hidden;animation:{end:.2f}s step-end infinite}}g .last{{visibility:visible}}{rules}"
        "@media (prefers-reduced-motion:reduce){g g{animation:none!important}}</style>"
        f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>'
        + "".join(
            f'<circle cx="{18 + 18 * n}" cy="17" r="5.5" fill="{fill}"/>'
            for n, fill in enumerate(("#f07178", "#e0af68", "#9ece6a"))
        )
        + f'<g transform="translate({MARGIN:g} {MARGIN + BAR:g})">{"".join(drawn)}</g></svg>\n'
    )


def drawing(run: Run, row: int) -> str:
    """One run of cells; its length is fixed, so that any font keeps the columns."""
    x, y = run.column * CELL_WIDTH, row * CELL_HEIGHT
    length = len(run.text) * CELL_WIDTH
    back = (
        f'<rect x="{x:g}" y="{y:g}" width="{length:g}" height="{CELL_HEIGHT:g}" fill="{run.background}"/>'
        if run.background
        else ""
    )
    text = run.text.rstrip()
    if not text:
        return back
    bold = ' class="b"' if run.bold else ""
    return (
        f'{back}<text{bold} x="{x:g}" y="{y + 13:g}" fill="{run.fill}" textLength="{len(text) * CELL_WIDTH:g}"'
        f' lengthAdjust="spacingAndGlyphs">{html.escape(text, quote=False)}</text>'
    )


def main() -> None:
    """Record the walk and write the picture."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name in ("bin", "home", "project"):
            (folder / name).mkdir()
        for name, words in (("accord", "-P -m accord"), ("python", "")):
            program = folder / "bin" / name
            program.write_text(f'#!/bin/sh\nexec {sys.executable} {words} "$@"\n', encoding="utf-8")
            program.chmod(0o755)
        (folder / "project" / "greet.py").write_text(GREET, encoding="utf-8")
        (folder / "project" / "shout.py").write_text(SHOUT, encoding="utf-8")
        terminal = Terminal(folder)
        try:
            terminal.wait(PROMPT)
            terminal.frames = terminal.frames[-1:]
            terminal.frames[0] = (0.0, terminal.frames[0][1])
            terminal.now = 1.0
            for text, shows in WALK:
                terminal.type(text, shows)
        finally:
            terminal.close()
        shutil.rmtree(folder / "home")
    text = svg(terminal.frames)
    if len(text) > MAX_BYTES:
        raise ValueError(f"{len(text)} bytes: too many for a page")
    target.write_text(text, encoding="utf-8")
    print(f"{target.name}: {len(text)} bytes, {terminal.frames[-1][0] + LAST_SECONDS:.0f} seconds")


if __name__ == "__main__":
    main()
