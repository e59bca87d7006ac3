"""Every request of the June draft, bound to its method: turns as in v1, selects alone, permission for tool calls."""

import msgspec

from accord.errors import LocalProtocolError
from accord.protocol import v2_june
from accord.protocol.model import UNSET
from accord.session.agent_requests import PermissionGiven, RequestPermission
from accord.session.client_requests import Cancel, Initialize, OptionsSet, Prompt, PromptAnswered, SetOption
from accord.session.dialect import Binding
from accord.session.editions.shared.bindings import SESSION, decoder, encoder, login_bindings, names
from accord.session.editions.shared.sessions import SessionCodec
from accord.session.editions.shared.tools import (
    command_call,
    decode_options,
    decode_outcome,
    description_items,
    encode_options,
    encode_outcome,
    needs_stand_in,
    question_call,
)
from accord.session.editions.v2_june import handshake
from accord.session.editions.v2_june.tools import BLOCKS, OPTIONS, decode_tool, encode_tool
from accord.session.event import ToolChanged
from accord.session.meta_original import EndOriginal, keep, recall
from accord.session.tool import TerminalView
from accord.session.tool_state import ToolStates

__all__ = ["AGENT", "CLIENT", "decode_cancel", "encode_cancel", "stand_in"]

OPTION = names("session_id", "value", option="config_id")

encode_cancel = encoder(v2_june.CancelNotification, SESSION)
decode_cancel = decoder(Cancel, SESSION)


# --- prompts


def _encode_prompt(request: Prompt) -> v2_june.PromptRequest:
    return v2_june.PromptRequest(request.session_id, BLOCKS.encode_all(request.content), request.meta or UNSET)


def _decode_prompt(params: v2_june.PromptRequest) -> Prompt:
    return Prompt(params.session_id, BLOCKS.decode_all(params.prompt), params.meta or None)


def _encode_answered(answer: PromptAnswered) -> v2_june.PromptResponse:
    """The end of the turn; a turn that gave no reason just ended. June has no place for the token usage."""
    original = EndOriginal.of(None, answer.token_usage)
    return v2_june.PromptResponse(answer.stop_reason or "end_turn", keep(answer.meta, original) or UNSET)


def _decode_answered(result: v2_june.PromptResponse, _: Prompt) -> PromptAnswered:
    meta, original = recall(result.meta, EndOriginal)
    return PromptAnswered(result.stop_reason, meta=meta, token_usage=original.token_usage if original else None)


# --- options


def _encode_option(request: SetOption) -> v2_june.SetSessionConfigOptionRequest:
    """Another value for an option.

    Raises:
        LocalProtocolError: The value is on or off.
    """
    if isinstance(request.value, bool):
        raise LocalProtocolError(
            "v2_june has no options that are on or off", field="value", expected="one of a select's values"
        )
    return v2_june.SetSessionConfigOptionRequest(
        request.session_id, request.option, request.value, request.meta or UNSET
    )


def _encode_options_set(answer: OptionsSet) -> v2_june.SetSessionConfigOptionResponse:
    return v2_june.SetSessionConfigOptionResponse(OPTIONS.encode(answer.options), answer.meta or UNSET)


def _decode_options_set(result: v2_june.SetSessionConfigOptionResponse, _: SetOption) -> OptionsSet:
    return OptionsSet(OPTIONS.decode(result.config_options), result.meta or None)


# --- permission


def _encode_permission(request: RequestPermission) -> v2_june.RequestPermissionRequest:
    """The permission request as a tool call, which June requires for every subject."""
    call = _call_of(request)
    report = v2_june.ToolCallUpdate(call.id, **encode_tool(call, ToolStates()))
    options = encode_options(v2_june, request.options)
    return v2_june.RequestPermissionRequest(request.session_id, report, options, request.meta or UNSET)


def _call_of(request: RequestPermission) -> ToolChanged:
    call = request.tool
    if call is None:
        call = (
            question_call(request, "permission")
            if request.command is None
            else command_call(request.command, request.title)
        )
    content = call.content
    if content and any(isinstance(item, TerminalView) for item in content):
        # Only the encoder has the terminal's output: the call keeps the part that was sent.
        content = UNSET
    description = description_items(request)
    if description:
        content = [*(content or []), *description]
    return msgspec.structs.replace(call, title=request.title or call.title, content=content)


def stand_in(request: RequestPermission) -> ToolChanged | None:
    """The tool call that was made for a question about none."""
    if not needs_stand_in(request):
        return None
    made = _call_of(request)
    return ToolChanged(made.id, title=made.title, kind=made.kind)


def _decode_permission(params: v2_june.RequestPermissionRequest) -> RequestPermission:
    options, tool = decode_options(params.options), decode_tool(params.tool_call)
    return RequestPermission(params.session_id, options, tool=tool, meta=params.meta or None)


def _encode_given(answer: PermissionGiven) -> v2_june.RequestPermissionResponse:
    result: v2_june.RequestPermissionResponse = encode_outcome(v2_june, answer)
    return result


def _decode_given(result: v2_june.RequestPermissionResponse, _: RequestPermission) -> PermissionGiven:
    return decode_outcome(v2_june, result)


# --- the tables

AGENT = (
    Binding(
        Initialize,
        v2_june.INITIALIZE,
        handshake.decode_initialize,
        handshake.encode_initialize,
        handshake.encode_initialized,
        handshake.decode_initialized,
    ),
    *login_bindings(v2_june.AUTHENTICATE, v2_june.LOGOUT),
    *SessionCodec(v2_june, OPTIONS).bindings(),
    Binding(Prompt, v2_june.SESSION_PROMPT, _decode_prompt, _encode_prompt, _encode_answered, _decode_answered),
    Binding(
        SetOption,
        v2_june.SESSION_SET_CONFIG_OPTION,
        decoder(SetOption, OPTION),
        _encode_option,
        _encode_options_set,
        _decode_options_set,
    ),
)

CLIENT = (
    Binding(
        RequestPermission,
        v2_june.SESSION_REQUEST_PERMISSION,
        _decode_permission,
        _encode_permission,
        _encode_given,
        _decode_given,
    ),
)
