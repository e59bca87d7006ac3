"""`scripts/run`, the main job: a chat on a terminal, elsewhere a whole conversation with the built-in agent."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import Accord, Screen
from tests.limits import limit

pytest.importorskip("termios")

ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose environment is the one that these tests run in."""
    folder = tmp_path / "checkout"
    (folder / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "run", folder / "scripts" / "run")
    ready = f"PATH={Path(sys.executable).parent}:$PATH\nexport PATH\n"
    (folder / "scripts" / "env").write_text(ready, encoding="utf-8")
    return folder


def test_without_a_terminal_it_shows_a_whole_conversation(accord: Accord, checkout: Path) -> None:
    done = subprocess.run(
        ["scripts/run"], cwd=checkout, env=accord.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=limit(120), check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    wanted = (
        "demo ",
        "  plan  ▸ read a.py  ○ edit a.py  ○ run python a.py",
        "  read  a.py ",
        "  edit  a.py   +1 \N{MINUS SIGN}1",
        '    - pritn("hello from the demo")',
        '    + print("hello from the demo")',
        "    allowed: by the rule: allow edit:*.py",
        "  run   python a.py",
        "    hello from the demo",
        "Replaced 1 occurrence in a.py.",
        "end_turn · ",
    )
    for beginning in wanted:
        assert any(line.startswith(beginning) for line in lines), (beginning, lines)
    # One conversation, and then what to try: every program that is named there exists.
    following = done.stdout.partition("What to try next")[2]
    assert len([line for line in following.splitlines() if line.startswith("  ")]) == 5
    for program in re.findall(r"examples/\S+\.py", following):
        assert (ROOT / program).is_file()
    assert not list(checkout.glob("*.py"))
    assert list(accord.home.iterdir()) == []


def test_on_a_terminal_it_is_a_chat(accord: Accord, checkout: Path) -> None:
    pytest.importorskip("textual")
    screen = Screen([str(checkout / "scripts" / "run")], checkout, accord.env)
    try:
        screen.expect("\x1b[?1049h")
        screen.expect("demo")
        screen.type("\x11")
        assert screen.status() == 0
    finally:
        screen.close()
