"""Agents of ours that are served: they keep every rule over both transports, in each edition."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.check import RULES, AgentAddress, Options, Report, check_agent, editions_of
from accord.check.rule import EditionName
from accord.serve import Credentials, HostLimits, Principal
from accord.transport.routing import Envelope, ServerRoutes
from tests.check.agents.full_agent import agent as full_agent
from tests.check.agents.plain_agent import agent as plain_agent
from tests.limits import limit
from tests.serve.in_process import running
from tests.serve.server_process import TOKEN, serving

AGENTS = Path(__file__).parent / "agents"
# Every day one edition is judged by all rules, and another by those of the transport and a sample of the others.
SAMPLE = 4
PAIRS = [
    pytest.param("v1", "http", 1),
    pytest.param("v2", "ws", SAMPLE),
    *(
        pytest.param(edition, scheme, 1, marks=pytest.mark.long)
        for edition in ("v1", "v2_june", "v2")
        for scheme in ("http", "ws")
        if (edition, scheme) != ("v1", "http")
    ),
]


def options(edition: EditionName, root: Path, *only: str) -> Options:
    return Options(
        edition=edition,
        only=only,
        cwd=str(root),
        cancel_prompt="__hang__",
        timeout_seconds=limit(10.0),
        turn_seconds=limit(20.0),
        quiet_seconds=0.05,
    )


def broken(report: Report) -> dict[str, str]:
    return {
        each.rule.id: each.deciding.message if each.deciding else ""
        for each in report.outcomes
        if each.status in {"FAIL", "NOT_TESTED"}
    }


@pytest.mark.timeout(240)
@pytest.mark.parametrize(("edition", "scheme", "sample"), PAIRS)
async def test_a_served_agent_keeps_every_rule(edition: EditionName, scheme: str, sample: int, tmp_path: Path) -> None:
    env = {"PYTHONPATH": str(AGENTS), "FULL_AGENT_LOGGED_IN": "1"}
    # A turn that hangs outlives its connection: a drain would wait for it.
    async with serving(tmp_path, "full_agent:agent", "--drain", "1", env={**os.environ, **env}) as server:
        address = AgentAddress(f"{scheme}://127.0.0.1:{server.port}/acp", token=TOKEN)
        # A silent stream is written to after 15 s: those of the applications below are sooner.
        rules = [rule.id for rule in RULES if rule.edition == edition and rule.id != "ACCORD-REMOTE-024"]
        kept = [id_ for id_ in rules if "-REMOTE-" in id_ or id_ == "ACP-SHUTDOWN-001"]
        only = [*kept, *rules[::sample]]
        report = await check_agent(address, options(edition, tmp_path / "root", *only))
    assert broken(report) == {}
    assert report.conformant
    judged = {each.rule.id: each.status for each in report.outcomes if "-REMOTE-" in each.rule.id}
    assert set(judged.values()) == {"PASS"}, judged
    skipped = {each.rule.id: each.deciding.message for each in report.outcomes if each.deciding}
    assert skipped["ACP-SHUTDOWN-001"] == "it is about a process, and this agent is at an address"


async def authenticate(credentials: Credentials) -> Principal | None:
    return Principal("ada") if credentials.token == TOKEN else None


@pytest.mark.parametrize("edition", ["v1", "v2_june", "v2"])
async def test_an_asgi_application_keeps_the_rules_of_the_transport(edition: EditionName, tmp_path: Path) -> None:
    limits = HostLimits(keepalive_seconds=0.5)
    application = plain_agent.asgi(authenticate=authenticate, root=tmp_path, limits=limits)
    async with running(application) as port:
        address = AgentAddress(f"http://127.0.0.1:{port}/acp", token=TOKEN)
        report = await check_agent(address, options(edition, tmp_path, "ACCORD-REMOTE"))
        await application.close()
    assert broken(report) == {}
    assert report.conformant


def with_a_slow_connection_stream(application: Any) -> Any:
    """The application behind something that holds back what is not of a session: both orders are in order."""

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers", ()))
        is_connection_stream = scope.get("method") == "GET" and b"acp-session-id" not in headers

        async def send_late(message: Any) -> None:
            if is_connection_stream and message["type"] == "http.response.body":
                await asyncio.sleep(0.2)
            await send(message)

        await application(scope, receive, send_late)

    return slow


async def test_a_refusal_on_one_stream_may_come_behind_an_answer_on_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream_of = ServerRoutes.stream_of

    def stream_of_another_server(routes: ServerRoutes, message: Envelope) -> str | None:
        stream = stream_of(routes, message)
        return None if message.kind == "answer" and message.id is None else stream

    monkeypatch.setattr(ServerRoutes, "stream_of", stream_of_another_server)
    application = plain_agent.asgi(authenticate=authenticate, root=tmp_path)
    async with running(with_a_slow_connection_stream(application)) as port:
        address = AgentAddress(f"http://127.0.0.1:{port}/acp", token=TOKEN)
        report = await check_agent(address, options("v2", tmp_path, "ACCORD-WIRE-20"))
        await application.close()
    assert broken(report) == {}
    assert report.conformant


async def test_the_editions_of_a_served_agent_are_found(tmp_path: Path) -> None:
    application = full_agent.asgi(authenticate=authenticate, root=tmp_path)
    async with running(application) as port:
        for scheme in ("http", "ws"):
            address = AgentAddress(f"{scheme}://127.0.0.1:{port}/acp", token=TOKEN)
            assert await editions_of(address, options("v1", tmp_path)) == ["v1", "v2_june", "v2"]
        await application.close()


@pytest.mark.parametrize("scheme", ["http", "ws"])
async def test_an_address_that_cannot_be_judged_says_why(scheme: str, tmp_path: Path) -> None:
    application = plain_agent.asgi(authenticate=authenticate, root=tmp_path / "root")
    async with running(application) as port:
        url = f"{scheme}://127.0.0.1:{port}/acp"
        with pytest.raises(accord.ConnectFailed) as refused:
            await check_agent(AgentAddress(url, token=TOKEN[::-1]), options("v1", tmp_path))
        assert refused.value.status == 401
        with pytest.raises(accord.ConnectFailed) as refused:
            await editions_of(AgentAddress(url), options("v1", tmp_path))
        assert refused.value.status == 401
        # The folder of the check is not in the root of the principal.
        without = Options(only=("ACP-INIT",), timeout_seconds=limit(10.0))
        with pytest.raises(accord.ConnectFailed, match="--dir"):
            await check_agent(AgentAddress(url, token=TOKEN), without)
        await application.close()
    with pytest.raises(accord.ConnectFailed):
        await check_agent(AgentAddress(url, token=TOKEN), options("v1", tmp_path))
