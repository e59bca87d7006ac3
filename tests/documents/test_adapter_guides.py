"""The guides to the adapters: their programs are written to a folder, and the shell prints what the pages show."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.documents.console import Guide, ProjectFolder, is_as_shown
from tests.limits import limit

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the pages are typed into /bin/sh: run it on Linux")

# The pages of frameworks import them several times over: scripts/adapters runs those too.
PAGES = [
    ("adapters.md", "accord"),
    pytest.param("adapters/pydantic-ai.md", "pydantic_ai", marks=pytest.mark.long),
    pytest.param("adapters/langgraph.md", "langchain", marks=pytest.mark.long),
    pytest.param("adapters/openai-agents.md", "agents.testing", marks=pytest.mark.long),
    pytest.param("adapters/google-adk.md", "google.adk", marks=pytest.mark.long),
    pytest.param("adapters/strands.md", "strands", marks=pytest.mark.long),
    pytest.param("adapters/ag-ui.md", "ag_ui", marks=pytest.mark.long),
]


@pytest.mark.timeout(limit(240))
@pytest.mark.parametrize(("page", "package"), PAGES)
def test_every_program_and_every_line_does_what_the_page_shows(page: str, package: str, tmp_path: Path) -> None:
    pytest.importorskip(package, reason=f"{package} is missing: scripts/adapters installs it and runs this")
    project = ProjectFolder(tmp_path)
    for language, block in Guide(page).blocks:
        if language == "python":
            assert project.write(block), block
        elif language == "console":
            for typed, printed in project.type(block):
                assert is_as_shown(typed.shown, printed), (typed, printed)
