"""Nothing reaches a screen but safe text: what the types cannot say, these rules do.

mypy refuses a `str` where a screen takes `SafeText`. These tests close the ways around it: making a `SafeText` by hand,
calling a text of others our own, writing to a stream directly, or using a widget that takes any text.
"""

from __future__ import annotations

import ast
import re

from tests.architecture.sources import Source, calls_in, sources

# Where streams are written: the screens, the lines beside them, the help, and what goes into a pipe as it is.
WRITERS = {"cli/status.py", "cli/main.py", "cli/show/screen.py", "cli/run/output.py"}
# Where widgets of others are made from safe text.
MAKERS = {"cli/chat/widgets.py"}
WIDGETS = {"Static", "Markdown", "Content", "Option", "Selection", "Select", "SelectionList", "Input", "RichText"}
LABELS = {"border_title", "border_subtitle", "title", "sub_title"}


def is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.IfExp):
        return is_literal(node.body) and is_literal(node.orelse)
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def screens(folder: str, *, without: set[str]) -> list[Source]:
    return [source for source in sources() if source.is_below(folder) and source.name not in without]


def test_only_the_sanitiser_makes_safe_text_and_our_own_words_are_literals() -> None:
    users = [source for source in sources() if source.name != "display.py"]
    calls = [(source.name, name, call) for source in users for name, call in calls_in(source)]
    assert [(where, ast.unparse(call)) for where, name, call in calls if name == "SafeText"] == []
    ours = [(where, call) for where, name, call in calls if name in {"own", "filled"}]
    assert [(where, ast.unparse(call)) for where, call in ours if not is_literal(call.args[0])] == []


def test_nothing_is_written_beside_the_screens() -> None:
    writing = {"sys.stdout.write", "sys.stderr.write", "print", "cast"}
    calls = [(each.name, name) for each in screens("cli", without=WRITERS) for name, _ in calls_in(each)]
    assert [(where, name) for where, name in calls if name in writing] == []


def test_the_chat_makes_its_widgets_of_safe_text() -> None:
    chat = screens("cli/chat", without=MAKERS)
    calls = [(source.name, name, call) for source in chat for name, call in calls_in(source)]
    assert [(where, ast.unparse(call)) for where, name, call in calls if takes_any_text(name)] == []
    labelled = [(where, call) for where, name, call in calls if name in {"Button", "Checkbox"}]
    assert [(where, ast.unparse(call)) for where, call in labelled if not is_literal(call.args[0])] == []
    assert [(each.name, ast.unparse(node)) for each in chat for node in each.nodes if labels_by_text(node, each)] == []


def takes_any_text(name: str) -> bool:
    return re.split(r"[.(]", name, maxsplit=1)[0] in WIDGETS or name.endswith((".notify", ".from_markup", ".from_ansi"))


def labels_by_text(node: ast.AST, source: Source) -> bool:
    match node:
        case ast.Assign(targets=[ast.Attribute(attr=target), *_], value=value):
            return target in LABELS and not is_literal(value) and source.path.name != "tool_call.py"
        case _:
            return False
