"""A graph of LangChain's `create_agent` with the rehearsed model: for tests here, and by itself for `accord agent`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, TodoListMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import ToolException, tool
from langgraph.types import interrupt

import accord
from tests.adapters import rehearsed_tools
from tests.adapters.adapter_contract import note_begin, released
from tests.adapters.rehearsal import PIXEL, QUESTION, Call, Say, Step, Think, steps
from tests.limits import limit


def conversation(messages: Sequence[BaseMessage]) -> tuple[list[str], list[str], list[str]]:
    """The prompts, the results since the last of them, and the media that came with it."""
    prompts: list[str] = []
    results: list[str] = []
    media: list[str] = []
    for message in messages:
        if isinstance(message, HumanMessage):
            prompts.append(str(message.text))
            media = [block["mime_type"] for block in message.content_blocks if "mime_type" in block]
            results = []
        elif isinstance(message, ToolMessage):
            results.append(str(message.text))
    return prompts, results, media


def chunk(step: Step, place: int) -> AIMessageChunk:
    match step:
        case Think(text=text):
            return AIMessageChunk(content=[{"type": "reasoning", "reasoning": text}])
        case Say(text=text):
            return AIMessageChunk(content=[{"type": "text", "text": text}])
        case Call(id=id_, name=name, arguments=arguments):
            part = {"name": name, "args": json.dumps(arguments), "id": id_, "index": place, "type": "tool_call_chunk"}
            return AIMessageChunk(content="", tool_call_chunks=[part])


class RehearsedModel(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "rehearsed"

    def bind_tools(self, _: Any, **__: Any) -> Any:
        return self

    def _stream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> Iterator[ChatGenerationChunk]:
        for place, step in enumerate(steps(*conversation(messages))):
            yield ChatGenerationChunk(message=chunk(step, place))
        usage = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
        yield ChatGenerationChunk(message=AIMessageChunk(content="", usage_metadata=usage))

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        whole = chunk(Say(""), 0)
        for part in self._stream(messages):
            whole = whole + part.message
        message = AIMessage(content=whole.content, tool_calls=whole.tool_calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


@tool
def delete_file(path: str) -> str:
    """Delete a file."""
    (Path(accord.current_turn(blocking=True).session.cwd) / path).unlink(missing_ok=True)
    return "removed"


@tool
def fail() -> str:
    """Fail."""
    raise ToolException("it does not work")


fail.handle_tool_error = True


@tool
async def write_file(path: str, content: str) -> str:
    """Write a file."""
    await accord.current_turn().files.write(path, content)
    return "written"


@tool
def read_file(path: str) -> str:
    """Read a file."""
    return accord.current_turn(blocking=True).files.read(path)


@tool
async def sleep() -> str:
    """Sleep."""
    note_begin(accord.current_turn().session.cwd)
    await asyncio.sleep(3600)
    return "slept"


@tool
def block() -> str:
    """Block a thread."""
    cwd = accord.current_turn(blocking=True).session.cwd
    note_begin(cwd)
    released(cwd).wait(limit(60.0))
    return "blocked"


@tool
def raise_error() -> str:
    """Raise what no one handles."""
    raise ValueError("secret-in-the-exception")


@tool
def draw() -> list[Any]:
    """Draw a picture."""
    return [{"type": "text", "text": "drawn"}, {"type": "image", "base64": PIXEL, "mime_type": "image/png"}]


@tool
def drop_table(table: str) -> str:
    """Drop a table."""
    return f"dropped {table}" if interrupt(QUESTION) else "kept"


TOOLS = [drop_table, delete_file, fail, write_file, read_file, sleep, block, raise_error, draw]
TOOLS += [tool(rehearsed_tools.leave), tool(rehearsed_tools.leave_later)]


def make_graph(*more: Any) -> Any:
    middleware = [HumanInTheLoopMiddleware(interrupt_on={"delete_file": True}), TodoListMiddleware()]
    return create_agent(RehearsedModel(), [*TOOLS, *more], middleware=middleware, name="rehearsed")


agent = make_graph()
