"""Requests of an agent: permission, elicitation, unknown requests, and requests that need an unoffered capability."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from accord.check.client.conversation import (
    CANCEL_ME,
    HOLD_ON,
    ClientConversation,
    chunk,
    elicitation,
    permission,
    step,
    tool,
)
from accord.check.engine.evidence import (
    CANCELLED,
    INVALID_PARAMS,
    NO_METHOD,
    Entry,
    Evidence,
    Inconclusive,
    Record,
    StepResult,
    Violation,
    is_answer,
    messages_in,
    skip_unless,
)
from accord.check.engine.judging import Notes, judge, judge_rows, request_fails
from accord.check.engine.wire import Silence
from accord.check.rule import JUNE_V2, V1_V2, RuleRow, client_rules

# fmt: off
RULES = client_rules(
    RuleRow("ACCORD-CLIENT-CANCEL-001", "M-M", "cancellation",
        says="A request that the agent takes back is still answered, by a result or by -32800"),
    RuleRow("ACCORD-CLIENT-PERM-001", "MMM", "tool-calls", "Every question for permission is answered with an outcome"),
    RuleRow("ACCORD-CLIENT-PERM-002", "MMM", "tool-calls", "Only an option that was offered is selected"),
    RuleRow("ACCORD-CLIENT-PERM-003", "MM-", "prompt-turn",
        says="Every question that is open when the client cancels is answered `cancelled`"),
    RuleRow("ACCORD-CLIENT-PERM-004", "--M", "prompt-turn",
        says="A question of work that was cancelled is answered, and not by approving"),
    RuleRow("ACCORD-CLIENT-PERM-005", "AAA", "tool-calls",
        says="Nothing is approved for a session that the client does not have"),
    RuleRow("ACCORD-CLIENT-PERM-006", "-MM", "tool-calls",
        says="A question with an unknown kind of option or subject is answered like others"),
    RuleRow("ACCORD-CLIENT-ELICIT-001", "C-C", "elicitation", gate="elicitation.form",
        says="A form is accepted, declined or cancelled"),
    RuleRow("ACCORD-CLIENT-ELICIT-002", "C-C", "elicitation", gate="elicitation.url",
        says="An address is accepted, declined or cancelled"),
    RuleRow("ACCORD-CLIENT-ELICIT-003", "M-M", "elicitation",
        says="A mode that the client did not offer is refused with -32602"),
    RuleRow("ACCORD-CLIENT-ELICIT-005", "C-C", "elicitation", gate="elicitation.form",
        says="What was filled into a form fits its schema"),
    RuleRow("ACCORD-CLIENT-EXT-001", "MMM", "extensibility", "An unknown request is answered with -32601"),
    RuleRow("ACCORD-CLIENT-HONEST-001", "AAM", "initialization",
        says="Reading files is refused by a client that does not offer it"),
    RuleRow("ACCORD-CLIENT-HONEST-002", "AAM", "initialization",
        says="Writing files is refused, and not done, by a client that does not offer it"),
    RuleRow("ACCORD-CLIENT-HONEST-003", "AAM", "initialization",
        says="Running commands is refused, and not done, by a client that does not offer it"),
    RuleRow("ACCORD-CLIENT-REQUEST-001", "AAA", ("overview", "overview", "error"),
        says="A request whose params make no sense is answered with -32602"),
)
# fmt: on


ASKS, OPEN, STRANGER = "ACCORD-CLIENT-PERM-001", "ACCORD-CLIENT-PERM-006", "ACCORD-CLIENT-PERM-005"
TAKEN_BACK, LISTENS = "ACCORD-CLIENT-CANCEL-001", "ACCORD-CLIENT-CANCEL-005"
PENDING = {"v1": "ACCORD-CLIENT-PERM-003", "v2_june": "ACCORD-CLIENT-PERM-003", "v2": "ACCORD-CLIENT-PERM-004"}
CANCEL_SECONDS = 3.0
"""How long a client may take to cancel when it is asked to."""


def _question(turn: ClientConversation, title: str, **fields: Any) -> Any:
    return turn.wire.ask("session/request_permission", {**permission(turn.edition, turn.session, title), **fields})


@step(order=30)
async def permissions(turn: ClientConversation) -> Notes:
    """One question, then two at once."""
    ids = [_question(turn, "accord check: may this be done?")]
    await turn.answer(ids[0], ASKS, turn.options.turn_seconds)
    ids += [_question(turn, f"accord check: may that be done? ({number})") for number in (1, 2)]
    for id_ in ids[1:]:
        await turn.answer(id_, ASKS, turn.options.turn_seconds)
    return {"ids": ids}


@step(order=31, editions=JUNE_V2)
async def open_permissions(turn: ClientConversation) -> Notes:
    """Permission requests with an unknown option kind and, in v2, an unknown subject."""
    options = (("maybe", "_maybe"), ("yes", "allow_once"), ("no", "reject_once"))
    params = permission(turn.edition, turn.session, "accord check: may this be done, or what?", options)
    ids = [turn.wire.ask("session/request_permission", params)]
    if turn.edition == "v2":
        ids.append(_question(turn, "accord check: about nothing?", subject=None))
        ids.append(_question(turn, "accord check: about what?", subject={"type": "_wish", "wish": 1}))
    for id_ in ids:
        await turn.answer(id_, OPEN, turn.options.turn_seconds)
    return {"ids": ids}


@step(order=63)
async def strange_permission(turn: ClientConversation) -> Notes:
    """A question about a session that the client does not have."""
    params = permission(turn.edition, "session-of-nobody", "accord check: for nobody?")
    return await turn.ask_and_wait("session/request_permission", params, STRANGER, turn.options.turn_seconds)


@step(order=50, editions=V1_V2)
async def taken_back(turn: ClientConversation) -> Notes:
    """A question that is withdrawn before it was answered, unless the client was quicker."""
    id_ = turn.wire.ask("session/request_permission", permission(turn.edition, turn.session, HOLD_ON))
    turn.wire.notify("$/cancel_request", {"requestId": id_})
    await turn.answer(id_, TAKEN_BACK, turn.options.turn_seconds)
    await turn.is_alive(TAKEN_BACK)
    return {"id": id_}


@step(when="hold")
async def hold(turn: ClientConversation) -> Notes:
    """A turn that waits to be cancelled, with a question open and a tool at work."""
    turn.update(tool(turn.edition, "call-9", title="At work", status="in_progress"))
    turn.update(chunk(turn.edition, CANCEL_ME, "m7"))
    since = turn.now
    id_ = turn.wire.ask("session/request_permission", permission(turn.edition, turn.session, CANCEL_ME))
    try:
        await turn.wire.until(_is_cancel, since, min(CANCEL_SECONDS, turn.options.timeout_seconds))
    except Silence:
        raise Inconclusive("the client did not cancel") from None
    if turn.edition == "v2":
        turn.wire.notify("$/cancel_request", {"requestId": id_})
    await turn.answer(id_, PENDING[turn.edition])
    place = turn.update({"sessionUpdate": "tool_call_update", "toolCallId": "call-9", "status": "failed"})
    turn.update(chunk(turn.edition, "Stopped.", "m7"))
    await turn.is_alive(LISTENS, turn.wire.entries[place])
    return {"id": id_}


def _is_cancel(entry: Entry) -> bool:
    return any(message.get("method") == "session/cancel" for _, message in messages_in([entry]))


def _outcome(run: StepResult, id_: Any) -> Any:
    entry = run.answer_entry(id_)
    result = run.result(id_)
    outcome = result.get("outcome") if isinstance(result, dict) else None
    if not isinstance(outcome, dict) or not isinstance(outcome.get("outcome"), str):
        raise Violation("the answer has no outcome", run.request_entry(id_), entry)
    if outcome["outcome"] == "selected" and not isinstance(outcome.get("optionId"), str):
        raise Violation("the answer does not say which option was selected", run.request_entry(id_), entry)
    return outcome


@judge("ACCORD-CLIENT-PERM-001", steps=("permissions",))
def every_question_is_answered_with_an_outcome(evidence: Evidence) -> None:
    run = evidence.step("permissions")
    for id_ in run["ids"]:
        outcome = _outcome(run, id_)
        if outcome["outcome"] not in {"selected", "cancelled"} and evidence.edition != "v2":
            raise Violation(f"there is no outcome {outcome['outcome']!r}", run.answer_entry(id_))


@judge("ACCORD-CLIENT-PERM-002", steps=("permissions",))
def only_what_was_offered_is_selected(evidence: Evidence) -> str:
    run = evidence.step("permissions")
    chosen = []
    for id_ in run["ids"]:
        answer = run.answer(id_).get("result")
        outcome = answer.get("outcome") if isinstance(answer, dict) else None
        if isinstance(outcome, dict) and outcome.get("outcome") == "selected":
            asked = run.request_entry(id_)
            offered = [option["optionId"] for option in asked.message["params"]["options"]] if asked else []
            if outcome.get("optionId") not in offered:
                raise Violation(f"{outcome.get('optionId')!r} was not offered", asked, run.answer_entry(id_))
            chosen.append(outcome["optionId"])
    return f"selected: {', '.join(chosen) or 'nothing'}"


@judge("ACCORD-CLIENT-PERM-003", steps=("hold",))
def what_is_open_at_a_cancel_is_cancelled(evidence: Evidence) -> None:
    pending = [found for record in evidence.records for found in _pending_at_cancel(record)]
    skip_unless(pending, "no question was open when the client cancelled")
    for record, cancel, asked in pending:
        id_ = asked.message["id"]
        answers = [(entry, each) for entry, each in messages_in(record.entries) if is_answer(each, id_)]
        if not answers:
            raise Violation("a question that was open at the cancel was never answered", asked, cancel)
        result = answers[0][1].get("result")
        outcome = result.get("outcome") if isinstance(result, dict) else None
        if not isinstance(outcome, dict) or outcome.get("outcome") != "cancelled":
            raise Violation(
                "a question that was open at the cancel was not answered `cancelled`", cancel, answers[0][0]
            )


def _pending_at_cancel(record: Record) -> list[tuple[Record, Entry, Entry]]:
    """The cancels of turns, each with a question of that turn that was open then."""
    found = []
    for cancel, message in messages_in(record.entries):
        if message.get("method") != "session/cancel":
            continue
        session = message["params"].get("sessionId") if isinstance(message.get("params"), dict) else None
        turn = record.entries[_last_prompt(record, session, cancel.place) : cancel.place]
        for asked, question in messages_in(turn, sent=True):
            is_one = (
                question.get("method") == "session/request_permission" and question["params"]["sessionId"] == session
            )
            if is_one and not any(is_answer(each, question["id"]) for _, each in messages_in(turn)):
                found.append((record, cancel, asked))
    return found


def _last_prompt(record: Record, session: Any, before: int) -> int:
    places = [
        entry.place
        for entry, each in messages_in(record.entries[:before])
        if each.get("method") == "session/prompt" and isinstance(each.get("params"), dict)
        if each["params"].get("sessionId") == session
    ]
    return places[-1] if places else 0


def _need_no_approval(evidence: Evidence, step: str, note: str) -> None:
    run = evidence.step(step)
    answer = run.answer(run[note])
    result = answer.get("result")
    outcome = result.get("outcome") if isinstance(result, dict) else None
    if isinstance(outcome, dict) and outcome.get("optionId") in {"yes", "always"}:
        raise run.violation("it was approved", run[note])


@judge("ACCORD-CLIENT-PERM-006", steps=("open_permissions",))
def unknown_options_and_subjects_do_no_harm(evidence: Evidence) -> None:
    run = evidence.step("open_permissions")
    for id_ in run["ids"]:
        _outcome(run, id_)


@judge("ACCORD-CLIENT-CANCEL-001", steps=("taken_back",))
def a_request_that_is_taken_back_is_answered(evidence: Evidence) -> str:
    run = evidence.step("taken_back")
    answer = run.answer(run["id"])
    if "error" in answer:
        if run.error(run["id"]).get("code") != CANCELLED:
            raise run.violation("it was answered with another error than -32800", run["id"])
        return "it was given up"
    return f"it was answered: {_outcome(run, run['id'])['outcome']}"


MODES = ("form", "url")

READ, WRITE, RUN, ELICIT = (
    "ACCORD-CLIENT-HONEST-001",
    "ACCORD-CLIENT-HONEST-002",
    "ACCORD-CLIENT-HONEST-003",
    "ACCORD-CLIENT-ELICIT-003",
)

FORM = {"name": str, "age": int, "agrees": bool}


@step(order=21)
async def extensions(turn: ClientConversation) -> Notes:
    ids = [turn.wire.ask(method, {"x": 1}) for method in ("_accord.check/strange", "future/thing")]
    for id_ in ids:
        await turn.answer(id_, "ACCORD-CLIENT-EXT-001")
    return {"ids": ids}


@step(order=64)
async def bad_request(turn: ClientConversation) -> Notes:
    """A permission request without options and without a tool call."""
    params = {"sessionId": turn.session, "options": "yes or no"}
    return await turn.ask_and_wait("session/request_permission", params, "ACCORD-CLIENT-REQUEST-001")


@step("elicitation", "form", order=40, editions=V1_V2)
async def form(turn: ClientConversation) -> Notes:
    params = elicitation(turn.session, "form")
    return await turn.ask_and_wait("elicitation/create", params, "ACCORD-CLIENT-ELICIT-001", turn.options.turn_seconds)


@step("elicitation", "url", order=41, editions=V1_V2)
async def address(turn: ClientConversation) -> Notes:
    params = elicitation(turn.session, "url")
    return await turn.ask_and_wait("elicitation/create", params, "ACCORD-CLIENT-ELICIT-002", turn.options.turn_seconds)


def _need(turn: ClientConversation, *path: str) -> None:
    """Skip the step unless the edition is v1, the only one with files and terminals of the client."""
    if turn.edition == "v1" and turn.offers(*path):
        raise Inconclusive(f"offered: {'.'.join(path)}")


def _place(folder: Path, name: str, content: str | None = None) -> str:
    if content is not None:
        (folder / name).write_text(content, encoding="utf-8")
    return str(folder / name)


@step(order=45)
async def unoffered_read(turn: ClientConversation) -> Notes:
    _need(turn, "fs", "readTextFile")
    params = {"sessionId": turn.session, "path": _place(turn.folder, "there.txt", "there\n")}
    return await turn.ask_and_wait("fs/read_text_file", params, READ)


@step(order=45)
async def unoffered_write(turn: ClientConversation) -> Notes:
    _need(turn, "fs", "writeTextFile")
    path = _place(turn.folder, "made.txt")
    id_ = turn.ask("fs/write_text_file", path=path, content="made\n")
    await turn.answer(id_, WRITE)
    return {"id": id_, "done": _exists(path)}


@step(order=45)
async def unoffered_terminal(turn: ClientConversation) -> Notes:
    """A command to run, which would leave a file behind."""
    _need(turn, "terminal")
    path = _place(turn.folder, "made.txt")
    id_ = turn.ask("terminal/create", command="touch", args=[path], cwd=turn.cwd)
    await turn.answer(id_, RUN)
    await turn.is_alive(RUN)
    return {"id": id_, "done": _exists(path)}


@step(order=45, editions=V1_V2)
async def unoffered_elicitation(turn: ClientConversation) -> Notes:
    """A question in a mode that was not offered."""
    ids = []
    for mode in MODES:
        if not turn.offers("elicitation", mode):
            ids.append(turn.wire.ask("elicitation/create", elicitation(turn.session, mode)))
            await turn.answer(ids[-1], ELICIT)
    skip_unless(ids, "offered: elicitation.form and elicitation.url")
    return {"ids": ids}


def _exists(path: str) -> bool:
    return Path(path).exists()


@judge("ACCORD-CLIENT-EXT-001", steps=("extensions",))
def an_unknown_request_is_refused(evidence: Evidence) -> None:
    run = evidence.step("extensions")
    for id_ in run["ids"]:
        if run.error(id_).get("code") != NO_METHOD:
            raise run.violation("the error is not -32601", id_)


@judge("ACCORD-CLIENT-REQUEST-001", steps=("bad_request",))
def a_bad_request_is_refused(evidence: Evidence) -> None:
    run = evidence.step("bad_request")
    if run.error(run["id"]).get("code") != INVALID_PARAMS:
        raise run.violation("the error is not -32602", run["id"])


def _refused_and_not_done(evidence: Evidence, step: str) -> None:
    run = evidence.step(step)
    run.error(run["id"])
    if run["done"]:
        raise run.violation("it was refused, and done", run["id"])


def _action(evidence: Evidence, step: str) -> str:
    run = evidence.step(step)
    result = run.result(run["id"])
    action = result.get("action") if isinstance(result, dict) else None
    if action not in {"accept", "decline", "cancel"}:
        raise run.violation(f"the action is {action!r}", run["id"])
    return str(action)


@judge("ACCORD-CLIENT-ELICIT-003", steps=("unoffered_elicitation",))
def a_mode_that_was_not_offered_is_refused(evidence: Evidence) -> None:
    run = evidence.step("unoffered_elicitation")
    # A client that offers no mode at all need not have the method.
    codes = {INVALID_PARAMS, NO_METHOD} if len(run["ids"]) == len(MODES) else {INVALID_PARAMS}
    for id_ in run["ids"]:
        if run.error(id_).get("code") not in codes:
            raise run.violation("the error is not -32602", id_)


@judge("ACCORD-CLIENT-ELICIT-005", steps=("form",))
def a_form_is_filled_in_as_it_asks(evidence: Evidence) -> None:
    run = evidence.step("form")
    result = run.answer(run["id"]).get("result")
    if not isinstance(result, dict) or result.get("action") != "accept":
        raise Inconclusive("the form was not filled in")
    asked, entry = run.request_entry(run["id"]), run.answer_entry(run["id"])
    content = result.get("content")
    if not isinstance(content, dict) or "name" not in content:
        raise Violation("what is required was not filled in", asked, entry)
    for name, value in content.items():
        if not isinstance(value, FORM.get(name, object)):
            raise Violation(f"`{name}` is {value!r}", asked, entry)


judge_rows(
    _need_no_approval,
    ("ACCORD-CLIENT-PERM-004", "a_question_of_cancelled_work_is_not_approved", "hold", "id"),
    ("ACCORD-CLIENT-PERM-005", "nothing_is_approved_for_a_session_of_nobody", "strange_permission", "id"),
)
judge_rows(request_fails, ("ACCORD-CLIENT-HONEST-001", "no_file_is_read_that_was_not_offered", "unoffered_read", "id"))
judge_rows(
    _refused_and_not_done,
    ("ACCORD-CLIENT-HONEST-002", "no_file_is_written_that_was_not_offered", "unoffered_write"),
    ("ACCORD-CLIENT-HONEST-003", "no_command_is_run_that_was_not_offered", "unoffered_terminal"),
)
judge_rows(
    _action,
    ("ACCORD-CLIENT-ELICIT-001", "a_form_is_answered", "form"),
    ("ACCORD-CLIENT-ELICIT-002", "an_address_is_answered", "address"),
)
