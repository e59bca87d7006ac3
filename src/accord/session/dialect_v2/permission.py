"""Permission in v2: a question with a title, about a tool call, a command, or nothing that has a name."""

from accord.errors import LocalProtocolError
from accord.protocol import v2
from accord.protocol.model import UNSET, Maybe, Omittable, Unknown
from accord.session.ask import AskPermission, CommandSubject, PermissionGiven
from accord.session.dialect_v2.tool import tool_in, tool_out
from accord.session.event import Meta
from accord.session.option import PermissionOption
from accord.session.presence import given, told

__all__ = ["permission_in", "permission_out", "permitted_in", "permitted_out"]

BARE_TITLE = "Permission required"


def permission_out(ask: AskPermission) -> v2.RequestPermissionRequest:
    """May the agent do this? There is one subject: a tool call stands before a command, a command before others.

    Raises:
        LocalProtocolError: There is nothing to choose (v2 rule 71).
    """
    if not ask.options:
        raise LocalProtocolError("v2 has no questions without options", field="options", expected="at least one option")
    return v2.RequestPermissionRequest(
        ask.session_id,
        _title_out(ask),
        [v2.PermissionOption(option.id, option.name, option.kind, option.meta or UNSET) for option in ask.options],
        given(ask.description),
        _subject_out(ask),
        ask.meta or UNSET,
    )


def _title_out(ask: AskPermission) -> str:
    tool_title = ask.tool.title if ask.tool is not None else None
    return ask.title or tool_title or (ask.command.command if ask.command is not None else "") or BARE_TITLE


def _subject_out(ask: AskPermission) -> Omittable[v2.RequestPermissionSubject]:
    if ask.tool is not None:
        # Whether the client knows the call is not known here. If it does not, what is cleared has its default anyway.
        return v2.ToolCallPermissionSubject(v2.ToolCallUpdate(ask.tool.id, **tool_out(ask.tool, known=True)))
    if ask.command is not None:
        command = ask.command
        return v2.CommandPermissionSubject(
            command.command,
            command.cwd,
            given(command.tool_id),
            given(command.terminal_id),
            command.meta or UNSET,
        )
    return UNSET if ask.other is None else Unknown(str(ask.other.get("type")), ask.other)


def permission_in(params: v2.RequestPermissionRequest) -> AskPermission:
    """May the agent do this?"""
    ask = AskPermission(
        params.session_id,
        [
            PermissionOption(option.option_id, option.name, option.kind, option.meta or None)
            for option in params.options
        ],
        params.title,
        told(params.description),
        meta=params.meta or None,
    )
    match params.subject:
        case v2.ToolCallPermissionSubject() as subject:
            ask.tool = tool_in(subject.tool_call)
            ask.meta = _joined(subject.meta, params.meta)
        case v2.CommandPermissionSubject() as subject:
            tool_id, terminal_id = told(subject.tool_call_id), told(subject.terminal_id)
            ask.command = CommandSubject(subject.command, subject.cwd, tool_id, terminal_id, subject.meta or None)
        case Unknown() as subject:
            ask.other = subject.payload
        case _:
            pass
    return ask


def permitted_out(answer: PermissionGiven) -> v2.RequestPermissionResponse:
    """The choice; none is `cancelled`."""
    outcome: v2.RequestPermissionOutcome = (
        v2.CancelledPermissionOutcome() if answer.option is None else v2.SelectedPermissionOutcome(answer.option)
    )
    return v2.RequestPermissionResponse(outcome, answer.meta or UNSET)


def permitted_in(result: v2.RequestPermissionResponse, ask: AskPermission) -> PermissionGiven:
    """The choice. v2 rule 75: what was not offered approves of nothing, and no other outcome does."""
    outcome = result.outcome
    if isinstance(outcome, Unknown):
        return PermissionGiven(None, result.meta or None)
    offered = {option.id for option in ask.options}
    chosen = outcome.option_id if isinstance(outcome, v2.SelectedPermissionOutcome) else None
    return PermissionGiven(chosen if chosen in offered else None, _joined(outcome.meta, result.meta))


def _joined(inner: Maybe[Meta], outer: Maybe[Meta]) -> Meta | None:
    """What stood at a part that the core does not have apart goes with the whole."""
    return {**(inner or {}), **(outer or {})} or None
