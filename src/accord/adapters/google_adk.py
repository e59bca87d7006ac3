"""The adapter for Google ADK: one `Runner` for each turn, over a session service that gives every event to be kept.

ADK does not say when the body of a tool begins: callbacks run before it looks whether the call needs a confirmation. So
calls stay `pending` until their result, unless the user was asked.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Unpack
from weakref import WeakKeyDictionary, WeakSet

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.agents.invocation_context import LlmCallsLimitExceededError
from google.adk.agents.run_config import RunConfig, StreamingMode, ToolThreadPoolConfig
from google.adk.apps import App
from google.adk.artifacts import InMemoryArtifactService
from google.adk.events.event import Event
from google.adk.memory import InMemoryMemoryService
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.base_tool import BaseTool
from google.genai import types

from accord.adapters.failures import module_of, tool_failure
from accord.adapters.framework_run import CLIENT_PREFIX, NOT_FINISHED, FrameworkRun
from accord.adapters.mcp_tools import ClientTool
from accord.adapters.prompt_parts import Media
from accord.adapters.questions import question_text
from accord.adapters.serving import ServeOptions, agent_for, make_agent
from accord.adapters.tool_calls import media_block
from accord.adapters.tool_description import decoded
from accord.agent import Agent, Session, Turn
from accord.errors import InternalError
from accord.session.option import Choice, Group

__all__ = ["serve"]

log = logging.getLogger("accord.adapters")

APP_NAME = "accord"
USER_ID = "user"
CONFIRMATION = "adk_request_confirmation"
# What ADK gives where the author of a tool said no more than that it needs a confirmation.
OWN_HINT = "Please approve or reject the tool call"
QUESTION = "adk_request_input"
CREDENTIAL = "adk_request_credential"
# The call by which the model gives a structured output where it has tools as well.
STRUCTURED_OUTPUT = "set_model_response"
HIDDEN_CALLS = frozenset({CONFIRMATION, QUESTION, CREDENTIAL, STRUCTURED_OUTPUT})
REFUSALS = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT"}
)
# A tool without `async` would stop the loop, and with it every session. Threads of cancelled turns stay busy.
TOOL_THREADS = 32
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


def serve(
    agent: Any,
    name: str | None = None,
    *,
    run_config: Any = None,
    models: Sequence[str | Choice | Group] = (),
    services: Mapping[str, Any] | None = None,
    **options: Unpack[ServeOptions],
) -> Agent:
    """An agent or an `App` of Google ADK as an `accord.Agent`.

    `agent` may also be a function that makes one for a session. `services` are further arguments of ADK's `Runner`;
    with a `session_service` among them ADK keeps the conversation there, under the session's id, and Accord does not.
    Without a `run_config` answers are streamed, and tools without `async` run in threads. Where users may choose among
    `models`, the chosen one replaces that of the root agent.
    """
    config = run_config or RunConfig(
        streaming_mode=StreamingMode.SSE, tool_thread_pool_config=ToolThreadPoolConfig(max_workers=TOOL_THREADS)
    )

    async def open_run(turn: Turn) -> FrameworkRun:
        return _Run(turn, await agent_for(turn, agent, App, BaseAgent), run_config=config, services=services or {})

    own_name = name or getattr(agent, "name", None) or "agent"
    return make_agent(own_name, open_run, models=models, **options)


class _KeptSessions(InMemorySessionService):
    """ADK's sessions in memory, with a list of the events of the one that is used."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[Any] = []
        self.on_append: Callable[[], Awaitable[None]] | None = None

    async def append_event(self, session: Any, event: Any) -> Any:
        appended = await super().append_event(session, event)
        if not event.partial:
            self.events.append(_kept(appended))
            if self.on_append is not None:
                await self.on_append()
        return appended


_services: WeakKeyDictionary[Session, dict[str, Any]] = WeakKeyDictionary()
"""The services of sessions whose author gave none: a session of its own each, because ADK has one user for all."""
_have_notice: WeakSet[Session] = WeakSet()


def _in_memory(session: Session) -> dict[str, Any]:
    if session not in _services:
        _services[session] = {"artifact_service": InMemoryArtifactService(), "memory_service": InMemoryMemoryService()}
    return _services[session]


class _Run(FrameworkRun):
    framework = "Google ADK"

    def __init__(self, turn: Turn, agent: Any, *, run_config: Any, services: Mapping[str, Any]) -> None:
        super().__init__(turn)
        self._app = agent if isinstance(agent, App) else App(name=_app_name(agent), root_agent=agent)
        self._config = run_config
        self._services = dict(services)
        self._own_sessions = None if "session_service" in services else _KeptSessions()
        self._refused: set[str] = set()
        self._streamed: set[bool] = set()
        """Whether text (False) and thoughts (True) of the current answer came in pieces."""
        self._output: str | None = None
        """The text of the current answer of an agent with an output schema: the output, unless calls go with it."""
        self._asked: list[Any] = []
        """The calls by which ADK asks something, of the current run."""
        self._author: str | None = None
        self._error_code: str | None = None

    async def history(self) -> list[Any] | None:
        return None if self._own_sessions is None else answered(self._own_sessions.events)

    # --- the run

    async def execute(self) -> None:
        service = self._services.get("session_service", self._own_sessions)
        await self._open_session(service)
        before = [] if self._own_sessions is None else list(self._own_sessions.events)
        app = await self._equipped()
        runner = Runner(**{**_in_memory(self.turn.session), **self._services, "app": app, "session_service": service})
        given: Any = self._answer_to_question() or types.Content(role="user", parts=self._parts())
        try:
            while given is not None:
                self._asked = []
                await self._follow(runner, given)
                given = await self._answers()
        except LlmCallsLimitExceededError:
            self.turn.finish("max_turn_requests")
        if self.turn.stop_reason == "refusal" and self._own_sessions is not None:
            # The protocol leaves a refused prompt out of the history.
            self._own_sessions.events = before

    async def _follow(self, runner: Any, given: Any) -> None:
        events = runner.run_async(
            user_id=USER_ID, session_id=self.turn.session.id, new_message=given, run_config=self._config
        )
        async with aclosing(events):
            async for event in events:
                await self._take(event)
        if self._error_code and self.turn.stop_reason == "end_turn":
            log.error("a run of Google ADK ended with the error %s", self._error_code)
            raise InternalError("The model gave no answer: the agent's log says why", {"reason": "provider"})

    async def _open_session(self, service: Any) -> None:
        place = {"app_name": self._app.name, "user_id": USER_ID, "session_id": self.turn.session.id}
        if self._own_sessions is None:
            if await service.get_session(**place) is None:
                await service.create_session(**place)
            return
        session = await service.create_session(**place)
        for kept in self.state.history or ():
            await service.append_event(session, Event.model_validate(kept))
        # Set before the run, so that each event is kept before the client sees it.
        self._own_sessions.on_append = self.checkpoint

    async def _equipped(self) -> Any:
        """The app with our plugin, the chosen model and the client's tools; the author's own stays as it is."""
        root = self._app.root_agent
        update: dict[str, Any] = {}
        if isinstance(root, LlmAgent):
            if (model := self.option("model")) is not None:
                update["model"] = model
            taken = {tool.name for tool in await root.canonical_tools()}
            tools = [_ClientTool(tool, self) for tool in await self.client_tools(taken, prefix=CLIENT_PREFIX)]
            if tools:
                update["tools"] = [*root.tools, *tools]
        if update:
            root = root.clone(update=update)
        return self._app.model_copy(update={"root_agent": root, "plugins": [*self._app.plugins, _Observer(self)]})

    def _parts(self) -> list[Any]:
        return [_part(part) for part in self.prompt_parts()]

    # --- questions

    async def _answers(self) -> Any:
        """The message to go on with when the user has answered; None when the run is over."""
        answers: dict[str, Any] = {}
        unanswered: dict[str, Any] = {}
        names = {call.id: call.name for call in self._asked}
        for call in self._asked:
            arguments = call.args or {}
            if call.name == CONFIRMATION:
                original = arguments.get("originalFunctionCall", {})
                description = _reason(arguments.get("toolConfirmation") or {})
                allowed = await self.ask_call(
                    original.get("id"), original.get("name"), original.get("args"), description=description
                )
                if not allowed:
                    self._refused.add(original.get("id"))
                answers[call.id] = {"confirmed": allowed}
            elif call.name == QUESTION:
                schema = arguments.get("response_schema") or arguments.get("responseSchema")
                asked = {"message": arguments.get("message") or "Go on?", "payload": arguments.get("payload")}
                answer = await self.ask_freely(question_text(_present(asked)), schema)
                if answer is None:
                    unanswered[call.id] = schema
                else:
                    answers[call.id] = _response(answer.value if answer.accepted else None)
            else:
                raise InternalError("A tool of this agent wants a login of its own, which cannot be given here")
        if unanswered:
            self.state.question = {"answers": answers, "unanswered": unanswered, "names": names}
            return None
        return _message(answers, names) if answers else None

    def _answer_to_question(self) -> Any:
        question, self.state.question = self.state.question, None
        if not isinstance(question, dict):
            return None
        given = {
            call_id: _response(self.answer_of(self.text, schema)) for call_id, schema in question["unanswered"].items()
        }
        return _message({**question["answers"], **given}, question["names"])

    # --- events

    async def _take(self, event: Any) -> None:
        agent = self._app.root_agent.find_agent(event.author) if isinstance(self._app.root_agent, BaseAgent) else None
        is_structured = getattr(agent, "output_schema", None) is not None
        if event.branch is not None and event.partial:
            # Of agents that run at the same time: the pieces of their answers would be mixed.
            return
        parts = (event.content.parts if event.content else None) or ()
        await self._note_author(event, has_text=any(part.text for part in parts))
        for part in parts:
            await self._take_part(event, part, is_structured=is_structured)
        if event.partial:
            return
        if event.actions.artifact_delta and "artifact_service" not in self._services:
            await self._notice_artifacts()
        self._streamed.clear()
        await self._count(event.usage_metadata)
        self._note_end(event)
        if self._output is not None:
            output, self._output = self._output, None
            await (self.say_output(decoded(output)) if event.is_final_response() else self.say(output))

    async def _notice_artifacts(self) -> None:
        if self.turn.session not in _have_notice:
            _have_notice.add(self.turn.session)
            advice = "They end with the session: serve(services=…) takes a service that keeps them"
            await self.turn.notice("The files of this agent are kept in memory", advice)

    async def _note_author(self, event: Any, *, has_text: bool) -> None:
        if event.branch is not None:
            if has_text:
                await self.turn.notice(f"{event.author} answers")
            return
        if event.author != self._author and self._author is not None and event.author != USER_ID:
            await self.turn.notice(f"{self._author} hands over to {event.author}")
        self._author = event.author

    async def _take_part(self, event: Any, part: Any, *, is_structured: bool) -> None:
        if part.text:
            await self._take_text(part.text, is_thought=bool(part.thought), event=event, is_structured=is_structured)
        elif part.function_call is not None and not event.partial:
            call = part.function_call
            if call.name in {CONFIRMATION, QUESTION, CREDENTIAL}:
                self._asked.append(call)
            elif call.name not in HIDDEN_CALLS:
                await self.announce_call(call.id, call.name, call.args)
        elif part.function_response is not None and not event.partial:
            response = part.function_response
            waits = response.id in (event.actions.requested_tool_confirmations or {})
            if not waits and response.name not in HIDDEN_CALLS and response.id not in self._refused:
                await self._end(response)

    async def _take_text(self, text: str, *, is_thought: bool, event: Any, is_structured: bool) -> None:
        if is_structured and not is_thought:
            self._output = None if event.partial else text
        elif event.partial or is_thought not in self._streamed:
            # The whole answer comes again after its pieces.
            if event.partial:
                self._streamed.add(is_thought)
            await (self.think if is_thought else self.say)(text)

    async def _end(self, response: Any) -> None:
        value = response.response
        result = self.mcp_results.pop(response.id, None)
        if result is not None:
            await self.calls.complete(response.id, result)
        elif isinstance(value, Mapping) and value.get("error"):
            await self.calls.fail(response.id, str(value["error"]))
        else:
            shown = value["result"] if isinstance(value, Mapping) and set(value) == {"result"} else value
            # ADK takes pictures and other media out of a result.
            found = [part.inline_data for part in response.parts or () if part.inline_data is not None]
            media = [media_block(data.data, data.mime_type) for data in found]
            rest = shown if isinstance(shown, list) else [shown] if shown else []
            await self.calls.complete(response.id, [*rest, *media] if media else shown)

    async def _count(self, usage: Any) -> None:
        if usage is None:
            return
        self.turn.add_token_usage(
            usage.prompt_token_count or 0,
            (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0),
            total_tokens=usage.total_token_count,
            thought_tokens=usage.thoughts_token_count,
            cached_read_tokens=usage.cached_content_token_count,
        )
        await self.update_context(usage.total_token_count)

    def _note_end(self, event: Any) -> None:
        reason = str(getattr(event.finish_reason, "name", event.finish_reason or "")) or str(event.error_code or "")
        if reason == "MAX_TOKENS":
            self.turn.finish("max_tokens")
        elif reason in REFUSALS:
            self.turn.finish("refusal")
        # An exception may still follow, which has more details.
        self._error_code = event.error_code

    def has_own_error_callback(self, agent_name: str) -> bool:
        """Whether the author's agent handles a failing tool itself."""
        agent = self._app.root_agent.find_agent(agent_name)
        return bool(getattr(agent, "on_tool_error_callback", None))


class _Observer(BasePlugin):
    """Makes a tool that raises a failed call, and not a failed turn, where the author did not decide it."""

    def __init__(self, run: _Run) -> None:
        super().__init__(name="accord")
        self._run = run

    async def on_tool_error_callback(
        self, *, tool_context: Any, error: BaseException, **_: Any
    ) -> dict[str, Any] | None:
        if not isinstance(error, Exception) or self._run.has_own_error_callback(tool_context.agent_name):
            return None
        # ADK's own exceptions are about the call, such as a tool that does not exist: the model corrects it.
        is_of_adk = module_of(error).startswith("google.adk.flows.")
        return {"error": str(error) if is_of_adk else tool_failure(error)}


class _ClientTool(BaseTool):
    """A tool of the client's MCP servers; its results are shown as the server sent them."""

    def __init__(self, tool: ClientTool, run: _Run) -> None:
        super().__init__(name=tool.name, description=tool.description)
        self._tool = tool
        self._run = run

    def _get_declaration(self) -> Any:
        return types.FunctionDeclaration(
            name=self._tool.name, description=self._tool.description, parameters_json_schema=self._tool.schema
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> dict[str, Any]:
        result = await self._run.run_client_tool(self._tool, tool_context.function_call_id, args)
        return {"error" if result.is_error else "result": ClientTool.text(result)}


def answered(events: Sequence[Any]) -> list[Any]:
    """The kept events, with a response for every function call that has none."""
    calls: dict[str, Any] = {}
    for event in events:
        for part in (event.get("content") or {}).get("parts") or ():
            if (call := part.get("functionCall")) is not None:
                calls[call.get("id")] = (call, event)
            elif (response := part.get("functionResponse")) is not None:
                calls.pop(response.get("id"), None)
    return [*events, *(_unfinished(call, event) for call, event in calls.values())]


def _unfinished(call: Mapping[str, Any], event: Mapping[str, Any]) -> Any:
    response = types.FunctionResponse(id=call.get("id"), name=call.get("name"), response={"error": NOT_FINISHED})
    return _kept(
        Event(
            author=event["author"],
            invocation_id=event.get("invocationId", ""),
            branch=event.get("branch"),
            content=types.Content(role="user", parts=[types.Part(function_response=response)]),
        )
    )


def _kept(event: Any) -> Any:
    return event.model_dump(mode="json", by_alias=True, exclude_none=True)


def _reason(confirmation: Mapping[str, Any]) -> str | None:
    """The reason that a tool gave for a confirmation. ADK's own one repeats the call, which is shown."""
    hint = str(confirmation.get("hint") or "")
    own = {"hint": "" if hint.startswith(OWN_HINT) else hint, "payload": confirmation.get("payload")}
    return question_text(_present(own)) if _present(own) else None


def _present(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, "", {}, [])}


def _message(answers: Mapping[str, Any], names: Mapping[str, str]) -> Any:
    parts = [
        types.Part(function_response=types.FunctionResponse(id=call_id, name=names[call_id], response=answer))
        for call_id, answer in answers.items()
    ]
    return types.Content(role="user", parts=parts)


def _response(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"result": value}


def _part(part: str | Media) -> Any:
    if isinstance(part, str):
        return types.Part(text=part)
    return types.Part.from_bytes(data=part.content, mime_type=part.mime_type)


def _app_name(agent: Any) -> str:
    name = _UNSAFE.sub("_", str(getattr(agent, "name", ""))) or APP_NAME
    return APP_NAME if name == USER_ID else name
