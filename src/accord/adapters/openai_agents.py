"""The adapter for the OpenAI Agents SDK: text and calls from the stream of events, the beginning of a tool from a hook.

The SDK keeps no conversation between runs: the list of input items is the history, and it is kept with the session.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

import agents

from accord.adapters.framework_run import CLIENT_PREFIX, NOT_ALLOWED, NOT_FINISHED, FrameworkRun
from accord.adapters.mcp_tools import ClientTool
from accord.adapters.prompt_parts import Media
from accord.adapters.serving import ServeOptions, agent_for, make_agent
from accord.adapters.tool_calls import json_value, media_block
from accord.agent import Agent, Session, Turn
from accord.errors import InvalidParams
from accord.jsonrpc.plain import plain_text
from accord.session.content import Text
from accord.session.option import Choice, Group

__all__ = ["serve"]

MAX_TURNS = 50
# The formats of recordings that the SDK's models take.
AUDIO_FORMATS = {"audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/wav": "wav", "audio/x-wav": "wav"}
THOUGHT_DELTAS = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
TEXT_DELTAS = frozenset({"response.output_text.delta", "response.refusal.delta"})
RESPONSE_ENDS = frozenset({"response.completed", "response.incomplete"})
DEFAULT_FAILURE = agents.default_tool_error_function(None, Exception("")).strip()
REFUSALS = (
    agents.ModelRefusalError,
    agents.InputGuardrailTripwireTriggered,
    agents.OutputGuardrailTripwireTriggered,
)


def serve(
    agent: Any,
    name: str | None = None,
    *,
    context: Callable[[Session], Any] | None = None,
    run_config: Any = None,
    max_turns: int = MAX_TURNS,
    models: Sequence[str | Choice | Group] = (),
    **options: Unpack[ServeOptions],
) -> Agent:
    """An `agents.Agent` as an `accord.Agent`.

    `agent` may also be a function that makes one for a session. `context` makes the context object of a session's runs,
    which the SDK passes to tools. `run_config` is the SDK's own; where users may choose among `models`, the chosen one
    replaces its model. A turn ends after `max_turns` answers of the model.
    """
    known: dict[str, Any] = {}
    own_name = name or getattr(agent, "name", None) or "agent"

    async def open_run(turn: Turn) -> FrameworkRun:
        config, made = run_config or agents.RunConfig(), await agent_for(turn, agent, agents.Agent)
        return _Run(turn, made, known, context=context, run_config=config, max_turns=max_turns)

    return make_agent(own_name, open_run, models=models, **options)


class _Run(FrameworkRun):
    framework = "the OpenAI Agents SDK"
    takes = frozenset({"image", "audio", "file"})

    def __init__(
        self,
        turn: Turn,
        agent: Any,
        known: dict[str, Any],
        *,
        context: Callable[[Session], Any] | None,
        run_config: Any,
        max_turns: int,
    ) -> None:
        super().__init__(turn)
        self._first = agent
        self._known = known
        """The agents that took over a conversation before, by name: a handoff holds for the next prompts too."""
        self._context = context
        self._config = run_config
        self._max_turns = max_turns
        kept = self.state.history if isinstance(self.state.history, dict) else {}
        self._before: list[Any] = list(kept.get("items", ()))
        self._agent_name: str = kept.get("agent", agent.name)
        self._items: list[Any] = list(self._before)
        """The conversation up to the last run that ended."""
        self._since: list[Any] = []
        """The items that the current run added to it so far."""
        self._text = ""
        """The text of the model's current answer so far."""
        self._is_structured = False
        self._held = ""
        """The last text of an agent with an output type: the output, unless calls follow."""
        self._begun: set[str] = set()
        self._refused: set[str] = set()

    async def history(self) -> dict[str, Any]:
        partial = [{"role": "assistant", "content": self._text}] if self._text else []
        items = answered([json_value(item) for item in [*self._items, *self._since]])
        return {"items": [*items, *partial], "agent": self._agent_name}

    # --- the run

    async def execute(self) -> None:
        self._items.append({"role": "user", "content": [_input_part(part) for part in self.prompt_parts()]})
        await self.checkpoint()
        agent = await self._equipped(self._current())
        config = self._config
        if (model := self.option("model")) is not None:
            config = dataclasses.replace(config, model=model)
        given: Any = answered([json_value(item) for item in self._items])
        context = None if self._context is None else self._context(self.turn.session)
        try:
            while given is not None:
                result = agents.Runner.run_streamed(
                    agent, given, context=context, run_config=config, max_turns=self._max_turns, hooks=_Hooks(self)
                )
                await self._follow(result)
                given = await self._answers(result)
        except agents.MaxTurnsExceeded:
            self.turn.finish("max_turn_requests")
        except REFUSALS:
            # The protocol leaves a refused prompt out of the history.
            self._items, self._since, self._text = list(self._before), [], ""
            self.turn.finish("refusal")

    async def _follow(self, result: Any) -> None:
        events = result.stream_events()
        try:
            async for event in events:
                await self._take(event)
        except BaseException:
            # At once: closing the events would wait for the tools that run.
            result.cancel()
            raise
        finally:
            await events.aclose()
        self._items, self._since, self._text = list(result.to_input_list()), [], ""
        last = result.last_agent
        self._agent_name = last.name
        self._known[last.name] = last
        if not result.interruptions:
            if self._is_structured:
                await self.say_output(result.final_output)
            for call_id in self.calls.open:
                # Of an agent that is a tool: the SDK reports the questions about its calls, and not their results.
                await self.calls.complete(call_id)

    async def _answers(self, result: Any) -> Any:
        """The state to go on with when the user has answered; None when the run is over."""
        if not result.interruptions:
            return None
        await self.checkpoint()
        state = result.to_state()
        for item in result.interruptions:
            call_id = item.call_id or item.name or "call"
            if await self.ask_call(call_id, item.name or "tool", item.arguments):
                state.approve(item)
            else:
                self._refused.add(call_id)
                state.reject(item, rejection_message=NOT_ALLOWED)
        return state

    def _current(self) -> Any:
        """The agent that answered last: the first one, or one that it handed the conversation to."""
        waiting, seen = [self._first], set()
        while waiting:
            agent = waiting.pop(0)
            if agent.name == self._agent_name:
                return agent
            seen.add(id(agent))
            waiting += [each for each in agent.handoffs if isinstance(each, agents.Agent) and id(each) not in seen]
        return self._known.get(self._agent_name, self._first)

    async def _equipped(self, agent: Any) -> Any:
        """The agent with the tools of the client's MCP servers; the author's own stays as it is."""
        tools = await self.client_tools({tool.name for tool in agent.tools}, prefix=CLIENT_PREFIX)
        self._is_structured = _is_structured(agent)
        return agent.clone(tools=[*agent.tools, *map(self._function_tool, tools)]) if tools else agent

    def _function_tool(self, tool: ClientTool) -> Any:
        async def invoke(context: Any, arguments: str) -> str:
            result = self.mcp_results[context.tool_call_id] = await tool.call(json.loads(arguments or "{}"))
            return ClientTool.text(result)

        return agents.FunctionTool(
            name=tool.name,
            description=tool.description,
            params_json_schema=tool.schema,
            on_invoke_tool=invoke,
            strict_json_schema=False,
            needs_approval=not tool.is_read_only,
        )

    # --- events

    async def _take(self, event: Any) -> None:
        match event.type:
            case "raw_response_event":
                await self._take_raw(event.data)
            case "agent_updated_stream_event":
                self._is_structured = _is_structured(event.new_agent)
            case "run_item_stream_event":
                await self._take_item(event.name, event.item)
            case _:
                pass

    async def _take_raw(self, data: Any) -> None:
        if data.type in TEXT_DELTAS:
            self._text += data.delta
            if not self._is_structured:
                await self.say(data.delta)
        elif data.type in THOUGHT_DELTAS:
            await self.think(data.delta)
        elif data.type in RESPONSE_ENDS:
            await self._count(data.response.usage)
            details = data.response.incomplete_details
            if data.type == "response.incomplete" and details is not None:
                self.turn.finish("refusal" if details.reason == "content_filter" else "max_tokens")

    async def _count(self, usage: Any) -> None:
        if usage is None:
            return
        details, spent = usage.input_tokens_details, usage.output_tokens_details
        self.turn.add_token_usage(
            usage.input_tokens,
            usage.output_tokens,
            total_tokens=usage.total_tokens,
            thought_tokens=getattr(spent, "reasoning_tokens", None),
            cached_read_tokens=getattr(details, "cached_tokens", None),
        )
        await self.update_context(usage.total_tokens)

    async def _take_item(self, name: str, item: Any) -> None:
        self._since.append(item.to_input_item())
        match name:
            case "message_output_created":
                if self._is_structured:
                    self._held = agents.ItemHelpers.text_message_output(item)
                elif not self._text:
                    # A model that does not stream.
                    await self.say(agents.ItemHelpers.text_message_output(item))
                self._text = ""
            case "handoff_requested":
                await self._say_held()
            case "tool_called":
                await self._say_held()
                await self.checkpoint()
                await self._announce(item)
            case "tool_output":
                await self._end(item)
                await self.checkpoint()
            case "handoff_occured":
                await self.turn.notice(f"{item.source_agent.name} hands over to {item.target_agent.name}")
            case _:
                pass

    async def _say_held(self) -> None:
        held, self._held = self._held, ""
        await self.say(held)

    async def _announce(self, item: Any) -> None:
        raw = item.raw_item
        call_id = _field(raw, "call_id")
        name = item.tool_name or _field(raw, "name") or _field(raw, "type") or "tool"
        arguments = _field(raw, "arguments") or _field(raw, "action")
        await self.announce_call(call_id or _field(raw, "id"), name, arguments, title=item.title)
        if call_id is None:
            # A tool of the provider: it has run already, and no output will be reported.
            await self.calls.complete(_field(raw, "id"))
        elif call_id in self._begun:
            await self.calls.begin(call_id)

    async def begin(self, call_id: str) -> None:
        """The body of a tool begins; the event that announces the call may still be unread."""
        self._begun.add(call_id)
        await self.calls.begin(call_id)

    async def _end(self, item: Any) -> None:
        call_id = item.call_id or _field(item.raw_item, "call_id")
        if call_id is None or call_id in self._refused:
            return
        result = self.mcp_results.pop(call_id, None)
        if result is not None:
            await self.calls.complete(call_id, result)
        elif str(item.output).startswith(DEFAULT_FAILURE):
            # The SDK marks a failed tool by this text alone, unless the author chose another. Some versions of it have
            # the exception behind the text.
            await self.calls.fail(call_id, DEFAULT_FAILURE.removesuffix(" Error:"))
        else:
            await self.calls.complete(call_id, _shown(item.output))


class _Hooks(agents.RunHooks[Any]):
    def __init__(self, run: _Run) -> None:
        self._run = run

    async def on_tool_start(self, context: Any, _agent: Any, _tool: Any) -> None:
        call_id = getattr(context, "tool_call_id", None)
        if call_id is not None:
            await self._run.begin(call_id)


def answered(items: Sequence[Any]) -> list[Any]:
    """The items, with an output for every function call that has none: providers refuse a history without it."""
    open_calls: dict[str, int] = {}
    for place, item in enumerate(items):
        kind = str(item.get("type", ""))
        if kind == "function_call":
            open_calls[item["call_id"]] = place
        elif kind.endswith("_call_output"):
            open_calls.pop(item.get("call_id"), None)
    whole = list(items)
    for call_id, place in reversed(open_calls.items()):
        whole.insert(place + 1, {"type": "function_call_output", "call_id": call_id, "output": NOT_FINISHED})
    return whole


def _is_structured(agent: Any) -> bool:
    return getattr(agent, "output_type", None) not in {None, str}


def _input_part(part: str | Media) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "input_text", "text": part}
    match part.kind:
        case "image":
            return {"type": "input_image", "detail": "auto", "image_url": part.data_uri}
        case "audio":
            if part.mime_type not in AUDIO_FORMATS:
                raise InvalidParams(
                    "This agent takes recordings as MP3 and WAV",
                    {"field": "prompt", "expected": "audio/mpeg, audio/wav"},
                )
            return {"type": "input_audio", "input_audio": {"data": part.data, "format": AUDIO_FORMATS[part.mime_type]}}
        case _:
            return {"type": "input_file", "filename": part.name or "file", "file_data": part.data_uri}


def _field(raw: Any, name: str) -> Any:
    """A field of a raw item, which is a dict for some tools and an object for others."""
    return raw.get(name) if isinstance(raw, Mapping) else getattr(raw, name, None)


def _shown(output: Any) -> Any:
    """The outputs of a tool, with texts and pictures as content blocks."""
    if isinstance(output, list | tuple):
        return [_shown(item) for item in output]
    text = _field(output, "text")
    if isinstance(text, str) and _field(output, "type") in {"text", "input_text"}:
        return Text(plain_text(text))
    uri = _field(output, "image_url")
    if isinstance(uri, str) and uri.startswith("data:") and ";base64," in uri:
        mime_type, _, data = uri.removeprefix("data:").partition(";base64,")
        return media_block(data, mime_type)
    return output
