"""Programs that answer, die, close their pipes, flood stderr, leave descendants, or do not want to go."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from accord.errors import ConnectFailed, ConnectionLost, FrameError
from accord.transport import ChildTransport, spawn
from accord.transport.lineage import VARIABLE
from tests.limits import limit
from tests.tables import rows
from tests.transport.one_by_one import OneByOne
from tests.transport.processes import exists, runs, until, write_program

if TYPE_CHECKING:
    from collections.abc import Callable

    Program = Callable[[str], tuple[str, ...]]

ECHO = """
    import sys
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
"""

# Says its number and then ignores SIGTERM and the end of its stdin.
STUBBORN = """
    import os, signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.write(1, b"%d\\n" % os.getpid())
    while True:
        signal.pause()
"""


@pytest.fixture
def program(tmp_path: Path) -> Program:
    def write(source: str) -> tuple[str, ...]:
        return write_program(tmp_path / "program.py", source)

    return write


async def spawn_one(*argv: str, **options: Any) -> Any:
    """A program whose texts are received one by one."""
    return OneByOne(await spawn(*argv, **options))


def descriptors() -> list[str]:
    return sorted(entry.name for entry in Path("/proc/self/fd").iterdir())


async def test_it_talks_and_ends_when_it_is_closed(program: Program) -> None:
    child = await spawn_one(*program(ECHO))
    assert child.exit_status is None
    for text in (b"{}", '"é"'.encode(), b'"' + b"x" * 1_000_000 + b'"'):
        await child.send(text)
        assert await child.receive() == text
    await child.close()
    assert child.exit_status == 0
    assert not exists(child.pid)
    assert await child.receive() is None
    with pytest.raises(ConnectionLost) as lost:
        await child.send(b"{}")
    assert lost.value.clean


async def test_much_at_once_passes_both_ways(program: Program) -> None:
    child = await spawn_one(*program(ECHO))
    texts = [b"%d" % number + b"x" * (number % 977) for number in range(20_000)]

    async def send_all() -> None:
        for text in texts:
            await child.send(text)

    sending = asyncio.create_task(send_all())
    assert [await child.receive() for _ in texts] == texts
    await sending
    await child.close()


@pytest.mark.parametrize("framing", ["lines", "headers"])
async def test_auto_speaks_as_the_program_does(program: Program, framing: str) -> None:
    said = b"[1]\n" if framing == "lines" else b"Content-Length: 3\r\n\r\n[1]"
    child = await spawn_one(
        *program(f"""
            import os, sys
            os.write(1, {said!r})
            while data := os.read(0, 100):
                os.write(2, data)
        """),
        framing="auto",
    )
    assert await child.receive() == b"[1]"
    await child.send(b"2")
    wanted = "2\n" if framing == "lines" else "Content-Length: 1\r\n\r\n2"
    assert await until(lambda: child.stderr_tail == wanted)
    await child.close()


async def test_environment_and_directory_are_as_asked_for(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEPT", "kept")
    monkeypatch.setenv("UNSET", "unset")
    source = """
        import os
        names = ("KEPT", "UNSET", "ADDED")
        print([os.getcwd(), *(os.environ.get(name) for name in names)], flush=True)
    """
    child = await spawn_one(*program(source), cwd=tmp_path, env={"ADDED": "added", "UNSET": None})
    assert await child.receive() == str([str(tmp_path), "kept", None, "added"]).encode()
    await child.close()


async def test_an_argument_is_never_read_by_a_shell(program: Program) -> None:
    child = await spawn_one(*program("import sys; print(sys.argv[1:], flush=True)"), "$HOME; echo *", "")
    assert await child.receive() == b"['$HOME; echo *', '']"
    await child.close()


@rows("fault", ["no program", "no directory", "no permission", "no argv", "no string"])
async def test_a_program_that_cannot_be_started_is_a_failed_connection(tmp_path: Path, fault: str) -> None:
    plain = tmp_path / "plain"
    plain.write_text("not a program")
    argv = {
        "no program": (str(tmp_path / "missing"), "1"),
        "no directory": (sys.executable,),
        "no permission": (str(plain),),
        "no argv": (),
        "no string": ("a\0b",),
    }[fault]
    before = len(descriptors())
    with pytest.raises(ConnectFailed) as failed:
        await spawn(*argv, cwd=tmp_path / "missing" if fault == "no directory" else None)
    assert failed.value.argv == argv
    assert len(descriptors()) == before


async def test_the_end_of_a_program_is_told_with_its_status_and_its_last_words(program: Program) -> None:
    child = await spawn_one(
        *program("""
            import sys
            print('"last"', flush=True)
            print("x" * 1000, "my last words \\xff", file=sys.stderr)
            sys.exit(3)
        """)
    )
    assert await child.receive() == b'"last"'
    for _ in range(2):
        with pytest.raises(ConnectionLost) as lost:
            await child.receive()
        assert lost.value.exit_status == 3
        assert lost.value.stderr_tail.endswith("my last words ÿ\n")
        assert not lost.value.clean
    with pytest.raises(ConnectionLost) as lost:
        await child.send(b"{}")
    assert lost.value.exit_status == 3
    await child.close()


async def test_a_text_over_the_limit_is_a_frame_error(program: Program) -> None:
    child = await spawn_one(*program("print('x' * 1000, flush=True); input()"), max_bytes=999)
    with pytest.raises(FrameError) as fault:
        await child.receive()
    assert fault.value.limit_bytes == 999
    await child.close()
    assert not exists(child.pid)


async def test_a_program_that_is_killed_is_told_by_the_signal(program: Program) -> None:
    child = await spawn_one(*program(STUBBORN))
    assert await child.receive() == b"%d" % child.pid
    os.kill(child.pid, signal.SIGKILL)
    with pytest.raises(ConnectionLost) as lost:
        await child.receive()
    assert lost.value.exit_status == -signal.SIGKILL
    await child.close()


async def test_a_program_that_ends_is_no_zombie_for_long(program: Program) -> None:
    child = await spawn_one(*program("pass"))
    with pytest.raises(ConnectionLost) as lost:
        await child.receive()
    assert (lost.value.exit_status, lost.value.clean) == (0, True)
    assert await until(lambda: not exists(child.pid))
    await child.close()


async def test_a_program_that_closes_stdout_and_lives_is_lost_with_no_status(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.transport.child.EXIT_SECONDS", 0.05)
    child = await spawn_one(*program("import os, signal; os.close(1); signal.pause()"), grace_seconds=0.05)
    with pytest.raises(ConnectionLost) as lost:
        await child.receive()
    assert lost.value.exit_status is None
    assert not lost.value.clean
    await child.close()
    assert not exists(child.pid)


async def test_sending_to_a_program_that_closed_its_stdin_is_a_lost_connection(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.transport.child.EXIT_SECONDS", 0.05)
    source = "import os, signal; os.close(0); print(1, flush=True); signal.pause()"
    child = await spawn_one(*program(source), grace_seconds=0.05)
    assert await child.receive() == b"1"
    with pytest.raises(ConnectionLost) as lost:
        await child.send(b"{}")
    assert lost.value.exit_status is None
    await child.close()


@pytest.mark.parametrize("megabytes", [1, 100])
async def test_a_flood_of_stderr_blocks_nobody_and_only_its_end_is_kept(program: Program, megabytes: int) -> None:
    heard = 0

    def listen(data: bytes) -> None:
        nonlocal heard
        heard += len(data)

    child = await spawn_one(
        *program(f"""
            import os, sys
            for _ in range({megabytes}):
                sys.stderr.buffer.write(b"x" * 1_000_000)
            sys.stderr.buffer.write(b"end")
            sys.stderr.buffer.flush()
            print(1, flush=True)
            sys.stdin.read()
        """),
        stderr=listen,
        stderr_tail_bytes=1000,
    )
    assert await child.receive() == b"1"
    assert await until(lambda: heard == megabytes * 1_000_000 + 3)
    assert child.stderr_tail == "x" * 997 + "end"
    await child.close()


async def test_a_listener_that_fails_does_not_stop_the_reading(program: Program) -> None:
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))

    def listen(_data: bytes) -> None:
        raise LookupError

    child = await spawn_one(*program(ECHO.replace("stdout", "stderr")), stderr=listen)
    await child.send(b"1")
    assert await until(lambda: child.stderr_tail == "1\n")
    await child.send(b"2")
    assert await until(lambda: child.stderr_tail == "1\n2\n")
    await child.close()
    assert [type(error) for error in reported] == [LookupError, LookupError]


async def test_a_descendant_that_keeps_stdout_open_does_not_keep_the_link_alive(program: Program) -> None:
    child = await spawn_one(
        *program("""
            import os, signal
            if os.fork():
                os.write(1, b"1\\n" * 50_000)
                os._exit(7)
            signal.pause()
        """)
    )
    for _ in range(50_000):
        assert await child.receive() == b"1"
    async with asyncio.timeout(limit(20)):
        with pytest.raises(ConnectionLost) as lost:
            await child.receive()
    assert lost.value.exit_status == 7
    await child.close()


async def test_what_an_ended_program_wrote_is_not_lost_on_a_slow_receiver(program: Program) -> None:
    child = await spawn_one(
        *program("""
            import os
            for number in range(6000):
                os.write(1, b"%d\\n" % number)
        """)
    )
    assert await child.receive() == b"0"
    assert await until(lambda: not exists(child.pid))
    received = [await child.receive() for _ in range(5999)]
    assert received == [b"%d" % number for number in range(1, 6000)]
    with pytest.raises(ConnectionLost):
        await child.receive()
    await child.close()


async def test_a_stubborn_program_is_killed_in_bounded_time(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accord.transport.child.TERMINATE_SECONDS", 0.1)
    child = await spawn_one(*program(STUBBORN), grace_seconds=0.1)
    assert await child.receive() == b"%d" % child.pid
    started = time.monotonic()
    await child.close()
    assert time.monotonic() - started < limit(5)
    assert child.exit_status == -signal.SIGKILL
    assert not exists(child.pid)


@pytest.mark.usefixtures("short_graces")
async def test_a_stubborn_program_is_killed_also_where_descendants_cannot_be_found(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accord.transport.process.kill_marked", lambda _: False)
    monkeypatch.setattr("accord.transport.lineage.sweep", lambda _: None)
    transport = await spawn_one(*program(STUBBORN), grace_seconds=0.1)
    assert await transport.receive() is not None
    await transport.close()
    assert transport.exit_status == -signal.SIGKILL


async def test_a_program_that_listens_to_sigterm_is_asked_before_it_is_killed(program: Program) -> None:
    child = await spawn_one(
        *program("""
            import signal, sys
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
            print(1, flush=True)
            while True:
                signal.pause()
        """),
        grace_seconds=0.05,
    )
    assert await child.receive() == b"1"
    await child.close()
    assert child.exit_status == 5


async def test_a_program_stuck_in_writing_can_still_end_by_itself(program: Program) -> None:
    child = await spawn_one(
        *program("""
            import os, sys
            for _ in range(100):
                sys.stdout.buffer.write(b"x" * 99_999 + b"\\n")
            sys.stdout.buffer.flush()
            sys.stdin.read()
        """)
    )
    assert await child.receive() == b"x" * 99_999
    await child.close()
    assert child.exit_status == 0


FAMILY = """
    import os, signal, sys, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def say(name):
        os.write(1, b"%s %d\\n" % (name, os.getpid()))

    def stay():
        while True:
            signal.pause()

    say(b"child")
    if not os.fork():
        say(b"grandchild")
        stay()
    if not os.fork():
        os.setsid()
        if os.fork():
            os._exit(0)
        say(b"daemon")
        stay()
    os.wait()
    if len(sys.argv) > 1:
        os._exit(9)
    stay()
"""


@pytest.mark.usefixtures("short_graces")
@pytest.mark.parametrize("leader", ["stays", "ends"])
async def test_descendants_are_gone_with_the_program(program: Program, leader: str) -> None:
    arguments = () if leader == "stays" else ("ends",)
    child = await spawn_one(*program(FAMILY), *arguments, grace_seconds=0.05)
    family = sorted([await child.receive() or b"" for _ in range(3)])
    pids = [int(line.split()[1]) for line in family]
    assert [line.split()[0] for line in family] == [b"child", b"daemon", b"grandchild"]
    if leader == "ends":
        with pytest.raises(ConnectionLost) as lost:
            await child.receive()
        assert lost.value.exit_status == 9
    started = time.monotonic()
    await child.close()
    assert time.monotonic() - started < limit(5)
    assert not [pid for pid in pids if runs(pid)]


async def test_a_cancelled_close_leaves_nothing_running(program: Program) -> None:
    child = await spawn_one(*program(FAMILY))
    pids = [int((await child.receive() or b"").split()[1]) for _ in range(3)]
    closing = asyncio.create_task(child.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait((closing,), timeout=limit(10))
    assert closing.cancelled()
    assert not [pid for pid in pids if runs(pid)]
    assert not exists(child.pid)
    await child.close()


def test_a_loop_that_ends_while_a_program_is_closed_leaves_nothing_running(program: Program) -> None:
    pids: list[int] = []
    closing: list[asyncio.Task[None]] = []

    async def main() -> None:
        child = await spawn_one(*program(FAMILY))
        pids.extend([int((await child.receive() or b"").split()[1]) for _ in range(3)])
        closing.append(asyncio.create_task(child.close()))
        await asyncio.sleep(0)

    asyncio.run(main())
    assert closing[0].cancelled()
    assert not [pid for pid in pids if runs(pid)]


def test_a_transport_that_nobody_closed_takes_its_program_along(program: Program) -> None:
    pids: list[int] = []

    async def main() -> None:
        child = await spawn_one(*program(FAMILY))
        pids.extend([int((await child.receive() or b"").split()[1]) for _ in range(3)])

    before = len(descriptors())
    asyncio.run(main())
    gc.collect()
    assert not [pid for pid in pids if runs(pid)]
    assert len(descriptors()) <= before + 1  # the watchdog's pipe, if this was the first child


async def test_no_descriptors_are_left(program: Program) -> None:
    argv = program(ECHO)
    await (await spawn(*argv)).close()
    before = descriptors()
    for _ in range(5):
        child = await spawn_one(*argv)
        await child.close()
    assert descriptors() == before


async def test_markers_of_nested_programs_add_up(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "outer")
    child = await spawn_one(*program(f"import os; print(os.environ[{VARIABLE!r}], flush=True)"))
    marker = (await child.receive() or b"").decode()
    assert marker.startswith("outer:")
    await child.close()


@pytest.mark.usefixtures("short_graces")
async def test_a_pending_receive_and_pending_sends_are_woken_by_close(program: Program) -> None:
    child = await spawn_one(*program(STUBBORN), grace_seconds=0.05)
    assert await child.receive() == b"%d" % child.pid

    async def flood() -> None:
        while True:
            await child.send(b"x" * 100_000)

    flooding = asyncio.create_task(flood())
    receiving = asyncio.create_task(child.receive())
    assert isinstance(child.transport, ChildTransport)
    assert await until(lambda: child._queue)
    await child.close()
    assert await receiving is None
    with pytest.raises(ConnectionLost) as lost:
        await flooding
    assert lost.value.clean


@pytest.mark.usefixtures("short_graces")
async def test_where_there_are_no_process_handles_a_thread_waits(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    child = await spawn_one(*program("import sys; sys.exit(4)"))
    with pytest.raises(ConnectionLost) as lost:
        await child.receive()
    assert lost.value.exit_status == 4
    await child.close()
    child = await spawn_one(*program(STUBBORN), grace_seconds=0.05)
    assert await child.receive() == b"%d" % child.pid
    await child.close()
    assert not exists(child.pid)


async def test_a_whole_line_or_an_agent_in_place_of_a_program_is_named_as_that() -> None:
    with pytest.raises(ConnectFailed, match=r"words apart: 'python', 'notes\.py'"):
        await spawn("python notes.py")
    with pytest.raises(ConnectFailed, match="names of agents are for accord run"):
        await spawn("demo")
