"""`session/prompt`: answers, the order of updates, and the states of a session (v2)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from accord.check.agent.conversation import AgentConversation, step
from accord.check.agent.exchange import TRACE, settle, settle_cancelled, shows_life, wait_for_answers, wait_or_none
from accord.check.agent.queries import (
    FINAL,
    dicts,
    is_extension,
    is_whole,
    must_be_refused,
    our_requests,
    updates_by_session,
    updates_of,
)
from accord.check.agent.schema import is_judged_by_schema, misfit
from accord.check.agent.turns import STOP_REASONS, idle_behind, prompts_of, turns_in
from accord.check.engine.evidence import (
    CANCELLED,
    Entry,
    Evidence,
    StepResult,
    Violation,
    is_answer,
    is_state,
    is_update,
    messages_in,
    skip_if,
    skip_unless,
)
from accord.check.engine.judging import Notes, judge
from accord.check.engine.shape import Payload, shape_of
from accord.check.rule import JUNE, SESSIONS, V1, V2, RuleRow, agent_rules

# fmt: off
RULES = agent_rules(
    RuleRow("ACCORD-ORDER-001", "AA-", "prompt-turn", gate="session",
        says="The updates of a turn are sent before its prompt is answered"),
    RuleRow("ACCORD-PROMPT-205", "--C", "prompt-turn", gate="session",
        says="A prompt is answered without waiting for the end of the work"),
    RuleRow("ACCORD-PROMPT-206", "--C", "prompt-turn", gate="session",
        says="Prompts are inserted in the order in which they came"),
    RuleRow("ACCORD-PROMPT-207", "--C", "prompt-turn", gate="session",
        says="A held prompt that is taken back gets -32800 and is never inserted"),
    RuleRow("ACP-PROMPT-001", "MC-", ("#StopReason", "prompt-turn", ""), gate="session", says=(
        "A prompt of text ends with a stop reason that v1 knows",
        "A prompt of text ends with a stop reason that June knows, or that starts with an underscore",
        "",
    )),
    RuleRow("ACP-PROMPT-002", "MC-", "prompt-turn", gate="session",
        says="The updates of a turn fit the schema and name the session that was prompted"),
    RuleRow("ACP-PROMPT-201", "--C", "prompt-turn", gate="session",
        says="A prompt is answered with the id of its message and not with a stop reason"),
    RuleRow("ACP-PROMPT-203", "--C", "prompt-turn", gate="session",
        says="The user's message is shown under the id in that answer before the turn ends"),
    RuleRow("ACP-PROMPT-205", "--C", "prompt-turn", gate="session",
        says="The updates of a turn fit the schema and name the session that was prompted"),
    RuleRow("ACCORD-STATE-201", "--C", "prompt-turn", gate="session",
        says="Background work is part of every state of a session, or of none"),
    RuleRow("ACCORD-STATE-202", "--C", "#BackgroundWork", gate="session",
        says="Background work is announced before it is listed"),
    RuleRow("ACCORD-STATE-203", "--C", "#BackgroundWork", gate="session",
        says="The end of background work is reported before it leaves the list"),
    RuleRow("ACCORD-STATE-204", "--A", "#ErrorStopReason", "Work that failed says why", gate="session"),
    RuleRow("ACCORD-STATE-205", "--A", "#IdleStateUpdate", "An idle that ends work says why it ended", gate="session"),
    RuleRow("ACCORD-STATE-206", "--C", "#BackgroundWork", gate="session",
        says="Each piece of background work is listed once"),
    RuleRow("ACP-STATE-201", "--C", "prompt-turn", gate="session",
        says="The idle that ends a turn comes behind a state that says work is going on"),
    RuleRow("ACP-STATE-202", "--C", "prompt-turn", "A turn ends with an idle, in time", gate="session"),
    RuleRow("ACP-STATE-203", "--C", "#IdleStateUpdate", gate="session",
        says="A stop reason is a known word or starts with an underscore"),
)
# fmt: on


LINK = {"type": "resource_link", "uri": "file:///notes.txt", "name": "notes.txt"}

_OF_A_TURN = (
    "agent_message_chunk",
    "agent_message",
    "agent_thought_chunk",
    "agent_thought",
    "tool_call",
    "tool_call_update",
    "tool_call_content_chunk",
    "plan",
    "plan_update",
)

STOP_REASONS_OF_V1 = ("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled")
REASONS = STOP_REASONS - {"error"}
ECHOES = ("user_message", "user_message_chunk")


@step(gate=SESSIONS, order=10)
async def turns(agent: AgentConversation) -> Notes:
    """Three prompts: with text, with a link, with metadata; each note is the id of the request."""
    session = await agent.new()
    plain = await agent.turn(session)
    link = await agent.turn(session, agent.options.prompt, LINK)
    meta = await agent.turn(session, agent.options.prompt, _meta=TRACE)
    return {"session": session, "words": plain, "link": link, "meta": meta, "alive": await agent.is_alive()}


@step("bare", editions=V2, gate=SESSIONS)
async def v2_prompts_in_order(agent: AgentConversation) -> Notes:
    """Three prompts at once: at least two of them wait, where prompts wait."""
    session = await agent.new()
    since = agent.now
    ids = [agent.prompt(session, agent.options.prompt) for _ in range(3)]
    for id_ in ids:
        answer = await agent.answer(id_, "ACP-PROMPT-201", 3 * agent.options.turn_seconds)
        if "result" in answer:
            await settle(agent, session, _place_of_message(agent, session, answer, since))
    return {"session": session, "since": since, "ids": ids}


def _place_of_message(agent: AgentConversation, session: str, answer: dict[str, Any], since: int) -> int:
    """The place of the message of a prompt; `since` if there is none."""
    message_id = answer["result"].get("messageId") if isinstance(answer["result"], dict) else None
    for entry in agent.wire.entries[since:]:
        is_echo = is_update(entry.message, session, "user_message", "user_message_chunk")
        if is_echo and entry.message["params"]["update"].get("messageId") == message_id:
            return entry.place
    return since


@step("bare", editions=V2, gate=SESSIONS)
async def v2_prompt_taken_back(agent: AgentConversation) -> Notes:
    """A prompt behind work that goes on is taken back, and so is the one that began the work."""
    session = await agent.new()
    since = agent.now
    working = await agent.begin(session)
    await wait_or_none(agent, lambda entry: is_answer(entry.message, working), since, agent.options.timeout_seconds)
    answered_by = agent.now
    agent.notify("$/cancel_request", {"requestId": working})
    behind = agent.prompt(session, agent.options.prompt)
    await shows_life(agent)
    agent.notify("$/cancel_request", {"requestId": behind})
    await shows_life(agent)
    idle = await settle_cancelled(agent, session, since)
    await wait_for_answers(agent, behind, working)
    return {"session": session, "working": working, "behind": behind, "answered_by": answered_by, "idle": idle}


@judge("ACCORD-ORDER-001", steps=("two_turns", "allowed_work"))
def what_belongs_to_a_turn_comes_before_its_answer(evidence: Evidence) -> None:
    turns = [turn for turn in turns_in(evidence) if turn.is_whole]
    skip_unless(turns, "no turn came to its own end")
    for turn in turns:
        since = turn.answered.place if turn.answered else 0
        for entry in turn.record.entries[since : turn.end]:
            if not entry.sent and is_update(entry.message, turn.session, *_OF_A_TURN):
                raise Violation("it was sent after the answer to its prompt", turn.answered, entry)


@judge("ACP-PROMPT-001", steps=("turns",), editions=V1)
def a_prompt_ends_with_a_known_stop_reason(evidence: Evidence) -> str:
    run = evidence.step("turns")
    return _stop_reason(run, run["words"])


def _stop_reason(run: StepResult, prompt: Any) -> str:
    result = run.result(prompt)
    reason = result.get("stopReason") if isinstance(result, dict) else None
    if reason not in STOP_REASONS_OF_V1:
        raise run.violation(f"the stop reason is {reason!r}", prompt)
    return str(reason)


@judge("ACP-PROMPT-002", steps=("turns",), editions=V1)
def the_updates_of_a_turn_are_those_of_its_session(evidence: Evidence) -> str:
    run = evidence.step("turns")
    opened = _sessions(run)
    count = 0
    for prompt in (run["words"], run["link"], run["meta"]):
        request, answer = run.request_entry(prompt), run.answer_entry(prompt)
        for entry, message in messages_in(run.entries[request.place if request else 0 : answer.place]):
            if message.get("method") == "session/update":
                _check_update(entry, message.get("params"), opened)
                count += 1
    return f"{count} updates"


def _check_update(entry: Entry, params: Any, opened: set[Any]) -> None:
    payload = Payload(entry, "session/update", params, is_result=False)
    if is_judged_by_schema(payload):
        return
    shape = shape_of("v1", payload)
    if shape.problem:
        raise Violation(f"{shape.field or 'an update'} does not fit: expected {shape.problem}", entry)
    if params["sessionId"] not in opened:
        raise Violation("an update of the turn names another session than the one that was prompted", entry)


def _sessions(run: StepResult) -> set[Any]:
    """The sessions that were opened so far in this process: each of them may send updates."""
    results = [message.get("result") for _, message in messages_in(run.entries[: run.end])]
    ids = [result.get("sessionId") for result in results if isinstance(result, dict)]
    return {run["session"], *(id_ for id_ in ids if isinstance(id_, str))}


@judge("ACP-PROMPT-001", steps=("turns",), editions=JUNE, name="a_prompt_ends_with_a_known_stop_reason")
def a_prompt_ends_with_a_known_stop_reason_in_june(evidence: Evidence) -> str:
    prompt = prompts_of(evidence, "turns")[0]
    if prompt.result is None:
        raise prompt.violation("a prompt was not answered with a result")
    reason = prompt.result.get("stopReason")
    if reason not in REASONS and not is_extension(reason):
        raise prompt.violation(f"the stop reason is {reason!r}")
    return str(reason)


def accepted_message_id(answer: dict[str, Any]) -> Any:
    """The id that the answer to a prompt gives its message."""
    result = answer.get("result")
    return result.get("messageId") if isinstance(result, dict) else None


@judge("ACCORD-PROMPT-205", steps=("v2_prompt_taken_back",))
def the_answer_does_not_wait_for_the_work(evidence: Evidence) -> None:
    run = evidence.step("v2_prompt_taken_back")
    asked, answer = run.request_entry(run["working"]), run.answer_entry(run["working"])
    skip_if("error" in run.answer(run["working"]), "the prompt was refused")
    since = asked.place if asked else 0
    idle = run.first(lambda message: is_state(message, run["session"], "idle"), since, answer.place)
    if idle is not None or answer.place >= run["answered_by"]:
        raise Violation("the answer came only when the work had ended", asked, answer)


@judge("ACCORD-PROMPT-206", steps=("v2_prompts_in_order",))
def prompts_keep_their_order(evidence: Evidence) -> None:
    run = evidence.step("v2_prompts_in_order")
    places = [user_message_entry(run, id_) for id_ in run["ids"]]
    found = [entry for entry in places if entry is not None]
    skip_if(len(found) < len(places), "not every prompt was inserted")
    for before, after in pairwise(found):
        if before.place > after.place:
            raise Violation("a later prompt was inserted first", after, before)


def user_message_entry(run: StepResult, id_: Any) -> Entry | None:
    """The first line with the message of a prompt, under the id in the answer to the prompt."""
    message_id = accepted_message_id(run.answer(id_))
    for entry, update in run.updates(run["session"], *ECHOES):
        if message_id is not None and update.get("messageId") == message_id:
            return entry
    return None


@judge("ACCORD-PROMPT-207", steps=("v2_prompt_taken_back",))
def a_prompt_that_is_taken_back_is_not_inserted(evidence: Evidence) -> None:
    run = evidence.step("v2_prompt_taken_back")
    skip_if("result" in run.answer(run["behind"]), "no prompt was held: it was inserted at once")
    must_be_refused(run, run["behind"], CANCELLED)
    kept = accepted_message_id(run.answer(run["working"]))
    asked = run.request_entry(run["behind"])
    for entry, update in run.updates(run["session"], *ECHOES, since=asked.place if asked else 0):
        if update.get("messageId") != kept:
            raise Violation("it was inserted nevertheless", run.answer_entry(run["behind"]), entry)


@judge("ACP-PROMPT-201", steps=("turns",))
def a_prompt_is_answered_with_the_id_of_its_message(evidence: Evidence) -> None:
    first = prompts_of(evidence, "turns")[0]
    if first.result is None:
        raise first.violation("a prompt was not answered with a result")
    for prompt in our_requests(evidence, "session/prompt"):
        if prompt.result is None:
            continue
        if not is_whole(prompt.result.get("messageId")):
            raise prompt.violation(f"the answer to a prompt has the messageId {prompt.result.get('messageId')!r}")
        if "stopReason" in prompt.result:
            raise prompt.violation("the answer to a prompt has a stop reason")


@judge("ACP-PROMPT-203", steps=("turns",))
def the_message_of_the_user_is_shown_before_the_turn_ends(evidence: Evidence) -> None:
    judged = 0
    for prompt in prompts_of(evidence, "turns"):
        message_id = (prompt.result or {}).get("messageId")
        idle = idle_behind(prompt)
        if not is_whole(message_id) or idle is None:
            continue
        shown = [
            message["params"]["update"].get("messageId")
            for _, message in messages_in(prompt.record.entries[prompt.entry.place : idle.place])
            if is_update(message, prompt.params["sessionId"], "user_message", "user_message_chunk")
        ]
        if message_id not in shown:
            raise Violation(f"the message {message_id!r} was not shown before the idle", prompt.answer_entry, idle)
        judged += 1
    skip_unless(judged, "no turn had both a messageId and an end")


@judge("ACP-PROMPT-205", steps=("turns",), editions=V2)
@judge("ACP-PROMPT-002", steps=("turns",), editions=JUNE)
def the_updates_of_a_turn_fit_and_are_those_of_its_session(evidence: Evidence) -> None:
    prompts = prompts_of(evidence, "turns")
    run = evidence.begun("turns")
    ours = {each.params.get("sessionId") for each in our_requests(evidence, "session/prompt")}
    ours |= {(each.result or {}).get("sessionId") for each in our_requests(evidence, "session/new")}
    for entry, message in messages_in(run.entries[prompts[0].entry.place : run.end]):
        if message.get("method") != "session/update":
            continue
        params = message.get("params")
        wrong = misfit(evidence.edition, "session/update", params, is_result=False)
        if wrong:
            raise Violation(f"an update does not fit: {wrong}", entry)
        if not isinstance(params, dict) or params.get("sessionId") not in ours:
            raise Violation("an update is about a session that there is not", prompts[0].entry, entry)


@judge("ACCORD-STATE-201", steps=("v2_finished_things",))
def background_work_is_always_reported(evidence: Evidence) -> None:
    reporting = 0
    for states in updates_by_session(evidence, "state_update"):
        telling = [each for each in states if isinstance(each.update.get("background"), list)]
        silent = [each for each in states if each.update.get("background") is None]
        reporting += len(telling)
        if telling and silent:
            raise Violation("one state has background work, the other has not", telling[0].entry, silent[0].entry)
    skip_unless(reporting, "no background work is reported")


def _items(update: dict[str, Any]) -> set[str]:
    """The ids of the background work that an update lists, with their kind, since ids of two kinds may be equal."""
    found = set()
    for item in dicts(update, "background"):
        for name in ("terminalId", "toolCallId"):
            if isinstance(item.get(name), str):
                found.add(f"{name} {item[name]}")
    return found


def _subjects(update: dict[str, Any]) -> set[str]:
    """The ids that an update other than a state names, in the same form."""
    return {f"{name} {update[name]}" for name in ("terminalId", "toolCallId") if isinstance(update.get(name), str)}


@judge("ACCORD-STATE-202", steps=("v2_finished_things",))
def background_work_is_announced(evidence: Evidence) -> None:
    listed = 0
    for updates in updates_by_session(evidence):
        announced: set[str] = set()
        for each in updates:
            items = _items(each.update)
            listed += len(items)
            if items - announced:
                raise Violation(f"{min(items - announced)} was never reported", each.entry)
            announced |= _subjects(each.update)
    skip_unless(listed, "no background work is listed")


@judge("ACCORD-STATE-203", steps=("v2_finished_things",))
def the_end_of_background_work_is_reported(evidence: Evidence) -> None:
    dropped = 0
    for updates in updates_by_session(evidence):
        before: set[str] = set()
        ended: set[str] = set()
        for each in updates:
            if each.update.get("status") in FINAL or each.update.get("exitStatus") is not None:
                ended |= _subjects(each.update)
            if isinstance(each.update.get("background"), list):
                now = _items(each.update)
                dropped += len(before - now)
                if before - now - ended:
                    raise Violation(f"the end of {min(before - now - ended)} was not reported", each.entry)
                before = now
    skip_unless(dropped, "no background work has ended")


@judge("ACCORD-STATE-204", steps=("v2_finished_things",))
def failures_say_why(evidence: Evidence) -> None:
    failed = [each for each in updates_of(evidence, "state_update") if each.update.get("stopReason") == "error"]
    skip_unless(failed, "no work has failed")
    for each in failed:
        if not isinstance(each.update.get("error"), dict):
            raise Violation("there is no error", each.entry)


@judge("ACCORD-STATE-205", steps=("v2_prompts_in_order",))
def ends_say_why(evidence: Evidence) -> None:
    run = evidence.step("v2_prompts_in_order")
    is_working = False
    ends = 0
    for entry, update in run.updates(run["session"], "state_update", since=run["since"]):
        if is_working and update.get("state") == "idle":
            ends += 1
            if update.get("stopReason") is None:
                raise Violation("there is no stop reason", entry)
        is_working = update.get("state") != "idle"
    skip_unless(ends, "no work has ended")


@judge("ACCORD-STATE-206", steps=("v2_finished_things",))
def background_work_is_listed_once(evidence: Evidence) -> None:
    listed = 0
    for each in updates_of(evidence, "state_update"):
        items = [repr(sorted(item.items())) for item in dicts(each.update, "background")]
        listed += len(items)
        if len(items) != len(set(items)):
            raise Violation("something is listed twice", each.entry)
    skip_unless(listed, "no background work is listed")


@judge("ACP-STATE-201", steps=("turns",))
def work_is_reported_before_its_end(evidence: Evidence) -> None:
    judged = 0
    for prompt in prompts_of(evidence, "turns"):
        idle = idle_behind(prompt)
        if prompt.result is None or idle is None:
            continue
        before = prompt.record.entries[prompt.entry.place : idle.place]
        session = prompt.params["sessionId"]
        if not any(is_state(message, session, "running", "requires_action") for _, message in messages_in(before)):
            raise Violation("a turn became idle without having been running", prompt.entry, idle)
        judged += 1
    skip_unless(judged, "no turn became idle")


@judge("ACP-STATE-202", steps=("turns",))
def a_turn_becomes_idle(evidence: Evidence) -> None:
    for prompt in prompts_of(evidence, "turns"):
        if prompt.result is not None and idle_behind(prompt) is None:
            states = [
                entry
                for entry, message in messages_in(prompt.record.entries[prompt.entry.place :])
                if is_update(message, prompt.params["sessionId"], "state_update")
            ]
            raise Violation("the session never became idle", prompt.entry, *states[-1:])


@judge("ACP-STATE-203", steps=("turns",))
def a_stop_reason_is_known(evidence: Evidence) -> str:
    reasons = set()
    for prompt in prompts_of(evidence, "turns"):
        idle = idle_behind(prompt)
        reason = None if idle is None else _reason(idle)
        if reason is None:
            continue
        if reason not in STOP_REASONS and not is_extension(reason):
            raise Violation(f"the stop reason is {reason!r}", prompt.entry, idle)
        reasons.add(str(reason))
    skip_unless(reasons, "no idle had a stop reason, which v2 does not demand")
    return ", ".join(sorted(reasons))


def _reason(idle: Entry) -> object:
    for _, message in messages_in([idle]):
        if is_update(message, None, "state_update"):
            reason: object = message["params"]["update"].get("stopReason")
            return reason
    return None
