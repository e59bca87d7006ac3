"""docs/reading-traces.md: its program runs, and each line prints the output that stands below it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from accord.trace.exports.selection import EXPORTS
from accord.trace.imports.recognition import IMPORTERS
from tests.documents.console import Guide, ProjectFolder, is_as_shown
from tests.limits import limit

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the page is typed into /bin/sh: run it on Linux")


@pytest.mark.timeout(limit(300))
def test_every_program_and_every_line_does_what_the_page_shows(tmp_path: Path) -> None:
    project = ProjectFolder(tmp_path)
    for language, block in Guide("reading-traces.md").blocks:
        if language == "python":
            assert project.write(block), block
        elif language == "console":
            for typed, printed in project.type(block):
                assert is_as_shown(typed.shown, printed), (typed, printed)


def test_every_format_is_on_the_page() -> None:
    text = Guide("reading-traces.md").text
    written = re.search(r"## Formats that are written\n(.*)", text, re.DOTALL)
    assert written is not None
    assert {name for name in EXPORTS if f"| `{name}` |" not in written[1]} == set()
    read = text.partition("## Formats that are read")[2].partition("## Formats that are written")[0]
    assert len(re.findall(r"^\| ", read, re.MULTILINE)) - 2 == len(IMPORTERS) + 1
