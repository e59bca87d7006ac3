"""A program of ours in a process of its own that begins with the imports of this one: a fork, no new interpreter.

It has real pipes or a real terminal, its own directory, environment, signals and exit status, and ends by real signals.
What it has not is an interpreter that starts from nothing: where that is the subject (what is imported, what
`python -m`, an entry point or a variable of Python does), start one.

A fork shares the open databases of the test with it: SQLite then takes the locks of the one for those of the other.

The agents of ours that it starts by `python -P -m`, and those of the tests that are a file, are forks of it in the same
way.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import gc
import importlib
import inspect
import io
import logging
import os
import runpy
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

__all__ = ["ForkedProgram", "accord_command"]

# What a run of the command imports as it needs it: imported once here, and found by every fork.
OF_THE_COMMAND = (
    *("accord.cli.run.text", "accord.cli.run.owner_socket", "accord.cli.run.conversation", "accord.cli.verbs.run"),
    *("accord.cli.verbs.agents", "accord.cli.verbs.sessions", "accord.cli.verbs.trace", "accord.cli.fault"),
    *("accord.session.editions.v1", "accord.session.editions.v2", "accord.session.editions.v2_june"),
    *("accord.transport.stdio", "accord.transport.process"),
    *("accord.testing.program", "accord.testing.scripted", "accord.cli.verbs.agent"),
    *("accord.coder.__main__", "accord.coder.turns", "accord.coder.memory"),
)
# What is a fork where it is started as `python -P -m` of it, and the module that then has `main`.
AGENTS = {
    "accord": "accord.cli.main",
    "accord.coder": "accord.coder.__main__",
    "accord.testing.program": "accord.testing.program",
    "accord.cli.compare_child": "accord.cli.compare_child",
}

STDERR = 2
_KEPT: list[Any] = []
MOST_FILES = 65_536

_really_execute: Callable[..., None] = subprocess.Popen._execute_child  # type: ignore[attr-defined]
_PARAMETERS = tuple(inspect.signature(subprocess.Popen._execute_child).parameters)[1:]  # type: ignore[attr-defined]


class ForkedProgram(subprocess.Popen[bytes]):
    """`main` in a process of its own, with the words behind the program's name as `sys.argv`.

    All else is as with `subprocess.Popen`: pipes, `communicate`, `send_signal`.
    """

    def __init__(self, main: Callable[[], int], argv: Sequence[str], **options: Any) -> None:
        self._main = main
        super().__init__(list(argv), **options)

    def _execute_child(self, *values: Any) -> None:
        _fork(self, self._main, dict(zip(_PARAMETERS, values, strict=True)))


@functools.cache
def accord_command() -> Callable[[], int]:
    """`accord` for a `ForkedProgram`."""
    for name in OF_THE_COMMAND:
        importlib.import_module(name)
    return importlib.import_module("accord.cli.main").main  # type: ignore[no-any-return]


def _fork(popen: Any, main: Callable[[], int], given: Mapping[str, Any]) -> None:
    _flush()
    popen.pid = os.fork()
    if popen.pid == 0:
        _run(main, given)
    popen._child_created = True
    ends = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
    popen._close_pipe_fds(*(given[name] for name in ends))


def _execute_agent(popen: Any, *values: Any) -> None:
    """What `subprocess` of a forked program does: an agent of ours is forked, all else is executed."""
    given = dict(zip(_PARAMETERS, values, strict=True))
    program, words = _program_of(given)
    if program is not None:
        given["args"] = words
        _fork(popen, program, given)
    else:
        _really_execute(popen, *values)


def _program_of(given: Mapping[str, Any]) -> tuple[Callable[[], int] | None, list[str]]:
    """What our interpreter is to run, and its `sys.argv`; none where only an interpreter does the same."""
    argv, env, cwd = [os.fspath(word) for word in given["args"]], given["env"] or os.environ, given["cwd"] or "."
    variables = [{(name, each[name]) for name in each if name.startswith("PYTHON")} for each in (env, os.environ)]
    # An agent has pipes; without them it is the program of a user, with the terminal to itself.
    is_agent = argv[0] == sys.executable and len(argv) > 1 and given["p2cread"] != -1
    if not is_agent or variables[0] != variables[1] or not os.access(cwd, os.X_OK):
        return None, []
    if argv[1:3] == ["-P", "-m"] and argv[3] in AGENTS:
        return functools.partial(_run_module, AGENTS[argv[3]]), argv[3:]
    for path in (argv[1], f"{argv[1]}/__main__.py"):
        if path.endswith(".py") and os.path.isfile(os.path.join(cwd, path)):  # noqa: PTH113, PTH118 - in a fork
            return functools.partial(_run_file, path), argv[1:]
    return None, []


def _run_module(name: str) -> int:
    return importlib.import_module(name).main()  # type: ignore[no-any-return]


def _run_file(path: str) -> int:
    sys.path.insert(0, str(Path(path).parent.absolute()))
    runpy.run_path(path, run_name="__main__")
    return 0


def _run(main: Callable[[], int], given: Mapping[str, Any]) -> NoReturn:
    """Be the program, and end with it."""
    status = 1
    try:
        _move(given)
        _begin_anew(given["args"])
        status = _status_of(main)
        threading._shutdown()  # type: ignore[attr-defined]
    finally:
        with contextlib.suppress(OSError, ValueError):
            _flush()
        _keep_coverage()
        os._exit(status)


def _status_of(main: Callable[[], int]) -> int:
    try:
        return main()
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        sys.stderr.write(f"{error.code}\n")
    except BaseException:  # noqa: BLE001 - as an interpreter does at the end of its program
        traceback.print_exc()
    return 1


def _move(given: Mapping[str, Any]) -> None:
    """The streams, the session, the directory and the environment that the program was given."""
    if given["start_new_session"]:
        os.setsid()
    ends = [given[name] for name in ("p2cread", "c2pwrite", "errwrite")]
    # Where a stream was closed a pipe has its number.
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD, STDERR + 1) if 0 <= end <= STDERR else end for end in ends]
    for number, end in enumerate(ends):
        if end != -1:
            os.dup2(end, number)
    os.closerange(STDERR + 1, MOST_FILES)
    if given["preexec_fn"] is not None:
        given["preexec_fn"]()
    if given["cwd"] is not None:
        os.chdir(given["cwd"])
    if given["umask"] >= 0:
        os.umask(given["umask"])
    if given["env"] is not None:
        os.environ.clear()
        os.environ.update(given["env"])


def _begin_anew(argv: Sequence[str]) -> None:
    """What an interpreter has at its start, and pytest has changed."""
    # What there is stays: a collection would copy every page of it into this process.
    gc.freeze()
    subprocess.Popen._execute_child = _execute_agent  # type: ignore[attr-defined]
    for name in (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGCHLD, signal.SIGUSR1):
        signal.signal(name, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.set_wakeup_fd(-1)
    sys.argv = list(argv)
    streams = (("r", "surrogateescape"), ("w", "surrogateescape"), ("w", "backslashreplace"))
    opened = [_stream(number, mode, errors) for number, (mode, errors) in enumerate(streams)]
    # One that is forgotten closes its descriptor, which is another's by now.
    _KEPT.append((sys.stdin, sys.stdout, sys.stderr))
    sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__ = opened  # type: ignore[misc]
    logging.root.handlers.clear()
    logging.root.setLevel(logging.WARNING)
    warnings.resetwarnings()
    warnings.simplefilter("ignore")


def _stream(number: int, mode: str, errors: str) -> io.TextIOWrapper | None:
    try:
        os.fstat(number)
    except OSError:
        return None
    raw = io.FileIO(number, mode, closefd=False)
    binary = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
    # stderr by lines, the others by blocks where they are no terminal.
    by_lines = number == STDERR or os.isatty(number)
    return io.TextIOWrapper(binary, encoding="utf-8", errors=errors, line_buffering=by_lines)


def _keep_coverage() -> None:
    coverage = sys.modules.get("coverage")
    measured = coverage and coverage.Coverage.current()
    if measured:
        measured.stop()
        measured.save()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
