"""Any node of a fleet takes any client: it forwards what another node has, one hop, and claims what nobody owns."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest

import accord
from accord.serve.fleet_pass import FleetPass, PassSigner
from tests.fleet.conftest import SharedFleet
from tests.fleet.nodes import FLEET_SECRET
from tests.fleet.talking import answer_to, heard
from tests.limits import limit


@pytest.mark.rotated("edition")
@pytest.mark.parametrize("edition", ["1", "2"])
@pytest.mark.parametrize("scheme", ["ws", "http"])
async def test_a_session_that_another_node_owns_is_relayed_to_it(
    pair: SharedFleet, scheme: str, edition: Literal["1", "2"]
) -> None:
    token = pair.tokens["ada"]
    async with accord.connect(pair.address("a"), token=token, edition=edition) as at_a:
        first = await at_a.new_session(cwd=pair.root)
        assert await answer_to(first, "one") == "You said: one"
        async with accord.connect(pair.address("b", scheme), token=token, edition=edition) as at_b:
            second = await at_b.load_session(first.id, cwd=pair.root)
            assert "You said: one" in second.transcript.text
            assert await answer_to(second, "two") == "You said: two"
            assert await answer_to(first, "three") == "You said: three"
            # A session of its own on the same connection.
            own = await at_b.new_session(cwd=pair.root)
            assert await answer_to(own, "four") == "You said: four"
            assert (pair.owner(first.id), pair.owner(own.id)) == ("a", "b")
        assert pair.epoch(first.id) == 1  # no other node ever claimed it


async def test_a_question_of_another_node_is_answered_on_the_connection_of_the_client(pair: SharedFleet) -> None:
    token = pair.tokens["ada"]
    asked: list[str] = []

    def allow(question: accord.client.PermissionQuestion) -> bool:
        asked.append(question.session.id)
        return True

    async def think(_: accord.client.PermissionQuestion) -> bool:
        await asyncio.Event().wait()  # until the question is withdrawn, because the other client has answered
        return False

    async with (
        accord.connect(pair.address("a"), token=token, permission=think) as at_a,
        accord.connect(pair.address("b"), token=token, permission=allow) as at_b,
    ):
        first = await at_a.new_session(cwd=pair.root)
        await answer_to(first, "one")
        second = await at_b.load_session(first.id, cwd=pair.root)
        own = await at_b.new_session(cwd=pair.root)
        # Both agents ask at the same time, and count their requests from the same number.
        answers = await asyncio.gather(answer_to(second, "ask"), answer_to(own, "ask"))
        assert answers[0] == answers[1] != "[None]"
        assert sorted(asked) == sorted([first.id, own.id])


async def test_a_session_that_nobody_owns_is_claimed_where_the_client_is(pair: SharedFleet) -> None:
    token = pair.tokens["ada"]
    async with accord.connect(pair.address("a"), token=token) as at_a:
        session = await at_a.new_session(cwd=pair.root)
        await answer_to(session, "one")
    async with asyncio.timeout(limit(10.0)):
        while pair.owner(session.id):
            await asyncio.sleep(0.02)
    async with accord.connect(pair.address("b"), token=token) as at_b:
        again = await at_b.load_session(session.id, cwd=pair.root)
        assert await answer_to(again, "two") == "You said: two"
        assert (pair.owner(session.id), pair.epoch(session.id)) == ("b", 2)


async def test_a_session_of_another_principal_looks_like_one_that_does_not_exist(pair: SharedFleet) -> None:
    async with (
        accord.connect(pair.address("a"), token=pair.tokens["ada"]) as ada,
        accord.connect(pair.address("a"), token=pair.tokens["bob"]) as bob_at_a,
        accord.connect(pair.address("b"), token=pair.tokens["bob"]) as bob_at_b,
    ):
        session = await ada.new_session(cwd=pair.root)
        await answer_to(session, "one")
        for bob in (bob_at_a, bob_at_b):
            errors = []
            for wanted in (session.id, session.id[:-1] + "x"):
                with pytest.raises(accord.ResourceNotFound) as caught:
                    await bob.load_session(wanted, cwd=pair.root)
                errors.append((caught.value.code, caught.value.message, set(caught.value.data)))
            assert errors[0] == errors[1]
            assert session.id not in [each.id async for each in bob.list_sessions()]
            await bob.delete_session(session.id)
        assert session.id in [each.id async for each in ada.list_sessions()]
        assert await answer_to(session, "two") == "You said: two"


# --- connections of another node


def initialize() -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}


async def opened(http: httpx2.AsyncClient, pair: SharedFleet, node: str) -> dict[str, str]:
    """A connection at a node; the headers of its further requests."""
    response = await http.post(pair.address(node, "http"), json=initialize())
    assert response.status_code == 200
    return {"Acp-Connection-Id": response.headers["acp-connection-id"]}


def client_of(pair: SharedFleet) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(headers={"Authorization": f"Bearer {pair.tokens['ada']}"}, timeout=limit(20.0))


async def test_requests_of_a_connection_may_come_to_another_node(pair: SharedFleet) -> None:
    async with client_of(pair) as http:
        headers = await opened(http, pair, "a")
        assert headers["Acp-Connection-Id"].startswith("a.")
        there = pair.address("b", "http")
        new = {"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": pair.root, "mcpServers": []}}
        async with http.stream("GET", there, headers={**headers, "Accept": "text/event-stream"}) as stream:
            assert stream.status_code == 200
            assert (await http.post(there, json=new, headers=headers)).status_code == 202
            async for line in stream.aiter_lines():
                if line.startswith("data: "):
                    break
            assert json.loads(line.removeprefix("data: "))["result"]["sessionId"]
        assert (await http.delete(there, headers=headers)).status_code == 202
        assert (await http.post(pair.address("a", "http"), json=new, headers=headers)).status_code == 404


async def test_a_connection_of_a_node_that_is_gone_is_unknown(pair: SharedFleet) -> None:
    async with client_of(pair) as http:
        headers = {"Acp-Connection-Id": "gone.0123456789abcdef", "Accept": "text/event-stream"}
        assert (await http.get(pair.address("b", "http"), headers=headers)).status_code == 404


async def test_a_forwarded_request_is_not_forwarded_again(pair: SharedFleet) -> None:
    incarnations = dict(pair.database.run("select name, incarnation from accord.nodes where until > clock_timestamp()"))
    given = FleetPass("c", "b", incarnations["b"], "ada")
    async with client_of(pair) as ada, httpx2.AsyncClient(timeout=limit(20.0)) as node:
        headers = {**await opened(ada, pair, "a"), "Accept": "text/event-stream"}
        signed = {**headers, "Accord-Fleet": PassSigner(FLEET_SECRET).sign(given)}
        assert (await node.get(pair.address("b", "http"), headers=signed)).status_code == 508


@pytest.mark.parametrize("fault", ["another secret", "another node", "an earlier process", "no pass at all"])
async def test_a_pass_that_is_not_of_this_fleet_opens_nothing(pair: SharedFleet, fault: str) -> None:
    incarnations = dict(pair.database.run("select name, incarnation from accord.nodes where until > clock_timestamp()"))
    secret = "x" * 40 if fault == "another secret" else FLEET_SECRET
    receiver = "a" if fault == "another node" else "b"
    incarnation = "old" if fault == "an earlier process" else incarnations[receiver]
    header = PassSigner(secret).sign(FleetPass("c", receiver, incarnation, "ada"))
    async with httpx2.AsyncClient(timeout=limit(20.0)) as http:
        headers = {"Accord-Fleet": "x" if fault == "no pass at all" else header}
        response = await http.post(pair.address("b", "http"), json=initialize(), headers=headers)
    assert response.status_code == 401


async def test_a_node_tells_its_name_in_its_metrics(pair: SharedFleet) -> None:
    async with httpx2.AsyncClient(timeout=limit(20.0)) as http:
        text = (await http.get(pair.address("b", "http").replace("/acp", "/metrics"))).text
    assert 'accord_nodes{node="b"} 2' in text
    assert 'accord_forwarded_requests{node="b"}' in text


def named_in_the_guide() -> set[str]:
    page = Path(__file__).parents[2].joinpath("docs", "fleet.md").read_text(encoding="utf-8")
    return set(re.findall(r"^\| `(accord_\w+)` \| (?:counter|gauge) \|", page, re.MULTILINE))


async def test_the_metrics_have_exactly_the_names_of_the_guide_and_count_what_runs(pair: SharedFleet) -> None:
    async with accord.connect(pair.address("b"), token=pair.tokens["ada"]) as agent:
        session = await agent.new_session(cwd=pair.root)
        async with session.prompt("until counted") as turn:
            await heard(turn, "begun")
            async with httpx2.AsyncClient(timeout=limit(20.0)) as http:
                text = (await http.get(pair.address("b", "http").replace("/acp", "/metrics"))).text
            Path(pair.root, "counted").touch()
    assert set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE)) == named_in_the_guide()
    values = dict(re.findall(r'^(accord_\w+)\{node="b"\} (\S+)$', text, re.MULTILINE))
    assert 0 < float(values["accord_lease_seconds"]) <= 20
    assert float(values["accord_commits_total"]) > 0 < float(values["accord_commit_seconds_total"])
    assert (float(values["accord_running_turns"]), float(values["accord_lost_sessions_total"])) == (1, 0)
