"""docs/coder.md: every request, tool, mode and command that it names exists, and its Python runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from accord.coder.agent import COMMANDS, MODES
from accord.coder.request_parser import understand
from accord.coder.tools.toolbox import OFFERED
from tests.tables import rows

PAGE = (Path(__file__).parents[2] / "docs" / "coder.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## The built-in model")[2].partition("\n## ")[0]
REQUESTS = re.findall(r"^\| `([^`]+)` \|", SECTION, re.MULTILINE)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@rows("request_", REQUESTS)
def test_what_the_page_says_is_understood(request_: str) -> None:
    assert understand(request_)


def test_the_page_has_requests() -> None:
    assert len(REQUESTS) > 10


@pytest.mark.parametrize("text", blocks("python"))
def test_python_runs(text: str) -> None:
    exec(compile(text, "docs/coder.md", "exec"), {})  # noqa: S102 - our own page


def test_every_tool_mode_and_command_is_on_the_page() -> None:
    names = [tool.name for tools in OFFERED.values() for tool in tools]
    names += [mode.value for mode in MODES]
    names += [f"/{name}" for name, _, _ in COMMANDS]
    for name in names:
        assert f"`{name}" in PAGE, name
