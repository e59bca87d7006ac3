"""The conversations, each held once; the tests look at what it left behind."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.interop import client_v1, client_v2
from tests.interop.programs import agent_on, client_on, hold
from tests.interop.record import Conversation
from tests.needs import needs_typescript

NEEDS_TYPESCRIPT = needs_typescript()


def with_needs(*names: str) -> list[ParameterSet]:
    """Rows of which those on the TypeScript SDK need it."""
    return [pytest.param(name, marks=() if name.startswith("py") else NEEDS_TYPESCRIPT) for name in names]


PAIRINGS = with_needs("py agent", "ts agent", "py client", "ts client")
HOMES = {"py v1": "python_peer_v1", "py v2": "python_peer_v2", "ts v1": "typescript_peer", "ts v2": "typescript_peer"}


@pytest.fixture(scope="session", params=PAIRINGS)
def talk_v1(request: pytest.FixtureRequest) -> Conversation:
    """A whole conversation in v1, with Accord on the other end of what the pairing names."""
    sdk, role = request.param.split()
    home: Path = request.getfixturevalue(HOMES[f"{sdk} v1"])
    if role == "client":
        return asyncio.run(hold(client_on(sdk, "v1", home)))
    agent = agent_on(sdk, "v1", home)
    # The Python SDK for v1 does not know `$/cancel_request`.
    return asyncio.run(client_v1.talk(agent.argv, agent.env, without={"withdraw"} if sdk == "py" else ()))


@pytest.fixture(scope="session", params=PAIRINGS)
def talk_v2(request: pytest.FixtureRequest) -> Conversation:
    """A whole conversation in v2, with Accord on the other end of what the pairing names."""
    sdk, role = request.param.split()
    home: Path = request.getfixturevalue(HOMES[f"{sdk} v2"])
    if role == "client":
        return asyncio.run(hold(client_on(sdk, "v2", home)))
    agent = agent_on(sdk, "v2", home)
    # The Python SDK for v2 follows an older draft, without `tool_call/cancel`.
    return asyncio.run(client_v2.talk(agent.argv, agent.env, without={"long_tool"} if sdk == "py" else ()))
