"""The adapter for the OpenAI Agents SDK: the contract of all adapters, and what is its own."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("agents", reason="the OpenAI Agents SDK is missing: run scripts/adapters")

import agents
from pydantic import BaseModel

from accord.adapters import openai_agents
from accord.agent import Agent
from accord.stores import MemoryStore
from accord.stores.interface import Store
from tests.adapters.adapter_contract import AdapterContract
from tests.adapters.openai_agents_agent import RehearsedModel, agent, conversation
from tests.adapters.rehearsal import Call, Say, Step
from tests.agent.rig import Heard, served


class TestOpenAIAgents(AdapterContract):
    reports_failure = False  # where the author chose the words
    asks_with_a_value = False
    tells_the_model_why = "why" in agents.default_tool_error_function(None, Exception("why"))  # until 0.23

    def make(self, store: Store) -> Agent:
        return openai_agents.serve(agent, store=store)

    def keyless(self) -> Any:
        return agents.Agent(name="keyless")


class Person(BaseModel):
    name: str


class Says(RehearsedModel):
    def __init__(self, *said: Step) -> None:
        self._said = list(said)

    def answer(self, _: list[Any]) -> list[Step]:
        return self._said


async def turn_of(framework_agent: Any, *texts: str, **options: Any) -> list[Heard]:
    made = openai_agents.serve(framework_agent, store=MemoryStore(), **options)
    async with served(made) as client:
        session = await client.new_session()
        return [await client.turn(session, text) for text in texts]


async def test_structured_output_is_said_as_json_at_the_end() -> None:
    model = Says(Say('{"name": '), Say('"Ada"}'))
    (heard,) = await turn_of(agents.Agent(name="a", model=model, output_type=Person), "who?")
    assert heard.text == '```json\n{\n  "name": "Ada"\n}\n```'


async def test_text_before_a_call_is_said_where_the_output_is_structured() -> None:
    class LooksFirst(RehearsedModel):
        def answer(self, items: list[Any]) -> list[Step]:
            if conversation(items)[1]:
                return [Say('{"name": "Ada"}')]
            return [Say("I look."), Call("call_1", "look")]

    def look() -> str:
        return "seen"

    tools = [agents.function_tool(look)]
    (heard,) = await turn_of(agents.Agent(name="a", model=LooksFirst(), tools=tools, output_type=Person), "who?")
    assert heard.text.replace("\n\n", "") == 'I look.```json\n{\n  "name": "Ada"\n}\n```'


async def test_too_many_answers_are_a_stop_reason() -> None:
    def again() -> str:
        return "again"

    framework_agent = agents.Agent(name="a", model=Says(Call("call", "again")), tools=[agents.function_tool(again)])
    (heard,) = await turn_of(framework_agent, "go", max_turns=2)
    assert heard.stop_reason == "max_turn_requests"


async def test_a_guardrail_is_a_refusal_that_the_history_does_not_have() -> None:
    def no_secrets(_context: Any, _agent: Any, given: Any) -> agents.GuardrailFunctionOutput:
        prompts = conversation(given)[0]
        return agents.GuardrailFunctionOutput(None, tripwire_triggered=prompts[-1] == "secret")

    framework_agent = agents.Agent(
        name="a", model=RehearsedModel(), input_guardrails=[agents.input_guardrail(no_secrets)]
    )
    first, second = await turn_of(framework_agent, "secret", "remember")
    assert first.stop_reason == "refusal"
    assert second.text == "remember"


async def test_a_handoff_holds_for_the_next_prompt() -> None:
    class HandsOver(RehearsedModel):
        def answer(self, _: list[Any]) -> list[Step]:
            return [Call("call_1", "transfer_to_second")]

    second = agents.Agent(name="second", model=Says(Say("Second here.")))
    first = agents.Agent(name="first", model=HandsOver(), handoffs=[second])
    one, two = await turn_of(first, "hello", "hello")
    assert one.text.endswith("Second here.")
    assert two.text == "Second here."


async def test_an_agent_may_be_made_for_each_session() -> None:
    (heard,) = await turn_of(lambda session: agents.Agent(name="a", model=Says(Say(session.cwd))), "where?", name="b")
    assert heard.text == "/tmp"  # noqa: S108 - where the tests' sessions are
