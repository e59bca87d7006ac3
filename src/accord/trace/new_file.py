"""A new file for a trace: one that exists already is not touched, the next free name beside it is taken."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from accord.trace.writer import TraceWriter

__all__ = ["create_writer"]


def create_writer(path: str | os.PathLike[str], **options: Any) -> TraceWriter:
    """A writer of a new file at `path`, or at `a-2.jsonl`, `a-3.jsonl` … for `a.jsonl`; options as of `TraceWriter`.

    Raises:
        OSError: The file cannot be made.
    """
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
