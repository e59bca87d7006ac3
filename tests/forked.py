"""Programs of Python in processes of their own that begin with the imports of this one: forks, no new interpreters.

A fork has real pipes or a real terminal, its own directory, environment, signals and exit status, and ends by real
signals. What it has not is an interpreter that starts from nothing: where that is the subject (what is imported, what
`python -m`, an entry point or a variable of Python does), start one. `/proc` shows the environment and the arguments of
this process for it. A fork may not open a SQLite file that is open here: it would take the locks of this process for
its own.

`ForkedProgram` runs a function; within `forked_python` every `python program.py …` and `python -m program …` that
anybody starts is a fork, however deep in the product. What a fork starts by such a command is one, too.
"""

from __future__ import annotations

import atexit
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import thread
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from _pytest.assertion.rewrite import AssertionRewritingHook

from accord.transport import lineage

__all__ = ["ForkedProgram", "accord_command", "forked_python", "status_of"]

Main: TypeAlias = Callable[[], int]

# What a run of the command imports as it needs it: imported once here, and found by every fork.
OF_THE_COMMAND = (
    *("accord.cli.run.text", "accord.cli.run.owner_socket", "accord.cli.run.conversation", "accord.cli.verbs.run"),
    *("accord.cli.verbs.agents", "accord.cli.verbs.sessions", "accord.cli.verbs.trace", "accord.cli.fault"),
    *("accord.session.editions.v1", "accord.session.editions.v2", "accord.session.editions.v2_june"),
    *("accord.transport.stdio", "accord.transport.process"),
    *("accord.testing.program", "accord.testing.scripted", "accord.cli.verbs.agent"),
    *("accord.coder.__main__", "accord.coder.turns", "accord.coder.memory"),
)

STDERR = 2
MOST_FILES = 65_536
ENDS = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")

_execute = subprocess.Popen._execute_child  # type: ignore[attr-defined]
_PARAMETERS = tuple(inspect.signature(_execute).parameters)[1:]
# The programs that are started now shall be forks.
_wanted: list[tuple[str, ...]] = []
# The streams of the process that was forked: one that is forgotten closes its descriptor, which is another's by then.
_replaced: list[Any] = []


class ForkedProgram(subprocess.Popen[bytes]):
    """`main` in a process of its own, with the words behind the program's name as `sys.argv`.

    All else is as with `subprocess.Popen`: pipes, `communicate`, `send_signal`.
    """

    def __init__(self, main: Main, argv: Sequence[str], **options: Any) -> None:
        self._main = main
        super().__init__(list(argv), **options)

    def _execute_child(self, *values: Any) -> None:
        _fork(self, self._main, dict(zip(_PARAMETERS, values, strict=True)))


@functools.cache
def accord_command() -> Main:
    """`accord` for a `ForkedProgram`."""
    for name in OF_THE_COMMAND:
        importlib.import_module(name)
    return importlib.import_module("accord.cli.main").main  # type: ignore[no-any-return]


@contextlib.contextmanager
def forked_python(*imports: str) -> Iterator[None]:
    """Every `python program.py …` and `python -m program …` that is started is a fork; with other options it is not.

    `imports` are what the programs import; they are imported here, once.
    """
    for name in imports:
        importlib.import_module(name)
    # Counted: several tasks may start programs at once, and one leaves first.
    _wanted.append(imports)
    subprocess.Popen._execute_child = _fork_or_execute  # type: ignore[attr-defined]
    try:
        yield
    finally:
        _wanted.pop()
        if not _wanted:
            subprocess.Popen._execute_child = _execute  # type: ignore[attr-defined]


def _fork_or_execute(popen: subprocess.Popen[bytes], *values: Any) -> None:
    given = dict(zip(_PARAMETERS, values, strict=True))
    main = _program_of(given)
    if main is None:
        _execute(popen, *values)
    else:
        _fork(popen, main, given)


def _program_of(given: Mapping[str, Any]) -> Main | None:
    """What runs the program of a command; none where that is not one of Python, or only an interpreter does that."""
    # Without a pipe it is the program of a user, with the terminal to itself.
    is_alone = given["p2cread"] == -1
    if is_alone or given["shell"] or given["pass_fds"] or isinstance(given["args"], str | bytes):
        return None
    env, cwd = given["env"] or os.environ, given["cwd"] or "."
    variables = [{(name, each[name]) for name in each if name.startswith("PYTHON")} for each in (env, os.environ)]
    if variables[0] != variables[1] or not os.access(cwd, os.X_OK):
        return None
    match list(map(os.fsdecode, given["args"])):
        case [sys.executable, "-P", "-m", module, *words]:
            return lambda: _run_module(module, words)
        case [sys.executable, "-m", module, *words]:
            return lambda: _run_module(module, words, Path.cwd())
        case [sys.executable, "-W", action, script, *words] if _is_program(script, cwd):
            return lambda: _run_script(script, words, action)
        case [sys.executable, script, *words] if _is_program(script, cwd):
            return lambda: _run_script(script, words)
        case _:
            return None


def _is_program(path: str, cwd: str | os.PathLike[str]) -> bool:
    program = Path(cwd, path)
    return (program.suffix == ".py" and program.is_file()) or (program / "__main__.py").is_file()


def _run_module(name: str, words: Sequence[str], folder: Path | None = None) -> int:
    sys.argv = [name, *words]
    if folder is not None:
        sys.path.insert(0, str(folder))
    # Found anew: what pytest has imported with other assertions cannot be run.
    for known in (name, f"{name}.__main__"):
        if not hasattr(sys.modules.get(known), "__path__"):
            sys.modules.pop(known, None)
    runpy.run_module(name, run_name="__main__", alter_sys=True)
    return 0


def _run_script(path: str, words: Sequence[str], warn: Any = "ignore") -> int:
    warnings.simplefilter(warn)
    sys.argv = [path, *words]
    if Path(path).is_file():
        # For a folder `runpy` does it.
        sys.path.insert(0, str(Path(path).parent.absolute()))
    runpy.run_path(path, run_name="__main__")
    return 0


def _fork(popen: Any, main: Main, given: Mapping[str, Any]) -> None:
    """What `Popen` does where it starts a program: it returns when that has its session and its signals."""
    _flush()
    ready, begun = os.pipe()
    popen.pid = os.fork()
    if popen.pid == 0:
        _run(main, given, begun)
    popen._child_created = True
    os.close(begun)
    os.read(ready, 1)
    os.close(ready)
    popen._close_pipe_fds(*(given[name] for name in ENDS))


def _run(main: Main, given: Mapping[str, Any], begun: int) -> NoReturn:
    """Be the program, and end with it; the end of `begun` tells that it is one."""
    status = 1
    try:
        begun = fcntl.fcntl(begun, fcntl.F_DUPFD, STDERR + 1)
        _move(given, begun)
        _begin_anew(given["args"])
        os.close(begun)
        status = status_of(main)
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
    except BaseException:  # noqa: BLE001 - nobody else would see it
        os.write(STDERR, traceback.format_exc().encode())
    finally:
        with contextlib.suppress(OSError, ValueError):
            _flush()
        _keep_coverage()
        os._exit(status)


def status_of(main: Main) -> int:
    """The exit status of a program, with what an interpreter says at its end."""
    try:
        return main()
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        sys.stderr.write(f"{error.code}\n")
    except BaseException:  # noqa: BLE001 - as an interpreter does at the end of its program
        traceback.print_exc()
    return 1


def _move(given: Mapping[str, Any], begun: int) -> None:
    """The streams, the session, the directory and the environment that the program was given."""
    if given["start_new_session"]:
        os.setsid()
    ends = [given[name] for name in ("p2cread", "c2pwrite", "errwrite")]
    # Where a stream was closed a pipe has its number.
    ends = [fcntl.fcntl(end, fcntl.F_DUPFD, STDERR + 1) if 0 <= end <= STDERR else end for end in ends]
    for number, end in enumerate(ends):
        if end != -1:
            os.dup2(end, number)
    # It may be named by a descriptor that is closed then.
    if given["cwd"] is not None:
        os.chdir(given["cwd"])
    os.closerange(STDERR + 1, begun)
    os.closerange(begun + 1, MOST_FILES)
    if given["preexec_fn"] is not None:
        given["preexec_fn"]()
    if given["umask"] >= 0:
        os.umask(given["umask"])
    if given["env"] is not None:
        os.environ.clear()
        os.environ.update(given["env"])


def _begin_anew(argv: Sequence[str]) -> None:
    """What an interpreter has at its start, and pytest has changed."""
    # What there is stays: a collection would copy every page of it into this process.
    gc.freeze()
    subprocess.Popen._execute_child = _fork_or_execute  # type: ignore[attr-defined]
    # The threads of the process that was forked are not here; one of them may be the one that has forked.
    thread._threads_queues.clear()  # type: ignore[attr-defined]
    # What pytest wants at its end is not wanted at this one; what the product wants is.
    atexit._clear()
    if lineage._household._registered:
        atexit.register(lineage._household.end_all)
    for name in (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGCHLD, signal.SIGUSR1):
        signal.signal(name, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.set_wakeup_fd(-1)
    sys.argv = list(map(os.fsdecode, argv))
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, AssertionRewritingHook)]
    streams = (("r", "surrogateescape"), ("w", "surrogateescape"), ("w", "backslashreplace"))
    opened = [_stream(number, mode, errors) for number, (mode, errors) in enumerate(streams)]
    _replaced.append((sys.stdin, sys.stdout, sys.stderr))
    sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__ = opened  # type: ignore[misc]
    _quiet_logs()
    warnings.resetwarnings()
    warnings.simplefilter("ignore")


def _quiet_logs() -> None:
    """No handler and no level that a test has left: a command that ran in the process of the tests directs its log."""
    logging.root.handlers.clear()
    logging.root.setLevel(logging.WARNING)
    for logger in logging.root.manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            logger.handlers.clear()
            logger.setLevel(logging.NOTSET)
            logger.propagate = True


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
