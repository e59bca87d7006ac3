"""When an agent is tried again, when it is left alone, and what its state is called: tables, and a clock of our own."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from accord.config.fleet import Backoff, CircuitBreaker, Health, is_passing
from accord.errors import (
    AuthRequired,
    CallTimeout,
    ConnectFailed,
    ConnectionLost,
    DeadlineExceeded,
    InternalError,
    LocalProtocolError,
)
from tests.tables import rows


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_waits_double_up_to_the_cap() -> None:
    assert list(Backoff().waits(lambda: 0.5)) == [1.0, 2.0]
    assert list(Backoff(tries=8).waits(lambda: 0.5)) == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


@given(st.floats(0, 1))
def test_waits_are_off_by_a_quarter_at_most(chance: float) -> None:
    (first, second) = Backoff().waits(lambda: chance)
    assert 0.75 <= first <= 1.25
    assert 1.5 <= second <= 2.5


def test_one_try_has_no_waits() -> None:
    assert list(Backoff(tries=1).waits()) == []


def test_health_goes_down_by_failures_in_a_row_and_comes_back_at_once() -> None:
    health, states = Health(), []
    for _ in range(6):
        states.append(health.state)
        health.failed(OSError("x"))
    assert states == ["healthy", "healthy", "healthy", "degraded", "degraded", "unhealthy"]
    assert isinstance(health.last_error, OSError)
    health.succeeded()
    assert [health.state, health.failures, health.last_error] == ["healthy", 0, None]


@pytest.fixture
def clock() -> Clock:
    return Clock()


def opened(clock: Clock) -> CircuitBreaker:
    breaker = CircuitBreaker(clock)
    for _ in range(5):
        assert breaker.allow()
        breaker.failed()
    return breaker


def test_a_breaker_opens_after_five_failures_in_a_row(clock: Clock) -> None:
    breaker = CircuitBreaker(clock)
    for _ in range(4):
        breaker.failed()
    breaker.succeeded()
    for _ in range(4):
        breaker.failed()
    assert (breaker.state, breaker.allow(), breaker.rest) == ("closed", True, 0.0)
    breaker.failed()
    assert (breaker.state, breaker.allow(), breaker.rest) == ("open", False, 30.0)


def test_after_a_rest_one_call_at_a_time_may_try(clock: Clock) -> None:
    breaker = opened(clock)
    clock.now += 29.9
    assert not breaker.allow()
    clock.now += 0.1
    assert breaker.state == "half-open"
    assert [breaker.allow(), breaker.allow()] == [True, False]
    breaker.given_up()
    assert breaker.allow()


def test_two_successes_close_it(clock: Clock) -> None:
    breaker, states = opened(clock), []
    clock.now += 30
    for _ in range(2):
        assert breaker.allow()
        breaker.succeeded()
        states.append(breaker.state)
    assert states == ["half-open", "closed"]


def test_a_failure_opens_it_again_and_the_count_begins_anew(clock: Clock) -> None:
    breaker = opened(clock)
    clock.now += 30
    assert breaker.allow()
    breaker.succeeded()
    assert breaker.allow()
    breaker.failed()
    assert (breaker.state, breaker.rest) == ("open", 30.0)
    clock.now += 30
    assert breaker.allow()
    breaker.succeeded()
    assert breaker.state == "half-open"


def test_a_failure_from_before_does_not_make_the_rest_longer(clock: Clock) -> None:
    breaker = opened(clock)
    clock.now += 10
    breaker.failed()
    assert breaker.rest == 20.0


STEPS = st.lists(st.sampled_from(["allow", "succeeded", "failed", "given_up", "later"]), max_size=60)


@given(STEPS)
def test_an_open_breaker_lets_nobody_pass_whatever_happened(steps: list[str]) -> None:
    clock = Clock()
    breaker = CircuitBreaker(clock)
    for step in steps:
        if step == "later":
            clock.now += 10
        elif step == "allow":
            state, allowed = breaker.state, breaker.allow()
            assert allowed if state == "closed" else not (state == "open" and allowed)
        else:
            getattr(breaker, step)()
        assert 0 <= breaker.rest <= 30.0
        assert (breaker.rest > 0) == (breaker.state == "open")


def missing_program() -> ConnectFailed:
    error = ConnectFailed("cannot start x")
    error.__cause__ = FileNotFoundError()
    return error


PASSING = [
    ConnectionLost(),
    CallTimeout("m", 1.0),
    DeadlineExceeded("idle", 1.0),
    OSError(),
    TimeoutError(),
    ConnectFailed("port"),
]
LASTING = [AuthRequired(), InternalError(), LocalProtocolError("x"), ValueError(), missing_program()]


@rows("error", PASSING)
def test_what_may_pass_is_tried_again(error: Exception) -> None:
    assert is_passing(error)


@rows("error", LASTING)
def test_what_was_refused_is_not(error: Exception) -> None:
    assert not is_passing(error)
