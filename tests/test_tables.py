"""A test over all rows of a table is one item, and each row is met as an item of its own would be."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.tables import rows

FOLDERS: list[Path] = []
LOOPS: list[asyncio.AbstractEventLoop] = []


@rows("name, size", [("a", 1), pytest.param("b", 2, id="the second")])
@rows("is_new", [True, False])
async def test_each_row_of_an_async_test_has_its_own_loop_and_folder(
    tmp_path: Path, name: str, size: int, *, is_new: bool
) -> None:
    assert list(tmp_path.iterdir()) == []
    (tmp_path / name).write_text(f"{size} {is_new}")
    assert asyncio.get_running_loop() not in LOOPS
    assert tmp_path not in FOLDERS
    LOOPS.append(asyncio.get_running_loop())
    FOLDERS.append(tmp_path)
    if len(LOOPS) == 4:
        texts = [file.read_text() for folder in FOLDERS for file in folder.iterdir()]
        assert texts == ["1 True", "1 False", "2 True", "2 False"]


def test_a_row_that_fails_is_named_and_no_other_follows() -> None:
    met: list[int] = []

    @rows("number", [1, 2, 3])
    def breaks(number: int) -> None:
        met.append(number)
        assert number != 2

    with pytest.raises(AssertionError) as caught:
        breaks()  # type: ignore[call-arg]
    assert caught.value.__notes__ == ["row: 2"]
    assert met == [1, 2]


def test_a_table_without_rows_and_a_row_with_marks_are_refused() -> None:
    def proves(number: int) -> None:
        assert number

    for table in ([], [pytest.param(1, marks=pytest.mark.long)]):
        with pytest.raises(AssertionError):
            rows("number", table)(proves)
