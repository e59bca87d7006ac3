"""Prompts, cancelling and settings in v2: a prompt is answered as soon as it has its place, values have types."""

from accord.errors import InvalidParams, LocalProtocolError
from accord.protocol import v2
from accord.protocol.model import UNSET
from accord.session.ask import Cancel, CancelTerminal, CancelTool, OptionsSet, Prompt, PromptAnswered, SetOption
from accord.session.dialect_v2.content import blocks_in, blocks_out
from accord.session.dialect_v2.option import options_in, options_out
from accord.session.presence import told

__all__ = [
    "cancel_in",
    "cancel_out",
    "cancel_terminal_in",
    "cancel_terminal_out",
    "cancel_tool_in",
    "cancel_tool_out",
    "options_set_in",
    "options_set_out",
    "prompt_in",
    "prompt_out",
    "prompted_in",
    "prompted_out",
    "set_option_in",
    "set_option_out",
]


# ── prompts ──


def prompt_out(ask: Prompt) -> v2.PromptRequest:
    """What the user says.

    Raises:
        LocalProtocolError: It is nothing (v2 rule 33).
    """
    if not ask.content:
        raise LocalProtocolError("v2 has no empty prompts", field="prompt", expected="at least one block")
    return v2.PromptRequest(ask.session_id, blocks_out(ask.content), ask.meta or UNSET)


def prompt_in(params: v2.PromptRequest) -> Prompt:
    """What the user says; which kinds of blocks are taken, the agent knows."""
    return Prompt(params.session_id, blocks_in(params.prompt), params.meta or None)


def prompted_out(answer: PromptAnswered) -> v2.PromptResponse:
    """The message has its place; how the turn ends is told as a state.

    Raises:
        LocalProtocolError: The message has no id.
    """
    if answer.message_id is None:
        raise LocalProtocolError("v2 answers a prompt with the id of its message", field="messageId", expected="an id")
    return v2.PromptResponse(answer.message_id, answer.meta or UNSET)


def prompted_in(result: v2.PromptResponse, _: Prompt) -> PromptAnswered:
    """The message has its place. An agent of August does not say which one it is."""
    return PromptAnswered(message_id=told(result.message_id), meta=result.meta or None)


def cancel_out(ask: Cancel) -> v2.CancelSessionNotification:
    """Stop the session's work."""
    return v2.CancelSessionNotification(ask.session_id, ask.meta or UNSET)


def cancel_in(params: v2.CancelSessionNotification) -> Cancel:
    """Stop the session's work."""
    return Cancel(params.session_id, params.meta or None)


def cancel_tool_out(ask: CancelTool) -> v2.CancelToolCallRequest:
    """Stop one tool call."""
    return v2.CancelToolCallRequest(ask.session_id, ask.tool_id, ask.meta or UNSET)


def cancel_tool_in(params: v2.CancelToolCallRequest) -> CancelTool:
    """Stop one tool call."""
    return CancelTool(params.session_id, params.tool_call_id, params.meta or None)


def cancel_terminal_out(ask: CancelTerminal) -> v2.CancelTerminalRequest:
    """Stop one terminal."""
    return v2.CancelTerminalRequest(ask.session_id, ask.terminal_id, ask.meta or UNSET)


def cancel_terminal_in(params: v2.CancelTerminalRequest) -> CancelTerminal:
    """Stop one terminal."""
    return CancelTerminal(params.session_id, params.terminal_id, params.meta or None)


# ── settings ──


def set_option_out(ask: SetOption) -> v2.SetSessionConfigOptionRequest:
    """Another value, with its type."""
    kind = "boolean" if isinstance(ask.value, bool) else "id"
    return v2.SetSessionConfigOptionRequest(ask.session_id, ask.option, kind, ask.value, ask.meta or UNSET)


def set_option_in(params: v2.SetSessionConfigOptionRequest) -> SetOption:
    """Another value.

    Raises:
        InvalidParams: It is of a type that this edition does not name (v2 rule 82).
    """
    # What the value of a named type is, the decoder has seen to.
    if params.type not in {"id", "boolean"}:
        raise InvalidParams(data={"field": "type", "expected": "id or boolean"})
    return SetOption(params.session_id, params.config_id, params.value, params.meta or None)


def options_set_out(answer: OptionsSet) -> v2.SetSessionConfigOptionResponse:
    """All options."""
    return v2.SetSessionConfigOptionResponse(options_out(answer.options), answer.meta or UNSET)


def options_set_in(result: v2.SetSessionConfigOptionResponse, _: SetOption) -> OptionsSet:
    """All options."""
    return OptionsSet(options_in(result.config_options), result.meta or None)
