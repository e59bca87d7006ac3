"""A disk of PostgreSQL that is really full: the error says so, nothing of the commit is kept, and the log goes on."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo

from accord.errors import StoreError
from accord.session.content import Text
from accord.session.event import Event, MessageChunk
from tests.postgres import OwnServer, own_server
from tests.stores.postgres.stores import opened
from tests.stores.sessions import record

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(180),
    pytest.mark.skipif(sys.platform != "linux", reason="a small disk is a tmpfs: run it on Linux"),
]

DISK_BYTES = 32 * 1024 * 1024
BALLAST_BYTES = 8 * 1024 * 1024


@pytest.fixture
def disk() -> Iterator[tuple[OwnServer, Path]]:
    """A server, and a small disk for a tablespace of its."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("a small disk needs root and mount: run it as root")
    with own_server() as server:
        folder = server.folder / "disk"
        folder.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)], capture_output=True, check=False
        )
        if mounted.returncode:
            pytest.skip("a small disk needs the right to mount one: run it outside of this container")
        try:
            space = folder / "space"
            space.mkdir()
            server.own(space)
            yield server, folder
        finally:
            with contextlib.suppress(subprocess.SubprocessError):
                server.stop("immediate")
            subprocess.run(["umount", "-l", str(folder)], check=False)


def large(number: int) -> Event:
    """An event that cannot be compressed."""
    return MessageChunk("agent", Text(f"{number} {random.Random(number).randbytes(150_000).hex()}"))


async def test_a_disk_that_is_really_full_is_reported_and_the_log_goes_on(disk: tuple[OwnServer, Path]) -> None:
    server, folder = disk
    ballast = folder / "ballast"
    ballast.write_bytes(bytes(BALLAST_BYTES))
    server.run(f"create tablespace small location '{folder / 'space'}'")
    server.run("create database accord template template0 tablespace small")
    async with opened(make_conninfo(server.conninfo, dbname="accord"), "one", lease_seconds=120.0) as store:
        await store.create(record("a"), owned=True)
        kept: list[Event] = []

        async def fill() -> None:
            for number in range(DISK_BYTES // 100_000):
                assert await store.append("a", [large(number)]) == number + 1
                kept.append(large(number))

        with pytest.raises(StoreError) as caught:
            await fill()
        assert (caught.value.reason, "free some space" in str(caught.value)) == ("full", True)
        assert kept
        # What is kept can be read, and the session is still ours.
        assert await store.read("a") == kept
        ballast.unlink()
        for _ in range(3):
            kept.append(large(len(kept)))
            assert await store.append("a", [kept[-1]]) == len(kept)
        assert await store.read("a") == kept
