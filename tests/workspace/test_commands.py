"""Real commands: what they write, how they end, and that nothing of them is left, whatever they do against it."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import textwrap
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from accord.transport.lineage import VARIABLE
from accord.transport.polled import unread_bytes
from accord.workspace import (
    Exit,
    RunningCommand,
    TerminalSize,
    Workspace,
    commands as commands_module,
    launch as launch_module,
    run_command,
    start_command,
)
from accord.workspace.errors import InvalidPath, NoSuchFile, NotADirectory, PathOutsideRoots, StartFailed
from tests.limits import limit
from tests.tables import rows
from tests.transport.processes import SOURCES, exists, runs, until, write_program
from tests.workspace.trees import Tree, descriptors

if TYPE_CHECKING:
    from collections.abc import Callable

    Program = Callable[[str], tuple[str, ...]]

# Says its number and ignores SIGTERM.
STUBBORN = """
    import os, signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.write(1, b"%d\\n" % os.getpid())
    while True:
        signal.pause()
"""

# A child in its group, one in a session of its own, and one that is a daemon by the book; all ignore SIGTERM, hold the
# output open and say their numbers. Then it does what `LAST` says.
FAMILY = """
    import os, signal, sys
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    def stay():
        os.write(1, b"%d\\n" % os.getpid())
        while True:
            signal.pause()
    if os.fork() == 0:
        stay()
    if os.fork() == 0:
        os.setsid()
        stay()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.chdir("/")
            null = os.open("/dev/null", os.O_RDWR)
            os.dup2(null, 0)
            os.dup2(null, 2)
            stay()
        os._exit(0)
"""


@pytest.fixture
def program(tmp_path: Path) -> Program:
    def write(source: str) -> tuple[str, ...]:
        return write_program(tmp_path / "program.py", textwrap.dedent(source))

    return write


def numbers_in(command: RunningCommand) -> list[int]:
    return [int(word) for word in command.output.text.split()]


async def start_family(argv: tuple[str, ...]) -> tuple[RunningCommand, list[int]]:
    command = await start_command(argv, grace_seconds=0.1)
    assert await until(lambda: len(numbers_in(command)) == 3)
    return command, numbers_in(command)


# ── output and end ───────────────────────────────────────────────────────────────────────────────────


async def test_both_streams_are_one_in_order(program: Program) -> None:
    outcome = await run_command(
        program("""
            import os
            for number in range(200):
                os.write(1 + number % 2, b"%d " % number)
        """)
    )
    assert outcome.exit == Exit(0, None)
    assert outcome.output == ("".join(f"{number} " for number in range(200)), False)
    assert not outcome.timed_out


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("pass", Exit(0, None)),
        ("raise SystemExit(7)", Exit(7, None)),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", Exit(None, "SIGKILL")),
        ("import os, signal; os.kill(os.getpid(), signal.SIGHUP)", Exit(None, "SIGHUP")),
    ],
)
async def test_the_end_is_told_by_a_code_or_a_signal(program: Program, source: str, expected: Exit) -> None:
    assert (await run_command(program(source))).exit == expected


async def test_output_can_be_read_while_it_runs(program: Program, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    async with await start_command(
        program(f"""
            print("before é", end="", flush=True)
            open({str(gate)!r}).read()
            print(" after")
        """)
    ) as command:
        assert await until(lambda: command.output.text == "before é")
        assert command.exit is None
        assert runs(command.pid)
        assert not await command.wait_for(0.01)
        await asyncio.to_thread(gate.write_text, "go", encoding="utf-8")
        assert await command.wait() == Exit(0, None)
        # v1 rule 48: at once if it has already exited.
        assert await command.wait() == Exit(0, None)
        assert command.exit == Exit(0, None)
        assert command.output.text == "before é after\n"
        assert command.output_bytes == "before é after\n".encode()
    assert command.output.text == "before é after\n"


async def test_all_that_was_written_is_there_when_the_end_is_told(program: Program) -> None:
    argv = program("import os; os.write(1, b'x' * 60_000); os.write(2, b'y')")
    for _ in range(20):
        async with await start_command(argv) as command:
            await command.wait()
            assert command.output_bytes == b"x" * 60_000 + b"y"


async def test_the_end_is_not_told_before_the_output_that_came_before_it(program: Program, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    async with await start_command(
        program(f"""
            import os
            if os.fork() == 0:
                open({str(gate)!r}).read()
                os._exit(0)
            os.write(1, b"x" * 50_000)
        """)
    ) as command:
        # Nobody reads for a while, and the output does not end: somebody else has it too.
        command._source.wanted = False
        assert await command._process.wait(20)
        assert not await command.wait_for(0.05)
        command._source.resume()
        assert await command.wait() == Exit(0, None)
        assert len(command.output_bytes) == 50_000
        await asyncio.to_thread(gate.write_text, "go", encoding="utf-8")


async def test_a_kill_waits_for_the_last_of_the_output(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands_module, "DRAIN_SECONDS", 20)
    async with await start_command(program("import os, signal; os.write(1, b'the end'); signal.pause()")) as command:
        command._source.wanted = False
        assert await until(lambda: unread_bytes(command._descriptor) == len("the end"))
        killing = asyncio.create_task(command.kill())
        assert await until(lambda: not exists(command.pid))
        command._source.resume()
        await killing
        assert command.output.text == "the end"


async def test_the_limit_keeps_the_end_from_a_whole_character_on() -> None:
    argv = (sys.executable, "-c", "print('é' * 1000, end='')")
    outcome = await run_command(argv, output_byte_limit=101, env={"PYTHONIOENCODING": "utf-8"})
    assert outcome.output == ("é" * 50, True)
    outcome = await run_command(argv, output_byte_limit=2000, env={"PYTHONIOENCODING": "utf-8"})
    assert outcome.output == ("é" * 1000, False)
    outcome = await run_command(argv, output_byte_limit=0, env={"PYTHONIOENCODING": "utf-8"})
    assert outcome.output == ("", True)
    with pytest.raises(ValueError, match="negative"):
        await run_command(argv, output_byte_limit=-1)


async def test_much_output_needs_no_more_than_the_limit(program: Program) -> None:
    argv = program("""
        import os
        piece = b"x" * 65536
        for _ in range(4096):
            at = 0
            while at < len(piece):
                at += os.write(1, piece[at:])
        os.write(1, b"the end")
    """)
    heard_bytes = 0

    def hear(data: bytes) -> None:
        nonlocal heard_bytes
        heard_bytes += len(data)

    tracemalloc.start()
    try:
        outcome = await run_command(argv, output_byte_limit=100_000, on_output=hear)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert heard_bytes == (1 << 28) + len("the end")
    assert len(outcome.output.text) == 100_000
    assert outcome.output.truncated
    assert outcome.output.text.endswith("xthe end")
    assert peak_bytes < 4 * 1024 * 1024


async def test_a_listener_hears_everything_and_may_fail(program: Program) -> None:
    reports: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, report: reports.append(report))
    heard = bytearray()

    def hear(data: bytes) -> None:
        heard.extend(data)
        raise LookupError

    outcome = await run_command(program("print('a' * 100_000)"), on_output=hear, output_byte_limit=10)
    assert bytes(heard) == b"a" * 100_000 + b"\n"
    assert outcome.exit.code == 0
    assert outcome.output.text == "a" * 9 + "\n"
    assert reports
    assert all(isinstance(report["exception"], LookupError) for report in reports)


async def test_there_is_no_input(program: Program) -> None:
    reading, writing = os.pipe()
    ours = os.dup(0)
    os.dup2(reading, 0)
    try:
        os.write(writing, b"meant for us")
        outcome = await run_command(program("import os; print(os.read(0, 100))"), timeout_seconds=20)
    finally:
        os.dup2(ours, 0)
        for descriptor in (reading, writing, ours):
            os.close(descriptor)
    assert outcome.output.text == "b''\n"


async def test_binary_output_is_replaced_in_the_text_alone(program: Program) -> None:
    async with await start_command(program("import os; os.write(1, b'a\\xffb')")) as command:
        await command.wait()
        assert command.output.text == "a\N{REPLACEMENT CHARACTER}b"
        assert command.output_bytes == b"a\xffb"


# ── where and with what it runs ──────────────────────────────────────────────────────────────────────


async def test_the_environment_is_ours_with_changes(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCORD_TEST_A", "a")
    monkeypatch.setenv("ACCORD_TEST_B", "b")
    outcome = await run_command(
        program("import os; print([os.environ.get('ACCORD_TEST_' + name) for name in 'ABC'])"),
        env={"ACCORD_TEST_B": None, "ACCORD_TEST_C": "c", "ACCORD_TEST_D": None},
    )
    assert outcome.output.text == "['a', None, 'c']\n"


@pytest.mark.parametrize("value", ["forged", None])
async def test_a_command_cannot_be_hidden_by_its_environment(
    program: Program, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.setenv(VARIABLE, "of-our-parent")
    outcome = await run_command(program(f"import os; print(os.environ[{VARIABLE!r}])"), env={VARIABLE: value})
    assert outcome.output.text.startswith("of-our-parent:")
    assert "forged" not in outcome.output.text


async def test_it_runs_where_it_shall(program: Program, tmp_path: Path) -> None:
    argv = program("import os; print(os.getcwd())")
    (tmp_path / "there").mkdir()
    outcome = await run_command(argv, cwd=tmp_path / "there")
    assert outcome.output.text == f"{tmp_path / 'there'}\n"
    assert (await run_command(argv)).output.text == f"{Path.cwd()}\n"


async def test_within_a_workspace_it_runs_inside_the_roots_only(program: Program, tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    (tree.root / "out").symlink_to(tree.outside)
    (tree.root / "to_folder").symlink_to("folder")
    workspace = Workspace([tree.root])
    argv = program("import os; print(os.getcwd())")
    assert (await run_command(argv, within=workspace)).output.text == f"{tree.root}\n"
    for path in ("folder", "to_folder"):
        outcome = await run_command(argv, within=workspace, cwd=tree.root / path)
        assert outcome.output.text == f"{tree.root / 'folder'}\n"
    for cwd, kind in (
        (tree.outside, PathOutsideRoots),
        (tree.root / "out", PathOutsideRoots),
        (tree.root / "file", NotADirectory),
        (tree.root / "missing", NoSuchFile),
        ("folder", InvalidPath),
    ):
        with pytest.raises(kind):
            await start_command(argv, within=workspace, cwd=cwd)


@rows("pty", [False, True])
async def test_what_cannot_be_started_says_so_and_leaves_nothing(tmp_path: Path, *, pty: bool) -> None:
    (tmp_path / "text").write_text("no program", encoding="utf-8")
    before = descriptors()
    for argv in (["no-such-program"], [str(tmp_path / "text")], ["./missing"], [], [""], ["a\0b"], [str(tmp_path)]):
        with pytest.raises(StartFailed) as failed:
            await start_command(argv, cwd=tmp_path, pty=pty)
        assert failed.value.argv == tuple(argv)
        assert failed.value.code == -32602
    with pytest.raises(StartFailed):
        await start_command(["true"], cwd=tmp_path / "missing", pty=pty)
    with pytest.raises(StartFailed):
        await start_command(["true"], env={"a=b": "c"}, pty=pty)
    with pytest.raises(InvalidPath):
        await start_command(["true"], cwd="relative", pty=pty)
    assert descriptors() == before


async def test_half_a_character_is_a_replacement_to_a_program() -> None:
    program = "import os, sys; print(ascii(sys.argv[1]), ascii(os.environ['CUT']))"
    command = await start_command([sys.executable, "-c", program, "a\ud83d"], env={"CUT": "\udcffb"})
    assert (await command.wait()).code == 0
    assert command.output.text.split() == ["'a\\ufffd'", "'\\ufffdb'"]


async def test_a_line_for_a_shell_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(TypeError):
        await start_command("ls -l")


# ── its end, and that of its descendants ─────────────────────────────────────────────────────────────


async def test_a_polite_command_may_say_goodbye(program: Program) -> None:
    command = await start_command(
        program("""
            import os, signal
            def leave(*_):
                os.write(1, b"bye\\n")
                os._exit(3)
            signal.signal(signal.SIGTERM, leave)
            os.write(1, b"ready\\n")
            while True:
                signal.pause()
        """)
    )
    assert await until(lambda: command.output.text == "ready\n")
    await command.kill()
    # v1 rule 49: output and exit can be asked for after a kill.
    assert command.exit == await command.wait() == Exit(3, None)
    assert command.output.text == "ready\nbye\n"
    await command.release()
    assert not exists(command.pid)


async def test_a_command_that_ignores_sigterm_is_killed(program: Program) -> None:
    command = await start_command(program(STUBBORN), grace_seconds=0.1)
    assert await until(lambda: command.output.text)
    await command.kill()
    assert command.exit == Exit(None, "SIGKILL")
    assert not exists(command.pid)
    await command.release()


async def test_a_stopped_command_is_killed(program: Program) -> None:
    command = await start_command(program(STUBBORN), grace_seconds=0.05)
    assert await until(lambda: command.output.text)
    os.kill(command.pid, signal.SIGSTOP)
    await command.release()
    assert command.exit == Exit(None, "SIGKILL")


async def test_no_descendant_survives_a_release(program: Program) -> None:
    command, family = await start_family(program(FAMILY + "    while True: signal.pause()\n"))
    assert all(runs(number) for number in family)
    await command.release()
    assert not [number for number in (command.pid, *family) if runs(number)]


async def test_no_descendant_survives_a_kill(program: Program) -> None:
    command, family = await start_family(program(FAMILY + "    while True: signal.pause()\n"))
    await command.kill()
    assert not [number for number in (command.pid, *family) if runs(number)]
    assert numbers_in(command) == family
    await command.release()


async def test_descendants_may_outlive_the_command_until_it_is_released(program: Program) -> None:
    command, family = await start_family(program(FAMILY + "    raise SystemExit(5)\n"))
    assert await command.wait() == Exit(5, None)
    assert all(runs(number) for number in family)
    await command.release()
    assert not [number for number in family if runs(number)]
    assert command.exit == Exit(5, None)


async def test_a_descendant_that_holds_the_output_does_not_delay_the_end(program: Program, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    async with await start_command(
        program(f"""
            import os
            if os.fork() == 0:
                open({str(gate)!r}).read()
                os.write(1, b" late")
                os._exit(0)
            os.write(1, b"early")
        """)
    ) as command:
        assert await command.wait() == Exit(0, None)
        assert command.output.text == "early"
        await asyncio.to_thread(gate.write_text, "go", encoding="utf-8")
        assert await until(lambda: command.output.text == "early late")


async def test_no_process_of_a_whole_tree_survives(program: Program) -> None:
    command = await start_command(
        program("""
            import os, signal
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            depth = 0
            while depth < 5:
                if os.fork() == 0:
                    depth += 1
                    os.setsid()
                    continue
                if os.fork() == 0:
                    depth += 1
                    continue
                break
            os.write(1, b"x")
            while True:
                signal.pause()
        """),
        grace_seconds=0.05,
    )
    assert await until(lambda: len(command.output.text) == 63)
    marker = command._process._marker
    assert len(marked(marker)) == 63
    await command.release()
    assert marked(marker) == []


def marked(marker: str) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                if marker.encode() in (entry / "environ").read_bytes():
                    found.append(entry.name)
            except OSError:
                continue
    return found


@pytest.mark.parametrize("pty", [False, True])
async def test_a_command_can_be_killed_while_it_writes(program: Program, *, pty: bool) -> None:
    command = await start_command(
        program("""
            import os
            while True:
                os.write(1, b"y\\n" * 5000)
        """),
        output_byte_limit=1000,
        pty=pty,
    )
    assert await until(lambda: command.output.truncated)
    await command.kill()
    assert command.exit == Exit(None, "SIGTERM")
    length = len(command.output_bytes)
    assert 0 < length <= 1000
    await command.release()
    assert len(command.output_bytes) == length


async def test_a_release_ends_what_waits_and_can_be_repeated(program: Program) -> None:
    command = await start_command(program(STUBBORN), grace_seconds=0.05)
    waiting = [asyncio.create_task(command.wait()) for _ in range(3)]
    assert await until(lambda: command.output.text)
    await asyncio.gather(command.release(), command.kill(), command.release())
    assert await asyncio.gather(*waiting) == [Exit(None, "SIGKILL")] * 3
    await command.release()
    await command.kill()
    assert not command.output.truncated


async def test_a_process_that_hides_keeps_nothing_of_ours(program: Program, tmp_path: Path) -> None:
    """Without its environment and out of the group nobody finds it; what it holds is let go of all the same."""
    await run_command([sys.executable, "-c", "pass"])
    hiding = write_program(
        tmp_path / "hiding.py", "import os, signal; os.write(1, b'%d ' % os.getpid()); signal.pause()"
    )
    before = descriptors()
    command = await start_command(
        program(f"""
            import os
            if os.fork() == 0:
                os.setsid()
                os.execve({hiding[0]!r}, {hiding!r}, {{}})
        """)
    )
    assert await until(lambda: command.output.text.endswith(" "))
    (hidden,) = numbers_in(command)
    await command.release()
    was_hidden, held = runs(hidden), descriptors()
    os.kill(hidden, signal.SIGKILL)
    assert was_hidden
    assert held == before


async def test_cancelling_a_release_kills_at_once(program: Program) -> None:
    command, family = await start_family(program(FAMILY + "    while True: signal.pause()\n"))
    command._grace_seconds = 100
    releasing = asyncio.create_task(command.release())
    await asyncio.sleep(0)
    releasing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await releasing
    assert not [number for number in (command.pid, *family) if runs(number)]
    assert await command.wait() == Exit(None, "SIGKILL")


# ── one call with a time limit ───────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("short_graces")
async def test_a_timeout_kills_everything_and_returns_what_was_written(program: Program, tmp_path: Path) -> None:
    # It is given the time that it needs to start: it says when it is there, and then waits for ever.
    numbers = tmp_path / "numbers"
    source = FAMILY.replace("os.write(1, ", f"os.write(os.open({str(numbers)!r}, os.O_WRONLY | os.O_APPEND), ")
    numbers.touch()
    argv = program(source + "    os.write(1, b'so far')\n    while True: signal.pause()\n")
    outcome = await run_command(argv, timeout_seconds=limit(1))
    assert outcome.timed_out
    assert outcome.exit == Exit(None, "SIGKILL")
    assert outcome.output == ("so far", False)
    family = [int(word) for word in numbers.read_text(encoding="utf-8").split()]
    assert len(family) == 3
    assert not [number for number in family if runs(number)]


async def test_a_command_that_is_fast_enough_is_not_timed_out(program: Program) -> None:
    outcome = await run_command(program("print('done')"), timeout_seconds=30)
    assert outcome == (Exit(0, None), ("done\n", False), False)


async def test_no_time_at_all_is_a_timeout(program: Program) -> None:
    begun = time.monotonic()
    outcome = await run_command(program("import signal; signal.pause()"), timeout_seconds=0)
    assert outcome.timed_out
    assert time.monotonic() - begun < limit(10)


async def test_cancelling_a_run_leaves_nothing(program: Program, tmp_path: Path) -> None:
    number = tmp_path / "number"
    argv = program(f"""
        import os, signal
        with open({str(number)!r} + ".new", "w") as file:
            file.write(str(os.getpid()))
        os.rename({str(number)!r} + ".new", {str(number)!r})
        signal.pause()
    """)
    running = asyncio.create_task(run_command(argv))
    assert await until(number.exists)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not exists(int(number.read_text(encoding="utf-8")))


# ── a terminal ───────────────────────────────────────────────────────────────────────────────────────


async def test_with_a_pty_it_has_a_terminal_of_the_given_size(program: Program) -> None:
    argv = program("""
        import os, signal, sys
        print([os.isatty(number) for number in range(3)], tuple(os.get_terminal_size()))
        with open("/dev/tty", "w") as terminal:
            terminal.write("own terminal\\n")
        print(os.tcgetpgrp(0) == os.getpid() == os.getsid(0), file=sys.stderr)
    """)
    outcome = await run_command(argv, pty=TerminalSize(columns=132, rows=50), timeout_seconds=30)
    assert outcome.output.text == "[True, True, True] (132, 50)\r\nown terminal\r\nTrue\r\n"
    assert outcome.exit == Exit(0, None)
    outcome = await run_command(argv, pty=True, timeout_seconds=30)
    assert "(80, 24)" in outcome.output.text


async def test_a_pty_changes_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TERM", raising=False)
    (tmp_path / "there").mkdir()
    script = tmp_path / "there" / "show"
    script.write_text("#!/bin/sh\necho $TERM $A $PWD $1; kill -s PIPE $$; echo alive\n", encoding="utf-8")
    script.chmod(0o755)
    for argv in (["./show", "x y"], [str(script), "x y"]):
        outcome = await run_command(argv, cwd=tmp_path / "there", env={"A": "a"}, pty=True, timeout_seconds=30)
        assert outcome.output.text == f"xterm-256color a {tmp_path / 'there'} x y\r\n"
        assert outcome.exit == Exit(None, "SIGPIPE")
    outcome = await run_command(["show", "x"], env={"TERM": "dumb", "PATH": f"{script.parent}:/bin"}, pty=True)
    assert outcome.output.text.startswith("dumb ")


async def test_a_terminal_without_an_interpreter_is_still_one(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    outcome = await run_command(program("import os; print(os.isatty(1))"), pty=True, timeout_seconds=30)
    assert outcome.output.text == "True\r\n"


async def test_a_program_that_turns_out_to_be_none_behind_a_terminal_ends_as_in_a_shell(tmp_path: Path) -> None:
    (tmp_path / "broken").write_bytes(b"\x7fELF but not really")
    (tmp_path / "dangling").write_text("#!/no/such/interpreter\n", encoding="utf-8")
    for name, code in (("broken", 126), ("dangling", 127)):
        (tmp_path / name).chmod(0o755)
        assert (await run_command([str(tmp_path / name)], pty=True)).exit.code == code


async def test_all_of_a_terminals_output_is_there_when_the_end_is_told(program: Program) -> None:
    argv = program("import os; os.write(1, b'x' * 20_000); os.write(1, b'end')")
    for _ in range(10):
        async with await start_command(argv, pty=True) as command:
            assert await command.wait() == Exit(0, None)
            assert command.output_bytes == b"x" * 20_000 + b"end"


async def test_a_descendant_that_holds_a_terminal_delays_the_end_for_a_moment_only(program: Program) -> None:
    async with await start_command(
        program("""
            import os, signal
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            if os.fork() == 0:
                while True:
                    signal.pause()
            os.write(1, b"early")
        """),
        pty=True,
        grace_seconds=0.05,
    ) as command:
        assert await command.wait_for(10)
        assert command.output.text == "early"


@pytest.mark.parametrize("pty", [False, True])
async def test_no_descendant_survives_a_release_of_a_terminal(program: Program, *, pty: bool) -> None:
    command = await start_command(program(FAMILY + "    while True: signal.pause()\n"), pty=pty, grace_seconds=0.1)
    assert await until(lambda: len(numbers_in(command)) == 3)
    family = numbers_in(command)
    await command.release()
    assert not [number for number in (command.pid, *family) if runs(number)]


# ── nothing is left behind ───────────────────────────────────────────────────────────────────────────


async def test_many_commands_leave_no_descriptor_task_or_process(program: Program) -> None:
    argv = program("print('x' * 1000)")
    await run_command(argv)
    await asyncio.to_thread(lambda: None)
    before = descriptors()
    tasks = len(asyncio.all_tasks())
    commands: list[RunningCommand] = []
    for pty in (False, True):
        started = [await start_command(argv, pty=pty) for _ in range(15)]
        commands += started
        for command in started[::2]:
            await command.wait()
        await asyncio.gather(*(command.release() for command in started))
    assert descriptors() == before
    assert len(asyncio.all_tasks()) == tasks
    assert not [command.pid for command in commands if exists(command.pid)]


async def test_an_ended_command_that_is_forgotten_is_cleared_away(program: Program) -> None:
    argv = program("pass")
    # The first command of all brings the watchdog along.
    await run_command(argv)
    before = descriptors()
    command = await start_command(argv)
    pid = command.pid
    await command.wait()
    await command._silent.wait()
    del command
    gc.collect()
    assert not exists(pid)
    assert descriptors() == before
    assert await until(lambda: not launch_module._held)


def test_a_running_command_that_is_forgotten_with_its_loop_is_killed(program: Program) -> None:
    async def start() -> tuple[RunningCommand, list[int]]:
        return await start_family(program(FAMILY + "    while True: signal.pause()\n"))

    command, family = asyncio.run(start())
    pid = command.pid
    assert runs(pid)
    del command
    gc.collect()
    assert not [number for number in (pid, *family) if runs(number)]


HOST = """
    import asyncio, os, signal, sys
    sys.path.insert(0, {sources!r})
    from accord.workspace import start_command
    async def main():
        command = await start_command({argv!r})
        while len(command.output.text.split()) < 3:
            await asyncio.sleep(0.01)
        print(command.pid, command.output.text.replace("\\n", " "), flush=True)
        {end}
    asyncio.run(main())
"""


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), signal.SIGKILL)", "os._exit(0)", "pass", "1 / 0"])
async def test_commands_do_not_outlive_us_however_we_end(program: Program, tmp_path: Path, end: str) -> None:
    argv = program(FAMILY + "    while True: signal.pause()\n")
    source = HOST.format(sources=SOURCES, argv=argv, end=end)
    # With its site's packages: that is where msgspec is.
    path = tmp_path / "host.py"
    path.write_text(textwrap.dedent(source), encoding="utf-8")
    host = await asyncio.create_subprocess_exec(
        sys.executable, str(path), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert host.stdout is not None
    family = [int(word) for word in (await host.stdout.readline()).split()]
    await host.wait()
    assert len(family) == 4
    assert await until(lambda: not [number for number in family if runs(number)])
