"""`accord run` and `accord chat` lay out one presentation: neither has marks, words or formats of its own."""

from __future__ import annotations

import ast

from accord.cli.show import presentation
from tests.architecture.sources import Source, sources
from tests.tables import rows

STATES = {"pending", "in_progress", "paused", "completed", "failed", "cancelled"}
# Fields of entries, blocks and events that become words only in `show`.
FIELDS = {"mime_type", "raw_output", "locations", "cost", "priority", "signal", "used", "changes"}
FORMATTERS = {"difflib", "accord.session.claims"}


def screens() -> list[Source]:
    """The screens; records are for programs, and have the fields as they are."""
    both = [each for each in sources() if each.is_below("cli/run") or each.is_below("cli/chat")]
    return [each for each in both if each.path.name != "records.py"]


def words_of(node: ast.Dict | ast.Set) -> set[object]:
    keys = node.keys if isinstance(node, ast.Dict) else node.elts
    return {each.value for each in keys if isinstance(each, ast.Constant)}


def formatters_of(source: Source) -> set[str]:
    """The modules that format something, as far as a screen imports them; a guess of a mistyped name is no diff."""
    imported = {each.name for node in source.nodes if isinstance(node, ast.Import) for each in node.names}
    for node in source.nodes:
        if isinstance(node, ast.ImportFrom) and [each.name for each in node.names] != ["get_close_matches"]:
            imported.add(node.module or "")
    return imported & FORMATTERS


def test_the_presentation_has_a_mark_for_every_state() -> None:
    marks = presentation._TOOL_MARKS
    assert set(marks) == STATES
    assert len({mark.text for mark in marks.values()}) == len(STATES)


def test_no_screen_has_marks_or_words_for_states_of_its_own() -> None:
    tables = [(each.name, node) for each in screens() for node in each.nodes if isinstance(node, ast.Dict)]
    assert [(where, ast.unparse(table)) for where, table in tables if len(words_of(table) & STATES) > 1] == []


def test_no_screen_formats_what_the_presentation_formats() -> None:
    for each in screens():
        read = {node.attr for node in each.nodes if isinstance(node, ast.Attribute)}
        assert read & FIELDS == set(), each.name
        assert formatters_of(each) == set(), each.name


@rows("name", ["chat/tool_call.py", "chat/bars.py", "chat/timeline.py", "run/text.py"])
def test_every_screen_takes_its_words_from_the_presentation(name: str) -> None:
    (screen,) = (each for each in screens() if each.name == f"cli/{name}")
    modules = {node.module for node in screen.nodes if isinstance(node, ast.ImportFrom)}
    assert "accord.cli.show.presentation" in modules
