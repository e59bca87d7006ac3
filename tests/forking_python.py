"""A Python interpreter that starts its programs by forks: what one of them imported, the next ones find imported.

`forking_python()` is the path of a program that takes what `python` takes: a script, `-m` or `-c`, with `-P`, `-W` and
`-u`. Each is a process of its own with the streams, directory, environment and signals that it was given, and with a
`__main__` of its own; its end is that of the program that was started. Anything else (`-I`, `-m pytest`) starts the
interpreter itself. Where a start from nothing is the subject, use `sys.executable`.

This file is the server, too. It imports nothing but the standard library: other environments run it.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import hashlib
import importlib
import io
import marshal
import os
import selectors
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
import types
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

if sys.platform != "win32":
    import fcntl

__all__ = ["forking_python"]

SOURCES = str(Path(__file__).parents[1] / "src")
STDERR = 2
# Where a program tells what it imported: a high number, so that its own files have the usual ones.
REPORT = 200
SIZE = 8
JOINED, GONE = "joined", "gone"
MOST_FILES = 65_536
LARGEST_REPORT = 200_000

# What stands behind the name of the interpreter: asks the server for a fork, gives it its streams, and ends as it does.
# It is started for every program, so it imports only what is built in.
CLIENT = """
import marshal, posix, sys, _signal, _socket
address, python = sys.argv[1:3]
words = sys.argv[3:]
options, place = [], 0
while place < len(words) and words[place] in ("-P", "-u", "-W"):
    step = 2 if words[place] == "-W" else 1
    options.append(words[place:place + step])
    place += step
rest = words[place:]
is_known = bool(rest) and (rest[0] in ("-m", "-c") and len(rest) > 1 or rest[0][0] != "-")
if not is_known or rest[:2] == ["-m", "pytest"]:
    posix.execv(python, [python, *words])
server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
server.connect(address)
request = marshal.dumps((options, rest, posix.getcwd(), posix.environ))
streams = []
for number in (0, 1, 2):
    try:
        posix.fstat(number)
    except OSError:
        posix.open("/dev/null", posix.O_RDWR)
    streams.append(number)
data = b"".join(number.to_bytes(4, sys.byteorder) for number in streams)
server.sendmsg([len(request).to_bytes(8, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, data)])
server.sendall(request)
for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP, _signal.SIGUSR1):
    if _signal.getsignal(number) is not _signal.SIG_IGN:
        _signal.signal(number, lambda number, _: server.send(bytes([number])))
for number in (0, 1, 2):
    posix.close(number)
ended = b""
while len(ended) < 4:
    part = server.recv(4 - len(ended))
    if not part:
        posix._exit(1)
    ended += part
status = int.from_bytes(ended, "big", signed=True)
if status < 0:
    if status != -9:
        _signal.signal(-status, _signal.SIG_DFL)
    posix.kill(posix.getpid(), -status)
posix._exit(status)
"""


@functools.cache
def forking_python(python: str = sys.executable, imports: str = "accord.client accord.agent") -> Path:
    """The program in place of `python`, whose server imports some modules at its start; every one finds Accord.

    All workers of a run share a server. It ends with the last of them.
    """
    if sys.platform == "win32":
        return Path(python)
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    name = hashlib.sha256(repr((run, python, imports)).encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"forking-{os.getuid()}-{name}"
    folder.mkdir(mode=0o700, exist_ok=True)
    program = folder / "python"
    turn = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not _join(folder):
            # A server that ended meanwhile has removed it.
            folder.mkdir(mode=0o700, exist_ok=True)
            _start(folder, program, [python, "-P", __file__, str(folder), imports])
            assert _join(folder)
    finally:
        os.close(turn)
    return program


def _start(folder: Path, program: Path, command: Sequence[str]) -> None:
    (folder / "client.py").write_text(CLIENT, encoding="utf-8")
    python = command[0]
    words = [python, "-I", "-S", str(folder / "client.py"), str(folder / "socket"), python]
    program.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    # Other sources, such as the copy that scripts/mutants breaks, come before ours.
    sources = os.pathsep.join(each for each in (kept.get("PYTHONPATH"), SOURCES) if each)
    server = subprocess.Popen(
        command,
        env={**kept, "PYTHONPATH": sources},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    # Registered before the connection's end, so called after it.
    atexit.register(server.wait)
    assert server.stdout is not None
    assert server.stdout.readline() == b"listening\n"
    server.stdout.close()


def _join(folder: Path) -> bool:
    """Be one of those for whom the server is there, until this process ends; false if there is none."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(folder / "socket"))
        connection.sendall(bytes(SIZE))
        is_taken = connection.recv(1) == b"\1"
    except OSError:
        is_taken = False
    if not is_taken:
        connection.close()
        return False
    atexit.register(connection.close)
    return True


Asked = tuple[tuple[Any, ...], list[int]]
"""The options, words, directory and environment of a program, and its streams."""


class Server:
    """Forks for whoever connects."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "socket").unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(folder / "socket"))
        self._inode = (folder / "socket").stat().st_ino
        self._listener.listen(128)
        self._reports, self._report = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._woken, self._waker = socket.socketpair()
        for end in (self._report, self._woken, self._waker):
            end.settimeout(0)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._waker.fileno())
        self._children: dict[int, socket.socket] = {}
        self._callers: dict[socket.socket, int] = {}
        self._users: set[socket.socket] = set()
        self._selector = selectors.DefaultSelector()
        self._watch(self._listener, self._accept)
        self._watch(self._reports, self._hear)
        self._watch(self._woken, self._reap)

    def serve(self) -> Asked | None:
        """Serve until nobody is left; in a child: what it is to be, when it has nothing of the server any more."""
        sys.stdout.write("listening\n")
        sys.stdout.flush()
        is_used = False
        while self._users or not is_used:
            for key, _ in self._selector.select():
                asked = key.data(key.fileobj)
                if asked is not None:
                    return asked  # type: ignore[no-any-return]
            is_used = is_used or bool(self._users)
        for child in self._children:
            _kill(child, signal.SIGKILL)
        self._clear()
        return None

    def _clear(self) -> None:
        """Remove the folder, but not that of a server that follows."""
        turn = os.open(self._folder, os.O_RDONLY)
        fcntl.flock(turn, fcntl.LOCK_EX)
        if (self._folder / "socket").stat().st_ino == self._inode:
            shutil.rmtree(self._folder, ignore_errors=True)
        os.close(turn)

    def _watch(self, source: socket.socket, callback: Callable[[socket.socket], Asked | None]) -> None:
        self._selector.register(source, selectors.EVENT_READ, callback)

    def _accept(self, _: socket.socket) -> Asked | None:
        caller, _ = self._listener.accept()
        asked = _asked(caller)
        if not isinstance(asked, tuple):
            self._take(caller) if asked == JOINED else caller.close()
            return None
        child = os.fork()
        if child == 0:
            caller.close()
            self._leave()
            return asked
        for number in asked[1]:
            os.close(number)
        self._children[child], self._callers[caller] = caller, child
        self._watch(caller, self._pass_on)
        return None

    def _take(self, user: socket.socket) -> None:
        def leave(user: socket.socket) -> None:
            self._users.discard(user)
            self._selector.unregister(user)
            user.close()

        self._users.add(user)
        self._watch(user, leave)
        user.sendall(b"\1")

    def _leave(self) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for end in (self._listener, self._reports, self._woken, self._waker, *self._callers, *self._users):
            end.close()
        os.dup2(self._report.fileno(), REPORT, inheritable=False)
        self._report.close()

    def _hear(self, _: socket.socket) -> None:
        self.learn(marshal.loads(self._reports.recv(LARGEST_REPORT)))  # noqa: S302 - our own fork sent it

    def learn(self, names: Sequence[str]) -> None:
        """Import what a program imports, for the next ones."""
        for name in names:
            with contextlib.suppress(BaseException):
                importlib.import_module(name)
        # What there is stays: a collection would copy every page of it into each fork.
        gc.freeze()

    def _pass_on(self, caller: socket.socket) -> None:
        """Pass on a signal; where the one who asked was killed, its program is killed too."""
        if caller not in self._callers:
            return
        try:
            numbers = caller.recv(64)
        except ConnectionError:
            numbers = b""
        for number in numbers or [signal.SIGKILL]:
            _kill(self._callers[caller], number)
        if not numbers:
            self._selector.unregister(caller)

    def _reap(self, _: socket.socket) -> None:
        """Tell the end of the programs that have ended."""
        self._woken.recv(4096)
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                caller = self._children.pop(ended[0])
                del self._callers[caller]
                with contextlib.suppress(OSError):
                    caller.sendall(os.waitstatus_to_exitcode(ended[1]).to_bytes(4, "big", signed=True))
                with contextlib.suppress(KeyError):
                    self._selector.unregister(caller)
                caller.close()


def _be(asked: Asked, program: str) -> int:
    """Be the program, in a child; returns its status."""
    (options, words, folder, environment), streams = asked
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(STDERR + 1, REPORT)
    os.closerange(REPORT + 1, MOST_FILES)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update({os.fsdecode(name): os.fsdecode(value) for name, value in environment.items()})
    sys.executable = program
    sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__ = [*map(_stream, range(3))]  # type: ignore[misc]
    before = set(sys.modules)
    status = _status_of(options, words)
    _tell(before)
    return status


def _asked(caller: socket.socket) -> Asked | str:
    """What the caller wants to be started, and its streams; or that it is a user, or gone."""
    size, streams, _, _ = socket.recv_fds(caller, SIZE, 3)
    if not streams:
        return JOINED if size == bytes(SIZE) else GONE
    wanted, request = int.from_bytes(size, "big"), b""
    while len(request) < wanted:
        part = caller.recv(wanted - len(request))
        if not part:
            for number in streams:
                os.close(number)
            return GONE
        request += part
    asked: tuple[Any, ...] = marshal.loads(request)  # noqa: S302 - our own client sent it
    return asked, streams


def _kill(child: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        if number == signal.SIGKILL:
            # Before the child has its own group, there is nothing but itself.
            try:
                os.killpg(child, number)
            except ProcessLookupError:
                os.kill(child, number)
        else:
            os.kill(child, number)


def _stream(number: int) -> io.TextIOWrapper:
    raw = io.FileIO(number, "r" if number == 0 else "w", closefd=False)
    binary = io.BufferedReader(raw) if number == 0 else io.BufferedWriter(raw)
    errors = "backslashreplace" if number == STDERR else "strict"
    by_lines = number == STDERR or os.isatty(number)
    return io.TextIOWrapper(binary, encoding="utf-8", errors=errors, line_buffering=by_lines)


def _status_of(options: Sequence[Sequence[str]], words: Sequence[str]) -> int:
    try:
        _run(options, words)
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return (error.code or 0) & 0xFF
        sys.stderr.write(f"{error.code}\n")
        return 1
    except KeyboardInterrupt:
        traceback.print_exc()
        sys.stderr.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:  # noqa: BLE001 - as an interpreter does at the end of its program
        traceback.print_exc()
        return 1
    return 0


def _run(options: Sequence[Sequence[str]], words: Sequence[str]) -> None:
    filters = [each for each in os.environ.get("PYTHONWARNINGS", "").split(",") if each]
    for each in (*filters, *(option[1] for option in options if option[0] == "-W")):
        sys.warnoptions.append(each)
        warnings._setoption(each)  # type: ignore[attr-defined]
    sys.path[:0] = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    is_safe = ["-P"] in [list(option) for option in options]
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    kind, *rest = words
    first = "" if kind == "-c" else str(Path.cwd() if kind == "-m" else Path(kind).absolute().parent)
    if not is_safe:
        sys.path.insert(0, first)
    if kind == "-m":
        sys.argv = rest
        importlib.import_module("runpy")._run_module_as_main(rest[0])
    elif kind == "-c":
        sys.argv = ["-c", *rest[1:]]
        exec(compile(rest[0], "<string>", "exec"), vars(main))  # noqa: S102 - this is an interpreter
    else:
        sys.argv = list(words)
        main.__file__ = kind
        code = Path(kind).read_bytes()
        exec(compile(code, kind, "exec", dont_inherit=True), vars(main))  # noqa: S102


def _tell(before: set[str]) -> None:
    """Tell the server what it can import for the next ones: what is installed, and nothing of the program's folder."""
    new = [name for name in sys.modules if name not in before and _is_installed(sys.modules[name])]
    with contextlib.suppress(OSError):
        os.write(REPORT, marshal.dumps(new))


def _is_installed(module: Any) -> bool:
    place = getattr(getattr(module, "__spec__", None), "origin", None)
    return place is not None and (place == "built-in" or place.startswith(INSTALLED))


def main(folder: Path, imports: Sequence[str]) -> None:
    """Serve, and be the programs."""
    server = Server(folder)
    server.learn(imports)
    asked = server.serve()
    if asked is None:
        return
    # The end of an interpreter, but for the parts that only free memory.
    status = 1
    try:
        status = _be(asked, str(folder / "python"))
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    finally:
        os._exit(status)


if __name__ == "__main__":
    INSTALLED = tuple(sys.path)
    main(Path(sys.argv[1]), sys.argv[2].split())
