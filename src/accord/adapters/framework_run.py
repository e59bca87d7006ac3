"""One run of a framework's agent in one turn: the class that every adapter extends.

An adapter implements the run (`execute`) and the conversation that is kept (`history`). Everything else that turns need
is here: the table of tool calls, questions, plans, usage, errors, cancellation, and the state.
"""

from __future__ import annotations

import abc
import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from accord.adapters.failures import request_error_of
from accord.adapters.guarded_tasks import guard_tasks
from accord.adapters.history import AdapterState, load_state, save_state
from accord.adapters.mcp_tools import ClientTool, client_tools
from accord.adapters.prompt_parts import MediaKind, PromptPart, plain_prompt, prompt_parts
from accord.adapters.questions import is_yes
from accord.adapters.tool_calls import ToolCalls, json_text, json_value
from accord.adapters.tool_description import decoded, todos_of
from accord.agent import McpResult, Tool, Turn
from accord.agent.question import decision
from accord.errors import StoreError
from accord.json_values import JsonValue
from accord.jsonrpc.plain import plain_text
from accord.session.content import Text
from accord.session.event import PlanEntry, PlanPriority, PlanStatus
from accord.time_scale import scaled

__all__ = ["CLIENT_PREFIX", "NOT_ALLOWED", "NOT_FINISHED", "FrameworkRun", "UserAnswer"]

log = logging.getLogger("accord.adapters")

# How long a cancelled run may take until the turn goes on without it: a tool in a thread cannot be stopped.
CANCEL_SECONDS = scaled(0.4)
# How long the history may take to be kept when a turn is cancelled.
KEEP_SECONDS = scaled(2.0)
# For models whose context size is not known.
CONTEXT_TOKENS = 128_000
MAX_TITLE = 60
ANSWER = "answer"
# Put before the names of the client's MCP tools: an agent's own names may not be known before it runs.
CLIENT_PREFIX = "mcp_"
NOT_ALLOWED = "The user did not allow it."
NOT_FINISHED = "The user stopped the turn before its end."

_abandoned: set[asyncio.Task[Any]] = set()
"""Runs that go on although they were cancelled; referred to here, so that they are not collected while they run."""


@dataclass(frozen=True, slots=True)
class UserAnswer:
    """The user's answer to a free question; `accepted` is false if the form was declined or closed."""

    accepted: bool
    value: JsonValue = None
    """The text, or the value of the question's schema."""


class FrameworkRun(abc.ABC):
    """One turn of a framework's agent. An adapter extends it; `handle` is the prompt handler of the agent.

    The author's agent serves all sessions at the same time, so nothing in a run may change it.
    """

    framework: ClassVar[str]
    """The name of the framework, as its users know it."""
    takes: ClassVar[frozenset[MediaKind]] = frozenset({"image", "audio", "video", "file"})
    """The media that can be passed on; a prompt with any other is refused with a sentence."""

    def __init__(self, turn: Turn, *, place: Callable[[str], str] = plain_text) -> None:
        self.turn: Turn = turn
        """The turn that runs."""
        self.state: AdapterState = load_state(turn.session, self.framework)
        """The state that is kept with the session."""
        self.calls: ToolCalls = ToolCalls(turn, self.state, place)
        """The tool calls of this turn, by the framework's ids."""
        self.mcp_tools: dict[str, ClientTool] = {}
        """The tools that `client_tools` gave, by name."""
        self.mcp_results: dict[str, McpResult] = {}
        """The results of those tools by the ids of their calls, to be shown as the servers sent them."""

    # --- the adapter's part

    @abc.abstractmethod
    async def execute(self) -> None:
        """Run the agent with the prompt, and report everything that it does.

        It runs in a task of its own. When the turn is cancelled that task is cancelled, and given up if it does not
        end soon.
        """

    @abc.abstractmethod
    async def history(self) -> JsonValue:
        """The conversation as it is now, as JSON in which every tool call has an answer.

        It is called after every end of the run, and for `checkpoint`. None where the framework keeps the conversation
        itself.
        """

    # --- the turn

    async def handle(self) -> None:
        """Run the agent, and keep the history also if the run fails.

        Raises:
            RequestError: The run failed; the message is a sentence for the user.
        """
        await self._set_title()
        guard_tasks()
        work = asyncio.create_task(self.execute())
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            if work.done() and not self.turn.cancelled:
                await self.checkpoint()
                raise request_error_of(RuntimeError("the framework cancelled its own run"), self.framework) from None
            await self._cancel(work)
            raise
        except Exception as error:
            await self.checkpoint()
            raise request_error_of(error, self.framework) from error
        await self.checkpoint()

    async def _cancel(self, work: asyncio.Task[None]) -> None:
        work.cancel()
        await asyncio.wait([work], timeout=CANCEL_SECONDS)
        if work.done():
            if not work.cancelled() and (error := work.exception()) is not None:
                log.debug("a cancelled run of %s raised", self.framework, exc_info=error)
        else:
            log.warning("a run of %s goes on although it was cancelled: a tool does not stop", self.framework)
            _abandoned.add(work)
            work.add_done_callback(_forget)
        try:
            async with asyncio.timeout(KEEP_SECONDS):
                await self.checkpoint()
        except TimeoutError:
            log.warning("the history of a cancelled turn could not be kept in time")

    async def checkpoint(self) -> None:
        """Keep the history now, so that a process that is killed later has lost nothing up to here.

        Call it when a model's answer or a tool's result has become part of the framework's history.
        """
        try:
            history = await self.history()
            if history is not None:
                self.state.history = json_value(history)
            await save_state(self.turn.session, self.state)
        except StoreError:
            raise
        except Exception:
            log.exception("the history of an agent of %s could not be kept", self.framework)

    async def _set_title(self) -> None:
        line = " ".join(self.turn.text.split())
        if self.turn.session.title is None and line:
            await self.turn.set_title(line if len(line) <= MAX_TITLE else f"{line[: MAX_TITLE - 1]}…")

    # --- input

    def prompt_parts(self) -> list[PromptPart]:
        """The prompt as texts and media.

        Raises:
            InvalidParams: It has media that are not in `takes`.
        """
        return plain_prompt(prompt_parts(self.turn.prompt, self.turn.session.cwd), takes=self.takes)

    @property
    def text(self) -> str:
        """The texts of the prompt, without media."""
        parts = prompt_parts(self.turn.prompt, self.turn.session.cwd)
        return "\n".join(part for part in parts if isinstance(part, str))

    async def client_tools(self, taken: Collection[str] = (), *, prefix: str = "") -> list[ClientTool]:
        """The tools of the client's MCP servers.

        `taken` are the names of the agent's own tools; `prefix` is for frameworks that do not say which those are. A
        server that does not work concerns no other, and its user was notified when the session was opened.
        """
        servers = await self.turn.mcp()
        found = client_tools(servers.tools, taken, prefix)
        self.mcp_tools = {tool.name: tool for tool in found}
        return found

    async def run_client_tool(self, tool: ClientTool, call_id: str, arguments: Mapping[str, Any]) -> McpResult:
        """Call a tool of the client's MCP servers, for frameworks that have no approval of their own for it.

        The user is asked first, unless the server says that the tool changes nothing; a refusal is a result with
        `is_error`, and its call is cancelled. The result is also in `mcp_results`.
        """
        given = dict(arguments)
        if tool.is_read_only or await self.ask_call(call_id, tool.name, given, annotations=tool.annotations):
            await self.calls.begin(call_id)
            result = await tool.call(arguments)
        else:
            result = McpResult([Text(NOT_ALLOWED)], is_error=True)
        self.mcp_results[call_id] = result
        return result

    def option(self, option_id: str) -> str | bool | None:
        """The value of a config option; None if the agent has none of this id."""
        try:
            return self.turn.option(option_id)
        except KeyError:
            return None

    # --- output

    async def say(self, text: str | None) -> None:
        """Send a piece of the answer, as a plain string; nothing where there is none."""
        if text:
            await self.turn.say(plain_text(text))

    async def think(self, text: str | None) -> None:
        """Send a piece of a thought."""
        if text:
            await self.turn.think(plain_text(text))

    async def say_output(self, value: object) -> None:
        """Send a structured output, which no framework streams as text: as JSON."""
        if value is not None:
            self.turn.new_message()
            await self.turn.say(f"```json\n{json_text(value)}\n```")

    async def plan(self, todos: Iterable[Mapping[str, Any]]) -> None:
        """Send a list of todos (`content`, `status`, `priority`) as the plan."""
        await self.turn.plan([_entry(todo) for todo in todos])

    async def update_context(self, used: int | None, size: int | None = None, *, cost: float | None = None) -> None:
        """Report how full the context is after a model call, and the call's cost in US dollars where it is known."""
        if cost is not None:
            self.state.cost += cost
        if used:
            total = self.state.cost or None
            await self.turn.update_usage(used, size or max(CONTEXT_TOKENS, used), cost=total)

    async def announce_call(
        self,
        call_id: str,
        name: str,
        arguments: JsonValue = None,
        *,
        title: str | None = None,
        annotations: Mapping[str, Any] | None = None,
    ) -> None:
        """Announce a call, as `ToolCalls.announce` does; the todos that it writes are the plan.

        The annotations of a tool of the client are added where none are given.
        """
        if annotations is None and name in self.mcp_tools:
            annotations = self.mcp_tools[name].annotations
        await self.calls.announce(call_id, name, arguments, title=title, annotations=annotations)
        todos = todos_of(name, decoded(arguments))
        if todos is not None:
            await self.plan(todos)

    # --- questions

    @decision
    async def ask_call(
        self,
        call_id: str,
        name: str,
        arguments: JsonValue = None,
        *,
        title: str | None = None,
        description: str | None = None,
        annotations: Mapping[str, Any] | None = None,
    ) -> bool:
        """Ask the user about a call, which is announced if it was not: see `ToolCalls.request_permission`."""
        await self.calls.announce(call_id, name, arguments, annotations=annotations)
        return await self.calls.request_permission(call_id, title=title, description=description)

    async def ask_freely(
        self, message: str, schema: Mapping[str, Any] | None = None, *, tool: Tool | None = None
    ) -> UserAnswer | None:
        """Ask a question that is no permission: as a form where the client has forms; the answer fits `schema`.

        None where the client has none: then the question was sent as text, the run should end, and the next prompt is
        the answer. Keep the data to go on with in `state.question`, and read the answer with `answer_of`.
        """
        message = plain_text(message)
        if not self.turn.can("elicit"):
            self.turn.new_message()
            await self.turn.say(message)
            return None
        fields, required, is_object = _form(schema)
        answer = await self.turn.elicit(message, fields, required=required, tool=tool)
        if not answer:
            return UserAnswer(accepted=False)
        return UserAnswer(accepted=True, value=answer.content if is_object else answer.content.get(ANSWER))

    @staticmethod
    def answer_of(text: str, schema: Mapping[str, Any] | None = None) -> JsonValue:
        """A prompt as the answer to a question that was sent as text, in the form that `schema` wants."""
        kind = (schema or {}).get("type")
        if kind in (None, "string"):
            return text
        value = decoded(text)
        if kind == "boolean":
            return value if isinstance(value, bool) else is_yes(text)
        properties = list((schema or {}).get("properties", ()))
        if kind == "object" and not isinstance(value, dict) and len(properties) == 1:
            return {properties[0]: value}
        return value


def _forget(work: asyncio.Task[None]) -> None:
    _abandoned.discard(work)
    if not work.cancelled():
        work.exception()  # retrieved: its turn has long ended


def _form(schema: Mapping[str, Any] | None) -> tuple[dict[str, Any], list[str], bool]:
    """The fields of a form for a schema, the required ones, and whether the answer is the form as a whole."""
    given = dict(schema or {})
    properties = given.get("properties")
    if given.get("type") == "object" and isinstance(properties, dict) and properties:
        return dict(properties), [str(name) for name in given.get("required", ())], True
    field = {name: value for name, value in given.items() if name not in {"$schema", "$defs"}} or {"type": "string"}
    field.setdefault("type", "string")
    return {ANSWER: field}, [ANSWER], False


_PLAN_STATUSES: tuple[PlanStatus, ...] = ("pending", "in_progress", "completed", "cancelled")
_PLAN_PRIORITIES: tuple[PlanPriority, ...] = ("high", "medium", "low")


def _entry(todo: Mapping[str, Any]) -> PlanEntry:
    names = ("content", "step", "title", "description")
    content = next((str(text) for name in names if (text := todo.get(name))), "")
    status, priority = str(todo.get("status", "")), str(todo.get("priority", ""))
    return PlanEntry(
        content,
        priority=next((each for each in _PLAN_PRIORITIES if each == priority), "medium"),
        status=next((each for each in _PLAN_STATUSES if each == status), "pending"),
    )
