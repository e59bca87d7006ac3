"""Requests of streamable HTTP: what each verb is answered with, and what malformed ones get."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from accord.check.agent.remote.endpoint import EXTENSION, NOWHERE, SOON_SECONDS, Endpoint, message_of, remote_step
from accord.check.agent.remote.raw_http import EVENTS, JSON, OK, HttpAnswer, read_head
from accord.check.engine.evidence import Evidence, Violation, skip_if
from accord.check.engine.judging import Notes, judge, judge_rows
from accord.check.engine.record import PARSE_ERROR
from accord.check.rule import RuleRow, agent_rules

TEXT = "rfds/streamable-http-websocket-transport"
"""The transport's own text; it is no part of the specification yet."""
ACCEPTED, BAD, NOT_FOUND, NOT_ACCEPTABLE, TOO_LARGE, NO_JSON = 202, 400, 404, 406, 413, 415

# fmt: off
RULES = agent_rules(
    RuleRow("ACCORD-REMOTE-001", "MMM", TEXT,
        "`initialize` by POST gets 200, its answer as JSON in the body, and `Acp-Connection-Id`"),
    RuleRow("ACCORD-REMOTE-002", "MMM", TEXT, "Every other message by POST gets 202 without a body"),
    RuleRow("ACCORD-REMOTE-003", "MMM", TEXT, "A GET that does not accept `text/event-stream` gets 406"),
    RuleRow("ACCORD-REMOTE-004", "MMM", TEXT, "A request without `Acp-Connection-Id` gets 400"),
    RuleRow("ACCORD-REMOTE-005", "MMM", TEXT, "A connection that does not exist is 404 for GET and POST"),
    RuleRow("ACCORD-REMOTE-006", "AAA", TEXT, "A connection that does not exist is 404 for DELETE"),
    RuleRow("ACCORD-REMOTE-007", "MMM", TEXT, "A POST of another content type than `application/json` gets 415"),
    RuleRow("ACCORD-REMOTE-008", "MMM", "https://www.jsonrpc.org/specification#error_object",
        "A body that is no JSON gets 400, or -32700 with the id null on the connection stream"),
    RuleRow("ACCORD-REMOTE-020", "AAA", "https://www.rfc-editor.org/rfc/rfc9110#section-15.5.14",
        "A body of a gibibyte is refused with 413, before all of it is read"),
    RuleRow("ACCORD-REMOTE-021", "AAA", TEXT,
        "A message whose `Acp-Session-Id` and `params.sessionId` name different sessions is refused"),
    RuleRow("ACCORD-REMOTE-022", "AAA", "https://www.rfc-editor.org/rfc/rfc9110#section-15.5.6",
        "A verb that the endpoint does not have gets 405"),
)
# fmt: on

_DECLARED_BYTES = 1 << 30
_SENT_BYTES = 20 * 1024 * 1024
_PART = b" " * (256 * 1024)


@remote_step("http")
async def http_initialize(endpoint: Endpoint) -> Notes:
    answer = await endpoint.http.request("POST", JSON, endpoint.initialize)
    if "acp-connection-id" in answer.headers:
        await endpoint.http.request("DELETE", {"Acp-Connection-Id": answer.headers["acp-connection-id"]})
    return {"answer": answer}


@judge("ACCORD-REMOTE-001", steps=("http_initialize",))
def initialize_is_answered_in_the_body(evidence: Evidence) -> None:
    answer: HttpAnswer = evidence.step("http_initialize")["answer"]
    problems = {
        f"the status is {answer.status}": answer.status != OK,
        f"the content type is {answer.media_type or 'missing'}": answer.media_type != "application/json",
        "the body is no JSON-RPC answer": not isinstance(answer.message, dict) or "result" not in answer.message,
        "there is no Acp-Connection-Id": not answer.headers.get("acp-connection-id"),
    }
    for problem, is_there in problems.items():
        if is_there:
            raise Violation(problem, answer.asked, answer.entry)


@remote_step("http")
async def http_messages(endpoint: Endpoint) -> Notes:
    """A request, a notification, and an answer that no request waits for."""
    connection = await endpoint.connect()
    await connection.open_stream()
    answers = [
        await connection.post(message_of(EXTENSION, {}, "accord-check-request")),
        await connection.post(message_of("_accord.check/note", {})),
        await connection.post(b'{"jsonrpc":"2.0","id":"accord-check-nobody","result":{}}'),
    ]
    return {"answers": answers}


@judge("ACCORD-REMOTE-002", steps=("http_messages",))
def messages_are_accepted_without_a_body(evidence: Evidence) -> None:
    for answer in evidence.step("http_messages")["answers"]:
        if answer.status != ACCEPTED:
            raise Violation(f"the status is {answer.status}", answer.asked, answer.entry)
        if answer.body:
            raise Violation("the answer has a body", answer.asked, answer.entry)


@remote_step("http")
async def http_refusals(endpoint: Endpoint) -> Notes:
    """Requests that no good client sends, by name."""
    connection = await endpoint.connect()
    send, request = endpoint.http.request, message_of(EXTENSION, {}, "accord-check-request")
    unknown = {"Acp-Connection-Id": NOWHERE}
    return {
        "no stream": await send("GET", {"Accept": "application/json", **connection.headers()}),
        "GET without an id": await send("GET", EVENTS),
        "POST without an id": await send("POST", JSON, request),
        "GET of an unknown id": await send("GET", {**EVENTS, **unknown}),
        "POST of an unknown id": await send("POST", {**JSON, **unknown}, request),
        "DELETE of an unknown id": await send("DELETE", unknown),
        "text/plain": await send("POST", {"Content-Type": "text/plain", **connection.headers()}, request),
        "no content type": await send("POST", connection.headers(), request),
        "PUT": await send("PUT", {**JSON, **connection.headers()}, request),
    }


def _gets(evidence: Evidence, status: int, *names: str) -> None:
    run = evidence.step("http_refusals")
    for name in names:
        answer: HttpAnswer = run[name]
        if answer.status != status:
            raise Violation(f"{name}: the status is {answer.status}, not {status}", answer.asked, answer.entry)


# fmt: off
judge_rows(
    _gets,
    ("ACCORD-REMOTE-003", "a_stream_has_to_be_accepted", NOT_ACCEPTABLE, "no stream"),
    ("ACCORD-REMOTE-004", "a_connection_has_to_be_named", BAD, "GET without an id", "POST without an id"),
    ("ACCORD-REMOTE-005", "an_unknown_connection_is_not_found", NOT_FOUND,
        "GET of an unknown id", "POST of an unknown id"),
    ("ACCORD-REMOTE-006", "an_unknown_connection_cannot_be_ended", NOT_FOUND, "DELETE of an unknown id"),
    ("ACCORD-REMOTE-007", "a_message_is_json", NO_JSON, "text/plain", "no content type"),
    ("ACCORD-REMOTE-022", "another_verb_is_not_allowed", 405, "PUT"),
    steps=("http_refusals",),
)
# fmt: on


@remote_step("http")
async def http_broken_json(endpoint: Endpoint) -> Notes:
    connection = await endpoint.connect()
    stream = await connection.open_stream()
    answer = await connection.post(b'{"jsonrpc": "2.0", "id": 7')

    def errors() -> list[Any]:
        return [each.message for each in stream.entries if _is_parse_error(each.message)]

    if answer.status // 100 == OK // 100:
        await endpoint.record.until(errors, SOON_SECONDS)
    # A request behind it is answered.
    await connection.answer(await connection.ask(EXTENSION, {}), "ACCORD-REMOTE-008")
    return {"answer": answer, "errors": errors()}


def _is_parse_error(message: Any) -> bool:
    error = message.get("error") if isinstance(message, dict) else None
    return isinstance(error, dict) and error.get("code") == PARSE_ERROR and message.get("id") is None


@judge("ACCORD-REMOTE-008", steps=("http_broken_json",))
def broken_json_is_refused(evidence: Evidence) -> None:
    run = evidence.step("http_broken_json")
    answer: HttpAnswer = run["answer"]
    if answer.status != BAD and not run["errors"]:
        reason = f"the status is {answer.status}, and there is no -32700 on the connection stream"
        raise Violation(reason, answer.asked, answer.entry)


@remote_step("http")
async def http_large_body(endpoint: Endpoint) -> Notes:
    """A body that is said to be a gibibyte; of it so much is sent as known servers would read."""
    connection = await endpoint.connect()
    reader, writer = await endpoint.http.connect_socket()
    head = endpoint.http.head("POST", {**JSON, **connection.headers(), "Content-Length": str(_DECLARED_BYTES)})
    asked = endpoint.record.add(b"POST with a body of 1 GiB", None, sent=True)
    reading = asyncio.ensure_future(read_head(reader))
    sent = 0
    try:
        async with asyncio.timeout(endpoint.options.timeout_seconds):
            writer.write(head)
            while not reading.done() and sent < _SENT_BYTES:
                writer.write(_PART)
                await writer.drain()
                sent += len(_PART)
                await asyncio.sleep(0)
            async with asyncio.timeout(SOON_SECONDS):
                status, _ = await reading
    except TimeoutError:
        status = None
    except (OSError, EOFError):
        status = 0
    finally:
        reading.cancel()
        with suppress(asyncio.CancelledError, OSError, EOFError):
            await reading
    return {"status": status, "sent": sent, "asked": asked}


@judge("ACCORD-REMOTE-020", steps=("http_large_body",))
def a_large_body_is_refused(evidence: Evidence) -> str | None:
    run = evidence.step("http_large_body")
    if run["status"] is None:
        reason = f"{run['sent'] >> 20} MiB of it were taken, and there was no answer"
        raise Violation(reason, run["asked"])
    if run["status"] not in {0, TOO_LARGE}:
        raise Violation(f"the status is {run['status']}", run["asked"])
    return None if run["status"] else f"the socket was closed after {run['sent'] >> 20} MiB"


@remote_step("http")
async def http_two_names(endpoint: Endpoint) -> Notes:
    connection = await endpoint.connect()
    session = await connection.open_session()
    params = {"sessionId": "accord-check-other", "prompt": []}
    return {"answer": await connection.post(message_of("session/prompt", params, "accord-check-other"), session)}


@judge("ACCORD-REMOTE-021", steps=("http_two_names",))
def two_names_of_a_session_are_refused(evidence: Evidence) -> None:
    answer: HttpAnswer = evidence.step("http_two_names")["answer"]
    skip_if(answer.status in {401, 403}, f"the status is {answer.status}")
    if answer.status // 100 != BAD // 100:
        raise Violation(f"the status is {answer.status}", answer.asked, answer.entry)
