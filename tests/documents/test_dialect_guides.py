"""Every block of the guides on dialects and on simse runs, with real programs of the dialect at the other end."""

from __future__ import annotations

import json
import os
import re
import subprocess
import textwrap
import tomllib
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.dialects import DialectPlugin
from tests.forking_python import forking_python
from tests.limits import limit

ROOT = Path(__file__).parents[2]
SIMSE = ROOT / "tests" / "simse"
BOUND_SECONDS = limit(60.0)


def blocks(page: str, language: str = "python") -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def space_of(code: str) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": "guide"}
    exec(compile(code, "docs", "exec"), space)  # noqa: S102 - the guide is ours
    return space


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of its own, nobody's home, and a PATH whose first folder is that directory."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def install(folder: Path, name: str, *argv: str) -> None:
    """A program on the PATH."""
    program = folder / name
    words = " ".join(f"'{word}'" for word in argv)
    program.write_text(f"#!/bin/sh\nexec {words}\n", encoding="utf-8")
    program.chmod(0o755)


def test_the_guides_have_the_blocks_that_are_run_here() -> None:
    assert [len(blocks("dialects.md")), len(blocks("simse.md")), len(blocks("dialects.md", "toml"))] == [3, 2, 1]


async def test_the_plug_in_of_the_guide_serves_both_sides(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plugin, talk, _ = blocks("dialects.md")
    (project / "chat.py").write_text(plugin + "\nagent.run()\n", encoding="utf-8")
    install(project, "chat-agent", str(forking_python()), str(project / "chat.py"))
    space = space_of(plugin)
    exec(compile("async def main():\n" + textwrap.indent(talk, "    "), "docs", "exec"), space)  # noqa: S102
    await space["main"]()
    assert capsys.readouterr().out == "You said: hello\n"
    # The dialect is really spoken, and an ordinary client is served all the same.
    async with accord.connect("chat-agent") as agent:
        assert (await (await agent.new_session(".")).prompt("plain")).text == "You said: plain"
    ours, theirs = accord.memory_pair()
    link = space["Chat"]().link_to_agent(ours, start_seconds=None)
    sent = {
        "method": "session/prompt",
        "id": 1,
        "params": {"sessionId": "s", "prompt": [{"type": "text", "text": "x"}]},
    }
    await link.send(json.dumps(sent).encode())
    assert json.loads(*await theirs.receive()) == {
        "method": "chat/send", "id": 1, "params": {"sessionId": "s", "message": "x"},
    }  # fmt: skip
    await link.close()


async def test_the_guides_example_of_simse_runs_with_an_ordinary_client() -> None:
    agent = space_of(blocks("dialects.md")[2])["agent"]
    async with accord.connect(agent) as remote:
        assert (await (await remote.new_session(".")).prompt("?")).text == "The sum is 5"


def test_the_entry_point_of_the_guide_names_the_plug_in_of_the_guide() -> None:
    [table] = blocks("dialects.md", "toml")
    points = tomllib.loads(table)["project"]["entry-points"]["accord.dialects"]
    plugin = space_of(blocks("dialects.md")[0])[points["chat"].partition(":")[2]]
    assert issubclass(plugin, DialectPlugin)
    assert plugin.name == "chat"


async def test_the_client_of_simses_guide_talks_to_a_backend_of_the_page(project: Path) -> None:
    install(
        project, "my-backend", str(forking_python()), str(SIMSE / "page_backend.py"), str(project / "journal"), "{}"
    )
    await space_of(blocks("simse.md")[0])["main"]()
    heard = [json.loads(line) for line in (project / "journal").read_text(encoding="utf-8").splitlines()]
    prompts = [each["params"]["prompt"] for each in heard if each.get("method") == "session/prompt"]
    assert prompts == ["How much is 2 and 3?"]


@pytest.mark.parametrize(("word", "said"), [("allow_once", "It is 5."), ("reject_once", "Then not.")])
def test_the_agent_of_simses_guide_serves_a_client_of_the_page(project: Path, word: str, said: str) -> None:
    (project / "sums.py").write_text(blocks("simse.md")[1], encoding="utf-8")
    plan = json.dumps({"prompts": ["2 and 3?"], "answers": [word]})
    python = forking_python()
    command = [str(python), str(SIMSE / "page_client.py"), plan, str(python), str(project / "sums.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=BOUND_SECONDS, check=True)
    heard = [message for way, message in map(json.loads, done.stdout.splitlines()) if way == "heard"]
    updates = [message["params"] for message in heard if message.get("method") == "session/update"]
    texts = [update["content"]["text"] for update in updates if update.get("sessionUpdate") == "agent_message_chunk"]
    assert "".join(texts) == said
