"""The whole loop with the model that is built in, in every edition."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.coder import make_agent
from accord.coder.agent import COMMANDS
from accord.session.tool import Diff, Shown, TerminalView
from tests.coder.rig import IN_EVERY_EDITION, answered, project, talk


def offline(**more: Any) -> accord.Agent:
    return make_agent(**{"store": accord.MemoryStore(), **more})


@IN_EVERY_EDITION
async def test_a_text_is_replaced_with_plan_diff_and_permission(tmp_path: Path, edition: str) -> None:
    project(tmp_path, **{"a.py": 'pritn("hi")\n'})
    async with talk(offline(), tmp_path, edition) as talked:
        turn = await talked.ask("replace pritn with print in a.py")

        assert turn.stop_reason == "end_turn"
        assert answered(talked) == "Replaced 1 occurrence in a.py."
        assert (tmp_path / "a.py").read_text() == 'print("hi")\n'
        reading, editing = talked.tools
        assert [(each.kind, each.status) for each in talked.tools] == [("read", "completed"), ("edit", "completed")]
        assert reading.locations[0].path == str(tmp_path / "a.py")
        (diff,) = editing.content
        assert isinstance(diff, Diff)
        assert (diff.changes[0].old, diff.changes[0].new) == ('pritn("hi")\n', 'print("hi")\n')
        (question,) = talked.asked
        assert question.title == "Edit a.py"
        assert [option.name for option in question.options] == [
            "Allow once",
            "Always allow exactly this in this session",
            "Reject",
        ]
        (plan,) = talked.session.transcript.plans.values()
        assert [(entry.content, entry.status) for entry in plan.entries] == [
            ("read a.py", "completed"),
            ("edit a.py", "completed"),
        ]
        assert talked.session.title == "replace pritn with print in a.py"
        usage = talked.session.transcript.usage
        assert usage is not None
        assert 0 < usage.used < usage.size


@IN_EVERY_EDITION
async def test_what_the_user_does_not_allow_is_not_done_and_said(tmp_path: Path, edition: str) -> None:
    project(tmp_path, **{"a.py": "old\n"})
    async with talk(offline(), tmp_path, edition, answer=False) as talked:
        turn = await talked.ask("replace old with new in a.py and then run touch done")

        assert turn.stop_reason == "end_turn"
        assert answered(talked) == (
            "I could not edit a.py. The user did not allow it.\n\nI did not go on with: run touch done."
        )
        assert (tmp_path / "a.py").read_text() == "old\n"
        assert not (tmp_path / "done").exists()
        assert talked.tool.status in {"cancelled", "failed"}


@IN_EVERY_EDITION
async def test_a_command_runs_in_a_terminal_after_a_question(tmp_path: Path, edition: str) -> None:
    project(tmp_path, **{"a.py": "print(6 * 7)\n"})
    async with talk(offline(), tmp_path, edition) as talked:
        await talked.ask(f"run {sys.executable} a.py")

        assert answered(talked) == f"`{sys.executable} a.py`: It ended with exit code 0.\n\n```\n42\n```"
        assert (talked.tool.kind, talked.tool.status) == ("execute", "completed")
        assert isinstance(talked.tool.content[0], TerminalView | Shown)
        assert len(talked.asked) == 1


@IN_EVERY_EDITION
@pytest.mark.parametrize("prompt", ["search needle in src", "/search needle in src", "where is needle"])
async def test_a_search_finds_the_lines(tmp_path: Path, edition: str, prompt: str) -> None:
    project(tmp_path, src__a="hay\nneedle\n", src__b="hay\n")
    async with talk(offline(), tmp_path, edition) as talked:
        await talked.ask(prompt)

        assert answered(talked) == "```\nsrc/a:2: needle\n```"
        assert talked.asked == []


async def test_several_requests_are_done_one_after_the_other(tmp_path: Path) -> None:
    async with talk(offline(), tmp_path) as talked:
        await talked.ask('write "one" to a.txt, then replace one with two in a.txt and then read a.txt')

        assert answered(talked) == (
            "Wrote 1 line to a.txt.\n\nReplaced 1 occurrence in a.txt.\n\na.txt:\n\n```\ntwo\n```"
        )
        assert [each.kind for each in talked.tools] == ["edit", "read", "edit", "read"]


async def test_what_is_in_a_folder_is_listed(tmp_path: Path) -> None:
    project(tmp_path, src__a="x", src__b="y")
    async with talk(offline(), tmp_path) as talked:
        await talked.ask("what is in src?")

        assert answered(talked) == "```\na\nb\n```"


@pytest.mark.parametrize("prompt", ["write me a poem about spring", "read a.py and then be happy"])
async def test_what_it_does_not_understand_it_says_and_does_nothing(tmp_path: Path, prompt: str) -> None:
    project(tmp_path, **{"a.py": "x\n"})
    async with talk(offline(), tmp_path) as talked:
        turn = await talked.ask(prompt)

        assert "I do not understand this, and did nothing" in turn.text
        assert "--model PROVIDER:NAME" in turn.text
        assert talked.tools == []


async def test_a_failing_tool_is_a_failed_call_and_an_honest_answer(tmp_path: Path) -> None:
    async with talk(offline(), tmp_path, offer=accord.client.Offer(missing_file="error")) as talked:
        turn = await talked.ask("read missing.txt")

        assert turn.stop_reason == "end_turn"
        assert turn.text == "I could not read missing.txt. There is no such file."
        assert talked.tool.status == "failed"


async def test_a_link_in_the_prompt_is_a_path(tmp_path: Path) -> None:
    project(tmp_path, **{"notes.txt": "hello\n"})
    async with talk(offline(), tmp_path) as talked:
        link = accord.Link((tmp_path / "notes.txt").as_uri(), "notes.txt")
        turn = await talked.ask("read", link)

        assert turn.text == "notes.txt:\n\n```\nhello\n```"


@IN_EVERY_EDITION
async def test_each_tool_has_a_slash_command(tmp_path: Path, edition: str) -> None:
    project(tmp_path, **{"a.txt": "one\ntwo\nthree\n"})
    said = []
    async with talk(offline(), tmp_path, edition) as talked:
        for prompt in (
            "/read a.txt lines 2-3",
            "/list",
            "/replace two with 2 in a.txt",
            "/write b.txt and then some",
            "/run echo and then",
            "/shell echo b | cat",
            "/plan think; do",
            "/model",
            "/model nonsense",
            "/compact",
        ):
            turn = await talked.ask(prompt)
            said.append(turn.text)
        names = {command.name for command in talked.session.commands}
        assert {name for name, _, _ in COMMANDS} < names

    assert said == [
        "a.txt:\n\n```\ntwo\nthree\n```",
        "```\na.txt\n```",
        "Replaced 1 occurrence in a.txt.",
        "Wrote 1 line to b.txt.",
        "`echo and then`: It ended with exit code 0.\n\n```\nand then\n```",
        "`echo b | cat`: It ended with exit code 0.\n\n```\nb\n```",
        "That is the plan.",
        "The model is offline.",
        "There is no model nonsense here: one of offline.",
        "I go on with the summary.",
    ]
    assert (tmp_path / "b.txt").read_text() == "and then some\n"


async def test_help_says_what_can_be_said(tmp_path: Path) -> None:
    async with talk(offline(), tmp_path) as talked:
        turn = await talked.ask("/help")

        assert "`replace A with B in F`" in turn.text
        assert "/compact" in turn.text


async def test_a_greeting_gets_one_back(tmp_path: Path) -> None:
    async with talk(offline(), tmp_path) as talked:
        turn = await talked.ask("Hello!")

        assert turn.text.startswith("Hello!")
        assert "`run CMD`" in turn.text


async def test_an_embedded_file_is_a_path_too(tmp_path: Path) -> None:
    project(tmp_path, **{"notes.txt": "hello\n"})
    async with talk(offline(), tmp_path) as talked:
        resource = accord.Resource((tmp_path / "notes.txt").as_uri(), text="hello\n")
        turn = await talked.ask("replace hello with bye in", resource)

        assert turn.text == "Replaced 1 occurrence in notes.txt."


async def test_it_says_that_it_cannot_see_pictures(tmp_path: Path) -> None:
    async with talk(offline(), tmp_path) as talked:
        turn = await talked.ask("list", accord.Image("AAEC", "image/png"))

        assert turn.text.startswith("I cannot see pictures, and go by the text alone.")
