"""`as_model`: an ACP agent as a model of pydantic-ai, streamed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Unpack

from accord.client.agent import ConnectedAgent
from accord.client.connect import ConnectOptions, StrPath
from accord.client.function import open_target
from accord.client.launch import InProcessAgent
from accord.client.session import Session
from accord.session.client_requests import McpServer
from accord.session.content import Text
from accord.session.event import MessageChunk
from accord.transport.interface import Transport

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models.function import AgentInfo, DeltaThinkingCalls, FunctionModel

__all__ = ["as_model"]


def as_model(
    *target: Session | ConnectedAgent | InProcessAgent | Transport | StrPath,
    model_name: str = "acp",
    cwd: StrPath = ".",
    mcp_servers: Sequence[McpServer] = (),
    **options: Unpack[ConnectOptions],
) -> FunctionModel:
    """An agent as a model of pydantic-ai: `Agent(as_model("gemini", "--acp"))`.

    It gets the text of the last user prompt; its messages and thoughts are the model's answer. It uses its own tools:
    those of the pydantic-ai agent are not known to it, so give that one none. The target decides how long the agent and
    its session live, as in `accord.as_function`; pass a session to let it remember earlier prompts.

    Raises:
        ImportError: pydantic-ai is not installed.
    """
    from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart  # noqa: PLC0415 - the user's
    from pydantic_ai.models.function import DeltaThinkingPart, FunctionModel  # noqa: PLC0415

    def pieces(messages: Sequence[ModelMessage]) -> AsyncIterator[tuple[str, str]]:
        return _pieces(open_target(target, cwd, mcp_servers, {**options}), _last_prompt(messages))

    async def stream(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[str | DeltaThinkingCalls]:
        async for speaker, text in pieces(messages):
            if speaker == "agent":
                yield text
            else:
                yield {0: DeltaThinkingPart(content=text)}

    async def respond(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        said: dict[str, list[str]] = {"thought": [], "agent": []}
        async for speaker, text in pieces(messages):
            said.setdefault(speaker, []).append(text)
        thoughts = [ThinkingPart(content="".join(said["thought"]))] if said["thought"] else []
        return ModelResponse(parts=[*thoughts, TextPart(content="".join(said["agent"]))])

    return FunctionModel(respond, stream_function=stream, model_name=model_name)


async def _pieces(opening: AbstractAsyncContextManager[Session], prompt: str) -> AsyncIterator[tuple[str, str]]:
    """The chunks of the agent and its thoughts, each with its speaker, as they come."""
    async with opening as session, session.prompt(prompt) as turn:
        async for event in turn:
            if isinstance(event, MessageChunk) and event.speaker != "user" and isinstance(event.block, Text):
                yield event.speaker, event.block.text


def _last_prompt(messages: Sequence[ModelMessage]) -> str:
    from pydantic_ai.messages import UserPromptPart  # noqa: PLC0415 - the user's

    parts = [part for message in messages for part in message.parts if isinstance(part, UserPromptPart)]
    content = parts[-1].content if parts else ""
    return content if isinstance(content, str) else "\n".join(each for each in content if isinstance(each, str))
