"""One prompt to its end, written in one of the four output forms: the main part of `accord run`."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from accord.cli.agent_session import RunningAgent, running_agent
from accord.cli.fault import phase
from accord.cli.options import AgentOptions
from accord.cli.permission import policy_of, rules_of
from accord.cli.run.output import ConsentCounts, Ending, RunOpening, RunOutput
from accord.cli.run.shared_output import SharedOutput
from accord.cli.session_index import SessionIndex, known_ids, short_id
from accord.cli.show.line import duration
from accord.cli.show.presentation import fails_silently
from accord.cli.show.screen import Progress, silence, stdout_screen
from accord.cli.signals import Interrupts
from accord.cli.status import CommandFailure, Status, UsageFailure, complain, last_lines, quote_stderr, remark
from accord.cli.target import Target, approve
from accord.cli.terminal import Questions, UserTerminal, is_interactive, naming_ways, ways_at_terminal
from accord.client import ConnectedAgent, Deadlines, MachineRequest, Session, Turn
from accord.config import ClientSessionRecord
from accord.display import SafeText, filled, own
from accord.session.agent_requests import ReadFile, WriteFile
from accord.session.entry import Message
from accord.session.event import Event, ToolChanged, ToolContentAdded

Form: TypeAlias = Literal["text", "final", "events", "wire"]
TICK_SECONDS = 0.1
# Work that ends at once needs no line of progress.
PATIENCE_SECONDS = 0.3


def output_of(form: Form, progress: Progress) -> RunOutput:
    """The output form of that name; its module is imported here."""
    if form == "text":
        from accord.cli.run.text import TextOutput  # noqa: PLC0415

        return TextOutput(stdout_screen(progress))
    if form == "final":
        from accord.cli.run.output import FinalOutput  # noqa: PLC0415

        return FinalOutput()
    from accord.cli.run.records import EventsOutput, WireOutput  # noqa: PLC0415

    return EventsOutput() if form == "events" else WireOutput()


class EventQueue:
    """The queue of events and stray lines for the output, in order; held while a question is on the screen."""

    def __init__(self, output: RunOutput) -> None:
        self._output = output
        self._waiting: deque[Event | bytes] = deque()
        self._free = asyncio.Event()
        self._free.set()
        self.is_broken = False
        """Whether stdout was closed by its reader."""
        self.on_broken: Callable[[], None] = lambda: None

    def happened(self, event: Event) -> None:
        self._waiting.append(event)

    def observe(self, direction: Any, text: bytes | bytearray) -> None:
        """Observe a text of the wire; one that is no message is queued as noise."""
        self._output.observe(direction, text)
        if direction == "in" and bytes(text[:64]).lstrip()[:1] not in b"{[":
            self._waiting.append(bytes(text))

    def drain(self) -> None:
        try:
            while self._waiting and self._free.is_set() and not self.is_broken:
                self._output_item(self._waiting.popleft())
        except BrokenPipeError:
            self.is_broken = True
        self.is_broken = self.is_broken or self._output.is_broken
        if self.is_broken:
            self._waiting.clear()
            self.on_broken()

    def _output_item(self, item: Event | bytes) -> None:
        if isinstance(item, bytes):
            self._output.noise(item.decode("utf-8", "backslashreplace"))
        else:
            self._output.happened(item)

    async def free(self) -> None:
        """Return when no question is open."""
        await self._free.wait()

    def hold(self) -> None:
        """Before a question: write everything queued, and then nothing until `release`."""
        self.drain()
        self._free.clear()

    def release(self) -> None:
        self._free.set()


class ToolLimit:
    """Counts the tool calls of a turn, and stops it when there are more than allowed: a listener of its session."""

    def __init__(self, most: int, earlier: Iterable[str], stop: Callable[[], None]) -> None:
        self._most = most
        self._earlier = frozenset(earlier)
        self._calls: set[str] = set()
        self._stop = stop
        self.failure: CommandFailure | None = None
        """The reason, once it has stopped the turn."""

    def __call__(self, event: Event) -> None:
        if not isinstance(event, ToolChanged | ToolContentAdded) or event.id in self._earlier:
            return
        self._calls.add(event.id)
        if len(self._calls) > self._most and self.failure is None:
            message = f"the turn was stopped, because it made more than {self._most} tool calls"
            advice = "Allow more with --max-tools"
            self.failure = CommandFailure(Status.TIMEOUT, "prompt", message, advice=advice, cause="max_tools")
            self._stop()


class Conversation:
    """A prompt for an agent, in the session of a `record` where one is given; failures go to the output too."""

    def __init__(
        self, target: Target, options: AgentOptions, form: Form, *, record: ClientSessionRecord | None = None
    ) -> None:
        self._target = target
        self._options = options
        self._record = record
        self._rules = rules_of(options.rules)
        self._progress = Progress(sys.stderr, shown=form in {"text", "final"})
        self._output = self._shared = SharedOutput(output_of(form, self._progress))
        self._events = EventQueue(self._output)
        self._terminal = UserTerminal(self._progress) if is_interactive() else None
        self._interrupts = Interrupts(self._progress.erase)
        self._begun = time.monotonic()
        self._tool_limit: ToolLimit | None = None
        self._files_read: set[str] = set()
        self._files_written: set[str] = set()
        self._commands_run = 0
        questions = None
        if self._terminal is not None:
            self._terminal.before, self._terminal.after = self._events.hold, self._events.release
            questions = Questions(self._terminal, self._output.shows)
        self._questions = questions

    async def run(self, content: Sequence[str | Path]) -> int:
        """Send the prompt and wait for the end of its turn.

        Raises:
            CommandFailure: The turn failed, or never began.
        """
        try:
            with self._interrupts.caught():
                return await self._run(content)
        except CommandFailure as failure:
            self._progress.erase()
            with contextlib.suppress(BrokenPipeError):
                self._output.failed(failure)
            raise
        except asyncio.CancelledError:
            if not self._interrupts.count:
                raise
            self._progress.erase()
            with contextlib.suppress(BrokenPipeError):
                self._output.failed(CommandFailure(Status.INTERRUPTED, "start", "interrupted"))
            return Status.INTERRUPTED
        except BrokenPipeError:
            silence()
            return Status.INTERRUPTED
        finally:
            await self._shared.close()
            self._progress.erase()

    async def _run(self, content: Sequence[str | Path]) -> int:
        yes = None if self._questions is None else self._questions.yes
        target = await approve(self._target, trust=self._options.trust, yes=yes)
        policy = policy_of(
            target,
            self._rules,
            on_question=None if self._questions is None else self._questions.permission,
            environment=self._options.env,
            notify=lambda line: remark(filled("{}", line)),
            on_verdict=self._output.judged,
            on_served=self._served,
            on_unasked=self._output.completed_unasked,
        )
        elicit = None if self._questions is None else self._questions.elicit
        log_in = None if self._questions is None else ways_at_terminal(self._questions, target.typed)
        with SessionIndex() as index:
            async with (
                self._ticking(),
                running_agent(
                    target, self._options, permission=policy, elicit=elicit, observers=[self._events.observe],
                    on_respawn=lambda reason: self._output.respawned(str(reason)), log_in=log_in, report=self._remark,
                ) as running,
            ):  # fmt: skip
                running.yes = yes
                opened = await running.open_session(index, self._record)
                session = opened.session
                short = short_id(session.id, known_ids(index))
                self._output.opened(
                    RunOpening(running.agent, session, target, opened.resumed, opened.name, short, index.can_write)
                )
                prompt = next((part for part in content if isinstance(part, str)), "")
                index.note(target.key, session.id, session.cwd, key=session.key, prompt=prompt)
                written, earlier = running.stderr.count, frozenset(session.transcript.tool_calls)
                try:
                    ending = await self._turn(running, session, content)
                finally:
                    index.note(target.key, session.id, session.cwd, title=session.title, key=session.key)
                consent = ConsentCounts(
                    policy.denied_unasked,
                    policy.refused_requests,
                    policy.completed_unasked,
                    policy.completed_refused,
                    len(self._files_read),
                    len(self._files_written),
                    self._commands_run,
                )
                status = self._end(replace(ending, consent=consent))
        # When the agent has ended, all of its stderr is here.
        news = [call for id_, call in session.transcript.tool_calls.items() if id_ not in earlier]
        if (lines := last_lines(running.stderr.since(written))) and any(map(fails_silently, news)):
            quote_stderr(own("a tool call failed; the end of the agent's stderr:"), lines)
        return status

    def _remark(self, text: SafeText) -> None:
        self._progress.erase()
        remark(text)

    def _served(self, request: MachineRequest) -> None:
        if isinstance(request, ReadFile):
            self._files_read.add(request.path)
        elif isinstance(request, WriteFile):
            self._files_written.add(request.path)
        else:
            self._commands_run += 1

    async def _turn(self, running: RunningAgent, session: Session, content: Sequence[str | Path]) -> Ending:
        begun, place = time.monotonic(), len(session.transcript.timeline)
        listening = [session.listen(self._events.happened)]
        try:
            await _wait_for_loss(running.agent)
            with phase("prompt", running.target.typed), naming_ways(running.agent):
                turn = self._prompt(session, content, running.deadlines)
                if self._options.max_tools is not None:
                    self._tool_limit = ToolLimit(self._options.max_tools, session.transcript.tool_calls, turn.cancel)
                    listening.append(session.listen(self._tool_limit))
                await self._follow(turn)
        finally:
            for stop_listening in listening:
                stop_listening()
            self._progress.stop()
        messages = [
            entry
            for entry in session.transcript.timeline[place:]
            if isinstance(entry, Message) and entry.speaker == "agent"
        ]
        answer = messages[-1].text if messages else ""
        seconds = time.monotonic() - begun
        return Ending(str(turn.stop_reason), seconds, answer, session.transcript.usage, turn.token_usage)

    @staticmethod
    def _prompt(session: Session, content: Sequence[str | Path], deadlines: Deadlines) -> Turn:
        try:
            return session.prompt(*content, deadlines=deadlines)
        except ValueError as error:
            raise UsageFailure(str(error)) from error

    async def _follow(self, turn: Turn) -> None:
        """Write the events of a turn until it is over. Where stdout was closed the turn is cancelled silently."""

        def stop() -> None:
            turn.cancel()

        def interrupted() -> None:
            self._announce_stopping()
            stop()

        self._events.on_broken = stop
        with self._interrupts.stopping(interrupted):
            async with turn:
                async for _ in turn:
                    await self._events.free()
                    self._events.drain()
        self._events.drain()

    def _announce_stopping(self) -> None:
        if self._terminal is not None:
            self._output.step_aside()
            self._terminal.show_line(own("stopping; once more to leave at once"), "yellow")

    def _end(self, ending: Ending) -> int:
        if self._events.is_broken:
            # The reader has closed stdout: the turn was stopped for that, or was over just before.
            silence()
            return Status.INTERRUPTED if ending.stop_reason == "cancelled" else Status.DONE
        failure = _shortcoming(ending) if self._tool_limit is None else self._tool_limit.failure or _shortcoming(ending)
        try:
            self._output.ended(ending)
            if failure is not None:
                self._output.failed(failure)
        except BrokenPipeError:
            silence()
        if failure is not None:
            complain(failure)
            return failure.status
        # Ctrl+C counts as an interrupt, also where the agent had just ended the turn itself.
        return Status.INTERRUPTED if ending.stop_reason == "cancelled" or self._interrupts.count else Status.DONE

    @contextlib.asynccontextmanager
    async def _ticking(self) -> AsyncIterator[None]:
        """While this lasts, the line of progress is updated."""
        if not self._progress.is_shown or not self._output.progress_is_shown:
            yield
            return
        ticking = asyncio.get_running_loop().create_task(self._tick())
        try:
            yield
        finally:
            ticking.cancel()
            await asyncio.wait([ticking])
            self._progress.erase()

    async def _tick(self) -> None:
        await asyncio.sleep(PATIENCE_SECONDS)
        while True:
            passed = duration(time.monotonic() - self._begun)
            self._progress.show(filled("{}  {}  (Ctrl+C stops it)", self._output.doing, passed))
            await asyncio.sleep(TICK_SECONDS)


async def _wait_for_loss(agent: ConnectedAgent) -> None:
    """Wait until the loss of an agent that has ended meanwhile is known; the prompt then starts the agent again.

    The session is noted in a database, which blocks the loop for as long as another process writes there.
    """
    connection = agent.connection
    if connection.transport.hung_up:
        await connection.wait_closed()


def _shortcoming(ending: Ending) -> CommandFailure | None:
    """The failure that the end of a turn means, if it means one."""
    consent = ending.consent
    if consent.denied_unasked:
        return _denied(
            "a request of the agent was denied, because there was no user to ask",
            "Allow it with --allow or --rules, or run it at a terminal",
        )
    if consent.refused_requests:
        return _denied("a rule refused a file or a command that the agent wanted from this client")
    if consent.completed_unasked > consent.completed_refused:
        return _denied("the agent did something that a rule denies, without asking")
    if consent.completed_unasked:
        return _denied("a call was reported as done although it was refused")
    if ending.stop_reason == "refusal":
        return CommandFailure(Status.FAILED, "prompt", "the agent refused to go on", cause="refusal")
    return None


def _denied(message: str, advice: str = "") -> CommandFailure:
    return CommandFailure(Status.DENIED, "prompt", message, advice=advice, cause="denied")
