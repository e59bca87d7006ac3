"""Work that is cancelled with a turn or alone (v2): held prompts, open questions, tool calls, terminals."""

from __future__ import annotations

from typing import Any

from accord.check.agent.cancel import must_be_taken_back
from accord.check.agent.conversation import AgentConversation, step
from accord.check.agent.exchange import (
    NO_SESSION,
    answers_heard,
    ask_all,
    first_option,
    hear_all,
    hold_on,
    settle,
    settle_cancelled,
    shows_life,
    wait_for_question,
)
from accord.check.agent.queries import FINAL, must_be_refused, needed
from accord.check.engine.evidence import Evidence, StepResult, Unseen, Violation, reached
from accord.check.engine.judging import Notes, judge
from accord.check.engine.record import CANCELLED, INVALID_PARAMS, Entry, is_state, is_update
from accord.check.rule import SESSIONS, V2, RuleRow, agent_rules

__all__ = ["RULES"]

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
)
# fmt: on


_ECHOES = ("user_message", "user_message_chunk")

_CANCELLING = ("v2_prompt_taken_back", "v2_cancelled_question", "v2_stopped_alone")


@step("bare", editions=V2, gate=SESSIONS)
async def v2_prompts_and_cancel(talk: AgentConversation) -> Notes:
    """A prompt behind work that is cancelled, and one behind the cancellation."""
    session = await talk.new()
    working = await talk.begin(session)
    before = talk.prompt(session, talk.options.prompt)
    await shows_life(talk)
    cancelled = talk.notify("session/cancel", {"sessionId": session})
    after = talk.prompt(session, talk.options.prompt)
    await hear_all(talk, before, working, after)

    def has_ended(entry: Entry) -> bool:
        message = entry.message
        return is_state(message, session, "idle") and message["params"]["update"].get("stopReason") != "cancelled"

    if any("result" in answer for answer in await answers_heard(talk, after)):
        await hold_on(talk, has_ended, cancelled)
    return {"session": session, "before": before, "after": after, "cancelled": cancelled}


@step("bare", editions=V2, gate=SESSIONS)
async def v2_cancelled_question(talk: AgentConversation) -> Notes:
    """Work is cancelled while it waits for a permission, which is given when it is too late."""
    session = await talk.new()
    since = talk.now
    with talk.replying(session__request_permission=lambda _: None):
        prompt = talk.prompt(session, talk.options.tool_prompt or talk.options.prompt)
        asked = await wait_for_question(talk, "session/request_permission", session, since, prompt)
        if asked is None:
            await hear_all(talk, prompt)
            return {"session": session}
        cancelled = talk.notify("session/cancel", {"sessionId": session})
        idle = await settle(talk, session, cancelled)
        outcome = {"outcome": {"outcome": "selected", "optionId": first_option(asked.message)}}
        late = talk.wire.say({"jsonrpc": "2.0", "id": asked.message["id"], "result": outcome})
        await shows_life(talk)
        await shows_life(talk)
    return {"session": session, "asked": asked, "cancelled": cancelled, "idle": idle, "late": late}


@step("bare", editions=V2, gate=SESSIONS)
async def v2_finished_things(talk: AgentConversation) -> Notes:
    """After a turn its tool calls and terminals are cancelled, and some that never were."""
    session = await talk.new()
    since = talk.now
    await talk.turn(session, talk.options.tool_prompt or talk.options.prompt)
    named = {"sessionId": session}
    ids = await ask_all(
        talk,
        no_tool=("tool_call/cancel", {**named, "toolCallId": NO_SESSION}),
        no_terminal=("terminal/cancel", {**named, "terminalId": NO_SESSION}),
    )
    tool, terminal = _last_id(talk, since, session, "toolCallId"), _last_id(talk, since, session, "terminalId")
    if tool:
        ids |= await ask_all(talk, tool=("tool_call/cancel", {**named, "toolCallId": tool}))
    if terminal:
        ids |= await ask_all(talk, terminal=("terminal/cancel", {**named, "terminalId": terminal}))
    return {"session": session, "tool_id": tool, "terminal_id": terminal, **ids}


def _last_id(talk: AgentConversation, since: int, session: str, field: str) -> Any:
    """The id of the last tool call or terminal of a session that has ended."""
    for entry in reversed(talk.wire.entries[since:]):
        if is_update(entry.message, session):
            id_ = entry.message["params"]["update"].get(field)
            if isinstance(id_, str) and _has_ended(entry, session, id_):
                return id_
    return None


@step("bare", editions=V2, gate=SESSIONS)
async def v2_stopped_alone(talk: AgentConversation) -> Notes:
    """In work that goes on, a tool call and a terminal are cancelled that say that they can be."""
    session = await talk.new()
    since = talk.now
    working = await talk.begin(session)
    await hear_all(talk, working)
    await shows_life(talk)
    notes: Notes = {"session": session}
    for field, kind, method in (
        ("toolCallId", "tool_call_update", "tool_call/cancel"),
        ("terminalId", "terminal_update", "terminal/cancel"),
    ):
        can = _cancellable(talk, since, session, kind, field)
        if can:
            place = talk.now
            ids = await ask_all(talk, **{field: (method, {"sessionId": session, field: can})})
            await hold_on(talk, lambda entry: _has_ended(entry, session, can), place, talk.options.timeout_seconds)  # noqa: B023
            notes |= {**ids, f"{field} id": can}
    await settle_cancelled(talk, session, since)
    return notes


def _cancellable(talk: AgentConversation, since: int, session: str, kind: str, field: str) -> Any:
    """What says last that it can be cancelled."""
    can: dict[str, bool] = {}
    for entry in talk.wire.entries[since:]:
        if is_update(entry.message, session, kind):
            update = entry.message["params"]["update"]
            if "capabilities" in update and isinstance(update.get(field), str):
                can[update[field]] = reached(update["capabilities"], "cancel")
    return next((id_ for id_, is_so in can.items() if is_so), None)


def _has_ended(entry: Entry, session: str, id_: str) -> bool:
    if not is_update(entry.message, session, "tool_call_update", "terminal_update"):
        return False
    update = entry.message["params"]["update"]
    ended = update.get("status") in ("completed", "failed", "cancelled") or update.get("exitStatus") is not None
    return id_ in (update.get("toolCallId"), update.get("terminalId")) and ended


def _echo_place(played: StepResult, id_: Any) -> int | None:
    """Where the message of a prompt was told; None if it was not."""
    result = played.answer(id_).get("result")
    message_id = result.get("messageId") if isinstance(result, dict) else None
    for entry, update in played.updates(played["session"], *_ECHOES):
        if message_id is not None and update.get("messageId") == message_id:
            return entry.place
    return None


@judge("ACCORD-CANCEL-201", steps=("v2_prompts_and_cancel",))
def a_held_prompt_is_dropped(evidence: Evidence) -> None:
    played = evidence.step("v2_prompts_and_cancel")
    if "result" in played.answer(played["before"]):
        place, end = _echo_place(played, played["before"]), _end_of_cancelled_work(played)
        # Only what comes behind the end of the cancelled work was surely held when the cancellation arrived.
        if place is None or end is None or place < end.place:
            raise Unseen("no prompt was held: it was inserted at once")
        raise Violation("it was inserted after the cancellation", end, played.entries[place])
    must_be_refused(played, played["before"], CANCELLED)


def _end_of_cancelled_work(played: StepResult) -> Entry | None:
    for entry, update in played.updates(played["session"], "state_update", since=played["cancelled"]):
        if update.get("state") == "idle" and update.get("stopReason") == "cancelled":
            return entry
    return None


@judge("ACCORD-CANCEL-202", steps=("v2_prompts_and_cancel",))
def a_later_prompt_is_not_touched(evidence: Evidence) -> None:
    played = evidence.step("v2_prompts_and_cancel")
    played.result(played["after"])
    place = _echo_place(played, played["after"])
    if place is None:
        raise Unseen("the prompt was not told as a message")
    states = played.updates(played["session"], "state_update", since=place)
    idles = [(entry, update) for entry, update in states if update.get("state") == "idle"]
    needed(idles, "the session never was idle again")
    if all(update.get("stopReason") == "cancelled" for _, update in idles):
        raise Violation("its work was cancelled", played.entries[played["cancelled"]], idles[-1][0])


def _asked(evidence: Evidence) -> StepResult:
    played = evidence.step("v2_cancelled_question")
    if played.get("asked") is None:
        raise Unseen("no permission was asked for")
    return played


@judge("ACCORD-CANCEL-203", steps=("v2_cancelled_question", "v2_prompt_taken_back"))
def a_cancellation_does_not_wait(evidence: Evidence) -> None:
    played = _asked(evidence)
    needed(evidence.step("v2_prompt_taken_back").get("idle"), "cancelling has no effect at all")
    if played["idle"] is None:
        raise Violation(
            "the session was not idle before the permission was answered",
            played["asked"],
            played.entries[played["cancelled"]],
        )


@judge("ACCORD-CANCEL-204", steps=("v2_cancelled_question",))
def an_open_question_is_taken_back(evidence: Evidence) -> None:
    played = _asked(evidence)
    needed(played["idle"], "the work was not cancelled")
    must_be_taken_back(played, played["late"])


@judge("ACCORD-CANCEL-205", steps=("v2_cancelled_question",))
def a_late_answer_revives_nothing(evidence: Evidence) -> None:
    played = _asked(evidence)
    needed(played["idle"], "the work was not cancelled")

    def is_working(message: Any) -> bool:
        return is_state(message, played["session"], "running", "requires_action")

    revived = played.first(is_working, played["late"])
    if revived is not None:
        raise Violation("there was work again", played.entries[played["late"]], revived)


@judge("ACCORD-CANCEL-206", steps=("v2_cancelled_question",))
def what_was_not_permitted_is_not_done(evidence: Evidence) -> None:
    played = _asked(evidence)
    needed(played["idle"], "the work was not cancelled")
    tool = _tool_of(played["asked"])
    needed(tool, "the permission was not for a tool call")
    for entry, update in played.updates(played["session"], "tool_call_update", since=played["cancelled"]):
        if update.get("toolCallId") == tool and update.get("status") == "completed":
            raise Violation("the tool call was completed", played["asked"], entry)


def _tool_of(asked: Entry) -> Any:
    """The id of the tool call that a permission is about."""
    params = asked.message.get("params")
    subject = params.get("subject") if isinstance(params, dict) else None
    if not isinstance(subject, dict):
        return None
    tool = subject.get("toolCall")
    return tool.get("toolCallId") if isinstance(tool, dict) else subject.get("toolCallId")


@judge("ACCORD-CANCEL-207", steps=_CANCELLING)
def nothing_comes_after_the_end(evidence: Evidence) -> None:
    ends = 0
    for name in _CANCELLING:
        played = evidence.step(name)
        for entry, update in played.updates(played["session"], "state_update"):
            if update.get("stopReason") == "cancelled" and not update.get("background"):
                ends += 1
                _look_behind(played, entry)
    needed(ends, "no work was cancelled")


def _look_behind(played: StepResult, idle: Entry) -> None:
    session = played["session"]
    again = played.first(lambda message: is_state(message, session, "running", "requires_action"), idle.place)
    for entry, _ in played.updates(
        session,
        *("agent_message", "agent_message_chunk", "agent_thought", "agent_thought_chunk"),
        since=idle.place,
        before=again.place if again else None,
    ):
        raise Violation("the agent spoke after the end of the work", idle, entry)


def _refused_cancel(evidence: Evidence, name: str, why_not: str = "") -> None:
    played = evidence.step("v2_finished_things")
    needed(played.get(name), why_not)
    must_be_refused(played, played[name], INVALID_PARAMS)


@judge("ACCORD-CANCEL-208", steps=("v2_finished_things",))
def an_unknown_tool_call_cannot_be_cancelled(evidence: Evidence) -> None:
    _refused_cancel(evidence, "no_tool")


@judge("ACCORD-CANCEL-209", steps=("v2_finished_things",))
def an_unknown_terminal_cannot_be_cancelled(evidence: Evidence) -> None:
    _refused_cancel(evidence, "no_terminal")


@judge("ACCORD-CANCEL-210", steps=("v2_finished_things",))
def a_finished_tool_call_cannot_be_cancelled(evidence: Evidence) -> None:
    _refused_cancel(evidence, "tool", "there was no tool call")


@judge("ACCORD-CANCEL-211", steps=("v2_finished_things",))
def a_terminal_that_exited_cannot_be_cancelled(evidence: Evidence) -> None:
    _refused_cancel(evidence, "terminal", "there was no terminal")


@judge("ACCORD-CANCEL-212", steps=("v2_stopped_alone",))
def a_tool_call_can_be_cancelled_alone(evidence: Evidence) -> None:
    _stopped_work(evidence, "toolCallId", "tool_call_update", "no tool call offered to be cancelled")


@judge("ACCORD-CANCEL-213", steps=("v2_stopped_alone",))
def a_terminal_can_be_cancelled_alone(evidence: Evidence) -> None:
    _stopped_work(evidence, "terminalId", "terminal_update", "no terminal offered to be cancelled")


def _stopped_work(evidence: Evidence, field: str, kind: str, why_not: str) -> None:
    played = evidence.step("v2_stopped_alone")
    needed(played.get(field), why_not)
    asked = played.request_entry(played[field])
    played.result(played[field])
    for _, update in played.updates(played["session"], kind, since=asked.place if asked else 0):
        has_ended = update.get("status") in FINAL or update.get("exitStatus") is not None
        if update.get(field) == played[f"{field} id"] and has_ended:
            return
    raise Violation("it was accepted, and the end was never told", asked, played.answer_entry(played[field]))
