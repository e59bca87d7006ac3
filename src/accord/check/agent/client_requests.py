"""Requests to the client: only offered capabilities are used; files, forms and addresses."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from accord.check.agent.cancel import must_be_taken_back
from accord.check.agent.conversation import BARE, AgentConversation, step
from accord.check.agent.exchange import TerminalReplies, answered_turn, settle, wait_for_answers, wait_for_question
from accord.check.agent.permission import choosing
from accord.check.agent.queries import (
    ELICITATION,
    PERMISSION,
    as_dict,
    completed,
    handshake_line,
    is_relative,
    key_of,
    offered,
    offers_path,
    questions,
)
from accord.check.agent.turns import prompts_of
from accord.check.engine.evidence import (
    Entry,
    Evidence,
    Inconclusive,
    Record,
    StepFailed,
    Violation,
    is_answer,
    is_request,
    messages_in,
    skip_if,
    skip_unless,
)
from accord.check.engine.judging import Notes, judge, judge_rows
from accord.check.engine.wire import Silence
from accord.check.rule import SESSIONS, V1, V2, RuleRow, agent_rules

# fmt: off
RULES = agent_rules(
    RuleRow("ACP-CLIENTCAP-001", "M--", "file-system", "A client that offers no files is not asked for any"),
    RuleRow("ACP-CLIENTCAP-002", "M--", "terminals", "A client that offers no terminals is not asked for any"),
    RuleRow("ACP-CLIENTCAP-003", "M--", "elicitation", "A client that offers no forms is not asked to fill one in"),
    RuleRow("ACP-CLIENTCAP-201", "--C", "elicitation", gate="session",
        says="A client that offers no forms is not asked to fill one in"),
    RuleRow("ACP-CLIENTCAP-202", "-CC", "overview", gate="session", says=(
        "",
        "A client gets only requests and notifications that June defines, or that start with an underscore",
        "A client gets only requests and notifications that v2 defines, or that start with an underscore",
    )),
    RuleRow("ACCORD-ELICIT-001", "M--", "elicitation", "A client that shows no forms is not asked to show one"),
    RuleRow("ACCORD-ELICIT-002", "M--", "elicitation", "A client that opens no pages is not asked to open one"),
    RuleRow("ACCORD-ELICIT-003", "M--", "elicitation",
        says="An elicitation belongs to a session, or to a request that is being worked on"),
    RuleRow("ACCORD-ELICIT-004", "M--", "elicitation", "The fields of a form are plain values"),
    RuleRow("ACCORD-ELICIT-201", "--C", "elicitation", gate="session",
        says="An agent asks only in a mode that the client offers"),
    RuleRow("ACCORD-ELICIT-202", "--C", "#CreateElicitationRequest", gate="session",
        says="A question belongs to a session or to a pending request, to exactly one of them"),
    RuleRow("ACCORD-ELICIT-203", "--A", "elicitation", "A form asks for no secret", gate="session"),
    RuleRow("ACCORD-ELICIT-204", "--C", "#CreateElicitationResponse", gate="session",
        says="An unknown answer to a question is taken like `cancel`, and the turn comes to its end"),
    RuleRow("ACCORD-ELICIT-205", "--A", "#CreateElicitationRequest", gate="session",
        says="A question of cancelled work is taken back"),
    RuleRow("ACCORD-FILES-001", "M--", "file-system", "A client that only writes files is not asked to read one"),
    RuleRow("ACCORD-FILES-002", "M--", "file-system", "A client that only reads files is not asked to write one"),
    RuleRow("ACCORD-FILES-003", "M--", "overview", "Files of the client are named by absolute paths"),
    RuleRow("ACCORD-OFFER-001", "A--", "initialization",
        says="A client that offers only a part of what there is gets its turn"),
)
# fmt: on


CLIENT_METHODS = {
    "v2": {"session/update", PERMISSION, "elicitation/create", "elicitation/complete"},
    "v2_june": {"session/update", PERMISSION},
}

_SECRET = re.compile(
    r"credential|pass ?word|pass ?phrase|secret|api[ _-]?key|private[ _-]?key|access[ _-]?token", re.IGNORECASE
)


async def _offering(agent: AgentConversation, offered: dict[str, Any]) -> Notes:
    initialize = agent.ask("initialize", {**BARE["v1"], "clientCapabilities": offered})
    try:
        agent.initialized = (await agent.wire.answer(initialize, agent.options.start_seconds)).get("result") or {}
    except Silence as silence:
        raise StepFailed(str(silence), "ACP-INIT-001") from None
    if agent.options.auth_method:
        await agent.log_in()
    session = await agent.new()
    yes = choosing("allow_once", "allow_always")
    with agent.replying(session__request_permission=yes, **TerminalReplies(exitCode=0).replies()):
        prompt = await answered_turn(agent, session, agent.tool_prompt, "ACCORD-OFFER-001")
    await agent.is_alive()
    return {"session": session, "prompt": prompt}


@step("own", editions=V1)
async def text_file_reads_only(agent: AgentConversation) -> Notes:
    """A turn of a client that offers to read files and to show forms, and nothing else."""
    return await _offering(agent, {"fs": {"readTextFile": True, "writeTextFile": False}, "elicitation": {"form": {}}})


@step("own", editions=V1)
async def text_file_writes_only(agent: AgentConversation) -> Notes:
    """A turn of a client that offers to write files, terminals and to open pages, and nothing else."""
    return await _offering(
        agent, {"fs": {"readTextFile": False, "writeTextFile": True}, "terminal": True, "elicitation": {"url": {}}}
    )


@step("own", editions=V2, gate=SESSIONS)
async def v2_only_links(agent: AgentConversation) -> Notes:
    """A client that opens links and has no forms; it leaves in the middle of a turn."""
    params = {**BARE["v2"], "capabilities": {"elicitation": {"url": {}}}}
    await agent.result("initialize", params, "ACP-INIT-001")
    if agent.options.auth_method:
        await agent.log_in()
    session = await agent.new()
    await agent.turn(session, agent.tool_prompt)
    working = await agent.begin(session)
    await wait_for_answers(agent, working)
    return {"session": session, "working": working}


@step("able", editions=V2, gate=SESSIONS)
async def v2_strange_answer(agent: AgentConversation) -> Notes:
    """An elicitation is answered with an unknown action."""
    session = await agent.new()
    since = agent.now
    with agent.replying(elicitation__create=lambda _: {"action": "_accord.check/later"}):
        prompt = agent.prompt(session, agent.tool_prompt)
        answer = await agent.answer(prompt, "ACP-PROMPT-201")
        idle = await settle(agent, session, since) if "result" in answer else None
    return {"session": session, "since": since, "prompt": prompt, "idle": idle}


@step("able", editions=V2, gate=SESSIONS)
async def v2_cancelled_form(agent: AgentConversation) -> Notes:
    """Work is cancelled while it waits for the answer to a question."""
    session = await agent.new()
    since = agent.now
    with agent.replying(elicitation__create=lambda _: None):
        prompt = agent.prompt(session, agent.tool_prompt)
        asked = await wait_for_question(agent, "elicitation/create", session, since, prompt)
        if asked is None:
            await wait_for_answers(agent, prompt)
            return {"session": session}
        cancelled = agent.notify("session/cancel", {"sessionId": session})
        idle = await settle(agent, session, cancelled)
    return {"session": session, "asked": asked, "cancelled": cancelled, "idle": idle}


_PARTIAL_OFFERS = ("text_file_reads_only", "text_file_writes_only")


def _only_if_offered(evidence: Evidence, method: str, *path: str) -> None:
    """A request that needs a capability of the client, `path`; of elicitations only those in that mode."""
    for name in _PARTIAL_OFFERS:
        completed(evidence, name)
    unoffered = [
        (record, entry)
        for record, entry, params in questions(evidence, method)
        if (method != ELICITATION or params.get("mode") == path[-1]) and not offers_path(offered(record), *path)
    ]
    if any(not offered(record) for record, _ in unoffered):
        raise Inconclusive("it is asked of clients that offer nothing as well")
    for record, entry in unoffered:
        raise Violation(f"the client does not offer {'.'.join(path)}", handshake_line(record), entry)


judge_rows(
    _only_if_offered,
    ("ACCORD-FILES-001", "who_may_write_may_not_read", "fs/read_text_file", "fs", "readTextFile"),
    ("ACCORD-FILES-002", "who_may_read_may_not_write", "fs/write_text_file", "fs", "writeTextFile"),
    ("ACCORD-ELICIT-001", "forms_are_shown_by_clients_that_have_forms", ELICITATION, "elicitation", "form"),
    ("ACCORD-ELICIT-002", "pages_are_opened_by_clients_that_open_pages", ELICITATION, "elicitation", "url"),
    steps=_PARTIAL_OFFERS,
)


@judge("ACCORD-OFFER-001", steps=_PARTIAL_OFFERS)
def a_client_that_offers_a_part_gets_its_turn(evidence: Evidence) -> None:
    whole = evidence.steps.get("allowed_work")
    for name in _PARTIAL_OFFERS:
        run = completed(evidence, name, "ACCORD-OFFER-001")
        if "error" in run.answer(run["prompt"]):
            if whole is not None and whole.failure is None and "error" in whole.answer(whole["prompt"]):
                raise Inconclusive("turns fail for clients that offer everything as well")
            raise Violation("the prompt failed", run.entries[0], run.answer_entry(run["prompt"]))


@judge("ACCORD-FILES-003", steps=("allowed_work",))
def files_are_named_by_absolute_paths(evidence: Evidence) -> None:
    found = list(questions(evidence, "fs/"))
    for _, entry, params in found:
        if is_relative(params.get("path")):
            raise Violation(f"the path {params['path']!r} is relative", entry)
    skip_unless(found, "it used no files of the client")


@judge("ACCORD-ELICIT-003", steps=("allowed_work",))
def an_elicitation_has_one_scope(evidence: Evidence) -> None:
    for record, entry, params in _elicitations(evidence):
        scopes = [key for key in ("sessionId", "requestId") if params.get(key) is not None]
        if len(scopes) != 1:
            raise Violation(f"it is scoped by {' and '.join(scopes) or 'nothing'}", entry)
        if scopes == ["requestId"] and not _is_pending(record, entry, params["requestId"]):
            raise Violation("it is scoped by a request that is not being worked on", entry)


def _elicitations(evidence: Evidence) -> list[Any]:
    found = list(questions(evidence, "elicitation/create"))
    skip_unless(found, "it elicited nothing")
    return found


def _is_pending(record: Record, question: Entry, id_: Any) -> bool:
    before = record.entries[: question.place]
    is_asked = any(each.get("id") == id_ and "method" in each for _, each in messages_in(before, sent=True))
    return is_asked and not any(is_answer(each, id_) for _, each in messages_in(before))


@judge("ACCORD-ELICIT-004", steps=("allowed_work",))
def forms_are_flat(evidence: Evidence) -> None:
    for _, entry, params in _elicitations(evidence):
        for name, field in as_dict(as_dict(params.get("requestedSchema")).get("properties")).items():
            if as_dict(field).get("type") == "object" or "properties" in as_dict(field):
                raise Violation(f"the field {name!r} is an object of its own", entry)


def _offers_files(offered: dict[str, Any]) -> bool:
    files = offered.get("fs")
    return isinstance(files, dict) and any(files.values())


def _offers_forms(offered: dict[str, Any]) -> bool:
    modes = offered.get("elicitation")
    return isinstance(modes, dict) and any(isinstance(mode, dict) for mode in modes.values())


_OFFERS: dict[str, tuple[str, Callable[[dict[str, Any]], bool]]] = {
    "fs/": ("files", _offers_files),
    "terminal/": ("terminals", lambda offered: bool(offered.get("terminal"))),
    "elicitation/create": ("forms", _offers_forms),
}


def _check(evidence: Evidence, prefix: str) -> None:
    what, is_offered = _OFFERS[prefix]
    for record in evidence.records:
        if is_offered(offered(record)):
            continue
        for entry, message in messages_in(record.entries):
            if str(message.get("method", "")).startswith(prefix):
                hello = next((each for each in record.entries if each.sent), None)
                raise Violation(f"{message['method']} is asked of a client that offers no {what}", hello, entry)


def _offers_forms_in_v2(record: Record) -> bool:
    for entry in record.entries:
        if entry.sent and isinstance(entry.message, dict) and entry.message.get("method") == "initialize":
            elicitation = entry.message["params"].get("capabilities", {}).get("elicitation")
            return isinstance(elicitation, dict) and any(value is not None for value in elicitation.values())
    return False


@judge("ACP-CLIENTCAP-201", steps=("turns",), name="forms_are_shown_only_where_they_are_offered")
def forms_are_shown_only_where_they_are_offered_in_v2(evidence: Evidence) -> None:
    prompts_of(evidence, "turns")
    for record, entry, message in evidence.messages():
        if message.get("method") == "elicitation/create" and not _offers_forms_in_v2(record):
            raise Violation("a client that offers no forms was asked to fill one in", record.entries[0], entry)


@judge("ACP-CLIENTCAP-202", steps=("turns", "meet_able"))
def the_client_is_asked_nothing_that_is_not_named(evidence: Evidence) -> None:
    prompts_of(evidence, "turns")
    for _, entry, message in evidence.messages():
        method = message.get("method")
        if not isinstance(method, str) or method.startswith(("_", "$/")):
            continue
        if method not in CLIENT_METHODS[evidence.edition]:
            raise Violation(f"the agent said {method}, which is no method of clients", entry)


@judge("ACCORD-ELICIT-205", steps=("v2_cancelled_form",))
def an_open_form_is_taken_back(evidence: Evidence) -> None:
    run = evidence.step("v2_cancelled_form")
    skip_unless(run.get("asked"), "the agent asked no question")
    skip_unless(run["idle"], "the work was not cancelled")
    must_be_taken_back(run, run.end)


def _elicited(evidence: Evidence) -> list[tuple[Record, Entry, dict[str, Any]]]:
    found = questions(evidence, ELICITATION)
    skip_unless(found, "the agent asked no question")
    return found


@judge("ACCORD-ELICIT-201", steps=("v2_only_links", "v2_strange_answer"))
def only_offered_modes_are_used(evidence: Evidence) -> None:
    found = _elicited(evidence)
    evidence.step("v2_only_links")
    for record, entry, params in found:
        if record.name.endswith(" v2_only_links") and params.get("mode") != "url":
            raise Violation(f"the client offers links only, and the mode is {params.get('mode')!r}", entry)


@judge("ACCORD-ELICIT-202", steps=("v2_strange_answer",))
def a_question_has_one_scope(evidence: Evidence) -> None:
    for record, entry, params in _elicited(evidence):
        scopes = [name for name in ("sessionId", "requestId") if params.get(name) is not None]
        if len(scopes) != 1:
            raise Violation(f"it belongs to {' and '.join(scopes) or 'nothing'}", entry)
        if scopes == ["requestId"] and not _is_pending_in_v2(record, entry, params["requestId"]):
            raise Violation("the request that it belongs to does not wait for an answer", entry)


def _is_pending_in_v2(record: Record, question: Entry, id_: Any) -> bool:
    """Whether a request of ours waited for its answer when a question came."""
    before = record.entries[: question.place]
    asked = [
        each for _, each in messages_in(before, sent=True) if is_request(each) and key_of(each["id"]) == key_of(id_)
    ]
    answered = [each for _, each in messages_in(before) if is_answer(each, id_)]
    return len(asked) > len(answered)


@judge("ACCORD-ELICIT-203", steps=("v2_strange_answer",))
def forms_ask_for_no_secrets(evidence: Evidence) -> None:
    for _, entry, params in _elicited(evidence):
        schema = params.get("requestedSchema")
        properties = schema.get("properties") if isinstance(schema, dict) else None
        for name, each in properties.items() if isinstance(properties, dict) else ():
            title = each.get("title") if isinstance(each, dict) else None
            if _SECRET.search(f"{name} {title or ''}"):
                raise Violation(f"{name!r} is asked for in a form", entry)


@judge("ACCORD-ELICIT-204", steps=("v2_strange_answer", "v2_finished_things"))
def an_unknown_action_is_survived(evidence: Evidence) -> None:
    run = evidence.step("v2_strange_answer")
    asked = [entry for entry, _ in run.calls(ELICITATION) if entry.place >= run["since"]]
    skip_unless(asked, "the agent asked no question")
    skip_if("error" in run.answer(run["prompt"]), "the prompt was refused")
    if run["idle"] is None:
        evidence.step("v2_finished_things")
        raise Violation("the turn did not come to its end", asked[0])


judge_rows(
    _check,
    ("ACP-CLIENTCAP-001", "files_are_asked_for_only_where_they_are_offered", "fs/"),
    ("ACP-CLIENTCAP-002", "terminals_are_asked_for_only_where_they_are_offered", "terminal/"),
    ("ACP-CLIENTCAP-003", "forms_are_shown_only_where_they_are_offered", "elicitation/create"),
    steps=("meet", "turns", "cancel", "meet_able"),
)
