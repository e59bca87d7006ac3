"""Which stream a message takes: tables, without a loop."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, strategies as st

from accord.transport.routing import (
    ClientRoutes,
    Envelope,
    ServerRoutes,
    SessionChange,
    read_agent_envelope,
    read_envelope,
    read_updates,
)
from tests.tables import rows


def request(id_: Any, method: str, session: str | None = None) -> Envelope:
    params = {} if session is None else {"sessionId": session}
    return read_envelope(json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}).encode())


def notification(method: str, session: str | None = None) -> Envelope:
    params = {} if session is None else {"sessionId": session}
    return read_envelope(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())


def answer(id_: Any, result: Any = None) -> Envelope:
    return read_envelope(json.dumps({"jsonrpc": "2.0", "id": id_, "result": result}).encode())


def refusal(id_: Any) -> Envelope:
    return read_envelope(json.dumps({"jsonrpc": "2.0", "id": id_, "error": {"code": 1, "message": ""}}).encode())


@rows(
    ("text", "envelope"),
    [
        (
            b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{}}}',
            Envelope("notification", method="session/update", session_id="s1"),
        ),
        (
            b'{"method":"session/update","params":{"update":{"sessionId":"no"},"sessionId":"s\\u00e9"},"jsonrpc":"2.0"}',
            Envelope("notification", method="session/update", session_id="sé"),
        ),
        (
            b'{"method":"session/update","params":{"text":"\\ud83d","sessionId":"s"}}',
            Envelope("notification", method="session/update", session_id="s"),
        ),
        (b'{"id":1,"method":"x","params":[1]}', Envelope("request", 1, "x")),
        (b'{"id":"1","method":"x","params":{"sessionId":7}}', Envelope("request", "1", "x")),
        (b'{"id":null,"method":"x"}', Envelope("request", None, "x")),
        (b'{"id":true,"method":"x","params":{"sessionId":"s"}}', Envelope("request", None, "x", "s")),
        (b'{"id":2,"result":{"sessionId":"s2"}}', Envelope("answer", 2, "", "s2")),
        (b'{"id":2,"result":null}', Envelope("answer", 2)),
        (b'{"id":2,"result":[{"sessionId":"s2"}]}', Envelope("answer", 2)),
        (b'{"id":2,"error":{"code":-1,"message":""}}', Envelope("answer", 2, is_error=True)),
        (b'{"id":null,"error":7}', Envelope("answer", None, is_error=True)),
        (b"{}", Envelope("other")),
        (b'{"id":3}', Envelope("other")),
        (b'{"id":[],"x":1}', Envelope("other")),
        (b"[]", Envelope("other")),
        (b"42", Envelope("other")),
        (b"{", Envelope("other")),
        (b'{"method":"\xff"}', Envelope("other")),
        (b"[" * 100_000, Envelope("other")),
    ],
)
def test_an_envelope_has_what_routing_needs(text: bytes, envelope: Envelope) -> None:
    assert read_envelope(text) == envelope


@given(st.binary(max_size=64) | st.text(alphabet='{}[]":,0aid\\u', max_size=64).map(str.encode))
def test_no_text_raises(text: bytes) -> None:
    assert read_envelope(text).kind in ("request", "notification", "answer", "other")


@given(st.text(max_size=20), st.booleans())
def test_the_fast_way_to_read_an_update_finds_the_same_as_the_slow_one(session: str, spaced: bool) -> None:  # noqa: FBT001
    message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": {}}}
    separators = (", ", ": ") if spaced else (",", ":")
    text = json.dumps(message, separators=separators).encode()
    assert read_agent_envelope(text) == read_envelope(text) == Envelope("notification", None, "session/update", session)


def test_of_two_members_with_one_name_the_last_counts() -> None:
    text = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a"},"id":1,"method":"session/new"}'
    assert read_envelope(text) == Envelope("request", 1, "session/new", "a")


@rows("method", ["initialize", "authenticate", "session/new", "session/list", "logout", "_vendor/x"])
def test_the_answer_of_a_request_of_the_connection_takes_the_connection_stream(method: str) -> None:
    routes = ServerRoutes()
    routes.received(request(1, method), has_reader=True)
    assert routes.stream_of(answer(1, {"sessionId": "s1"})) is None


@rows("method", ["session/prompt", "session/set_mode", "session/close", "_vendor/x"])
def test_the_answer_of_a_request_of_a_session_takes_its_stream(method: str) -> None:
    routes = ServerRoutes()
    routes.received(request(1, method, "s1"))
    routes.received(request("1", "session/prompt", "s2"))
    assert routes.stream_of(answer("1")) == "s2"
    assert routes.stream_of(refusal(1)) == "s1"


def test_the_header_counts_where_the_params_name_no_session() -> None:
    routes = ServerRoutes()
    routes.received(request(1, "_vendor/x"), header="s1")
    routes.received(request(2, "session/list"), header="s1")
    assert [routes.stream_of(answer(1)), routes.stream_of(answer(2))] == ["s1", None]


@rows(
    ("message", "stream"),
    [
        (notification("session/update", "s1"), "s1"),
        (request(0, "session/request_permission", "s1"), "s1"),
        (request(0, "fs/read_text_file", "s1"), "s1"),
        (notification("$/cancel_request", "s1"), None),
        (notification("_vendor/x"), None),
        (answer(99), None),
        (refusal(None), None),
        (read_envelope(b"["), None),
    ],
)
def test_what_the_agent_sends_by_itself_takes_the_stream_of_its_session(message: Envelope, stream: str | None) -> None:
    assert ServerRoutes().stream_of(message) == stream


@rows("has_reader", [True, False])
@rows("method", ["session/load", "session/resume"])
def test_a_replay_and_its_answer_take_one_stream_and_what_follows_takes_the_session_s(
    method: str,
    has_reader: bool,  # noqa: FBT001
) -> None:
    routes = ServerRoutes()
    routes.received(request(5, method, "s1"), has_reader=has_reader)
    expected = "s1" if has_reader else None
    assert routes.stream_of(notification("session/update", "s1")) == expected
    assert routes.stream_of(notification("session/update", "s2")) == "s2"
    assert routes.stream_of(answer(5, {})) == expected
    assert routes.stream_of(notification("session/update", "s1")) == "s1"


def test_two_calls_that_open_one_session_end_each_for_itself() -> None:
    routes = ServerRoutes()
    routes.received(request(1, "session/load", "s1"), has_reader=False)
    routes.received(request(2, "session/load", "s1"), has_reader=True)
    assert routes.stream_of(answer(2)) == "s1"
    assert routes.stream_of(notification("session/update", "s1")) is None
    assert routes.stream_of(answer(1)) is None
    assert routes.stream_of(notification("session/update", "s1")) == "s1"


@rows(
    ("message", "session"),
    [
        (request(1, "session/prompt", "s1"), "s1"),
        (notification("session/cancel", "s1"), "s1"),
        (request(1, "session/new", "s1"), None),
        (notification("$/cancel_request", "s1"), None),
        (answer(3), None),
    ],
)
def test_a_client_names_the_session_of_what_belongs_to_one(message: Envelope, session: str | None) -> None:
    assert ClientRoutes().session_of(message) == session


def test_a_client_s_answer_names_the_session_of_the_question() -> None:
    routes = ClientRoutes()
    routes.received(request(0, "session/request_permission", "s1"))
    routes.received(request("0", "fs/read_text_file", "s2"))
    assert [routes.session_of(answer("0")), routes.session_of(refusal(0)), routes.session_of(answer(0))] == [
        "s2",
        "s1",
        None,
    ]


def test_a_client_learns_of_sessions_from_the_answers_that_open_them() -> None:
    routes = ClientRoutes()
    for message in (
        request(1, "session/new"),
        request(2, "session/load", "s2"),
        request(3, "session/fork", "s2"),
        request(4, "session/resume", "s4"),
        request(5, "session/prompt", "s2"),
        request(6, "session/close", "s2"),
    ):
        routes.session_of(message)
    changes = [
        routes.received(message)
        for message in (
            answer(1, {"sessionId": "s1"}),
            answer(2),
            answer(3, {"sessionId": "s3"}),
            refusal(4),
            answer(5),
            answer(6),
        )
    ]
    assert changes == [
        SessionChange("s1", is_open=True),
        SessionChange("s2", is_open=True),
        SessionChange("s3", is_open=True),
        None,
        None,
        SessionChange("s2", is_open=False),
    ]


def update(session: str, rest: bytes = b',"update":{}}}') -> bytes:
    return b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%b"%b' % (session.encode(), rest)


def test_updates_of_one_session_have_one_envelope() -> None:
    texts: list[bytes | bytearray] = [
        update("s1"),
        update("s1", b',"update":{"sessionId":"s2"}}}'),
        bytearray(update("s1")),
    ]
    assert read_updates(texts) == read_agent_envelope(texts[0])


@rows(
    "other",
    [
        update("s2"),
        update("s10"),
        update("s1").replace(b"session/update", b"session/other"),
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b" " + update("s1"),
    ],
)
def test_texts_that_are_not_updates_of_one_session_have_none(other: bytes) -> None:
    assert read_updates([update("s1"), other]) is None
    assert read_updates([other, update("s1")]) is None
