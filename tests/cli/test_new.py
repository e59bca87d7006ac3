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
from tests.forked import ForkedProgram, accord_command
from tests.limits import limit

ROOT = Path(__file__).parents[2]


def accord(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    with ForkedProgram(
        accord_command(), ["accord", *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        stdout, stderr = process.communicate(timeout=limit(60))
    return subprocess.CompletedProcess(words, process.returncode, stdout, stderr)


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


@pytest.mark.parametrize("framework", HERE)
def test_a_new_project_passes_its_test_as_it_is_written(framework: str, tmp_path: Path) -> None:
    if framework == "pydantic-ai":
        pytest.importorskip("pydantic_ai", reason="pydantic-ai is missing: install accord[agent]")
    written = accord(tmp_path, "new", "word-counter", "--framework", framework)
    assert written.returncode == 0, written.stderr
    folder = tmp_path / "word-counter"
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == set(
        files_of("word-counter", framework)
    )
    done = test_project(folder, "tests/test_agent.py")
    assert done.returncode == 0, done.stdout


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("framework", HERE)
def test_a_new_project_keeps_the_protocol_as_it_is_written(framework: str, tmp_path: Path) -> None:
    assert accord(tmp_path, "new", "word-counter", "--framework", framework).returncode == 0
    done = test_project(tmp_path / "word-counter")
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


@pytest.mark.parametrize("name", ["Upper", "with space", "../up", "-x", "", "class", "json", "accord", "a_b", "a--b"])
def test_a_name_that_cannot_be_a_project_is_refused(name: str, tmp_path: Path) -> None:
    refused = accord(tmp_path, "new", "--", name) if name.startswith("-") else accord(tmp_path, "new", name)
    assert refused.returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    assert accord(tmp_path, "new", "mine").returncode == 2
    assert list((tmp_path / "mine").iterdir()) == []
