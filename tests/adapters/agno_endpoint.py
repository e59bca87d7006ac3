"""An agent of Agno with the rehearsed model, behind Agno's own AG-UI interface."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.os import AgentOS
from agno.os.interfaces.agui import AGUI

from tests.adapters import endpoint_tools as tools
from tests.adapters.rehearsal import Call, Say, Think, steps


class RehearsedModel(Model):
    def invoke(self, *_: Any, **__: Any) -> ModelResponse:
        raise NotImplementedError("AG-UI streams")

    async def ainvoke(self, *_: Any, **__: Any) -> ModelResponse:
        raise NotImplementedError("AG-UI streams")

    def invoke_stream(self, *_: Any, **__: Any) -> Iterator[ModelResponse]:
        raise NotImplementedError("AG-UI has a loop")

    async def ainvoke_stream(self, messages: list[Any], *_: Any, **__: Any) -> AsyncIterator[ModelResponse]:
        for place, step in enumerate(steps(*conversation(messages))):
            match step:
                case Think(text=text):
                    yield ModelResponse(role="assistant", reasoning_content=text)
                case Say(text=text):
                    yield ModelResponse(role="assistant", content=text)
                case Call(id=call_id, name=name, arguments=arguments):
                    function = {"name": name, "arguments": json.dumps(arguments)}
                    calls = [{"id": call_id, "type": "function", "index": place, "function": function}]
                    yield ModelResponse(role="assistant", tool_calls=calls)

    def _parse_provider_response(self, response: Any, **__: Any) -> ModelResponse:
        return response

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        return response


def conversation(messages: list[Any]) -> tuple[list[str], list[str]]:
    """The prompts, and the results since the last of them."""
    prompts: list[str] = []
    results: list[str] = []
    for message in messages:
        if message.role == "user":
            # What the front end says of its context stands below the text.
            prompts.append(message.get_content_string().partition("\n")[0])
            results = []
        elif message.role == "tool":
            results.append(message.get_content_string())
    return prompts, results


agent = Agent(
    name="rehearsed",
    model=RehearsedModel(id="rehearsed"),
    tools=[tools.read_file, tools.sleep],
    db=InMemoryDb(),
    add_history_to_context=True,
    num_history_runs=100,
    telemetry=False,
)
app = AgentOS(agents=[agent], interfaces=[AGUI(agent=agent)], telemetry=False).get_app()
