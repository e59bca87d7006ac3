"""`session/cancel`: the end of a cancelled turn and the messages after it."""

from __future__ import annotations

from typing import Any, NamedTuple

from accord.check.agent.conversation import AgentConversation, step
from accord.check.agent.exchange import TRACE, answer_or_none, answered_turn, end_of_cancelled, lives
from accord.check.agent.queries import RecordedRequest, as_dict, completed, is_extension, key_of, our_requests_in
from accord.check.agent.turns import STOP_REASONS, TURN_KINDS, prompts_of, recorded, unending, until_asked
from accord.check.engine.evidence import (
    Entry,
    Evidence,
    Inconclusive,
    StepFailed,
    StepResult,
    Violation,
    is_answer,
    is_state,
    messages_in,
    skip_if,
    skip_unless,
)
from accord.check.engine.judging import Notes, judge
from accord.check.rule import JUNE, JUNE_V2, SESSIONS, V1, V1_JUNE, RuleRow, agent_rules

# fmt: off
RULES = agent_rules(
    RuleRow("ACP-INFO-CONCURRENT-201", "-II", "prompt-turn", gate="session",
        says="What happens to a second prompt before the first one ended"),
    RuleRow("ACCORD-CANCEL-001", "AA-", "prompt-turn#cancellation", gate="session",
        says="A cancellation while nothing runs does not cancel the next turn"),
    RuleRow("ACCORD-CANCEL-002", "AA-", "prompt-turn#cancellation", gate="session",
        says="A cancellation of nothing, or of a session that is not there, is survived"),
    RuleRow("ACCORD-CANCEL-003", "AA-", "prompt-turn#cancellation", gate="session",
        says="A session goes on after a turn that was cancelled"),
    RuleRow("ACP-CANCEL-001", "MC-", ("prompt-turn#cancellation", "prompt-turn", ""), gate="session",
        says="A prompt that is cancelled succeeds with the stop reason cancelled"),
    RuleRow("ACP-CANCEL-002", "MC-", ("prompt-turn#cancellation", "prompt-turn", ""), gate="session", says=(
        "No update of a turn is sent behind the answer to its cancelled prompt",
        "No update comes behind the answer to a cancelled prompt",
        "",
    )),
    RuleRow("ACP-CANCEL-201", "--C", "prompt-turn", gate="session",
        says="A cancelled turn ends with an idle that says cancelled"),
    RuleRow("ACP-CANCEL-202", "--C", "prompt-turn", "No other state is sent behind that idle", gate="session"),
    RuleRow("ACP-CANCEL-203", "--C", "prompt-turn", gate="session",
        says="A cancellation is reported neither as an error nor as another of the known stop reasons"),
    RuleRow("ACP-CANCEL-204", "--I", "prompt-turn", "How soon work stops after a cancellation", gate="session"),
    RuleRow("ACP-CANCEL-205", "-CC", ("", "prompt-turn", "cancellation"), gate="session",
        says="Nothing answers a cancellation"),
    RuleRow("ACP-CANCEL-206", "-CC", "prompt-turn", gate="session",
        says="A cancellation is accepted with the session's id alone and with metadata"),
    RuleRow("ACP-CANCEL-207", "--C", "prompt-turn", gate="session",
        says="No word without an underscore of the agent's own stands in for cancelled"),
    RuleRow("ACP-CANCEL-208", "--C", "session-setup", gate="session",
        says="Work that ends because its session is closed ends as cancelled"),
    RuleRow("ACP-INFO-CANCEL-201", "-II", "prompt-turn", gate="session",
        says="What a cancellation does to a session that is unknown or idle"),
    RuleRow("ACP-INFO-CANCEL-202", "--I", "cancellation", gate="session",
        says="Whether the agent takes its own open questions back when it is cancelled"),
)
# fmt: on


TOO_SHORT = "the turn ended before it was cancelled: give --cancel-prompt"
TOO_EARLY = "the turn ended before it was cancelled: give --cancel-prompt"


AT_ONCE_SECONDS = 0.25


class CancelledTurn(NamedTuple):
    """A turn that was stopped: by which line of ours, and how it ended."""

    run: StepResult
    prompt: RecordedRequest
    by: Entry
    idle: Entry | None

    @property
    def session(self) -> str:
        return str(self.prompt.params["sessionId"])

    @property
    def reason(self) -> object:
        for _, message in messages_in([self.idle] if self.idle else []):
            if is_state(message, self.session, "idle"):
                reason: object = message["params"]["update"].get("stopReason")
                return reason
        return None


async def _cancelled(agent: AgentConversation, **params: Any) -> Notes:
    session = await agent.new()
    since = agent.now
    prompt = await agent.begin(session)
    place = agent.notify("session/cancel", {"sessionId": session, **params})
    await end_of_cancelled(agent, session, prompt, since)
    return {"session": session, "prompt": prompt, "cancel": place, "alive": await agent.is_alive()}


@step(gate=SESSIONS, order=20)
async def cancel(agent: AgentConversation) -> Notes:
    """A turn is cancelled, at the place `cancel`; the session is left alone after that."""
    return await _cancelled(agent)


@step(gate=SESSIONS, order=21)
async def cancel_with_meta(agent: AgentConversation) -> Notes:
    """The same with metadata beside the session's id; another turn shows that the session goes on."""
    notes = await _cancelled(agent, _meta=TRACE)
    return {**notes, "next": await agent.turn(notes["session"])}


@step("bare", editions=V1_JUNE, order=60)
async def idle_cancels(agent: AgentConversation) -> Notes:
    """Cancellations while nothing runs; a turn; a turn that is cancelled; and a turn after that."""
    session = await agent.new()
    agent.notify("session/cancel", {"sessionId": session})
    agent.notify("session/cancel", {"sessionId": "accord-check-nobody"})
    if not await lives(agent):
        raise StepFailed("the agent did not survive a cancellation of nothing", "ACCORD-CANCEL-002")
    after_idle = await answered_turn(agent, session, agent.options.prompt, "ACCORD-CANCEL-001")
    cancelled = await agent.begin(session)
    agent.notify("session/cancel", {"sessionId": session})
    await agent.answer(cancelled, "ACP-CANCEL-001", agent.options.turn_seconds)
    after_cancel = await answered_turn(agent, session, agent.options.prompt, "ACCORD-CANCEL-003")
    return {"session": session, "after_idle": after_idle, "cancelled": cancelled, "after_cancel": after_cancel}


def _reason(run: StepResult, id_: Any) -> Any:
    """The stop reason of a prompt; None for one that failed."""
    return as_dict(run.answer(id_).get("result")).get("stopReason")


@judge("ACCORD-CANCEL-001", steps=("idle_cancels",))
def a_cancellation_of_nothing_does_not_wait_for_the_next_turn(evidence: Evidence) -> None:
    run = completed(evidence, "idle_cancels", "ACCORD-CANCEL-001")
    if _reason(run, run["after_idle"]) == "cancelled":
        raise run.violation("the next turn was cancelled", run["after_idle"])


@judge("ACCORD-CANCEL-002", steps=("idle_cancels",))
def a_cancellation_of_nothing_is_survived(evidence: Evidence) -> None:
    completed(evidence, "idle_cancels", "ACCORD-CANCEL-002")


@judge("ACCORD-CANCEL-003", steps=("idle_cancels",))
def a_session_goes_on_after_a_cancelled_turn(evidence: Evidence) -> None:
    run = completed(evidence, "idle_cancels", "ACCORD-CANCEL-003")
    skip_if(_reason(run, run["after_idle"]) in (None, "cancelled"), "a turn before that did not end by itself either")
    if _reason(run, run["after_cancel"]) in (None, "cancelled"):
        entry = run.answer_entry(run["after_cancel"])
        raise Violation("the next turn did not end by itself", run.answer_entry(run["cancelled"]), entry)


def ended_before(run: StepResult, prompt: Any, place: int) -> bool:
    """Whether a turn was over when it was cancelled."""
    return any(entry.place < place for entry, _ in run.answers(prompt))


@judge("ACP-CANCEL-001", steps=("cancel",), editions=V1)
def a_cancelled_prompt_succeeds_with_cancelled(evidence: Evidence) -> None:
    run = evidence.step("cancel")
    prompt = run["prompt"]
    skip_if(ended_before(run, prompt, run["cancel"]), TOO_SHORT)
    cancel, entry = run.entries[run["cancel"]], run.answer_entry(prompt)
    answer = run.answer(prompt)
    if "result" not in answer:
        raise Violation("a cancelled prompt is answered with an error", cancel, entry)
    result = answer["result"]
    reason = result.get("stopReason") if isinstance(result, dict) else None
    if reason != "cancelled":
        raise Violation(f"a cancelled prompt ends with {reason!r}, not with 'cancelled'", cancel, entry)


@judge("ACP-CANCEL-002", steps=("cancel",), editions=V1)
def nothing_is_sent_behind_the_answer_to_a_cancelled_prompt(evidence: Evidence) -> None:
    run = evidence.step("cancel")
    skip_if(ended_before(run, run["prompt"], run["cancel"]), TOO_SHORT)
    answer = run.answer_entry(run["prompt"])
    late = run.updates(run["session"], *TURN_KINDS, since=answer.place + 1, before=until_asked(run, answer.place))
    if late:
        raise Violation("an update of the turn comes behind the answer to its cancelled prompt", answer, late[0][0])


def _stopping_line(run: StepResult, prompt: RecordedRequest, method: str) -> Entry:
    """The line of ours that stopped the turn of a prompt."""
    for entry in run.entries[prompt.entry.place : run.end]:
        message = as_dict(entry.message) if entry.sent else {}
        session = as_dict(message.get("params")).get("sessionId")
        if message.get("method") == method and session == prompt.params["sessionId"]:
            return entry
    raise run.failure or Inconclusive("nothing was cancelled")


def _stopped_prompt(evidence: Evidence, name: str) -> CancelledTurn:
    """The turn of a step that was cancelled while it went on, where the answer to its prompt ends it."""
    run, prompt = evidence.begun(name), prompts_of(evidence, name)[0]
    by = _stopping_line(run, prompt, "session/cancel")
    if prompt.answer_entry is not None and prompt.answer_entry.place < by.place:
        raise Inconclusive(TOO_EARLY)
    return CancelledTurn(run, prompt, by, None)


def _ended(evidence: Evidence, name: str) -> CancelledTurn:
    cancelled = _stopped_prompt(evidence, name)
    if cancelled.prompt.answer_entry is None:
        raise StepFailed("a cancelled prompt was not answered", unending(evidence, "ACP-CANCEL-001"), cancelled.by)
    return cancelled


@judge("ACP-CANCEL-001", steps=("cancel",), editions=JUNE, name="a_cancelled_prompt_succeeds_with_cancelled")
def a_cancelled_prompt_succeeds_with_cancelled_in_june(evidence: Evidence) -> None:
    cancelled = _ended(evidence, "cancel")
    if (cancelled.prompt.result or {}).get("stopReason") != "cancelled":
        raise Violation("a cancelled prompt did not succeed as cancelled", cancelled.by, cancelled.prompt.answer_entry)


@judge("ACP-CANCEL-002", steps=("cancel",), editions=JUNE)
def no_update_comes_behind_the_answer_to_a_cancelled_prompt(evidence: Evidence) -> None:
    cancelled = _ended(evidence, "cancel")
    answered = cancelled.prompt.answer_entry
    since = answered.place if answered is not None else 0
    for entry, _ in cancelled.run.updates(cancelled.prompt.params["sessionId"], since=since):
        raise Violation("an update came behind the answer to a cancelled prompt", answered, entry)


def stopped_turn(evidence: Evidence, name: str, method: str = "session/cancel") -> CancelledTurn:
    """The turn of a step that was stopped while it went on (v2)."""
    run, prompt = evidence.begun(name), prompts_of(evidence, name)[0]
    by = _stopping_line(run, prompt, method)
    if prompt.answer_entry is None:
        raise StepFailed("a prompt was not answered", "ACP-PROMPT-201", prompt.entry)
    if prompt.result is None and prompt.answer_entry.place < by.place:
        raise StepFailed("a prompt was answered with an error", "ACP-PROMPT-201", prompt.entry, prompt.answer_entry)
    idle = run.first(lambda message: is_state(message, prompt.params["sessionId"], "idle"), prompt.entry.place)
    if idle is not None and idle.place < by.place:
        raise Inconclusive(TOO_EARLY)
    return CancelledTurn(run, prompt, by, idle)


def _ended_turn(evidence: Evidence, name: str) -> CancelledTurn:
    cancelled = stopped_turn(evidence, name)
    if cancelled.idle is None:
        raise StepFailed("a cancelled turn never became idle", unending(evidence, "ACP-CANCEL-201"), cancelled.by)
    return cancelled


@judge("ACP-CANCEL-201", steps=("cancel",))
def a_cancelled_turn_ends_with_cancelled(evidence: Evidence) -> None:
    cancelled = _ended_turn(evidence, "cancel")
    if cancelled.reason != "cancelled":
        raise Violation(f"a cancelled turn ended with {cancelled.reason!r}", cancelled.by, cancelled.idle)


@judge("ACP-CANCEL-202", steps=("cancel",))
def no_other_state_is_sent_behind_the_end(evidence: Evidence) -> None:
    cancelled = _ended_turn(evidence, "cancel")
    idle = cancelled.idle
    since = idle.place + 1 if idle is not None else 0
    for entry, update in cancelled.run.updates(cancelled.session, "state_update", since=since):
        # A state is a snapshot: repeating it changes nothing.
        if update.get("state") != "idle" or update.get("stopReason") not in {None, cancelled.reason}:
            raise Violation("a state was sent behind the end of a cancelled turn", cancelled.idle, entry)


@judge("ACP-CANCEL-203", steps=("cancel",))
def a_cancellation_is_no_error_and_no_other_known_reason(evidence: Evidence) -> None:
    cancelled = stopped_turn(evidence, "cancel")
    for entry, message in cancelled.run.answers(cancelled.prompt.entry.message["id"]):
        if "error" in message:
            raise Violation("a cancellation was reported as an error", cancelled.by, entry)
    if cancelled.reason in STOP_REASONS - {"cancelled"}:
        raise Violation(f"a cancelled turn ended with {cancelled.reason!r}", cancelled.by, cancelled.idle)


@judge("ACP-CANCEL-204", steps=("cancel",))
def how_soon_work_stops(evidence: Evidence) -> str:
    failure = evidence.begun("cancel").failure
    if failure is not None and failure.blame != "ACP-CANCEL-201":
        recorded(evidence, "cancel")
    cancelled = stopped_turn(evidence, "cancel")
    if cancelled.idle is None:
        return "it never stopped"
    seconds = cancelled.idle.seconds - cancelled.by.seconds
    return "at once" if seconds < AT_ONCE_SECONDS else f"after {seconds:.2f} s"


@judge("ACP-CANCEL-205", steps=("cancel",))
def nothing_answers_a_cancellation(evidence: Evidence) -> None:
    run = evidence.begun("cancel")
    by = next((entry for entry in run.entries[run.start : run.end] if _is_cancel(entry)), None)
    if by is None:
        raise run.failure or Inconclusive("nothing was cancelled")
    asked = [entry.message["id"] for entry in run.entries if entry.sent and _has_id(entry)]
    for entry, message in messages_in(run.entries[by.place : run.end]):
        if "method" not in message and "id" in message and not any(is_answer(message, id_) for id_ in asked):
            raise Violation("a cancellation was answered", by, entry)


def _is_cancel(entry: Entry) -> bool:
    return entry.sent and isinstance(entry.message, dict) and entry.message.get("method") == "session/cancel"


def _has_id(entry: Entry) -> bool:
    return isinstance(entry.message, dict) and entry.message.get("id") is not None


@judge("ACP-CANCEL-206", steps=("cancel", "cancel_with_meta"), editions=JUNE_V2)
def a_cancellation_needs_no_more_than_the_session(evidence: Evidence) -> None:
    for name, what in (("cancel", "with the session's id alone"), ("cancel_with_meta", "with metadata")):
        if evidence.edition == "v2":
            cancelled = stopped_turn(evidence, name)
            end = cancelled.idle
        else:
            cancelled = _stopped_prompt(evidence, name)
            end = cancelled.prompt.answer_entry
        if end is None:
            reason = f"a cancellation {what} was not obeyed"
            raise StepFailed(reason, unending(evidence, "ACP-CANCEL-206"), cancelled.by)


@judge("ACP-CANCEL-207", steps=("cancel",))
def no_word_of_the_agents_own_stands_in_for_cancelled(evidence: Evidence) -> None:
    cancelled = stopped_turn(evidence, "cancel")
    reason = cancelled.reason
    if reason is not None and reason not in STOP_REASONS and not is_extension(reason):
        raise Violation(f"a cancelled turn ended with {reason!r}", cancelled.by, cancelled.idle)


def closed_turn(evidence: Evidence) -> tuple[CancelledTurn, RecordedRequest]:
    """The turn that `session/close` stopped, and that request."""
    closed = stopped_turn(evidence, "closing", "session/close")
    (busy,) = [each for each in our_requests_in(closed.run, "session/close") if each.entry is closed.by]
    return closed, busy


@judge("ACP-CANCEL-208", steps=("closing",))
def closing_is_a_cancellation(evidence: Evidence) -> None:
    closed, busy = closed_turn(evidence)
    if closed.idle is None:
        raise Inconclusive("closing the session did not end its work")
    if closed.reason != "cancelled":
        raise Violation(f"closing a session ended its work with {closed.reason!r}", busy.entry, closed.idle)


def _messages_behind(run: StepResult, place: int, session: str) -> str:
    """The reaction to a cancellation, up to the next sign of life."""
    kinds = [str(update.get("state") or update.get("sessionUpdate")) for _, update in run.updates(session, since=place)]
    answered = [each for _, each in messages_in(run.entries[place : run.end]) if each.get("id", 0) is None]
    return ", ".join([*kinds, *("an error" for _ in answered)]) or "nothing"


@judge("ACP-INFO-CANCEL-201", steps=("unknown_session", "unanswered_permission"))
def what_a_cancellation_of_nothing_does(evidence: Evidence) -> str:
    unknown, idle = recorded(evidence, "unknown_session"), recorded(evidence, "unanswered_permission")
    return (
        f"unknown session: {_messages_behind(unknown, unknown['cancel'], 'nobody')}; "
        f"idle session: {_messages_behind(idle, idle['idle_cancel'], idle['session'])}"
    )


@judge("ACP-INFO-CANCEL-202", steps=("unanswered_permission",))
def whether_the_agent_takes_its_questions_back(evidence: Evidence) -> str:
    run = recorded(evidence, "unanswered_permission")
    skip_unless(run["asked"], "the agent asked for no permission")
    back = [entry for entry, _ in run.calls("$/cancel_request") if entry.place > run["cancel"]]
    return "taken back" if back else "left open"


def must_be_taken_back(run: StepResult, before: int) -> None:
    """There was a `$/cancel_request` for the question of a step, after its cancellation and before a place."""
    id_ = key_of(run["asked"].message["id"])
    for entry, call in run.calls("$/cancel_request"):
        params = call.get("params")
        is_this = isinstance(params, dict) and key_of(params.get("requestId")) == id_
        if is_this and run["cancelled"] < entry.place < before:
            return
    raise Violation("there was no $/cancel_request for it", run["asked"], run["idle"])


@step(gate=SESSIONS, order=70)
async def two_prompts(agent: AgentConversation) -> Notes:
    """A second prompt before the first one ended; then both are cancelled."""
    session = await agent.new()
    since = agent.now
    first = await agent.begin(session)
    second = agent.prompt(session, agent.options.prompt)
    place = agent.notify("session/cancel", {"sessionId": session})
    await end_of_cancelled(agent, session, first, since)
    await answer_or_none(agent, second, agent.options.turn_seconds)
    alive = await agent.is_alive()
    return {"session": session, "first": first, "second": second, "cancel": place, "alive": alive}


@judge("ACP-INFO-CONCURRENT-201", steps=("two_prompts",))
def what_happens_to_a_second_prompt(evidence: Evidence) -> str:
    run = recorded(evidence, "two_prompts")
    answers = run.answers(run["second"])
    if not answers:
        return "not answered"
    entry, answer = answers[0]
    error = answer.get("error")
    what = f"refused with {error.get('code')}" if isinstance(error, dict) else "accepted"
    return f"{what} {'before' if entry.place < run['cancel'] else 'after'} the first was cancelled"
