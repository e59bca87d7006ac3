"""An agent of the OpenAI Agents SDK with the rehearsed model: for tests in this process, and by itself."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from agents import (
    Agent,
    Model,
    ModelResponse,
    ToolOutputImage,
    ToolOutputText,
    function_tool,
    set_tracing_disabled,
)
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningSummaryTextDeltaEvent,
    ResponseTextDeltaEvent,
    ResponseUsage,
)

from tests.adapters import rehearsed_tools as tools
from tests.adapters.rehearsal import PIXEL, Call, Say, Step, Think, steps

set_tracing_disabled(True)

USAGE = ResponseUsage.model_validate(
    {
        "input_tokens": 10,
        "output_tokens": 5,
        "total_tokens": 15,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
)


class RehearsedModel(Model):
    """Streams what `answer` makes of the input items."""

    def answer(self, items: list[Any]) -> list[Step]:
        return steps(*conversation(items))

    async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
        raise NotImplementedError("only streamed")

    async def stream_response(self, _instructions: Any, items: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        output: list[Any] = []
        texts: list[str] = []
        for number, step in enumerate(self.answer(items)):
            place: dict[str, Any] = {"sequence_number": number, "output_index": 0, "item_id": "item"}
            match step:
                case Think(text=text):
                    yield ResponseReasoningSummaryTextDeltaEvent(
                        delta=text, summary_index=0, type="response.reasoning_summary_text.delta", **place
                    )
                case Say(text=text):
                    texts.append(text)
                    yield ResponseTextDeltaEvent(
                        delta=text, content_index=0, logprobs=[], type="response.output_text.delta", **place
                    )
                case Call(id=call_id, name=name, arguments=arguments):
                    given = json.dumps(arguments)
                    output.append(
                        ResponseFunctionToolCall(call_id=call_id, name=name, arguments=given, type="function_call")
                    )
        if texts:
            whole = ResponseOutputText(text="".join(texts), annotations=[], type="output_text")
            message = ResponseOutputMessage(
                id="message", content=[whole], role="assistant", status="completed", type="message"
            )
            output.insert(0, message)
        response = Response(
            id="response",
            created_at=0,
            model="rehearsed",
            object="response",
            output=output,
            parallel_tool_calls=True,
            tool_choice="auto",
            tools=[],
            usage=USAGE,
        )
        yield ResponseCompletedEvent(response=response, sequence_number=99, type="response.completed")


def conversation(items: list[Any]) -> tuple[list[str], list[str], list[str]]:
    """The prompts, the results since the last of them, and the media that came with it."""
    prompts: list[str] = []
    results: list[str] = []
    media: list[str] = []
    open_calls: set[str] = set()
    for item in items:
        if item.get("role") == "user":
            prompts.append("".join(part.get("text", "") for part in item["content"]))
            addresses = [part["image_url"] for part in item["content"] if part["type"] == "input_image"]
            media = [address.removeprefix("data:").partition(";")[0] for address in addresses]
            results = []
        elif item.get("type") == "function_call":
            open_calls.add(item["call_id"])
        elif item.get("type") == "function_call_output":
            open_calls.discard(item["call_id"])
            results.append(str(item["output"]))
    if open_calls:
        raise RuntimeError("a provider refuses function calls without an output")
    return prompts, results, media


def _own_words(_: Any, error: Exception) -> str:
    return str(error)


def drop_table(table: str) -> str:
    """Drop a table."""
    return f"dropped {table}"


def draw() -> list[Any]:
    """Draw a picture."""
    return [ToolOutputText(text="drawn"), ToolOutputImage(image_url=f"data:image/png;base64,{PIXEL}")]


agent = Agent(
    name="rehearsed",
    model=RehearsedModel(),
    tools=[
        function_tool(tools.delete_file, needs_approval=True),
        function_tool(tools.fail, failure_error_function=_own_words),
        *map(function_tool, (tools.write_file, tools.read_file, tools.sleep, tools.block, tools.raise_error)),
        *map(function_tool, (tools.leave, tools.leave_later)),
        function_tool(tools.write_todos, strict_mode=False),
        function_tool(draw),
        function_tool(drop_table, needs_approval=True),
    ],
)
