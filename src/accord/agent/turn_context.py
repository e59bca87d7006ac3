"""`current_turn`: the running turn, for code that gets none as an argument, such as a framework's tool functions."""

from __future__ import annotations

from typing import Literal, overload

from accord.agent.blocking import BlockingTurn
from accord.agent.threads import blocking_view
from accord.agent.turn import Turn
from accord.agent.turn_runner import running_turn
from accord.errors import LocalProtocolError

__all__ = ["current_turn"]


@overload
def current_turn(*, blocking: Literal[False] | None = None) -> Turn: ...
@overload
def current_turn(*, blocking: Literal[True]) -> BlockingTurn: ...
def current_turn(*, blocking: bool | None = None) -> Turn | BlockingTurn:
    """The turn in which this code runs: a `Turn` on the event loop, a `BlockingTurn` in any other thread.

    It is a context variable, so it is found in every task and thread that was started with a copy of the handler's
    context, as `asyncio.to_thread` and the frameworks start theirs. When the turn is over its verbs raise; when it is
    cancelled, a verb that a thread waits for raises `asyncio.CancelledError`.

    Without `blocking` the thread decides, and a type checker sees a `Turn`; in a thread, `blocking=True` gives the type
    as well, and raises on the loop.

    Raises:
        LocalProtocolError: No turn runs here, or `blocking` is not what this thread needs.
    """
    running = running_turn.get()
    turn, scope = (None, None) if running is None else (running[0](), running[1]())
    if turn is None or scope is None:
        raise LocalProtocolError("no turn runs here: current_turn() works inside a prompt handler and what it calls")
    if blocking is not None and blocking is scope.is_on_loop:
        where = "the event loop" if scope.is_on_loop else "a thread"
        raise LocalProtocolError(f"this is {where}: call current_turn(blocking={not scope.is_on_loop})")
    if scope.is_on_loop:
        return turn
    view: BlockingTurn = blocking_view(turn, scope)
    return view
