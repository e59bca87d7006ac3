"""Folders are made from dicts and read back as dicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from accord.testing import read_files, write_files
from tests.tables import rows


def test_what_is_written_is_read(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.txt": "é\r\n", "deep/er/b.bin": b"\xff\x00", "empty": ""}

    assert write_files(tmp_path, files) == tmp_path.resolve()
    assert read_files(tmp_path) == files


def test_symlinks_are_not_followed(tmp_path: Path) -> None:
    write_files(tmp_path / "outside", {"secret": "x"})
    inside = write_files(tmp_path / "inside", {"a": "1"})
    (inside / "link").symlink_to(tmp_path / "outside")
    (inside / "file").symlink_to(tmp_path / "outside" / "secret")

    assert read_files(inside) == {"a": "1"}


@rows("name", ["../out", "/etc/out", "a/../../out", "."])
def test_a_path_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="not inside"):
        write_files(tmp_path / "in", {name: "x"})
