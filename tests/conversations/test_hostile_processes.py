"""Agents that misbehave as processes: for each what is raised, that nothing hangs, and that no process is left."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
import textwrap
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from accord.connection import Connection, Handlers
from accord.errors import CallTimeout, ConnectionLost, FrameError
from accord.protocol.edition import V1
from accord.transport import spawn
from accord.transport.interface import ProcessTransport
from tests.conversations.client import ScriptedClient
from tests.limits import limit
from tests.transport.processes import SOURCES, exists, write_program

AGENT = str(Path(__file__).with_name("agent.py"))
BOUND_SECONDS = limit(10.0)
HELLO = {"protocolVersion": 1, "clientCapabilities": {}}

# Every program shakes hands and then does what its test says; `hear` and `say` know nothing of Accord.
PROLOGUE = """
import json, os, signal, sys

def hear():
    line = sys.stdin.buffer.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)

def write(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()

def say(message):
    write(json.dumps(message).encode() + b"\\n")

def answer(request, result):
    say({"jsonrpc": "2.0", "id": request["id"], "result": result})

def tell(what):
    say({"jsonrpc": "2.0", "method": "_told", "params": what})

def complain(words):
    sys.stderr.write(words)
    sys.stderr.flush()
"""
SHAKE = 'answer(hear(), {"protocolVersion": 1, "agentCapabilities": {}})\n'


class Peer:
    """A connection to a hostile program."""

    def __init__(self, connection: Connection, transport: ProcessTransport, told: asyncio.Queue[Any]) -> None:
        self.connection = connection
        self.transport = transport
        self._told = told

    async def told(self) -> Any:
        async with asyncio.timeout(BOUND_SECONDS):
            return await self._told.get()

    async def ask(self, params: Any = None, timeout_seconds: float = BOUND_SECONDS) -> Any:
        return await self.connection.call_extension("_ask", params, timeout_seconds=timeout_seconds)

    async def lost(self) -> ConnectionLost:
        """What a call that waits is told."""
        with pytest.raises(ConnectionLost) as caught:
            await self.ask()
        return caught.value


@asynccontextmanager
async def talking(folder: Path, body: str, *, prologue: str = SHAKE, **options: Any) -> AsyncIterator[Peer]:
    """Start the program and shake hands; afterwards see that it is gone, in time."""
    argv = write_program(folder / "peer.py", PROLOGUE + textwrap.dedent(prologue) + textwrap.dedent(body))
    transport = await spawn(*argv, **{"grace_seconds": 0.5, **options})
    told: asyncio.Queue[Any] = asyncio.Queue()
    handlers = Handlers()
    handlers.on_extension_notification("_told", told.put_nowait)
    connection = Connection(transport, "client", handlers)
    try:
        connection.start()
        async with asyncio.timeout(BOUND_SECONDS):
            await connection.initialize(HELLO, (V1,))
        yield Peer(connection, transport, told)
    finally:
        async with asyncio.timeout(BOUND_SECONDS):
            await connection.close()
        assert not exists(transport.pid)
    assert not connection.is_open


# --- ends


@pytest.fixture
def short_wait_for_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that lives on without its pipes is not waited for."""
    monkeypatch.setattr("accord.transport.child.EXIT_SECONDS", limit(0.1))


@pytest.mark.usefixtures("short_wait_for_exit")
async def test_a_program_that_closes_its_stdin_is_reported_to_who_calls_it(tmp_path: Path) -> None:
    async with talking(tmp_path, 'os.close(0); tell("deaf"); signal.pause()') as peer:
        assert await peer.told() == "deaf"
        lost = await peer.lost()
        assert (lost.exit_status, lost.clean) == (None, False)
        with pytest.raises(ConnectionLost):
            await peer.connection.notify_extension("_note")


@pytest.mark.usefixtures("short_wait_for_exit")
async def test_a_program_that_closes_its_stdout_ends_the_calls_that_wait(tmp_path: Path) -> None:
    async with talking(tmp_path, 'hear(); complain("shutting up"); os.close(1); signal.pause()') as peer:
        lost = await peer.lost()
        assert (lost.exit_status, lost.clean) == (None, False)
        assert lost.stderr_tail.endswith("shutting up")
        assert await peer.connection.wait_closed() is not None
        with pytest.raises(ConnectionLost):
            await peer.ask()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM], ids=lambda number: number.name)
async def test_a_program_that_dies_of_a_signal_leaves_its_number_and_last_words(
    tmp_path: Path, number: signal.Signals
) -> None:
    body = f'hear(); complain("last words"); os.kill(os.getpid(), {int(number)}); signal.pause()'
    async with talking(tmp_path, body) as peer:
        calls = await asyncio.gather(*(peer.ask() for _ in range(3)), return_exceptions=True)
        for lost in calls:
            assert isinstance(lost, ConnectionLost)
            assert (lost.exit_status, lost.stderr_tail, lost.clean) == (-number, "last words", False)
        reason = await peer.connection.wait_closed()
        assert isinstance(reason, ConnectionLost)
        assert reason.exit_status == -number


async def test_a_program_that_fails_leaves_its_status_and_its_traceback(tmp_path: Path) -> None:
    async with talking(tmp_path, 'hear(); raise RuntimeError("no luck")') as peer:
        lost = await peer.lost()
        assert lost.exit_status == 1
        assert "RuntimeError: no luck" in lost.stderr_tail


async def test_a_program_that_ends_well_in_the_middle_still_ends_the_calls_that_wait(tmp_path: Path) -> None:
    async with talking(tmp_path, "hear(); sys.exit(0)") as peer:
        lost = await peer.lost()
        assert (lost.exit_status, lost.clean) == (0, True)


async def test_what_a_program_said_before_it_died_is_heard(tmp_path: Path) -> None:
    body = """
        request = hear()
        for number in range(100):
            tell(number)
        answer(request, "done")
        os.kill(os.getpid(), signal.SIGKILL)
    """
    async with talking(tmp_path, body) as peer:
        assert await peer.ask() == "done"
        assert [await peer.told() for _ in range(100)] == list(range(100))


async def test_a_program_that_never_answers_initialize_is_not_waited_for_longer_than_asked(tmp_path: Path) -> None:
    argv = write_program(tmp_path / "peer.py", "import signal; signal.pause()")
    transport = await spawn(*argv, grace_seconds=0.2)
    async with Connection(transport, "client") as connection:
        with pytest.raises(CallTimeout):
            await connection.initialize(HELLO, (V1,), timeout_seconds=0.2)
    assert not exists(transport.pid)


# --- pressure


async def test_a_megabyte_on_stderr_stops_nothing_and_only_its_end_is_kept(tmp_path: Path) -> None:
    body = """
        request = hear()
        complain("x" * 1_000_000)
        complain("the end")
        answer(request, "done")
        hear()
        sys.exit(7)
    """
    async with talking(tmp_path, body) as peer:
        assert await peer.ask() == "done"
        lost = await peer.lost()
        assert lost.exit_status == 7
        assert lost.stderr_tail.endswith("xxxthe end")
        assert len(lost.stderr_tail) == 64 * 1024


async def test_a_program_that_never_reads_blocks_its_caller_and_nobody_else(tmp_path: Path) -> None:
    body = """
        tell("busy")
        signal.pause()
    """
    async with talking(tmp_path, body) as peer:
        assert await peer.told() == "busy"
        with pytest.raises(CallTimeout):
            await peer.ask({"large": "x" * 8_000_000}, timeout_seconds=0.3)
        senders = [asyncio.ensure_future(peer.connection.notify_extension("_note", "x" * 500_000)) for _ in range(20)]
        started = time.monotonic()
        async with asyncio.timeout(BOUND_SECONDS):
            await peer.connection.close()
            outcomes = await asyncio.gather(*senders, return_exceptions=True)
        assert time.monotonic() - started < limit(5)
        assert any(isinstance(outcome, ConnectionLost) for outcome in outcomes)
        assert all(outcome is None or isinstance(outcome, ConnectionLost) for outcome in outcomes)


SIXTY_MEGABYTES = 60_000_000
LARGE_ANSWER = f"""
    request = hear()
    write(b'{{"jsonrpc":"2.0","id":%d,"result":"' % request["id"])
    for _ in range(60):
        write(b"x" * {SIXTY_MEGABYTES // 60})
    write(b'"}}\\n')
    answer(hear(), "done")
    hear()
"""


@pytest.mark.timeout(120)
async def test_a_line_of_sixty_megabytes_is_read(tmp_path: Path) -> None:
    async with talking(tmp_path, LARGE_ANSWER) as peer:
        assert len(await peer.ask(timeout_seconds=60)) == SIXTY_MEGABYTES
        assert await peer.ask() == "done"


@pytest.mark.timeout(120)
async def test_a_line_of_sixty_megabytes_over_the_limit_ends_the_connection_with_a_reason(tmp_path: Path) -> None:
    limit = 50 * 1024 * 1024
    async with talking(tmp_path, LARGE_ANSWER, max_bytes=limit) as peer:
        with pytest.raises(FrameError) as caught:
            await peer.ask(timeout_seconds=60)
        assert caught.value.limit_bytes == limit
        assert isinstance(await peer.connection.wait_closed(), FrameError)


async def test_an_agent_that_is_told_too_much_says_so_and_ends(tmp_path: Path) -> None:
    texts: list[bytes] = []
    transport = await spawn(sys.executable, AGENT, "max_bytes=1000000", env={"PYTHONPATH": SOURCES}, cwd=tmp_path)
    client = ScriptedClient(transport, V1)
    async with asyncio.timeout(BOUND_SECONDS), client.connection as connection:
        await client.initialize()
        session_id = await client.open_session()
        connection.observe(lambda way, text: texts.append(text) if way == "in" else None)
        with pytest.raises(ConnectionLost) as caught:
            await client.prompt(session_id, "x" * 2_000_000)
    assert caught.value.exit_status in {0, None}
    assert re.search(rb'"id":null,"error":\{"code":-32600', b"\n".join(texts))
    assert not exists(transport.pid)


# --- noise


NOISE = r"""
    NOISE = [
        b"Welcome to the agent!\n", b"\n", b"\r\n", b"42\n", b"null\n", b"\"text\"\n", b"\xff\xfe\x00\n",
        b"\x1b[32mready\x1b[0m\n", b"NaN\n", b"   \n", b"Traceback (most recent call last):\n",
    ]
    def noise():
        for line in NOISE:
            write(line)
"""
NOISY_TEXTS = 8


async def test_text_before_the_first_message_is_passed_over_and_not_answered(tmp_path: Path) -> None:
    # What the program hears next must be the request, not an answer to its banner.
    prologue = textwrap.dedent(NOISE) + "noise()\n" + SHAKE
    body = 'request = hear(); answer(request, request["method"]); hear()'
    async with talking(tmp_path, body, prologue=prologue) as peer:
        assert await peer.ask() == "_ask"
        assert peer.connection.counts.malformed == NOISY_TEXTS


async def test_garbage_between_messages_disturbs_nothing(tmp_path: Path) -> None:
    body = """
        while True:
            request = hear()
            noise()
            tell("between")
            noise()
            answer(request, request["method"])
            noise()
    """
    async with talking(tmp_path, body, prologue=textwrap.dedent(NOISE) + SHAKE) as peer:
        for _ in range(20):
            assert await peer.ask() == "_ask"
            assert await peer.told() == "between"
        assert peer.connection.counts.malformed >= 20 * 2 * NOISY_TEXTS


async def test_a_line_that_is_cut_off_by_the_end_is_no_answer(tmp_path: Path) -> None:
    body = """
        request = hear()
        write(b'{"jsonrpc":"2.0","id":%d,"resu' % request["id"])
        sys.exit(3)
    """
    async with talking(tmp_path, body) as peer:
        lost = await peer.lost()
        assert lost.exit_status == 3


FRAMES = r"""
    def frame(text, length=None):
        write(b"Content-Length: %d\r\n\r\n%s" % (len(text) if length is None else length, text))

    def hear():
        length = None
        while (line := sys.stdin.buffer.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            length = int(value) if name == b"Content-Length" else length
        if length is None:
            sys.exit(0)
        return json.loads(sys.stdin.buffer.read(length))

    def say(message):
        frame(json.dumps(message).encode())

    def damaged(length):
        text = json.dumps({"jsonrpc": "2.0", "method": "_told", "params": "damaged"}).encode()
        frame(text, length(len(text)))
"""


@pytest.mark.parametrize(
    "length",
    ["lambda size: size - 5", "lambda size: size + 5", "lambda size: size + 20", "lambda size: 0", "lambda size: 1"],
)
async def test_a_wrong_content_length_costs_what_it_damaged_and_no_more(tmp_path: Path, length: str) -> None:
    body = f"""
        while True:
            request = hear()
            damaged({length})
            tell("whole")
            tell("again")
            answer(request, "done")
    """
    prologue = textwrap.dedent(FRAMES) + SHAKE
    async with talking(tmp_path, body, prologue=prologue, framing="headers") as peer:
        for _ in range(3):
            assert await peer.ask() == "done"
            while await peer.told() != "again":
                pass


async def test_a_content_length_over_the_limit_ends_the_connection_at_once(tmp_path: Path) -> None:
    body = "hear(); damaged(lambda size: 10**12); signal.pause()"
    prologue = textwrap.dedent(FRAMES) + SHAKE
    async with talking(tmp_path, body, prologue=prologue, framing="headers") as peer:
        with pytest.raises(FrameError):
            await peer.ask()


# --- an agent on Accord


@pytest.mark.parametrize("framing", ["lines", "headers"])
async def test_a_stray_print_of_an_agent_lands_on_stderr(framing: Any) -> None:
    argv = (sys.executable, AGENT, framing)
    transport = await spawn(*argv, env={"PYTHONPATH": SOURCES}, framing=framing, grace_seconds=10)
    client = ScriptedClient(transport, V1)
    async with asyncio.timeout(BOUND_SECONDS), client.connection as connection:
        await client.initialize()
        session_id = await client.open_session()
        await client.prompt(session_id, "print")
        await client.prompt(session_id, "after it")
    assert client.received[2:] == ["says Printed.", "answer end_turn", "says 8 characters.", "answer end_turn"]
    assert connection.counts.malformed == 0
    assert sorted(transport.stderr_tail.splitlines()) == ["a stray print", "a stray write"]
    assert transport.exit_status == 0
    assert not exists(transport.pid)
