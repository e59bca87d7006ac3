"""Nothing outlives the host, however it ends; and the watchdog itself does not either."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from accord.transport import watchdog
from tests.limits import limit
from tests.transport.processes import SOURCES, runs, until, write_program
from tests.transport.test_child import FAMILY

HOST = """
    import asyncio, os, subprocess, sys
    from accord.transport import child as child_module, lineage, spawn, watchdog

    async def main():
        watchdog.__file__ = sys.argv[1]
        # None of the family ends by itself.
        child_module.TERMINATE_SECONDS = 0.1
        child = await spawn(*sys.argv[2:], grace_seconds=0.1)
        family = []
        while len(family) < 3:
            family += [text.decode() for text in await child.receive()]
        print(*family, "watchdog", lineage._household._watchdog.pid, flush=True)
        END

    asyncio.run(main())
"""


class Host:
    """A program that started a family of stubborn processes and then ends in the given way."""

    def __init__(self, tmp_path: Path, end: str) -> None:
        family = write_program(tmp_path / "family.py", FAMILY)
        # The whole program, but without patience: the family does not end by itself.
        impatient = tmp_path / "watchdog.py"
        source = Path(watchdog.__file__).read_text(encoding="utf-8")
        assert source.count("\nPOLITE_SECONDS = 1.0\n") == 1
        impatient.write_text(source.replace("\nPOLITE_SECONDS = 1.0\n", "\nPOLITE_SECONDS = 0.1\n"), encoding="utf-8")
        source = textwrap.dedent(HOST).replace("END", textwrap.indent(textwrap.dedent(end), "    ").lstrip())
        self.process = subprocess.Popen(
            [sys.executable, "-c", source, str(impatient), *family],
            env={**os.environ, "PYTHONPATH": SOURCES},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        assert self.process.stdout is not None
        assert self.process.stdin is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        words = self.stdout.readline().split()
        self.pids = {name.decode(): int(pid) for name, pid in zip(words[::2], words[1::2], strict=True)}

    def left(self) -> list[str]:
        return [name for name, pid in self.pids.items() if runs(pid)]

    def close(self) -> None:
        for name in self.left():
            os.kill(self.pids[name], signal.SIGKILL)
        self.process.kill()
        self.process.wait(timeout=limit(60))
        self.stdin.close()
        self.stdout.close()


WAIT = "await asyncio.Event().wait()"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
async def test_nothing_outlives_a_host_that_is_killed(tmp_path: Path, number: int) -> None:
    host = Host(tmp_path, WAIT)
    assert sorted(host.pids) == ["child", "daemon", "grandchild", "watchdog"]
    assert sorted(host.left()) == sorted(host.pids)
    host.process.send_signal(number)
    gone = await until(lambda: not host.left())
    left = host.left()
    host.close()
    assert gone, left


async def test_a_terminals_signals_do_not_end_the_watchdog(tmp_path: Path) -> None:
    host = Host(tmp_path, WAIT)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(host.pids["watchdog"], number)
    os.kill(host.process.pid, signal.SIGKILL)
    gone = await until(lambda: not host.left())
    host.close()
    assert gone


@pytest.mark.parametrize("end", ["return", "sys.exit(0)", "raise SystemExit(1)", "await child.close()"])
async def test_nothing_outlives_a_host_that_ends_by_itself(tmp_path: Path, end: str) -> None:
    host = Host(tmp_path, end)
    # An inherited copy of its stdout would keep this from ending.
    rest = await asyncio.to_thread(host.stdout.read)
    await asyncio.to_thread(host.process.wait, 60)
    # They were killed; how long the system takes to end them is not known.
    gone = await until(lambda: not host.left())
    host.close()
    assert (rest, gone) == (b"", True)


async def test_the_watchdog_holds_nothing_of_its_host_open(tmp_path: Path) -> None:
    host = Host(tmp_path, WAIT)
    folder = Path(f"/proc/{host.pids['watchdog']}/fd")
    # While it starts, it also holds its own program.
    started = await until(lambda: {entry.name for entry in folder.iterdir()} == {"0", "1", "2"})
    held = {entry.name: str(entry.readlink()) for entry in folder.iterdir()}
    session = os.getsid(host.pids["watchdog"])
    host.close()
    assert started, held
    assert held["0"].startswith("pipe:")
    assert held["1"] == held["2"] == "/dev/null"
    assert session == host.pids["watchdog"]


async def test_a_killed_watchdog_is_replaced_by_one_that_knows_everything(tmp_path: Path) -> None:
    replace = """
        import signal
        os.kill(lineage._household._watchdog.pid, signal.SIGKILL)
        os.waitid(os.P_PID, lineage._household._watchdog.pid, os.WEXITED | os.WNOWAIT)
        second = await spawn("cat")
        await asyncio.sleep(0)
        print(lineage._household._watchdog.pid, second.pid, flush=True)
        await asyncio.Event().wait()
    """
    host = Host(tmp_path, replace)
    host.pids["watchdog"], host.pids["second"] = map(int, host.stdout.readline().split())
    before = sorted(host.left())
    os.kill(host.process.pid, signal.SIGKILL)
    gone = await until(lambda: not host.left())
    host.close()
    assert before == sorted(host.pids)
    assert gone


async def test_a_forked_copy_of_the_host_neither_kills_its_children_nor_keeps_the_watchdog_waiting(
    tmp_path: Path,
) -> None:
    fork = """
        import gc, signal
        forked = os.fork()
        if not forked:
            del child
            gc.collect()
            sys.stdout.flush()
            lineage._household.end_all()
            signal.pause()
            os._exit(0)
        print(forked, flush=True)
        await asyncio.Event().wait()
    """
    host = Host(tmp_path, fork)
    forked = int(host.stdout.readline())
    before = sorted(host.left())
    os.kill(host.process.pid, signal.SIGKILL)
    gone = await until(lambda: not host.left())
    os.kill(forked, signal.SIGKILL)
    host.close()
    assert before == sorted(host.pids)
    assert gone


def start_marked(marker: str, *argv: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(argv, start_new_session=True, env={**os.environ, "ACCORD_LINEAGE": f"a:{marker}:b"})


def start_watchdog() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-I", "-S", watchdog.__file__], stdin=subprocess.PIPE)


async def test_a_polite_program_may_end_by_itself_when_the_host_died(tmp_path: Path) -> None:
    note = tmp_path / "note"
    script = write_program(
        tmp_path / "polite.py",
        f"""
        import signal, sys

        def leave(*_):
            open({str(note)!r}, "w").write("saved")
            sys.exit()

        signal.signal(signal.SIGTERM, leave)
        while True:
            signal.pause()
        """,
    )
    # Other runs on this machine have markers too.
    marker = f"some-marker-{os.getpid()}"
    polite = start_marked(marker, *script)
    dog = start_watchdog()
    started = await until(lambda: b"SigCgt:\t0000000000004" in Path(f"/proc/{polite.pid}/status").read_bytes())
    # It is waited for meanwhile: for the watchdog, a program that nobody waits for has not ended.
    waiting = asyncio.create_task(asyncio.to_thread(polite.wait, limit(60)))
    lines = f"nonsense\n+x y\n-\n+gone 999999999\n-gone\n+{marker} {polite.pid}\n"
    await asyncio.to_thread(dog.communicate, lines.encode(), limit(60))
    status = await waiting
    assert started
    assert (dog.returncode, status) == (0, 0)
    assert note.read_text() == "saved"


async def test_only_processes_with_the_marker_are_found() -> None:
    wanted = f"wanted-{os.getpid()}"
    marked, other = start_marked(wanted, "sleep", "60"), start_marked("other", "sleep", "60")
    found = await until(lambda: watchdog.find_marked(wanted) == [marked.pid])
    watchdog.sweep([wanted], seconds=20)
    status = marked.wait(timeout=limit(60))
    alive = other.poll() is None
    other.kill()
    other.wait(timeout=limit(60))
    assert (found, status, alive) == (True, -signal.SIGKILL, True)
    assert not watchdog.kill_marked(wanted)


def test_a_group_that_is_gone_is_no_error() -> None:
    assert not watchdog.signal_group(2**22 - 1, 0)


def test_a_process_that_is_born_while_its_host_dies_is_found() -> None:
    program = [sys.executable, "-I", "-S", watchdog.__file__]
    with subprocess.Popen(program, stdin=subprocess.PIPE) as guard:
        assert guard.stdin is not None
        marker = f"born-late-{os.getpid()}"
        guard.stdin.write(f"+{marker} 0\n".encode())
        guard.stdin.close()
        # In its first looks there is nobody: the host died before its child had become another program.
        with pytest.raises(subprocess.TimeoutExpired):
            guard.wait(timeout=0.15)
        late = subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(30)"], env={**os.environ, "ACCORD_LINEAGE": marker}
        )
        assert late.wait(timeout=limit(20)) == -signal.SIGKILL


def test_a_watchdog_with_nobody_to_answer_for_leaves_at_once() -> None:
    program = [sys.executable, "-I", "-S", watchdog.__file__]
    done = subprocess.run(program, input=b"+gone 0\n-gone\n", timeout=limit(20), check=False)
    assert done.returncode == 0
