"""The settings that are kept, and light or dark by what a terminal says."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from accord.cli.chat.state_files import MAX_HISTORY_BYTES, MAX_PROMPTS, ChatSettings, PromptHistory, SettingsFile
from accord.cli.chat.terminal import shade_of_reply, shade_of_variable
from accord.display import prose
from tests.cli.chat.actors import make_actor
from tests.cli.chat.rig import open_chat


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


async def test_what_was_said_in_one_chat_comes_back_in_the_next(tmp_path: Path) -> None:
    kept = tmp_path / "state" / "prompts.jsonl"
    async with open_chat(make_actor().agent, tmp_path, app={"history": PromptHistory(kept)}) as chat:
        await chat.say("one line")
        await chat.idle()
        await chat.say("second\nlines")
        await chat.idle()
    async with open_chat(make_actor().agent, tmp_path, app={"history": PromptHistory(kept)}) as chat:
        await chat.press("up")
        assert chat.app.composer.text == "second\nlines"
        await chat.press("up")
        await chat.press("up")
        assert chat.app.composer.text == "one line"
        await chat.press("down", "down")


@pytest.mark.skipif(sys.platform == "win32", reason="has no such modes: run it on Linux or macOS")
def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    kept = tmp_path / "state" / "prompts.jsonl"
    PromptHistory(kept).add("secret")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    kept.chmod(0o644)
    PromptHistory(kept).add("another")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


@settings(max_examples=30)
@given(st.lists(st.text(min_size=1).filter(str.strip), max_size=5))
def test_any_prompt_is_read_as_it_was_written(prompts: list[str]) -> None:
    import tempfile  # noqa: PLC0415 - one folder per example

    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder, "prompts.jsonl")
        history = PromptHistory(kept)
        for prompt in prompts:
            history.add(prompt)
        expected = [prose(prompt) for prompt in history.prompts]
        assert PromptHistory(kept).prompts == expected


def test_there_are_only_so_many_and_the_file_does_not_grow_without_end(tmp_path: Path) -> None:
    kept = tmp_path / "prompts.jsonl"
    history = PromptHistory(kept)
    for number in range(2 * MAX_PROMPTS + 10):
        history.add(f"prompt {number}")
    again = PromptHistory(kept)
    assert len(again.prompts) == MAX_PROMPTS
    assert again.prompts[-1] == f"prompt {2 * MAX_PROMPTS + 9}"
    assert len(kept.read_text().splitlines()) == MAX_PROMPTS
    kept.write_bytes(b'"' + b"x" * (2 * MAX_HISTORY_BYTES) + b'"\n"last"\n')
    assert PromptHistory(kept).prompts == ["last"]
    assert kept.stat().st_size < 100


@pytest.mark.parametrize("content", [b"", b"no json\n", b"[1]\n", b'"\xff"\n', b"\0\0\0", b'{"a": 1}\n"kept'])
def test_what_is_no_prompt_is_left_out(tmp_path: Path, content: bytes) -> None:
    kept = tmp_path / "prompts.jsonl"
    kept.write_bytes(content)
    assert PromptHistory(kept).prompts == []


def test_a_prompt_from_the_file_steers_no_screen(tmp_path: Path) -> None:
    kept = tmp_path / "prompts.jsonl"
    kept.write_text('"a\\u001b]0;evil\\u0007b"\n')
    assert PromptHistory(kept).prompts == ["ab"]


def test_two_chats_add_to_one_file(tmp_path: Path) -> None:
    kept = tmp_path / "prompts.jsonl"
    first, second = PromptHistory(kept), PromptHistory(kept)
    first.add("from the first")
    second.add("from the second")
    assert PromptHistory(kept).prompts == ["from the first", "from the second"]


def test_a_folder_that_cannot_be_written_is_a_problem_and_no_failure(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    history = PromptHistory(tmp_path / "state" / "prompts.jsonl")
    history.add("said")
    assert history.prompts == ["said"]
    assert history.problem


async def test_prompts_that_cannot_be_kept_are_said_and_the_chat_goes_on(tmp_path: Path) -> None:
    (tmp_path / "prompts.jsonl").mkdir()
    history = PromptHistory(tmp_path / "prompts.jsonl")
    async with open_chat(make_actor().agent, tmp_path, app={"history": history}) as chat:
        await chat.sees("Prompts are not kept")
        await chat.say("hello")
        await chat.sees("You said: hello")
