"""An agent of pydantic-ai with the rehearsed model, behind its own AG-UI adapter."""

from __future__ import annotations

from fastapi import FastAPI
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.requests import Request
from starlette.responses import Response

from tests.adapters import endpoint_tools as tools
from tests.adapters.pydantic_ai_agent import answer

agent = Agent(
    FunctionModel(stream_function=answer),
    name="rehearsed",
    output_type=[str, DeferredToolRequests],
    tools=[tools.read_file, tools.sleep],
)
agent.tool_plain(requires_approval=True)(tools.delete_file)
app = FastAPI()


@app.post("/agui")
async def run(request: Request) -> Response:
    return await AGUIAdapter.dispatch_request(request, agent=agent)
