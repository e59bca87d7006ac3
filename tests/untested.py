"""The two closing lines of a run: what was not tested here, how many by what is missing, and how to get it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

__all__ = [
    "pytest_deselected",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
    "pytest_testnodedown",
]

# By the run that has them, or by what is missing for them.
_LEFT_OUT = pytest.StashKey[dict[str, int]]()
OF_DEFAULT, OF_LONG, OF_EVERY, OF_BROWSER = (
    "scripts/test", "scripts/test --long", "scripts/test --every", "scripts/test --browser",
)  # fmt: skip
# The last two are named by what a test needs.
RUNS = (OF_DEFAULT, OF_LONG, OF_EVERY, OF_BROWSER, "scripts/test --interop", "scripts/adapters")


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    for item in items:
        counts, reason = item.config.stash.setdefault(_LEFT_OUT, {}), _reason_for(item)
        counts[reason] = counts.get(reason, 0) + 1


def _reason_for(item: pytest.Item) -> str:
    if (want := item.get_closest_marker("in_want")) is not None:
        return str(want.args[0])
    for mark, run in (("every", OF_EVERY), ("browser", OF_BROWSER)):
        if item.get_closest_marker(mark):
            return run
    return OF_LONG if item.get_closest_marker("long") else OF_DEFAULT


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left out"] = session.config.stash.get(_LEFT_OUT, {})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """All workers of a run leave out the same."""
    output, config = getattr(node, "workeroutput", None), getattr(node, "config", None)
    if output and isinstance(config, pytest.Config):
        config.stash[_LEFT_OUT] = output.get("left out", {})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    skipped = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", ()))
    others: dict[str, int] = config.stash.get(_LEFT_OUT, {})
    left_out = skipped + Counter(others)
    of_runs = {run: count for run, count in left_out.items() if run in RUNS}
    missing = left_out - Counter(of_runs)
    terminalreporter.write_line(f"not tested here, for want of something: {_counted(missing.most_common())}")
    terminalreporter.write_line(f"not tested here, of other runs: {_counted(sorted(of_runs.items()))}")


def _counted(rows: Sequence[tuple[str, int]]) -> str:
    listed = "; ".join(f"{count:,}: {what}" for what, count in rows)
    return f"{sum(count for _, count in rows):,} ({listed})" if rows else "nothing"


def _reason(report: pytest.TestReport) -> str:
    longrepr = report.longrepr
    text = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
    return text.removeprefix("Skipped: ")
