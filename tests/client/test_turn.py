"""A turn and a session beside the events: the answer, the metadata of a prompt, deleting a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import accord
from tests.client.programs import RawAgent

WISHES: dict[str, Any] = {"v1": "1", "v2_june": "2-june", "v2": "2"}
IN_EVERY_EDITION = pytest.mark.parametrize("edition", WISHES)


# --- the answer


@IN_EVERY_EDITION
async def test_the_answer_is_the_last_whole_message_and_the_text_is_all_of_them(tmp_path: Path, edition: str) -> None:
    raw = RawAgent(tmp_path, edition=edition)
    async with accord.connect(*raw.argv, edition=WISHES[edition]) as agent:
        session = await agent.new_session(tmp_path)
        turn = await session.prompt("look")

    assert turn.text == "you said lookfound it"
    assert turn.answer == "found it"


@pytest.mark.rotated("edition")
@IN_EVERY_EDITION
async def test_each_turn_has_an_answer_of_its_own(tmp_path: Path, edition: str) -> None:
    raw = RawAgent(tmp_path, edition=edition)
    async with accord.connect(*raw.argv, edition=WISHES[edition]) as agent:
        session = await agent.new_session(tmp_path)
        first = await session.prompt("one")
        second = await session.prompt("two")

    assert (first.answer, second.answer) == ("you said one", "you said two")


@pytest.mark.rotated("edition")
@IN_EVERY_EDITION
async def test_a_turn_that_was_not_sent_has_no_answer(tmp_path: Path, edition: str) -> None:
    raw = RawAgent(tmp_path, edition=edition)
    async with accord.connect(*raw.argv, edition=WISHES[edition]) as agent:
        session = await agent.new_session(tmp_path)
        turn = session.prompt("hello")

        assert (turn.answer, turn.text) == ("", "")


@pytest.mark.rotated("edition")
@IN_EVERY_EDITION
def test_a_blocking_reply_has_the_answer_too(tmp_path: Path, edition: str) -> None:
    raw = RawAgent(tmp_path, edition=edition)
    with accord.open(*raw.argv, edition=WISHES[edition], cwd=tmp_path) as session:
        reply = session.prompt("look")

    assert (reply.text, reply.answer) == ("you said lookfound it", "found it")


# --- the metadata of a prompt


@IN_EVERY_EDITION
async def test_the_meta_of_a_prompt_is_that_of_its_request(tmp_path: Path, edition: str) -> None:
    meta = {"traceparent": "00-1-2-01", "editor": {"line": 3}}
    raw = RawAgent(tmp_path, edition=edition)
    async with accord.connect(*raw.argv, edition=WISHES[edition]) as agent:
        session = await agent.new_session(tmp_path)
        turn = await session.prompt("with", meta=meta)
        await session.prompt("without")

    assert turn.meta == meta
    assert [params.get("_meta") for params in raw.received("session/prompt")] == [meta, None]


@pytest.mark.rotated("edition")
@IN_EVERY_EDITION
def test_a_blocking_prompt_takes_meta_too(tmp_path: Path, edition: str) -> None:
    raw = RawAgent(tmp_path, edition=edition)
    with accord.open(*raw.argv, edition=WISHES[edition], cwd=tmp_path) as session:
        session.prompt("with", meta={"key": "value"})

    assert [params.get("_meta") for params in raw.received("session/prompt")] == [{"key": "value"}]


# --- forgetting a session


@IN_EVERY_EDITION
async def test_a_session_that_is_not_open_is_deleted_by_its_id(tmp_path: Path, edition: str) -> None:
    raw = RawAgent(tmp_path, edition=edition, session=["delete"])
    async with accord.connect(*raw.argv, edition=WISHES[edition]) as agent:
        await agent.delete_session("from-yesterday")

    assert [params["sessionId"] for params in raw.received("session/delete")] == ["from-yesterday"]
    assert raw.received("session/new") == []


@pytest.mark.rotated("edition")
@IN_EVERY_EDITION
async def test_an_agent_that_cannot_delete_is_not_asked_to(tmp_path: Path, edition: str) -> None:
    raw = RawAgent(tmp_path, edition=edition)
    async with accord.connect(*raw.argv, edition=WISHES[edition]) as agent:
        with pytest.raises(accord.LocalProtocolError):
            await agent.delete_session("from-yesterday")

    assert raw.received("session/delete") == []


@pytest.mark.rotated("edition")
@IN_EVERY_EDITION
async def test_a_refusal_to_delete_is_raised(tmp_path: Path, edition: str) -> None:
    raw = RawAgent(tmp_path, edition=edition, session=["delete"])
    async with accord.connect(*raw.argv, edition=WISHES[edition]) as agent:
        with pytest.raises(accord.MethodNotFound):
            await agent.delete_session("unserved")


# --- a cancel


async def test_a_turn_that_is_cancelled_before_it_is_sent_is_not_sent(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path)
    async with accord.connect(*raw.argv) as agent:
        session = await agent.new_session(tmp_path)
        turn = session.prompt("hello")
        turn.cancel()

        assert (await turn).stop_reason == "cancelled"

    assert raw.prompts() == []
