"""Strange lines for a v2 agent, each kind in a step of its own: an agent that dies of one is started again."""

from __future__ import annotations

from accord.check.entry import is_answer
from accord.check.step import Notes, step
from accord.check.steps.v2_more_asking import NOBODY, ask_all, hold_on, is_alive
from accord.check.talk import Talk

__all__: list[str] = []

_LATE = 70
"""After the steps that must not be disturbed."""
_MEBIBYTE = 1 << 20

RESPONSES = {
    "unknown number": b'{"jsonrpc":"2.0","id":987654,"result":{}}',
    "unknown word": b'{"jsonrpc":"2.0","id":"accord-check-nothing","error":{"code":-32603,"message":"Internal error"}}',
}
MALFORMED_RESPONSES = {
    "result and error": b'{"jsonrpc":"2.0","id":987655,"result":{},"error":{"code":1,"message":"x"}}',
    "error that is none": b'{"jsonrpc":"2.0","id":987656,"error":"no"}',
}
BAD_IDS = {"null": b"null", "a fraction": b"1.5", "a list": b"[1]", "a boolean": b"true"}
BAD_PARAMS = {"no session": b"{}", "a number": b'{"sessionId":7}', "a list": b"[1,2]", "a word": b'"x"'}


async def _say(talk: Talk, rule: str, lines: dict[str, bytes]) -> Notes:
    """Send lines, each followed by a sign of life; notes for each from where to where it was heard."""
    parts = {}
    for name, line in lines.items():
        since = talk.wire.send(line)
        await is_alive(talk, rule)
        parts[name] = (since, talk.now)
    return {"parts": parts}


@step("bare", editions=("v2",), order=_LATE)
async def v2_arrays(talk: Talk) -> Notes:
    """Arrays of requests, of notifications and of responses."""
    call = (
        b'{"jsonrpc":"2.0","id":"in-an-array","method":"session/close","params":{"sessionId":"%b"}}' % NOBODY.encode()
    )
    note = b'{"jsonrpc":"2.0","method":"_accord.check/note","params":{}}'
    lines = {
        "requests": b"[%b,%b]" % (call, call.replace(b"in-an-array", b"in-the-array")),
        "notifications": b"[%b]" % note,
        "responses": b"[%b]" % RESPONSES["unknown number"],
    }
    notes = await _say(talk, "ACCORD-WIRE-202", lines)
    return {**notes, "ids": ["in-an-array", "in-the-array"]}


@step("bare", editions=("v2",), order=_LATE)
async def v2_stray_responses(talk: Talk) -> Notes:
    """Responses to nothing."""
    return await _say(talk, "ACCORD-WIRE-204", RESPONSES)


@step("bare", editions=("v2",), order=_LATE)
async def v2_malformed_responses(talk: Talk) -> Notes:
    """Responses to nothing that are none."""
    return await _say(talk, "ACCORD-WIRE-205", MALFORMED_RESPONSES)


@step("bare", editions=("v2",), order=_LATE)
async def v2_bad_ids(talk: Talk) -> Notes:
    """Requests with ids that no request may have."""
    line = b'{"jsonrpc":"2.0","id":%b,"method":"session/close","params":{"sessionId":"accord-check-no-such-session"}}'
    return await _say(talk, "ACCORD-WIRE-206", {name: line % id_ for name, id_ in BAD_IDS.items()})


@step("bare", editions=("v2",), order=_LATE)
async def v2_no_json(talk: Talk) -> Notes:
    """A line that is no JSON."""
    return await _say(talk, "ACCORD-WIRE-207", {"no JSON": b"this is no JSON"})


@step("bare", editions=("v2",), order=_LATE)
async def v2_scalars(talk: Talk) -> Notes:
    """JSON that is no object."""
    return await _say(talk, "ACCORD-WIRE-208", {"a number": b"42", "a word": b'"hello"', "null": b"null"})


@step("bare", editions=("v2",), order=_LATE)
async def v2_blank_lines(talk: Talk) -> Notes:
    """Lines with nothing in them, and one that ends like on Windows."""
    line = b'{"jsonrpc":"2.0","id":"crlf","method":"session/close","params":{"sessionId":"%b"}}\r' % NOBODY.encode()
    return await _say(talk, "ACCORD-WIRE-209", {"empty": b"", "only CR": b"\r", "CR LF": line})


@step("bare", editions=("v2",), order=_LATE)
async def v2_bad_notifications(talk: Talk) -> Notes:
    """Notifications with params that do not fit, and a prompt behind them."""
    line = b'{"jsonrpc":"2.0","method":"session/cancel","params":%b}'
    return await _say(talk, "ACCORD-WIRE-210", {name: line % params for name, params in BAD_PARAMS.items()})


@step("bare", editions=("v2",), order=_LATE)
async def v2_large_message(talk: Talk) -> Notes:
    """A request of one mebibyte."""
    params = {"sessionId": NOBODY, "_meta": {"accord.check/filling": "x" * _MEBIBYTE}}
    return await ask_all(talk, large=("session/close", params))


@step("bare", editions=("v2",), order=_LATE)
async def v2_ids_again(talk: Talk) -> Notes:
    """One id for two requests, one after the other."""
    id_ = talk.ask("session/close", {"sessionId": NOBODY}, "accord-check-again")
    await talk.answer(id_)
    since = talk.now
    talk.ask("session/close", {"sessionId": NOBODY}, id_)
    await hold_on(talk, lambda entry: is_answer(entry.message, id_), since, talk.options.timeout_seconds)
    return {"id": id_, "since": since}


@step("bare", editions=("v2",), order=_LATE)
async def v2_takes_back_nothing(talk: Talk) -> Notes:
    """`$/cancel_request` for requests that never were, and for one that was answered."""
    answered = talk.ask("session/close", {"sessionId": NOBODY})
    await talk.answer(answered)
    since = talk.now
    for id_ in (987657, "accord-check-nothing", answered):
        talk.notify("$/cancel_request", {"requestId": id_})
    await is_alive(talk, "ACCORD-WIRE-214")
    return {"since": since, "end": talk.now, "answered": answered}
