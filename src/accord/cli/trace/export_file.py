"""The place that an export goes to: a private file, a pipe as it is, or a terminal as safe text."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from accord.cli.show.screen import is_terminal, put
from accord.cli.status import UsageFailure
from accord.display import prose, safe_lines

__all__ = ["export_output"]


@contextmanager
def export_output(path: Path | None, source: Path) -> Iterator[Callable[[str], object]]:
    """A function that takes the pieces of an export; a file is there at the end, whole, or not at all.

    Raises:
        UsageFailure: The file cannot be written, or is the trace itself.
    """
    if path is None:
        yield _shown if is_terminal(sys.stdout) else _piped
        sys.stdout.flush()
        return
    if path.exists() and path.samefile(source):
        raise UsageFailure(f"{path} is the trace itself", advice="Name another file with -o")
    part = path.with_name(f".{path.name}.part")
    try:
        with open(part, "w", encoding="utf-8", errors="surrogatepass", opener=_private) as file:
            yield file.write
        part.replace(path)
    except OSError as error:
        raise UsageFailure(f"cannot write {path}: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)


def _piped(piece: str) -> None:
    sys.stdout.buffer.write(piece.encode("utf-8", "surrogatepass"))


def _shown(piece: str) -> None:
    for line in safe_lines(prose(piece)):
        put(line)
