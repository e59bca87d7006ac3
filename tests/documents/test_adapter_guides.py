"""The guides to the adapters: their programs are written to a folder, and the shell prints what the pages show."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.documents.console import Guide, ProjectFolder, is_as_shown
from tests.limits import limit

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the pages are typed into /bin/sh: run it on Linux")


@pytest.mark.timeout(limit(120))
def test_the_adapter_of_the_guide_runs_as_shown(tmp_path: Path) -> None:
    project = ProjectFolder(tmp_path)
    for language, block in Guide("adapters.md").blocks:
        if language == "python":
            assert project.write(block), block
        elif language == "console":
            for typed, printed in project.type(block):
                assert is_as_shown(typed.shown, printed), (typed, printed)
