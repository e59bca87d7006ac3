"""Running commands: `run` for one program with its arguments, without a shell, and `shell` for a line.

A line is taken apart by the same parser that judges commands everywhere (`accord.session.shell_line`): a rule allows it
only if it allows each command in it and each file that it writes. Both can start commands that go on in the background:
`output` reads one, `stop` ends it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Annotated, ClassVar

from msgspec import Meta

from accord.agent import TerminalText, ToolFailed
from accord.coder.system_text import SHELL
from accord.coder.tools.call import BadArguments, BuiltIn, ToolOutcome, Work, bounded
from accord.session.tool import ToolKind

TIMEOUT_SECONDS = 120.0
MAX_TIMEOUT_SECONDS = 600.0
MAX_OUTPUT_BYTES = 256 * 1024
MAX_OUTPUT = 30_000
# How long the start of a background command is watched: one that fails mostly does so at once.
WATCHED_SECONDS = 1.0

_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_SHELL_SYNTAX = re.compile(r"[|&;<>`]|\$\(")

Directory = Annotated[str | None, Meta(description="where to run it; the session's folder unless given")]
Timeout = Annotated[float, Meta(gt=0, le=MAX_TIMEOUT_SECONDS)]
InBackground = Annotated[
    bool, Meta(description="whether it goes on beside the conversation, as a server does; read it with output")
]


class CommandTool(BuiltIn, kw_only=True):
    """A tool that starts a command; its arguments besides the command itself."""

    kind: ClassVar[ToolKind] = "execute"
    cancellable: ClassVar[bool] = True

    directory: Directory = None
    timeout_seconds: Timeout = TIMEOUT_SECONDS
    background: InBackground = False

    async def execute(self, work: Work, argv: Sequence[str]) -> ToolOutcome:
        """Run a permitted command in a terminal that the call shows."""
        if self.background:
            return await _start(work, argv, self.directory)
        return await _run_to_end(work, argv, self.directory, self.timeout_seconds)


class Run(CommandTool):
    """Run one program with its arguments and wait for its end.

    There is no shell: no pipes, no redirection, no variables, no wildcards, no several commands in one line.
    """

    name: ClassVar[str] = "run"
    command: Annotated[str, Meta(min_length=1, description="as python -m pytest -q; quote what has spaces")]

    @property
    def title(self) -> str:
        return self.command

    async def run(self, work: Work) -> ToolOutcome:
        """Run it in a terminal that the call shows."""
        argv = split_command(self.command)
        await work.gate.permit(work.shown, command=argv, directory=self.directory)
        return await self.execute(work, argv)


class RunShell(CommandTool):
    """Run a line with the shell sh: pipes, redirection, several commands. Prefer run for one program."""

    name: ClassVar[str] = "shell"
    command: Annotated[str, Meta(min_length=1, description="the line, as git log --oneline | head -5")]

    @property
    def title(self) -> str:
        return self.command

    async def run(self, work: Work) -> ToolOutcome:
        """Run it in a terminal that the call shows; the permission is for the whole line."""
        if not self.command.strip() or "\0" in self.command:
            raise BadArguments("No command is named")
        await work.gate.permit(work.shown, line=self.command, directory=self.directory)
        argv = [SHELL, "-c", self.command]
        return await self.execute(work, argv)


async def _run_to_end(work: Work, argv: Sequence[str], directory: str | None, timeout_seconds: float) -> ToolOutcome:
    outcome = await work.turn.terminals.run(
        argv,
        cwd=directory,
        timeout_seconds=timeout_seconds,
        output_byte_limit=MAX_OUTPUT_BYTES,
        on_start=work.shown.show,
    )
    failed = outcome.timed_out or outcome.exit_code != 0
    output = {"exit_code": outcome.exit_code, "signal": outcome.signal, "timed_out": outcome.timed_out}
    await (work.shown.fail(output=output) if failed else work.shown.complete(output=output))
    if outcome.timed_out:
        ending = f"It did not end within {timeout_seconds:g} seconds, and was ended."
    elif outcome.exit_code is None:
        ending = f"It was ended by {outcome.signal or 'something else'}."
    else:
        ending = f"It ended with exit code {outcome.exit_code}."
    return ToolOutcome(f"{ending}\n{bounded(outcome.output, MAX_OUTPUT)}", failed)


async def _start(work: Work, argv: Sequence[str], directory: str | None) -> ToolOutcome:
    """Start it, and let it go on when the call and its turn are over."""
    if work.delegate is None:
        raise ToolFailed("A sub-agent starts nothing in the background")
    commands = work.session_work.commands
    commands.check_room()
    terminal = await work.turn.terminals.start(
        argv, cwd=directory, output_byte_limit=MAX_OUTPUT_BYTES, cancellable=True
    )
    # Before it is kept: one that ends at once is released then, and could not be shown any more.
    await work.shown.show(terminal)
    number = commands.add(work.turn.session, terminal)
    await terminal.wait(WATCHED_SECONDS)
    text = await terminal.output()
    await work.shown.complete(output={"background": number, "running": text.exit is None})
    return ToolOutcome(f"It is background command {number}. {described(text)}")


def split_command(command: str) -> list[str]:
    """The words of a command.

    Raises:
        BadArguments: It is none, or one for a shell.
    """
    found = _SHELL_SYNTAX.search(_QUOTED.sub("", command))
    if found is not None:
        raise BadArguments(
            f"There is no shell here that would understand {found[0]!r}: run one program with its arguments and quote "
            "what belongs to them, or use the tool shell"
        )
    try:
        argv = shlex.split(command)
    except ValueError as error:
        raise BadArguments(f"This command cannot be taken apart: {error}") from None
    if not argv or not argv[0]:
        raise BadArguments("No program is named")
    return argv


# --- background commands

MAX_WAIT_SECONDS = 300.0


class ReadOutput(BuiltIn):
    """Read what a background command has written so far, and whether it still runs."""

    name: ClassVar[str] = "output"
    kind: ClassVar[ToolKind] = "read"
    cancellable: ClassVar[bool] = True

    id: Annotated[str, Meta(description="the number of the background command")]
    wait_seconds: Annotated[
        float, Meta(ge=0, le=MAX_WAIT_SECONDS, description="how long to wait for its end before reading")
    ] = 0

    @property
    def title(self) -> str:
        return f"Read the output of background command {self.id}"

    async def run(self, work: Work) -> ToolOutcome:
        """Its output: the user has seen it already, and was asked when it was started."""
        terminal = work.session_work.commands.find(self.id)
        await work.shown.update(status="in_progress")
        if self.wait_seconds and terminal.is_running:
            await terminal.wait(self.wait_seconds)
        text = await terminal.output()
        await work.shown.complete(output={"running": text.exit is None})
        return ToolOutcome(described(text))


class StopCommand(BuiltIn):
    """End a background command, with everything that it started."""

    name: ClassVar[str] = "stop"
    kind: ClassVar[ToolKind] = "execute"

    id: Annotated[str, Meta(description="the number of the background command")]

    @property
    def title(self) -> str:
        return f"Stop background command {self.id}"

    async def run(self, work: Work) -> ToolOutcome:
        """End it, without a question: the agent started it."""
        terminal = work.session_work.commands.find(self.id)
        await work.shown.update(status="in_progress")
        await terminal.release()
        text = await terminal.output()
        await work.shown.complete()
        return ToolOutcome(described(text))


def described(text: TerminalText) -> str:
    """The output of a background command and how far it is, for the model."""
    if text.exit is None:
        state = "It runs."
    elif text.exit.code is None:
        state = f"It was ended by {text.exit.signal or 'something else'}."
    else:
        state = f"It ended with exit code {text.exit.code}."
    missing = " The beginning of its output is missing." if text.truncated else ""
    return f"{state}{missing}\n{bounded(text.text, MAX_OUTPUT)}"
