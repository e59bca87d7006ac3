"""An agent of Google ADK with the rehearsed model, behind the endpoint of `ag-ui-adk`."""

from __future__ import annotations

from ag_ui_adk import ADKAgent, add_adk_fastapi_endpoint
from fastapi import FastAPI
from google.adk.agents import LlmAgent

from tests.adapters import endpoint_tools as tools
from tests.adapters.google_adk_agent import RehearsedModel

agent = LlmAgent(name="rehearsed", model=RehearsedModel(), tools=[tools.read_file, tools.sleep])
app = FastAPI()
add_adk_fastapi_endpoint(app, ADKAgent(adk_agent=agent, app_name="rehearsed", user_id="user"), path="/agui")
