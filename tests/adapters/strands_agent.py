"""An agent of Strands with the rehearsed model: for tests in this process, and by itself."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from typing import Any

from strands import Agent, ToolContext, tool
from strands.hooks import BeforeToolCallEvent
from strands.models.model import Model

from tests.adapters import rehearsed_tools as tools
from tests.adapters.rehearsal import PIXEL, QUESTION, Call, Say, Step, Think, steps

USAGE = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}


class RehearsedModel(Model):
    """Streams what `answer` makes of the messages."""

    def answer(self, messages: list[Any]) -> list[Step]:
        return steps(*conversation(messages))

    def update_config(self, **_: Any) -> None: ...

    def get_config(self) -> dict[str, Any]:
        return {}

    async def structured_output(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError("Strands asks by a tool")
        yield

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        answer = self.answer(messages)
        yield {"messageStart": {"role": "assistant"}}
        for step in answer:
            match step:
                case Think(text=text):
                    yield {"contentBlockDelta": {"delta": {"reasoningContent": {"text": text}}}}
                case Say(text=text):
                    yield {"contentBlockDelta": {"delta": {"text": text}}}
                case Call(id=call_id, name=name, arguments=arguments):
                    yield {"contentBlockStop": {}}
                    yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": call_id}}}}
                    yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(arguments)}}}}
        yield {"contentBlockStop": {}}
        called = any(isinstance(step, Call) for step in answer)
        yield {"messageStop": {"stopReason": "tool_use" if called else "end_turn"}}
        yield {"metadata": {"usage": USAGE, "metrics": {"latencyMs": 1}}}


def conversation(messages: list[Any]) -> tuple[list[str], list[str], list[str]]:
    """The prompts, the results since the last of them, and the media that came with it."""
    prompts: list[str] = []
    results: list[str] = []
    media: list[str] = []
    open_calls: set[str] = set()
    for message in messages:
        content = message["content"]
        ended = [block["toolResult"] for block in content if "toolResult" in block]
        open_calls |= {block["toolUse"]["toolUseId"] for block in content if "toolUse" in block}
        open_calls -= {result["toolUseId"] for result in ended}
        results += ["".join(block.get("text", "") for block in result["content"]) for result in ended]
        if message["role"] == "user" and not ended:
            prompts.append("".join(block.get("text", "") for block in content))
            media = [f"image/{block['image']['format']}" for block in content if "image" in block]
            results = []
    if open_calls:
        raise RuntimeError("a provider refuses tool uses without a result")
    return prompts, results, media


def approve(event: BeforeToolCallEvent) -> None:
    """Ask before a file is deleted."""
    if event.tool_use["name"] == "delete_file" and event.interrupt("delete", reason="It deletes a file") != "y":
        event.cancel_tool = "The user did not allow it."


def _ask_city(tool_context: ToolContext) -> str:
    """Ask the user for a city."""
    return f"in {tool_context.interrupt('city', reason='Which city?')}"


def _drop_table(table: str, tool_context: ToolContext) -> str:
    """Drop a table."""
    return f"dropped {table}" if tool_context.interrupt("drop", reason=QUESTION) == "yes" else "kept"


def _draw() -> dict[str, Any]:
    """Draw a picture."""
    picture = {"format": "png", "source": {"bytes": base64.b64decode(PIXEL)}}
    return {"status": "success", "content": [{"text": "drawn"}, {"image": picture}]}


def _fail() -> dict[str, Any]:
    """Fail."""
    return {"status": "error", "content": [{"text": "it does not work"}]}


draw = tool(name="draw")(_draw)
fail = tool(name="fail")(_fail)
drop_table = tool(context=True, name="drop_table")(_drop_table)
ask_city = tool(context=True, name="ask_city")(_ask_city)


TOOLS = [
    tool(function)
    for function in (
        tools.delete_file,
        tools.write_file,
        tools.read_file,
        tools.sleep,
        tools.block,
        tools.raise_error,
        tools.leave,
        tools.leave_later,
        tools.write_todos,
    )
]
agent = Agent(
    name="rehearsed", model=RehearsedModel(), tools=[*TOOLS, draw, fail, drop_table, ask_city], hooks=[approve]
)
