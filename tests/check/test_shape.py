"""Shapes: payloads that fit, payloads that do not, and unknown keys."""

from __future__ import annotations

from typing import Any

from accord.check.engine.evidence import Entry, Record
from accord.check.engine.shape import Payload, payloads, shape_of
from accord.check.rule import EDITIONS, EditionName
from tests.tables import rows


def entry(message: Any, *, sent: bool = False) -> Entry:
    return Entry(sent, 0.0, b"", message, 0)


def payload(method: str, value: Any, *, is_result: bool = True) -> Payload:
    return Payload(entry(None), method, value, is_result)


def chunk(**update: Any) -> Payload:
    params = {"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk", **update}}
    return payload("session/update", params, is_result=False)


TEXT = {"type": "text", "text": "hello"}


@rows("edition", EDITIONS)
def test_a_session_needs_an_id(edition: EditionName) -> None:
    assert shape_of(edition, payload("session/new", {"sessionId": "s"})).problem == ""
    shape = shape_of(edition, payload("session/new", {}))
    assert (shape.field, bool(shape.problem)) == ("sessionId", True)


def test_what_a_receiver_forgives_does_not_fit() -> None:
    # `title` is marked lenient in the schema: a receiver drops it, but it was wrong to say.
    update = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "x", "status": 5}
    shape = shape_of("v1", payload("session/update", {"sessionId": "s", "update": update}, is_result=False))
    assert shape.field == "update.status"


@rows(("edition", "fits"), [("v1", False), ("v2_june", True), ("v2", True)])
@rows("kind", ["_mine", "mine"])
def test_only_v1_has_no_place_for_updates_that_it_does_not_name(edition: EditionName, kind: str, *, fits: bool) -> None:
    params = {"sessionId": "s", "update": {"sessionUpdate": kind, "what": 1}}
    assert (shape_of(edition, payload("session/update", params, is_result=False)).problem == "") == fits


def test_words_may_be_unknown_where_the_schema_is_open() -> None:
    select = {"type": "select", "id": "o", "name": "O", "currentValue": "a", "options": [{"value": "a", "name": "A"}]}
    opened = {"sessionId": "s", "configOptions": [{**select, "category": "fast"}]}
    assert shape_of("v1", payload("session/new", opened)).problem == ""
    assert shape_of("v1", payload("session/prompt", {"stopReason": "bored"})).field == "stopReason"


def test_a_login_of_an_unknown_kind_is_one_of_the_plain_kind_in_v1() -> None:
    said: dict[str, Any] = {"protocolVersion": 1, "authMethods": [{"type": "env_var", "id": "key", "name": "A key"}]}
    assert shape_of("v1", payload("initialize", said)).problem == ""
    said["authMethods"] = [{"type": "env_var", "id": "key"}]
    assert shape_of("v1", payload("initialize", said)).field == "authMethods[0].name"


def test_keys_at_the_root_that_nobody_named_are_found_and_fit() -> None:
    shape = shape_of("v1", payload("session/prompt", {"stopReason": "end_turn", "usage": {}, "_meta": {"mine": 1}}))
    assert (shape.problem, shape.further) == ("", ("usage",))


@rows("method", ["session/new", "session/load"])
def test_the_models_of_2025_are_no_key_of_v1_any_more(method: str) -> None:
    shape = shape_of("v1", payload(method, {"sessionId": "s", "models": "whatever"}))
    assert (shape.problem, "models" in shape.further) == ("", True)


def test_keys_deeper_inside_are_not_looked_for() -> None:
    assert shape_of("v1", chunk(content=TEXT, mine=1)).further == ()


def test_a_method_must_be_of_the_edition_or_of_ones_own() -> None:
    assert shape_of("v1", payload("fs/read_text_file", {"sessionId": "s", "path": "/x"}, is_result=False)).problem == ""
    assert shape_of("v2", payload("fs/read_text_file", {"sessionId": "s", "path": "/x"}, is_result=False)).problem
    assert shape_of("v2", payload("_mine/method", 5, is_result=False)).problem == ""


def test_a_result_has_the_shape_of_what_was_asked_for() -> None:
    record = Record(
        "x",
        [
            entry({"id": 1, "method": "session/new"}, sent=True),
            entry({"id": 1, "result": {}}),
            entry({"id": "1", "result": {}}),
            entry({"id": {}, "result": {}}),
            entry([{"method": "session/update"}, 5]),
            entry({"id": 1, "error": {}}),
            entry({"id": 1, "method": "session/close"}, sent=True),
            entry({"id": 1, "result": {}}),
        ],
        b"",
        b"",
        "itself",
        0,
    )
    found = [(each.method, each.value, each.is_result) for each in payloads(record)]
    assert found == [("session/new", {}, True), ("session/update", {}, False), ("session/close", {}, True)]
