"""The settings that are kept, and light or dark by what a terminal says."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest

from accord.cli.chat.settings import ChatSettings, SettingsFile
from accord.cli.chat.theme import shade_of_reply, shade_of_variable


def test_settings_are_kept_for_their_owner_alone(tmp_path: Path) -> None:
    kept = tmp_path / "state" / "chat.json"
    assert SettingsFile(kept).settings == ChatSettings()
    assert SettingsFile(kept).change(theme="light") is None
    assert SettingsFile(kept).change(bell_seconds=None) is None
    assert SettingsFile(kept).settings == ChatSettings("light", None)
    if sys.platform != "win32":
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{", '{"version": 2, "theme": "light"}', '{"version": 1, "theme": "purple", "bell_seconds": -1}',
     '{"version": 1, "bell_seconds": true, "theme": 7}', "[" * 100_000],
)  # fmt: skip
def test_what_a_file_says_wrongly_is_as_if_it_said_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "chat.json").write_text(content)
    assert SettingsFile(tmp_path / "chat.json").settings == ChatSettings()


def test_what_is_right_beside_what_is_wrong_is_used(tmp_path: Path) -> None:
    (tmp_path / "chat.json").write_text(json.dumps({"version": 1, "theme": "dark", "bell_seconds": "x", "other": 1}))
    assert SettingsFile(tmp_path / "chat.json").settings == ChatSettings("dark")


def test_a_file_that_cannot_be_written_is_said_and_the_setting_is_used(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    settings = SettingsFile(tmp_path / "state" / "chat.json")
    assert settings.change(theme="light")
    assert settings.settings.theme == "light"


@pytest.mark.parametrize(
    ("value", "shade"),
    [("15;0", "dark"), ("0;15", "light"), ("0;default;15", "light"), ("12;8", "dark"), ("0;7", "light"),
     ("", None), ("x", None), ("0;²", None)],
)  # fmt: skip
def test_the_variable_says_light_or_dark(value: str, shade: str | None) -> None:
    assert shade_of_variable({"COLORFGBG": value}) == shade


def test_without_the_variable_nothing_is_said() -> None:
    assert shade_of_variable({}) is None


@pytest.mark.parametrize(
    ("reply", "shade"),
    [(b"\x1b]11;rgb:0000/0000/0000\x1b\\", "dark"), (b"\x1b]11;rgb:ffff/ffff/ffff\x07", "light"),
     (b"\x1b]11;rgb:fd/f6/e3\x1b\\\x1b[?62c", "light"), (b"abc\x1b]11;rgba:1e1e/1e1e/2e2e/ffff\x1b\\", "dark"),
     (b"\x1b[?62;4c", None), (b"", None)],
)  # fmt: skip
def test_the_terminals_answer_says_light_or_dark(reply: bytes, shade: str | None) -> None:
    assert shade_of_reply(reply) == shade
