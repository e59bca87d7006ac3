"""The time limit of each phase of a run: `--timeout` against the defaults and the config."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from accord.cli.agent_session import line_deadlines
from accord.cli.options import AgentOptions
from accord.cli.target import Target, target_of
from accord.client import Deadlines


def _target(idle_seconds: float | None) -> Target:
    target = target_of(None, ["agent"])
    return replace(target, entry=replace(target.entry, idle_seconds=idle_seconds))


@pytest.mark.parametrize("seconds", [0.5, 3600.0])
@pytest.mark.parametrize("idle_seconds", [None, 60.0])
def test_a_timeout_is_the_time_of_every_phase_longer_or_shorter(seconds: float, idle_seconds: float | None) -> None:
    deadlines = line_deadlines(_target(idle_seconds), AgentOptions(timeout=seconds))
    assert deadlines == Deadlines(*[seconds] * len(fields(Deadlines)))


def test_without_a_timeout_the_config_counts() -> None:
    deadlines = line_deadlines(_target(20.0), AgentOptions())
    assert deadlines == Deadlines(start_seconds=60.0, first_seconds=20.0, idle_seconds=20.0)
