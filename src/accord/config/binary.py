"""The installer of agent programs: fetches, checks and unpacks an archive, and moves it into place atomically."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.parse import urlsplit

from accord.config.download import fetch as fetch_address
from accord.config.entry import AgentEntry
from accord.config.errors import DownloadError
from accord.config.registry import Download
from accord.stores.folder import make_folder

__all__ = ["install"]

MAX_ARCHIVE_BYTES = 1024 * 1024 * 1024
MAX_UNPACKED_BYTES = 4 * 1024 * 1024 * 1024
DOWNLOAD_SECONDS = 900.0
_TARS = (".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".tar")
_INSTALLERS = (".dmg", ".pkg", ".deb", ".rpm", ".msi", ".appimage")
_EXECUTABLE = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH


def install(entry: AgentEntry, *, fetch: Callable[..., Iterator[bytes]] = fetch_address) -> AgentEntry:
    """Fetch the entry's program if it needs that; returns the entry as it can be started. Blocks.

    Raises:
        DownloadError: It could not be fetched, has another digest, or does not hold the program.
    """
    wanted = entry.download
    if wanted is None:
        return entry
    if not (wanted.folder / wanted.program).is_file():
        try:
            make_folder(wanted.folder.parent)
        except OSError as error:
            message = f"{wanted.folder.parent} cannot be written: {error.strerror}"
            raise DownloadError(wanted.address, message, reason="failed") from error
        with tempfile.TemporaryDirectory(dir=wanted.folder.parent, prefix=".new-") as name:
            # The temporary folder is private; the folder that it becomes must be so too, independent of the umask.
            place = Path(name, "unpacked")
            make_folder(place)
            with Path(name, "archive").open("w+b") as archive:
                _fetch(wanted, archive, fetch)
                archive.seek(0)
                _unpack(wanted, archive, place)
            _settle(wanted, place)
    return replace(entry, download=None)


def _fetch(wanted: Download, archive: IO[bytes], fetch: Callable[..., Iterator[bytes]]) -> None:
    digest = hashlib.sha256()
    for chunk in fetch(wanted.address, max_bytes=MAX_ARCHIVE_BYTES, timeout_seconds=DOWNLOAD_SECONDS):
        digest.update(chunk)
        archive.write(chunk)
    if wanted.sha256 is not None and digest.hexdigest() != wanted.sha256:
        raise DownloadError(wanted.address, "it is not the archive that the registry describes", reason="digest")


def _unpack(wanted: Download, archive: IO[bytes], place: Path) -> None:
    file_name = urlsplit(wanted.address).path.lower()
    if file_name.endswith(_INSTALLERS):
        raise DownloadError(wanted.address, "an installer is no archive", reason="archive")
    try:
        if file_name.endswith(".zip"):
            _unzip(wanted, archive, place)
        elif file_name.endswith(_TARS):
            _untar(wanted, archive, place)
        else:
            # No archive at all: the program itself.
            program = place / wanted.program
            program.parent.mkdir(parents=True, exist_ok=True)
            with program.open("wb") as out:
                shutil.copyfileobj(archive, out)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, ValueError, NotImplementedError) as error:
        raise DownloadError(wanted.address, f"it cannot be unpacked: {error}", reason="archive") from error


def _untar(wanted: Download, archive: IO[bytes], place: Path) -> None:
    if not hasattr(tarfile, "data_filter"):
        raise DownloadError(wanted.address, "this Python cannot unpack archives safely; update it", reason="archive")
    with tarfile.open(fileobj=archive) as tar:
        size = 0
        for member in tar:
            size = _added(wanted, size, member.size)
            # The filter refuses members that leave the folder, by name or by a link, and devices.
            tar.extract(member, place, filter="data")


def _unzip(wanted: Download, archive: IO[bytes], place: Path) -> None:
    with zipfile.ZipFile(archive) as zipped:
        size = 0
        for info in zipped.infolist():
            path = PurePosixPath(info.filename.replace("\\", "/"))
            if path.is_absolute() or ".." in path.parts or ":" in info.filename:
                raise DownloadError(wanted.address, "a name in it leaves the folder", reason="archive")
            size = _added(wanted, size, info.file_size)
            target = Path(zipped.extract(info, place))
            if info.external_attr >> 16 & _EXECUTABLE and target.is_file():
                target.chmod(target.stat().st_mode | _EXECUTABLE)


def _added(wanted: Download, size: int, added_bytes: int) -> int:
    size += added_bytes
    if size > MAX_UNPACKED_BYTES:
        raise DownloadError(wanted.address, f"it unpacks to more than {MAX_UNPACKED_BYTES} bytes", reason="large")
    return size


def _settle(wanted: Download, place: Path) -> None:
    program = place / wanted.program
    if not program.is_file():
        raise DownloadError(wanted.address, f"there is no {wanted.program} in it", reason="archive")
    program.chmod(program.stat().st_mode | _EXECUTABLE)
    # A folder without the program is the rest of an interrupted installation.
    if wanted.folder.exists() and not (wanted.folder / wanted.program).is_file():
        shutil.rmtree(wanted.folder)
    with contextlib.suppress(OSError):
        place.replace(wanted.folder)
    if not (wanted.folder / wanted.program).is_file():
        raise DownloadError(wanted.address, f"{wanted.folder} cannot be written", reason="archive")
