"""A flow of CrewAI with the rehearsed model, behind the endpoint of `ag-ui-crewai`."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from typing import Any

# Nothing of this leaves the machine; both packages read it while they are imported.
os.environ.update(CREWAI_DISABLE_TELEMETRY="true", OTEL_SDK_DISABLED="true", LITELLM_LOCAL_MODEL_COST_MAP="true")

import litellm
from ag_ui_crewai import (
    CopilotKitState,
    add_crewai_flow_fastapi_endpoint,
    agui_feedback_provider,
    copilotkit_emit_tool_result,
    copilotkit_stream,
)
from crewai.flow import Flow, listen, router, start
from crewai.flow.human_feedback import human_feedback
from fastapi import FastAPI
from litellm.types.utils import Delta, ModelResponseStream, StreamingChoices

from accord.agent.session import new_id
from tests.adapters import endpoint_tools as tools
from tests.adapters.rehearsal import Call, Say, Step, Think, steps

TOOLS = {tool.__name__: tool for tool in (tools.read_file, tools.sleep)}


class RehearsedModel(litellm.CustomLLM):
    async def astreaming(self, *_: Any, messages: list[Any], **__: Any) -> AsyncIterator[Any]:
        answer_id = new_id("answer")
        for step in steps(*conversation(messages)):
            yield _chunk(answer_id, delta=_delta(step))
        yield _chunk(answer_id, delta=Delta(), finish_reason="stop")


def _chunk(answer_id: str, **choice: Any) -> ModelResponseStream:
    return ModelResponseStream(id=answer_id, model="rehearsed", choices=[StreamingChoices(index=0, **choice)])


def _delta(step: Step) -> Delta:
    match step:
        case Think(text=text):
            return Delta(reasoning_content=text)
        case Say(text=text):
            return Delta(content=text)
        case Call(id=call_id, name=name, arguments=arguments):
            function = {"name": name, "arguments": json.dumps(arguments)}
            return Delta(tool_calls=[{"index": 0, "id": call_id, "type": "function", "function": function}])


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def conversation(messages: list[Any]) -> tuple[list[str], list[str]]:
    """The prompts, and the results since the last of them."""
    prompts: list[str] = []
    results: list[str] = []
    for message in messages:
        if message["role"] == "user":
            prompts.append(_text(message["content"]))
            results = []
        elif message["role"] == "tool":
            results.append(message["content"])
    return prompts, results


class ChatFlow(Flow[CopilotKitState]):
    @start()
    async def begin(self) -> None: ...

    @router(begin)
    def kind(self) -> str:
        return "question" if self.state.messages[-1]["content"] == "ask" else "talk"

    @listen("question")
    @human_feedback("Which city?", provider=agui_feedback_provider)
    async def ask(self) -> None: ...

    @listen(ask)
    async def take_answer(self, given: Any) -> None:
        self.state.messages.append({"role": "user", "content": given.feedback})
        await self._answer()

    @listen("talk")
    async def chat(self) -> None:
        while await self._answer():
            pass

    async def _answer(self) -> bool:
        """Let the model answer, and run the tools that it calls; whether there were some."""
        stream = await litellm.acompletion(model="rehearsed/model", messages=self.state.messages, stream=True)
        answer = (await copilotkit_stream(stream)).choices[0]["message"]
        self.state.messages.append(answer)
        for call in answer.get("tool_calls") or ():
            result = await TOOLS[call["function"]["name"]](**json.loads(call["function"]["arguments"]))
            self.state.messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
            await copilotkit_emit_tool_result(call["id"], result)
        return bool(answer.get("tool_calls"))


litellm.custom_provider_map = [{"provider": "rehearsed", "custom_handler": RehearsedModel()}]
app = FastAPI()
add_crewai_flow_fastapi_endpoint(app, ChatFlow(), "/agui")
