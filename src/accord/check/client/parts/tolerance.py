"""What a client has to live with: each thing is said, and a sign of life is asked for after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from accord.check.client.part import Notes, Part, Turn, When, add_part
from accord.check.client.words import chunk, config_options, every_update, text, tool
from accord.check.rule import EDITIONS, EditionName

__all__ = ["BURDENS", "Burden"]

LARGE_BYTES = 1024 * 1024
Sayings: TypeAlias = Callable[[Turn], list[Any]]
"""What is said: messages, or bytes where it is none."""


@dataclass(frozen=True, slots=True)
class Burden:
    """One row: the part, and the rule that is broken by a client that does not live with it."""

    name: str
    rule: str
    say: Sayings
    editions: tuple[EditionName, ...] = EDITIONS
    order: int = 20
    when: When = "turn"


def _update(turn: Turn, update: Any, session: Any = None) -> dict[str, Any]:
    params = {"sessionId": turn.session if session is None else session, "update": update}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def _note(method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def _known(turn: Turn) -> list[Any]:
    return [_update(turn, update) for update in every_update(turn.edition, turn.offered)]


def _unknown(turn: Turn) -> list[Any]:
    kinds = ("_accord_check", "future_thing")
    return [_update(turn, {"sessionUpdate": kind, "sessionId": 3, "content": ["x"]}) for kind in kinds]


def _values(turn: Turn) -> list[Any]:
    block = {"type": "_hologram", "depth": 3}
    content = [{"type": "_sculpture", "weight": 1}, {"type": "content", "content": block}]
    updates = [
        {**chunk(turn.edition, ""), "content": block},
        tool(turn.edition, "call-3", status="_sleeping", content=content),
        tool(turn.edition, "call-4") | {"kind": "_juggle"},
    ]
    return [_update(turn, update) for update in updates]


def _bad(turn: Turn) -> list[Any]:
    bad: list[Any] = [{"sessionUpdate": "agent_message_chunk"}, {"sessionUpdate": 7}, "text", None]
    return [*(_update(turn, update) for update in bad), _note("session/update", {}), _note("session/update", [1])]


def _nulls(turn: Turn) -> list[Any]:
    clear = {"status": "in_progress", "content": None, "locations": None, "rawInput": None}
    updates: list[Any] = [
        tool(turn.edition, "call-5"),
        {"sessionUpdate": "tool_call_update", "toolCallId": "call-5", **clear},
        {"sessionUpdate": "session_info_update", "title": None, "updatedAt": None, "_meta": None},
        {"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": None},
    ]
    return [_update(turn, update) for update in updates]


def _metas(turn: Turn) -> list[Any]:
    meta = {
        "accord.check/x": {"deep": [1, None]},
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    }
    content = {**text("with notes "), "_meta": meta}
    update = {**chunk(turn.edition, ""), "content": content, "_meta": meta}
    message = _update(turn, update)
    message["params"]["_meta"] = meta
    return [message, _update(turn, tool(turn.edition, "call-6", _meta=meta))]


def _options(turn: Turn) -> list[Any]:
    key = "configId" if turn.edition == "v2" else "id"
    strange = {key: "mood", "type": "_dial", "name": "Mood", "currentValue": 0.5}
    options = [strange, *config_options(turn.edition)]
    return [_update(turn, {"sessionUpdate": "config_option_update", "configOptions": options})]


def _states(turn: Turn) -> list[Any]:
    said: list[dict[str, Any]] = [{"state": "_pondering"}, {"state": "running"}]
    return [_update(turn, {"sessionUpdate": "state_update", **each}) for each in said]


def _late(turn: Turn) -> list[Any]:
    updates: list[dict[str, Any]] = [
        {"sessionUpdate": "session_info_update", "title": "Late"},
        {"sessionUpdate": "usage_update", "used": 3, "size": 100},
        chunk(turn.edition, "And one more thing.", "m9"),
    ]
    return [_update(turn, update) for update in updates]


CANCELS: tuple[EditionName, ...] = ("v1", "v2")
"""Where a request can be taken back, and questions have forms."""

BURDENS: tuple[Burden, ...] = (
    Burden("known_updates", "ACCORD-CLIENT-UPDATE-008", _known, order=10),
    Burden("null_fields", "ACCORD-CLIENT-UPDATE-009", _nulls, order=11),
    Burden("metas", "ACCORD-CLIENT-UPDATE-011", _metas, order=12),
    Burden("unknown_updates", "ACCORD-CLIENT-UPDATE-001", _unknown),
    Burden("unknown_values", "ACCORD-CLIENT-UPDATE-002", _values),
    Burden("unknown_option", "ACCORD-CLIENT-CONFIG-001", _options),
    Burden("unknown_state", "ACCORD-CLIENT-UPDATE-010", _states, ("v2",)),
    Burden(
        "unknown_notifications",
        "ACCORD-CLIENT-EXT-002",
        lambda _: [_note(method, {"x": 1}) for method in ("_accord.check/hello", "future/thing", "$/accord")],
    ),
    Burden(
        "unknown_cancel",
        "ACCORD-CLIENT-CANCEL-002",
        lambda _: [_note("$/cancel_request", {"requestId": id_}) for id_ in ("accord-never", 987654321)],
        CANCELS,
    ),
    Burden(
        "unknown_elicitation",
        "ACCORD-CLIENT-ELICIT-004",
        lambda _: [_note("elicitation/complete", {"elicitationId": "never"})],
        CANCELS,
    ),
    Burden(
        "large_update",
        "ACCORD-CLIENT-UPDATE-007",
        lambda turn: [_update(turn, chunk(turn.edition, "x" * LARGE_BYTES, "m8"))],
        order=60,
    ),
    Burden(
        "strange_session",
        "ACCORD-CLIENT-UPDATE-006",
        lambda turn: [_update(turn, chunk(turn.edition, "lost"), "session-of-nobody")],
        order=61,
    ),
    Burden("bad_updates", "ACCORD-CLIENT-UPDATE-003", _bad, order=62),
    Burden(
        "stray_answers",
        "ACCORD-CLIENT-RUDE-004",
        lambda _: [{"jsonrpc": "2.0", "id": id_, "result": {}} for id_ in ("accord-never", 987654321)],
        order=70,
    ),
    Burden("blank_lines", "ACCORD-CLIENT-RUDE-005", lambda _: [b"", b"\r"], order=71),
    Burden("no_json", "ACCORD-CLIENT-RUDE-001", lambda _: [b"this is no JSON", b'{"jsonrpc": "2.0", "id":'], order=72),
    Burden("no_message", "ACCORD-CLIENT-RUDE-002", lambda _: [b"42", b'"text"', b'{"hello": "world"}'], order=73),
    Burden("late_updates", "ACCORD-CLIENT-UPDATE-005", _late, order=10, when="after"),
)


def _part(burden: Burden) -> Part:
    async def play(turn: Turn) -> Notes:
        for saying in burden.say(turn):
            place = turn.seat.send(saying) if isinstance(saying, bytes) else turn.seat.say(saying)
            await turn.is_alive(burden.rule, turn.seat.entries[place])
        return {}

    return Part(burden.name, play, burden.editions, burden.order, burden.when)


for _each in BURDENS:
    add_part(_part(_each))
