"""The one module that knows pydantic-ai: our messages in its types, its stream and its errors in ours."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, cast

from pydantic import ValidationError
from pydantic_ai import exceptions
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest as WireRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model as WireModel, ModelRequestParameters, infer_model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition as WireTool

from accord.coder.model import (
    DEFAULT_EFFORT,
    AnswerEnd,
    Delta,
    Message,
    ModelBroken,
    ModelBusy,
    ModelError,
    ModelFull,
    ModelLocked,
    ModelMissing,
    ModelRefused,
    ModelReply,
    ModelRequest,
    ModelUnreachable,
    Picture,
    Spent,
    TextDelta,
    ThoughtDelta,
    ToolResult,
    ToolResults,
    ToolUse,
    UserMessage,
)
from accord.display import whole

# A model may think for minutes, but not be silent for longer than this.
SILENCE_SECONDS = 300.0


class Gateway:
    """One model at its provider. Retries are not made here.

    Raises:
        ModelError: There is no such model, or its package or key is missing.
    """

    def __init__(self, name: str, base_url: str | None, api_key: str | None) -> None:
        self._name = name
        self._model = _open(name, base_url, api_key)
        self._is_compatible = base_url is not None
        self.context_tokens = self._model.context_window
        # These providers name the reason of every end: without one the connection was cut, which may look like an end.
        kinds = {each.__name__ for each in type(self._model).__mro__}
        self._names_its_end = not kinds.isdisjoint({"OpenAIChatModel", "AnthropicModel"})

    async def enter(self) -> None:
        """Allow connections from now on."""
        await self._model.__aenter__()

    async def leave(self) -> None:
        """Close the connections, if no other request has entered."""
        await self._model.__aexit__(None, None, None)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """The answer. Closing this closes the connection that it comes from."""
        settings = self._settings(request.effort)
        parameters = ModelRequestParameters(
            function_tools=[
                WireTool(name=tool.name, description=tool.description, parameters_json_schema=tool.schema)
                for tool in request.tools
            ]
        )
        messages = _wire_messages(request, self._name)
        with _translated_errors(self._name):
            async with model_request_stream(
                self._model, messages, model_settings=settings, model_request_parameters=parameters
            ) as stream:
                async for event in stream:
                    delta = _delta(event)
                    if delta is not None:
                        yield delta
                response = stream.get()
        for delta in _end(response, names_its_end=self._names_its_end):
            yield delta

    def _settings(self, effort: str) -> ModelSettings:
        settings: dict[str, Any] = {"max_retries": 0, "timeout": SILENCE_SECONDS}
        if effort != DEFAULT_EFFORT:
            settings["thinking"] = False if effort == "off" else effort
            if self._is_compatible:
                # The features of a service's own models are not known, so that `thinking` would be dropped for them.
                settings["openai_reasoning_effort"] = "none" if effort == "off" else effort
        return cast("ModelSettings", settings)


# --- opening


def _open(name: str, base_url: str | None, api_key: str | None) -> WireModel[Any]:
    try:
        return infer_model(name) if base_url is None else _compatible(name, base_url, api_key)
    except ImportError as error:
        raise ModelMissing(f"The model {name} needs a package that is missing: {error}") from error
    except (exceptions.UserError, ValueError) as error:
        text = str(error).partition(". ")[0]
        if "environment variable" in text or "API key" in text or "api_key" in text:
            raise ModelLocked(f"The model {name} needs a key: {text.partition(' or pass')[0]}") from error
        raise ModelMissing(f"There is no model {name}: {text}") from error


def _compatible(name: str, base_url: str, api_key: str | None) -> WireModel[Any]:
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - needs a package of its own
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider  # noqa: PLC0415

    _, colon, model = name.partition(":")
    # The name before the colon has no meaning here; names of open models may have a colon, but no provider before it.
    provider = OpenAICompatibleProvider("compatible", base_url=base_url, api_key=api_key)
    return OpenAIChatModel(model if colon else name, provider=provider)


# --- our messages in its types


def _wire_messages(request: ModelRequest, name: str) -> list[ModelMessage]:
    # A lone surrogate has no form in UTF-8: one in the history would make every later request fail.
    messages: list[ModelMessage] = []
    for message in request.messages:
        messages += _wire_message(message, name)
    last = messages[-1] if messages else None
    if isinstance(last, WireRequest):
        last.instructions = request.system
    return messages


def _wire_message(message: Message, name: str) -> list[ModelMessage]:
    match message:
        case UserMessage():
            text = whole(message.whole)
            content: str | list[Any] = text
            if message.pictures:
                content = [text, *_binary(message.pictures)]
            return [WireRequest(parts=[UserPromptPart(content=content)])]
        case ModelReply():
            response = _wire_reply(message, name)
            # Providers refuse an assistant that says nothing.
            return [response] if response.parts else []
        case ToolResults():
            return [WireRequest(parts=[_wire_result(result) for result in message.results])]


def _wire_reply(reply: ModelReply, name: str) -> ModelResponse:
    broken = any(call.broken is not None for call in reply.calls)
    if reply.raw is not None and reply.model == name and not broken:
        # Signatures of thoughts and the like, which a provider wants to see again.
        with suppress(ValidationError):
            (response,) = ModelMessagesTypeAdapter.validate_python([reply.raw])
            if isinstance(response, ModelResponse):
                # Models write blank text before a call, and Anthropic's refuse it in the history.
                response.parts = [part for part in response.parts if not _is_blank(part)]
                return response
    parts: list[TextPart | ToolCallPart] = [TextPart(whole(reply.text))] if reply.text.strip() else []
    parts += [ToolCallPart(call.name, _arguments(call), call.id) for call in reply.calls]
    return ModelResponse(parts=parts)


def _is_blank(part: Any) -> bool:
    return isinstance(part, TextPart) and not part.content.strip()


def _arguments(call: ToolUse) -> dict[str, Any]:
    """The arguments of a call as an object: providers refuse a history with anything else."""
    return call.arguments if call.broken is None else {"no_json_object": whole(call.broken)}


def _wire_result(result: ToolResult) -> ToolReturnPart:
    text = whole(result.text)
    content: Any = [text, *_binary(result.pictures)] if result.pictures else text
    return ToolReturnPart(result.name, content, result.call_id, outcome="failed" if result.failed else "success")


def _binary(pictures: Sequence[Picture]) -> list[BinaryContent]:
    return [BinaryContent(base64.b64decode(picture.data), media_type=picture.mime_type) for picture in pictures]


# --- its stream as our deltas


def _delta(event: Any) -> Delta | None:
    match event:
        case PartStartEvent(part=TextPart(content=text)) if text:
            return TextDelta(text)
        case PartStartEvent(part=ThinkingPart(content=text)) if text:
            return ThoughtDelta(text)
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
            return TextDelta(text)
        case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(text))) if text:
            return ThoughtDelta(text)
        case _:
            return None


def _end(response: ModelResponse, *, names_its_end: bool) -> Iterator[Delta]:
    """The last deltas, when all was read: the calls are complete only now, because their parts may be mixed."""
    usage = response.usage
    if usage.input_tokens or usage.output_tokens:
        yield Spent(usage.input_tokens, usage.output_tokens, _cost(response))
    if response.finish_reason == "length":
        yield AnswerEnd("length")
        return
    if response.finish_reason == "content_filter":
        yield AnswerEnd("refused")
        return
    if response.finish_reason == "error":
        raise ModelBroken("The provider failed in the middle of the answer: try again")
    if response.state != "complete" or (names_its_end and not _named_end(response)):
        raise ModelBroken("The model's answer stopped in the middle: try again")
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            yield _use(part)
    yield AnswerEnd("done", ModelMessagesTypeAdapter.dump_python([response], mode="json")[0])


def _named_end(response: ModelResponse) -> bool:
    # The provider's own word: `finish_reason` is also set where there was none.
    return bool((response.provider_details or {}).get("finish_reason"))


def _use(part: ToolCallPart) -> ToolUse:
    arguments: Any = part.args or {}
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            arguments = None
    if isinstance(arguments, dict):
        return ToolUse(part.tool_call_id, part.tool_name, arguments)
    return ToolUse(part.tool_call_id, part.tool_name, broken=str(part.args))


def _cost(response: ModelResponse) -> float | None:
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None


# --- its errors as ours


@contextmanager
def _translated_errors(name: str) -> Iterator[None]:
    try:
        yield
    except exceptions.ModelAPIError as error:
        raise _translated(error, name) from error
    except (exceptions.UnexpectedModelBehavior, exceptions.AgentRunError, ValueError, RecursionError) as error:
        raise ModelBroken(f"The response of the model {name} is no answer: check its address, or try again") from error
    except exceptions.UserError as error:
        raise ModelRefused(f"The model {name} cannot be asked like this: {error}") from error


_BUSY = "The provider of {} has had too many requests: wait a little"
# The first that fits counts: a subclass stands before its base class.
_ERRORS: tuple[tuple[type[exceptions.ModelAPIError], type[ModelError], str], ...] = (
    (
        exceptions.ModelContextWindowExceededError,
        ModelFull,
        "The conversation does not fit into the model {} any more: /compact, or a new session",
    ),
    (
        exceptions.ModelAuthenticationError,
        ModelLocked,
        "The provider of {} does not accept the key: check it, and what it may use",
    ),
    (exceptions.ModelNotFoundError, ModelMissing, "The provider has no model {}: check its name, and the address"),
    (
        exceptions.ModelQuotaExceededError,
        ModelRefused,
        "The account for {} has no credit left: look at the provider's billing page",
    ),
    (
        exceptions.ModelConnectionError,
        ModelUnreachable,
        "The provider of {} cannot be reached: check the network and the address",
    ),
    (exceptions.ModelUnavailableError, ModelUnreachable, "The provider of {} cannot answer now: try again later"),
    (exceptions.ModelServerError, ModelUnreachable, "The provider of {} cannot answer now: try again later"),
)


def _translated(error: exceptions.ModelAPIError, name: str) -> ModelError:
    if error.in_stream or (isinstance(error, exceptions.ModelConnectionError) and error.phase == "read"):
        return ModelBroken(f"The answer of the model {name} stopped in the middle: try again")
    if isinstance(error, exceptions.ModelRateLimitError):
        return ModelBusy(_BUSY.format(name), error.retry_after)
    for theirs, ours, template in _ERRORS:
        if isinstance(error, theirs):
            return ours(template.format(name))
    if isinstance(error, exceptions.ModelRequestRejectedError):
        return ModelRefused(f"The provider of {name} refused the request{_provider_message(error)}")
    return ModelBroken(
        f"The provider of {name} failed{_provider_message(error) or ': check its address, or try again'}"
    )


def _provider_message(error: exceptions.ModelAPIError) -> str:
    """The provider's own message, if there is one."""
    body = error.body
    if isinstance(body, dict):
        inner = body.get("error")
        body = inner.get("message") if isinstance(inner, dict) else body.get("message")
    return f": {body[:300]}" if isinstance(body, str) and body else ""
