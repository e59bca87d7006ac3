"""WebSocket, from the upgrade to the close, with `accord serve` as a process."""

import contextlib
import json
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.serve.raw_clients import INITIALIZE, WebSocketClient, close, open_request, prompt_params, request, said
from tests.serve.server_process import serving

UPGRADE = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
}


async def test_a_conversation_over_websocket(tmp_path: Path) -> None:
    async with serving(tmp_path, "served_agent:agent", is_fresh=True) as server:
        async with WebSocketClient(server.websocket) as client:
            session_id = await client.new_session(str(tmp_path / "root"))
            assert (await client.prompt(session_id, "hello"))["result"]["stopReason"] == "end_turn"
            assert said(client.seen) == "You said: hello"
            await client.send(request("ask", "session/prompt", prompt_params(session_id, "ask")))
            question = await client.next_of("session/request_permission")
            outcome = {"outcome": "selected", "optionId": question["params"]["options"][0]["optionId"]}
            await client.send({"jsonrpc": "2.0", "id": question["id"], "result": {"outcome": outcome}})
            assert (await client.answer("ask"))["result"]["stopReason"] == "end_turn"
            assert "[allow]" in said(client.seen)
        server.terminate()
        assert await server.process.wait() == 0


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Bearer secret", "Origin": "https://evil.example"}, 403),
    ],
)
async def test_an_upgrade_is_refused_with_its_status(shared_server: int, headers: dict[str, str], status: int) -> None:
    url = f"ws://127.0.0.1:{shared_server}/acp"
    with pytest.raises(InvalidStatus) as refused:
        async with WebSocketClient(url, None, headers=headers):
            pass
    assert refused.value.response.status_code == status


@pytest.mark.parametrize(
    ("offered", "selected"),
    [
        ([], None),
        (["acp", "other"], "acp"),
        # So long a name may be a secret, which is not repeated.
        (["token." + "A" * 43, "acp"], "acp"),
        (["token." + "A" * 43], None),
        # A token of any length is a secret.
        (["bearer.c2VjcmV0", "acp"], "acp"),
        (["bearer.c2VjcmV0"], None),
    ],
)
async def test_the_first_subprotocol_that_is_offered_is_selected(
    shared_server: int, offered: list[str], selected: str | None
) -> None:
    async with WebSocketClient(f"ws://127.0.0.1:{shared_server}/acp", subprotocols=offered or None) as client:
        assert client.socket.subprotocol == selected
        await client.initialize()


async def test_a_page_that_can_set_no_header_has_its_token_in_a_subprotocol(shared_server: int) -> None:
    offered = ["acp", "bearer.c2VjcmV0"]
    async with WebSocketClient(f"ws://127.0.0.1:{shared_server}/acp", None, subprotocols=offered) as client:
        assert client.socket.subprotocol == "acp"
        await client.initialize()


@pytest.mark.parametrize(
    "name", ["bearer.", "bearer.d3Jvbmc", "bearer.secret", "bearer.%%%", "bearer.gICA", "Bearer.c2VjcmV0"]
)
async def test_a_subprotocol_without_a_valid_token_opens_nothing(shared_server: int, name: str) -> None:
    offered = {"Sec-WebSocket-Protocol": f"acp, {name}"}
    reply, writer = await open_request(shared_server, "GET", "/acp", UPGRADE | offered)
    await close(writer)
    assert reply.status == 401


async def test_a_token_in_a_subprotocol_opens_no_request_but_an_upgrade(shared_server: int) -> None:
    offered = {"Sec-WebSocket-Protocol": "bearer.c2VjcmV0", "Accept": "text/event-stream"}
    reply, writer = await open_request(shared_server, "GET", "/acp", offered)
    await close(writer)
    assert reply.status == 401


async def test_the_target_of_an_upgrade_may_be_a_whole_address(shared_server: int) -> None:
    for host, status in (("127.0.0.1", 101), ("evil.example", 403)):
        headers = UPGRADE | {"Authorization": "Bearer secret"}
        reply, writer = await open_request(shared_server, "GET", f"http://{host}/acp", headers)
        await close(writer)
        assert reply.status == status


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (json.dumps(request(1, "session/new", {})), -32600),
        ("{", -32700),
        ("[]", -32600),
        ("42", -32600),
    ],
)
async def test_a_first_message_that_is_no_initialize_is_answered_and_the_socket_is_closed(
    shared_server: int, text: str, code: int
) -> None:
    async with WebSocketClient(f"ws://127.0.0.1:{shared_server}/acp") as client:
        await client.send(text)
        assert (await client.next())["error"]["code"] == code
        with pytest.raises(ConnectionClosed) as closed:
            await client.next()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1002


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", -32700),
        ("42", -32600),
        (json.dumps([request(5, "session/list", {})]), -32600),
        (json.dumps(request(5, "initialize", INITIALIZE)), -32600),
        (json.dumps(request(5, "session/prompt", prompt_params("nobody", "hi"))), -32002),
    ],
)
async def test_a_bad_message_is_answered_and_the_conversation_goes_on(shared_server: int, text: str, code: int) -> None:
    async with WebSocketClient(f"ws://127.0.0.1:{shared_server}/acp") as client:
        await client.initialize()
        await client.send(text)
        answer = await client.next()
        assert (answer["id"], answer["error"]["code"]) == (5 if '"id": 5' in text and text[0] == "{" else None, code)
        assert "result" in await client.call("session/list", {})


async def test_a_binary_message_is_ignored(shared_server: int) -> None:
    async with WebSocketClient(f"ws://127.0.0.1:{shared_server}/acp") as client:
        await client.initialize()
        await client.socket.send(b"\x00\x01")
        assert "result" in await client.call("session/list", {})


async def test_a_message_over_the_limit_closes_the_socket_with_1009(shared_server: int) -> None:
    async with WebSocketClient(f"ws://127.0.0.1:{shared_server}/acp") as client:
        await client.initialize()
        with contextlib.suppress(ConnectionClosed):
            await client.send(json.dumps(request(1, "x", {"text": "a" * (17 * 1024 * 1024)})))
        with pytest.raises(ConnectionClosed) as closed:
            await client.next()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009
