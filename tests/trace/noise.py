"""A program that sends bytes of every kind in random cuts while it reads: `noise.py SEED FILE`.

The file gets the SHA-256 of what it read and of what it sent.
"""

from __future__ import annotations

import hashlib
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

LARGE_BYTES = 3 * 1024 * 1024


def pieces(seed: int) -> Iterator[bytes]:
    """Bytes of every kind, in random cuts."""
    chance = random.Random(seed)
    for _ in range(200):
        kind = chance.randrange(6)
        if kind == 0:
            whole = chance.randbytes(chance.randrange(1, 3000))
        elif kind == 1:
            whole = b'{"jsonrpc":"2.0","method":"x","params":{"n":%d}}\r\n' % chance.randrange(1000)
        elif kind == 2:
            whole = b"Content-Length: %d\r\n\r\n{}" % chance.randrange(100)
        elif kind == 3:
            whole = "ä€🌍 bearer sk-abcdefghijkl\n".encode()
        else:
            whole = b'{"jsonrpc":"2.0","id":%d,"result":null}\n' % chance.randrange(1000)
        while whole:
            cut = chance.randrange(1, len(whole) + 1)
            yield whole[:cut]
            whole = whole[cut:]
    if seed % 2:
        yield b'{"large":"' + b"x" * LARGE_BYTES + b'"}\n'
    yield b'{"half":'


def send(target: int, seed: int) -> str:
    """Send all of them; gives the digest."""
    digest = hashlib.sha256()
    for piece in pieces(seed):
        digest.update(piece)
        rest = memoryview(piece)
        while rest:
            rest = rest[os.write(target, rest) :]
    return digest.hexdigest()


def receive(source: int) -> str:
    """Read to the end; gives the digest."""
    digest = hashlib.sha256()
    while data := os.read(source, 65536):
        digest.update(data)
    return digest.hexdigest()


def main() -> None:
    seed, file = int(sys.argv[1]), sys.argv[2]
    got: list[str] = []
    reader = Thread(target=lambda: got.append(receive(0)))
    reader.start()
    sent = send(1, seed)
    os.close(1)
    reader.join()
    Path(file).write_text(f"{got[0]} {sent}")


if __name__ == "__main__":
    main()
