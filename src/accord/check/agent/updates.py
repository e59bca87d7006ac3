"""Session updates: messages, plans, commands, usage, notices and compaction."""

from __future__ import annotations

import re
from typing import Any

from accord.check.agent.conversation import AgentConversation, step
from accord.check.agent.queries import (
    CHUNKS,
    FINAL,
    MESSAGES,
    RecordedRequest,
    RecordedUpdate,
    as_dict,
    check_texts,
    check_unique,
    completed,
    handshake_line,
    is_whole,
    key_of,
    listed,
    offered,
    offers_path,
    option_lists,
    our_requests,
    updates_of,
)
from accord.check.agent.turns import prompts_of, updates_in_turns
from accord.check.engine.evidence import Entry, Evidence, Record, Violation, messages_in, skip_unless
from accord.check.engine.judging import Notes, judge
from accord.check.rule import V1_JUNE, RuleRow, agent_rules

# fmt: off
RULES = agent_rules(
    RuleRow("ACCORD-COMMAND-201", "--C", "#Command", gate="session",
        says="The names of commands have no whitespace in them"),
    RuleRow("ACCORD-COMMAND-202", "--C", "#Command", "The names of commands are all different", gate="session"),
    RuleRow("ACCORD-COMMANDS-001", "AA-", "slash-commands", gate="session",
        says="The names of commands can be typed behind a slash, and each is there once"),
    RuleRow("ACCORD-COMPACT-001", "M--", "#ClientSessionCapabilities",
        says="A client that does not know compactions gets none"),
    RuleRow("ACCORD-COMPACT-201", "--C", "#CompactionUpdate", gate="session",
        says="Pieces of a summary come only while the compaction goes on"),
    RuleRow("ACCORD-COMPACT-202", "--A", "#CompactionUpdate", "A completed compaction has a summary", gate="session"),
    RuleRow("ACCORD-COMPACT-203", "--A", "#CompactionUpdate", "A failed compaction says why", gate="session"),
    RuleRow("ACCORD-JUNE-MESSAGE-001", "-C-", "#ContentChunk", gate="session",
        says="An id belongs to one message: the user's, the agent's or a thought"),
    RuleRow("ACCORD-JUNE-MESSAGE-002", "-A-", "#ContentChunk", gate="session",
        says="Chunks do not come back to a message after another one has begun"),
    RuleRow("ACCORD-JUNE-MESSAGE-003", "-C-", "session-setup", "Two prompts have two ids in a replay", gate="load"),
    RuleRow("ACCORD-JUNE-PLAN-001", "-C-", "#PlanItems", "A plan has an `id` and a type", gate="session"),
    RuleRow("ACCORD-MESSAGE-001", "AA-", "#ContentChunk", gate="session",
        says="The messages of two turns have different ids, if they have ids"),
    RuleRow("ACCORD-MESSAGE-201", "--A", "#MessageId", gate="session",
        says="A message of a later turn has an id of its own"),
    RuleRow("ACCORD-NOTICE-001", "M--", "#ClientSessionCapabilities",
        says="A client that does not know notices gets none"),
    RuleRow("ACP-PATCH-201", "-CC", "#ContentChunk", "Every message and every chunk of one has an id", gate="session"),
    RuleRow("ACP-PATCH-203", "--C", "#PromptResponse", "Two prompts have two ids", gate="session"),
    RuleRow("ACP-PATCH-205", "--C", "agent-plan", "A plan has an id", gate="session"),
    RuleRow("ACCORD-PLAN-001", "II-", "agent-plan", gate="session",
        says="Whether each update of a plan has the entries of the one before"),
    RuleRow("ACCORD-UPDATE-201", "--C", "prompt-turn", gate="session",
        says="Every update belongs to a session that the client knows"),
    RuleRow("ACCORD-USAGE-001", "AA-", "#UsageUpdate", "The cost of a session never falls", gate="session"),
    RuleRow("ACCORD-USAGE-002", "AA-", "#Cost", gate="session",
        says="The currency of a cost is a code of three capital letters"),
)
# fmt: on


PROMPT_TEXT = "Reply with the single word: hello (this is accord-check-9f4e)"
"""Contains a unique token that can be found again in a replay."""
_NAME = re.compile(r"[^\s/]\S*")

_OWNER = {
    "user_message": "the user",
    "user_message_chunk": "the user",
    "agent_message": "the agent",
    "agent_message_chunk": "the agent",
    "agent_thought": "a thought",
    "agent_thought_chunk": "a thought",
}

_CHUNKS = tuple(kind for kind in _OWNER if kind.endswith("_chunk"))


@step("bare", editions=V1_JUNE, order=20)
async def two_turns(agent: AgentConversation) -> Notes:
    """A session with two turns, each followed by a sign of life so that late updates are recorded."""
    session = await agent.new()
    first = await agent.turn(session, PROMPT_TEXT)
    await agent.is_alive()
    second = await agent.turn(session)
    await agent.is_alive()
    return {"session": session, "prompts": [first, second], "words": PROMPT_TEXT}


@judge("ACCORD-NOTICE-001", steps=("two_turns",))
def notices_go_to_clients_that_know_them(evidence: Evidence) -> None:
    _only_if_offered(evidence, "notices", "notice")


@judge("ACCORD-COMPACT-001", steps=("two_turns",))
def compactions_are_sent_to_clients_that_know_them(evidence: Evidence) -> None:
    _only_if_offered(evidence, "compaction", "compaction_update", "compaction_summary_chunk")


def _only_if_offered(evidence: Evidence, name: str, *kinds: str) -> None:
    completed(evidence, "two_turns")
    for record, entry, _, _ in updates_of(evidence, *kinds):
        if not offers_path(offered(record), "session", name):
            raise Violation(f"the client does not offer session.{name}", handshake_line(record), entry)


@judge("ACCORD-COMMANDS-001", steps=("two_turns", "allowed_work"))
def commands_can_be_typed(evidence: Evidence) -> None:
    found = False
    for _, entry, _, update in updates_of(evidence, "available_commands_update"):
        names = [as_dict(command).get("name") for command in listed(update.get("availableCommands"))]
        found = found or bool(names)
        for name in names:
            if isinstance(name, str) and not _NAME.fullmatch(name):
                raise Violation(f"`/{name}` cannot be typed as a command", entry)
        check_unique(names, "commands", entry)
    skip_unless(found, "it has no commands")


@judge("ACCORD-PLAN-001", steps=("two_turns", "allowed_work"))
def whether_plans_stay_whole(evidence: Evidence) -> str:
    last: dict[Any, set[str]] = {}
    dropped = 0
    for record, _, session, update in updates_of(evidence, "plan", "plan_update"):
        plan = as_dict(update.get("plan")) if update.get("sessionUpdate") == "plan_update" else update
        entries = {str(as_dict(each).get("content")) for each in listed(plan.get("entries"))}
        key = key_of(record.name, session, plan.get("id"))
        dropped += bool(last.get(key, set()) - entries)
        last[key] = entries
    skip_unless(last, "it made no plan")
    return f"{dropped} updates dropped entries" if dropped else "every update had all entries of the one before"


@judge("ACCORD-USAGE-001", steps=("two_turns", "allowed_work"))
def the_cost_of_a_session_never_falls(evidence: Evidence) -> None:
    last: dict[Any, tuple[float, Entry]] = {}
    for record, entry, session, update in updates_of(evidence, "usage_update"):
        cost = as_dict(update.get("cost"))
        amount, key = cost.get("amount"), key_of(record.name, session, cost.get("currency"))
        if isinstance(amount, int | float):
            if key in last and amount < last[key][0]:
                raise Violation(f"the cost fell from {last[key][0]} to {amount}", last[key][1], entry)
            last[key] = (amount, entry)
    skip_unless(last, "it reported no cost")


@judge("ACCORD-USAGE-002", steps=("two_turns", "allowed_work"))
def a_cost_has_a_currency(evidence: Evidence) -> None:
    found = False
    for _, entry, _, update in updates_of(evidence, "usage_update"):
        currency = as_dict(update.get("cost")).get("currency")
        if isinstance(currency, str):
            found = True
            if not re.fullmatch(r"[A-Z]{3}", currency):
                raise Violation(f"the currency is {currency!r}", entry)
    skip_unless(found, "it reported no cost")


@judge("ACCORD-MESSAGE-001", steps=("two_turns",))
def another_turn_has_other_messages(evidence: Evidence) -> None:
    run = completed(evidence, "two_turns")
    split = run.answer_entry(run["prompts"][0]).place
    kinds = ("agent_message_chunk", "agent_message", "agent_thought_chunk", "agent_thought")
    before = {
        update["messageId"]: entry
        for entry, update in run.updates(run["session"], *kinds, before=split)
        if isinstance(update.get("messageId"), str)
    }
    skip_unless(before, "its messages have no ids")
    for entry, update in run.updates(run["session"], *kinds, since=split):
        id_ = update.get("messageId")
        if isinstance(id_, str) and id_ in before:
            raise Violation("two turns have a message with the same id", before[id_], entry)


@judge("ACCORD-JUNE-PLAN-001", steps=("two_turns", "allowed_work"))
def plans_have_ids(evidence: Evidence) -> None:
    found = list(updates_of(evidence, "plan_update"))
    for _, entry, _, update in found:
        check_texts(as_dict(update.get("plan")), ("type", "id"), "a plan", entry)
    skip_unless(found, "it made no plan")


@judge("ACCORD-JUNE-MESSAGE-001", steps=("two_turns", "allowed_work"))
def an_id_belongs_to_one_message(evidence: Evidence) -> None:
    owners: dict[Any, tuple[str, Entry]] = {}
    for record, entry, session, update in updates_of(evidence, *_OWNER):
        if isinstance(update.get("messageId"), str):
            owner, key = _OWNER[update["sessionUpdate"]], key_of(record.name, session, update["messageId"])
            if owners.setdefault(key, (owner, entry))[0] != owner:
                raise Violation(f"one id is of {owners[key][0]} and of {owner}", owners[key][1], entry)
    skip_unless(owners, "no message had an id")


@judge("ACCORD-JUNE-MESSAGE-002", steps=("two_turns",))
def chunks_of_a_message_stay_together(evidence: Evidence) -> None:
    run = completed(evidence, "two_turns")
    left: dict[Any, Entry] = {}
    current: Any = None
    for entry, update in run.updates(run["session"], *_CHUNKS):
        id_ = key_of(update.get("messageId"))
        if id_ != current and id_ in left:
            raise Violation("a chunk comes back to a message after another one began", left[id_], entry)
        if current is not None and id_ != current:
            left[current] = entry
        current = id_


@judge("ACCORD-JUNE-MESSAGE-003", steps=("two_turns", "load_two_turns"))
def prompts_have_ids_of_their_own_in_a_replay(evidence: Evidence) -> None:
    run = completed(evidence, "load_two_turns")
    updates = run.updates(
        run["session"], "user_message", "user_message_chunk", since=run["since"], before=run["answered"]
    )
    ids = {update.get("messageId") for _, update in updates if isinstance(update.get("messageId"), str)}
    skip_unless(ids, "the replay has no messages of the user, or none with ids")
    if len(ids) == 1:
        raise Violation("two prompts have one id", updates[0][0], updates[-1][0])


def _commands(evidence: Evidence) -> list[tuple[Entry, list[dict[str, Any]]]]:
    found = [(entry, commands) for entry, commands in option_lists(evidence, "availableCommands") if commands]
    skip_unless(found, "there are no commands")
    return found


@judge("ACCORD-COMMAND-201", steps=("meet", "v2_finished_things"))
def commands_are_words(evidence: Evidence) -> None:
    for entry, commands in _commands(evidence):
        for command in commands:
            name = command.get("name")
            if isinstance(name, str) and (not name or re.search(r"\s", name)):
                raise Violation(f"{name!r} is no name of a command", entry)


@judge("ACCORD-COMMAND-202", steps=("meet", "v2_finished_things"))
def commands_are_different(evidence: Evidence) -> None:
    for entry, commands in _commands(evidence):
        names = [repr(command.get("name")) for command in commands]
        if len(names) != len(set(names)):
            raise Violation("a command stands there twice", entry)


@judge("ACCORD-UPDATE-201", steps=("v2_finished_things",))
def sessions_are_known(evidence: Evidence) -> None:
    known = {record.name: _known_sessions(record) for record in evidence.records}
    for each in updates_of(evidence):
        if isinstance(each.session, str) and each.session not in known[each.record.name]:
            raise Violation(f"the client knows no session {each.session!r}", each.entry)


def _known_sessions(record: Record) -> set[str]:
    """The sessions that our messages or the results of our requests name in a process."""
    owners = [message.get("params") for _, message in messages_in(record.entries, sent=True)]
    owners += [message.get("result") for _, message in messages_in(record.entries)]
    found = [owner.get("sessionId") for owner in owners if isinstance(owner, dict)]
    return {session for session in found if isinstance(session, str)}


@judge("ACCORD-MESSAGE-201", steps=("v2_prompts_in_order",))
def messages_of_two_turns_are_two(evidence: Evidence) -> None:
    run = evidence.step("v2_prompts_in_order")
    turn = 0
    known: dict[Any, tuple[int, Entry]] = {}
    kinds = ("state_update", "agent_message", "agent_message_chunk")
    for entry, update in run.updates(run["session"], *kinds, since=run["since"]):
        if update["sessionUpdate"] == "state_update":
            turn += update.get("state") == "idle"
            continue
        first, before = known.setdefault(update.get("messageId"), (turn, entry))
        if first != turn:
            raise Violation("a message of a later turn has the id of an earlier one", before, entry)
    skip_unless(known, "the agent said nothing")


def _compactions(evidence: Evidence) -> list[list[RecordedUpdate]]:
    """The updates of each compaction, without replays."""
    sessions = {
        evidence.steps[name].get("session")
        for name in ("v2_finished_things", "v2_strange_answer")
        if name in evidence.steps
    }
    found: dict[tuple[str, Any], list[RecordedUpdate]] = {}
    for each in updates_of(evidence, "compaction_update", "compaction_summary_chunk"):
        if each.session in sessions:
            found.setdefault((each.record.name, each.update.get("compactionId")), []).append(each)
    skip_unless(found, "there was no compaction")
    return list(found.values())


@judge("ACCORD-COMPACT-201", steps=("v2_finished_things", "v2_strange_answer"))
def pieces_come_while_it_goes_on(evidence: Evidence) -> None:
    for updates in _compactions(evidence):
        end: RecordedUpdate | None = None
        for each in updates:
            if each.update["sessionUpdate"] == "compaction_update":
                end = each if each.update.get("status") in FINAL else None
            elif end is not None:
                raise Violation("a piece of the summary came after the end", end.entry, each.entry)


@judge("ACCORD-COMPACT-202", steps=("v2_finished_things", "v2_strange_answer"))
def a_completed_compaction_has_a_summary(evidence: Evidence) -> None:
    for updates in _compactions(evidence):
        summary = False
        for each in updates:
            if "summary" in each.update:
                summary = bool(each.update["summary"])
            elif each.update["sessionUpdate"] == "compaction_summary_chunk":
                summary = True
            if each.update.get("status") == "completed" and not summary:
                raise Violation("there is no summary", each.entry)


@judge("ACCORD-COMPACT-203", steps=("v2_finished_things", "v2_strange_answer"))
def a_failed_compaction_says_why(evidence: Evidence) -> None:
    failed = [each for updates in _compactions(evidence) for each in updates if each.update.get("status") == "failed"]
    skip_unless(failed, "no compaction has failed")
    for each in failed:
        if not each.update.get("error"):
            raise Violation("there is no error", each.entry)


@judge("ACP-PATCH-203", steps=("turns",))
def two_prompts_have_two_ids(evidence: Evidence) -> None:
    prompts_of(evidence, "turns")
    known: dict[tuple[int, str, str], RecordedRequest] = {}
    for prompt in our_requests(evidence, "session/prompt"):
        message_id = (prompt.result or {}).get("messageId")
        if not isinstance(message_id, str):
            continue
        key = (id(prompt.record.entries), str(prompt.params.get("sessionId")), message_id)
        other = known.setdefault(key, prompt)
        if other is not prompt:
            raise Violation(f"two prompts are {message_id!r}", other.answer_entry, prompt.answer_entry)


@judge("ACP-PATCH-201", steps=("turns",))
def messages_and_chunks_have_ids(evidence: Evidence) -> None:
    for each in updates_in_turns(evidence, *MESSAGES, *CHUNKS):
        if not is_whole(each.update.get("messageId")):
            raise Violation(
                f"a {each.update['sessionUpdate']} has the messageId {each.update.get('messageId')!r}", each.entry
            )


@judge("ACP-PATCH-205", steps=("turns", "meet_able"))
def a_plan_has_an_id(evidence: Evidence) -> None:
    for each in updates_in_turns(evidence, "plan_update"):
        plan = each.update.get("plan")
        if not isinstance(plan, dict) or not is_whole(plan.get("planId")):
            raise Violation("a plan has no planId", each.entry)
