"""The programs of the README run as printed."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from accord.cli.main import VERBS
from tests.documents.console import ProjectFolder
from tests.limits import limit

ROOT = Path(__file__).parents[2]


def programs() -> dict[str, str]:
    """The programs of the README by the file name in their first line."""
    blocks = re.findall(
        r"```python\n# (\S+\.py)\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL
    )
    return dict(blocks)


def test_the_two_commands_have_a_heading_of_their_own() -> None:
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## Two commands\n")[1].split("\n## ")[0]
    block = section.split("```")[1]
    assert "scripts/test" in block
    assert "scripts/run" in block


def test_the_agent_of_the_readme_has_less_than_15_lines() -> None:
    assert len(programs()["shout.py"].splitlines()) < 15


def test_the_agent_and_the_client_of_the_readme_talk(tmp_path: Path) -> None:
    for name, text in programs().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    finished = subprocess.run(
        [sys.executable, "ask.py"],
        cwd=tmp_path,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=limit(60),
        check=False,
    )
    assert finished.stderr == ""
    assert finished.stdout.splitlines() == ["HELLO", "end_turn"]


def test_the_measured_figures_are_those_of_the_recorded_run() -> None:
    recorded = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8").split("\n## One real run\n")[1]
    table = (ROOT / "README.md").read_text(encoding="utf-8").split("| measured |")[1].split("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in table.splitlines()[2:]]
    assert len(rows) > 5
    for _, official, ours, ratio in rows:
        # The table of a scenario: the official Python SDK is its first column, Accord its third.
        assert re.search(rf"^\| \w+ \| {official} \| .* \| {ours} \({ratio}\) \|$", recorded, re.MULTILINE), ours


def test_the_install_lines_name_every_extra_but_that_of_contributors() -> None:
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## Install\n")[1].split("\n## ")[0]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(re.findall(r"^pip install '\.\[(\w+)\]'", section, re.MULTILINE)) == set(extras) - {"dev"}


def test_a_picture_that_the_readme_shows_is_there() -> None:
    for path in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8")):
        assert (ROOT / path).is_file(), path


@pytest.mark.skipif(sys.platform == "win32", reason="lines are typed into /bin/sh: run it on Linux")
def test_the_lines_of_the_command_work_in_a_new_folder(tmp_path: Path) -> None:
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## From the command line\n")[1]
    lines = [line.partition("  #")[0].strip() for line in section.split("```")[1].splitlines()[1:]]
    project = ProjectFolder(tmp_path)
    assert project.write("# shout.py\n" + programs()["shout.py"])
    # The agent of somebody else, the full screen and the editor's line need what is not here; a whole check takes long.
    (demo,) = [line for line in lines if line.startswith("accord run demo")]
    (doctor,) = [line for line in lines if line.startswith("accord agents doctor")]
    (check,) = [line for line in lines if line.startswith("accord check")]
    judged = check.replace("accord check", "accord check --edition 1 --only ACP-INIT")
    typed = [f"{demo} --allow edit", "echo $?", doctor, "echo $?", judged, "echo $?"]
    printed = [output for _, output in project.type("".join(f"$ {line}\n" for line in typed))]
    assert [printed[place] for place in (1, 3, 5)] == [["0"], ["0"], ["0"]], printed
    assert (project.folder / "note.txt").read_text(encoding="utf-8").strip() == "hello"
    verbs = {line.split()[1] for line in lines}
    assert verbs <= set(VERBS)
