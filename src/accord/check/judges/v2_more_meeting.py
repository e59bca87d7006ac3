"""The handshake of v2: what comes too early, what does not fit, what is repeated."""

from __future__ import annotations

from accord.check.case import Case, Played, Unseen, Violation
from accord.check.entry import messages_in
from accord.check.judge import judge
from accord.check.judges.v2_more_seen import must_be_refused

__all__: list[str] = []

_INVALID_REQUEST, _NO_METHOD, _NO_VERSION = -32600, -32601, -32022


def _succeeded(played: Played, name: str) -> bool:
    return any("result" in answer for _, answer in played.answers(played[name]))


@judge("ACCORD-INIT-201", steps=("v2_before_the_handshake",), editions=("v2",))
def early_requests_are_refused(case: Case) -> None:
    played = case.step("v2_before_the_handshake")
    must_be_refused(played, played["early"], _INVALID_REQUEST)


@judge("ACCORD-INIT-202", steps=("v2_early_notification",), editions=("v2",))
def early_notifications_are_ignored(case: Case) -> None:
    played = case.step("v2_early_notification")
    notified = played.entries[played["since"]]
    for entry, each in messages_in(played.entries):
        if "method" not in each and each.get("id") is None:
            raise Violation("something was said to it", notified, entry)
    if not played.answers(played["handshake"]):
        raise Violation("the handshake after it was not answered", notified, played.request_entry(played["handshake"]))


@judge("ACCORD-INIT-203", steps=("v2_handshakes",), editions=("v2",))
def a_client_of_this_version_has_a_name(case: Case) -> None:
    played = case.step("v2_handshakes")
    played.error(played["incomplete"])


@judge("ACCORD-INIT-204", steps=("v2_handshakes",), editions=("v2",))
def a_failed_handshake_can_be_followed_by_another(case: Case) -> None:
    played = case.step("v2_handshakes")
    if not _succeeded(played, "odd"):
        played.result(played["again"])


@judge("ACCORD-INIT-205", steps=("v2_ancient_client",), editions=("v2",))
def no_version_fits(case: Case) -> None:
    played = case.step("v2_ancient_client")
    if _succeeded(played, "ancient"):
        result = played.result(played["ancient"])
        if isinstance(result, dict) and result.get("protocolVersion") == 1:
            raise Unseen("it speaks version 1 as well, which has no such error")
    must_be_refused(played, played["ancient"], _NO_VERSION)


@judge("ACCORD-INIT-206", steps=("v2_ancient_client",), editions=("v2",))
def the_versions_are_told(case: Case) -> None:
    played = case.step("v2_ancient_client")
    answer = played.answer(played["ancient"])
    error = answer.get("error")
    if not isinstance(error, dict) or error.get("code") != _NO_VERSION:
        raise Unseen("there was no error -32022")
    data = error.get("data")
    supported = data.get("supported") if isinstance(data, dict) else None
    is_told = isinstance(data, dict) and data.get("requested") == 0 and isinstance(supported, list)
    if not is_told or not all(type(version) is int for version in supported or []):
        raise Violation(
            f"the data is {data!r}", played.request_entry(played["ancient"]), played.answer_entry(played["ancient"])
        )


@judge("ACCORD-INIT-207", steps=("v2_handshakes",), editions=("v2",))
def odd_capabilities_count_as_absent(case: Case) -> None:
    played = case.step("v2_handshakes")
    if not _succeeded(played, "odd") and not _succeeded(played, "again"):
        raise Unseen("no handshake succeeded after one that had failed")
    played.result(played["odd"])


@judge("ACCORD-INIT-208", steps=("v2_handshakes",), editions=("v2",))
def the_handshake_can_be_repeated(case: Case) -> None:
    played = case.step("v2_handshakes")
    if not _succeeded(played, "odd"):
        raise Unseen("the handshake before did not succeed")
    played.result(played["again"])


@judge("ACCORD-INIT-209", steps=("v2_handshakes",), editions=("v2",))
def the_handshake_is_fixed_after_another_request(case: Case) -> None:
    played = case.step("v2_handshakes")
    if not _succeeded(played, "odd") and not _succeeded(played, "again"):
        raise Unseen("no handshake had succeeded")
    must_be_refused(played, played["late"], _INVALID_REQUEST)


@judge("ACCORD-INIT-210", steps=("v2_before_the_handshake",), editions=("v2",))
def a_newer_client_may_be_nameless(case: Case) -> None:
    played = case.step("v2_before_the_handshake")
    if not _succeeded(played, "anonymous") and not _succeeded(played, "named"):
        raise Unseen("no newer client was welcome at all")
    played.result(played["anonymous"])


@judge("ACCORD-INIT-211", steps=("version_one",), editions=("v2",))
def no_version_is_above_the_one_asked_for(case: Case) -> None:
    played = case.step("version_one")
    result = played.answer(played["probe"]).get("result")
    version = result.get("protocolVersion") if isinstance(result, dict) else None
    if type(version) is int and version > 1:
        raise Violation(
            f"version 1 was asked for, and {version} is the answer",
            played.request_entry(played["probe"]),
            played.answer_entry(played["probe"]),
        )


@judge("ACCORD-AUTH-201", steps=("v2_unknown_login",), editions=("v2",))
def logins_are_served(case: Case) -> None:
    played = case.step("v2_unknown_login")
    if played.error(played["login"]).get("code") == _NO_METHOD:
        raise Violation(
            "auth/login is unknown", played.request_entry(played["login"]), played.answer_entry(played["login"])
        )
