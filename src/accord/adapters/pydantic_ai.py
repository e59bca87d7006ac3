"""The adapter for pydantic-ai (2.60 or newer): one capability, which gets every event inside the run in order.

`agent.run` is the run. A capability is the documented hook for all of it: events of the stream, the execution of
tools, and calls that wait for approval, for which the run waits instead of ending.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from pydantic_ai import (
    ApprovalRequiredToolset,
    BinaryContent,
    DeferredToolRequests,
    DeferredToolResults,
    FunctionToolset,
    ModelRetry,
    RunContext,
    Tool,
    ToolDenied,
    UsageLimitExceeded,
    UsageLimits,
    capture_run_messages,
)
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ContentFilterError, ToolFailed
from pydantic_ai.messages import (
    FilePart,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    RetryPromptPart,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolReturnPart,
    UserPromptPart,
    repair_messages,
)

from accord.adapters.failures import tool_failure
from accord.adapters.framework_run import CLIENT_PREFIX, NOT_ALLOWED, FrameworkRun
from accord.adapters.mcp_tools import ClientTool
from accord.adapters.prompt_parts import Media, PromptPart
from accord.adapters.questions import question_text
from accord.adapters.serving import ServeOptions, agent_for, make_agent, value_for
from accord.adapters.tool_calls import media_block
from accord.agent import Agent, Turn
from accord.json_values import JsonValue
from accord.session.content import Image
from accord.session.option import Choice, Group

__all__ = ["serve"]

FRAMEWORK = "pydantic-ai"


def serve(
    agent: AbstractAgent[Any, Any] | Callable[..., Any],
    name: str | None = None,
    *,
    deps: object = None,
    models: Sequence[str | Choice | Group] = (),
    usage_limits: UsageLimits | None = None,
    **options: Unpack[ServeOptions],
) -> Agent:
    """A pydantic-ai agent, or a function that makes one for a session, as an `accord.Agent`.

    `deps` are the dependencies of every run, or a function that makes them from the `Turn`, with or without `async`.
    `models` (`"provider:name"`) are offered to the user; without them the agent's own is used. `usage_limits` are those
    of each turn.
    """

    async def open_run(turn: Turn) -> PydanticAiRun:
        return PydanticAiRun(turn, await agent_for(turn, agent, AbstractAgent), deps, usage_limits)

    return make_agent(name or getattr(agent, "name", None) or FRAMEWORK, open_run, models=models, **options)


class PydanticAiRun(FrameworkRun):
    """One run of a pydantic-ai agent."""

    framework = FRAMEWORK

    def __init__(
        self, turn: Turn, agent: AbstractAgent[Any, Any], deps: object, usage_limits: UsageLimits | None
    ) -> None:
        super().__init__(turn)
        self._agent = agent
        self._deps = deps
        self._usage_limits = usage_limits
        self._before: list[ModelMessage] = ModelMessagesTypeAdapter.validate_python(self.state.history or [])
        self._prompt: list[Any] = []
        self._messages: list[ModelMessage] = []
        """The live list of the run."""
        self.returned: dict[str, ToolReturnPart | RetryPromptPart] = {}
        """The results that came since the last request of the model, which are no part of the messages yet."""
        self.has_text = False
        """Whether text of the last answer of the model was sent."""
        self._is_output = False
        """Whether the text of the current answer is a structured output, unless tools are called in it."""
        self._held = ""
        """That text so far."""

    async def execute(self) -> None:
        self._prompt = [_user_content(part) for part in self.prompt_parts()]
        await self.checkpoint()
        model = self.option("model")
        with capture_run_messages() as self._messages:
            try:
                result = await self._agent.run(
                    self._prompt,
                    message_history=self._before or None,
                    conversation_id=self.turn.session.id,
                    deps=await value_for(self.turn, self._deps),
                    model=model if isinstance(model, str) else None,
                    toolsets=await self._toolsets(),
                    usage_limits=self._usage_limits,
                    capabilities=[_Reporter(self)],
                    infer_name=False,
                )
            except UsageLimitExceeded as error:
                # Only the text of the exception names the limit.
                self.turn.finish("max_tokens" if "token" in str(error) else "max_turn_requests")
                return
            except ContentFilterError:
                self.turn.finish("refusal")
                return
        await self._finish(result)

    async def _finish(self, result: Any) -> None:
        reason = result.response.finish_reason
        if reason in {"length", "content_filter"}:
            self.turn.finish("max_tokens" if reason == "length" else "refusal")
        if not isinstance(result.output, str):
            # Where a model answers in JSON by itself, and nothing announced it, the text was the output.
            if not self.has_text or result.response.tool_calls:
                await self.say_output(result.output)
        elif not self.has_text:
            # The text of an output function or an output tool: nothing of it was streamed.
            await self.say(result.output)

    def begin_answer(self, *, is_output: bool) -> None:
        """The model is asked; `is_output` if its text will be a structured output."""
        self._is_output, self._held = is_output, ""

    async def say_answer(self, text: str) -> None:
        """A piece of the model's text: sent now, unless it may be a structured output, which is sent at the end."""
        if self._is_output:
            self._held += text
            return
        self.has_text = self.has_text or bool(text)
        await self.say(text)

    async def end_text(self) -> None:
        """Tools are called, so that the text of this answer was no output."""
        held, self._held = self._held, ""
        await self.say(held)
        self.has_text = False

    async def _toolsets(self) -> list[Any]:
        # The names of the agent's own tools are known in the run and not before.
        tools = await self.client_tools(prefix=CLIENT_PREFIX)
        if not tools:
            return []
        changing = {tool.name for tool in tools if not tool.is_read_only}
        own: FunctionToolset[Any] = FunctionToolset([self._native(tool) for tool in tools], id="client")
        return [ApprovalRequiredToolset(own, lambda _context, tool, _arguments: tool.name in changing)]

    def _native(self, tool: ClientTool) -> Tool[Any]:
        async def call(context: RunContext[Any], **arguments: Any) -> Any:
            result = await tool.call(arguments)
            if context.tool_call_id is not None:
                self.mcp_results[context.tool_call_id] = result
            if result.is_error:
                raise ModelRetry(tool.text(result))
            pictures = [
                BinaryContent(Media(block.data, block.mime_type).content, media_type=block.mime_type)
                for block in result.content
                if isinstance(block, Image)
            ]
            return [tool.text(result), *pictures] if pictures else tool.text(result)

        return Tool.from_schema(call, tool.name, tool.description, tool.schema, takes_ctx=True)

    async def history(self) -> JsonValue:
        messages = list(self._messages) or list(self._before)
        if self._prompt and len(messages) <= len(self._before):
            # It ended before the first request: the prompt is kept all the same.
            messages.append(ModelRequest(parts=[UserPromptPart(self._prompt)]))
        last = messages[-1] if messages else None
        if isinstance(last, ModelResponse):
            calls = {part.tool_call_id for part in last.tool_calls}
            parts = [part for call_id, part in self.returned.items() if call_id in calls]
            if parts:
                messages.append(ModelRequest(parts=parts))
        return ModelMessagesTypeAdapter.dump_python(repair_messages(messages), mode="json")


@dataclass
class _Reporter(AbstractCapability[Any]):
    """Reports the events of the run, which awaits every method."""

    def __init__(self, run: PydanticAiRun) -> None:
        super().__init__()
        self._run = run

    async def on_event(self, ctx: RunContext[Any], *, event: Any) -> None:
        run = self._run
        match event:
            case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                await run.say_answer(text)
            case PartStartEvent(part=ThinkingPart(content=text)):
                await run.think(text)
            case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text)):
                await run.think(text)
            case PartStartEvent(part=FilePart(content=file)):
                await run.turn.say(media_block(file.data, file.media_type))
            case FunctionToolCallEvent(part=call):
                await run.end_text()
                await run.calls.announce(call.tool_call_id, call.tool_name, call.args)
            case FunctionToolResultEvent():
                await self._report_result(event.part, event.content)
            case _:
                pass

    async def _report_result(self, part: ToolReturnPart | RetryPromptPart, more: Any) -> None:
        run = self._run
        call_id = part.tool_call_id
        run.returned[call_id] = part
        outcome = getattr(part, "outcome", "retried")
        if outcome == "denied":
            await run.calls.cancel(call_id)
        else:
            shown = run.mcp_results.get(call_id) or _shown(part, more)
            end = run.calls.complete if outcome == "success" else run.calls.fail
            await end(call_id, shown, name=part.tool_name or "tool")
        await run.checkpoint()

    async def before_model_request(self, ctx: RunContext[Any], request_context: Any) -> Any:
        mode = request_context.model_request_parameters.output_mode
        self._run.begin_answer(is_output=mode in {"native", "prompted"})
        return request_context

    async def after_model_request(self, ctx: RunContext[Any], *, request_context: Any, response: ModelResponse) -> Any:
        run, usage = self._run, response.usage
        run.returned.clear()
        if usage.input_tokens or usage.output_tokens:
            run.turn.add_token_usage(
                usage.input_tokens,
                usage.output_tokens,
                cached_read_tokens=usage.cache_read_tokens or None,
                cached_write_tokens=usage.cache_write_tokens or None,
            )
            size = getattr(ctx.model, "context_window", None)
            await run.update_context(usage.input_tokens + usage.output_tokens, size, cost=_cost(response))
        return response

    async def wrap_tool_execute(
        self, ctx: RunContext[Any], *, call: Any, tool_def: Any, args: Any, handler: Any
    ) -> Any:
        run = self._run
        await run.announce_call(call.tool_call_id, call.tool_name, call.args)
        # Before the tool does anything: if the process is killed in it, the kept history has the call.
        await run.checkpoint()
        await run.calls.begin(call.tool_call_id)
        try:
            return await handler(args)
        except Exception as error:
            # pydantic-ai's own exceptions mean to retry, to fail or to ask. Any other ends the run without a result.
            if not type(error).__module__.startswith("pydantic_ai"):
                await run.calls.fail(call.tool_call_id, tool_failure(error))
            raise

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[Any], *, requests: DeferredToolRequests
    ) -> DeferredToolResults | None:
        answers: dict[str, bool | ToolDenied] = {}
        for call in requests.approvals:
            reason = requests.metadata.get(call.tool_call_id)
            allowed = await self._run.ask_call(
                call.tool_call_id, call.tool_name, call.args, description=question_text(reason) if reason else None
            )
            answers[call.tool_call_id] = allowed or ToolDenied(NOT_ALLOWED)
        # Without a result for these the run fails, unless `DeferredToolRequests` is one of its outputs.
        message = "This tool runs outside of the agent"
        calls: dict[str, Any] = {call.tool_call_id: ToolFailed(message) for call in requests.calls}
        return requests.build_results(approvals=answers, calls=calls) if answers or calls else None


def _user_content(part: PromptPart) -> Any:
    return part if isinstance(part, str) else BinaryContent(part.content, media_type=part.mime_type)


def _shown(part: ToolReturnPart | RetryPromptPart, more: Any) -> object:
    """A result, with the media of `more`, the further content for the model (`ToolReturn.content`)."""
    if isinstance(part, RetryPromptPart):
        return part.model_response()
    text = part.model_response_str(wrap_if_error=False)
    given = [*part.files, *(() if more is None or isinstance(more, str) else more)]
    files = [media_block(file.data, file.media_type) for file in given if isinstance(file, BinaryContent)]
    return [text, *files] if files else text


def _cost(response: ModelResponse) -> float | None:
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None
