"""Scenes with arrays: June has batches; the other editions have none and answer every array with one error."""

from __future__ import annotations

from typing import Any

from tests.requirements.talk import Talk, text
from tests.requirements.wire import Entry

__all__ = ["ARRAYS", "arrays", "notifications_alone", "work_in_a_batch"]

Notes = dict[str, Any]


def _request(id_: Any, method: str, params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params or {}}


def _notification(method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


ARRAYS: dict[str, list[Any]] = {
    "empty": [],
    "bad entries": [1, {"hello": "world"}, _request("valid", "_example.com/unknown")],
    "calls": [
        _request("one", "_example.com/unknown"),
        _notification("_example.com/unknown", {}),
        _request("two", "session/list"),
        _request(3, "nonsense/method"),
    ],
    "answers too": [_request("four", "_example.com/unknown"), {"jsonrpc": "2.0", "id": 999, "result": {}}],
    "lifecycle": [_request("five", "initialize", {"protocolVersion": 2}), _request("six", "session/list")],
}


def _answers_an_array(entry: Entry) -> bool:
    message = entry.message
    return isinstance(message, list) or (isinstance(message, dict) and message.get("id", 0) is None)


async def arrays(talk: Talk) -> Notes:
    """Arrays that are answered; `after` has what was said from each one to the sign of life behind its answer."""
    await talk.shake_hands()
    after: dict[str, list[Any]] = {}
    for name, array in ARRAYS.items():
        since = await talk.wire.say(array)
        await talk.until(_answers_an_array, since)
        assert await talk.is_alive(), name
        after[name] = [entry.message for entry in talk.wire.entries[since:] if not entry.sent][:-1]
    return {"after": after, "session": await talk.new(), "alive": await talk.is_alive()}


async def notifications_alone(talk: Talk) -> Notes:
    """An array of notifications, and nothing after it but a sign of life."""
    await talk.shake_hands()
    since = await talk.wire.say(
        [_notification("_example.com/unknown", {}), _notification("session/cancel", {"sessionId": "nobody"})]
    )
    return {"since": since, "alive": await talk.is_alive()}


async def work_in_a_batch(talk: Talk) -> Notes:
    """A prompt in an array beside a quick call; `early` is what was answered while the work went on."""
    await talk.shake_hands()
    session = await talk.new()
    since = len(talk.wire.entries)
    prompt = {"sessionId": session, "prompt": [text("__hang__")]}
    await talk.wire.say([_request("work", "session/prompt", prompt), _request("quick", "_example.com/unknown")])
    await talk.until(
        lambda entry: _answers_an_array(entry) or (b"__hang__" in entry.raw and b"agent_message" in entry.raw), since
    )
    early = [entry.message for entry in talk.wire.entries[since:] if not entry.sent and _answers_an_array(entry)]
    await talk.notify("session/cancel", {"sessionId": session})
    last = await talk.until(_answers_an_array, since)
    return {"early": early, "last": last.message, "alive": await talk.is_alive()}
