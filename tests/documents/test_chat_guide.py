"""The page about the chat: every row of ours names a test that is there, every picture exists and is small."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "chat.md"
TEXT = PAGE.read_text(encoding="utf-8")
MAX_PICTURE_BYTES = 200_000
# Of the issue that asked for them: each is a row.
FEATURES = [
    "a first screen", "examples", "own commands", "`!command`", "never sent", "kept over runs", "external editor",
    "light and dark", "by the terminal's background", "bell or notification", "title", "settings kept",
    "stderr, log and wire", "errors as sentences", "with the agent's stderr", "after a resize", "100 columns",
    "last answer", "streamed Markdown", "no links", "shown as a path", "`/exit`", "`/new`", "`/model`", "`/export`",
]  # fmt: skip


def rows() -> list[list[str]]:
    """The cells of the comparison, without its head."""
    lines = TEXT.partition("\n## Beside others\n")[2].splitlines()
    table = [line for line in lines if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[2:]]


def names_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_every_row_has_all_programs_and_what_we_have_names_its_test(row: list[str]) -> None:
    assert len(row) == 7, row
    assert all(row[:2] + row[3:])
    if row[1] == "no":
        return
    found = re.fullmatch(r"`(tests/[\w/]+\.py)::(test_\w+)`", row[2])
    assert found is not None, row[2]
    assert found[2] in names_in(ROOT / found[1])


@pytest.mark.parametrize("feature", FEATURES)
def test_every_feature_is_a_row(feature: str) -> None:
    assert any(feature in row[0] and row[1] != "no" for row in rows())


def test_every_command_of_the_chat_is_on_the_page() -> None:
    pytest.importorskip("textual")
    from accord.cli.chat.own_commands import OWN_COMMANDS  # noqa: PLC0415 - where there is a screen

    named = set(re.findall(r"^\| `/(\w+)[ `]", TEXT, re.MULTILINE))
    assert named == {command.name for command in OWN_COMMANDS}


def test_every_picture_is_there_and_small_and_used() -> None:
    used = set(re.findall(r"\]\((pictures/[\w-]+\.png)\)", TEXT))
    assert len(used) >= 8
    for name in used:
        assert 1_000 < (PAGE.parent / name).stat().st_size < MAX_PICTURE_BYTES, name
    assert used == {f"pictures/{path.name}" for path in (PAGE.parent / "pictures").glob("chat-*.png")}
