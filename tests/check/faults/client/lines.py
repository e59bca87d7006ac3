"""Clients with faults in the lines that they write, and clients that cannot handle the lines that they get."""

from __future__ import annotations

from typing import Any

from tests.check.faults.change import after, before, edited, instead, named, repeats, skips
from tests.check.faults.fault import ALL, JUNE, V1, V2, breaks_as_client, client
from tests.check.faults.reference.client import PlainClient

__all__: list[str] = []

# --- what they cannot take: they end at a line with these bytes

for _topic, _editions, _name, _bytes in (
    ("UPDATE-001", ALL, "ChokesOnUnknownUpdates", b'"future_thing"'),
    ("UPDATE-002", ALL, "ChokesOnUnknownContent", b'"_hologram"'),
    ("UPDATE-003", ALL, "ChokesOnBadUpdates", b'"sessionUpdate": 7'),
    ("UPDATE-004", ALL, "ChokesOnEarlyUpdates", b'"title": "Early"'),
    ("UPDATE-005", ALL, "ChokesOnLateUpdates", b'"title": "Late"'),
    ("UPDATE-006", ALL, "ChokesOnStrangeSessions", b'"text": "lost"'),
    ("UPDATE-008", ALL, "ChokesOnCommands", b'"availableCommands"'),
    ("UPDATE-009", ALL, "ChokesOnNull", b'"locations": null'),
    ("UPDATE-010", V2, "ChokesOnUnknownStates", b'"_pondering"'),
    ("UPDATE-011", ALL, "ChokesOnMeta", b'"traceparent"'),
    ("CONFIG-001", ALL, "ChokesOnUnknownOptions", b'"_dial"'),
    ("EXT-002", ALL, "ChokesOnUnknownNotifications", b'"_accord.check/hello"'),
    ("CANCEL-002", V1 + V2, "ChokesOnUnknownCancels", b'"requestId": 987654321'),
    ("ELICIT-004", V1 + V2, "ChokesOnUnknownCompletions", b'"elicitation/complete"'),
    ("RUDE-001", ALL, "ChokesOnNoise", b"this is no JSON"),
    ("RUDE-002", ALL, "ChokesOnOtherJson", b'"hello": "world"'),
    ("RUDE-003", V1 + V2, "ChokesOnArrays", b'"_accord.check/in_an_array"'),
    ("RUDE-004", ALL, "ChokesOnStrayAnswers", b'"id": 987654321'),
    ("RUDE-005", ALL, "ChokesOnBlankLines", b"\r"),
    ("PERM-006", JUNE + V2, "ChokesOnUnknownAnswersToAsk", b'"_maybe"'),
    ("CANCEL-005", ALL, "LeavesWhenItHasCancelled", b'"status": "failed"'),
):
    client(_topic, _editions, _name)(choker=_bytes)
client("UPDATE-007", ALL, "ChokesOnLargeUpdates")(is_too_much=lambda _, __, line: len(line) > 64 * 1024)

# --- what they write


def _says(message: Any) -> Any:
    return before(lambda peer: peer.say(message))


_HELLO = {"jsonrpc": "2.0", "method": "_by_hand/hello", "params": {}}
client("WIRE-001", ALL, "LogsToItsAgent")(before_prompt=before(lambda peer: peer.write(b"INFO prompting\n")))
client("WIRE-001", ALL, "LeavesOutTheVersionOfJsonRpc")(before_prompt=_says({"method": "_by_hand/hello", "params": {}}))
client("WIRE-002", ALL, "BreaksOff")(at_last=before(lambda peer: peer.write(b'{"jsonrpc": "2.0"')))
client("WIRE-003", V1 + V2, "SendsArrays")(before_prompt=_says([_HELLO]))
client("ID-001", ALL, "HasFractionsForIds")(before_prompt=_says({**_HELLO, "id": 1.5}))
client("ID-001", V2, "HasNullForAnId")(before_prompt=_says({**_HELLO, "id": None}))


@breaks_as_client("ID-002", *ALL)
class UsesAnIdTwice(PlainClient):
    """While the first request with it is pending."""

    def say(self, message: Any) -> None:
        super().say(message)
        if isinstance(message, dict) and message.get("method") == "session/prompt":
            super().say({**message, "method": "_by_hand/hello", "params": {}})

    def take_answer(self, message: dict[str, Any]) -> None:
        if "error" not in message:
            super().take_answer(message)


def _is_outcome(_: Any, __: Any, result: Any) -> bool:
    return isinstance(result, dict) and "outcome" in result


def _says_both(peer: Any, old: Any, id_: Any, result: Any) -> None:
    outcome = result.get("outcome") if isinstance(result, dict) else None
    if isinstance(outcome, dict) and outcome.get("_meta") == {"both": True}:
        peer.say({"jsonrpc": "2.0", "id": id_, "result": result, "error": None})
    else:
        old(id_, result)


client("ANSWER-001", ALL, "AnswersTwice")(answer=repeats(_is_outcome))
client("ANSWER-002", ALL, "AnswersWithBoth")(
    decide=edited(lambda outcome, title: {**outcome, "_meta": {"both": "this be done?" in title}}), answer=_says_both
)
client("ANSWER-002", ALL, "SaysErrorsAsText")(
    refuse=instead(
        lambda peer, id_, _, message, *__: peer.say({"jsonrpc": "2.0", "id": id_, "error": message}),
        lambda _, __, ___, message, *____: message == "There is no such session",
    )
)
client("ANSWER-003", ALL, "AnswersNotifications")(
    take_notification=after(lambda peer, *_: peer.answer(None, None), named("_accord.check/hello"))
)


def _fails(_: Any) -> None:
    raise RuntimeError("the end")


client("END-001", ALL, "EndsWithAnError", note="status 1")(at_last=before(_fails))


async def _serves_them(peer: Any, messages: list[Any]) -> None:
    for message in messages:
        await peer.take_json(message)


client("RUDE-003", V1 + V2, "ServesArrays")(take_array=instead(_serves_them))
client("BATCH-001", JUNE, "PassesOverBatches")(take_array=skips())
