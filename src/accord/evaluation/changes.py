"""The changes of an agent in its copy of a folder, relative to an untouched copy. `.git` is left out."""

from __future__ import annotations

import difflib
import filecmp
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from accord.session.tool import FileChange

MAX_TEXT_BYTES = 1024 * 1024


def changes_between(before: Path, after: Path) -> list[FileChange]:
    """The changed files, in the order of their paths. A file that is no text, or too long, has neither text."""
    names = sorted({*_files(before), *_files(after)})
    return [
        change for name in names if (change := _change(name, before / name, after / name, (before, after))) is not None
    ]


def patch_of(change: FileChange) -> str:
    """The change as a patch; one line for a file without text."""
    if change.old is None and change.new is None:
        return f"Binary file {change.path}: {change.operation}\n"
    old, new = (text.splitlines(keepends=True) if text is not None else [] for text in (change.old, change.new))
    names = (
        ("/dev/null" if change.old is None else f"a/{change.path}"),
        ("/dev/null" if change.new is None else f"b/{change.path}"),
    )
    lines = difflib.unified_diff(old, new, *names)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _files(root: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        links = [each for each in folders if os.path.islink(os.path.join(folder, each))]  # noqa: PTH114, PTH118
        folders[:] = [each for each in folders if each != ".git" and each not in links]
        for name in (*files, *links):
            yield os.path.relpath(os.path.join(folder, name), root)  # noqa: PTH118


def _change(name: str, old: Path, new: Path, roots: tuple[Path, Path]) -> FileChange | None:
    is_old, is_new = os.path.lexists(old), os.path.lexists(new)
    if is_old and is_new and _is_same(old, new, roots):
        return None
    operation = "modify" if is_old and is_new else "add" if is_new else "delete"
    before, after = _text(old, roots[0]), _text(new, roots[1])
    if (is_old and before is None) or (is_new and after is None):
        before = after = None
    return FileChange(name, operation=operation, old=before, new=after)


def _is_same(old: Path, new: Path, roots: tuple[Path, Path]) -> bool:
    one, other = old.lstat(), new.lstat()
    if stat.S_IFMT(one.st_mode) != stat.S_IFMT(other.st_mode) or (one.st_mode ^ other.st_mode) & 0o100:
        return False
    if stat.S_ISLNK(one.st_mode):
        return _text(old, roots[0]) == _text(new, roots[1])
    return not stat.S_ISREG(one.st_mode) or filecmp.cmp(old, new, shallow=False)


def _text(path: Path, root: Path) -> str | None:
    """The content of a file; for a link its target, relative to the folder."""
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            return "link to " + str(path.readlink()).replace(f"{root}{os.sep}", "", 1) + "\n"
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_TEXT_BYTES:
            return None
        data = path.read_bytes()
        return None if b"\0" in data else data.decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
