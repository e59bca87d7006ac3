"""Values are read key by key; a wrong one is reported by file, key and expected value, never by its value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from accord.config.errors import ConfigError
from accord.config.fields import MAX_FILE_BYTES, Notes, Table, join_key, open_table, read_bytes
from tests.tables import rows


def table(**values: Any) -> Table:
    return Table(values, "", Notes())


def problems(asked: Table) -> list[tuple[str, str]]:
    return [(problem.key, problem.expected) for problem in asked.notes.problems]


def test_what_is_right_is_taken() -> None:
    asked = table(
        text="a", texts=["a", "b"], env={"A": "1", "B": None}, pairs={"k": "v"}, number=5, flag=True, word="x", more={}
    )
    assert asked.text("text") == "a"
    assert asked.texts("texts") == ("a", "b")
    assert asked.variables("env") == {"A": "1", "B": None}
    assert asked.pairs("pairs") == {"k": "v"}
    assert asked.integer("number", 1, 9) == 5
    assert asked.flag("flag") is True
    assert asked.choice("word", ("x", "y")) == "x"
    assert asked.table("more") is not None
    asked.finish()
    assert problems(asked) == []
    assert asked.notes.warnings == []


WRONG = [
    ("text", {}, 5, "v", "a text that is not empty, not a number"),
    ("text", {}, " ", "v", "a text that is not empty"),
    ("text", {}, "a\0b", "v", "a text that is not empty"),
    ("texts", {}, "a b", "v", "a list of texts, not a text"),
    ("texts", {}, ["a", 1], "v[1]", "a text, not a number"),
    ("texts", {}, ["a\0"], "v[0]", "a text"),
    ("variables", {}, ["A=1"], "v", "an object of texts, not a list"),
    ("variables", {}, {"A": 1}, "v.A", "a text, or null to unset the variable, not a number"),
    ("variables", {}, {"A=B": "1"}, 'v["A=B"]', "a variable's name, without '='"),
    ("pairs", {}, [], "v", "an object of texts, not a list"),
    ("pairs", {}, {"k": None}, "v.k", "a text, not null"),
    ("integer", {"low": 1, "high": 9}, 10, "v", "a whole number from 1 to 9"),
    ("integer", {"low": 1, "high": 9}, 1.5, "v", "a whole number from 1 to 9"),
    ("integer", {"low": 0, "high": 9}, True, "v", "a whole number from 0 to 9, not true or false"),
    ("flag", {}, "yes", "v", "true or false, not a text"),
    ("choice", {"options": ("x", "y")}, "z", "v", "one of x, y"),
    ("tables", {}, {}, "v", "a list of objects, not an object"),
    ("tables", {}, [{}, 1], "v[1]", "an object, not a number"),
    ("named_tables", {}, [], "v", "an object of objects, by name, not a list"),
    ("named_tables", {}, {"a b": 1}, 'v["a b"]', "an object, not a number"),
    ("table", {}, [], "v", "an object, not a list"),
]


@rows(("question", "options", "value", "key", "expected"), WRONG)
def test_what_is_wrong_is_told(question: str, options: dict[str, Any], value: Any, key: str, expected: str) -> None:
    asked = table(v=value)
    getattr(asked, question)("v", **options)
    assert problems(asked) == [(key, expected)]


@rows("question", ["text", "texts", "variables", "pairs", "flag", "tables", "named_tables", "table"])
def test_what_is_absent_is_fine(question: str) -> None:
    asked = table()
    assert not getattr(asked, question)("v")
    assert problems(asked) == []


def test_what_is_needed_and_absent_is_told() -> None:
    asked = table()
    assert asked.text("command", needed=True) is None
    assert problems(asked) == [("command", "a text that is not empty")]


def test_a_key_that_nobody_asks_for_is_a_warning_with_the_nearest_one() -> None:
    asked = table(timeoutMS=1, other=2, theirs=3)
    asked.integer("timeoutMs", 1, 2)
    asked.skip("theirs")
    asked.finish()
    assert asked.notes.warnings == [
        "timeoutMS: unknown key, ignored; did you mean timeoutMs?",
        "other: unknown key, ignored",
    ]


def test_a_key_cannot_pretend_to_be_another() -> None:
    assert join_key("a", "b") == "a.b"
    assert join_key("a", "b.c") == 'a["b.c"]'
    assert join_key("a", "\x1b[31m") == 'a["\\u001b[31m"]'


BROKEN = [
    (b"", "a JSON object; the file is empty"),
    (b" \n", "a JSON object; the file is empty"),
    (b"[1]", "a JSON object, not a list"),
    (b'{"a": 1,}', "JSON (line 1, column"),
    (b'{"a"\n 1}', "JSON (line 2, column 2"),
    (b"\xff\xfe{}", "UTF-8 (byte 0 is none)"),
    (b'{"a": ' + b"[" * 100_000, "JSON of a sane depth and size"),
    (b'{"a": ' + b"1" * 10_000 + b"}", "JSON of a sane depth and size"),
]


@rows(("content", "expected"), BROKEN)
def test_a_file_that_holds_no_object_says_what_was_expected(content: bytes, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_table(content, "f.json", Notes())
    assert caught.value.path == "f.json"
    assert caught.value.key == ""
    assert caught.value.expected.startswith(expected)
    assert str(caught.value).startswith(f"f.json: expected {expected}")


def test_a_mark_of_the_byte_order_is_no_content() -> None:
    assert "a" in open_table(b'\xef\xbb\xbf{"a": 1}', "f", Notes())


def test_only_regular_files_of_a_sane_size_are_read(tmp_path: Path) -> None:
    assert read_bytes(tmp_path / "missing") is None
    with pytest.raises(ConfigError, match="a regular file"):
        read_bytes(tmp_path)
    (tmp_path / "zero").symlink_to("/dev/zero")
    with pytest.raises(ConfigError, match="a regular file"):
        read_bytes(tmp_path / "zero")
    (tmp_path / "large").write_bytes(b" " * (MAX_FILE_BYTES + 1))
    with pytest.raises(ConfigError, match="at most"):
        read_bytes(tmp_path / "large")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(JSON, st.sampled_from(["text", "texts", "variables", "pairs", "flag", "tables", "named_tables", "table"]))
def test_whatever_stands_there_it_is_taken_or_told_and_nothing_else(value: Any, question: str) -> None:
    asked = table(v=json.loads(json.dumps(value)))
    getattr(asked, question)("v")
    assert all(problem.key.startswith("v") and problem.expected for problem in asked.notes.problems)
