"""New sessions: ids, directories, several at once, and the session ids in messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from accord.check.agent.conversation import AgentConversation, can, step
from accord.check.agent.exchange import answer_or_none, ask_all, closed, comes, folders
from accord.check.agent.queries import (
    RecordedRequest,
    answers_to,
    as_dict,
    completed,
    handshakes,
    is_whole,
    our_requests,
    our_requests_in,
    questions,
    request_fails_with,
    request_gives_object,
)
from accord.check.engine.evidence import (
    INVALID_PARAMS,
    Entry,
    Evidence,
    Inconclusive,
    Record,
    StepFailed,
    Violation,
    is_answer,
    is_state,
    messages_in,
    skip_if,
    skip_unless,
)
from accord.check.engine.judging import Notes, judge, judge_rows, request_succeeds
from accord.check.rule import JUNE, JUNE_V2, V1, V1_JUNE, V2, RuleRow, agent_rules, gate

# fmt: off
RULES = agent_rules(
    RuleRow("ACCORD-ADDDIRS-201", "--A", "session-setup", gate="additionalDirectories",
        says="A relative extra directory is refused with -32602"),
    RuleRow("ACP-ADDDIRS-001", "CC-", "session-setup", gate="additionalDirectories",
        says="A session may have a further absolute root"),
    RuleRow("ACP-ADDDIRS-201", "--C", "session-setup", gate="additionalDirectories",
        says="A session may have a further absolute root"),
    RuleRow("ACP-ADDDIRS-202", "--C", "session-setup", gate="additionalDirectories",
        says="A session may be resumed with another further root"),
    RuleRow("ACCORD-SESSION-001", "M--", "overview",
        says="What is asked of the client is asked for a session of this connection"),
    RuleRow("ACCORD-SESSION-002", "AA-", "overview", "Two sessions can work at the same time", gate="session"),
    RuleRow("ACCORD-SESSION-003", "I--", "prompt-turn", "What happens to a second prompt before the first one ended"),
    RuleRow("ACCORD-SESSION-004", "MC-", "prompt-turn", gate="session",
        says="What is said in a turn names the session that was prompted"),
    RuleRow("ACCORD-SESSION-203", "--C", "#NewSessionRequest", gate="session",
        says="A null list of servers or of extra directories counts as an empty one"),
    RuleRow("ACCORD-SESSION-204", "--C", "#NewSessionResponse", gate="session",
        says="Options and commands in a result are lists, or absent, and never null"),
    RuleRow("ACCORD-SESSION-205", "--C", "prompt-turn", gate="session",
        says="What is said in a turn names the session that was prompted"),
    RuleRow("ACP-SESSION-001", "MCC", "session-setup", gate="session", says=(
        "A session is made in an absolute folder without MCP servers, and has an id",
        "A session is made in an absolute folder, and has an id",
        "A session is made in an absolute folder, and has an id",
    )),
    RuleRow("ACP-SESSION-002", "MCC", "session-setup", "Two sessions have two ids", gate="session"),
    RuleRow("ACP-SESSION-203", "--C", "#NewSessionRequest", gate="session",
        says="No list of MCP servers and an empty one are both accepted"),
)
# fmt: on


_AT_ONCE_SECONDS, _NOTED_SECONDS = 20.0, 4.0
_SPEECH = ("agent_message_chunk", "agent_message")
_OPENING = ("session/load", "session/resume")


class _Window(NamedTuple):
    """The part of a record in which exactly one turn ran, from its prompt to its end."""

    session: Any
    asked: Entry
    part: list[Entry]
    others: set[str]
    """Sessions that were open by then, and that got no request meanwhile."""


@step("bare", editions=V1_JUNE, order=62)
async def two_sessions_at_once(agent: AgentConversation) -> Notes:
    """While a turn runs: a turn of another session, and then another prompt in its own.

    The specification does not define the effect of a second prompt on the first, so neither has to succeed.
    """
    busy, other = await agent.new(), await agent.new()
    first = await agent.begin(busy)
    notes: Notes = {"busy": busy, "other": other, "first": first}
    modes = await _set_mode(agent, busy)
    notes["beside"] = agent.prompt(other, agent.options.prompt)
    bound = min(agent.options.turn_seconds, _AT_ONCE_SECONDS)
    notes["is_beside"] = await comes(agent, notes["beside"], bound)
    second = agent.prompt(busy, agent.options.prompt)
    await agent.is_alive()
    notes |= {"second": second, "before_cancel": agent.now, **modes}
    agent.notify("session/cancel", {"sessionId": busy})
    bound = min(agent.options.turn_seconds, _NOTED_SECONDS)
    await comes(agent, first, bound)
    agent.notify("session/cancel", {"sessionId": busy})
    await comes(agent, second, bound)
    return notes


async def _set_mode(agent: AgentConversation, session: str) -> Notes:
    """Set the mode that is set already, while the session works."""
    modes = _modes_of(agent, session)
    if modes is None:
        return {}
    id_ = agent.ask("session/set_mode", {"sessionId": session, "modeId": modes["currentModeId"]})
    return {"set_mode": id_, "is_mode_set": await comes(agent, id_, agent.options.timeout_seconds)}


def _modes_of(agent: AgentConversation, session: str) -> dict[str, Any] | None:
    for entry in agent.wire.entries:
        result = entry.message.get("result") if isinstance(entry.message, dict) and not entry.sent else None
        if isinstance(result, dict) and result.get("sessionId") == session:
            modes = result.get("modes")
            return modes if isinstance(modes, dict) and "currentModeId" in modes else None
    return None


@step(gate=gate("additionalDirectories"), order=45)
async def additional_directories(agent: AgentConversation) -> Notes:
    """A session with a second root and a turn; closed, resumed with another root, and a turn, where that is advertised.

    Many agents keep a session only from its first turn on. One that was not resumed stays closed: it gets no prompt.
    Whether it could be resumed without a root shows whether the root was the reason.
    """
    with folders(agent, "one", "two") as (one, two):
        params: Notes = {"cwd": agent.cwd, "mcpServers": [], "additionalDirectories": [str(one)]}
        new = agent.ask("session/new", params)
        session = _session_in(await answer_or_none(agent, new))
        notes: Notes = {"new": new}
        if session is None:
            return notes
        await agent.turn(session)
        if can(agent, "resume") and await closed(agent, session):
            again = {"sessionId": session, "cwd": agent.cwd, "additionalDirectories": [str(two)]}
            resumed = await answer_or_none(agent, agent.ask("session/resume", again))
            if resumed is not None and "result" in resumed:
                await agent.turn(session)
            elif resumed is not None:
                await answer_or_none(agent, agent.ask("session/resume", {"sessionId": session, "cwd": agent.cwd}))
        return {**notes, "session": session}


def _session_in(answer: dict[str, Any] | None) -> str | None:
    result = (answer or {}).get("result")
    session = result.get("sessionId") if isinstance(result, dict) else None
    return session if isinstance(session, str) else None


@step("bare", editions=V2, gate={"v2": "initialize.capabilities.session.additionalDirectories"})
async def v2_relative_root(agent: AgentConversation) -> Notes:
    params = {"cwd": agent.cwd, "mcpServers": [], "additionalDirectories": ["somewhere/else"]}
    return await ask_all(agent, new=("session/new", params))


def _named(message: dict[str, Any]) -> Any:
    params = message.get("params")
    return params.get("sessionId") if isinstance(params, dict) else None


def _windows(record: Record, edition: str) -> Iterator[_Window]:
    known: set[str] = set()
    for entry in record.entries:
        message = entry.message if isinstance(entry.message, dict) else {}
        result = message.get("result")
        if not entry.sent and isinstance(result, dict) and isinstance(result.get("sessionId"), str):
            known.add(result["sessionId"])
        if entry.sent and message.get("method") in _OPENING and isinstance(_named(message), str):
            known.add(_named(message))
        if entry.sent and message.get("method") == "session/prompt" and "id" in message:
            end = _end(record, entry, message, edition)
            part = record.entries[entry.place : end]
            busy = {_named(said) for _, said in messages_in(part, sent=True) if said.get("method")}
            if end is not None and len(busy) == 1 and all(not _is_cancel(said) for said in _sent(part)):
                yield _Window(_named(message), entry, part, known - {str(_named(message))})


def _sent(part: list[Entry]) -> list[dict[str, Any]]:
    return [message for _, message in messages_in(part, sent=True)]


def _is_cancel(message: dict[str, Any]) -> bool:
    return message.get("method") in ("session/cancel", "$/cancel_request")


def _end(record: Record, asked: Entry, prompt: dict[str, Any], edition: str) -> int | None:
    """Where a turn came to its end; None for one that failed or did not end."""
    for entry, message in messages_in(record.entries[asked.place :]):
        if is_answer(message, prompt["id"]):
            if not isinstance(message.get("result"), dict):
                return None
            if edition != "v2":
                return entry.place if message["result"].get("stopReason") == "end_turn" else None
        if edition == "v2" and is_state(message, _named(prompt), "idle"):
            return entry.place
    return None


@judge("ACCORD-SESSION-004", steps=("turns", "load", "resume", "keep"), editions=V1_JUNE)
@judge("ACCORD-SESSION-205", steps=("turns", "resume", "keep"))
def what_is_said_in_a_turn_names_its_session(evidence: Evidence) -> str:
    """Fails only where no message names the prompted session: another session may send messages of its own."""
    found = 0
    for record in evidence.records:
        for window in _windows(record, evidence.edition):
            said = [
                (entry, message["params"].get("sessionId"))
                for entry, message in messages_in(window.part)
                if _is_speech(message)
            ]
            found += bool(said)
            if said and all(session != window.session for _, session in said):
                entry, session = said[0]
                if session in window.others:
                    raise Violation(
                        f"what is said in a turn of {window.session!r} names the session {session!r}",
                        window.asked,
                        entry,
                    )
    skip_unless(found, "nothing was said in a turn")
    return f"{found} turns"


def _is_speech(message: dict[str, Any]) -> bool:
    params = message.get("params")
    update = params.get("update") if isinstance(params, dict) else None
    is_update = message.get("method") == "session/update" and isinstance(update, dict)
    return is_update and update.get("sessionUpdate") in _SPEECH  # type: ignore[union-attr]


@judge("ACCORD-SESSION-001", steps=("allowed_work",))
def requests_name_a_session_of_this_connection(evidence: Evidence) -> None:
    found = False
    # Once for each process: an agent may send a million requests.
    known: dict[int, set[str]] = {}
    for record, entry, params in questions(evidence, "fs/", "terminal/", "session/request_permission"):
        found = True
        if id(record) not in known:
            known[id(record)] = _sessions(record)
        if str(params.get("sessionId")) not in known[id(record)]:
            raise Violation(f"it names a session that was never opened: {params.get('sessionId')!r}", entry)
    skip_unless(found, "it asked the client for nothing")


def _sessions(record: Record) -> set[str]:
    """The ids that were given or asked for in a process."""
    given = [as_dict(message.get("result")).get("sessionId") for _, message in messages_in(record.entries)]
    used = [as_dict(each.get("params")).get("sessionId") for _, each in messages_in(record.entries, sent=True)]
    return {id_ for id_ in [*given, *used] if isinstance(id_, str)}


@judge("ACCORD-SESSION-002", steps=("two_sessions_at_once",))
def two_sessions_work_at_the_same_time(evidence: Evidence) -> None:
    run = completed(evidence, "two_sessions_at_once", "ACCORD-SESSION-002")
    ends = [each.place for each, _ in run.answers(run["first"])]
    if ends and ends[0] < run.request_entry(run["beside"]).place:  # type: ignore[union-attr]
        raise Inconclusive("the turn ended before another began: give --cancel-prompt")
    if not run["is_beside"]:
        if evidence.stuck:
            raise Inconclusive(f"turns do not end: {evidence.stuck}")
        raise Violation(
            "a prompt of another session was not answered while the first one's turn ran",
            run.request_entry(run["first"]),
            run.request_entry(run["beside"]),
        )


@judge("ACCORD-SESSION-003", steps=("two_sessions_at_once",))
def what_comes_of_a_second_prompt(evidence: Evidence) -> str:
    run = completed(evidence, "two_sessions_at_once")
    answers = run.answers(run["second"])
    if not run.answers(run["first"]):
        return "the first one was not answered any more, also when it was cancelled"
    if not answers:
        return "it was not answered, also when it was cancelled"
    entry, answer = answers[0]
    when = "at once" if entry.place < run["before_cancel"] else "after the first one's turn"
    if "error" in answer:
        return f"it was refused with {as_dict(answer['error']).get('code')} {when}"
    return f"it ended with {as_dict(answer.get('result')).get('stopReason')} {when}"


def _session_id(evidence: Evidence, which: int) -> str:
    """The id of one of the two sessions of the first meeting."""
    meet = evidence.begun("meet")
    skip_if(evidence.blocked_by_version, "VERSION-MISMATCH: the agent chose another version")
    skip_if(evidence.blocked_by_auth, "AUTH-GATED: give --auth-method")
    if len(meet.get("new") or []) <= which:
        raise meet.failure or StepFailed("no session was asked for", "ACP-INIT-001")
    new = meet["new"][which]
    result = meet.result(new)
    session = result.get("sessionId") if isinstance(result, dict) else None
    if not isinstance(session, str) or not session:
        raise meet.violation("a new session has no id", new)
    return session


@judge("ACP-SESSION-001", steps=("meet",), editions=V1)
def a_session_has_an_id(evidence: Evidence) -> None:
    _session_id(evidence, 0)


@judge("ACP-SESSION-002", steps=("meet",), editions=V1)
def two_sessions_have_two_ids(evidence: Evidence) -> None:
    try:
        first = _session_id(evidence, 0)
    except Violation as violation:
        raise StepFailed(violation.message, "ACP-SESSION-001", *violation.evidence) from None
    meet = evidence.begun("meet")
    skip_unless(any("result" in answer for _, answer in meet.answers(meet["new"][1])), "there was no second session")
    if first == _session_id(evidence, 1):
        raise Violation("two sessions have the same id", *(meet.answer_entry(new) for new in meet["new"]))


@judge("ACCORD-SESSION-204", steps=("meet", "v2_resumes"))
def lists_in_results_are_lists(evidence: Evidence) -> None:
    for _, entry, result in answers_to(evidence, "session/new", "session/resume"):
        for name in ("configOptions", "availableCommands"):
            if name in result and result[name] is None:
                raise Violation(f"{name} is null", entry)


def _session_of(asked: RecordedRequest) -> str | None:
    session = (asked.result or {}).get("sessionId")
    return session if is_whole(session) else None


def _opened(evidence: Evidence) -> list[RecordedRequest]:
    """The requests of the step `meet` for sessions."""
    handshakes(evidence)
    opened = our_requests_in(evidence.begun("meet"), "session/new")
    if not any(_session_of(each) for each in opened):
        proof = [entry for each in opened[:1] for entry in (each.entry, each.answer_entry) if entry is not None]
        raise StepFailed("no session could be opened", "ACP-SESSION-001", *proof)
    return opened


@judge("ACP-SESSION-001", steps=("meet",), editions=JUNE_V2)
def a_session_can_be_opened(evidence: Evidence) -> None:
    _opened(evidence)


@judge("ACP-SESSION-002", steps=("meet",), editions=JUNE_V2, name="two_sessions_have_two_ids")
def two_sessions_have_two_ids_in_v2(evidence: Evidence) -> None:
    _opened(evidence)
    found: dict[tuple[int, str], RecordedRequest] = {}
    for each in our_requests(evidence, "session/new"):
        session = _session_of(each)
        if session is None:
            continue
        other = found.setdefault((id(each.record.entries), session), each)
        if other is not each:
            raise Violation(f"two sessions are {session!r}", other.answer_entry, each.answer_entry)


@judge("ACP-SESSION-203", steps=("meet",))
def a_list_of_servers_may_be_empty_or_left_out(evidence: Evidence) -> None:
    for each in _opened(evidence):
        if _session_of(each) is None:
            how = "with an empty list of" if "mcpServers" in each.params else "without"
            raise each.violation(f"no session is opened {how} MCP servers")


@judge("ACP-ADDDIRS-201", steps=("additional_directories",), editions=V2, name="a_session_may_have_a_further_root")
@judge("ACP-ADDDIRS-001", steps=("additional_directories",), editions=JUNE, name="a_session_may_have_a_further_root")
def a_session_may_have_a_further_root_in_v2(evidence: Evidence) -> None:
    opened = our_requests_in(evidence.begun("additional_directories"), "session/new")
    if not opened:
        evidence.step("additional_directories")
        raise Inconclusive("no session was opened with a further root")
    new = opened[0]
    if _session_of(new) is None:
        raise new.violation("no session was opened with a further root")


@judge("ACP-ADDDIRS-202", steps=("additional_directories",))
def a_session_may_be_resumed_with_another_root(evidence: Evidence) -> None:
    run = evidence.begun("additional_directories")
    resumes = our_requests_in(run, "session/resume")
    if not resumes:
        evidence.step("additional_directories")
        raise Inconclusive("there was no session with a further root to be resumed")
    if resumes[0].result is not None:
        return
    without = resumes[1].answer.get("error") if len(resumes) > 1 else None
    if isinstance(without, dict) and without.get("code") != INVALID_PARAMS:
        raise Inconclusive("the session could not be resumed without a root either")
    raise resumes[0].violation("a session was not resumed with another root")


judge_rows(
    request_gives_object,
    ("ACP-ADDDIRS-001", "a_session_may_have_a_further_root", "additional_directories", "new"),
    editions=V1,
)
judge_rows(request_succeeds, ("ACCORD-SESSION-203", "null_lists_are_empty", "v2_refused_sessions", "nulls"))
judge_rows(
    request_fails_with,
    ("ACCORD-ADDDIRS-201", "a_relative_root_is_refused", "v2_relative_root", "new", INVALID_PARAMS),
)
