"""Streams of streamable HTTP: their bytes, the messages on each of them, their readers and their end."""

from __future__ import annotations

from typing import Any

from accord.check.agent.remote.endpoint import (
    BESIDE,
    EXTENSION,
    NOWHERE,
    SOON_SECONDS,
    Endpoint,
    HttpConversation,
    remote_step,
)
from accord.check.agent.remote.http_requests import ACCEPTED, BAD, TEXT
from accord.check.agent.remote.raw_sockets import EVENTS, EventStream, HttpAnswer, media_type_of
from accord.check.engine.evidence import Entry, Evidence, Inconclusive, Violation, is_update, skip_if, skip_unless
from accord.check.engine.judging import Notes, judge
from accord.check.rule import EDITIONS, EditionName, RuleRow, agent_rules, gate

EVENT_SOURCE = "https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation"
KEEP_ALIVE_SOURCE = "https://html.spec.whatwg.org/multipage/server-sent-events.html#authoring-notes"
CONFLICT = 409
_OPENING = ("load", "load", "session")
OPENING: dict[EditionName, str] = {
    edition: gate(word)[edition] for edition, word in zip(EDITIONS, _OPENING, strict=True)
}

_BEGINNING = 1 / 30
"""The part of the time limit for silence in which a stream counts as just opened."""

# fmt: off
RULES = agent_rules(
    RuleRow("ACCORD-REMOTE-009", "MMM", TEXT,
        "A GET with `Acp-Connection-Id` gets 200 and a stream of the type `text/event-stream`"),
    RuleRow("ACCORD-REMOTE-010", "MMM", EVENT_SOURCE,
        "Every event of a stream is one JSON-RPC message in UTF-8, for a reader that follows the standard"),
    RuleRow("ACCORD-REMOTE-011", "AAA", EVENT_SOURCE,
        "Events end with LF and have one line of data, since known readers take no others"),
    RuleRow("ACCORD-REMOTE-012", "MMM", TEXT, "The answer to `session/new` comes on the connection stream"),
    RuleRow("ACCORD-REMOTE-013", "MMM", TEXT,
        "The messages of a session, and the answer to its prompt, come on the stream of that session, in their order"),
    RuleRow("ACCORD-REMOTE-014", "MMM", TEXT, "Messages for a stream that is not read yet are kept for its reader"),
    RuleRow("ACCORD-REMOTE-015", "MMM", TEXT, "DELETE gets 202, ends the streams and the connection"),
    RuleRow("ACCORD-REMOTE-016", "AAA", TEXT, gate=_OPENING,
        says="The answer to a request for a replay comes behind it, on the same stream"),
    RuleRow("ACCORD-REMOTE-017", "AAA", TEXT,
        "A second reader of a stream is refused with 409, or ends the first one; two never share the messages"),
    RuleRow("ACCORD-REMOTE-018", "III", TEXT, "The answer to a reader of a session that the connection does not know"),
    RuleRow("ACCORD-REMOTE-019", "AAA", EVENT_SOURCE, "Streams are marked `no-cache`, and are not compressed"),
    RuleRow("ACCORD-REMOTE-023", "AAA", EVENT_SOURCE,
        "Streams with event ids go on behind `Last-Event-ID`, and an unknown one is refused"),
    RuleRow("ACCORD-REMOTE-024", "AAA", KEEP_ALIVE_SOURCE,
        "A stream without messages gets a comment within 30 seconds, since proxies end silent streams"),
)
# fmt: on


@remote_step("http")
async def http_turn(endpoint: Endpoint) -> Notes:
    """A session with a plain turn, every stream open before anything is sent for it."""
    connection = await endpoint.connect()
    first = await connection.open_stream()
    await connection.log_in()
    new = await connection.answer(await connection.ask("session/new", connection.new_params))
    session = connection.session_in(new)
    stream = await connection.open_stream(session)
    prompt = await connection.prompt(session)
    end = await connection.end_of_turn(session, prompt)
    notes: Notes = {"new": new, "session": session, "prompt": connection.answered(prompt), "end": end}
    return {**notes, "first": first, "stream": stream}


@remote_step("http")
async def http_stream(endpoint: Endpoint) -> Notes:
    connection = await endpoint.connect()
    stream = await connection.try_stream()
    return {"stream": stream, "lines": endpoint.record.entries[-2:]}


@judge("ACCORD-REMOTE-009", steps=("http_stream",))
def a_stream_is_opened(evidence: Evidence) -> None:
    run = evidence.step("http_stream")
    stream: EventStream | HttpAnswer = run["stream"]
    if isinstance(stream, HttpAnswer):
        raise Violation(f"the status is {stream.status}", stream.asked, stream.entry)
    kind = media_type_of(stream.headers)
    if kind != "text/event-stream":
        raise Violation(f"the content type is {kind or 'missing'}", *run["lines"])


@judge("ACCORD-REMOTE-010", steps=("http_turn",))
def events_are_messages(evidence: Evidence) -> None:
    for entry in _events(evidence):
        try:
            entry.raw.decode()
        except UnicodeDecodeError:
            raise Violation("an event is no UTF-8", entry) from None
        if not isinstance(entry.message, dict) or entry.message.get("jsonrpc") != "2.0":
            raise Violation("an event is no JSON-RPC message", entry)


@judge("ACCORD-REMOTE-011", steps=("http_turn",))
def events_are_plain(evidence: Evidence) -> None:
    run = evidence.begun("http_turn")
    for name in ("first", "stream"):
        stream: EventStream | None = run.get(name)
        if stream is None:
            evidence.step("http_turn")
            continue
        if b"\r" in stream.raw:
            raise Violation("lines end with a carriage return", *stream.entries[:1])
        if stream.raw.startswith(b"\xef\xbb\xbf"):
            raise Violation("the stream begins with a byte order mark", *stream.entries[:1])
        for block in stream.raw.split(b"\n\n"):
            if sum(line.startswith(b"data:") for line in block.split(b"\n")) > 1:
                raise Violation("an event has several lines of data", *stream.entries[:1])


def _events(evidence: Evidence) -> list[Entry]:
    run = evidence.step("http_turn")
    return [*run["first"].entries, *run["stream"].entries]


@judge("ACCORD-REMOTE-012", steps=("http_turn",))
def sessions_are_answered_on_the_connection_stream(evidence: Evidence) -> None:
    run = evidence.step("http_turn")
    if not any(each is run["new"] for each in run["first"].entries):
        raise Violation("the answer did not come on the connection stream", run["new"])


@judge("ACCORD-REMOTE-013", steps=("http_turn",))
def sessions_have_their_own_stream(evidence: Evidence) -> None:
    run = evidence.step("http_turn")
    elsewhere = [each for each in run["first"].entries if _session_of(each.message) == run["session"]]
    # Messages that are sent while a session is made may come before its stream is opened.
    late = [each for each in elsewhere if each.place > run["new"].place]
    if late:
        raise Violation("a message of the session came on the connection stream", late[0])
    if not any(each is run["prompt"] for each in run["stream"].entries):
        raise Violation("the answer to the prompt did not come on the session's stream", run["prompt"])
    behind = [each for each in run["stream"].entries if each.place > run["end"].place]
    said = [each for each in behind if is_update(each.message, run["session"], "agent_message_chunk")]
    if said:
        raise Violation("a part of the turn came behind its end", run["end"], said[0])


def _session_of(message: Any) -> Any:
    params = message.get("params") if isinstance(message, dict) else None
    return params.get("sessionId") if isinstance(params, dict) else None


@judge("ACCORD-REMOTE-019", steps=("http_turn",))
def streams_pass_proxies(evidence: Evidence) -> None:
    stream: EventStream = evidence.step("http_turn")["first"]
    if "no-cache" not in stream.headers.get("cache-control", "") and "no-store" not in stream.headers.get(
        "cache-control", ""
    ):
        raise Violation("Cache-Control has no no-cache", *stream.entries[:1])
    if stream.headers.get("content-encoding", "identity") != "identity":
        raise Violation(f"the stream is compressed: {stream.headers['content-encoding']}", *stream.entries[:1])


@remote_step("http")
async def http_held(endpoint: Endpoint) -> Notes:
    """Messages are asked for before anything reads the streams on which they come."""
    connection = await endpoint.connect()
    asked = await connection.ask(EXTENSION, {})
    await connection.open_stream()
    await connection.answer(asked, "ACCORD-REMOTE-014")
    await connection.log_in()
    session = connection.session_in(await connection.answer(await connection.ask("session/new", connection.new_params)))
    prompt = await connection.prompt(session)
    await connection.open_stream(session)
    await connection.end_of_turn(session, prompt, "ACCORD-REMOTE-014")
    return {}


@judge("ACCORD-REMOTE-014", steps=("http_held",))
def messages_wait_for_their_reader(evidence: Evidence) -> None:
    evidence.step("http_held")


@remote_step("http")
async def http_end(endpoint: Endpoint) -> Notes:
    connection = await endpoint.connect()
    stream = await connection.open_stream()
    answer = await connection.leave()
    ended = await stream.wait_end(SOON_SECONDS)
    again = await endpoint.http.request("GET", {**EVENTS, **connection.headers()})
    return {"answer": answer, "ended": ended, "again": again}


@judge("ACCORD-REMOTE-015", steps=("http_end",))
def delete_ends_a_connection(evidence: Evidence) -> None:
    run = evidence.step("http_end")
    answer, again = run["answer"], run["again"]
    if answer.status != ACCEPTED:
        raise Violation(f"the status is {answer.status}", answer.asked, answer.entry)
    if not run["ended"]:
        raise Violation("the stream is still open", answer.asked, answer.entry)
    if again.status < BAD:
        raise Violation(f"the connection is still there: {again.status}", again.asked, again.entry)


@remote_step("http", gate=OPENING)
async def http_replay(endpoint: Endpoint) -> Notes:
    """A session with a turn is opened again on another connection, in the way that its server takes."""
    before = await endpoint.connect()
    session = await before.open_session()
    await before.end_of_turn(session, await before.prompt(session))
    await before.leave()
    connection = await endpoint.connect()
    await connection.open_stream()
    await connection.log_in()
    stream = await connection.try_stream(session)
    params: dict[str, Any] = {"sessionId": session, **connection.new_params}
    method = "session/load"
    if endpoint.edition == "v2":
        method, params = "session/resume", {**params, "replayFrom": {"type": "start"}}
    since = endpoint.record.now
    id_ = await connection.ask(method, params, session if isinstance(stream, EventStream) else None)
    if connection.accepted[-1].status != ACCEPTED:
        id_ = await connection.ask(method, params, session)
    answer = await connection.answer(id_, "ACP-LOAD-001")
    if "error" in answer.message:
        raise Inconclusive(f"{method} on another connection is answered with an error")
    updates = [each for each in endpoint.record.entries[since:] if not each.sent and is_update(each.message, session)]
    await _pass_barrier(connection, session)
    late = [
        each
        for each in endpoint.record.entries[answer.place :]
        if not each.sent and is_update(each.message, session, "user_message", "user_message_chunk")
    ]
    streams = {connection.stream_of(each) for each in [*updates, *late]}
    return {"answer": answer, "late": late, "streams": streams, "own": connection.stream_of(answer)}


async def _pass_barrier(connection: HttpConversation, session: str) -> None:
    """Wait for the answer to a request of the session: messages that were sent before it have come by then."""
    id_ = await connection.ask(EXTENSION, {"sessionId": session}, session)
    if connection.accepted[-1].status == ACCEPTED:
        await connection.record.until(lambda: connection.answered(id_) is not None, SOON_SECONDS)


@judge("ACCORD-REMOTE-016", steps=("http_replay",))
def a_replay_is_before_its_answer(evidence: Evidence) -> None:
    run = evidence.step("http_replay")
    if run["late"]:
        raise Violation("a part of the replay came behind the answer", run["answer"], run["late"][0])
    skip_unless(run["streams"], "there was no replay")
    if run["streams"] != {run["own"]}:
        raise Violation("the replay and the answer come on different streams, which have no order", run["answer"])


@remote_step("http")
async def http_two_readers(endpoint: Endpoint) -> Notes:
    connection = await endpoint.connect()
    first = await connection.open_stream()
    second = await connection.try_stream()
    if isinstance(second, HttpAnswer):
        return {"refused": second, "ended": False}
    return {"refused": None, "ended": await first.wait_end(SOON_SECONDS)}


@judge("ACCORD-REMOTE-017", steps=("http_two_readers",))
def a_stream_has_one_reader(evidence: Evidence) -> None:
    run = evidence.step("http_two_readers")
    answer: HttpAnswer | None = run["refused"]
    if answer is not None:
        if answer.status != CONFLICT:
            raise Violation(f"the second reader gets {answer.status}", answer.asked, answer.entry)
    elif not run["ended"]:
        raise Violation("both readers are served, and each misses the messages that the other one gets")


@remote_step("http")
async def http_unknown_session(endpoint: Endpoint) -> Notes:
    connection = await endpoint.connect()
    stream = await connection.try_stream(NOWHERE)
    return {"status": stream.status if isinstance(stream, HttpAnswer) else 200}


@judge("ACCORD-REMOTE-018", steps=("http_unknown_session",))
def what_an_unknown_session_gets(evidence: Evidence) -> str:
    return f"it gets {evidence.step('http_unknown_session')['status']}"


@remote_step("http")
async def http_resumed(endpoint: Endpoint) -> Notes:
    """A stream is left behind its first event; the next reader names that event, and one an unknown one."""
    connection = await endpoint.connect()
    stream = await connection.open_stream()
    await connection.answer(await connection.ask(EXTENSION, {}))
    last = stream.ids[0] if stream.ids else ""
    if not last:
        return {"id": ""}
    missed = await connection.ask(EXTENSION, {})
    await connection.answer(missed)
    await stream.close()
    again = await connection.try_stream(None, last)
    got: list[Entry] = []
    if isinstance(again, EventStream):
        await endpoint.record.until(lambda: again.entries, SOON_SECONDS)
        got = again.entries[:1]
        await again.close()
    unknown = await connection.try_stream(None, "accord-check-nothing")
    return {"id": last, "missed": missed, "again": again, "got": got, "unknown": unknown}


@judge("ACCORD-REMOTE-023", steps=("http_resumed",))
def streams_go_on_behind_an_event(evidence: Evidence) -> None:
    run = evidence.step("http_resumed")
    skip_unless(run["id"], "the events have no ids")
    again = run["again"]
    if isinstance(again, HttpAnswer):
        skip_if(again.status == CONFLICT, "the server answers that messages were missed")
        raise Violation(f"the reader gets {again.status}", again.asked, again.entry)
    if not run["got"]:
        raise Violation("the event behind it does not come again")
    if run["got"][0].message.get("id") != run["missed"]:
        raise Violation("another event than the one behind it comes", run["got"][0])
    if isinstance(run["unknown"], EventStream):
        raise Violation("an unknown event id is taken for the end: missed messages are not reported")


@remote_step("http", order=BESIDE)
async def http_silence(endpoint: Endpoint) -> Notes:
    """The stream of a connection without messages, until something comes or the time limit is over."""
    seconds = endpoint.options.silence_seconds
    if not seconds:
        raise Inconclusive("silent streams are not waited for")
    connection = await endpoint.connect()
    stream = await connection.open_stream()
    lines = endpoint.record.entries[-2:]
    # Some servers begin a stream with a comment: that is no sign of life of a silent one.
    await stream.wait_end(seconds * _BEGINNING)
    before = len(stream.raw)
    await endpoint.record.until(lambda: stream.has_ended or len(stream.raw) > before, seconds)
    return {"came": len(stream.raw) > before, "ended": stream.has_ended, "seconds": seconds, "lines": lines}


@judge("ACCORD-REMOTE-024", steps=("http_silence",))
def silent_streams_are_kept_alive(evidence: Evidence) -> None:
    run = evidence.step("http_silence")
    if run["came"]:
        return
    if run["ended"]:
        raise Violation("a stream without messages was ended", *run["lines"])
    raise Violation(f"nothing came on a stream in {run['seconds']:g} s, not even a comment", *run["lines"])
