"""Copies of one folder for agents that may change it, with links as links and Git metadata of their own; trials.

A trial runs in a fresh copy, several at a time. The caller defines the run of a trial: `accord.evaluate` connects to an
agent, `accord run --compare` starts a program. The copy is removed in any case when the run is over.
"""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import filecmp
import os
import shutil
import stat
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from accord.config import ConfigPaths
from accord.session.tool import FileChange, FileOperation
from accord.stores.folder import make_folder
from accord.stores.owner import is_held, open_owner, owners_folder

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
    """Remove the settings of another working tree from a repository's config: its path, and `bare`."""
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


# --- changes

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
    operation: FileOperation = "modify" if is_old and is_new else "add" if is_new else "delete"
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


# --- copies for agents

_GIT_VARIABLES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")


class CopyFailed(OSError):
    """Something of a folder cannot be read or written while it is copied."""


class FolderCopies:
    """The copies of one folder. Made by `open_copies`."""

    def __init__(self, root: Path, source: Path, on_file: Callable[[int], None]) -> None:
        self._root = root
        self._source = source
        self._name = source.name or "folder"
        self._on_file = on_file
        self._count = 0
        self.before = root / "before" / self._name

    @property
    def environment(self) -> dict[str, str | None]:
        """Changes of the environment, so that nothing leads Git out of a copy; None unsets a variable."""
        return {**dict.fromkeys(_GIT_VARIABLES), "GIT_CEILING_DIRECTORIES": str(self._root)}

    async def begin(self) -> None:
        """Make the first copy.

        Raises:
            CopyFailed: Something cannot be read or written.
        """
        await self._copied(self._source, self.before)

    async def copy(self, name: str) -> Path:
        """A new copy; `name` is that of a folder around it.

        Raises:
            CopyFailed: Something cannot be read or written.
        """
        target = self._root / name / self._name
        await self._copied(self.before, target)
        return target

    async def changes(self, copy: Path) -> list[FileChange]:
        """The files that are different in a copy."""
        return await asyncio.to_thread(changes_between, self.before, copy)

    async def remove(self, copy: Path) -> None:
        await asyncio.shield(asyncio.to_thread(remove_folder, copy.parent))

    async def _copied(self, source: Path, target: Path) -> None:
        stop = threading.Event()

        def on_file() -> None:
            self._count += 1
            self._on_file(self._count)
            if stop.is_set():
                raise InterruptedError("the copy was stopped")

        def copy() -> None:
            make_folder(target.parent)
            FolderCopy(source, leave_out=self._root.parent, on_file=on_file).make(target)

        copying = asyncio.ensure_future(asyncio.to_thread(copy))
        try:
            await asyncio.shield(copying)
        except OSError as error:
            raise CopyFailed(error.errno, error.strerror or str(error), error.filename) from error
        finally:
            stop.set()
            with contextlib.suppress(OSError):
                await asyncio.shield(copying)


@contextlib.asynccontextmanager
async def open_copies(
    source: Path, place: str, on_file: Callable[[int], None] = lambda _: None
) -> AsyncIterator[FolderCopies]:
    """Copies of a folder, in the folder `place` of the cache. Those that killed processes left there are removed first.

    `on_file` gets the number of copied files; it is called in a thread.

    Raises:
        OSError: The folder cannot be copied.
        StoreError: The private folder cannot be made.
    """
    folder = ConfigPaths.here().cache / place
    make_folder(folder)
    owner = open_owner(folder)
    try:
        for each in folder.iterdir():
            if not is_held(owners_folder(folder), each.name):
                await asyncio.to_thread(remove_folder, each)
        root = folder / owner.name
        make_folder(root)
        try:
            copies = FolderCopies(root, source, on_file)
            await copies.begin()
            yield copies
        finally:
            await asyncio.shield(asyncio.to_thread(remove_folder, root))
    finally:
        owner.close()


_Trial = TypeVar("_Trial")
_Outcome = TypeVar("_Outcome")


async def run_trials(
    copies: FolderCopies,
    trials: Sequence[_Trial],
    run: Callable[[_Trial, Path], Awaitable[_Outcome]],
    on_end: Callable[[_Trial, _Outcome, list[FileChange]], None],
    *,
    parallel: int,
) -> None:
    """Run all trials, `parallel` at a time and in their order, and report each with its changes as soon as it is over.

    Cancelled, it cancels the runs and returns when they have ended. So it does when one raises, or a copy cannot be
    made.

    Raises:
        CopyFailed: The folder cannot be copied.
        Exception: A run raised it.
    """
    waiting = iter(enumerate(trials))

    async def work() -> None:
        for number, trial in waiting:
            folder = await copies.copy(f"trial-{number}")
            try:
                outcome = await run(trial, folder)
                changes = await copies.changes(folder)
            finally:
                await copies.remove(folder)
            on_end(trial, outcome, changes)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(parallel, len(trials))):
                group.create_task(work())
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
