"""The official SDK's own examples, with nothing changed but the import; `scripts/compat` gets them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import accord
from tests.limits import limit

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


@pytest.fixture
def python(monkeypatch: pytest.MonkeyPatch) -> str:
    """The SDK's interpreter, which finds Accord."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
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
