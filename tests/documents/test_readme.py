"""What the README shows runs as it is printed there."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

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
