"""The rules of the transport: a server that breaks one fails that one, and a server that breaks none fails none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import combinations
from typing import Any

import pytest

from accord.check import CAUSES, AgentAddress, Options, Outcome, Report, check_agent
from accord.check.agent.remote import RULES, endpoint, http_requests, http_streams, websocket_messages
from accord.check.rule import EDITIONS, EditionName
from tests.check.faults.change import changed
from tests.check.faults.reference.server import TOKEN, ReferenceServer
from tests.check.faults.server import SERVER_FAULTS, SERVERS, ServerFault
from tests.limits import limit

ONLY = ("ACCORD-REMOTE",)
SCHEMES = ("http", "ws")


@asynccontextmanager
async def serving(make: Any) -> AsyncIterator[ReferenceServer]:
    server: ReferenceServer = make()
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def judged(
    make: Any, edition: EditionName, *, scheme: str = "http", token: str | None = TOKEN, **given: Any
) -> Report:
    options = Options(
        edition=edition,
        only=given.pop("only", ONLY),
        cancel_prompt="__hang__",
        timeout_seconds=given.get("seconds", 2.0),
        turn_seconds=given.get("seconds", 2.0),
        start_seconds=10.0,
        grace_seconds=limit(1),
        quiet_seconds=0.005,
        silence_seconds=given.get("seconds", 2.0),
        jobs=8,
    )
    async with serving(make) as server:
        address = AgentAddress(f"{scheme}://127.0.0.1:{server.port}/acp", token=token)
        return await check_agent(address, options)


def failures(report: Report) -> dict[str, str]:
    """By id, why."""
    return {each.rule.id: said_of(each) for each in report.outcomes if each.status == "FAIL"}


def name_of(fault: ServerFault) -> str:
    return f"{fault.edition}-{fault.breaks}-{fault.name}"


def said_of(outcome: Outcome) -> str:
    return outcome.deciding.message if outcome.deciding else ""


def sets_that_fall(fault: ServerFault) -> list[set[str]]:
    causes = [cause.ids for cause in CAUSES if (cause.edition, cause.root) == (fault.edition, fault.breaks)]
    chosen = [combinations(causes, count) for count in range(len(causes) + 1)]
    return [{fault.breaks}.union(*some) for several in chosen for some in several]


@pytest.mark.sampled(12, long=3)
@pytest.mark.parametrize("fault", [fault for fault in SERVER_FAULTS if not fault.note], ids=name_of)
async def test_a_faulty_server_fails_exactly_what_it_breaks(fault: ServerFault) -> None:
    # What does not come is not waited for long.
    with pytest.MonkeyPatch.context() as patch:
        for module in (endpoint, http_streams, http_requests, websocket_messages):
            patch.setattr(module, "SOON_SECONDS", 0.5)
        report = await judged(fault.make, fault.edition, seconds=1.0)
    if set(failures(report)) not in sets_that_fall(fault):
        # Once more with limits that a busy machine keeps too.
        report = await judged(fault.make, fault.edition, seconds=10.0)
    assert set(failures(report)) in sets_that_fall(fault), failures(report)
    assert [finding.root.rule.id for finding in report.findings] == [fault.breaks]


@pytest.mark.parametrize("fault", [fault for fault in SERVER_FAULTS if fault.note])
async def test_a_server_that_does_it_another_way_is_noted_as_that(fault: ServerFault) -> None:
    report = await judged(fault.make, fault.edition, only=(fault.breaks,))
    plain = await judged(SERVERS[fault.edition], fault.edition, only=(fault.breaks,))
    assert fault.note in said_of(report.outcomes[0])
    assert fault.note not in said_of(plain.outcomes[0])


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_conforming_server_fails_nothing_and_shows_everything(edition: EditionName, scheme: str) -> None:
    report = await judged(SERVERS[edition], edition, scheme=scheme)
    assert {each.rule.id: said_of(each) for each in report.outcomes if each.status != "PASS"} == {}
    assert report.conformant
    assert report.command == (next(iter(report.command)),)
    assert report.command[0].startswith(f"{scheme}://127.0.0.1:")


# --- endpoints with one of the transports


async def test_a_server_of_one_transport_is_judged_by_that_alone() -> None:
    only_http = changed(SERVERS["v1"], "OnlyHttp", {"is_websocket": False})
    report = await judged(only_http, "v1")
    assert failures(report) == {}
    skipped = {each.rule.id: said_of(each) for each in report.outcomes if each.status == "SKIPPED"}
    assert set(skipped) == {rule.id for rule in RULES if "-REMOTE-1" in rule.id}
    assert set(skipped.values()) == {"the address answers 406 to an upgrade"}

    only_websocket = changed(SERVERS["v1"], "OnlyWebSocket", {"is_http": False})
    report = await judged(only_websocket, "v1", scheme="ws")
    assert failures(report) == {}
    skipped = {each.rule.id: said_of(each) for each in report.outcomes if each.status == "SKIPPED"}
    assert set(skipped) == {rule.id for rule in RULES if "-REMOTE-0" in rule.id}
    assert set(skipped.values()) == {"the address answers 426 to a POST"}


async def test_without_a_token_of_its_own_a_check_does_not_judge_tokens() -> None:
    open_to_all = changed(SERVERS["v1"], "OpenToAll", {"is_authorized": lambda *_: True})
    report = await judged(open_to_all, "v1", token=None, only=("ACCORD-REMOTE-20",))
    statuses = {each.rule.id: each.status for each in report.outcomes}
    assert statuses["ACCORD-REMOTE-201"] == statuses["ACCORD-REMOTE-202"] == "SKIPPED"
    assert statuses["ACCORD-REMOTE-203"] == statuses["ACCORD-REMOTE-204"] == "PASS"


async def test_a_token_is_in_no_record_of_a_check() -> None:
    fault = next(fault for fault in SERVER_FAULTS if fault.breaks == "ACCORD-REMOTE-203")
    report = await judged(fault.make, fault.edition)
    records = [test.record for each in report.outcomes for test in each.tests if test.record is not None]
    assert records
    assert all(TOKEN.encode() not in entry.raw for record in records for entry in record.entries)


# --- the manifest


def test_every_rule_of_the_transport_has_a_server_that_breaks_it() -> None:
    broken = {(fault.edition, fault.breaks) for fault in SERVER_FAULTS}
    assert {(rule.edition, rule.id) for rule in RULES} == broken


def test_only_what_is_recorded_has_a_note() -> None:
    tiers = {(rule.edition, rule.id): rule.tier for rule in RULES}
    for fault in SERVER_FAULTS:
        assert (tiers[fault.edition, fault.breaks] == "informational") == bool(fault.note), fault


def test_a_rule_of_the_transport_is_the_same_in_every_edition() -> None:
    by_id: dict[str, set[tuple[str, str, str]]] = {}
    for rule in RULES:
        by_id.setdefault(rule.id, set()).add((rule.tier, rule.says, rule.page))
    assert [id_ for id_, meanings in by_id.items() if len(meanings) > 1] == []
