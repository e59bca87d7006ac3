"""docs/editors.md: the snippets start an agent that opens a session, and every editor of the list has one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import accord
from tests.documents.test_links import anchors_of
from tests.forking_python import forking_python
from tests.tables import rows

PATH = Path(__file__).parents[2] / "docs" / "editors.md"
PAGE = PATH.read_text(encoding="utf-8")
MINE = """
import accord

agent = accord.Agent("mine", version="1.0")
agent.prompt(lambda turn: turn.say(turn.text))
agent.run()
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def entries() -> list[dict[str, Any]]:
    """Every agent of every JSON snippet."""
    tables = [json.loads(text) for text in blocks("json")]
    return [entry for table in tables for servers in table.values() for entry in servers.values()]


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry["command"])
async def test_the_words_of_a_snippet_start_an_agent_that_opens_a_session(
    entry: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "my_agent.py").write_text(MINE, encoding="utf-8")
    arguments = [word.replace("/home/you/project", str(tmp_path)) for word in entry["args"]]
    name = Path(entry["command"]).name
    assert name in {"accord", "python"}
    python = str(forking_python())
    program = [python, "-m", "accord"] if name == "accord" else [python]
    async with accord.connect(*program, *arguments, env=entry.get("env")) as agent:
        assert agent.info is not None
        assert (await agent.new_session(tmp_path)).id


@rows("text", blocks("lua") + blocks("elisp"))
def test_the_other_snippets_are_whole_and_name_the_same_words(text: str) -> None:
    for opening, closing in ("()", "{}", "[]"):
        assert text.count(opening) == text.count(closing)
    assert text.count('"') % 2 == 0
    words = re.findall(r'"([^"]*)"', text)
    assert words.index("accord") < words.index("agent")


def test_every_editor_of_the_list_has_a_section_and_a_source() -> None:
    rows = re.findall(r"^\| \[[^\]]+\]\(#([^)]+)\) \| .* \| \[[^\]]+\]\(https://[^)]+\) \|$", PAGE, re.MULTILINE)
    assert len(rows) == PAGE.partition("| editor |")[2].partition("\n\n")[0].count("\n") - 1
    assert set(rows) <= anchors_of(PATH)
    for name in ("Zed", "JetBrains", "CodeCompanion", "avante.nvim", "agent-shell", "VS Code", "Obsidian", "marimo"):
        assert name in PAGE


def test_no_other_page_repeats_a_snippet() -> None:
    # These two are about the `acp.json` of Accord itself, which has the same shape.
    ours = {PATH, PATH.with_name("config.md"), PATH.with_name("agents-by-name.md")}
    others = [path for path in PATH.parent.rglob("*.md") if path not in ours]
    assert [path.name for path in others if '"agent_servers"' in path.read_text(encoding="utf-8")] == []
