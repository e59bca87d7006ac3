"""The pages on evaluating agents and on agents as tools: their programs run, and the shell prints what they show."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.documents.console import Guide, ProjectFolder, is_as_shown
from tests.limits import limit
from tests.needs import needs_package

NEEDS_PYDANTIC_AI = needs_package("pydantic_ai", "pydantic-ai is missing: install accord[agent]")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the pages are typed into /bin/sh: run it on Linux")


@pytest.mark.timeout(limit(120))
@pytest.mark.parametrize("page", ["evaluating.md", pytest.param("agents-as-tools.md", marks=NEEDS_PYDANTIC_AI)])
def test_the_programs_of_the_page_run_as_shown(page: str, tmp_path: Path) -> None:
    project = ProjectFolder(tmp_path)
    for language, block in Guide(page).blocks:
        if language == "python":
            assert project.write(block), block
        elif language == "console":
            for typed, printed in project.type(block):
                assert is_as_shown(typed.shown, printed), (typed, printed)
