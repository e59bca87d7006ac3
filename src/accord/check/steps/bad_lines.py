"""Lines that are no JSON and JSON that is no message, each followed by a sign of life."""

from __future__ import annotations

from accord.check.step import Notes, step
from accord.check.steps.asking import lives
from accord.check.talk import Talk

__all__ = ["LINES", "bad_lines"]

LINES = {
    # What more agents survive comes first: after the end of the program nothing can be seen any more.
    "no JSON-RPC": b'{"hello":"world"}',
    "no version": b'{"id":77001,"method":"_example.com/unknown"}',
    "no JSON": b"this is not JSON",
    "half an object": b'{"jsonrpc": "2.0", "id": 77002',
    "a broken array": b'[{"jsonrpc":"2.0","id":77003,"method":"_example.com/unknown"},',
    "a number": b"42",
    "no UTF-8": b'{"jsonrpc":"2.0","id":77004,"method":"\xff\xfe"}',
}


@step("own")
async def bad_lines(talk: Talk) -> Notes:
    """What the agent says to each line; `places` has (from, to) in the record.

    `ended` is the line behind which the agent did not answer any more, or "".
    """
    await talk.shake_hands()
    reactions: dict[str, list[str]] = {}
    places: dict[str, tuple[int, int]] = {}
    for name, line in LINES.items():
        since = talk.wire.send(line)
        alive = await lives(talk)
        said = [entry.raw.decode(errors="replace") for entry in talk.wire.entries[since:] if not entry.sent]
        reactions[name] = said[:-1] if alive else said
        places[name] = (since, talk.now)
        if not alive:
            return {"reactions": reactions, "places": places, "ended": name, "alive": False}
    return {"reactions": reactions, "places": places, "ended": "", "alive": True}
