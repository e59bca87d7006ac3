"""Files through a client and on this disk: the same calls, the same errors, the same bounds."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from accord.agent.files import Files
from accord.errors import ConnectionLost, InvalidParams, RequestError, request_error
from accord.session.agent_requests import ReadFile, WriteFile
from accord.workspace import (
    AccessDenied,
    InvalidPath,
    NoSuchFile,
    NotADirectory,
    NotAFile,
    PathOutsideRoots,
    Workspace,
    WorkspaceError,
)
from tests.agent.machine import Machine, machine
from tests.workspace.trees import INSIDE, SECRET, Tree

BOTH_WAYS = pytest.mark.parametrize("by_client", [False, True], ids=["local", "client"])


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


@asynccontextmanager
async def files_of(tree: Tree, *, by_client: bool) -> AsyncIterator[tuple[Files, Machine]]:
    async with machine(tree.root, read_files=by_client, write_files=by_client) as client:
        yield Files("s", [str(tree.root)], client, lambda: Workspace([tree.root])), client


def nowhere() -> Workspace:
    return Workspace([Path("/there/is/no/such/root")])


@BOTH_WAYS
async def test_a_text_comes_from_where_the_client_says(tree: Tree, *, by_client: bool) -> None:
    async with files_of(tree, by_client=by_client) as (files, client):
        assert await files.read(tree.root / "file") == INSIDE
        await files.write(tree.root / "file", "other\n")
        assert (tree.root / "file").read_text(encoding="utf-8") == "other\n"
        assert client.kinds() == ([ReadFile, WriteFile] if by_client else [])


@pytest.mark.parametrize(("reads", "writes"), [(True, False), (False, True)])
async def test_reading_and_writing_go_to_the_client_each_on_its_own(tree: Tree, *, reads: bool, writes: bool) -> None:
    async with machine(tree.root, read_files=reads, write_files=writes) as client:
        files = Files("s", [str(tree.root)], client, lambda: Workspace([tree.root]))
        await files.write("new", "text")
        assert await files.read("new") == "text"
        assert client.kinds() == [ReadFile] * reads + [WriteFile] * writes


@BOTH_WAYS
@pytest.mark.parametrize("path", ["folder/file", "./folder/../folder//file", "nowhere/../folder/file"])
async def test_a_relative_path_starts_at_the_sessions_directory(tree: Tree, path: str, *, by_client: bool) -> None:
    async with files_of(tree, by_client=by_client) as (files, client):
        assert await files.read(path) == INSIDE
        assert [ask.path for ask in client.asked] == [str(tree.root / "folder" / "file")] * by_client


@BOTH_WAYS
async def test_a_path_in_another_root_is_inside(tree: Tree, tmp_path: Path, *, by_client: bool) -> None:
    second = tmp_path / "second"
    second.mkdir()
    roots = [tree.root, second]
    async with machine(*roots, read_files=by_client, write_files=by_client) as client:
        files = Files("s", [str(root) for root in roots], client, lambda: Workspace(roots))
        await files.write("../second/new", "text")
        assert await files.read(second / "new") == "text"


@BOTH_WAYS
async def test_two_slashes_at_the_beginning_are_one(tree: Tree, *, by_client: bool) -> None:
    async with files_of(tree, by_client=by_client) as (files, client):
        assert await files.read(f"/{tree.root}/file") == INSIDE
        assert [ask.path for ask in client.asked] == [str(tree.root / "file")] * by_client


@BOTH_WAYS
async def test_lines_are_chosen(tree: Tree, *, by_client: bool) -> None:
    (tree.root / "file").write_text("1\n2\n3\n4\n", encoding="utf-8")
    async with files_of(tree, by_client=by_client) as (files, _):
        assert await files.read("file", line=2, limit=2) == "2\n3\n"
        assert await files.read("file", line=0, limit=1) == "1\n"
        assert await files.read("file", line=4) == "4\n"
        assert await files.read("file", line=9) == ""
        assert await files.read("file", limit=0) == ""


async def test_line_0_is_not_said_to_a_client(tree: Tree) -> None:
    async with files_of(tree, by_client=True) as (files, client):
        await files.read("file", line=0)
        assert client.asked == [ReadFile("s", str(tree.root / "file"))]


@BOTH_WAYS
@pytest.mark.parametrize(("line", "limit"), [(-1, None), (None, -1)])
async def test_negative_lines_are_nobodys(tree: Tree, line: int | None, limit: int | None, *, by_client: bool) -> None:
    async with files_of(tree, by_client=by_client) as (files, client):
        with pytest.raises(ValueError, match="negative"):
            await files.read("file", line, limit)
        assert not client.asked


@BOTH_WAYS
@pytest.mark.parametrize(
    "path", ["../outside/file", "folder/../../outside/file", "/etc/passwd", "{root}/../outside/file", "{root}more"]
)
async def test_a_path_out_of_the_roots_is_refused_and_nobody_is_asked(
    tree: Tree, path: str, *, by_client: bool
) -> None:
    path = path.format(root=tree.root)
    async with files_of(tree, by_client=by_client) as (files, client):
        with pytest.raises(PathOutsideRoots):
            await files.read(path)
        with pytest.raises(PathOutsideRoots):
            await files.write(path, "text")
        assert not client.asked
    assert tree.outside_is_untouched()


@BOTH_WAYS
@pytest.mark.parametrize("path", ["out", "way/file", "way/new", "dangling"])
async def test_a_link_out_of_the_roots_is_refused_and_nobody_is_asked(
    tree: Tree, path: str, *, by_client: bool
) -> None:
    (tree.root / "out").symlink_to(tree.outside / "file")
    (tree.root / "way").symlink_to("../outside")
    (tree.root / "dangling").symlink_to(tree.outside / "missing" / "file")
    async with files_of(tree, by_client=by_client) as (files, client):
        with pytest.raises(PathOutsideRoots):
            await files.read(path)
        with pytest.raises(PathOutsideRoots):
            await files.write(path, SECRET)
        assert not client.asked
    assert tree.outside_is_untouched()


@BOTH_WAYS
async def test_a_link_inside_the_roots_is_followed(tree: Tree, *, by_client: bool) -> None:
    (tree.root / "in").symlink_to("folder/file")
    async with files_of(tree, by_client=by_client) as (files, _):
        assert await files.read("in") == INSIDE


@BOTH_WAYS
async def test_links_in_a_circle_are_refused(tree: Tree, *, by_client: bool) -> None:
    (tree.root / "circle").symlink_to("circle")
    async with files_of(tree, by_client=by_client) as (files, client):
        with pytest.raises(InvalidPath):
            await files.read("circle")
        assert not client.asked


@BOTH_WAYS
async def test_a_root_may_be_named_by_its_link_or_without(tree: Tree, tmp_path: Path, *, by_client: bool) -> None:
    link = tmp_path / "link"
    link.symlink_to(tree.root)
    async with machine(link, read_files=by_client) as client:
        files = Files("s", [str(link)], client, lambda: Workspace([link]))
        assert await files.read("file") == INSIDE
        assert await files.read(tree.root / "file") == INSIDE


@BOTH_WAYS
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("", InvalidPath),
        ("a\0b", InvalidPath),
        ("x" * 5000, InvalidPath),
        ("\ud83d", InvalidPath),
        ("file/", NotAFile),
        ("folder/.", NotAFile),
    ],
)
async def test_what_can_be_no_file_is_refused_and_nobody_is_asked(
    tree: Tree, path: str, kind: type[WorkspaceError], *, by_client: bool
) -> None:
    async with files_of(tree, by_client=by_client) as (files, client):
        with pytest.raises(kind):
            await files.read(path)
        with pytest.raises(kind):
            await files.write(path, "text")
        assert not client.asked


@BOTH_WAYS
async def test_a_missing_file_is_one_error_on_both_ways(tree: Tree, *, by_client: bool) -> None:
    async with files_of(tree, by_client=by_client) as (files, _):
        with pytest.raises(NoSuchFile) as caught:
            await files.read("missing/file")
        assert caught.value.code == -32002
        assert caught.value.path == str(tree.root / "missing" / "file")


@BOTH_WAYS
async def test_a_file_and_its_folders_are_created(tree: Tree, *, by_client: bool) -> None:
    async with files_of(tree, by_client=by_client) as (files, _):
        await files.write("new/folder/file", "text")
    assert (tree.root / "new" / "folder" / "file").read_text(encoding="utf-8") == "text"


@BOTH_WAYS
async def test_half_a_character_is_replaced_in_a_file(tree: Tree, *, by_client: bool) -> None:
    async with files_of(tree, by_client=by_client) as (files, _):
        await files.write("file", "x\ud83d")
    assert (tree.root / "file").read_text(encoding="utf-8") == "x\ufffd"


@BOTH_WAYS
async def test_binary_files_and_directories_are_refused_with_the_same_code(tree: Tree, *, by_client: bool) -> None:
    (tree.root / "binary").write_bytes(b"\xff\xfe")
    async with files_of(tree, by_client=by_client) as (files, _):
        for path in ("binary", "folder"):
            with pytest.raises((InvalidParams, WorkspaceError)) as caught:
                await files.read(path)
            assert getattr(caught.value, "code", None) == -32602
            assert isinstance(caught.value, RequestError) == by_client


async def test_what_a_client_denies_is_denied_as_the_system_does(tree: Tree) -> None:
    async with files_of(tree, by_client=True) as (files, client):
        client.failures[WriteFile] = request_error(-32003, "no")
        with pytest.raises(AccessDenied) as caught:
            await files.write("file", "text")
        assert caught.value.__cause__ is client.failures[WriteFile]


@pytest.mark.parametrize("failure", [request_error(-32603, "no"), ConnectionLost()])
async def test_what_else_a_client_says_passes_as_it_is(tree: Tree, failure: Exception) -> None:
    async with files_of(tree, by_client=True) as (files, client):
        client.failures = {ReadFile: failure, WriteFile: failure}
        with pytest.raises(type(failure)):
            await files.read("file")
        with pytest.raises(type(failure)):
            await files.write("file", "text")


async def test_a_client_that_vanishes_ends_the_wait(tree: Tree) -> None:
    async with files_of(tree, by_client=True) as (files, client):
        client.hold(ReadFile)
        reading = asyncio.create_task(files.read("file"))
        while not client.asked:
            await asyncio.sleep(0)
        client.vanish()
        with pytest.raises(ConnectionLost):
            await reading


async def test_writes_through_a_client_happen_in_order(tree: Tree) -> None:
    async with files_of(tree, by_client=True) as (files, client):
        await asyncio.gather(*(files.write("file", f"{number}") for number in range(20)))
        assert [ask.content for ask in client.asked] == [f"{number}" for number in range(20)]
    assert (tree.root / "file").read_text(encoding="utf-8") == "19"


async def test_a_write_that_was_cancelled_does_not_hold_up_the_next(tree: Tree) -> None:
    async with files_of(tree, by_client=True) as (files, client):
        client.hold(WriteFile)
        writing = asyncio.create_task(files.write("file", "first"))
        while not client.asked:
            await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        client.gates.clear()
        await files.write("file", "second")
    assert (tree.root / "file").read_text(encoding="utf-8") == "second"


# ── roots that are not on this machine ───────────────────────────────────────────────────────────────


async def test_a_clients_files_need_not_be_on_this_machine(tree: Tree) -> None:
    async with machine(tree.root, read_files=True) as client:
        files = Files("s", [str(tree.root)], client, nowhere)
        assert await files.read("folder/../file") == INSIDE
        for path in ("../outside/file", f"{tree.root}more/file"):
            with pytest.raises(PathOutsideRoots):
                await files.read(path)
        assert len(client.asked) == 1
        with pytest.raises(NotADirectory):
            await files.write("file", "text")


async def test_what_may_not_be_looked_at_here_is_the_clients_to_judge(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deny(name: str, *arguments: object, **_: object) -> int:
        if name == "folder":
            raise PermissionError(13, "denied")
        return opened(name, *arguments, **_)

    opened: Callable[..., int] = os.open
    async with files_of(tree, by_client=True) as (files, client):
        monkeypatch.setattr(os, "open", deny)
        # This test's client sits on the same disk: it may not look either.
        with pytest.raises(AccessDenied):
            await files.read("folder/file")
        assert len(client.asked) == 1
