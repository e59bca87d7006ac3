"""The programs of all pages under type checkers: pyright with its own settings; `scripts/test` has mypy read them too.

A new user's editor shows what pyright says of a page's program, and what it says of a typing error.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from scripts import pages
from tests.needs import needs_pyright

# Lines that a checker must refuse.
WRONG = """\
import accord

agent = accord.Agent("guide")


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    async with turn.tool("x", kind="raed") as tool:  # wrong
        await tool.update(status="pendign")  # wrong
        await tool.show(accord.FileChange("/a", operation="modfy"))  # wrong
    await turn.plan([accord.PlanEntry("x", "done")])  # wrong
    await turn.plan([accord.PlanEntry("x", "completed", "hihg")])  # wrong
    await turn.notice("x", severity="warn")  # wrong
    await turn.say("x", annotations=accord.Annotations(["assistent"]))  # wrong
    await turn.request_permission("x", options=[accord.PermissionOption("y", "Yes", "allow")])  # wrong
    turn.finish("nope")  # wrong
    if turn.request_permission("x"):  # wrong
        await turn.say("It was not awaited")
    async with turn.tool("x", kind=accord.custom("_mine"), status=accord.custom("_own")):
        turn.finish(accord.custom("_tired"))


@agent.command("c", "C")
def command(turn: accord.agent.BlockingTurn) -> None:
    with turn.tool("x", kind="raed") as tool:  # wrong
        tool.update(kind="edti")  # wrong
    turn.finish("nope")  # wrong


agent.select("s", "S", ["a"], category="modes")  # wrong
agent.toggle("t", "T", category="modell")  # wrong


def answer(question: accord.client.PermissionQuestion) -> accord.PermissionOption | None:
    return question.option("allow_onec")  # wrong
"""


def test_every_block_of_every_page_is_a_module() -> None:
    modules = pages.modules()
    in_pages = [path for path in modules if path.startswith(("readme/", "docs_"))]
    shown = sum(page.read_text(encoding="utf-8").count("```python\n") for page in pages.pages())
    assert len(in_pages) == shown >= 100
    for path, code in modules.items():
        ast.parse(code, path)
    assert {"readme/shout.py", "docs_quickstart/notes.py", "examples/agents/echo.py"} <= modules.keys()
    assert "new_plain_project/src/new_plain/agent.py" in modules


def test_no_program_of_a_page_silences_a_checker() -> None:
    for path, code in pages.modules().items():
        assert re.search(r"# (type|pyright): ?ignore|\bcast\(", code) is None, path


@needs_pyright()
@pytest.mark.long
@pytest.mark.timeout(300)
def test_pyright_finds_no_error_in_any_page(tmp_path: Path) -> None:
    pages.write(tmp_path)
    assert errors(tmp_path) == []


@needs_pyright()
@pytest.mark.long
def test_pyright_refuses_values_that_the_protocol_does_not_have(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")
    expected = [number for number, line in enumerate(WRONG.splitlines(), 1) if line.endswith("# wrong")]
    assert sorted({number for _, number, _ in errors(tmp_path)}) == expected


def errors(folder: Path) -> list[tuple[str, int, str]]:
    """What pyright says: file, line, message."""
    told = json.loads(pages.check(folder, "pyright").stdout)
    assert told["summary"]["filesAnalyzed"] > 0
    return [
        (Path(each["file"]).name, each["range"]["start"]["line"] + 1, each["message"])
        for each in told["generalDiagnostics"]
        if each["severity"] == "error"
    ]
