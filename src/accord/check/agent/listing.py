"""`session/list`: filters, pages and the entries of a list."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from accord.check.agent.conversation import AgentConversation, step
from accord.check.agent.exchange import UNKNOWN_ID, ask_all, ask_and_wait, folders, wait_for_answers
from accord.check.agent.queries import (
    answers_to,
    as_dict,
    code_of_answer,
    completed,
    is_absolute,
    is_relative,
    judge_refusals,
    listed,
    updates_of,
)
from accord.check.engine.evidence import Entry, Evidence, StepFailed, StepResult, Violation, skip_if, skip_unless
from accord.check.engine.judging import Notes, judge
from accord.check.engine.wire import Silence
from accord.check.rule import JUNE, SESSIONS, V1, V1_JUNE, V2, RuleRow, agent_rules, gate

# fmt: off
RULES = agent_rules(
    RuleRow("ACCORD-LIST-001", "AA-", "session-list", "A cursor that the agent never gave is refused", gate="list"),
    RuleRow("ACCORD-LIST-002", "CC-", "session-list", gate="list",
        says="The cursors of a list lead to its end, past every session once"),
    RuleRow("ACCORD-LIST-003", "C--", "session-list", "The folders in a list are absolute", gate="list"),
    RuleRow("ACCORD-LIST-004", "C--", "session-list", gate="list",
        says="A folder's list has the sessions of that folder and no others"),
    RuleRow("ACCORD-LIST-005", "AA-", "#SessionInfo", "The times in a list are written as ISO 8601", gate="list"),
    RuleRow("ACCORD-LIST-006", "II-", "session-list", "Which sessions are listed", gate="list"),
    RuleRow("ACCORD-LIST-201", "--C", "session-setup", gate="session",
        says="The pages of the list end, and no session stands on two of them"),
    RuleRow("ACCORD-LIST-202", "--I", "session-setup", gate="session",
        says="What comes of asking for a page that never was"),
    RuleRow("ACCORD-LIST-203", "--A", "#SessionInfo", gate="session",
        says="The time of the last activity is in RFC 3339"),
    RuleRow("ACP-LIST-001", "CC-", "session-list", "Sessions can be listed", gate="list"),
    RuleRow("ACP-LIST-002", "CC-", "session-list", "A folder without sessions has an empty list", gate="list"),
    RuleRow("ACP-LIST-201", "--C", "session-list", "Sessions can be listed", gate="session"),
    RuleRow("ACP-LIST-202", "--C", "session-list", "A folder without sessions has an empty list", gate="session"),
    RuleRow("ACP-LIST-203", "-CC", "session-list", gate="list",
        says="A folder's list has the sessions of that folder and no others"),
    RuleRow("ACP-LIST-204", "-CC", "#SessionInfo", "The folders in a list are absolute", gate="list"),
)
# fmt: on


_PAGES = 20
_MOST_PAGES = 30
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
LISTS = {"v2": "ACP-LIST-201", "v2_june": "ACP-LIST-001"}


@step(gate=gate("list"), order=50)
async def listing(agent: AgentConversation) -> Notes:
    """Sessions in two folders; all of them, those of one folder, and those of a folder without any."""
    with folders(agent, "other") as (other,):
        here, there = await agent.new(), await agent.new(cwd=str(other))
        notes: Notes = {"here": here, "there": there, "other": str(other)}
        unused = str(agent.folder / "accord-check-unused")
        for name, params in (("all", {}), ("some", {"cwd": str(other)}), ("none", {"cwd": unused})):
            notes[name] = await ask_and_wait(agent, "session/list", params)
        return notes


async def pages(agent: AgentConversation, **params: Any) -> list[Any]:
    """The ids of the requests for a whole list, as far as its cursors lead."""
    asked: list[Any] = []
    cursor: Any = None
    while len(asked) < _PAGES:
        asked.append(agent.ask("session/list", params if cursor is None else {**params, "cursor": cursor}))
        answer = await agent.answer(asked[-1], "ACCORD-LIST-002" if cursor is not None else "ACP-LIST-001")
        result = answer.get("result")
        cursor = result.get("nextCursor") if isinstance(result, dict) else None
        if cursor is None:
            break
    return asked


@step("bare", editions=V1_JUNE, gate=gate("list"), order=40)
async def list_pages(agent: AgentConversation) -> Notes:
    """All pages of the whole list; the sessions of one folder, and of an empty one; an unknown cursor."""
    folder = agent.folder / "more-list"
    folder.mkdir(exist_ok=True)
    here, there = await agent.new(), await agent.new(cwd=str(folder))
    await agent.turn(there)
    none = agent.ask("session/list", {"cwd": str(agent.folder / "more-nothing")})
    await agent.answer(none, "ACP-LIST-002")
    some = await pages(agent, cwd=str(folder))
    bad = agent.ask("session/list", {"cursor": UNKNOWN_ID})
    await agent.answer(bad, "ACCORD-LIST-001")
    notes: Notes = {"here": here, "there": there, "folder": str(folder), "none": none, "some": some, "bad": bad}
    return {**notes, "all": await pages(agent)}


# No other step creates sessions by then, which could move others from one page to the next.
@step("again", editions=V2, gate=SESSIONS)
async def v2_lists(agent: AgentConversation) -> Notes:
    """All pages of the list; the first without params and with null params; and a page with an unknown cursor."""
    pages = []
    params: dict[str, Any] = {}
    for _ in range(_MOST_PAGES):
        pages.append(agent.ask("session/list", params))
        cursor = await _next_cursor(agent, pages[-1])
        if cursor is None:
            break
        params = {"cursor": cursor}
    absent = "accord-check-absent-params"
    agent.wire.send_json({"jsonrpc": "2.0", "id": absent, "method": "session/list"})
    await wait_for_answers(agent, absent)
    ids = await ask_all(
        agent, null=("session/list", None), strange=("session/list", {"cursor": "accord-check-no-such-page"})
    )
    return {"pages": pages, "has_more": cursor is not None, "absent": absent, **ids}


async def _next_cursor(agent: AgentConversation, id_: Any) -> Any:
    try:
        result = (await agent.wire.answer(id_, agent.options.timeout_seconds)).get("result")
    except Silence:
        return None
    return result.get("nextCursor") if isinstance(result, dict) else None


def page_of(run: StepResult, id_: Any) -> list[dict[str, Any]]:
    """The sessions of one page; none where there is no page."""
    answers = run.answers(id_)
    result = as_dict(answers[0][1].get("result")) if answers else {}
    return [as_dict(each) for each in listed(result.get("sessions"))]


@judge("ACCORD-LIST-002", steps=("list_pages",))
def cursors_lead_to_the_end(evidence: Evidence) -> str:
    run = completed(evidence, "list_pages", "ACCORD-LIST-002")
    ids: dict[str, Entry] = {}
    for id_ in run["all"]:
        entry = run.answer_entry(id_)
        if id_ != run["all"][0] and "error" in run.answer(id_):
            raise Violation("a cursor that the agent gave was refused", run.request_entry(id_), entry)
        for session in page_of(run, id_):
            name = str(session.get("sessionId"))
            if name in ids:
                raise Violation(f"the session {name!r} is listed twice", ids[name], entry)
            ids[name] = entry
    return f"{len(ids)} sessions on {len(run['all'])} pages"


@judge("ACCORD-LIST-003", steps=("list_pages",))
def listed_folders_are_absolute(evidence: Evidence) -> None:
    run = completed(evidence, "list_pages")
    for id_ in run["all"]:
        for session in page_of(run, id_):
            cwd = session.get("cwd")
            if is_relative(cwd):
                raise Violation(f"the folder {cwd!r} is relative", run.answer_entry(id_))


@judge("ACCORD-LIST-004", steps=("list_pages",))
def the_filter_leaves_one_folder(evidence: Evidence) -> None:
    run = completed(evidence, "list_pages")
    skip_if(page_of(run, run["none"]), "a folder without sessions has some as well")
    for id_ in run["some"]:
        for session in page_of(run, id_):
            if session.get("cwd") != run["folder"]:
                raise run.violation(f"the folder {session.get('cwd')!r} was not asked for", id_)


@judge("ACCORD-LIST-005", steps=("list_pages",))
def times_are_written_as_iso_8601(evidence: Evidence) -> None:
    run = completed(evidence, "list_pages")
    found = False
    for id_ in run["all"]:
        for session in page_of(run, id_):
            found = _check_time(session.get("updatedAt"), run.answer_entry(id_)) or found
    skip_unless(found, "no session had a time")


def _check_time(written: Any, entry: Entry) -> bool:
    if written is None:
        return False
    try:
        datetime.fromisoformat(str(written))
    except ValueError:
        raise Violation(f"the time is {written!r}", entry) from None
    return True


@judge("ACCORD-LIST-006", steps=("list_pages",))
def whether_a_session_with_a_turn_is_listed(evidence: Evidence) -> str:
    run = completed(evidence, "list_pages")
    ids = [session.get("sessionId") for id_ in run["all"] for session in page_of(run, id_)]
    turn = "is listed" if run["there"] in ids else "is not listed"
    empty = "is listed" if run["here"] in ids else "is not listed"
    return f"one with a turn {turn}, one without {empty}"


def _listed(run: StepResult, id_: Any) -> list[Any]:
    result = run.result(id_)
    sessions = result.get("sessions") if isinstance(result, dict) else None
    if not isinstance(sessions, list):
        raise run.violation("the answer has no list of sessions", id_)
    return sessions


@judge("ACP-LIST-001", steps=("listing",), editions=V1)
def sessions_can_be_listed(evidence: Evidence) -> str:
    run = evidence.step("listing")
    return f"{len(_listed(run, run['all']))} sessions"


@judge("ACP-LIST-002", steps=("listing",), editions=V1)
def a_folder_without_sessions_has_an_empty_list(evidence: Evidence) -> None:
    run = evidence.step("listing")
    if _listed(run, run["none"]):
        raise run.violation("sessions are listed for a folder that has none", run["none"])


@judge("ACCORD-LIST-201", steps=("v2_lists",))
def pages_end_and_do_not_overlap(evidence: Evidence) -> str | None:
    run = evidence.step("v2_lists")
    skip_if("result" not in run.answer(run["pages"][0]), "session/list does not work")
    found: dict[Any, Entry] = {}
    for id_ in run["pages"]:
        entry, result = run.answer_entry(id_), run.result(id_)
        sessions = result.get("sessions") if isinstance(result, dict) else None
        for session in sessions if isinstance(sessions, list) else []:
            named = session.get("sessionId") if isinstance(session, dict) else None
            if named in found:
                raise Violation(f"session {named!r} stands there twice", found[named], entry)
            found[named] = entry
    return f"{len(found)} sessions on {len(run['pages'])} pages"


@judge("ACCORD-LIST-202", steps=("v2_lists",))
def a_page_that_never_was(evidence: Evidence) -> str:
    run = evidence.step("v2_lists")
    code = code_of_answer(run, run["strange"])
    return "it succeeded" if code is None else f"error {code}"


@judge("ACCORD-LIST-203", steps=("v2_lists", "v2_finished_things"))
def times_are_times(evidence: Evidence) -> None:
    found = [(each.entry, each.update.get("updatedAt")) for each in updates_of(evidence, "session_info_update")]
    for _, entry, result in answers_to(evidence, "session/list"):
        sessions = result.get("sessions")
        listed = sessions if isinstance(sessions, list) else []
        found += [(entry, each.get("updatedAt")) for each in listed if isinstance(each, dict)]
    times = [(entry, time) for entry, time in found if time is not None]
    skip_unless(times, "no time of an activity was sent")
    for entry, time in times:
        if not isinstance(time, str) or not _TIME.fullmatch(time):
            raise Violation(f"{time!r} is no time", entry)


def listed_in_v2(evidence: Evidence, run: StepResult, note: str) -> list[Any]:
    """The sessions in an answer to `session/list`."""
    id_ = run.get(note)
    answer = run.answer(id_)
    result = answer.get("result")
    sessions = result.get("sessions") if isinstance(result, dict) else None
    if not isinstance(sessions, list):
        proof = [entry for entry in (run.request_entry(id_), run.answer_entry(id_)) if entry is not None]
        raise StepFailed("session/list gave no list", LISTS[evidence.edition], *proof)
    return sessions


@judge("ACP-LIST-201", steps=("listing",), editions=V2, name="sessions_can_be_listed")
@judge("ACP-LIST-001", steps=("listing",), editions=JUNE, name="sessions_can_be_listed")
def sessions_can_be_listed_in_v2(evidence: Evidence) -> str:
    sessions = listed_in_v2(evidence, run := evidence.step("listing"), "all")
    known = {each.get("sessionId") for each in sessions if isinstance(each, dict)}
    found = len({run["here"], run["there"]} & known)
    return f"{len(sessions)} sessions, {found} of the 2 that were just opened"


@judge("ACP-LIST-202", steps=("listing",), editions=V2, name="a_folder_without_sessions_has_an_empty_list")
@judge("ACP-LIST-002", steps=("listing",), editions=JUNE, name="a_folder_without_sessions_has_an_empty_list")
def a_folder_without_sessions_has_an_empty_list_in_v2(evidence: Evidence) -> None:
    run = evidence.step("listing")
    listed_in_v2(evidence, run, "all")
    result = run.answer(run["none"]).get("result")
    if not isinstance(result, dict) or result.get("sessions") != []:
        raise run.violation("a folder without sessions has no empty list", run["none"])


@judge("ACP-LIST-203", steps=("listing",))
def a_folder_has_its_own_sessions_in_its_list(evidence: Evidence) -> str:
    run = evidence.step("listing")
    listed_in_v2(evidence, run, "all")
    sessions = listed_in_v2(evidence, run, "some")
    for each in sessions:
        cwd = each.get("cwd") if isinstance(each, dict) else None
        # A folder that is not absolute breaks another rule.
        if not isinstance(cwd, str) or (is_absolute(cwd) and cwd != run["other"]):
            raise run.violation(f"the list of a folder has a session of another one: {cwd!r}", run["some"])
    return f"{len(sessions)} sessions"


@judge("ACP-LIST-204", steps=("listing",))
def the_folders_in_a_list_are_absolute(evidence: Evidence) -> None:
    run = evidence.step("listing")
    for each in listed_in_v2(evidence, run, "all"):
        cwd = each.get("cwd") if isinstance(each, dict) else None
        if not isinstance(cwd, str) or not is_absolute(cwd):
            raise Violation(f"a session in the list has the folder {cwd!r}", run.answer_entry(run["all"]))


judge_refusals(("ACCORD-LIST-001", "a_cursor_that_nobody_gave_is_refused", "list_pages", "bad"))
