"""A project that `accord new` writes passes its own tests as it is written."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from accord.cli.new_project.templates import FRAMEWORKS, files_of
from tests.cli.command import Accord
from tests.limits import limit
from tests.tables import rows

ROOT = Path(__file__).parents[2]


def test_project(folder: Path, *paths: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": "src", "XDG_STATE_HOME": str(folder), "HOME": str(folder)}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *paths],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=limit(300),
        check=False,
    )


test_project.__test__ = False  # type: ignore[attr-defined]


# Those on other frameworks are tried where these are installed: scripts/adapters, tests/adapters/test_new_projects.py.
HERE = ("plain", "pydantic-ai")


@pytest.mark.sampled(len(HERE))
@pytest.mark.parametrize("framework", HERE)
def test_a_new_project_passes_its_test_as_it_is_written(framework: str, accord: Accord) -> None:
    if framework == "pydantic-ai":
        pytest.importorskip("pydantic_ai", reason="pydantic-ai is missing: install accord[agent]")
    written = accord("new", "word-counter", "--framework", framework)
    assert written.status == 0, written.stderr
    folder = accord.cwd / "word-counter"
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == set(
        files_of("word-counter", framework)
    )
    done = test_project(folder, "tests/test_agent.py")
    assert done.returncode == 0, done.stdout


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("framework", HERE)
def test_a_new_project_keeps_the_protocol_as_it_is_written(framework: str, accord: Accord) -> None:
    assert accord("new", "word-counter", "--framework", framework).status == 0
    done = test_project(accord.cwd / "word-counter")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_project_has_an_entry_point_a_workflow_and_lines_for_editors(framework: str) -> None:
    files = files_of("word-counter", framework)
    project = tomllib.loads(files["pyproject.toml"])
    assert project["project"]["scripts"] == {"word-counter": "word_counter.agent:main"}
    assert "${{ matrix.python }}" in files[".github/workflows/test.yml"]
    snippets = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", files["README.md"], re.DOTALL)]
    commands = [entry["command"] for each in snippets for entry in each["agent_servers"].values()]
    assert commands == ["/path/to/.venv/bin/word-counter"] * 2
    assert not [path for path, text in files.items() if "$module" in text or "$name" in text]
    for path, text in files.items():
        if path.endswith(".py"):
            compile(text, path, "exec")
            assert all(len(line) <= 120 for line in text.splitlines())


@rows("name", ["Upper", "with space", "../up", "-x", "", "class", "json", "accord", "a_b", "a--b"])
def test_a_name_that_cannot_be_a_project_is_refused(name: str, accord: Accord) -> None:
    refused = accord("new", "--", name) if name.startswith("-") else accord("new", name)
    assert refused.status == 2
    assert list(accord.cwd.iterdir()) == []


def test_a_folder_that_is_there_is_left_alone(accord: Accord) -> None:
    (accord.cwd / "mine").mkdir()
    assert accord("new", "mine").status == 2
    assert list((accord.cwd / "mine").iterdir()) == []
