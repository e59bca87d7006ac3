"""A graph of LangChain with the rehearsed model, behind the endpoint of `ag-ui-langgraph`."""

from __future__ import annotations

from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from tests.adapters import endpoint_tools as tools
from tests.adapters.langgraph_agent import RehearsedModel

graph = create_agent(
    RehearsedModel(),
    tools=[tool(tools.delete_file), tool(tools.read_file), tool(tools.sleep)],
    middleware=[HumanInTheLoopMiddleware(interrupt_on={"delete_file": True})],
    checkpointer=InMemorySaver(),
)
app = FastAPI()
add_langgraph_fastapi_endpoint(app, LangGraphAgent(name="rehearsed", graph=graph), "/agui")
