"""Every request of v1, bound to its method: a prompt is answered with its stop reason, a mode can be set by itself."""

from typing import Any

import msgspec

from accord.protocol import v1
from accord.protocol.model import UNSET
from accord.protocol.v1 import draft
from accord.session.agent_requests import (
    AwaitTerminal,
    FileRead,
    KillTerminal,
    ReadFile,
    ReadTerminal,
    ReleaseTerminal,
    RequestPermission,
    StartTerminal,
    TerminalEnded,
    TerminalRead,
    TerminalStarted,
    WriteFile,
)
from accord.session.client_requests import (
    Cancel,
    Initialize,
    OptionsSet,
    Prompt,
    PromptAnswered,
    SessionOpened,
    SetMode,
    SetModel,
    SetOption,
)
from accord.session.dialect import Binding
from accord.session.editions.shared.bindings import (
    SESSION,
    TokenUsageCodec,
    bind,
    decoder,
    encoder,
    login_bindings,
    names,
)
from accord.session.editions.shared.elicitation import ElicitationCodec
from accord.session.editions.shared.sessions import SessionCodec
from accord.session.editions.v1 import handshake, tools
from accord.session.editions.v1.tools import BLOCKS, OPTIONS, encode_models, encode_modes, with_older_settings
from accord.session.event import TerminalExit
from accord.session.meta_original import EndOriginal, keep, recall
from accord.session.unset import or_none, or_unset

__all__ = ["AGENT", "CLIENT", "DRAFTS", "DRAFT_AGENT", "ELICITATION", "SERVICES", "decode_cancel", "encode_cancel"]

_READ = names("session_id", "path", "line", "limit")
_START = names("session_id", "command", "args", "cwd", "output_byte_limit")
_STARTED = names("terminal_id")
_TERMINAL = names("session_id", "terminal_id")


def _decode_read(params: v1.ReadTextFileRequest) -> ReadFile:
    # v1 rule 43: the schema lets a line 0 pass, which is where the file begins.
    line = or_none(params.line) or None
    return ReadFile(params.session_id, params.path, line, or_none(params.limit), params.meta or None)


def _encode_start(request: StartTerminal) -> v1.CreateTerminalRequest:
    params: v1.CreateTerminalRequest = encoder(v1.CreateTerminalRequest, _START)(request)
    params.env = [v1.EnvVariable(name, value) for name, value in request.env]
    return params


def _decode_start(params: v1.CreateTerminalRequest) -> StartTerminal:
    request: StartTerminal = decoder(StartTerminal, _START)(params)
    request.env = [(variable.name, variable.value) for variable in params.env]
    return request


def _encode_output(answer: TerminalRead) -> v1.TerminalOutputResponse:
    ended = answer.exit
    status: Any = UNSET
    if ended is not None:
        status = v1.TerminalExitStatus(or_unset(ended.code), or_unset(ended.signal), ended.meta or UNSET)
    return v1.TerminalOutputResponse(answer.output, answer.truncated, status, answer.meta or UNSET)


def _decode_output(result: v1.TerminalOutputResponse, _: object) -> TerminalRead:
    status = result.exit_status
    ended = TerminalExit(or_none(status.exit_code), or_none(status.signal), status.meta or None) if status else None
    return TerminalRead(result.output, result.truncated, ended, result.meta or None)


def _encode_ended(answer: TerminalEnded) -> v1.WaitForTerminalExitResponse:
    # The answer is the exit, so that their metadata is one.
    meta = {**(answer.exit.meta or {}), **(answer.meta or {})}
    return v1.WaitForTerminalExitResponse(or_unset(answer.exit.code), or_unset(answer.exit.signal), meta or UNSET)


def _decode_ended(result: v1.WaitForTerminalExitResponse, _: object) -> TerminalEnded:
    return TerminalEnded(TerminalExit(or_none(result.exit_code), or_none(result.signal)), result.meta or None)


def _decode_started(result: v1.CreateTerminalResponse, _: object) -> TerminalStarted:
    return TerminalStarted(result.terminal_id, result.meta or None)


def _decode_file(result: v1.ReadTextFileResponse, _: object) -> FileRead:
    return FileRead(result.content, result.meta or None)


SERVICES = (
    Binding(
        ReadFile,
        v1.FS_READ_TEXT_FILE,
        _decode_read,
        encoder(v1.ReadTextFileRequest, _READ),
        encoder(v1.ReadTextFileResponse, names("content")),
        _decode_file,
        needs="read_files",
    ),
    bind(WriteFile, v1.FS_WRITE_TEXT_FILE, names("session_id", "path", "content"), needs="write_files"),
    Binding(
        StartTerminal,
        v1.TERMINAL_CREATE,
        _decode_start,
        _encode_start,
        encoder(v1.CreateTerminalResponse, _STARTED),
        _decode_started,
        needs="terminals",
    ),
    Binding(
        ReadTerminal,
        v1.TERMINAL_OUTPUT,
        decoder(ReadTerminal, _TERMINAL),
        encoder(v1.TerminalOutputRequest, _TERMINAL),
        _encode_output,
        _decode_output,
        needs="terminals",
    ),
    Binding(
        AwaitTerminal,
        v1.TERMINAL_WAIT_FOR_EXIT,
        decoder(AwaitTerminal, _TERMINAL),
        encoder(v1.WaitForTerminalExitRequest, _TERMINAL),
        _encode_ended,
        _decode_ended,
        needs="terminals",
    ),
    bind(KillTerminal, v1.TERMINAL_KILL, _TERMINAL, needs="terminals"),
    bind(ReleaseTerminal, v1.TERMINAL_RELEASE, _TERMINAL, needs="terminals"),
)


REASONS = frozenset({"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"})
ELICITATION = ElicitationCodec(v1)
_USAGE = TokenUsageCodec(draft)

encode_cancel = encoder(v1.CancelNotification, SESSION)
decode_cancel = decoder(Cancel, SESSION)


# --- prompts


def _encode_prompt(request: Prompt) -> v1.PromptRequest:
    return v1.PromptRequest(request.session_id, BLOCKS.encode_all(request.content), request.meta or UNSET)


def _decode_prompt(params: v1.PromptRequest) -> Prompt:
    return Prompt(params.session_id, BLOCKS.decode_all(params.prompt), params.meta or None)


def _encode_answered(answer: PromptAnswered) -> v1.PromptResponse:
    """The end of the turn; a reason that v1 does not name is written as an ordinary end, token usage not at all."""
    reason, meant = _reason(answer)
    return v1.PromptResponse(reason, keep(answer.meta, EndOriginal.of(meant, answer.token_usage)) or UNSET)


def _encode_draft_answered(answer: PromptAnswered) -> draft.PromptResponse:
    """The end of the turn in the unstable text, which has a place for the token usage."""
    reason, meant = _reason(answer)
    meta = keep(answer.meta, EndOriginal.of(meant, None))
    return draft.PromptResponse(reason, _USAGE.encode(answer.token_usage), meta or UNSET)


def _reason(answer: PromptAnswered) -> tuple[str, str | None]:
    """The stop reason as v1 writes it, and the original where that differs."""
    reason = answer.stop_reason or "end_turn"
    return (reason, None) if reason in REASONS else ("end_turn", reason)


def _decode_answered(result: v1.PromptResponse | draft.PromptResponse, _: object) -> PromptAnswered:
    meta, original = recall(result.meta, EndOriginal)
    meant = original or EndOriginal()
    usage = _USAGE.decode(result) or meant.token_usage
    return PromptAnswered(meant.stop_reason or result.stop_reason, meta=meta, token_usage=usage)


# --- settings


def _encode_option(request: SetOption) -> v1.SetSessionConfigOptionRequest:
    """Another value; only a boolean says what it is."""
    kind = "boolean" if isinstance(request.value, bool) else UNSET
    return v1.SetSessionConfigOptionRequest(
        request.session_id, request.option, request.value, kind, request.meta or UNSET
    )


def _encode_options_set(answer: OptionsSet) -> v1.SetSessionConfigOptionResponse:
    """All options; toggles that the client cannot show are the agent's to leave out."""
    return v1.SetSessionConfigOptionResponse(OPTIONS.encode(answer.options), answer.meta or UNSET)


def _decode_options_set(result: v1.SetSessionConfigOptionResponse, _: object) -> OptionsSet:
    return OptionsSet(OPTIONS.decode(result.config_options), result.meta or None)


# --- sessions


class _Sessions(SessionCodec):
    """Sessions with modes; new and loaded ones also with the models of the 2025 text."""

    def opened_fields(self, answer: SessionOpened) -> dict[str, Any]:
        return {**super().opened_fields(answer), "modes": encode_modes(answer.options)}

    def encode_opened(self, answer: SessionOpened) -> v1.NewSessionResponse:
        return v1.NewSessionResponse(answer.session_id, models=_models(answer), **self.opened_fields(answer))

    def encode_loaded(self, answer: SessionOpened) -> v1.LoadSessionResponse:
        return v1.LoadSessionResponse(models=_models(answer), **self.opened_fields(answer))

    def decode_session(self, session_id: str, result: Any) -> SessionOpened:
        opened = super().decode_session(session_id, result)
        models = getattr(result, "models", UNSET)
        opened.options = with_older_settings(opened.options, result.modes, models)
        opened.models = bool(models)
        return opened


def _models(answer: SessionOpened) -> Any:
    return encode_models(answer.options) if answer.models else UNSET


_SESSIONS = _Sessions(v1, OPTIONS)


# --- the tables

_PROMPT = Binding(Prompt, v1.SESSION_PROMPT, _decode_prompt, _encode_prompt, _encode_answered, _decode_answered)

AGENT = (
    Binding(
        Initialize,
        v1.INITIALIZE,
        handshake.decode_initialize,
        handshake.encode_initialize,
        handshake.encode_initialized,
        handshake.decode_initialized,
    ),
    *login_bindings(v1.AUTHENTICATE, v1.LOGOUT),
    *_SESSIONS.bindings(),
    _PROMPT,
    Binding(
        SetOption,
        v1.SESSION_SET_CONFIG_OPTION,
        # v1 rule 56: a type that is not known, with a string, is the id of a choice.
        decoder(SetOption, names("session_id", "value", option="config_id")),
        _encode_option,
        _encode_options_set,
        _decode_options_set,
    ),
    bind(SetMode, v1.SESSION_SET_MODE, names("session_id", mode="mode_id")),
    bind(SetModel, v1.SESSION_SET_MODEL, names("session_id", model="model_id")),
)

DRAFT_AGENT = tuple(
    msgspec.structs.replace(each, method=draft.SESSION_PROMPT, encode_result=_encode_draft_answered)
    if each is _PROMPT
    else each
    for each in AGENT
)

DRAFTS = (_SESSIONS.bind_fork(draft.SESSION_FORK),)

CLIENT = (
    Binding(
        RequestPermission,
        v1.SESSION_REQUEST_PERMISSION,
        tools.decode_permission,
        tools.encode_permission,
        tools.encode_given,
        tools.decode_given,
    ),
    *ELICITATION.bindings(),
    *SERVICES,
)
