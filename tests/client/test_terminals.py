"""The terminals that a client runs for its agent."""

from __future__ import annotations

import asyncio
import resource
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.client import terminals
from accord.client.terminals import MAX_OUTPUT_BYTES, SCREEN_BYTES, SCREEN_REST_BYTES, ClientTerminals, _Screen
from accord.client.turn import MAX_WAITING_BYTES
from accord.session.agent_requests import AwaitTerminal, ReleaseTerminal, StartTerminal
from accord.session.event import Event, TerminalChanged, TerminalOutput
from accord.session.transcript import Transcript
from accord.workspace import Workspace
from tests.client.requesting_agent import RequestingAgent, requesting_agent
from tests.limits import limit
from tests.tables import rows
from tests.transport.processes import runs, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="process groups: run it on Linux or macOS")

PYTHON = (sys.executable, "-I", "-S", "-u", "-c")


async def output_of(requester: RequestingAgent, terminal: str) -> Any:
    return await requester.ask("terminal/output", terminalId=terminal)


async def written(requester: RequestingAgent, terminal: str) -> str:
    """The output as soon as there is some."""
    async with asyncio.timeout(limit(20)):
        while not (found := await output_of(requester, terminal))["output"].endswith("\n"):
            await asyncio.sleep(0.01)
    return str(found["output"])


def shown(requester: RequestingAgent, terminal: str) -> str:
    return requester.session.transcript.terminals[terminal].text


# --- what they do


async def test_a_command_runs_in_the_sessions_directory_with_its_environment(tmp_path: Path) -> None:
    script = "import os; print(os.getcwd(), os.environ['WANTED'], len(os.environ) > 1)"
    async with requesting_agent(tmp_path) as requester:
        terminal = await requester.start(*PYTHON, script, env=[{"name": "WANTED", "value": "here"}])
        ended = await requester.finished(terminal)
        assert (ended["output"], ended["truncated"]) == (f"{tmp_path} here True\n", False)
        assert ended["exitStatus"]["exitCode"] == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no /bin/sh")
async def test_a_whole_line_instead_of_a_program_is_run_by_a_shell_and_shown_so(tmp_path: Path) -> None:
    async with requesting_agent(tmp_path) as requester:
        terminal = await requester.start("echo one && echo two | tr t T > made")
        ended = await requester.finished(terminal)
        assert (ended["output"], ended["exitStatus"]["exitCode"]) == ("one\n", 0)
        assert (tmp_path / "made").read_text() == "Two\n"
        shown_as = requester.session.transcript.terminals[terminal].command
        assert shlex.split(shown_as) == ["/bin/sh", "-c", "echo one && echo two | tr t T > made"]


@pytest.mark.skipif(sys.platform == "win32", reason="scripts: run it on Linux or macOS")
async def test_a_program_whose_name_has_a_blank_is_no_line(tmp_path: Path) -> None:
    program = tmp_path / "my program"
    program.write_text("#!/bin/sh\necho mine\n")
    program.chmod(0o755)
    async with requesting_agent(tmp_path) as requester:
        for name in (str(program), "./my program"):
            assert (await requester.finished(await requester.start(name)))["output"] == "mine\n"


async def test_output_can_be_read_while_the_command_runs(tmp_path: Path) -> None:
    async with requesting_agent(tmp_path) as requester:
        terminal = await requester.start(*PYTHON, "import time; print('began'); time.sleep(600)")
        assert await written(requester, terminal) == "began\n"
        running = await output_of(requester, terminal)
        assert running.get("exitStatus") is None
        assert shown(requester, terminal) == "began\n"


async def test_waiting_for_the_end_blocks_nobody_else(tmp_path: Path) -> None:
    async with requesting_agent(tmp_path) as requester:
        slow = await requester.start(*PYTHON, "import time; time.sleep(600)")
        waiting = await requester.hand.ask("terminal/wait_for_exit", {"sessionId": "s", "terminalId": slow})
        quick = await requester.start(*PYTHON, "print('quick')")
        assert (await requester.finished(quick))["output"] == "quick\n"
        await requester.hand.ask("terminal/kill", {"sessionId": "s", "terminalId": slow})
        ended = (await requester.hand.answer_to(waiting))["result"]
        assert (ended.get("exitCode"), ended["signal"]) == (None, "SIGTERM")


@pytest.mark.parametrize("status", [0, 7])
async def test_the_exit_status_is_told(tmp_path: Path, status: int) -> None:
    async with requesting_agent(tmp_path) as requester:
        terminal = await requester.start(*PYTHON, f"raise SystemExit({status})")
        ended = await requester.ask("terminal/wait_for_exit", terminalId=terminal)
        assert (ended["exitCode"], ended.get("signal")) == (status, None)
        again = await requester.ask("terminal/wait_for_exit", terminalId=terminal)
        assert again == ended


async def test_a_killed_terminal_still_has_its_output(tmp_path: Path) -> None:
    async with requesting_agent(tmp_path) as requester:
        terminal = await requester.start(*PYTHON, "import time; print('began'); time.sleep(600)")
        await written(requester, terminal)
        await requester.ask("terminal/kill", terminalId=terminal)
        ended = await requester.finished(terminal)
        assert (ended["output"], ended["exitStatus"]["signal"]) == ("began\n", "SIGTERM")
        await requester.ask("terminal/kill", terminalId=terminal)


async def test_a_released_terminal_is_unknown_and_its_output_stays_in_the_transcript(tmp_path: Path) -> None:
    async with requesting_agent(tmp_path) as requester:
        terminal = await requester.start(*PYTHON, "import os, time; print(os.getpid()); time.sleep(600)")
        pid = int(await written(requester, terminal))
        await requester.ask("terminal/release", terminalId=terminal)
        assert not runs(pid)
        for method in ("output", "wait_for_exit", "kill", "release"):
            assert await requester.refusal(f"terminal/{method}", terminalId=terminal) == -32002
        assert await until(lambda: requester.session.transcript.terminals[terminal].exit is not None)
        assert shown(requester, terminal) == f"{pid}\n"


@rows("method", ["output", "wait_for_exit", "kill", "release"])
async def test_a_terminal_that_never_was_is_unknown(tmp_path: Path, method: str) -> None:
    async with requesting_agent(tmp_path) as requester:
        assert await requester.refusal(f"terminal/{method}", terminalId="nonsense") == -32002


async def test_whoever_waits_for_a_terminal_that_is_released_gets_its_end(tmp_path: Path) -> None:
    async with requesting_agent(tmp_path) as requester:
        terminal = await requester.start(*PYTHON, "import time; time.sleep(600)")
        waiting = await requester.hand.ask("terminal/wait_for_exit", {"sessionId": "s", "terminalId": terminal})
        await requester.hand.ask("terminal/release", {"sessionId": "s", "terminalId": terminal})
        assert (await requester.hand.answer_to(waiting))["result"]["signal"] == "SIGTERM"


async def test_a_command_that_cannot_be_started_leaves_no_terminal(tmp_path: Path) -> None:
    async with requesting_agent(tmp_path) as requester:
        assert await requester.refusal("terminal/create", command="there-is-no-such-program") == -32602
        assert await requester.refusal("terminal/create", command="") == -32602
        assert requester.session.transcript.terminals == {}


@rows("cwd", ["/", "relative", "{outside}", "{root}/../outside", "{root}/link", "{root}/missing"])
async def test_a_command_runs_nowhere_but_inside_the_roots(tmp_path: Path, cwd: str) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "link").symlink_to(outside)
    async with requesting_agent(root) as requester:
        where = cwd.format(root=root, outside=outside)
        assert await requester.refusal("terminal/create", command="true", cwd=where) in {-32602, -32002}
        assert requester.session.transcript.terminals == {}


async def test_a_command_may_run_in_a_further_root(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    async with requesting_agent(one, roots=[two]) as requester:
        terminal = await requester.start(*PYTHON, "import os; print(os.getcwd())", cwd=str(two))
        assert (await requester.finished(terminal))["output"] == f"{two}\n"


async def test_without_terminals_there_are_none(tmp_path: Path) -> None:
    async with requesting_agent(tmp_path, offer=accord.client.Offer(terminals=False)) as requester:
        assert await requester.refusal("terminal/create", command="true") == -32601


async def test_a_terminal_of_another_session_is_unknown(tmp_path: Path) -> None:
    async with requesting_agent(tmp_path) as requester:
        answer = await requester.hand.request("terminal/create", {"sessionId": "another", "command": "true"})
        assert answer["error"]["code"] == -32002


@pytest.mark.parametrize(("pty", "told"), [(False, "False"), (True, "True")])
async def test_with_a_pty_the_program_sees_a_terminal(tmp_path: Path, *, pty: bool, told: str) -> None:
    async with requesting_agent(tmp_path, offer=accord.client.Offer(pty=pty)) as requester:
        terminal = await requester.start(*PYTHON, "import sys; print(sys.stdout.isatty())")
        ended = await requester.finished(terminal)
        assert (ended["output"].strip(), ended["exitStatus"]["exitCode"]) == (told, 0)


# --- limits


async def test_beyond_its_limit_output_is_cut_from_the_beginning_at_a_character(tmp_path: Path) -> None:
    async with requesting_agent(tmp_path) as requester:
        terminal = await requester.start(*PYTHON, "print('ä' * 50, end='', flush=True)", outputByteLimit=11, env=UTF8)
        ended = await requester.finished(terminal)
        assert (ended["output"], ended["truncated"]) == ("ä" * 5, True)
        assert shown(requester, terminal) == "ä" * 50


async def test_a_limit_of_nothing_keeps_nothing(tmp_path: Path) -> None:
    async with requesting_agent(tmp_path) as requester:
        terminal = await requester.start(*PYTHON, "print('much')", outputByteLimit=0)
        ended = await requester.finished(terminal)
        assert (ended["output"], ended["truncated"]) == ("", True)


UTF8 = [{"name": "PYTHONIOENCODING", "value": "utf-8"}, {"name": "PYTHONUTF8", "value": "1"}]
MUCH = "import os\npiece = b'x' * 65536\nfor _ in range({pieces}): os.write(1, piece)\nos.write(1, b'the end')"


async def test_the_client_keeps_no_more_than_it_likes_whatever_the_agent_asks_for(tmp_path: Path) -> None:
    async with requesting_agent(tmp_path) as requester:
        pieces = MAX_OUTPUT_BYTES // 65536 + 16
        terminal = await requester.start(*PYTHON, MUCH.format(pieces=pieces), outputByteLimit=2**53)
        ended = await requester.finished(terminal)
        assert (len(ended["output"]), ended["truncated"]) == (MAX_OUTPUT_BYTES, True)
        assert ended["output"].endswith("the end")


async def test_much_output_takes_little_memory(tmp_path: Path) -> None:
    async with requesting_agent(tmp_path) as requester:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        terminal = await requester.start(*PYTHON, MUCH.format(pieces=4 * 1024), outputByteLimit=1024)
        ended = await requester.finished(terminal)
        assert ended["output"].endswith("the end")
        assert await until(lambda: requester.session.transcript.terminals[terminal].exit is not None)
        assert shown(requester, terminal).endswith("the end")
        assert len(shown(requester, terminal)) <= SCREEN_BYTES
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40 * 1024


async def test_output_that_nobody_takes_is_bounded_and_does_not_hold_up_the_program(tmp_path: Path) -> None:
    waiting: list[Event] = []
    opened = asyncio.Event()

    def tell(event: Event) -> Any:
        waiting.append(event)
        return opened.wait() if isinstance(event, TerminalOutput) and not opened.is_set() else None

    terminals = ClientTerminals(lambda: Workspace([tmp_path]), tell)
    started = await terminals.start(StartTerminal("s", PYTHON[0], [*PYTHON[1:], MUCH.format(pieces=1600)]))
    ended = await terminals.wait(AwaitTerminal("s", started.terminal_id))
    assert ended.exit.code == 0
    assert sum(len(event.data) for event in waiting if isinstance(event, TerminalOutput)) < SCREEN_BYTES
    opened.set()
    assert await until(lambda: isinstance(waiting[-1], TerminalChanged) and bool(waiting[-1].exit))
    transcript = Transcript(waiting)
    assert transcript.terminals[started.terminal_id].text.endswith("the end")
    assert len(transcript.terminals[started.terminal_id].text) <= SCREEN_BYTES
    assert sum(isinstance(event, TerminalChanged) for event in waiting) <= 4
    await terminals.release(ReleaseTerminal("s", started.terminal_id))
    await terminals.close()


async def test_a_slow_consumer_of_a_turn_does_not_hold_up_a_program_nor_all_of_its_output(tmp_path: Path) -> None:
    agent = accord.Agent("runner", store=None)
    script = MUCH.format(pieces=4800) + "\nopen('ended', 'w').close()"

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        await turn.terminals.run([*PYTHON, script])

    async with accord.connect(agent, edition="1") as remote:
        session = await remote.new_session(tmp_path)
        async with session.prompt("go") as turn:
            slow = True
            async for event in turn:
                if slow and isinstance(event, TerminalOutput):
                    slow = False
                    assert await until((tmp_path / "ended").exists)
                    held = [each.data for each in turn._waiting if isinstance(each, TerminalOutput)]
                    assert sum(len(data) for data in held) <= 2 * MAX_WAITING_BYTES
        (terminal,) = session.transcript.terminals.values()
        assert (turn.stop_reason, terminal.text[-7:]) == ("end_turn", "the end")


async def test_whoever_falls_behind_is_shown_the_end_and_never_a_gap() -> None:
    told: list[Event] = []
    opened = asyncio.Event()

    def tell(event: Event) -> Any:
        told.append(event)
        return None if opened.is_set() else opened.wait()

    screen = _Screen("t", tell)
    pieces = [f"{number:08}".encode() * 512 for number in range(2000)]
    for piece in pieces:
        screen.feed(piece)
        assert len(screen._held) <= SCREEN_BYTES
    opened.set()
    async with asyncio.timeout(limit(10)):
        await screen._catch_up()
    screen.feed(b"more")
    first, second, third = told
    assert isinstance(first, TerminalOutput)
    assert isinstance(second, TerminalChanged)
    assert isinstance(third, TerminalOutput)
    whole = b"".join(pieces)
    assert (first.data, second.output, third.data) == (pieces[0], whole[-SCREEN_REST_BYTES:], b"more")


async def test_a_long_output_is_shown_by_its_end(tmp_path: Path) -> None:
    told: list[Event] = []
    terminals = ClientTerminals(lambda: Workspace([tmp_path]), told.append)
    script = "import sys\nfor n in range(400_000): sys.stdout.write(f'{n:09}\\n')"
    started = await terminals.start(StartTerminal("s", PYTHON[0], ["-I", "-S", "-c", script]))
    await terminals.wait(AwaitTerminal("s", started.terminal_id))
    await terminals.close()
    lines = Transcript(told).terminals[started.terminal_id].text.splitlines()
    whole = lines[1:]
    assert [int(line) for line in whole] == list(range(400_000 - len(whole), 400_000))
    assert SCREEN_REST_BYTES // 10 - 1 <= len(lines) <= SCREEN_BYTES // 10 + 1
    assert all(
        len(event.output) <= SCREEN_REST_BYTES for event in told if isinstance(event, TerminalChanged) and event.output
    )


# --- the end

STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child == 0:
    os.setsid()
    time.sleep(600)
print(os.getpid(), child)
time.sleep(600)
"""


@pytest.mark.usefixtures("short_graces")
@pytest.mark.parametrize("method", ["kill", "release", None])
async def test_a_program_that_ignores_sigterm_and_forks_is_gone(tmp_path: Path, method: str | None) -> None:
    async with requesting_agent(tmp_path) as requester:
        terminal = await requester.start(*PYTHON, STUBBORN)
        pids = [int(pid) for pid in (await written(requester, terminal)).split()]
        assert all(runs(pid) for pid in pids)
        if method is not None:
            await requester.ask(f"terminal/{method}", terminalId=terminal)
            assert not any(runs(pid) for pid in pids)
    assert not any(runs(pid) for pid in pids)
    assert requester.session.transcript.terminals[terminal].exit is not None


async def test_closing_the_session_ends_its_terminals(tmp_path: Path) -> None:
    async with requesting_agent(tmp_path) as requester:
        terminal = await requester.start(*PYTHON, "import os, time; print(os.getpid()); time.sleep(600)")
        pid = int(await written(requester, terminal))
        await requester.session.close()
        assert await until(lambda: not runs(pid))
        assert await requester.refusal("terminal/output", terminalId=terminal) == -32002


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors in /proc: run it on Linux")
async def test_fifty_terminals_leave_no_descriptor_behind(tmp_path: Path) -> None:
    async with requesting_agent(tmp_path) as requester:
        await requester.ask("terminal/release", terminalId=await requester.start("true"))
        before = len(list(Path("/proc/self/fd").iterdir()))
        terminals = [await requester.start("true") for _ in range(50)]
        for terminal in terminals:
            await requester.ask("terminal/release", terminalId=terminal)
        assert len(list(Path("/proc/self/fd").iterdir())) <= before


def test_the_events_of_a_terminal_are_part_of_a_turn(tmp_path: Path) -> None:
    agent = accord.Agent("runner", store=None)

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        async with turn.tool("Run", kind="execute") as tool:
            await turn.terminals.run(["echo", "hello"], on_start=tool.show)

    with accord.open(agent, cwd=tmp_path, edition="1") as session:
        events = list(session.stream("go"))
        outputs = [event.data for event in events if isinstance(event, TerminalOutput)]
        (tool,) = session.transcript.tool_calls.values()
    assert outputs == [b"hello\n"]
    assert tool.status == "completed"


# --- how much of all of them is kept


async def test_the_terminals_of_a_session_share_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminals, "MAX_TOTAL_BYTES", 400_000)
    async with requesting_agent(tmp_path) as requester:
        ids = []
        for _ in range(4):
            ids.append(await requester.start(*PYTHON, "print('x' * 300_000)"))
            await requester.finished(ids[-1])
        sizes = [await output_of(requester, terminal) for terminal in ids]
        assert [len(read["output"]) for read in sizes] == [100_000] * 4
        assert all(read["truncated"] for read in sizes)
        for terminal in ids[1:]:
            await requester.ask("terminal/release", terminalId=terminal)
        again = await requester.start(*PYTHON, "print('y' * 150_000)")
        assert len((await requester.finished(again))["output"]) == 150_001


async def test_beyond_the_limit_an_ended_terminal_is_forgotten_and_running_ones_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminals, "MAX_TERMINALS", 2)
    async with requesting_agent(tmp_path) as requester:
        ended = await requester.start(*PYTHON, "print('done')")
        await requester.finished(ended)
        running = [await requester.start(*PYTHON, "import time; time.sleep(600)") for _ in range(2)]
        assert await requester.refusal("terminal/output", terminalId=ended) == accord.ResourceNotFound.code
        refused = await requester.refusal("terminal/create", command=sys.executable, args=["-c", "print('one more')"])
        assert refused == accord.RateLimited.code
        await requester.ask("terminal/release", terminalId=running[0])
        assert (await requester.finished(await requester.start(*PYTHON, "print('now')")))["output"] == "now\n"
