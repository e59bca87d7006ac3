"""The adapter for Strands: the contract of all adapters, and what is its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

pytest.importorskip("strands", reason="Strands is missing: run scripts/adapters")

import strands
from pydantic import BaseModel
from strands.multiagent import Swarm
from strands.session import FileSessionManager

from accord.adapters import strands as adapter
from accord.adapters.failures import CannotServe
from accord.agent import Agent
from accord.stores import MemoryStore
from accord.stores.interface import Store
from tests.adapters.adapter_contract import AdapterContract
from tests.adapters.rehearsal import Call, Say, Step
from tests.adapters.strands_agent import RehearsedModel, agent, ask_city, conversation
from tests.agent.rig import ELICITS, Heard, served


class TestStrands(AdapterContract):
    def make(self, store: Store) -> Agent:
        return adapter.serve(agent, store=store)

    def keyless(self) -> Any:
        return strands.Agent()


class Person(BaseModel):
    """A person."""

    name: str


class AsksForCity(RehearsedModel):
    def answer(self, messages: list[Any]) -> list[Step]:
        prompts, results, _ = conversation(messages)
        return [Say(f"Result: {results}")] if results else [Call(f"call_{len(prompts)}", "ask_city")]


async def turn_of(framework_agent: Any, *texts: str, **options: Any) -> list[Heard]:
    made = adapter.serve(framework_agent, store=MemoryStore(), **options)
    async with served(made) as client:
        session = await client.new_session()
        return [await client.turn(session, text) for text in texts]


async def test_structured_output_is_said_as_json_at_the_end() -> None:
    class Answers(RehearsedModel):
        def answer(self, _: list[Any]) -> list[Step]:
            return [Call("call_1", "Person", {"name": "Ada"})]

    (heard,) = await turn_of(strands.Agent(model=Answers(), structured_output_model=Person), "who?")
    assert heard.text == '```json\n{\n  "name": "Ada"\n}\n```'
    assert heard.tools() == {}


async def test_a_question_of_a_tool_is_a_form_where_the_client_has_forms() -> None:
    made = adapter.serve(strands.Agent(model=AsksForCity(), tools=[ask_city]), store=MemoryStore())
    async with served(made, capabilities=ELICITS) as client:
        client.answers["elicitation/create"] = lambda _: {"action": "accept", "content": {"answer": "Rome"}}
        heard = await client.turn(await client.new_session(), "ask")
    assert heard.text == "Result: ['in Rome']"


async def test_a_question_of_a_tool_is_otherwise_answered_by_the_next_prompt() -> None:
    framework_agent = strands.Agent(model=AsksForCity(), tools=[ask_city])
    first, second = await turn_of(framework_agent, "ask", "Oslo")
    assert first.text == "Which city?"
    assert second.text == "Result: ['in Oslo']"


async def test_the_pieces_that_a_tool_yields_are_shown_once() -> None:
    async def count() -> AsyncIterator[str]:
        """Count."""
        yield "one"
        yield "two"

    class Counts(RehearsedModel):
        def answer(self, messages: list[Any]) -> list[Step]:
            return [Say("Done.")] if conversation(messages)[1] else [Call("call_1", "count")]

    (heard,) = await turn_of(strands.Agent(model=Counts(), tools=[strands.tool(count)]), "go")
    call = heard.tools()["call_1"]
    assert call["status"] == "completed"
    assert [item["content"]["text"] for item in call["content"]] == ["one", "two"]


async def test_too_many_answers_are_a_stop_reason() -> None:
    def again() -> str:
        """Again."""
        return "again"

    class Calls(RehearsedModel):
        def answer(self, messages: list[Any]) -> list[Step]:
            return [Call(f"call_{len(messages)}", "again")]

    (heard,) = await turn_of(strands.Agent(model=Calls(), tools=[strands.tool(again)]), "go", limits={"turns": 2})
    assert heard.stop_reason == "max_turn_requests"


async def test_the_authors_agent_stays_as_it_is() -> None:
    framework_agent = strands.Agent(model=RehearsedModel(), state={"kept": 1})
    await turn_of(framework_agent, "hello")
    assert framework_agent.messages == []
    assert framework_agent.tool_names == []


def test_an_agent_with_a_session_manager_is_refused(tmp_path: Any) -> None:
    manager = FileSessionManager(session_id="one", storage_dir=str(tmp_path))
    with pytest.raises(CannotServe):
        adapter.serve(strands.Agent(model=RehearsedModel(), session_manager=manager))


def test_a_swarm_is_refused_and_not_taken_for_a_function() -> None:
    with pytest.raises(CannotServe):
        adapter.serve(Swarm([strands.Agent(name="one", model=RehearsedModel())]))


async def test_a_swarm_that_a_function_makes_is_a_sentence() -> None:
    def make(_: Any) -> Any:
        return Swarm([strands.Agent(name="one", model=RehearsedModel())])

    (heard,) = await turn_of(make, "hello")
    assert heard.error["data"] == {"reason": "agent"}


async def test_an_agent_may_be_made_for_each_turn_with_or_without_async() -> None:
    async def make(session: Any) -> Any:
        return strands.Agent(name="one", model=RehearsedModel(), state={"cwd": session.cwd})

    first, second = await turn_of(make, "hello", "remember")
    assert (first.text, second.text) == ("Hello there.", "hello / remember")
