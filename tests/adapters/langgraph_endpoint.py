"""A graph of LangChain with the rehearsed model, behind the endpoint of `ag-ui-langgraph`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from tests.adapters import endpoint_tools as tools
from tests.adapters.langgraph_agent import RehearsedModel


class StreamingModel(RehearsedModel):
    """Gives the arguments of a call in a chunk of their own, as providers do."""

    def _stream(self, *given: Any, **options: Any) -> Iterator[ChatGenerationChunk]:
        for generation in super()._stream(*given, **options):
            for part in getattr(generation.message, "tool_call_chunks", ()):
                begun = AIMessageChunk(content="", tool_call_chunks=[{**part, "args": ""}])
                yield ChatGenerationChunk(message=begun)
                rest = AIMessageChunk(content="", tool_call_chunks=[{**part, "name": None, "id": None}])
                yield ChatGenerationChunk(message=rest)
            if not getattr(generation.message, "tool_call_chunks", ()):
                yield generation


graph = create_agent(
    StreamingModel(),
    tools=[tool(tools.read_file), tool(tools.sleep)],
    checkpointer=InMemorySaver(),
)
app = FastAPI()
add_langgraph_fastapi_endpoint(app, LangGraphAgent(name="rehearsed", graph=graph), "/agui")
