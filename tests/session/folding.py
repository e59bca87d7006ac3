"""The picture that events leave, after the normalisation that docs/editions.md tells.

A second, simple fold beside the transcript: quadratic, and only for comparing what was said with what was heard.
"""

from __future__ import annotations

from typing import Any, TypeGuard

from accord.protocol.model import UNSET
from accord.session.content import Block, Text
from accord.session.event import (
    CommandsChanged,
    CompactionChanged,
    CompactionChunk,
    ConfigChanged,
    Event,
    InfoChanged,
    MessageChanged,
    MessageChunk,
    ModeChanged,
    Noticed,
    PlanChanged,
    StateChanged,
    TerminalChanged,
    TerminalExit,
    TerminalOutput,
    ToolChanged,
    ToolContentAdded,
    UnknownUpdate,
    UsageChanged,
)
from accord.session.git_patch import read_patch
from accord.session.option import ConfigOption, Toggle, mode_option, with_mode
from accord.session.tool import Diff, Shown, TerminalView, ToolContent
from accord.session.tool_state import terminal_text

TOOL_DEFAULTS: dict[str, Any] = {
    "title": None,
    "kind": "other",
    "status": "pending",
    "name": None,
    "content": [],
    "locations": [],
    "raw_input": None,
    "raw_output": None,
}


class Picture:
    """What a client would show. `clears` is False where an edition cannot empty a message."""

    def __init__(self, *, clears: bool = True) -> None:
        self.clears = clears
        self.messages: list[dict[str, Any]] = []
        self.tools: dict[str, dict[str, Any]] = {}
        self.announced: set[str] = set()
        self.screens: dict[str, dict[str, Any]] = {}
        self.plans: dict[str, Any] = {}
        self.commands: Any = []
        self.options: list[ConfigOption] = []
        self.mode: str | None = None
        self.info: dict[str, Any] = {"title": None, "updated_at": None}
        self.usage: dict[str, Any] = {"cost": None}
        self.notices: list[Any] = []
        self.compactions: dict[str, Any] = {}
        self.unknown: list[Any] = []

    def shown(self) -> dict[str, Any]:
        """Everything, in values that compare."""
        messages = [(message["speaker"], joined(message["content"])) for message in self.messages]
        return {
            "messages": [message for message in messages if message[1]],
            "tools": {key: {**tool, "content": self._items(tool["content"])} for key, tool in self.tools.items()},
            "plans": {key: plan for key, plan in self.plans.items() if plan},
            "commands": self.commands,
            "options": self.options,
            "mode": self.mode,
            "info": self.info,
            "usage": self.usage,
            "notices": self.notices,
            "compactions": self.compactions,
            "unknown": self.unknown,
        }

    def fold(self, event: Event) -> None:
        """One event more."""
        getattr(self, f"_{type(event).__name__}")(event)

    # ── messages ──

    def _find(self, speaker: str, message_id: str | None) -> dict[str, Any]:
        last = self.messages[-1] if self.messages else None
        if message_id is None and last and last["open"] and last["speaker"] == speaker:
            return last
        for message in self.messages:
            message["open"] = False
            if message_id is not None and (message["speaker"], message["id"]) == (speaker, message_id):
                return message
        self.announced.clear()
        self.messages.append({"speaker": speaker, "id": message_id, "content": [], "open": True, "stale": False})
        return self.messages[-1]

    def _has(self, speaker: str, message_id: str) -> bool:
        return any((message["speaker"], message["id"]) == (speaker, message_id) for message in self.messages)

    def _interrupt(self) -> None:
        for message in self.messages:
            message["open"] = False

    def _MessageChunk(self, event: MessageChunk) -> None:  # noqa: N802
        message = self._find(event.speaker, event.id)
        if message["stale"]:
            message.update(content=[], stale=False)
        message["content"] = [*message["content"], event.block]

    def _MessageChanged(self, event: MessageChanged) -> None:  # noqa: N802
        if not event.content and not self.clears and not self._has(event.speaker, event.id):
            return
        message = self._find(event.speaker, event.id)
        if event.content:
            message.update(content=list(event.content), stale=False)
        elif event.content is not UNSET:
            stale = not self.clears and bool(message["content"])
            message.update(stale=stale, content=message["content"] if stale else [])

    def _Noticed(self, event: Noticed) -> None:  # noqa: N802
        self.notices.append(event)

    # ── tools ──

    def _ToolChanged(self, event: ToolChanged) -> None:  # noqa: N802
        if event.id not in self.tools:
            self.announced.add(event.id)
        if event.id in self.announced and event.status not in {UNSET, None, "pending"}:
            self._interrupt()
        if event.created or event.id not in self.tools:
            self.tools[event.id] = dict(TOOL_DEFAULTS)
        tool = self.tools[event.id]
        for name, default in TOOL_DEFAULTS.items():
            value = getattr(event, name)
            if value is not UNSET:
                tool[name] = default if value is None else value

    def _ToolContentAdded(self, event: ToolContentAdded) -> None:  # noqa: N802
        if event.id not in self.tools:
            self.announced.add(event.id)
        tool = self.tools.setdefault(event.id, dict(TOOL_DEFAULTS))
        tool["content"] = [*tool["content"], event.content]

    def _screen(self, terminal_id: str) -> dict[str, Any]:
        return self.screens.setdefault(terminal_id, {"output": b"", "exit": None})

    def _TerminalChanged(self, event: TerminalChanged) -> None:  # noqa: N802
        screen = self._screen(event.id)
        if event.output is not UNSET:
            screen["output"] = event.output or b""
        if event.exit is not UNSET:
            screen["exit"] = event.exit

    def _TerminalOutput(self, event: TerminalOutput) -> None:  # noqa: N802
        self._screen(event.id)["output"] += event.data

    def _items(self, items: list[ToolContent]) -> list[Any]:
        return [shown for item in items for shown in self._item(item)]

    def _item(self, item: ToolContent) -> list[Any]:
        if isinstance(item, TerminalView):
            screen = self._screen(item.terminal_id)
            ended: TerminalExit | None = screen["exit"]
            text = terminal_text(screen["output"], ended)
            return [Shown(Text(text), item.meta)] if text else []
        if isinstance(item, Diff):
            return triples(item)
        return [item]

    # ── the session ──

    def _PlanChanged(self, event: PlanChanged) -> None:  # noqa: N802
        self.plans[event.id] = event.entries

    def _CommandsChanged(self, event: CommandsChanged) -> None:  # noqa: N802
        self.commands = event.commands

    def _ConfigChanged(self, event: ConfigChanged) -> None:  # noqa: N802
        self.options = event.options
        option = mode_option(event.options)
        self.mode = option.value if option else self.mode

    def _ModeChanged(self, event: ModeChanged) -> None:  # noqa: N802
        self.mode = event.mode
        self.options = with_mode(self.options, event.mode) or self.options

    def _InfoChanged(self, event: InfoChanged) -> None:  # noqa: N802
        told = {"title": event.title, "updated_at": event.updated_at}
        self.info.update({name: value for name, value in told.items() if value is not UNSET})

    def _UsageChanged(self, event: UsageChanged) -> None:  # noqa: N802
        self.usage.update(used=event.used, size=event.size)
        if event.cost is not UNSET:
            self.usage["cost"] = event.cost

    def _CompactionChanged(self, event: CompactionChanged) -> None:  # noqa: N802
        known = self.compactions.setdefault(event.id, {"summary": [], "error": None})
        known["status"] = event.status
        if event.summary is not UNSET:
            known["summary"] = list(event.summary or [])
        if event.error is not UNSET:
            known["error"] = event.error

    def _CompactionChunk(self, event: CompactionChunk) -> None:  # noqa: N802
        known = self.compactions.setdefault(event.id, {"summary": [], "error": None})
        known["summary"] = [*known["summary"], event.block]

    def _StateChanged(self, event: StateChanged) -> None:  # noqa: ARG002, N802
        self._interrupt()

    def _UnknownUpdate(self, event: UnknownUpdate) -> None:  # noqa: N802
        self.unknown.append(event)


def picture(events: list[Event], *, clears: bool = True) -> dict[str, Any]:
    """What the events show."""
    fold = Picture(clears=clears)
    for event in events:
        fold.fold(event)
    return fold.shown()


def joined(blocks: list[Block]) -> list[Block]:
    """Blocks, however their plain texts were cut."""
    whole: list[Block] = []
    for block in blocks:
        if is_plain(block) and whole and is_plain(whole[-1]):
            whole[-1] = Text(whole[-1].text + block.text)
        else:
            whole.append(block)
    return [block for block in whole if block != Text("")]


def is_plain(block: Block) -> TypeGuard[Text]:
    return isinstance(block, Text) and block.annotations is None and not block.meta


def triples(diff: Diff) -> list[tuple[str, str | None, str | None]]:
    """A diff as (path, old, new) for each file."""
    told = read_patch(diff.patch or "")
    found = []
    for change in diff.changes:
        texts = (change.old, change.new)
        found.append((change.path, *(texts if texts != (None, None) else told.get(change.path, texts))))
    return found


def without_toggles(events: list[Event]) -> list[Event]:
    """For clients that cannot show them."""
    kept: list[Event] = []
    for event in events:
        if isinstance(event, ConfigChanged):
            kept.append(ConfigChanged([option for option in event.options if not isinstance(option, Toggle)]))
        else:
            kept.append(event)
    return kept
