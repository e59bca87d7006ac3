"""The interface of every tool: a call with kind, title and locations, its outcome, and the state that calls share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeAlias

import msgspec

from accord.agent import Session, Terminal, Tool, ToolFailed, Turn
from accord.coder.file_changes import ChangeLog
from accord.coder.model import Picture, ToolDefinition
from accord.coder.permission import PermissionGate
from accord.coder.project_commands import ProjectFiles
from accord.session.option import Command
from accord.session.tool import Location, ToolKind

MAX_RUNNING = 8
# Ended commands are remembered up to this number, the latest of them.
MAX_KEPT = 32


class BackgroundCommands:
    """The commands of a session that go on beside its turns, by the numbers that the model gets.

    They belong to the session (`Session.keep`): it releases each at its end, and ends all of them when it closes.
    """

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


# About 15,000 tokens: enough for a long file, and a tenth of what small models hold.
MAX_RESULT = 60_000


class BadArguments(ToolFailed):
    """The model's arguments do not fit this tool; the text says what was expected."""


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The outcome of a call: text for the model, `failed` if it is about a failure."""

    text: str
    failed: bool = False
    pictures: list[Picture] = field(default_factory=list)


@dataclass(slots=True)
class SessionWork:
    """The shared state of one session's tools across turns, as long as it is open; it is not stored."""

    commands: BackgroundCommands = field(default_factory=BackgroundCommands)
    own_commands: tuple[Command, ...] = ()
    """The slash commands of the agent itself."""
    project: ProjectFiles = field(default_factory=ProjectFiles)
    """The project's commands and skills, as they were when the turn began."""


Delegation: TypeAlias = Callable[[str, Tool], Awaitable[str]]
"""Runs a task in a sub-agent, whose text is shown in the tool call; returns its report."""


@dataclass(frozen=True, slots=True)
class Work:
    """The context of a call: its turn, the tool call that is shown, the permission gate, and the session's state.

    `changes` records the changes of files. A sub-agent has no `delegate`.
    """

    turn: Turn
    shown: Tool
    gate: PermissionGate
    session_work: SessionWork
    changes: ChangeLog
    delegate: Delegation | None = None


class ToolInvocation(Protocol):
    """One call of a tool, with its arguments."""

    @property
    def kind(self) -> ToolKind:
        """The kind that clients are sent and that rules match."""

    @property
    def title(self) -> str: ...

    @property
    def locations(self) -> Sequence[Location | str]:
        """The files that it touches."""

    @property
    def cancellable(self) -> bool:
        """Whether the user may stop it alone."""

    async def run(self, work: Work) -> ToolOutcome:
        """Carry out the call.

        Raises:
            NotAllowed: A rule or the user refused it.
            ToolFailed: It failed; the text is for the user and the model.
        """


class BuiltIn(msgspec.Struct):
    """A call of a tool of our own: its fields are the arguments, its docstring is the description for models."""

    name: ClassVar[str]
    kind: ClassVar[ToolKind] = "other"
    cancellable: ClassVar[bool] = False

    @property
    def locations(self) -> Sequence[Location | str]:
        """The files that it touches: none, unless a tool names them."""
        return ()

    @classmethod
    def definition(cls) -> ToolDefinition:
        """The tool as it is described to models."""
        schema = msgspec.json.schema(cls)
        definitions = schema["$defs"]
        own: dict[str, Any] = definitions.pop(cls.__name__)
        arguments = {key: value for key, value in own.items() if key not in {"title", "description"}}
        if definitions:
            arguments["$defs"] = definitions
        return ToolDefinition(cls.name, " ".join((cls.__doc__ or "").split()), arguments)

    @classmethod
    def prepare(cls, arguments: dict[str, Any]) -> ToolInvocation:
        """A call with these arguments.

        Raises:
            BadArguments: They do not fit this tool.
        """
        try:
            call: Any = msgspec.convert(arguments, cls, strict=False)
        except msgspec.ValidationError as error:
            raise BadArguments(f"These are no arguments for {cls.name}: {error}") from None
        prepared: ToolInvocation = call
        return prepared


def bounded(text: str, limit: int = MAX_RESULT) -> str:
    """The text, or its beginning and its end with a note of what is missing between."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters are left out here]\n{text[-half:]}"
