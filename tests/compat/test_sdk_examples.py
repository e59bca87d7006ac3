"""The official SDK's own examples, with nothing changed but the import; `scripts/compat` gets them."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import accord
from tests.limits import limit
from tests.transport.processes import SOURCES

ROOT = Path(__file__).parents[2]
SDK = os.environ.get("ACCORD_SDK")

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(SDK is None, reason="the SDK's source distribution is missing: run scripts/compat"),
]


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """A copy of the examples with the changed import."""
    for example in (ROOT / str(SDK) / "examples").glob("*.py"):
        code = example.read_text(encoding="utf-8")
        (tmp_path / example.name).write_text(code.replace("from acp import", "from accord.compat.acp import"))
    return tmp_path


def example(examples: Path, name: str) -> Path:
    """An example that not every version has."""
    if not (examples / name).exists():
        pytest.skip(f"this version of the SDK has no {name}")
    return examples / name


@pytest.fixture
def python(monkeypatch: pytest.MonkeyPatch) -> str:
    """The SDK's interpreter, which finds Accord."""
    monkeypatch.setenv("PYTHONPATH", SOURCES)
    return str(ROOT / str(SDK) / "venv/bin/python")


@pytest.mark.parametrize(
    ("name", "answer"), [("agent.py", "Client sent:hello there"), ("echo_agent.py", "hello there")]
)
async def test_an_example_agent_answers(name: str, answer: str, examples: Path, python: str) -> None:
    async with accord.connect(python, str(examples / name)) as agent:
        turn = await (await agent.new_session(examples)).prompt("hello there")
    assert turn.text == answer


@pytest.mark.parametrize("words", [["client.py", "agent.py"], ["duet.py"]], ids=lambda words: words[0])
def test_an_example_client_prints_what_the_agent_says(words: list[str], examples: Path, python: str) -> None:
    command = [python, *(str(examples / word) for word in words)]
    done = subprocess.run(
        command, input="hello there\n", capture_output=True, text=True, timeout=limit(60), check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "| Agent: hello there" in done.stdout


def test_the_example_for_gemini_talks_to_the_program_that_it_is_given(examples: Path, python: str) -> None:
    program = examples / "gemini"
    program.write_text(f"#!/bin/sh\nexec {python} {examples / 'echo_agent.py'}\n")
    program.chmod(0o755)
    done = subprocess.run(
        [python, str(example(examples, "gemini.py")), "--gemini", str(program), "--yolo"],
        input="hello there\n:exit\n",
        capture_output=True,
        text=True,
        timeout=limit(60),
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Connected to Gemini (protocol v1)" in done.stdout
    assert "hello there" in done.stdout


@contextlib.contextmanager
def listening(command: list[str], port: int) -> Iterator[None]:
    """A server, as soon as it listens."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as server:
        try:
            deadline = time.monotonic() + limit(60)
            while True:
                with contextlib.suppress(ConnectionRefusedError):
                    socket.create_connection(("localhost", port)).close()
                    break
                assert server.poll() is None, server.communicate()[1][-2000:]
                assert time.monotonic() < deadline, "the server does not listen"
                time.sleep(0.05)
            yield
        finally:
            server.kill()


@pytest.mark.parametrize(("name", "word"), [("http_client.py", "http"), ("ws_client.py", "websocket")])
def test_an_example_client_reaches_the_example_server(name: str, word: str, examples: Path, python: str) -> None:
    client, server = example(examples, name), example(examples, "http_server.py")
    with socket.create_server(("localhost", 0)) as free:
        port: int = free.getsockname()[1]
    for path in (client, server):
        # Beside the import: whoever runs this may have something else at the port of the examples.
        path.write_text(path.read_text(encoding="utf-8").replace("localhost:8000", f"localhost:{port}"))
    with listening([python, str(server)], port):
        done = subprocess.run([python, str(client)], capture_output=True, text=True, timeout=limit(60), check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert f"<< echo: hello over {word}" in done.stdout
    assert "stop reason: end_turn" in done.stdout


def test_every_example_has_a_test(examples: Path) -> None:
    known = {"agent.py", "echo_agent.py", "client.py", "duet.py", "gemini.py"}
    known |= {"http_client.py", "http_server.py", "ws_client.py"}
    assert {path.name for path in examples.glob("*.py")} - known == set()
