"""The stream of a model's answer inside of its span, for every model: the built-in one and those of providers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from accord.coder.model import AnswerEnd, Delta, Model, ModelRequest, Spent
from accord.telemetry import OperationSpan, model_span, note_tokens

__all__ = ["stream_answer"]


def stream_answer(model: Model, request: ModelRequest) -> AsyncGenerator[Delta, None]:
    """`model.stream(request)`, in a span while telemetry is on. Close it as a model's stream is closed."""
    provider, colon, name = model.name.partition(":")
    span = model_span(provider if colon else "accord", name if colon else provider)
    return _spanned(span, model, request) if span.is_recorded else model.stream(request)


async def _spanned(span: OperationSpan, model: Model, request: ModelRequest) -> AsyncGenerator[Delta, None]:
    with span:
        async with aclosing(model.stream(request)) as deltas:
            async for delta in deltas:
                if isinstance(delta, Spent):
                    note_tokens(span, delta.input_tokens, delta.output_tokens)
                elif isinstance(delta, AnswerEnd):
                    span.set("gen_ai.response.finish_reasons", [delta.reason])
                yield delta
