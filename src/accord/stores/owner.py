"""Owner files: the locks that show which process of this machine has a session open.

A process that owns sessions of a database has one file of a random name in the folder `<database>-owners`, and holds
an exclusive `flock` on it until it lets go of the database or dies. The database names that file in the row of every
session that the process owns. So an owner is alive if and only if its file is there and locked: the operating system
releases the lock with the process, however it ends. There is no process id that another process could get later.

The lock belongs to the open file. It is not inherited by programs (`O_CLOEXEC`) and a forked child closes it, so a
child never keeps the sessions of a dead parent. Windows has no `flock`: there every other owner counts as dead.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from accord.errors import StoreError
from accord.stores.errors import no_locks, of_system

__all__ = ["StoreOwner", "claiming", "is_held", "is_live", "open_owner", "owners_folder"]

# The form of the owner column in a database: anything else is no file of ours, and never becomes part of a path.
_NAME = re.compile(r"[0-9a-f]{32}")

_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}


class StoreOwner:
    """This process as one database knows it: the same object for every store of the process on that database.

    `claims` counts how often each session was acquired here; `lock` is held while they change, because the stores of
    one process have a writing thread each.
    """

    def __init__(self, folder: Path, name: str, descriptor: int | None) -> None:
        self.name = name
        self.claims: Counter[str] = Counter()
        self.lock = threading.RLock()
        self._folder = folder
        self._descriptor = descriptor
        self._users = 0

    def close(self) -> None:
        """Release one use; the last one removes the file, and with it every remaining claim."""
        with _registry.lock:
            self._users -= 1
            if self._users or _registry.owners.get(self._folder) is not self:
                return
            del _registry.owners[self._folder]
            if self._descriptor is not None:
                # In this order: an existing file without a lock means that its process died.
                with contextlib.suppress(OSError):
                    (self._folder / self.name).unlink()
                os.close(self._descriptor)


@contextlib.contextmanager
def claiming(session_id: str, owner: StoreOwner | None) -> Iterator[None]:
    """Count a session that is created for an owner, if that succeeds."""
    if owner is None:
        yield
        return
    with owner.lock:
        yield
        owner.claims[session_id] += 1


class _Registry:
    """The owners of this process, by folder. The lock is also held while the process forks."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.owners: dict[Path, StoreOwner] = {}

    def hold(self) -> None:
        """Before the process forks: nothing may be half made."""
        self.lock.acquire()

    def resume(self) -> None:
        """In the parent, when it has forked."""
        self.lock.release()

    def forget(self) -> None:
        """In a forked child: drop the owners, which are the parent's."""
        owners, self.owners = list(self.owners.values()), {}
        self.lock = threading.RLock()
        for owner in owners:
            if owner._descriptor is not None:  # noqa: SLF001 - one module
                os.close(owner._descriptor)  # noqa: SLF001


_registry = _Registry()

if sys.platform != "win32":
    os.register_at_fork(before=_registry.hold, after_in_parent=_registry.resume, after_in_child=_registry.forget)


def owners_folder(database: Path) -> Path:
    """The folder of a database's owner files: beside the file itself, with links resolved."""
    return Path(f"{os.path.realpath(database)}-owners")


def open_owner(database: Path) -> StoreOwner:
    """This process's owner for a database; every call needs a `close` of its own.

    Raises:
        StoreError: `no_locks`: the file system cannot lock. Otherwise the file could not be made.
    """
    folder = owners_folder(database)
    with _registry.lock:
        owner = _registry.owners.get(folder)
        if owner is None:
            try:
                owner = _registry.owners[folder] = _make(folder)
            except OSError as error:
                raise _refusal(error, folder) from error
        owner._users += 1  # noqa: SLF001 - one module
    return owner


def is_live(folder: Path, name: object) -> bool:
    """Whether another process holds the owner file of that name; removes the file of one that died.

    Raises:
        StoreError: It cannot be determined.
    """
    if sys.platform == "win32" or not isinstance(name, str) or not _NAME.fullmatch(name):
        return False
    try:
        with _registry.lock:
            return not _remove_if_dead(folder / name)
    except OSError as error:
        raise _refusal(error, folder) from error


def is_held(folder: Path, name: object) -> bool:
    """Whether this process or another holds the owner file of that name; True where it cannot be determined."""
    with _registry.lock:
        own = _registry.owners.get(folder)
        if own is not None and own.name == name:
            return True
    try:
        return is_live(folder, name)
    except StoreError:
        return True


def _make(folder: Path) -> StoreOwner:
    if sys.platform == "win32":
        return StoreOwner(folder, secrets.token_hex(16), None)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        # A umask may have taken from the owner too.
        folder.chmod(0o700)
    _sweep(folder)
    while True:
        name = secrets.token_hex(16)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(folder / name, flags, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
            # Another process that sweeps may have come between: then the file is, or will be, gone.
            if _locks(descriptor) and os.fstat(descriptor).st_nlink:
                return StoreOwner(folder, name, descriptor)
        except BaseException:
            with contextlib.suppress(OSError):
                (folder / name).unlink()
            os.close(descriptor)
            raise
        os.close(descriptor)


def _sweep(folder: Path) -> None:
    """Remove the files of processes that died when they owned nothing: no session leads to these."""
    for entry in os.listdir(folder):  # noqa: PTH208 - names are all that is needed
        if _NAME.fullmatch(entry):
            with contextlib.suppress(OSError):
                _remove_if_dead(folder / entry)


def _remove_if_dead(path: Path) -> bool:
    """Whether no process holds the file; if so, it is removed."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True
    try:
        if not _locks(descriptor):
            return False
        # Only what is locked is removed, and only if the name still means the file that is locked.
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), path.stat(follow_symlinks=False)):
                path.unlink()
        return True
    finally:
        os.close(descriptor)


def _locks(descriptor: int) -> bool:
    """Whether the lock could be taken."""
    if sys.platform == "win32":
        return True
    import fcntl  # noqa: PLC0415 - Windows has none

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _refusal(error: OSError, folder: Path) -> StoreError:
    return no_locks(str(folder)) if error.errno in _NO_LOCKS else of_system(error, str(folder))
