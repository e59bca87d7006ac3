"""`session/resume`, with and without replay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from accord.check.agent.conversation import AgentConversation, step
from accord.check.agent.exchange import UNKNOWN_ID, ask_all, ask_and_wait, closed, wait_for_answers
from accord.check.agent.load import HISTORY_OF_JUNE, kept_session, reopened, reopening, succeeded_in_june, tried_in_june
from accord.check.agent.queries import (
    CHUNKS,
    HISTORY,
    MESSAGES,
    judge_refusals,
    must_be_refused,
    succeeds,
)
from accord.check.agent.turns import TURN_KINDS, next_about, until_asked
from accord.check.engine.evidence import (
    INVALID_PARAMS,
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
from accord.check.rule import JUNE, SESSIONS, V1, V1_JUNE, V2, RuleRow, agent_rules, gate

# fmt: off
RULES = agent_rules(
    RuleRow("ACCORD-RESUME-001", "AA-", "session-setup", "A session that never was cannot be resumed", gate="resume"),
    RuleRow("ACCORD-RESUME-201", "--C", "session-setup", gate="session",
        says="The state is sent between the request to resume and its answer"),
    RuleRow("ACCORD-RESUME-202", "--C", "session-setup", gate="session",
        says="With a replay, the state is sent after the last of the history"),
    RuleRow("ACCORD-RESUME-203", "--C", "#ReplayFrom", gate="session",
        says="A replay cursor of an unknown type is refused with -32602"),
    RuleRow("ACCORD-RESUME-204", "--C", "#ResumeSessionRequest", gate="session",
        says="A malformed replay cursor is refused with -32602"),
    RuleRow("ACCORD-RESUME-205", "--C", "#Notice", "Notices are not replayed", gate="session"),
    RuleRow("ACCORD-RESUME-206", "--A", "session-setup", gate="session",
        says="The agent's messages are replayed with the text that they had"),
    RuleRow("ACCORD-RESUME-207", "--A", "session-setup", gate="session",
        says="A replay sends terminals and compactions as a whole, without their chunks"),
    RuleRow("ACCORD-RESUME-208", "--I", "session-setup", gate="session",
        says="What comes of resuming a session in another directory"),
    RuleRow("ACP-RESUME-001", "CC-", "session-setup", gate="resume",
        says="A session can be resumed without a list of MCP servers"),
    RuleRow("ACP-RESUME-002", "CC-", "session-setup", "Resuming shows nothing of the history", gate="resume"),
    RuleRow("ACP-RESUME-201", "--C", "session-setup", "A session can be resumed", gate="session"),
    RuleRow("ACP-RESUME-202", "--C", "session-setup", gate="session",
        says="A replay from the start is over before the answer to the wish for it"),
    RuleRow("ACP-RESUME-203", "--C", "session-setup", gate="session",
        says="Without a wish for a replay nothing of the history is shown"),
    RuleRow("ACP-RESUME-204", "--C", "session-setup", "A user's message keeps its id in a replay", gate="session"),
    RuleRow("ACP-RESUME-205", "--C", "session-setup", gate="session",
        says="In a replay a chunk comes behind the whole message that it belongs to"),
)
# fmt: on


_CHUNKED = ("terminal_output_chunk", "compaction_summary_chunk")

_HISTORY = (
    *("user_message", "agent_message", "agent_thought"),
    *("user_message_chunk", "agent_message_chunk", "agent_thought_chunk"),
    *("tool_call_update", "tool_call_content_chunk", "terminal_update", "terminal_output_chunk"),
    *("plan_update", "compaction_update", "compaction_summary_chunk"),
)

Updates = list[tuple[Entry, dict[str, Any]]]
BROKEN = (-32601, -32603)
"""Errors that mean that resuming does not work at all, not that the session does not exist."""
REPLAYED = (*HISTORY, "terminal_update", "terminal_output_chunk")
_USERS = ("user_message", "user_message_chunk")


@step("bare", editions=V1_JUNE, gate=gate("resume"), order=78)
async def resume_unknown(agent: AgentConversation) -> Notes:
    id_ = agent.ask("session/resume", {"sessionId": UNKNOWN_ID, "cwd": agent.cwd})
    await agent.answer(id_, "ACCORD-RESUME-001")
    return {"resume": id_}


@step("again", gate=gate("resume"), order=20)
async def resume_after_restart(agent: AgentConversation) -> Notes:
    """Two sessions of another process are resumed: one without a turn, then one with."""
    kept = kept_session(agent)
    kept = kept.get("to_resume", kept)
    empty = await resumed(agent, kept["empty"])
    return {"empty": empty["plain"], "prompt": kept["prompt"], **await resumed(agent, kept["session"])}


@step(gate=gate("resume"), order=42)
async def resume(agent: AgentConversation) -> Notes:
    """A session is closed and resumed, in every way that the edition has; like `load`, only where it can be closed."""
    session = await agent.new()
    prompt = await agent.answer(await agent.turn(session))
    if not await closed(agent, session):
        return {"prompt": prompt, "session": session}
    return {"prompt": prompt, **await resumed(agent, session)}


async def resumed(agent: AgentConversation, session: str) -> Notes:
    """Resume a session without a replay, and in v2 with a replay from the start; gives the notes."""
    params: Notes = {"sessionId": session, "cwd": agent.cwd}
    plain = await ask_and_wait(agent, "session/resume", params)
    notes = {"session": session, "plain": plain, "alive": await agent.is_alive()}
    if agent.edition == "v2":
        await closed(agent, session)
        notes["replayed"] = await ask_and_wait(agent, "session/resume", {**params, "replayFrom": {"type": "start"}})
        notes["alive"] = await agent.is_alive()
    return notes


@step("bare", editions=V2, gate=SESSIONS)
async def v2_resumes(agent: AgentConversation) -> Notes:
    """A session with a turn is closed, and resumed in several ways."""
    session = await agent.new()
    began = agent.now
    await agent.turn(session, agent.tool_prompt)
    ended = agent.now
    named = {"sessionId": session, "cwd": agent.cwd, "mcpServers": []}
    ids: dict[str, Any] = {}
    for name, params in (
        ("plain", {}),
        ("start", {"replayFrom": {"type": "start"}}),
        ("unknown", {"replayFrom": {"type": "_accord.check/yesterday"}}),
        ("malformed", {"replayFrom": "start"}),
        ("elsewhere", {"cwd": str(agent.folder.parent)}),
    ):
        await wait_for_answers(agent, agent.ask("session/close", {"sessionId": session}))
        ids |= await ask_all(agent, **{name: ("session/resume", {**named, **params})})
    await wait_for_answers(agent, agent.ask("session/close", {"sessionId": session}))
    return {"session": session, "began": began, "ended": ended, **ids}


@judge("ACP-RESUME-001", steps=("resume", "resume_after_restart", "keep"), editions=V1)
def a_session_can_be_resumed(evidence: Evidence) -> None:
    run = reopened(evidence, "resume", "plain")
    succeeds(run, run["plain"])


@judge("ACP-RESUME-002", steps=("resume", "resume_after_restart", "keep"), editions=V1)
def resuming_shows_no_history(evidence: Evidence) -> None:
    run = reopened(evidence, "resume", "plain")
    reopening(run, run["plain"], "resumed")
    request = run.request_entry(run["plain"])
    asked = request.place if request else 0
    shown = run.updates(run["session"], *TURN_KINDS, since=asked, before=until_asked(run, asked))
    if shown:
        raise Violation("resuming shows a part of the history", request, shown[0][0])


@judge(
    "ACP-RESUME-001", steps=("resume", "resume_after_restart", "keep"), editions=JUNE, name="a_session_can_be_resumed"
)
def a_session_can_be_resumed_in_june(evidence: Evidence) -> None:
    tried = tried_in_june(evidence, "session/resume", "resume", "resume_after_restart")
    if not any(each.result is not None for each in tried):
        raise tried[0].violation("no session could be resumed")


@judge(
    "ACP-RESUME-002", steps=("resume", "resume_after_restart", "keep"), editions=JUNE, name="resuming_shows_no_history"
)
def resuming_shows_no_history_in_june(evidence: Evidence) -> None:
    for each in succeeded_in_june(evidence, "session/resume", "resume", "resume_after_restart"):
        before = next_about(each.record, each.params["sessionId"], each.entry.place + 1)
        for entry, message in messages_in(each.record.entries[each.entry.place : before]):
            if is_update(message, each.params["sessionId"], *HISTORY_OF_JUNE):
                raise Violation("a session that was resumed showed its history", each.entry, entry)


def _resumed(evidence: Evidence) -> StepResult:
    """The step, where resuming works at all."""
    run = evidence.step("v2_resumes")
    skip_if("result" not in run.answer(run["plain"]), "the session could not be resumed")
    return run


def _between(run: StepResult, name: str, *kinds: str) -> Updates:
    """The updates between a request and its answer."""
    asked = run.request_entry(run[name])
    since = asked.place if asked else 0
    return run.updates(run["session"], *kinds, since=since, before=run.answer_entry(run[name]).place)


def _live(run: StepResult, *kinds: str) -> Updates:
    return run.updates(run["session"], *kinds, since=run["began"], before=run["ended"])


@judge("ACCORD-RESUME-201", steps=("v2_resumes",))
def the_state_is_sent_before_the_answer(evidence: Evidence) -> None:
    run = _resumed(evidence)
    for name in ("plain", "start"):
        if "result" in run.answer(run[name]) and not _between(run, name, "state_update"):
            raise run.violation("no state was sent before the answer", run[name])


@judge("ACCORD-RESUME-202", steps=("v2_resumes",))
def the_state_is_sent_after_the_history(evidence: Evidence) -> None:
    run = _resumed(evidence)
    states, history = _between(run, "start", "state_update"), _between(run, "start", *_HISTORY)
    skip_unless(states, "no state was sent")
    skip_unless(history, "nothing was replayed")
    if states[-1][0].place < history[-1][0].place:
        raise Violation("some of the history came after the state", states[-1][0], history[-1][0])


@judge("ACCORD-RESUME-203", steps=("v2_resumes",))
def an_unknown_cursor_is_refused(evidence: Evidence) -> None:
    run = _resumed(evidence)
    must_be_refused(run, run["unknown"], INVALID_PARAMS)


@judge("ACCORD-RESUME-204", steps=("v2_resumes",))
def a_malformed_cursor_is_refused(evidence: Evidence) -> None:
    run = _resumed(evidence)
    must_be_refused(run, run["malformed"], INVALID_PARAMS)


@judge("ACCORD-RESUME-205", steps=("v2_resumes",))
def notices_are_not_replayed(evidence: Evidence) -> None:
    run = _resumed(evidence)
    live = {repr(update.get("title")): entry for entry, update in _live(run, "notice")}
    skip_unless(live, "there was no notice in the turn")
    for entry, update in _between(run, "start", "notice"):
        if repr(update.get("title")) in live:
            raise Violation("a notice of the turn was sent again", live[repr(update.get("title"))], entry)


@judge("ACCORD-RESUME-206", steps=("v2_resumes",))
def messages_keep_their_text(evidence: Evidence) -> None:
    run = _resumed(evidence)
    kinds = ("agent_message", "agent_message_chunk")
    live, replayed = _texts(_live(run, *kinds)), _texts(_between(run, "start", *kinds))
    skip_unless(live.keys() & replayed.keys(), "no message of the agent was replayed under its id")
    for id_ in live.keys() & replayed.keys():
        if live[id_] != replayed[id_]:
            raise Violation(
                f"message {id_!r} was {live[id_]!r} and is {replayed[id_]!r}",
                run.request_entry(run["start"]),
                _between(run, "start", *kinds)[-1][0],
            )


def _texts(updates: Updates) -> dict[Any, str]:
    """The text of each message: whole ones replace it, chunks add to it."""
    found: dict[Any, str] = {}
    for _, update in updates:
        id_ = update.get("messageId")
        if update["sessionUpdate"] == "agent_message_chunk":
            found[id_] = found.get(id_, "") + _text(update.get("content"))
        elif "content" in update:
            content = update["content"]
            found[id_] = "".join(map(_text, content)) if isinstance(content, list) else ""
    return found


def _text(block: Any) -> str:
    found = block.get("text") if isinstance(block, dict) else None
    return found if isinstance(found, str) else ""


@judge("ACCORD-RESUME-207", steps=("v2_resumes",))
def things_are_replayed_whole(evidence: Evidence) -> None:
    run = _resumed(evidence)
    skip_unless(_live(run, *_CHUNKED), "there was no terminal and no compaction in the turn")
    for entry, update in _between(run, "start", *_CHUNKED):
        raise Violation(f"{update['sessionUpdate']} is a piece", entry)


@judge("ACCORD-RESUME-208", steps=("v2_resumes",))
def another_directory(evidence: Evidence) -> str:
    run = _resumed(evidence)
    error = run.answer(run["elsewhere"]).get("error")
    return f"error {error.get('code')}" if isinstance(error, dict) else "it succeeded"


def _resuming_runs(evidence: Evidence) -> list[StepResult]:
    """The steps that resumed something."""
    run = [evidence.begun(name) for name in ("resume", "resume_after_restart")]
    done = [each for each in run if each.failure is None]
    if not done:
        raise run[0].failure or StepFailed("no session could be resumed", "ACP-RESUME-201")
    return done


def _succeeded(run: StepResult, note: str) -> bool:
    answers = run.answers(run.get(note))
    return bool(answers) and isinstance(answers[0][1].get("result"), dict)


@judge("ACP-RESUME-201", steps=("resume", "resume_after_restart"), name="a_session_can_be_resumed")
def a_session_can_be_resumed_in_v2(evidence: Evidence) -> str:
    errors = []
    for run in _resuming_runs(evidence):
        for note in ("plain", "empty", "replayed"):
            id_ = run.get(note)
            if id_ is None:
                continue
            if _succeeded(run, note):
                return f"as {run.name.replace('_', ' ')}"
            entry, answer = run.answer_entry(id_), run.answer(id_)
            code = (answer.get("error") or {}).get("code")
            if code in BROKEN or "error" not in answer:
                raise Violation("sessions cannot be resumed", run.request_entry(id_), entry)
            errors.append(str(code))
    raise Inconclusive(f"no session was there to be resumed: {', '.join(errors)}")


def _replays(evidence: Evidence) -> Iterator[tuple[StepResult, list[tuple[Entry, dict[str, Any]]]]]:
    """The updates of each replay: those between the request and its answer."""
    found = False
    for run in _resuming_runs(evidence):
        if _succeeded(run, "replayed"):
            asked, answered = run.request_entry(run["replayed"]), run.answer_entry(run["replayed"])
            since = asked.place if asked is not None else 0
            found = True
            yield run, run.updates(run["session"], since=since, before=answered.place)
    skip_unless(found, "no session was resumed with a replay")


@judge("ACP-RESUME-202", steps=("resume", "resume_after_restart"))
def a_replay_is_over_before_its_answer(evidence: Evidence) -> None:
    for run, _ in _replays(evidence):
        answered = run.answer_entry(run["replayed"])
        before = next_about(run, run["session"], answered.place)
        for entry, update in run.updates(run["session"], *REPLAYED, since=answered.place, before=before):
            raise Violation(f"a {update['sessionUpdate']} was sent behind the answer to a replay", answered, entry)


@judge("ACP-RESUME-203", steps=("resume", "resume_after_restart"))
def without_a_replay_requested_no_history_is_sent(evidence: Evidence) -> None:
    judged = 0
    for run in _resuming_runs(evidence):
        if not _succeeded(run, "plain"):
            continue
        asked = run.request_entry(run["plain"])
        until = run.request_entry(run["replayed"])
        since, before = asked.place if asked else 0, until.place if until else None
        for entry, update in run.updates(run["session"], *HISTORY, since=since, before=before):
            raise Violation(f"a {update['sessionUpdate']} was sent although no replay was requested", asked, entry)
        judged += 1
    skip_unless(judged, "no session was resumed")


@judge("ACP-RESUME-204", steps=("resume", "resume_after_restart"))
def a_message_of_the_user_keeps_its_id(evidence: Evidence) -> None:
    judged = 0
    for run, replay in _replays(evidence):
        result = run["prompt"].get("result")
        message_id = result.get("messageId") if isinstance(result, dict) else None
        shown = [(entry, update) for entry, update in replay if update.get("sessionUpdate") in _USERS]
        if not isinstance(message_id, str) or not shown:
            continue
        judged += 1
        if message_id not in [update.get("messageId") for _, update in shown]:
            raise Violation(
                f"the message {message_id!r} has another id in the replay: {shown[0][1].get('messageId')!r}",
                shown[0][0],
            )
    skip_unless(judged, "no message of the user was replayed")


@judge("ACP-RESUME-205", steps=("resume", "resume_after_restart"))
def in_a_replay_a_chunk_comes_behind_its_message(evidence: Evidence) -> None:
    for _, replay in _replays(evidence):
        begun = set()
        for entry, update in replay:
            kind = str(update.get("sessionUpdate"))
            if kind in MESSAGES:
                begun.add((kind, str(update.get("messageId"))))
            if kind in CHUNKS and (kind.removesuffix("_chunk"), str(update.get("messageId"))) not in begun:
                raise Violation(f"a {kind} was replayed without the message before it", entry)


judge_refusals(("ACCORD-RESUME-001", "what_never_was_cannot_be_resumed", "resume_unknown", "resume"))
