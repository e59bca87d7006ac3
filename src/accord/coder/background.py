"""The commands of a session that go on beside its turns, by the numbers that the model gets.

They belong to the session (`Session.keep`): it releases each at its end, and ends all of them when it closes.
"""

from __future__ import annotations

from accord.agent import Session, Terminal, ToolFailed

MAX_RUNNING = 8
# Those that have ended are remembered up to this number, the latest of them.
MAX_KEPT = 32


class BackgroundCommands:
    """The background commands of one session, as long as it is open."""

    def __init__(self) -> None:
        self._terminals: dict[str, Terminal] = {}
        self._started = 0

    def check_room(self) -> None:
        """Return if another one may be started.

        Raises:
            ToolFailed: Too many run.
        """
        if sum(terminal.is_running for terminal in self._terminals.values()) >= MAX_RUNNING:
            raise ToolFailed(f"{MAX_RUNNING} commands run in the background: stop one of them first")

    def add(self, session: Session, terminal: Terminal) -> str:
        """Let a command go on beside the turns; the number by which it is found again."""
        session.keep(terminal)
        self._started += 1
        number = str(self._started)
        self._terminals[number] = terminal
        ended = [each for each, kept in self._terminals.items() if not kept.is_running]
        for each in ended[: max(len(self._terminals) - MAX_KEPT, 0)]:
            del self._terminals[each]
        return number

    def find(self, number: str) -> Terminal:
        """The command of a number.

        Raises:
            ToolFailed: There is none.
        """
        terminal = self._terminals.get(number)
        if terminal is None:
            known = ", ".join(self._terminals) or "none"
            raise ToolFailed(f"There is no background command {number}; there are: {known}")
        return terminal
