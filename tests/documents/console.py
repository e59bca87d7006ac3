"""Runs the commands of a guide as its reader would: programs are written to files, sessions run in a real shell.

A ```console block holds lines that begin with `$ `, each with the output that follows it. `…` in the output stands for
any text; times, ids and token counts are masked on both sides.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.forking_python import forking_python
from tests.limits import limit

DOCS = Path(__file__).parents[2] / "docs"
# `accord`, but it waits for no commands: no page shows those of an agent.
DOCTOR = """
from accord.cli import doctor, main
doctor.COMMANDS_SECONDS = 0.1
raise SystemExit(main.main())
"""
_MARK = "\x1e"
_MASKS = (
    (r"\bsession [0-9a-z]{4,}", "session ID"),
    (r"session-[0-9a-f]{6,}", "session-ID"),
    (r"message-[0-9a-f]{6,}", "message-ID"),
    (r"\b\d+(\.\d+)? m?s\b", "TIME"),
    (r"\b\d+/\d+k tokens", "TOKENS"),
    (r" {2,}(ok|cancelled|failed|TIME)", r"  \1"),
    (r" +TIME", " TIME"),
)


@dataclass(frozen=True)
class Typed:
    """One line of a session and the lines that a guide shows below it."""

    line: str
    shown: list[str]


class Guide:
    """A page of docs/, with its blocks in the order in which they stand there."""

    def __init__(self, name: str) -> None:
        self.text = (DOCS / name).read_text(encoding="utf-8")
        self.blocks: list[tuple[str, str]] = re.findall(r"^```(\w+)\n(.*?)^```", self.text, re.DOTALL | re.MULTILINE)


class ProjectFolder:
    """A folder in which a guide is followed from start to end, with `accord` and `python` on the PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        programs = folder / "bin"
        programs.mkdir()
        python = str(forking_python())
        for name, words in (("accord", [python, "-m", "accord"]), ("python", [python])):
            program = programs / name
            doctor = f'[ "$1 $2" != "agents doctor" ] || exec {shlex.join([python, "-c", DOCTOR])} "$@"\n'
            program.write_text(f'#!/bin/sh\n{doctor}exec {shlex.join(words)} "$@"\n', encoding="utf-8")
            program.chmod(0o755)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ACCORD_LOG", "PYTEST"))}
        self._environment = {
            **kept,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "NO_COLOR": "1",
            "COLUMNS": "200",
        }

    def write(self, code: str) -> bool:
        """Write a program whose first line is its name; false if it has none."""
        named = re.match(r"# (\S+\.(?:py|sh))\n", code)
        if named is not None:
            (self.folder / named[1]).write_text(code, encoding="utf-8")
        return named is not None

    def type(self, block: str) -> list[tuple[Typed, list[str]]]:
        """Type the lines of a session into one shell, with nothing on stdin; each with what the shell printed."""
        typed = session(block)
        script = "".join(f"{each.line}\n_s=$?; printf '{_MARK}'; (exit $_s)\n" for each in typed)
        done = subprocess.run(
            ["/bin/sh", "-c", script],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=limit(120),
            check=False,
        )
        outputs = done.stdout.split(_MARK)[:-1]
        assert len(outputs) == len(typed), done.stdout
        return [(each, output.splitlines()) for each, output in zip(typed, outputs, strict=True)]


def session(block: str) -> list[Typed]:
    typed: list[Typed] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            typed.append(Typed(line.removeprefix("$ "), []))
        else:
            typed[-1].shown.append(line)
    return typed


def masked(line: str) -> str:
    """A line without what is different in every run."""
    for pattern, word in _MASKS:
        line = re.sub(pattern, word, line)
    return line.rstrip()


def is_as_shown(shown: list[str], printed: list[str]) -> bool:
    """Whether the output is what the guide shows; a line `…` stands for any number of lines."""
    parts = [re.escape(masked(line)).replace("…", ".*") + "\n" for line in shown]
    pattern = "".join(r"(?:.*\n)*" if part == ".*\n" else part for part in parts)
    return re.fullmatch(pattern, "".join(f"{masked(line)}\n" for line in printed)) is not None
