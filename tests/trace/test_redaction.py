"""Masking of secrets: by key and by shape, with everything else as it was."""

from __future__ import annotations

import json
import re
import tracemalloc
from typing import Any

from hypothesis import given, strategies as st

from accord.trace.redaction import Redactor
from tests.tables import rows

LABEL = re.compile(r"<secret:[0-9a-f]{4}>")


def masked(value: Any) -> Any:
    return json.loads(Redactor().text(json.dumps(value).encode()))


@rows(
    "value",
    [
        {"mcpServers": [{"env": [{"name": "PLAIN", "value": "hidden-1"}]}]},
        {"mcpServers": [{"headers": [{"value": "hidden-1", "name": "X-Thing"}]}]},
        {"env": {"ANY": "hidden-1"}},
        {"headers": {"X-Custom": ["hidden-1"]}},
        {"Authorization": "hidden-1"},
        {"proxy-authorization": "hidden-1"},
        {"x-api-key": "hidden-1"},
        {"apiKey": "hidden-1"},
        {"API_KEY": "hidden-1"},
        {"X-Auth-Token": "hidden-1"},
        {"set-cookie": ["a=hidden-1; b"]},
        {"accessToken": "hidden-1"},
        {"client_secret": "hidden-1"},
        {"password": "hidden-1"},
        {"_meta": {"proxyConfig": {"proxies": [{"proxy": {"headers": {"proxy_key": "hidden-1"}}}]}}},
        {"variables": [{"name": "OPENAI_API_KEY", "value": "hidden-1"}]},
        {"variables": [{"value": "hidden-1", "name": "MY_TOKEN"}]},
        {"text": "say Bearer hidden-1hidden-1 to it"},
        {"text": "sk-hidden-1"},
        {"text": "ghp_hidden1hidden1hidden1hidden1"},
        {"url": "https://user:hidden-1@example.com/path"},
        {"text": "eyJhidden1hidden1.eyJhidden1hidden1.hidden1"},
        {"text": "keys:\nsk-hidden-1\n"},
        {"text": "\tghp_hidden1hidden1hidden1hidden1"},
        {"text": "\u201csk-hidden-1\u201d"},
        {"text": "\reyJhidden1hidden1.eyJhidden1hidden1.hidden1"},
        {"text": "-----BEGIN PRIVATE KEY-----\nhidden1hidden1hidden1"},
        {"secret_key": "hidden-1"},
        {"signingKey": "hidden-1"},
        {"api_keys": ["hidden-1"]},
        {"openai.api.key": "hidden-1"},
        {"api key": "hidden-1"},
        {"bearer": "hidden-1"},
        {"gehéim_token": "hidden-1"},
        {"args": ["serve", "--api-key", "hidden-1", "--fast"]},
        {"args": ["--access_token=hidden-1"]},
        {"args": ["--header", "X-Api-Key: hidden-1"]},
        {"command": ["env", "MY_KEY=hidden-1", "serve"]},
        {"url": "https://example.com/mcp?apiKey=hidden-1&a=1"},
        {"url": "https://example.com/mcp?a=1&access_token=hidden-1#top"},
        {"url": "https://example.com/cb#access_token=hidden-1&state=1"},
        {"url": "https://example.com/cb#!/state=1&id_token=hidden-1"},
        {"url": "https://example.com/app#/api_key=hidden-1"},
        {"url": "https://example.com/a;jsessionid=hidden-1"},
        {"url": "https://example.com/a;v=1;access_token=hidden-1?q=1"},
        {"url": "https://example.com/?auth[token]=hidden-1&a=1"},
        {"url": "https://example.com/?auth%5Btoken%5D=hidden-1"},
        {"url": "https://example.com/cb?state=1&code=hidden-1hidden-1"},
        {"url": "https://example.com/?a=1&key=hidden-1hidden-1"},
        {"url": "https://example.com/?authorization=Bearer%20hidden-1"},
        {"url": "https://example.com/?u=https%253A%252F%252Fb.example%252F%2523access_token%253Dhidden-1%2526a%253D1"},
        {"url": "https://example.com/?next=https%3A%2F%2Fb.example%2F%23access_token%3Dhidden-1%26a%3D1"},
        {"url": "https://example.com/?next=https%3a%2f%2fb.example%3ftoken%3dhidden-1"},
        {"url": "https://user:p@hidden-1@example.com/path"},
        {"url": "https://user:" + "hidden-1" * 200 + "@example.com/path"},
        {"url": "https://sk-abcdefg:hidden-1@example.com/path"},
        {"url": "https://hooks.slack.com/services/T0hidden1/B0hidden1/hidden1hidden1"},
        {"url": "https://discord.com/api/webhooks/1234567890/hidden1hidden1hidden1"},
        {"url": "https://x.webhook.office.com/webhookb2/hidden1-hidden1@hidden1/IncomingWebhook/hidden1/hidden1"},
        {"url": "https://hooks.zapier.com/hooks/catch/hidden1/hidden1"},
        {"url": "https://api.telegram.org/bot123456789:hidden1hidden1hidden1/sendMessage"},
        {"url": "https://mcp.zapier.com/api/mcp/s/hidden1hidden1hidden1/mcp"},
        {"url": "https://maker.ifttt.com/trigger/x/with/key/hidden1hidden1hidden1"},
        {"url": "https://mainnet.infura.io/v3/hidden1hidden1hidden1"},
        {"rawInput": json.dumps({"api_key": "hidden-1"})},
        {"rawInput": json.dumps({"env": {"A": "hidden-1"}, "é": "ü"}, ensure_ascii=False)},
        {"arguments": json.dumps([{"headers": [{"name": "X-A", "value": 'hidden-1"\n'}]}])},
        {"rawInput": json.dumps({"body": json.dumps({"password": "hidden-1"})})},
        {"text": "ghu_hidden1hidden1hidden1hidden1"},
        {"text": "hf_hidden1hidden1hidden1hidden1"},
        {"text": "gsk_hidden1hidden1hidden1hidden1"},
        {"text": "npm_hidden1hidden1hidden1hidden1"},
        {"text": "sk_live_hidden1hidden1hidden1"},
        {"text": "xai-hidden1hidden1hidden1hidden1"},
        {"text": "pypi-hidden1hidden1hidden1hidden1"},
    ],
)
def test_a_secret_is_masked_and_its_neighbours_stay(value: dict[str, Any]) -> None:
    whole = {"before": 1, **value, "after": [True, None, "text"]}
    result = masked(whole)

    assert "hidden" not in json.dumps(result)
    assert LABEL.search(json.dumps(result))
    assert (result["before"], result["after"]) == (1, [True, None, "text"])


@rows(
    "value",
    [
        {"usage": {"inputTokens": 12, "outputTokens": 5, "totalTokens": 17}},
        {"text": "the task-list has a risk-free key: value, and a token = parser.next()"},
        {"text": "https://example.com/@scope/package and mail me@example.com"},
        {"text": "https://example.com/a#token and https://example.com/a;v=1#top, for (;;) x #1 a%3Db"},
        {"text": "https://example.com/webhooks/1/edit and https://example.com/bot/x and https://example.com/mcp/s/"},
        {"text": "basic understanding of cookies and headers"},
        {"name": "environment", "value": "plain"},
        {"sessionId": "tok", "title": "a bearer of news"},
        {"text": "a line with -----BEGIN PRIVATE KEY-----", "title": "and another string behind it"},
        {"text": json.dumps({"api_key": "a prompt stays"}), "newText": json.dumps({"token": "a file stays"})},
        {"args": ["--key-file", "--tokenizer", "fast", "--max-tokens=5"], "publicKey": "shown"},
        {"text": "is it a?b=c&d=e or key=f"},
        {"rawInput": '{not json and no "key"}'},
    ],
)
def test_ordinary_texts_pass_as_the_same_object(value: dict[str, Any]) -> None:
    text = json.dumps(value).encode()
    assert Redactor().text(text) is text


def test_the_json_type_of_a_secret_is_kept() -> None:
    assert masked({"password": 1234, "token": None, "secret": True}) == {"password": 0, "token": None, "secret": True}
    assert LABEL.fullmatch(masked({"password": "1234"})["password"])


def test_equal_secrets_look_equal_in_one_file_and_not_in_another() -> None:
    first, second = Redactor(), Redactor()
    labels = [first.label(b"one"), first.label(b"one"), first.label(b"two"), *(second.label(b"one") for _ in range(1))]
    assert labels[0] == labels[1] != labels[2]
    assert len({Redactor().label(b"one") for _ in range(20)}) > 1


def test_everything_but_the_secret_stays_byte_for_byte() -> None:
    text = b'{ "a" : 1.00, "a":2,"apiKey" :"x\\"y",  "big": 12345678901234567890 , "u":"\\u00e4\\ud83d"}'
    assert LABEL.sub("S", Redactor().text(text).decode()).encode() == text.replace(b'x\\"y', b"S")


def test_a_key_that_is_written_with_escapes_is_the_same_key() -> None:
    text = b'{"\\u0061pi_key":"hidden","\\u0074\\u006f\\u006B\\u0065\\u006e":"hidden","a":"\\u00e4"}'
    assert LABEL.sub("S", Redactor().text(text).decode()).encode() == text.replace(b"hidden", b"S")


def test_json_in_a_string_keeps_its_escapes_beside_the_secret() -> None:
    inner = '{\\"token\\" : \\"hid\\\\\\"den\\\\n\\", \\"b\\":\\"\\u00e4\\/\\", \\"password\\":12345, \\"c\\":[1.0]}'
    text = f'{{"rawInput":"{inner}"}}'.encode()
    result = Redactor().text(text).decode()
    expected = text.decode().replace('hid\\\\\\"den\\\\n', "S").replace("12345", "0")
    assert LABEL.sub("S", result) == expected
    assert json.loads(json.loads(result)["rawInput"])["password"] == 0


@rows(
    "line",
    [
        b"OPENAI_API_KEY=hidden-1 started",
        b"authorization: Bearer hidden-1hidden",
        b"Authorization: hidden-1",
        b"password = 'hidden-1'",
        b'{"apiKey": "hidden-1", broken',
        b'{"env":[{"name":"A","value":"hidden-1"}',
        b'{"token":"hidden-1',
        b'panic: {"token":"hidden-1"}',
        b"GET https://me:hidden-1@host/",
        b'\xff\xfe {"token":"hidden-1"}',
        b'password="two words hidden-1"',
        b"MY_KEY=hidden-1",
        b"GET /mcp?api_key=hidden-1 200",
        b"https:\\/\\/me:hidden-1@host\\/",
        b"https://h/?a=1\\u0026token\\u003dhidden-1",
        b"https://h/#access_token=hidden-1",
    ],
)
def test_lines_that_are_no_json_are_masked_too(line: bytes) -> None:
    assert b"hidden" not in Redactor().line(line)
    assert b"hidden" not in Redactor().text(line, is_json=False)


def test_secrets_of_a_command_line_are_masked() -> None:
    given_line = ["agent", "--api-key", "hidden", "--token=hidden", "--url", "http://a:hidden@b", "--acp", "-v"]
    shown = Redactor().command(given_line)
    assert "hidden" not in " ".join(shown)
    assert (shown[0], shown[1], shown[4], shown[6:]) == ("agent", "--api-key", "--url", ("--acp", "-v"))


def test_variables_of_a_command_line_are_masked() -> None:
    shown = Redactor().command(["docker", "run", "-e", "ANY=hidden", "--env", "OTHER=hidden", "image", "a=b"])
    assert "hidden" not in " ".join(shown)
    assert (shown[3][:4], shown[5][:6], shown[6:]) == ("ANY=", "OTHER=", ("image", "a=b"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "env", "token", "name", "value"]), inner)
    ),
    max_leaves=12,
)


@given(JSON)
def test_a_masked_text_is_json_of_the_same_shape(value: Any) -> None:
    assert shape(masked(value)) == shape(value)


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items()}
    if isinstance(value, list):
        return [shape(each) for each in value]
    return type(value) if isinstance(value, str | bool | None) else "number"


@given(st.binary(max_size=300))
def test_no_bytes_make_it_fail(data: bytes) -> None:
    redactor = Redactor()
    for prefix in (b"", b'{"token":', b'{"env":[{"', b"bearer "):
        redactor.text(prefix + data)
        redactor.line(prefix + data)


def test_a_large_text_with_every_marker_takes_linear_time() -> None:
    part = b'sk- bearer :// eyj key= token: \\" { [ ?a&b '
    text = b'{"t":"' + part * 20_000 + b'"}'
    assert len(Redactor().text(text)) == len(text)
    Redactor().line(part * 20_000)
    nested = b'{"rawInput":"{' + b'\\"token\\":\\"a\\",' * 20_000 + b'"}'
    assert Redactor().text(nested).count(b"<secret:") == 20_000


def test_a_string_full_of_escapes_costs_a_small_multiple_of_its_size() -> None:
    text = json.dumps({"rawInput": json.dumps({"token": "hidden", "a": '"' * 20_000})}).encode()
    tracemalloc.start()
    try:
        masked = Redactor().text(text)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert b"hidden" not in masked
    assert peak_bytes < 20 * len(text)
