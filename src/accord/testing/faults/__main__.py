"""Runs a faulty or conforming agent as a process: `python -m accord.testing.faults v1 BannerOnStdout`.

Without a name it lists those of the edition, without an edition all of them.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from accord.testing.faults import agent_june, agent_v1, agent_v2
from accord.testing.faults.careful import CAREFUL
from accord.testing.faults.fault import FAULTS, FaultyPeer
from accord.testing.faults.plain_v1 import PlainV1
from accord.testing.faults.shelf import FolderShelf

__all__: list[str] = []

CONFORMING: dict[str, tuple[Callable[[], FaultyPeer], ...]] = {
    "v1": (agent_v1.PlainV1, agent_v1.FullV1),
    "v2_june": (agent_june.PlainJune, agent_june.FullJune),
    "v2": (agent_v2.PlainV2, agent_v2.FullV2),
}
_LINE_BYTES = 64 * 1024 * 1024


def find(edition: str, name: str) -> Callable[[], FaultyPeer] | None:
    """What makes the agent with a name."""
    makes = [fault.make for fault in FAULTS if (fault.edition, fault.side) == (edition, "agent")]
    careful = CAREFUL if edition == "v1" else ()
    return next(
        (make for make in (*CONFORMING[edition], *careful, *makes) if getattr(make, "__name__", "") == name), None
    )


async def lines_of_stdin() -> AsyncIterator[bytes]:
    """What comes in, line by line."""
    reader = asyncio.StreamReader(limit=_LINE_BYTES)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield line.rstrip(b"\n")


def write_to_stdout(data: bytes) -> None:
    """What goes out."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


async def live(peer: FaultyPeer, folder: Path) -> None:
    """From the first line to the last; sessions are kept in a folder."""
    if isinstance(peer, PlainV1):
        peer.shelf = FolderShelf(folder)
    await peer.serve(lines_of_stdin(), write_to_stdout)
    said = getattr(peer, "stderr", b"")
    sys.stderr.buffer.write(said)


def tell_names(editions: list[str]) -> None:
    """Every agent, with what it breaks."""
    for edition in editions:
        for make in CONFORMING[edition]:
            print(edition, getattr(make, "__name__", ""), "conforms")  # noqa: T201 - it is asked for
        for fault in FAULTS:
            if (fault.edition, fault.side) == (edition, "agent"):
                print(edition, fault.name, fault.breaks)  # noqa: T201


def main(argv: list[str]) -> int:
    """The exit status."""
    edition, name, *_ = [*argv, "", ""]
    if edition and edition not in CONFORMING:
        print(f"editions: {', '.join(CONFORMING)}", file=sys.stderr)  # noqa: T201
        return 2
    if not name:
        tell_names([edition] if edition else list(CONFORMING))
        return 0
    make = find(edition, name)
    if make is None:
        print(f"{edition} has no agent {name}", file=sys.stderr)  # noqa: T201
        return 2
    folder = Path(tempfile.gettempdir()) / f"accord-faults-{os.getuid()}" / f"{edition}-{name}"
    asyncio.run(live(make(), folder))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
