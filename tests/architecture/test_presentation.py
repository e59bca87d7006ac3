"""`accord run` and `accord chat` lay out one presentation: neither has marks, words or formats of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from accord.cli.show import presentation

COMMAND = Path(__file__).parents[2] / "src" / "accord" / "cli"
# Records are for programs: they have the fields as they are.
SCREENS = sorted(
    path for folder in ("run", "chat") for path in (COMMAND / folder).rglob("*.py") if path.name != "records.py"
)
STATES = {"pending", "in_progress", "paused", "completed", "failed", "cancelled"}
# Fields of entries, blocks and events that become words only in `show`.
FIELDS = {"mime_type", "raw_output", "locations", "cost", "priority", "signal", "used", "changes"}
FORMATTERS = {"difflib", "accord.session.claims"}


def name_of(module: Path) -> str:
    return str(module.relative_to(COMMAND))


def nodes(module: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(module.read_text(encoding="utf-8")))


def words_of(node: ast.Dict | ast.Set) -> set[object]:
    keys = node.keys if isinstance(node, ast.Dict) else node.elts
    return {each.value for each in keys if isinstance(each, ast.Constant)}


def formatters_of(module: Path) -> set[str]:
    """The modules that format something, as far as a screen imports them; a guess of a mistyped name is no diff."""
    imported = {each.name for node in nodes(module) if isinstance(node, ast.Import) for each in node.names}
    for node in nodes(module):
        if isinstance(node, ast.ImportFrom) and [each.name for each in node.names] != ["get_close_matches"]:
            imported.add(node.module or "")
    return imported & FORMATTERS


def test_the_presentation_has_a_mark_for_every_state() -> None:
    marks = presentation._TOOL_MARKS
    assert set(marks) == STATES
    assert len({mark.text for mark in marks.values()}) == len(STATES)


@pytest.mark.parametrize("module", SCREENS, ids=name_of)
def test_no_screen_has_marks_or_words_for_states_of_its_own(module: Path) -> None:
    tables = [node for node in nodes(module) if isinstance(node, ast.Dict) and len(words_of(node) & STATES) > 1]
    assert [ast.unparse(table) for table in tables] == []


@pytest.mark.parametrize("module", SCREENS, ids=name_of)
def test_no_screen_formats_what_the_presentation_formats(module: Path) -> None:
    read = {node.attr for node in nodes(module) if isinstance(node, ast.Attribute)}
    assert read & FIELDS == set()
    assert formatters_of(module) == set()


@pytest.mark.parametrize("name", ["chat/tool_call.py", "chat/bars.py", "chat/timeline.py", "run/text.py"])
def test_every_screen_takes_its_words_from_the_presentation(name: str) -> None:
    modules = {node.module for node in nodes(COMMAND / name) if isinstance(node, ast.ImportFrom)}
    assert "accord.cli.show.presentation" in modules
