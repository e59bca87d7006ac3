"""The adapter for LangGraph: the contract of all adapters for three kinds of graphs, and what is its own."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

pytest.importorskip("langgraph", reason="LangGraph is missing: scripts/adapters langgraph")
pytest.importorskip("langchain", reason="LangChain is missing: scripts/adapters langgraph")

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import END, START, StateGraph, add_messages
from langgraph.types import interrupt
from pydantic import BaseModel

import accord
from accord.adapters import langgraph, serve
from accord.adapters.failures import CannotServe
from accord.adapters.langgraph import serve as serve_graph
from accord.agent import Agent, Session
from accord.stores import MemoryStore
from accord.stores.interface import Store
from tests.adapters.adapter_contract import MCP_SERVER, PERMISSION, AdapterContract
from tests.adapters.langgraph_agent import RehearsedModel, agent, chunk, conversation, delete_file, make_graph
from tests.adapters.rehearsal import Call, Say, Step
from tests.agent.rig import ELICITS, choose, served

ELICIT = "elicitation/create"


class TestGraph(AdapterContract):
    takes_mcp = False

    def make(self, store: Store) -> Agent:
        return serve(agent, store=store)

    def keyless(self) -> Any:
        google = pytest.importorskip(
            "langchain_google_genai", reason="langchain-google-genai: scripts/adapters --newest"
        )
        return lambda _: create_agent(google.ChatGoogleGenerativeAI(model="gemini-3-pro"), [])


class TestFactory(TestGraph):
    takes_mcp = True

    def make(self, store: Store) -> Agent:
        async def factory(_: Session, tools: list[Any]) -> Any:
            return make_graph(*tools)

        return serve_graph(factory, store=store)


class Messages(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def graph_of(node: Any, state: Any = Messages, checkpointer: Any = None) -> Any:
    builder = StateGraph(state)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.add_edge("node", END)
    return builder.compile(checkpointer)


async def turn_of(graph: Any, text: str = "go", **options: Any) -> Any:
    async with served(serve_graph(graph, store=MemoryStore(), **options)) as client:
        return await client.turn(await client.new_session(), text)


async def test_a_node_that_streams_nothing_is_heard_once() -> None:
    def node(_: Messages) -> dict[str, Any]:
        return {"messages": [{"role": "assistant", "content": "from a dict"}]}

    assert (await turn_of(graph_of(node))).text == "from a dict"


async def test_a_node_that_returns_a_whole_message_says_it_once() -> None:
    def node(_: Messages) -> dict[str, Any]:
        return {"messages": [AIMessage("whole")]}

    assert (await turn_of(graph_of(node))).text == "whole"


async def test_an_agent_inside_of_a_graph_speaks_and_a_tools_agent_does_not() -> None:
    assert (await turn_of(graph_of(make_graph()), "hello")).text == "Hello there."


async def test_a_graph_without_messages_is_refused_in_a_sentence() -> None:
    class Other(TypedDict):
        number: int

    heard = await turn_of(graph_of(lambda _: {"number": 1}, Other))
    assert heard.stop_reason == "error"
    assert "messages" in heard.error["message"]


class Person(BaseModel):
    name: str


class LooksFirst(RehearsedModel):
    """Says something, looks, and then gives a structured output by a call."""

    def _stream(self, messages: list[Any], *_: Any, **__: Any) -> Iterator[ChatGenerationChunk]:
        said: list[Step] = [Say("I look."), Call("call_1", "look")]
        if conversation(messages)[1]:
            said = [Call("call_2", "Person", {"name": "Ada"})]
        for place, step in enumerate(said):
            yield ChatGenerationChunk(message=chunk(step, place))


@pytest.mark.parametrize("inside", [False, True])
async def test_structured_output_is_said_as_json_at_the_end_and_is_no_tool_call(inside: bool) -> None:  # noqa: FBT001
    class Output(Messages):
        structured_response: Any

    def look() -> str:
        """Look."""
        return "seen"

    graph = create_agent(LooksFirst(), [look], response_format=ToolStrategy(Person))
    heard = await turn_of(graph_of(graph, Output) if inside else graph)
    assert heard.text.replace("\n\n", "") == 'I look.```json\n{\n  "name": "Ada"\n}\n```'
    assert list(heard.tools()) == ["call_1"]


async def test_a_structured_output_of_an_earlier_turn_is_not_said_again() -> None:
    class Output(Messages):
        structured_response: Any

    def node(state: Output) -> dict[str, Any]:
        return {"structured_response": {"number": 1}} if len(state["messages"]) == 1 else {"messages": []}

    async with served(serve_graph(graph_of(node, Output), store=MemoryStore())) as client:
        session = await client.new_session()
        first, second = [await client.turn(session, "go") for _ in range(2)]
    assert '"number": 1' in first.text
    assert second.text == ""


async def test_a_graph_that_is_not_compiled_is_compiled() -> None:
    builder = StateGraph(Messages)
    builder.add_node("node", lambda _: {"messages": [AIMessage("compiled")]})
    builder.add_edge(START, "node")
    assert (await turn_of(builder)).text == "compiled"
    assert (await turn_of(lambda _: builder)).text == "compiled"


def asks(_: Messages) -> dict[str, Any]:
    city = interrupt("Which city?")
    return {"messages": [AIMessage(f"You said {city}")]}


async def test_a_free_question_is_a_form_where_the_client_has_forms() -> None:
    async with served(serve_graph(graph_of(asks), store=MemoryStore()), capabilities=ELICITS) as client:
        client.answers[ELICIT] = lambda _: {"action": "accept", "content": {"answer": "Köln"}}
        assert (await client.turn(await client.new_session())).text == "You said Köln"


async def test_without_forms_the_next_prompt_is_the_answer() -> None:
    async with served(serve_graph(graph_of(asks), store=MemoryStore())) as client:
        session = await client.new_session()
        assert (await client.turn(session)).text == "Which city?"
        assert (await client.turn(session, "Ulm")).text == "You said Ulm"


@pytest.mark.parametrize("checkpointer", [None, InMemorySaver()])
async def test_after_a_restart_a_question_is_asked_again(checkpointer: Any) -> None:
    store = MemoryStore()

    def node(state: Messages) -> dict[str, Any]:
        city = interrupt("Which city?")
        return {"messages": [AIMessage(f"You said {city} after {len(state['messages'])} prompts")]}

    async with served(serve_graph(graph_of(node, checkpointer=checkpointer), store=store)) as client:
        session = await client.new_session()
        assert (await client.turn(session)).text == "Which city?"
    async with served(serve_graph(graph_of(node, checkpointer=checkpointer), store=store)) as client:
        await client.request("session/resume", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})  # noqa: S108
        assert (await client.turn(session, "go")).text == "Which city?"
        assert (await client.turn(session, "Ulm")).text == "You said Ulm after 2 prompts"


async def test_approval_for_each_call_is_about_the_very_call(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("old")
    try:
        middleware = HumanInTheLoopMiddleware(interrupt_on={"delete_file": True}, interrupt_mode="per_call")
    except TypeError:
        pytest.skip("this LangChain has no interrupts for each call: install a newer one")
    graph = create_agent(RehearsedModel(), [delete_file], middleware=[middleware])
    async with served(serve_graph(graph, store=MemoryStore())) as client:
        client.answers[PERMISSION] = choose("allow")
        heard = await client.turn(await client.new_session(str(tmp_path)), "delete")
    assert [question["params"]["toolCall"]["toolCallId"] for question in heard.requests(PERMISSION)] == ["call_1"]
    assert heard.tools()["call_1"]["status"] == "completed"


async def test_other_values_of_the_state_are_kept_over_a_restart() -> None:
    class Counting(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]
        count: int

    def node(state: Counting) -> dict[str, Any]:
        count = state.get("count", 0) + 1
        return {"messages": [AIMessage(str(count))], "count": count}

    store = MemoryStore()
    async with served(serve_graph(graph_of(node, Counting), store=store)) as client:
        session = await client.new_session()
        await client.turn(session)
    async with served(serve_graph(graph_of(node, Counting), store=store)) as client:
        await client.request("session/resume", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})  # noqa: S108
        assert (await client.turn(session)).text == "2"


async def test_the_authors_graph_is_not_changed() -> None:
    graph = graph_of(asks)
    await turn_of(graph)
    assert graph.checkpointer is None


async def test_endless_graphs_end_with_a_stop_reason() -> None:
    builder = StateGraph(Messages)
    builder.add_node("node", lambda _: {"messages": []})
    builder.add_edge(START, "node")
    builder.add_edge("node", "node")
    assert (await turn_of(builder.compile(), recursion_limit=5)).stop_reason == "max_turn_requests"


async def test_the_users_mcp_servers_that_are_not_used_are_mentioned_once(tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="the client's MCP servers need the extra `mcp`")
    server: dict[str, Any] = {"name": "sums", "command": sys.executable, "args": [str(MCP_SERVER)], "env": []}
    async with served(serve_graph(make_graph(), store=MemoryStore())) as client:
        session = await client.new_session(str(tmp_path), mcpServers=[server])
        first, second = [await client.turn(session, "hello") for _ in range(2)]
    assert "MCP" in first.text
    assert second.text == "Hello there."


async def test_tokens_are_counted() -> None:
    async with accord.connect(serve_graph(make_graph(), store=None)) as connected:
        session = await connected.new_session("/tmp")  # noqa: S108 - nothing is written there
        turn = await session.prompt("hello")
    assert turn.token_usage is not None
    assert turn.token_usage.total_tokens == 10


async def test_an_in_memory_checkpointer_of_the_author_does_not_lose_the_history_of_a_restart() -> None:
    store = MemoryStore()
    for text, answer in (("hello", "Hello there."), ("remember", "hello / remember")):
        graph = create_agent(RehearsedModel(), [], checkpointer=InMemorySaver())
        async with served(serve_graph(graph, store=store)) as client:
            if text == "hello":
                session = await client.new_session()
            else:
                await client.request("session/resume", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})  # noqa: S108
            assert (await client.turn(session, text)).text == answer


# --- what is no graph with messages


async def turns_of(given: Any, *texts: str) -> list[Any]:
    async with served(serve(given, store=MemoryStore())) as client:
        session = await client.new_session()
        return [await client.turn(session, text) for text in texts]


def chain(*said: str) -> Any:
    return FakeListChatModel(responses=list(said))


RUNNABLES: dict[str, tuple[Any, str]] = {
    "a chain with a parser": (
        ChatPromptTemplate.from_messages([("system", "Be short"), ("human", "{question}")])
        | RunnableLambda(lambda prompt: f"asked {prompt.to_messages()[-1].content}")
        | StrOutputParser(),
        "asked go",
    ),
    "a prompt and a model": (ChatPromptTemplate.from_template("{topic}") | chain("streamed"), "streamed"),
    "a model": (chain("streamed"), "streamed"),
    "a model and a parser": (chain("streamed") | StrOutputParser(), "streamed"),
    "a function": (RunnableLambda(lambda text: f"got {text}"), "got go"),
    "a passed text": (
        {"question": RunnablePassthrough()}
        | ChatPromptTemplate.from_template("{question}!")
        | RunnableLambda(lambda prompt: prompt.to_string()),
        "Human: go!",
    ),
    "a value": (RunnableLambda(lambda text: {"length": len(text)}), '```json\n{\n  "length": 2\n}\n```'),
}


@pytest.mark.parametrize("name", RUNNABLES)
async def test_a_runnable_of_langchain_is_served_and_said_once(name: str) -> None:
    given, text = RUNNABLES[name]
    (heard,) = await turns_of(given, "go")
    assert (heard.text, heard.stop_reason) == (text, "end_turn")


async def test_a_runnable_with_a_place_for_the_history_gets_the_conversation() -> None:
    prompt = ChatPromptTemplate.from_messages([("placeholder", "{history}"), ("human", "{question}")])
    given = prompt | RunnableLambda(lambda value: " / ".join(str(each.content) for each in value.to_messages()))
    _, second = await turns_of(given, "one", "two")
    assert second.text == "one / one / two"


async def test_an_entrypoint_gets_the_input_that_it_is_annotated_with() -> None:
    @entrypoint()
    def of_text(topic: str) -> str:
        return f"about {topic}"

    @entrypoint()
    async def of_messages(messages: list[AnyMessage]) -> Any:
        return [*messages, AIMessage(f"{len(messages)} messages")]

    @entrypoint()
    def of_anything(inputs: dict[str, Any]) -> Any:
        return AIMessage(str(inputs["messages"][-1].text))

    @entrypoint()
    def that_streams(topic: str) -> str:
        return str(chain("streamed").invoke(topic).text)

    for given, first, second in (
        (of_text, "about one", "about two"),
        (of_messages, "1 messages", "3 messages"),
        (of_anything, "one", "two"),
        (that_streams, "streamed", "streamed"),
    ):
        assert [heard.text for heard in await turns_of(given, "one", "two")] == [first, second]


async def test_an_entrypoint_has_its_previous_value_and_may_ask() -> None:
    @entrypoint()
    def counts(topic: str, *, previous: Any = None) -> Any:
        number = (previous or 0) + 1
        answer = interrupt(f"Which {topic}?") if topic == "city" else topic
        return entrypoint.final(value=f"{number} {answer}", save=number)

    heard = await turns_of(counts, "one", "city", "Ulm", "two")
    assert [each.text for each in heard] == ["1 one", "Which city?", "2 Ulm", "3 two"]


# --- functions


async def test_a_function_of_the_config_gets_that_of_the_run() -> None:
    def make_graph(config: Any) -> Any:
        thread = config["configurable"]["thread_id"]
        return graph_of(lambda _: {"messages": [AIMessage(f"thread {bool(thread)}")]})

    @asynccontextmanager
    async def make_with_a_context(config: Any) -> AsyncIterator[Any]:
        yield make_graph(config)

    for made in (make_graph, make_with_a_context):
        (heard,) = await turns_of(made, "go")
        assert heard.text == "thread True"


def made_of(graph: Any) -> Any:
    def make(_: Session) -> Any:
        return graph

    return make


@pytest.mark.parametrize("is_made", [False, True])
async def test_a_synchronous_checkpointer_is_refused_in_a_sentence(is_made: bool) -> None:  # noqa: FBT001
    class SqliteSaver(InMemorySaver):
        """By its name: the package of the real one is not a part of LangGraph."""

    class PostgresSaver(BaseCheckpointSaver[Any]): ...

    for saver in (SqliteSaver(), PostgresSaver()):
        graph = graph_of(asks, checkpointer=saver)
        if not is_made:
            with pytest.raises(CannotServe):
                serve_graph(graph)
            continue
        (heard,) = await turns_of(made_of(graph), "go")
        assert heard.error["data"] == {"reason": "agent"}
        assert "AsyncSqliteSaver" in heard.error["message"]


async def test_a_graph_without_an_end_has_a_limit_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(langgraph, "MAX_STEPS", 7)
    builder = StateGraph(Messages)
    builder.add_node("node", lambda _: {"messages": []})
    builder.add_edge(START, "node")
    builder.add_edge("node", "node")
    endless = builder.compile()
    for graph, steps in ((endless, 7), (endless.with_config({"recursion_limit": 9_999}), 7)):
        heard = await turn_of(graph)
        assert heard.stop_reason == "max_turn_requests"
        assert f"{steps} steps" in str(heard.text)
    assert "5 steps" in (await turn_of(endless.with_config({"recursion_limit": 5}))).text
    assert "4 steps" in (await turn_of(endless, recursion_limit=4)).text
