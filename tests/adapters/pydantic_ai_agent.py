"""An agent of pydantic-ai with the rehearsed model: for tests in this process, and by itself for `accord agent`."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, ApprovalRequired, BinaryContent, ModelRetry, RunContext, ToolReturn
from pydantic_ai.messages import ModelMessage, RetryPromptPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel

import accord
from tests.adapters import rehearsed_tools
from tests.adapters.adapter_contract import note_begin, released
from tests.adapters.rehearsal import PIXEL, QUESTION, Call, Say, Think, steps
from tests.limits import limit


def conversation(messages: list[ModelMessage]) -> tuple[list[str], list[str], list[str]]:
    """The prompts, the results since the last of them, and the media that came with it."""
    prompts: list[str] = []
    results: list[str] = []
    media: list[str] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                content = [part.content] if isinstance(part.content, str) else list(part.content)
                prompts.append("".join(item for item in content if isinstance(item, str)))
                media = [item.media_type for item in content if isinstance(item, BinaryContent)]
                results = []
            elif isinstance(part, ToolReturnPart):
                results.append(part.model_response_str())
            elif isinstance(part, RetryPromptPart):
                results.append(part.model_response())
    return prompts, results, media


async def answer(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[Any]:
    for place, step in enumerate(steps(*conversation(messages))):
        match step:
            case Think(text=text):
                yield {0: DeltaThinkingPart(content=text)}
            case Say(text=text):
                yield text
            case Call(id=id_, name=name, arguments=arguments):
                yield {100 + place: DeltaToolCall(name, json.dumps(arguments), tool_call_id=id_)}


agent = Agent(
    FunctionModel(stream_function=answer), name="rehearsed", tools=[rehearsed_tools.leave, rehearsed_tools.leave_later]
)


@agent.tool_plain(requires_approval=True)
def delete_file(path: str) -> str:
    place = Path(accord.current_turn(blocking=True).session.cwd) / path
    place.unlink(missing_ok=True)  # the checker asks for it several times
    return "removed"


@agent.tool
def drop_table(context: RunContext[object], table: str) -> str:
    if not context.tool_call_approved:
        raise ApprovalRequired(metadata=QUESTION)
    return f"dropped {table}"


@agent.tool_plain
def fail() -> str:
    raise ModelRetry("it does not work")


@agent.tool_plain
async def write_file(path: str, content: str) -> str:
    await accord.current_turn().files.write(path, content)
    return "written"


@agent.tool_plain
def read_file(path: str) -> str:
    return accord.current_turn(blocking=True).files.read(path)


@agent.tool_plain
async def sleep() -> str:
    note_begin(accord.current_turn().session.cwd)
    await asyncio.sleep(3600)
    return "slept"


@agent.tool_plain
def block() -> str:
    cwd = accord.current_turn(blocking=True).session.cwd
    note_begin(cwd)
    released(cwd).wait(limit(60.0))
    return "blocked"


@agent.tool_plain
def raise_error() -> str:
    raise ValueError("secret-in-the-exception")


@agent.tool_plain
def draw() -> ToolReturn:
    return ToolReturn("drawn", content=[BinaryContent(base64.b64decode(PIXEL), media_type="image/png")])


@agent.tool_plain
def write_todos(todos: list[dict[str, str]]) -> str:
    return f"{len(todos)} noted"
