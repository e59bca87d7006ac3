"""A program is fetched, checked and unpacked, and is there as a whole or not at all."""

from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from accord.config.binary import install
from accord.config.entry import AgentEntry
from accord.config.errors import DownloadError
from accord.config.registry import Download
from tests.limits import limit
from tests.tables import rows

PROGRAM = b"#!/bin/sh\necho hello\n"


def tar_of(*members: tuple[str, bytes], link: str | None = None, mode: str = "w:gz") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as tar:  # type: ignore[call-overload]
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        if link is not None:
            info = tarfile.TarInfo("link")
            info.type, info.linkname = tarfile.SYMTYPE, link
            tar.addfile(info)
    return out.getvalue()


def zip_of(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as zipped:
        for name, content in members:
            zipped.writestr(name, content)
    return out.getvalue()


def entry_of(folder: Path, file: str, sha256: str | None = None, program: str = "bin/agent") -> AgentEntry:
    download = Download(f"https://x.test/{file}", folder / "1.0", program, sha256)
    return AgentEntry("a", (str(folder / "1.0" / program),), "registry", "r", download=download)


def installed(entry: AgentEntry, content: bytes) -> AgentEntry:
    def fetch(address: str, *, max_bytes: int, timeout_seconds: float) -> Iterator[bytes]:
        assert address.startswith("https://x.test/")
        assert max_bytes
        assert timeout_seconds
        yield from (content[:10], content[10:])

    return install(entry, fetch=fetch)


unpacks_safely = pytest.mark.skipif(
    not hasattr(tarfile, "data_filter"),
    reason="this Python cannot unpack archives safely: update it to 3.11.4",
)
GOOD = [
    ("a.tar.gz", tar_of(("bin/agent", PROGRAM))),
    ("a.tgz", tar_of(("./bin/agent", PROGRAM))),
    ("a.tar.bz2", tar_of(("bin/agent", PROGRAM), mode="w:bz2")),
    ("a.zip?x=1", zip_of(("bin/agent", PROGRAM), ("README", b"r"))),
    ("agent", PROGRAM),
]


@pytest.mark.parametrize(("file", "content"), GOOD, ids=[file for file, _ in GOOD])
@unpacks_safely
def test_an_archive_becomes_a_program_that_runs(tmp_path: Path, file: str, content: bytes) -> None:
    entry = installed(entry_of(tmp_path / "agents", file, hashlib.sha256(content).hexdigest()), content)
    assert entry.download is None
    done = subprocess.run(entry.argv, stdout=subprocess.PIPE, timeout=limit(60), check=True)
    assert done.stdout == b"hello\n"
    assert [path.name for path in (tmp_path / "agents").iterdir()] == ["1.0"]


BAD = [
    ("a.tar.gz", tar_of(("../evil", b"x"), ("bin/agent", PROGRAM)), "archive"),
    ("a.tar.gz", tar_of(("/etc/evil", b"x")), "archive"),
    ("a.tar.gz", tar_of(("bin/agent", PROGRAM), link="/etc/passwd"), "archive"),
    ("a.tar.gz", b"no archive", "archive"),
    ("a.tar.gz", tar_of(("bin/agent", PROGRAM))[:-20], "archive"),
    ("a.tar.gz", tar_of(("other", PROGRAM)), "archive"),
    ("a.zip", zip_of(("../evil", b"x"), ("bin/agent", PROGRAM)), "archive"),
    ("a.zip", zip_of(("../evil", b"x"), ("bin/agent", PROGRAM)), "archive"),
    ("a.zip", b"no archive", "archive"),
    ("a.dmg", b"x", "archive"),
    ("a.deb", b"x", "archive"),
]


@rows(("file", "content", "reason"), BAD)
def test_what_is_no_good_leaves_nothing_behind(tmp_path: Path, file: str, content: bytes, reason: str) -> None:
    with pytest.raises(DownloadError) as caught:
        installed(entry_of(tmp_path / "agents", file), content)
    assert caught.value.reason == reason
    assert list((tmp_path / "agents").iterdir()) == []
    assert [path.name for path in tmp_path.iterdir()] == ["agents"]


def test_another_archive_than_the_registry_describes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DownloadError) as caught:
        installed(entry_of(tmp_path / "agents", "agent", "00" * 32), PROGRAM)
    assert caught.value.reason == "digest"
    assert list((tmp_path / "agents").iterdir()) == []


def test_what_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accord.config.binary.MAX_UNPACKED_BYTES", 5)
    with pytest.raises(DownloadError) as caught:
        installed(entry_of(tmp_path / "agents", "a.zip"), zip_of(("bin/agent", PROGRAM)))
    assert caught.value.reason == "large"


def test_what_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    entry = entry_of(tmp_path / "agents", "agent")
    installed(entry, PROGRAM)
    assert installed(entry, b"another").download is None
    assert (tmp_path / "agents" / "1.0" / "bin" / "agent").read_bytes() == PROGRAM


def test_what_was_left_half_done_is_done_again(tmp_path: Path) -> None:
    (tmp_path / "agents" / "1.0" / "bin").mkdir(parents=True)
    installed(entry_of(tmp_path / "agents", "agent"), PROGRAM)
    assert (tmp_path / "agents" / "1.0" / "bin" / "agent").read_bytes() == PROGRAM


def test_what_needs_no_download_stays_as_it_is(tmp_path: Path) -> None:
    entry = AgentEntry("a", (str(tmp_path),), "user", "f")
    assert installed(entry, b"") is entry
