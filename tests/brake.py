"""The brake: a test of the default run that takes more than so much CPU, its children included, fails.

How much that is does not depend on the machine: what a test took is measured against what a fixed piece of work takes.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

__all__ = ["pytest_runtest_makereport", "pytest_runtest_protocol"]

MOST_CPU_SECONDS = 5.0
# What the piece of work takes on the machine for which the limit holds.
WORK_SECONDS = 0.05
WORK_ITEMS = 100_000


class _Spent(NamedTuple):
    own: float
    children: float
    clock: float


_BEGAN = pytest.StashKey[_Spent]()


def _spent() -> _Spent:
    # One call of the system; `getrusage` is two, each of which takes a tenth of a millisecond.
    spent = os.times()
    return _Spent(spent.user + spent.system, spent.children_user + spent.children_system, spent.elapsed)


def _cpu_seconds(since: _Spent) -> float:
    """The CPU of a test: of children no more than its time has room for, the rest is of one that began before it."""
    now = _spent()
    room = (now.clock - since.clock) * (os.cpu_count() or 1)
    return now.own - since.own + min(now.children - since.children, room)


def _slowness() -> float:
    """How many times as long as the machine of the limit this one takes now; at least 1."""
    began = time.process_time()
    made = {str(number): [number] for number in range(WORK_ITEMS)}
    assert len(made) == WORK_ITEMS
    return max(1.0, (time.process_time() - began) / WORK_SECONDS)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    item.stash[_BEGAN] = _spent()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report: pytest.TestReport = yield  # type: ignore[assignment]
    if call.when != "teardown":
        return report  # type: ignore[return-value]
    spent = _cpu_seconds(item.stash[_BEGAN])
    # A tracer is not the test's.
    if spent > MOST_CPU_SECONDS and _is_braked(item) and sys.gettrace() is None:
        spent /= _slowness()
        if spent > MOST_CPU_SECONDS:
            report.outcome = "failed"
            report.longrepr = (
                f"{item.nodeid} took {spent:.1f} s of CPU, children included; {MOST_CPU_SECONDS:g} s is the most "
                "outside of `long`: tests/README.md says what to do"
            )
    return report  # type: ignore[return-value]


def _is_braked(item: pytest.Item) -> bool:
    # With other people's agents and frameworks it is no default run: the CPU is theirs.
    is_theirs = "ACCORD_REAL_AGENTS" in os.environ and item.get_closest_marker("interop") is not None
    is_theirs = is_theirs or "ACCORD_ADAPTERS" in os.environ
    return not is_theirs and not any(item.get_closest_marker(name) for name in ("long", "every", "browser"))
