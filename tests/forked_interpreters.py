"""Python programs that are started while a test runs, as forks of this process: what they import is there already.

They have all that a `ForkedProgram` has. What looks for processes by their first environment does not find them: where
that is the subject, or the start of an interpreter is, leave the fixture out.
"""

from __future__ import annotations

import functools
import importlib
import os
import runpy
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.forked import ForkedProgram, accord_command

__all__ = ["forked_interpreters"]

# What agents of ours import as they need it.
OF_AGENTS = (
    *("mcp", "accord.agent.agent", "accord.agent.mcp.requests", "accord.agent.mcp.server_connection"),
    *("accord.agent.mcp.transports", "accord.agent.mcp.diagnostics", "accord.agent.kept_sessions"),
    *("accord.agent.blocking.turn", "accord.agent.terminals", "accord.session.event_check", "accord.session.replay"),
    *("accord.coder.agent", "accord.coder.loop", "accord.coder.offline", "accord.coder.tools.runner"),
    *("accord.coder.provider", "accord.coder.subagent", "accord.coder.turns", "accord.coder.undo"),
    *("accord.cli.verbs.agent", "accord.cli.verbs.check", "opentelemetry.metrics", "encodings.utf_8_sig"),
)

_Popen: Any = subprocess.Popen


@pytest.fixture
def forked_interpreters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is started by `python FILE …` or `python -m MODULE …`, here or in such a program, is a fork."""
    accord_command()
    for name in OF_AGENTS:
        importlib.import_module(name)
    monkeypatch.setattr(subprocess, "Popen", _Started)


class _Started(ForkedProgram):
    """A fork where the command is a program for the interpreter that runs here, and else what `Popen` starts."""

    def __init__(self, argv: Sequence[str], *more: Any, **options: Any) -> None:
        self._is_fork = (
            not more and len(argv) > 1 and argv[0] == sys.executable and not argv[1].startswith(("-I", "-c"))
        )
        if self._is_fork:
            words = argv[2:] if argv[1] == "-m" else argv[1:]
            super().__init__(_main_of(argv), words, **options)
        else:
            _Popen.__init__(self, argv, *more, **options)

    def _execute_child(self, *values: Any) -> None:
        if self._is_fork:
            super()._execute_child(*values)
        else:
            _Popen._execute_child(self, *values)


def _main_of(argv: Sequence[str]) -> Callable[[], int]:
    if argv[1] != "-m":
        return functools.partial(_run_file, argv[1])
    return accord_command() if argv[2] == "accord" else functools.partial(_run_module, argv[2])


def _run_file(path: str) -> int:
    # As an interpreter does it; for a folder `runpy` does.
    if Path(path).is_file():
        sys.path.insert(0, str(Path(path).parent))
    return _run(functools.partial(runpy.run_path, path))


def _run_module(name: str) -> int:
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - an absolute text
    return _run(functools.partial(runpy.run_module, name, alter_sys=True))


def _run(run: Callable[..., object]) -> int:
    # The one of pytest gives no code.
    sys.meta_path[:] = [each for each in sys.meta_path if not type(each).__module__.startswith("_pytest")]
    run(run_name="__main__")
    return 0
