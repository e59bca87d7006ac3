"""A workflow of LlamaIndex with the rehearsed model, behind the router of its AG-UI package."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from fastapi import FastAPI
from llama_index.core.base.llms.types import LLMMetadata
from llama_index.core.llms import ChatMessage, ChatResponse
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.protocols.ag_ui.router import get_ag_ui_workflow_router

from tests.adapters import endpoint_tools as tools
from tests.adapters.rehearsal import Call, Say, steps


class RehearsedModel(FunctionCallingLLM):
    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="rehearsed", is_function_calling_model=True, is_chat_model=True)

    async def astream_chat_with_tools(
        self, *_: Any, chat_history: Any = None, **__: Any
    ) -> AsyncIterator[ChatResponse]:
        return _answer(chat_history)

    def get_tool_calls_from_response(self, response: ChatResponse, **_: Any) -> list[ToolSelection]:
        calls = response.message.additional_kwargs.get("calls", [])
        return [ToolSelection(tool_id=call.id, tool_name=call.name, tool_kwargs=call.arguments) for call in calls]

    def _prepare_chat_with_tools(self, *given: Any, **options: Any) -> dict[str, Any]:
        raise NotImplementedError("the stream is all that is used")

    chat = stream_chat = complete = stream_complete = _prepare_chat_with_tools
    achat = acomplete = astream_chat = astream_complete = _prepare_chat_with_tools


async def _answer(messages: Sequence[ChatMessage]) -> AsyncIterator[ChatResponse]:
    answer = steps(*conversation(messages))
    calls = [step for step in answer if isinstance(step, Call)]
    text = ""
    for step in answer:
        if isinstance(step, Say):
            text += step.text
            yield ChatResponse(message=ChatMessage(role="assistant", content=text), delta=step.text)
    yield ChatResponse(
        message=ChatMessage(role="assistant", content=text, additional_kwargs={"calls": calls}), delta=""
    )


def conversation(messages: Sequence[ChatMessage]) -> tuple[list[str], list[str]]:
    """The prompts, and the results since the last of them."""
    prompts: list[str] = []
    results: list[str] = []
    for message in messages:
        if message.role == "user":
            prompts.append(message.content or "")
            results = []
        elif message.role == "tool":
            results.append(message.content or "")
    return prompts, results


app = FastAPI()
app.include_router(
    get_ag_ui_workflow_router(llm=RehearsedModel(), backend_tools=[tools.read_file, tools.sleep]), prefix="/agui"
)
