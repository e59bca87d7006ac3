"""The texts of a new project on a framework: its agent, a model that needs no key, and its test.

The model of the project counts the words of a prompt with the agent's tool and says how many there are: the project's
tests pass without a key and without a network, and its first answer in an editor shows a tool call. Agents differ in
the lines that name their framework, and every framework has a model of its own; all else is the same for all of them.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["NATIVE", "FrameworkTexts"]


class FrameworkTexts(NamedTuple):
    """The texts of a project on one framework, and its requirement."""

    requirement: str
    agent: str
    test: str
    readme: str
    offline: str | None = None
    """The module with the model that needs no key."""


_TEST = '''\
"""The answers of the agent, with both ends of the conversation in this process and a model that needs no key."""

import asyncio

import accord
from accord.testing import join

from $module.agent import agent, count_words


async def talk(*texts: str) -> list[accord.client.Turn]:
    async with join(agent) as remote:
        session = await remote.new_session()
        return [await session.prompt(text) for text in texts]


def test_its_tool_counts_words() -> None:
    assert count_words("three small words") == 3


def test_its_tool_call_and_its_answer_reach_the_editor() -> None:
    (turn,) = asyncio.run(talk("three small words"))
    assert turn.text == "That was 3 words."
    assert [(call.name or call.title, call.status) for call in turn.tool_calls] == [("count_words", "completed")]
    assert turn.stop_reason == "end_turn"


def test_a_session_has_more_than_one_prompt() -> None:
    turns = asyncio.run(talk("three small words", "and two"))
    assert [turn.text for turn in turns] == ["That was 3 words.", "That was 2 words."]
'''


def _agent(kind: str, imports: str, model: str, assistant: str) -> str:
    """The module of an agent: `kind` describes the agent, `model` the models that it takes."""
    return f'''\
"""$title: {kind} that every editor with the Agent Client Protocol can use."""

import os

from accord.adapters import serve
{imports}

from $module.offline import OfflineModel

# {model}
MODEL = os.environ.get("$variable") or OfflineModel()


def count_words(text: str) -> int:
    """Count the words of a text.

    Args:
        text: The text.
    """
    return len(text.split())


{assistant}

agent = serve(assistant, "$name", version="0.1.0")


def main() -> None:
    """Serve an editor on stdin and stdout."""
    agent.run()


if __name__ == "__main__":
    main()
'''


def _offline(code: str) -> str:
    return f'''\
"""A model that needs no key and no network: it calls the tool that counts words, and answers with the number."""

{code}'''


def _readme(models: str, install: str) -> str:
    return f"""
## The model

Set `$variable` to {models}: {install}.
Without it the agent answers with a model of its own that only counts words.
"""


PYDANTIC_AI = FrameworkTexts(
    requirement="pydantic-ai-slim>=2.60",
    agent=_agent(
        "a pydantic-ai agent",
        "from pydantic_ai import Agent",
        "A model of pydantic-ai, such as anthropic:claude-sonnet-4-5.",
        'assistant = Agent(MODEL, instructions="You are $title. Answer in short sentences.", tools=[count_words])',
    ),
    offline=_offline("""\
import json
from collections.abc import AsyncIterator
from typing import Any

from pydantic_ai.messages import ModelMessage, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel


class OfflineModel(FunctionModel):
    def __init__(self) -> None:
        super().__init__(stream_function=answer)


async def answer(messages: list[ModelMessage], info: Any) -> AsyncIterator[Any]:
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        yield f"That was {last.content} words."
    elif isinstance(last, UserPromptPart):
        said = [last.content] if isinstance(last.content, str) else last.content
        words = "".join(part for part in said if isinstance(part, str))
        yield {0: DeltaToolCall("count_words", json.dumps({"text": words}), tool_call_id=f"call-{len(messages)}")}
"""),
    test=_TEST,
    readme=_readme("a model of pydantic-ai and install its provider", "`pip install 'pydantic-ai-slim[anthropic]'`"),
)

LANGGRAPH = FrameworkTexts(
    requirement="langchain>=1.2",
    agent=_agent(
        "a LangChain agent",
        "from langchain.agents import create_agent",
        "A model of LangChain, such as anthropic:claude-sonnet-4-5.",
        """\
assistant = create_agent(
    MODEL,
    tools=[count_words],
    system_prompt="You are $title. Answer in short sentences.",
)""",
    ),
    offline=_offline("""\
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class OfflineModel(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "offline"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *more: Any, **options: Any) -> ChatResult:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            answer = AIMessage(f"That was {last.text} words.")
        else:
            call = {"name": "count_words", "args": {"text": str(last.text)}, "id": f"call-{len(messages)}"}
            answer = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=answer)])
"""),
    test=_TEST,
    readme=_readme("a model of LangChain and install its provider", "`pip install langchain-anthropic`"),
)

OPENAI_AGENTS = FrameworkTexts(
    requirement="openai-agents>=0.20",
    agent=_agent(
        "an agent of the OpenAI Agents SDK",
        "from agents import Agent, function_tool, set_tracing_disabled",
        "A model of OpenAI, such as gpt-5.1.",
        """\
# Nothing of a conversation is sent to OpenAI's traces.
set_tracing_disabled(True)
assistant = Agent(
    name="$title",
    model=MODEL,
    instructions="You are $title. Answer in short sentences.",
    tools=[function_tool(count_words)],
)""",
    ),
    offline=_offline("""\
import json
from collections.abc import AsyncIterator
from typing import Any

from agents import Model, ModelResponse
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
)


class OfflineModel(Model):
    async def get_response(self, *given: Any, **options: Any) -> ModelResponse:
        raise NotImplementedError("this model only streams")

    async def stream_response(self, instructions: Any, items: Any, *more: Any, **options: Any) -> AsyncIterator[Any]:
        last = items[-1]
        if last.get("type") == "function_call_output":
            text = f"That was {last['output']} words."
            yield ResponseTextDeltaEvent(
                delta=text,
                logprobs=[],
                type="response.output_text.delta",
                output_index=0,
                content_index=0,
                item_id="message",
                sequence_number=0,
            )
            whole = ResponseOutputText(text=text, annotations=[], type="output_text")
            output: Any = ResponseOutputMessage(
                id="message", content=[whole], role="assistant", status="completed", type="message"
            )
        else:
            said = last["content"]
            words = said if isinstance(said, str) else "".join(part.get("text", "") for part in said)
            output = ResponseFunctionToolCall(
                call_id=f"call-{len(items)}",
                name="count_words",
                arguments=json.dumps({"text": words}),
                type="function_call",
            )
        response = Response(
            id="response",
            created_at=0,
            model="offline",
            object="response",
            output=[output],
            parallel_tool_calls=True,
            tool_choice="auto",
            tools=[],
        )
        yield ResponseCompletedEvent(response=response, sequence_number=1, type="response.completed")
"""),
    test=_TEST,
    readme=_readme("a model of OpenAI, and `OPENAI_API_KEY` to your key", "both are read when the agent starts"),
)

GOOGLE_ADK = FrameworkTexts(
    requirement="google-adk>=2.13",
    agent=_agent(
        "an agent of Google ADK",
        "from google.adk.agents import LlmAgent",
        "A model of Gemini, such as gemini-3-flash.",
        """\
assistant = LlmAgent(
    name="$module",
    model=MODEL,
    instruction="You are $title. Answer in short sentences.",
    tools=[count_words],
)""",
    ),
    offline=_offline("""\
from collections.abc import AsyncIterator
from typing import Any

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.genai import types


class OfflineModel(BaseLlm):
    model: str = "offline"

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[Any]:
        last = llm_request.contents[-1]
        results = [part.function_response.response for part in last.parts if part.function_response]
        if results:
            answer = types.Part(text=f"That was {results[-1]['result']} words.")
        else:
            words = "".join(part.text or "" for part in last.parts)
            call = types.FunctionCall(
                id=f"call-{len(llm_request.contents)}", name="count_words", args={"text": words}
            )
            answer = types.Part(function_call=call)
        yield LlmResponse(content=types.Content(role="model", parts=[answer]))
"""),
    test=_TEST,
    readme=_readme("a model of Gemini, and `GOOGLE_API_KEY` to your key", "both are read when the agent starts"),
)

STRANDS = FrameworkTexts(
    requirement="strands-agents>=1.62",
    agent=_agent(
        "a Strands agent",
        "from strands import Agent, tool",
        "A model of Amazon Bedrock, by its id.",
        """\
assistant = Agent(
    name="$title",
    model=MODEL,
    system_prompt="You are $title. Answer in short sentences.",
    tools=[tool(count_words)],
)""",
    ),
    offline=_offline('''\
import json
from collections.abc import AsyncIterator
from typing import Any

from strands.models.model import Model


class OfflineModel(Model):
    def update_config(self, **config: Any) -> None:
        """There is nothing to set."""

    def get_config(self) -> dict[str, Any]:
        return {}

    async def structured_output(self, *given: Any, **options: Any) -> AsyncIterator[Any]:
        raise NotImplementedError("this model only streams")
        yield

    async def stream(self, messages: Any, *more: Any, **options: Any) -> AsyncIterator[Any]:
        last = messages[-1]["content"]
        results = [block["toolResult"]["content"][0]["text"] for block in last if "toolResult" in block]
        yield {"messageStart": {"role": "assistant"}}
        if results:
            yield {"contentBlockDelta": {"delta": {"text": f"That was {results[-1]} words."}}}
        else:
            words = "".join(block.get("text", "") for block in last)
            start = {"name": "count_words", "toolUseId": f"call-{len(messages)}"}
            yield {"contentBlockStart": {"start": {"toolUse": start}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps({"text": words})}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if results else "tool_use"}}
'''),
    test=_TEST,
    readme=_readme("a model of Amazon Bedrock, and set AWS's credentials", "they are read when the agent starts"),
)

NATIVE = {
    "pydantic-ai": PYDANTIC_AI,
    "langgraph": LANGGRAPH,
    "openai-agents": OPENAI_AGENTS,
    "google-adk": GOOGLE_ADK,
    "strands": STRANDS,
}
"""The frameworks with an adapter of their own, by the names that `accord new` takes."""
