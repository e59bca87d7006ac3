"""Of the tests that need the same missing thing one is left, and is skipped."""

from __future__ import annotations

from typing import Any

import pytest

from tests import untested
from tests.needs import leave_one_of_those_in_want
from tests.test_rows import Row


class Test(Row):
    """A test, as far as the choice looks at it."""

    __test__ = False

    def __init__(self, name: str, *marks: pytest.MarkDecorator, fixtures: tuple[str, ...] = ()) -> None:
        super().__init__(name, {}, marks)
        self.fixturenames = fixtures


def left(*tests: Any) -> list[tuple[Any, Any]]:
    """The tests that are left, each with the reason for which it is skipped."""
    items = list(tests)
    leave_one_of_those_in_want(items)
    marks = [(test, test.get_closest_marker("skip")) for test in items]
    return [(test, mark and mark.kwargs["reason"]) for test, mark in marks]


IS_THERE, IS_MISSING = True, False
THERE, MISSING = (pytest.mark.needs(is_there, "no lens") for is_there in (IS_THERE, IS_MISSING))
NO_LAMP = pytest.mark.needs(IS_MISSING, "no lamp")


def test_one_of_those_that_need_the_same_is_left_and_the_others_are_counted_by_what_they_want() -> None:
    first, second, third = (Test(name, MISSING) for name in "abc")
    other = Test("d", NO_LAMP)
    assert left(first, second, third, other) == [(first, "no lens"), (other, "no lamp")]
    assert [untested._reason_for(test) for test in (second, third)] == ["no lens", "no lens"]  # type: ignore[arg-type]


def test_what_is_there_is_tested() -> None:
    assert [reason for _, reason in left(Test("a", THERE), Test("b"))] == [None, None]


def test_who_uses_a_fixture_needs_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACCORD_SCHEMAS", raising=False)
    (one,) = left(Test("a", fixtures=("schemas",)), Test("b", fixtures=("tmp_path", "schemas")))
    assert "ACCORD_SCHEMAS" in one[1]
    monkeypatch.setenv("ACCORD_SCHEMAS", "/schemas")
    assert [reason for _, reason in left(Test("a", fixtures=("schemas",)))] == [None]
