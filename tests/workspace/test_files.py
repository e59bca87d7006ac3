"""The same files without blocking the loop, and with an editor that has texts of its own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from accord.workspace import Workspace
from accord.workspace.errors import NoSuchFile, NotADirectory, PathOutsideRoots
from tests.workspace.trees import INSIDE, Tree


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


async def test_files_are_read_and_written(tree: Tree) -> None:
    workspace = Workspace([tree.root])
    assert workspace.roots == (tree.root,)
    assert await workspace.read_text(tree.root / "file") == INSIDE
    await workspace.write_text(tree.root / "deep" / "new", "1\n2\n3\n")
    assert await workspace.read_text(str(tree.root / "deep" / "new"), 2, 1) == "2\n"
    with pytest.raises(PathOutsideRoots):
        await workspace.read_text(tree.outside / "file")
    with pytest.raises(PathOutsideRoots):
        await workspace.write_text(tree.outside / "file", "x")


async def test_the_options_are_those_of_the_disk(tree: Tree) -> None:
    workspace = Workspace([tree.root], missing="empty", create_parents=False, keep_line_ends=False, max_bytes=100)
    assert await workspace.read_text(tree.root / "missing") == ""
    with pytest.raises(NoSuchFile):
        await workspace.write_text(tree.root / "deep" / "new", "x")
    (tree.root / "file").write_bytes(b"a\r\n")
    await workspace.write_text(tree.root / "file", "b\n")
    assert (tree.root / "file").read_bytes() == b"b\n"
    with pytest.raises(NotADirectory):
        Workspace([tree.root / "file"])


async def test_writes_happen_in_the_order_in_which_they_were_asked_for(tree: Tree) -> None:
    workspace = Workspace([tree.root])
    await asyncio.gather(*(workspace.write_text(tree.root / "file", str(number)) for number in range(200)))
    assert await workspace.read_text(tree.root / "file") == "199"


async def test_a_slow_disk_does_not_hold_up_the_loop(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = Workspace([tree.root])
    loop = asyncio.get_running_loop()
    begun, may_go_on = asyncio.Event(), asyncio.Event()

    def read_slowly(*_: object, **__: object) -> str:
        loop.call_soon_threadsafe(begun.set)
        asyncio.run_coroutine_threadsafe(may_go_on.wait(), loop).result(20)
        return "slow"

    monkeypatch.setattr(workspace._disk, "read_text", read_slowly)
    reading = asyncio.create_task(workspace.read_text(tree.root / "file"))
    await begun.wait()
    may_go_on.set()
    assert await reading == "slow"


async def test_an_unsaved_text_is_read_before_the_disk(tree: Tree) -> None:
    asked: list[Path] = []

    def find(path: Path) -> str | None:
        asked.append(path)
        return "unsaved 1\nunsaved 2\n" if path.name in {"file", "untitled"} else None

    workspace = Workspace([tree.root], read_hook=find)
    (tree.root / "other").write_text("on disk\n", encoding="utf-8")
    (tree.root / "link").symlink_to("folder")
    assert await workspace.read_text(f"{tree.root}/link/../file", 2) == "unsaved 2\n"
    assert await workspace.read_text(tree.root / "link" / "file") == "unsaved 1\nunsaved 2\n"
    assert await workspace.read_text(tree.root / "untitled", None, 1) == "unsaved 1\n"
    assert await workspace.read_text(tree.root / "other") == "on disk\n"
    names = ("file", "folder/file", "untitled", "other")
    assert asked == [tree.root / name for name in names]


async def test_a_hook_may_be_a_coroutine_function(tree: Tree) -> None:
    buffers: dict[Path, str] = {tree.root / "file": "unsaved"}

    async def find(path: Path) -> str | None:
        await asyncio.sleep(0)
        return buffers.get(path)

    async def store(path: Path, text: str) -> bool:
        await asyncio.sleep(0)
        if path not in buffers:
            return False
        buffers[path] = text
        return True

    workspace = Workspace([tree.root], read_hook=find, write_hook=store)
    assert await workspace.read_text(tree.root / "file") == "unsaved"
    await workspace.write_text(tree.root / "file", "changed")
    assert await workspace.read_text(tree.root / "file") == "changed"
    assert (tree.root / "file").read_text(encoding="utf-8") == INSIDE
    await workspace.write_text(tree.root / "folder" / "file", "on disk")
    assert (tree.root / "folder" / "file").read_text(encoding="utf-8") == "on disk"


async def test_hooks_never_hear_of_what_is_outside_or_cannot_be(tree: Tree) -> None:
    asked: list[Path] = []

    def find(path: Path) -> str | None:
        asked.append(path)
        return None

    def store(path: Path, _text: str) -> bool:
        asked.append(path)
        return True

    workspace = Workspace([tree.root], read_hook=find, write_hook=store)
    (tree.root / "out").symlink_to(tree.outside)
    for path in (tree.outside / "file", tree.root / "out" / "file", f"{tree.root}/../outside/file"):
        with pytest.raises(PathOutsideRoots):
            await workspace.read_text(path)
        with pytest.raises(PathOutsideRoots):
            await workspace.write_text(path, "x")
    with pytest.raises(NoSuchFile):
        await workspace.read_text(tree.root / "missing" / "file")
    await workspace.write_text(tree.root / "made" / "file", "x")
    assert asked == []
    assert (tree.root / "made" / "file").read_text(encoding="utf-8") == "x"


async def test_what_a_hook_raises_passes_and_the_next_write_works(tree: Tree) -> None:
    def fail(_path: Path, text: str) -> bool:
        if text == "bad":
            raise LookupError
        return False

    workspace = Workspace([tree.root], write_hook=fail)
    with pytest.raises(LookupError):
        await workspace.write_text(tree.root / "file", "bad")
    await workspace.write_text(tree.root / "file", "good")
    assert (tree.root / "file").read_text(encoding="utf-8") == "good"
