"""Tool calls in v1, and permission, which is about tool calls alone: a command or a bare question becomes one.

The request's title replaces that of the tool call, and its description is the last item of the call's content; to send
the original call again afterwards is up to the agent. The description is left out where the call's content is not part
of the request: alone it would replace the content that the user has to see before answering.
"""

from typing import Any

import msgspec

from accord.protocol import v1
from accord.protocol.model import UNSET, Unknown
from accord.session.agent_requests import PermissionGiven, RequestPermission
from accord.session.content import Part, Text
from accord.session.downgrade import downgrade_status
from accord.session.editions.shared.tools import (
    ToolItemCodec,
    command_call,
    decode_outcome,
    description_items,
    encode_outcome,
    needs_stand_in,
    question_call,
)
from accord.session.editions.v1.content import BLOCKS
from accord.session.event import ToolChanged
from accord.session.meta_original import ItemOriginal, ToolOriginal, UnknownOriginal, keep, present, recall
from accord.session.option import PermissionOption
from accord.session.tool_state import ToolStates
from accord.session.unset import mapped, or_unset, unless_null

__all__ = [
    "ITEMS",
    "decode_given",
    "decode_permission",
    "decode_tool",
    "encode_given",
    "encode_permission",
    "encode_tool",
    "stand_in",
]

# --- tool calls


KINDS = frozenset({"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"})


class _Items(ToolItemCodec):
    def encode_unknown(self, item: Unknown) -> v1.Content:
        original = ItemOriginal(unknown=UnknownOriginal(item.tag, item.payload))
        return v1.Content(BLOCKS.encode(Text(f"[{item.tag.strip('_')}]")), or_unset(keep(None, original)))


ITEMS = _Items(v1, BLOCKS)


def encode_tool(event: ToolChanged, tools: ToolStates) -> dict[str, Any]:
    """The fields of a report, after the id; empty where v1 has no field for what changed.

    A first report always has a title. The change is noted in `tools`.
    """
    first = event.created or not tools.knows(event.id)
    tools.change(event)
    original = ToolOriginal()
    fields = {
        "name": _clearable(event.name, original, "name", first=first),
        "kind": _encode_kind(event, original),
        "status": _encode_status(event, original),
        "raw_input": _clearable(event.raw_input, original, "raw_input", first=first),
        "raw_output": _clearable(event.raw_output, original, "raw_output", first=first),
        "locations": [] if event.locations is None else mapped(ITEMS.encode_locations, event.locations),
    }
    if first or event.title is not UNSET:
        fields["title"] = (
            event.title if event.title is not None and event.title is not UNSET else tools.heading(event.id)
        )
        original.title = UNSET if event.title == fields["title"] else None
    if event.content is not UNSET or tools.holds(event.id):
        fields["content"] = ITEMS.encode_all(tools.show(event.id))
    _clearable(event.meta, original, "meta", first=first)
    fields["meta"] = or_unset(keep(event.meta, original if original != ToolOriginal() else None))
    return {name: value for name, value in fields.items() if value is not UNSET}


def _clearable(value: Any, original: ToolOriginal, name: str, *, first: bool) -> Any:
    # v1 rule 28: null means "no change", so a field that was sent cannot be cleared.
    if value is None and not first:
        setattr(original, name, None)
    return or_unset(value)


def _encode_kind(event: ToolChanged, original: ToolOriginal) -> Any:
    if event.kind is UNSET or event.kind is None or event.kind in KINDS:
        return "other" if event.kind is None else event.kind
    original.kind = event.kind
    return "other"


def _encode_status(event: ToolChanged, original: ToolOriginal) -> Any:
    if event.status is UNSET or event.status is None:
        return "pending" if event.status is None else UNSET
    written = downgrade_status(event.status)
    if written != event.status:
        original.status = event.status
    return written


def decode_tool(report: v1.ToolCall | v1.ToolCallUpdate) -> ToolChanged:
    """The change in a report; a `tool_call` restarts the call."""
    meta, original = recall(report.meta, ToolOriginal)
    event = ToolChanged(
        report.tool_call_id,
        title=unless_null(report.title),
        kind=unless_null(report.kind),
        status=unless_null(report.status),
        name=unless_null(report.name),
        content=mapped(ITEMS.decode_all, unless_null(report.content)),
        locations=mapped(ITEMS.decode_locations, unless_null(report.locations)),
        raw_input=unless_null(report.raw_input),
        raw_output=unless_null(report.raw_output),
        created=isinstance(report, v1.ToolCall),
        meta=or_unset(meta),
    )
    return msgspec.structs.replace(event, **present(original)) if original is not None else event


# --- permission


OPTION_KINDS = frozenset({"allow_once", "allow_always", "reject_once", "reject_always"})


class KindOriginal(Part):
    """A kind of option that v1 does not name."""

    kind: str


def encode_permission(request: RequestPermission) -> v1.RequestPermissionRequest:
    return v1.RequestPermissionRequest(
        request.session_id,
        _encode_call(_subject(request)),
        [_encode_option(option) for option in request.options],
        request.meta or UNSET,
    )


def _subject(request: RequestPermission) -> ToolChanged:
    if request.tool is not None:
        return _tool(request, request.tool)
    if request.command is None:
        call = msgspec.structs.replace(question_call(request, "question"), raw_input=or_unset(request.other))
    else:
        call = command_call(request.command, request.title)
    return msgspec.structs.replace(call, content=description_items(request)) if call.created else call


def stand_in(request: RequestPermission) -> ToolChanged | None:
    """The tool call that was made for a question about none."""
    if not needs_stand_in(request):
        return None
    made = _subject(request)
    return ToolChanged(made.id, title=made.title, kind=made.kind)


def _tool(request: RequestPermission, tool: ToolChanged) -> ToolChanged:
    if request.title is not None:
        tool = msgspec.structs.replace(tool, title=request.title)
    description = description_items(request)
    if description and (tool.created or tool.content is not UNSET):
        tool = msgspec.structs.replace(tool, content=[*(tool.content or []), *description])
    return tool


def _encode_call(tool: ToolChanged) -> v1.ToolCallUpdate:
    tools = ToolStates()
    if not tool.created:
        # Of a call that was reported before, only what is new is sent.
        tools.change(ToolChanged(tool.id))
    return v1.ToolCallUpdate(tool.id, **encode_tool(tool, tools))


def decode_permission(params: v1.RequestPermissionRequest) -> RequestPermission:
    options = [_decode_option(option) for option in params.options]
    return RequestPermission(params.session_id, options, tool=decode_tool(params.tool_call), meta=params.meta or None)


def _encode_option(option: PermissionOption) -> v1.PermissionOption:
    if option.kind in OPTION_KINDS:
        return v1.PermissionOption(option.id, option.name, option.kind, option.meta or UNSET)
    # Safe with clients that approve by kind: an option that they do not understand approves nothing.
    return v1.PermissionOption(option.id, option.name, "reject_once", keep(option.meta, KindOriginal(option.kind)))


def _decode_option(option: v1.PermissionOption) -> PermissionOption:
    meta, original = recall(option.meta, KindOriginal)
    return PermissionOption(option.option_id, option.name, original.kind if original else option.kind, meta)


def encode_given(answer: PermissionGiven) -> v1.RequestPermissionResponse:
    result: v1.RequestPermissionResponse = encode_outcome(v1, answer)
    return result


def decode_given(result: v1.RequestPermissionResponse, _: object) -> PermissionGiven:
    """The answer; an outcome that names no option approves nothing."""
    return decode_outcome(v1, result)
