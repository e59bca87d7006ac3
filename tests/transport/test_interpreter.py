"""The command line and the environment of our own interpreter: nothing of them leads into the current directory."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from accord.transport.interpreter import environment_of, has_interpreter, own_command
from tests.tables import rows

OURS = own_command("accord.coder", "--model", "offline")
FOLDERS = ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONPYCACHEPREFIX")


def test_a_module_is_started_without_the_current_directory_on_its_path() -> None:
    assert (sys.executable, "-P", "-m", "accord.coder", "--model", "offline") == OURS


def test_a_file_is_started_without_the_environment_and_without_packages() -> None:
    assert own_command(Path("/a/file.py"), "8000") == (sys.executable, "-I", "-S", str(Path("/a/file.py")), "8000")


@rows("name", FOLDERS)
def test_folders_that_are_not_absolute_are_dropped(name: str) -> None:
    kept = [os.path.abspath(each) for each in ("one", "two")]  # noqa: PTH100 - as text
    given = {name: os.pathsep.join(["", ".", kept[0], "src", "~/lib", "", kept[1], ""]), "OTHER": "."}
    assert environment_of(OURS, given, {}) == {name: os.pathsep.join(kept), "OTHER": "."}
    assert environment_of(OURS, {name: f"{os.pathsep}src"}, {}) == {}


def test_of_the_changes_no_variable_of_python_is_passed_on() -> None:
    given = {"PYTHONUTF8": "1", "PYTHONSTARTUP": "/home/ada/start.py", "HOME": "/home/ada"}
    here = str(Path.cwd())
    changes = {"PYTHONPATH": here, "PYTHONSTARTUP": "x.py", "PYTHONWARNINGS": "x", "PYTHONUTF8": None, "KEY": "1"}
    assert environment_of(OURS, given, changes) == {"PYTHONUTF8": "1", "HOME": "/home/ada", "KEY": "1"}


@rows(
    "argv",
    [
        (["python", "agent.py"],),
        ([sys.executable, "agent.py"],),
        ([sys.executable, "-P", "-m", "my_agent"],),
        ([sys.executable, "-P", "-m", "accordion"],),
        ([sys.executable, "-P", "-m"],),
        (["accord", "agent"],),
        ([],),
    ],
)
def test_a_program_of_the_user_keeps_its_environment(argv: list[str]) -> None:
    given = {"PYTHONPATH": "src", "PYTHONSTARTUP": "start.py", "GONE": "1"}
    changes = {"PYTHONPATH": "lib", "GONE": None}
    assert environment_of(argv, given, changes) == {"PYTHONPATH": "lib", "PYTHONSTARTUP": "start.py"}


def test_a_frozen_program_has_no_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    assert has_interpreter()
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert not has_interpreter()
