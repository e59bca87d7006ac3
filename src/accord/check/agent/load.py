"""`session/load`: the replay of a session."""

from __future__ import annotations

from typing import Any

from accord.check.agent.conversation import AgentConversation, can, step
from accord.check.agent.exchange import UNKNOWN_ID, ask_and_wait, closed
from accord.check.agent.queries import (
    RecordedRequest,
    as_dict,
    completed,
    judge_refusals,
    our_requests_in,
    succeeds,
)
from accord.check.agent.turns import TURN_KINDS, until_asked
from accord.check.engine.evidence import (
    Entry,
    Evidence,
    Inconclusive,
    StepFailed,
    StepResult,
    Violation,
    is_update,
    messages_in,
    skip_if,
    skip_unless,
)
from accord.check.engine.judging import Notes, judge
from accord.check.engine.shape import Payload, shape_of
from accord.check.rule import JUNE, SESSIONS, V1, V1_JUNE, RuleRow, agent_rules, gate

# fmt: off
RULES = agent_rules(
    RuleRow("ACCORD-LOAD-001", "CC-", "session-setup", "What the user said is part of a replay", gate="load"),
    RuleRow("ACCORD-LOAD-002", "CC-", "session-setup", gate="load",
        says="What the agent said is part of a replay, in its order"),
    RuleRow("ACCORD-LOAD-003", "AA-", "session-setup", "A session that never was cannot be loaded", gate="load"),
    RuleRow("ACP-LOAD-001", "CC-", "session-setup", "A session can be loaded", gate="load"),
    RuleRow("ACP-LOAD-002", "CC-", "session-setup", gate="load", says=(
        "A loaded session is replayed before the answer, and no history comes behind it",
        "A loaded session is replayed before the answer",
        "",
    )),
    RuleRow("ACP-LOAD-003", "AA-", "session-setup", gate="load",
        says="The answer to a load is an object, also when it has nothing to say"),
)
# fmt: on


_LAST_CHUNKS = 3
"""How many of the last chunks count as the last message where messages have no ids."""

HISTORY_OF_JUNE = (
    "user_message",
    "agent_message",
    "agent_thought",
    "user_message_chunk",
    "agent_message_chunk",
    "agent_thought_chunk",
    "tool_call_update",
    "tool_call_content_chunk",
    "plan_update",
)


@step("again", editions=V1_JUNE, gate=gate("load"), order=30)
async def load_two_turns(agent: AgentConversation) -> Notes:
    """The session with two turns of another process, and one that never existed."""
    before = agent.notes.get("two_turns")
    if before is None:
        raise StepFailed("there is no session from before")
    params = {"sessionId": before["session"], "cwd": agent.cwd, "mcpServers": []}
    since = agent.now
    load = agent.ask("session/load", params)
    await agent.answer(load, "ACP-LOAD-001")
    answered = agent.now
    await agent.is_alive()
    notes: Notes = {"session": before["session"], "words": before["words"], "load": load}
    return {**notes, "since": since, "answered": answered, "late": agent.now}


@step("bare", editions=V1_JUNE, gate=gate("load"), order=78)
async def load_unknown(agent: AgentConversation) -> Notes:
    id_ = agent.ask("session/load", {"sessionId": UNKNOWN_ID, "cwd": agent.cwd, "mcpServers": []})
    await agent.answer(id_, "ACCORD-LOAD-003")
    return {"load": id_}


def kept_session(agent: AgentConversation) -> Notes:
    """The notes of the session that an earlier process left behind."""
    kept = agent.notes.get("keep")
    if kept is None:
        raise StepFailed("no session could be left behind by an earlier process")
    return dict(kept)


@step("again", gate=gate("load") | {"v2": ""}, editions=V1_JUNE, order=10)
async def load_after_restart(agent: AgentConversation) -> Notes:
    """Two sessions of another process are loaded: one without a turn, then one with."""
    kept = kept_session(agent)
    empty = await loaded(agent, kept["empty"])
    return {"empty": empty["load"], **await loaded(agent, kept["session"])}


@step(gate=SESSIONS, order=40)
async def keep(agent: AgentConversation) -> Notes:
    """A session with a turn and an empty one, left behind; `prompt` is the answer to the turn's request.

    `to_resume` is another such pair where sessions can be loaded too: the next process has the first pair open.
    """
    notes = await _left_behind(agent)
    if agent.edition != "v2" and can(agent, "load") and can(agent, "resume"):
        notes["to_resume"] = await _left_behind(agent)
    return notes


async def _left_behind(agent: AgentConversation) -> Notes:
    session = await agent.new()
    prompt = await agent.turn(session, agent.options.prompt + " (äöü 🎼)")
    return {"session": session, "prompt": await agent.answer(prompt), "empty": await agent.new()}


@step(gate=gate("load") | {"v2": ""}, editions=V1_JUNE, order=41)
async def load(agent: AgentConversation) -> Notes:
    """A session is closed and loaded again; `turn` is the request of the turn that it has.

    Nothing says that an agent must load what is open. Where it cannot close, `load` is missing: the next process has
    `load_after_restart`.
    """
    session = await agent.new()
    turn = await agent.turn(session)
    if not await closed(agent, session):
        return {"turn": turn, "session": session}
    return {"turn": turn, **await loaded(agent, session)}


async def loaded(agent: AgentConversation, session: str) -> Notes:
    load_ = await ask_and_wait(agent, "session/load", {"sessionId": session, "cwd": agent.cwd, "mcpServers": []})
    return {"session": session, "load": load_, "alive": await agent.is_alive()}


def _texts(updates: list[tuple[Entry, dict[str, Any]]]) -> str:
    """The text of some messages, without white space."""
    texts: list[str] = []
    for _, update in updates:
        content = update.get("content")
        blocks = content if isinstance(content, list) else [content]
        texts.extend(str(as_dict(block).get("text", "")) for block in blocks)
    return "".join("".join(texts).split())


def _replayed(evidence: Evidence) -> tuple[StepResult, list[tuple[Entry, dict[str, Any]]]]:
    run, before = completed(evidence, "load_two_turns"), completed(evidence, "two_turns")
    skip_if(any("error" in before.answer(id_) for id_ in before["prompts"]), "the prompts before failed")
    skip_if("error" in run.answer(run["load"]), "it could not be loaded")
    session, answered = run["session"], run["answered"]
    kinds = ("user_message_chunk", "user_message", "agent_message_chunk", "agent_message")
    skip_if(run.updates(session, *kinds, since=answered), "the replay goes on after the answer")
    return run, run.updates(session, since=run["since"], before=answered)


def _of(updates: list[tuple[Entry, dict[str, Any]]], *kinds: str) -> list[tuple[Entry, dict[str, Any]]]:
    return [(entry, update) for entry, update in updates if update.get("sessionUpdate") in kinds]


@judge("ACCORD-LOAD-001", steps=("two_turns", "load_two_turns"))
def what_the_user_said_is_replayed(evidence: Evidence) -> None:
    run, updates = _replayed(evidence)
    texts = "".join(str(run["words"]).split())
    if texts not in _texts(_of(updates, "user_message_chunk", "user_message")):
        raise run.violation("the prompt is not in the replay", run["load"])


@judge("ACCORD-LOAD-002", steps=("two_turns", "load_two_turns"))
def what_the_agent_said_is_replayed_in_its_order(evidence: Evidence) -> None:
    run, updates = _replayed(evidence)
    kinds = ("agent_message_chunk", "agent_message")
    replay, place = _texts(_of(updates, *kinds)), 0
    for said in _last_messages(completed(evidence, "two_turns"), kinds):
        place = replay.find(said, place)
        if place < 0:
            raise run.violation(f"what it said is not in the replay: {said[:60]!r}", run["load"])
        place += len(said)


def _last_messages(run: StepResult, kinds: tuple[str, ...]) -> list[str]:
    """The last message of each turn: earlier ones may be transient, such as a notice."""
    found: list[str] = []
    for id_ in run["prompts"]:
        request, answer = run.request_entry(id_), run.answer_entry(id_)
        since = request.place if request else 0
        part: list[tuple[Entry, dict[str, Any]]] = []
        for entry, update in run.updates(run["session"], *kinds, since=since, before=answer.place):
            if part and update.get("messageId") != part[-1][1].get("messageId"):
                part.clear()
            part.append((entry, update))
        found.append(_texts(part[-_LAST_CHUNKS:]))
    skip_unless(any(found), "it said nothing in the turns before")
    return found


def reopening(run: StepResult, id_: Any, what: str) -> StepResult:
    """A step with one request that succeeded; another rule judges whether it does."""
    if not any("result" in answer for _, answer in run.answers(id_)):
        raise Inconclusive(f"the session was not {what}")
    return run


def reopened(evidence: Evidence, name: str, note: str) -> StepResult:
    """The step in which a session was opened again: in the same process, or in the next if it could not be closed."""
    run = evidence.step(name)
    return run if note in run.notes else evidence.step(f"{name}_after_restart")


@judge("ACP-LOAD-001", steps=("load", "load_after_restart", "keep"), editions=V1)
def a_session_can_be_loaded(evidence: Evidence) -> None:
    run = reopened(evidence, "load", "load")
    result = succeeds(run, run["load"])
    answer = run.answer_entry(run["load"])
    if result is not None:
        shape = shape_of("v1", Payload(answer, "session/load", result, is_result=True))
        if shape.problem:
            raise Violation(f"{shape.field or 'the result'} does not fit: expected {shape.problem}", answer)


@judge("ACP-LOAD-002", steps=("load", "load_after_restart", "keep"), editions=V1)
def a_loaded_session_is_replayed_before_the_answer(evidence: Evidence) -> str:
    run = reopened(evidence, "load", "load")
    reopening(run, run["load"], "loaded")
    request, answer = run.request_entry(run["load"]), run.answer_entry(run["load"])
    asked = request.place if request else 0
    after = until_asked(run, answer.place)
    late = run.updates(run["session"], *TURN_KINDS, since=answer.place + 1, before=after)
    if late:
        raise Violation("a part of the history comes behind the answer to the load", answer, late[0][0])
    replayed = run.updates(run["session"], *TURN_KINDS, since=asked, before=answer.place)
    updates = run.updates(run["session"], *TURN_KINDS, before=asked)
    if run.name == "load_after_restart":
        updates = evidence.step("keep").updates(run["session"], *TURN_KINDS)
    if updates and not replayed:
        raise Violation("nothing of the conversation is replayed", updates[0][0], answer)
    return f"{len(replayed)} updates"


@judge("ACP-LOAD-003", steps=("load", "load_after_restart", "keep"), editions=V1)
def the_answer_to_a_load_is_an_object(evidence: Evidence) -> None:
    run = reopened(evidence, "load", "load")
    reopening(run, run["load"], "loaded")
    if run.result(run["load"]) is None:
        raise run.violation("the answer to a load is null, not an empty object", run["load"])


def tried_in_june(evidence: Evidence, method: str, *names: str) -> list[RecordedRequest]:
    """The requests by a method in some steps."""
    run = [evidence.begun(name) for name in names]
    found = [each for one in run for each in our_requests_in(one, method)]
    if not found:
        raise next((one.failure for one in run if one.failure), Inconclusive("it was not tried"))
    return found


def succeeded_in_june(evidence: Evidence, method: str, *names: str) -> list[RecordedRequest]:
    """The requests by a method, in some steps, that succeeded."""
    found = [each for each in tried_in_june(evidence, method, *names) if "result" in each.answer]
    skip_unless(found, "it did not succeed")
    return found


@judge("ACP-LOAD-001", steps=("load", "load_after_restart", "keep"), editions=JUNE, name="a_session_can_be_loaded")
def a_session_can_be_loaded_in_june(evidence: Evidence) -> None:
    tried = tried_in_june(evidence, "session/load", "load", "load_after_restart")
    if not any("result" in each.answer for each in tried):
        raise tried[0].violation("no session could be loaded")


@judge(
    "ACP-LOAD-002",
    steps=("load", "load_after_restart", "keep"),
    editions=JUNE,
    name="a_loaded_session_is_replayed_before_the_answer",
)
def a_loaded_session_is_replayed_before_the_answer_in_june(evidence: Evidence) -> None:
    for each in succeeded_in_june(evidence, "session/load", "load", "load_after_restart"):
        since = each.answer_entry.place if each.answer_entry else 0
        # Messages of later steps are not part of this replay.
        until = each.record.end if isinstance(each.record, StepResult) else None
        for entry, message in messages_in(each.record.entries[since:until]):
            if is_update(message, each.params["sessionId"], *HISTORY_OF_JUNE):
                raise Violation("a part of a replay came behind the answer to the load", each.answer_entry, entry)


@judge(
    "ACP-LOAD-003",
    steps=("load", "load_after_restart", "keep"),
    editions=JUNE,
    name="the_answer_to_a_load_is_an_object",
)
def the_answer_to_a_load_is_an_object_in_june(evidence: Evidence) -> None:
    for each in succeeded_in_june(evidence, "session/load", "load", "load_after_restart"):
        if each.result is None:
            raise each.violation("the result of a load is no object")


judge_refusals(("ACCORD-LOAD-003", "what_never_was_cannot_be_loaded", "load_unknown", "load"))
