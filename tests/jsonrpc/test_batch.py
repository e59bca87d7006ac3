"""Batches by the rules of JSON-RPC 2.0, which June allows: what each entry is, and the one array of answers."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, strategies as st

from accord.jsonrpc.message import ErrorObject, Failure, Malformed, Notification, Request, Result
from accord.jsonrpc.parse import parse
from accord.jsonrpc.serialize import TAIL, BatchAnswer, error_text, result_head
from tests.jsonrpc.texts import RULES, VALID, dump, near_messages, read
from tests.tables import rows

JUNE = RULES["june"]
NOT_JSON = ErrorObject(-32700, "Parse error")
NO_MESSAGE = ErrorObject(-32600, "Invalid request")
BOM = b"\xef\xbb\xbf"

CALL = b'{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}'
UNDER_NULL = b'{"jsonrpc":"2.0","id":null,"method":"x"}'
NOTICE = b'{"jsonrpc":"2.0","method":"y"}'
ANSWER = b'{"jsonrpc":"2.0","id":"a","result":{"b":2}}'
ERROR = b'{"jsonrpc":"2.0","id":3,"error":{"code":5,"message":"m"}}'

# As `read` shows them: params and results are not bytes any more.
ONE: Any = [1]
TWO: Any = {"b": 2}
THE_CALL = Request(1, "x", ONE)
THE_NOTICE = Notification("y", None)
THE_ANSWER = Result("a", TWO)
THE_ERROR = Failure(3, ErrorObject(5, "m"))

BATCHES: dict[str, tuple[bytes, list[Any]]] = {
    "one call": (b"[%s]" % CALL, [THE_CALL]),
    "calls, notifications and answers": (
        b"[%s,%s,%s,%s]" % (CALL, NOTICE, ANSWER, ERROR),
        [THE_CALL, THE_NOTICE, THE_ANSWER, THE_ERROR],
    ),
    "notifications alone": (b"[%s,%s]" % (NOTICE, NOTICE), [THE_NOTICE, THE_NOTICE]),
    "answers alone": (b"[%s,%s]" % (ANSWER, ERROR), [THE_ANSWER, THE_ERROR]),
    "a call under null": (b"[%s]" % UNDER_NULL, [Request(None, "x", None)]),
    "an entry that is a number": (b"[1]", [Malformed("not an object", NO_MESSAGE)]),
    "three numbers": (b"[1,2,3]", [Malformed("not an object", NO_MESSAGE)] * 3),
    "a bad entry between two good ones": (
        b'[%s,{"foo":"boo"},%s]' % (CALL, NOTICE),
        [THE_CALL, Malformed("neither a method nor an answer", NO_MESSAGE), THE_NOTICE],
    ),
    "a bad entry with an id": (
        b'[{"jsonrpc":"1.0","id":"z","method":"x"}]',
        [Malformed("not JSON-RPC 2.0", NO_MESSAGE, "z")],
    ),
    "a bad answer": (
        b'[{"jsonrpc":"2.0","id":4,"error":"boom"}]',
        [Malformed("an answer whose error is no object", id=4)],
    ),
    "an array in an array": (b"[[%s],%s]" % (CALL, NOTICE), [Malformed("an array", NO_MESSAGE), THE_NOTICE]),
    "an empty array in an array": (b"[[]]", [Malformed("an array", NO_MESSAGE)]),
    "a lone surrogate in one entry": (
        b'[{"jsonrpc":"2.0","id":"\\ud83d","method":"x"},%s,[]]' % CALL,
        [Request("\ud83d", "x", None), THE_CALL, Malformed("an array", NO_MESSAGE)],
    ),
    "whitespace around it": (b" \t[ %s ]\r" % CALL, [THE_CALL]),
    "a byte order mark before it": (BOM + b"[%s,%s]" % (CALL, ANSWER), [THE_CALL, THE_ANSWER]),
}


@rows("name", BATCHES)
def test_each_entry_of_a_batch_is_a_message_of_its_own(name: str) -> None:
    text, expected = BATCHES[name]

    assert read(parse(text, JUNE)) == expected


@rows(
    ("text", "expected"),
    [
        (b"[]", Malformed("an array", NO_MESSAGE)),
        (b" [ ] ", Malformed("an array", NO_MESSAGE)),
        (b"[%s" % CALL, Malformed("not JSON", NOT_JSON)),
        (b"[%s,]" % CALL, Malformed("not JSON", NOT_JSON)),
        (b"[%s,NaN]" % CALL, Malformed("not JSON", NOT_JSON)),
        (b'[%s,"\xff"]' % CALL, Malformed("not UTF-8", NOT_JSON)),
    ],
)
def test_an_empty_or_broken_batch_gets_one_error_and_nothing_in_it_is_done(text: bytes, expected: Malformed) -> None:
    assert parse(text, JUNE) == expected


@given(entries=st.lists(near_messages | st.sampled_from(VALID[:-2]).map(json.loads), min_size=1, max_size=5))
def test_an_entry_means_what_it_means_alone(entries: list[Any]) -> None:
    assert read(parse(dump(entries), JUNE)) == [read(parse(dump(entry), JUNE)) for entry in entries]


@given(order=st.permutations(range(5)))
def test_the_answers_leave_together_once_the_last_is_there(order: list[int]) -> None:
    answer = BatchAnswer(len(order))
    texts = [result_head(id_) + b"{}" + TAIL for id_ in order]

    early = [answer.add(text) for text in texts[:-1]]
    whole = answer.add(texts[-1])

    assert early == [None] * 4
    assert read(parse(whole or b"", JUNE)) == [Result(id_, {}) for id_ in order]  # type: ignore[arg-type]


def test_a_batch_with_one_answer_is_answered_with_an_array() -> None:
    text = error_text(None, NO_MESSAGE)

    assert BatchAnswer(1).add(text) == b"[" + text + b"]"
