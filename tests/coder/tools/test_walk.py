"""Walking folders: never out of the roots, never through a link, and not for ever."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from accord.coder.tools.walk import walk
from accord.workspace import NoSuchFile, PathOutsideRoots, Workspace


def names(folder: Path, path: Path | None = None, depth: int = 64) -> list[str]:
    return [each.path for each in walk(Workspace([folder]), str(path or folder), depth, lambda: None)]


def test_folders_come_before_what_is_in_them_in_the_order_of_names(tmp_path: Path) -> None:
    for name in ("b/y", "b/x", "a", ".hidden", ".git/config"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")

    assert names(tmp_path) == [".hidden", "a", "b", "b/x", "b/y"]
    assert names(tmp_path, depth=1) == [".hidden", "a", "b"]


def test_a_link_is_named_but_not_followed(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    (outside / "deep").mkdir(parents=True)
    (outside / "deep/secret").write_text("x")
    inside.mkdir()
    (inside / "link").symlink_to(outside)
    (inside / "loop").symlink_to(inside)
    (inside / "file").symlink_to(outside / "deep/secret")

    found = list(walk(Workspace([inside]), str(inside), 64, lambda: None))

    assert [each.path for each in found] == ["file", "link", "loop"]


def test_a_file_behind_a_link_is_not_read(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret").write_text("x")
    (inside / "file").symlink_to(tmp_path / "secret")
    (inside / "real").write_text("y")

    read = {each.path: each.read(100) for each in walk(Workspace([inside]), str(inside), 64, lambda: None)}

    assert read == {"file": None, "real": b"y"}


def test_what_is_too_large_or_no_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "large").write_text("x" * 101)
    os.mkfifo(tmp_path / "pipe")

    read = {each.path: each.read(100) for each in walk(Workspace([tmp_path]), str(tmp_path), 64, lambda: None)}

    assert read == {"large": None, "pipe": None}


def test_what_lies_outside_is_refused(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "out").symlink_to(tmp_path)

    for path in (tmp_path, inside / "out"):
        with pytest.raises(PathOutsideRoots):
            names(inside, path)
    with pytest.raises(NoSuchFile):
        names(inside, inside / "nothing")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything: run the tests as somebody else")
def test_a_folder_that_may_not_be_read_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    (tmp_path / "open").write_text("x")

    assert names(tmp_path) == ["closed", "open"]


def test_whoever_checks_may_stop_it(tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / str(number)).write_text("x")
    seen: list[int] = []

    def check() -> None:
        seen.append(1)
        if len(seen) > 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        list(walk(Workspace([tmp_path]), str(tmp_path), 64, check))


def test_the_patterns_of_several_roots_do_not_mix(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
        (folder / "a.log").write_text("x")
    (one / ".gitignore").write_text("*.log")
    workspace = Workspace([one, two])

    assert [each.path for each in walk(workspace, str(one), 64, lambda: None)] == [".gitignore"]
    assert [each.path for each in walk(workspace, str(two), 64, lambda: None)] == ["a.log"]
