"""docs/tracing.md: its program runs, and each line prints the output that stands below it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.documents.console import Guide, ProjectFolder, is_as_shown
from tests.limits import limit

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the page is typed into /bin/sh: run it on Linux")


@pytest.mark.timeout(limit(300))
def test_every_program_and_every_line_does_what_the_page_shows(tmp_path: Path) -> None:
    project = ProjectFolder(tmp_path)
    for language, block in Guide("tracing.md").blocks:
        if language == "python":
            assert project.write(block), block
            assert [printed for _, printed in project.type("$ python show.py > shown.txt\n")] == [[]]
        elif language == "console":
            for typed, printed in project.type(block):
                assert is_as_shown(typed.shown, printed), (typed, printed)
