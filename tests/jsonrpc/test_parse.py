"""Parsing: what every text gets in every edition, and that none of them raises."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import example, given, strategies as st

from accord.jsonrpc.message import (
    ErrorObject,
    Failure,
    Malformed,
    MessageRules,
    Notification,
    ParsedMessage,
    Request,
    RequestId,
    Result,
)
from accord.jsonrpc.parse import MAX_BATCH_ENTRIES, parse
from accord.jsonrpc.serialize import TAIL, error_text, notification_head, request_head, result_head
from tests.jsonrpc.texts import (
    RULES,
    broken_texts,
    dump,
    ids,
    json_values,
    messages_of,
    near_messages,
    read,
    strings,
    whole_strings,
)
from tests.tables import rows

BOM = b"\xef\xbb\xbf"
DEEP = 100_000
NOT_JSON = -32700
NO_MESSAGE = -32600

every_edition = rows("rules", RULES.values())


# --- what is answered with an error: the text, the code, the id to answer under

ANSWERED: dict[str, tuple[bytes, int, RequestId]] = {
    "nothing": (b"", NOT_JSON, None),
    "blanks": (b" \t ", NOT_JSON, None),
    "a stray print": (b"Loading model...", NOT_JSON, None),
    "broken JSON": (b'{"jsonrpc":"2.0","id":1,"method":', NOT_JSON, None),
    "two objects": (b'{"jsonrpc":"2.0","id":1,"method":"x"}{}', NOT_JSON, None),
    "a tail": (b'{"jsonrpc":"2.0","id":1,"method":"x"} ok', NOT_JSON, None),
    "single quotes": (b"{'jsonrpc':'2.0','id':1,'method':'x'}", NOT_JSON, None),
    "a comma too many": (b'{"jsonrpc":"2.0","id":1,"method":"x",}', NOT_JSON, None),
    "a number with a leading zero": (b'{"jsonrpc":"2.0","id":01,"method":"x"}', NOT_JSON, None),
    "a raw newline in a string": (b'{"jsonrpc":"2.0","id":1,"method":"a\nb"}', NOT_JSON, None),
    "an unknown escape": (b'{"jsonrpc":"2.0","id":1,"method":"x","params":"\\q"}', NOT_JSON, None),
    "bad UTF-8": (b"\xff\xfe", NOT_JSON, None),
    "bad UTF-8 in the method": (b'{"jsonrpc":"2.0","id":1,"method":"\xc3("}', NOT_JSON, None),
    "bad UTF-8 in the params": (b'{"jsonrpc":"2.0","id":1,"method":"x","params":["\xf0\x28\x8c\x28"]}', NOT_JSON, None),
    "bad UTF-8 under an unknown key": (b'{"jsonrpc":"2.0","id":1,"method":"x","extra":{"a":"\x80"}}', NOT_JSON, None),
    "bad UTF-8 in an unknown key": (b'{"jsonrpc":"2.0","id":1,"method":"x","\xff":1}', NOT_JSON, None),
    "an overlong encoding": (b'{"jsonrpc":"2.0","id":1,"method":"\xc0\xaf"}', NOT_JSON, None),
    "an encoded surrogate": (b'{"jsonrpc":"2.0","id":1,"method":"\xed\xa0\x80"}', NOT_JSON, None),
    "UTF-16": ('{"jsonrpc":"2.0","id":1,"method":"x"}'.encode("utf-16-le"), NOT_JSON, None),
    "UTF-32": ('{"jsonrpc":"2.0","id":1,"method":"x"}'.encode("utf-32-be"), NOT_JSON, None),
    "two byte order marks": (BOM + BOM + b'{"jsonrpc":"2.0","id":1,"method":"x"}', NOT_JSON, None),
    "NaN": (b"NaN", NOT_JSON, None),
    "NaN in the params": (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":NaN}}', NOT_JSON, None),
    "Infinity in the params": (b'{"jsonrpc":"2.0","id":1,"method":"x","params":[-Infinity]}', NOT_JSON, None),
    "NaN as id": (b'{"jsonrpc":"2.0","id":NaN,"method":"x"}', NOT_JSON, None),
    "nested arrays": (b"[" * DEEP + b"]" * DEEP, NOT_JSON, None),
    "open arrays": (b"[" * DEEP, NOT_JSON, None),
    "nested objects": (b'{"a":' * DEEP + b"1" + b"}" * DEEP, NOT_JSON, None),
    "nested arrays in the params": (
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + b"[" * DEEP + b"]" * DEEP + b"}",
        NOT_JSON,
        None,
    ),
    "nested arrays under an unknown key": (
        b'{"jsonrpc":"2.0","id":1,"method":"x","extra":' + b"[" * DEEP + b"]" * DEEP + b"}",
        NOT_JSON,
        None,
    ),
    "a number": (b"42", NO_MESSAGE, None),
    "a string": (b'"hello"', NO_MESSAGE, None),
    "true": (b"true", NO_MESSAGE, None),
    "null": (b"null", NO_MESSAGE, None),
    "an empty array": (b"[]", NO_MESSAGE, None),
    "an empty object": (b"{}", NO_MESSAGE, None),
    "an object of something else": (b'{"level":"info","text":"ready"}', NO_MESSAGE, None),
    "no version of JSON-RPC": (b'{"id":1,"method":"x"}', NO_MESSAGE, 1),
    "another version of JSON-RPC": (b'{"jsonrpc":"1.0","id":1,"method":"x"}', NO_MESSAGE, 1),
    "a version of JSON-RPC that is a number": (b'{"jsonrpc":2.0,"id":1,"method":"x"}', NO_MESSAGE, 1),
    "a notification without a version": (b'{"method":"x"}', NO_MESSAGE, None),
    "a method that is a number": (b'{"jsonrpc":"2.0","id":"a","method":1}', NO_MESSAGE, "a"),
    "a method that is null": (b'{"jsonrpc":"2.0","id":2,"method":null}', NO_MESSAGE, 2),
    "a request with a result": (b'{"jsonrpc":"2.0","id":1,"method":"x","result":{}}', NO_MESSAGE, 1),
    "a request with an error": (b'{"jsonrpc":"2.0","id":1,"method":"x","error":null}', NO_MESSAGE, 1),
    "an id that is an object": (b'{"jsonrpc":"2.0","id":{},"method":"x"}', NO_MESSAGE, None),
    "an id that is an array": (b'{"jsonrpc":"2.0","id":[1],"method":"x"}', NO_MESSAGE, None),
    "an id that is a fraction": (b'{"jsonrpc":"2.0","id":1.5,"method":"x"}', NO_MESSAGE, None),
    "an id that is 1.0": (b'{"jsonrpc":"2.0","id":1.0,"method":"x"}', NO_MESSAGE, None),
    "an id that is 1e0": (b'{"jsonrpc":"2.0","id":1e0,"method":"x"}', NO_MESSAGE, None),
    "an id that is true": (b'{"jsonrpc":"2.0","id":true,"method":"x"}', NO_MESSAGE, None),
    "an id over int64": (b'{"jsonrpc":"2.0","id":9223372036854775808,"method":"x"}', NO_MESSAGE, None),
    "an id under int64": (b'{"jsonrpc":"2.0","id":-9223372036854775809,"method":"x"}', NO_MESSAGE, None),
    "an id of 5,000 digits": (b'{"jsonrpc":"2.0","id":%s,"method":"x"}' % (b"7" * 5000), NO_MESSAGE, None),
    "an id beyond all floats": (b'{"jsonrpc":"2.0","id":1e999,"method":"x"}', NO_MESSAGE, None),
    "params that only Python could write again": (
        b'{"jsonrpc":"2.0","id":1,"method":"\\ud800","params":[1e999]}',
        NO_MESSAGE,
        1,
    ),
}


@every_edition
@rows("name", ANSWERED)
def test_a_text_that_is_no_message_says_how_to_answer_it(name: str, rules: MessageRules) -> None:
    text, code, id_ = ANSWERED[name]

    message = parse(text, rules)

    assert isinstance(message, Malformed)
    assert message.error is not None
    assert message.error.code == code
    assert message.error.data is None
    assert (message.id, type(message.id)) == (id_, type(id_))


# --- what looked like an answer and is never answered: the text, the call that it failed to answer

UNANSWERED: dict[str, tuple[bytes, RequestId]] = {
    "an error that is a string": (b'{"jsonrpc":"2.0","id":1,"error":"boom"}', 1),
    "an error that is a list": (b'{"jsonrpc":"2.0","id":1,"error":[]}', 1),
    "an error without a code": (b'{"jsonrpc":"2.0","id":1,"error":{"message":"boom"}}', 1),
    "an error whose code is a string": (b'{"jsonrpc":"2.0","id":1,"error":{"code":"E1","message":"boom"}}', 1),
    "an error whose code is a fraction": (b'{"jsonrpc":"2.0","id":1,"error":{"code":1.0,"message":"boom"}}', 1),
    "an error whose code is true": (b'{"jsonrpc":"2.0","id":1,"error":{"code":true,"message":"boom"}}', 1),
    "an error whose message is null": (b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":null}}', 1),
    "both result and error": (b'{"jsonrpc":"2.0","id":"a","result":{},"error":{"code":1,"message":"x"}}', "a"),
    "neither result nor error": (b'{"jsonrpc":"2.0","id":1}', 1),
    "neither, and the id null": (b'{"jsonrpc":"2.0","id":null}', None),
    "error null and no result": (b'{"jsonrpc":"2.0","id":1,"error":null}', 1),
    "a result without an id": (b'{"jsonrpc":"2.0","result":{}}', None),
    "a result under null": (b'{"jsonrpc":"2.0","id":null,"result":{}}', None),
    "a result under 1.5": (b'{"jsonrpc":"2.0","id":1.5,"result":{}}', None),
    "a result under a fraction over int64": (b'{"jsonrpc":"2.0","id":1e300,"result":{}}', None),
    "a result under true": (b'{"jsonrpc":"2.0","id":true,"result":{}}', None),
    "a result under an object": (b'{"jsonrpc":"2.0","id":{"a":1},"result":{}}', None),
    "a result under an id over int64": (b'{"jsonrpc":"2.0","id":9223372036854775808,"result":{}}', None),
    "an error under a fraction": (b'{"jsonrpc":"2.0","id":0.5,"error":{"code":1,"message":"x"}}', None),
    "an error that is a string, without an id": (b'{"jsonrpc":"2.0","error":"boom"}', None),
    "a result that only Python could write again": (b'{"jsonrpc":"2.0","id":1,"result":["\\ud800",1e999]}', 1),
}


@every_edition
@rows("name", UNANSWERED)
def test_a_malformed_answer_is_not_answered_and_names_its_call(name: str, rules: MessageRules) -> None:
    text, id_ = UNANSWERED[name]

    message = parse(text, rules)

    assert isinstance(message, Malformed)
    assert message.error is None
    assert (message.id, type(message.id)) == (id_, type(id_))
    assert message.reason


# --- what is fine

LONG = b"7" * 5000
FINE: dict[str, tuple[bytes, ParsedMessage]] = {
    "a request": (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":1}}', Request(1, "x", b'{"a":1}')),
    "a request without params": (b'{"jsonrpc":"2.0","id":1,"method":"x"}', Request(1, "x", None)),
    "a request with params null": (b'{"jsonrpc":"2.0","id":1,"method":"x","params":null}', Request(1, "x", b"null")),
    "a request with scalar params": (b'{"jsonrpc":"2.0","id":1,"method":"x","params":7}', Request(1, "x", b"7")),
    "an id that is a string": (b'{"jsonrpc":"2.0","id":"1","method":"x"}', Request("1", "x", None)),
    "an id that is empty": (b'{"jsonrpc":"2.0","id":"","method":"x"}', Request("", "x", None)),
    "an id that is 0": (b'{"jsonrpc":"2.0","id":0,"method":"x"}', Request(0, "x", None)),
    "an id that is -0": (b'{"jsonrpc":"2.0","id":-0,"method":"x"}', Request(0, "x", None)),
    "the largest id": (b'{"jsonrpc":"2.0","id":9223372036854775807,"method":"x"}', Request(2**63 - 1, "x", None)),
    "the smallest id": (b'{"jsonrpc":"2.0","id":-9223372036854775808,"method":"x"}', Request(-(2**63), "x", None)),
    "a lone surrogate in the id": (b'{"jsonrpc":"2.0","id":"\\ud83d","method":"x"}', Request("\ud83d", "x", None)),
    "a lone surrogate in the method": (b'{"jsonrpc":"2.0","id":1,"method":"\\ud83d"}', Request(1, "\ud83d", None)),
    "a lone surrogate in the params": (
        b'{"jsonrpc":"2.0","method":"x","params":{"t":"\\ude00"}}',
        Notification("x", b'{"t":"\\ude00"}'),
    ),
    "a whole pair of surrogates": (b'{"jsonrpc":"2.0","id":"\\ud83d\\ude00","method":"x"}', Request("😀", "x", None)),
    "an empty method": (b'{"jsonrpc":"2.0","method":""}', Notification("", None)),
    "a notification": (b'{"jsonrpc":"2.0","method":"x","params":[1]}', Notification("x", b"[1]")),
    "a result": (b'{"jsonrpc":"2.0","id":1,"result":{"a":1}}', Result(1, b'{"a":1}')),
    "a result that is null": (b'{"jsonrpc":"2.0","id":1,"result":null}', Result(1, b"null")),
    "a result beside error null": (b'{"jsonrpc":"2.0","id":1,"result":[],"error":null}', Result(1, b"[]")),
    "a result without a version": (b'{"id":"a","result":{}}', Result("a", b"{}")),
    "a result of another version": (b'{"jsonrpc":"1.0","id":1,"result":{}}', Result(1, b"{}")),
    "a result under 1.0": (b'{"jsonrpc":"2.0","id":1.0,"result":{}}', Result(1, b"{}")),
    "a result under -1e1": (b'{"jsonrpc":"2.0","id":-1e1,"result":{}}', Result(-10, b"{}")),
    "an error": (
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"m","data":{"a":[1]}}}',
        Failure(1, ErrorObject(-32000, "m", {"a": [1]})),
    ),
    "an error without a message": (
        b'{"jsonrpc":"2.0","id":1,"error":{"code":5}}',
        Failure(1, ErrorObject(5, "")),
    ),
    "an error beside result null": (
        b'{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":5,"message":"m"}}',
        Failure(1, ErrorObject(5, "m")),
    ),
    "an error under null": (
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}',
        Failure(None, ErrorObject(-32700, "m")),
    ),
    "an error without an id": (
        b'{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}',
        Failure(None, ErrorObject(-32700, "m")),
    ),
    "keys in any order": (b'{"params":[],"method":"x","id":1,"jsonrpc":"2.0"}', Request(1, "x", b"[]")),
    "whitespace": (b' \t{ "jsonrpc" : "2.0" ,\r\n "id":1, "method" : "x" } \n', Request(1, "x", None)),
    "a byte order mark": (BOM + b'{"jsonrpc":"2.0","id":1,"method":"x"}', Request(1, "x", None)),
    "unknown root keys": (b'{"jsonrpc":"2.0","id":1,"method":"x","_meta":{},"x":[1]}', Request(1, "x", None)),
    "a key twice: the last counts": (
        b'{"jsonrpc":"2.0","id":1,"id":2,"method":"x","method":"y"}',
        Request(2, "y", None),
    ),
    "a bad key and then a good one": (b'{"jsonrpc":"2.0","id":{},"id":2,"method":"x"}', Request(2, "x", None)),
    "a number beyond all floats in the params": (
        b'{"jsonrpc":"2.0","method":"x","params":[1e999]}',
        Notification("x", b"[1e999]"),
    ),
    "a number of 5,000 digits in the params": (
        b'{"jsonrpc":"2.0","method":"x","params":[%s]}' % LONG,
        Notification("x", b"[%s]" % LONG),
    ),
    "letters beyond ASCII": ('{"jsonrpc":"2.0","id":"é","method":"日"}'.encode(), Request("é", "日", None)),
}


@every_edition
@rows("name", FINE)
def test_a_clean_text_is_exactly_what_was_said(name: str, rules: MessageRules) -> None:
    text, expected = FINE[name]

    message = parse(text, rules)

    assert exact(message) == exact(expected)


def exact(message: Any) -> Any:
    """With its type, with what was left unread as bytes, and with an id that shows whether it is a number."""
    unread = [
        bytes(part) if part is not None and field in ("params", "result") else part for field, part in fields(message)
    ]
    return type(message), [(part, type(part)) for part in unread]


def fields(message: Any) -> list[tuple[str, Any]]:
    return list(msgspec.structs.asdict(message).items())


@rows(
    ("edition", "expected"),
    [
        ("v1", Request(None, "x", None)),
        ("june", Request(None, "x", None)),
        ("v2", Malformed("an invalid id", ErrorObject(NO_MESSAGE, "Invalid request"), None)),
    ],
)
def test_a_request_under_null_is_one_where_the_edition_allows_null_ids(edition: str, expected: ParsedMessage) -> None:
    assert parse(b'{"jsonrpc":"2.0","id":null,"method":"x"}', RULES[edition]) == expected


def test_ids_that_python_takes_for_equal_are_told_apart() -> None:
    one = parse(b'{"jsonrpc":"2.0","id":1,"method":"x"}', RULES["v1"])
    others = [
        parse(b'{"jsonrpc":"2.0","id":%s,"method":"x"}' % id_, RULES["v1"]) for id_ in (b'"1"', b"1.0", b"true", b"1e0")
    ]

    assert one not in others
    assert [type(other) for other in others] == [Request, Malformed, Malformed, Malformed]


@rows("edition", ["v1", "v2"])
@rows(
    "text",
    [
        b'[{"jsonrpc":"2.0","id":1,"method":"x"}]',
        b'[{"jsonrpc":"2.0","id":1,"result":{}}]',
        b' [{"jsonrpc":"2.0","method":"x"},1]',
        BOM + b'[{"jsonrpc":"2.0","id":1,"method":"x"}]',
        b'[{"jsonrpc":"2.0","id":"\\ud800","method":"x"}]',
        b"[[]]",
    ],
)
def test_an_array_gets_one_error_under_null_where_the_edition_has_no_batches(text: bytes, edition: str) -> None:
    assert parse(text, RULES[edition]) == Malformed("an array", ErrorObject(NO_MESSAGE, "Invalid request"), None)


# --- properties


@rows("entry", [b"1", b'{"jsonrpc":"2.0","id":1,"method":"a"}'])
def test_a_batch_of_too_many_entries_gets_one_error_and_nothing_in_it_is_done(entry: bytes) -> None:
    rules = RULES["june"]
    whole = parse(b"[%s]" % b",".join([entry] * MAX_BATCH_ENTRIES), rules)
    assert isinstance(whole, list)
    assert len(whole) == MAX_BATCH_ENTRIES
    refused = parse(b"[%s]" % b",".join([entry] * (MAX_BATCH_ENTRIES + 1)), rules)
    assert isinstance(refused, Malformed)
    assert refused.id is None
    assert refused.error is not None
    assert refused.error.code == -32600


@every_edition
@given(text=st.binary(max_size=64))
def test_no_bytes_raise(text: bytes, rules: MessageRules) -> None:
    judge(text, rules)


@every_edition
@given(value=json_values | near_messages | st.lists(near_messages, max_size=4))
def test_no_json_raises(value: Any, rules: MessageRules) -> None:
    judge(dump(value), rules)


@every_edition
@given(text=broken_texts())
def test_no_broken_message_raises(text: bytes, rules: MessageRules) -> None:
    judge(text, rules)


def judge(text: bytes, rules: MessageRules) -> None:
    """What holds for every text, whatever is in it."""
    parsed = parse(text, rules)

    assert rules.batches or not isinstance(parsed, list)
    assert parsed != []
    for message in messages_of(parsed):
        assert isinstance(message, Request | Notification | Result | Failure | Malformed)
        if isinstance(message, Request | Result):
            assert type(message.id) in (int, str) or (message.id is None and rules.null_ids)
        if isinstance(message, Malformed) and message.error is not None:
            # Nothing of what was received stands in the answer but the id.
            assert message.error in {ErrorObject(NOT_JSON, "Parse error"), ErrorObject(NO_MESSAGE, "Invalid request")}
            assert parse(error_text(message.id, message.error), rules) == Failure(message.id, message.error)
        read(message)


@every_edition
@given(text=broken_texts() | near_messages.map(dump) | st.lists(near_messages, max_size=3).map(dump))
@example(text=b'{"jsonrpc":"2.0","id":1,"method":"x","result":{}}')
@example(text=b'{"jsonrpc":"2.0","id":9223372036854775808,"result":{}}')
def test_the_quick_pass_and_the_slow_pass_say_the_same(text: bytes, rules: MessageRules) -> None:
    # A byte order mark is all that sends a text to the slow pass.
    if not text.startswith(BOM):
        assert read(parse(BOM + text, rules)) == read(parse(text, rules))


@given(id_=ids, method=strings, params=json_values)
def test_a_request_says_after_parsing_what_was_serialized(id_: int | str, method: str, params: Any) -> None:
    text = b'{"jsonrpc":"2.0","id":%s,"method":%s,"params":%s}' % (dump(id_), dump(method), dump(params))

    assert read(parse(text, RULES["v2"])) == Request(id_, method, params)


@given(id_=st.integers(0, 2**63 - 1), method=strings, params=json_values)
def test_our_own_requests_can_be_parsed(id_: int, method: str, params: Any) -> None:
    text = request_head(id_, method) + dump(params) + TAIL

    assert read(parse(text, RULES["v2"])) == Request(id_, method, params)


@given(method=strings, params=json_values)
def test_our_own_notifications_can_be_parsed(method: str, params: Any) -> None:
    text = notification_head(method) + dump(params) + TAIL

    assert read(parse(text, RULES["v2"])) == Notification(method, params)


@given(id_=ids, result=json_values)
def test_our_own_results_can_be_parsed(id_: int | str, result: Any) -> None:
    text = result_head(id_) + dump(result) + TAIL

    assert read(parse(text, RULES["v2"])) == Result(id_, result)


@given(id_=ids | st.none(), code=st.integers(), message=strings, data=json_values)
def test_our_own_errors_can_be_parsed(id_: RequestId, code: int, message: str, data: Any) -> None:
    error = ErrorObject(code, message, data)

    assert parse(error_text(id_, error), RULES["v2"]) == Failure(id_, error)


@given(method=whole_strings, params=st.lists(whole_strings, max_size=3))
def test_letters_may_stand_for_themselves_or_be_escaped(method: str, params: Any) -> None:
    value = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    plain = json.dumps(value, ensure_ascii=False).encode()

    assert read(parse(plain, RULES["v1"])) == read(parse(dump(value), RULES["v1"])) == Request(1, method, params)


@every_edition
@rows("depth", [5_000, DEEP])
def test_a_text_that_is_nested_too_deeply_is_not_called_broken_json(rules: MessageRules, depth: int) -> None:
    nested = b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + b"[" * depth + b"]" * depth + b"}"
    assert parse(nested, rules) == Malformed("nested too deeply", ErrorObject(NOT_JSON, "Parse error"))
