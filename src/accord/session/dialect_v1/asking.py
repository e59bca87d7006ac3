"""Prompts and settings in v1: a prompt is answered with its stop reason, a mode can be set by itself."""

from accord.protocol import v1
from accord.protocol.model import UNSET
from accord.protocol.v1 import draft
from accord.session.ask import Cancel, OptionsSet, Prompt, PromptAnswered, SetMode, SetModel, SetOption
from accord.session.dialect_v1.content import blocks_in, blocks_out
from accord.session.dialect_v1.option import options_in, options_out
from accord.session.event import TokenUsage
from accord.session.original import EndOriginal, keep, recall
from accord.session.presence import given, mapped, told

__all__ = [
    "answered_in",
    "answered_out",
    "cancel_in",
    "cancel_out",
    "draft_answered_out",
    "mode_in",
    "mode_out",
    "model_in",
    "model_out",
    "option_in",
    "option_out",
    "options_set_in",
    "options_set_out",
    "prompt_in",
    "prompt_out",
]

REASONS = frozenset({"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"})


# --- prompts


def prompt_out(ask: Prompt) -> v1.PromptRequest:
    """What the user says."""
    return v1.PromptRequest(ask.session_id, blocks_out(ask.content), ask.meta or UNSET)


def prompt_in(params: v1.PromptRequest) -> Prompt:
    """What the user says."""
    return Prompt(params.session_id, blocks_in(params.prompt), params.meta or None)


def answered_out(answer: PromptAnswered) -> v1.PromptResponse:
    """The end of the turn; a reason that v1 does not name is said as an ordinary end, token usage not at all."""
    reason, meant = _reason(answer)
    return v1.PromptResponse(reason, keep(answer.meta, EndOriginal.of(meant, answer.token_usage)) or UNSET)


def draft_answered_out(answer: PromptAnswered) -> draft.PromptResponse:
    """The end of the turn, in the unstable text, which has a place for the token usage."""
    reason, meant = _reason(answer)
    meta = keep(answer.meta, EndOriginal.of(meant, None))
    return draft.PromptResponse(reason, mapped(_usage_out, given(answer.token_usage)), meta or UNSET)


def _reason(answer: PromptAnswered) -> tuple[str, str | None]:
    """The stop reason as v1 says it, and the one that was meant where that is another."""
    reason = answer.stop_reason or "end_turn"
    return (reason, None) if reason in REASONS else ("end_turn", reason)


def answered_in(result: v1.PromptResponse | draft.PromptResponse, _: object) -> PromptAnswered:
    """The end of the turn; only the unstable text's answer has a place for the token usage."""
    meta, original = recall(result.meta, EndOriginal)
    meant = original or EndOriginal()
    usage = told(mapped(_usage_in, result.usage)) if isinstance(result, draft.PromptResponse) else None
    return PromptAnswered(meant.stop_reason or result.stop_reason, meta=meta, token_usage=usage or meant.token_usage)


def _usage_out(usage: TokenUsage) -> draft.Usage:
    return draft.Usage(
        usage.total_tokens,
        usage.input_tokens,
        usage.output_tokens,
        given(usage.thought_tokens),
        given(usage.cached_read_tokens),
        given(usage.cached_write_tokens),
        usage.meta or UNSET,
    )


def _usage_in(usage: draft.Usage) -> TokenUsage:
    return TokenUsage(
        usage.input_tokens,
        usage.output_tokens,
        usage.total_tokens,
        told(usage.thought_tokens),
        told(usage.cached_read_tokens),
        told(usage.cached_write_tokens),
        usage.meta or None,
    )


def cancel_out(ask: Cancel) -> v1.CancelNotification:
    """Stop the turn."""
    return v1.CancelNotification(ask.session_id, ask.meta or UNSET)


def cancel_in(params: v1.CancelNotification) -> Cancel:
    """Stop the turn."""
    return Cancel(params.session_id, params.meta or None)


# --- settings


def option_out(ask: SetOption) -> v1.SetSessionConfigOptionRequest:
    """Another value; only a boolean says what it is."""
    kind = "boolean" if isinstance(ask.value, bool) else UNSET
    return v1.SetSessionConfigOptionRequest(ask.session_id, ask.option, ask.value, kind, ask.meta or UNSET)


def option_in(params: v1.SetSessionConfigOptionRequest) -> SetOption:
    """Another value; v1 rule 56: a type that nobody knows, with a string, is the id of a choice."""
    return SetOption(params.session_id, params.config_id, params.value, params.meta or None)


def options_set_out(answer: OptionsSet) -> v1.SetSessionConfigOptionResponse:
    """All options; toggles that the client cannot show are the agent's to leave out."""
    return v1.SetSessionConfigOptionResponse(options_out(answer.options, toggles=True), answer.meta or UNSET)


def options_set_in(result: v1.SetSessionConfigOptionResponse, _: object) -> OptionsSet:
    """All options."""
    return OptionsSet(options_in(result.config_options), result.meta or None)


def mode_out(ask: SetMode) -> v1.SetSessionModeRequest:
    """Another mode."""
    return v1.SetSessionModeRequest(ask.session_id, ask.mode, ask.meta or UNSET)


def mode_in(params: v1.SetSessionModeRequest) -> SetMode:
    """Another mode."""
    return SetMode(params.session_id, params.mode_id, params.meta or None)


def model_out(ask: SetModel) -> v1.SetSessionModelRequest:
    """Another model, as the 2025 text asks for it."""
    return v1.SetSessionModelRequest(ask.model, ask.session_id, ask.meta or UNSET)


def model_in(params: v1.SetSessionModelRequest) -> SetModel:
    """Another model."""
    return SetModel(params.session_id, params.model_id, params.meta or None)
