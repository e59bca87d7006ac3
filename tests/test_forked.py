"""Programs that are forks of the test process."""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forked import forked_python
from tests.tables import rows

PROGRAM = """
import os, sys
print(sys.argv[1:], "pytest" in sys.modules, os.getcwd(), os.environ.get("KEY"))
sys.exit(3)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def said_by(program: Path) -> tuple[str, int]:
    argv = [sys.executable, str(program), "a", "b"]
    ended = subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd="/",
        env={**os.environ, "KEY": "value"},
        check=False,
    )
    return ended.stdout, ended.returncode


def test_a_fork_has_its_own_arguments_directory_environment_streams_and_status(program: Path) -> None:
    with forked_python():
        assert said_by(program) == ("['a', 'b'] True / value\n", 3)


LOGS = "import logging; logging.getLogger('accord.serve').info('one'); logging.getLogger('accord.serve').warning('two')"


def test_a_fork_has_no_handler_and_no_level_of_a_log_that_a_test_has_left(tmp_path: Path) -> None:
    log, left = logging.getLogger("accord.serve"), logging.StreamHandler(io.StringIO())
    before = log.level, log.propagate
    log.addHandler(left)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    left.stream.close()
    (tmp_path / "program.py").write_text(LOGS, encoding="utf-8")
    try:
        with forked_python():
            argv = [sys.executable, str(tmp_path / "program.py")]
            ended = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    finally:
        log.removeHandler(left)
        log.setLevel(before[0])
        log.propagate = before[1]
    assert ended.stderr == b"two\n"


def test_behind_the_last_of_several_at_once_programs_are_executed_again(program: Path) -> None:
    one, other = forked_python(), forked_python()
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert "True" in said_by(program)[0]
    other.__exit__(None, None, None)
    assert "False" in said_by(program)[0]


@rows("option", ["-I", "-c"])
def test_a_program_with_options_is_no_fork(option: str) -> None:
    argv = [sys.executable, *{"-I": ["-I", "-c"], "-c": ["-c"]}[option], "import sys; print('pytest' in sys.modules)"]
    with forked_python():
        assert subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout == b"False\n"
