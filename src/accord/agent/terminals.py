"""The commands of a session, with one interface: in the client's terminals where it offers them, else local processes.

No command outlives the call that started it when that is cancelled, nor its client, nor the session.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import shlex
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from accord.agent.client import ClientCaller
from accord.agent.session_paths import SessionPaths
from accord.agent.terminal import RELEASE_SECONDS, CommandOutcome, PublishEvent, Terminal, TerminalText, wait_for_tasks
from accord.agent.terminal_kinds import ClientTerminal, LocalTerminal, OutputScreen
from accord.errors import InvalidParams, LocalProtocolError, RequestError
from accord.jsonrpc.plain import plain_text
from accord.session.agent_requests import StartTerminal, TerminalStarted
from accord.session.event import TerminalChanged
from accord.time_scale import scaled
from accord.workspace import StartFailed, Workspace, start_command

__all__ = ["CommandOutcome", "OnStart", "Terminal", "TerminalText", "Terminals"]

OnStart: TypeAlias = Callable[[Terminal], Awaitable[None] | None]
"""Gets a terminal as soon as its command has started."""

# How long a cancelled start waits for the id of the client's terminal; that is released in any case.
START_SECONDS = scaled(1.0)
# More than all steps of a release may take: a release that is cancelled earlier would leave a terminal behind.
CLOSE_SECONDS = RELEASE_SECONDS + scaled(3.0)
# How long tasks that do not end by themselves may take to end when they are cancelled.
SWEEP_SECONDS = 1.0

_T = TypeVar("_T")


class _Order(NamedTuple):
    argv: tuple[str, ...]
    line: str
    """The command for people to read."""
    cwd: str
    env: Mapping[str, str | None]
    output_byte_limit: int | None
    cancellable: bool


class Terminals:
    """The commands of a session: in the client's terminals where it offers them, else processes of this program.

    Made by the session.
    """

    def __init__(
        self,
        session_id: str,
        roots: Sequence[str],
        caller: ClientCaller,
        workspace: Callable[[], Workspace],
        publish: PublishEvent,
        *,
        client_terminal: Callable[[str], object],
    ) -> None:
        self._session_id = session_id
        self._paths = SessionPaths(roots, workspace)
        self._caller = caller
        self._publish = publish
        self._client_terminal = client_terminal
        self._terminals: list[Terminal] = []
        self._starting: set[asyncio.Task[Terminal]] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_closed = False

    @property
    def running(self) -> list[Terminal]:
        """Those whose end is not known yet, in the order of their start."""
        return [terminal for terminal in self._terminals if terminal.is_running]

    @property
    def _unreleased(self) -> list[Terminal]:
        """Those that are not released yet, in the order of their start."""
        return list(self._terminals)

    async def start(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str | None] | None = None,
        output_byte_limit: int | None = None,
        cancellable: bool = False,
    ) -> Terminal:
        """Start a program; no shell is involved. It is the caller's to release.

        `cwd` is the session's directory unless given, lies inside the roots, and may be relative. `env` adds to the
        environment of the side that runs it; None unsets a variable, and sets it to an empty text where the client runs
        it. The last `output_byte_limit` bytes of its output are kept. `cancellable` lets
        the user end it, where it is ours and the client can show that. If this is cancelled, nothing is left running.

        Raises:
            StartFailed: There is no such program, or it may not be run; or the client refused, and its error is the
                cause. PathOutsideRoots: `cwd` leads out of the roots; the client was not asked. WorkspaceError: Any
                other fault of `cwd`; see `accord.workspace.errors`. ConnectionLost: The client is gone.
                LocalProtocolError: The session is closed. TypeError: `argv` is a line for a shell. ValueError: A
                negative limit.
        """
        order = self._order(argv, cwd, env, output_byte_limit, cancellable=cancellable)
        terminal = await self._open(order)
        try:
            await terminal._announce()
        except BaseException:
            await terminal._discard()
            raise
        return terminal

    async def run(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str | None] | None = None,
        timeout_seconds: float | None = None,
        output_byte_limit: int | None = None,
        on_start: OnStart | None = None,
    ) -> CommandOutcome:
        """Run a program to its end, for `timeout_seconds` at most from its start; nothing of it is left afterwards.

        Not its descendants either where it is ours, also if this is cancelled or raises. `on_start` gets the terminal
        as soon as it is there, to show it in a tool call. When the time is over, the output up to then is in the
        outcome. See `start` for the rest.

        Raises:
            StartFailed: See `start`, also for all that is wrong with `cwd`.
            RequestError: The client refused to wait for it, or to send its output.
            ConnectionLost: The client is gone.
            AccordError: An event could not be published or kept.
        """
        loop = asyncio.get_running_loop()
        async with await self.start(argv, cwd=cwd, env=env, output_byte_limit=output_byte_limit) as terminal:
            deadline = None if timeout_seconds is None else loop.time() + timeout_seconds
            if on_start is not None:
                shown = on_start(terminal)
                if inspect.isawaitable(shown):
                    await shown
            ended = await terminal.wait(None if deadline is None else max(deadline - loop.time(), 0))
        # After the release: output that it wrote while it was being ended counts too.
        text = await terminal.output()
        code, name = (None, None) if text.exit is None else (text.exit.code, text.exit.signal)
        return CommandOutcome(code, name, text.text, text.truncated, ended is None, terminal.id)

    async def _cancel(self, terminal_id: str) -> None:
        """End a terminal as the client asked for it.

        Raises:
            InvalidParams: None that runs and can be cancelled has this id.
        """
        for terminal in self.running:
            if terminal.id == terminal_id and terminal.can_be_cancelled:
                await terminal.kill()
                return
        raise InvalidParams(
            "This terminal cannot be cancelled",
            {"field": "terminalId", "expected": "a running terminal that can be cancelled"},
        )

    async def _stop(self) -> None:
        """Release all terminals, also those being started; bounded, and raises nothing. Others may be started later."""
        ending = [self._spawn(terminal._discard()) for terminal in self._terminals]
        ending += [self._spawn(_discard(starting)) for starting in self._starting]
        if ending:
            await wait_for_tasks(ending, CLOSE_SECONDS)

    async def _close(self) -> None:
        """Stop for good: no command can be started again, and events that are still unpublished are dropped."""
        self._is_closed = True
        try:
            await self._stop()
        finally:
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await wait_for_tasks(list(self._tasks), SWEEP_SECONDS)

    # --- inside

    def _order(
        self,
        argv: Sequence[str | os.PathLike[str]],
        cwd: str | os.PathLike[str] | None,
        env: Mapping[str, str | None] | None,
        output_byte_limit: int | None,
        *,
        cancellable: bool,
    ) -> _Order:
        if isinstance(argv, str | bytes):
            raise TypeError("a command is a list of arguments, not a line for a shell")
        if (output_byte_limit or 0) < 0:
            raise ValueError("an output limit cannot be negative")
        arguments = tuple(plain_text(os.fspath(word)) for word in argv)
        if not arguments or not arguments[0]:
            raise StartFailed("the command cannot be started: no program was named", argv=arguments)
        return _Order(
            arguments, shlex.join(arguments), self._paths.directory(cwd), env or {}, output_byte_limit, cancellable
        )

    async def _open(self, order: _Order) -> Terminal:
        by_client = self._caller.capabilities.terminals
        if by_client:
            await self._paths.check(order.cwd)
        if self._is_closed:
            raise _closed()
        starting = self._spawn(self._start_at_client(order) if by_client else self._start_here(order))
        self._starting.add(starting)
        starting.add_done_callback(self._starting.discard)
        try:
            # In a task: only the client's answer has the id to release.
            await asyncio.wait([starting])
        except asyncio.CancelledError:
            discarding = self._spawn(_discard(starting))
            await asyncio.wait([starting], timeout=START_SECONDS)
            if starting.done():
                await asyncio.wait([discarding], timeout=RELEASE_SECONDS)
            raise
        if starting.cancelled():
            raise _closed()
        return starting.result()

    async def _start_at_client(self, order: _Order) -> Terminal:
        request = StartTerminal(
            self._session_id,
            order.argv[0],
            list(order.argv[1:]),
            [(name, value or "") for name, value in order.env.items()],
            order.cwd,
            order.output_byte_limit,
        )
        try:
            answer: TerminalStarted = await self._caller.call(request)
        except RequestError as error:
            raise StartFailed("the client did not start the command", argv=order.argv) from error
        self._client_terminal(answer.terminal_id)
        started = TerminalChanged(answer.terminal_id, command=order.line, cwd=order.cwd)
        return self._hold(ClientTerminal(self._session_id, started, self._caller, self._publish, self._spawn))

    async def _start_here(self, order: _Order) -> Terminal:
        screen = OutputScreen(order.output_byte_limit)
        command = await start_command(
            order.argv,
            cwd=order.cwd,
            within=self._paths.workspace,
            env=order.env,
            output_byte_limit=order.output_byte_limit,
            on_output=screen.feed,
        )
        started = TerminalChanged(
            LocalTerminal.new_id(), command=order.line, cwd=order.cwd, cancellable=order.cancellable
        )
        return self._hold(LocalTerminal(command, screen, started, self._publish, self._spawn))

    def _hold(self, terminal: Terminal) -> Terminal:
        self._terminals.append(terminal)
        terminal._when_released(lambda: self._terminals.remove(terminal))
        return terminal

    def _spawn(self, work: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            # Retrieved: a waiter gets the exception, and without one there is no warning.
            task.exception()


async def _discard(starting: asyncio.Task[Terminal]) -> None:
    await asyncio.wait([starting])
    if not starting.cancelled() and starting.exception() is None:
        await starting.result()._discard()


def _closed() -> LocalProtocolError:
    return LocalProtocolError("the session is closed", field="sessionId", expected="an open session")
