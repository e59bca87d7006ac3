from __future__ import annotations

import pytest

from accord.cli.show.line import ago, moment_of

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(5, "5 s ago"), (125, "2 min ago"), (7300, "2 h ago"), (200_000, "2 d ago"), (10_000_000, "2026-09-21")],
)
def test_how_long_ago(seconds: int, said: str) -> None:
    assert ago(NOW - seconds, NOW) == said


def test_a_time_that_is_unknown_is_not_told() -> None:
    assert ago(None, NOW) == ""
    for moment in (-1e18, moment_of("0001-01-01T00:00:00+23:59")):
        assert ago(moment, NOW) == "0001-01-01"
    assert moment_of("yesterday") is None
    assert moment_of(None) is None


def test_times_without_a_zone_are_utc() -> None:
    assert moment_of("2026-01-01T00:00:00") == moment_of("2026-01-01T00:00:00Z")
