"""Content and tool calls in the June draft.

Blocks and options are those of v1, unknown ones as they are, without toggles. Tool calls are patches in which null
clears, as in v2; diffs are two texts, as in v1; there are no terminals.
"""

from typing import Any

from accord.protocol import v2_june
from accord.protocol.model import UNSET, Maybe, Unknown
from accord.session.downgrade import downgrade_open_status, restore_tool, with_explicit_nulls
from accord.session.editions.shared.content import BlockCodec, OptionCodec
from accord.session.editions.shared.tools import ToolItemCodec
from accord.session.event import ToolChanged
from accord.session.meta_original import ToolOriginal, keep, recall
from accord.session.option import Command
from accord.session.tool import TerminalView
from accord.session.tool_state import ToolStates
from accord.session.unset import mapped, or_unset

__all__ = ["BLOCKS", "ITEMS", "OPTIONS", "decode_tool", "encode_tool"]

# --- content blocks and config options


class _Options(OptionCodec):
    def encode_input(self, command: Command) -> Maybe[v2_june.AvailableCommandInput]:
        further = command.payload.get("input") if command.payload is not None else None
        if isinstance(further, dict) and isinstance(further.get("type"), str):
            return Unknown(further["type"], further)
        hint: Maybe[v2_june.AvailableCommandInput] = super().encode_input(command)
        return hint


BLOCKS = BlockCodec(v2_june)
OPTIONS = _Options(v2_june)


# --- tool calls


class _Items(ToolItemCodec):
    def encode_terminal(self, view: TerminalView) -> Unknown:
        # Only a client's own terminal is not downgraded already, and this edition has none.
        return Unknown("terminal", {"type": "terminal", "terminalId": view.terminal_id})


ITEMS = _Items(v2_june, BLOCKS)


def encode_tool(event: ToolChanged, tools: ToolStates) -> dict[str, Any]:
    """The fields of a report, after the id. A known call that starts anew has everything else cleared.

    The change is noted in `tools`.
    """
    anew = event.created and tools.knows(event.id)
    tools.change(event)
    if anew:
        event = with_explicit_nulls(event)
    status = mapped(downgrade_open_status, event.status)
    original = ToolOriginal(name=event.name, status=UNSET if status == event.status else event.status or UNSET)
    meta = event.meta
    if original != ToolOriginal():
        original.meta = None if meta is None else UNSET
        meta = keep(meta, original)
    fields = {
        "title": event.title,
        "kind": event.kind,
        "status": status,
        "content": ITEMS.encode_all(tools.show(event.id)) if event.content or tools.holds(event.id) else event.content,
        "locations": mapped(ITEMS.encode_locations, event.locations),
        "raw_input": event.raw_input,
        "raw_output": event.raw_output,
        "meta": meta,
    }
    return {name: value for name, value in fields.items() if value is not UNSET}


def decode_tool(report: v2_june.ToolCallUpdate) -> ToolChanged:
    meta, original = recall(report.meta, ToolOriginal)
    event = ToolChanged(
        report.tool_call_id,
        title=report.title,
        kind=report.kind,
        status=report.status,
        content=mapped(ITEMS.decode_all, report.content),
        locations=mapped(ITEMS.decode_locations, report.locations),
        raw_input=report.raw_input,
        raw_output=report.raw_output,
        meta=report.meta if original is None else or_unset(meta),
    )
    return event if original is None else restore_tool(event, original, downgrade_open_status)
