"""Tool calls in v2: patches in which null clears, diffs with patches, terminals to look at."""

from typing import Any, assert_never

from accord.protocol import v2
from accord.protocol.model import UNSET, Maybe, Unknown
from accord.session.dialect_v2.content import block_in, block_out
from accord.session.dialect_v2.diff import diff_in, diff_out
from accord.session.event import ToolChanged
from accord.session.nearest import spelled_out
from accord.session.presence import mapped, told
from accord.session.tool import Diff, Location, Shown, TerminalView, ToolContent

__all__ = ["item_in", "item_out", "tool_in", "tool_out"]


def tool_out(event: ToolChanged, *, known: bool) -> dict[str, Any]:
    """The fields of a report, after the id. A known call that starts anew has everything else cleared."""
    if event.created and known:
        event = spelled_out(event)
    fields = {
        "name": event.name,
        "title": event.title,
        "kind": event.kind,
        "status": event.status,
        "content": mapped(_items_out, event.content),
        "locations": mapped(_locations_out, event.locations),
        "raw_input": event.raw_input,
        "raw_output": event.raw_output,
        "capabilities": _capabilities_out(event),
        "meta": event.meta,
    }
    return {name: value for name, value in fields.items() if value is not UNSET}


def _capabilities_out(event: ToolChanged) -> Maybe[v2.ToolCallCapabilities]:
    if event.cancellable is UNSET:
        return UNSET
    return v2.ToolCallCapabilities(v2.ToolCallCancelCapabilities()) if event.cancellable else None


def _items_out(items: list[ToolContent]) -> list[v2.ToolCallContent]:
    return [item_out(item) for item in items]


def item_out(item: ToolContent) -> v2.ToolCallContent:
    """One item among those a call shows."""
    match item:
        case Shown():
            return v2.Content(block_out(item.block), item.meta or UNSET)
        case Diff():
            return diff_out(item)
        case TerminalView():
            return v2.Terminal(item.terminal_id, item.meta or UNSET)
        case Unknown():
            return item
        case _:
            assert_never(item)


def _locations_out(places: list[Location]) -> list[v2.ToolCallLocation]:
    # v2 rule 70: a line 0 is invalid.
    return [v2.ToolCallLocation(place.path, place.line or UNSET, place.meta or UNSET) for place in places]


def tool_in(report: v2.ToolCallUpdate) -> ToolChanged:
    """The change that a report stands for."""
    capabilities = report.capabilities
    return ToolChanged(
        report.tool_call_id,
        title=report.title,
        kind=report.kind,
        status=report.status,
        name=report.name,
        content=mapped(_items_in, report.content),
        locations=mapped(_locations_in, report.locations),
        raw_input=report.raw_input,
        raw_output=report.raw_output,
        # A marker counts when it is there, even empty.
        cancellable=UNSET if capabilities is UNSET else capabilities is not None and _is_there(capabilities.cancel),
        meta=report.meta,
    )


def _is_there(marker: object) -> bool:
    return marker is not UNSET and marker is not None


def _items_in(items: list[v2.ToolCallContent]) -> list[ToolContent]:
    return [item_in(item) for item in items]


def item_in(item: v2.ToolCallContent) -> ToolContent:
    """One item among those a call shows."""
    match item:
        case v2.Content():
            return Shown(block_in(item.content), item.meta or None)
        case v2.Diff():
            return diff_in(item)
        case v2.Terminal():
            return TerminalView(item.terminal_id, item.meta or None)
        case Unknown():
            return item
        case _:
            assert_never(item)


def _locations_in(places: list[v2.ToolCallLocation]) -> list[Location]:
    return [Location(place.path, told(place.line), place.meta or None) for place in places]
