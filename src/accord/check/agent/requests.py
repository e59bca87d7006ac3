"""JSON-RPC requests, notifications, responses and errors, and requests that are withdrawn."""

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
    comes,
    line_step,
    lives,
    shows_life,
)
from accord.check.agent.lines import line_is_answered, messages_after
from accord.check.agent.queries import as_dict, completed, judge_completion, key_of
from accord.check.engine.evidence import Evidence, Inconclusive, StepFailed, StepResult, Violation, skip_if, skip_unless
from accord.check.engine.judging import Notes, judge, judge_rows, step_completes
from accord.check.engine.record import CANCELLED, NO_METHOD, Entry, messages_in
from accord.check.rule import JUNE_V2, V1, V2, RuleRow, agent_rules

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
    RuleRow("ACCORD-REQCANCEL-001", "M--", "cancellation", "A request that is taken back gets exactly one answer"),
    RuleRow("ACCORD-REQCANCEL-002", "M--", "cancellation",
        says="A request that was taken back and fails does so with -32800"),
    RuleRow("ACCORD-REQCANCEL-003", "A--", "cancellation",
        says="Taking back a request that was never made, or has its answer, is ignored"),
    RuleRow("ACCORD-WIRE-003", "MM-", "#ExtRequest", "A request without params is answered"),
    RuleRow("ACCORD-WIRE-004", "MM-", "#ExtRequest", "A request whose params are null is answered"),
    RuleRow("ACCORD-WIRE-006", "A--", "extensibility", "An unknown notification does not end the agent"),
    RuleRow("ACCORD-WIRE-007", "AA-", "overview", "An answer without a pending request is dropped"),
    RuleRow("ACCORD-WIRE-204", "--M", "#ClientResponse", "A response to nothing is dropped without an answer"),
    RuleRow("ACCORD-WIRE-205", "--A", "transports", "A malformed response is dropped without an answer"),
    RuleRow("ACCORD-WIRE-210", "--M", "error",
        says="A notification with params that do not fit is dropped, and the connection goes on"),
    RuleRow("ACCORD-WIRE-214", "--M", "cancellation",
        says="Taking back a request that does not exist or was answered does nothing"),
    RuleRow("ACCORD-WIRE-215", "--A", "error", gate="session",
        says="Absent and null params of a method without required fields count as {}"),
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


@judge("ACCORD-WIRE-214", steps=("v2_takes_back_nothing",))
def taking_back_nothing_does_nothing(evidence: Evidence) -> None:
    run = evidence.step("v2_takes_back_nothing")
    strays = {key_of(id_) for id_ in (None, 987657, "accord-check-nothing", run["answered"])}
    for entry, each in messages_in(run.entries[run["since"] : run["end"]]):
        if "method" not in each and key_of(each.get("id")) in strays:
            raise Violation("it was answered", run.entries[run["since"]], entry)


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


judge_completion(("ACCORD-REQCANCEL-003", "taking_back_what_was_never_asked_is_ignored", "request_cancels"))
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
