"""`session/close` and `session/delete`."""

from __future__ import annotations

from accord.check.agent.cancel import TOO_EARLY, TOO_SHORT, closed_turn, ended_before
from accord.check.agent.conversation import AgentConversation, can, step, text
from accord.check.agent.exchange import answer_or_none, ask_all, ask_and_wait, shows_life, wait_for_answers
from accord.check.agent.listing import listed_in_v2, page_of, pages
from accord.check.agent.queries import completed, must_be_refused, our_requests_in, request_gives_object, succeeds
from accord.check.agent.turns import prompts_of, unending
from accord.check.engine.evidence import (
    CANCELLED,
    NOT_FOUND,
    Evidence,
    Inconclusive,
    StepFailed,
    StepResult,
    Violation,
    skip_if,
)
from accord.check.engine.judging import Notes, judge, judge_rows
from accord.check.rule import JUNE, SESSIONS, V1, V1_JUNE, V2, RuleRow, agent_rules, gate

# fmt: off
RULES = agent_rules(
    RuleRow("ACCORD-CLOSE-201", "--C", "#CloseSessionRequest", gate="session",
        says="No update of a session is sent after it was closed"),
    RuleRow("ACCORD-CLOSE-202", "--C", "#CloseSessionRequest", gate="session",
        says="A prompt that was held when its session was closed gets -32800"),
    RuleRow("ACCORD-CLOSE-203", "--C", "error", "A prompt for a closed session is refused with -32002", gate="session"),
    RuleRow("ACCORD-CLOSE-204", "--A", "#CloseSessionRequest", gate="session",
        says="Closing an unknown or a closed session succeeds"),
    RuleRow("ACP-CLOSE-001", "CC-", "session-setup", "An idle session can be closed", gate="close"),
    RuleRow("ACP-CLOSE-002", "CC-", "session-setup", gate="close", says=(
        "Closing a session cancels its prompt",
        "Closing a session ends its prompt as cancelled",
        "",
    )),
    RuleRow("ACP-CLOSE-201", "--C", "session-setup", "An idle session can be closed", gate="session"),
    RuleRow("ACP-CLOSE-202", "--C", "session-setup", "Closing a session ends its work", gate="session"),
    RuleRow("ACCORD-DELETE-001", "C--", "session-delete", "A deleted session is in no list", gate="delete"),
    RuleRow("ACCORD-DELETE-201", "--C", "error", "A deleted session can not be resumed: -32002", gate="delete"),
    RuleRow("ACP-DELETE-001", "CC-", ("session-delete", "session-setup", ""), gate="delete",
        says="A session can be deleted"),
    RuleRow("ACP-DELETE-002", "AA-", ("session-delete", "session-setup", ""), gate="delete",
        says="Deleting what is not there succeeds"),
    RuleRow("ACP-DELETE-201", "--C", "session-setup", "A session can be deleted", gate="delete"),
    RuleRow("ACP-DELETE-202", "-CC", "session-setup", "A deleted session is in no list", gate="delete"),
    RuleRow("ACP-DELETE-203", "--A", "session-setup", "Deleting what is not there succeeds", gate="delete"),
)
# fmt: on


@step(gate=gate("delete"), order=55)
async def deleting(agent: AgentConversation) -> Notes:
    """A session is deleted, and again, and one that never was; `list` only where sessions can be listed."""
    session = await agent.new()
    await agent.turn(session)
    notes: Notes = {"session": session}
    notes["delete"] = await ask_and_wait(agent, "session/delete", {"sessionId": session})
    if can(agent, "list"):
        notes["list"] = await ask_and_wait(agent, "session/list", {})
    notes["again"] = await ask_and_wait(agent, "session/delete", {"sessionId": session})
    notes["unknown"] = await ask_and_wait(agent, "session/delete", {"sessionId": "nobody"})
    return {**notes, "alive": await agent.is_alive()}


@step(gate=gate("close"), order=56)
async def closing(agent: AgentConversation) -> Notes:
    """An idle session is closed, then one with a running turn; `prompt` is the request of that turn."""
    idle = await ask_and_wait(agent, "session/close", {"sessionId": await agent.new()})
    session = await agent.new()
    prompt = await agent.begin(session)
    busy = await ask_and_wait(agent, "session/close", {"sessionId": session})
    await answer_or_none(agent, prompt)
    return {"idle": idle, "session": session, "prompt": prompt, "busy": busy, "alive": await agent.is_alive()}


@step("bare", editions=V1_JUNE, gate=gate("delete"), order=42)
async def delete_listed(agent: AgentConversation) -> Notes:
    """A session with a turn is deleted, and the list is asked for it before and after."""
    session = await agent.new()
    await agent.turn(session)
    before = await pages(agent)
    delete = agent.ask("session/delete", {"sessionId": session})
    await agent.answer(delete, "ACP-DELETE-001")
    return {"session": session, "before": before, "delete": delete, "after": await pages(agent)}


@step("bare", editions=V2, gate=SESSIONS)
async def v2_closes(agent: AgentConversation) -> Notes:
    """A session with work and a prompt behind it is closed, prompted, and closed again."""
    session = await agent.new()
    working = await agent.begin(session)
    behind = agent.prompt(session, agent.options.prompt)
    await shows_life(agent)
    named = {"sessionId": session}
    close = agent.ask("session/close", named)
    await wait_for_answers(agent, close, behind, working)
    await shows_life(agent)
    ids = await ask_all(
        agent,
        prompt=("session/prompt", {**named, "prompt": [text(agent.options.prompt)]}),
        again=("session/close", named),
    )
    return {"session": session, "close": close, "behind": behind, "working": working, **ids}


@step("bare", editions=V2, gate={"v2": "initialize.capabilities.session.delete"})
async def v2_deletes(agent: AgentConversation) -> Notes:
    session = await agent.new()
    named = {"sessionId": session}
    return await ask_all(
        agent,
        close=("session/close", named),
        delete=("session/delete", named),
        resume=("session/resume", {**named, "cwd": agent.cwd, "mcpServers": []}),
    )


@judge("ACCORD-DELETE-001", steps=("delete_listed",))
def a_deleted_session_is_not_listed(evidence: Evidence) -> None:
    run = completed(evidence, "delete_listed")
    skip_if("error" in run.answer(run["delete"]), "it could not be deleted")
    ids = [session.get("sessionId") for id_ in run["before"] for session in page_of(run, id_)]
    skip_if(run["session"] not in ids, "it was not listed before either")
    for id_ in run["after"]:
        if any(session.get("sessionId") == run["session"] for session in page_of(run, id_)):
            entry = run.answer_entry(id_)
            raise Violation("it is still listed", run.request_entry(run["delete"]), entry)


@judge("ACP-DELETE-002", steps=("deleting",), editions=V1)
def deleting_what_is_not_there_succeeds(evidence: Evidence) -> None:
    run = evidence.step("deleting")
    succeeds(run, run["unknown"])
    if any("result" in answer for _, answer in run.answers(run["delete"])):
        succeeds(run, run["again"])


@judge("ACP-CLOSE-002", steps=("closing",), editions=V1)
def closing_cancels_the_prompt(evidence: Evidence) -> None:
    run = evidence.step("closing")
    request = run.request_entry(run["busy"])
    if request is not None and ended_before(run, run["prompt"], request.place):
        raise Inconclusive(TOO_SHORT)
    succeeds(run, run["busy"])
    result = run.result(run["prompt"])
    reason = result.get("stopReason") if isinstance(result, dict) else None
    if reason != "cancelled":
        raise Violation(
            f"the prompt of a closed session ends with {reason!r}, not with 'cancelled'",
            request,
            run.answer_entry(run["prompt"]),
        )


@judge("ACP-CLOSE-002", steps=("closing",), editions=JUNE, name="closing_cancels_the_prompt")
def closing_cancels_the_prompt_in_june(evidence: Evidence) -> None:
    # The first of two closings is about a session without work.
    run = evidence.begun("closing")
    prompt = prompts_of(evidence, "closing")[0]
    busy = next((each for each in our_requests_in(run, "session/close") if each.entry.place > prompt.entry.place), None)
    if busy is None:
        raise run.failure or Inconclusive("no session that works was closed")
    if prompt.answer_entry is not None and prompt.answer_entry.place < busy.entry.place:
        raise Inconclusive(TOO_EARLY)
    if prompt.answer_entry is None:
        reason = "closing a session left its prompt without an answer"
        raise StepFailed(reason, unending(evidence, "ACP-CLOSE-002"), busy.entry)
    if busy.result is None:
        raise busy.violation("a session that works could not be closed")
    if (prompt.result or {}).get("stopReason") != "cancelled":
        raise Violation("closing a session did not end its prompt as cancelled", busy.entry, prompt.answer_entry)


@judge("ACP-CLOSE-202", steps=("closing",))
def closing_ends_the_work(evidence: Evidence) -> None:
    closed, busy = closed_turn(evidence)
    if busy.result is None:
        raise busy.violation("a session that works could not be closed")
    if closed.idle is None:
        raise StepFailed("closing a session did not end its work", unending(evidence, "ACP-CLOSE-202"), busy.entry)


@judge("ACCORD-CLOSE-201", steps=("v2_closes",))
def nothing_is_sent_of_a_closed_session(evidence: Evidence) -> None:
    run = evidence.step("v2_closes")
    closed = run.answer_entry(run["close"])
    run.result(run["close"])
    for entry, _ in run.updates(run["session"], since=closed.place):
        raise Violation("an update was sent after the answer to session/close", closed, entry)


@judge("ACCORD-CLOSE-202", steps=("v2_closes",))
def a_held_prompt_is_cancelled_by_closing(evidence: Evidence) -> None:
    run = evidence.step("v2_closes")
    skip_if("result" in run.answer(run["behind"]), "no prompt was held: it was inserted at once")
    must_be_refused(run, run["behind"], CANCELLED)


@judge("ACCORD-CLOSE-203", steps=("v2_closes",))
def a_closed_session_cannot_be_prompted(evidence: Evidence) -> None:
    run = evidence.step("v2_closes")
    skip_if("result" not in run.answer(run["close"]), "session/close did not succeed")
    must_be_refused(run, run["prompt"], NOT_FOUND)


@judge("ACCORD-CLOSE-204", steps=("v2_closes", "v2_unknown_sessions"))
def closing_what_is_not_open_succeeds(evidence: Evidence) -> None:
    run = evidence.step("v2_unknown_sessions")
    run.result(run["close"])
    run = evidence.step("v2_closes")
    if "result" in run.answer(run["close"]):
        run.result(run["again"])


@judge("ACCORD-DELETE-201", steps=("v2_deletes",))
def a_deleted_session_is_gone(evidence: Evidence) -> None:
    run = evidence.step("v2_deletes")
    skip_if("result" not in run.answer(run["delete"]), "session/delete did not succeed")
    must_be_refused(run, run["resume"], NOT_FOUND)


def _succeeded(run: StepResult, note: str, message: str) -> None:
    id_ = run.get(note)
    if id_ is None:
        raise Inconclusive("it was not tried")
    if not isinstance(run.answer(id_).get("result"), dict):
        raise run.violation(message, id_)


@judge("ACP-CLOSE-201", steps=("closing",), editions=V2, name="an_idle_session_can_be_closed")
@judge("ACP-CLOSE-001", steps=("closing",), editions=JUNE, name="an_idle_session_can_be_closed")
def an_idle_session_can_be_closed_in_v2(evidence: Evidence) -> None:
    # The other closing of this step is about a session that works.
    closings = our_requests_in(evidence.begun("closing"), "session/close")
    if not closings:
        evidence.step("closing")
        raise Inconclusive("no session was closed")
    if closings[0].result is None:
        raise closings[0].violation("an idle session could not be closed")


@judge("ACP-DELETE-201", steps=("deleting",), editions=V2, name="a_session_can_be_deleted")
@judge("ACP-DELETE-001", steps=("deleting",), editions=JUNE, name="a_session_can_be_deleted")
def a_session_can_be_deleted_in_v2(evidence: Evidence) -> None:
    _succeeded(evidence.step("deleting"), "delete", "a session could not be deleted")


@judge("ACP-DELETE-202", steps=("deleting",))
def a_deleted_session_is_in_no_list(evidence: Evidence) -> None:
    run = evidence.step("deleting")
    if run.get("list") is None:
        raise Inconclusive("sessions cannot be listed")
    skip_if("result" not in run.answer(run["delete"]), "nothing was deleted")
    for each in listed_in_v2(evidence, run, "list"):
        if isinstance(each, dict) and each.get("sessionId") == run["session"]:
            entries = run.request_entry(run["delete"]), run.answer_entry(run["list"])
            raise Violation("a deleted session is still listed", *entries)


@judge("ACP-DELETE-203", steps=("deleting",), editions=V2, name="deleting_what_is_not_there_succeeds")
@judge("ACP-DELETE-002", steps=("deleting",), editions=JUNE, name="deleting_what_is_not_there_succeeds")
def deleting_what_is_not_there_succeeds_in_v2(evidence: Evidence) -> None:
    run = evidence.step("deleting")
    if "result" in run.answer(run["delete"]):
        _succeeded(run, "again", "a session could not be deleted a second time")
    _succeeded(run, "unknown", "deleting a session that never was failed")


judge_rows(
    request_gives_object,
    ("ACP-DELETE-001", "a_session_can_be_deleted", "deleting", "delete"),
    ("ACP-CLOSE-001", "an_idle_session_can_be_closed", "closing", "idle"),
    editions=V1,
)
