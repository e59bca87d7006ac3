"""A tap between Accord and the official SDKs: the bytes into it are the bytes out of it, in each direction."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop import client_v1, client_v2
from tests.interop.conftest import HOMES, PAIRINGS
from tests.interop.programs import accord_agent, agent_on, client_on, hold
from tests.interop.tapped import check_passage, tapped
from tests.trace.programs import wait_until_gone

TALKS = {"v1": client_v1.talk, "v2": client_v2.talk}
# What an SDK has no words for.
WITHOUT = {"py v1": {"withdraw"}, "py v2": {"long_tool"}}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("edition", ["v1", "v2"])
@pytest.mark.parametrize("pairing", PAIRINGS)
async def test_every_byte_passes_between_peers(
    pairing: str, edition: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    sdk, role = pairing.split()
    home: Path = request.getfixturevalue(HOMES[f"{sdk} {edition}"])
    if role == "client":
        await hold(client_on(sdk, edition, home), tapped(tmp_path, accord_agent()))
    else:
        agent = agent_on(sdk, edition, home)
        talk = await TALKS[edition](
            tapped(tmp_path, agent.argv), agent.env, without=WITHOUT.get(f"{sdk} {edition}", set())
        )
        wait_until_gone(talk.exit["pid"])
    check_passage(tmp_path)
