"""The tools `edit` and `write`."""

from __future__ import annotations

from pathlib import Path

import pytest

import accord
from accord.session.tool import Diff
from tests.coder.rig import agent_with, call, project, say, talk, use_tool


async def test_an_edit_replaces_the_text_where_it_is(tmp_path: Path) -> None:
    project(tmp_path, a="one\ntwo\nthree\n")

    result, shown = await use_tool(tmp_path, "edit", path="a", old="two\n", new="2\n")

    assert result.text == "Replaced 1 occurrence in a."
    assert (tmp_path / "a").read_text() == "one\n2\nthree\n"
    assert (shown.locations[0].path, shown.locations[0].line) == (str(tmp_path / "a"), 2)
    (diff,) = shown.content
    assert isinstance(diff, Diff)
    assert (diff.changes[0].old, diff.changes[0].new) == ("one\ntwo\nthree\n", "one\n2\nthree\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"old": "x", "new": "y"}, "contains this text 2 times"),
        ({"old": "z", "new": "y"}, "does not contain this text"),
        ({"old": "x", "new": "x"}, "are the same"),
        ({"old": "", "new": "x"}, "no arguments for edit"),
    ],
)
async def test_an_edit_that_is_not_clear_fails_and_changes_nothing(
    tmp_path: Path, arguments: dict[str, str], words: str
) -> None:
    project(tmp_path, a="x x\n")

    result, shown = await use_tool(tmp_path, "edit", path="a", **arguments)

    assert result.failed
    assert words in result.text
    assert shown.status == "failed"
    assert (tmp_path / "a").read_text() == "x x\n"


async def test_every_occurrence_is_replaced_where_that_is_said(tmp_path: Path) -> None:
    project(tmp_path, a="x x\n")

    result, _ = await use_tool(tmp_path, "edit", path="a", old="x", new="y", all=True)

    assert result.text == "Replaced 2 occurrences in a."
    assert (tmp_path / "a").read_text() == "y y\n"


async def test_line_ends_of_windows_are_kept(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\r\ntwo\r\n")

    result, _ = await use_tool(tmp_path, "edit", path="a", old="one\ntwo", new="1\n2")

    assert not result.failed
    assert (tmp_path / "a").read_bytes() == b"1\r\n2\r\n"


@pytest.mark.parametrize("files", [True, False])
async def test_a_file_that_changed_while_the_user_thought_is_left_alone(tmp_path: Path, files: bool) -> None:  # noqa: FBT001
    project(tmp_path, a="one\n")

    def answer(_: accord.client.PermissionQuestion) -> bool:
        (tmp_path / "a").write_text("ONE\n")
        return True

    agent, model = agent_with(call("edit", path="a", old="one", new="1"), say("Sorry."))
    async with talk(agent, tmp_path, answer=answer, offer=accord.client.Offer(files=files)) as talked:
        await talked.ask("go")

    assert model.results()[0].text == "a was changed meanwhile: read it again"
    assert (tmp_path / "a").read_text() == "ONE\n"


@pytest.mark.parametrize("edition", ["1", "2"])
async def test_a_new_file_is_written_with_the_folders_it_needs(tmp_path: Path, edition: str) -> None:
    agent, model = agent_with(call("write", path="new/a", text="one\ntwo\n"), say("Done."))
    async with talk(agent, tmp_path, edition, offer=accord.client.Offer(missing_file="error")) as talked:
        await talked.ask("go")

        (diff,) = talked.tool.content
        assert isinstance(diff, Diff)
        assert (diff.changes[0].old, diff.changes[0].new) == (None, "one\ntwo\n")
    assert model.results()[0].text == "Wrote 2 lines to new/a."
    assert (tmp_path / "new/a").read_text() == "one\ntwo\n"


async def test_a_file_that_is_like_that_already_is_not_written(tmp_path: Path) -> None:
    project(tmp_path, a="x\n")
    before = (tmp_path / "a").stat().st_mtime_ns

    result, _ = await use_tool(tmp_path, "write", path="a", text="x\n")

    assert result.text == "a is like that already."
    assert (tmp_path / "a").stat().st_mtime_ns == before


@pytest.mark.parametrize("path", ["../a", "link/a"])
async def test_nothing_is_written_outside(tmp_path: Path, path: str) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(tmp_path)

    result, _ = await use_tool(inside, "write", path=path, text="x")

    assert result.failed
    assert "outside the roots" in result.text
    assert not (tmp_path / "a").exists()
