"""Sessions stand where the platform wants them, for their owner alone."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given, strategies as st

from accord.errors import StoreError
from accord.stores import default_path
from accord.stores.folder import make_private, place, safe_name
from tests.limits import limit
from tests.tables import rows

PLACES = [
    ("linux", {}, "/home/u", "/home/u/.local/state/accord/echo/sessions.db"),
    ("linux", {"XDG_STATE_HOME": "/state"}, "/home/u", "/state/accord/echo/sessions.db"),
    ("linux", {"XDG_STATE_HOME": ""}, "/home/u", "/home/u/.local/state/accord/echo/sessions.db"),
    ("linux", {"XDG_STATE_HOME": "relative"}, "/home/u", "/home/u/.local/state/accord/echo/sessions.db"),
    ("freebsd14", {}, "/home/u", "/home/u/.local/state/accord/echo/sessions.db"),
    (
        "darwin",
        {"XDG_STATE_HOME": "/state"},
        "/Users/u",
        "/Users/u/Library/Application Support/accord/echo/sessions.db",
    ),
    ("win32", {"LOCALAPPDATA": "D:\\Local"}, "C:\\Users\\u", "D:\\Local\\accord\\echo\\sessions.db"),
    ("win32", {}, "C:\\Users\\u", "C:\\Users\\u\\AppData\\Local\\accord\\echo\\sessions.db"),
]


@rows(("platform", "environment", "home", "expected"), PLACES)
def test_each_platform_has_its_place(platform: str, environment: dict[str, str], home: str, expected: str) -> None:
    kind = PureWindowsPath if platform == "win32" else PurePosixPath
    assert place("echo", platform, environment, home) == kind(expected)


def test_this_platform_has_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("XDG_STATE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    path = default_path("echo")
    assert path.is_absolute()
    assert path.parts[-3:] == ("accord", "echo", "sessions.db")
    assert not path.parent.exists()


@rows("name", ["echo", "my-agent", "a.b_c", "Agent2", "x" * 64])
def test_a_safe_name_stays(name: str) -> None:
    assert safe_name(name) == name


@rows(
    ("name", "beginning"),
    [
        ("", "agent-"),
        (".", "agent-"),
        ("..", "agent-"),
        (".hidden", "hidden-"),
        ("a/b", "a-b-"),
        ("../../etc/passwd", "etc-passwd-"),
        ("C:\\x", "C-x-"),
        ("Grüße an alle", "Gr-e-an-alle-"),
        ("\0", "agent-"),
        ("\ud800", "agent-"),
        ("con", "agent-"),
        ("NUL.txt", "agent-"),
        ("nul ", "agent-"),
        ("ends.", "ends-"),
        ("x" * 300, "x" * 64 + "-"),
    ],
)
def test_an_unsafe_name_is_changed(name: str, beginning: str) -> None:
    assert safe_name(name).startswith(beginning)
    assert safe_name(name) != beginning


@given(st.text(st.characters()), st.text(st.characters()))
def test_every_name_is_one_part_of_a_path_and_no_two_are_the_same(one: str, other: str) -> None:
    safe = safe_name(one)
    assert PureWindowsPath(safe).parts == PurePosixPath(safe).parts == (safe,)
    assert safe not in {".", ".."}
    assert len(safe) < 100
    assert (safe == safe_name(other)) == (one == other)


posix_only = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes; the profile folder is private")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@posix_only
def test_what_is_made_is_for_its_owner_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    path = tmp_path / "accord" / "echo" / "sessions.db"
    make_private(path)
    assert [mode(path), mode(path.parent), mode(path.parent.parent)] == [0o600, 0o700, 0o700]
    assert mode(tmp_path) == 0o755


@posix_only
@rows("umask", [0, 0o777])
def test_what_is_made_is_private_whatever_the_umask_is(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "accord" / "echo" / "sessions.db"
    before = os.umask(umask)
    try:
        make_private(path)
    finally:
        os.umask(before)
    assert [mode(path), mode(path.parent), mode(path.parent.parent)] == [0o600, 0o700, 0o700]


@posix_only
def test_a_folder_of_ours_that_others_may_enter_is_closed_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sys.platform != "linux":
        pytest.skip("XDG_STATE_HOME names the folder: run it on Linux")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    ours, another = tmp_path / "state" / "accord" / "echo", tmp_path / "accord" / "echo"
    for folder in (ours, another):
        folder.mkdir(parents=True)
        for each in (folder, folder.parent, folder.parent.parent):
            each.chmod(0o755)
        make_private(folder / "sessions.db")
    assert [mode(each) for each in (ours, ours.parent, ours.parent.parent)] == [0o700, 0o700, 0o755]
    assert [mode(each) for each in (another, another.parent)] == [0o755, 0o755]


@posix_only
@pytest.mark.parametrize("home", ["relative", "~", "./x"])
def test_a_home_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    monkeypatch.setenv("HOME", home)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    with pytest.raises(StoreError) as caught:
        default_path("echo")
    assert caught.value.reason == "no_home"


LOCK = """
import fcntl, sys
try:
    fcntl.lockf(open(sys.argv[1], "r+b"), fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    print("held")
"""


@posix_only
def test_a_file_in_use_keeps_the_locks_that_this_process_has_on_it(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    make_private(path)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    make_private(path)
    answer = subprocess.run([sys.executable, "-c", LOCK, path], stdout=subprocess.PIPE, timeout=limit(60), check=True)
    connection.close()
    assert answer.stdout == b"held\n"


@posix_only
def test_what_is_there_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    path.write_bytes(b"content")
    path.chmod(0o640)
    make_private(path)
    assert mode(path) == 0o640
    assert path.read_bytes() == b"content"
