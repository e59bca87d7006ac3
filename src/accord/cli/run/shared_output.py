"""An output that other processes can watch too: every call goes to the screen's form and to the socket's records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accord.cli.run.output import Ending, RunOpening, RunOutput
from accord.cli.status import CommandFailure
from accord.client import PermissionQuestion, Verdict
from accord.session.entry import ToolCall
from accord.session.event import Event
from accord.session.rules import Rule

if TYPE_CHECKING:
    from accord.cli.run.owner_socket import OwnerSocket, SharedSession
    from accord.display import SafeText


class SharedOutput(RunOutput):
    """An output that shares its session from the moment it is opened until `close`."""

    def __init__(self, output: RunOutput) -> None:
        self._output = output
        self._owner: OwnerSocket | None = None
        self._shared: SharedSession | None = None

    async def close(self) -> None:
        if self._owner is not None:
            await self._owner.close()

    @property
    def is_broken(self) -> bool:  # type: ignore[override] # it is what the other form says
        return self._output.is_broken

    @property
    def progress_is_shown(self) -> bool:  # type: ignore[override]
        return self._output.progress_is_shown

    @property
    def doing(self) -> SafeText:  # type: ignore[override]
        return self._output.doing

    def observe(self, direction: Any, text: bytes | bytearray) -> None:
        self._output.observe(direction, text)

    def step_aside(self) -> None:
        self._output.step_aside()

    def shows(self, question: PermissionQuestion) -> bool:
        return self._output.shows(question)

    def opened(self, opening: RunOpening) -> None:
        """Share the session, and show it."""
        from accord.cli.run.owner_socket import OwnerSocket  # noqa: PLC0415 - when the agent has been started

        self._owner = self._owner or OwnerSocket()
        self._shared = self._owner.share(opening)
        self._output.opened(opening)

    def happened(self, event: Event) -> None:
        if self._shared is not None:
            self._shared.happened(event)
        self._output.happened(event)

    def noise(self, text: str) -> None:
        if self._shared is not None:
            self._shared.noise(text)
        self._output.noise(text)

    def judged(self, verdict: Verdict) -> None:
        if self._shared is not None:
            self._shared.judged(verdict)
        self._output.judged(verdict)

    def completed_unasked(self, call: ToolCall, rule: Rule, *, refused: bool = False) -> None:
        if self._shared is not None:
            self._shared.completed_unasked(call, rule, refused=refused)
        self._output.completed_unasked(call, rule, refused=refused)

    def respawned(self, reason: str) -> None:
        if self._shared is not None:
            self._shared.respawned(reason)
        self._output.respawned(reason)

    def ended(self, ending: Ending) -> None:
        if self._shared is not None:
            self._shared.ended(ending)
        self._output.ended(ending)

    def failed(self, failure: CommandFailure) -> None:
        if self._shared is not None:
            self._shared.failed(failure)
        self._output.failed(failure)
