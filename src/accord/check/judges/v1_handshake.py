"""The handshake in v1, and what clients are offered to log in by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeGuard

from accord.check.case import Case, Played, Unseen, Violation
from accord.check.entry import Entry, Record, is_answer, messages_in
from accord.check.judge import judge
from accord.check.shape import Piece, shape_of
from accord.check.steps.versions import FAR_FUTURE

__all__ = ["offers", "said_in_handshakes"]

_AUTH_REQUIRED = -32000


def _meeting(case: Case) -> tuple[Played, dict[str, Any]]:
    """The first meeting, and what the agent said of itself in it.

    Raises:
        StepFailed: The handshake did not succeed.
    """
    meet = case.begun("meet")
    for _, answer in meet.answers(meet["initialize"]):
        if isinstance(answer.get("result"), dict):
            return meet, answer["result"]
    if meet.failure is not None:
        raise meet.failure
    raise Unseen("there was no handshake")


def _is_version(version: Any) -> TypeGuard[int]:
    return type(version) is int and 0 <= version <= FAR_FUTURE


@judge("ACP-INIT-001", steps=("meet",), editions=("v1",))
def the_handshake_succeeds(case: Case) -> None:
    meet = case.begun("meet")
    result, request, answer = meet.result(1), meet.request_entry(1), meet.answer_entry(1)
    if not isinstance(result, dict) or not _is_version(result.get("protocolVersion")):
        raise Violation("the answer to the handshake has no whole number for a version", request, answer)
    shape = shape_of("v1", Piece(answer, "initialize", result, is_result=True))
    if shape.problem:
        raise Violation(f"{shape.field or 'the answer'} does not fit: expected {shape.problem}", request, answer)


@judge("ACP-INIT-002", steps=("meet",), editions=("v1",))
def who_asks_for_version_one_gets_it(case: Case) -> None:
    meet, result = _meeting(case)
    version = result.get("protocolVersion")
    if not _is_version(version):
        raise Unseen("the answer has no whole number for a version")
    if version != 1:
        raise Violation(f"asked for version 1 it answers {version}", meet.request_entry(1), meet.answer_entry(1))


@judge("ACP-INIT-003", steps=("meet", "oversized_version"), editions=("v1",))
def a_version_from_the_far_future_is_not_echoed(case: Case) -> None:
    _, plain = _meeting(case)
    step = case.step("oversized_version")
    probe = step["probe"]
    result = step.result(probe)
    request, answer = step.request_entry(probe), step.answer_entry(probe)
    version = result.get("protocolVersion") if isinstance(result, dict) else None
    if not _is_version(version) or version == FAR_FUTURE:
        raise Violation(f"asked for a version that cannot be there it answers {version!r}", request, answer)
    told = plain.get("protocolVersion")
    if _is_version(told) and version < told:
        raise Violation(
            f"asked for {FAR_FUTURE} it answers {version}, and asked for 1 it answers {told}", request, answer
        )


@judge("ACP-INIT-004", steps=("meet",), editions=("v1",))
def the_agent_tells_its_name_and_version(case: Case) -> str:
    meet, result = _meeting(case)
    info = result.get("agentInfo")
    name, version = (info.get("name"), info.get("version")) if isinstance(info, dict) else (None, None)
    if not isinstance(name, str) or not isinstance(version, str) or not name or not version:
        raise Violation("agentInfo with a name and a version is missing", meet.answer_entry(1))
    return f"{name} {version}"


# --- ways to log in


def offers(record: Record) -> dict[str, Any]:
    """What the client of a process said that it can do; none where it never introduced itself."""
    said: dict[str, Any] = {}
    for _, message in messages_in(record.entries, sent=True):
        params = message.get("params")
        if message.get("method") == "initialize" and isinstance(params, dict):
            said = params.get("clientCapabilities") or {}
    return said


def said_in_handshakes(case: Case) -> Iterator[tuple[Record, Entry, dict[str, Any]]]:
    """Every result of a handshake."""
    for record in case.records:
        for _, message in messages_in(record.entries, sent=True):
            if message.get("method") == "initialize":
                for entry, answer in messages_in(record.entries):
                    if is_answer(answer, message.get("id")) and isinstance(answer.get("result"), dict):
                        yield record, entry, answer["result"]


def _methods(result: dict[str, Any]) -> list[dict[str, Any]]:
    methods = result.get("authMethods")
    return [method for method in methods if isinstance(method, dict)] if isinstance(methods, list) else []


@judge("ACP-AUTH-001", steps=("meet", "meet_able"), editions=("v1",))
def ways_to_log_in_have_ids_of_their_own(case: Case) -> None:
    for _, entry, result in said_in_handshakes(case):
        ids = [repr(method.get("id")) for method in _methods(result)]
        if len(set(ids)) != len(ids):
            raise Violation("two ways to log in have the same id", entry)


@judge("ACP-AUTH-002", steps=("meet",), editions=("v1",))
def a_terminal_login_is_offered_only_to_who_can(case: Case) -> None:
    for record, entry, result in said_in_handshakes(case):
        auth = offers(record).get("auth")
        if isinstance(auth, dict) and auth.get("terminal"):
            continue
        if any(method.get("type") == "terminal" for method in _methods(result)):
            raise Violation("a terminal login is offered to a client that cannot do that", entry)


@judge("ACP-AUTH-005", steps=("meet", "turns", "strange_requests"), editions=("v1",))
def without_a_way_to_log_in_no_login_is_asked_for(case: Case) -> None:
    _, result = _meeting(case)
    if _methods(result):
        raise Unseen("there are ways to log in")
    for _, entry, answer in case.messages():
        error = answer.get("error")
        if isinstance(error, dict) and error.get("code") == _AUTH_REQUIRED:
            raise Violation("a login is asked for, and there is no way to log in", entry)
