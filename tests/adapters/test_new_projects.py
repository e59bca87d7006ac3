"""Projects that `accord new` writes on a framework pass their own tests as they are written, where it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from accord.cli.new_project.frameworks import NATIVE
from tests.adapters.environments import BY_SCRIPT
from tests.cli.command import Accord
from tests.cli.test_new import test_project

PACKAGES = {
    "pydantic-ai": "pydantic_ai",
    "langgraph": "langchain",
    "openai-agents": "agents",
    "google-adk": "google.adk",
    "strands": "strands",
}
pytestmark = BY_SCRIPT


def test_every_native_adapter_has_a_project() -> None:
    assert list(NATIVE) == list(PACKAGES)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("framework", PACKAGES)
def test_a_new_project_on_a_framework_passes_its_tests_as_it_is_written(framework: str, tmp_path: Path) -> None:
    pytest.importorskip(PACKAGES[framework], reason=f"{framework} is missing: scripts/adapters installs it")
    accord = Accord(tmp_path)
    written = accord("new", "word-counter", "--framework", framework)
    assert written.status == 0, written.stderr
    done = test_project(accord.cwd / "word-counter", "-W", "default")
    assert done.returncode == 0, done.stdout
    assert " skipped" not in done.stdout.splitlines()[-1] or " passed" in done.stdout.splitlines()[-1]
