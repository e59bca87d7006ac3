"""docs/postgres.md: its programs run against a real server, and print what the page shows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.documents.console import Guide, ProjectFolder, is_as_shown
from tests.postgres import Database

GUIDE = Guide("postgres.md")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the page is typed into /bin/sh: run it on Linux")


@pytest.mark.timeout(180)
def test_the_page_is_followed_from_start_to_end(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACCORD_STORE", database.conninfo)
    folder = ProjectFolder(tmp_path)
    typed = 0
    for kind, block in GUIDE.blocks:
        if kind == "python":
            assert folder.write(block), "a program of the page has no name"
        elif kind == "console":
            for line, printed in folder.type(block):
                assert is_as_shown(line.shown, printed), (line, printed)
                typed += 1
    assert typed == 3
