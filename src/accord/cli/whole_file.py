"""Files that commands write: there at the end, whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO

__all__ = ["whole_file"]


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A new file beside the path, for its owner alone, which takes its place at the end; a failure leaves no file.

    Its name is random, and it is made here: one that is there already is never written to.

    Raises:
        OSError: It cannot be written.
    """
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(part, flags, 0o600)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
            yield file
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
