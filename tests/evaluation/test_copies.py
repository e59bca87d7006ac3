"""The engine of evaluations and comparisons: copies, order, how many at a time, and what a failure leaves."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from accord.evaluation.copies import CopyFailed, open_copies, run_trials
from accord.session.tool import FileChange
from tests.limits import limit


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one file; nobody's home is touched."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "note.txt").write_text("old\n", encoding="utf-8")
    return folder


async def test_each_trial_has_a_copy_of_its_own_and_its_changes_are_reported(source: Path) -> None:
    ended: dict[str, tuple[str, list[FileChange]]] = {}
    folders: list[Path] = []

    async def run(trial: str, folder: Path) -> str:
        folders.append(folder)
        assert (folder / "note.txt").read_text(encoding="utf-8") == "old\n"
        (folder / "note.txt").write_text(trial, encoding="utf-8")
        return trial.upper()

    async with open_copies(source, "tests") as copies:
        await run_trials(
            copies, ["a", "b", "c"], run, lambda trial, *outcome: ended.update({trial: outcome}), parallel=2
        )

    assert {trial: (outcome, [each.new for each in changes]) for trial, (outcome, changes) in ended.items()} == {
        "a": ("A", ["a"]), "b": ("B", ["b"]), "c": ("C", ["c"])
    }  # fmt: skip
    assert len(set(folders)) == 3
    assert not any(folder.exists() for folder in folders)
    assert (source / "note.txt").read_text(encoding="utf-8") == "old\n"


async def test_no_more_than_so_many_run_at_a_time(source: Path) -> None:
    running: set[int] = set()
    most = 0
    both = asyncio.Barrier(2)

    async def run(trial: int, _: Path) -> None:
        nonlocal most
        running.add(trial)
        most = max(most, len(running))
        async with asyncio.timeout(limit(20)):
            await both.wait()
        running.discard(trial)

    async with open_copies(source, "tests") as copies:
        await run_trials(copies, range(6), run, lambda *_: None, parallel=2)

    assert most == 2


async def test_one_that_raises_ends_the_others_and_is_raised_itself(source: Path) -> None:
    ended: list[str] = []
    folders: list[Path] = []
    hangs = asyncio.Event()

    async def run(trial: str, folder: Path) -> None:
        folders.append(folder)
        try:
            if trial == "raises":
                await hangs.wait()
                raise LookupError(trial)
            hangs.set()
            await asyncio.Event().wait()
        finally:
            ended.append(trial)

    async with open_copies(source, "tests") as copies:
        with pytest.raises(LookupError):
            await run_trials(copies, ["hangs", "raises"], run, lambda *_: None, parallel=2)
        assert sorted(ended) == ["hangs", "raises"]
        assert not any(folder.exists() for folder in folders)


async def test_a_copy_that_cannot_be_made_is_raised_as_such(source: Path) -> None:
    async def run(_: str, __: Path) -> None:
        raise AssertionError("nothing runs without a copy")

    async with open_copies(source, "tests") as copies:
        copies.before = source / "nowhere"
        with pytest.raises(CopyFailed):
            await run_trials(copies, ["a"], run, lambda *_: None, parallel=1)
