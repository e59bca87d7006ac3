"""Every request of v2, bound to its method: a prompt is answered once it is inserted, one call reopens a session."""

from typing import Any

from accord.errors import InvalidParams, LocalProtocolError
from accord.protocol import v2
from accord.protocol.model import UNSET, Unknown
from accord.protocol.v2 import draft
from accord.session.agent_requests import RequestPermission
from accord.session.client_requests import (
    Cancel,
    CancelTerminal,
    CancelTool,
    CloseSession,
    DeleteSession,
    Initialize,
    OptionsSet,
    Prompt,
    PromptAnswered,
    ReopenSession,
    SessionOpened,
    SetOption,
)
from accord.session.dialect import Binding
from accord.session.editions.shared.bindings import SESSION, bind, decoder, encoder, login_bindings, names
from accord.session.editions.shared.elicitation import ElicitationCodec
from accord.session.editions.shared.sessions import SessionCodec
from accord.session.editions.v2 import handshake, tools
from accord.session.editions.v2.tools import BLOCKS, OPTIONS
from accord.session.unset import or_none

__all__ = ["AGENT", "CLIENT", "DRAFTS", "ELICITATION", "decode_cancel", "encode_cancel"]

ELICITATION = ElicitationCodec(v2)

encode_cancel = encoder(v2.CancelSessionNotification, SESSION)
decode_cancel = decoder(Cancel, SESSION)


# --- prompts


def _encode_prompt(request: Prompt) -> v2.PromptRequest:
    """The user's message.

    Raises:
        LocalProtocolError: It is empty (v2 rule 33).
    """
    if not request.content:
        raise LocalProtocolError("v2 has no empty prompts", field="prompt", expected="at least one block")
    return v2.PromptRequest(request.session_id, BLOCKS.encode_all(request.content), request.meta or UNSET)


def _decode_prompt(params: v2.PromptRequest) -> Prompt:
    return Prompt(params.session_id, BLOCKS.decode_all(params.prompt), params.meta or None)


def _encode_answered(answer: PromptAnswered) -> v2.PromptResponse:
    """The message is inserted; the end of the turn is sent as a state.

    Raises:
        LocalProtocolError: The message has no id.
    """
    if answer.message_id is None:
        raise LocalProtocolError("v2 answers a prompt with the id of its message", field="messageId", expected="an id")
    return v2.PromptResponse(answer.message_id, answer.meta or UNSET)


def _decode_answered(result: v2.PromptResponse, _: Prompt) -> PromptAnswered:
    # An agent of August does not say which message it is.
    return PromptAnswered(message_id=or_none(result.message_id), meta=result.meta or None)


# --- settings


def _encode_option(request: SetOption) -> v2.SetSessionConfigOptionRequest:
    kind = "boolean" if isinstance(request.value, bool) else "id"
    return v2.SetSessionConfigOptionRequest(
        request.session_id, request.option, kind, request.value, request.meta or UNSET
    )


def _decode_option(params: v2.SetSessionConfigOptionRequest) -> SetOption:
    """Another value.

    Raises:
        InvalidParams: It is of a type that v2 does not name (v2 rule 82).
    """
    # The decoder has checked the value of a named type.
    if params.type not in {"id", "boolean"}:
        raise InvalidParams(data={"field": "type", "expected": "id or boolean"})
    return SetOption(params.session_id, params.config_id, params.value, params.meta or None)


def _encode_options_set(answer: OptionsSet) -> v2.SetSessionConfigOptionResponse:
    return v2.SetSessionConfigOptionResponse(OPTIONS.encode(answer.options), answer.meta or UNSET)


def _decode_options_set(result: v2.SetSessionConfigOptionResponse, _: SetOption) -> OptionsSet:
    return OptionsSet(OPTIONS.decode(result.config_options), result.meta or None)


# --- sessions


class _Sessions(SessionCodec):
    """Sessions that one call reopens, with a cursor where their conversation is to be replayed."""

    def bindings(self) -> tuple[Binding, ...]:
        return (
            self._bind_new(),
            Binding(
                ReopenSession,
                v2.SESSION_RESUME,
                self.decode_resume,
                self.encode_resume,
                self.encode_resumed,
                self.decode_reopened,
            ),
            self._bind_list(),
            bind(CloseSession, v2.SESSION_CLOSE, SESSION),
            bind(DeleteSession, v2.SESSION_DELETE, SESSION, needs="delete"),
        )

    def encode_resume(self, request: ReopenSession) -> v2.ResumeSessionRequest:
        start = v2.ReplayFromStart() if request.replay else UNSET
        return v2.ResumeSessionRequest(session_id=request.session_id, replay_from=start, **self.encode_place(request))

    def decode_resume(self, params: v2.ResumeSessionRequest) -> ReopenSession:
        """A session from before.

        Raises:
            InvalidParams: The replay should begin at a point that v2 does not name.
        """
        # v2 rule 27: never a silent substitute.
        if isinstance(params.replay_from, Unknown):
            raise InvalidParams(data={"field": "replayFrom.type", "expected": "start"})
        replay = or_none(params.replay_from) is not None
        return ReopenSession(params.session_id, replay=replay, **self.decode_place(params))

    def opened_fields(self, answer: SessionOpened) -> dict[str, Any]:
        commands = OPTIONS.encode_commands(answer.commands) or UNSET
        return {**super().opened_fields(answer), "available_commands": commands}

    def decode_session(self, session_id: str, result: Any) -> SessionOpened:
        opened = super().decode_session(session_id, result)
        opened.commands = OPTIONS.decode_commands(result.available_commands or [])
        return opened


_SESSIONS = _Sessions(v2, OPTIONS)


# --- the tables

AGENT = (
    Binding(
        Initialize,
        v2.INITIALIZE,
        handshake.decode_initialize,
        handshake.encode_initialize,
        handshake.encode_initialized,
        handshake.decode_initialized,
    ),
    *login_bindings(v2.AUTH_LOGIN, v2.AUTH_LOGOUT),
    *_SESSIONS.bindings(),
    Binding(Prompt, v2.SESSION_PROMPT, _decode_prompt, _encode_prompt, _encode_answered, _decode_answered),
    Binding(
        SetOption,
        v2.SESSION_SET_CONFIG_OPTION,
        _decode_option,
        _encode_option,
        _encode_options_set,
        _decode_options_set,
    ),
    bind(CancelTool, v2.TOOL_CALL_CANCEL, names("session_id", tool_id="tool_call_id")),
    bind(CancelTerminal, v2.TERMINAL_CANCEL, names("session_id", "terminal_id")),
)

DRAFTS = (_SESSIONS.bind_fork(draft.SESSION_FORK),)

CLIENT = (
    Binding(
        RequestPermission,
        v2.SESSION_REQUEST_PERMISSION,
        tools.decode_permission,
        tools.encode_permission,
        tools.encode_given,
        tools.decode_given,
    ),
    *ELICITATION.bindings(),
)
