"""Outages of PostgreSQL under running turns: at the client and in the log one text, without a hole, with one end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fleet.outages import KINDS, Trial
from tests.limits import limit
from tests.postgres import OwnServer, own_server

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

# Longer than the lease: turns end with an error, and their logs are repaired. Shorter: turns outlive it.
LEASE_SECONDS = 2.0


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    with own_server() as running:
        yield running


@pytest.mark.parametrize("edition", ["v1", "v2"])
@pytest.mark.parametrize("kind", KINDS)
async def test_what_an_outage_leaves_is_one_text_with_one_end(server: OwnServer, kind: str, edition: str) -> None:
    trial = Trial(kind, 3.0 if edition == "v1" else 1.0, limit(LEASE_SECONDS), edition)
    await trial.run(server)
    assert trial.faults == []
    assert trial.ends.total() == 3
