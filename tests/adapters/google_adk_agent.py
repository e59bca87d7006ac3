"""An agent of Google ADK with the rehearsed model: for tests in this process, and by itself."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.tools import FunctionTool, ToolContext
from google.genai import types

from tests.adapters import rehearsed_tools as tools
from tests.adapters.rehearsal import PIXEL, QUESTION, Call, Say, Step, Think, steps

USAGE = types.GenerateContentResponseUsageMetadata(
    prompt_token_count=10, candidates_token_count=5, total_token_count=15
)


class RehearsedModel(BaseLlm):
    """Gives what `answer` makes of the contents: in pieces, and then again as a whole, as Gemini does."""

    model: str = "rehearsed"

    def answer(self, contents: list[Any]) -> list[Step]:
        return steps(*conversation(contents))

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[Any]:  # noqa: FBT001, FBT002
        parts: list[Any] = []
        for step in self.answer(llm_request.contents):
            match step:
                case Think(text=text) | Say(text=text):
                    part = types.Part(text=text, thought=isinstance(step, Think) or None)
                    _join(parts, part)
                    if stream:
                        yield LlmResponse(content=types.Content(role="model", parts=[part]), partial=True)
                case Call(id=call_id, name=name, arguments=arguments):
                    parts.append(types.Part(function_call=types.FunctionCall(id=call_id, name=name, args=arguments)))
        content = types.Content(role="model", parts=parts)
        yield LlmResponse(content=content, partial=False, finish_reason="STOP", usage_metadata=USAGE)


def _join(parts: list[Any], part: Any) -> None:
    if parts and parts[-1].text and parts[-1].thought == part.thought:
        parts[-1] = types.Part(text=parts[-1].text + part.text, thought=part.thought)
    else:
        parts.append(part)


def conversation(contents: list[Any]) -> tuple[list[str], list[str], list[str]]:
    """The prompts, the results since the last of them, and the media that came with it."""
    prompts: list[str] = []
    results: list[str] = []
    media: list[str] = []
    open_calls = 0
    for content in contents:
        responses = [part.function_response.response for part in content.parts if part.function_response]
        open_calls += sum(part.function_call is not None for part in content.parts) - len(responses)
        results += [str(response.get("result", response.get("error"))) for response in responses]
        if content.role == "user" and not responses:
            prompts.append("".join(part.text or "" for part in content.parts))
            media = [part.inline_data.mime_type for part in content.parts if part.inline_data]
            results = []
    if open_calls:
        raise RuntimeError("a provider refuses function calls without a response")
    return prompts, results, media


def fail() -> dict[str, str]:
    """Fail."""
    return {"error": "it does not work"}


def drop_table(table: str, tool_context: ToolContext) -> str:
    """Drop a table."""
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint=QUESTION["question"], payload=QUESTION["details"])
        return "waits"
    return f"dropped {table}" if tool_context.tool_confirmation.confirmed else "kept"


def draw() -> list[Any]:
    """Draw a picture."""
    return ["drawn", types.Part.from_bytes(data=base64.b64decode(PIXEL), mime_type="image/png")]


agent = LlmAgent(
    name="rehearsed",
    model=RehearsedModel(),
    tools=[
        FunctionTool(tools.delete_file, require_confirmation=True),
        fail,
        drop_table,
        tools.write_file,
        tools.read_file,
        tools.sleep,
        tools.block,
        tools.raise_error,
        tools.leave,
        tools.leave_later,
        tools.write_todos,
        draw,
    ],
)
