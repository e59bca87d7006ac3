"""Tool calls on the agent's side: orders for tools of the client, and updates about the agent's own calls.

On the page `tool_call` means that the client is to run the tool. So it is sent for an order and for nothing else; a
call that the agent runs itself is reported by `tool_call_update` alone. `run_tool` is for authors of agents.
"""

from __future__ import annotations

from typing import Any

from accord.agent import ToolFailed, Turn
from accord.dialects import Json
from accord.errors import CallTimeout, LocalProtocolError, MethodNotFound, RequestError
from accord.simse.update import METHOD, TOOL_CALL

__all__ = ["ORDER_METHOD", "RESULT_METHOD", "RUNS_TOOLS_METHOD", "OwnCalls", "ToolOrders", "run_tool", "runs_tools"]

ORDER_METHOD = "_simse/order_tool"
"""The agent's request that orders a tool: `sessionId`, `toolCallId`, `toolName`, `input`; answered when it runs."""
RESULT_METHOD = "_simse/tool_result"
"""The agent's request for the result of an order, by its `toolCallId`: `output` or `error`."""
RUNS_TOOLS_METHOD = "_simse/runs_tools"
"""The agent's question whether its client runs tools, answered by the translator."""
BY_CLIENT = "accord/simse"
"""The key in the `_meta` of a tool call that the client runs: only the order is sent to the client."""

TOOL_CALL_UPDATE = "tool_call_update"
FAILED = "the tool failed"
_BAD_ENDS = ("failed", "error", "cancelled")
_ENDS = ("completed", *_BAD_ENDS)


class _Order:
    def __init__(self, id_: Any, session_id: str) -> None:
        self.session_id = session_id
        self.waiting: Any = id_
        """The id of the agent's request that waits for the client, if there is one."""
        self.started = False
        self.result: Json | None = None


class ToolOrders:
    """The tools that the client was asked to run, by the ids of their calls."""

    def __init__(self) -> None:
        self._orders: dict[str, _Order] = {}

    def order(self, id_: Any, params: Json) -> Json:
        """The `tool_call` for the client."""
        self._orders[params["toolCallId"]] = _Order(id_, params["sessionId"])
        fields = {name: params[name] for name in ("toolCallId", "toolName", "input")}
        tags = {"sessionUpdate": TOOL_CALL, "type": TOOL_CALL}
        return {"jsonrpc": "2.0", "method": METHOD, "params": {"sessionId": params["sessionId"], **tags, **fields}}

    def await_result(self, id_: Any, call_id: str) -> list[Json]:
        """The agent asks for the result: the answer, if the client was quicker."""
        order = self._orders.get(call_id)
        if order is None:
            return [_answer(id_, {"error": FAILED})]
        if order.result is None:
            order.waiting = id_
            return []
        del self._orders[call_id]
        return [_answer(id_, order.result)]

    def take(self, fields: Json, session_id: Any) -> list[Json] | None:
        """The answers for the agent; None if no such tool was ordered, or if the fields do not concern it."""
        call_id = fields.get("toolCallId")
        order = self._orders.get(call_id) if isinstance(call_id, str) else None
        if order is None or order.result is not None or session_id not in (None, order.session_id):
            return None
        status, result = fields.get("status"), _result_in(fields)
        if status != "in_progress" and result is None:
            return None
        answers: list[Json] = []
        if not order.started:
            order.started = True
            answers.append(_answer(order.waiting, {"status": "in_progress"}))
            order.waiting = None
        if result is not None:
            order.result = result
            if order.waiting is not None:
                del self._orders[str(call_id)]
                answers.append(_answer(order.waiting, result))
        return answers

    def withdraw(self, id_: Any) -> bool:
        """The agent withdraws its request; False if the request is not about an order."""
        found = [call_id for call_id, order in self._orders.items() if order.waiting == id_]
        for call_id in found:
            del self._orders[call_id]
        return bool(found)

    def forget_unwanted(self, session_id: Any) -> None:
        """At a new prompt, drop orders without a waiting request: they were abandoned between start and result."""
        unwanted = [
            call_id
            for call_id, order in self._orders.items()
            if order.session_id == session_id and order.waiting is None
        ]
        for call_id in unwanted:
            del self._orders[call_id]


class OwnCalls:
    """The tool calls that the agent runs itself: a client of the page gets the begin of each, and its end."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, str], Json] = {}
        """The last fields of each call that was announced and has not ended."""
        self._stand_ins: set[tuple[str, str]] = set()
        """Calls that v1 creates for a question without a call: the page's questions need none."""

    def client_update(self, session_id: str, update: Json) -> Json | None:
        """The update of the page for one of v1; None where there is nothing to send."""
        key = (session_id, update["toolCallId"])
        first = update.get("sessionUpdate") == TOOL_CALL
        if key in self._stand_ins:
            self._stand_ins.remove(key)
            return None
        if BY_CLIENT in (update.get("_meta") or {}) or not (first or key in self._calls):
            return None
        call = self._calls[key] = {**self._calls.get(key, {}), **update}
        status = update.get("status")
        if status not in _ENDS:
            return _page(call, {"status": "in_progress"}) if first else None
        del self._calls[key]
        shown = _texts(call)
        if status in _BAD_ENDS:
            return _page(call, {"status": "completed", "error": shown or FAILED})
        return _page(call, {"status": "completed", "output": call.get("rawOutput", shown)})

    def action_of(self, session_id: str, call: Json) -> str:
        """The action of a question about a call: the tool's name, else the kind of the call, else its title."""
        key = (session_id, call["toolCallId"])
        if key not in self._calls:
            self._stand_ins.add(key)
        known = {**self._calls.get(key, {}), **call}
        kind = known.get("kind")
        action = known.get("name") or (None if kind == "other" else kind) or known.get("title")
        return str(action or "permission")


def _page(call: Json, fields: Json) -> Json:
    tags = {"sessionUpdate": TOOL_CALL_UPDATE, "type": TOOL_CALL_UPDATE}
    return {**tags, "toolCallId": call["toolCallId"], "title": call.get("title", ""), **fields}


def _texts(call: Json) -> str:
    items = [item.get("content") or {} for item in call.get("content") or []]
    return "\n".join(item["text"] for item in items if isinstance(item.get("text"), str))


def _result_in(fields: Json) -> Json | None:
    """The result of a tool, if it has ended; the page has no status for a failure, but an error beside `completed`."""
    error, status = fields.get("error"), fields.get("status")
    if error not in (None, "") or status in _BAD_ENDS:
        return {"error": str(error or FAILED)}
    if status == "completed" or (status is None and "output" in fields):
        return {"output": fields.get("output")}
    return None


def _answer(id_: Any, result: Json) -> Json:
    return {"jsonrpc": "2.0", "id": id_, "result": result}


async def runs_tools(turn: Turn) -> bool:
    """Whether the client of a turn runs tools for its agent: whether it is a client of the page."""
    try:
        return await turn.client.request(RUNS_TOOLS_METHOD) is True
    except MethodNotFound:
        return False  # an agent without the plug-in


async def run_tool(
    turn: Turn,
    name: str,
    input: dict[str, Any],  # noqa: A002 - the page's name
    *,
    title: str | None = None,
    timeout_seconds: float | None = None,
) -> Any:
    """Let the client run one of its tools, and return the output.

    It is a tool call of the turn like any other: `pending` until the client says that it runs, then `in_progress`, then
    `completed` or `failed`. The client has `timeout_seconds` for each of the two steps. Where the turn is cancelled the
    call ends as cancelled; the page has no message that stops the client's work.

    Raises:
        ToolFailed: The tool failed; the text is the client's. Or the client took too long.
        LocalProtocolError: The client is not one of the page, see `runs_tools`, or the input is no JSON object.
        ConnectionLost: The client is gone.
    """
    if not isinstance(input, dict):
        raise LocalProtocolError("the input of a tool is an object", field="input", expected="a dict")
    if not await runs_tools(turn):
        raise LocalProtocolError("this client runs no tools: see accord.simse.runs_tools", field="client")
    call = turn.tool(title or name, name=name, input=input, status="pending", meta={BY_CLIENT: "client"})
    async with call:
        order = {"sessionId": turn.session.id, "toolCallId": call.id, "toolName": name, "input": input}
        await _request(turn, ORDER_METHOD, order, timeout_seconds)
        await call.update(status="in_progress")
        result = await _request(turn, RESULT_METHOD, order, timeout_seconds)
        if "error" in result:
            raise ToolFailed(result["error"])
        await call.complete(output=result["output"])
        return result["output"]
    # The context catches the exception, so that it does not end the turn by itself.
    raise call.error or ToolFailed("the tool call was cancelled")


async def _request(turn: Turn, method: str, params: dict[str, Any], timeout_seconds: float | None) -> Any:
    try:
        return await turn.request(method, params, timeout_seconds=timeout_seconds)
    except (CallTimeout, RequestError) as error:
        raise ToolFailed(str(error)) from error
