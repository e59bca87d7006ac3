"""What a node counts: each relayed session once, as long as another node has it, and a turn until its own end."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from accord.serve import remote_connection
from accord.serve.principals import Principal
from accord.serve.relay_ends import NodeLink
from accord.serve.relayed_requests import Opening
from accord.serve.session_relay import SessionRelay
from accord.transport.memory import memory_pair
from accord.transport.routing import Envelope
from tests.tables import rows


def link_to(name: str) -> NodeLink:
    node: Any = SimpleNamespace(incarnation=f"{name}-1", name=name)
    transport: Any = None
    return NodeLink(node, transport, [])


def answered(relay: SessionRelay, method: str, link: NodeLink | None, session_id: str = "s1") -> None:
    message = Envelope("request", 1, method, session_id)
    relay._placed(Opening(b"{}", message, 0.0, link), is_open=True)


class NoStore:
    incarnation = "here-1"

    async def epoch_of(self, _: str, _node: str) -> int:
        return 1


async def test_a_session_that_is_opened_again_or_closed_is_counted_once_or_not_at_all() -> None:
    fleet: Any = SimpleNamespace(relayed_sessions=0, store=NoStore(), is_draining=True)
    client, _ = memory_pair()
    relay = SessionRelay(client, Principal("ada"), fleet, 1024)
    first, second = link_to("first"), link_to("second")
    counts: list[int] = []
    steps = (
        ("session/load", first, "s1"),
        ("session/load", first, "s1"),
        ("session/load", first, "s2"),
        ("session/load", second, "s1"),
        ("session/close", second, "s1"),
        ("session/load", None, "s2"),
    )
    for method, link, session_id in steps:
        answered(relay, method, link, session_id)
        counts.append(fleet.relayed_sessions)
    assert counts == [1, 1, 2, 2, 1, 0]
    answered(relay, "session/load", first)
    relay._drop(first)
    assert fleet.relayed_sessions == 0


@rows(
    ("update", "ends"),
    [
        ({"sessionUpdate": "state_update", "state": "idle"}, True),
        ({"sessionUpdate": "state_update", "state": "running"}, False),
        ({"sessionUpdate": "tool_call_update", "toolCallId": "t", "rawOutput": {"state": "idle"}}, False),
    ],
)
def test_only_a_state_of_the_session_ends_a_turn(update: dict[str, Any], *, ends: bool) -> None:
    text = json.dumps({"method": "session/update", "params": {"sessionId": "s", "update": update}})
    assert remote_connection._is_end(text.encode()) is ends
