"""The programs of the page for users of the official SDK run, before and after, and do the same."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

import accord
from tests.documents.console import Guide
from tests.forking_python import forking_python
from tests.limits import limit
from tests.tables import rows

ROOT = Path(__file__).parents[2]
GUIDE = Guide("migrating.md")
NAMES = "import acp; print(*sorted(acp.__all__))"
PROGRAMS = {
    found[1]: code for kind, code in GUIDE.blocks if kind == "python" and (found := re.match(r"# (\w+\.py)\n", code))
}


def printed(interpreter: str | Path, program: Path, *arguments: str | Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "XDG_STATE_HOME": str(program.parent)}
    done = subprocess.run(
        [interpreter, "-W", "ignore", program, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=limit(60),
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize(("agent", "answer"), [("echo", "three small words"), ("tool", "3 words")])
def test_each_pair_does_the_same_before_and_after(
    agent: str, answer: str, tmp_path: Path, python_peer_v1: Path
) -> None:
    for name, code in PROGRAMS.items():
        # The one line that has to be changed. What the SDK starts gets no PYTHONPATH, so the import has to find it.
        path = f"import sys\nsys.path.insert(0, {str(ROOT / 'src')!r})\n" if "official" in name else ""
        (tmp_path / name).write_text(path + code.replace("from acp import", "from accord.compat.acp import"))
    python = forking_python(str(python_peer_v1), "acp")
    before = printed(python, tmp_path / "client_official.py", python, tmp_path / f"{agent}_official.py")
    after = printed(forking_python(), tmp_path / "client_accord.py", forking_python(), tmp_path / f"{agent}_accord.py")
    assert before == after == answer


def test_every_name_that_the_sdk_removed_is_on_the_page(python_peer_v1: Path, python_peer_v2: Path) -> None:
    old, new = (
        set(subprocess.check_output([python, "-c", NAMES], text=True, timeout=limit(60)).split())
        for python in (forking_python(str(peer), "acp") for peer in (python_peer_v1, python_peer_v2))
    )
    gone = {name for name in old - new if name != "CreateOtherElicitationRequest"}
    assert "text_block" in gone
    assert [name for name in sorted(gone) if f"`{name}`" not in GUIDE.text] == []


@rows("name", ["say", "think", "tool", "plan", "files", "terminals", "request_permission", "meta"])
def test_the_verbs_that_the_page_names_are_those_of_a_turn(name: str) -> None:
    assert f"turn.{name}" in GUIDE.text
    assert hasattr(accord.agent.Turn, name) or f"self.{name}" in Path(accord.agent.turn.__file__ or "").read_text()
