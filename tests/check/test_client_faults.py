"""Every rule for clients has a client that breaks it, and that one alone; conforming clients break none."""

from __future__ import annotations

import pytest

from accord.check import client as manifest
from accord.check.client import check_client
from accord.check.engine.judging import judges_of
from accord.check.engine.report import Report
from accord.check.rule import EditionName, Options
from tests.check.faults import FAULTS, FULL_CLIENTS, PLAIN_CLIENTS, Fault
from tests.client.clock import timeless
from tests.limits import limit
from tests.tables import rows

CLIENT_FAULTS = [fault for fault in FAULTS if fault.side == "client"]
EDITIONS: tuple[EditionName, ...] = ("v1", "v2_june", "v2")


def options(edition: EditionName) -> Options:
    # Time passes only while a command runs in a terminal.
    long = limit(5)
    return Options(
        edition=edition, timeout_seconds=long, turn_seconds=long, start_seconds=long, grace_seconds=limit(0.3)
    )


def failed(report: Report) -> dict[str, str]:
    return {
        outcome.rule.id: outcome.deciding.message if outcome.deciding else ""
        for outcome in report.outcomes
        if outcome.status == "FAIL"
    }


@pytest.mark.parametrize("edition", EDITIONS)
@timeless
async def test_a_conforming_client_that_offers_nothing_breaks_no_rule(edition: EditionName) -> None:
    report = await check_client(PLAIN_CLIENTS[edition], options(edition))

    assert failed(report) == {}
    assert report.conformant


@pytest.mark.parametrize("edition", EDITIONS)
@timeless
async def test_a_conforming_client_that_offers_everything_shows_every_rule(edition: EditionName) -> None:
    report = await check_client(FULL_CLIENTS[edition], options(edition))

    assert failed(report) == {}
    assert report.conformant
    unseen = {outcome.rule.id for outcome in report.outcomes if outcome.status != "PASS"}
    # What is offered cannot be refused: those are shown by who offers nothing.
    refusals = {"HONEST-001", "HONEST-002", "HONEST-003", "ELICIT-003"}
    assert unseen <= {f"ACCORD-CLIENT-{topic}" for topic in refusals}


@pytest.mark.sampled(6, long=3)
@pytest.mark.parametrize("fault", CLIENT_FAULTS, ids=lambda fault: f"{fault.edition}-{fault.name}")
@timeless
async def test_a_faulty_client_breaks_its_rule_and_no_other(fault: Fault) -> None:
    report = await check_client(fault.make, options(fault.edition))

    if fault.note:
        outcome = next(outcome for outcome in report.outcomes if outcome.rule.id == fault.breaks)
        assert outcome.deciding is not None
        assert fault.note in outcome.deciding.message
        assert failed(report) == {}
    else:
        assert failed(report).keys() == {fault.breaks}, failed(report)
        assert [finding.root.rule.id for finding in report.findings] == [fault.breaks]


@pytest.mark.parametrize("edition", EDITIONS)
@timeless
async def test_what_a_faulty_client_changes_in_a_note_no_conforming_one_has(edition: EditionName) -> None:
    notes = {fault.breaks: fault.note for fault in CLIENT_FAULTS if fault.edition == edition and fault.note}
    for make in (PLAIN_CLIENTS[edition], FULL_CLIENTS[edition]):
        report = await check_client(make, options(edition))
        said = {outcome.rule.id: outcome.deciding.message for outcome in report.outcomes if outcome.deciding}
        assert not [id_ for id_, note in notes.items() if note in said[id_]]


@rows("edition", EDITIONS)
def test_every_rule_has_a_judge_and_a_client_that_breaks_it(edition: EditionName) -> None:
    broken = {fault.breaks for fault in CLIENT_FAULTS if fault.edition == edition}
    rules = [rule for rule in manifest.RULES if rule.edition == edition]
    assert [rule.id for rule in rules if not judges_of(edition, rule.id) or rule.id not in broken] == []


def test_every_fault_breaks_a_rule_that_there_is() -> None:
    rules = {(rule.edition, rule.id) for rule in manifest.RULES}
    assert not [fault for fault in CLIENT_FAULTS if (fault.edition, fault.breaks) not in rules]
