"""The tool `read`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accord.client import Offer
from accord.coder.tools.files import fenced
from accord.session.content import Text
from accord.session.tool import Shown
from tests.coder.rig import agent_with, call, project, say, talk, use_tool


async def test_a_file_is_read_and_shown(tmp_path: Path) -> None:
    project(tmp_path, a="one\ntwo\n")

    result, shown = await use_tool(tmp_path, "read", path="a")

    assert (result.text, result.failed) == ("one\ntwo\n", False)
    assert (shown.kind, shown.status, shown.title) == ("read", "completed", "Read a")
    assert shown.content == [Shown(Text("```\none\ntwo\n```"))]


async def test_some_lines_are_read_and_the_model_hears_that_there_is_more(tmp_path: Path) -> None:
    project(tmp_path, a="".join(f"{n}\n" for n in range(1, 10)))

    result, shown = await use_tool(tmp_path, "read", path="a", line=3, limit=2)

    assert result.text == "3\n4\n\n[there is more: read on from line 5]"
    assert shown.locations[0].line == 3


async def test_a_long_file_is_bounded(tmp_path: Path) -> None:
    project(tmp_path, a="x" * 200_000)

    result, _ = await use_tool(tmp_path, "read", path="a")

    assert len(result.text) < 61_000
    assert "140000 characters are left out here" in result.text


@pytest.mark.parametrize(
    ("path", "words"),
    [("../secret", "outside the roots"), ("/etc/passwd", "outside the roots"), ("folder", "directory"), ("", "")],
)
async def test_what_cannot_be_read_fails(tmp_path: Path, path: str, words: str) -> None:
    (tmp_path / "inside/folder").mkdir(parents=True)
    (tmp_path / "secret").write_text("x")
    agent, model = agent_with(call("read", path=path), say("No."))
    async with talk(agent, tmp_path / "inside", offer=Offer(files=False)) as talked:
        await talked.ask("go")

        assert talked.tool.status == "failed"
    (result,) = model.results()
    assert result.failed
    assert words in result.text


@pytest.mark.parametrize("files", [True, False])
async def test_it_goes_through_the_client_where_that_offers_files(tmp_path: Path, files: Any) -> None:
    project(tmp_path, a="x")
    agent, model = agent_with(call("read", path="a"), say("Done."))
    heard: list[str] = []

    def observe(_: str, text: bytes) -> None:
        heard.append(text.decode())

    async with talk(agent, tmp_path, offer=Offer(files=files), observers=[observe]) as talked:
        await talked.ask("go")

    assert model.results()[0].text == "x"
    assert any("fs/read_text_file" in text for text in heard) is files


def test_a_fence_is_longer_than_those_in_the_text() -> None:
    assert fenced("a ``` b") == "````\na ``` b\n````"
    assert fenced("") == "```\n\n```"
