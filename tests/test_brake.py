"""The brake on the CPU of one test."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests import brake

SLOWNESS = brake._slowness


def outcome(spent_seconds: float, *marks: str, when: str = "teardown", by_children: float = 0.0) -> str:
    """The outcome of a test that has spent so much, within a second."""
    began = brake._spent()
    began = began._replace(
        own=began.own - spent_seconds, children=began.children - by_children, clock=began.clock - 1.0
    )
    item: Any = SimpleNamespace(
        nodeid="tests/a.py::test_a",
        stash={brake._BEGAN: began},
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
    monkeypatch.setattr(brake, "_slowness", lambda: 1.0)
    monkeypatch.setattr("os.cpu_count", lambda: 2)


def test_a_test_that_takes_too_much_cpu_fails_at_its_end() -> None:
    assert outcome(brake.MOST_CPU_SECONDS + 1) == "failed"
    assert outcome(brake.MOST_CPU_SECONDS + 1, when="call") == "passed"


def test_a_test_within_it_passes() -> None:
    assert outcome(brake.MOST_CPU_SECONDS / 2) == "passed"


def test_a_machine_is_measured_before_a_test_is_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brake, "_slowness", lambda: 2.0)
    assert outcome(brake.MOST_CPU_SECONDS + 1) == "passed"
    assert outcome(2 * brake.MOST_CPU_SECONDS + 1) == "failed"


def test_a_child_that_began_long_before_is_not_the_last_tests() -> None:
    assert outcome(1, by_children=brake.MOST_CPU_SECONDS * 3) == "passed"
    assert outcome(brake.MOST_CPU_SECONDS - 1, by_children=1.5) == "failed"


def test_a_machine_is_never_faster_than_the_limits_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brake, "WORK_SECONDS", 1000.0)
    assert SLOWNESS() == 1.0
    monkeypatch.setattr(brake, "WORK_SECONDS", 1e-9)
    assert SLOWNESS() > 1.0


@pytest.mark.parametrize("mark", ["long", "every"])
def test_the_tests_of_longer_runs_have_no_brake(mark: str) -> None:
    assert outcome(brake.MOST_CPU_SECONDS + 1, mark) == "passed"
