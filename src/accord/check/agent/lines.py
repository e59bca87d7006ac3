"""Lines on stdin and stdout: their bytes and ends, broken lines, large messages, stderr and the end of the process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from accord.check.agent.conversation import AgentConversation, step
from accord.check.agent.exchange import LATE, NO_SESSION, ask_all, line_step, lives
from accord.check.agent.queries import as_dict, code_of, completed, describe_reaction, judge_completion, listed
from accord.check.agent.turns import RecordedTurn, turns_in
from accord.check.engine.evidence import (
    INVALID_REQUEST,
    PARSE_ERROR,
    Entry,
    Evidence,
    Inconclusive,
    Record,
    StepResult,
    Violation,
    is_update,
    messages_in,
    read_json,
    skip_if,
)
from accord.check.engine.judging import Notes, judge, judge_rows
from accord.check.rule import V1_JUNE, V2, RuleRow, agent_rules

# fmt: off
RULES = agent_rules(
    RuleRow("ACP-INFO-INVALIDREQ-001", "III", "transports", "What happens after JSON that is no JSON-RPC"),
    RuleRow("ACP-INFO-PARSE-001", "III", "transports", "What happens after a line that is no JSON"),
    RuleRow("ACCORD-SIZE-001", "AA-", "transports", "A request of five megabytes is answered"),
    RuleRow("ACCORD-SIZE-002", "AA-", "transports", gate="session",
        says="A prompt of five megabytes is a prompt like any other"),
    RuleRow("ACP-TRANSPORT-001", "M--", "transports",
        says="Every line on stdout is one JSON-RPC 2.0 message, to the very end"),
    RuleRow("ACP-TRANSPORT-002", "MMM", "transports", "Everything on stdout is UTF-8"),
    RuleRow("ACP-TRANSPORT-201", "-MM", "transports",
        says="Every line on stdout is one JSON-RPC 2.0 message, or an array of some, to the very end"),
    RuleRow("ACP-TRANSPORT-203", "-MM", "transports", "No message is spread over several lines"),
    RuleRow("ACCORD-WIRE-001", "AA-", "transports", "A line may end with a carriage return and a newline"),
    RuleRow("ACCORD-WIRE-002", "AA-", "transports", "White space around a message means nothing"),
    RuleRow("ACCORD-WIRE-008", "II-", "transports", "What happens after a blank line"),
    RuleRow("ACCORD-WIRE-009", "II-", "transports", "What happens after a line that is no UTF-8"),
    RuleRow("ACCORD-WIRE-207", "--A", "error", "A line that is no JSON gets -32700 with the id null"),
    RuleRow("ACCORD-WIRE-208", "--A", "error", "JSON that is no object gets -32600 with the id null"),
    RuleRow("ACCORD-WIRE-209", "--A", "transports", "Blank lines and lines that end with CR LF do no harm"),
    RuleRow("ACCORD-WIRE-211", "--A", "transports", "A message of one mebibyte is read and answered"),
    RuleRow("ACCORD-EXIT-001", "AA-", "transports", gate="session",
        says="The process ends by itself when its stdin is closed, also while a turn runs"),
    RuleRow("ACCORD-EXIT-002", "II-", "transports", gate="session",
        says="With which status the process ends whose client goes away while it works"),
    RuleRow("ACCORD-EXIT-201", "--A", "transports", gate="session",
        says="An agent ends when its stdin ends, also in the middle of a turn"),
    RuleRow("ACCORD-EXIT-202", "--I", "transports", gate="session",
        says="With which status an agent ends when its stdin ends during a turn"),
    RuleRow("ACP-SHUTDOWN-001", "AAA", "transports", "The process ends by itself when its stdin is closed"),
    RuleRow("ACP-STDERR-001", "III", "transports", "What is said on stderr"),
)
# fmt: on


LINES = {
    # The most widely tolerated lines come first: after the end of the process no further line can be sent.
    "no JSON-RPC": b'{"hello":"world"}',
    "no version": b'{"id":77001,"method":"_example.com/unknown"}',
    "no JSON": b"this is not JSON",
    "half an object": b'{"jsonrpc": "2.0", "id": 77002',
    "a broken array": b'[{"jsonrpc":"2.0","id":77003,"method":"_example.com/unknown"},',
    "a number": b"42",
    "no UTF-8": b'{"jsonrpc":"2.0","id":77004,"method":"\xff\xfe"}',
}

BIG_ID = 2**53 + 1
"""The first whole number that a double cannot represent."""


def _request(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": "_accord.check/unknown", **fields}).encode()


UNUSUAL_LINES: dict[str, bytes] = {
    "CRLF": _request(id=900_101, params={}) + b"\r",
    "spaces": b" \t" + _request(id=900_102, params={}) + b"  ",
    "blank": b"",
    "no params": _request(id=900_103),
    "null params": _request(id=900_104, params=None),
    "a large id": _request(id=BIG_ID, params={}),
    "an unknown notification": _request(params={"a": 1}),
    "an answer to nothing": b'{"jsonrpc":"2.0","id":"accord-check-nobody","result":{}}',
    "an error to nothing": b'{"jsonrpc":"2.0","id":424242,"error":{"code":-32603,"message":"Internal error"}}',
    "a null id": _request(id=None, params={}),
    "a fraction as id": _request(id=1.5, params={}),
    "a list as params": _request(id=900_105, params=[1, 2]),
    "no UTF-8": b'{"jsonrpc":"2.0","id":900106,"method":"_\xff\xfe","params":{}}',
    "an array": b"[" + _request(id=900_107, params={}) + b"]",
}
"""Unusual lines; those that end some agents come last."""
LARGE_BYTES = 5 * 1024 * 1024
_MEBIBYTE = 1 << 20


@step("own")
async def bad_lines(agent: AgentConversation) -> Notes:
    """Sends each line; `reactions` has the answers, `places` the part of the record (from, to).

    `ended` is the line after which the agent stopped answering, or "".
    """
    await agent.handshake()
    reactions: dict[str, list[str]] = {}
    places: dict[str, tuple[int, int]] = {}
    for name, line in LINES.items():
        since = agent.wire.send(line)
        alive = await lives(agent)
        said = [entry.raw.decode(errors="replace") for entry in agent.wire.entries[since:] if not entry.sent]
        reactions[name] = said[:-1] if alive else said
        places[name] = (since, agent.now)
        if not alive:
            return {"reactions": reactions, "places": places, "ended": name, "alive": False}
    return {"reactions": reactions, "places": places, "ended": "", "alive": True}


@step("own", editions=V1_JUNE)
async def odd_lines(agent: AgentConversation) -> Notes:
    """Sends each line; notes the part of the record (from, to) with the reaction, and the fatal line, if any."""
    await agent.handshake()
    reactions: dict[str, tuple[int, int]] = {}
    for name, line in UNUSUAL_LINES.items():
        since = agent.wire.send(line)
        alive = await lives(agent)
        reactions[name] = (since, agent.now)
        if not alive:
            return {"reactions": reactions, "died_of": name}
    return {"reactions": reactions, "died_of": ""}


@step("bare", editions=V1_JUNE, order=95)
async def large_request(agent: AgentConversation) -> Notes:
    id_ = agent.ask("_accord.check/large", {"padding": "x" * LARGE_BYTES})
    await agent.answer(id_, "ACCORD-SIZE-001")
    return {"request": id_}


@step("bare", editions=V1_JUNE, order=96)
async def large_prompt(agent: AgentConversation) -> Notes:
    """A prompt of five megabytes, of which a model has to read little."""
    session = await agent.new()
    since = agent.now
    padding = {"accord.check/padding": "x" * LARGE_BYTES}
    prompt = agent.prompt(session, agent.options.prompt, _meta=padding)
    await agent.end_of_answered_turn(prompt, "ACCORD-SIZE-002")
    return {"session": session, "prompt": prompt, "since": since}


_CRLF = b'{"jsonrpc":"2.0","id":"crlf","method":"session/close","params":{"sessionId":"%b"}}\r' % NO_SESSION.encode()
line_step("v2_no_json", "ACCORD-WIRE-207", {"no JSON": b"this is no JSON"}, are_refused=True)
line_step("v2_scalars", "ACCORD-WIRE-208", {"a number": b"42", "a word": b'"hello"', "null": b"null"}, are_refused=True)
line_step("v2_blank_lines", "ACCORD-WIRE-209", {"empty": b"", "only CR": b"\r", "CR LF": _CRLF})


@step("bare", editions=V2, order=LATE)
async def v2_large_message(agent: AgentConversation) -> Notes:
    params = {"sessionId": NO_SESSION, "_meta": {"accord.check/filling": "x" * _MEBIBYTE}}
    return await ask_all(agent, large=("session/close", params))


@judge("ACP-TRANSPORT-001", steps=("meet", "turns"))
def every_line_is_one_message(evidence: Evidence) -> None:
    for record, entry in evidence.received():
        problem = _problem(entry)
        if problem:
            raise Violation(f"a line on stdout {problem} (process {record.name!r})", entry)
    for record in evidence.records:
        # A killed process could not finish a line.
        if record.unended.strip() and record.ended_by in {"itself", "closed stdin"}:
            said = record.unended[:60].decode(errors="replace")
            raise Violation(f"the last line on stdout has no end: {said!r} (process {record.name!r})")


def _problem(entry: Entry) -> str:
    message = entry.message
    if message is None:
        # Bytes that are no UTF-8 break another rule.
        try:
            message = json.loads(entry.raw.decode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            return "is no JSON" if isinstance(error, ValueError) else "is nested too deeply to be read"
    if not isinstance(message, dict):
        return "is JSON but no object"
    if message.get("jsonrpc") != "2.0":
        return 'does not say jsonrpc "2.0"'
    return "" if "method" in message or "id" in message else "has neither a method nor an id"


@judge("ACP-TRANSPORT-002", steps=("meet", "turns", "keep"))
def everything_on_stdout_is_utf_8(evidence: Evidence) -> None:
    for _, entry in evidence.received():
        try:
            entry.raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Violation(f"byte {error.start} of a line is no UTF-8", entry) from None


def reaction(evidence: Evidence, name: str) -> str:
    """The reaction to a malformed line, as a phrase for the report."""
    run = evidence.step("bad_lines")
    if name not in run["reactions"]:
        raise Inconclusive(f"{run['ended']} had ended the connection before")
    said = [describe_reaction(read_json(line.encode())) for line in run["reactions"][name]]
    after = "nothing is answered after it" if run["ended"] == name else "the connection goes on"
    return f"{name}: {', '.join(said) or 'silence'}; {after}"


def _reactions(evidence: Evidence, *names: str) -> str:
    # Where an earlier line had ended the connection, the first of them reports that.
    tested = [name for name in names if name in evidence.step("bad_lines")["reactions"]]
    return "; ".join(reaction(evidence, name) for name in tested or names[:1])


def messages_after(evidence: Evidence, name: str) -> tuple[StepResult, Entry, list[tuple[Entry, dict[str, Any]]]]:
    """A line that was sent, and the messages that came before the next one, without the sign of life."""
    run = completed(evidence, "odd_lines")
    if name not in run["reactions"]:
        message = f"the agent was gone before: it did not survive a line with {run['died_of']}"
        raise Inconclusive(message)
    since, until = run["reactions"][name]
    part = run.entries[since:until]
    signs = [each.get("id") for entry in part[1:] if entry.sent and isinstance(each := entry.message, dict)]
    said = [(entry, each) for entry, each in messages_in(part) if each.get("id") not in signs or "method" in each]
    return run, run.entries[since], said


def line_is_answered(evidence: Evidence, name: str, id_: Any) -> None:
    """A request in an unusual line has to be answered."""
    run, line, said = messages_after(evidence, name)
    answers = [(entry, each) for entry, each in said if "method" not in each]
    if not any(each.get("id") == id_ for _, each in answers):
        died = " and the agent said nothing more" if run["died_of"] == name else ""
        other = f"it was answered under another id, {json.dumps(answers[0][1].get('id'))}" if answers else ""
        raise Violation(other or f"it was not answered{died}", line, *[entry for entry, _ in (answers or said)[:1]])


def line_reaction(evidence: Evidence, name: str) -> str:
    """The reaction to a line that the specification does not mention, as a phrase for the report."""
    run, _, said = messages_after(evidence, name)
    if run["died_of"] == name:
        return "the agent said nothing more after it"
    if not said:
        return "nothing was said to it"
    error = as_dict(said[0][1].get("error"))
    return f"it was answered with the error {error.get('code')}" if error else "it was answered with a result"


@judge("ACCORD-SIZE-002", steps=("large_prompt",))
def a_large_prompt_is_a_prompt(evidence: Evidence) -> None:
    run = completed(evidence, "large_prompt", "ACCORD-SIZE-002")
    if "error" in run.answer(run["prompt"]):
        small = [turn for turn in turns_in(evidence) if len(turn.asked.raw) < LARGE_BYTES and _is_usual(turn)]
        skip_if(any("error" in turn.answer for turn in small), "small prompts like it are refused as well")
        raise Violation("it was answered with an error", run.answer_entry(run["prompt"]))


def _is_usual(turn: RecordedTurn) -> bool:
    """Whether a prompt is made of text, for an existing session; it may have metadata."""
    message = as_dict(turn.asked.message)
    blocks = listed(as_dict(message.get("params")).get("prompt"))
    is_text = bool(blocks) and all(as_dict(block).get("type") == "text" for block in blocks)
    given = [as_dict(each.get("result")).get("sessionId") for _, each in messages_in(turn.record.entries)]
    return is_text and turn.session in given


def answers_without_id(run: StepResult, part: tuple[int, int]) -> list[tuple[Entry, dict[str, Any]]]:
    """The answers with the id null in a part of a record."""
    found = messages_in(run.entries[part[0] : part[1]])
    return [(entry, each) for entry, each in found if "method" not in each and each.get("id") is None]


def each_line_gets(evidence: Evidence, step: str, code: int) -> None:
    """Every strange line gets one error with the id null."""
    run = evidence.step(step)
    for name, part in run["parts"].items():
        answers = answers_without_id(run, part)
        line = run.entries[part[0]]
        if not answers:
            raise Violation(f"{name}: there was no error with the id null", line, *_answer_in(run, part))
        if len(answers) > 1:
            raise Violation(f"{name}: there were {len(answers)} errors with the id null", line, answers[1][0])
        if code_of(answers[0][1]) != code:
            raise Violation(f"{name}: the error is {code_of(answers[0][1])!r}, not {code}", line, answers[0][0])


def _answer_in(run: StepResult, part: tuple[int, int]) -> list[Entry]:
    return [entry for entry in run.entries[part[0] + 1 : part[1]] if not entry.sent][:1]


@judge("ACCORD-WIRE-209", steps=("v2_blank_lines",))
def blank_lines_do_no_harm(evidence: Evidence) -> None:
    run = evidence.step("v2_blank_lines")
    for name, part in run["parts"].items():
        for entry, _ in answers_without_id(run, part):
            raise Violation(f"{name}: there was an error", run.entries[part[0]], entry)
    if not run.answers("crlf"):
        raise Violation("a request that ended with CR LF was not answered", run.entries[part[0]])


@judge("ACCORD-WIRE-211", steps=("v2_large_message",))
def a_large_message_is_answered(evidence: Evidence) -> None:
    run = evidence.step("v2_large_message")
    # The request itself does not show that the agent reads.
    if not run.answers(run["large"]):
        raise Violation("a request of one mebibyte was not answered")


def _read(entry: Entry) -> Any:
    """A line as JSON; another rule judges its UTF-8."""
    if entry.message is not None:
        return entry.message
    try:
        return json.loads(entry.raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _is_message(message: Any) -> bool:
    return isinstance(message, dict) and message.get("jsonrpc") == "2.0" and ("method" in message or "id" in message)


def _is_line(message: Any) -> bool:
    if isinstance(message, list):
        return bool(message) and all(map(_is_message, message))
    return _is_message(message)


def _stretches(record: Record) -> Iterator[list[Entry]]:
    """Lines that are no messages, those that follow each other together."""
    stretch: list[Entry] = []
    for entry in record.received():
        if not entry.raw.strip() or _is_line(_read(entry)):
            if stretch:
                yield stretch
            stretch = []
        else:
            stretch.append(entry)
    if stretch:
        yield stretch


def _is_spread(stretch: list[Entry]) -> bool:
    """Whether lines are messages together that none of them is alone."""
    text = b"\n".join(entry.raw for entry in stretch).decode("utf-8", "replace").strip()
    decoder = json.JSONDecoder()
    while text:
        try:
            message, end = decoder.raw_decode(text)
        except (ValueError, RecursionError):
            return False
        if not _is_line(message):
            return False
        text = text[end:].lstrip()
    return len(stretch) > 1


@judge("ACP-TRANSPORT-201", steps=("turns",))
def every_line_is_a_message_or_an_array_of_some(evidence: Evidence) -> None:
    for record in evidence.records:
        for stretch in _stretches(record):
            if not _is_spread(stretch):
                raise Violation("a line on stdout is no message: what is printed belongs on stderr", *stretch[:2])
        if record.unended.strip():
            last = record.received()[-1:]
            raise Violation(f"stdout ends with something that is no line: {record.unended[:80]!r}", *last)


@judge("ACP-TRANSPORT-203", steps=("turns",))
def no_message_is_spread_over_lines(evidence: Evidence) -> None:
    for record in evidence.records:
        for stretch in _stretches(record):
            if _is_spread(stretch):
                raise Violation("a message is spread over several lines", stretch[0], stretch[-1])


# --- stderr and the end of the process


@step("own", editions=V1_JUNE)
async def exit_while_busy(agent: AgentConversation) -> Notes:
    """A turn that runs when its client closes stdin, which should end the process."""
    await agent.handshake()
    session = await agent.new()
    since = agent.now
    prompt = await agent.begin(session)
    said = [entry for entry in agent.wire.entries[since:] if is_update(entry.message, session)]
    return {"session": session, "prompt": prompt, "said": len(said)}


@judge("ACP-SHUTDOWN-001", steps=("meet",))
def the_process_ends_when_its_stdin_is_closed(evidence: Evidence) -> str | None:
    record = next((record for record in evidence.records if record.name.endswith("meet")), None)
    if record is None or record.ended_by == "itself":
        raise Inconclusive("the process had ended before")
    if record.ended_by != "closed stdin":
        seconds = evidence.options.grace_seconds
        raise Violation(
            f"it was still there {seconds:g} s after its stdin was closed, and was ended by {record.ended_by}"
        )
    return None if record.status == 0 else f"its exit status is {record.status}"


@judge("ACP-STDERR-001", steps=("meet", "turns"))
def what_is_said_on_stderr(evidence: Evidence) -> str:
    said = [len(record.stderr) for record in evidence.records if record.stderr]
    if not said:
        return "nothing"
    return f"{sum(said)} bytes, by {len(said)} of {len(evidence.records)} processes"


@judge("ACCORD-EXIT-001", steps=("exit_while_busy",))
def it_ends_with_stdin_also_while_it_works(evidence: Evidence) -> None:
    run = completed(evidence, "exit_while_busy")
    skip_if(run.answers(run["prompt"]), "the turn ended before stdin was closed: give --cancel-prompt")
    for record in evidence.records:
        if record.entries is not run.entries and record.ended_by.startswith("SIG"):
            raise Inconclusive("it does not end either when it has nothing to do")
    record = next(record for record in evidence.records if record.entries is run.entries)
    if record.ended_by.startswith("SIG"):
        raise Violation(f"it took {record.ended_by} to end it", run.request_entry(run["prompt"]))


@judge("ACCORD-EXIT-002", steps=("exit_while_busy",))
def with_what_status_it_ends(evidence: Evidence) -> str:
    run = completed(evidence, "exit_while_busy")
    record = next(record for record in evidence.records if record.entries is run.entries)
    return f"status {record.status} after {record.ended_by}"


@judge("ACCORD-EXIT-201", steps=("v2_only_links",))
def it_ends_in_the_middle_of_a_turn(evidence: Evidence) -> None:
    record = _left(evidence)
    if record.ended_by != "closed stdin":
        raise Violation(f"it was not the end of stdin that ended it, but {record.ended_by}")


@judge("ACCORD-EXIT-202", steps=("v2_only_links",))
def the_status_of_an_agent_that_was_left(evidence: Evidence) -> str:
    record = _left(evidence)
    return f"status {record.status} (after {record.ended_by})"


def _left(evidence: Evidence) -> Record:
    """The process that was left in the middle of a turn."""
    evidence.step("v2_only_links")
    return next(record for record in evidence.records if record.name.endswith(" v2_only_links"))


judge_rows(
    _reactions,
    ("ACP-INFO-PARSE-001", "what_happens_after_a_line_that_is_no_json", "no JSON", "half an object", "no UTF-8"),
    ("ACP-INFO-INVALIDREQ-001", "what_happens_after_json_that_is_no_json_rpc", "no JSON-RPC", "a number", "no version"),
    steps=("bad_lines",),
)
judge_rows(
    line_is_answered,
    ("ACCORD-WIRE-001", "a_line_may_end_with_a_carriage_return", "CRLF", 900_101),
    ("ACCORD-WIRE-002", "white_space_around_a_message_means_nothing", "spaces", 900_102),
    steps=("odd_lines",),
)
judge_rows(
    line_reaction,
    ("ACCORD-WIRE-008", "what_comes_of_a_blank_line", "blank"),
    ("ACCORD-WIRE-009", "what_comes_of_a_line_that_is_no_utf_8", "no UTF-8"),
    steps=("odd_lines",),
)
judge_completion(("ACCORD-SIZE-001", "a_large_request_is_answered", "large_request"))
judge_rows(
    each_line_gets,
    ("ACCORD-WIRE-207", "what_is_no_json_is_a_parse_error", "v2_no_json", PARSE_ERROR),
    ("ACCORD-WIRE-208", "what_is_no_object_is_an_invalid_request", "v2_scalars", INVALID_REQUEST),
)
