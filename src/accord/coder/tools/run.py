"""Running a command: the tool `run`. One program with its arguments; no shell ever sees it."""

from __future__ import annotations

import re
import shlex
from typing import Annotated, ClassVar

from msgspec import Meta

from accord.coder.tools.call import BadArguments, BuiltIn, ToolOutcome, Work, bounded
from accord.session.tool import ToolKind

TIMEOUT_SECONDS = 120.0
MAX_TIMEOUT_SECONDS = 600.0
MAX_OUTPUT_BYTES = 256 * 1024
MAX_OUTPUT = 30_000

_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_SHELL = re.compile(r"[|&;<>`]|\$\(")


class Run(BuiltIn):
    """Run one program with its arguments and wait for its end.

    There is no shell: no pipes, no redirection, no variables, no wildcards, no several commands in one line.
    """

    name: ClassVar[str] = "run"
    kind: ClassVar[ToolKind] = "execute"
    cancellable: ClassVar[bool] = True

    command: Annotated[str, Meta(min_length=1, description="as python -m pytest -q; quote what has spaces")]
    directory: Annotated[str | None, Meta(description="where to run it; the session's folder unless given")] = None
    timeout_seconds: Annotated[float, Meta(gt=0, le=MAX_TIMEOUT_SECONDS)] = TIMEOUT_SECONDS

    @property
    def title(self) -> str:
        return self.command

    @property
    def locations(self) -> list[str]:
        return []

    async def run(self, work: Work) -> ToolOutcome:
        """Run it in a terminal that the call shows."""
        argv = split_command(self.command)
        await work.gate.permit(work.shown, command=argv, directory=self.directory)
        outcome = await work.turn.terminals.run(
            argv,
            cwd=self.directory,
            timeout_seconds=self.timeout_seconds,
            output_byte_limit=MAX_OUTPUT_BYTES,
            on_start=work.shown.show,
        )
        failed = outcome.timed_out or outcome.exit_code != 0
        output = {"exit_code": outcome.exit_code, "signal": outcome.signal, "timed_out": outcome.timed_out}
        await (work.shown.fail(output=output) if failed else work.shown.complete(output=output))
        return ToolOutcome(
            f"{self._ending(outcome.exit_code, outcome.signal, timed_out=outcome.timed_out)}\n"
            f"{bounded(outcome.output, MAX_OUTPUT)}",
            failed,
        )

    def _ending(self, exit_code: int | None, signal: str | None, *, timed_out: bool) -> str:
        if timed_out:
            return f"It did not end within {self.timeout_seconds:g} seconds, and was ended."
        if exit_code is None:
            return f"It was ended by {signal or 'something else'}."
        return f"It ended with exit code {exit_code}."


def split_command(command: str) -> list[str]:
    """The words of a command.

    Raises:
        BadArguments: It is none, or one for a shell.
    """
    found = _SHELL.search(_QUOTED.sub("", command))
    if found is not None:
        raise BadArguments(
            f"There is no shell here that would understand {found[0]!r}: run one program with its arguments, "
            "and quote what belongs to them"
        )
    try:
        argv = shlex.split(command)
    except ValueError as error:
        raise BadArguments(f"This command cannot be taken apart: {error}") from None
    if not argv or not argv[0]:
        raise BadArguments("No program is named")
    return argv
