"""One turn of an agent: the prompt, and every message, tool call and request that a handler can send until it ends."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any

from accord.agent.client import Client, ClientCaller, ClientFeature
from accord.agent.files import Files
from accord.agent.mcp import McpServers
from accord.agent.question import (
    ALLOW_OPTIONS,
    Elicitation,
    PendingQuestion,
    Permission,
    check_options,
    command_subject,
    decision,
)
from accord.agent.session import Session, new_id
from accord.agent.terminals import Terminals
from accord.agent.tool import TOOL_KINDS, TOOL_STATUSES, Tool, checked_json
from accord.agent.turn_values import (
    STOP_REASONS,
    Compaction,
    add_tokens,
    annotated,
    compacting,
    plan_event,
    usage_event,
)
from accord.errors import LocalProtocolError
from accord.json_values import JsonValue
from accord.protocol.model import UNSET
from accord.session.agent_requests import ElicitForm, ElicitUrl, RequestPermission
from accord.session.client_requests import Prompt
from accord.session.content import Annotations, Block, Blocks, Text, blocks_of
from accord.session.custom import check_value
from accord.session.event import (
    Event,
    MessageChanged,
    MessageChunk,
    Meta,
    Noticed,
    PlanChanged,
    PlanEntry,
    Severity,
    Speaker,
    StopReason,
    TokenUsage,
    ToolChanged,
)
from accord.session.event_check import check_event
from accord.session.option import PermissionOption
from accord.session.tool import Location, ToolKind, ToolStatus
from accord.session.transcript import Transcript
from accord.session.turn_io import QuestionAnswered, QuestionOpened
from accord.telemetry import NO_SPAN, TRACE_KEYS, OperationSpan

__all__ = ["Turn"]


class Turn:
    """One prompt, from its arrival to its end. Made for each prompt and given to its handler.

    A method that is awaited has added its event to the conversation when it returns; the client gets events in that
    order. When the turn is over, every method that sends something raises `LocalProtocolError`.
    """

    def __init__(
        self,
        session: Session,
        caller: ClientCaller,
        prompt: Prompt,
        message_id: str,
        command: str | None,
        argument: str,
    ) -> None:
        self.session: Session = session
        """The session that the prompt belongs to."""
        self.message_id: str = message_id
        """The id of the user's message."""
        self.prompt: list[Block] = prompt.content
        """The blocks of the user's message."""
        self.meta: Meta = prompt.meta or {}
        """The `_meta` of the prompt."""
        self.command: str | None = command
        """The slash command that was recognised, without the slash."""
        self.argument: str = argument
        """The text behind the command; the whole text where there is none."""
        self.stop_reason: StopReason = "end_turn"
        """Why the turn will end: see `finish`."""
        self.token_usage: TokenUsage | None = None
        """The tokens that the turn took so far: see `add_token_usage`."""
        self.cancelled: bool = False
        """Whether it is being ended before its handler is done: by its client, or because it cannot be kept."""
        self._tools: list[Tool] = []
        self._plans: dict[str, PlanChanged] = {}
        self._background_tools: list[Tool] = []
        """The tool calls that may go on when it is over."""
        self._caller = caller
        self._publisher = session._publisher
        self._over = False
        self._failure: Exception | None = None
        self._speaker: Speaker | None = None
        self._speech = ""
        self._span: OperationSpan = NO_SPAN

    def __repr__(self) -> str:
        return f"<turn in {self.session!r}, {'over' if self._over else 'running'}>"

    # --- state

    @property
    def text(self) -> str:
        """The text of the prompt: its text blocks, one below the other."""
        return "\n".join(block.text for block in self.prompt if isinstance(block, Text))

    @property
    def client(self) -> Client:
        """The client that sent the prompt."""
        return self.session.client

    @property
    def trace(self) -> dict[str, str]:
        """The trace context of the prompt (`traceparent`, `tracestate`, `baggage`), for an author's own calls."""
        return {key: value for key in TRACE_KEYS if isinstance(value := self.meta.get(key), str)}

    def can(self, what: ClientFeature) -> bool:
        """Whether the client can do something: see `Client.can`."""
        return self.session.client.can(what)

    @property
    def files(self) -> Files:
        """Text files inside the session's directories: `read` and `write`."""
        return self.session.files

    @property
    def terminals(self) -> Terminals:
        """Commands inside the session's directories: `run` and `start`."""
        return self.session.terminals

    async def mcp(self) -> McpServers:
        """The session's MCP servers and their tools. Servers that are not available are announced, each once."""
        servers = await self.session.mcp()
        await self._report_failures()
        return servers

    async def _report_failures(self) -> None:
        for notice in self.session._take_failures():
            await self.session.send(notice)

    def option(self, option_id: str) -> str | bool:
        """The value of a config option."""
        return self.session.option(option_id)

    async def history(self) -> Transcript:
        """The conversation so far, with this prompt, without refused parts."""
        return await self.session.history()

    async def save(self, state: JsonValue = UNSET) -> None:
        """Keep the author's own state with the session, the given value or `session.state` as it is now."""
        await self.session.save(state)

    # --- messages

    async def say(self, content: Blocks, *, annotations: Annotations | None = None, meta: Meta | None = None) -> str:
        """Send text, or any blocks, to the user. Pieces that follow each other are one message.

        Returns the id of the message.

        Raises:
            TypeError: The content is neither a text nor a block, nor a list of blocks.
        """
        if self._speaker != "agent":
            self._begin("agent")
        if type(content) is str and annotations is None and meta is None:
            if self._over or self._failure is not None:
                self._refuse()
            drained = self._publisher.publish_chunk(MessageChunk("agent", Text(content), self._speech), len(content))
            if drained is not None:
                await drained.wait()
            return self._speech
        return await self._send_blocks(content, annotations, meta)

    async def think(self, content: Blocks, *, annotations: Annotations | None = None, meta: Meta | None = None) -> str:
        """Send a piece of the agent's thoughts. Works like `say`."""
        if self._speaker != "thought":
            self._begin("thought")
        return await self._send_blocks(content, annotations, meta)

    def _begin(self, speaker: Speaker) -> None:
        self._speaker, self._speech = speaker, new_id("message")

    async def _send_blocks(self, content: Blocks, annotations: Annotations | None, meta: Meta | None) -> str:
        speaker, speech = self._speaker or "agent", self._speech
        if meta is not None:
            meta = checked_json(meta, "meta")
        for block in blocks_of(content):
            shown = block if annotations is None else annotated(block, annotations)
            await self.send(MessageChunk(speaker, shown, speech, meta))
        return speech

    def new_message(self) -> None:
        """Begin another message with the next piece of text."""
        self._speaker = None

    def _announce_call(self) -> Callable[[], None]:
        """A tool call is announced, which may be in the middle of a message; when it begins, that message is over."""
        speech = self._speech

        def begin() -> None:
            if self._speech == speech:
                self.new_message()

        return begin

    async def correct(self, message_id: str, content: Blocks) -> None:
        """Replace the content of a message that was sent; `say` returned its id."""
        await self.send(MessageChanged("agent", message_id, blocks_of(content)))

    async def plan(
        self,
        entries: Iterable[PlanEntry | str],
        *,
        id: str = "plan",  # noqa: A002
        meta: Meta | None = None,
    ) -> None:
        """Show the plan as a whole; it replaces the one before.

        Raises:
            TypeError: An entry is neither a text nor a `PlanEntry`. ValueError: Its status or priority is undefined.
        """
        plan = plan_event(entries, id, None if meta is None else checked_json(meta, "meta"))
        self._plans[id] = plan
        await self.send(plan)

    async def update_usage(self, used: int, size: int, *, cost: float | None = None, currency: str = "USD") -> None:
        """Report how many tokens of the context are used, how many fit, and what the session has cost so far."""
        await self.send(usage_event(used, size, cost, currency))

    def add_token_usage(
        self,
        input_tokens: int,
        output_tokens: int,
        *,
        total_tokens: int | None = None,
        thought_tokens: int | None = None,
        cached_read_tokens: int | None = None,
        cached_write_tokens: int | None = None,
    ) -> None:
        """Count the tokens of a model call; the client gets the sum with the end of the turn, however it ends.

        `total_tokens` is input plus output unless given. The context is another thing: see `update_usage`.

        Raises:
            ValueError: A count is negative.
        """
        self._check()
        total = input_tokens + output_tokens if total_tokens is None else total_tokens
        added = TokenUsage(input_tokens, output_tokens, total, thought_tokens, cached_read_tokens, cached_write_tokens)
        self.token_usage = add_tokens(self.token_usage, added)

    async def set_title(self, title: str | None) -> None:
        """Give the session a title."""
        await self.session.set_title(title)

    async def notice(self, title: str, description: str | None = None, *, severity: Severity = "info") -> None:
        """Show the user something once; it is not kept. A client without notices gets it as a message, which is."""
        self._check()
        await self.session.notice(title, description, severity=severity)

    @contextlib.asynccontextmanager
    async def compact(self) -> AsyncIterator[Compaction]:
        """Report that the context is being compacted while the block runs; the summary may be streamed inside."""
        async with compacting(self.send, new_id("compaction")) as compaction:
            self.new_message()
            yield compaction

    # --- tool calls and the end

    def tool(  # noqa: PLR0913 - all of it is what a tool call can say
        self,
        title: str,
        *,
        kind: ToolKind = "other",
        status: ToolStatus = "in_progress",
        name: str | None = None,
        input: JsonValue = UNSET,  # noqa: A002 - what it is called
        locations: Sequence[Location | str | os.PathLike[str]] = (),
        id: str | None = None,  # noqa: A002
        cancellable: bool = False,
        background: bool = False,
        meta: Meta | None = None,
    ) -> Tool:
        """A tool call, to be used as `async with turn.tool("Read the file", kind="read") as tool:`.

        Begin with `status="pending"` where the user will be asked first. See `Tool`.

        Raises:
            ValueError: There is no such kind or status.
        """
        check_value(kind, TOOL_KINDS, "kind of a tool call")
        check_value(status, TOOL_STATUSES, "status of a tool call")
        tool = Tool(
            self.session,
            self.session.send if background else self.send,
            self._announce_call,
            id or new_id("call"),
            title,
            kind=kind,
            status=status,
            name=name,
            raw_input=input,
            locations=locations,
            cancellable=cancellable,
            background=background,
            meta=meta,
        )
        (self._background_tools if background else self._tools).append(tool)
        return tool

    def finish(self, stop_reason: StopReason = "end_turn") -> None:
        """Set why the turn will end; it ends when the handler returns.

        After `refusal` the prompt and all that followed it are left out of `history`.

        Raises:
            ValueError: There is no such stop reason.
        """
        check_value(stop_reason, STOP_REASONS, "stop reason")
        self.stop_reason = stop_reason

    # --- requests to the user and the client

    @decision
    async def request_permission(
        self,
        subject: str | Tool,
        *,
        options: Sequence[PermissionOption] = ALLOW_OPTIONS,
        title: str | None = None,
        description: str | None = None,
        command: Sequence[str] | None = None,
        shell_line: str | None = None,
        directory: str | None = None,
        meta: Meta | None = None,
    ) -> Permission:
        """Ask the user for permission: for a tool call, for a command that the agent will run, or for anything.

        A command is an argv, or a `shell_line` for `sh -c`. `directory` is where it runs, the session's unless given.
        Once the turn is cancelled every open question counts as not approved. A `pending` tool call that is allowed
        is `in_progress` from then on; one that is not ends as `cancelled` at the end of its context.

        Raises:
            ValueError: There are no options, or two of them have the same id; or both a command and a line.
            TypeError: It was tested for truth without `await`.
        """
        self._check()
        check_options(options)
        tool_id = subject.id if isinstance(subject, Tool) else None
        about = command_subject(command, shell_line, directory, self.session.cwd, tool_id)
        tool: ToolChanged | None = None
        if isinstance(subject, Tool):
            await subject.start()
            tool = subject._subject(is_described=bool(description)) if about is None else None
        else:
            title = title or subject
        request = RequestPermission(
            self.session.id,
            list(options),
            title,
            description,
            tool,
            about,
            meta=meta,
            originals=self.client.capabilities.originals,
        )
        answer = await self._question(request)
        permission = Permission._chosen(answer and answer.option, options)
        stand_in = self.client._stand_in(request)
        if stand_in is not None:
            # The edition shows the request as a tool call, which must not stay open at the client.
            stand_in.status = "completed" if permission else "cancelled"
            await self._publisher.publish(stand_in, keep=False)
        if isinstance(subject, Tool) and not subject.finished:
            await subject._answered(title or (None if about is None else about.command), is_allowed=bool(permission))
        return permission

    @decision
    async def elicit(
        self,
        message: str,
        fields: Mapping[str, Any],
        *,
        required: Sequence[str] | None = None,
        tool: Tool | None = None,
    ) -> Elicitation:
        """Ask the user to fill in a form. `fields` are JSON schemas by name: `{"name": {"type": "string"}}`.

        All of them are required unless `required` names some. Never ask for secrets. See `can("elicit")`.

        Raises:
            LocalProtocolError: This client or this edition has no forms.
        """
        names = list(fields) if required is None else list(required)
        schema: dict[str, Any] = {"type": "object", "properties": dict(fields), "required": names}
        request = ElicitForm(message, schema, self.session.id, None if tool is None else tool.id)
        return await self._elicit(request, "elicit")

    @decision
    async def elicit_url(self, message: str, url: str, *, tool: Tool | None = None) -> Elicitation:
        """Ask the user to visit an address; accepting means that it was opened. See `can("elicit_url")`.

        Raises:
            LocalProtocolError: This client or this edition cannot.
        """
        request = ElicitUrl(message, new_id("elicitation"), url, self.session.id, None if tool is None else tool.id)
        return await self._elicit(request, "elicit_url")

    async def _elicit(self, request: ElicitForm | ElicitUrl, capability: ClientFeature) -> Elicitation:
        # Without the capability the call raises the reason, and no state `requires_action` is published.
        answer = await (self._question(request) if self.can(capability) else self._caller.call(request))
        return Elicitation._given(answer, request.elicitation_id if isinstance(request, ElicitUrl) else None)

    async def request(
        self, method: str, params: JsonValue = None, *, timeout_seconds: float | None = None
    ) -> JsonValue:
        """`client.request` behind all earlier events of this turn: call an extension method (`_name`) of the client."""
        self._check()
        await self._publisher.flush()
        return await self.client.request(method, params, timeout_seconds=timeout_seconds)

    async def _question(self, request: Any) -> Any:
        self._check()
        if not self._span.is_recorded:
            request.meta = {**self.trace, **(request.meta or {})} or None
        question = PendingQuestion(lambda: self._caller.call(request))
        self.session._feed(QuestionOpened(question))
        try:
            # Earlier events, and the state `requires_action`, must reach the client before the question.
            await self._publisher.flush()
            return await question.answer()
        finally:
            self.session._feed(QuestionAnswered(question))

    # --- events

    async def send(self, event: Event) -> None:
        """Send an event of this turn for which there is no method here.

        Raises:
            TypeError: A value in it has a type that its field does not take.
        """
        self._check()
        check_event(event)
        if type(event) is Noticed:
            await self.session._publish_notice(event)
        else:
            await self._publisher.publish(event)

    def _check(self) -> None:
        if self._over or self._failure is not None:
            self._refuse()

    def _refuse(self) -> None:
        if self._failure is not None:
            raise self._failure
        raise LocalProtocolError("the turn is over: use the session for events outside of turns")

    def _fail(self, failure: Exception) -> None:
        """Mark the turn as failed because nothing more can be committed: every later send raises this."""
        self._failure = failure

    def _end(self) -> None:
        self._over = True
