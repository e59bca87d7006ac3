"""A real agent from npm as a tool inside each framework, by `accord.as_function`; a missing framework is a skip."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import accord
from tests.interop.llm.script import Say, Script

if os.environ.get("ACCORD_REAL_AGENTS") is None:
    pytest.skip("scripts/test --interop", allow_module_level=True)

from tests.interop.test_real_agents import DEADLINES, GOODBYE, PROMPT, Talk, staged, talk

__all__ = ["talk"]

pytestmark = pytest.mark.timeout(240)


async def in_pydantic_ai(function: Any) -> str:
    pydantic_ai = pytest.importorskip("pydantic_ai", reason="pydantic-ai is missing: pip install pydantic-ai-slim")
    models = pytest.importorskip("pydantic_ai.models.function")
    messages = pytest.importorskip("pydantic_ai.messages")

    def respond(history: list[Any], _: Any) -> Any:
        last = history[-1].parts[-1]
        if isinstance(last, messages.ToolReturnPart):
            return messages.ModelResponse(parts=[messages.TextPart(content=last.content)])
        return messages.ModelResponse(parts=[messages.ToolCallPart(function.__name__, {"task": PROMPT})])

    return str((await pydantic_ai.Agent(models.FunctionModel(respond), tools=[function]).run("go")).output)


async def in_langgraph(function: Any) -> str:
    prebuilt = pytest.importorskip("langgraph.prebuilt", reason="LangGraph is missing: pip install langgraph")
    graph = pytest.importorskip("langgraph.graph")
    messages = pytest.importorskip("langchain_core.messages")
    tools = pytest.importorskip("langchain_core.tools")
    node = prebuilt.ToolNode([tools.tool(function, parse_docstring=True)])
    built = graph.StateGraph(graph.MessagesState).add_node("tools", node).add_edge(graph.START, "tools").compile()
    call = {"name": function.__name__, "args": {"task": PROMPT}, "id": "1", "type": "tool_call"}
    state = await built.ainvoke({"messages": [messages.AIMessage("", tool_calls=[call])]})
    return str(state["messages"][-1].content)


async def in_openai_agents(function: Any) -> str:
    agents = pytest.importorskip("agents", reason="the OpenAI Agents SDK is missing: pip install openai-agents")
    contexts = pytest.importorskip("agents.tool_context")
    tool = agents.function_tool(function)
    arguments = json.dumps({"task": PROMPT})
    context = contexts.ToolContext(context=None, tool_name=tool.name, tool_call_id="1", tool_arguments=arguments)
    return str(await tool.on_invoke_tool(context, arguments))


async def in_strands(function: Any) -> str:
    strands = pytest.importorskip("strands", reason="Strands is missing: pip install strands-agents")
    made = strands.tool(function)
    async for event in made.stream({"toolUseId": "1", "name": function.__name__, "input": {"task": PROMPT}}, {}):
        last = event
    result = last.get("tool_result", last)
    return str(result["content"][0]["text"])


async def in_adk(function: Any) -> str:
    tools = pytest.importorskip("google.adk.tools", reason="Google ADK is missing: pip install google-adk")
    return str(await tools.FunctionTool(function).run_async(args={"task": PROMPT}, tool_context=None))


FRAMEWORKS: dict[str, Callable[[Any], Awaitable[str]]] = {
    "pydantic-ai": in_pydantic_ai,
    "langgraph": in_langgraph,
    "openai-agents": in_openai_agents,
    "strands": in_strands,
    "adk": in_adk,
}


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_a_real_agent_is_a_tool_of_a_framework(framework: str, talk: Talk, tmp_path: Path) -> None:
    async with staged(talk, tmp_path) as stage:
        stage.model.script = Script([stage.tool, Say(GOODBYE)])
        function = accord.as_function(
            *talk.agent.argv,
            name="writer",
            cwd=stage.place.project,
            program_cwd=stage.place.project,
            env=talk.agent.environment(stage.place),
            permission=accord.Policy(["allow all"]),
            deadlines=DEADLINES,
            login=lambda _: talk.agent.login or "",
        )
        result = await FRAMEWORKS[framework](function)
        assert GOODBYE in result
        assert stage.place.file.exists()
