"""A program's own stdin and stdout: pipes, files, sockets, a terminal, and what stray prints do."""

from __future__ import annotations

import os
import pty
import socket
import subprocess
import sys
import termios
import textwrap
from typing import TYPE_CHECKING

import pytest

from accord.transport.polled import can_poll
from tests.limits import limit
from tests.transport.processes import SOURCES

if TYPE_CHECKING:
    from pathlib import Path

ECHO = """
    import asyncio, os, sys
    from accord.transport import open_stdio

    async def main():
        transport = open_stdio()
        while texts := await transport.receive():
            for text in texts:
                await transport.send(text)
        await transport.close()

    asyncio.run(main())
"""


# In this mode asyncio warns of each step that took 0.1 s: a busy machine is no fault of the program.
QUIET = "import logging; logging.getLogger('asyncio').setLevel(logging.ERROR)\n"


def command(source: str) -> list[str]:
    return [sys.executable, "-X", "dev", "-W", "error", "-c", QUIET + textwrap.dedent(source)]


ENVIRONMENT = {**os.environ, "PYTHONPATH": SOURCES}
ENVIRONMENT.pop("PYTHONUNBUFFERED", None)


def run(source: str, said: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command(source), input=said, env=ENVIRONMENT, capture_output=True, timeout=limit(60), check=False
    )


def test_over_pipes_it_answers_and_ends_when_stdin_ends() -> None:
    found = run(ECHO, b'{"a":1}\n{"b":"\xc3\xa9"}\n')
    assert (found.returncode, found.stdout, found.stderr) == (0, b'{"a":1}\n{"b":"\xc3\xa9"}\n', b"")


def test_a_megabyte_passes_through_pipes() -> None:
    text = b'"' + b"x" * 1_000_000 + b'"\n'
    assert run(ECHO, text * 3).stdout == text * 3


def test_over_files_it_answers_and_ends(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"1\n2\n" + b"x" * 300_000 + b"\n3")
    with (tmp_path / "in").open("rb") as stdin, (tmp_path / "out").open("wb") as stdout:
        found = subprocess.run(
            command(ECHO),
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT,
            timeout=limit(60),
            check=False,
        )
    assert (found.returncode, found.stderr) == (0, b"")
    assert (tmp_path / "out").read_bytes() == b"1\n2\n" + b"x" * 300_000 + b"\n3\n"


def test_over_one_socket_for_both_it_answers_and_leaves_it_blocking() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = subprocess.Popen(
            command(ECHO), stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.PIPE, env=ENVIRONMENT
        )
        ours.settimeout(60)
        ours.sendall(b"1\n2\n")
        heard = b""
        while heard.count(b"\n") < 2:
            heard += ours.recv(100)
        ours.shutdown(socket.SHUT_WR)
        stderr = process.communicate(timeout=limit(60))[1]
        assert (heard, process.returncode, stderr) == (b"1\n2\n", 0, b"")
        assert os.get_blocking(theirs.fileno())


def test_over_a_terminal_it_answers_and_never_makes_it_non_blocking() -> None:
    ours, theirs = pty.openpty()
    modes = termios.tcgetattr(theirs)
    modes[1] &= ~termios.OPOST
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(theirs, termios.TCSANOW, modes)
    process = subprocess.Popen(command(ECHO), stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, env=ENVIRONMENT)
    os.write(ours, b"hello\n")
    heard = b""
    while not heard.endswith(b"\n"):
        heard += os.read(ours, 100)
    blocking = os.get_blocking(theirs)
    os.write(ours, b"\x04")
    stderr = process.communicate(timeout=limit(60))[1]
    os.close(ours)
    os.close(theirs)
    assert (heard, blocking, process.returncode, stderr) == (b"hello\n", True, 0, b"")


def test_only_pipes_and_sockets_are_polled(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    reading, writing = os.pipe()
    left, right = socket.socketpair()
    with (tmp_path / "file").open("wb") as file, left, right:
        polled = [can_poll(descriptor) for descriptor in (ours, file.fileno(), reading, left.fileno())]
    for descriptor in (ours, theirs, reading, writing):
        os.close(descriptor)
    assert polled == [False, False, True, True]


STRAY = """
    import asyncio, os, subprocess, sys
    from accord.transport import open_stdio

    print("before", end="")

    async def main():
        transport = open_stdio()
        print("stray print")
        os.write(1, b"stray write\\n")
        subprocess.run(["sh", "-c", "echo stray child; cat"], check=True, timeout=30)
        try:
            input()
        except (EOFError, RuntimeError):
            print("no input", file=sys.stderr)
        [text] = await transport.receive()
        await transport.send(text)
        print("unflushed", end="")
        await transport.close()
        print("after", sys.stdin.readline(), end="")

    asyncio.run(main())
"""


def test_stray_output_goes_to_stderr_and_nobody_else_eats_the_input() -> None:
    with_rest = subprocess.Popen(
        command(STRAY),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        bufsize=0,
    )
    stdin, stdout = with_rest.stdin, with_rest.stdout
    assert stdin is not None
    assert stdout is not None
    stdin.write(b'"text"\n')
    first = stdout.read(7)
    rest, stderr = with_rest.communicate(b"the rest\n", timeout=limit(60))
    assert with_rest.returncode == 0, stderr
    assert first == b'"text"\n'
    assert rest == b"after the rest\n"
    assert stderr == b"beforestray print\nstray write\nstray child\nno input\nunflushed"


def test_stray_output_goes_nowhere_where_stderr_is_closed() -> None:
    source = textwrap.dedent(STRAY).replace('print("after"', 'sys.exit(0); print("after"')
    found = subprocess.run(
        ["sh", "-c", 'exec "$0" "$@" 2>&-', *command(source)],
        input=b'"text"\n',
        env=ENVIRONMENT,
        capture_output=True,
        timeout=limit(60),
        check=False,
    )
    assert (found.stdout, found.stderr) == (b'"text"\n', b"")


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_a_closed_stdin_or_stdout_is_a_failed_connection(closed: str) -> None:
    source = """
        import asyncio, sys
        from accord.errors import ConnectFailed
        from accord.transport import open_stdio

        async def main():
            for guard in (True, False):
                try:
                    open_stdio(guard=guard)
                except ConnectFailed:
                    print("failed", file=sys.stderr)

        asyncio.run(main())
    """
    found = subprocess.run(
        ["sh", "-c", f'exec "$0" "$@" {closed}', *command(source)],
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        timeout=limit(60),
        check=False,
    )
    assert found.stderr == b"failed\nfailed\n"


def test_a_second_guard_is_refused_until_the_first_is_closed() -> None:
    source = """
        import asyncio, sys
        from accord.errors import ConnectFailed
        from accord.transport import open_stdio

        async def main():
            first = open_stdio()
            try:
                open_stdio()
            except ConnectFailed:
                print("refused")
            await first.close()
            second = open_stdio()
            await second.send(*await second.receive())
            await second.close()

        asyncio.run(main())
    """
    found = run(source, b"1\n")
    assert (found.stdout, found.stderr) == (b"1\n", b"refused\n")


def test_without_the_guard_prints_stay_where_they_were() -> None:
    source = """
        import asyncio
        from accord.transport import open_stdio

        async def main():
            transport = open_stdio(guard=False)
            print("printed", flush=True)
            await transport.send(b"sent")
            await transport.close()

        asyncio.run(main())
    """
    found = run(source)
    assert (found.stdout, found.stderr) == (b"printed\nsent\n", b"")


def test_a_program_that_never_closes_gives_the_blocking_mode_back() -> None:
    source = """
        import asyncio
        from accord.transport import open_stdio

        async def main():
            transport = open_stdio()
            await transport.send(b"1")

        asyncio.run(main())
    """
    reading, writing = os.pipe()
    found = subprocess.run(
        command(source),
        stdout=writing,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        timeout=limit(60),
        check=False,
    )
    blocking = os.get_blocking(writing)
    os.close(writing)
    heard = os.read(reading, 100)
    os.close(reading)
    assert (found.returncode, found.stderr, heard, blocking) == (0, b"", b"1\n", True)


@pytest.mark.parametrize("said", [b'{"a":1}\n[]\n', b'Content-Length: 7\r\n\r\n{"a":1}Content-Length: 2\r\n\r\n[]'])
def test_it_answers_in_the_framing_of_its_peer(said: bytes) -> None:
    assert run(ECHO, said).stdout == said


def test_a_framing_that_is_given_is_not_recognised_but_spoken() -> None:
    in_frames, in_lines = (ECHO.replace("open_stdio()", f"open_stdio({name!r})") for name in ("headers", "lines"))
    assert run(in_frames, b"[]\nContent-Length: 2\r\n\r\n{}").stdout.count(b"Content-Length: 2\r\n\r\n") == 2
    assert run(in_lines, b"Content-Length: 2\n{}\n").stdout == b"Content-Length: 2\n{}\n"


def test_a_thread_that_waits_for_input_does_not_keep_the_program_from_ending() -> None:
    source = """
        import asyncio
        from accord.transport import StdioTransport

        async def main():
            transport = StdioTransport(force_threads=True)
            try:
                async with asyncio.timeout(0.05):
                    await transport.receive()
            except TimeoutError:
                pass

        asyncio.run(main())
    """
    process = subprocess.Popen(
        command(source), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    )
    status = process.wait(timeout=limit(60))
    stderr = process.communicate(timeout=limit(60))[1]
    assert (status, stderr) == (0, b"")
