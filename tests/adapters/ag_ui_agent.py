"""An agent that speaks AG-UI, with the rehearsed model: what frameworks do behind AG-UI, in this process.

A call that needs an approval ends the run, as does one of the front end; the next run brings the answer.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator
from typing import Any

from ag_ui.core import (
    Interrupt,
    ReasoningMessageContentEvent,
    RunAgentInput,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    TokenUsage,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from accord.adapters.ag_ui import serve
from tests.adapters import rehearsed_tools as tools
from tests.adapters.rehearsal import QUESTION, Call, Say, Think, steps


def drop_table(table: str) -> str:
    """Drop a table."""
    return f"dropped {table}"


TOOLS = {name: getattr(tools, name) for name in tools.__all__} | {"drop_table": drop_table}
# What the tools that need an approval ask with: pydantic-ai has it in the metadata of the interrupt.
NEEDS_APPROVAL: dict[str, Any] = {"delete_file": None, "drop_table": QUESTION}
USAGE = [TokenUsage(input_tokens=10, output_tokens=5, total_tokens=15)]


class RehearsedAgent:
    name = "rehearsed"

    async def run(self, given: RunAgentInput) -> AsyncIterator[Any]:  # noqa: C901 - all that a framework does
        ids = {"thread_id": given.thread_id, "run_id": given.run_id}
        messages = [message.model_dump(by_alias=True) for message in given.messages]
        of_client = {tool.name for tool in given.tools or ()}
        yield RunStartedEvent(**ids)
        for call in _open_calls(messages):
            approved = [entry.payload["approved"] for entry in given.resume or () if entry.interrupt_id == call.id]
            yield _ended(messages, call, await _result(call) if approved == [True] else "The user did not allow it.")
        goes_on = True
        while goes_on:
            answer = steps(*_conversation(messages))
            calls = [step for step in answer if isinstance(step, Call)]
            message_id = f"{given.run_id}-{len(messages)}"
            says = any(isinstance(step, Say) for step in answer)
            if says:
                yield TextMessageStartEvent(message_id=message_id, role="assistant")
            for step in answer:
                match step:
                    case Think(text=text):
                        yield ReasoningMessageContentEvent(message_id="thought", delta=text)
                    case Say(text=text):
                        yield TextMessageContentEvent(message_id=message_id, delta=text)
                    case Call():
                        yield ToolCallStartEvent(tool_call_id=step.id, tool_call_name=step.name)
                        yield ToolCallArgsEvent(tool_call_id=step.id, delta=json.dumps(step.arguments))
                        yield ToolCallEndEvent(tool_call_id=step.id)
            if says:
                yield TextMessageEndEvent(message_id=message_id)
            messages.append({"role": "assistant", "toolCalls": [_tool_call(call) for call in calls]})
            asked = {call.id: NEEDS_APPROVAL[call.name] for call in calls if call.name in NEEDS_APPROVAL}
            for call in calls:
                if call.name not in of_client and call.id not in asked:
                    yield _ended(messages, call, await _result(call))
            if asked:
                interrupts = [
                    Interrupt(id=call_id, reason="tool_call", tool_call_id=call_id, metadata=question)
                    for call_id, question in asked.items()
                ]
                yield RunFinishedEvent(**ids, outcome=RunFinishedInterruptOutcome(interrupts=interrupts), usage=USAGE)
                return
            goes_on = bool(calls) and not any(call.name in of_client for call in calls)
        yield RunFinishedEvent(**ids, outcome=RunFinishedSuccessOutcome(), usage=USAGE)


async def _result(call: Call) -> str:
    function = TOOLS[call.name]
    try:
        if inspect.iscoroutinefunction(function):
            return str(await function(**call.arguments))
        return str(await asyncio.to_thread(function, **call.arguments))
    except (OSError, ValueError) as error:
        return f"Error: {error}"


def _tool_call(call: Call) -> dict[str, Any]:
    return {"id": call.id, "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}


def _ended(messages: list[dict[str, Any]], call: Call, result: str) -> ToolCallResultEvent:
    messages.append({"role": "tool", "toolCallId": call.id, "content": result})
    return ToolCallResultEvent(message_id=f"result-{len(messages)}", tool_call_id=call.id, content=result)


def _open_calls(messages: list[dict[str, Any]]) -> list[Call]:
    calls: dict[str, Call] = {}
    for message in messages:
        for call in message.get("toolCalls") or ():
            calls[call["id"]] = Call(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
        if message["role"] == "tool":
            calls.pop(message["toolCallId"])
    return list(calls.values())


def _conversation(messages: list[dict[str, Any]]) -> tuple[list[str], list[str], list[str]]:
    """The prompts, the results since the last of them, and the media that came with it."""
    if _open_calls(messages):
        raise RuntimeError("a provider refuses tool calls without a result")
    prompts: list[str] = []
    results: list[str] = []
    media: list[str] = []
    for message in messages:
        if message["role"] == "user":
            content = message["content"]
            parts: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
            prompts.append("".join(part.get("text", "") for part in parts))
            media = [part["source"]["mimeType"] for part in parts if part["type"] == "image"]
            results = []
        elif message["role"] == "tool":
            results.append(message["content"])
    return prompts, results, media


agent = RehearsedAgent()
bridge = serve(agent, "rehearsed")
