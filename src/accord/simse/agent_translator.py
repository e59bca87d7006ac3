"""The translation between an agent that speaks v1 and a client that was written after simse's page.

A connection is one of the page as soon as its client sends a message that only the page allows: `session/new` without
an `initialize` before it or without `mcpServers`, or a prompt that is a string. Before that, and for every other
client, messages pass unchanged. `docs/simse.md` explains how open points of the page are interpreted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from accord.dialects import Json, Translation
from accord.simse.agent_tool import ORDER_METHOD, RESULT_METHOD, RUNS_TOOLS_METHOD, OwnCalls, ToolOrders
from accord.simse.permission import OpenPermissions, PendingPermission
from accord.simse.update import METHOD, update_of

__all__ = ["AgentTranslator"]

INTRODUCTION_ID = "accord/simse-initialize"
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
REQUEST_CANCELLED = -32800


class AgentTranslator:
    """One connection. Every request of either side is answered once: by the other side, or here."""

    def __init__(self) -> None:
        self._is_page = False
        self._introduced = False
        self._other_edition = False
        self._permissions = OpenPermissions()
        self._orders = ToolOrders()
        self._own_calls = OwnCalls()

    # --- from the client

    def incoming(self, message: Json) -> Translation:
        """The messages that replace one of the client."""
        method = message.get("method")
        params = message.get("params")
        if method == "initialize":
            self._introduced = True
            version = params.get("protocolVersion") if isinstance(params, dict) else None
            self._other_edition = isinstance(version, int) and version != 1
        if self._other_edition:
            return Translation([], [message])
        if method is None:
            return self._response(message)
        introduction: list[Json] = []
        if not self._is_page and _is_of_the_page(message, introduced=self._introduced):
            self._is_page = True
            if not self._introduced:
                self._introduced = True
                introduction.append(_introduction())
        if not self._is_page or not isinstance(params, dict):
            return Translation([], [message])
        to_peer, to_us = self._call(message, params)
        return Translation(to_peer, introduction + to_us)

    def _call(self, message: Json, params: Json) -> Translation:
        method = message["method"]
        if method == "session/new" and params.get("mcpServers") is None:
            return Translation([], [{**message, "params": {**params, "mcpServers": []}}])
        if method == "session/prompt":
            return self._prompt(message, params)
        if method in ("session/close", "session/delete"):
            self._permissions.forget(params.get("sessionId"))
        # The `requestId` of a `$/cancel_request` is that of a JSON-RPC request.
        names_permission = method != "$/cancel_request" and self._permissions.is_open(params.get("requestId"))
        if method == METHOD or names_permission:
            return self._client_report(message, params)
        return Translation([], [message])

    def _prompt(self, message: Json, params: Json) -> Translation:
        self._orders.forget_unwanted(params.get("sessionId"))
        prompt = params.get("prompt")
        if not isinstance(prompt, str):
            return Translation([], [message])
        return Translation([], [{**message, "params": {**params, "prompt": [{"type": "text", "text": prompt}]}}])

    def _client_report(self, message: Json, params: Json) -> Translation:
        """Translate the answer to a permission, or the state of a tool; neither is passed to the agent unchanged."""
        session, found = params.get("sessionId"), update_of(params)
        fields = params if found is None else found[1]
        if "requestId" in fields:
            to_us = self._permissions.take(fields["requestId"], fields, session)
        else:
            to_us = self._orders.take(fields, session)
        if "id" not in message:
            return Translation([], to_us or [])
        if to_us is None:
            return Translation([_error(message["id"], INVALID_PARAMS, "Nothing of this is waited for")], [])
        return Translation([_result(message["id"], {})], to_us)

    def _response(self, message: Json) -> Translation:
        id_ = message.get("id")
        if not self._is_page or not self._permissions.is_open(id_):
            return Translation([], [message])
        return Translation([], self._permissions.take(id_, {"result": message.get("result")}, None) or [])

    # --- from the agent

    def outgoing(self, message: Json) -> Translation:
        """The messages that replace one of the agent."""
        method, id_ = message.get("method"), message.get("id")
        if method == RUNS_TOOLS_METHOD:
            return Translation([], [_result(id_, self._is_page)])
        if self._is_page:
            return self._page(message, method)
        if method in (ORDER_METHOD, RESULT_METHOD):
            return Translation([], [_error(id_, METHOD_NOT_FOUND, "This client runs no tools")])
        return Translation([message], [])

    def _page(self, message: Json, method: Any) -> Translation:
        id_, params = message.get("id"), message.get("params")
        if method is None:
            return Translation([] if id_ == INTRODUCTION_ID else [message], [])
        serve = self._OF_THE_PAGE.get(method)
        return Translation([message], []) if serve is None else serve(self, message, params)

    def _permission(self, message: Json, params: Any) -> Translation:
        action = self._own_calls.action_of(params["sessionId"], params["toolCall"])
        return Translation(*self._permissions.open_question(PendingPermission(message["id"], params, action)))

    def _order(self, message: Json, params: Any) -> Translation:
        return Translation([self._orders.order(message["id"], params)], [])

    def _result(self, message: Json, params: Any) -> Translation:
        return Translation([], self._orders.await_result(message["id"], params["toolCallId"]))

    def _update(self, _message: Json, params: Any) -> Translation:
        """The update for a client of the page, which defines three kinds and gets no others."""
        session_id, update = params["sessionId"], params["update"]
        tag = update.get("sessionUpdate")
        client_update = update if tag == "agent_message_chunk" else None
        if tag in ("tool_call", "tool_call_update"):
            client_update = self._own_calls.client_update(session_id, update)
        if client_update is None:
            return Translation([], [])
        return Translation(
            [{"jsonrpc": "2.0", "method": METHOD, "params": {"sessionId": session_id, **client_update}}], []
        )

    def _withdraw(self, message: Json, params: Any) -> Translation:
        id_ = params["requestId"]
        if self._permissions.withdraw(id_) or self._orders.withdraw(id_):
            return Translation([], [_error(id_, REQUEST_CANCELLED, "Request cancelled")])
        return Translation([message], [])

    _OF_THE_PAGE: ClassVar[dict[str, Callable[[AgentTranslator, Json, Any], Translation]]] = {
        "session/update": _update,
        "session/request_permission": _permission,
        ORDER_METHOD: _order,
        RESULT_METHOD: _result,
        "$/cancel_request": _withdraw,
    }


def _is_of_the_page(message: Json, *, introduced: bool) -> bool:
    method, params = message.get("method"), message.get("params")
    if not isinstance(params, dict):
        return False
    if method == "session/new":
        return not introduced or params.get("mcpServers") is None
    return method == "session/prompt" and introduced and isinstance(params.get("prompt"), str)


def _introduction() -> Json:
    """The `initialize` on behalf of a client that does not send one, without capabilities beyond the page."""
    params = {"protocolVersion": 1, "clientCapabilities": {}}
    return {"jsonrpc": "2.0", "id": INTRODUCTION_ID, "method": "initialize", "params": params}


def _result(id_: Any, result: Any) -> Json:
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def _error(id_: Any, code: int, message: str) -> Json:
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}}
