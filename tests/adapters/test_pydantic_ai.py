"""The adapter for pydantic-ai: the contract of all adapters, and what is its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason='pydantic-ai is missing: pip install -e ".[agent]"')

from pydantic import BaseModel
from pydantic_ai import (
    Agent as PydanticAgent,
    CallDeferred,
    DeferredToolRequests,
    NativeOutput,
    PromptedOutput,
    RunContext,
    UsageLimits,
)
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel

import accord
from accord.adapters import serve
from accord.agent import Agent, Turn
from accord.errors import RateLimited
from accord.stores import MemoryStore
from accord.stores.interface import Store
from tests.adapters.adapter_contract import AdapterContract
from tests.adapters.pydantic_ai_agent import agent, conversation
from tests.agent.rig import choose, served


class TestPydanticAi(AdapterContract):
    def make(self, store: Store) -> Agent:
        return serve(agent, store=store)

    def keyless(self) -> Any:
        pytest.importorskip("openai", reason='openai is missing: pip install -e ".[agent]"')
        return PydanticAgent("openai:gpt-5", defer_model_check=True)


async def turn_of(framework_agent: PydanticAgent[Any, Any], text: str = "go", **options: Any) -> Any:
    async with served(serve(framework_agent, store=MemoryStore(), **options)) as client:
        return await client.turn(await client.new_session(), text)


async def test_the_agents_own_name_is_that_of_the_served_one() -> None:
    assert serve(PydanticAgent(TestModel(), name="support"), store=None).name == "support"


async def test_structured_output_is_said_as_json() -> None:
    class Answer(BaseModel):
        city: str

    heard = await turn_of(PydanticAgent(TestModel(), output_type=Answer))
    assert '"city"' in heard.text
    assert heard.tools() == {}


@pytest.mark.parametrize("mode", [NativeOutput, PromptedOutput])
async def test_an_output_that_the_model_writes_as_text_is_said_once_and_the_text_before_a_call_too(mode: Any) -> None:
    class Answer(BaseModel):
        city: str

    async def answer(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[Any]:
        if conversation(messages)[1]:
            yield '{"city": '
            yield '"Ulm"}'
        else:
            yield "I look."
            yield {1: DeltaToolCall("look", "{}", tool_call_id="call_1")}

    inner = PydanticAgent(FunctionModel(stream_function=answer), output_type=mode(Answer))

    @inner.tool_plain
    def look() -> str:
        return "seen"

    heard = await turn_of(inner)
    assert heard.text.replace("\n\n", "") == 'I look.```json\n{\n  "city": "Ulm"\n}\n```'


async def test_the_text_of_an_output_function_is_said() -> None:
    def loud(text: str) -> str:
        return text.upper()

    heard = await turn_of(PydanticAgent(TestModel(custom_output_args={"text": "hello"}), output_type=loud))
    assert heard.text == "HELLO"


async def test_dependencies_are_made_from_the_turn() -> None:
    inner = PydanticAgent(TestModel(), deps_type=str)

    @inner.tool
    async def where(context: RunContext[str]) -> str:
        return context.deps

    async def deps(turn: Turn) -> str:
        return f"in {turn.session.cwd}"

    heard = await turn_of(inner, deps=deps)
    assert "in /tmp" in str(heard.tools())


@pytest.mark.parametrize(
    ("limits", "reason"),
    [(UsageLimits(request_limit=1), "max_turn_requests"), (UsageLimits(output_tokens_limit=1), "max_tokens")],
)
async def test_a_limit_is_a_stop_reason(limits: UsageLimits, reason: str) -> None:
    inner = PydanticAgent(TestModel())

    @inner.tool_plain
    def again() -> str:
        return "again"

    assert (await turn_of(inner, usage_limits=limits)).stop_reason == reason


async def test_the_model_is_the_one_that_the_user_chose() -> None:
    inner = PydanticAgent(None, name="chooser")
    agent = serve(inner, models=["test", "other"], store=MemoryStore())
    async with served(agent) as client:
        session = await client.new_session()
        heard = await client.turn(session)
    assert heard.stop_reason == "end_turn"
    assert heard.text


async def test_an_error_of_the_provider_is_a_sentence() -> None:
    async def busy(_: list[ModelMessage], __: AgentInfo) -> AsyncIterator[str]:
        raise ModelHTTPError(429, "some-model", {"message": "secret-key-123"})
        yield ""

    heard = await turn_of(PydanticAgent(FunctionModel(stream_function=busy)))
    assert heard.error["code"] == RateLimited.code
    assert "secret-key-123" not in str(heard.error)


async def test_tokens_are_counted_for_the_turn_and_for_the_context() -> None:
    async with accord.connect(serve(PydanticAgent(TestModel()), store=None)) as connected:
        session = await connected.new_session("/tmp")  # noqa: S108 - nothing is written there
        turn = await session.prompt("count")
    assert turn.token_usage is not None
    assert turn.token_usage.total_tokens > 0
    assert session.transcript.usage is not None


async def test_a_prompt_whose_run_fails_at_once_is_remembered(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    async def fail_first(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[str]:
        seen.append(conversation(messages)[0])
        if len(seen) == 1:
            raise ValueError
        yield "now"

    async with served(serve(PydanticAgent(FunctionModel(stream_function=fail_first)), store=MemoryStore())) as client:
        session = await client.new_session(str(tmp_path))
        first = await client.turn(session, "one")
        second = await client.turn(session, "two")
    assert (first.stop_reason, second.text) == ("error", "now")
    assert seen == [["one"], ["one", "two"]]


@pytest.mark.parametrize("outputs", [str, [str, DeferredToolRequests]])
async def test_a_call_that_runs_elsewhere_fails_and_its_turn_does_not(outputs: Any) -> None:
    async def answer(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[Any]:
        if conversation(messages)[1]:
            yield "Then not."
        else:
            yield {0: DeltaToolCall("elsewhere", "{}", tool_call_id="call_1")}
            yield {1: DeltaToolCall("here", "{}", tool_call_id="call_2")}

    framework_agent = PydanticAgent(FunctionModel(stream_function=answer), output_type=outputs)

    @framework_agent.tool_plain
    def elsewhere() -> str:
        raise CallDeferred

    @framework_agent.tool_plain(requires_approval=True)
    def here() -> str:
        return "done"

    async with served(serve(framework_agent, store=MemoryStore())) as client:
        client.answers["session/request_permission"] = choose("allow")
        heard = await client.turn(await client.new_session(), "go")
    assert (heard.text, heard.stop_reason) == ("Then not.", "end_turn")
    assert {call: tool["status"] for call, tool in heard.tools().items()} == {"call_1": "failed", "call_2": "completed"}
