"""One pass or two: a text means the same, however its keys and spaces are written."""

import asyncio
import json
from typing import Any

import pytest

import accord.connection.receiver
from accord.errors import AccordError
from accord.jsonrpc.message import MessageRules, ParsedMessage
from accord.jsonrpc.parse import parse
from accord.protocol import v1
from tests.connection.rig import Hand, agent_handlers, initialized
from tests.tables import rows

PROMPT = {"sessionId": "s", "prompt": [{"type": "text", "text": "hello"}]}
REQUESTS = {
    "plain": PROMPT,
    "no ASCII": {"sessionId": "ß", "prompt": [{"type": "text", "text": "grüße"}]},
    "a lone surrogate": {"sessionId": "s", "prompt": [{"type": "text", "text": "\ud83d"}]},
    "an unknown variant": {"sessionId": "s", "prompt": [{"type": "smell", "of": "coffee"}]},
    "a misfit": {"sessionId": ["s"], "prompt": []},
    "a key too few": {"prompt": []},
    "null": None,
    "a list": [1],
}
RESULTS = {
    "plain": '"result":{"sessionId":"s"}',
    "a lone surrogate": '"result":{"sessionId":"\\ud83d"}',
    "a misfit": '"result":{"sessionId":5}',
    "null": '"result":null',
    "a list": '"result":[]',
    "an error beside it": '"result":{"sessionId":"s"},"error":{"code":1,"message":"no"}',
    "a method beside it": '"result":{"sessionId":"s"},"method":"session/new"',
    "another id behind it": '"result":{"sessionId":"s"},"id":[]',
}


def spellings(message: str) -> list[str]:
    """A text as it is, with spaces, and with its keys turned round, of which only the first is read in one pass."""
    return [message, message.replace('{"jsonrpc":', '{ "jsonrpc" : ', 1), turned_round(message)]


def turned_round(message: str) -> str:
    id_, rest = message.removeprefix('{"jsonrpc":"2.0","id":').split(",", 1)
    return f'{{"id":{id_},"jsonrpc":"2.0",{rest}'


async def answers_to(texts: list[str]) -> list[Any]:
    """For each text its answer and what the handler got."""
    seen: list[Any] = []
    handlers = agent_handlers()

    def prompt(request: v1.PromptRequest) -> v1.PromptResponse:
        seen.append(request)
        return v1.PromptResponse("end_turn")

    handlers.on(v1.SESSION_PROMPT, prompt)
    outcomes = []
    async with initialized("agent", handlers) as (_, hand):
        for text in texts:
            await hand.say(text)
            outcomes.append((await hand.hear(), [*seen]))
            seen.clear()
    return outcomes


@rows("params", REQUESTS.values())
async def test_a_request_means_the_same_in_every_spelling(params: Any) -> None:
    for id_ in ("7", '"seven"', "null"):
        body = json.dumps(params, separators=(",", ":"))
        message = f'{{"jsonrpc":"2.0","id":{id_},"method":"session/prompt","params":{body}}}'
        first, *others = await answers_to(spellings(message))
        assert others == [first, first]


@rows(
    "tail",
    ['"id":8', '"method":"session/new"', '"params":{}', '"result":{}', '"error":{}', '"jsonrpc":"1.0"', '"more":1'],
)
async def test_what_stands_behind_the_params_of_a_request_is_not_overlooked(tail: str) -> None:
    body = json.dumps(PROMPT, separators=(",", ":"))
    message = f'{{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{body},{tail}}}'
    one_pass, two_passes = await answers_to(spellings(message)[:2])
    assert one_pass == two_passes


@rows("method", ["session/load", "session/nothing", "_extension", "initialize", "session/update"])
async def test_a_method_without_a_handler_is_refused_in_every_spelling(method: str) -> None:
    message = f'{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{}}}}'
    first, *others = await answers_to(spellings(message))
    assert others == [first, first]
    assert "error" in first[0]


async def outcome_of(calling: asyncio.Future[Any]) -> Any:
    try:
        return await calling
    except AccordError as error:
        return type(error), str(error)


async def id_of_call(hand: Hand) -> Any:
    """The id of the next call, behind whatever was answered to the last text."""
    while "method" not in (message := await hand.hear()):
        pass
    return message["id"]


@rows("result", RESULTS.values())
async def test_a_result_means_the_same_in_every_spelling(result: str) -> None:
    outcomes = []
    async with initialized("client") as (connection, hand):
        for number in range(3):
            calling = asyncio.ensure_future(connection.call(v1.SESSION_NEW, v1.NewSessionRequest("/", [])))
            id_ = await id_of_call(hand)
            await hand.say(spellings(f'{{"jsonrpc":"2.0","id":{id_},{result}}}')[number])
            # For those that answer nobody.
            await hand.say({"jsonrpc": "2.0", "id": id_, "result": {"sessionId": "at last"}})
            outcomes.append(await outcome_of(calling))
    assert outcomes == [outcomes[0]] * 3


async def test_plain_requests_and_results_take_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    long_way: list[bytes] = []

    def watched(text: bytes, rules: MessageRules) -> ParsedMessage | list[ParsedMessage]:
        long_way.append(text)
        return parse(text, rules)

    async def ask(hand: Hand) -> None:
        await hand.say('{"jsonrpc":"2.0","id":7,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}')
        assert (await hand.answer_to(7))["result"] == {"sessionId": "s"}

    async with initialized("agent") as (connection, hand):
        monkeypatch.setattr(accord.connection.receiver, "parse", watched)
        await ask(hand)
        calling = asyncio.ensure_future(connection.call(v1.FS_READ_TEXT_FILE, v1.ReadTextFileRequest("s", "/x")))
        id_ = await id_of_call(hand)
        await hand.say(f'{{"jsonrpc":"2.0","id":{id_},"result":{{"content":"c"}}}}')
        assert (await calling).content == "c"
    assert long_way == []
