"""The adapter for Google ADK: the contract of all adapters, and what is its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

pytest.importorskip("google.adk", reason="Google ADK is missing: run scripts/adapters")

from google.adk.agents import LlmAgent, ParallelAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.sessions import InMemorySessionService
from google.adk.tools import ToolContext
from google.genai import types
from pydantic import BaseModel

from accord.adapters import google_adk
from accord.agent import Agent
from accord.stores import MemoryStore
from accord.stores.interface import Store
from tests.adapters.adapter_contract import AdapterContract
from tests.adapters.google_adk_agent import RehearsedModel, agent, conversation
from tests.adapters.rehearsal import Call, Say, Step
from tests.agent.rig import Heard, served

pytestmark = pytest.mark.filterwarnings("ignore")


class TestGoogleAdk(AdapterContract):
    def make(self, store: Store) -> Agent:
        return google_adk.serve(agent, store=store)

    def keyless(self) -> Any:
        return LlmAgent(name="keyless", model="gemini-3-pro")


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


async def test_text_before_a_call_is_said_where_the_output_is_structured() -> None:
    class LooksFirst(RehearsedModel):
        def answer(self, contents: list[Any]) -> list[Step]:
            if conversation(contents)[1]:
                return [Call("call_2", "set_model_response", {"name": "Ada"})]
            return [Say("I look."), Call("call_1", "look")]

    def look() -> str:
        return "seen"

    (heard,) = await turn_of(LlmAgent(name="a", model=LooksFirst(), tools=[look], output_schema=Person), "who?")
    assert heard.text.replace("\n\n", "") == 'I look.```json\n{\n  "name": "Ada"\n}\n```'
    assert list(heard.tools()) == ["call_1"]


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


async def test_agents_that_run_at_the_same_time_answer_one_after_the_other_and_once() -> None:
    both_begun = asyncio.Barrier(2)

    class InTurn(Says):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[Any]:  # noqa: FBT001, FBT002
            async for response in super().generate_content_async(llm_request, stream):
                await both_begun.wait()  # so that the pieces of both come in turn
                yield response

    names = ("first", "second")
    agents = [LlmAgent(name=name, model=InTurn(said=[Say(f"{name} "), Say("is done.")])) for name in names]
    (heard,) = await turn_of(ParallelAgent(name="all", sub_agents=agents), "hello")
    assert sorted(text for text in heard.text.split("\n\n") if "Info" not in text) == [
        "first is done.",
        "second is done.",
    ]
    assert "hands over" not in heard.text


async def test_artifacts_and_memories_work_without_services_and_are_of_one_session_alone() -> None:
    async def keep(tool_context: ToolContext) -> list[str]:
        found = await tool_context.search_memory("hello")
        names = [*await tool_context.list_artifacts(), *(str(memory) for memory in found.memories)]
        await tool_context.save_artifact("user:notes.txt", types.Part(text="kept"))
        await tool_context.add_session_to_memory()
        return names

    class Keeps(RehearsedModel):
        def answer(self, contents: list[Any]) -> list[Step]:
            prompts, results, _ = conversation(contents)
            return [Say(str(results))] if results else [Call(f"call_{len(prompts)}", "keep")]

    made = google_adk.serve(LlmAgent(name="a", model=Keeps(), tools=[keep]), store=MemoryStore())
    async with served(made) as client:
        session, other = await client.new_session(), await client.new_session()
        first, second = [await client.turn(session, text) for text in ("hello", "again")]
        third = await client.turn(other, "hello")
    assert [heard.tools()[call]["status"] for heard, call in ((first, "call_1"), (second, "call_2"))] == [
        "completed"
    ] * 2
    assert "in memory" in first.text
    assert "in memory" not in second.text
    assert "notes.txt" in second.text
    assert "notes.txt" not in third.text
