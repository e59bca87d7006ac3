"""The rows of a method table."""

from __future__ import annotations

from accord.protocol import v1, v2
from accord.protocol.method import drafted, rows
from accord.protocol.v1 import draft as v1_draft


def test_a_request_says_what_it_takes_and_gives() -> None:
    method = v1.SESSION_LOAD
    assert (method.name, method.side) == ("session/load", "agent")
    assert (method.params, method.result) == (v1.LoadSessionRequest, v1.LoadSessionResponse)
    assert repr(method) == "<request session/load>"


def test_a_notification_says_what_it_takes() -> None:
    method = v2.SESSION_UPDATE
    assert (method.name, method.side) == ("session/update", "client")
    assert method.params is v2.UpdateSessionNotification
    assert repr(method) == "<notification session/update>"


def test_the_rows_of_a_module_are_in_its_order() -> None:
    namespace = {"B": v1.SESSION_NEW, "types": v1.NewSessionRequest, "A": v1.SESSION_UPDATE}
    assert rows(namespace) == (v1.SESSION_NEW, v1.SESSION_UPDATE)


def test_a_drafted_row_stands_in_the_place_of_the_stable_one_and_a_new_one_behind_all() -> None:
    stable = (v1.INITIALIZE, v1.SESSION_NEW)
    assert drafted(stable, (v1_draft.SESSION_FORK, v1_draft.INITIALIZE)) == (
        v1_draft.INITIALIZE,
        v1.SESSION_NEW,
        v1_draft.SESSION_FORK,
    )


def test_a_request_and_a_notification_of_one_name_are_two_rows() -> None:
    stable = (v1_draft.PROXY_SUCCESSOR,)
    drafts = (v1_draft.PROXY_SUCCESSOR_NOTIFICATION,)
    assert drafted(stable, drafts) == (*stable, *drafts)
