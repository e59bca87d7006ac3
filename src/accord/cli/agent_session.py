"""The agent that a command line starts, and its session: found or created, configured, recorded for later runs."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeVar

from accord.cli.fault import phase, session_failure
from accord.cli.options import AgentOptions
from accord.cli.session_index import SessionIndex, check_new_name
from accord.cli.status import CommandFailure, Status, remark
from accord.cli.stray_output import StrayOutput
from accord.cli.target import Target
from accord.cli.terminal import LogIn
from accord.client import ConnectedAgent, Deadlines, Offer, Session
from accord.client.question import ElicitCallback, PermissionCallback
from accord.config import ClientSessionRecord, connect_to, load_mcp
from accord.config.connect import deadlines_of
from accord.display import SafeText, exact, filled
from accord.errors import AccordError, AuthRequired, ConnectionLost, DeadlineExceeded, LocalProtocolError
from accord.session.client_requests import McpServer
from accord.session.option import Select, Toggle, mode_option

T = TypeVar("T")
TAIL_BYTES = 16 * 1024
SETTLE_SECONDS = 30.0


class StderrTail:
    """The end of an agent's stderr output."""

    def __init__(self) -> None:
        self._tail = bytearray()
        self.count = 0
        """How many bytes there were."""

    def __call__(self, data: bytes) -> None:
        self.count += len(data)
        self._tail += data
        del self._tail[:-TAIL_BYTES]

    @property
    def text(self) -> str:
        return self.since(0)

    def since(self, count: int) -> str:
        """The end of what came after the first `count` bytes."""
        new = max(len(self._tail) - (self.count - count), 0)
        return self._tail[new:].decode("utf-8", "replace").strip()


async def within(seconds: float | None, name: str, work: Awaitable[T]) -> T:
    """The result of an awaitable outside a turn, within a time limit.

    Raises:
        DeadlineExceeded: It took too long.
    """
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError as error:
        if isinstance(error, AccordError):
            raise
        raise DeadlineExceeded(name, seconds or 0.0) from None


@dataclass(frozen=True)
class Opened:
    """A session, and whether it was reopened; `name` is the user's name for it."""

    session: Session
    resumed: bool
    name: str | None


def line_deadlines(target: Target, options: AgentOptions) -> Deadlines:
    """The deadlines of the agent's entry; a `--timeout` is the time of every phase, longer or shorter than those."""
    if options.timeout is None:
        return deadlines_of(target.entry)
    return Deadlines(*(options.timeout for _ in fields(Deadlines)))


def connected(target: Target, options: AgentOptions, **extra: Any) -> ConnectedAgent:
    """The agent of a command line, not open yet; the same for `accord run` and `accord chat`."""
    names = ("edition", "framing", "trace")
    chosen = {name: value for name in names if (value := getattr(options, name)) is not None}
    return connect_to(
        target.entry,
        deadlines=line_deadlines(target, options),
        env={**target.entry.env, **options.env},
        **{"offer": offer_of(target, options), **chosen, **extra},
    )


def offer_of(target: Target, options: AgentOptions) -> Offer:
    """The services of this machine for the agent; an agent at an address gets only those that the line names."""
    if target.entry.address is None:
        return Offer(terminal_login=True)
    return Offer(files=options.offer in ("files", "all"), terminals=options.offer in ("terminals", "all"))


def servers_of(options: AgentOptions) -> list[McpServer]:
    """The MCP servers that the line names; a remark says why some are left out.

    Raises:
        CommandFailure: A file cannot be used.
    """
    servers: list[McpServer] = []
    for path in options.mcp:
        with phase("config"):
            found = load_mcp(path)
        servers += found.servers
        for warning in (*found.warnings, *map(str, found.skipped)):
            remark(exact(warning))
    return servers


def directories_of(options: AgentOptions) -> list[str]:
    """The additional directories that the line names.

    Raises:
        CommandFailure: One is no directory.
    """
    directories = [str(Path(each).absolute()) for each in options.dirs]
    for each in directories:
        if not Path(each).is_dir():
            raise CommandFailure(Status.USAGE, "usage", f"--dir {each}: there is no such directory")
    return directories


def noted_record(index: SessionIndex, target: Target, options: AgentOptions) -> ClientSessionRecord | None:
    """The session that the line names (`-c`, `-s`), as far as it was noted here.

    Raises:
        CommandFailure: `-c`, and there is none; or several have an id that begins so.
    """
    if options.last:
        found = index.last(target.key)
        if found is None:
            message = f"there is no session of {target.key} in this directory yet"
            raise CommandFailure(Status.NO_SESSION, "session", message, advice="Leave -c out to begin one")
        return found
    return None if options.session is None else index.named(options.session, target.key)


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """The session to open: a new one, or the one of an `id`, under our `key` for it.

    `replay` says whether the agent is asked for the conversation so far.
    """

    cwd: str | os.PathLike[str]
    additional_directories: Sequence[str | os.PathLike[str]] = ()
    mcp_servers: Sequence[McpServer] = ()
    id: str | None = None
    key: str | None = None
    replay: Literal["never", "preferred", "required"] = "never"


async def open_session(
    agent: ConnectedAgent, request: SessionRequest, log_in: LogIn | None = None, timeout_seconds: float | None = None
) -> Session:
    """Open a session; the user logs in first where the agent requires it, without a deadline of ours.

    Raises:
        AccordError: It cannot be opened.
    """
    return await logged_in(agent, lambda: within(timeout_seconds, "session", _opening(agent, request)), log_in)


async def logged_in(agent: ConnectedAgent, work: Callable[[], Awaitable[T]], log_in: LogIn | None) -> T:
    """The result of `work`, which is tried once more after a login if the agent requires one.

    Raises:
        AuthRequired: There is no login method, or the user declines.
    """
    try:
        return await work()
    except AuthRequired as error:
        if log_in is None or not await log_in(agent):
            raise error from None
    return await work()


async def _opening(agent: ConnectedAgent, request: SessionRequest) -> Session:
    options: dict[str, Any] = {
        "additional_directories": request.additional_directories,
        "mcp_servers": request.mcp_servers,
    }
    if request.id is None:
        return await agent.new_session(request.cwd, **options)
    if request.replay != "never":
        try:
            return await agent.load_session(request.id, request.cwd, key=request.key, **options)
        except LocalProtocolError:
            # The agent cannot replay the conversation; the session goes on without it.
            if request.replay == "required":
                raise
    return await agent.resume_session(request.id, request.cwd, key=request.key, **options)


@contextlib.asynccontextmanager
async def running_agent(
    target: Target,
    options: AgentOptions,
    *,
    permission: PermissionCallback | None = None,
    elicit: ElicitCallback | None = None,
    observers: Sequence[Callable[[Any, bytes | bytearray], None]] = (),
    on_respawn: Callable[[Exception], None] = lambda _: None,
    log_in: LogIn | None = None,
    report: Callable[[SafeText], None] = remark,
    **extra: Any,
) -> AsyncIterator[RunningAgent]:
    """Start the agent and end it with the block. Without `log_in` an agent that requires a login is a failure.

    `report` gets a sentence for the user where the start takes long for a reason that is known.

    Raises:
        CommandFailure: It did not start, or a failure inside the block; with the end of the agent's stderr.
    """
    tail, output = StderrTail(), StrayOutput(lambda text: report(filled("start: {}", text)))
    try:
        with phase("start", target.typed):
            agent = connected(
                target, options, permission=permission, elicit=elicit, stderr=tail, observers=[*observers, output],
                **extra,
            )  # fmt: skip
            try:
                await agent.open()
            except (ConnectionLost, DeadlineExceeded) as error:
                if output.explanation:
                    raise output.failure(target) from error
                raise
            finally:
                output.end()
        agent.on_respawn = on_respawn
        try:
            running = RunningAgent(agent, target, options, line_deadlines(target, options), log_in)
            running.stderr = tail
            yield running
        finally:
            await agent.close()
    except CommandFailure as failure:
        failure.agent_stderr = failure.agent_stderr or tail.text
        raise


class RunningAgent:
    def __init__(
        self,
        agent: ConnectedAgent,
        target: Target,
        options: AgentOptions,
        deadlines: Deadlines,
        log_in: LogIn | None = None,
    ) -> None:
        self.agent = agent
        self.target = target
        self.options = options
        self.deadlines = deadlines
        self.yes: Callable[[SafeText], Awaitable[bool]] | None = None
        """Asks the user; None where there is no user to ask."""
        self.stderr = StderrTail()
        self._log_in = log_in
        self._seconds = deadlines.start_seconds or SETTLE_SECONDS

    async def open_session(self, index: SessionIndex, record: ClientSessionRecord | None = None) -> Opened:
        """The session of a `record`, the last one, the one of a name, or a new one; recorded, and configured.

        Raises:
            CommandFailure: There is no such session, or the agent does not open it.
        """
        servers, roots = servers_of(self.options), self.roots()
        record = record or await self._wanted(index)
        if record is None:
            with phase("session", self.target.typed):
                request = SessionRequest(Path.cwd(), roots, servers)
                session = await open_session(self.agent, request, self._log_in, self._seconds)
            opened = Opened(session, resumed=False, name=self.options.session)
        else:
            session = await self.reopen(record, servers=servers, roots=roots)
            opened = Opened(session, resumed=True, name=record.name)
        session = opened.session
        index.note(
            self.target.key, session.id, session.cwd, name=opened.name, title=session.title, key=session.key,
            opened=True,
        )  # fmt: skip
        await self.settle(opened.session)
        return opened

    async def reopen(
        self,
        record: ClientSessionRecord,
        *,
        servers: Sequence[McpServer] = (),
        roots: Sequence[str] = (),
        replay: bool = False,
    ) -> Session:
        """Reopen a session, with a replay of its conversation or without.

        Raises:
            CommandFailure: The agent does not have it any more, or cannot reopen sessions.
        """
        request = SessionRequest(
            record.cwd, roots, servers, record.session_id, record.key, "required" if replay else "never"
        )
        try:
            return await open_session(self.agent, request, self._log_in, self._seconds)
        except AccordError as error:
            raise session_failure(error, record.session_id, self.target.typed) from error

    async def _wanted(self, index: SessionIndex) -> ClientSessionRecord | None:
        found = noted_record(index, self.target, self.options)
        if found is not None or self.options.session is None:
            return found
        listed = await self.known(self.options.session)
        if listed is None:
            await check_new_name(index, self.options.session, self.target.key, self.yes)
        return listed

    async def known(self, session_id: str) -> ClientSessionRecord | None:
        """A session that only the agent has a record of."""
        if not self.agent.capabilities.listing:
            return None
        with phase("session", self.target.typed):
            return await logged_in(
                self.agent, lambda: within(self._seconds, "session", self._listed(session_id)), self._log_in
            )

    async def _listed(self, session_id: str) -> ClientSessionRecord | None:
        async for each in self.agent.list_sessions():
            if each.id == session_id:
                return ClientSessionRecord(self.target.key, session_id, each.cwd, None, each.title, 0.0, 0.0)
        return None

    def roots(self) -> list[str]:
        """The further directories that the line names.

        Raises:
            CommandFailure: One is no directory, or the agent does not support them.
        """
        roots = directories_of(self.options)
        if roots and not self.agent.capabilities.additional_directories:
            raise CommandFailure(
                Status.USAGE, "session", "this agent takes no further directories", advice="Leave --dir out"
            )
        return roots

    # --- settings

    async def settle(self, session: Session) -> None:
        """Set the options of the config and of the line; those of the config alone may fail.

        Raises:
            CommandFailure: The line sets an option or value that the agent does not have or accept.
        """
        entry, options = self.target.entry, self.options
        hints: list[tuple[str, str]] = list(entry.options.items())
        hints += [(name, value) for name, value in (("model", entry.model), ("mode", entry.mode)) if value]
        for name, value in hints:
            try:
                await self._set(session, name, value)
            except CommandFailure as failure:
                remark(filled("{}: {}", entry.source, failure.line))
        wanted = [*options.settings]
        wanted += [
            (name, value) for name, value in (("model", options.model), ("mode", options.mode)) if value is not None
        ]
        for name, value in wanted:
            await self._set(session, name, value)

    async def _set(self, session: Session, name: str, value: str) -> None:
        option = _option_of(session, name)
        if option is None:
            known = ", ".join(each.id for each in session.options if isinstance(each, Select | Toggle)) or "none"
            raise CommandFailure(Status.USAGE, "settings", f"this agent has no option {name!r}; it has: {known}")
        setting = _value_of(option, value)
        with phase("settings", self.target.typed):
            await within(self._seconds, "settings", session.set_option(option.id, setting))


def _option_of(session: Session, name: str) -> Select | Toggle | None:
    options = [each for each in session.options if isinstance(each, Select | Toggle)]
    exact = next((each for each in options if each.id == name), None)
    if exact is None and name == "mode":
        exact = mode_option(session.options)
    return exact or next((each for each in options if each.category == name), None)


def _value_of(option: Select | Toggle, value: str) -> Any:
    if isinstance(option, Toggle):
        switches = {
            "on": True,
            "true": True,
            "yes": True,
            "1": True,
            "off": False,
            "false": False,
            "no": False,
            "0": False,
        }
        if value.lower() not in switches:
            raise CommandFailure(Status.USAGE, "settings", f"{option.id} is on or off, not {value!r}")
        return switches[value.lower()]
    values = option.values()
    if values and value not in values:
        raise CommandFailure(
            Status.USAGE, "settings", f"{option.id} has no value {value!r}; one of: {', '.join(values)}"
        )
    return value
