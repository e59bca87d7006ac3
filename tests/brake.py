"""The brake: a test of the default run that takes more than so much CPU, its children included, fails."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

from tests.limits import limit

__all__ = ["pytest_runtest_makereport", "pytest_runtest_protocol"]

MOST_CPU_SECONDS = limit(5.0)
_BEGAN = pytest.StashKey[float]()


def _cpu_seconds() -> float:
    # One call of the system; `getrusage` is two, each of which takes a tenth of a millisecond.
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    item.stash[_BEGAN] = _cpu_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report: pytest.TestReport = yield  # type: ignore[assignment]
    if call.when != "teardown":
        return report  # type: ignore[return-value]
    spent = _cpu_seconds() - item.stash[_BEGAN]
    # A tracer is not the test's.
    if spent > MOST_CPU_SECONDS and _is_braked(item) and sys.gettrace() is None:
        report.outcome = "failed"
        report.longrepr = (
            f"{item.nodeid} took {spent:.1f} s of CPU, children included; {MOST_CPU_SECONDS:g} s is the most "
            "outside of `long`: tests/README.md says what to do"
        )
    return report  # type: ignore[return-value]


def _is_braked(item: pytest.Item) -> bool:
    return not any(item.get_closest_marker(name) for name in ("long", "every"))
