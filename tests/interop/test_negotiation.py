"""The edition that Accord and the official SDKs agree on, or a clear error where there is none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

import accord
from accord.protocol import v1, v2
from tests.interop.conftest import with_needs
from tests.interop.programs import Program, accord_agent, agent_on, client_on, hold, is_gone
from tests.limits import limit

ME = {"name": "accord", "version": "1"}
SUPERSET = {
    "protocolVersion": 2,
    "info": ME,
    "clientInfo": ME,
    "capabilities": {},
    "clientCapabilities": {"terminal": True},
}
"""One request that agents of every edition can read."""
CLEAN_V1 = v1.InitializeRequest(1, client_info=v1.Implementation("accord", "1"))
CLEAN_V2 = v2.InitializeRequest(2, v2.Implementation("accord", "1"))
NEWEST_FIRST = (accord.V2, accord.V2_JUNE, accord.V1)
SECONDS = limit(20.0)

Find: TypeAlias = Callable[[str, str], Path]


@pytest.fixture(params=with_needs("py", "ts"))
def sdk(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def find(request: pytest.FixtureRequest) -> Find:
    def home(sdk: str, edition: str) -> Path:
        name = "typescript_peer" if sdk == "ts" else f"python_peer_{edition}"
        found: Path = request.getfixturevalue(name)
        return found

    return home


@asynccontextmanager
async def connected(agent: Program, *arguments: str) -> AsyncIterator[accord.Connection]:
    """A client of Accord at an agent that is started for it, and gone afterwards."""
    transport = await accord.spawn(*agent.argv, *arguments, env=dict(agent.env))
    async with accord.Connection(transport, "client") as connection:
        yield connection
    assert is_gone(transport.pid)


@pytest.mark.parametrize(("arguments", "answered"), [((), 1), (("--echo",), 2)], ids=["answers 1", "echoes 2"])
async def test_a_v1_agent_is_left_by_who_insists_on_v2_and_kept_by_who_speaks_both(
    sdk: str, find: Find, arguments: tuple[str, ...], answered: int
) -> None:
    async with connected(agent_on(sdk, "v1", find(sdk, "v1")), *arguments) as connection:
        with pytest.raises(accord.NegotiationFailed) as failure:
            await connection.initialize(CLEAN_V2, (accord.V2,), timeout_seconds=SECONDS)
        assert (failure.value.answered, connection.edition) == (answered, None)
        result = await connection.initialize(SUPERSET, NEWEST_FIRST, timeout_seconds=SECONDS)
        assert connection.edition is accord.V1
        session = await connection.call(v1.SESSION_NEW, v1.NewSessionRequest("/story", []), timeout_seconds=SECONDS)
    assert isinstance(result, v1.InitializeResponse)
    # The agent got what its edition calls the client's capabilities, too.
    assert result.meta
    assert result.meta["capabilities"]["terminal"] is True
    assert session.session_id == "session-1"


async def test_a_v2_agent_refuses_v1_and_takes_v2_on_the_same_connection(sdk: str, find: Find) -> None:
    async with connected(agent_on(sdk, "v2", find(sdk, "v2"))) as connection:
        # The Python SDK misses `info`, the TypeScript SDK names the versions it has.
        with pytest.raises((accord.InvalidParams, accord.UnsupportedVersion)):
            await connection.call(v1.INITIALIZE, CLEAN_V1, timeout_seconds=SECONDS)
        assert connection.edition is None
        result = await connection.initialize(SUPERSET, NEWEST_FIRST, timeout_seconds=SECONDS)
        assert connection.edition is accord.V2
        session = await connection.call(v2.SESSION_NEW, v2.NewSessionRequest("/story"), timeout_seconds=SECONDS)
    assert isinstance(result, v2.InitializeResponse)
    assert session.session_id == "session-1"


async def test_a_router_speaks_v2_to_who_asks_for_the_newest(sdk: str, find: Find) -> None:
    async with connected(agent_on(sdk, "router", find(sdk, "v2"))) as connection:
        await connection.initialize(SUPERSET, NEWEST_FIRST, timeout_seconds=SECONDS)
        session = await connection.call(v2.SESSION_NEW, v2.NewSessionRequest("/story"), timeout_seconds=SECONDS)
    assert session.session_id == "newer"


async def test_a_router_speaks_v1_to_who_asks_for_that(sdk: str, find: Find) -> None:
    async with connected(agent_on(sdk, "router", find(sdk, "v2"))) as connection:
        await connection.initialize(CLEAN_V1, NEWEST_FIRST, timeout_seconds=SECONDS)
        session = await connection.call(v1.SESSION_NEW, v1.NewSessionRequest("/story", []), timeout_seconds=SECONDS)
    assert session.session_id == "older"


async def test_our_v2_agent_tells_a_v1_client_what_it_speaks(sdk: str, find: Find) -> None:
    talk = await hold(client_on(sdk, "v1", find(sdk, "v1")), ("--handshake", *accord_agent(), "v2"))
    scene = talk.scene("initialize")
    assert (scene["code"], scene["data"]) == (-32022, {"requested": 1, "supported": [2]})
    assert talk.exit["code"] == 0


async def test_a_v2_client_leaves_our_v1_agent_and_the_agent_ends_in_order(sdk: str, find: Find) -> None:
    talk = await hold(client_on(sdk, "v2", find(sdk, "v2")), ("--handshake", *accord_agent(), "v1"))
    # Both SDKs look for `info` in the answer, which is that of v1.
    assert "info" in talk.trouble("initialize")
    assert talk.exit["code"] == 0
    assert is_gone(talk.exit["pid"])
