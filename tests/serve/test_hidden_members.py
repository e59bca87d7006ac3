"""Messages that say one thing to a host and another to the agent behind it: the agent does not get them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from accord.errors import InvalidParams
from accord.serve import TokenFile
from accord.serve.session_rules import check_names
from tests.serve.raw_clients import WebSocketClient
from tests.serve.server_process import serving
from tests.tables import rows

UPDATE = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"mine"}'
OUTSIDE = '{"cwd":"/etc","mcpServers":[]}'
UNUSED = "-"
PROGRAM = Path(__file__).parent / "recording_program.py"


def second(method: str, params: str) -> str:
    """A request behind the beginning of an update: of two members with one name the last counts."""
    return f'{UPDATE},"id":7,"method":"{method}","params":{params}}}'


def spelled(method: str, params: str) -> str:
    return f'{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}'


HIDDEN = {
    "a directory behind an update": (second("session/new", OUTSIDE), -32602),
    "a session behind an update": (second("session/prompt", '{"sessionId":"foreign","prompt":[]}'), -32002),
    "a directory in capitals": (spelled("session/new", '{"cwd":"ROOT","CWD":"/etc","mcpServers":[]}'), -32602),
    "a session in capitals": (spelled("session/prompt", '{"sessionId":"mine","SESSIONID":"foreign"}'), -32602),
    "an escaped session in capitals": (spelled("session/prompt", '{"sessionId":"mine","SESSION\\u0049D":"f"}'), -32602),
    "params in capitals": (
        '{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"mine"},"Params":{"sessionId":"f"}}',
        -32602,
    ),
    "a program in capitals": (
        spelled(
            "session/new", '{"cwd":"ROOT","mcpServers":[{"type":"http","name":"x","url":"y","Command":"/bin/sh"}]}'
        ),
        -32602,
    ),
}


async def test_what_is_hidden_from_the_host_does_not_reach_the_agent(tmp_path: Path) -> None:
    tokens, record = tmp_path / "tokens.json", tmp_path / "record.jsonl"
    ada = TokenFile.add(tokens, "ada")
    command = ["--token-file", str(tokens), "--", sys.executable, str(PROGRAM), str(record)]
    async with serving(tmp_path, *command, token=UNUSED) as server, WebSocketClient(server.websocket, ada) as client:
        root = str(tmp_path / "root")
        await client.new_session(root)
        codes = {}
        for name, (text, _) in HIDDEN.items():
            await client.send(text.replace("ROOT", root))
            codes[name] = (await client.answer(7)).get("error", {}).get("code")
        # A session is not opened by a notification either.
        await client.send({"jsonrpc": "2.0", "method": "session/new", "params": {"cwd": root, "mcpServers": []}})
        await client.call("session/list", {})
    assert codes == {name: code for name, (_, code) in HIDDEN.items()}
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    assert [line["method"] for line in lines] == ["initialize", "session/new", "session/list"]


@pytest.mark.parametrize("member", ['"Method":"session/load"', '"METHOD":"x","Params":{"sessionId":"f"}', '"ID":4'])
async def test_an_answer_that_other_readers_take_for_a_request_does_not_reach_the_agent(
    tmp_path: Path, member: str
) -> None:
    record = tmp_path / "record.jsonl"
    command = ["--", sys.executable, str(PROGRAM), str(record), "asks"]
    async with serving(tmp_path, *command) as server, WebSocketClient(server.websocket) as client:
        session_id = await client.new_session(str(tmp_path / "root"))
        await client.send(spelled("session/prompt", f'{{"sessionId":"{session_id}","prompt":[]}}'))
        question = await client.next_of("session/request_permission")
        await client.send(f'{{"jsonrpc":"2.0","id":{json.dumps(question["id"])},"result":{{}},{member}}}')
        # The question is still open.
        await client.send({"jsonrpc": "2.0", "id": question["id"], "result": {"outcome": {"outcome": "cancelled"}}})
        await client.call("session/list", {})
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    assert [line.get("result") for line in lines if "method" not in line] == [{"outcome": {"outcome": "cancelled"}}]


@rows(
    "text",
    [
        b'{"method":"session/prompt","params":{"sessionId":"a","prompt":[{"TYPE":"text"}]}}',
        b'{"method":"session/prompt","params":[1,2]}',
        b'{"method":"session/prompt"}',
        b'{"method":"session/prompt","params":{"sessionId":"a","x":"\\ud800"}}',
    ],
)
def test_other_names_may_have_any_case(text: bytes) -> None:
    check_names(text)


@rows("text", [b'{"Method":"x"}', b'{"params":{"\\ud800":1,"Cwd":"/"}}', b'{"params":{"\\u017fessionId":1}}'])
def test_a_name_that_is_judged_has_one_spelling(text: bytes) -> None:
    with pytest.raises(InvalidParams, match="another case"):
        check_names(text)
