"""A connection that loses its links: docs/remote-wire.md, the server's side, with raw clients."""

import random
from pathlib import Path
from typing import Any

from tests.serve.raw_clients import INITIALIZE, HttpClient, WebSocketClient, prompt_params, request, said

RESUME = "accord/resume"


class CountingClient(WebSocketClient):
    """Counts what it receives, and takes its connection up again."""

    connection_id = ""
    received = 0

    async def begin(self) -> None:
        answer = await self.initialize()
        self.connection_id = answer["result"]["agentCapabilities"]["_meta"][RESUME]["connectionId"]
        await self.acknowledge()

    async def acknowledge(self) -> None:
        await self.send({"jsonrpc": "2.0", "method": "_accord/received", "params": {"cursor": str(self.received)}})

    async def count(self) -> Any:
        message = await self.next()
        if not str(message.get("method", "")).startswith("_accord/"):
            self.received += 1
            self.seen.append(message)
        return message

    async def resume(self, connection_id: str, cursor: int) -> Any:
        params = {**INITIALIZE, "_meta": {RESUME: {"connectionId": connection_id}}}
        self.connection_id, self.received = connection_id, cursor
        assert "result" in await self.initialize(params)
        return await self.call_resume(cursor)

    async def call_resume(self, cursor: int) -> Any:
        params = {"connectionId": self.connection_id, "cursor": str(cursor), "requests": ["long"]}
        await self.send(request("_accord/resume", "_accord/resume", params))
        return await self.next()


async def test_a_cut_websocket_goes_on_where_it_was(shared_server: int, server_root: Path) -> None:
    url, count, draw = f"ws://127.0.0.1:{shared_server}/acp", 3000, random.Random(18)
    wanted = "".join(f"<{number}>" for number in range(count))
    client = CountingClient(url)
    async with client:
        await client.begin()
        answer = await client.call("session/new", {"cwd": str(server_root / "root"), "mcpServers": []})
        session_id = answer["result"]["sessionId"]
        client.received, sent = 1, 2
        await client.send(request("long", "session/prompt", prompt_params(session_id, f"stream {count}")))
        client.seen.clear()
        for _ in range(draw.randrange(50)):
            await client.count()
        client.cut()
    cuts, messages = 0, client.seen
    while True:
        again = CountingClient(url)
        async with again:
            answer = await again.resume(client.connection_id, client.received)
            assert answer["result"]["received"] == str(sent)
            again.seen = messages
            until = draw.randrange(200, 400) if cuts < 5 else 10 * count
            for _ in range(until):
                if (await again.count()).get("id") == "long":
                    break
                if again.received % 64 == 0:
                    await again.acknowledge()
            client.received = again.received
            if messages[-1].get("id") == "long":
                break
            again.cut()
            cuts += 1
    assert cuts == 5
    assert said(messages) == wanted
    assert [each["id"] for each in messages if "id" in each] == ["long"]


async def test_a_connection_that_is_not_kept_or_has_a_gap_is_not_resumed(shared_server: int) -> None:
    url = f"ws://127.0.0.1:{shared_server}/acp"
    async with CountingClient(url) as unknown:
        answer = await unknown.resume("never-was", 0)
        assert (answer["error"]["code"], answer["error"]["data"]["reason"]) == (-32002, "unknown")
    async with CountingClient(url) as client:
        await client.begin()
        client.cut()
    async with CountingClient(url) as gap:
        answer = await gap.resume(client.connection_id, 99)
        assert (answer["error"]["code"], answer["error"]["data"]["reason"]) == (-32002, "gap")
    async with CountingClient(url) as again:
        assert (await again.resume(client.connection_id, 0))["result"]["received"] == "0"
        assert "result" in await again.call("session/list", {})


async def test_a_newer_socket_of_a_connection_replaces_the_older_one(shared_server: int) -> None:
    url = f"ws://127.0.0.1:{shared_server}/acp"
    async with CountingClient(url) as older:
        await older.begin()
        async with CountingClient(url) as newer:
            await newer.resume(older.connection_id, 0)
            await older.socket.wait_closed()
            assert older.socket.close_code == 1000
            assert "result" in await newer.call("session/list", {})


async def test_messages_that_the_client_has_are_forgotten_and_others_are_not(
    shared_server: int, server_root: Path
) -> None:
    async with HttpClient(shared_server) as client:
        session_id = await client.new_session(str(server_root / "root"))

        async def acknowledge(cursor: str) -> None:
            params = {"cursor": cursor, "sessionId": session_id}
            assert (await client.post({"jsonrpc": "2.0", "method": "_accord/received", "params": params})).status == 202

        await acknowledge("0")
        await client.call("session/prompt", prompt_params(session_id, "stream 20"), session_id)
        await acknowledge("10")
        assert (await client.open_stream(session_id, "9")).status == 409
        assert (await client.open_stream(session_id, "10")).status == 200
        client.seen.clear()
        await client.answer(2, session_id)
        assert said(client.seen) == "".join(f"<{number}>" for number in range(10, 20))
