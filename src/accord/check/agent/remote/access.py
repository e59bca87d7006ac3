"""Access to an endpoint: tokens, and pages of browsers that reach a server which was not meant for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from accord.check.agent.remote.endpoint import Endpoint, remote_step
from accord.check.agent.remote.http_requests import TEXT
from accord.check.agent.remote.raw_http import EVENTS, JSON, SWITCHING, HttpAnswer
from accord.check.agent.remote.raw_websocket import RawSocket, open_socket
from accord.check.engine.evidence import Evidence, Inconclusive, Violation, skip_if
from accord.check.engine.judging import Notes, judge, judge_rows
from accord.check.rule import RuleRow, agent_rules

# fmt: off
RULES = agent_rules(
    RuleRow("ACCORD-REMOTE-201", "MMM", "https://www.rfc-editor.org/rfc/rfc9110#section-15.5.2",
        "Where `initialize` needs a token, every other request and the upgrade need it too"),
    RuleRow("ACCORD-REMOTE-202", "AAA", "https://www.rfc-editor.org/rfc/rfc9110#section-15.5.2",
        "A request without a token, or with a wrong one, gets 401 with `WWW-Authenticate`"),
    RuleRow("ACCORD-REMOTE-203", "AAA", TEXT,
        "A foreign `Origin` is refused: a page that somebody visits must not reach the agent"),
    RuleRow("ACCORD-REMOTE-204", "AAA", TEXT,
        "A foreign `Host` is refused: a name that leads here must not make a page one of ours"),
)
# fmt: on

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
