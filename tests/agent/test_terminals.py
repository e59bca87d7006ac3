"""Commands through a client and on this machine: the same calls, and nothing is left, whatever goes wrong when."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from accord.agent import (
    session as session_module,
    terminal as terminal_module,
    terminal_kinds,
    terminals as terminals_module,
)
from accord.agent.terminal import CommandOutcome, Terminal, TerminalText
from accord.agent.terminal_kinds import OutputScreen
from accord.agent.terminals import Terminals
from accord.errors import (
    CallTimeout,
    ConnectionLost,
    InvalidParams,
    LocalProtocolError,
    RequestError,
    StoreError,
    request_error,
)
from accord.protocol.model import UNSET
from accord.session.agent_requests import AwaitTerminal, KillTerminal, ReadTerminal, ReleaseTerminal, StartTerminal
from accord.session.event import TerminalChanged, TerminalExit, TerminalOutput
from accord.session.tool import TerminalView
from accord.workspace import NotADirectory, PathOutsideRoots, StartFailed, Workspace
from tests.agent.machine import Conversation, Machine, machine
from tests.limits import limit
from tests.trace.programs import wait_until_gone
from tests.transport.processes import exists, runs, until
from tests.workspace.trees import Tree

BOTH_WAYS = pytest.mark.parametrize("by_client", [False, True], ids=["local", "client"])

WAITS = "import os, signal; os.write(1, b'%d ' % os.getpid()); signal.pause()"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {WAITS}"
# One child in its group and one in a session of its own; both ignore SIGTERM and say their numbers.
FAMILY = """
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for alone in (False, True):
    if os.fork() == 0:
        if alone:
            os.setsid()
        break
os.write(1, b"%d " % os.getpid())
signal.pause()
"""


def python(source: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", source]


class Rig:
    """A session's terminals with both of their other ends."""

    def __init__(self, tree: Tree, client: Machine) -> None:
        self.client = client
        self.told = Conversation()
        self.client_terminals: list[tuple[str, int]] = []
        self.terminals = Terminals(
            "s",
            [str(tree.root)],
            client,
            lambda: Workspace([tree.root]),
            self.told.publish,
            client_terminal=lambda terminal_id: self.client_terminals.append((terminal_id, len(self.told.begun))),
        )

    def shown(self, terminal_id: str) -> bytes:
        return self.told.transcript.terminals[terminal_id].output

    def ended(self, terminal_id: str) -> TerminalExit | None:
        return self.told.transcript.terminals[terminal_id].exit


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long for a peer that never answers."""
    monkeypatch.setattr(terminal_module, "RELEASE_SECONDS", 0.5)
    monkeypatch.setattr(terminal_kinds, "STEP_SECONDS", 0.1)
    monkeypatch.setattr(terminals_module, "START_SECONDS", 0.1)
    monkeypatch.setattr(terminals_module, "CLOSE_SECONDS", 1.0)


@asynccontextmanager
async def rig_of(tree: Tree, *, by_client: bool) -> AsyncIterator[Rig]:
    async with machine(tree.root, terminals=by_client) as client:
        rig = Rig(tree, client)
        yield rig
        await rig.terminals._close()
        assert not rig.terminals.running
        assert not rig.terminals._tasks
        assert not rig.terminals._terminals


async def pids_of(terminal: Terminal, count: int = 1) -> list[int]:
    """The numbers that a program has said, as soon as there are so many."""
    while len(words := (await terminal.output()).text.split(" ")) <= count:
        await asyncio.sleep(0.01)
    return [int(word) for word in words[:count]]


async def cancelled(task: asyncio.Task[CommandOutcome] | asyncio.Task[Terminal] | asyncio.Task[None]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# ── one call ─────────────────────────────────────────────────────────────────────────────────────────


@BOTH_WAYS
async def test_a_command_is_one_call(tree: Tree, *, by_client: bool) -> None:
    async with rig_of(tree, by_client=by_client) as rig:
        outcome = await rig.terminals.run(python("print('é'); raise SystemExit(3)"))
        assert outcome == CommandOutcome(
            3, None, "é\n", truncated=False, timed_out=False, terminal_id=outcome.terminal_id
        )
        assert rig.shown(outcome.terminal_id) == "é\n".encode()
        assert rig.ended(outcome.terminal_id) == TerminalExit(code=3)
        released = [ask.terminal_id for ask in rig.client.asked if isinstance(ask, ReleaseTerminal)]
        assert released == [outcome.terminal_id] * by_client


@BOTH_WAYS
async def test_a_command_that_is_killed_by_a_signal_has_no_code(tree: Tree, *, by_client: bool) -> None:
    async with rig_of(tree, by_client=by_client) as rig:
        outcome = await rig.terminals.run(python("import os, signal; os.kill(os.getpid(), signal.SIGHUP)"))
        assert (outcome.exit_code, outcome.signal) == (None, "SIGHUP")


@BOTH_WAYS
async def test_a_command_has_its_time_and_its_output_up_to_then(tree: Tree, *, by_client: bool) -> None:
    async with rig_of(tree, by_client=by_client) as rig:
        started: list[Terminal] = []

        async def until_it_writes(terminal: Terminal) -> None:
            started.append(terminal)
            await pids_of(terminal)

        outcome = await rig.terminals.run(python(WAITS), timeout_seconds=0.05, on_start=until_it_writes)
        assert outcome.timed_out
        assert (outcome.exit_code, outcome.signal) == (None, "SIGTERM")
        assert not exists(int(outcome.output))
        assert rig.shown(outcome.terminal_id) == outcome.output.encode()
        assert rig.ended(outcome.terminal_id) == TerminalExit(signal="SIGTERM")
        assert [terminal.id for terminal in started] == [outcome.terminal_id]
        assert rig.client.kinds()[-3:] == [KillTerminal, ReadTerminal, ReleaseTerminal][: 3 * by_client]


@pytest.mark.usefixtures("short_graces")
@BOTH_WAYS
async def test_nothing_of_a_stubborn_family_is_left_when_the_time_is_over(tree: Tree, *, by_client: bool) -> None:
    async with rig_of(tree, by_client=by_client) as rig:
        pids: list[int] = []

        async def hear(terminal: Terminal) -> None:
            pids.extend(await pids_of(terminal, 3))

        outcome = await rig.terminals.run(python(FAMILY), timeout_seconds=0, on_start=hear)
        assert outcome.timed_out
        assert outcome.signal == "SIGKILL"
        assert len(set(pids)) == 3
        assert not any(map(runs, pids))


@BOTH_WAYS
async def test_what_a_command_leaves_behind_is_ended_with_it(tree: Tree, *, by_client: bool) -> None:
    source = """
import os, signal
child = os.fork()
if child:
    os.write(1, b"%d" % child)
else:
    signal.pause()
"""
    async with rig_of(tree, by_client=by_client) as rig:
        outcome = await rig.terminals.run(python(source))
        assert outcome.exit_code == 0
        # It was killed; how long the system takes to end it is not known.
        wait_until_gone(int(outcome.output))


async def test_time_counts_from_the_start(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    async with rig_of(tree, by_client=False) as rig:
        waited: list[float | None] = []

        async def show(terminal: Terminal) -> None:
            wait = terminal.wait

            async def noted(timeout_seconds: float | None = None) -> TerminalExit | None:
                waited.append(timeout_seconds)
                return await wait(timeout_seconds)

            monkeypatch.setattr(terminal, "wait", noted)
            await wait()

        await rig.terminals.run(python("pass"), timeout_seconds=20, on_start=show)
        (seconds,) = waited
        assert seconds is not None
        assert 0 <= seconds < limit(20)


@BOTH_WAYS
async def test_the_terminal_can_be_shown_before_it_ends(tree: Tree, *, by_client: bool) -> None:
    async with rig_of(tree, by_client=by_client) as rig:
        views: list[TerminalView] = []
        outcome = await rig.terminals.run(python("pass"), on_start=lambda terminal: views.append(terminal.view))
        assert views == [TerminalView(outcome.terminal_id)]


@BOTH_WAYS
async def test_the_limit_keeps_the_end_from_a_whole_character_on(tree: Tree, *, by_client: bool) -> None:
    async with rig_of(tree, by_client=by_client) as rig:
        argv = python("import os; os.write(1, 'é'.encode() * 1000)")
        outcome = await rig.terminals.run(argv, output_byte_limit=101)
        assert (outcome.output, outcome.truncated) == ("é" * 50, True)
        assert rig.shown(outcome.terminal_id) == ("é" * 50).encode()
        with pytest.raises(ValueError, match="negative"):
            await rig.terminals.run(argv, output_byte_limit=-1)


@BOTH_WAYS
async def test_the_directory_is_the_sessions_unless_given(tree: Tree, *, by_client: bool) -> None:
    async with rig_of(tree, by_client=by_client) as rig:
        where = python("import os; os.write(1, os.getcwd().encode())")
        assert (await rig.terminals.run(where)).output == str(tree.root)
        outcome = await rig.terminals.run(where, cwd="folder/../folder")
        assert outcome.output == str(tree.root / "folder")
        assert rig.told.transcript.terminals[outcome.terminal_id].cwd == outcome.output


@BOTH_WAYS
@pytest.mark.parametrize("cwd", ["..", "/", "way", "way/deeper"])
async def test_a_directory_outside_is_refused_and_nobody_is_asked(tree: Tree, cwd: str, *, by_client: bool) -> None:
    (tree.root / "way").symlink_to(tree.outside)
    async with rig_of(tree, by_client=by_client) as rig:
        with pytest.raises(PathOutsideRoots):
            await rig.terminals.run(python("pass"), cwd=cwd)
        assert not rig.client.asked
        assert not rig.told.begun


@BOTH_WAYS
async def test_the_environment_can_be_changed(tree: Tree, monkeypatch: pytest.MonkeyPatch, *, by_client: bool) -> None:
    monkeypatch.setenv("ACCORD_TEST_GONE", "here")
    async with rig_of(tree, by_client=by_client) as rig:
        outcome = await rig.terminals.run(
            python("import os; print(os.environ['ACCORD_TEST_NEW'], os.environ.get('ACCORD_TEST_GONE'))"),
            env={"ACCORD_TEST_NEW": "new", "ACCORD_TEST_GONE": None},
        )
        # v1 has no word for a variable that is not there; an empty one is the nearest.
        assert outcome.output == ("new \n" if by_client else "new None\n")


@BOTH_WAYS
async def test_a_line_for_a_shell_is_no_command(tree: Tree, *, by_client: bool) -> None:
    async with rig_of(tree, by_client=by_client) as rig:
        with pytest.raises(TypeError):
            await rig.terminals.start("ls -l")
        assert not rig.client.asked


@BOTH_WAYS
@pytest.mark.parametrize("argv", [[], [""], ["/there/is/no/such/program"]])
async def test_a_command_that_cannot_start_is_one_error_on_both_ways(
    tree: Tree, argv: list[str], *, by_client: bool
) -> None:
    async with rig_of(tree, by_client=by_client) as rig:
        with pytest.raises(StartFailed) as caught:
            await rig.terminals.run(argv)
        assert caught.value.argv == tuple(argv)
        assert isinstance(caught.value.__cause__, RequestError) == (by_client and bool(argv and argv[0]))
        assert not rig.told.begun


@BOTH_WAYS
async def test_a_path_is_a_word_too(tree: Tree, *, by_client: bool) -> None:
    async with rig_of(tree, by_client=by_client) as rig:
        outcome = await rig.terminals.run([Path(sys.executable), "-c", "print('a b')"])
        assert outcome.output == "a b\n"
        assert (
            rig.told.transcript.terminals[outcome.terminal_id].command
            == f"""{sys.executable} -c 'print('"'"'a b'"'"')'"""
        )


async def test_a_command_needs_a_directory_on_the_machine_that_runs_it(tree: Tree) -> None:
    def nowhere() -> Workspace:
        return Workspace([tree.root / "nowhere"])

    for by_client in (False, True):
        async with machine(tree.root, terminals=by_client) as client:
            told = Conversation()
            terminals = Terminals("s", [str(tree.root)], client, nowhere, told.publish, client_terminal=print)
            if by_client:
                assert (await terminals.run(python("print(1)"))).output == "1\n"
            else:
                with pytest.raises(NotADirectory):
                    await terminals.run(python("print(1)"))


# ── a terminal in hand ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("short_graces")
@BOTH_WAYS
async def test_a_terminal_can_be_read_waited_for_killed_and_released(tree: Tree, *, by_client: bool) -> None:
    async with rig_of(tree, by_client=by_client) as rig, await rig.terminals.start(python(STUBBORN)) as terminal:
        (pid,) = await pids_of(terminal)
        assert await terminal.output() == TerminalText(f"{pid} ", truncated=False, exit=None)
        assert terminal.is_running
        assert rig.terminals.running == [terminal]
        assert await terminal.wait(0.01) is None
        assert runs(pid)
        await terminal.kill()
        assert not exists(pid)
        assert not terminal.is_running
        assert rig.terminals.running == []
        assert rig.terminals._unreleased == [terminal]
        assert await terminal.wait() == TerminalExit(signal="SIGKILL")
        assert await terminal.output() == TerminalText(f"{pid} ", truncated=False, exit=TerminalExit(signal="SIGKILL"))
        asked = len(rig.client.asked)
        await terminal.kill()
        assert len(rig.client.asked) == asked
        await terminal.release()
        assert rig.terminals._unreleased == []
        await terminal.release()
        assert await terminal.wait() == TerminalExit(signal="SIGKILL")
        assert await terminal.output() == TerminalText(f"{pid} ", truncated=False, exit=TerminalExit(signal="SIGKILL"))
        await terminal.kill()
        assert rig.client.kinds().count(ReleaseTerminal) == by_client
        assert rig.client.kinds().count(KillTerminal) == by_client


@BOTH_WAYS
async def test_all_who_wait_get_the_end(tree: Tree, *, by_client: bool) -> None:
    async with rig_of(tree, by_client=by_client) as rig:
        terminal = await rig.terminals.start(python(WAITS))
        waiting = [asyncio.create_task(terminal.wait()) for _ in range(3)]
        await pids_of(terminal)
        await asyncio.gather(*(terminal.release() for _ in range(3)))
        assert await asyncio.gather(*waiting) == [TerminalExit(signal="SIGTERM")] * 3
        assert rig.client.kinds().count(AwaitTerminal) == by_client
        assert rig.client.kinds().count(ReleaseTerminal) == by_client


@BOTH_WAYS
async def test_a_terminal_is_released_when_its_context_ends_in_an_error(tree: Tree, *, by_client: bool) -> None:
    pids: list[int] = []

    async def use(rig: Rig) -> None:
        async with await rig.terminals.start(python(WAITS)) as terminal:
            pids.extend(await pids_of(terminal))
            raise KeyError

    async with rig_of(tree, by_client=by_client) as rig:
        with pytest.raises(KeyError):
            await use(rig)
        assert not exists(pids.pop())


@BOTH_WAYS
async def test_what_cannot_be_told_does_not_hide_the_error_before_it(tree: Tree, *, by_client: bool) -> None:
    async def use(rig: Rig) -> None:
        async with await rig.terminals.start(python(WAITS)):
            rig.told.failure = StoreError("full")
            raise KeyError

    async with rig_of(tree, by_client=by_client) as rig:
        with pytest.raises(KeyError):
            await use(rig)
        assert not rig.terminals._unreleased


@pytest.mark.usefixtures("short_graces")
@BOTH_WAYS
async def test_closing_leaves_nothing_and_nothing_can_be_started_again(tree: Tree, *, by_client: bool) -> None:
    async with rig_of(tree, by_client=by_client) as rig:
        running = [await rig.terminals.start(python(FAMILY)) for _ in range(2)]
        pids = [pid for terminal in running for pid in await pids_of(terminal, 3)]
        assert rig.terminals.running == running
        await rig.terminals._close()
        assert not any(map(runs, pids))
        assert rig.terminals.running == []
        for terminal in running:
            assert rig.ended(terminal.id) == TerminalExit(signal="SIGKILL")
        asked = len(rig.client.asked)
        with pytest.raises(LocalProtocolError):
            await rig.terminals.start(python("pass"))
        assert len(rig.client.asked) == asked


@BOTH_WAYS
async def test_after_a_stop_others_can_be_started(tree: Tree, *, by_client: bool) -> None:
    async with rig_of(tree, by_client=by_client) as rig:
        await rig.terminals._stop()
        terminal = await rig.terminals.start(python(WAITS))
        (pid,) = await pids_of(terminal)
        await rig.terminals._stop()
        assert not exists(pid)
        assert rig.terminals._unreleased == []
        assert (await rig.terminals.run(python("print(1)"))).output == "1\n"


async def test_an_end_that_was_read_is_known(tree: Tree) -> None:
    async with rig_of(tree, by_client=True) as rig:
        terminal = await rig.terminals.start(python("pass"))
        assert terminal.is_running
        await rig.client.commands[terminal.id].wait()
        assert await terminal.output() == TerminalText("", truncated=False, exit=TerminalExit(code=0))
        assert not terminal.is_running
        assert await terminal.wait() == TerminalExit(code=0)
        await terminal.release()
        assert AwaitTerminal not in rig.client.kinds()
        assert KillTerminal not in rig.client.kinds()


# ── what is told ─────────────────────────────────────────────────────────────────────────────────────


async def test_a_command_of_ours_is_told_from_its_start_to_its_end(tree: Tree) -> None:
    async with rig_of(tree, by_client=False) as rig:
        argv = python(WAITS)
        async with await rig.terminals.start(argv, cancellable=True) as terminal:
            assert rig.told.events[0] == TerminalChanged(
                terminal.id,
                command=rig.told.transcript.terminals[terminal.id].command,
                cwd=str(tree.root),
                cancellable=True,
            )
            (pid,) = await pids_of(terminal)
            assert await until(lambda: len(rig.told.events) == 2)
            assert rig.told.events[1] == TerminalOutput(terminal.id, b"%d " % pid)
            await terminal.kill()
        assert rig.told.events[2:] == [TerminalChanged(terminal.id, exit=TerminalExit(signal="SIGTERM"))]
        assert not rig.client_terminals


async def test_a_command_of_the_client_is_named_first_and_told_at_its_start_and_end(tree: Tree) -> None:
    async with rig_of(tree, by_client=True) as rig:
        outcome = await rig.terminals.run(python("print('x')"))
        assert rig.client_terminals == [(outcome.terminal_id, 0)]
        start, end = rig.told.events
        assert isinstance(start, TerminalChanged)
        assert (start.id, start.cwd, start.output, start.exit) == (outcome.terminal_id, str(tree.root), UNSET, UNSET)
        assert end == TerminalChanged(outcome.terminal_id, output=b"x\n", exit=TerminalExit(code=0))


async def test_the_end_of_a_clients_command_is_told_before_its_release(tree: Tree) -> None:
    async with rig_of(tree, by_client=True) as rig:
        async with await rig.terminals.start(python("pass")) as terminal:
            rig.told.ready.clear()
            releasing = asyncio.create_task(terminal.release())
            assert await until(lambda: len(rig.told.begun) == 2)
            assert ReleaseTerminal not in rig.client.kinds()
            rig.told.ready.set()
            await releasing
        assert rig.client.kinds()[-1] is ReleaseTerminal


async def test_terminals_of_ours_have_names_of_their_own(tree: Tree) -> None:
    async with rig_of(tree, by_client=False) as rig:
        outcomes = await asyncio.gather(*(rig.terminals.run(python("pass")) for _ in range(5)))
        assert len({outcome.terminal_id for outcome in outcomes}) == 5


async def test_output_comes_in_order_and_whole(tree: Tree) -> None:
    async with rig_of(tree, by_client=False) as rig:
        source = "import os\nfor number in range(5000): os.write(1, b'%d\\n' % number)"
        outcome = await rig.terminals.run(python(source))
        expected = "".join(f"{number}\n" for number in range(5000))
        assert outcome.output == expected
        assert rig.shown(outcome.terminal_id) == expected.encode()
        kinds = [type(event) for event in rig.told.events]
        assert kinds == [TerminalChanged, *[TerminalOutput] * (len(kinds) - 2), TerminalChanged]


async def test_a_slow_client_holds_up_no_command_and_gets_the_end(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal_kinds, "MAX_WAITING_BYTES", 1000)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    source = f"import os; open({str(gate)!r}).read()\nfor number in range(1000): os.write(1, b'%07d\\n' % number)"
    async with rig_of(tree, by_client=False) as rig:
        terminal = await rig.terminals.start(python(source))
        rig.told.ready.clear()
        await asyncio.to_thread(gate.write_text, "go", encoding="utf-8")
        assert await terminal.wait(20) == TerminalExit(code=0)
        text = (await terminal.output()).text
        assert len(text) == 8000
        releasing = asyncio.create_task(terminal.release())
        assert not await until(releasing.done, 0.05)
        rig.told.ready.set()
        await releasing
        assert text.endswith(rig.shown(terminal.id).decode())
        assert len(rig.shown(terminal.id)) == 1000
        assert rig.ended(terminal.id) == TerminalExit(code=0)
        assert len(rig.told.events) <= 4


@pytest.mark.parametrize(("limit", "expected"), [(None, b"a" * 60 + b"b" * 60), (100, b"a" * 40 + b"b" * 60)])
async def test_what_was_written_while_a_client_was_slow_is_told_before_the_end(
    tree: Tree, tmp_path: Path, limit: int | None, expected: bytes
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    source = f"import os; os.write(1, b'a' * 60); open({str(gate)!r}).read(); os.write(1, b'b' * 60)"
    async with rig_of(tree, by_client=False) as rig:
        async with await rig.terminals.start(python(source), output_byte_limit=limit) as terminal:
            rig.told.ready.clear()
            assert await until(lambda: len(rig.told.begun) == 2)
            await asyncio.to_thread(gate.write_text, "go", encoding="utf-8")
            await terminal.wait()
            rig.told.ready.set()
        assert rig.shown(terminal.id) == expected
        assert rig.told.events[-1] == TerminalChanged(terminal.id, exit=TerminalExit(code=0))


def test_whoever_shows_a_command_holds_twice_its_limit_at_most() -> None:
    screen = OutputScreen(100)
    shown = anew = 0
    for number in range(1000):
        screen.feed(b"%03d" % number)
        event = screen.take("t")
        if isinstance(event, TerminalOutput):
            shown += len(event.data)
        else:
            assert isinstance(event, TerminalChanged)
            assert event.output == b"".join(b"%03d" % earlier for earlier in range(number + 1))[-100:]
            shown = 100
            anew += 1
        assert shown <= 200
    # Not with every piece: what is told is no more than twice what was written.
    assert anew <= 3000 // 100
    assert screen.take("t") is None
    assert isinstance(screen.take_last("t"), TerminalChanged)


def test_what_waits_is_bounded() -> None:
    screen = OutputScreen(None)
    for _ in range(64):
        screen.feed(b"x" * 65536)
        assert len(screen._waiting) <= terminal_kinds.MAX_WAITING_BYTES
    assert screen.take("t") == TerminalChanged("t", output=b"x" * terminal_kinds.MAX_WAITING_BYTES)
    screen.feed(b"y")
    assert screen.take("t") == TerminalOutput("t", b"y")
    assert screen.take_last("t") is None


async def test_what_descendants_write_after_the_end_is_read_but_not_told(tree: Tree, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    source = f"""
import os
if os.fork() == 0:
    open({str(gate)!r}).read()
    os.write(1, b"late")
else:
    os.write(1, b"early ")
"""
    async with rig_of(tree, by_client=False) as rig:
        async with await rig.terminals.start(python(source)) as terminal:
            await terminal.wait()
            assert await until(lambda: rig.ended(terminal.id))
            await asyncio.to_thread(gate.write_text, "go", encoding="utf-8")
            while "late" not in (await terminal.output()).text:
                await asyncio.sleep(0.01)
        assert rig.shown(terminal.id) == b"early "
        assert rig.told.events[-1] == TerminalChanged(terminal.id, exit=TerminalExit(code=0))


@BOTH_WAYS
async def test_a_start_that_cannot_be_told_leaves_nothing(tree: Tree, *, by_client: bool) -> None:
    async with rig_of(tree, by_client=by_client) as rig:
        rig.told.failure = StoreError("full")
        with pytest.raises(StoreError):
            await rig.terminals.run(python(WAITS))
        assert not rig.terminals.running
        assert not any(map(exists, rig.client.pids))


@BOTH_WAYS
async def test_an_end_that_cannot_be_told_is_raised_when_all_is_released(tree: Tree, *, by_client: bool) -> None:
    async with rig_of(tree, by_client=by_client) as rig:
        terminal = await rig.terminals.start(python(WAITS))
        (pid,) = await pids_of(terminal)
        rig.told.failure = StoreError("full")
        with pytest.raises(StoreError):
            await terminal.release()
        assert not exists(pid)
        assert rig.client.kinds().count(ReleaseTerminal) == by_client
        # Closing raises nothing of it.
        await rig.terminals._close()


@pytest.mark.usefixtures("short_graces")
@BOTH_WAYS
@pytest.mark.usefixtures("impatient")
async def test_a_client_that_hears_nothing_keeps_no_command(tree: Tree, *, by_client: bool) -> None:
    async with rig_of(tree, by_client=by_client) as rig:
        terminal = await rig.terminals.start(python(WAITS))
        (pid,) = await pids_of(terminal)
        rig.told.ready.clear()
        await terminal.release()
        assert not exists(pid)
        assert not rig.ended(terminal.id)
        assert rig.client.kinds().count(ReleaseTerminal) == by_client
        assert not terminal.is_running
        rig.told.ready.set()
        assert await until(lambda: rig.ended(terminal.id))


@pytest.mark.usefixtures("short_graces")
@BOTH_WAYS
@pytest.mark.usefixtures("impatient")
async def test_closing_is_bounded_though_nobody_hears(tree: Tree, *, by_client: bool) -> None:
    async with rig_of(tree, by_client=by_client) as rig:
        terminal = await rig.terminals.start(python(WAITS))
        (pid,) = await pids_of(terminal)
        rig.told.ready.clear()
        await rig.terminals._close()
        assert not exists(pid)
        # What could not be told in time is never told.
        rig.told.ready.set()
        await terminal._discard()
        assert not rig.ended(terminal.id)
        await terminal.release()


# ── the user's own cancel ────────────────────────────────────────────────────────────────────────────


async def test_the_client_can_cancel_what_may_be_cancelled(tree: Tree) -> None:
    async with rig_of(tree, by_client=False) as rig:
        terminal = await rig.terminals.start(python(WAITS), cancellable=True)
        (pid,) = await pids_of(terminal)
        await rig.terminals._cancel(terminal.id)
        assert not exists(pid)
        assert await terminal.wait() == TerminalExit(signal="SIGTERM")
        with pytest.raises(InvalidParams) as caught:
            await rig.terminals._cancel(terminal.id)
        assert caught.value.field == "terminalId"
        assert caught.value.expected


@BOTH_WAYS
async def test_the_client_cannot_cancel_what_may_not_be_cancelled(tree: Tree, *, by_client: bool) -> None:
    async with rig_of(tree, by_client=by_client) as rig:
        # A client needs no leave to end its own.
        terminal = await rig.terminals.start(python(WAITS), cancellable=by_client)
        for terminal_id in (terminal.id, "another"):
            with pytest.raises(InvalidParams):
                await rig.terminals._cancel(terminal_id)
        assert terminal.is_running


# ── a caller that is cancelled ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("source", [WAITS, STUBBORN])
async def test_a_start_that_is_cancelled_before_the_client_answers_leaves_nothing(tree: Tree, source: str) -> None:
    async with rig_of(tree, by_client=True) as rig:
        gate = rig.client.hold(StartTerminal)
        running = asyncio.create_task(rig.terminals.run(python(source)))
        assert await until(lambda: rig.client.pids)
        running.cancel()
        gate.set()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert not exists(rig.client.pids[0])
        assert rig.client.kinds().count(ReleaseTerminal) == 1


@pytest.mark.usefixtures("impatient")
async def test_a_start_that_is_answered_long_after_its_cancel_is_released_then(tree: Tree) -> None:
    async with rig_of(tree, by_client=True) as rig:
        gate = rig.client.hold(StartTerminal)
        running = asyncio.create_task(rig.terminals.run(python(WAITS)))
        assert await until(lambda: rig.client.pids)
        await cancelled(running)
        assert runs(rig.client.pids[0])
        gate.set()
        assert await until(lambda: not exists(rig.client.pids[0]))
        assert await until(lambda: ReleaseTerminal in rig.client.kinds())


async def test_a_start_that_fails_after_its_cancel_is_nobodys_matter(tree: Tree) -> None:
    async with rig_of(tree, by_client=True) as rig:
        gate = rig.client.hold(StartTerminal)
        running = asyncio.create_task(rig.terminals.run(python(WAITS)))
        assert await until(lambda: rig.client.pids)
        running.cancel()
        await asyncio.sleep(0)
        rig.client.vanish()
        gate.set()
        with pytest.raises(asyncio.CancelledError):
            await running


@pytest.mark.usefixtures("impatient")
async def test_closing_does_not_wait_for_ever_for_a_start(tree: Tree) -> None:
    async with rig_of(tree, by_client=True) as rig:
        rig.client.hold(StartTerminal)
        running = asyncio.create_task(rig.terminals.run(python(WAITS)))
        assert await until(lambda: rig.client.pids)
        await rig.terminals._close()
        with pytest.raises(LocalProtocolError):
            await running


async def test_what_is_being_started_is_released_by_a_close(tree: Tree) -> None:
    async with rig_of(tree, by_client=True) as rig:
        gate = rig.client.hold(StartTerminal)
        running = asyncio.create_task(rig.terminals.run(python(WAITS)))
        assert await until(lambda: rig.client.pids)
        closing = asyncio.create_task(rig.terminals._close())
        await asyncio.sleep(0)
        gate.set()
        await closing
        assert not exists(rig.client.pids[0])
        outcome = await running
        assert outcome.signal == "SIGTERM"
        assert rig.client.kinds().count(ReleaseTerminal) == 1


@BOTH_WAYS
async def test_a_run_that_is_cancelled_while_its_start_is_told_leaves_nothing(tree: Tree, *, by_client: bool) -> None:
    async with rig_of(tree, by_client=by_client) as rig:
        rig.told.ready.clear()
        running = asyncio.create_task(rig.terminals.run(python(WAITS)))
        assert await until(lambda: rig.told.begun)
        (terminal,) = rig.terminals.running
        (pid,) = await pids_of(terminal)
        running.cancel()
        assert await until(lambda: not exists(pid))
        rig.told.ready.set()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert rig.ended(terminal.id) == TerminalExit(signal="SIGTERM")


@BOTH_WAYS
async def test_a_run_that_is_cancelled_while_it_is_shown_leaves_nothing(tree: Tree, *, by_client: bool) -> None:
    pids: list[int] = []

    async def show(terminal: Terminal) -> None:
        pids.extend(await pids_of(terminal))
        await asyncio.Event().wait()

    async with rig_of(tree, by_client=by_client) as rig:
        running = asyncio.create_task(rig.terminals.run(python(WAITS), on_start=show))
        assert await until(lambda: pids)
        await cancelled(running)
        assert not exists(pids[0])
        assert not rig.terminals.running


@pytest.mark.usefixtures("short_graces")
@BOTH_WAYS
async def test_a_run_that_is_cancelled_while_it_waits_leaves_nothing(tree: Tree, *, by_client: bool) -> None:
    pids: list[int] = []

    async def hear(terminal: Terminal) -> None:
        pids.extend(await pids_of(terminal, 3))

    async with rig_of(tree, by_client=by_client) as rig:
        running = asyncio.create_task(rig.terminals.run(python(FAMILY), on_start=hear))
        assert await until(lambda: pids)
        await cancelled(running)
        assert not any(map(runs, pids))
        assert rig.client.kinds().count(ReleaseTerminal) == by_client
        assert isinstance(rig.told.events[-1], TerminalChanged)
        assert rig.told.events[-1].exit == TerminalExit(signal="SIGKILL")


@pytest.mark.usefixtures("short_graces")
@BOTH_WAYS
async def test_a_run_that_is_cancelled_while_it_is_released_leaves_nothing(tree: Tree, *, by_client: bool) -> None:
    started: list[Terminal] = []

    def watch(terminal: Terminal) -> None:
        started.append(terminal)
        spawn = terminal._spawn

        def cancel_behind(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
            is_release, task = "_let_go" in repr(work), spawn(work)
            if is_release:
                running.cancel()
            return task

        # In the moment in which the release begins: how long it takes is the program's and the machine's affair.
        terminal._spawn = cancel_behind

    async with rig_of(tree, by_client=by_client) as rig:
        running = asyncio.create_task(rig.terminals.run(python(STUBBORN), timeout_seconds=0.05, on_start=watch))
        with pytest.raises(asyncio.CancelledError):
            await running
        assert not started[0].is_running
        assert not any(map(exists, rig.client.pids))
        assert rig.client.kinds().count(ReleaseTerminal) == by_client
        assert rig.ended(started[0].id)


@pytest.mark.usefixtures("impatient")
async def test_whoever_insists_on_cancelling_is_let_go(tree: Tree) -> None:
    async with rig_of(tree, by_client=True) as rig:
        gate = rig.client.hold(ReleaseTerminal)
        terminal = await rig.terminals.start(python(WAITS))
        releasing = asyncio.create_task(terminal.release())
        assert await until(lambda: ReleaseTerminal in rig.client.kinds())
        releasing.cancel()
        await asyncio.sleep(0)
        assert not releasing.done()
        await cancelled(releasing)
        gate.set()


@pytest.mark.usefixtures("short_graces")
@BOTH_WAYS
async def test_a_close_that_is_cancelled_leaves_nothing(tree: Tree, *, by_client: bool) -> None:
    async with rig_of(tree, by_client=by_client) as rig:
        terminal = await rig.terminals.start(python(STUBBORN))
        (pid,) = await pids_of(terminal)
        closing = asyncio.create_task(rig.terminals._close())
        assert await until(lambda: terminal._releasing)
        await cancelled(closing)
        assert not exists(pid)


# ── a client that fails ──────────────────────────────────────────────────────────────────────────────


async def test_a_client_that_does_not_wait_is_told_to_release(tree: Tree) -> None:
    async with rig_of(tree, by_client=True) as rig:
        rig.client.failures[AwaitTerminal] = request_error(-32603, "no")
        with pytest.raises(RequestError):
            await rig.terminals.run(python(WAITS))
        assert not exists(rig.client.pids[0])
        assert rig.client.kinds().count(ReleaseTerminal) == 1
        assert rig.ended("client-0") == TerminalExit(signal="SIGTERM")


async def test_a_wait_that_failed_can_be_tried_again(tree: Tree) -> None:
    async with rig_of(tree, by_client=True) as rig:
        terminal = await rig.terminals.start(python("pass"))
        rig.client.failures[AwaitTerminal] = request_error(-32603, "no")
        with pytest.raises(RequestError):
            await terminal.wait()
        rig.client.failures.clear()
        assert await terminal.wait() == TerminalExit(code=0)


async def test_a_client_that_does_not_kill_is_told_to_release(tree: Tree) -> None:
    async with rig_of(tree, by_client=True) as rig:
        rig.client.failures[KillTerminal] = request_error(-32603, "no")
        terminal = await rig.terminals.start(python(WAITS))
        with pytest.raises(RequestError):
            await terminal.kill()
        await terminal.release()
        outcome = await rig.terminals.run(python(WAITS), timeout_seconds=0)
        assert outcome.timed_out
        # Nobody said how it ended; that it has is certain.
        assert rig.ended(outcome.terminal_id) == TerminalExit()
        assert not any(map(exists, rig.client.pids))
        assert rig.client.kinds().count(ReleaseTerminal) == 2


async def test_a_client_that_does_not_read_is_told_to_release(tree: Tree) -> None:
    async with rig_of(tree, by_client=True) as rig:
        rig.client.failures[ReadTerminal] = request_error(-32603, "no")
        with pytest.raises(RequestError):
            await rig.terminals.run(python("print(1)"))
        assert rig.client.kinds().count(ReleaseTerminal) == 1
        assert rig.told.events[-1] == TerminalChanged("client-0", exit=TerminalExit(code=0))


async def test_what_a_client_says_to_a_release_is_no_matter(tree: Tree) -> None:
    async with rig_of(tree, by_client=True) as rig:
        rig.client.failures[ReleaseTerminal] = request_error(-32603, "no")
        outcome = await rig.terminals.run(python("print(1)"))
        assert (outcome.exit_code, outcome.output) == (0, "1\n")
        assert rig.client.kinds().count(ReleaseTerminal) == 1


async def test_an_end_that_is_not_in_the_last_output_is_the_one_that_was_told_before(tree: Tree) -> None:
    async with rig_of(tree, by_client=True) as rig:
        rig.client.knows_exits = False
        outcome = await rig.terminals.run(python("raise SystemExit(3)"))
        assert outcome.exit_code == 3


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("kind", [AwaitTerminal, KillTerminal, ReadTerminal, ReleaseTerminal])
async def test_a_client_that_never_answers_is_not_waited_for(tree: Tree, kind: type) -> None:
    async with rig_of(tree, by_client=True) as rig:
        rig.client.hold(kind)
        terminal = await rig.terminals.start(python(WAITS))
        assert await terminal.wait(0.01) is None
        await terminal.release()
        assert not terminal.is_running
        assert await until(lambda: not exists(rig.client.pids[0]))
        assert rig.client.kinds().count(ReleaseTerminal) == 1
        assert await terminal.wait()
        if kind is AwaitTerminal:
            # Nobody waits for that answer any more.
            assert await until(lambda: not rig.terminals._tasks)
        if kind is ReadTerminal:
            with pytest.raises(CallTimeout):
                await terminal.output()
        else:
            assert (await terminal.output()).exit


@pytest.mark.usefixtures("impatient")
async def test_a_kill_waits_only_a_moment_for_the_end(tree: Tree) -> None:
    async with rig_of(tree, by_client=True) as rig:
        rig.client.hold(AwaitTerminal)
        terminal = await rig.terminals.start(python(WAITS))
        await terminal.kill()
        assert terminal.is_running
        assert not exists(rig.client.pids[0])
        assert (await terminal.output()).exit == TerminalExit(signal="SIGTERM")
        assert not terminal.is_running


async def test_output_that_is_asked_for_during_a_release_is_what_is_read_last(tree: Tree) -> None:
    async with rig_of(tree, by_client=True) as rig:
        gate = rig.client.hold(KillTerminal)
        terminal = await rig.terminals.start(python("print(1); import signal; signal.pause()"))
        releasing = asyncio.create_task(terminal.release())
        assert await until(lambda: KillTerminal in rig.client.kinds())
        reading = asyncio.create_task(terminal.output())
        await terminal.kill()
        gate.set()
        await releasing
        assert (await reading).exit == TerminalExit(signal="SIGTERM")
        assert rig.client.kinds().count(ReadTerminal) == 1
        assert rig.client.kinds().count(KillTerminal) == 1


@pytest.mark.parametrize("kind", [StartTerminal, AwaitTerminal])
async def test_a_client_that_vanishes_ends_the_call(tree: Tree, kind: type) -> None:
    async with rig_of(tree, by_client=True) as rig:
        rig.client.hold(kind)
        running = asyncio.create_task(rig.terminals.run(python(WAITS)))
        assert await until(lambda: kind in rig.client.kinds())
        rig.told.failure = ConnectionLost()
        rig.client.vanish()
        with pytest.raises(ConnectionLost):
            await running
        assert not rig.terminals.running


@pytest.mark.parametrize("kind", [KillTerminal, ReadTerminal, ReleaseTerminal])
async def test_a_client_that_vanishes_ends_a_release(tree: Tree, kind: type) -> None:
    async with rig_of(tree, by_client=True) as rig:
        rig.client.hold(kind)
        terminal = await rig.terminals.start(python(WAITS))
        releasing = asyncio.create_task(terminal.release())
        assert await until(lambda: kind in rig.client.kinds())
        rig.client.vanish()
        await releasing
        assert not terminal.is_running
        # The conversation goes on without a client, and knows that the command is over.
        assert rig.ended(terminal.id)


async def test_a_command_of_ours_does_not_survive_a_client_that_vanishes(tree: Tree) -> None:
    async with rig_of(tree, by_client=False) as rig:
        terminal = await rig.terminals.start(python(WAITS))
        (pid,) = await pids_of(terminal)
        rig.told.failure = ConnectionLost()
        await rig.terminals._close()
        assert not exists(pid)


async def test_half_a_character_from_a_client_is_kept_as_one_that_is_replaced(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig_of(tree, by_client=True) as rig:
        terminal = await rig.terminals.start(python("pass"))
        answers = rig.client.call

        async def cut(ask: object, *, timeout_seconds: float | None = None) -> object:
            answer = await answers(ask, timeout_seconds=timeout_seconds)
            if isinstance(ask, ReadTerminal):
                answer.output = "x\ud83d"
            return answer

        monkeypatch.setattr(rig.client, "call", cut)
        await terminal.release()
        assert (await terminal.output()).text == "x\ud83d"
        assert rig.shown(terminal.id) == b"x?"


async def test_an_asker_with_a_fault_still_releases(tree: Tree) -> None:
    async with rig_of(tree, by_client=True) as rig:
        rig.client.failures[ReadTerminal] = ZeroDivisionError()
        terminal = await rig.terminals.start(python("pass"))
        with pytest.raises(ZeroDivisionError):
            await terminal.release()
        assert rig.client.kinds()[-1] is ReleaseTerminal
        assert not terminal.is_running


def test_there_is_time_for_every_step_of_a_release_before_what_is_left_is_cancelled() -> None:
    steps = 4 * terminal_kinds.STEP_SECONDS + session_module.RELEASE_PATIENCE_SECONDS
    assert steps < terminals_module.CLOSE_SECONDS
