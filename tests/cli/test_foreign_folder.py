"""The command in a folder whose files have the names of modules: none of them is imported."""

from __future__ import annotations

import json
import shlex
import sys

import pytest

from accord.cli.target import built_in_target, noted_target
from accord.testing import program
from tests.cli import scripts
from tests.cli.command import Accord

SHADOWED = ("accord", "asyncio", "json", "logging", "msgspec", "typing")


@pytest.fixture
def foreign(accord: Accord) -> Accord:
    """The command in such a folder."""
    for name in SHADOWED:
        (accord.cwd / f"{name}.py").write_text(
            f'open("ran-{name}", "w").close()\nraise SystemExit("ran {name}")\n', encoding="utf-8"
        )
    return accord


def _ran(accord: Accord) -> list[str]:
    return [path.name for path in accord.cwd.glob("ran-*")]


def test_the_built_in_agent_does_not_import_from_the_folder(foreign: Accord) -> None:
    result = foreign("run", "demo", "list")
    assert (result.status, _ran(foreign)) == (0, [])


def test_a_comparison_does_not_import_from_the_folder(foreign: Accord) -> None:
    command, *args = program.command_of(scripts.plain)
    servers = {"plain": {"command": command, "args": args}}
    foreign.config.write_text(json.dumps({"agent_servers": servers}), encoding="utf-8")
    result = foreign("run", "--compare", "demo,plain", "list")
    assert (result.status, _ran(foreign)) == (0, [])


def test_a_session_that_was_noted_without_the_option_is_continued_with_it() -> None:
    target = built_in_target("offline")
    words = shlex.split(target.key)
    assert words[1:4] == [sys.executable, "-P", "-m"]
    assert noted_target(shlex.join(["--", sys.executable, "-m", *words[4:]])).key == target.key
