"""The rows of a method table."""

from __future__ import annotations

from accord.protocol import v1, v2
from accord.protocol.v1 import methods as v1_methods
from accord.protocol.v2 import methods as v2_methods


def test_a_request_says_what_it_takes_and_gives() -> None:
    method = v1_methods.SESSION_LOAD
    assert (method.name, method.side, method.gate) == ("session/load", "agent", "loadSession")
    assert (method.params, method.result) == (v1.LoadSessionRequest, v1.LoadSessionResponse)
    assert repr(method) == "<request session/load>"


def test_a_notification_says_what_it_takes() -> None:
    method = v2_methods.SESSION_UPDATE
    assert (method.name, method.side, method.gate) == ("session/update", "client", "")
    assert method.params is v2.UpdateSessionNotification
    assert repr(method) == "<notification session/update>"
