"""The files that a client lets its agent read and write: those inside the session's roots, and no others."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import Any, Literal

import pytest

import accord
from accord.workspace import Workspace
from tests.client.requesting_agent import RequestingAgent, requesting_agent
from tests.workspace.trees import SECRET, Tree

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links, FIFOs and modes: run it on Linux or macOS")

LINES = "one\ntwo\nthree\nfour"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


async def read(requester: RequestingAgent, path: Path | str, **params: Any) -> str:
    answer = await requester.ask("fs/read_text_file", path=str(path), **params)
    return str(answer["content"])


async def write(requester: RequestingAgent, path: Path | str, content: str) -> Any:
    return await requester.ask("fs/write_text_file", path=str(path), content=content)


# --- reading and writing


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({}, LINES),
        ({"line": None, "limit": None}, LINES),
        ({"line": 2}, "two\nthree\nfour"),
        ({"line": 0, "limit": 1}, "one\n"),
        ({"line": 2, "limit": 2}, "two\nthree\n"),
        ({"limit": 1}, "one\n"),
        ({"limit": 0}, ""),
        ({"line": 4}, "four"),
        ({"line": 9}, ""),
        ({"line": 4, "limit": 99}, "four"),
    ],
)
async def test_a_part_of_a_file_can_be_read_by_lines(tree: Tree, params: Any, text: str) -> None:
    (tree.root / "file").write_text(LINES, encoding="utf-8")
    async with requesting_agent(tree.root) as requester:
        assert await read(requester, tree.root / "file", **params) == text


async def test_a_written_file_keeps_its_mode_and_its_line_ends(tree: Tree) -> None:
    path = tree.root / "script"
    path.write_bytes(b"one\r\ntwo\r\n")
    path.chmod(0o750)
    async with requesting_agent(tree.root) as requester:
        await write(requester, path, "three\nfour\n")
    assert path.read_bytes() == b"three\r\nfour\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o750


async def test_a_missing_file_is_created_with_its_folders(tree: Tree) -> None:
    path = tree.root / "new" / "folder" / "file"
    async with requesting_agent(tree.root) as requester:
        assert await write(requester, path, "hello") in ({}, None)
        assert await read(requester, path) == "hello"


async def test_a_missing_file_is_an_error(tree: Tree) -> None:
    async with requesting_agent(tree.root) as requester:
        for path in ("missing", "missing/deeper"):
            assert await requester.refusal("fs/read_text_file", path=str(tree.root / path)) == -32002


async def test_a_missing_file_may_read_as_empty_so_that_agents_may_create_it(tree: Tree) -> None:
    async with requesting_agent(tree.root, offer=accord.client.Offer(missing_file="empty")) as requester:
        assert await read(requester, tree.root / "missing") == ""
        assert await read(requester, tree.root / "missing" / "deeper") == ""


async def test_without_files_there_are_none(tree: Tree) -> None:
    async with requesting_agent(tree.root, offer=accord.client.Offer(files=False)) as requester:
        assert await requester.refusal("fs/read_text_file", path=str(tree.root / "file")) == -32601
        assert await requester.refusal("fs/write_text_file", path=str(tree.root / "file"), content="") == -32601


async def test_a_session_that_nobody_opened_has_no_files(tree: Tree) -> None:
    async with requesting_agent(tree.root) as requester:
        answer = await requester.hand.request("fs/read_text_file", {"sessionId": "x", "path": str(tree.root / "file")})
        assert answer["error"]["code"] == -32002


async def test_a_closed_session_has_no_files(tree: Tree) -> None:
    async with requesting_agent(tree.root) as requester:
        await requester.session.close()
        assert await requester.refusal("fs/read_text_file", path=str(tree.root / "file")) == -32002


async def test_a_further_root_may_be_used_too(tree: Tree) -> None:
    async with requesting_agent(tree.root, roots=[tree.outside]) as requester:
        assert await read(requester, tree.outside / "file") == SECRET


async def test_a_binary_file_is_refused(tree: Tree) -> None:
    (tree.root / "binary").write_bytes(b"\xff\xfe\x00")
    async with requesting_agent(tree.root) as requester:
        assert await requester.refusal("fs/read_text_file", path=str(tree.root / "binary")) == -32602


async def test_negative_lines_are_refused(tree: Tree) -> None:
    async with requesting_agent(tree.root) as requester:
        assert await requester.refusal("fs/read_text_file", path=str(tree.root / "file"), line=-1) == -32602


# --- what is outside


def disguises(tree: Tree) -> dict[str, str]:
    root, outside = tree.root, tree.outside
    (root / "link").symlink_to(outside / "file")
    (root / "relative").symlink_to("../outside/file")
    (root / "away").symlink_to(outside)
    (root / "chain").symlink_to("away")
    (root / "process").symlink_to("/proc/self/cwd")
    (root / "circle").symlink_to("circle")
    (root / "dangling").symlink_to(outside / "new")
    return {
        "plain": f"{outside}/file",
        "dots": f"{root}/../outside/file",
        "dots in the middle": f"{root}/folder/../../outside/file",
        "many dots": f"{root}/" + "../" * 50 + str(outside / "file").lstrip("/"),
        "slashes": f"{root}//..//outside///file",
        "a link": f"{root}/link",
        "a relative link": f"{root}/relative",
        "a linked folder": f"{root}/away/file",
        "a chain": f"{root}/chain/file",
        "a link that dangles": f"{root}/dangling",
        "a circle": f"{root}/circle",
        "the process": f"/proc/self/root{outside}/file",
        "the process by a link": f"{root}/process/file",
        "its descriptors": "/proc/self/fd/0",
        "its memory": "/proc/self/mem",
        "its environment": "/proc/self/environ",
        "a device": "/dev/zero",
        "a name that begins alike": f"{root}-other/file",
        "another case": str(root / "file").replace("/root/", "/ROOT/"),
        "nothing": "",
        "relative": "file",
        "relative dots": "../outside/file",
        "a nul": f"{root}/file\0",
        "a tilde": "~/file",
        "an address": f"file://{root}/file",
        "too long": f"{root}/" + "x" * 5000,
        "the root itself": str(root),
        "a folder": f"{root}/folder",
        "a folder with a slash": f"{root}/file/",
    }


async def test_nothing_outside_the_roots_is_read_in_any_disguise(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "root-other").mkdir()
    (tmp_path / "root-other" / "file").write_text(SECRET, encoding="utf-8")
    async with requesting_agent(tree.root, offer=accord.client.Offer(missing_file="error")) as requester:
        for name, path in disguises(tree).items():
            answer = await requester.hand.request("fs/read_text_file", {"sessionId": "s", "path": path})
            assert answer.get("error", {}).get("code") in {-32602, -32002, -32003}, name
            assert SECRET.strip() not in str(answer), name


async def test_nothing_outside_the_roots_is_written_in_any_disguise(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "root-other").mkdir()
    async with requesting_agent(tree.root) as requester:
        for name, path in disguises(tree).items():
            params = {"sessionId": "s", "path": path, "content": "mine"}
            answer = await requester.hand.request("fs/write_text_file", params)
            assert answer.get("error", {}).get("code") in {-32602, -32002, -32003}, name
    assert tree.outside_is_untouched()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["outside", "root", "root-other"]
    assert list((tmp_path / "root-other").iterdir()) == []


@pytest.mark.parametrize("missing", ["empty", "error"])
async def test_what_a_missing_file_reads_as_tells_nothing_about_the_outside(
    tree: Tree, missing: Literal["empty", "error"]
) -> None:
    async with requesting_agent(tree.root, offer=accord.client.Offer(missing_file=missing)) as requester:
        codes = [
            await requester.refusal("fs/read_text_file", path=str(tree.outside / name)) for name in ("file", "missing")
        ]
        assert codes == [-32602, -32602]


async def test_a_fifo_and_a_device_are_no_files(tree: Tree) -> None:
    os.mkfifo(tree.root / "fifo")
    async with requesting_agent(tree.root) as requester:
        assert await requester.refusal("fs/read_text_file", path=str(tree.root / "fifo")) == -32602
        assert await requester.refusal("fs/write_text_file", path=str(tree.root / "fifo"), content="x") == -32602
    async with requesting_agent(Path("/dev")) as requester:
        assert await requester.refusal("fs/read_text_file", path="/dev/zero") == -32602
        assert await requester.refusal("fs/write_text_file", path="/dev/null", content="x") == -32602


@pytest.mark.skipif(sys.platform != "linux", reason="/proc: run it on Linux")
async def test_the_kernels_files_are_no_files_even_where_they_are_inside(tree: Tree) -> None:
    del tree
    async with requesting_agent(Path("/proc")) as requester:
        for path in ("/proc/self/environ", "/proc/self/mem", "/proc/self/fd/0", "/proc/version"):
            assert await requester.refusal("fs/read_text_file", path=path) == -32602


async def test_an_error_tells_the_path_that_was_asked_for_and_nothing_else(tree: Tree) -> None:
    (tree.root / "away").symlink_to(tree.outside)
    asked = str(tree.root / "away" / "file")
    async with requesting_agent(tree.root) as requester:
        answer = await requester.hand.request("fs/read_text_file", {"sessionId": "s", "path": asked})
    assert answer["error"]["data"] == {"path": asked}
    assert str(tree.outside) not in str(answer)


# --- unsaved buffers


async def test_an_editors_unsaved_text_is_what_the_agent_reads_and_changes(tree: Tree) -> None:
    buffers = {tree.root / "file": "unsaved\nlines\n"}
    asked: list[Path] = []

    def read_buffer(path: Path) -> str | None:
        asked.append(path)
        return buffers.get(path)

    async def write_buffer(path: Path, content: str) -> bool:
        if path in buffers:
            buffers[path] = content
        return path in buffers

    def workspace(session: accord.client.Session) -> Workspace:
        return Workspace(session._roots, read_hook=read_buffer, write_hook=write_buffer, missing="empty")

    async with requesting_agent(tree.root, offer=accord.client.Offer(files=workspace)) as requester:
        assert await read(requester, tree.root / "file", line=2) == "lines\n"
        await write(requester, tree.root / "file", "changed\n")
        assert await read(requester, tree.root / "folder" / ".." / "file") == "changed\n"
        await write(requester, tree.root / "other", "on disk\n")
        assert await requester.refusal("fs/read_text_file", path=str(tree.outside / "file")) == -32602
    assert (tree.root / "file").read_text(encoding="utf-8") == "inside\n"
    assert (tree.root / "other").read_text(encoding="utf-8") == "on disk\n"
    assert all(tree.root in path.parents for path in asked)


async def test_a_hook_that_fails_is_no_ones_secret_on_the_wire(tree: Tree) -> None:
    def read_buffer(_path: Path) -> str:
        raise KeyError("the editor's own trouble")

    offer = accord.client.Offer(files=lambda session: Workspace([session.cwd], read_hook=read_buffer))
    async with requesting_agent(tree.root, offer=offer) as requester:
        answer = await requester.hand.request("fs/read_text_file", {"sessionId": "s", "path": str(tree.root / "file")})
        assert answer["error"]["code"] == -32603
        assert "trouble" not in str(answer)
        assert await requester.hand.is_alive()


async def test_a_directory_that_is_gone_is_told_and_harms_nobody(tmp_path: Path) -> None:
    async with requesting_agent(tmp_path / "missing") as requester:
        assert await requester.refusal("fs/read_text_file", path=str(tmp_path / "missing" / "file")) == -32602
        assert await requester.refusal("terminal/create", command="true") == -32602
        assert await requester.hand.is_alive()
