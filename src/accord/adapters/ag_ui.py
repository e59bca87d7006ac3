"""The bridge from AG-UI: agents of any framework that speaks it, in this process or behind an address.

AG-UI ends a run where it needs an answer, and the next run brings it: a permission, a free question, or the result of a
tool of ours. The whole conversation goes along with each run, so it is kept with the session. Kinds, places, diffs and
plans have no form in AG-UI; kinds and places come from the names and arguments of tools.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from contextlib import aclosing, suppress
from typing import Any, Unpack

from accord.adapters.ag_ui_messages import AguiMessages, OpenCall, PatchFailed, patched
from accord.adapters.ag_ui_source import EventSource, ThreadBusy, source_of
from accord.adapters.framework_run import CLIENT_PREFIX, FrameworkRun
from accord.adapters.mcp_tools import ClientTool
from accord.adapters.questions import CONSENT, question_text, wants_consent
from accord.adapters.serving import ServeOptions, make_agent
from accord.agent import Agent, Turn
from accord.agent.session import new_id
from accord.errors import InternalError
from accord.time_scale import scaled

__all__ = ["serve"]

log = logging.getLogger("accord.adapters")

PROTOCOL_VERSION = "1.0"
# Calls that ask the user the same question as the interrupt of another call.
QUESTION_CALLS = frozenset({"confirm_changes"})
# A custom event that carries an interrupt: CrewAI sends it in no other form.
CUSTOM_INTERRUPT = "on_interrupt"
# The first is AG-UI's own word; frameworks have others.
APPROVAL_FIELDS = ("approved", "accepted", "confirmed")
# Where these frameworks have, in the metadata of an interrupt, what the author asks with. Those of others are that.
ASKED_WITH = {"mastra": "suspendPayload", "langgraph": "raw", "crewai": "output"}
# A server sees late that a stream was closed, and refuses the next run of the thread until it has ended the run before.
BUSY_PAUSES = tuple(map(scaled, (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 3.2)))


def serve(
    agent: Any,
    name: str | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    forwarded_props: Mapping[str, Any] | None = None,
    **options: Unpack[ServeOptions],
) -> Agent:
    """An agent that speaks AG-UI as an `accord.Agent`.

    `agent` is the address that a `RunAgentInput` is posted to, a function that gets a `RunAgentInput` and gives the
    events of the run, or an object with such a method `run`. `headers` are for the address, for example a token, and
    `forwarded_props` go along with every run.

    Raises:
        LocalProtocolError: It is none of them, or a package is missing.
    """
    source = source_of(agent, headers)
    props = dict(forwarded_props or {})
    own_name = name or getattr(agent, "name", None) or getattr(agent, "__name__", None) or "agent"
    return make_agent(own_name, lambda turn: _Run(turn, source, props), **options)


class _Run(FrameworkRun):
    framework = "AG-UI"

    def __init__(self, turn: Turn, source: EventSource, forwarded_props: Mapping[str, Any]) -> None:
        super().__init__(turn)
        self._source = source
        self._props = forwarded_props
        kept = self.state.history if isinstance(self.state.history, dict) else {}
        self._messages = AguiMessages(kept.get("messages", ()))
        self._shared_state: Any = kept.get("state")
        """The state that agents share with their front end: it goes back with every run."""
        self._is_finished = False
        self._interrupts: list[Mapping[str, Any]] = []
        self._refused: set[str] = set()

    async def history(self) -> dict[str, Any]:
        return {"messages": self._messages.answered(), "state": self._shared_state}

    # --- the run

    async def execute(self) -> None:
        # AG-UI does not say which tools the agent has itself.
        await self.client_tools(prefix=CLIENT_PREFIX)
        resume = self._answer_to_question()
        if resume is None:
            self._messages.add_prompt(self.prompt_parts())
        await self.checkpoint()
        goes_on = True
        while goes_on:
            await self._follow(resume)
            await self.checkpoint()
            resume = await self._resume_entries()
            goes_on = resume is not None or await self._run_client_tools()

    async def _follow(self, resume: list[Any] | None) -> None:
        for seconds in BUSY_PAUSES:
            with suppress(ThreadBusy):
                return await self._follow_once(resume)
            await asyncio.sleep(seconds)
        return await self._follow_once(resume)

    async def _follow_once(self, resume: list[Any] | None) -> None:
        self._interrupts, self._is_finished = [], False
        async with aclosing(self._source.run(self._input(resume))) as events:  # type: ignore[type-var]
            async for event in events:
                await self._take(event)
                if self._is_finished:
                    break
        if not self._is_finished:
            raise InternalError("The AG-UI agent ended its run without saying so")

    def _input(self, resume: list[Any] | None) -> dict[str, Any]:
        session = self.turn.session
        run_input: dict[str, Any] = {
            "threadId": session.id,
            "runId": new_id("run"),
            "protocolVersion": PROTOCOL_VERSION,
            "state": {} if self._shared_state is None else self._shared_state,
            "messages": self._messages.answered(),
            "tools": [
                {"name": tool.name, "description": tool.description, "parameters": tool.schema}
                for tool in self.mcp_tools.values()
            ],
            "context": [{"description": "The directory that the user works in", "value": session.cwd}],
            "forwardedProps": dict(self._props),
        }
        if resume is not None:
            run_input["resume"] = resume
            # The agent itself adds the results of the calls that it waits for.
            run_input["messages"] = self._messages.plain()
        return run_input

    # --- answers

    async def _resume_entries(self) -> list[Any] | None:
        """The answers to the interrupts of the run; None if there are none, or if the next prompt is the answer."""
        entries: list[Any] = []
        unanswered: list[Any] = []
        ours = {call.id: call for call in self._messages.open_calls() if call.name in self.mcp_tools}
        for interrupt in self._interrupts:
            call_id: str | None = interrupt.get("toolCallId")
            schema = _schema(interrupt)
            if call_id in ours:
                entries.append(_entry(interrupt["id"], await self._run_client_tool(ours[call_id])))
                continue
            if call_id is not None and call_id in self.calls and _is_approval(schema):
                allowed = await self.calls.request_permission(call_id, description=_message(interrupt))
                if not allowed:
                    self._refused.add(call_id)
                entries.append(_entry(interrupt["id"], _approval(schema, allowed=allowed)))
                continue
            tool = None if call_id is None else self.calls.get(call_id)
            question = _message(interrupt) or interrupt.get("reason") or "Go on?"
            answer = await self.ask_freely(question, schema, tool=tool)
            if answer is None:
                unanswered.append({"id": interrupt["id"], "schema": schema})
            elif answer.accepted or schema is CONSENT:
                entries.append(_entry(interrupt["id"], answer.value if answer.accepted else False))
            else:
                entries.append({"interruptId": interrupt["id"], "status": "cancelled"})
        if unanswered:
            self.state.question = {"entries": entries, "unanswered": unanswered}
            return None
        return entries or None

    def _answer_to_question(self) -> list[Any] | None:
        question, self.state.question = self.state.question, None
        if not isinstance(question, dict):
            return None
        given = [_entry(each["id"], self.answer_of(self.text, each["schema"])) for each in question["unanswered"]]
        return [*question["entries"], *given]

    async def _run_client_tools(self) -> bool:
        """Run the tools of ours that the run ended for; whether there were some."""
        if self.state.question is not None:
            return False
        called = [call for call in self._messages.open_calls() if call.name in self.mcp_tools]
        for call in called:
            await self._run_client_tool(call)
        return bool(called)

    async def _run_client_tool(self, call: OpenCall) -> str:
        result = await self.run_client_tool(self.mcp_tools[call.name], call.id, call.arguments)
        text = ClientTool.text(result)
        self._messages.add_result(call.id, text)
        await self.calls.complete(call.id, result)
        await self.checkpoint()
        return text

    # --- events

    async def _take(self, event: Mapping[str, Any]) -> None:
        kind = event["type"]
        if kind.startswith("SUBAGENT_"):
            await self._take_subagent(kind, event)
        elif event.get("subagentRunId"):
            return  # events inside a subagent are not sent
        elif kind.startswith(("TEXT_MESSAGE_", "REASONING_")):
            await self._take_text(kind, event)
        elif kind.startswith("TOOL_CALL_"):
            await self._take_call(kind, event)
        else:
            await self._take_run(kind, event)

    async def _take_text(self, kind: str, event: Mapping[str, Any]) -> None:
        if kind == "TEXT_MESSAGE_START":
            self.turn.new_message()
            self._messages.start(event["messageId"])
        elif kind in {"TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CHUNK"}:
            text = event.get("delta") or ""
            self._messages.append(event.get("messageId"), text)
            await self.say(text)
        elif kind in {"REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_CHUNK"}:
            await self.think(event.get("delta"))

    async def _take_call(self, kind: str, event: Mapping[str, Any]) -> None:
        if event.get("toolCallName"):
            self._messages.start_call(event["toolCallId"], event["toolCallName"], event.get("parentMessageId"))
        if kind in {"TOOL_CALL_ARGS", "TOOL_CALL_CHUNK"}:
            call_id = event.get("toolCallId")
            self._messages.append_arguments(call_id, event.get("delta") or "")
            # Some agents send the end of a call only after its tool has ended.
            if call_id is not None and self._messages.has_whole_arguments(call_id):
                await self._announce(call_id)
        elif kind == "TOOL_CALL_END":
            await self._announce(event["toolCallId"])
        elif kind == "TOOL_CALL_RESULT":
            await self._announce()
            await self._end(event)

    async def _take_run(self, kind: str, event: Mapping[str, Any]) -> None:
        match kind:
            case "MESSAGES_SNAPSHOT":
                await self._announce()
                self._messages.replace(event["messages"])
                await self._end_by_snapshot()
            case "STATE_SNAPSHOT":
                self._shared_state = event["snapshot"]
            case "STATE_DELTA":
                self._change_state(event["delta"])
            case "CUSTOM" if event.get("name") == CUSTOM_INTERRUPT and _is_interrupt(event.get("value")):
                self._interrupts.append(event["value"])
            case "RUN_FINISHED":
                self._finish(event)
                await self._announce()
            case "RUN_ERROR" if str(event.get("code")).endswith("THREAD_BUSY"):
                log.info("the AG-UI agent refuses a run: %s", event["message"])
                raise ThreadBusy
            case "RUN_ERROR":
                log.error("the AG-UI agent ended its run with an error (%s): %s", event.get("code"), event["message"])
                raise InternalError("The agent ended its run with an error: the log says which", {"reason": "agent"})
            case _:
                pass

    async def _take_subagent(self, kind: str, event: Mapping[str, Any]) -> None:
        run_id = event["subagentRunId"]
        if kind == "SUBAGENT_STARTED":
            await self.calls.announce(run_id, event["name"], title=event.get("description") or event["name"])
            await self.calls.begin(run_id)
        elif kind == "SUBAGENT_FINISHED":
            await self.calls.complete(run_id, event.get("result"))
        elif kind == "SUBAGENT_ERROR":
            await self.calls.fail(run_id, event["message"])

    async def _announce(self, call_id: str | None = None) -> None:
        """Announce a call whose arguments are whole now; without an id all of them, as chunks do not say their end."""
        for call in self._messages.open_calls():
            if call.id not in self.calls and call_id in {None, call.id} and call.name not in QUESTION_CALLS:
                await self.announce_call(call.id, call.name, call.arguments)

    async def _end(self, event: Mapping[str, Any]) -> None:
        call_id, content = event["toolCallId"], event["content"]
        self._messages.add_result(call_id, content, event.get("messageId"))
        if call_id not in self._refused:
            await self.calls.complete(call_id, content)
        await self.checkpoint()

    async def _end_by_snapshot(self) -> None:
        """End the calls whose results are in the agent's own list: some agents send no event for them."""
        for result in self._messages.results():
            call_id = result["toolCallId"]
            if call_id in self.calls.open and call_id not in self._refused:
                failure = result.get("error")
                await (self.calls.fail if failure else self.calls.complete)(call_id, failure or result["content"])

    def _change_state(self, delta: Any) -> None:
        try:
            self._shared_state = patched({} if self._shared_state is None else self._shared_state, delta)
        except PatchFailed:
            log.warning("a change of an AG-UI agent's state does not fit the state before, and is left out")

    def _add_suspended_call(self, interrupt: Mapping[str, Any]) -> None:
        """Add the call that an interrupt is about: Mastra sends no events of a call that its tool suspends."""
        suspended, call_id = _suspended(interrupt), interrupt.get("toolCallId")
        is_known = any(call.id == call_id for call in self._messages.open_calls())
        if call_id is not None and not is_known and "toolName" in suspended:
            self._messages.start_call(call_id, suspended["toolName"])
            self._messages.append_arguments(call_id, json.dumps(suspended.get("args") or {}))

    def _finish(self, event: Mapping[str, Any]) -> None:
        self._is_finished = True
        outcome = event.get("outcome")
        if outcome:
            self._interrupts = list(outcome.get("interrupts") or ())
            if outcome.get("type") == "cancelled":
                self.turn.finish("cancelled")
        for interrupt in self._interrupts:
            self._add_suspended_call(interrupt)
        for usage in event.get("usage") or ():
            self.turn.add_token_usage(
                usage.get("inputTokens") or 0,
                usage.get("outputTokens") or 0,
                total_tokens=usage.get("totalTokens"),
                thought_tokens=usage.get("reasoningTokens"),
                cached_read_tokens=usage.get("cachedInputTokens"),
                cached_write_tokens=usage.get("cacheWriteInputTokens"),
            )


def _entry(interrupt_id: str, payload: Any) -> dict[str, Any]:
    return {"interruptId": interrupt_id, "status": "resolved", "payload": payload}


def _is_interrupt(value: Any) -> bool:
    """Whether the value of a custom event has the form of an interrupt: LangGraph and Mastra have other ones there."""
    return isinstance(value, dict) and all(isinstance(value.get(key), str) for key in ("id", "reason"))


def _suspended(interrupt: Mapping[str, Any]) -> Mapping[str, Any]:
    """The description of the call that an interrupt of Mastra is about; empty for other frameworks."""
    return (interrupt.get("metadata") or {}).get("mastra") or {}


def _asked_with(interrupt: Mapping[str, Any]) -> Any:
    """The value that the author of the agent asks with, beside the text of the interrupt."""
    metadata = interrupt.get("metadata") or {}
    own = ((metadata.get(name), key) for name, key in ASKED_WITH.items())
    return next((part.get(key) for part, key in own if isinstance(part, dict)), metadata)


def _message(interrupt: Mapping[str, Any]) -> str | None:
    """The text of an interrupt, with everything that it is about."""
    message, asked = interrupt.get("message"), _asked_with(interrupt)
    if message and asked and message != asked:
        text = question_text({"message": message, **(asked if isinstance(asked, dict) else {"about": asked})})
        return text if message in text else f"{message}\n{text}"
    return question_text(asked or message) if asked or message else None


def _schema(interrupt: Mapping[str, Any]) -> Any:
    """The schema of the answer: a graph of LangGraph that asks for yes or no takes every text as a yes."""
    is_graph = "langgraph" in (interrupt.get("metadata") or {})
    return interrupt.get("responseSchema") or (CONSENT if is_graph and wants_consent(_asked_with(interrupt)) else None)


def _is_approval(schema: Mapping[str, Any] | None) -> bool:
    """Whether an interrupt about a call wants no more than yes or no."""
    return not schema or schema.get("type") == "boolean" or _approval_field(schema) is not None


def _approval_field(schema: Mapping[str, Any]) -> str | None:
    """The field of the answer that takes yes or no."""
    properties = schema.get("properties") or {}
    return next((name for name in APPROVAL_FIELDS if name in properties), None)


def _approval(schema: Mapping[str, Any] | None, *, allowed: bool) -> Any:
    """The answer to an interrupt that is an approval, in the form that it wants."""
    if schema and schema.get("type") == "boolean":
        return allowed
    return {_approval_field(schema or {}) or APPROVAL_FIELDS[0]: allowed}
