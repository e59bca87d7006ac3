"""The adapter for Strands: the agent object is the conversation, so every turn has its own with the kept history.

Text, calls and results come from the stream of events, which is pulled here; the beginning of a tool from a middleware.
"""

from __future__ import annotations

import copy
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Unpack

import strands
import strands.hooks
from strands.hooks import AfterToolCallEvent, AgentInitializedEvent
from strands.middleware import ExecuteToolStage
from strands.multiagent import MultiAgentBase
from strands.types.session import decode_bytes_values, encode_bytes_values
from strands.types.tools import AgentTool

from accord.adapters.failures import CannotServe, module_of, tool_failure
from accord.adapters.framework_run import CLIENT_PREFIX, FrameworkRun
from accord.adapters.guarded_tasks import failure_of
from accord.adapters.mcp_tools import ClientTool
from accord.adapters.prompt_parts import Media
from accord.adapters.questions import question_text
from accord.adapters.serving import ServeOptions, agent_for, make_agent
from accord.adapters.tool_calls import json_text, media_block
from accord.agent import Agent, StopReason, Turn
from accord.jsonrpc.plain import plain_text
from accord.session.content import Text

__all__ = ["serve"]

STOP_REASONS: dict[str, StopReason] = {
    "max_tokens": "max_tokens",
    "limit_output_tokens": "max_tokens",
    "limit_total_tokens": "max_tokens",
    "limit_turns": "max_turn_requests",
    "content_filtered": "refusal",
    "guardrail_intervened": "refusal",
}
# By the format that Strands wants: the last part of the MIME type unless it is here.
FORMATS = {
    "text/plain": "txt",
    "text/markdown": "md",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "video/quicktime": "mov",
    "video/x-matroska": "mkv",
    "audio/mpeg": "mp3",
}
# All that a single agent's run raises; hooks of the author's agent are passed on for these.
EVENTS = [
    getattr(strands.hooks, name)
    for name in (
        "BeforeInvocationEvent",
        "AfterInvocationEvent",
        "MessageAddedEvent",
        "BeforeModelCallEvent",
        "AfterModelCallEvent",
        "BeforeToolsEvent",
        "AfterToolsEvent",
        "BeforeToolCallEvent",
        "AfterToolCallEvent",
    )
    if hasattr(strands.hooks, name)
]


def serve(
    agent: Any,
    name: str | None = None,
    *,
    models: Mapping[str, Any] | None = None,
    limits: Mapping[str, int] | None = None,
    approval: Any = "y",
    refusal: Any = "n",
    **options: Unpack[ServeOptions],
) -> Agent:
    """A `strands.Agent` as an `accord.Agent`.

    `agent` may also be a function that makes one for each turn of a session. An agent object is not used itself: turns
    get an agent with its model, tools, system prompt, state, hooks, interventions and structured output. An agent that
    has more, such as middleware, needs the function. `models` are those that users may choose among, by name, and
    `limits` the limits of a turn as Strands knows them. `approval` and `refusal` are the answers to a hook that
    interrupts before a tool call.

    Raises:
        CannotServe: The agent has a session manager, which would mix the sessions, or it is a swarm or a graph.
    """
    _checked(agent)
    if isinstance(agent, strands.Agent):
        _check_copyable(agent)
    offered = dict(models or {})
    answers = {True: approval, False: refusal}

    async def open_run(turn: Turn) -> FrameworkRun:
        made = _checked(await agent_for(turn, agent, strands.Agent))
        return _Run(turn, _copy(made) if made is agent else made, models=offered, limits=limits, answers=answers)

    own_name = name or getattr(agent, "name", None) or "agent"
    return make_agent(own_name, open_run, models=list(offered), **options)


def _checked(agent: Any) -> Any:
    if isinstance(agent, MultiAgentBase):
        raise CannotServe("a Swarm or a Graph of Strands is no agent: make it a tool of one, and serve that agent")
    return agent


def _check_copyable(agent: Any) -> None:
    # Its callbacks are functions without an owner.
    modules = [callback.__module__ for callback in _callbacks(agent, AgentInitializedEvent(agent=agent))]
    if any(module.startswith("strands.session.") for module in modules):
        raise CannotServe(
            "this agent has a session manager, and Accord keeps the sessions: leave it out, or give a function that "
            "makes an agent for a session"
        )


def _callbacks(agent: Any, event: Any) -> list[Any]:
    return list(agent.hooks.get_callbacks_for(event))


def _copy(agent: Any) -> Any:
    """A new agent that behaves as the author's does, with an empty conversation."""
    own = strands.Agent(
        model=agent.model,
        tools=list(agent.tool_registry.registry.values()),
        system_prompt=copy.deepcopy(agent.system_prompt_content),
        structured_output_model=getattr(agent, "_default_structured_output_model", None),
        conversation_manager=copy.deepcopy(agent.conversation_manager),
        messages=copy.deepcopy(agent.messages),
        state=copy.deepcopy(agent.state.get()),
        tool_executor=agent.tool_executor,
        trace_attributes=agent.trace_attributes,
        record_direct_tool_call=agent.record_direct_tool_call,
        agent_id=agent.agent_id,
        name=agent.name,
        description=agent.description,
        callback_handler=None,
    )

    async def pass_on(event: Any) -> None:
        # Those that every agent has are there already, with their own state.
        present = {_function(callback) for callback in _callbacks(own, event)}
        for callback in _callbacks(agent, event):
            if _function(callback) not in present:
                made = callback(event)
                if inspect.isawaitable(made):
                    await made

    own.add_hook(pass_on, EVENTS)
    return own


def _function(callback: Any) -> Any:
    return getattr(callback, "__func__", callback)


class _Run(FrameworkRun):
    framework = "Strands"

    def __init__(
        self,
        turn: Turn,
        agent: Any,
        *,
        models: Mapping[str, Any],
        limits: Mapping[str, int] | None,
        answers: Mapping[bool, Any],
    ) -> None:
        super().__init__(turn)
        self._agent = agent
        self._models = models
        self._limits = limits
        self._answers = answers
        self._begun: set[str] = set()
        self._failure: BaseException | None = None
        """The exception of a tool that ends the turn, and not its call alone."""
        self._call_ids: dict[str, str] = {}
        """The calls that interrupts are about, by the id of the interrupt."""
        self._streamed: dict[str, str] = {}
        """The last piece that each tool yielded."""
        if self.state.history is not None:
            kept = strands.Snapshot.from_dict(decode_bytes_values(copy.deepcopy(self.state.history)))
            agent.load_snapshot(kept)

    async def history(self) -> dict[str, Any]:
        # A waiting interrupt is only kept where the next prompt answers it: any other prompt would be refused. A call
        # without a result needs nothing: Strands adds one before the next prompt.
        exclude = [] if self.state.question is not None else ["interrupt_state"]
        snapshot = self._agent.take_snapshot(preset="session", exclude=exclude)
        kept: dict[str, Any] = encode_bytes_values(snapshot.to_dict())
        return kept

    # --- the run

    async def execute(self) -> None:
        agent = self._agent
        before = list(agent.messages)
        if (model := self.option("model")) in self._models:
            agent.model = self._models[str(model)]
        tools = await self.client_tools(agent.tool_names, prefix=CLIENT_PREFIX)
        agent.tool_registry.process_tools([_ClientAgentTool(tool, self) for tool in tools])
        agent.add_middleware(ExecuteToolStage, self._observe)
        agent.add_hook(self._end_early, AfterToolCallEvent)
        given: Any = self._answer_to_question() or [_content_block(part) for part in self.prompt_parts()]
        while given is not None:
            result = await self._follow(given)
            reason = STOP_REASONS.get(result.stop_reason)
            if reason is not None:
                self.turn.finish(reason)
            if reason == "refusal":
                # The protocol leaves a refused prompt out of the history.
                agent.messages[:] = before
            await self.say_output(result.structured_output)
            given = await self._responses(result.interrupts or ())

    async def _follow(self, given: Any) -> Any:
        """One run to its end or to its interrupts."""
        result = None
        stop = threading.Event()
        events = self._agent.stream_async(given, limits=self._limits, cancel_signal=stop)
        try:
            async for event in events:
                if "result" in event:
                    result = event["result"]
                else:
                    await self._take(event)
        finally:
            # Read by tools that run in threads.
            stop.set()
            await events.aclose()
        return result

    async def _responses(self, interrupts: Sequence[Any]) -> list[Any] | None:
        """The input to go on with when the user has answered; None if the run is over, or the next prompt answers."""
        if not interrupts:
            return None
        answers: dict[str, Any] = {}
        unanswered: list[str] = []
        for interrupt in interrupts:
            call_id = self._call_ids.get(interrupt.id)
            if call_id is not None and call_id not in self._begun:
                # An interrupt before the body of the tool is an approval. The call was announced with its arguments.
                answers[interrupt.id] = self._answers[
                    await self.calls.request_permission(call_id, description=_reason(interrupt))
                ]
                continue
            tool = None if call_id is None else self.calls.get(call_id)
            answer = await self.ask_freely(_reason(interrupt) or interrupt.name, tool=tool)
            if answer is None:
                unanswered.append(interrupt.id)
            else:
                answers[interrupt.id] = answer.value if answer.accepted else self._answers[False]
        if unanswered:
            self.state.question = {"answers": answers, "unanswered": unanswered}
            return None
        return _interrupt_responses(answers)

    def _answer_to_question(self) -> list[Any] | None:
        question, self.state.question = self.state.question, None
        if not isinstance(question, dict):
            return None
        return _interrupt_responses({**question["answers"], **dict.fromkeys(question["unanswered"], self.text)})

    # --- events

    async def _take(self, event: Mapping[str, Any]) -> None:
        if "data" in event:
            await self.say(event["data"])
        elif "reasoningText" in event:
            await self.think(event["reasoningText"])
        elif "message" in event:
            await self._take_message(event["message"])
        elif "start_event_loop" in event:
            # The prompt is part of the messages now.
            await self.checkpoint()
        elif "tool_interrupt_event" in event:
            found = event["tool_interrupt_event"]
            self._call_ids.update((each.id, found["tool_use"]["toolUseId"]) for each in found["interrupts"])
        elif "tool_stream_event" in event:
            await self._stream(event["tool_stream_event"])
        elif "event" in event and (usage := event["event"].get("metadata", {}).get("usage")):
            await self._count(usage)

    async def _take_message(self, message: Mapping[str, Any]) -> None:
        await self.checkpoint()
        if self._failure is not None:
            raise self._failure
        for block in message["content"]:
            if (use := block.get("toolUse")) is not None:
                if not self._is_structured_output(use["name"]):
                    await self.announce_call(use["toolUseId"], use["name"], use["input"])
            elif (result := block.get("toolResult")) is not None and result["toolUseId"] in self.calls:
                await self._end(result)

    def _is_structured_output(self, name: str) -> bool:
        """Whether a tool is the one by which the model gives a structured output, which is sent at the end."""
        tools = {**self._agent.tool_registry.registry, **self._agent.tool_registry.dynamic_tools}
        return name in tools and tools[name].tool_type == "structured_output"

    async def _observe(self, context: Any, run_tool: Callable[[Any], AsyncIterator[Any]]) -> AsyncIterator[Any]:
        """The middleware around the body of a tool: approvals have been given before."""
        call_id = context.tool_use["toolUseId"]
        self._begun.add(call_id)
        if context.tool_use["name"] not in self.mcp_tools:
            await self.calls.begin(call_id)
        try:
            async for event in run_tool(context):
                yield event
        except BaseException as error:
            failure = failure_of(error)
            if failure is not error:
                # Strands would leave the call without a result, and go on.
                self._failure = failure
                raise failure from error
            raise

    async def _end_early(self, event: Any) -> None:
        """A result, before the others of the same answer are there; a tool that failed may be tried again."""
        error = event.exception
        # Those of Strands itself are about the arguments: the model corrects them.
        if error is not None and module_of(error) != "strands.tools.decorator":
            event.result = {**event.result, "content": [{"text": tool_failure(error)}]}
        result = event.result
        if isinstance(result, Mapping) and result.get("status") == "success" and result["toolUseId"] in self.calls:
            await self._end(result)

    async def _end(self, result: Mapping[str, Any]) -> None:
        call_id = result["toolUseId"]
        shown: Any = self.mcp_results.get(call_id) or [_shown(block) for block in result["content"]]
        if shown == [Text(self._streamed.get(call_id, ""))]:
            # The last piece that a tool yields is its result as well.
            shown = None
        await (self.calls.complete if result["status"] == "success" else self.calls.fail)(call_id, shown)

    async def _stream(self, event: Mapping[str, Any]) -> None:
        tool = self.calls.get(event["tool_use"]["toolUseId"])
        if tool is not None and not tool.finished and isinstance(event.get("data"), str):
            piece = self._streamed[event["tool_use"]["toolUseId"]] = plain_text(event["data"])
            await tool.stream(piece)

    async def _count(self, usage: Mapping[str, int]) -> None:
        self.turn.add_token_usage(
            usage["inputTokens"],
            usage["outputTokens"],
            total_tokens=usage.get("totalTokens"),
            cached_read_tokens=usage.get("cacheReadInputTokens"),
            cached_write_tokens=usage.get("cacheWriteInputTokens"),
        )
        await self.update_context(usage.get("totalTokens"), getattr(self._agent.model, "context_window_limit", None))


class _ClientAgentTool(AgentTool):
    """A tool of the client's MCP servers; its results are shown as the server sent them."""

    def __init__(self, tool: ClientTool, run: _Run) -> None:
        super().__init__()
        self._tool = tool
        self._run = run

    @property
    def tool_name(self) -> str:
        return self._tool.name

    @property
    def tool_spec(self) -> dict[str, Any]:
        return {
            "name": self._tool.name,
            "description": self._tool.description,
            "inputSchema": {"json": self._tool.schema},
        }

    @property
    def tool_type(self) -> str:
        return "python"

    async def stream(self, tool_use: Any, _invocation_state: Any, **_: Any) -> AsyncIterator[Any]:
        result = await self._run.run_client_tool(self._tool, tool_use["toolUseId"], tool_use["input"])
        yield {
            "toolUseId": tool_use["toolUseId"],
            "status": "error" if result.is_error else "success",
            "content": [{"text": ClientTool.text(result)}],
        }


def _interrupt_responses(answers: Mapping[str, Any]) -> list[Any]:
    return [{"interruptResponse": {"interruptId": each, "response": answer}} for each, answer in answers.items()]


def _reason(interrupt: Any) -> str | None:
    """The reason that the author's code gave for an interrupt, which may be any value."""
    return None if interrupt.reason is None else question_text(interrupt.reason)


def _content_block(part: str | Media) -> dict[str, Any]:
    if isinstance(part, str):
        return {"text": part}
    kind = "document" if part.kind == "file" else part.kind
    form = FORMATS.get(part.mime_type) or part.mime_type.rpartition("/")[2].removeprefix("x-")
    block: dict[str, Any] = {"format": form, "source": {"bytes": part.content}}
    if kind == "document":
        block["name"] = part.name or "document"
    return {kind: block}


def _shown(block: Mapping[str, Any]) -> Any:
    """One block of a result as a tool call shows it."""
    if "text" in block:
        return Text(plain_text(block["text"]))
    for kind in ("image", "audio", "video", "document"):
        data = block.get(kind, {}).get("source", {}).get("bytes")
        if data is not None:
            family = "application" if kind == "document" else kind
            return media_block(data, f"{family}/{block[kind]['format']}")
    return Text(json_text(block.get("json", block)))
