"""The adapter for Google ADK: the contract of all adapters, and what is its own."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("google.adk", reason="Google ADK is missing: run scripts/adapters")

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.sessions import InMemorySessionService
from pydantic import BaseModel

from accord.adapters import google_adk
from accord.agent import Agent
from accord.stores import MemoryStore
from accord.stores.interface import Store
from tests.adapters.adapter_contract import AdapterContract
from tests.adapters.google_adk_agent import RehearsedModel, agent
from tests.adapters.rehearsal import Call, Say, Step
from tests.agent.rig import Heard, served

pytestmark = pytest.mark.filterwarnings("ignore")


class TestGoogleAdk(AdapterContract):
    def make(self, store: Store) -> Agent:
        return google_adk.serve(agent, store=store)


class Person(BaseModel):
    name: str


class Says(RehearsedModel):
    said: list[Any]

    def answer(self, _: list[Any]) -> list[Step]:
        return self.said


async def turn_of(framework_agent: Any, *texts: str, **options: Any) -> list[Heard]:
    made = google_adk.serve(framework_agent, store=MemoryStore(), **options)
    async with served(made) as client:
        session = await client.new_session()
        return [await client.turn(session, text) for text in texts]


async def test_structured_output_is_said_as_json_at_the_end() -> None:
    model = Says(said=[Say('{"name": '), Say('"Ada"}')])
    (heard,) = await turn_of(LlmAgent(name="a", model=model, output_schema=Person), "who?")
    assert heard.text == '```json\n{\n  "name": "Ada"\n}\n```'


async def test_too_many_answers_are_a_stop_reason() -> None:
    def again() -> str:
        return "again"

    framework_agent = LlmAgent(name="a", model=Says(said=[Call("call", "again")]), tools=[again])
    config = RunConfig(max_llm_calls=2, streaming_mode=StreamingMode.SSE)
    (heard,) = await turn_of(framework_agent, "go", run_config=config)
    assert heard.stop_reason == "max_turn_requests"


async def test_a_session_service_of_the_author_keeps_the_conversation() -> None:
    service = InMemorySessionService()
    framework_agent = LlmAgent(name="a", model=RehearsedModel())
    made = google_adk.serve(framework_agent, store=MemoryStore(), services={"session_service": service})
    async with served(made) as client:
        session = await client.new_session()
        await client.turn(session, "hello")
        heard = await client.turn(session, "remember")
    assert heard.text == "hello / remember"
    assert await service.get_session(app_name="a", user_id="user", session_id=session) is not None


async def test_a_transfer_is_a_notice_and_the_other_agent_answers() -> None:
    class Transfers(RehearsedModel):
        def answer(self, _: list[Any]) -> list[Step]:
            return [Call("call_1", "transfer_to_agent", {"agent_name": "second"})]

    second = LlmAgent(name="second", model=Says(said=[Say("Second here.")]))
    first = LlmAgent(name="first", model=Transfers(), sub_agents=[second])
    (heard,) = await turn_of(first, "hello")
    assert heard.text.endswith("Second here.")
    assert "first hands over to second" in heard.text
