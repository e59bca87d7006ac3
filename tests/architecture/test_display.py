"""Nothing reaches a screen but safe text: what the types cannot say, these rules do.

mypy refuses a `str` where a screen takes `SafeText`. These tests close the ways around it: making a `SafeText` by hand,
calling a text of others our own, writing to a stream directly, or using a widget that takes any text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "accord"
COMMAND = PACKAGE / "cli"
CHAT = COMMAND / "chat"
USERS = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "display.py")
# Where streams are written: the screens, the lines beside them, the help, and what goes into a pipe as it is.
WRITERS = {"status.py", "main.py", "show/screen.py", "run/output.py"}
# Where widgets of others are made from safe text.
MAKERS = {CHAT / "widgets.py"}
WIDGETS = {"Static", "Markdown", "Content", "Option", "Selection", "Select", "SelectionList", "Input", "RichText"}
LABELS = {"border_title", "border_subtitle", "title", "sub_title"}


def name_of(module: Path) -> str:
    return str(module.relative_to(PACKAGE))


def calls(module: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.IfExp):
        return is_literal(node.body) and is_literal(node.orelse)
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


@pytest.mark.parametrize("module", USERS, ids=name_of)
def test_only_the_sanitiser_makes_safe_text_and_our_own_words_are_literals(module: Path) -> None:
    for name, call in calls(module):
        assert name != "SafeText", ast.unparse(call)
        if name in {"own", "filled"}:
            assert is_literal(call.args[0]), ast.unparse(call)


@pytest.mark.parametrize("module", sorted(COMMAND.rglob("*.py")), ids=name_of)
def test_nothing_is_written_beside_the_screens(module: Path) -> None:
    if str(module.relative_to(COMMAND)) in WRITERS:
        return
    for name, call in calls(module):
        assert name not in {"sys.stdout.write", "sys.stderr.write", "print", "cast"}, ast.unparse(call)


@pytest.mark.parametrize("module", sorted(set(CHAT.rglob("*.py")) - MAKERS), ids=name_of)
def test_the_chat_makes_its_widgets_of_safe_text(module: Path) -> None:
    for name, call in calls(module):
        assert name.split(".")[0] not in WIDGETS, ast.unparse(call)
        assert not name.endswith((".notify", ".from_markup", ".from_ansi")), ast.unparse(call)
        if name in {"Button", "Checkbox"}:
            assert is_literal(call.args[0]), ast.unparse(call)
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            target = node.targets[0].attr
            assert target not in LABELS or is_literal(node.value) or module.name == "tool_call.py", ast.unparse(node)
