"""A workflow of LlamaIndex with the rehearsed model, behind its own AG-UI router."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, TextBlock, ToolCallBlock
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.protocols.ag_ui.router import AGUIWorkflowRouter, get_default_workflow_factory

from tests.adapters import endpoint_tools as tools
from tests.adapters.rehearsal import Call, Say, steps


class RehearsedModel(MockFunctionCallingLLM):
    async def astream_chat_with_tools(self, *_: Any, chat_history: Any = (), **__: Any) -> AsyncIterator[ChatResponse]:
        async def answer() -> AsyncIterator[ChatResponse]:
            message = ChatMessage(role="assistant", blocks=[])
            for step in steps(*conversation(chat_history)):
                delta = None
                if isinstance(step, Say):
                    delta = step.text
                    message.blocks.append(TextBlock(text=delta))
                elif isinstance(step, Call):
                    block = ToolCallBlock(tool_call_id=step.id, tool_name=step.name, tool_kwargs=step.arguments)
                    message.blocks.append(block)
                yield ChatResponse(message=message, delta=delta)

        return answer()

    def get_tool_calls_from_response(self, response: ChatResponse, *_: Any, **__: Any) -> list[ToolSelection]:
        return [
            ToolSelection(tool_id=block.tool_call_id or "", tool_name=block.tool_name, tool_kwargs=block.tool_kwargs)
            for block in response.message.blocks
            if isinstance(block, ToolCallBlock)
        ]


def conversation(messages: list[Any]) -> tuple[list[str], list[str]]:
    """The prompts, and the results since the last of them."""
    prompts: list[str] = []
    results: list[str] = []
    for message in messages:
        if message.role == "tool" or "tool_call_id" in message.additional_kwargs:
            # Its router makes messages of the user of the results of earlier runs.
            results.append(message.content)
        elif message.role == "user":
            prompts.append(message.content)
            results = []
    return prompts, results


workflow = get_default_workflow_factory(
    llm=RehearsedModel(), backend_tools=[tools.read_file, tools.sleep], timeout=None
)
app = FastAPI()
app.add_api_route("/agui", AGUIWorkflowRouter(workflow).run, methods=["POST"])
