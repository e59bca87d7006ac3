"""docs/quickstart.md, followed from start to end in one folder: the shell prints what the page shows."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

from tests.documents.console import DOCS, Guide, ProjectFolder, is_as_shown
from tests.limits import limit

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the page is typed into /bin/sh: run it on Linux")


@pytest.mark.timeout(limit(300))
def test_every_program_and_every_line_does_what_the_page_shows(tmp_path: Path) -> None:
    project = ProjectFolder(tmp_path)
    for language, block in Guide("quickstart.md").blocks:
        if language == "python":
            assert project.write(block), block
        elif language == "console":
            for typed, printed in project.type(block):
                assert is_as_shown(typed.shown, printed), (typed, printed)


def test_the_install_lines_name_an_extra_that_there_is() -> None:
    text = (DOCS.parent / "pyproject.toml").read_text(encoding="utf-8")
    extras = tomllib.loads(text)["project"]["optional-dependencies"]
    (install,) = [block for language, block in Guide("quickstart.md").blocks if language == "sh"]
    assert set(re.findall(r"pip install '\.\[(\w+)\]'", install)) <= set(extras)
    assert "pip install" in install
