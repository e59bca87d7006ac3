"""Content, settings and tool calls in v1: closed lists; permission is about tool calls alone.

Modes and models are beside the config options; a command or a bare question becomes a tool call.
"""

from typing import Any, Literal

import msgspec

from accord.protocol import v1
from accord.protocol.model import UNSET, Maybe, Unknown, UnsetType
from accord.session.agent_requests import PermissionGiven, RequestPermission
from accord.session.content import Annotations, Block, Part, Text
from accord.session.custom import Custom
from accord.session.downgrade import downgrade_block, downgrade_status, restore_block, restore_tool
from accord.session.editions.shared.content import BlockCodec, OptionCodec, decode_annotations
from accord.session.editions.shared.tools import (
    ToolItemCodec,
    command_call,
    decode_outcome,
    description_items,
    encode_outcome,
    needs_stand_in,
    question_call,
)
from accord.session.event import ToolChanged
from accord.session.meta_original import ItemOriginal, ToolOriginal, UnknownOriginal, keep, recall
from accord.session.option import MADE_FROM, Choice, ConfigOption, PermissionOption, Select, mode_option
from accord.session.tool_state import ToolStates
from accord.session.unset import mapped, or_none, or_unset, unless_null

__all__ = [
    "BLOCKS",
    "ITEMS",
    "OPTIONS",
    "decode_given",
    "decode_permission",
    "decode_tool",
    "encode_given",
    "encode_models",
    "encode_modes",
    "encode_permission",
    "encode_tool",
    "stand_in",
    "with_older_settings",
]


# --- content blocks and config options


ROLES = frozenset({"assistant", "user"})


class _Blocks(BlockCodec):
    def encode_unknown(self, block: Unknown) -> v1.ContentBlock:
        return self._encode_text(downgrade_block(block))  # type: ignore[no-any-return]

    def annotation_fields(self, annotations: Annotations) -> dict[str, Any]:
        fields = super().annotation_fields(annotations)
        if annotations.audience is not None:
            fields["audience"] = [role for role in annotations.audience if role in ROLES]
        return fields

    def decode_text(self, block: v1.TextContent) -> Block:
        return restore_block(Text(block.text, decode_annotations(block.annotations), block.meta or None))


BLOCKS = _Blocks(v1)
OPTIONS = OptionCodec(v1)


# --- modes and models


def encode_modes(options: list[ConfigOption]) -> v1.SessionModeState | UnsetType:
    """The modes, where an option represents them."""
    option = mode_option(options)
    if option is None:
        return UNSET
    modes = [
        v1.SessionMode(choice.value, choice.name, or_unset(choice.description), choice.meta or UNSET)
        for choice in _choices(option)
    ]
    return v1.SessionModeState(option.value, modes)


def encode_models(options: list[ConfigOption]) -> v1.SessionModelState | UnsetType:
    """The models, where an option represents them."""
    option = _model_option(options)
    if option is None:
        return UNSET
    models = [
        v1.ModelInfo(choice.value, choice.name, or_unset(choice.description), choice.meta or UNSET)
        for choice in _choices(option)
    ]
    return v1.SessionModelState(models, option.value)


def _model_option(options: list[ConfigOption]) -> Select | None:
    return next((option for option in options if isinstance(option, Select) and option.category == "model"), None)


def _choices(option: Select) -> list[Choice]:
    return [*option.choices, *(choice for group in option.groups for choice in group.choices)]


def with_older_settings(
    options: list[ConfigOption], modes: Maybe[v1.SessionModeState], models: Maybe[v1.SessionModelState]
) -> list[ConfigOption]:
    """The options, and those that only the older shapes have."""
    found = list(options)
    if modes and mode_option(found) is None:
        choices = [
            Choice(mode.id, mode.name, or_none(mode.description), mode.meta or None) for mode in modes.available_modes
        ]
        meta = {**(modes.meta or {}), MADE_FROM: "modes"}
        name = _free("mode", found)
        found.append(Select(name, "Mode", modes.current_mode_id, choices, category="mode", meta=meta))
    if models and _model_option(found) is None:
        choices = [
            Choice(model.model_id, model.name, or_none(model.description), model.meta or None)
            for model in models.available_models
        ]
        meta = {**(models.meta or {}), MADE_FROM: "models"}
        name = _free("model", found)
        found.append(Select(name, "Model", models.current_model_id, choices, category="model", meta=meta))
    return found


def _free(stem: str, options: list[ConfigOption]) -> str:
    taken = {option.id for option in options if not isinstance(option, Unknown)}
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}-{number}"
    return name


# --- tool calls

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
    return event if original is None else restore_tool(event, original, downgrade_status)


# --- permission


OPTION_KINDS = frozenset({"allow_once", "allow_always", "reject_once", "reject_always"})
# Safe with clients that approve by kind: an option that they do not understand approves nothing.
UNKNOWN_KIND: Literal["reject_once"] = "reject_once"


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
    return v1.PermissionOption(option.id, option.name, UNKNOWN_KIND, keep(option.meta, KindOriginal(option.kind)))


def _decode_option(option: v1.PermissionOption) -> PermissionOption:
    meta, original = recall(option.meta, KindOriginal)
    kind = option.kind
    if original is not None and kind == UNKNOWN_KIND and original.kind not in OPTION_KINDS:
        kind = original.kind
    return PermissionOption(option.option_id, option.name, Custom(kind), meta)


def encode_given(answer: PermissionGiven) -> v1.RequestPermissionResponse:
    result: v1.RequestPermissionResponse = encode_outcome(v1, answer)
    return result


def decode_given(result: v1.RequestPermissionResponse, _: object) -> PermissionGiven:
    """The answer; an outcome that names no option approves nothing."""
    return decode_outcome(v1, result)
