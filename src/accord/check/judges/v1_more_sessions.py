"""Several sessions at once, cancellations of nothing, and sessions from before: lists, replays, deletions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from accord.check.case import Case, Played, Unseen, Violation
from accord.check.entry import Entry, messages_in
from accord.check.judge import judge
from accord.check.judges.v1_more_sight import BOTH, V1, as_dict, is_absolute, listed, refusal, seen

__all__: list[str] = []

CANCELLED = -32800
_LAST_CHUNKS = 3
"""Where messages have no ids, the last chunks stand for the last message."""


# --- at once


@judge("ACCORD-SESSION-002", steps=("more_at_once",), editions=BOTH)
def two_sessions_work_at_the_same_time(case: Case) -> None:
    played = seen(case, "more_at_once", "ACCORD-SESSION-002")
    ends = [each.place for each, _ in played.answers(played["first"])]
    if ends and ends[0] < played.request_entry(played["beside"]).place:  # type: ignore[union-attr]
        raise Unseen("the turn ended before another began: give --cancel-prompt")
    if not played["is_beside"]:
        if case.stuck:
            raise Unseen(f"turns do not end: {case.stuck}")
        raise Violation(
            "a prompt of another session was not answered while the first one's turn ran",
            played.request_entry(played["first"]),
            played.request_entry(played["beside"]),
        )


@judge("ACCORD-SESSION-003", steps=("more_at_once",), editions=BOTH)
def what_comes_of_a_second_prompt(case: Case) -> str:
    played = seen(case, "more_at_once")
    answers = played.answers(played["second"])
    if not played.answers(played["first"]):
        return "the first one was not answered any more, also when it was cancelled"
    if not answers:
        return "it was not answered, also when it was cancelled"
    entry, answer = answers[0]
    when = "at once" if entry.place < played["before_cancel"] else "after the first one's turn"
    if "error" in answer:
        return f"it was refused with {as_dict(answer['error']).get('code')} {when}"
    return f"it ended with {as_dict(answer.get('result')).get('stopReason')} {when}"


@judge("ACCORD-MODES-002", steps=("more_at_once",), editions=V1)
def the_mode_can_be_set_while_a_turn_runs(case: Case) -> None:
    played = seen(case, "more_at_once")
    id_ = played.get("set_mode")
    if id_ is None:
        raise Unseen("the session had no modes")
    ends = [each.place for each, _ in played.answers(played["first"])]
    answers = [each.place for each, _ in played.answers(id_)]
    if ends and ends[0] < played.request_entry(id_).place:  # type: ignore[union-attr]
        raise Unseen("the turn ended before: give --cancel-prompt")
    if not answers or (ends and ends[0] < answers[0]):
        raise Violation("it was not answered while the turn ran", played.request_entry(id_))


# --- cancellations


def _reason(played: Played, id_: Any) -> Any:
    """The stop reason of a prompt; None for one that failed."""
    return as_dict(played.answer(id_).get("result")).get("stopReason")


@judge("ACCORD-CANCEL-001", steps=("more_cancels",), editions=BOTH)
def a_cancellation_of_nothing_does_not_wait_for_the_next_turn(case: Case) -> None:
    played = seen(case, "more_cancels", "ACCORD-CANCEL-001")
    if _reason(played, played["after_idle"]) == "cancelled":
        entry = played.answer_entry(played["after_idle"])
        raise Violation("the next turn was cancelled", played.request_entry(played["after_idle"]), entry)


@judge("ACCORD-CANCEL-002", steps=("more_cancels",), editions=BOTH)
def a_cancellation_of_nothing_is_survived(case: Case) -> None:
    seen(case, "more_cancels", "ACCORD-CANCEL-002")


@judge("ACCORD-CANCEL-003", steps=("more_cancels",), editions=BOTH)
def a_session_goes_on_after_a_cancelled_turn(case: Case) -> None:
    played = seen(case, "more_cancels", "ACCORD-CANCEL-003")
    if _reason(played, played["after_idle"]) in (None, "cancelled"):
        raise Unseen("a turn before that did not end by itself either")
    if _reason(played, played["after_cancel"]) in (None, "cancelled"):
        entry = played.answer_entry(played["after_cancel"])
        raise Violation("the next turn did not end by itself", played.answer_entry(played["cancelled"]), entry)


@judge("ACCORD-REQCANCEL-001", steps=("v1_more_request_cancels",), editions=V1)
def a_request_that_is_taken_back_gets_one_answer(case: Case) -> str:
    played = seen(case, "v1_more_request_cancels", "ACCORD-REQCANCEL-001")
    answers = played.answers(played["prompt"])
    if len(answers) != 1:
        raise Violation(f"it got {len(answers)} answers", *[entry for entry, _ in answers[:2]])
    if answers[0][0].place < played["since"]:
        return "it had its answer before it was taken back"
    return "it was heeded" if played["honoured"] else "it was ignored, as it may be"


@judge("ACCORD-REQCANCEL-002", steps=("v1_more_request_cancels",), editions=V1)
def a_request_that_is_given_up_has_the_code_for_that(case: Case) -> None:
    played = seen(case, "v1_more_request_cancels")
    if played.answer_entry(played["prompt"]).place < played["since"]:
        raise Unseen("the turn ended before it was taken back: give --cancel-prompt")
    if not played["honoured"]:
        raise Unseen("it is not heeded, as is allowed")
    answer = played.answer(played["prompt"])
    if "error" in answer and as_dict(answer["error"]).get("code") != CANCELLED:
        entry = played.answer_entry(played["prompt"])
        raise Violation("it failed with another code than -32800", played.entries[played["since"]], entry)


@judge("ACCORD-REQCANCEL-003", steps=("v1_more_request_cancels",), editions=V1)
def taking_back_what_was_never_asked_is_ignored(case: Case) -> None:
    seen(case, "v1_more_request_cancels", "ACCORD-REQCANCEL-003")


# --- replays


def _texts(updates: list[tuple[Entry, dict[str, Any]]]) -> str:
    """All words of some messages, without white space."""
    words: list[str] = []
    for _, update in updates:
        content = update.get("content")
        blocks = content if isinstance(content, list) else [content]
        words.extend(str(as_dict(block).get("text", "")) for block in blocks)
    return "".join("".join(words).split())


def _replayed(case: Case) -> tuple[Played, list[tuple[Entry, dict[str, Any]]]]:
    played, before = seen(case, "more_load"), seen(case, "more_turn")
    if any("error" in before.answer(id_) for id_ in before["prompts"]):
        raise Unseen("the prompts before failed")
    if "error" in played.answer(played["load"]):
        raise Unseen("it could not be loaded")
    session, answered = played["session"], played["answered"]
    kinds = ("user_message_chunk", "user_message", "agent_message_chunk", "agent_message")
    if played.updates(session, *kinds, since=answered):
        raise Unseen("the replay goes on after the answer")
    return played, played.updates(session, since=played["since"], before=answered)


def _of(updates: list[tuple[Entry, dict[str, Any]]], *kinds: str) -> list[tuple[Entry, dict[str, Any]]]:
    return [(entry, update) for entry, update in updates if update.get("sessionUpdate") in kinds]


@judge("ACCORD-LOAD-001", steps=("more_turn", "more_load"), editions=BOTH)
def what_the_user_said_is_replayed(case: Case) -> None:
    played, updates = _replayed(case)
    words = "".join(str(played["words"]).split())
    if words not in _texts(_of(updates, "user_message_chunk", "user_message")):
        entry = played.answer_entry(played["load"])
        raise Violation("the prompt is not in the replay", played.request_entry(played["load"]), entry)


@judge("ACCORD-LOAD-002", steps=("more_turn", "more_load"), editions=BOTH)
def what_the_agent_said_is_replayed_in_its_order(case: Case) -> None:
    played, updates = _replayed(case)
    kinds = ("agent_message_chunk", "agent_message")
    replay, place = _texts(_of(updates, *kinds)), 0
    for said in _last_words(seen(case, "more_turn"), kinds):
        place = replay.find(said, place)
        if place < 0:
            request, entry = played.request_entry(played["load"]), played.answer_entry(played["load"])
            raise Violation(f"what it said is not in the replay: {said[:60]!r}", request, entry)
        place += len(said)


def _last_words(played: Played, kinds: tuple[str, ...]) -> list[str]:
    """The last message of each turn: what is said on the way may be of the moment only, such as a notice."""
    found: list[str] = []
    for id_ in played["prompts"]:
        request, answer = played.request_entry(id_), played.answer_entry(id_)
        since = request.place if request else 0
        part: list[tuple[Entry, dict[str, Any]]] = []
        for entry, update in played.updates(played["session"], *kinds, since=since, before=answer.place):
            if part and update.get("messageId") != part[-1][1].get("messageId"):
                part.clear()
            part.append((entry, update))
        found.append(_texts(part[-_LAST_CHUNKS:]))
    if not any(found):
        raise Unseen("it said nothing in the turns before")
    return found


@judge("ACCORD-LOAD-003", steps=("more_load_nobody",), editions=BOTH)
def what_never_was_cannot_be_loaded(case: Case) -> None:
    played = seen(case, "more_load_nobody", "ACCORD-LOAD-003")
    refusal(played, played["load"])


@judge("ACCORD-RESUME-001", steps=("more_resume_nobody",), editions=BOTH)
def what_never_was_cannot_be_resumed(case: Case) -> None:
    played = seen(case, "more_resume_nobody", "ACCORD-RESUME-001")
    refusal(played, played["resume"])


# --- lists


def _page(played: Played, id_: Any) -> list[dict[str, Any]]:
    """The sessions of one page; none where there is no page."""
    answers = played.answers(id_)
    result = as_dict(answers[0][1].get("result")) if answers else {}
    return [as_dict(each) for each in listed(result.get("sessions"))]


@judge("ACCORD-LIST-001", steps=("more_list",), editions=BOTH)
def a_cursor_that_nobody_gave_is_refused(case: Case) -> None:
    played = seen(case, "more_list", "ACCORD-LIST-001")
    refusal(played, played["bad"])


@judge("ACCORD-LIST-002", steps=("more_list",), editions=BOTH)
def cursors_lead_to_the_end(case: Case) -> str:
    played = seen(case, "more_list", "ACCORD-LIST-002")
    ids: dict[str, Entry] = {}
    for id_ in played["all"]:
        entry = played.answer_entry(id_)
        if id_ != played["all"][0] and "error" in played.answer(id_):
            raise Violation("a cursor that the agent gave was refused", played.request_entry(id_), entry)
        for session in _page(played, id_):
            name = str(session.get("sessionId"))
            if name in ids:
                raise Violation(f"the session {name!r} is listed twice", ids[name], entry)
            ids[name] = entry
    return f"{len(ids)} sessions on {len(played['all'])} pages"


@judge("ACCORD-LIST-003", steps=("more_list",), editions=V1)
def listed_folders_are_absolute(case: Case) -> None:
    played = seen(case, "more_list")
    for id_ in played["all"]:
        for session in _page(played, id_):
            cwd = session.get("cwd")
            if isinstance(cwd, str) and not is_absolute(cwd):
                raise Violation(f"the folder {cwd!r} is relative", played.answer_entry(id_))


@judge("ACCORD-LIST-004", steps=("more_list",), editions=V1)
def the_filter_leaves_one_folder(case: Case) -> None:
    played = seen(case, "more_list")
    if _page(played, played["none"]):
        raise Unseen("a folder without sessions has some as well")
    for id_ in played["some"]:
        for session in _page(played, id_):
            if session.get("cwd") != played["folder"]:
                request, entry = played.request_entry(id_), played.answer_entry(id_)
                raise Violation(f"the folder {session.get('cwd')!r} was not asked for", request, entry)


@judge("ACCORD-LIST-005", steps=("more_list",), editions=BOTH)
def times_are_written_as_iso_8601(case: Case) -> None:
    played = seen(case, "more_list")
    found = False
    for id_ in played["all"]:
        for session in _page(played, id_):
            found = _check_time(session.get("updatedAt"), played.answer_entry(id_)) or found
    if not found:
        raise Unseen("no session had a time")


def _check_time(written: Any, entry: Entry) -> bool:
    if written is None:
        return False
    try:
        datetime.fromisoformat(str(written))
    except ValueError:
        raise Violation(f"the time is {written!r}", entry) from None
    return True


@judge("ACCORD-LIST-006", steps=("more_list",), editions=BOTH)
def whether_a_session_with_a_turn_is_listed(case: Case) -> str:
    played = seen(case, "more_list")
    ids = [session.get("sessionId") for id_ in played["all"] for session in _page(played, id_)]
    turn = "is listed" if played["there"] in ids else "is not listed"
    empty = "is listed" if played["here"] in ids else "is not listed"
    return f"one with a turn {turn}, one without {empty}"


@judge("ACCORD-DELETE-001", steps=("more_delete",), editions=V1)
def a_deleted_session_is_not_listed(case: Case) -> None:
    played = seen(case, "more_delete")
    if "error" in played.answer(played["delete"]):
        raise Unseen("it could not be deleted")
    ids = [session.get("sessionId") for id_ in played["before"] for session in _page(played, id_)]
    if played["session"] not in ids:
        raise Unseen("it was not listed before either")
    for id_ in played["after"]:
        if any(session.get("sessionId") == played["session"] for session in _page(played, id_)):
            entry = played.answer_entry(id_)
            raise Violation("it is still listed", played.request_entry(played["delete"]), entry)


# --- servers


@judge("ACCORD-MCP-001", steps=("more_server",), editions=BOTH)
def a_session_can_have_a_server(case: Case) -> None:
    played = seen(case, "more_server", "ACCORD-MCP-001")
    played.result(played["new"])


@judge("ACCORD-MCP-002", steps=("more_server",), editions=BOTH)
def a_server_is_started_and_greeted(case: Case) -> str:
    played = seen(case, "more_server")
    if "error" in played.answer(played["new"]):
        raise Unseen("the session with the server could not be opened")
    if not played["greeted"]:
        raise Violation("the server was never greeted", played.request_entry(played["new"]))
    return f"it was greeted {played['greeted']}"


@judge("ACCORD-MCP-003", steps=("more_missing_server",), editions=BOTH)
def a_server_that_is_missing_is_survived(case: Case) -> str:
    played = seen(case, "more_missing_server", "ACCORD-MCP-003")
    answer = played.answer(played["new"])
    return "the session was opened without it" if "result" in answer else "the session was refused"


def _requests(case: Case) -> list[Any]:
    """What the agent said with `_meta`, wherever that stands."""
    return [(entry, message) for record in case.records for entry, message in messages_in(record.entries)]


@judge("ACCORD-META-001", steps=("meet", "more_turn", "more_work"), editions=V1)
def metadata_is_an_object(case: Case) -> None:
    for entry, message in _requests(case):
        for value in _metas(message):
            if value is not None and not isinstance(value, dict):
                raise Violation(f"`_meta` is {value!r}", entry)


def _metas(value: Any) -> list[Any]:
    """Every `_meta` below a value, without those inside of others."""
    found: list[Any] = []
    todo = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, dict):
            found.extend(item for key, item in each.items() if key == "_meta")
            todo.extend(item for key, item in each.items() if key not in {"_meta", "rawInput", "rawOutput"})
        elif isinstance(each, list):
            todo.extend(each)
    return found
