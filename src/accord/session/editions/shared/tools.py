"""Tool calls: their content, their locations, and permission requests."""

import hashlib
from typing import Any, assert_never

from accord.protocol.model import UNSET, Unknown, UnsetType
from accord.session.agent_requests import CommandSubject, PermissionGiven, RequestPermission
from accord.session.content import Text
from accord.session.downgrade import restore_diff, restore_shown
from accord.session.editions.shared.content import BlockCodec
from accord.session.event import ToolChanged
from accord.session.option import PermissionOption
from accord.session.tool import Diff, FileChange, Location, Shown, TerminalView, ToolContent
from accord.session.unset import or_none, or_unset

__all__ = [
    "UNTITLED",
    "ToolItemCodec",
    "command_call",
    "decode_options",
    "decode_outcome",
    "description_items",
    "encode_options",
    "encode_outcome",
    "needs_stand_in",
    "question_call",
]

# --- the content of a call


class ToolItemCodec:
    """An edition's items of tool calls; without overrides, v1's and June's, whose diffs are a path and two texts."""

    def __init__(self, types: Any, blocks: BlockCodec) -> None:
        self.types = types
        self.blocks = blocks

    def encode_all(self, items: list[ToolContent]) -> list[Any]:
        return [self.encode(item) for item in items]

    def encode(self, item: ToolContent) -> Any:
        match item:
            case Shown():
                return self.types.Content(self.blocks.encode(item.block), item.meta or UNSET)
            case Diff():
                return self.encode_diff(item)
            case TerminalView():
                return self.encode_terminal(item)
            case Unknown():
                return self.encode_unknown(item)
            case _:
                assert_never(item)

    def encode_diff(self, diff: Diff) -> Any:
        """A diff of one file: it was downgraded before (`ToolStates.show`)."""
        change = diff.changes[0]
        return self.types.Diff(change.path, change.new or "", or_unset(change.old), diff.meta or UNSET)

    def encode_terminal(self, view: TerminalView) -> Any:
        return self.types.Terminal(view.terminal_id, view.meta or UNSET)

    def encode_unknown(self, item: Unknown) -> Any:
        """An item of an unknown kind: unchanged."""
        return item

    def encode_locations(self, places: list[Location]) -> list[Any]:
        """The places. Lines count from 1 (v2 rule 70)."""
        kind = self.types.ToolCallLocation
        return [kind(place.path, place.line or UNSET, place.meta or UNSET) for place in places]

    def decode_all(self, items: list[Any]) -> list[ToolContent]:
        return [meant for item in items for meant in self.decode(item)]

    def decode(self, item: Any) -> list[ToolContent]:
        """The core's value of an item; None for a line that only explains the next item."""
        if isinstance(item, self.types.Content):
            return self.decode_shown(Shown(self.blocks.decode(item.content), item.meta or None))
        if isinstance(item, self.types.Diff):
            return [self.decode_diff(item)]
        if isinstance(item, Unknown):
            return [item]
        return [TerminalView(item.terminal_id, item.meta or None)]

    def decode_shown(self, shown: Shown) -> list[ToolContent]:
        """A block, or the value that was downgraded to it."""
        return restore_shown(shown)

    def decode_diff(self, item: Any) -> ToolContent:
        """A diff, or the value that was downgraded to it."""
        change = FileChange(item.path, or_none(item.old_text), item.new_text)
        return restore_diff(Diff([change], meta=item.meta or None))

    def decode_locations(self, places: list[Any]) -> list[Location]:
        """The places. Lines count from 1; the schemas of v1 and June let a 0 pass."""
        return [Location(place.path, or_none(place.line) or None, place.meta or None) for place in places]


# --- permission


UNTITLED = "Permission required"
DIGEST_CHARACTERS = 12


# --- options and outcomes


def encode_options(types: Any, options: list[PermissionOption]) -> list[Any]:
    """The options, in an edition that allows further kinds."""
    return [types.PermissionOption(option.id, option.name, option.kind, option.meta or UNSET) for option in options]


def decode_options(options: list[Any]) -> list[PermissionOption]:
    return [PermissionOption(option.option_id, option.name, option.kind, option.meta or None) for option in options]


def encode_outcome(types: Any, answer: PermissionGiven) -> Any:
    """The choice; none is `cancelled`."""
    chosen = answer.option
    outcome = types.CancelledPermissionOutcome() if chosen is None else types.SelectedPermissionOutcome(chosen)
    return types.RequestPermissionResponse(outcome, answer.meta or UNSET)


def decode_outcome(types: Any, result: Any) -> PermissionGiven:
    """The choice; an outcome that names no option approves nothing."""
    outcome = result.outcome
    chosen = outcome.option_id if isinstance(outcome, types.SelectedPermissionOutcome) else None
    return PermissionGiven(chosen, result.meta or None)


# --- the call that stands in


def needs_stand_in(request: RequestPermission) -> bool:
    """Whether a question is about no tool call that exists."""
    return request.tool is None and (request.command is None or request.command.tool_id is None)


def command_call(command: CommandSubject, title: str | None) -> ToolChanged:
    """A tool call for a command: the one that runs it, or one made for the question."""
    return ToolChanged(
        command.tool_id or _name("command", command.command, command.cwd),
        title or command.command,
        "execute",
        raw_input={"command": command.command, "cwd": command.cwd},
        created=command.tool_id is None,
        meta=or_unset(command.meta),
    )


def question_call(request: RequestPermission, stem: str) -> ToolChanged:
    """A tool call for a question about neither a call nor a command."""
    title = request.title or UNTITLED
    return ToolChanged(_name(stem, title), title, "other", created=True)


def description_items(request: RequestPermission) -> list[ToolContent] | UnsetType:
    return [Shown(Text(request.description))] if request.description else UNSET


def _name(stem: str, *parts: str) -> str:
    # The same question has the same id, so that asking again shows no second call. A lone surrogate is text to
    # JavaScript peers, and so it may come this far.
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass"))
    return f"{stem}-{digest.hexdigest()[:DIGEST_CHARACTERS]}"
