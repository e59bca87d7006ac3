"""Tokens, principals and what belongs to them."""

import json
import sys
import time
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from accord.errors import LocalProtocolError
from accord.serve import Credentials, TokenFile
from accord.serve.session_rules import SessionOwners
from tests.serve.raw_clients import HttpClient, WebSocketClient, prompt_params, send
from tests.serve.server_process import serving

UNUSED = "-"
PROGRAM = Path(__file__).parent / "recording_program.py"


def credentials(token: str | None) -> Credentials:
    return Credentials(token, {})


def test_a_token_file_has_hashes_only_and_finds_the_principal(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    token = TokenFile.add(path, "ada", root="/srv/ada")
    other = TokenFile.add(path, "bob", expires_at=time.time() - 1)
    assert token not in path.read_text(encoding="utf-8")
    assert path.stat().st_mode & 0o077 == 0
    tokens = TokenFile(path)
    found = tokens(credentials(token))
    assert found is not None
    assert (found.name, found.root) == ("ada", "/srv/ada")
    for wrong in (other, "wrong", "", None, token[:-1]):
        assert tokens(credentials(wrong)) is None


def test_a_token_file_is_read_again_when_it_changes_and_a_broken_one_lets_nobody_in(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    token = TokenFile.add(path, "ada")
    tokens = TokenFile(path)
    path.write_text("{", encoding="utf-8")
    assert tokens(credentials(token)) is None
    path.write_text('{"tokens": []}', encoding="utf-8")
    later = TokenFile.add(path, "bob")
    assert tokens(credentials(token)) is None
    assert tokens(credentials(later)) is not None
    path.unlink()
    assert tokens(credentials(later)) is None
    with pytest.raises(LocalProtocolError):
        TokenFile(path)


async def test_sessions_belong_to_principals_and_a_foreign_one_looks_like_an_unknown_one(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    home = tmp_path / "ada"
    home.mkdir()
    ada, bob = TokenFile.add(path, "ada", root=str(home)), TokenFile.add(path, "bob")
    async with serving(tmp_path, "served_agent:agent", "--token-file", str(path), token=UNUSED) as server:
        async with WebSocketClient(server.websocket, ada) as mine, WebSocketClient(server.websocket, bob) as foreign:
            session_id = await mine.new_session(str(home))
            await mine.prompt(session_id, "hello")
            await foreign.initialize()
            for method in ("session/load", "session/prompt", "session/delete", "session/close", "_extension"):
                answers = []
                for named in (session_id, "session-that-never-was"):
                    params = {**prompt_params(named, "x"), "cwd": str(tmp_path / "root"), "mcpServers": []}
                    answers.append(json.dumps((await foreign.call(method, params))["error"]).replace(named, "?"))
                assert answers[0] == answers[1], method
            assert (await foreign.call("session/list", {}))["result"]["sessions"] == []
            listed = (await mine.call("session/list", {}))["result"]["sessions"]
            assert [each["sessionId"] for each in listed] == [session_id]
            # The root of the one is none for the other.
            refused = await foreign.call("session/new", {"cwd": str(home), "mcpServers": []})
            assert refused["error"]["data"]["field"] == "cwd"
        async with HttpClient(server.port, ada) as owner:
            await owner.initialize()
            thief = {"Authorization": f"Bearer {bob}", "Acp-Connection-Id": owner.headers["Acp-Connection-Id"]}
            assert (await send(server.port, "GET", headers={**thief, "Accept": "text/event-stream"})).status == 404
            assert (await send(server.port, "DELETE", headers=thief)).status == 404
    # A server that is started again knows it too.
    async with serving(tmp_path, "served_agent:agent", "--token-file", str(path), token=UNUSED) as server:
        for token, code in ((bob, -32002), (ada, None)):
            async with WebSocketClient(server.websocket, token) as client:
                await client.initialize()
                answer = await client.call(
                    "session/load", {"sessionId": session_id, "cwd": str(home), "mcpServers": []}
                )
                assert answer.get("error", {}).get("code") == code
    assert not any(token in line for line in server.log for token in (ada, bob))


async def test_programs_that_count_their_sessions_give_no_session_of_one_principal_to_another(tmp_path: Path) -> None:
    path, root = tmp_path / "tokens.json", str(tmp_path / "root")
    ada, bob = TokenFile.add(path, "ada"), TokenFile.add(path, "bob")
    program = ["--token-file", str(path), "--", sys.executable, str(PROGRAM), str(tmp_path / "record.jsonl")]
    async with (
        serving(tmp_path, *program, token=UNUSED) as server,
        WebSocketClient(server.websocket, ada) as first,
        WebSocketClient(server.websocket, bob) as second,
    ):
        # Each process calls its first session alike.
        assert await first.new_session(root) == await second.new_session(root) == "mine"
        for client in (first, second):
            assert "result" in await client.call("session/prompt", prompt_params("mine", "x"))
        loading = {"sessionId": "mine", "cwd": root, "mcpServers": []}
        for method in ("session/load", "session/resume", "session/fork", "session/delete"):
            assert (await second.call(method, loading))["error"]["code"] == -32002, method
        assert "result" in await second.call("session/close", {"sessionId": "mine"})
        assert (await second.call("session/prompt", prompt_params("mine", "x")))["error"]["code"] == -32002
        assert "result" in await first.call("session/load", loading)


def test_half_a_line_in_the_file_of_owners_costs_no_other_line(tmp_path: Path) -> None:
    path = tmp_path / "owners.jsonl"
    path.write_bytes(b'{"session":"s1","principal":"ada"}\n{"session":"s2","pri')
    owners = SessionOwners(path)
    owners.claim("bob", "s3")
    owners.close()
    later = SessionOwners(path)
    assert [later.owns("ada", "s1"), later.owns("bob", "s3"), later.owns("ada", "s2")] == [True, True, False]


async def test_the_root_of_a_token_that_is_changed_counts_at_once(tmp_path: Path) -> None:
    path, wide, narrow = tmp_path / "tokens.json", tmp_path / "root", tmp_path / "root" / "ada"
    narrow.mkdir(parents=True)
    ada = TokenFile.add(path, "ada", root=str(wide))
    async with (
        serving(tmp_path, "served_agent:agent", "--token-file", str(path), token=UNUSED) as server,
        WebSocketClient(server.websocket, ada) as earlier,
    ):
        await earlier.new_session(str(wide))
        document = json.loads(path.read_text(encoding="utf-8"))
        document["tokens"][0]["root"] = str(narrow)
        path.write_text(json.dumps(document), encoding="utf-8")
        async with WebSocketClient(server.websocket, ada) as later:
            await later.initialize()
            refused = await later.call("session/new", {"cwd": str(wide), "mcpServers": []})
            assert refused["error"]["data"]["field"] == "cwd"
            assert "result" in await later.call("session/new", {"cwd": str(narrow), "mcpServers": []})
        with pytest.raises(ConnectionClosed) as closed:
            await earlier.next()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1008


async def test_a_revoked_token_closes_the_connections_that_it_opened(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    ada, bob = TokenFile.add(path, "ada"), TokenFile.add(path, "bob")
    async with serving(tmp_path, "served_agent:agent", "--token-file", str(path), token=UNUSED) as server:
        async with WebSocketClient(server.websocket, ada) as revoked, WebSocketClient(server.websocket, bob) as kept:
            await revoked.initialize()
            await kept.initialize()
            async with HttpClient(server.port, ada) as http:
                await http.initialize()
                await http.open_stream()
                document = json.loads(path.read_text(encoding="utf-8"))
                document["tokens"] = [each for each in document["tokens"] if each["name"] != "ada"]
                path.write_text(json.dumps(document), encoding="utf-8")
                assert await http.streams[None].next() is None
                with pytest.raises(ConnectionClosed) as closed:
                    await revoked.next()
                assert closed.value.rcvd is not None
                assert closed.value.rcvd.code == 1008
            assert "result" in await kept.call("session/list", {})
        with pytest.raises(InvalidStatus) as refused:
            await WebSocketClient(server.websocket, ada).__aenter__()
        assert refused.value.response.status_code == 401


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"cwd": "/etc"}, "cwd"),
        ({"cwd": "/"}, "cwd"),
        ({"cwd": "ROOT/../.."}, "cwd"),
        ({"cwd": "ROOT/link"}, "cwd"),
        ({"cwd": "ROOT\x00"}, "cwd"),
        ({"cwd": 7}, "cwd"),
        ({"cwd": "ROOT", "additionalDirectories": ["ROOT", "/etc"]}, "additionalDirectories.1"),
        (
            {"cwd": "ROOT", "mcpServers": [{"name": "x", "command": "/bin/sh", "args": [], "env": []}]},
            "mcpServers.0.type",
        ),
        ({"cwd": "ROOT", "mcpServers": [{"type": "stdio", "name": "x", "command": "/bin/sh"}]}, "mcpServers.0.type"),
        ({"cwd": "ROOT", "mcpServers": [{"type": "http", "command": "/bin/sh"}]}, "mcpServers.0.type"),
    ],
)
async def test_directories_outside_of_the_root_and_programs_of_the_client_are_refused(
    shared_server: int, server_root: Path, params: dict[str, object], field: str
) -> None:
    root = server_root / "root"
    link = root / "link"
    if not link.is_symlink():
        link.symlink_to("/etc")
    given = json.loads(json.dumps(params).replace("ROOT", str(root)))
    async with WebSocketClient(f"ws://127.0.0.1:{shared_server}/acp") as client:
        await client.initialize()
        for method, named in (("session/new", {}), ("session/load", {"sessionId": "x"})):
            error = (await client.call(method, {"mcpServers": [], **given, **named}))["error"]
            assert (error["code"], error["data"]["field"]) == (-32602, field)


async def test_a_session_without_a_directory_gets_the_root(shared_server: int, server_root: Path) -> None:
    async with WebSocketClient(f"ws://127.0.0.1:{shared_server}/acp") as client:
        await client.initialize()
        (server_root / "root" / "note.txt").write_text("in the root", encoding="utf-8")
        answer = await client.call("session/new", {"mcpServers": []})
        await client.prompt(answer["result"]["sessionId"], "read note.txt")
        assert said_last(client) == "in the root"


def said_last(client: WebSocketClient) -> str:
    return str(client.seen[-1]["params"]["update"]["content"]["text"])


async def test_too_many_sessions_of_a_principal_are_refused(tmp_path: Path) -> None:
    async with (
        serving(tmp_path, "served_agent:agent", "--max-sessions", "2") as server,
        WebSocketClient(server.websocket) as client,
    ):
        root = str(tmp_path / "root")
        first = await client.new_session(root)
        params = {"cwd": root, "mcpServers": []}
        assert "result" in await client.call("session/new", params)
        assert (await client.call("session/new", params))["error"]["code"] == -32029
        assert "result" in await client.call("session/close", {"sessionId": first})
        assert "result" in await client.call("session/new", params)
