"""Raw clients in both framings hold whole conversations with every agent that we have, without any option."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conversations.raw_client import RawClient, RawFraming
from tests.forked import forked_python

EXAMPLES = Path(__file__).parents[2] / "examples"
PERMISSION, READ, WRITE = "session/request_permission", "fs/read_text_file", "fs/write_text_file"
IN_BOTH_FRAMINGS = pytest.mark.parametrize("framing", ["lines", "headers"])

AUTHORS_AGENT = """
import accord

agent = accord.Agent("author", version="1.0")


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    print("a stray print")
    before = await turn.files.read("notes.txt")
    async with turn.tool("Edit notes.txt", kind="edit", status="pending") as tool:
        if await turn.request_permission(tool):
            await turn.files.write("notes.txt", before + turn.text)
    for character in "I wrote: " + turn.text:
        await turn.say(character)


agent.run()
"""


@dataclass(frozen=True)
class Talk:
    """What is said to an agent, and what must come of it."""

    argv: tuple[str, ...]
    prompt: str
    answer: str
    """Part of what the agent says."""
    questions: frozenset[str] = frozenset()
    """What it asks its client on the way."""
    cancel_at: str | None = None
    """The question during which it is cancelled; without one it is cancelled as soon as it has the prompt."""
    login: str | None = None
    loads: bool = True
    servers: tuple[dict[str, Any], ...] = ()


def example(name: str, prompt: str, answer: str, *questions: str, **more: Any) -> Talk:
    return Talk((sys.executable, str(EXAMPLES / name)), prompt, answer, frozenset(questions), **more)


SUMS = {"name": "sums", "command": sys.executable, "args": [str(EXAMPLES / "agents/mcp_server.py")], "env": []}
CHANGE = "replace colour by color in notes.txt"
CODER = ("replace colour with color in notes.txt", "notes.txt")

TALKS = {
    "echo": example("agents/echo.py", "one zwei trois ✓", "one zwei trois ✓ "),
    "streaming": example("agents/streaming.py", "colour", "I found 'colour' 1 times", READ, cancel_at=READ),
    "permission": example(
        "agents/permission.py", CHANGE, "I changed notes.txt.", PERMISSION, READ, WRITE, cancel_at=PERMISSION
    ),
    "workspace": example("agents/workspace.py", "print(6 * 7)", "It printed: 42", READ, WRITE, cancel_at=READ),
    "settings": example("agents/settings.py", "/greet Ada", "Good day, Ada"),
    "memory": example("agents/memory.py", "the sky is blue", "I will remember that."),
    "login": example("agents/login.py", "who am I?", "You are guest.", login="guest"),
    "mcp_tools": example("agents/mcp_tools.py", 'add {"a": 2, "b": 3}', "add is done.", servers=(SUMS,)),
    "engine_agent": example("engine_agent.py", "one two", "one two ", PERMISSION, cancel_at=PERMISSION, loads=False),
    "accord agent": Talk(
        (sys.executable, "-m", "accord", "agent"), *CODER, frozenset({PERMISSION, READ, WRITE}), cancel_at=PERMISSION
    ),
    "accord.coder": Talk(
        (sys.executable, "-m", "accord.coder"), *CODER, frozenset({PERMISSION, READ, WRITE}), cancel_at=PERMISSION
    ),
}

# What `scripts/test` plays; the others are like one of these but for their own code.
SHORT = {"permission", "accord agent", "engine_agent"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "notes.txt").write_text("a colour\n", encoding="utf-8")
    return folder


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    state = str(tmp_path / "state")
    return {**os.environ, "XDG_STATE_HOME": state, "XDG_CONFIG_HOME": state, "HOME": state}


@pytest.fixture
def forked() -> Iterator[None]:
    """No interpreter is started for an agent; those of `test_an_authors_agent_converses_in_…` have one."""
    with forked_python():
        yield


def converse(talk: Talk, framing: RawFraming, environment: dict[str, str], project: Path) -> None:
    """Prompt, questions, files and cancel in one process, load in the next."""
    with RawClient(talk.argv, framing, env=environment, cwd=project) as client:
        assert client.greet().get("loadSession", False) is talk.loads
        if talk.login is not None:
            client.call("authenticate", {"methodId": talk.login})
        session_id = client.open(project, *talk.servers)
        if talk.cancel_at is None:
            assert client.prompt_and_cancel(session_id, talk.prompt) == "cancelled"
        else:
            assert client.prompt_and_cancel_at(session_id, talk.prompt, talk.cancel_at) == "cancelled"
        text, stop_reason = client.prompt(session_id, talk.prompt)
        assert talk.answer in text
        assert stop_reason == "end_turn"
        assert talk.questions <= set(client.questions)
        assert client.leave() == 0
    if not talk.loads:
        return
    with RawClient(talk.argv, framing, env=environment, cwd=project) as client:
        client.greet()
        client.call("session/load", {"sessionId": session_id, "cwd": str(project), "mcpServers": list(talk.servers)})
        assert talk.prompt in client.said("user_message_chunk")
        assert text in client.said("agent_message_chunk")
        assert client.prompt(session_id, talk.prompt)[1] == "end_turn"
        assert client.leave() == 0


@IN_BOTH_FRAMINGS
def test_an_authors_agent_converses_in_the_framing_of_its_client(
    framing: RawFraming, environment: dict[str, str], project: Path, tmp_path: Path
) -> None:
    program = tmp_path / "authors_agent.py"
    program.write_text(AUTHORS_AGENT, encoding="utf-8")
    talk = Talk(
        (sys.executable, str(program)),
        "schön ✓\n",
        "I wrote: schön ✓\n",
        frozenset({PERMISSION, READ, WRITE}),
        cancel_at=PERMISSION,
    )
    converse(talk, framing, environment, project)
    assert (project / "notes.txt").read_text(encoding="utf-8") == "a colour\n" + "schön ✓\n" * 2


@pytest.mark.usefixtures("forked")
@IN_BOTH_FRAMINGS
@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in SHORT else pytest.mark.long) for n in TALKS])
def test_an_agent_of_ours_converses_in_the_framing_of_its_client(
    name: str, framing: RawFraming, environment: dict[str, str], project: Path
) -> None:
    talk = TALKS[name]
    if talk.servers and importlib.util.find_spec("mcp") is None:
        pytest.skip('needs the official MCP package: pip install "accord[mcp]"')
    converse(talk, framing, environment, project)


def test_every_example_agent_has_a_talk() -> None:
    programs = {
        path for path in EXAMPLES.rglob("*.py") if "agent.run()" in (text := path.read_text()) or "open_stdio" in text
    }
    assert {Path(talk.argv[1]) for talk in TALKS.values()} >= programs
    assert len(programs) >= 9


HEADER_STYLES = {
    "lower case": b"content-length: %d\r\n\r\n",
    "bare LF": b"Content-Length: %d\n\n",
    "a type first": b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n\r\n",
    "a header of its own first": b"X-Trace: 7\r\nContent-Length: %d\r\n\r\n",
    "a mark and blank lines": b"\xef\xbb\xbf\r\nContent-Length: %d\r\n\r\n",
}

HELLO = b'{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":1}}'


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize("opening", [b"Content-Length: two\r\n\r\n", b"Content-Type: x\n\n"])
def test_a_broken_first_header_is_answered_in_frames_and_the_conversation_goes_on(
    opening: bytes, environment: dict[str, str], project: Path
) -> None:
    with RawClient(TALKS["echo"].argv, "headers", env=environment, cwd=project) as client:
        client.write(opening)
        assert client.receive() == {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}
        client.greet()
        assert client.prompt(client.open(project), "one two") == ("one two ", "end_turn")
        assert client.leave() == 0


@pytest.mark.usefixtures("forked")
def test_a_first_header_without_an_end_is_refused_and_the_program_ends_in_good_order(
    environment: dict[str, str], project: Path
) -> None:
    with RawClient(TALKS["echo"].argv, "headers", env=environment, cwd=project) as client:
        client.write(b"Content-Type: " + b"x" * 9000)
        assert client.receive()["error"]["code"] == -32600
        assert client.leave() == 0


@pytest.mark.usefixtures("forked")
def test_a_client_in_frames_is_understood_however_it_writes_its_headers(
    environment: dict[str, str], project: Path
) -> None:
    for style, header in HEADER_STYLES.items():
        with RawClient(TALKS["echo"].argv, "headers", env=environment, cwd=project) as client:
            client.write(header % len(HELLO) + HELLO)
            assert client.receive()["id"] == 7, style
