"""Arrays: June has batches; November has none and answers every array with one error."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from accord.check.entry import Entry, is_answer, is_update
from accord.check.step import Notes, step
from accord.check.talk import BARE, StepFailed, Talk, text
from accord.check.wire import Silence

__all__ = ["ARRAYS", "answers_an_array", "arrays"]

ANSWER_SECONDS = 3.0
"""For the answer to an array behind a sign of life: what answers at all does so by then."""


def _request(id_: Any, method: str, params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params or {}}


def _notification(method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


ARRAYS: dict[str, list[Any]] = {
    "empty": [],
    "calls": [
        _request("one", "_example.com/unknown"),
        _notification("_example.com/unknown", {}),
        _request("two", "_example.com/another"),
        _request(3_000_003, "nonsense/method"),
    ],
    "bad entries": [1, {"hello": "world"}, _request("valid", "_example.com/unknown")],
    "notifications": [_notification("_example.com/unknown", {}), _notification("_example.com/note", {})],
    "answers too": [_request("four", "_example.com/unknown"), {"jsonrpc": "2.0", "id": 999_999, "result": {}}],
}
"""By name; those that more agents survive come first."""

SILENT = {"notifications"}
"""What is not waited for: June has no answer to it."""


def answers_an_array(entry: Entry) -> bool:
    """Whether a line of the agent is an answer to a whole array: another array, or an answer without an id."""
    message = entry.message
    if isinstance(message, list):
        # What the agent says of its own accord may come in arrays as well.
        return not any(isinstance(each, dict) and "method" in each for each in message)
    return isinstance(message, dict) and "method" not in message and message.get("id", 0) is None


@step("own", editions=("v2_june", "v2"))
async def arrays(talk: Talk) -> Notes:
    """What the agent says to each array, as places in the record: (from, to).

    `ended` is the array behind which the agent did not answer any more, or "". `work` is a prompt in an array beside a
    quick call, where there are sessions: `cancel` is the place at which that was cancelled.
    """
    await talk.shake_hands()
    notes: Notes = {"reactions": {}, "ended": ""}
    lifecycle = [_request("five", "initialize", BARE[talk.edition]), _request("six", "_example.com/unknown")]
    for name, array in ARRAYS.items():
        if not await _say(talk, notes, name, array):
            return notes
    if talk.edition == "v2_june" and await _work(talk, notes):
        await _say(talk, notes, "lifecycle", lifecycle)
    return notes


async def _say(talk: Talk, notes: Notes, name: str, array: list[Any]) -> bool:
    """Say an array and listen; whether the agent lives."""
    since = talk.wire.say(array)
    try:
        await talk.is_alive()
        if name in SILENT:
            await talk.is_alive()  # What is done in the background has been done by the second sign of life.
        else:
            await talk.wire.until(answers_an_array, since, min(talk.options.timeout_seconds, ANSWER_SECONDS))
    except StepFailed:
        notes["ended"] = name
    except Silence:
        pass  # It was not answered: that is judged.
    notes["reactions"][name] = (since, talk.now)
    return not notes["ended"]


def _answers_the_work(entry: Entry) -> bool:
    messages = entry.message if isinstance(entry.message, list) else [entry.message]
    return any(is_answer(message, "work") for message in messages)


def _answers_work(entry: Entry) -> bool:
    messages = entry.message if isinstance(entry.message, list) else [entry.message]
    return any(is_answer(message, id_) for message in messages for id_ in ("work", "quick"))


async def _work(talk: Talk, notes: Notes) -> bool:
    """A prompt in an array beside a quick call, cancelled when the work has begun; whether the agent lives."""
    try:
        session = await talk.new()
    except StepFailed:
        return True  # Without sessions there is no work.
    since = talk.now
    prompt = {"sessionId": session, "prompt": [text(talk.options.cancel_prompt)]}
    talk.wire.say([_request("work", "session/prompt", prompt), _request("quick", "_example.com/unknown")])
    speech = ("agent_message", "agent_message_chunk", "tool_call_update")
    seconds = min(talk.options.turn_seconds, ANSWER_SECONDS)
    # Without a sign it may think for long: that is work as well.
    with suppress(Silence):
        await talk.wire.until(
            lambda entry: answers_an_array(entry) or is_update(entry.message, session, *speech), since, seconds
        )
    notes["cancel"] = talk.notify("session/cancel", {"sessionId": session})
    with suppress(Silence):
        await talk.wire.until(_answers_the_work, since, talk.options.turn_seconds)
    notes["work"] = (since, talk.now)
    try:
        return await talk.is_alive()
    except StepFailed:
        notes["ended"] = "work"
        return False
