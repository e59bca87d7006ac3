"""The state of every tool call, for editions that can only repeat its content and have no terminals of the agent.

A growing list that is repeated with every item would cost quadratic time. So it is repeated at once while it is small,
later each time it has grown by an eighth; the rest is held back until something else changes in the call, or the caller
flushes. Of a command that runs only the last lines are shown, each time that its output has grown by a quarter or by
`PRINTED`; all of it is shown once, at its end.
"""

import codecs

from accord.protocol.model import UNSET
from accord.session.content import Text
from accord.session.downgrade import downgrade_diff
from accord.session.event import TerminalChanged, TerminalExit, TerminalOutput, ToolChanged, ToolContentAdded
from accord.session.tool import Diff, Shown, TerminalView, ToolContent

__all__ = ["ToolStates", "terminal_text"]

SMALL = 4096
SHARE = 8
OVERHEAD = 64
WINDOW = 1024
"""So many bytes are shown of a command that runs, unless it has printed no more than twice as many."""
PRINTED = 16 * 1024
PRINTED_SHARE = 4


def terminal_text(output: bytes, ended: TerminalExit | None) -> str:
    """A terminal as text: the end of what was printed, or, when the command has ended, all of it and how it ended.

    A cut character waits for its rest.
    """
    if ended is None:
        return _tail(output)
    text = output.decode("utf-8", "replace")
    return f"{text}\n[{_ending(ended)}]" if text and not text.endswith("\n") else f"{text}[{_ending(ended)}]"


def _tail(output: bytes) -> str:
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    if len(output) <= 2 * WINDOW:
        return decode(output)
    # From the beginning of a line on, where there is one: no character is cut there either.
    cut, _, rest = decode(output[-WINDOW:]).partition("\n")
    return f"[the last of {len(output)} bytes; all are shown when the command has ended]\n{rest or cut}"


def _ending(ended: TerminalExit) -> str:
    if ended.code is not None:
        return f"exit code {ended.code}"
    return f"ended by {ended.signal}" if ended.signal is not None else "ended"


class _Screen:
    """One terminal of the agent, and the calls that show it."""

    __slots__ = ("ended", "output", "viewers")

    def __init__(self) -> None:
        self.output = bytearray()
        self.ended: TerminalExit | None = None
        self.viewers: dict[str, None] = {}


class _Call:
    """The state of one call; `total` and `unsent` are sizes, roughly in bytes."""

    __slots__ = ("items", "kind", "name", "title", "total", "unsent")

    def __init__(self) -> None:
        self.title: str | None = None
        self.name: str | None = None
        self.kind: str | None = None
        self.items: list[ToolContent] = []
        self.total = 0
        self.unsent = 0

    @property
    def heading(self) -> str:
        """A title where an edition needs one: the title, else the name, else the kind."""
        return self.title or self.name or self.kind or "tool call"


class ToolStates:
    """All tool calls of a session and the agent's terminals that they show."""

    def __init__(self) -> None:
        self.client_terminals: set[str] = set()
        self._calls: dict[str, _Call] = {}
        self._screens: dict[str, _Screen] = {}
        self._held: dict[str, None] = {}

    def knows(self, call_id: str) -> bool:
        """Whether a call was reported before."""
        return call_id in self._calls

    def holds(self, call_id: str) -> bool:
        """Whether something is held back of a call."""
        return call_id in self._held

    def heading(self, call_id: str) -> str:
        """A title for a call that may have none."""
        return self._calls[call_id].heading

    def change(self, event: ToolChanged) -> None:
        if event.created or event.id not in self._calls:
            self._replace(event.id, [])
            self._calls[event.id] = _Call()
        call = self._calls[event.id]
        if event.title is not UNSET:
            call.title = event.title
        if event.name is not UNSET:
            call.name = event.name
        if event.kind is not UNSET:
            call.kind = event.kind
        if event.content is not UNSET:
            self._replace(event.id, event.content or [])

    def append(self, event: ToolContentAdded) -> None:
        """Note one item more, for an edition that can append it."""
        call = self._calls.setdefault(event.id, _Call())
        call.items.append(event.content)
        call.total += _size(event.content)
        self._note_views(event.id, [event.content])

    def add(self, event: ToolContentAdded) -> bool:
        """Note one item more; whether it is time to repeat the list."""
        self.append(event)
        return self._is_due(event.id, _size(event.content))

    def change_terminal(self, event: TerminalChanged) -> list[str]:
        """The calls to repeat, because a terminal that they show was replaced or ended."""
        if event.id in self.client_terminals:
            return []
        screen = self._screens.setdefault(event.id, _Screen())
        if event.output is UNSET and event.exit is UNSET:
            return []
        if event.output is not UNSET:
            screen.output = bytearray(event.output or b"")
        if event.exit is not UNSET:
            screen.ended = event.exit
        return list(screen.viewers)

    def print(self, event: TerminalOutput) -> list[str]:
        """Append bytes; the calls for which it is time to repeat everything."""
        if event.id in self.client_terminals:
            return []
        screen = self._screens.setdefault(event.id, _Screen())
        screen.output += event.data
        size = len(event.data)
        growth = min(len(screen.output) // PRINTED_SHARE, PRINTED) if len(screen.output) > WINDOW else 0
        for call_id in screen.viewers:
            self._calls[call_id].total += size
        return [call_id for call_id in screen.viewers if self._is_due(call_id, size, growth)]

    @property
    def holds_back(self) -> bool:
        """Whether something of a call is held back."""
        return bool(self._held)

    def held(self) -> list[str]:
        """The calls of which something is held back."""
        return list(self._held)

    def show(self, call_id: str) -> list[ToolContent]:
        """The whole content of a call, in shapes that older editions have; nothing of it is held back any more."""
        call = self._calls[call_id]
        call.unsent = 0
        self._held.pop(call_id, None)
        return [plain for item in call.items for plain in self.plain(item)]

    def plain(self, item: ToolContent) -> list[ToolContent]:
        """An item in shapes that older editions have; a terminal that has shown nothing yet is not shown."""
        if isinstance(item, Diff):
            return downgrade_diff(item)
        if isinstance(item, TerminalView) and item.terminal_id not in self.client_terminals:
            screen = self._screens.get(item.terminal_id)
            text = terminal_text(bytes(screen.output), screen.ended) if screen else ""
            return [Shown(Text(text), meta=item.meta)] if text else []
        return [item]

    def _is_due(self, call_id: str, unsent: int, growth: int | None = None) -> bool:
        """Whether a call has grown enough: by an eighth where it is not small, or by the `growth` of a terminal."""
        call = self._calls[call_id]
        call.unsent += unsent
        if growth is None:
            growth = call.total // SHARE if call.total > SMALL else 0
        if call.unsent >= growth:
            return True
        self._held[call_id] = None
        return False

    def _replace(self, call_id: str, items: list[ToolContent]) -> None:
        call = self._calls.get(call_id)
        if call is None:
            return
        for item in call.items:
            if isinstance(item, TerminalView):
                self._screens[item.terminal_id].viewers.pop(call_id, None)
        self._held.pop(call_id, None)
        call.unsent = 0
        call.items = list(items)
        call.total = sum(map(_size, items))
        self._note_views(call_id, items)

    def _note_views(self, call_id: str, items: list[ToolContent]) -> None:
        for item in items:
            if isinstance(item, TerminalView):
                screen = self._screens.setdefault(item.terminal_id, _Screen())
                screen.viewers[call_id] = None
                self._calls[call_id].total += len(screen.output)


def _size(item: ToolContent) -> int:
    if isinstance(item, Shown) and isinstance(item.block, Text):
        return OVERHEAD + len(item.block.text)
    if isinstance(item, Diff):
        return OVERHEAD + sum(len(change.old or "") + len(change.new or "") for change in item.changes)
    return OVERHEAD
