"""The format `accord-trace`, version 1: one JSON object per line, in the order of the wire.

Each record is a struct with the keys of the file; `docs/formats.md` describes them. Readers ignore unknown keys and
unknown types. This module has neither a clock nor a file.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from accord.errors import AccordError

__all__ = [
    "AGENT",
    "CLIENT",
    "FORMAT",
    "VERSION",
    "EndRecord",
    "HeaderRecord",
    "NoteRecord",
    "StartRecord",
    "StderrRecord",
    "TextRecord",
    "TraceFileError",
    "check_version",
    "part_path",
]

FORMAT = "accord-trace"
VERSION = 1

CLIENT = "client"
AGENT = "agent"

_NAMES = {"connection": "conn", "source": "from", "target": "to", "encoding": "enc", "remark": "text"}


class TraceFileError(AccordError):
    """A trace cannot be read: it is something else, or of a newer version."""


class _Record(msgspec.Struct, kw_only=True, omit_defaults=True, rename=_NAMES, tag_field="type"):
    """The common base of all records. `t` is in seconds since 1970: the epoch at the start plus a monotonic clock."""


class HeaderRecord(_Record, tag="header"):
    """The first line of a file, and of each part of it."""

    format: str
    version: int
    t: float
    tool: str
    command: tuple[str, ...]
    cwd: str
    redacted: bool
    """Whether secrets are masked in this file."""
    ends: tuple[str, ...]
    agent: str = ""
    """A name for the agent, for people."""
    framing: str = "lines"
    part: int = 1


class TextRecord(_Record, tag="text"):
    """One text, as it crossed, without its line end or headers."""

    t: float
    connection: int
    source: str
    target: str
    raw: str
    encoding: str = ""
    """`base64` where the bytes are no UTF-8."""
    framing: str = ""
    fault: str = ""
    """`not-json`, `too-deep` (nested too deeply to be read), `not-utf8`, `too-long` or `no-newline-at-end`."""
    size: int = 0
    """The size in bytes, where `raw` is cut."""
    redacted: bool = False


class StderrRecord(_Record, tag="stderr"):
    """One line of a program's stderr."""

    t: float
    connection: int
    source: str
    raw: str
    encoding: str = ""
    fault: str = ""
    size: int = 0
    redacted: bool = False


class NoteRecord(_Record, tag="note"):
    """A remark of the tool that wrote the file; it did not cross the wire."""

    t: float
    connection: int
    remark: str
    redacted: bool = False


class StartRecord(_Record, tag="start"):
    """A program was started."""

    t: float
    connection: int
    source: str
    pid: int
    command: tuple[str, ...]
    redacted: bool = False


class EndRecord(_Record, tag="end"):
    """A program ended, by itself (`exit`) or by a signal; `lost` counts the texts that are not in the file."""

    t: float
    connection: int
    source: str
    texts: int
    lost: int
    exit: int | None = None
    signal: int | None = None


def check_version(path: Path, version: object) -> None:
    """Refuse a file of a version that this program does not know.

    Raises:
        TraceFileError: It is newer, or no version at all.
    """
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise TraceFileError(f"{path}: {version!r} is no version of the format {FORMAT}")
    if version > VERSION:
        raise TraceFileError(
            f"{path} has version {version} of the format {FORMAT}; this program reads up to {VERSION}: "
            "update Accord to read it"
        )


def part_path(path: Path, part: int) -> Path:
    """The path of a continued file: part 2 of `a.jsonl.gz` is `a.part2.jsonl.gz`."""
    if part == 1:
        return path
    stem, suffix = path.name, ""
    while (dot := stem.rfind(".")) > 0 and stem[dot:] in {".gz", ".jsonl", ".json", ".ndjson", ".trace"}:
        stem, suffix = stem[:dot], stem[dot:] + suffix
    return path.with_name(f"{stem}.part{part}{suffix}")
