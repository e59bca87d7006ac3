"""Prompts, options and permissions in the June draft: turns as in v1, selects alone, permission for tool calls."""

import hashlib

import msgspec

from accord.errors import LocalProtocolError
from accord.protocol import v2_june
from accord.protocol.model import UNSET
from accord.session.ask import (
    AskPermission,
    Cancel,
    CommandSubject,
    OptionsSet,
    PermissionGiven,
    Prompt,
    PromptAnswered,
    SetOption,
)
from accord.session.board import Board
from accord.session.content import Text
from accord.session.dialect_v2_june.content import blocks_in, blocks_out
from accord.session.dialect_v2_june.option import options_in, options_out
from accord.session.dialect_v2_june.tool import tool_in, tool_out
from accord.session.event import ToolChanged
from accord.session.option import PermissionOption
from accord.session.original import EndOriginal, keep, recall
from accord.session.tool import Shown, TerminalView

__all__ = [
    "answered_in",
    "answered_out",
    "cancel_in",
    "cancel_out",
    "option_in",
    "option_out",
    "options_set_in",
    "options_set_out",
    "permission_given_in",
    "permission_given_out",
    "permission_in",
    "permission_out",
    "prompt_in",
    "prompt_out",
]

NO_TITLE = "Permission required"


# ── prompts ──


def prompt_out(ask: Prompt) -> v2_june.PromptRequest:
    """What the user says."""
    return v2_june.PromptRequest(ask.session_id, blocks_out(ask.content), ask.meta or UNSET)


def prompt_in(params: v2_june.PromptRequest) -> Prompt:
    """What the user says."""
    return Prompt(params.session_id, blocks_in(params.prompt), params.meta or None)


def answered_out(answer: PromptAnswered) -> v2_june.PromptResponse:
    """The end of the turn; a turn that gave no reason just ended. June has no place for the token usage."""
    original = EndOriginal.of(None, answer.token_usage)
    return v2_june.PromptResponse(answer.stop_reason or "end_turn", keep(answer.meta, original) or UNSET)


def answered_in(result: v2_june.PromptResponse, _: Prompt) -> PromptAnswered:
    """The end of the turn."""
    meta, original = recall(result.meta, EndOriginal)
    return PromptAnswered(result.stop_reason, meta=meta, token_usage=original.token_usage if original else None)


def cancel_out(ask: Cancel) -> v2_june.CancelNotification:
    """The wish that the turn stops."""
    return v2_june.CancelNotification(ask.session_id, ask.meta or UNSET)


def cancel_in(params: v2_june.CancelNotification) -> Cancel:
    """The wish that the turn stops."""
    return Cancel(params.session_id, params.meta or None)


# ── options ──


def option_out(ask: SetOption) -> v2_june.SetSessionConfigOptionRequest:
    """Another value for an option.

    Raises:
        LocalProtocolError: The value is on or off.
    """
    if isinstance(ask.value, bool):
        raise LocalProtocolError(
            "v2_june has no options that are on or off", field="value", expected="one of a select's values"
        )
    return v2_june.SetSessionConfigOptionRequest(ask.session_id, ask.option, ask.value, ask.meta or UNSET)


def option_in(params: v2_june.SetSessionConfigOptionRequest) -> SetOption:
    """Another value for an option."""
    return SetOption(params.session_id, params.config_id, params.value, params.meta or None)


def options_set_out(answer: OptionsSet) -> v2_june.SetSessionConfigOptionResponse:
    """All options as they are now, without toggles."""
    return v2_june.SetSessionConfigOptionResponse(options_out(answer.options), answer.meta or UNSET)


def options_set_in(result: v2_june.SetSessionConfigOptionResponse, _: SetOption) -> OptionsSet:
    """All options as they are now."""
    return OptionsSet(options_in(result.config_options), result.meta or None)


# ── permissions ──


def permission_out(ask: AskPermission) -> v2_june.RequestPermissionRequest:
    """The question, put to the user as a tool call whatever it is about."""
    call = _call_of(ask)
    options = [
        v2_june.PermissionOption(option.id, option.name, option.kind, option.meta or UNSET) for option in ask.options
    ]
    return v2_june.RequestPermissionRequest(
        ask.session_id, v2_june.ToolCallUpdate(call.id, **tool_out(call, Board())), options, ask.meta or UNSET
    )


def _call_of(ask: AskPermission) -> ToolChanged:
    call = _subject_of(ask)
    content = call.content
    if content and any(isinstance(item, TerminalView) for item in content):
        # Only the voice knows what a terminal shows: the call keeps what was said of it.
        content = UNSET
    if ask.description:
        content = [*(content or []), Shown(Text(ask.description))]
    return msgspec.structs.replace(call, title=ask.title or call.title, content=content)


def stand_in(ask: AskPermission) -> ToolChanged | None:
    """The tool call that was made for a question about none."""
    if ask.tool is not None or (ask.command is not None and ask.command.tool_id is not None):
        return None
    made = _call_of(ask)
    return ToolChanged(made.id, title=made.title, kind=made.kind)


def _subject_of(ask: AskPermission) -> ToolChanged:
    if ask.tool is not None:
        return ask.tool
    if ask.command is not None:
        return _command_call(ask.command)
    # The same question always has the same id, so that asking again shows no second call.
    title = ask.title or NO_TITLE
    return ToolChanged(f"permission-{_digest(title)}", title=title, kind="other")


def _command_call(subject: CommandSubject) -> ToolChanged:
    return ToolChanged(
        subject.tool_id or f"command-{_digest(subject.command, subject.cwd)}",
        title=subject.command,
        kind="execute",
        raw_input={"command": subject.command, "cwd": subject.cwd},
        meta=subject.meta or UNSET,
    )


def _digest(*texts: str) -> str:
    # A lone surrogate is text to JavaScript peers, and so it may come this far.
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def permission_in(params: v2_june.RequestPermissionRequest) -> AskPermission:
    """The question about a tool call, whose title is the question's."""
    options = [
        PermissionOption(option.option_id, option.name, option.kind, option.meta or None) for option in params.options
    ]
    return AskPermission(params.session_id, options, tool=tool_in(params.tool_call), meta=params.meta or None)


def permission_given_out(answer: PermissionGiven) -> v2_june.RequestPermissionResponse:
    """The option that was chosen, or that none was."""
    outcome = (
        v2_june.CancelledPermissionOutcome()
        if answer.option is None
        else v2_june.SelectedPermissionOutcome(answer.option)
    )
    return v2_june.RequestPermissionResponse(outcome, answer.meta or UNSET)


def permission_given_in(result: v2_june.RequestPermissionResponse, _: AskPermission) -> PermissionGiven:
    """The option that was chosen; an outcome that is not known approves of nothing."""
    chosen = result.outcome
    option = chosen.option_id if isinstance(chosen, v2_june.SelectedPermissionOutcome) else None
    return PermissionGiven(option, result.meta or None)
