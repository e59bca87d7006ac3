"""The output of a program before it answers `initialize`, where it is no answer: it explains a start that fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from accord.cli.fault import set_up_advice
from accord.cli.status import CommandFailure, Status
from accord.cli.target import Target
from accord.display import SafeText, exact, filled
from accord.jsonrpc.message import Failure, Malformed, MessageRules, Result
from accord.jsonrpc.parse import parse
from accord.time_scale import scaled

# A program that prints a banner answers soon after it, unless it is no agent.
PATIENCE_SECONDS = scaled(3.0)
_FRAME = " \t\r\n│┃║|"
"""The characters around the lines of a box."""
_RULES = MessageRules(batches=True)


class StrayOutput:
    """An observer of the wire that keeps the first lines that are no messages, and an answer to no request of ours.

    `report` gets a sentence, once, where the program has not answered for some time after such a line.
    """

    MAX_LINES, MAX_CHARACTERS = 3, 200

    def __init__(self, report: Callable[[SafeText], None] = lambda _: None) -> None:
        self.lines: list[str] = []
        self._answer = ""
        self._report = report
        self._timer: asyncio.TimerHandle | None = None
        self._is_over = False

    def __call__(self, direction: str, text: bytes | bytearray) -> None:
        if self._is_over or direction != "in" or len(self.lines) >= self.MAX_LINES:
            return
        if text[:64].lstrip()[:1] in {b"{", b"["}:
            message = parse(bytes(text), _RULES)
            if isinstance(message, Result | Failure):
                self._answer = self._clipped(text)
            if not isinstance(message, Malformed):
                return
        line = self._clipped(text)
        # The frames of a screen say nothing, and each start of a program says the same.
        if line not in self.lines and any(map(str.isalnum, line)):
            self.lines.append(line)
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(PATIENCE_SECONDS, self._report_waiting)

    def _clipped(self, text: bytes | bytearray) -> str:
        line = bytes(text[: 4 * self.MAX_CHARACTERS]).decode(errors="replace").strip(_FRAME)
        return line if len(line) <= self.MAX_CHARACTERS else f"{line[: self.MAX_CHARACTERS]}…"

    def end(self) -> None:
        """The start is over: nothing more is kept or reported."""
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()

    def _report_waiting(self) -> None:
        printed = exact(self._printed)
        self._report(
            filled("the agent has not answered initialize yet, and printed a line that is no message: {}", printed)
        )

    @property
    def _printed(self) -> str:
        return " / ".join(self.lines)

    @property
    def explanation(self) -> str:
        """Why the start failed, behind the name of the program; "" where its output does not say."""
        if self.lines:
            return f"did not answer initialize, and printed a line that is no message: {self._printed}"
        return f"did not answer initialize, but a request that was not made: {self._answer}" if self._answer else ""

    @property
    def advice(self) -> str:
        """The likely mistake of the program, by the form of its lines."""
        if any(line.lower().startswith("content-length:") for line in self.lines):
            return "It sends frames with headers: try --framing headers."
        if any(line.startswith('"jsonrpc"') for line in self.lines):
            return "It prints a message over several lines, and each has to be one line."
        if not self.lines or self.lines[0].startswith(("{", "[")):
            return "Its stdout has to be JSON-RPC alone, one message a line, with the id of the request in each answer."
        return "Does it speak ACP when it is started so?"

    def failure(self, target: Target) -> CommandFailure:
        """The failure of a start that `explanation` explains: no agent, or an agent that needs other arguments."""
        return CommandFailure(
            Status.NO_AGENT,
            "start",
            f"{target.entry.name} {self.explanation}",
            advice=set_up_advice(target.typed) or self.advice,
            examine=target.typed,
            cause="NotAnAgent",
        )
