"""What `.gitignore` files hide, as Git does: every case was seen in Git itself, too, where that is there."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from accord.coder.tools.walk import Ignored, walk
from accord.workspace import Workspace
from tests.limits import limit
from tests.tables import rows

CASES: list[tuple[str, str, bool]] = [
    ("*.log", "a.log", True),
    ("*.log", "deep/er/a.log", True),
    ("*.log", "a.logs", False),
    ("*.log\n!keep.log", "keep.log", False),
    ("!keep.log\n*.log", "keep.log", True),
    ("/top", "top", True),
    ("/top", "deep/top", False),
    ("a/b", "a/b", True),
    ("a/b", "x/a/b", False),
    ("build/", "build/x", True),
    ("build/", "deep/build/x", True),
    ("build/", "build", False),
    ("**/x", "a/b/x", True),
    ("a/**", "a/b/c", True),
    ("a/**/z", "a/z", True),
    ("a/**/z", "a/b/c/z", True),
    ("a?c", "abc", True),
    ("a?c", "a/c", False),
    ("[ab]x", "ax", True),
    ("[!ab]x", "ax", False),
    ("[!ab]x", "cx", True),
    ("[a-c]x", "bx", True),
    ("# comment", "# comment", False),
    ("\\#file", "#file", True),
    ("\\!file", "!file", True),
    ("name   ", "name", True),
    ("name\\ ", "name ", True),
    ("a.b", "axb", False),
    ("*", "anything", True),
    ("*\n!*.py", "a.py", False),
    ("*\n!*/\n!*.py", "deep/a.py", False),
    ("folder\n!folder/keep", "folder/keep", True),
    ("folder/*\n!folder/keep", "folder/keep", False),
    ("", "a", False),
    ("/", "a", False),
    ("[", "[", False),
    ("doc/*.txt", "doc/a.txt", True),
    ("doc/*.txt", "doc/deep/a.txt", False),
]


def found(folder: Path) -> set[str]:
    return {each.path for each in walk(Workspace([folder]), str(folder), 64, lambda: None) if not each.is_folder}


@rows(("patterns", "path", "hidden"), CASES)
def test_a_pattern_hides_what_git_hides(tmp_path: Path, patterns: str, path: str, hidden: bool) -> None:  # noqa: FBT001
    (tmp_path / ".gitignore").write_text(patterns)
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("x")

    assert (path not in found(tmp_path)) is hidden
    if shutil.which("git"):
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=limit(30))
        asked = subprocess.run(["git", "-C", str(tmp_path), "check-ignore", "-q", path], check=False, timeout=limit(30))
        assert (asked.returncode == 0) is hidden


def test_a_deeper_file_has_the_last_word(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / ".gitignore").write_text("*.log\n*.tmp\n")
    (tmp_path / "in/.gitignore").write_text("!keep.log\nown\n")
    for name in ("a.log", "in/keep.log", "in/other.log", "in/a.tmp", "in/own", "own"):
        (tmp_path / name).write_text("x")

    assert found(tmp_path) == {".gitignore", "in/.gitignore", "in/keep.log", "own"}


def test_a_walk_that_begins_below_knows_the_patterns_above(tmp_path: Path) -> None:
    (tmp_path / "in/deep").mkdir(parents=True)
    (tmp_path / ".gitignore").write_text("*.log\n/in/deep/x\n")
    for name in ("a.log", "x", "y"):
        (tmp_path / "in/deep" / name).write_text("x")

    below = walk(Workspace([tmp_path]), str(tmp_path / "in/deep"), 64, lambda: None)

    assert [each.path for each in below] == ["y"]


def test_a_folder_that_is_named_is_looked_into_though_it_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    (tmp_path / ".gitignore").write_text("build/\n")
    (tmp_path / "build/a").write_text("x")

    assert found(tmp_path) == {".gitignore"}
    assert [each.path for each in walk(Workspace([tmp_path]), str(tmp_path / "build"), 64, lambda: None)] == ["a"]


def test_no_patterns_hide_nothing() -> None:
    assert not Ignored().inside("", "\n# only this\n").hides("a", is_folder=False)
