"""Work that is cancelled: withdrawn requests, and in v2 held prompts, open questions, tool calls, terminals."""

from __future__ import annotations

from typing import Any

from accord.check.agent.cancel import must_be_taken_back
from accord.check.agent.conversation import AgentConversation, step
from accord.check.agent.exchange import (
    LATE,
    NO_SESSION,
    answers_received,
    ask_all,
    comes,
    first_option,
    lives,
    settle,
    settle_cancelled,
    shows_life,
    wait_for_answers,
    wait_for_question,
    wait_or_none,
)
from accord.check.agent.prompts import user_message_entry
from accord.check.agent.queries import (
    FINAL,
    as_dict,
    completed,
    judge_completion,
    key_of,
    must_be_refused,
    subject_tool,
)
from accord.check.engine.evidence import (
    CANCELLED,
    INVALID_PARAMS,
    Entry,
    Evidence,
    Inconclusive,
    StepFailed,
    StepResult,
    Violation,
    has_path,
    is_state,
    is_update,
    messages_in,
    skip_unless,
)
from accord.check.engine.judging import Notes, judge, judge_rows
from accord.check.rule import SESSIONS, V1, V2, RuleRow, agent_rules

# fmt: off
RULES = agent_rules(
    RuleRow("ACCORD-CANCEL-201", "--C", "prompt-turn", gate="session",
        says="A prompt that is held when the session is cancelled gets -32800"),
    RuleRow("ACCORD-CANCEL-202", "--C", "prompt-turn", gate="session",
        says="A prompt that is sent after a cancellation is not touched by it"),
    RuleRow("ACCORD-CANCEL-203", "--C", "prompt-turn", gate="session",
        says="A cancellation does not wait for permissions that are still asked for"),
    RuleRow("ACCORD-CANCEL-204", "--A", "prompt-turn", gate="session",
        says="A permission that is not needed any more is taken back"),
    RuleRow("ACCORD-CANCEL-205", "--A", "prompt-turn", gate="session",
        says="An answer that comes after the end revives no work"),
    RuleRow("ACCORD-CANCEL-206", "--C", "prompt-turn", gate="session",
        says="What was not permitted before the cancellation is not done"),
    RuleRow("ACCORD-CANCEL-207", "--C", "prompt-turn", gate="session",
        says="The messages of cancelled work come before its end, not after it"),
    RuleRow("ACCORD-CANCEL-208", "--C", "tool-calls", gate="session",
        says="Cancelling an unknown tool call is refused with -32602"),
    RuleRow("ACCORD-CANCEL-209", "--C", "tool-calls", gate="session",
        says="Cancelling an unknown terminal is refused with -32602"),
    RuleRow("ACCORD-CANCEL-210", "--C", "tool-calls", gate="session",
        says="Cancelling a finished tool call is refused with -32602"),
    RuleRow("ACCORD-CANCEL-211", "--C", "tool-calls", gate="session",
        says="Cancelling a terminal that has exited is refused with -32602"),
    RuleRow("ACCORD-CANCEL-212", "--C", "tool-calls", gate="session",
        says="A tool call that offers it can be cancelled alone, and then it ends"),
    RuleRow("ACCORD-CANCEL-213", "--C", "tool-calls", gate="session",
        says="A terminal that offers it can be cancelled alone, and then it exits"),
    RuleRow("ACCORD-REQCANCEL-001", "M--", "cancellation", "A request that is taken back gets exactly one answer"),
    RuleRow("ACCORD-REQCANCEL-002", "M--", "cancellation",
        says="A request that was taken back and fails does so with -32800"),
    RuleRow("ACCORD-REQCANCEL-003", "A--", "cancellation",
        says="Taking back a request that was never made, or has its answer, is ignored"),
    RuleRow("ACCORD-WIRE-214", "--M", "cancellation",
        says="Taking back a request that does not exist or was answered does nothing"),
)
# fmt: on


_CANCELLING = ("v2_prompt_taken_back", "v2_cancelled_question", "v2_stopped_alone")


@step("bare", editions=V2, gate=SESSIONS)
async def v2_prompts_and_cancel(agent: AgentConversation) -> Notes:
    """A prompt behind work that is cancelled, and one behind the cancellation."""
    session = await agent.new()
    working = await agent.begin(session)
    before = agent.prompt(session, agent.options.prompt)
    await shows_life(agent)
    cancelled = agent.notify("session/cancel", {"sessionId": session})
    after = agent.prompt(session, agent.options.prompt)
    await wait_for_answers(agent, before, working, after)

    def has_ended(entry: Entry) -> bool:
        message = entry.message
        return is_state(message, session, "idle") and message["params"]["update"].get("stopReason") != "cancelled"

    if any("result" in answer for answer in await answers_received(agent, after)):
        await wait_or_none(agent, has_ended, cancelled)
    return {"session": session, "before": before, "after": after, "cancelled": cancelled}


@step("bare", editions=V2, gate=SESSIONS)
async def v2_cancelled_question(agent: AgentConversation) -> Notes:
    """Work is cancelled while it waits for a permission, which is given when it is too late."""
    session = await agent.new()
    since = agent.now
    with agent.replying(session__request_permission=lambda _: None):
        prompt = agent.prompt(session, agent.tool_prompt)
        asked = await wait_for_question(agent, "session/request_permission", session, since, prompt)
        if asked is None:
            await wait_for_answers(agent, prompt)
            return {"session": session}
        cancelled = agent.notify("session/cancel", {"sessionId": session})
        idle = await settle(agent, session, cancelled)
        outcome = {"outcome": {"outcome": "selected", "optionId": first_option(asked.message)}}
        late = agent.wire.send_json({"jsonrpc": "2.0", "id": asked.message["id"], "result": outcome})
        await shows_life(agent)
        await shows_life(agent)
    return {"session": session, "asked": asked, "cancelled": cancelled, "idle": idle, "late": late}


@step("bare", editions=V2, gate=SESSIONS)
async def v2_finished_things(agent: AgentConversation) -> Notes:
    """After a turn its tool calls and terminals are cancelled, and some that never were."""
    session = await agent.new()
    since = agent.now
    await agent.turn(session, agent.tool_prompt)
    named = {"sessionId": session}
    ids = await ask_all(
        agent,
        no_tool=("tool_call/cancel", {**named, "toolCallId": NO_SESSION}),
        no_terminal=("terminal/cancel", {**named, "terminalId": NO_SESSION}),
    )
    tool, terminal = _last_id(agent, since, session, "toolCallId"), _last_id(agent, since, session, "terminalId")
    if tool:
        ids |= await ask_all(agent, tool=("tool_call/cancel", {**named, "toolCallId": tool}))
    if terminal:
        ids |= await ask_all(agent, terminal=("terminal/cancel", {**named, "terminalId": terminal}))
    return {"session": session, "tool_id": tool, "terminal_id": terminal, **ids}


def _last_id(agent: AgentConversation, since: int, session: str, field: str) -> Any:
    """The id of the last tool call or terminal of a session that has ended."""
    for entry in reversed(agent.wire.entries[since:]):
        if is_update(entry.message, session):
            id_ = entry.message["params"]["update"].get(field)
            if isinstance(id_, str) and _has_ended(entry, session, id_):
                return id_
    return None


@step("bare", editions=V2, gate=SESSIONS)
async def v2_stopped_alone(agent: AgentConversation) -> Notes:
    """During a turn, a tool call and a terminal that advertise cancellation are cancelled."""
    session = await agent.new()
    since = agent.now
    working = await agent.begin(session)
    await wait_for_answers(agent, working)
    await shows_life(agent)
    notes: Notes = {"session": session}
    for field, kind, method in (
        ("toolCallId", "tool_call_update", "tool_call/cancel"),
        ("terminalId", "terminal_update", "terminal/cancel"),
    ):
        can = _cancellable(agent, since, session, kind, field)
        if can:
            place, seconds = agent.now, agent.options.timeout_seconds
            ids = await ask_all(agent, **{field: (method, {"sessionId": session, field: can})})
            await wait_or_none(agent, lambda entry: _has_ended(entry, session, can), place, seconds)  # noqa: B023
            notes |= {**ids, f"{field} id": can}
    await settle_cancelled(agent, session, since)
    return notes


def _cancellable(agent: AgentConversation, since: int, session: str, kind: str, field: str) -> Any:
    """The id of a tool call or terminal whose last update advertises cancellation; None if there is none."""
    can: dict[str, bool] = {}
    for entry in agent.wire.entries[since:]:
        if is_update(entry.message, session, kind):
            update = entry.message["params"]["update"]
            if "capabilities" in update and isinstance(update.get(field), str):
                can[update[field]] = has_path(update["capabilities"], "cancel")
    return next((id_ for id_, is_so in can.items() if is_so), None)


def _has_ended(entry: Entry, session: str, id_: str) -> bool:
    if not is_update(entry.message, session, "tool_call_update", "terminal_update"):
        return False
    update = entry.message["params"]["update"]
    ended = update.get("status") in ("completed", "failed", "cancelled") or update.get("exitStatus") is not None
    return id_ in (update.get("toolCallId"), update.get("terminalId")) and ended


@judge("ACCORD-CANCEL-201", steps=("v2_prompts_and_cancel",))
def a_held_prompt_is_dropped(evidence: Evidence) -> None:
    run = evidence.step("v2_prompts_and_cancel")
    if "result" in run.answer(run["before"]):
        echo, end = user_message_entry(run, run["before"]), _end_of_cancelled_work(run)
        # Only a prompt inserted after the end of the cancelled work was certainly held when the cancellation arrived.
        if echo is None or end is None or echo.place < end.place:
            raise Inconclusive("no prompt was held: it was inserted at once")
        raise Violation("it was inserted after the cancellation", end, echo)
    must_be_refused(run, run["before"], CANCELLED)


def _end_of_cancelled_work(run: StepResult) -> Entry | None:
    for entry, update in run.updates(run["session"], "state_update", since=run["cancelled"]):
        if update.get("state") == "idle" and update.get("stopReason") == "cancelled":
            return entry
    return None


@judge("ACCORD-CANCEL-202", steps=("v2_prompts_and_cancel",))
def a_later_prompt_is_not_touched(evidence: Evidence) -> None:
    run = evidence.step("v2_prompts_and_cancel")
    run.result(run["after"])
    echo = user_message_entry(run, run["after"])
    if echo is None:
        raise Inconclusive("the prompt was not sent as a message")
    states = run.updates(run["session"], "state_update", since=echo.place)
    idles = [(entry, update) for entry, update in states if update.get("state") == "idle"]
    skip_unless(idles, "the session never was idle again")
    if all(update.get("stopReason") == "cancelled" for _, update in idles):
        raise Violation("its work was cancelled", run.entries[run["cancelled"]], idles[-1][0])


def _asked(evidence: Evidence) -> StepResult:
    run = evidence.step("v2_cancelled_question")
    if run.get("asked") is None:
        raise Inconclusive("no permission was asked for")
    return run


@judge("ACCORD-CANCEL-203", steps=("v2_cancelled_question", "v2_prompt_taken_back"))
def a_cancellation_does_not_wait(evidence: Evidence) -> None:
    run = _asked(evidence)
    skip_unless(evidence.step("v2_prompt_taken_back").get("idle"), "cancelling has no effect at all")
    if run["idle"] is None:
        raise Violation(
            "the session was not idle before the permission was answered",
            run["asked"],
            run.entries[run["cancelled"]],
        )


@judge("ACCORD-CANCEL-204", steps=("v2_cancelled_question",))
def an_open_question_is_taken_back(evidence: Evidence) -> None:
    run = _asked(evidence)
    skip_unless(run["idle"], "the work was not cancelled")
    must_be_taken_back(run, run["late"])


@judge("ACCORD-CANCEL-205", steps=("v2_cancelled_question",))
def a_late_answer_revives_nothing(evidence: Evidence) -> None:
    run = _asked(evidence)
    skip_unless(run["idle"], "the work was not cancelled")

    def is_working(message: Any) -> bool:
        return is_state(message, run["session"], "running", "requires_action")

    revived = run.first(is_working, run["late"])
    if revived is not None:
        raise Violation("there was work again", run.entries[run["late"]], revived)


@judge("ACCORD-CANCEL-206", steps=("v2_cancelled_question",))
def what_was_not_permitted_is_not_done(evidence: Evidence) -> None:
    run = _asked(evidence)
    skip_unless(run["idle"], "the work was not cancelled")
    tool = subject_tool(run["asked"].message.get("params"))
    skip_unless(tool, "the permission was not for a tool call")
    for entry, update in run.updates(run["session"], "tool_call_update", since=run["cancelled"]):
        if update.get("toolCallId") == tool and update.get("status") == "completed":
            raise Violation("the tool call was completed", run["asked"], entry)


@judge("ACCORD-CANCEL-207", steps=_CANCELLING)
def nothing_comes_after_the_end(evidence: Evidence) -> None:
    ends = 0
    for name in _CANCELLING:
        run = evidence.step(name)
        for entry, update in run.updates(run["session"], "state_update"):
            if update.get("stopReason") == "cancelled" and not update.get("background"):
                ends += 1
                _look_behind(run, entry)
    skip_unless(ends, "no work was cancelled")


def _look_behind(run: StepResult, idle: Entry) -> None:
    session = run["session"]
    again = run.first(lambda message: is_state(message, session, "running", "requires_action"), idle.place)
    for entry, _ in run.updates(
        session,
        *("agent_message", "agent_message_chunk", "agent_thought", "agent_thought_chunk"),
        since=idle.place,
        before=again.place if again else None,
    ):
        raise Violation("the agent spoke after the end of the work", idle, entry)


def _refused_cancel(evidence: Evidence, name: str, why_not: str = "") -> None:
    run = evidence.step("v2_finished_things")
    skip_unless(run.get(name), why_not)
    must_be_refused(run, run[name], INVALID_PARAMS)


def _stopped_work(evidence: Evidence, field: str, what: str) -> None:
    run = evidence.step("v2_stopped_alone")
    skip_unless(run.get(field), f"no {what} offered to be cancelled")
    asked = run.request_entry(run[field])
    run.result(run[field])
    kind = f"{what.replace(' ', '_')}_update"
    for _, update in run.updates(run["session"], kind, since=asked.place if asked else 0):
        has_ended = update.get("status") in FINAL or update.get("exitStatus") is not None
        if update.get(field) == run[f"{field} id"] and has_ended:
            return
    raise Violation("it was accepted, and the end was never reported", asked, run.answer_entry(run[field]))


judge_rows(
    _refused_cancel,
    ("ACCORD-CANCEL-208", "an_unknown_tool_call_cannot_be_cancelled", "no_tool"),
    ("ACCORD-CANCEL-209", "an_unknown_terminal_cannot_be_cancelled", "no_terminal"),
    ("ACCORD-CANCEL-210", "a_finished_tool_call_cannot_be_cancelled", "tool", "there was no tool call"),
    ("ACCORD-CANCEL-211", "a_terminal_that_exited_cannot_be_cancelled", "terminal", "there was no terminal"),
    steps=("v2_finished_things",),
)
judge_rows(
    _stopped_work,
    ("ACCORD-CANCEL-212", "a_tool_call_can_be_cancelled_alone", "toolCallId", "tool call"),
    ("ACCORD-CANCEL-213", "a_terminal_can_be_cancelled_alone", "terminalId", "terminal"),
    steps=("v2_stopped_alone",),
)


# --- requests that are withdrawn: `$/cancel_request`


@step("bare", editions=V1, order=64)
async def request_cancels(agent: AgentConversation) -> Notes:
    """`$/cancel_request` for a running prompt, for unknown requests and for one that was answered."""
    session = await agent.new()
    prompt = await agent.begin(session)
    since = agent.now
    agent.notify("$/cancel_request", {"requestId": prompt})
    honoured = await comes(agent, prompt, min(agent.options.timeout_seconds, 1.0))
    if not honoured:
        agent.notify("session/cancel", {"sessionId": session})
        await agent.answer(prompt, "ACCORD-REQCANCEL-001", agent.options.turn_seconds)
    nothing = agent.now
    for id_ in (prompt, 424242, "accord-check-nobody"):
        agent.notify("$/cancel_request", {"requestId": id_})
    if not await lives(agent):
        raise StepFailed("the agent did not survive it", "ACCORD-REQCANCEL-003", agent.wire.entries[nothing])
    return {"session": session, "prompt": prompt, "since": since, "honoured": honoured, "nothing": nothing}


@step("bare", editions=V2, order=LATE)
async def v2_takes_back_nothing(agent: AgentConversation) -> Notes:
    """`$/cancel_request` for unknown requests, and for one that was answered."""
    answered = agent.ask("session/close", {"sessionId": NO_SESSION})
    await agent.answer(answered)
    since = agent.now
    for id_ in (987657, "accord-check-nothing", answered):
        agent.notify("$/cancel_request", {"requestId": id_})
    await shows_life(agent, "ACCORD-WIRE-214")
    return {"since": since, "end": agent.now, "answered": answered}


@judge("ACCORD-REQCANCEL-001", steps=("request_cancels",))
def a_request_that_is_taken_back_gets_one_answer(evidence: Evidence) -> str:
    run = completed(evidence, "request_cancels", "ACCORD-REQCANCEL-001")
    answers = run.answers(run["prompt"])
    if len(answers) != 1:
        raise Violation(f"it got {len(answers)} answers", *[entry for entry, _ in answers[:2]])
    if answers[0][0].place < run["since"]:
        return "it had its answer before it was taken back"
    return "it was heeded" if run["honoured"] else "it was ignored, as it may be"


@judge("ACCORD-REQCANCEL-002", steps=("request_cancels",))
def a_request_that_is_given_up_has_the_code_for_that(evidence: Evidence) -> None:
    run = completed(evidence, "request_cancels")
    if run.answer_entry(run["prompt"]).place < run["since"]:
        raise Inconclusive("the turn ended before it was taken back: give --cancel-prompt")
    skip_unless(run["honoured"], "it is not heeded, as is allowed")
    answer = run.answer(run["prompt"])
    if "error" in answer and as_dict(answer["error"]).get("code") != CANCELLED:
        entry = run.answer_entry(run["prompt"])
        raise Violation("it failed with another code than -32800", run.entries[run["since"]], entry)


@judge("ACCORD-WIRE-214", steps=("v2_takes_back_nothing",))
def taking_back_nothing_does_nothing(evidence: Evidence) -> None:
    run = evidence.step("v2_takes_back_nothing")
    strays = {key_of(id_) for id_ in (None, 987657, "accord-check-nothing", run["answered"])}
    for entry, each in messages_in(run.entries[run["since"] : run["end"]]):
        if "method" not in each and key_of(each.get("id")) in strays:
            raise Violation("it was answered", run.entries[run["since"]], entry)


judge_completion(("ACCORD-REQCANCEL-003", "taking_back_what_was_never_asked_is_ignored", "request_cancels"))
