"""Config, state and cache stand where each platform wants them."""

from __future__ import annotations

import sys
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest

from accord.config.errors import ConfigError
from accord.config.paths import ConfigPaths, expand_home, folders
from tests.tables import rows

POSIX = [
    ("linux", {}, "/h", ("/h/.config", "/h/.local/state", "/h/.cache")),
    (
        "linux",
        {"XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/k"},
        "/h",
        ("/c", "/s", "/k"),
    ),
    (
        "linux",
        {"XDG_CONFIG_HOME": "relative", "XDG_STATE_HOME": ""},
        "/h",
        ("/h/.config", "/h/.local/state", "/h/.cache"),
    ),
    (
        "darwin",
        {"XDG_CONFIG_HOME": "/c"},
        "/h",
        ("/h/Library/Application Support", "/h/Library/Application Support", "/h/Library/Caches"),
    ),
]


@rows(("platform", "environment", "home", "expected"), POSIX)
def test_each_platform_has_its_folders(
    platform: str, environment: dict[str, str], home: str, expected: tuple[str, str, str]
) -> None:
    assert folders(platform, environment, home) == tuple(PurePosixPath(each) for each in expected)


def test_windows_keeps_config_with_the_profile_and_the_rest_on_the_machine() -> None:
    found = folders("win32", {"APPDATA": "D:\\R", "LOCALAPPDATA": "D:\\L"}, "C:\\u")
    assert found == tuple(PureWindowsPath(each) for each in ("D:\\R", "D:\\L", "D:\\L\\Cache"))
    assert folders("win32", {}, "C:\\u").config == PureWindowsPath("C:\\u\\AppData\\Roaming")


def test_this_platform_has_them_and_nothing_is_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "APPDATA", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    paths = ConfigPaths.here()
    assert paths.user_file.parts[-2:] == ("accord", "acp.json")
    assert paths.records_file.parts[-2:] == ("accord", "sessions.db")
    assert paths.simse.name == "simse"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="the folders of the desktop: run it on Linux")
def test_there_are_no_folders_without_a_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "relative")
    monkeypatch.setenv("HOME", "relative")
    with pytest.raises(ConfigError) as caught:
        ConfigPaths.here()
    assert caught.value.path == "HOME"
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    assert ConfigPaths.here().config == tmp_path / "accord"


def test_the_home_of_nobody_stays_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert expand_home("~/x") == tmp_path / "x"
    assert expand_home("~no-such-user-here/x") == Path("~no-such-user-here/x")
