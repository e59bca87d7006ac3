"""`/ready` follows the lease by the clock of the node, and `accord fleet ls` sees a process that is gone."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx2
import psycopg
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

import accord
from accord.errors import StoreError
from accord.serve import fleet as fleet_module
from accord.serve.fleet import ServerFleet
from accord.serve.node_forwarding import RESTART
from accord.serve.principals import anyone
from accord.stores import NodeRecord, PostgresStore
from tests.fleet.nodes import FLEET_SECRET, fleet_of
from tests.fleet.talking import fleet_command
from tests.limits import limit
from tests.postgres import Database
from tests.serve.in_process import running
from tests.stores.postgres.stores import opened
from tests.stores.sessions import record


async def test_a_node_is_ready_exactly_as_long_as_its_lease_lasts(database: Database) -> None:
    # The database answers nothing when the lease ends, and is asked with more patience than the lease lasts.
    async with opened(database, "one", lease_seconds=1.0, patience_seconds=limit(30.0)) as store:
        await store.open()
        await store.create(record("a"), owned=True)
        fleet = ServerFleet(store, "a secret of many characters, for a test")
        await fleet.start()
        states: list[bool] = []
        lost = asyncio.Event()

        def note(_: frozenset[str]) -> None:
            states.append(fleet.is_live)
            lost.set()

        fleet.on_lost.append(note)
        assert fleet.is_live
        with psycopg.connect(database.conninfo) as connection:
            connection.execute("lock table accord.nodes in access exclusive mode")
            async with asyncio.timeout(limit(20.0)):
                await lost.wait()
        assert states == [False]
        await fleet.close()


@pytest.mark.parametrize("scheme", ["http", "ws"])
async def test_a_connection_of_another_node_is_tried_again_where_the_nodes_cannot_be_read(
    database: Database, tmp_path: Path, scheme: str
) -> None:
    # As at a node that has closed its store, and still answers those whom the balancer leads there.
    store = PostgresStore(database.conninfo, node="a", address="http://127.0.0.1:1", lease_seconds=limit(20.0))
    agent = accord.Agent("plain").use_store(store)
    application = agent.asgi(authenticate=anyone, fleet_secret=FLEET_SECRET, root=tmp_path)
    async with running(application) as port:
        async with httpx2.AsyncClient() as http:
            assert (await http.get(f"http://127.0.0.1:{port}/ready")).status_code == 200
            await store.close()
            if scheme == "http":
                headers = {"Acp-Connection-Id": "b.0123", "Content-Type": "application/json"}
                text = b'{"jsonrpc": "2.0", "id": 1, "method": "session/list", "params": {}}'
                answer = await http.post(f"http://127.0.0.1:{port}/acp", headers=headers, content=text)
                assert answer.status_code == 502
                return
        async with connect(f"ws://127.0.0.1:{port}/acp") as socket:
            resumed = {"protocolVersion": 1, "_meta": {"accord/resume": {"connectionId": "b.0123"}}}
            await socket.send(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": resumed}))
            with pytest.raises(ConnectionClosed) as caught:
                await socket.recv()
        assert caught.value.rcvd is not None
        assert caught.value.rcvd.code == RESTART


class BlindStore(PostgresStore):
    """A store that cannot read the nodes any more."""

    is_blind = False
    failures = 0

    async def nodes(self) -> list[NodeRecord]:
        if self.is_blind:
            self.failures += 1
            raise StoreError("the nodes cannot be read", reason="away")
        return await super().nodes()


async def test_a_node_that_cannot_read_the_others_is_ready_while_its_lease_lasts(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_module, "REFRESH_SECONDS", 0.02)
    store = BlindStore(database.conninfo, node="one", address="http://127.0.0.1:1", lease_seconds=limit(60.0))
    try:
        fleet = ServerFleet(store, "a secret of many characters, for a test")
        await fleet.start()
        store.is_blind = True
        async with asyncio.timeout(limit(20.0)):
            while store.failures < 2:
                await asyncio.sleep(0.02)
        assert fleet.is_live
        await fleet.close()
    finally:
        await store.close()


async def test_the_list_of_nodes_says_which_process_is_gone(tmp_path: Path, database: Database) -> None:
    async with fleet_of(tmp_path, database.conninfo, "a", "b", lease_seconds=120.0) as fleet:
        await fleet.nodes["a"].kill()
        async with asyncio.timeout(limit(20.0)):
            # The server of the database notices the end of a connection a moment later.
            while True:
                status, text = await fleet_command(database, "ls", "--json")
                states = {node["node"]: node["state"] for node in json.loads(text)}
                if states == {"a": "gone", "b": "ready"}:
                    break
        assert status == 0
