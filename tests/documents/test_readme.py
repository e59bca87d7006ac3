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


def text() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def programs() -> dict[str, str]:
    """The programs of the README by the file name in their first line."""
    blocks = re.findall(r"```python\n# (\S+\.py)\n(.*?)```", text(), re.DOTALL)
    return dict(blocks)


def test_the_two_commands_have_a_heading_of_their_own() -> None:
    section = text().split("\n## Two commands\n")[1].split("\n## ")[0]
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


def test_the_first_sentence_says_what_one_gets() -> None:
    first = text().split("\n\n")[1]
    assert re.match(r"With Accord, twelve lines .* agent", first)
    codes = {name: [line for line in code.splitlines() if line.strip()] for name, code in programs().items()}
    assert len(programs()["shout.py"].splitlines()) <= 12
    assert ("six lines" in first, len(codes["ask.py"])) == (True, 6)


def test_it_is_read_in_three_minutes() -> None:
    prose = re.sub(r"```.*?```", "", text(), flags=re.DOTALL)
    words = re.findall(r"\w[\w'-]*", re.sub(r"\]\([^)]*\)", "]", prose))
    assert len(words) <= 3 * 230


def test_the_measured_figures_are_those_of_the_recorded_run_as_people_read_them() -> None:
    recorded = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8").split("\n## One real run\n")[1]
    pairs = re.findall(r"^\| \w+ \| ([\d,.]+) \| .* \| ([\d,.]+) \([\d.]+x\) \|$", recorded, re.MULTILINE)
    table = text().split("| measured |")[1].split("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in table.splitlines()[2:]]
    assert len(rows) > 5
    for what, official, ours in rows:
        assert any(is_rounded(official, one) and is_rounded(ours, other) for one, other in pairs), what
        assert not re.search(r"\d,\d{3}\.|0\.00", f"{official} {ours}"), what


def is_rounded(shown: str, recorded: str) -> bool:
    """Whether a figure is the recorded one, to as many digits as it shows; milliseconds may stand for microseconds."""
    figure = shown.split(" ", maxsplit=1)[0].replace(",", "")
    number, exact = float(figure), float(recorded.replace(",", ""))
    digits = len(figure.replace(".", "").strip("0")) or 1
    return any(number == float(f"{each:.{digits}g}") for each in (exact, exact / 1000))


@pytest.mark.skipif(sys.platform == "win32", reason="lines are typed into /bin/sh: run it on Linux")
def test_the_agent_that_asks_first_writes_only_if_it_may(tmp_path: Path) -> None:
    project = ProjectFolder(tmp_path)
    assert project.write("# notes.py\n" + programs()["notes.py"])
    lines = [f'accord run "buy tea" {rule} -o final -- python notes.py' for rule in ("--deny edit", "--allow edit")]
    printed = [output[0] for _, output in project.type("".join(f"$ {line}\n" for line in lines))]
    assert printed == ["Then I leave it.", "Noted."]
    assert (project.folder / "note.txt").read_text(encoding="utf-8") == "buy tea"
    ((_, again),) = project.type('$ accord run "buy milk" --allow edit -- python notes.py\n')
    assert not any("otherwise" in line or "without having asked" in line for line in again), again
    assert (project.folder / "note.txt").read_text(encoding="utf-8") == "buy milk"


def test_the_install_lines_name_every_extra_but_that_of_contributors() -> None:
    section = text().split("\n## Install\n")[1].split("\n## ")[0]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(re.findall(r"^pip install '\.\[(\w+)\]'", section, re.MULTILINE)) == set(extras) - {"dev"}


def test_a_picture_that_the_readme_shows_is_there() -> None:
    for path in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text()):
        assert (ROOT / path).is_file(), path


@pytest.mark.skipif(sys.platform == "win32", reason="lines are typed into /bin/sh: run it on Linux")
def test_the_lines_of_the_command_work_in_a_new_folder(tmp_path: Path) -> None:
    section = text().split("\n## From the command line\n")[1]
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
