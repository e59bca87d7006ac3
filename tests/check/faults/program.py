"""An agent of this folder as a program: found by its name, fed from stdin."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from tests.check.faults import FAULTS, FULL, PLAIN
from tests.check.faults.careful import CAREFUL
from tests.check.faults.fault import FaultyPeer
from tests.check.faults.reference.agent_v1 import PlainV1
from tests.check.faults.reference.store import FolderStore

__all__ = ["main"]

_EDITIONS = list(PLAIN)
_LINE_BYTES = 64 * 1024 * 1024


def agents_of(edition: str) -> dict[str, tuple[Callable[[], FaultyPeer], str]]:
    """The agents of an edition by their names, with what they break."""
    references = [references[name] for references in (PLAIN, FULL) for name in references if name == edition]
    faults = [fault for fault in FAULTS if (fault.edition, fault.side) == (edition, "agent")]
    return {peer.__name__: (peer, "conforms") for peer in references} | {
        fault.name: (fault.make, fault.breaks) for fault in faults
    }


async def lines_of_stdin() -> AsyncIterator[bytes]:
    reader = asyncio.StreamReader(limit=_LINE_BYTES)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield line.rstrip(b"\n")


def write_to_stdout(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


async def live(peer: FaultyPeer, folder: Path) -> None:
    """From the first line to the last; sessions are kept in a folder."""
    if isinstance(peer, PlainV1):
        peer.store = FolderStore(folder)
    await peer.serve(lines_of_stdin(), write_to_stdout)
    sys.stderr.buffer.write(getattr(peer, "stderr", b""))


def main(argv: list[str]) -> int:
    """The exit status."""
    edition, name, *_ = [*argv, "", ""]
    if edition and edition not in _EDITIONS:
        print(f"editions: {', '.join(_EDITIONS)}", file=sys.stderr)  # noqa: T201 - it is a program
        return 2
    if not name:
        for each in [edition] if edition else _EDITIONS:
            for known, (_, what) in agents_of(each).items():
                print(each, known, what)  # noqa: T201
        return 0
    careful: dict[str, tuple[Callable[[], FaultyPeer], str]] = {peer.__name__: (peer, "conforms") for peer in CAREFUL}
    found = (agents_of(edition) | (careful if edition == "v1" else {})).get(name)
    if found is None:
        print(f"{edition} has no agent {name}", file=sys.stderr)  # noqa: T201
        return 2
    folder = Path(tempfile.gettempdir()) / f"accord-faults-{os.getuid()}" / f"{edition}-{name}"
    asyncio.run(live(found[0](), folder))
    return 0
