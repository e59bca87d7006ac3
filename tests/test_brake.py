"""The brake on the CPU of one test."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests import brake


def outcome(spent_seconds: float, *marks: str, when: str = "teardown") -> str:
    """The outcome of a test that has spent so much."""
    item: Any = SimpleNamespace(
        nodeid="tests/a.py::test_a",
        stash={brake._BEGAN: brake._cpu_seconds() - spent_seconds},
        get_closest_marker=lambda name: name in marks or None,
    )
    report: Any = SimpleNamespace(outcome="passed", longrepr=None)
    judged: Any = brake.pytest_runtest_makereport(item, SimpleNamespace(when=when))  # type: ignore[arg-type]
    next(judged)
    with pytest.raises(StopIteration):
        judged.send(report)
    return str(report.outcome)


@pytest.fixture(autouse=True)
def untraced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.gettrace", lambda: None)


def test_a_test_that_takes_too_much_cpu_fails_at_its_end() -> None:
    assert outcome(brake.MOST_CPU_SECONDS + 1) == "failed"
    assert outcome(brake.MOST_CPU_SECONDS + 1, when="call") == "passed"


def test_a_test_within_it_passes() -> None:
    assert outcome(brake.MOST_CPU_SECONDS / 2) == "passed"


@pytest.mark.parametrize("mark", ["long", "every"])
def test_the_tests_of_longer_runs_have_no_brake(mark: str) -> None:
    assert outcome(brake.MOST_CPU_SECONDS + 1, mark) == "passed"
