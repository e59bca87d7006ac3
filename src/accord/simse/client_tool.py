"""Tools that a client of simse's page runs, as the author of an agent calls them."""

from __future__ import annotations

from typing import Any

from accord.agent import ToolFailed, Turn
from accord.errors import CallTimeout, LocalProtocolError, MethodNotFound, RequestError
from accord.simse.agent_tool import BY_CLIENT, ORDER_METHOD, RESULT_METHOD, RUNS_TOOLS_METHOD

__all__ = ["run_tool", "runs_tools"]


async def runs_tools(turn: Turn) -> bool:
    """Whether the client of a turn runs tools for its agent: whether it is a client of the page."""
    try:
        return await turn.client.request(RUNS_TOOLS_METHOD) is True
    except MethodNotFound:
        return False  # an agent without the plug-in


async def run_tool(
    turn: Turn,
    name: str,
    input: dict[str, Any],  # noqa: A002 - what the page calls it
    *,
    title: str | None = None,
    timeout_seconds: float | None = None,
) -> Any:
    """Let the client run one of its tools, and return the output.

    It is a tool call of the turn like any other: `pending` until the client says that it runs, then `in_progress`, then
    `completed` or `failed`. The client has `timeout_seconds` for each of the two steps. Where the turn is cancelled the
    call ends as cancelled; the page has no word that would stop the client's work.

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
    # The context keeps what was raised inside, so that it does not end a turn by itself.
    raise call.error or ToolFailed("the tool call was cancelled")


async def _request(turn: Turn, method: str, params: dict[str, Any], timeout_seconds: float | None) -> Any:
    try:
        return await turn.request(method, params, timeout_seconds=timeout_seconds)
    except (CallTimeout, RequestError) as error:
        raise ToolFailed(str(error)) from error
