"""A project's file is trusted where it stands and as it is; notes survive crashes and other processes."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from accord.config.errors import ConfigError
from accord.config.trust import Trust
from tests.config.world import digest_of, write


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "project" / "acp.json", {"servers": []})


@pytest.fixture
def trust(tmp_path: Path) -> Trust:
    return Trust(tmp_path / "state" / "trusted.jsonl")


def test_nothing_is_trusted_until_it_is(trust: Trust, file: Path) -> None:
    digest = digest_of(file)
    assert not trust.is_trusted(file, digest)
    trust.trust(file, digest)
    assert trust.is_trusted(file, digest)
    trust.distrust(file, digest)
    assert not trust.is_trusted(file, digest)


def test_a_changed_file_must_be_trusted_again(trust: Trust, file: Path) -> None:
    trust.trust(file, digest_of(file))
    write(file, {"servers": [{"name": "new", "command": "evil"}]})
    assert not trust.is_trusted(file, digest_of(file))


def test_the_same_text_elsewhere_is_not_trusted(trust: Trust, file: Path, tmp_path: Path) -> None:
    trust.trust(file, digest_of(file))
    copy = write(tmp_path / "other" / "acp.json", file.read_text())
    assert not trust.is_trusted(copy, digest_of(copy))


def test_a_link_to_a_trusted_file_is_not_trusted(trust: Trust, file: Path, tmp_path: Path) -> None:
    trust.trust(file, digest_of(file))
    link = tmp_path / "acp.json"
    link.symlink_to(file)
    assert not trust.is_trusted(link, digest_of(link))


def test_a_folder_is_the_same_by_whichever_way(trust: Trust, file: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(file.parent)
    trust.trust(tmp_path / "alias" / "acp.json", digest_of(file))
    assert trust.is_trusted(file, digest_of(file))


def test_notes_are_for_their_owner_alone(trust: Trust, file: Path, tmp_path: Path) -> None:
    trust.trust(file, digest_of(file))
    assert stat.S_IMODE((tmp_path / "state" / "trusted.jsonl").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700


def test_a_torn_line_costs_only_itself(trust: Trust, file: Path, tmp_path: Path) -> None:
    digest = digest_of(file)
    trust.trust(file, digest)
    notes = tmp_path / "state" / "trusted.jsonl"
    with notes.open("ab") as out:
        out.write(json.dumps({"path": str(file)}).encode()[:9])
    trust.trust(file, "another")
    assert trust.is_trusted(file, digest)
    assert trust.is_trusted(file, "another")


@pytest.mark.parametrize("content", [b"[]\n1\nnull\n", b"\xff\xfe", b"[" * 100_000])
def test_notes_that_cannot_be_read_trust_nothing(trust: Trust, file: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "trusted.jsonl").write_bytes(content)
    assert not trust.is_trusted(file, digest_of(file))


def test_notes_that_cannot_be_written_say_which_file(file: Path, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where a folder should be")
    with pytest.raises(ConfigError) as caught:
        Trust(tmp_path / "state" / "trusted.jsonl").trust(file, "x")
    assert caught.value.path.endswith("trusted.jsonl")


PROGRAM = """
import sys
from accord.config.trust import Trust
for number in range(50):
    Trust(sys.argv[1]).trust(f"/p/{sys.argv[2]}-{number}/acp.json", "x")
"""


def test_two_processes_write_at_once(trust: Trust, tmp_path: Path) -> None:
    notes = tmp_path / "state" / "trusted.jsonl"
    writers = [subprocess.Popen([sys.executable, "-c", PROGRAM, notes, name]) for name in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert all(trust.is_trusted(f"/p/{name}-{number}/acp.json", "x") for name in "ab" for number in range(50))
