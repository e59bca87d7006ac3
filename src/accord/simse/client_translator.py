"""The translation between a client that speaks v1 and an agent that speaks the page, and the transport that applies it.

The client sees a v1 agent. A permission inside an update reaches it as a request, and so does a tool that it is to run;
ids of such requests are made here, and their answers go back as the page's notifications.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple, TypeAlias, TypeGuard

from accord.dialects import Json, TranslatedTransport, Translation
from accord.simse.client_tool import TOOL_METHOD, Order, is_order
from accord.simse.permission import REJECT, PagePermissionRequest, question_in, response_of
from accord.simse.update import (
    METHOD,
    PERMISSION,
    TOOL_CALL,
    notified,
    prompt_text,
    update_of,
    v1_updates,
)
from accord.transport.interface import Transport

__all__ = ["INITIALIZE_SECONDS", "ClientTranslator", "ClientTransport"]

Id: TypeAlias = int | str

METHOD_NOT_FOUND = -32601
UNKNOWN_AGENT: Json = {"protocolVersion": 1, "agentCapabilities": {}}
"""The assumed `initialize` result of an agent that does not answer it, because the page does not define it."""


class _Call(NamedTuple):
    """A request of the client that the agent has not answered."""

    method: str
    session_id: str | None


class ClientTranslator:
    """One connection. `tools` are the names of those that the client runs; no other is ever ordered from it."""

    def __init__(self, tools: Collection[str] = ()) -> None:
        self._tools = frozenset(tools)
        self._calls: dict[Id, _Call] = {}
        self._pending: dict[str, PagePermissionRequest | Order] = {}
        """Open requests to the client, by the ids that were made here."""
        self._withdrawn: set[str] = set()
        """Ids of requests whose answers are not needed any more."""
        self._always: dict[str, dict[str, str]] = {}
        """By session and action: the answer for the rest of the session."""
        self._cancelled: set[str] = set()
        """The sessions whose work the client cancelled."""
        self._made = 0

    # --- from the client

    def outgoing(self, message: Json) -> Translation:
        """The translation of a message of the client."""
        method = message.get("method")
        if method is None:
            return self._answered(message)
        session = _session(message.get("params"))
        if _is_id(message.get("id")):
            self._calls[message["id"]] = _Call(method, session)
        if method == "session/prompt" and session is not None:
            self._cancelled.discard(session)
            params = message["params"]
            return Translation([{**message, "params": {**params, "prompt": prompt_text(params.get("prompt"))}}], [])
        if method == "session/cancel" and session is not None:
            self._cancelled.add(session)
            to_agent, withdrawn = self._withdraw(session, "cancelled")
            return Translation([message, *to_agent], withdrawn)
        return Translation([message], [])

    def _answered(self, message: Json) -> Translation:
        id_ = message.get("id")
        if id_ in self._withdrawn:
            self._withdrawn.remove(id_)
            return Translation([], [])
        pending = self._pending.pop(id_, None) if isinstance(id_, str) else None
        if pending is None:
            return Translation([message], [])
        if isinstance(pending, Order):
            to_agent, shown = pending.answered(message)
            return Translation([to_agent], [shown])
        response = response_of(message)
        if response.endswith("_always"):
            self._always.setdefault(pending.session_id, {})[pending.action] = response
        return Translation([pending.answer(response)], [pending.end(response)])

    def _withdraw(self, session_id: str, reason: str) -> tuple[list[Json], list[Json]]:
        """End the open requests of a session: the answers for the agent, and the updates for the client."""
        to_agent: list[Json] = []
        withdrawn: list[Json] = []
        for id_, pending in [each for each in self._pending.items() if each[1].session_id == session_id]:
            del self._pending[id_]
            self._withdrawn.add(id_)
            if isinstance(pending, Order):
                answer, shown = pending.failed(reason)
            else:
                answer, shown = pending.answer(REJECT), pending.end(REJECT)
            to_agent.append(answer)
            cancel = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": id_}}
            withdrawn += [shown, cancel]
        return to_agent, withdrawn

    # --- from the agent

    def incoming(self, message: Json) -> Translation:
        """The translation of a message of the agent."""
        method = message.get("method")
        if method is None:
            return Translation([], [*self._reply(message)])
        if method == TOOL_METHOD:
            return Translation(_refused(message), [])
        params = message.get("params")
        session = _session(params)
        found = update_of(params) if method == METHOD and session is not None and isinstance(params, dict) else None
        if found is None or session is None:
            return Translation([], [message])
        tag, fields = found
        if tag == PERMISSION and not self._is_replayed(session):
            question = question_in(session, fields)
            if question is not None:
                return self._permission(question)
        updates = [notified(message, session, update) for update in v1_updates(tag, fields)]
        if updates == [message]:
            return Translation([], [message])
        if tag == TOOL_CALL and is_order(fields) and not self._is_replayed(session):
            return self._order(Order(session, fields), updates)
        return Translation([], updates)

    def _permission(self, question: PagePermissionRequest) -> Translation:
        session = question.session_id
        held = self._always.get(session, {}).get(question.action)
        if session in self._cancelled:
            held = REJECT
        if held is not None:
            return Translation([question.answer(held)], [])
        id_ = self._make_id()
        self._pending[id_] = question
        return Translation([], [question.request(id_)])

    def _order(self, order: Order, updates: list[Json]) -> Translation:
        if self._runs(order):
            # Starting again could run a prompt twice.
            return Translation([], [])
        reason = self._reason_against(order)
        if reason is not None:
            to_agent, shown = order.failed(reason)
            return Translation([to_agent], [*updates, shown])
        id_ = self._make_id()
        self._pending[id_] = order
        updates[0]["params"]["update"]["status"] = "in_progress"
        return Translation([order.started()], [*updates, order.request(id_)])

    def _runs(self, order: Order) -> bool:
        running = (each for each in self._pending.values() if isinstance(each, Order))
        return any((each.session_id, each.call_id) == (order.session_id, order.call_id) for each in running)

    def _reason_against(self, order: Order) -> str | None:
        if order.name not in self._tools:
            return "this client has no such tool"
        if not isinstance(order.input, dict):
            return "the input of a tool must be an object"
        if order.session_id in self._cancelled:
            return "cancelled"
        if not self._awaits("session/prompt", order.session_id):
            return "tools run while a prompt is worked on, and at no other time"
        return None

    def _reply(self, message: Json) -> Iterator[Json]:
        id_ = message.get("id")
        call = self._calls.pop(id_, None) if _is_id(id_) else None
        if call is None:
            yield message
            return
        session = call.session_id
        if call.method == "session/prompt" and session is not None:
            yield from self._withdraw(session, "the turn is over")[1]
            yield self._ended(message, session)
            self._cancelled.discard(session)
        elif call.method == "initialize":
            yield _introduced(message)
        else:
            opened = _session(message.get("result")) if call.method == "session/new" else None
            closed = session if call.method in ("session/close", "session/delete") else None
            # Answers for an earlier session of this id do not apply to the new one.
            self._always.pop(opened or closed or "", None)
            yield message

    def _ended(self, message: Json, session_id: str) -> Json:
        if "error" in message and message["error"] is not None:
            return message
        result = message.get("result")
        fields = result if isinstance(result, dict) else {}
        if isinstance(fields.get("stopReason"), str):
            return message
        reason = "cancelled" if session_id in self._cancelled else "end_turn"
        return {"jsonrpc": "2.0", "id": message["id"], "result": {**fields, "stopReason": reason}}

    # --- missing answers

    @property
    def awaits_initialize(self) -> bool:
        """Whether the agent has still to answer `initialize`."""
        return any(call.method == "initialize" for call in self._calls.values())

    def take_silence(self) -> Translation:
        """Continue without an answer to `initialize`: the agent is assumed not to support it."""
        unanswered = [id_ for id_, call in self._calls.items() if call.method == "initialize"]
        for id_ in unanswered:
            del self._calls[id_]
        return Translation([], [{"jsonrpc": "2.0", "id": id_, "result": UNKNOWN_AGENT} for id_ in unanswered])

    def _awaits(self, method: str, session_id: str) -> bool:
        return _Call(method, session_id) in self._calls.values()

    def _is_replayed(self, session_id: str) -> bool:
        """Whether a session is being replayed: its requests and orders are not executed again."""
        return self._awaits("session/load", session_id)

    def _make_id(self) -> str:
        self._made += 1
        return f"simse-{self._made}"


def _introduced(message: Json) -> Json:
    error, result = message.get("error"), message.get("result")
    if isinstance(error, dict):
        if error.get("code") != METHOD_NOT_FOUND:
            return message
        return {"jsonrpc": "2.0", "id": message["id"], "result": UNKNOWN_AGENT}
    if isinstance(result, dict) and "protocolVersion" in result:
        return message
    fields = result if isinstance(result, dict) else {}
    return {"jsonrpc": "2.0", "id": message["id"], "result": {**UNKNOWN_AGENT, **fields}}


def _refused(message: Json) -> list[Json]:
    """Refuse a direct request to run a tool: only tool calls order tools, because those are checked."""
    if "id" not in message:
        return []
    error = {"code": METHOD_NOT_FOUND, "message": "Method not found", "data": {"method": TOOL_METHOD}}
    return [{"jsonrpc": "2.0", "id": message["id"], "error": error}]


def _session(value: Any) -> str | None:
    session_id = value.get("sessionId") if isinstance(value, dict) else None
    return session_id if isinstance(session_id, str) else None


def _is_id(value: Any) -> TypeGuard[Id]:
    return isinstance(value, int | str)


INITIALIZE_SECONDS = 30.0


class ClientTransport(TranslatedTransport):
    """Speaks v1 to a client, over a `link` to a backend that speaks the page.

    A backend that does not answer `initialize` within `initialize_seconds` is assumed not to support it. `tools` are
    the names of the tools that the client runs.
    """

    def __init__(
        self, link: Transport, tools: Collection[str] = (), initialize_seconds: float = INITIALIZE_SECONDS
    ) -> None:
        self._page = ClientTranslator(tools)
        super().__init__(link, self._page)
        self._initialize_seconds = initialize_seconds
        self._silence: asyncio.TimerHandle | None = None

    async def send(self, text: bytes | bytearray) -> None:
        """Send the translation of one text; `initialize` starts the timer."""
        await super().send(text)
        if self._silence is None and self._page.awaits_initialize:
            loop = asyncio.get_running_loop()
            self._silence = loop.call_later(self._initialize_seconds, self._give_up_initialize)

    async def close(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
        await super().close()

    def _give_up_initialize(self) -> None:
        # An answer in time leaves nothing to give up.
        self.inject(self._page.take_silence().to_us)
