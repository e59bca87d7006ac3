"""A relay that writes the SHA-256 and the size of each direction into a file: `FILE -- COMMAND...`."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Thread


def pump(source: int, target: int, digest: hashlib._Hash, count: list[int]) -> None:
    while data := os.read(source, 65536):
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(target, rest) :]
        except BrokenPipeError:
            break
        digest.update(data)
        count[0] += len(data)
    os.close(target)


def main() -> int:
    file, _, *command = sys.argv[1:]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    up, down = hashlib.sha256(), hashlib.sha256()
    up_bytes, down_bytes = [0], [0]
    threads = [
        Thread(target=pump, args=(0, os.dup(child.stdin.fileno()), up, up_bytes), daemon=True),
        Thread(target=pump, args=(child.stdout.fileno(), os.dup(1), down, down_bytes), daemon=True),
    ]
    child.stdin.close()
    for thread in threads:
        thread.start()
    # A client that has lost its patience: what passed until then counts.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        threads[1].join()
        status = child.wait()
        threads[0].join(1)
    finally:
        sides = {"up": up.hexdigest(), "down": down.hexdigest(), "up_bytes": up_bytes[0], "down_bytes": down_bytes[0]}
        Path(file).write_text(json.dumps(sides))
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
