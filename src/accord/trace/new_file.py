"""A new file for a trace: one that exists already is not touched, the next free name beside it is taken.

Light to import: `accord tap` checks its target before the agent starts.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from accord.trace.writer import TraceWriter

__all__ = ["check_target", "create_writer"]


def check_target(path: str | os.PathLike[str]) -> None:
    """Refuse a target that exists and is no file: the next free name beside it, `/dev/null-2`, cannot be meant.

    Raises:
        OSError: It is a folder, a device, a pipe or a socket.
    """
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - pathlib is imported when the agent runs
    except OSError:
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder; name a file in it", os.fspath(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is a device or a pipe; name a new file", os.fspath(path))


def create_writer(path: str | os.PathLike[str], **options: Any) -> TraceWriter:
    """A writer of a new file at `path`, or at `a-2.jsonl`, `a-3.jsonl` … for `a.jsonl`; options as of `TraceWriter`.

    Raises:
        OSError: The file cannot be made.
    """
    from pathlib import Path  # noqa: PLC0415 - see above

    from accord.trace.writer import TraceWriter  # noqa: PLC0415

    check_target(path)
    wanted = Path(path)
    attempt = 1
    while True:
        try:
            return TraceWriter(_numbered(wanted, attempt), **options)
        except FileExistsError:
            attempt += 1


def _numbered(path: Path, attempt: int) -> Path:
    if attempt == 1:
        return path
    stem, dot, suffix = path.name.lstrip(".").partition(".")
    hidden = "." * (len(path.name) - len(path.name.lstrip(".")))
    return path.with_name(f"{hidden}{stem}-{attempt}{dot}{suffix}")
