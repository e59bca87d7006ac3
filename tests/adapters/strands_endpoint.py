"""An agent of Strands with the rehearsed model, behind the endpoint of `ag-ui-strands`."""

from __future__ import annotations

from typing import Any

from ag_ui_strands import StrandsAgent, add_strands_fastapi_endpoint
from fastapi import FastAPI
from strands import Agent, tool

from tests.adapters import endpoint_tools as tools
from tests.adapters.rehearsal import Step, steps
from tests.adapters.strands_agent import RehearsedModel, conversation


class LastLines(RehearsedModel):
    """What the front end says of its context stands above the text."""

    def answer(self, messages: list[Any]) -> list[Step]:
        prompts, *rest = conversation(messages)
        return steps([prompt.rpartition("\n")[2] for prompt in prompts], *rest)


agent = Agent(model=LastLines(), tools=[tool(tools.read_file), tool(tools.sleep)], callback_handler=None)
app = FastAPI()
add_strands_fastapi_endpoint(app, StrandsAgent(agent, name="rehearsed"), "/agui")
