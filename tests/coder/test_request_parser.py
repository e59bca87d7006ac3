"""What the rules of the built-in model make of plain requests."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from accord.coder.request_parser import NotUnderstood, understand
from tests.limits import limit
from tests.tables import rows

PLAIN: list[tuple[str, list[tuple[str, dict[str, Any]]]]] = [
    ("read a.py", [("read", {"path": "a.py"})]),
    ("Please show me the file a.py.", [("read", {"path": "a.py"})]),
    ('read "my file.txt"', [("read", {"path": "my file.txt"})]),
    ("read a.py lines 3-5", [("read", {"path": "a.py", "line": 3, "limit": 3})]),
    ("read line 7 of a.py", [("read", {"path": "a.py", "line": 7, "limit": 1})]),
    ("what's in README.md?", [("read", {"path": "README.md"})]),
    ("list", [("list", {"path": "."})]),
    ("list the files in src", [("list", {"path": "src"})]),
    ("which files are there?", [("list", {"path": "."})]),
    ("search for TODO", [("search", {"pattern": "TODO", "path": "."})]),
    ("search 'and then' in src", [("search", {"pattern": "and then", "path": "src"})]),
    ("find def main in the src folder", [("search", {"pattern": "def main", "path": "src"})]),
    (r"grep /de[f]\b/", [("search", {"pattern": r"de[f]\b", "path": ".", "regex": True})]),
    (
        "replace foo with bar in a.py",
        [("read", {"path": "a.py"}), ("edit", {"path": "a.py", "old": "foo", "new": "bar", "all": True})],
    ),
    (
        "change `x = 1` to `x = 2` in a.py",
        [("read", {"path": "a.py"}), ("edit", {"path": "a.py", "old": "x = 1", "new": "x = 2", "all": True})],
    ),
    (
        "remove 'print()' from a.py",
        [("read", {"path": "a.py"}), ("edit", {"path": "a.py", "old": "print()", "new": "", "all": True})],
    ),
    ('write "hello" to a.txt', [("write", {"path": "a.txt", "text": "hello\n"})]),
    ("write to a.py:\n```python\nimport os\nrun me\n```", [("write", {"path": "a.py", "text": "import os\nrun me\n"})]),
    (
        'replace pritn("a") with print("b") in a.py',
        [("read", {"path": "a.py"}), ("edit", {"path": "a.py", "old": 'pritn("a")', "new": 'print("b")', "all": True})],
    ),
    ('/write a.py print("hi")', [("write", {"path": "a.py", "text": 'print("hi")\n'})]),
    ('write "and then" to a.py', [("write", {"path": "a.py", "text": "and then\n"})]),
    ("create file a.txt", [("write", {"path": "a.txt", "text": ""})]),
    ("create a.txt with some text", [("write", {"path": "a.txt", "text": "some text\n"})]),
    ('run git commit -m "a; b and then c"', [("run", {"command": 'git commit -m "a; b and then c"'})]),
    ("plan read, write and test", [("plan", {"steps": [{"content": c} for c in ("read", "write", "test")]})]),
    ("read a; list b", [("read", {"path": "a"}), ("list", {"path": "b"})]),
    ("read a.py and run pytest", [("read", {"path": "a.py"}), ("run", {"command": "pytest"})]),
    ("first read a.py. Then list", [("read", {"path": "a.py"}), ("list", {"path": "."})]),
    ("read a\nread b", [("read", {"path": "a"}), ("read", {"path": "b"})]),
    ("/run echo a; echo b", [("run", {"command": "echo a; echo b"})]),
    ("/write a.txt line one\nline two", [("write", {"path": "a.txt", "text": "line one\nline two\n"})]),
    ("/write a.txt\nline one\n", [("write", {"path": "a.txt", "text": "line one\n"})]),
    ("/read a.py", [("read", {"path": "a.py"})]),
    ("/plan", []),
    ("", []),
]


@rows(("text", "expected"), PLAIN)
def test_a_request_is_understood(text: str, expected: list[tuple[str, dict[str, Any]]]) -> None:
    assert [(action.tool, action.arguments) for action in understand(text)] == expected


@rows(
    ("text", "clause"),
    [
        ("make me a sandwich", "make me a sandwich"),
        ("read a.py and then dance", "dance"),
        ("replace foo with bar", "replace foo with bar"),
        ("/replace foo", "replace foo"),
        ("run the tests", "run the tests"),
        ("/run", "/run"),
        ("/write", "/write"),
    ],
)
def test_what_follows_no_rule_is_named(text: str, clause: str) -> None:
    with pytest.raises(NotUnderstood) as caught:
        understand(text)
    assert caught.value.clause == clause


def test_a_command_that_is_none_is_asked_for() -> None:
    with pytest.raises(NotUnderstood) as caught:
        understand("run the tests")
    assert caught.value.question is not None


@pytest.mark.sampled(3)
@pytest.mark.parametrize("unit", [" ", "\n", "a ", "and then ", "replace x with y in ", '"', "```\n", "; ", "\x00"])
def test_a_prompt_of_megabytes_is_answered_at_once(unit: str) -> None:
    text = "read a " + unit * (1_000_000 // len(unit))
    started = time.process_time()
    with contextlib.suppress(NotUnderstood):
        understand(text)
    assert time.process_time() - started < limit(10)


@settings(max_examples=40)
@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from(["read", "run", "a", "and then", '"', "`", "in", "\n"])).map(" ".join)
)
def test_any_text_is_understood_or_not_but_never_breaks_it(text: str) -> None:
    try:
        actions = understand(text)
    except NotUnderstood:
        actions = []
    assert isinstance(actions, list)
