"""`/undo`: the last turn's changes of files are put back, and nothing else is ever touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

import accord
from accord.client import Offer
from accord.coder.file_changes import MAX_TURN_CHARACTERS, MAX_TURNS, ChangeLog, take_back
from accord.coder.model import ModelReply, UserMessage
from accord.session.git_patch import write_patch
from accord.session.tool import FileChange
from tests.coder.rig import IN_EVERY_EDITION, agent_with, answered, call, project, say, talk
from tests.tables import rows

texts = st.text(st.sampled_from("ab\n\r@- +\\"), max_size=40)


@given(texts, texts)
def test_a_patch_is_taken_back_from_the_text_after_it(before: str, after: str) -> None:
    patch = write_patch([FileChange("/a", before, after, "modify")]) or ""

    assert take_back(patch, after) == before


def test_a_patch_of_many_lines_is_taken_back() -> None:
    lines = [f"{n}\n" for n in range(3_000)]
    before, after = "".join(lines), "".join([*lines[:100], "x\n", *lines[200:2000], *lines[2001:]])

    assert take_back(write_patch([FileChange("/a", before, after, "modify")]) or "", after) == before


@rows("text", ["", "a\n", "other\n" * 9])
def test_a_patch_does_not_fit_another_text(text: str) -> None:
    patch = write_patch([FileChange("/a", "a\nb\nc\n", "a\nx\nc\n", "modify")]) or ""
    with pytest.raises(ValueError, match="fit"):
        take_back(patch, text)


@IN_EVERY_EDITION
async def test_the_last_turn_is_undone_file_by_file(tmp_path: Path, edition: str) -> None:
    project(tmp_path, a="one\ntwo\n", b="x\r\ny\r\n")
    agent, model = agent_with(
        call("write", path="a", text="earlier\n"), say("Done."),
        call("edit", path="a", old="earlier", new="later"), call("edit", path="a", old="later", new="last"),
        call("write", path="b", text="z\n"), call("write", path="sub/new", text="n"), say("Done."), say("I see."),
    )  # fmt: skip
    async with talk(agent, tmp_path, edition) as talked:
        await talked.ask("first")
        await talked.ask("second")
        asked = len(talked.asked)
        await talked.ask("/undo")

        assert (tmp_path / "a").read_bytes() == b"earlier\n"
        assert (tmp_path / "b").read_bytes() == b"x\r\ny\r\n"
        assert not (tmp_path / "sub/new").exists()
        # Each file is a change as any other: shown and asked for.
        assert len(talked.asked) == asked + 3
        await talked.ask("/undo")
        assert (tmp_path / "a").read_bytes() == b"one\ntwo\n"
        await talked.ask("/undo")
        assert answered(talked) == "There is nothing to undo: no turn has changed a file."
        await talked.ask("go on")
    # The model knows.
    said = [each for each in model.requests[-1].messages if isinstance(each, UserMessage) and each.text == "/undo"]
    assert len(said) == 3
    assert ModelReply("I put back a, b, sub/new.") in model.requests[-1].messages


@pytest.mark.parametrize("change", ["changed", "deleted", "link out", "folder"])
async def test_nothing_is_touched_where_a_file_is_not_as_the_turn_left_it(tmp_path: Path, change: str) -> None:
    (tmp_path / "outside").write_text("new\n")
    folder = project(tmp_path / "project", a="old\n", b="old\n")
    agent, _ = agent_with(call("write", path="a", text="new\n"), call("write", path="b", text="new\n"), say("Done."))
    async with talk(agent, folder) as talked:
        await talked.ask("go")
        (folder / "b").unlink()
        match change:
            case "changed":
                (folder / "b").write_text("mine\n")
            case "link out":
                (folder / "b").symlink_to(tmp_path / "outside")
            case "folder":
                (folder / "b").mkdir()
            case _:
                assert change == "deleted"
        asked = len(talked.asked)
        await talked.ask("/undo")

        assert answered(talked).startswith("I undid nothing: b ")
        assert len(talked.asked) == asked
    assert (folder / "a").read_text() == "new\n"
    assert (tmp_path / "outside").read_text() == "new\n"


async def test_a_file_that_changes_while_the_user_thinks_is_left_alone(tmp_path: Path) -> None:
    project(tmp_path, a="old\n")
    agent, _ = agent_with(call("write", path="a", text="new\n"), say("Done."))

    def answer(question: accord.client.PermissionQuestion) -> bool:
        if question.title.startswith("Undo"):
            (tmp_path / "a").write_text("mine\n")
        return True

    async with talk(agent, tmp_path, answer=answer) as talked:
        await talked.ask("go")
        await talked.ask("/undo")

        assert talked.tool.status == "failed"
    assert (tmp_path / "a").read_text() == "mine\n"


async def test_a_file_that_the_user_refuses_can_be_undone_later(tmp_path: Path) -> None:
    project(tmp_path, a="old\n", b="old\n")
    agent, _ = agent_with(call("write", path="a", text="new\n"), call("write", path="b", text="new\n"), say("Done."))
    answers = iter([True, True, True, False, True])
    async with talk(agent, tmp_path, answer=lambda _: next(answers)) as talked:
        await talked.ask("go")
        await talked.ask("/undo")
        assert [(tmp_path / name).read_text() for name in "ab"] == ["old\n", "new\n"]
        await talked.ask("/undo")
    assert (tmp_path / "b").read_text() == "old\n"


async def test_a_rule_that_forbids_the_change_holds_for_undo_too(tmp_path: Path) -> None:
    project(tmp_path, a="old\n")
    store = accord.MemoryStore()
    agent, _ = agent_with(call("write", path="a", text="new\n"), say("Done."), store=store)
    async with talk(agent, tmp_path) as talked:
        await talked.ask("go")
        session_id = talked.session.id
    strict, _ = agent_with(store=store, rules=["deny edit"])
    async with talk(strict, tmp_path, resume=session_id) as talked:
        await talked.ask("/undo")
        assert talked.tool.status == "failed"
    assert (tmp_path / "a").read_text() == "new\n"


@pytest.mark.parametrize("offer", [Offer(files=False), Offer(files=True)])
async def test_it_is_kept_over_a_restart(tmp_path: Path, offer: Any) -> None:
    project(tmp_path, a="old\n")
    store = accord.MemoryStore()
    agent, _ = agent_with(call("write", path="a", text="new\n"), say("Done."), store=store)
    async with talk(agent, tmp_path, offer=offer) as talked:
        await talked.ask("go")
        session_id = talked.session.id
    again, _ = agent_with(store=store)
    async with talk(again, tmp_path, resume=session_id, offer=offer) as talked:
        await talked.ask("/undo")
    assert (tmp_path / "a").read_text() == "old\n"


def test_what_is_kept_is_bounded() -> None:
    log = ChangeLog()
    for number in range(MAX_TURNS + 5):
        log.begin_turn(f"turn {number}")
        log.note("/a", "x", f"{number}")
    assert len(log.turns) == MAX_TURNS
    log.begin_turn("too much")
    log.note("/a", "", "x\n" * MAX_TURN_CHARACTERS)
    assert (log.turns[-1].is_complete, log.turns[-1].patches) == (False, [])
