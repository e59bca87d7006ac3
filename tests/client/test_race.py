"""A client's files survive a process that swaps them for links while an agent reads and writes.

Not one byte outside the roots is read or written: no answer ever holds what is there, and neither the folders nor the
files outside show a trace, not even of having been read where the file system keeps one.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.client.requesting_agent import SESSION, RequestingAgent, requesting_agent
from tests.limits import limit
from tests.workspace.trees import SECRET, Tree

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="directories by descriptor: run it on Linux")

SWAPPER = Path(__file__).with_name("swapper.py")
AT_ONCE = 16
LONG_AGO = 1_000_000_000
PATHS = ("file", "folder/file", "folder/deep/file", "folder/../file", "folder/deep/../file", "folder/new", "link/file")


def trace_of(folder: Path) -> dict[str, Any]:
    """Everything that changes when somebody writes, or reads, anything below a folder."""
    traces: dict[str, Any] = {}
    for path in sorted([folder, *folder.rglob("*")]):
        found = path.lstat()
        text = path.read_bytes() if path.is_file() else b""
        # Not that we looked ourselves.
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
        read_at = None if path.is_dir() else found.st_atime_ns
        traces[str(path)] = (text, found.st_mtime_ns, read_at, found.st_ino, found.st_mode)
    return traces


@asynccontextmanager
async def swapping(tree: Tree) -> AsyncIterator[list[int]]:
    """Somebody else swaps while this lasts; how often is known afterwards."""
    swaps: list[int] = []
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-S",
        str(SWAPPER),
        str(tree.root),
        str(tree.outside),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield swaps
        said, _ = await asyncio.wait_for(process.communicate(b""), limit(30))
        swaps.append(int(said))
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def disturb(requester: RequestingAgent, root: Path, count: int, seed: int) -> Counter[str]:
    """Read and write at random, several at once; what came of it."""
    chance = random.Random(seed)
    outcomes: Counter[str] = Counter()
    flying: dict[int, str] = {}
    for number in range(count + AT_ONCE):
        if number < count:
            params = {"sessionId": SESSION, "path": f"{root}/{chance.choice(PATHS)}"}
            what = chance.choice(["read", "write"])
            if what == "write":
                params["content"] = f"mine {number}\n"
            flying[await requester.hand.ask(f"fs/{what}_text_file", params)] = what
        if len(flying) >= AT_ONCE or (number >= count and flying):
            answer = await requester.hand.hear()
            what = flying.pop(answer["id"])
            assert SECRET.strip() not in str(answer)
            code = answer["error"]["code"] if "error" in answer else "done"
            outcomes[f"{what} {code}"] += 1
    assert not flying
    return outcomes


async def race(tmp_path: Path, count: int) -> None:
    tree = Tree(tmp_path)
    (tree.root / "folder" / "deep").mkdir()
    (tree.root / "link").symlink_to("folder")
    (tree.outside / "deep").mkdir()
    (tree.outside / "deep" / "file").write_text(SECRET, encoding="utf-8")
    for path in (tree.outside / "file", tree.outside / "deep" / "file"):
        # Read before it was written: where a file system notes reads at all, it notes the next one.
        os.utime(path, (LONG_AGO, LONG_AGO + 1))
    before = trace_of(tree.outside)
    async with requesting_agent(tree.root) as requester, swapping(tree) as swaps:
        outcomes = await disturb(requester, tree.root, count, seed=count)
    assert trace_of(tree.outside) == before
    assert swaps[0] > count // 100
    assert sum(outcomes.values()) == count
    # It was a race: both sides won often enough.
    for what in ("read", "write"):
        assert outcomes[f"{what} done"] > count // 50
        assert outcomes[f"{what} -32602"] > 0
    assert set(outcomes) <= {
        f"{what} {code}" for what in ("read", "write") for code in ("done", -32602, -32002, -32003)
    }


async def test_whoever_swaps_files_for_links_gets_nothing(tmp_path: Path) -> None:
    await race(tmp_path, 1_500)


@pytest.mark.every
@pytest.mark.timeout(1200)
async def test_whoever_swaps_files_for_links_gets_nothing_in_a_hundred_thousand_tries(tmp_path: Path) -> None:
    await race(tmp_path, 100_000)
