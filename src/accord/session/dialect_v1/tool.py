"""Tool calls in v1: what they show, and the fields of a report."""

from typing import Any, assert_never

import msgspec

from accord.protocol import v1
from accord.protocol.model import UNSET, Unknown
from accord.session.board import Board
from accord.session.content import Text
from accord.session.dialect_v1.content import block_in, block_out
from accord.session.event import ToolChanged
from accord.session.nearest import known_status, meant_diff, meant_shown
from accord.session.original import ItemOriginal, ToolOriginal, UnknownOriginal, keep, present, recall
from accord.session.presence import given, lasting, mapped, told
from accord.session.tool import Diff, FileChange, Location, Shown, TerminalView, ToolContent

__all__ = ["items_in", "items_out", "tool_in", "tool_out"]

KINDS = frozenset({"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"})


def tool_out(event: ToolChanged, board: Board) -> dict[str, Any]:
    """The fields of a report, after the id; empty where this edition has no word for what changed.

    A first report always has a title. The board is told of the change.
    """
    first = event.created or not board.knows(event.id)
    board.change(event)
    original = ToolOriginal()
    fields = {
        "name": _clearable(event.name, original, "name", first=first),
        "kind": _kind_out(event, original),
        "status": _status_out(event, original),
        "raw_input": _clearable(event.raw_input, original, "raw_input", first=first),
        "raw_output": _clearable(event.raw_output, original, "raw_output", first=first),
        "locations": [] if event.locations is None else mapped(_locations_out, event.locations),
    }
    if first or event.title is not UNSET:
        fields["title"] = (
            event.title if event.title is not None and event.title is not UNSET else board.heading(event.id)
        )
        original.title = UNSET if event.title == fields["title"] else None
    if event.content is not UNSET or board.holds(event.id):
        fields["content"] = items_out(board.show(event.id))
    _clearable(event.meta, original, "meta", first=first)
    fields["meta"] = given(keep(event.meta, original if original != ToolOriginal() else None))
    return {name: value for name, value in fields.items() if value is not UNSET}


def _clearable(value: Any, original: ToolOriginal, name: str, *, first: bool) -> Any:
    # v1 rule 28: null means "no change", so that what was once said cannot be cleared.
    if value is None and not first:
        setattr(original, name, None)
    return given(value)


def _kind_out(event: ToolChanged, original: ToolOriginal) -> Any:
    if event.kind is UNSET or event.kind is None or event.kind in KINDS:
        return "other" if event.kind is None else event.kind
    original.kind = event.kind
    return "other"


def _status_out(event: ToolChanged, original: ToolOriginal) -> Any:
    if event.status is UNSET or event.status is None:
        return "pending" if event.status is None else UNSET
    said = known_status(event.status)
    if said != event.status:
        original.status = event.status
    return said


def _locations_out(places: list[Location]) -> list[v1.ToolCallLocation]:
    return [v1.ToolCallLocation(place.path, given(place.line), place.meta or UNSET) for place in places]


def items_out(items: list[ToolContent]) -> list[v1.ToolCallContent]:
    """What a call shows; items are plain already (`Board.show`)."""
    return [_item_out(item) for item in items]


def _item_out(item: ToolContent) -> v1.ToolCallContent:
    match item:
        case Shown():
            return v1.Content(block_out(item.block), item.meta or UNSET)
        case Diff():
            change = item.changes[0]
            return v1.Diff(change.path, change.new or "", given(change.old), item.meta or UNSET)
        case TerminalView():
            return v1.Terminal(item.terminal_id, item.meta or UNSET)
        case Unknown():
            original = ItemOriginal(unknown=UnknownOriginal(item.tag, item.payload))
            return v1.Content(block_out(Text(f"[{item.tag.strip('_')}]")), given(keep(None, original)))
        case _:
            assert_never(item)


def tool_in(report: v1.ToolCall | v1.ToolCallUpdate) -> ToolChanged:
    """The change that a report stands for; a `tool_call` starts the call anew."""
    meta, original = recall(report.meta, ToolOriginal)
    event = ToolChanged(
        report.tool_call_id,
        title=lasting(report.title),
        kind=lasting(report.kind),
        status=lasting(report.status),
        name=lasting(report.name),
        content=mapped(items_in, lasting(report.content)),
        locations=mapped(_locations_in, lasting(report.locations)),
        raw_input=lasting(report.raw_input),
        raw_output=lasting(report.raw_output),
        created=isinstance(report, v1.ToolCall),
        meta=given(meta),
    )
    return msgspec.structs.replace(event, **present(original)) if original is not None else event


def items_in(items: list[v1.ToolCallContent]) -> list[ToolContent]:
    """What a call shows."""
    return [meant for item in items for meant in _item_in(item)]


def _item_in(item: v1.ToolCallContent) -> list[ToolContent]:
    match item:
        case v1.Content():
            return meant_shown(Shown(block_in(item.content), item.meta or None))
        case v1.Diff():
            return [
                meant_diff(Diff([FileChange(item.path, told(item.old_text), item.new_text)], meta=item.meta or None))
            ]
        case v1.Terminal():
            return [TerminalView(item.terminal_id, item.meta or None)]
        case Unknown():
            return [item]
        case _:
            assert_never(item)


def _locations_in(places: list[v1.ToolCallLocation]) -> list[Location]:
    # Lines count from 1; the schema lets a 0 pass.
    return [Location(place.path, told(place.line) or None, place.meta or None) for place in places]
