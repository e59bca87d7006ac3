"""Connections whose client has left, at the end of a server: which of them have something to be done."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from accord.serve.metrics import Metrics
from accord.serve.options import HostLimits
from accord.serve.principals import Credentials, Principal
from accord.serve.remote_connection import RemoteConnection
from accord.serve.session_rules import SessionRules
from accord.transport.routing import read_envelope


def text(id_: str, method: str, session_id: str) -> bytes:
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": id_, "method": method, "params": {"sessionId": session_id}}
    return json.dumps(message).encode()


def left_connection(root: Path) -> RemoteConnection:
    """A connection whose client has two turns open, and has left."""
    principal = Principal("ann")
    rules = SessionRules(principal, root, None, stdio_mcp=False, max_sessions=10)
    made = RemoteConnection(principal, Credentials(None, {}), rules, HostLimits(), Metrics(), has_session_streams=False)
    made.attach()
    for id_, session_id in (("p1", "s1"), ("p2", "s2")):
        prompt = text(id_, "session/prompt", session_id)
        made._note_request(read_envelope(prompt), None)
    made.detach()
    return made


async def test_a_client_that_has_left_is_awaited_where_every_turn_asks(tmp_path: Path) -> None:
    connection = left_connection(tmp_path)
    later = time.monotonic() + 1
    assert not connection.awaits_client(later)
    connection.deliver(text("q1", "session/request_permission", "s1"))
    assert not connection.awaits_client(later), "the other turn works"
    connection.deliver(text("q2", "session/request_permission", "s2"))
    assert connection.awaits_client(later)


async def test_a_client_that_is_here_or_has_just_left_may_answer(tmp_path: Path) -> None:
    connection = left_connection(tmp_path)
    for id_, session_id in (("q1", "s1"), ("q2", "s2")):
        connection.deliver(text(id_, "session/request_permission", session_id))
    assert not connection.awaits_client(connection.detached_at - 1)
    connection.attach()
    assert not connection.awaits_client(time.monotonic() + 1)
