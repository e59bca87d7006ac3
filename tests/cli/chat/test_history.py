"""Prompts are kept over runs, in a file of the user's own, and only so many."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from accord.cli.chat.history import MAX_BYTES, MAX_PROMPTS, PromptHistory
from accord.display import prose
from tests.cli.chat.actors import make_actor
from tests.cli.chat.rig import open_chat


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
    kept.write_bytes(b'"' + b"x" * (2 * MAX_BYTES) + b'"\n"last"\n')
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
