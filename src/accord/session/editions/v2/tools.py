"""Content, config options and tool calls in v2: icons and typed commands, patches in which null clears, and permission.

Permission is about a tool call, a command, or a bare question.
"""

from typing import Any

import msgspec

from accord.errors import LocalProtocolError
from accord.protocol import v2
from accord.protocol.model import UNSET, Maybe, Omittable, Unknown
from accord.session.agent_requests import CommandSubject, PermissionGiven, RequestPermission
from accord.session.content import Annotations, Icon, Link
from accord.session.custom import Custom
from accord.session.downgrade import with_explicit_nulls
from accord.session.editions.shared.content import BlockCodec, OptionCodec
from accord.session.editions.shared.tools import UNTITLED, ToolItemCodec, decode_options, encode_options, encode_outcome
from accord.session.event import Meta, ToolChanged
from accord.session.git_patch import operation_of, read_patch, texts_agree, write_patch
from accord.session.meta_original import DiffOriginal, TextsOriginal, keep, recall
from accord.session.option import Command, ConfigOption, Group, Select
from accord.session.tool import Diff, FileChange, Shown, ToolContent
from accord.session.unset import mapped, or_none, or_unset

__all__ = [
    "BLOCKS",
    "ITEMS",
    "OPTIONS",
    "PATCHES",
    "decode_given",
    "decode_permission",
    "decode_tool",
    "encode_given",
    "encode_permission",
    "encode_tool",
]


PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/!$&'()*+,;=:@")
"""The characters that need no escape in the path of a URI (RFC 3986)."""


class _Blocks(BlockCodec):
    def encode_uri(self, uri: str) -> str:
        # Agents of v1 put bare paths where a URI belongs.
        if not uri.startswith("/"):
            return uri
        return "file://" + "".join(
            chr(byte) if byte in PLAIN else f"%{byte:02X}" for byte in uri.encode("utf-8", "replace")
        )

    def annotation_fields(self, annotations: Annotations) -> dict[str, Any]:
        fields = super().annotation_fields(annotations)
        if annotations.priority is not None:
            fields["priority"] = min(max(annotations.priority, 0), 1)
        return fields

    def link_fields(self, block: Link) -> dict[str, Any]:
        return {
            "icons": UNSET if block.icons is None else [_encode_icon(icon) for icon in block.icons],
            "size": block.size if block.size is not None and block.size >= 0 else UNSET,
        }

    def _decode_link(self, block: v2.ResourceLink) -> Link:
        link = super()._decode_link(block)
        link.icons = [_decode_icon(icon) for icon in block.icons] if block.icons else None
        return link


def _encode_icon(icon: Icon) -> v2.Icon:
    return v2.Icon(icon.src, or_unset(icon.mime_type), or_unset(icon.sizes), or_unset(icon.theme), icon.meta or UNSET)


def _decode_icon(icon: v2.Icon) -> Icon:
    return Icon(icon.src, or_none(icon.mime_type), or_none(icon.sizes), or_none(icon.theme), icon.meta or None)


class _Options(OptionCodec):
    id_field = "config_id"
    group_field = "group_id"

    def encode(self, options: list[ConfigOption], *, toggles: bool = True) -> list[Any]:
        # A select without values is none.
        shown = [option for option in options if not isinstance(option, Select) or option.values()]
        return super().encode(shown, toggles=toggles)

    def encode_groups(self, groups: list[Group]) -> list[Any]:
        return super().encode_groups([group for group in groups if group.choices])

    def encode_commands(self, commands: list[Command]) -> list[v2.AvailableCommand]:
        return [_encode_command(command) for command in commands]

    def decode_command(self, command: v2.AvailableCommand) -> Command:
        if not isinstance(command, Unknown):
            return super().decode_command(command)
        name, description = command.payload.get("name"), command.payload.get("description")
        if isinstance(name, str) and isinstance(description, str):
            return Command(name, description, payload=command.payload)
        return Command("", "", payload=command.payload)


def _encode_command(command: Command) -> v2.AvailableCommand:
    if command.payload is not None:
        # The further fields of a command of v2 are written again.
        return Unknown(str(command.payload.get("type")), command.payload)
    hint = UNSET if command.hint is None else v2.TextCommandInput(command.hint)
    return v2.Command(command.name, command.description, hint, command.meta or UNSET)


BLOCKS = _Blocks(v2)
OPTIONS = _Options(v2)


# --- tool calls

# --- tool calls


SINGLE: dict[str, type[v2.AddChange | v2.DeleteChange | v2.ModifyChange]] = {
    "add": v2.AddChange,
    "delete": v2.DeleteChange,
    "modify": v2.ModifyChange,
}
PAIRED: dict[str, type[v2.MoveChange | v2.CopyChange]] = {"move": v2.MoveChange, "copy": v2.CopyChange}
FORMAT = "git_patch"


class _Items(ToolItemCodec):
    """The items of v2. Both whole texts stand beside a patch only for a client that reads `originals`."""

    def __init__(self, *, originals: bool) -> None:
        super().__init__(v2, BLOCKS)
        self._originals = originals

    def encode_diff(self, diff: Diff) -> v2.Diff:
        return _encode_diff(diff, originals=self._originals)

    def decode_diff(self, item: v2.Diff) -> ToolContent:
        return _decode_diff(item)

    def decode_shown(self, shown: Shown) -> list[ToolContent]:
        return [shown]


ITEMS = _Items(originals=True)
PATCHES = _Items(originals=False)
"""The items for clients that are not ours: of a diff they get the patch alone."""


def encode_tool(event: ToolChanged, *, known: bool, items: ToolItemCodec = ITEMS) -> dict[str, Any]:
    """The fields of a report, after the id. A known call that starts anew has everything else cleared."""
    if event.created and known:
        event = with_explicit_nulls(event)
    fields = {
        "name": event.name,
        "title": event.title,
        "kind": event.kind,
        "status": event.status,
        "content": mapped(items.encode_all, event.content),
        "locations": mapped(ITEMS.encode_locations, event.locations),
        "raw_input": event.raw_input,
        "raw_output": event.raw_output,
        "capabilities": _encode_capabilities(event),
        "meta": event.meta,
    }
    return {name: value for name, value in fields.items() if value is not UNSET}


def _encode_capabilities(event: ToolChanged) -> Maybe[v2.ToolCallCapabilities]:
    if event.cancellable is UNSET:
        return UNSET
    return v2.ToolCallCapabilities(v2.ToolCallCancelCapabilities()) if event.cancellable else None


def decode_tool(report: v2.ToolCallUpdate) -> ToolChanged:
    capabilities = report.capabilities
    return ToolChanged(
        report.tool_call_id,
        title=report.title,
        kind=report.kind,
        status=report.status,
        name=report.name,
        content=mapped(ITEMS.decode_all, report.content),
        locations=mapped(ITEMS.decode_locations, report.locations),
        raw_input=report.raw_input,
        raw_output=report.raw_output,
        # A marker counts when it is there, even empty.
        cancellable=UNSET if capabilities is UNSET else capabilities is not None and _is_there(capabilities.cancel),
        meta=report.meta,
    )


def _is_there(marker: object) -> bool:
    return marker is not UNSET and marker is not None


# --- diffs


def _encode_diff(diff: Diff, *, originals: bool) -> v2.Diff:
    """A diff with a patch: the agent's own, or one made from the texts, which may be kept beside it in `_meta`."""
    made = write_patch(diff.changes) if diff.patch is None else None
    # Where there is no patch at all, the texts are all there is to see.
    texts = originals or (diff.patch is None and made is None)
    changes = [_encode_change(change, texts=texts) for change in diff.changes]
    if diff.patch is not None:
        return v2.Diff(changes, v2.DiffPatch(diff.patch_format, diff.patch), diff.meta or UNSET)
    if made is None:
        return v2.Diff(changes, UNSET, diff.meta or UNSET)
    original = DiffOriginal(made=True) if originals else None
    return v2.Diff(changes, v2.DiffPatch(FORMAT, made), or_unset(keep(diff.meta, original)))


def _encode_change(change: FileChange, *, texts: bool) -> v2.DiffChange:
    operation = operation_of(change)
    if change.payload is not None:
        return Unknown(operation, change.payload)
    original = TextsOriginal(change.old, change.new) if texts else TextsOriginal()
    optional: dict[str, Any] = {
        "file_type": or_unset(change.file_type),
        "mime_type": or_unset(change.mime_type),
        "meta": or_unset(keep(change.meta, original if original != TextsOriginal() else None)),
    }
    if operation in PAIRED and change.old_path is not None:
        return PAIRED[operation](change.old_path, change.path, **optional)
    if operation in SINGLE:
        return SINGLE[operation](change.path, **optional)
    if operation in PAIRED:
        # Its source is not known, only that the file exists now.
        return v2.AddChange(change.path, **optional)
    return Unknown(operation, {"operation": operation, "path": change.path, "_meta": optional["meta"] or {}})


def _decode_diff(diff: v2.Diff) -> Diff:
    """A diff with texts: those in `_meta` where the patch says the same, else the parts that the patch shows."""
    meta, original = recall(diff.meta, DiffOriginal)
    patch = diff.patch or None
    changes = [_decode_change(change) for change in diff.changes]
    if patch is None:
        return Diff(changes, meta=meta)
    if patch.format != FORMAT:
        return Diff(changes, patch.text, patch.format, meta)
    # The patch is what every other client shows: an original that contradicts it is none.
    if not texts_agree(patch.text, changes):
        shown = read_patch(patch.text)
        changes = [_with_texts(change, *shown.get(change.path, (None, None))) for change in changes]
    elif original is not None and original.made:
        return Diff(changes, meta=meta)
    return Diff(changes, patch.text, patch.format, meta)


def _with_texts(change: FileChange, old: str | None, new: str | None) -> FileChange:
    return msgspec.structs.replace(change, old=old, new=new)


def _decode_change(change: v2.DiffChange) -> FileChange:
    if isinstance(change, Unknown):
        path = change.payload.get("path")
        return FileChange(path if isinstance(path, str) else "", operation=Custom(change.tag), payload=change.payload)
    meta, texts = recall(change.meta, TextsOriginal)
    return FileChange(
        change.path,
        None if texts is None else texts.old,
        None if texts is None else texts.new,
        Custom(str(type(change).__struct_config__.tag)),
        change.old_path if isinstance(change, v2.DiffPathPairChange) else None,
        or_none(change.file_type),
        or_none(change.mime_type),
        meta,
    )


# --- permission


def encode_permission(request: RequestPermission) -> v2.RequestPermissionRequest:
    """May the agent do this? There is one subject: a tool call stands before a command, a command before others.

    Raises:
        LocalProtocolError: There is nothing to choose (v2 rule 71).
    """
    if not request.options:
        raise LocalProtocolError("v2 has no questions without options", field="options", expected="at least one option")
    return v2.RequestPermissionRequest(
        request.session_id,
        _encode_title(request),
        encode_options(v2, request.options),
        or_unset(request.description),
        _encode_subject(request),
        request.meta or UNSET,
    )


def _encode_title(request: RequestPermission) -> str:
    tool_title = request.tool.title if request.tool is not None else None
    return request.title or tool_title or (request.command.command if request.command is not None else "") or UNTITLED


def _encode_subject(request: RequestPermission) -> Omittable[v2.RequestPermissionSubject]:
    if request.tool is not None:
        # This module does not know whether the client has the call. If not, a cleared field has its default anyway.
        fields = encode_tool(request.tool, known=True, items=ITEMS if request.originals else PATCHES)
        return v2.ToolCallPermissionSubject(v2.ToolCallUpdate(request.tool.id, **fields))
    if request.command is not None:
        command = request.command
        return v2.CommandPermissionSubject(
            command.command,
            command.cwd,
            or_unset(command.tool_id),
            or_unset(command.terminal_id),
            command.meta or UNSET,
        )
    return UNSET if request.other is None else Unknown(str(request.other.get("type")), request.other)


def decode_permission(params: v2.RequestPermissionRequest) -> RequestPermission:
    """May the agent do this?"""
    request = RequestPermission(
        params.session_id,
        decode_options(params.options),
        params.title,
        or_none(params.description),
        meta=params.meta or None,
    )
    match params.subject:
        case v2.ToolCallPermissionSubject() as subject:
            request.tool = decode_tool(subject.tool_call)
            request.meta = _joined(subject.meta, params.meta)
        case v2.CommandPermissionSubject() as subject:
            tool_id, terminal_id = or_none(subject.tool_call_id), or_none(subject.terminal_id)
            request.command = CommandSubject(subject.command, subject.cwd, tool_id, terminal_id, subject.meta or None)
        case Unknown() as subject:
            request.other = subject.payload
        case _:
            pass
    return request


def encode_given(answer: PermissionGiven) -> v2.RequestPermissionResponse:
    """The choice; none is `cancelled`."""
    result: v2.RequestPermissionResponse = encode_outcome(v2, answer)
    return result


def decode_given(result: v2.RequestPermissionResponse, request: RequestPermission) -> PermissionGiven:
    """The choice. v2 rule 75: only an offered option can approve; no other id or outcome does."""
    outcome = result.outcome
    if isinstance(outcome, Unknown):
        return PermissionGiven(None, result.meta or None)
    offered = {option.id for option in request.options}
    chosen = outcome.option_id if isinstance(outcome, v2.SelectedPermissionOutcome) else None
    return PermissionGiven(chosen if chosen in offered else None, _joined(outcome.meta, result.meta))


def _joined(inner: Maybe[Meta], outer: Maybe[Meta]) -> Meta | None:
    """The metadata of a part that the core does not hold separately goes to the whole."""
    return {**(inner or {}), **(outer or {})} or None
