"""Every Python block of the guide for agent authors runs, in every edition."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pytest

import accord

GUIDE = (Path(__file__).parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")

Wish: TypeAlias = Literal["1", "2", "2-june"]
IN_EVERY_EDITION = pytest.mark.parametrize("edition", ["1", "2-june", "2"])


def blocks() -> list[Any]:
    """Each with the heading it stands under and its number there."""
    found: list[Any] = []
    for section in GUIDE.split("\n## ")[1:]:
        heading = section.splitlines()[0]
        codes = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
        found += [pytest.param(code, id=f"{heading}-{number}") for number, code in enumerate(codes, 1)]
    return found


def agent_of(code: str) -> accord.Agent:
    """The agent that a block makes, or that its lines are a part of."""
    space: dict[str, Any] = {"accord": accord, "__name__": "guide"}
    if "agent = accord.Agent(" not in code:
        space["agent"] = accord.Agent("guide", store=accord.MemoryStore())
    if stands_in_a_handler(code):
        code = "@agent.prompt\nasync def reply(turn):\n" + textwrap.indent(code, "    ")
    exec(compile(code, "docs/agents.md", "exec"), space)  # noqa: S102 - the guide is ours
    agent = space["agent"]
    assert isinstance(agent, accord.Agent)
    return agent


def stands_in_a_handler(code: str) -> bool:
    return "turn." in code and "@agent." not in code


async def answer(question: accord.client.FormQuestion | accord.client.UrlQuestion) -> dict[str, Any]:
    assert isinstance(question, accord.client.FormQuestion)
    return {"city": "Ghent", "days": 3}


async def talk(agent: accord.Agent, edition: Wish, folder: Path, text: str) -> None:
    """One prompt; the agent must get through it."""
    async with accord.connect(
        agent, edition=edition, permission=lambda _: True, elicit=answer, login=lambda methods: methods[0].id
    ) as remote:
        session = await remote.new_session(folder)
        turn = await session.prompt(text)
        assert turn.stop_reason in {"end_turn", "max_tokens"}
        await session.close()


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with notes, nobody's home, and no agent that takes over our stdin."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(accord.Agent, "run", lambda _: None)
    (tmp_path / "notes.txt").write_text("old text\nmore\n", encoding="utf-8")
    return tmp_path


@IN_EVERY_EDITION
@pytest.mark.parametrize("code", [block for block in blocks() if "accord.connect(" not in block.values[0]])
async def test_a_block_runs(code: str, edition: Wish, project: Path, caplog: pytest.LogCaptureFixture) -> None:
    if "accord.Agent(" in code and "@agent." not in code:
        exec(compile(code, "docs/agents.md", "exec"), {})  # noqa: S102
        return
    agent = agent_of(code)
    await talk(agent, edition, project, "/greet Ada" if "@agent.command" in code else "hello")
    await agent.close()
    # What fails in a tool call, or beside the turns, ends no turn; but it is logged.
    assert [record for record in caplog.records if record.levelname in {"ERROR", "WARNING"}] == []


USES_FILES_OR_PROGRAMS = re.compile(r"\.files\.|\.terminals\.")


@IN_EVERY_EDITION
@pytest.mark.parametrize("code", [block for block in blocks() if USES_FILES_OR_PROGRAMS.search(block.values[0])])
async def test_a_block_survives_without_the_file_and_the_program(
    code: str, edition: Wish, project: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (project / "notes.txt").unlink()
    monkeypatch.setenv("PATH", str(project))
    agent = agent_of(code)
    await talk(agent, edition, project, "hello")
    await agent.close()
    # A missing file is a reason that the user reads, and nothing that its author has to look for in a log.
    assert [record for record in caplog.records if record.levelname in {"ERROR", "WARNING"}] == []


@pytest.mark.parametrize("code", [block for block in blocks() if "accord.connect(" in block.values[0]])
async def test_a_block_that_connects_runs(code: str, tmp_path: Path) -> None:
    agent = accord.Agent("guide", store=accord.MemoryStore())
    agent.prompt(lambda turn: turn.say(turn.text))
    space: dict[str, Any] = {"accord": accord, "agent": agent}
    body = "async def main():\n" + textwrap.indent(code.replace('"/tmp"', repr(str(tmp_path))), "    ")
    exec(compile(body, "docs/agents.md", "exec"), space)  # noqa: S102
    await space["main"]()


def test_the_guide_has_something_about_each_thing_an_agent_can_do() -> None:
    public = [name for name in vars(accord.agent.Turn) if not name.startswith("_")]
    inner = {"background", "end", "fail", "tell", "tools"}
    missing = [name for name in public if name not in inner and name not in GUIDE]
    assert missing == []
    public = [name for name in vars(accord.Agent) if not name.startswith("_")]
    inner = {"close", "options", "store"}
    assert [name for name in public if name not in inner and name not in GUIDE] == []
