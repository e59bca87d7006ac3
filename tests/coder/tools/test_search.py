"""The tools `search` and `list`."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from accord.coder.tools import search
from accord.coder.tools.walk import walk
from accord.session.content import block_text
from accord.session.tool import Shown
from tests.coder.rig import agent_with, call, project, say, talk, use_tool


async def test_a_search_gives_path_line_and_text(tmp_path: Path) -> None:
    project(tmp_path, **{"src/a.py": "import os\n  needle()\n", "b.txt": "needle", "c": "hay"})

    result, shown = await use_tool(tmp_path, "search", pattern="needle")

    assert result.text == "b.txt:1: needle\nsrc/a.py:2: needle()"
    assert (shown.kind, shown.status) == ("search", "completed")
    assert shown.raw_output == {"matches": 2, "complete": True}


async def test_a_fence_in_a_found_line_does_not_end_the_shown_block(tmp_path: Path) -> None:
    project(tmp_path, **{"a.md": "```sh needle\n"})

    result, shown = await use_tool(tmp_path, "search", pattern="needle")

    assert result.text == "a.md:1: ```sh needle"
    assert isinstance(shown.content[0], Shown)
    assert block_text(shown.content[0].block) == "````\na.md:1: ```sh needle\n````"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"pattern": "a.c"}, "x.py:1: a.c"),
        ({"pattern": "a.c", "regex": True}, "x.py:1: a.c\nx.py:2: abc\ny.txt:1: abc"),
        ({"pattern": "ABC", "ignore_case": True}, "x.py:2: abc\ny.txt:1: abc"),
        ({"pattern": "^A.C$", "regex": True, "ignore_case": True, "glob": "*.py"}, "x.py:1: a.c\nx.py:2: abc"),
        ({"pattern": "abc", "path": "y.txt"}, "y.txt:1: abc"),
        ({"pattern": "nothing"}, "Nothing matches 'nothing'."),
    ],
)
async def test_a_search_can_be_narrowed(tmp_path: Path, arguments: dict[str, object], expected: str) -> None:
    project(tmp_path, **{"x.py": "a.c\nabc\n", "y.txt": "abc\n"})

    result, _ = await use_tool(tmp_path, "search", **arguments)

    assert result.text == expected


async def test_what_is_ignored_binary_or_too_large_is_not_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MAX_FILE_BYTES", 1_000)
    project(tmp_path, **{".gitignore": "build/\n", "build/a": "needle", "large": "needle" * 1_000, "ok": "needle"})
    (tmp_path / "binary").write_bytes(b"\0needle")
    (tmp_path / "latin").write_bytes(b"\xe4 needle")

    result, _ = await use_tool(tmp_path, "search", pattern="needle")

    assert result.text == "latin:1: \N{REPLACEMENT CHARACTER} needle\nok:1: needle"


async def test_a_search_is_bounded(tmp_path: Path) -> None:
    project(tmp_path, a="needle\n" * 500)

    result, shown = await use_tool(tmp_path, "search", pattern="needle")

    assert len(result.text.splitlines()) == search.MAX_MATCHES + 1
    assert result.text.endswith("[only the first 200 matches]")
    assert shown.raw_output == {"matches": 200, "complete": False}


async def test_a_search_that_takes_too_long_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SEARCH_SECONDS", -1.0)
    project(tmp_path, a="x")

    result, shown = await use_tool(tmp_path, "search", pattern="x")

    assert result.failed
    assert "smaller folder" in result.text
    assert shown.status == "failed"


@pytest.mark.parametrize("path", ["..", "/", "nothing"])
async def test_a_search_stays_inside(tmp_path: Path, path: str) -> None:
    (tmp_path / "in").mkdir()
    result, shown = await use_tool(tmp_path / "in", "search", pattern="x", path=path)

    assert result.failed
    assert shown.status == "failed"


async def test_a_search_that_is_cancelled_ends_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on, ended = asyncio.Event(), threading.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    found: list[object] = []

    def slow(*arguments: object) -> object:
        loop.call_soon_threadsafe(begun.set)
        assert go_on.wait(30)
        try:
            for each in walk(*arguments):  # type: ignore[arg-type]
                found.append(each)
                yield each
        finally:
            ended.set()

    monkeypatch.setattr(search, "walk", slow)
    project(tmp_path, a="x")
    agent, _ = agent_with(call("search", pattern="x"), say("Done."))
    async with talk(agent, tmp_path) as talked:
        async with talked.session.prompt("go") as turn:
            await begun.wait()
            turn.cancel()
        assert turn.stop_reason == "cancelled"
        go_on.set()
        assert await asyncio.to_thread(ended.wait, 30)
    assert found == []


async def test_files_are_listed_as_a_tree(tmp_path: Path) -> None:
    project(tmp_path, **{"a": "", "src/b": "", "src/deep/c": "", ".gitignore": "a\n"})

    result, shown = await use_tool(tmp_path, "list")
    deeper, _ = await use_tool(tmp_path, "list", path="src", depth=3)
    empty = tmp_path / "empty"
    empty.mkdir()
    nothing, _ = await use_tool(tmp_path, "list", path="empty")

    assert result.text == ".gitignore\nsrc/\n  b\n  deep/"
    assert shown.title == "List the files"
    assert deeper.text == "b\ndeep/\n  c"
    assert nothing.text == "The folder is empty."


async def test_a_list_is_bounded(tmp_path: Path) -> None:
    for number in range(600):
        (tmp_path / f"{number:03}").touch()

    result, _ = await use_tool(tmp_path, "list")

    assert result.text.endswith("499\n[only the first 500 entries: list a folder below]")
