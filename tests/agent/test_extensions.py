"""Methods beside the protocol, in both directions, and what travels in `_meta`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from accord.agent import Agent, Extension, Turn
from accord.errors import LocalProtocolError, PermissionDenied, RequestError
from accord.stores import MemoryStore, SqliteStore
from tests.agent.rig import EDITIONS, IN_EVERY_EDITION, agent_of, served
from tests.agent.sessions import error_of, reopening
from tests.tables import rows

TRACE = {"traceparent": "00-aa-bb-01", "tracestate": "x=1", "baggage": "user=1"}


async def nothing(_: Turn) -> None:
    """Prompts are not what these tests are about."""


@IN_EVERY_EDITION
async def test_an_extension_request_is_answered_by_its_handler(edition: str) -> None:
    agent = agent_of(nothing)

    @agent.request("_example.org/add")
    async def add(call: Extension) -> dict[str, Any]:
        assert call.session is None
        assert call.client.name == "hand"
        return {"sum": sum(call.params["numbers"])}

    @agent.request("_example.org/plain")
    def plain(call: Extension) -> Any:
        return call.params

    async with served(agent, edition) as hand:
        assert (await hand.request("_example.org/add", {"numbers": [1, 2]}))["result"] == {"sum": 3}
        assert (await hand.request("_example.org/plain", ["a"]))["result"] == ["a"]
        assert (await hand.request("_example.org/plain"))["result"] is None


@IN_EVERY_EDITION
async def test_an_extension_knows_the_session_it_names_if_it_is_open(edition: str) -> None:
    agent = agent_of(nothing)

    @agent.request("_which")
    async def which(call: Extension) -> str | None:
        return None if call.session is None else call.session.id

    async with served(agent, edition) as hand:
        session = await hand.new_session()
        assert (await hand.request("_which", {"sessionId": session}))["result"] == session
        assert (await hand.request("_which", {"sessionId": "nobody"}))["result"] is None
        assert (await hand.request("_which", {"sessionId": 7}))["result"] is None
        await hand.request("session/close", {"sessionId": session})
        assert (await hand.request("_which", {"sessionId": session}))["result"] is None


@IN_EVERY_EDITION
async def test_an_extension_notification_reaches_its_handler_in_order(edition: str) -> None:
    agent, seen = agent_of(nothing), []

    @agent.notification("_note")
    async def note(call: Extension) -> None:
        await asyncio.sleep(0)
        seen.append((call.params["n"], call.session is not None))

    async with served(agent, edition) as hand:
        session = await hand.new_session()
        for number in range(5):
            await hand.notify("_note", {"sessionId": session, "n": number})
        await hand.request("session/close", {"sessionId": session})
    assert [number for number, _ in seen] == [0, 1, 2, 3, 4]
    assert seen[0] == (0, True)


@IN_EVERY_EDITION
async def test_what_nobody_registered_is_not_found_or_passed_over(edition: str) -> None:
    async with served(agent_of(nothing), edition) as hand:
        error = error_of(await hand.request("_example.org/nothing", {}))
        assert error["code"] == -32601
        await hand.notify("_example.org/nothing", {})
        assert await hand.is_alive()


@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_failing_extension_says_nothing_of_itself(edition: str, caplog: pytest.LogCaptureFixture) -> None:
    agent = agent_of(nothing)

    @agent.request("_fail")
    async def fail(call: Extension) -> None:
        if call.params == {"how": "refused"}:
            raise PermissionDenied("root")
        if call.params == {"how": "own"}:
            raise RequestError("Mine", [1], code=-32099)
        raise ValueError("the secret")

    @agent.notification("_fail")
    async def fail_quietly(_: Extension) -> None:
        raise ValueError("the secret")

    async with served(agent, edition) as hand:
        error = error_of(await hand.request("_fail", {}))
        assert error["code"] == -32603
        assert "secret" not in str(error)
        error = error_of(await hand.request("_fail", {"how": "refused"}))
        assert (error["code"], error["data"]) == (-32003, {"reason": "permission_denied", "scope": "root"})
        error = error_of(await hand.request("_fail", {"how": "own"}))
        assert error == {"code": -32099, "message": "Mine", "data": [1]}
        await hand.notify("_fail", {})
        assert await hand.is_alive()
    assert "the secret" in caplog.text


class Panic(BaseException):
    """An exception beside `Exception`."""


@rows("error", [Panic("secret"), SystemExit(3)])
async def test_an_extension_that_raises_beside_exception_is_answered_and_others_too(
    error: BaseException,
) -> None:
    agent = agent_of(nothing)
    taken: list[Any] = []

    @agent.request("_fail")
    async def fail(_: Extension) -> None:
        raise error

    @agent.request("_fail_in_thread")
    def fail_in_thread(_: Any) -> None:
        raise error

    @agent.notification("_fall")
    async def fall(call: Extension) -> None:
        taken.append(call.params)
        raise error

    @agent.notification("_fall_at_once")
    def fall_at_once(call: Extension) -> None:
        taken.append(call.params)
        raise error

    async with served(agent) as hand:
        for _ in range(2):
            assert (await hand.request("_fail"))["error"]["code"] == -32603
            assert (await hand.request("_fail_in_thread"))["error"]["code"] == -32603
        for name in ("_fall", "_fall_at_once"):
            for number in range(8):
                await hand.notify(name, {"number": number})
        assert await hand.drain() == []
    assert taken == [{"number": number} for _ in range(2) for number in range(8)]


@IN_EVERY_EDITION
async def test_what_a_file_says_of_itself_answers_an_extension(edition: str, tmp_path: Path) -> None:
    agent = agent_of(nothing)

    @agent.request("_read")
    async def read(call: Extension) -> str:
        assert call.session is not None
        return await call.session.files.read(call.params["path"])

    async with served(agent, edition) as hand:
        session = await hand.new_session(str(tmp_path))
        (tmp_path / "a.txt").write_text("there")
        ask = {"sessionId": session, "path": str(tmp_path / "a.txt")}
        assert (await hand.request("_read", ask))["result"] == "there"
        error = error_of(await hand.request("_read", {**ask, "path": str(tmp_path / "b.txt")}))
        assert error["code"] == -32002
        assert error["message"][0].isupper()
        error = error_of(await hand.request("_read", {**ask, "path": "/etc/passwd"}))
        assert error["code"] == -32602


@IN_EVERY_EDITION
async def test_a_prompt_behind_a_slow_notification_has_its_place_and_its_answer(edition: str) -> None:
    """Notifications of a session are handled in order, and its requests behind them; prompts begin at once."""
    go = asyncio.Event()
    order: list[str] = []

    async def work(turn: Turn) -> None:
        order.append(turn.text)
        await turn.say("done")

    agent = agent_of(work)

    @agent.notification("_slow")
    async def slow(_: Extension) -> None:
        await go.wait()

    async with served(agent, edition) as hand:
        session = await hand.new_session()
        await hand.notify("_slow", {"sessionId": session})
        closing = await hand.ask("session/close", {"sessionId": session})
        prompt = await hand.prompt(session, "first")
        await hand.said("done")
        go.set()
        assert (await hand.answer_to(closing))["result"] == {}
        assert "result" in await hand.answer_to(prompt)
        # And one that was read before its session was open.
        go.clear()
        await hand.notify("_slow", {"sessionId": session})
        opening = await hand.ask(*reopening(hand, session, replay=False))
        prompt = await hand.prompt(session, "second")
        go.set()
        assert "result" in await hand.answer_to(opening)
        assert (await hand.ended(prompt)).stop_reason == "end_turn"
    assert order == ["first", "second"]


@IN_EVERY_EDITION
async def test_an_agent_calls_and_tells_its_client_beside_the_protocol(edition: str) -> None:
    async def call(turn: Turn) -> None:
        await turn.client.notify("_progress", {"percent": 50})
        answer = await turn.client.request("_editor/selection", {"sessionId": turn.session.id})
        await turn.say(answer["text"])
        with pytest.raises(RequestError) as refused:
            await turn.client.request("_editor/nothing")
        assert refused.value.code == -32601

    async with served(agent_of(call), edition) as hand:
        hand.answers["_editor/selection"] = lambda params: {"text": f"selected in {params['sessionId']}"}
        hand.answers["_editor/nothing"] = lambda _: {"error": {"code": -32601, "message": "No"}}
        session = await hand.new_session()
        heard = await hand.turn(session)
        assert heard.stop_reason == "end_turn"
        assert heard.text == f"selected in {session}"
        (told,) = [each for each in heard.messages if each.get("method") == "_progress"]
        assert told["params"] == {"percent": 50}


@pytest.mark.rotated("edition")
@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_request_of_a_turn_comes_behind_what_was_said_before_it(edition: str, tmp_path: Path) -> None:
    async def call(turn: Turn) -> None:
        await turn.say("first")
        await turn.request("_editor/selection")

    # What was said is committed first, which takes time.
    store = SqliteStore(tmp_path / "sessions.db")
    async with served(agent_of(call, store=store), edition) as hand:
        hand.answers["_editor/selection"] = lambda _: {}
        heard = await hand.turn(await hand.new_session())
    await store.close()
    (asked,) = heard.requests("_editor/selection")
    (said,) = [each for each in heard.messages if "first" in str(each)]
    assert heard.messages.index(said) < heard.messages.index(asked)


async def test_the_name_of_an_extension_begins_with_an_underscore() -> None:
    agent = Agent("tested", store=None)
    with pytest.raises(LocalProtocolError, match="underscore"):
        agent.request("plain")
    with pytest.raises(LocalProtocolError, match="underscore"):
        agent.notification("plain")

    async def call(turn: Turn) -> None:
        for attempt in (turn.client.request, turn.client.notify):
            with pytest.raises(LocalProtocolError, match="underscore"):
                await attempt("plain")

    async with served(agent_of(call)) as hand:
        assert (await hand.turn(await hand.new_session())).stop_reason == "end_turn"


@IN_EVERY_EDITION
async def test_the_metadata_of_a_prompt_and_its_trace_reach_the_author(edition: str) -> None:
    seen: list[tuple[dict[str, Any], dict[str, str]]] = []

    async def look(turn: Turn) -> None:
        seen.append((turn.meta, turn.trace))

    async with served(agent_of(look), edition) as hand:
        session = await hand.new_session()
        await hand.turn(session, "hello", _meta={**TRACE, "example.org/x": [1]})
        await hand.turn(session, "hello")
        await hand.turn(session, "hello", _meta={"traceparent": 7})
    assert seen == [({**TRACE, "example.org/x": [1]}, TRACE), ({}, {}), ({"traceparent": 7}, {})]


@IN_EVERY_EDITION
async def test_the_metadata_of_an_extension_is_part_of_its_params(edition: str) -> None:
    agent = Agent("tested", store=MemoryStore())
    agent.prompt(nothing)
    agent.request("_meta_back")(lambda call: call.params["_meta"])
    async with served(agent, edition) as hand:
        assert (await hand.request("_meta_back", {"_meta": TRACE}))["result"] == TRACE
