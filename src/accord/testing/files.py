"""Folders as dicts of their files: to set up an agent's working directory and to inspect it afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

__all__ = ["MakeWorkspace", "read_files", "write_files"]

MakeWorkspace: TypeAlias = Callable[..., Path]
"""The type of the fixture `accord_workspace`."""


def write_files(folder: str | os.PathLike[str], files: Mapping[str, str | bytes]) -> Path:
    """Write files into a folder, by their paths in it; missing folders are made. Returns the folder.

    Raises:
        ValueError: A path that leads out of the folder.
    """
    root = Path(folder).resolve()
    for name, content in files.items():
        path = root / name
        if root not in Path(os.path.normpath(path)).parents:
            raise ValueError(f"{name!r} is not inside the folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def read_files(folder: str | os.PathLike[str]) -> dict[str, str | bytes]:
    """Every file of a folder and of those in it, by its path; bytes where it is not UTF-8. Symlinks are not followed.

    The inverse of `write_files`, so that `assert read_files(folder) == {...}` checks the whole result.
    """
    root = Path(folder)
    found: dict[str, str | bytes] = {}
    for place, _, names in os.walk(root):
        for name in names:
            path = Path(place) / name
            if path.is_file() and not path.is_symlink():
                found[path.relative_to(root).as_posix()] = _content(path)
    return dict(sorted(found.items()))


def _content(path: Path) -> str | bytes:
    content = path.read_bytes()
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content
