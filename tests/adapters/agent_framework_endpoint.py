"""An agent of Microsoft's Agent Framework with the rehearsed model, behind the endpoint of its AG-UI package."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    tool,
)
from agent_framework.ag_ui import add_agent_framework_fastapi_endpoint
from fastapi import FastAPI

from tests.adapters import endpoint_tools as tools
from tests.adapters.rehearsal import Call, Say, Think, steps


class RehearsedClient(FunctionInvocationLayer, BaseChatClient):
    def _inner_get_response(self, *, messages: Sequence[Message], stream: bool, **_: Any) -> Any:
        assert stream, "AG-UI streams"
        return ResponseStream(_answer(messages), finalizer=ChatResponse.from_updates)


async def _answer(messages: Sequence[Message]) -> AsyncIterator[ChatResponseUpdate]:
    for step in steps(*conversation(messages)):
        match step:
            case Think(text=text):
                content = Content.from_text_reasoning(text=text)
            case Say(text=text):
                content = Content.from_text(text)
            case Call(id=call_id, name=name, arguments=arguments):
                content = Content.from_function_call(call_id, name, arguments=json.dumps(arguments))
        yield ChatResponseUpdate(contents=[content], role="assistant")


def conversation(messages: Sequence[Message]) -> tuple[list[str], list[str]]:
    """The prompts, and the results since the last of them."""
    prompts: list[str] = []
    results: list[str] = []
    for message in messages:
        answers = [content for content in message.contents if content.type == "function_result"]
        if message.role == "user" and not answers:
            prompts.append(message.text)
            results = []
        results += [str(content.result) for content in answers]
    return prompts, results


agent = Agent(
    client=RehearsedClient(),
    name="rehearsed",
    tools=[
        tool(tools.delete_file, approval_mode="always_require"),
        tool(tools.read_file),
        tool(tools.sleep),
    ],
)
app = FastAPI()
add_agent_framework_fastapi_endpoint(app, agent, "/agui", single_user=True)
