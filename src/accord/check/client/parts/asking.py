"""Questions that every client answers: permissions, forms, and requests that it does not know."""

from __future__ import annotations

from typing import Any

from accord.check.client.part import Notes, Turn, part
from accord.check.client.words import elicitation, permission
from accord.check.entry import is_answer, messages_in
from accord.check.wire import Silence

__all__: list[str] = []

ASKS, OPEN, STRANGER = "ACCORD-CLIENT-PERM-001", "ACCORD-CLIENT-PERM-006", "ACCORD-CLIENT-PERM-005"


def _question(turn: Turn, title: str, **more: Any) -> Any:
    return turn.seat.ask("session/request_permission", {**permission(turn.edition, turn.session, title), **more})


@part(order=30)
async def permissions(turn: Turn) -> Notes:
    """One question, then two at once."""
    ids = [_question(turn, "accord check: may this be done?")]
    await turn.answer(ids[0], ASKS, turn.options.turn_seconds)
    ids += [_question(turn, f"accord check: may that be done? ({number})") for number in (1, 2)]
    for id_ in ids[1:]:
        await turn.answer(id_, ASKS, turn.options.turn_seconds)
    return {"ids": ids}


@part(order=31, editions=("v2_june", "v2"))
async def open_permissions(turn: Turn) -> Notes:
    """Questions with an option and, where there are subjects, a subject that no client knows."""
    options = (("maybe", "_maybe"), ("yes", "allow_once"), ("no", "reject_once"))
    params = permission(turn.edition, turn.session, "accord check: may this be done, or what?", options)
    ids = [turn.seat.ask("session/request_permission", params)]
    if turn.edition == "v2":
        ids.append(_question(turn, "accord check: about nothing?", subject=None))
        ids.append(_question(turn, "accord check: about what?", subject={"type": "_wish", "wish": 1}))
    for id_ in ids:
        await turn.answer(id_, OPEN, turn.options.turn_seconds)
    return {"ids": ids}


@part(order=63)
async def strange_permission(turn: Turn) -> Notes:
    """A question about a session that the client does not have."""
    params = permission(turn.edition, "session-of-nobody", "accord check: for nobody?")
    id_ = turn.seat.ask("session/request_permission", params)
    await turn.answer(id_, STRANGER, turn.options.turn_seconds)
    return {"id": id_}


@part(order=21)
async def extensions(turn: Turn) -> Notes:
    """Requests that nobody knows."""
    ids = [turn.seat.ask(method, {"x": 1}) for method in ("_accord.check/strange", "future/thing")]
    for id_ in ids:
        await turn.answer(id_, "ACCORD-CLIENT-EXT-001")
    return {"ids": ids}


@part(order=64)
async def bad_request(turn: Turn) -> Notes:
    """A question without anything to choose from, and without what it is about."""
    id_ = turn.ask("session/request_permission", options="yes or no")
    await turn.answer(id_, "ACCORD-CLIENT-REQUEST-001")
    return {"id": id_}


@part("elicitation", "form", order=40, editions=("v1", "v2"))
async def form(turn: Turn) -> Notes:
    """A form."""
    id_ = turn.seat.ask("elicitation/create", elicitation(turn.session, "form"))
    await turn.answer(id_, "ACCORD-CLIENT-ELICIT-001", turn.options.turn_seconds)
    return {"id": id_}


@part("elicitation", "url", order=41, editions=("v1", "v2"))
async def address(turn: Turn) -> Notes:
    """An address."""
    id_ = turn.seat.ask("elicitation/create", elicitation(turn.session, "url"))
    await turn.answer(id_, "ACCORD-CLIENT-ELICIT-002", turn.options.turn_seconds)
    return {"id": id_}


def _array(turn: Turn) -> tuple[Any, int]:
    id_ = f"array-{turn.now}"
    told = {"sessionUpdate": "session_info_update", "title": "In an array"}
    update = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": turn.session, "update": told}}
    place = turn.seat.say([update, {"jsonrpc": "2.0", "id": id_, "method": "_accord.check/in_an_array", "params": {}}])
    return id_, place


@part(order=75, editions=("v1", "v2"))
async def array(turn: Turn) -> Notes:
    """An array, where there are none."""
    id_, place = _array(turn)
    await turn.is_alive("ACCORD-CLIENT-RUDE-003", turn.seat.entries[place])
    return {"id": id_, "place": place, "end": turn.now}


@part(order=75, editions=("v2_june",))
async def batch(turn: Turn) -> Notes:
    """An array, where it is a batch."""
    id_, place = _array(turn)
    try:
        await turn.seat.answer(id_)
    except Silence:
        await turn.is_alive("ACCORD-CLIENT-BATCH-001", turn.seat.entries[place])
    heard = list(messages_in(turn.seat.entries[place:]))
    return {"place": place, "answers": [entry.place for entry, each in heard if is_answer(each, id_)]}
