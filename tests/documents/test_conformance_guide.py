"""The page about the judge: its test file passes for a plain agent, and its lines are lines that the command takes."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from accord.check import RULES
from tests.forking_python import forking_python
from tests.limits import limit
from tests.plain_pytest import plain_pytest
from tests.serve.server_process import serving

PAGE = (Path(__file__).parents[2] / "docs" / "conformance.md").read_text(encoding="utf-8")
AGENT = """
import accord

agent = accord.Agent("mine", version="1.0")


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    await turn.say(turn.text.upper())


agent.run()
"""


def run(folder: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTEST_ADDOPTS"}}
    return subprocess.run(
        [forking_python(), *words],
        cwd=folder,
        env={**kept, "XDG_STATE_HOME": str(folder / "state"), **env},
        capture_output=True,
        text=True,
        timeout=limit(500),
        check=False,
    )


@pytest.mark.long
@pytest.mark.timeout(600)
def test_its_test_file_has_a_test_for_each_rule_and_none_fails(tmp_path: Path) -> None:
    (block,) = re.findall(r"```python\n# test_conformance.py\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "test_conformance.py").write_text(block, encoding="utf-8")
    (tmp_path / "my_agent.py").write_text(AGENT, encoding="utf-8")
    finished = run(tmp_path, *plain_pytest(), "-W", "error", "--rootdir", ".", ".")
    assert finished.returncode == 0, finished.stdout[-3000:]
    passed, skipped = (int(re.findall(rf"(\d+) {word}", finished.stdout)[-1]) for word in ("passed", "skipped"))
    rules = [rule for rule in RULES if rule.edition in {"v1", "v2"} and rule.side != "client"]
    # A program has none of the rules of the transport.
    assert passed + skipped == len([rule for rule in rules if "-REMOTE-" not in rule.id])
    assert passed > 150


@pytest.mark.long
@pytest.mark.timeout(600)
def test_its_test_file_for_a_served_agent_has_a_test_for_each_rule_and_none_fails(tmp_path: Path) -> None:
    (block,) = re.findall(r"```python\n# test_served.py\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "test_served.py").write_text(block, encoding="utf-8")
    agent, root = tmp_path / "served", tmp_path / "served" / "root"
    agent.mkdir()
    (agent / "my_agent.py").write_text(AGENT.replace("agent.run()\n", ""), encoding="utf-8")

    async def judge() -> subprocess.CompletedProcess[str]:
        async with serving(agent, "my_agent:agent", env={"PYTHONPATH": str(agent)}) as server:
            given = {"MY_AGENT": server.websocket, "MY_TOKEN": server.token, "MY_ROOT": str(root)}
            words = (*plain_pytest(), "--rootdir", ".", ".")
            return await asyncio.to_thread(run, tmp_path, *words, **given)

    finished = asyncio.run(judge())
    assert finished.returncode == 0, finished.stdout[-3000:]
    passed, skipped = (int(re.findall(rf"(\d+) {word}", finished.stdout)[-1]) for word in ("passed", "skipped"))
    assert passed + skipped == len([rule for rule in RULES if rule.edition == "v1" and rule.side != "client"])


@pytest.mark.parametrize(
    "line",
    [
        line
        for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
        for line in block.splitlines()
        if "accord check" in line
    ],
)
def test_its_lines_name_options_that_there_are(line: str, tmp_path: Path) -> None:
    words = shlex.split(line.partition("#")[0])
    words = words[words.index("accord") + 1 :]
    # With `--rules` nobody is judged; a wrong option is refused all the same.
    place = words.index("--") if "--" in words else len(words)
    finished = run(tmp_path, "-m", "accord", *words[:place], "--rules", *words[place:])
    assert finished.returncode == 0, finished.stderr
    assert "ACCORD-" in finished.stdout
