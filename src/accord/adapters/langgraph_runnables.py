"""Graphs of everything that LangGraph and LangChain run, such as `@entrypoint`s and `prompt | model`, and their calls.

A runnable becomes the one node of a graph. Its input is made by its own schema, and its output is the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel import Pregel

from accord.adapters.failures import CannotServe
from accord.adapters.tool_calls import json_text

__all__ = [
    "MESSAGES",
    "OUTPUT",
    "answer_of",
    "calls_of",
    "compiled",
    "input_for",
    "is_entrypoint",
    "messages_of",
    "repaired",
]

MESSAGES = "messages"
NO_ANSWER = "The tool was stopped before it was done."
OUTPUT = "accord-output-"
"""The beginning of the ids of messages that were made of an output: where it was streamed, it is not said again."""


def compiled(given: Any) -> Pregel[Any, Any, Any, Any]:
    """A graph of an author's object.

    Raises:
        CannotServe: It is none, or its checkpointer cannot be awaited.
    """
    if isinstance(given, StateGraph):
        graph: Pregel[Any, Any, Any, Any] = given.compile()
        return graph
    if isinstance(given, Pregel):
        saver = type(given.checkpointer)
        if saver.__name__ == "SqliteSaver" or getattr(saver, "aget_tuple", None) is BaseCheckpointSaver.aget_tuple:
            raise CannotServe(
                "the checkpointer of this graph is synchronous: take AsyncSqliteSaver or AsyncPostgresSaver in an "
                "async function that makes the graph, or leave it out, and Accord keeps the conversation"
            )
        return given
    if not isinstance(given, Runnable):
        raise CannotServe("this is no graph of LangGraph, no runnable of LangChain and no function that makes one")

    async def run(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        messages = state["messages"]
        chosen = input_for(given, messages)
        answer = answer_of(await given.ainvoke(str(messages[-1].text) if chosen is None else chosen, config))
        return {"messages": [] if answer is None else [answer]}

    builder = StateGraph(MessagesState)
    # Not by its annotations, which are texts here: they have no meaning in the module of the framework.
    builder.add_node("run", run, input_schema=MessagesState)
    builder.add_edge(START, "run")
    return builder.compile()


def is_entrypoint(graph: Pregel[Any, Any, Any, Any]) -> bool:
    """Whether it is a function with `@entrypoint`, whose input and output are its own."""
    return "__end__" in graph.channels


def input_for(runnable: Any, messages: Sequence[AnyMessage]) -> Any:
    """The input by the schema: lists get the conversation, texts the prompt; None where the schema says nothing."""
    try:
        schema = runnable.get_input_jsonschema()
    except Exception:  # noqa: BLE001 - an annotation that is a text has no schema
        kind = str(runnable.channels["__start__"].UpdateType) if isinstance(runnable, Pregel) else ""
        schema = {"type": "array"} if kind.lower().startswith(("list", "sequence")) else {}
    fields = {name: field for name, field in schema.get("properties", {}).items() if name != "root"}
    lists = {name for name, field in fields.items() if _takes_list(field)}
    texts = fields.keys() - lists
    if fields:
        earlier = list(messages[:-1] if texts else messages)
        return {**dict.fromkeys(lists, earlier), **dict.fromkeys(texts, str(messages[-1].text))}
    if _takes_list(schema):
        return list(messages)
    if schema.get("type") == "string":
        return str(messages[-1].text)
    return {"messages": list(messages)} if schema.get("type") == "object" and "properties" not in schema else None


def _takes_list(schema: Mapping[str, Any]) -> bool:
    return any(form.get("type") == "array" for form in (schema, *schema.get("anyOf", ())))


def answer_of(output: Any) -> AIMessage | None:
    """An output as a message of the agent: its last one, a text, or any other value as JSON."""
    match output:
        case None:
            return None
        case AIMessage():
            return output
        case {"messages": list(messages)}:
            return answer_of(messages)
        case [*_, AIMessage() as last]:
            return last
        case _:
            text = output if isinstance(output, str) else f"```json\n{json_text(output)}\n```"
            return AIMessage(text, id=f"{OUTPUT}{uuid4()}")


def repaired(messages: list[Any]) -> list[Any]:
    """The messages with an answer to every call of the last answer: providers refuse a conversation without."""
    last = next((place for place in reversed(range(len(messages))) if isinstance(messages[place], AIMessage)), None)
    if last is None:
        return messages
    answered = {message.tool_call_id for message in messages[last:] if isinstance(message, ToolMessage)}
    missing = [call for call in messages[last].tool_calls if call["id"] not in answered]
    return [
        *messages,
        *(ToolMessage(NO_ANSWER, tool_call_id=str(call["id"]), name=call["name"], status="error") for call in missing),
    ]


def calls_of(given: Any) -> list[dict[str, Any]]:
    """The calls in the input of a task that runs tools, in the forms that there are."""
    items = given if isinstance(given, list) else [given.get("tool_call")] if isinstance(given, dict) else []
    return [item for item in items if isinstance(item, dict) and item.get("id") and {"name", "args"} <= item.keys()]


def messages_of(update: dict[str, Any]) -> list[Any]:
    messages = update.get(MESSAGES)
    return messages if isinstance(messages, list) else []
