"""Taking things back: a request of ours, and a turn that the client should cancel."""

from __future__ import annotations

from accord.check.case import Unseen
from accord.check.client.part import Notes, Turn, part
from accord.check.client.words import CANCEL_ME, HOLD_ON, chunk, permission, tool
from accord.check.entry import Entry, messages_in
from accord.check.wire import Silence

__all__: list[str] = []

TAKEN_BACK, LISTENS = "ACCORD-CLIENT-CANCEL-001", "ACCORD-CLIENT-CANCEL-005"
PENDING = {"v1": "ACCORD-CLIENT-PERM-003", "v2_june": "ACCORD-CLIENT-PERM-003", "v2": "ACCORD-CLIENT-PERM-004"}
CANCEL_SECONDS = 3.0
"""How long a client may take to cancel when it is asked to."""


@part(order=50, editions=("v1", "v2"))
async def taken_back(turn: Turn) -> Notes:
    """A question that is taken back before it was answered, unless the client was quicker."""
    id_ = turn.seat.ask("session/request_permission", permission(turn.edition, turn.session, HOLD_ON))
    turn.seat.notify("$/cancel_request", {"requestId": id_})
    await turn.answer(id_, TAKEN_BACK, turn.options.turn_seconds)
    await turn.is_alive(TAKEN_BACK)
    return {"id": id_}


@part(when="hold")
async def hold(turn: Turn) -> Notes:
    """A turn that waits to be cancelled, with a question open and a tool at work."""
    turn.update(tool(turn.edition, "call-9", title="At work", status="in_progress"))
    turn.update(chunk(turn.edition, CANCEL_ME, "m7"))
    since = turn.now
    id_ = turn.seat.ask("session/request_permission", permission(turn.edition, turn.session, CANCEL_ME))
    try:
        await turn.seat.until(_is_cancel, since, min(CANCEL_SECONDS, turn.options.timeout_seconds))
    except Silence:
        raise Unseen("the client did not cancel") from None
    if turn.edition == "v2":
        turn.seat.notify("$/cancel_request", {"requestId": id_})
    await turn.answer(id_, PENDING[turn.edition])
    place = turn.update({"sessionUpdate": "tool_call_update", "toolCallId": "call-9", "status": "failed"})
    turn.update(chunk(turn.edition, "Stopped.", "m7"))
    await turn.is_alive(LISTENS, turn.seat.entries[place])
    return {"id": id_}


def _is_cancel(entry: Entry) -> bool:
    return any(message.get("method") == "session/cancel" for _, message in messages_in([entry]))
