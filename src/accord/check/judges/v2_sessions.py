"""Sessions in v2 and in June: opened, listed, closed, deleted, with more roots, with MCP servers."""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from accord.check.case import Case, Played, Unseen, Violation
from accord.check.judge import judge
from accord.check.judges.v2_sight import BOTH, JUNE, V2, Asked, asked, asked_in, handshakes, is_whole, recorded
from accord.check.talk import StepFailed

__all__: list[str] = []

AUTH_REQUIRED = -32000


def _session_of(asked: Asked) -> str | None:
    session = (asked.result or {}).get("sessionId")
    return session if is_whole(session) else None


def _opened(case: Case) -> list[Asked]:
    """What the first client did to open sessions.

    Raises:
        StepFailed: It did not come to that, or got none.
    """
    handshakes(case)
    opened = asked_in(case.begun("meet"), "session/new")
    if not any(_session_of(each) for each in opened):
        evidence = [entry for each in opened[:1] for entry in (each.entry, each.answer_entry) if entry is not None]
        raise StepFailed("no session could be opened", "ACP-SESSION-001", *evidence)
    return opened


@judge("ACP-SESSION-001", steps=("meet",), editions=BOTH)
def a_session_can_be_opened(case: Case) -> None:
    _opened(case)


@judge("ACP-SESSION-002", steps=("meet",), editions=BOTH)
def two_sessions_have_two_ids(case: Case) -> None:
    _opened(case)
    seen: dict[tuple[int, str], Asked] = {}
    for each in asked(case, "session/new"):
        session = _session_of(each)
        if session is None:
            continue
        other = seen.setdefault((id(each.record.entries), session), each)
        if other is not each:
            raise Violation(f"two sessions are {session!r}", other.answer_entry, each.answer_entry)


@judge("ACP-SESSION-203", steps=("meet",), editions=V2)
def a_list_of_servers_may_be_empty_or_left_out(case: Case) -> None:
    for each in _opened(case):
        if _session_of(each) is None:
            how = "with an empty list of" if "mcpServers" in each.params else "without"
            raise Violation(f"no session is opened {how} MCP servers", each.entry, each.answer_entry)


@judge("ACP-AUTH-205", steps=("meet",), editions=V2)
@judge("ACP-AUTH-005", steps=("meet",), editions=JUNE)
def without_a_way_to_log_in_no_login_is_asked_for(case: Case) -> None:
    first = handshakes(case)[0]
    if (first.result or {}).get("authMethods"):
        raise Unseen("there is a way to log in")
    for each in asked(case, "session/new"):
        error = each.answer.get("error")
        if isinstance(error, dict) and error.get("code") == AUTH_REQUIRED:
            raise Violation("a login is required, and there is none", first.answer_entry, each.answer_entry)


# --- lists

_LISTS = {"v2": "ACP-LIST-201", "v2_june": "ACP-LIST-001"}


def _listed(case: Case, played: Played, note: str) -> list[Any]:
    """The sessions in an answer to `session/list`.

    Raises:
        StepFailed: There are none, and the rule about lists is blamed.
    """
    id_ = played.get(note)
    answer = played.answer(id_)
    result = answer.get("result")
    sessions = result.get("sessions") if isinstance(result, dict) else None
    if not isinstance(sessions, list):
        evidence = [entry for entry in (played.request_entry(id_), played.answer_entry(id_)) if entry is not None]
        raise StepFailed("session/list gave no list", _LISTS[case.edition], *evidence)
    return sessions


@judge("ACP-LIST-201", steps=("listing",), editions=V2)
@judge("ACP-LIST-001", steps=("listing",), editions=JUNE)
def sessions_can_be_listed(case: Case) -> str:
    sessions = _listed(case, played := case.step("listing"), "all")
    known = {each.get("sessionId") for each in sessions if isinstance(each, dict)}
    seen = len({played["here"], played["there"]} & known)
    return f"{len(sessions)} sessions, {seen} of the 2 that were just opened"


@judge("ACP-LIST-202", steps=("listing",), editions=V2)
@judge("ACP-LIST-002", steps=("listing",), editions=JUNE)
def a_folder_without_sessions_has_an_empty_list(case: Case) -> None:
    played = case.step("listing")
    _listed(case, played, "all")
    result = played.answer(played["none"]).get("result")
    if not isinstance(result, dict) or result.get("sessions") != []:
        entries = played.request_entry(played["none"]), played.answer_entry(played["none"])
        raise Violation("a folder without sessions has no empty list", *entries)


@judge("ACP-LIST-203", steps=("listing",), editions=BOTH)
def a_folder_has_its_own_sessions_in_its_list(case: Case) -> str:
    played = case.step("listing")
    _listed(case, played, "all")
    sessions = _listed(case, played, "some")
    for each in sessions:
        cwd = each.get("cwd") if isinstance(each, dict) else None
        # A folder that is not absolute breaks another rule.
        if not isinstance(cwd, str) or (_is_absolute(cwd) and cwd != played["other"]):
            entries = played.request_entry(played["some"]), played.answer_entry(played["some"])
            raise Violation(f"the list of a folder has a session of another one: {cwd!r}", *entries)
    return f"{len(sessions)} sessions"


def _is_absolute(path: str) -> bool:
    return PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute()


@judge("ACP-LIST-204", steps=("listing",), editions=BOTH)
def the_folders_in_a_list_are_absolute(case: Case) -> None:
    played = case.step("listing")
    for each in _listed(case, played, "all"):
        cwd = each.get("cwd") if isinstance(each, dict) else None
        if not isinstance(cwd, str) or not _is_absolute(cwd):
            raise Violation(f"a session in the list has the folder {cwd!r}", played.answer_entry(played["all"]))


# --- closed and deleted


def _succeeded(played: Played, note: str, message: str) -> None:
    id_ = played.get(note)
    if id_ is None:
        raise Unseen("it was not tried")
    if not isinstance(played.answer(id_).get("result"), dict):
        raise Violation(message, played.request_entry(id_), played.answer_entry(id_))


@judge("ACP-CLOSE-201", steps=("closing",), editions=V2)
@judge("ACP-CLOSE-001", steps=("closing",), editions=JUNE)
def an_idle_session_can_be_closed(case: Case) -> None:
    # The other closing of this step is about a session that works.
    closings = asked_in(case.begun("closing"), "session/close")
    if not closings:
        case.step("closing")
        raise Unseen("no session was closed")
    if closings[0].result is None:
        raise Violation("an idle session could not be closed", closings[0].entry, closings[0].answer_entry)


@judge("ACP-DELETE-201", steps=("deleting",), editions=V2)
@judge("ACP-DELETE-001", steps=("deleting",), editions=JUNE)
def a_session_can_be_deleted(case: Case) -> None:
    _succeeded(case.step("deleting"), "delete", "a session could not be deleted")


@judge("ACP-DELETE-202", steps=("deleting",), editions=BOTH)
def a_deleted_session_is_in_no_list(case: Case) -> None:
    played = case.step("deleting")
    if played.get("list") is None:
        raise Unseen("sessions cannot be listed")
    if "result" not in played.answer(played["delete"]):
        raise Unseen("nothing was deleted")
    for each in _listed(case, played, "list"):
        if isinstance(each, dict) and each.get("sessionId") == played["session"]:
            entries = played.request_entry(played["delete"]), played.answer_entry(played["list"])
            raise Violation("a deleted session is still listed", *entries)


@judge("ACP-DELETE-203", steps=("deleting",), editions=V2)
@judge("ACP-DELETE-002", steps=("deleting",), editions=JUNE)
def deleting_what_is_not_there_succeeds(case: Case) -> None:
    played = case.step("deleting")
    if "result" in played.answer(played["delete"]):
        _succeeded(played, "again", "a session could not be deleted a second time")
    _succeeded(played, "unknown", "deleting a session that never was failed")


# --- roots and servers


@judge("ACP-ADDDIRS-201", steps=("additional_directories",), editions=V2)
@judge("ACP-ADDDIRS-001", steps=("additional_directories",), editions=JUNE)
def a_session_may_have_a_further_root(case: Case) -> None:
    opened = asked_in(case.begun("additional_directories"), "session/new")
    if not opened:
        case.step("additional_directories")
        raise Unseen("no session was opened with a further root")
    new = opened[0]
    if _session_of(new) is None:
        raise Violation("no session was opened with a further root", new.entry, new.answer_entry)


@judge("ACP-ADDDIRS-202", steps=("additional_directories",), editions=V2)
def a_session_may_be_resumed_with_another_root(case: Case) -> None:
    played = case.begun("additional_directories")
    resumes = asked_in(played, "session/resume")
    if not resumes:
        case.step("additional_directories")
        raise Unseen("there was no session with a further root to be resumed")
    if resumes[0].result is None:
        raise Violation("a session was not resumed with another root", resumes[0].entry, resumes[0].answer_entry)


def _how(played: Played, note: str) -> str:
    id_ = played.get(note)
    if id_ is None:
        raise Unseen("it was not tried")
    answers = played.answers(id_)
    if not answers:
        return "not answered"
    error = answers[0][1].get("error")
    return f"refused with {error.get('code')}" if isinstance(error, dict) else "accepted"


@judge("ACP-MCP-201", steps=("mcp_servers",), editions=BOTH)
def how_a_server_on_stdio_is_taken(case: Case) -> str:
    return _how(recorded(case, "mcp_servers"), "stdio")


@judge("ACP-MCP-202", steps=("mcp_servers",), editions=BOTH)
def how_a_server_over_http_is_taken(case: Case) -> str:
    return _how(recorded(case, "mcp_servers"), "http")
