"""`session/request_permission`: options, outcomes and cancellation."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from accord.check.agent.conversation import AgentConversation, step
from accord.check.agent.exchange import TerminalReplies, answered_turn, end_of_cancelled
from accord.check.agent.queries import (
    PERMISSION,
    as_dict,
    check_texts,
    completed,
    is_absolute,
    is_whole,
    key_of,
    listed,
    questions,
    subject_tool,
)
from accord.check.agent.turns import completed_or_broken, heeds_cancel, idle_behind, prompts_of
from accord.check.engine.evidence import (
    Entry,
    Evidence,
    Inconclusive,
    Record,
    Violation,
    is_answer,
    is_request,
    is_state,
    is_update,
    messages_in,
    skip_unless,
)
from accord.check.engine.judging import Notes, judge
from accord.check.engine.wire import Reply, Silence
from accord.check.rule import SESSIONS, V1_JUNE, V2, RuleRow, agent_rules

# fmt: off
RULES = agent_rules(
    RuleRow("ACP-ENUM-203", "--A", "extensibility", gate="session",
        says="A permission outcome that is a word of the client's own does no harm"),
    RuleRow("ACCORD-JUNE-PERM-001", "-C-", "#RequestPermissionRequest", gate="session",
        says="A question for permission is about a tool call and has options with an id, a name and a kind"),
    RuleRow("ACP-PATCH-209", "--A", "prompt-turn", gate="session",
        says="While a permission is awaited the session requires action, and then runs again"),
    RuleRow("ACCORD-PERM-001", "MC-", "#PermissionOption", gate="session",
        says="The options of a question for permission have an id each"),
    RuleRow("ACCORD-PERM-002", "AA-", "tool-calls#requesting-permission", gate="session",
        says="A question for permission has something to choose from"),
    RuleRow("ACCORD-PERM-003", "M--", "tool-calls#requesting-permission",
        says="After a yes to a question for permission the prompt ends with a stop reason"),
    RuleRow("ACCORD-PERM-004", "AA-", "tool-calls#requesting-permission", gate="session",
        says="A no to a question for permission does not fail the prompt"),
    RuleRow("ACCORD-PERM-005", "MC-", "prompt-turn#cancellation", gate="session",
        says="A turn that is cancelled while a question is open ends as cancelled"),
    RuleRow("ACCORD-PERM-006", "AA-", "tool-calls#requesting-permission", gate="session",
        says="A tool call that was rejected is not completed"),
    RuleRow("ACCORD-PERM-201", "--C", "#RequestPermissionOutcome", gate="session",
        says="The choice of an option that was never offered is no approval"),
    RuleRow("ACCORD-PERM-202", "--C", "#PermissionOption", gate="session",
        says="The ids of the options of one question are all different"),
    RuleRow("ACCORD-PERM-203", "--C", "#CommandPermissionSubject", gate="session",
        says="A command that is asked for stands with an absolute directory"),
    RuleRow("ACP-PERM-201", "--C", "tool-calls", gate="session",
        says="A permission question has session, title and whole options, and the turn goes on when it is answered"),
)
# fmt: on


CANCELLED = {"outcome": {"outcome": "cancelled"}}


def choosing(*kinds: str) -> Reply:
    """Chooses the first option of one of some kinds; otherwise it dismisses the question."""

    def choose(params: Any) -> Any:
        options = params.get("options") if isinstance(params, dict) else None
        for option in options if isinstance(options, list) else []:
            if isinstance(option, dict) and option.get("kind") in kinds:
                return {"outcome": {"outcome": "selected", "optionId": option.get("optionId")}}
        return {"outcome": {"outcome": "cancelled"}}

    return choose


@step("able", editions=V1_JUNE, order=30)
async def allowed_work(agent: AgentConversation) -> Notes:
    """A turn of a client that grants every permission; then the session is closed, if it can be."""
    session = await agent.new()
    since = agent.now
    yes = choosing("allow_once", "allow_always")
    with agent.replying(session__request_permission=yes, **TerminalReplies(exitCode=0).replies()):
        prompt = await answered_turn(agent, session, agent.tool_prompt, "ACCORD-PERM-003")
        await agent.is_alive()
        end = agent.now
        await _close(agent, session)
    return {"session": session, "prompt": prompt, "since": since, "end": end}


async def _close(agent: AgentConversation, session: str) -> None:
    for entry in agent.wire.entries:
        result = entry.message.get("result") if isinstance(entry.message, dict) and not entry.sent else None
        if isinstance(result, dict) and "protocolVersion" in result:
            said = result.get("agentCapabilities", result.get("capabilities"))
            path = "sessionCapabilities" if agent.edition == "v1" else "session"
            markers = said.get(path) if isinstance(said, dict) else None
            if isinstance(markers, dict) and isinstance(markers.get("close"), dict):
                await agent.request("session/close", {"sessionId": session}, "ACP-CLOSE-001")
            return


@step("able", editions=V1_JUNE, order=32)
async def rejected_work(agent: AgentConversation) -> Notes:
    """A turn of a client that rejects every permission request."""
    session = await agent.new()
    since = agent.now
    no = choosing("reject_once", "reject_always")
    with agent.replying(session__request_permission=no, **TerminalReplies(exitCode=0).replies()):
        prompt = await answered_turn(agent, session, agent.tool_prompt, "ACCORD-PERM-004")
        await agent.is_alive()
    return {"session": session, "prompt": prompt, "since": since}


async def cancelled_when(agent: AgentConversation, holds: Callable[[Entry], bool], rule: str) -> Notes:
    """A turn that is cancelled when the agent waits for us; it may also end without ever doing so."""
    session = await agent.new()
    since = agent.now
    prompt = agent.prompt(session, agent.tool_prompt)
    bound = agent.options.turn_seconds
    entry = await agent.until(
        lambda entry: holds(entry) or is_answer(entry.message, prompt),
        since,
        "it neither asked nor ended its turn",
        agent.turn_rule(""),
        bound,
    )
    notes: Notes = {"session": session, "prompt": prompt, "since": since, "asked": None}
    if not holds(entry):
        return notes
    place = agent.notify("session/cancel", {"sessionId": session})
    if is_request(entry.message, "session/request_permission"):
        answer = {"outcome": {"outcome": "cancelled"}}
        agent.wire.send_json({"jsonrpc": "2.0", "id": entry.message["id"], "result": answer})
    await agent.answer(prompt, rule, agent.options.turn_seconds)
    await agent.is_alive()
    return {**notes, "asked": entry.place, "cancel": place}


@step("able", editions=V1_JUNE, order=36)
async def cancel_in_permission(agent: AgentConversation) -> Notes:
    """A turn that is cancelled while a permission request is open, which is then answered `cancelled`."""
    with agent.replying(session__request_permission=lambda _: None, **TerminalReplies(exitCode=0).replies()):
        return await cancelled_when(
            agent, lambda entry: is_request(entry.message, "session/request_permission"), "ACCORD-PERM-005"
        )


@step(gate=SESSIONS, order=60)
async def unanswered_permission(agent: AgentConversation) -> Notes:
    """A turn is cancelled while the agent waits for a permission, if it asks for one; then idle is cancelled.

    The question is answered `cancelled`, as clients must, when the agent had the time to take it back: a sign of life
    after the cancellation. `asked` are the places of the questions, `cancel` that of the cancellation, `idle_cancel`
    that of the one behind the end.
    """
    session = await agent.new()
    since = agent.now
    with agent.replying(session__request_permission=lambda _: None):
        prompt = agent.prompt(session, agent.options.tool_prompt or agent.options.cancel_prompt)
        await _question_or_work(agent, session, prompt, since)
        await agent.is_alive()
        cancel = agent.notify("session/cancel", {"sessionId": session})
        await agent.is_alive()
    questions = [
        entry for entry in agent.wire.entries[since:] if not entry.sent and is_request(entry.message, PERMISSION)
    ]
    for entry in questions:
        agent.wire.send_json({"jsonrpc": "2.0", "id": entry.message["id"], "result": CANCELLED})
    await end_of_cancelled(agent, session, prompt, since)
    idle = agent.notify("session/cancel", {"sessionId": session})
    return {
        "session": session,
        "prompt": prompt,
        "asked": [entry.place for entry in questions],
        "cancel": cancel,
        "idle_cancel": idle,
        "alive": await agent.is_alive(),
    }


async def _question_or_work(agent: AgentConversation, session: str, prompt: object, since: int) -> None:
    """Wait for the permission request; without a tool prompt, until the first message of the agent."""
    speech = () if agent.options.tool_prompt else ("agent_message", "agent_message_chunk")

    def is_sign(entry: Entry) -> bool:
        ended = agent.edition != "v2" and is_answer(entry.message, prompt)
        spoke = bool(speech) and is_update(entry.message, session, *speech)
        return ended or spoke or is_request(entry.message, PERMISSION) or is_state(entry.message, session, "idle")

    seconds = agent.options.turn_seconds if agent.options.tool_prompt else min(agent.options.turn_seconds, 3.0)
    # Without a message there is work to be cancelled, and no question.
    with suppress(Silence):
        await agent.wire.until(is_sign, since, seconds)


@step(gate=SESSIONS, order=61)
async def strange_outcome(agent: AgentConversation) -> Notes:
    """A permission request is answered with an extension outcome; `asked` are the places of the requests."""
    session = await agent.new()
    since = agent.now
    with agent.replying(session__request_permission=lambda _: {"outcome": {"outcome": "_later", "when": "tomorrow"}}):
        prompt = await agent.turn(session, agent.tool_prompt)
    asked = [
        entry.place for entry in agent.wire.entries[since:] if not entry.sent and is_request(entry.message, PERMISSION)
    ]
    return {"session": session, "prompt": prompt, "asked": asked, "alive": await agent.is_alive()}


@step("bare", editions=V2, gate=SESSIONS)
async def v2_strange_choice(agent: AgentConversation) -> Notes:
    """The answer to a permission chooses an option that was never offered."""
    session = await agent.new()
    since = agent.now
    outcome = {"outcome": {"outcome": "selected", "optionId": "accord-check-never-offered"}}
    with agent.replying(session__request_permission=lambda _: outcome):
        await agent.turn(session, agent.tool_prompt)
    return {"session": session, "since": since}


@judge("ACCORD-PERM-001", steps=("allowed_work",))
def the_options_of_a_question_have_ids_of_their_own(evidence: Evidence) -> None:
    for _, entry, params in _permissions(evidence):
        ids = [as_dict(option).get("optionId") for option in listed(params.get("options"))]
        if len({str(id_) for id_ in ids}) != len(ids):
            raise Violation(f"the options have the ids {ids}", entry)


@judge("ACCORD-PERM-002", steps=("allowed_work",))
def a_question_has_options(evidence: Evidence) -> None:
    for _, entry, params in _permissions(evidence):
        if params.get("options") == []:
            raise Violation("there is nothing to choose from", entry)


def _permissions(evidence: Evidence) -> list[Any]:
    found = list(questions(evidence, "session/request_permission"))
    skip_unless(found, "it never asked for permission: give --tool-prompt")
    return found


def _asked_in(evidence: Evidence, step: str, rule: str) -> tuple[Any, Entry]:
    """A run in whose turn a permission was requested, and the first request."""
    run = completed(evidence, step, rule)
    for entry, message in messages_in(run.entries[run["since"] : run.end]):
        if message.get("method") == "session/request_permission":
            return run, entry
    raise Inconclusive("it did not ask for permission: give --tool-prompt")


@judge("ACCORD-PERM-003", steps=("allowed_work",))
def a_turn_goes_on_after_a_yes(evidence: Evidence) -> None:
    run, question = _asked_in(evidence, "allowed_work", "ACCORD-PERM-003")
    if "error" in run.answer(run["prompt"]):
        raise Violation("the prompt failed", question, run.answer_entry(run["prompt"]))


@judge("ACCORD-PERM-004", steps=("rejected_work",))
def a_no_does_not_fail_the_prompt(evidence: Evidence) -> None:
    run, question = _asked_in(evidence, "rejected_work", "ACCORD-PERM-004")
    if "error" in run.answer(run["prompt"]):
        raise Violation("the prompt failed", question, run.answer_entry(run["prompt"]))


@judge("ACCORD-PERM-006", steps=("rejected_work",))
def what_was_rejected_is_not_done(evidence: Evidence) -> None:
    run, question = _asked_in(evidence, "rejected_work", "ACCORD-PERM-006")
    message = as_dict(question.message)
    tool = as_dict(as_dict(message.get("params")).get("toolCall")).get("toolCallId")
    for entry, update in run.updates(run["session"], "tool_call", "tool_call_update", since=question.place):
        if update.get("toolCallId") == tool and update.get("status") == "completed":
            raise Violation("a tool call that was rejected was completed", question, entry)


@judge("ACCORD-PERM-005", steps=("cancel_in_permission",))
def a_turn_that_waits_for_permission_can_be_cancelled(evidence: Evidence) -> None:
    run = completed(evidence, "cancel_in_permission", "ACCORD-PERM-005")
    if run["asked"] is None:
        raise Inconclusive("it did not ask for permission: give --tool-prompt")
    skip_unless(heeds_cancel(evidence, run["session"]), "no cancellation is heeded")
    answer = run.answer(run["prompt"])
    if as_dict(answer.get("result")).get("stopReason") != "cancelled":
        raise Violation(
            "the prompt was not answered with `cancelled`",
            run.entries[run["asked"]],
            run.answer_entry(run["prompt"]),
        )


@judge("ACCORD-JUNE-PERM-001", steps=("allowed_work",))
def questions_are_about_tool_calls(evidence: Evidence) -> None:
    found = list(questions(evidence, "session/request_permission"))
    for _, entry, params in found:
        check_texts(as_dict(params.get("toolCall")), ("toolCallId",), "the tool call", entry)
        if not isinstance(params.get("options"), list):
            raise Violation("there are no options", entry)
        for option in params["options"]:
            check_texts(as_dict(option), ("optionId", "name", "kind"), "an option", entry)
    skip_unless(found, "it never asked for permission: give --tool-prompt")


def _questions(evidence: Evidence) -> list[tuple[Record, Entry, dict[str, Any]]]:
    found = [
        (record, entry, message) for record, entry, message in evidence.messages() if is_request(message, PERMISSION)
    ]
    skip_unless(found, "the agent asked for no permission: give --tool-prompt")
    return found


def _sessions_of(record: Record) -> set[Any]:
    """The sessions that our messages in a process name."""
    named = [message.get("params") for _, message in messages_in(record.entries, sent=True)]
    return {params.get("sessionId") for params in named if isinstance(params, dict)}


@judge("ACP-PERM-201", steps=("turns", "meet_able"))
def a_permission_question_is_whole(evidence: Evidence) -> str:
    questions = _questions(evidence)
    # Once for each process: an agent may send a million requests.
    known: dict[int, set[Any]] = {}
    for record, entry, message in questions:
        params = message.get("params")
        sessions = known.get(id(record)) or known.setdefault(id(record), _sessions_of(record))
        wrong = _lack(params if isinstance(params, dict) else {}, sessions)
        if wrong:
            raise Violation(f"a question for permission has {wrong}", entry)
    for name in ("turns", "meet_able"):
        completed_or_broken(evidence, name, "the turn did not go on when a permission was given")
    return f"{len(questions)} questions"


def _lack(params: dict[str, Any], sessions: set[Any]) -> str:
    """The missing part of a permission request, or ""."""
    if params.get("sessionId") not in sessions:
        return f"the sessionId {params.get('sessionId')!r}"
    if not is_whole(params.get("title")):
        return f"the title {params.get('title')!r}"
    options = params.get("options")
    if not isinstance(options, list) or not options:
        return "no options"
    for option in options:
        for key in ("optionId", "name", "kind"):
            if not isinstance(option, dict) or not is_whole(option.get(key)):
                return f"an option without {key}"
    return ""


@judge("ACP-PATCH-209", steps=("turns",))
def a_session_requires_action_while_a_permission_is_awaited(evidence: Evidence) -> None:
    judged = 0
    for prompt in prompts_of(evidence, "turns"):
        idle = idle_behind(prompt)
        if idle is None:
            continue
        session = prompt.params["sessionId"]
        turn = list(messages_in(prompt.record.entries[prompt.entry.place : idle.place]))
        questions = [entry for entry, message in turn if is_request(message, PERMISSION)]
        if not questions:
            continue
        judged += 1
        needs = [entry for entry, message in turn if is_state(message, session, "requires_action")]
        if not needs:
            raise Violation("while a permission was awaited the session did not require action", questions[0], idle)
        # A turn that ends with the answer need not run again; one that goes on must report that it runs.
        runs = [entry for entry, message in turn if is_state(message, session, "running")]
        if not runs or runs[-1].place < needs[-1].place:
            raise Violation("behind the permission the session did not run again", needs[-1], idle)
    skip_unless(judged, "the agent asked for no permission: give --tool-prompt")


@judge("ACP-ENUM-203", steps=("turns", "strange_outcome"))
def an_outcome_in_a_word_of_the_client_does_no_harm(evidence: Evidence) -> None:
    prompts_of(evidence, "strange_outcome")
    run = evidence.begun("strange_outcome")
    part = run.entries[run.start : run.end]
    if not any(is_request(message, PERMISSION) for _, message in messages_in(part)):
        raise Inconclusive("the agent asked for no permission: give --tool-prompt")
    completed_or_broken(evidence, "strange_outcome", "a permission outcome with a word of the client's own did harm")


@judge("ACCORD-PERM-201", steps=("v2_strange_choice",))
def what_was_not_offered_is_no_approval(evidence: Evidence) -> None:
    run = evidence.step("v2_strange_choice")
    asked = [
        (entry, call["params"])
        for entry, call in run.calls(PERMISSION)
        if entry.place >= run["since"] and call["params"].get("sessionId") == run["session"]
    ]
    skip_unless(asked, "no permission was asked for")
    for question, params in asked:
        tool = subject_tool(params)
        for entry, update in run.updates(run["session"], "tool_call_update", since=question.place):
            if tool is not None and update.get("toolCallId") == tool and update.get("status") == "completed":
                raise Violation("the tool call was completed", question, entry)


@judge("ACCORD-PERM-202", steps=("v2_finished_things",))
def options_are_different(evidence: Evidence) -> None:
    asked = questions(evidence, PERMISSION)
    skip_unless(asked, "no permission was asked for")
    for _, entry, params in asked:
        options = params.get("options")
        ids = [key_of(each.get("optionId")) for each in options or [] if isinstance(each, dict)]
        if len(ids) != len(set(ids)):
            raise Violation("two options have the same id", entry)


@judge("ACCORD-PERM-203", steps=("v2_finished_things",))
def commands_have_absolute_directories(evidence: Evidence) -> None:
    subjects = [(entry, params.get("subject")) for _, entry, params in questions(evidence, PERMISSION)]
    commands = [(entry, each) for entry, each in subjects if isinstance(each, dict) and each.get("type") == "command"]
    skip_unless(commands, "no permission was asked for a command")
    for entry, command in commands:
        if not is_absolute(command.get("cwd")):
            raise Violation(f"the directory is {command.get('cwd')!r}", entry)
