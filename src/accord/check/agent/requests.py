"""JSON-RPC requests, notifications, responses and errors, and the ids of requests: large, odd, used again."""

from __future__ import annotations

import json
import re
from typing import Any

from accord.check.agent.conversation import AgentConversation, step
from accord.check.agent.exchange import (
    LATE,
    NO_SESSION,
    answer_or_none,
    ask_and_wait,
    line_step,
    lives,
    settle,
    wait_for_answers,
    wait_for_question,
    wait_or_none,
)
from accord.check.agent.lines import BIG_ID, each_line_gets, line_is_answered, line_reaction, messages_after
from accord.check.agent.queries import code_of, key_of
from accord.check.engine.evidence import (
    INVALID_REQUEST,
    NO_METHOD,
    Entry,
    Evidence,
    Inconclusive,
    Record,
    StepResult,
    Violation,
    is_answer,
    messages_in,
    skip_if,
    skip_unless,
)
from accord.check.engine.judging import Notes, judge, judge_rows, step_completes
from accord.check.rule import JUNE_V2, SESSIONS, V2, RuleRow, agent_rules

# fmt: off
RULES = agent_rules(
    RuleRow("ACCORD-ERROR-001", "AA-", "#Error", "Errors show nothing of the program's insides"),
    RuleRow("ACCORD-ERROR-201", "--A", "#Error", "An error contains no stack trace"),
    RuleRow("ACP-ERROR-001", "AAA", "#Error", "The message of an error is one line, and not empty"),
    RuleRow("ACP-JSONRPC-001", "MMM", "#RequestId", "An answer carries the id of its request, with its type"),
    RuleRow("ACP-JSONRPC-002", "MMM", "#Error",
        says="An answer has a result or an error and never both, and an error has a code and a message"),
    RuleRow("ACP-JSONRPC-003", "MMM", "overview", "Nothing answers a notification"),
    RuleRow("ACP-JSONRPC-004", "AAA", "#ErrorCode", "An unknown method is answered with -32601"),
    RuleRow("ACP-JSONRPC-005", "AAA", ("overview", "transports", "transports"), says=(
        "A bad request leaves the connection working",
        "A bad request, or a bad array, leaves the connection working",
        "A bad request, or a bad array, leaves the connection working",
    )),
    RuleRow("ACCORD-WIRE-003", "MM-", "#ExtRequest", "A request without params is answered"),
    RuleRow("ACCORD-WIRE-004", "MM-", "#ExtRequest", "A request whose params are null is answered"),
    RuleRow("ACCORD-WIRE-006", "A--", "extensibility", "An unknown notification does not end the agent"),
    RuleRow("ACCORD-WIRE-007", "AA-", "overview", "An answer without a pending request is dropped"),
    RuleRow("ACCORD-WIRE-204", "--M", "#ClientResponse", "A response to nothing is dropped without an answer"),
    RuleRow("ACCORD-WIRE-205", "--A", "transports", "A malformed response is dropped without an answer"),
    RuleRow("ACCORD-WIRE-210", "--M", "error",
        says="A notification with params that do not fit is dropped, and the connection goes on"),
    RuleRow("ACCORD-WIRE-215", "--A", "error", gate="session",
        says="Absent and null params of a method without required fields count as {}"),
    RuleRow("ACCORD-WIRE-005", "AA-", "#RequestId", "An id beyond 2**53 comes back digit by digit"),
    RuleRow("ACCORD-WIRE-010", "II-", "#RequestId", "What happens to requests whose id is null or a fraction"),
    RuleRow("ACCORD-WIRE-206", "--M", "#RequestId",
        says="A request whose id is null, a fraction or no scalar is refused with -32600 and the id null"),
    RuleRow("ACCORD-WIRE-212", "--M", "#RequestId", "A request is answered once, never twice"),
    RuleRow("ACCORD-WIRE-213", "--M", "#RequestId",
        says="The ids of an agent's own requests are strings or integers, and none is used again while it waits"),
    RuleRow("ACCORD-WIRE-216", "--C", "#RequestId", gate="session",
        says="An id that the agent uses for a request of its own may be used by the client at the same time"),
    RuleRow("ACCORD-WIRE-217", "--A", "#RequestId", "An id may be used again when its request was answered"),
)
# fmt: on


IDS = (700_007, "seven", 0, "", -3, 2**53)
"""None of them is ever the id of another request."""
NOTIFICATIONS = ("_example.com/unknown", "_example.com/note", "nonsense/note", "$/nonsense")

RESPONSES = {
    "unknown number": b'{"jsonrpc":"2.0","id":987654,"result":{}}',
    "unknown word": b'{"jsonrpc":"2.0","id":"accord-check-nothing","error":{"code":-32603,"message":"Internal error"}}',
}

MALFORMED_RESPONSES = {
    "result and error": b'{"jsonrpc":"2.0","id":987655,"result":{},"error":{"code":1,"message":"x"}}',
    "error that is none": b'{"jsonrpc":"2.0","id":987656,"error":"no"}',
}

BAD_PARAMS = {"no session": b"{}", "a number": b'{"sessionId":7}', "a list": b"[1,2]", "a word": b'"x"'}

_INSIDES = re.compile(
    r"Traceback \(most recent|File \"[^\"]+\", line \d|\.(?:py|js|ts|rs|go):\d+|\n\s+at \S|node_modules/|site-packages/"
    r"|panicked at|goroutine \d+ \["
)

_TRACE = re.compile(
    r'Traceback \(most recent call last\)|File "[^"]+", line \d+|\n\s+at .+:\d+:\d+\)?|panicked at |goroutine \d+ \['
)


@step("own")
async def strange_requests(agent: AgentConversation) -> Notes:
    """Ids of every kind (`ids`), unknown methods, unknown notifications, and requests with bad params.

    `extension` is a request that starts with an underscore, `unknown` one that does not; `notifications` is the place
    of the first notification, and at `quiet` an answer to one would have come; `after` is a session that is asked for
    after all of them.
    """
    await agent.handshake()
    for id_ in IDS:
        agent.ask("nonsense/method", {"a": 1}, id_)
    for id_ in IDS:
        await answer_or_none(agent, id_)
    extension = await ask_and_wait(agent, "_example.com/unknown", {"a": 1})
    unknown = await ask_and_wait(agent, "nonsense/method", {})
    notifications = agent.now
    for method in NOTIFICATIONS:
        # A sign of life behind each shows which of them was answered.
        agent.notify(method, {"a": 1})
        await lives(agent)
    agent.notify("session/cancel", {"sessionId": "nobody"})
    await lives(agent)
    quiet = agent.now
    wrong = await ask_and_wait(agent, "session/new", {"cwd": 5, "mcpServers": "none"})
    relative = await ask_and_wait(agent, "session/new", {"cwd": "here", "mcpServers": []})
    after = await ask_and_wait(agent, "session/new", {"cwd": agent.cwd, "mcpServers": []})
    return {
        "ids": IDS,
        "extension": extension,
        "unknown": unknown,
        "notifications": notifications,
        "quiet": quiet,
        "wrong": [wrong, relative],
        "after": after,
        "alive": await lives(agent),
    }


_BAD_NOTIFICATION = b'{"jsonrpc":"2.0","method":"session/cancel","params":%b}'
line_step("v2_stray_responses", "ACCORD-WIRE-204", RESPONSES)
line_step("v2_malformed_responses", "ACCORD-WIRE-205", MALFORMED_RESPONSES)
line_step(
    "v2_bad_notifications",
    "ACCORD-WIRE-210",
    {name: _BAD_NOTIFICATION % params for name, params in BAD_PARAMS.items()},
)


@judge("ACP-ERROR-001", steps=("strange_requests", "unknown_session"))
def the_message_of_an_error_is_one_line(evidence: Evidence) -> None:
    found = False
    for _, entry, message in evidence.messages():
        error = message.get("error")
        said = error.get("message") if isinstance(error, dict) else None
        if isinstance(said, str):
            found = True
            if not said.strip() or len(said.splitlines()) != 1:
                raise Violation("the message of an error is empty or has several lines", entry)
    skip_unless(found, "there was no error")


@judge("ACP-JSONRPC-001", steps=("strange_requests",))
def an_answer_has_the_id_of_its_request(evidence: Evidence) -> None:
    run = evidence.step("strange_requests")
    for id_ in run["ids"]:
        if not run.answers(id_):
            request = run.request_entry(id_)
            raise Violation(f"no answer has the id {id_!r}", request, _strange_answer(run, run.start))


def _strange_answer(run: StepResult, since: int, before: int | None = None) -> Entry | None:
    """The first answer in a part of the record that answers no request of ours."""
    asked = [message["id"] for _, message in messages_in(run.entries, sent=True) if _is_request(message)]
    for entry, message in messages_in(run.entries[since:before]):
        id_ = message.get("id")
        if "method" not in message and not any(type(id_) is type(each) and id_ == each for each in asked):
            return entry
    return None


def _is_request(message: dict[str, Any]) -> bool:
    return message.get("id") is not None and "method" in message


@judge("ACP-JSONRPC-002", steps=("meet", "turns", "strange_requests"))
def an_answer_is_a_result_or_an_error(evidence: Evidence) -> None:
    for _, entry, message in evidence.messages():
        if "method" in message or "id" not in message:
            continue
        if ("result" in message) == ("error" in message):
            both = "both a result and an error" if "result" in message else "neither a result nor an error"
            raise Violation(f"an answer has {both}", entry)
        if "error" in message and not _is_error(message["error"]):
            raise Violation("an error has no whole number for a code, or no text for a message", entry)


def _is_error(error: Any) -> bool:
    if not isinstance(error, dict):
        return False
    return type(error.get("code")) is int and isinstance(error.get("message"), str)


@judge("ACP-JSONRPC-003", steps=("strange_requests", "cancel"))
def a_notification_is_not_answered(evidence: Evidence) -> None:
    run = evidence.step("strange_requests")
    entry = _strange_answer(run, run["notifications"], run["quiet"])
    if entry is not None:
        sent = [each for each, message in messages_in(run.entries[: entry.place], sent=True) if "id" not in message]
        raise Violation("a notification was answered", sent[-1], entry)
    cancel = evidence.steps.get("cancel")
    if cancel is not None and cancel.failure is None:
        entry = _strange_answer(cancel, cancel["cancel"], cancel.end)
        if entry is not None:
            raise Violation("a cancellation was answered", cancel.entries[cancel["cancel"]], entry)


@judge("ACP-JSONRPC-004", steps=("strange_requests",))
def an_unknown_method_is_not_found(evidence: Evidence) -> None:
    run = evidence.step("strange_requests")
    code = run.error(run["unknown"]).get("code")
    if code != NO_METHOD:
        raise run.violation(f"an unknown method is answered with {code}, not with {NO_METHOD}", run["unknown"])


@judge("ACP-JSONRPC-005", steps=("strange_requests",))
def a_bad_request_leaves_the_connection_working(evidence: Evidence) -> None:
    run = evidence.step("strange_requests")
    answers = run.answers(run["after"])
    unanswered = [id_ for id_ in run["wrong"] if not run.answers(id_)]
    wrong = run.request_entry(unanswered[0] if unanswered else run["wrong"][0])
    if not answers or not run["alive"]:
        raise Violation("after a bad request nothing is answered any more", wrong, run.request_entry(run["after"]))
    entry, answer = answers[0]
    if "result" not in answer and "new" in evidence.advertised:
        raise Violation("after a bad request no session can be made any more", wrong, entry)


def _silent(evidence: Evidence, name: str) -> None:
    run, line, _ = messages_after(evidence, name)
    if run["died_of"] == name:
        raise Violation("the agent said nothing more after it", line)


@judge("ACCORD-WIRE-007", steps=("odd_lines",))
def an_answer_to_nothing_is_dropped(evidence: Evidence) -> None:
    for name in ("an answer to nothing", "an error to nothing"):
        _silent(evidence, name)
        _, line, said = messages_after(evidence, name)
        if said:
            raise Violation("an answer was answered", line, said[0][0])


@judge("ACCORD-ERROR-001", steps=("meet", "invalid_params", "invalid_sessions"))
def errors_do_not_show_the_insides(evidence: Evidence) -> None:
    for _, entry, message in evidence.messages():
        error = message.get("error")
        if isinstance(error, dict):
            found = _INSIDES.search(json.dumps(error, ensure_ascii=False).replace("\\n", "\n").replace('\\"', '"'))
            if found:
                raise Violation(f"an error shows the program's insides: {found.group().strip()!r}", entry)


def _none_is_answered(evidence: Evidence, step: str) -> None:
    run = evidence.step(step)
    for name, part in run["parts"].items():
        line = run.entries[part[0]]
        strays = {key_of(None), key_of(line.message.get("id") if isinstance(line.message, dict) else None)}
        for entry, each in messages_in(run.entries[part[0] : part[1]]):
            if "method" not in each and key_of(each.get("id")) in strays:
                raise Violation(f"{name}: it was answered", line, entry)


@judge("ACCORD-WIRE-215", steps=("v2_lists",))
def absent_params_are_empty(evidence: Evidence) -> None:
    run = evidence.step("v2_lists")
    skip_if("result" not in run.answer(run["pages"][0]), "session/list does not work")
    for name in ("absent", "null"):
        run.result(run[name])


@judge("ACCORD-ERROR-201", steps=("v2_refused_sessions", "v2_refused_prompts"))
def errors_have_no_traces(evidence: Evidence) -> None:
    for _, entry, message in evidence.messages():
        if "error" in message and _TRACE.search(json.dumps(message["error"], ensure_ascii=False).replace("\\n", "\n")):
            raise Violation("there is a stack trace in it", entry)


@judge("ACP-JSONRPC-005", steps=("arrays",), editions=JUNE_V2)
def arrays_leave_the_connection_working(evidence: Evidence) -> None:
    run = evidence.step("arrays")
    if run["ended"]:
        since, _ = run["reactions"].get(run["ended"], run.get("work"))
        raise Violation("behind an array the agent did not answer any more", run.entries[since])


judge_rows(
    line_is_answered,
    ("ACCORD-WIRE-003", "params_may_be_left_out", "no params", 900_103),
    ("ACCORD-WIRE-004", "params_may_be_null", "null params", 900_104),
    steps=("odd_lines",),
)
judge_rows(
    _silent,
    ("ACCORD-WIRE-006", "an_unknown_notification_is_survived", "an unknown notification"),
    steps=("odd_lines",),
)
judge_rows(
    _none_is_answered,
    ("ACCORD-WIRE-204", "stray_responses_are_not_answered", "v2_stray_responses"),
    ("ACCORD-WIRE-205", "malformed_responses_are_not_answered", "v2_malformed_responses"),
)
judge_rows(step_completes, ("ACCORD-WIRE-210", "bad_notifications_are_survived", "v2_bad_notifications"))


# --- ids


BAD_IDS = {"null": b"null", "a fraction": b"1.5", "a list": b"[1]", "a boolean": b"true"}


@step("bare", editions=V2, gate=SESSIONS)
async def v2_same_ids(agent: AgentConversation) -> Notes:
    """While the agent waits for a permission, a request has the id of its question."""
    session = await agent.new()
    since = agent.now
    with agent.replying(session__request_permission=lambda _: None):
        prompt = agent.prompt(session, agent.tool_prompt)
        asked = await wait_for_question(agent, "session/request_permission", session, since, prompt)
        if asked is None:
            await wait_for_answers(agent, prompt)
            return {"session": session}
        id_ = asked.message["id"]
        place = agent.wire.send_json(
            {"jsonrpc": "2.0", "id": id_, "method": "session/close", "params": {"sessionId": NO_SESSION}}
        )
        await wait_for_answers(agent, id_)
        agent.notify("session/cancel", {"sessionId": session})
        idle = await settle(agent, session, place)
    return {"session": session, "id": id_, "place": place, "asked": asked, "idle": idle}


_BAD_ID = b'{"jsonrpc":"2.0","id":%b,"method":"session/close","params":{"sessionId":"accord-check-no-such-session"}}'
line_step("v2_bad_ids", "ACCORD-WIRE-206", {name: _BAD_ID % id_ for name, id_ in BAD_IDS.items()}, are_refused=True)


@step("bare", editions=V2, order=LATE)
async def v2_ids_again(agent: AgentConversation) -> Notes:
    """One id for two requests, one after the other."""
    id_ = agent.ask("session/close", {"sessionId": NO_SESSION}, "accord-check-again")
    await agent.answer(id_)
    since = agent.now
    agent.ask("session/close", {"sessionId": NO_SESSION}, id_)
    await wait_or_none(agent, lambda entry: is_answer(entry.message, id_), since, agent.options.timeout_seconds)
    return {"id": id_, "since": since}


@judge("ACCORD-WIRE-010", steps=("odd_lines",))
def what_comes_of_strange_ids(evidence: Evidence) -> str:
    return f"null: {line_reaction(evidence, 'a null id')}; a fraction: {line_reaction(evidence, 'a fraction as id')}"


@judge("ACCORD-WIRE-212", steps=("meet",))
def requests_are_answered_once(evidence: Evidence) -> None:
    for record in evidence.records:
        asked = [key_of(each["id"]) for _, each in messages_in(record.entries, sent=True) if _asks(each)]
        counts: dict[str, int] = {}
        for entry, each in messages_in(record.entries):
            key = key_of(each.get("id"))
            if "method" in each or key not in asked or key == key_of(None):
                continue
            counts[key] = counts.get(key, 0) + 1
            if counts[key] > asked.count(key):
                raise Violation(f"request {each['id']!r} was answered once more", entry)


def _asks(message: dict[str, Any]) -> bool:
    return "method" in message and "id" in message


@judge("ACCORD-WIRE-213", steps=("v2_finished_things",))
def own_ids_are_good(evidence: Evidence) -> None:
    own = [_own_ids(record) for record in evidence.records]
    skip_unless(any(own), "the agent asked for nothing")


def _own_ids(record: Record) -> int:
    """The number of requests that the agent made in a process; checks their ids."""
    waiting: set[str] = set()
    count = 0
    for entry in record.entries:
        for _, each in messages_in([entry], sent=entry.sent):
            if entry.sent and "method" not in each:
                waiting.discard(key_of(each.get("id")))
            elif not entry.sent and _asks(each):
                count += 1
                _look_at_id(each["id"], waiting, entry)
                waiting.add(key_of(each["id"]))
    return count


def _is_id(id_: Any) -> bool:
    return isinstance(id_, (str, int)) and not isinstance(id_, bool)


def _look_at_id(id_: Any, waiting: set[str], entry: Entry) -> None:
    if not _is_id(id_):
        raise Violation(f"{id_!r} is no id for a request", entry)
    if key_of(id_) in waiting:
        raise Violation(f"{id_!r} is the id of another request that still waits", entry)


@judge("ACCORD-WIRE-216", steps=("v2_same_ids",))
def ids_have_a_direction(evidence: Evidence) -> None:
    run = evidence.step("v2_same_ids")
    if run.get("asked") is None:
        raise Inconclusive("no permission was asked for")
    skip_unless(_is_id(run["id"]), "the id of the agent is one that no client may use")
    if not run.answers(run["id"]):
        raise Violation("the request was not answered", run["asked"], run.entries[run["place"]])


@judge("ACCORD-WIRE-217", steps=("v2_ids_again",))
def ids_can_be_used_again(evidence: Evidence) -> None:
    run = evidence.step("v2_ids_again")
    answers = run.answers(run["id"])
    second = [(entry, each) for entry, each in answers if entry.place > run["since"]]
    if not second:
        raise Violation("the second request was not answered", answers[0][0], run.entries[run["since"]])
    if code_of(second[0][1]) == INVALID_REQUEST:
        raise Violation("the second request was refused", run.entries[run["since"]], second[0][0])


judge_rows(
    line_is_answered,
    ("ACCORD-WIRE-005", "a_large_id_comes_back_digit_by_digit", "a large id", BIG_ID),
    steps=("odd_lines",),
)
judge_rows(each_line_gets, ("ACCORD-WIRE-206", "bad_ids_are_refused", "v2_bad_ids", INVALID_REQUEST))
