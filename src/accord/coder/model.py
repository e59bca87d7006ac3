"""The interface between the loop and a model: messages and tools one way, a stream of deltas the other.

It knows no provider and no session. Messages are also the form in which a session's memory is kept. Every
answer is streamed by `stream_answer`, in a span while telemetry is on.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Protocol, Self, TypeAlias

import msgspec

from accord.errors import AccordError, RateLimited, RequestError
from accord.telemetry import OperationSpan, model_span, note_tokens

OFFLINE = "offline"
"""The name of the built-in model."""
PROJECT_FOLDERS = (".accord", ".agents", ".claude")
"""The folders in which a project may have slash commands and skills of its own."""
AUTO_APPROVE_READS = "auto_approve_reads"
"""The session option by which reading needs no permission."""

EFFORT = "effort"
"""The session option that says how much a model may think."""
DEFAULT_EFFORT = "default"
EFFORTS = (DEFAULT_EFFORT, "off", "minimal", "low", "medium", "high", "xhigh")
"""How much a model may think: as its provider has it, not at all, or a level."""

CHARACTERS_PER_TOKEN = 4
MAX_NESTING = 100
"""How many levels deep the arguments of a tool call may be."""
PICTURE_TOKENS = 1_500


# --- messages


class Picture(msgspec.Struct, omit_defaults=True):
    """An image, its bytes in base64."""

    data: str
    mime_type: str


class ToolUse(msgspec.Struct, omit_defaults=True):
    """A tool call, whole. `broken` is the model's own text where its arguments are no JSON object.

    Arguments that are nested too deeply, which not every encoder and provider takes, are broken too.
    """

    id: str
    name: str
    arguments: dict[str, Any] = {}
    broken: str | None = None

    def __post_init__(self) -> None:
        level: list[Any] = [self.arguments]
        for _ in range(MAX_NESTING):
            level = [below for each in level for below in (each.values() if isinstance(each, dict) else each)]
            level = [each for each in level if isinstance(each, dict | list | tuple)]
            if not level:
                return
        self.arguments, self.broken = {}, f"they are nested more than {MAX_NESTING} levels deep"


class ToolResult(msgspec.Struct, omit_defaults=True):
    """The result of one tool call, as text for the model."""

    call_id: str
    name: str
    text: str
    failed: bool = False
    pictures: list[Picture] = []


class UserMessage(msgspec.Struct, tag_field="role", tag="user", omit_defaults=True):
    """A prompt of the user with its files; a summary of earlier messages is also one."""

    text: str
    pictures: list[Picture] = []
    attached: str = ""

    @property
    def whole(self) -> str:
        return f"{self.text}\n\n{self.attached}" if self.attached else self.text


class ModelReply(msgspec.Struct, tag_field="role", tag="assistant", omit_defaults=True):
    """An answer of the model. `raw` is the provider's own form of it, for the model of that name alone."""

    text: str = ""
    calls: list[ToolUse] = []
    model: str = ""
    raw: Any = None


class ToolResults(msgspec.Struct, tag_field="role", tag="tool", omit_defaults=True):
    """One result for each call of the reply before it, in that order."""

    results: list[ToolResult]


Message: TypeAlias = UserMessage | ModelReply | ToolResults


def estimated_tokens(*messages: Message) -> int:
    """About how many tokens messages are, where no provider has counted them."""
    characters = pictures = 0
    for message in messages:
        match message:
            case UserMessage():
                characters += len(message.whole)
                pictures += len(message.pictures)
            case ModelReply():
                characters += len(message.text) + sum(len(str(call.arguments)) for call in message.calls)
            case ToolResults():
                characters += sum(len(result.text) for result in message.results)
                pictures += sum(len(result.pictures) for result in message.results)
    return characters // CHARACTERS_PER_TOKEN + pictures * PICTURE_TOKENS


# --- requests


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as it is described to a model; `schema` is the JSON schema of its arguments, an object."""

    name: str
    description: str
    schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question to a model. For a summary there are no tools, and the answer is text alone."""

    system: str
    messages: list[Message]
    tools: list[ToolDefinition]
    purpose: Literal["turn", "summary"] = "turn"
    effort: str = DEFAULT_EFFORT
    """One of `EFFORTS`."""


# --- the stream of an answer


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A part of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ThoughtDelta:
    """A part of a thought."""

    text: str


@dataclass(frozen=True, slots=True)
class Spent:
    """The usage of this request: tokens in and out, and money if the price is known."""

    input_tokens: int
    output_tokens: int
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Retrying:
    """The request failed before anything came, and is sent again after a pause."""

    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class AnswerEnd:
    """The last delta. `length`: the answer was cut; `refused`: the provider's filter stopped it."""

    reason: Literal["done", "length", "refused"]
    raw: Any = None


Delta: TypeAlias = TextDelta | ThoughtDelta | ToolUse | Spent | Retrying | AnswerEnd


class Model(Protocol):
    """A model, used in its context (`async with`). Closing the stream before its end stops the request itself."""

    @property
    def name(self) -> str:
        """As the user chose it."""

    @property
    def context_tokens(self) -> int:
        """How many tokens fit into it."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """The answer, `AnswerEnd` at its end.

        Raises:
            ModelError: No answer came, or it broke off.
        """

    async def __aenter__(self) -> Self:
        """Allow requests, several of them at the same time.

        Raises:
            ModelError: It cannot be reached from here.
        """

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close connections, if no other request uses them."""


# --- errors


class ModelError(AccordError):
    """A model gave no answer; the text says why, and what a person can do about it."""

    reason = "model_failed"

    def answer(self) -> RequestError:
        """The error for the client when the turn ends with it."""
        return RequestError(str(self), {"reason": self.reason})


class ModelMissing(ModelError):
    """There is no such model, or the package that reaches it is missing."""

    reason = "model_missing"


class ModelLocked(ModelError):
    """The provider wants a key, or does not take the one it was given."""

    # No AuthRequired: that sends a client to a login, and the agent has none to offer.
    reason = "model_locked"


class ModelRefused(ModelError):
    """The provider does not accept the request; the same request would be refused again."""

    reason = "model_refused"


class ModelFull(ModelRefused):
    """The conversation does not fit into the model any more."""

    reason = "model_full"


class ModelBusy(ModelError):
    """Too many requests; `retry_after` are the seconds that the provider named."""

    reason = "model_busy"

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after

    def answer(self) -> RequestError:
        return RateLimited(self.retry_after, str(self))


class ModelUnreachable(ModelError):
    """The provider does not answer, or answers that it is unavailable."""

    reason = "model_unreachable"


class ModelBroken(ModelError):
    """The response is no answer, or only the beginning of one."""

    reason = "model_broken"


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
