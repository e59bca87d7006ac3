"""The tree of exceptions: as it is drawn, with a class for every code, and with facts that survive a copy."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from typing import Any

import accord
from accord import errors
from accord.errors import (
    AccordError,
    AuthRequired,
    BacklogExceeded,
    CallTimeout,
    ConnectFailed,
    ConnectionLost,
    DeadlineExceeded,
    ElicitationRequired,
    FrameError,
    InternalError,
    InvalidParams,
    InvalidRequest,
    LocalProtocolError,
    MethodNotFound,
    NegotiationFailed,
    ParseError,
    PermissionDenied,
    ProtocolError,
    RateLimited,
    RemoteProtocolError,
    RequestCancelled,
    RequestError,
    ResourceNotFound,
    SessionInUse,
    StoreError,
    TransportError,
    UnsupportedVersion,
    request_error,
)
from tests.tables import rows

CODES: dict[int, type[RequestError]] = {
    -32700: ParseError,
    -32600: InvalidRequest,
    -32601: MethodNotFound,
    -32602: InvalidParams,
    -32603: InternalError,
    -32000: AuthRequired,
    -32002: ResourceNotFound,
    -32009: SessionInUse,
    -32003: PermissionDenied,
    -32022: UnsupportedVersion,
    -32029: RateLimited,
    -32042: ElicitationRequired,
    -32800: RequestCancelled,
}


# --- the drawing


def drawn() -> dict[str, tuple[str, str]]:
    """Each class in the drawing, its parent and its code (empty where it has none)."""
    lines = (errors.__doc__ or "").split("\n\n")[1].splitlines()
    parents = [lines[0]]
    found: dict[str, tuple[str, str]] = {}
    for line in lines[1:]:
        nodes = re.findall(r"[├└]── (\w+)(?: (-\d+))?", line)
        depth = len(line[: line.index("── ") - 1]) // 4 + 1
        for name, code in nodes:
            found[name] = (parents[depth - 1], code)
        parents[depth:] = [nodes[0][0]]
    return found


def defined() -> dict[str, tuple[str, str]]:
    classes = [thing for thing in vars(errors).values() if inspect.isclass(thing) and issubclass(thing, AccordError)]
    return {kind.__name__: (kind.__bases__[0].__name__, code_of(kind)) for kind in classes if kind is not AccordError}


def code_of(kind: type[AccordError]) -> str:
    return str(kind.code) if issubclass(kind, RequestError) and kind is not RequestError else ""


def test_the_tree_in_the_docstring_is_the_tree_of_the_classes() -> None:
    assert drawn() == defined()


def test_every_class_is_exported() -> None:
    assert set(errors.__all__) == {*defined(), "AccordError", "request_error"}


def test_a_call_that_took_too_long_is_also_a_timeout_of_python() -> None:
    assert issubclass(CallTimeout, TimeoutError)


# --- error objects to exceptions


@rows(("code", "kind"), CODES.items())
def test_every_code_of_every_edition_has_its_class(code: int, kind: type[RequestError]) -> None:
    error = request_error(code, "said so")

    assert type(error) is kind
    assert (error.code, error.message, error.data) == (code, "said so", None)
    assert error.received


def test_no_class_has_a_code_that_is_not_in_the_table() -> None:
    assert {kind.code: kind for kind in RequestError.__subclasses__()} == CODES


@rows("code", [-32000, -32001, -32603, -32800, 0, 401])
@rows(
    ("reason", "kind"),
    [
        ("auth_required", AuthRequired),
        ("rate_limited", RateLimited),
        ("permission_denied", PermissionDenied),
        ("session_in_use", SessionInUse),
    ],
)
def test_the_reason_in_the_data_decides_before_the_code(reason: str, kind: type[RequestError], code: int) -> None:
    error = request_error(code, "m", {"reason": reason})

    assert type(error) is kind
    assert error.code == code


@rows(
    "data",
    [{"reason": "of its own"}, {"reason": 1}, {"reason": None}, {"reason": ["auth_required"]}, "auth_required", []],
)
def test_a_reason_that_nobody_knows_leaves_it_to_the_code(data: Any) -> None:
    assert type(request_error(-32002, "m", data)) is ResourceNotFound


@rows("code", [-32001, -32099, -1, 0, 1, 404, 2**70])
def test_a_code_that_nobody_knows_stays_a_plain_request_error_with_code_and_data_in_its_text(code: int) -> None:
    error = request_error(code, "odd", {"hint": "look here"})

    assert type(error) is RequestError
    assert (error.code, error.message, error.data) == (code, "odd", {"hint": "look here"})
    assert {"odd", str(code), "look here"} <= set(re.findall(r"-?\d+|look here|odd", str(error)))


def test_an_error_to_answer_with_is_not_one_that_was_received() -> None:
    assert not ResourceNotFound("no such session").received


@rows("kind", CODES.values())
def test_an_error_says_something_without_being_told_what(kind: type[RequestError]) -> None:
    error = kind()

    assert error.message
    assert error.data is None or list(error.data) == ["reason"]
    assert str(error.code) in str(error)


def test_a_handler_may_answer_with_any_code() -> None:
    error = RequestError("my own", {"a": 1}, code=-32050)

    assert (error.code, RequestError.code) == (-32050, -32603)


# --- facts


def test_method_not_found_names_the_method() -> None:
    assert MethodNotFound(data={"method": "_x"}).method == "_x"


def test_invalid_params_names_field_and_expectation() -> None:
    error = InvalidParams(data={"field": "cwd", "expected": "an absolute path"})

    assert (error.field, error.expected) == ("cwd", "an absolute path")


def test_an_internal_error_names_the_entry_in_the_log() -> None:
    assert InternalError(data={"correlationId": "abc"}).correlation_id == "abc"


def test_permission_denied_names_the_scope() -> None:
    assert PermissionDenied.from_answer(PermissionDenied.code, "", {"scope": "fs.write"}).scope == "fs.write"


def test_a_session_in_use_names_the_session() -> None:
    assert SessionInUse("s1").session_id == "s1"
    assert SessionInUse.from_answer(-32009, "", {"sessionId": 1}).session_id is None


def test_auth_required_offers_the_ways_to_log_in() -> None:
    error = AuthRequired.from_answer(-32000, "", {"authMethods": [{"id": "a"}, 1]})
    assert error.auth_methods == [{"id": "a"}, 1]


def test_an_unsupported_version_names_those_that_are() -> None:
    assert UnsupportedVersion(data={"supported": [1, "2", True, 3]}).supported == [1, 3]


@rows(
    ("value", "seconds"),
    [(5, 5.0), (0.5, 0.5), (0, 0.0), ("5", None), (None, None), (True, None), (-1, None), (10**400, None), ([], None)],
)
def test_a_rate_limit_says_how_long_to_wait_if_it_is_a_time(value: Any, seconds: float | None) -> None:
    assert RateLimited.from_answer(RateLimited.code, "", {"retryAfter": value}).retry_after == seconds


NO_FACTS: list[Any] = [None, "text", 1, [], [1], {}, {"method": 1, "field": None, "expected": [], "scope": {}}]


@rows("data", [*NO_FACTS, {"correlationId": 1, "authMethods": "x", "supported": 1, "retryAfter": {}}])
def test_data_of_the_wrong_shape_is_no_fact_and_no_failure(data: Any) -> None:
    assert MethodNotFound(data=data).method is None
    assert InvalidParams(data=data).field is None
    assert InvalidParams(data=data).expected is None
    assert InternalError(data=data).correlation_id is None
    assert PermissionDenied.from_answer(PermissionDenied.code, "", data).scope is None
    assert AuthRequired.from_answer(AuthRequired.code, "", data).auth_methods == []
    assert UnsupportedVersion(data=data).supported == []
    assert RateLimited.from_answer(RateLimited.code, "", data).retry_after is None


def test_a_lost_connection_tells_how_the_agent_ended() -> None:
    text = str(ConnectionLost("the agent is gone", exit_status=-9, stderr_tail="  out of memory\n"))

    assert [part in text for part in ("the agent is gone", "-9", "out of memory")] == [True] * 3


def test_a_lost_connection_without_a_process_says_no_more_than_it_knows() -> None:
    assert str(ConnectionLost()) == ConnectionLost().message


# --- copies

EXAMPLES: list[AccordError] = [
    AccordError("m"),
    TransportError("m"),
    ConnectFailed("m", argv=("agent", "--acp")),
    ConnectionLost("m", exit_status=3, stderr_tail="tail", clean=True),
    FrameError("m", limit_bytes=10),
    ProtocolError("m"),
    LocalProtocolError("m", field="a.b", expected="a number"),
    BacklogExceeded("m", field="a.b", expected="a number"),
    RemoteProtocolError("m", field="a.b", expected="a number"),
    NegotiationFailed("m", answered=3),
    CallTimeout("session/prompt", 2.5),
    DeadlineExceeded("idle", 2.5),
    StoreError("m"),
    RequestError("m", {"a": [1]}, code=-32050, received=True),
    *(kind.from_answer(-1, "m", {"a": [1]}) for kind in CODES.values()),
    *(kind() for kind in CODES.values()),
]


def test_there_is_an_example_of_every_class() -> None:
    assert {type(error).__name__ for error in EXAMPLES} == {*defined(), "AccordError"}


@rows("error", EXAMPLES)
@rows(
    "again",
    [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))],  # noqa: S301 - our own bytes
)
def test_a_copy_is_another_object_with_the_same_facts(error: AccordError, again: Any) -> None:
    twin = again(error)

    assert twin is not error
    assert type(twin) is type(error)
    assert vars(twin) == vars(error)
    assert (str(twin), twin.args) == (str(error), error.args)


def test_authors_say_what_is_missing_in_one_argument() -> None:
    assert AuthRequired().data == {"reason": "auth_required"}
    assert AuthRequired("Log in", [{"id": "key"}]).auth_methods == [{"id": "key"}]
    assert RateLimited(2.5).data == {"reason": "rate_limited", "retryAfter": 2.5}
    assert RateLimited().retry_after is None
    assert PermissionDenied("fs.write").data == {"reason": "permission_denied", "scope": "fs.write"}
    assert PermissionDenied().scope is None


def test_every_class_of_errors_is_exported() -> None:
    classes = {name for name in errors.__all__ if inspect.isclass(getattr(errors, name))}
    assert classes <= set(accord.__all__)
