"""Permission questions in v1, which are about tool calls and nothing else: a command or a bare question becomes one.

The question's title stands in the tool call's place, and its description at the end of what the call shows; to tell the
call as it was again afterwards is the agent's business. A description is left out where the call's content is not part
of the question: alone it would replace all that the user should look at before answering.
"""

import hashlib

import msgspec

from accord.protocol import v1
from accord.protocol.model import UNSET, UnsetType
from accord.session.ask import AskPermission, CommandSubject, PermissionGiven
from accord.session.board import Board
from accord.session.content import Part, Text
from accord.session.dialect_v1.tool import tool_in, tool_out
from accord.session.event import ToolChanged
from accord.session.option import PermissionOption
from accord.session.original import keep, recall
from accord.session.presence import given
from accord.session.tool import Shown, ToolContent

__all__ = ["given_in", "given_out", "permission_in", "permission_out"]

KINDS = frozenset({"allow_once", "allow_always", "reject_once", "reject_always"})
UNTITLED = "Permission required"
DIGEST_CHARACTERS = 12


class KindOriginal(Part):
    """A kind of option that v1 does not name."""

    kind: str


def permission_out(ask: AskPermission) -> v1.RequestPermissionRequest:
    """The question."""
    return v1.RequestPermissionRequest(
        ask.session_id, _call_out(_subject(ask)), [_option_out(option) for option in ask.options], ask.meta or UNSET
    )


def _subject(ask: AskPermission) -> ToolChanged:
    if ask.tool is not None:
        return _tool(ask, ask.tool)
    if ask.command is not None:
        return _command(ask, ask.command)
    title = ask.title or UNTITLED
    return ToolChanged(
        _name("question", title),
        title,
        "other",
        content=_description(ask),
        raw_input=given(ask.other),
        created=True,
    )


def stand_in(ask: AskPermission) -> ToolChanged | None:
    """The tool call that was made for a question about none."""
    if ask.tool is not None or (ask.command is not None and ask.command.tool_id is not None):
        return None
    made = _subject(ask)
    return ToolChanged(made.id, title=made.title, kind=made.kind)


def _tool(ask: AskPermission, tool: ToolChanged) -> ToolChanged:
    if ask.title is not None:
        tool = msgspec.structs.replace(tool, title=ask.title)
    description = _description(ask)
    if description and (tool.created or tool.content is not UNSET):
        tool = msgspec.structs.replace(tool, content=[*(tool.content or []), *description])
    return tool


def _command(ask: AskPermission, command: CommandSubject) -> ToolChanged:
    known = command.tool_id is not None
    return ToolChanged(
        command.tool_id or _name("command", command.command, command.cwd),
        ask.title or command.command,
        "execute",
        content=UNSET if known else _description(ask),
        raw_input={"command": command.command, "cwd": command.cwd},
        created=not known,
        meta=given(command.meta),
    )


def _description(ask: AskPermission) -> list[ToolContent] | UnsetType:
    return [Shown(Text(ask.description))] if ask.description else UNSET


def _name(stem: str, *parts: str) -> str:
    # The same question has the same name, wherever and whenever it is asked.
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass"))
    return f"{stem}-{digest.hexdigest()[:DIGEST_CHARACTERS]}"


def _call_out(tool: ToolChanged) -> v1.ToolCallUpdate:
    board = Board()
    if not tool.created:
        # Of a call that was reported before, only what is new is said.
        board.change(ToolChanged(tool.id))
    return v1.ToolCallUpdate(tool.id, **tool_out(tool, board))


def permission_in(params: v1.RequestPermissionRequest) -> AskPermission:
    """The question."""
    options = [_option_in(option) for option in params.options]
    return AskPermission(params.session_id, options, tool=tool_in(params.tool_call), meta=params.meta or None)


def _option_out(option: PermissionOption) -> v1.PermissionOption:
    if option.kind in KINDS:
        return v1.PermissionOption(option.id, option.name, option.kind, option.meta or UNSET)
    # Safe with clients that approve by kind: what they do not understand does not approve of anything.
    return v1.PermissionOption(option.id, option.name, "reject_once", keep(option.meta, KindOriginal(option.kind)))


def _option_in(option: v1.PermissionOption) -> PermissionOption:
    meta, original = recall(option.meta, KindOriginal)
    return PermissionOption(option.option_id, option.name, original.kind if original else option.kind, meta)


def given_out(answer: PermissionGiven) -> v1.RequestPermissionResponse:
    """The answer."""
    outcome = v1.CancelledPermissionOutcome() if answer.option is None else v1.SelectedPermissionOutcome(answer.option)
    return v1.RequestPermissionResponse(outcome, answer.meta or UNSET)


def given_in(result: v1.RequestPermissionResponse, _: object) -> PermissionGiven:
    """The answer; whatever names no option approves of nothing."""
    outcome = result.outcome
    chosen = outcome.option_id if isinstance(outcome, v1.SelectedPermissionOutcome) else None
    return PermissionGiven(chosen, result.meta or None)
