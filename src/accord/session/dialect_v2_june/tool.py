"""Tool calls in the June draft: patches in which null clears, as in v2; diffs of two texts, as in v1; no terminals."""

from typing import Any, assert_never

import msgspec

from accord.protocol import v2_june
from accord.protocol.model import UNSET, Unknown
from accord.session.board import Board
from accord.session.dialect_v2_june.content import block_in, block_out
from accord.session.event import ToolChanged
from accord.session.nearest import meant_diff, meant_shown, open_status, spelled_out
from accord.session.original import ToolOriginal, keep, present, recall
from accord.session.presence import given, mapped, told
from accord.session.tool import Diff, FileChange, Location, Shown, TerminalView, ToolContent

__all__ = ["item_in", "items_out", "tool_in", "tool_out"]


def tool_out(event: ToolChanged, board: Board) -> dict[str, Any]:
    """The fields of a report, after the id. A known call that starts anew has everything else cleared.

    The board is told of the change.
    """
    anew = event.created and board.knows(event.id)
    board.change(event)
    if anew:
        event = spelled_out(event)
    status = mapped(open_status, event.status)
    original = ToolOriginal(name=event.name, status=UNSET if status == event.status else event.status or UNSET)
    meta = event.meta
    if original != ToolOriginal():
        original.meta = None if meta is None else UNSET
        meta = keep(meta, original)
    fields = {
        "title": event.title,
        "kind": event.kind,
        "status": status,
        "content": items_out(board.show(event.id)) if event.content or board.holds(event.id) else event.content,
        "locations": mapped(_locations_out, event.locations),
        "raw_input": event.raw_input,
        "raw_output": event.raw_output,
        "meta": meta,
    }
    return {name: value for name, value in fields.items() if value is not UNSET}


def items_out(items: list[ToolContent]) -> list[v2_june.ToolCallContent]:
    """What a call shows; items are plain already (`Board.show`)."""
    return [_item_out(item) for item in items]


def _item_out(item: ToolContent) -> v2_june.ToolCallContent:
    match item:
        case Shown():
            return v2_june.Content(block_out(item.block), item.meta or UNSET)
        case Diff():
            change = item.changes[0]
            return v2_june.Diff(change.path, change.new or "", given(change.old), item.meta or UNSET)
        case TerminalView():
            # Only a client's own terminal is not plain already, and this edition has none.
            return Unknown("terminal", {"type": "terminal", "terminalId": item.terminal_id})
        case Unknown():
            return item
        case _:
            assert_never(item)


def _locations_out(places: list[Location]) -> list[v2_june.ToolCallLocation]:
    return [v2_june.ToolCallLocation(place.path, given(place.line), place.meta or UNSET) for place in places]


def tool_in(report: v2_june.ToolCallUpdate) -> ToolChanged:
    """The change that a report stands for."""
    meta, original = recall(report.meta, ToolOriginal)
    event = ToolChanged(
        report.tool_call_id,
        title=report.title,
        kind=report.kind,
        status=report.status,
        content=mapped(_items_in, report.content),
        locations=mapped(_locations_in, report.locations),
        raw_input=report.raw_input,
        raw_output=report.raw_output,
        meta=report.meta if original is None else given(meta),
    )
    return msgspec.structs.replace(event, **present(original)) if original is not None else event


def _items_in(items: list[v2_june.ToolCallContent]) -> list[ToolContent]:
    return [meant for item in items for meant in item_in(item)]


def item_in(item: v2_june.ToolCallContent) -> list[ToolContent]:
    """What an item stands for; a line that only explains the next one stands for nothing."""
    match item:
        case v2_june.Content():
            return meant_shown(Shown(block_in(item.content), item.meta or None))
        case v2_june.Diff():
            return [
                meant_diff(Diff([FileChange(item.path, told(item.old_text), item.new_text)], meta=item.meta or None))
            ]
        case Unknown():
            return [item]
        case _:
            assert_never(item)


def _locations_in(places: list[v2_june.ToolCallLocation]) -> list[Location]:
    # Lines count from 1; the schema lets a 0 pass.
    return [Location(place.path, told(place.line) or None, place.meta or None) for place in places]
