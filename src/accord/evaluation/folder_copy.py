"""A copy of a folder for an agent that may change it: files unchanged, links as links, separate Git metadata.

Everything is copied, ignored files too. Directories are opened without following links, so that nothing outside of the
folder is read, even if it changes meanwhile. Sockets, FIFOs and devices are left out. A link to an absolute path inside
of the folder leads to the same place in the copy.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

_OPEN_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_OPEN_FOLDER = _OPEN_FILE | getattr(os, "O_DIRECTORY", 0)


class FolderCopy:
    """Copies one folder, also several times. `on_file` is called for every file, and may raise to stop the copy."""

    def __init__(self, source: Path, *, leave_out: Path, on_file: Callable[[], None] = lambda: None) -> None:
        self._source = Path(os.path.realpath(source))
        self._leave_out = os.path.realpath(leave_out)
        self._on_file = on_file

    def make(self, target: Path) -> None:
        """Copy it to a folder that is not there yet.

        Raises:
            OSError: Something cannot be read or written.
        """
        self._folder(self._source, target, target)

    def _folder(self, source: Path, target: Path, root: Path, *, skip: frozenset[str] = frozenset()) -> None:
        descriptor = os.open(source, _OPEN_FOLDER)
        try:
            status = os.fstat(descriptor)
            target.mkdir(mode=0o700)
            target.chmod(0o700)
            with os.scandir(descriptor) as entries:
                names = sorted(entry.name for entry in entries)
            for name in names:
                if name not in skip and os.path.join(source, name) != self._leave_out:  # noqa: PTH118 - per file
                    self._entry(descriptor, source, target, name, root)
            target.chmod(stat.S_IMODE(status.st_mode) | 0o700)
            os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
        finally:
            os.close(descriptor)

    def _entry(self, folder: int, source: Path, target: Path, name: str, root: Path) -> None:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            (target / name).symlink_to(self._link(os.readlink(name, dir_fd=folder), root))
        elif stat.S_ISDIR(status.st_mode):
            # Git's metadata of further working trees refers to folders that are not copied.
            skip = frozenset({"worktrees"}) if name == ".git" else frozenset[str]()
            self._folder(source / name, target / name, root, skip=skip)
        elif stat.S_ISREG(status.st_mode):
            self._on_file()
            descriptor = os.open(name, _OPEN_FILE, dir_fd=folder)
            if name == ".git" and self._git_file(descriptor, source, target / name, root):
                return
            _copy_file(descriptor, target / name)

    def _link(self, leads_to: str, root: Path) -> str:
        inside = Path(leads_to)
        if inside.is_absolute() and inside.is_relative_to(self._source):
            return str(root / inside.relative_to(self._source))
        return leads_to

    def _git_file(self, descriptor: int, folder: Path, target: Path, root: Path) -> bool:
        """Give the copy its own repository where `.git` is a file that refers to another folder; whether it was one."""
        with open(os.dup(descriptor), "rb") as file:  # noqa: PTH123 - a descriptor
            text = os.fsdecode(file.read(4096)).strip()
        os.lseek(descriptor, 0, os.SEEK_SET)
        if not text.startswith("gitdir:"):
            return False
        named = text.removeprefix("gitdir:").strip()
        place = Path(os.path.realpath(folder / named))
        if Path(named).is_absolute() and place.is_relative_to(self._source):
            # A submodule, or a working tree inside of the folder: never that of the original.
            os.close(descriptor)
            target.write_bytes(os.fsencode(f"gitdir: {root / place.relative_to(self._source)}\n"))
            return True
        if not place.is_dir() or place.is_relative_to(self._source):
            return False
        common = place
        with contextlib.suppress(OSError):
            common = Path(os.path.realpath(place / (place / "commondir").read_text(encoding="utf-8").strip()))
        os.close(descriptor)
        self._folder(common, target, root, skip=frozenset({"worktrees"}))
        if common != place:
            for each in place.iterdir():
                if each.is_file() and not each.is_symlink() and each.name not in {"commondir", "gitdir", "locked"}:
                    shutil.copyfile(each, target / each.name)
        _forget_working_tree(target / "config")
        return True


def _copy_file(descriptor: int, target: Path) -> None:
    with open(descriptor, "rb") as source:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return
        with target.open("xb") as copy:
            shutil.copyfileobj(source, copy, 1024 * 1024)
            os.fchmod(copy.fileno(), stat.S_IMODE(status.st_mode) & 0o777)
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def _forget_working_tree(config: Path) -> None:
    """The config of a repository that was used by another working tree may name that, or say that there is none."""
    with contextlib.suppress(OSError):
        lines = config.read_bytes().splitlines(keepends=True)
        kept = [each for each in lines if each.split(b"=")[0].strip().lower() not in {b"worktree", b"bare"}]
        config.write_bytes(b"".join(kept))


def remove_folder(folder: Path) -> None:
    """Remove the folder, also with modes that forbid it; links are removed and never followed."""

    def again(function: Callable[..., object], path: str, _: object) -> None:
        with contextlib.suppress(OSError):
            for each in (os.path.dirname(path), path):  # noqa: PTH120 - texts
                if not os.path.islink(each):  # noqa: PTH114
                    os.chmod(each, 0o700)  # noqa: PTH101
            function(path)

    shutil.rmtree(folder, onerror=again)
    if folder.exists():
        shutil.rmtree(folder, ignore_errors=True)
