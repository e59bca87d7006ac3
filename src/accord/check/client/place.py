"""Where a client is started: told where its agent is, joined to the host, ended when nothing more is to be seen."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shlex
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

from accord.check.client import relay
from accord.check.client.host import Host
from accord.check.client.running import outlives
from accord.check.client.seat import Seat
from accord.check.link import Link, MemoryLink, ProcessLink, Program
from accord.check.options import Options
from accord.check.wire import Silence
from accord.transport.process import start

__all__ = ["PLACEHOLDER", "play_once", "with_agent"]

PLACEHOLDER = "{agent}"
_READ_BYTES = 64 * 1024
# The end of a client's pipes is seen a little after its own.
LAST_WORDS_SECONDS = 1.0
TERMINATE_SECONDS = 2.0


def with_agent(argv: Sequence[str], agent: Sequence[str]) -> list[str]:
    """A command with the agent's command in the places that are kept for it."""
    given: list[str] = []
    for argument in argv:
        if argument == PLACEHOLDER:
            given += agent
        else:
            given.append(argument.replace(PLACEHOLDER, shlex.join(agent)))
    return given


async def play_once(program: Program, options: Options, host: Host) -> None:
    """Start the client and serve it until it ends, or nothing more comes of it.

    Raises:
        ConnectFailed: There is no such command.
    """
    host.begin()
    if callable(program):
        seat = host.welcome()
        link: Link = MemoryLink(program(), seat.feed)
        seat.join(link)
        await _serve(link, options, host)
        return
    door = _Door(host)
    server = await asyncio.start_server(door.welcome, "127.0.0.1", 0)
    try:
        agent = [sys.executable, "-I", "-S", relay.__file__, str(server.sockets[0].getsockname()[1]), door.token]
        env = {
            **options.env,
            "ACCORD_CHECK_AGENT": shlex.join(agent),
            "ACCORD_CHECK_AGENT_JSON": json.dumps(agent),
        }
        link = await _start(with_agent(program, agent), options.cwd, env)
        await _serve(link, options, host)
    finally:
        server.close()
        door.close()


async def _start(argv: Sequence[str], cwd: str, env: Mapping[str, str | None]) -> Link:
    """Where we are, unless it shall be somewhere else: a command that was given to us has its paths from here."""
    child, pipes = start(argv, cwd or None, env)
    link = ProcessLink(child, pipes, lambda _: None)
    await link.open()
    # Who reads prompts from stdin has to be given them by a command around it.
    link.close_stdin()
    return link


async def _serve(link: Link, options: Options, host: Host) -> None:
    ended_by, left = "itself", True
    try:
        if not await _watch(link, options, host):
            ended_by = await _end(link, options, host)
        for seat in host.seats:
            with suppress(Silence):
                await seat.until(lambda _: False, len(seat.entries), LAST_WORDS_SECONDS)
        await host.settle()
        left = await _is_left(host, wait=ended_by == "itself")
    finally:
        status = await link.destroy()
        host.repertoire.sweep()
    # Who never reached its agent may say on stderr why.
    seats = host.seats or [host.welcome()]
    host.case.records += [seat.record(bytes(link.stderr), ended_by, status) for seat in seats]
    played = host.case.steps.get("left_running")
    if played is not None and "alive" not in played.notes:
        played.notes["alive"] = left
        played.notes["ended_by"] = ended_by


async def _watch(link: Link, options: Options, host: Host) -> bool:
    """Whether the client ended by itself, before we lost patience with it."""
    ending = asyncio.ensure_future(link.wait(24 * 3600.0))
    try:
        while not ending.done():
            host.changed.clear()
            changing = asyncio.ensure_future(host.changed.wait())
            done, _ = await asyncio.wait(
                [ending, changing], timeout=_patience_seconds(options, host), return_when=asyncio.FIRST_COMPLETED
            )
            changing.cancel()
            if not done or host.is_flooded:
                return False
        return True
    finally:
        ending.cancel()


def _patience_seconds(options: Options, host: Host) -> float:
    if host.is_busy:
        # What is being played has bounds of its own.
        return options.turn_seconds + options.timeout_seconds
    if not host.is_met:
        return options.start_seconds
    return options.grace_seconds if host.is_strange or not host.repertoire.remaining else options.turn_seconds


async def _end(link: Link, options: Options, host: Host) -> str:
    await host.leave()
    if await link.wait(options.grace_seconds):
        return "closed stdin"
    link.terminate()
    return "SIGTERM" if await link.wait(TERMINATE_SECONDS) else "SIGKILL"


async def _is_left(host: Host, *, wait: bool) -> bool:
    """Whether the command that was left running outlives its client; it is ended here."""
    played = host.case.steps.get("left_running")
    if played is None or "alive" in played.notes or "pid" not in played.notes:
        return False
    pid = played.notes["pid"]
    if not await outlives(pid, LAST_WORDS_SECONDS if wait else 0.0):
        return False
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
    return True


class _Door:
    """Lets in who was started by the client, and nobody else."""

    def __init__(self, host: Host) -> None:
        self.token = secrets.token_hex(16)
        self._host = host
        self._writers: list[asyncio.StreamWriter] = []

    async def welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection."""
        self._writers.append(writer)
        try:
            if await reader.readline() != self.token.encode() + b"\n":
                return
            seat = self._host.welcome()
            seat.join(_SocketPipe(writer))
            await self._read(reader, seat)
        finally:
            writer.close()

    async def _read(self, reader: asyncio.StreamReader, seat: Seat) -> None:
        try:
            while data := await reader.read(_READ_BYTES):
                seat.feed(data)
                if seat.overflowed:
                    break
        except ConnectionError:
            pass  # It was killed: that is an end too.
        finally:
            seat.feed(b"")
            self._host.changed.set()

    def close(self) -> None:
        """Leave no connection open."""
        for writer in self._writers:
            writer.close()


class _SocketPipe:
    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def write(self, data: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(data)

    def close_stdin(self) -> None:
        self._writer.close()
