"""HTTP requests to an endpoint: the answers to each verb and to malformed requests, and the control of access."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from accord.check.agent.remote.endpoint import EXTENSION, NOWHERE, SOON_SECONDS, Endpoint, message_of, remote_step
from accord.check.agent.remote.raw_sockets import (
    EVENTS,
    JSON,
    OK,
    SWITCHING,
    HttpAnswer,
    RawSocket,
    open_socket,
    read_head,
)
from accord.check.engine.evidence import PARSE_ERROR, Evidence, Inconclusive, Violation, skip_if
from accord.check.engine.judging import Notes, judge, judge_rows
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
    RuleRow("ACCORD-REMOTE-201", "MMM", "https://www.rfc-editor.org/rfc/rfc9110#section-15.5.2",
        "Where `initialize` needs a token, every other request and the upgrade need it too"),
    RuleRow("ACCORD-REMOTE-202", "AAA", "https://www.rfc-editor.org/rfc/rfc9110#section-15.5.2",
        "A request without a token, or with a wrong one, gets 401 with `WWW-Authenticate`"),
    RuleRow("ACCORD-REMOTE-203", "AAA", TEXT,
        "A foreign `Origin` is refused: a page in the user's browser must not reach the agent"),
    RuleRow("ACCORD-REMOTE-204", "AAA", TEXT,
        "A foreign `Host` is refused: a name that leads here must not make a page one of ours"),
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
    """A body that is declared as a gibibyte; only as much of it is sent as known servers would read."""
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


# --- access


_REFUSED = 4
_UNAUTHORIZED = 401
_DENIED = frozenset({401, 403, 404})


@remote_step("access")
async def access_token(endpoint: Endpoint) -> Notes:
    """Every verb without a token and with a wrong one, on a connection that was opened with the right one."""
    if not endpoint.http.has_token:
        raise Inconclusive("the check was given no token: put it into ACCORD_TOKEN")
    answers: dict[str, HttpAnswer | None] = {}
    for name, token in (("no token", ""), ("a wrong token", "accord-check-wrong")):
        answers |= {f"{verb}, {name}": answer for verb, answer in (await _try(endpoint, {}, token=token)).items()}
    first = answers.get("POST, no token") or answers.get("upgrade, no token")
    if endpoint.has_http and first is not None and first.status // 100 == _REFUSED:
        connection = await endpoint.connect()
        send = endpoint.http.request
        answers["GET, no token"] = await send("GET", {**EVENTS, **connection.headers()}, token="")
        answers["DELETE, no token"] = await send("DELETE", connection.headers(), token="")
    return {"answers": answers}


async def _try(
    endpoint: Endpoint, headers: Mapping[str, str], *, token: str | None = None
) -> dict[str, HttpAnswer | None]:
    """The answers to `initialize` and to the upgrade, as far as the endpoint has them; None where it upgraded."""
    answers: dict[str, HttpAnswer | None] = {}
    if endpoint.has_http:
        answer = await endpoint.http.request("POST", {**JSON, **headers}, endpoint.initialize, token=token)
        answers["POST"] = answer
        if "acp-connection-id" in answer.headers:
            await endpoint.http.request("DELETE", {"Acp-Connection-Id": answer.headers["acp-connection-id"]})
    if endpoint.has_websocket:
        upgraded = await open_socket(endpoint.http, _ignore, headers, token=token)
        if isinstance(upgraded, RawSocket):
            await upgraded.close()
            answers["upgrade"] = None
        else:
            answers["upgrade"] = upgraded
    return answers


def _ignore(_message: Any) -> None:
    """Ignore the messages of a socket that should not be there."""


def _status(answer: HttpAnswer | None) -> int:
    return SWITCHING if answer is None else answer.status


def _lines(answer: HttpAnswer | None) -> tuple[Any, ...]:
    return () if answer is None else (answer.asked, answer.entry)


def _needed(evidence: Evidence) -> dict[str, HttpAnswer | None]:
    """The answers, where the server needs a token at all."""
    answers: dict[str, HttpAnswer | None] = evidence.step("access_token")["answers"]
    first = next(name for name in ("POST, no token", "upgrade, no token") if name in answers)
    skip_if(_status(answers[first]) // 100 != _REFUSED, "the server needs no token")
    return answers


@judge("ACCORD-REMOTE-201", steps=("access_token",))
def every_request_needs_a_token(evidence: Evidence) -> None:
    for name, answer in _needed(evidence).items():
        if _status(answer) not in _DENIED:
            raise Violation(f"{name}: the status is {_status(answer)}", *_lines(answer))


@judge("ACCORD-REMOTE-202", steps=("access_token",))
def a_missing_token_is_said_to_be_missing(evidence: Evidence) -> None:
    for name, answer in _needed(evidence).items():
        if answer is None or answer.status not in _DENIED:
            continue
        if answer.status != _UNAUTHORIZED:
            raise Violation(f"{name}: the status is {answer.status}, not 401", *_lines(answer))
        if "www-authenticate" not in answer.headers:
            raise Violation(f"{name}: there is no WWW-Authenticate", *_lines(answer))


@remote_step("access")
async def access_origin(endpoint: Endpoint) -> Notes:
    return {"answers": await _try(endpoint, {"Origin": "https://accord-check.example"})}


@remote_step("access")
async def access_host(endpoint: Endpoint) -> Notes:
    return {"answers": await _try(endpoint, {"Host": "accord-check.example"})}


def _is_refused(evidence: Evidence, step: str) -> None:
    answers: dict[str, HttpAnswer | None] = evidence.step(step)["answers"]
    for verb, answer in answers.items():
        if _status(answer) // 100 != _REFUSED:
            raise Violation(f"{verb}: the status is {_status(answer)}", *_lines(answer))


judge_rows(
    _is_refused,
    ("ACCORD-REMOTE-203", "foreign_pages_are_refused", "access_origin"),
    ("ACCORD-REMOTE-204", "foreign_hosts_are_refused", "access_host"),
)
