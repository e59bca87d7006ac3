"""A loss is reported to every caller whose events it took, and ends when it was reported."""

from __future__ import annotations

import pytest

from accord.errors import StoreError
from accord.stores.errors import LossLedger

FULL = StoreError("no space", reason="full", path="/file")


def lost(ledger: LossLedger, session_id: str, ticket: int) -> bool:
    try:
        ledger.raise_loss(session_id, ticket)
    except StoreError:
        return True
    return False


def test_tickets_only_grow() -> None:
    ledger = LossLedger()
    assert [ledger.issue() for _ in range(3)] == [1, 2, 3]


def test_only_the_lost_tickets_of_the_session_are_lost() -> None:
    ledger = LossLedger()
    ledger.lose("a", 3, FULL)
    ledger.lose("a", 5, FULL)
    assert [lost(ledger, "a", ticket) for ticket in (2, 3, 5, 6)] == [False, True, True, False]
    assert not lost(ledger, "b", 3)


def test_an_error_has_the_facts_of_its_cause() -> None:
    ledger = LossLedger()
    ledger.lose("a", 1, FULL)
    with pytest.raises(StoreError) as caught:
        ledger.raise_loss("a", 1)
    error = caught.value
    assert (str(error), error.reason, error.path, error.session_id) == ("no space", "full", "/file", "a")
    assert error.__cause__ is FULL


def test_a_session_goes_on_losing_until_somebody_was_told() -> None:
    ledger = LossLedger()
    assert not ledger.lose_also("a", 1)
    ledger.lose("a", 2, FULL)
    assert ledger.lose_also("a", 3)
    assert not ledger.lose_also("b", 4)
    assert lost(ledger, "a", 3)
    assert not ledger.lose_also("a", 5)
    assert not lost(ledger, "a", 5)


def test_all_who_lost_are_told_also_after_the_first() -> None:
    ledger = LossLedger()
    ledger.lose("a", 1, FULL)
    ledger.lose("a", 2, FULL)
    assert lost(ledger, "a", 2)
    ledger.lose("a", 4, FULL)
    assert [lost(ledger, "a", ticket) for ticket in (1, 2, 3, 4)] == [True, True, False, True]


def test_any_loss_is_told_once() -> None:
    ledger = LossLedger()
    ledger.raise_any_loss()
    ledger.lose("a", 1, FULL)
    ledger.lose("b", 2, StoreError("second"))
    with pytest.raises(StoreError) as caught:
        ledger.raise_any_loss()
    assert caught.value.session_id == "a"
    ledger.raise_any_loss()
    assert not ledger.lose_also("b", 3)


def test_losses_that_were_told_do_not_pile_up() -> None:
    ledger = LossLedger()
    for ticket in range(1, 1001):
        ledger.lose("a", ticket, FULL)
        assert lost(ledger, "a", ticket)
    assert len(ledger._losses["a"]) < 100
    assert lost(ledger, "a", 999)
