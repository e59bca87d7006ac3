"""Lines and requests that are unusual and allowed, or not allowed at all, each followed by a sign of life."""

from __future__ import annotations

import json
from typing import Any

from accord.check.entry import is_answer
from accord.check.rule import EditionName
from accord.check.step import Notes, step
from accord.check.steps.more_turns import lives
from accord.check.talk import BARE, Talk

__all__ = ["BIG_ID", "LINES"]

BOTH: tuple[EditionName, ...] = ("v1", "v2_june")
BIG_ID = 2**53 + 1
"""The first whole number that a floating point number cannot be."""


def _request(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": "_accord.check/unknown", **fields}).encode()


LINES: dict[str, bytes] = {
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
"""The last ones are those that an agent may die of."""


@step("own", editions=BOTH)
async def more_lines(talk: Talk) -> Notes:
    """What the agent says to each line, as places in the record (from, to); and of which it died, if it did."""
    await talk.shake_hands()
    reactions: dict[str, tuple[int, int]] = {}
    for name, line in LINES.items():
        since = talk.wire.send(line)
        alive = await lives(talk)
        reactions[name] = (since, talk.now)
        if not alive:
            return {"reactions": reactions, "died_of": name}
    return {"reactions": reactions, "died_of": ""}


@step("own", editions=BOTH)
async def more_before_handshake(talk: Talk) -> Notes:
    """A session before the handshake, a handshake without a version, and then a right one."""
    early = talk.ask("session/new", {"cwd": talk.cwd, "mcpServers": []})
    wrong = talk.ask("initialize", {**BARE[talk.edition], "protocolVersion": "newest"})
    right = talk.ask("initialize", BARE[talk.edition])
    await talk.wire.until(lambda entry: is_answer(entry.message, right), 0, talk.options.start_seconds)
    return {"early": early, "wrong": wrong, "right": right}
