"""The tools for background commands, started by `run` and `shell`: `output` reads one, `stop` ends it."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from accord.agent import TerminalText
from accord.coder.tools.call import BuiltIn, ToolOutcome, Work, bounded
from accord.session.tool import ToolKind

MAX_OUTPUT = 30_000
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

    @property
    def locations(self) -> list[str]:
        return []

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

    @property
    def locations(self) -> list[str]:
        return []

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
