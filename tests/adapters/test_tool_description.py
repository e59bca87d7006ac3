"""Kinds, titles, paths and changes from the name and the arguments of a call."""

from __future__ import annotations

from typing import Any

from accord.adapters.tool_description import below, decoded, kind_of, paths_of, proposed_change, title_of
from tests.tables import rows


@rows(
    ("name", "kind"),
    [
        ("read_file", "read"),
        ("viewImage", "read"),
        ("write_file", "edit"),
        ("apply_patch", "edit"),
        ("delete_file", "delete"),
        ("rename", "move"),
        ("list-files", "search"),
        ("grep", "search"),
        ("execute_command", "execute"),
        ("HTTPGet", "fetch"),
        ("think", "think"),
        ("write_todos", "think"),
        ("catalogue", "other"),
        ("formless", "other"),
        ("weather", "other"),
        ("", "other"),
    ],
)
def test_the_kind_is_that_of_the_first_verb_in_the_name(name: str, kind: str) -> None:
    assert kind_of(name) == kind


@rows(
    ("annotations", "kind"),
    [({"readOnlyHint": True}, "read"), ({"destructiveHint": True}, "delete"), ({"readOnlyHint": False}, "edit")],
)
def test_the_annotations_of_an_mcp_tool_win(annotations: dict[str, Any], kind: str) -> None:
    assert kind_of("write_file", annotations) == kind


@rows(
    ("arguments", "title"),
    [
        ({"path": "a.txt"}, "Read file a.txt"),
        ({"command": "ls  -l\n"}, "Read file ls -l"),
        ({"query": "x" * 100}, f"Read file {'x' * 59}…"),
        ({"n": 1}, "Read file"),
        (None, "Read file"),
        ("no json", "Read file"),
    ],
)
def test_a_title_names_the_tool_and_the_argument_that_says_most(arguments: Any, title: str) -> None:
    assert title_of("read_file", arguments) == title


def test_paths_are_texts_under_the_names_that_tools_use() -> None:
    assert paths_of({"file_path": "b", "path": "a", "filename": 3, "other": "c"}) == ["a", "b"]
    assert paths_of(["path"]) == []


def test_a_replacement_is_a_change_whatever_the_kind() -> None:
    change = proposed_change("other", {"path": "a", "old_text": "x", "new_text": "y"})
    assert change is not None
    assert (change.old, change.new, change.is_whole) == ("x", "y", False)


def test_the_whole_content_is_a_change_where_the_tool_edits() -> None:
    arguments = {"file_path": "a", "content": "x"}
    assert proposed_change("read", arguments) is None
    change = proposed_change("edit", arguments)
    assert change is not None
    assert change.is_whole


def test_a_virtual_root_is_below_the_real_one() -> None:
    place = below("/home/project")
    assert [place("/a.txt"), place("b/c")] == ["/home/project/a.txt", "/home/project/b/c"]


def test_arguments_that_are_nested_too_deeply_stay_a_text() -> None:
    deep = "[" * 5_000 + "]" * 5_000

    assert decoded(deep) is deep
    assert decoded('{"a": [1]}') == {"a": [1]}
