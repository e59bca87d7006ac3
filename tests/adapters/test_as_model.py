"""An ACP agent as a model of pydantic-ai, streamed and whole."""

from __future__ import annotations

from pathlib import Path

import pytest

import accord
from accord.adapters import as_model

pydantic_ai = pytest.importorskip("pydantic_ai", reason="pydantic-ai is missing: install accord[agent]")


def thinker() -> accord.Agent:
    agent = accord.Agent("thinker", store=accord.MemoryStore())

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        await turn.think("Let me see.")
        await turn.say("You said: ")
        await turn.say(turn.text)

    return agent


async def test_the_last_prompt_goes_to_the_agent_and_its_answer_comes_back(tmp_path: Path) -> None:
    agent = pydantic_ai.Agent(as_model(thinker(), cwd=tmp_path))
    first = await agent.run("one")
    assert first.output == "You said: one"
    second = await agent.run("two", message_history=first.all_messages())
    assert second.output == "You said: two"
    parts = second.new_messages()[-1].parts
    assert [part.content for part in parts] == ["Let me see.", "You said: two"]


async def test_the_answer_is_streamed(tmp_path: Path) -> None:
    agent = pydantic_ai.Agent(as_model(thinker(), cwd=tmp_path, model_name="thinker"))
    async with agent.run_stream("three") as result:
        pieces = [piece async for piece in result.stream_text(delta=True, debounce_by=None)]
    assert "".join(pieces) == "You said: three"
    assert len(pieces) > 1


async def test_an_agent_is_a_tool_of_an_agent(tmp_path: Path) -> None:
    models = pytest.importorskip("pydantic_ai.models.test")
    function = accord.as_function(thinker(), cwd=tmp_path, name="thinker")
    agent = pydantic_ai.Agent(models.TestModel(custom_output_text="done"), tools=[function])
    result = await agent.run("go")
    returns = [part for message in result.all_messages() for part in message.parts if part.part_kind == "tool-return"]
    assert [(part.tool_name, part.content) for part in returns] == [("thinker", "You said: a")]
