"""The adapter for LangGraph (1.1 or newer), and so for LangChain's `create_agent` and deepagents, which make graphs.

A graph is driven by `astream`. Its state is kept with the session unless the author's graph has a checkpointer that
lasts: then that one keeps it, and the session's id is the thread's.
"""

from __future__ import annotations

import base64
import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, Unpack
from weakref import WeakKeyDictionary

from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.errors import GraphRecursionError
from langgraph.pregel import Pregel
from langgraph.types import Command, Interrupt

from accord.adapters.failures import tool_failure
from accord.adapters.framework_run import CLIENT_PREFIX, NOT_ALLOWED, FrameworkRun
from accord.adapters.langgraph_runnables import (
    MESSAGES,
    OUTPUT,
    answer_of,
    calls_of,
    compiled,
    input_for,
    is_entrypoint,
    messages_of,
    repaired,
)
from accord.adapters.mcp_tools import ClientTool
from accord.adapters.prompt_parts import PromptPart
from accord.adapters.questions import CONSENT, question_text, wants_consent
from accord.adapters.serving import ServeOptions, make_agent, value_for
from accord.adapters.tool_calls import json_text, media_block
from accord.adapters.tool_description import below
from accord.agent import Agent, Session, Turn
from accord.errors import InvalidParams
from accord.json_values import JsonValue
from accord.jsonrpc.plain import plain_text
from accord.session.content import Text
from accord.session.option import Choice, Group

__all__ = ["serve"]

FRAMEWORK = "LangGraph"
STREAM_MODES = ("messages", "updates", "tasks")
MAX_STEPS = 1_000
# From this on a limit is none: LangChain's and LangGraph's own ones are about ten thousand.
ENDLESS = 9_000
LIMIT_ADVICE = "The next prompt goes on; serve(recursion_limit=…) or the graph's with_config allows more steps"
DECLINED = "The user did not answer."

_serializer = JsonPlusSerializer()
_waiting: WeakKeyDictionary[Session, InMemorySaver] = WeakKeyDictionary()
"""The runs that wait for the next prompt as the answer to a question; after a restart the question is asked again."""
_without_mcp: WeakKeyDictionary[Session, bool] = WeakKeyDictionary()
"""The sessions whose users know that their MCP servers are not used."""


def serve(
    graph: Any,
    name: str | None = None,
    *,
    models: Sequence[str | Choice | Group] = (),
    context: object = None,
    virtual_root: bool = False,
    recursion_limit: int | None = None,
    **options: Unpack[ServeOptions],
) -> Agent:
    """A graph, or a function that makes one, as an `accord.Agent`; a graph that is not compiled yet is compiled.

    So are `@entrypoint`s and runnables of LangChain. A function `(session, tools) -> graph`, with or without `async`,
    is called for each turn; only such a graph can use the MCP servers of the client, which are LangChain tools there. A
    function `(config) -> graph` gets the run's config, as one of a `langgraph.json` does.

    `models` are offered to the user; the chosen one is `config["configurable"]["model"]`. `context` is the graph's, or
    a function that makes it from the `Turn`. With `virtual_root` the paths of the tools begin at the directory of the
    session, as deepagents' `virtual_mode` has them. `recursion_limit` is how many steps a turn may take: 1,000, unless
    it or the graph's own config says otherwise.

    Raises:
        CannotServe: It is none of these, or has a checkpointer that is synchronous.
    """
    given = graph if inspect.isroutine(graph) else compiled(graph)

    def open_run(turn: Turn) -> LangGraphRun:
        return LangGraphRun(turn, given, context, recursion_limit, virtual_root=virtual_root)

    own = getattr(given, "name", None)
    named = own if isinstance(own, str) and own != "LangGraph" else None
    return make_agent(name or named or "langgraph", open_run, models=models, **options)


class LangGraphRun(FrameworkRun):
    """One run of a graph, with its answers to interrupts, until it ends or waits for the next prompt."""

    framework = FRAMEWORK

    def __init__(
        self, turn: Turn, graph: Any, context: object, recursion_limit: int | None, *, virtual_root: bool
    ) -> None:
        super().__init__(turn, place=below(turn.session.cwd) if virtual_root else plain_text)
        self._given = graph
        self._context = context
        self._recursion_limit = recursion_limit
        self._graph: Pregel[Any, Any, Any, Any] | None = None
        self._own_saver: InMemorySaver | None = None
        self._said: set[str] = set()
        """The ids of the messages whose text was sent."""
        self._has_text = False
        self._output: Any = None
        """The structured output of this turn."""
        self._output_calls: set[str] = set()
        """The calls by which the model gave a structured output, which are no tool calls for the user."""
        self._is_waiting = False
        """Whether the state is there in which an earlier run asked a question."""
        self._tasks: dict[str, list[str]] = {}
        """The calls of each task of the graph."""
        self._prompt: HumanMessage | None = None
        self._before: list[Any] | None = None
        """The conversation before this turn of an `@entrypoint`, whose own state is anything."""
        self._result: AIMessage | None = None

    # --- the run

    async def execute(self) -> None:
        async with AsyncExitStack() as stack:
            await self._run(await self._make_graph(stack))

    async def _run(self, graph: Pregel[Any, Any, Any, Any]) -> None:
        self._graph = graph
        answers = self._answers_to_question()
        payload: Any
        if answers is not None:
            payload = Command(resume=answers)
        else:
            parts = self.prompt_parts()
            is_media = any(not isinstance(part, str) for part in parts)
            self._prompt = HumanMessage([_content(part) for part in parts] if is_media else "\n".join(map(str, parts)))
            payload = await self._payload(graph, self._prompt)
            await self.checkpoint()
        try:
            while payload is not None:
                payload = await self._resume_with(await self._stream(graph, payload))
        except GraphRecursionError:
            self.turn.finish("max_turn_requests")
            title = f"The graph was stopped after {self._config['recursion_limit']} steps"
            await self.turn.notice(title, LIMIT_ADVICE, severity="warning")
        if is_entrypoint(graph) and self._own_saver is not None:
            # It has what the function gets as `previous`.
            _waiting[self.turn.session] = self._own_saver
        if self._output is not None:
            await self.say_output(self._output)
        elif not self._has_text and not self.turn.cancelled:
            await self._say_last(graph)

    async def _make_graph(self, stack: AsyncExitStack) -> Pregel[Any, Any, Any, Any]:
        given: Any = self._given
        if not isinstance(given, Pregel):
            given = await self._call_factory(given, stack)
        elif self.turn.session not in _without_mcp and (await self.turn.mcp()).tools:
            _without_mcp[self.turn.session] = True
            await self.turn.notice(
                "This agent does not use your MCP servers", "Its graph is made before it knows them", severity="warning"
            )
        if isinstance(given.checkpointer, BaseCheckpointSaver) and not isinstance(given.checkpointer, InMemorySaver):
            self._is_waiting = True
            return given
        waiting = _waiting.pop(self.turn.session, None)
        self._is_waiting = waiting is not None
        self._own_saver = waiting or InMemorySaver()
        copied: Pregel[Any, Any, Any, Any] = given.copy({"checkpointer": self._own_saver})
        return copied

    async def _call_factory(self, factory: Callable[..., Any], stack: AsyncExitStack) -> Any:
        names = list(inspect.signature(factory).parameters)
        arguments: list[Any] = [self._config if names == ["config"] else self.turn.session][: len(names)]
        if len(names) > 1:
            arguments.append([self._native(tool) for tool in await self.client_tools(prefix=CLIENT_PREFIX)])
        made = factory(*arguments)
        if isinstance(made, AbstractAsyncContextManager):
            made = await stack.enter_async_context(made)
        return compiled(await made if inspect.isawaitable(made) else made)

    def _native(self, tool: ClientTool) -> StructuredTool:
        async def call(**arguments: Any) -> str:
            call_id = self.calls.find(tool.name, arguments)
            if call_id is None:
                return tool.text(await tool.call(arguments))
            result = await self.run_client_tool(tool, call_id, arguments)
            await self.calls.complete(call_id, result)
            return tool.text(result)

        return StructuredTool(
            name=tool.name, description=tool.description, args_schema=tool.schema, coroutine=call, func=None
        )

    @property
    def _config(self) -> dict[str, Any]:
        model = self.option("model")
        own = (getattr(self._graph, "config", None) or {}).get("recursion_limit", ENDLESS)
        # LangChain's agents have a limit without one having been chosen, by which a loop runs for hours.
        limit = self._recursion_limit or (own if own < ENDLESS else MAX_STEPS)
        configurable = {"thread_id": self.turn.session.id, **({} if model is None else {"model": model})}
        return {"recursion_limit": limit, "configurable": configurable}

    async def _payload(self, graph: Pregel[Any, Any, Any, Any], prompt: HumanMessage) -> Any:
        if is_entrypoint(graph):
            self._before = list(self._kept_values().get(MESSAGES, ()))
            self._said |= {str(message.id) for message in self._before}
            messages = [*self._before, prompt]
            given = input_for(graph, messages)
            return {MESSAGES: messages} if given is None else given
        if MESSAGES not in graph.channels:
            raise InvalidParams("This graph has no `messages`, so that it can take no prompt", {"field": "prompt"})
        if self._own_saver is None:
            await self._close_calls(graph)
            return {MESSAGES: [prompt]}
        values = self._kept_values()
        return {**values, MESSAGES: [*values.get(MESSAGES, ()), prompt]}

    def _kept_values(self) -> dict[str, Any]:
        kept = self.state.history
        if kept is None:
            return {}
        values: dict[str, Any] = _serializer.loads_typed((kept["type"], base64.b64decode(kept["data"])))
        return values

    async def _close_calls(self, graph: Pregel[Any, Any, Any, Any]) -> None:
        """Answer the calls that an earlier run left open, in a state that the author's checkpointer keeps."""
        state = await graph.aget_state(self._config)
        messages = list(state.values.get(MESSAGES, ()))
        answers = repaired(messages)[len(messages) :]
        if answers:
            node = "tools" if "tools" in graph.nodes else None
            await graph.aupdate_state(self._config, {MESSAGES: answers}, as_node=node)

    # --- events of the graph

    async def _stream(self, graph: Pregel[Any, Any, Any, Any], payload: Any) -> list[Interrupt]:
        """Run until the graph ends or waits; the interrupts for which it waits."""
        interrupts: list[Interrupt] = []
        context: dict[str, Any] = (
            {} if self._context is None else {"context": await value_for(self.turn, self._context)}
        )
        stream = graph.astream(
            payload, self._config, stream_mode=list(STREAM_MODES), subgraphs=True, version="v2", **context
        )
        async for part in stream:
            # Events of a graph that a tool runs are not sent: the tool has a result.
            if any(step.startswith("tools:") for step in part["ns"]):
                continue
            data = part["data"]
            match part["type"]:
                case "messages":
                    await self._report_message(data[0])
                case "tasks":
                    await self._report_task(data)
                case "updates":
                    interrupts += await self._report_update(data, is_own=not part["ns"])
                case _:
                    pass
        return interrupts

    async def _report_message(self, message: AnyMessage) -> None:
        if isinstance(message, ToolMessage):
            # An update has it too. Only that one says whether an unknown call was a structured output.
            if message.tool_call_id in self.calls:
                await self._report_result(message)
        elif isinstance(message, AIMessageChunk) or (
            isinstance(message, AIMessage)
            and str(message.id) not in self._said
            and not str(message.id).startswith(OUTPUT)
        ):
            self._said.add(str(message.id))
            await self._say_blocks(message)
            await self._report_usage(message)

    async def _say_blocks(self, message: AIMessage) -> None:
        for block in message.content_blocks:
            match block:
                case {"type": "text", "text": str(text)}:
                    self._has_text = self._has_text or bool(text)
                    await self.say(text)
                case {"type": "reasoning", "reasoning": str(text)}:
                    await self.think(text)
                case _:
                    pass

    async def _report_usage(self, message: AIMessage) -> None:
        reason = str(message.response_metadata.get("finish_reason") or message.response_metadata.get("stop_reason"))
        if reason in {"length", "max_tokens", "MAX_TOKENS"}:
            self.turn.finish("max_tokens")
        elif reason in {"content_filter", "refusal", "SAFETY"}:
            self.turn.finish("refusal")
        elif reason != "None":
            self.turn.finish("end_turn")
        usage = message.usage_metadata
        if usage is not None:
            self.turn.add_token_usage(usage["input_tokens"], usage["output_tokens"], total_tokens=usage["total_tokens"])
            await self.update_context(usage["total_tokens"])

    async def _report_result(self, message: ToolMessage) -> None:
        end = self.calls.fail if message.status == "error" else self.calls.complete
        await end(message.tool_call_id, _shown(message), name=message.name or "tool")

    async def _report_task(self, data: dict[str, Any]) -> None:
        if "input" in data:
            calls = calls_of(data["input"])
            self._tasks[data["id"]] = [call["id"] for call in calls]
            for call in calls:
                await self.calls.announce(call["id"], call["name"], call["args"])
                await self.calls.begin(call["id"])
        elif data.get("error") is not None:
            # The graph raises it too, but without the id of the call.
            for call_id in self._tasks.get(data["id"], ()):
                await self.calls.fail(call_id, tool_failure(data["error"]))

    async def _report_update(self, data: dict[str, Any], *, is_own: bool) -> list[Interrupt]:
        found: list[Interrupt] = []
        for node, update in data.items():
            if node == "__interrupt__":
                found += update if is_own else ()
            elif is_own and self._graph is not None and is_entrypoint(self._graph) and node in self._graph.nodes:
                self._result = answer_of(update)
            elif isinstance(update, dict):
                self._take_output(update, is_own=is_own)
                await self._report_values(update)
        await self.checkpoint()
        return found

    def _take_output(self, update: dict[str, Any], *, is_own: bool) -> None:
        output = update.get("structured_response")
        if output is None:
            return
        messages = messages_of(update)
        answered = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
        last = next((message for message in reversed(messages) if isinstance(message, AIMessage)), None)
        calls = [] if last is None else last.tool_calls
        self._output_calls |= {str(call["id"]) for call in calls if call["id"] in answered}
        if is_own and (calls or last is None or not last.text):
            # Otherwise the text of the answer is the output, and was sent.
            self._output = output

    async def _report_values(self, update: dict[str, Any]) -> None:
        for message in messages_of(update):
            if isinstance(message, AIMessage):
                for call in message.tool_calls:
                    if call["id"] not in self._output_calls:
                        await self.announce_call(str(call["id"]), call["name"], call["args"])
            elif isinstance(message, ToolMessage) and message.tool_call_id not in self._output_calls:
                await self._report_result(message)
        todos = update.get("todos")
        if isinstance(todos, list) and todos:
            await self.plan(todos)

    async def _say_last(self, graph: Pregel[Any, Any, Any, Any]) -> None:
        """Send the last message of the state: a node that returns its message as a dict streams nothing."""
        is_value = is_entrypoint(graph)
        values = {MESSAGES: [self._result]} if is_value else (await graph.aget_state(self._config)).values
        messages = values.get(MESSAGES) or ()
        if messages and isinstance(messages[-1], AIMessage):
            await self._say_blocks(messages[-1])

    # --- interrupts

    async def _resume_with(self, interrupts: list[Interrupt]) -> Command[Any] | None:
        """The answers to the interrupts of the graph; None if there are none, or if the next prompt is the answer."""
        answers: dict[str, Any] = {}
        for interrupt in interrupts:
            known, answer = await self._answer(interrupt)
            if not known:
                self.state.question = {"id": interrupt.id, "schema": answer, "answers": answers}
                if self._own_saver is not None:
                    _waiting[self.turn.session] = self._own_saver
                self._has_text = True
                return None
            answers[interrupt.id] = answer
        return Command(resume=answers) if answers else None

    async def _answer(self, interrupt: Interrupt) -> tuple[bool, Any]:
        match interrupt.value:
            case {"action_requests": list(requests)}:
                return True, {"decisions": [await self._decide(request, None) for request in requests]}
            case {"type": "tool_approval", "tool_call_id": str(call_id)}:
                return True, await self._decide(interrupt.value, call_id)
            case _:
                pass
        given = getattr(interrupt, "response_schema", None)  # LangGraph 1.1.0 has none
        schema = given if isinstance(given, dict) else CONSENT if wants_consent(interrupt.value) else None
        answer = await self.ask_freely(question_text(interrupt.value), schema)
        if answer is None:
            return False, schema
        return True, answer.value if answer.accepted else schema != CONSENT and DECLINED

    async def _decide(self, request: dict[str, Any], call_id: str | None) -> dict[str, Any]:
        name, arguments = request["name"], request["args"]
        call_id = call_id or self.calls.find(name, arguments) or f"{name}-approval"
        reason = str(request.get("description") or "")
        # The middleware's own text repeats the call, which is shown.
        description = None if reason.startswith("Tool execution") and "\n\nTool: " in reason else reason
        if await self.ask_call(call_id, name, arguments, description=description):
            return {"type": "approve"}
        return {"type": "reject", "message": NOT_ALLOWED}

    def _answers_to_question(self) -> dict[str, Any] | None:
        """The answers to resume with, if the last run waits for this prompt."""
        question, self.state.question = self.state.question, None
        if question is None or not self._is_waiting:
            return None
        return {**question["answers"], question["id"]: self.answer_of(self.text, question["schema"])}

    # --- history

    async def history(self) -> JsonValue:
        if self._graph is None or self._own_saver is None:
            return None
        values: dict[str, Any] = {}
        if not is_entrypoint(self._graph):
            values = dict((await self._graph.aget_state(self._config)).values)
        elif self._before is not None:
            values = {MESSAGES: [*self._before, self._prompt, *([] if self._result is None else [self._result])]}
        messages = list(values.get(MESSAGES, ()))
        if not messages:
            # It ended before the first step: the prompt is kept all the same.
            values = self._kept_values()
            messages = [*values.get(MESSAGES, ()), *([] if self._prompt is None else [self._prompt])]
        kind, data = _serializer.dumps_typed({**values, MESSAGES: repaired(messages)})
        return {"type": kind, "data": base64.b64encode(data).decode("ascii")}


def _content(part: PromptPart) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": part.kind, "base64": part.data, "mime_type": part.mime_type}


def _shown(message: ToolMessage) -> object:
    if isinstance(message.content, str):
        return message.content
    blocks: list[Any] = list(message.content_blocks)
    if all(block["type"] == "text" for block in blocks):
        return "\n".join(block["text"] for block in blocks)
    return [_shown_block(block) for block in blocks]


def _shown_block(block: Any) -> Any:
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(plain_text(text))
        case {"base64": str(data), "mime_type": str(mime_type)}:
            return media_block(data, mime_type)
        case {"type": "non_standard", "value": value}:
            return Text(json_text(value))
        case _:
            return Text(json_text(block))
