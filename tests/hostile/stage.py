"""The stage of a trick: a working directory, a folder beside it, a home, and the checks afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import select
import sys
import time
from pathlib import Path
from typing import Any

from tests.hostile.registry import Row, word_of
from tests.limits import limit

AGENT = str(Path(__file__).with_name("agent.py"))
MAX_MEMORY_KIB = 200 * 1024
GONE_SECONDS = limit(10.0)

# What no program of ours writes for its own ends, anywhere.
NEVER = re.compile(
    "[\u061c\u200b\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\u00ad\ufeff\U000e0000-\U000e007f\ufffe\x80-\x9f]"
)
# What a screen writes for its own ends, and never beside the mark of the agent's poison.
BESIDE_MARK = re.compile("\x1b\\]777|[\x00\x07\x08\x0b\x0c\x7f\x1b]QZ|\x1b\\[35mQZ")
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class Stage:
    """One playground, with everything that surrounds it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.outside = folder / "outside"
        self.home = folder / "home"
        self.journal = folder / "journal"
        self.mark = secrets.token_hex(16)
        for path, text in _FILES.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        (self.work / "empty").mkdir()
        (self.work / "link").symlink_to("secret")
        (self.work / "out").symlink_to(self.outside)
        (self.work / "alias.txt").symlink_to("a.txt")
        self._before = self._snapshot()

    @property
    def env(self) -> dict[str, str]:
        """The environment of a client: this machine's, without what people set for themselves."""
        left_out = ("XDG_", "NO_COLOR", "FORCE_COLOR", "ACCORD_", "COLUMNS", "LINES", "PYTEST_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
        return {**kept, "HOME": str(self.home), "TERM": "xterm-256color", "PYTHONUTF8": "1", **self.marks}

    @property
    def marks(self) -> dict[str, str]:
        """What the agent gets to know, and by what its processes are found."""
        return {"HOSTILE_JOURNAL": str(self.journal), "HOSTILE_MARK": self.mark}

    def agent(self, row: Row, *arguments: str) -> list[str]:
        """The program and its arguments."""
        return [sys.executable, "-S", "-E", AGENT, word_of(row), str(row.version), *arguments]

    # --- what happened

    def _snapshot(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for root in (self.work, self.outside, self.home):
            for path in sorted(root.rglob("*")):
                name = os.path.relpath(path, self.work)
                if name.startswith(("../home/.local", "../home/.config", "../home/.cache")):
                    continue  # the client's own records
                if path.is_symlink():
                    found[name] = ("link", os.readlink(path))  # noqa: PTH115 - as it is written
                elif path.is_dir():
                    found[name] = ("folder",)
                else:
                    found[name] = ("file", path.read_bytes(), path.stat().st_mode)
        return found

    def changed(self) -> set[str]:
        """What differs since the last look; a folder is not named where something in it is."""
        before, now = self._before, self._snapshot()
        self._before = now
        names = {name for name in {*before, *now} if before.get(name) != now.get(name)}
        return {name for name in names if not any(other.startswith(f"{name}/") for other in names)}

    def entries(self) -> list[dict[str, Any]]:
        """The agent's journal; a line that is not whole yet is left out."""
        if not self.journal.exists():
            return []
        lines = self.journal.read_text(encoding="utf-8").rpartition("\n")[0].splitlines()
        return [json.loads(line) for line in lines]

    def forget_journal(self) -> None:
        """Before a further run."""
        self.journal.unlink(missing_ok=True)

    # --- what must hold

    def assert_harmless(self, row: Row, changes: tuple[str, ...] | None = None) -> None:
        """Nothing changed beyond what the row names, and no process is left."""
        wanted = set(row.changes if changes is None else changes)
        may = set(row.may_change)
        found = self.changed()
        assert found - may == wanted - may, f"{row.name}: changed {sorted(found)}, expected {sorted(wanted)}"
        left = self.left_processes()
        assert not left, f"{row.name}: still running: {left}"

    def assert_answers(self, row: Row, granted: tuple[str, ...] | None = None) -> None:
        """The client granted what the row names, in that order, and nothing else."""
        wanted = list(row.granted if granted is None else granted)
        answers = [entry for entry in self.entries() if "what" in entry]
        found = [entry["what"] for entry in answers if entry["granted"]]
        assert found == wanted, f"{row.name}: granted {found}, expected {wanted}: {answers}"

    def left_processes(self) -> list[str]:
        """Processes of the agent, or that were started for it, which do not end within some time."""
        deadline = time.monotonic() + GONE_SECONDS
        noted = {entry["pid"] for entry in self.entries() if "pid" in entry}
        while True:
            left = _processes(self.mark, noted)
            if not left or time.monotonic() > deadline:
                return left
            select.select([], [], [], 0.02)


def assert_clean(row: Row, printed: bytes, *, is_terminal: bool) -> None:
    """Nothing of an agent reached the screen raw, and nothing of ours fell apart."""
    text = printed.decode("utf-8", "surrogateescape")
    patterns = [NEVER, BESIDE_MARK, re.compile("[\udc80-\udcff]")] + ([] if is_terminal else [CONTROL])
    for pattern in patterns:
        found = pattern.search(text)
        where = "" if found is None else ascii(text[max(0, found.start() - 200) : found.end() + 60])
        assert found is None, f"{row.name}: {where}"
    assert "Traceback" not in text, f"{row.name}: {text[text.index('Traceback') :][:1500]}"


def _processes(mark: str, noted: set[int]) -> list[str]:
    found = []
    ours = f"HOSTILE_MARK={mark}".encode()
    for each in Path("/proc").iterdir():
        if not each.name.isdigit() or int(each.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            is_noted = int(each.name) in noted and b"hostile" in (each / "cmdline").read_bytes()
            if not is_noted and ours not in (each / "environ").read_bytes():
                continue
            state = (each / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
            line = (each / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            # The watchdog of this very process lives as long as it does.
            if state not in "ZX" and "watchdog" not in line:
                found.append(f"{each.name} {state} {line[:200]}")
    return found


_FILES = {
    "work/a.txt": "a\n",
    "work/b.txt": "b\n",
    "work/src/main.py": "print('main')\n",
    "work/src/util.py": "print('util')\n",
    "work/secret/key": "the key\n",
    "work/.git/config": "[core]\n",
    "outside/canary": "alive\n",
    "outside/folder/canary": "alive\n",
    "home/.bashrc": "alive\n",
    "home/.ssh/id": "alive\n",
}
