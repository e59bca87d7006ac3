"""The tokens of a turn, as bare agents report them: at the end of the turn, wherever the edition says that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import accord
from tests.client.programs import RawAgent

WISHES: dict[str, Any] = {"v1": "1", "v2_june": "2-june", "v2": "2"}
IN_EVERY_EDITION = pytest.mark.parametrize("edition", WISHES)
IN_EDITIONS_WITH_A_PLACE = pytest.mark.parametrize("edition", ["v1", "v2"])

ALL = {
    "totalTokens": 160,
    "inputTokens": 100,
    "outputTokens": 50,
    "thoughtTokens": 10,
    "cachedReadTokens": 40,
    "cachedWriteTokens": 5,
}
HEARD = accord.TokenUsage(100, 50, 160, 10, 40, 5)


async def turn_of(raw: RawAgent, edition: str, folder: Path) -> tuple[accord.client.Turn, accord.client.Session]:
    async with accord.connect(*raw.argv, edition=WISHES[edition]) as agent:
        session = await agent.new_session(folder)
        return await session.prompt("hello"), session


@IN_EDITIONS_WITH_A_PLACE
async def test_the_usage_that_an_agent_reports_is_the_turns(tmp_path: Path, edition: str) -> None:
    raw = RawAgent(tmp_path, edition=edition, end={"usage": ALL})
    turn, session = await turn_of(raw, edition, tmp_path)

    assert turn.token_usage == HEARD
    assert [span.token_usage for span in session.transcript.turns] == [HEARD]


@IN_EVERY_EDITION
async def test_an_original_of_the_usage_is_taken_back_from_the_meta(tmp_path: Path, edition: str) -> None:
    original = {"token_usage": {"input_tokens": 100, "output_tokens": 50, "total_tokens": 160}}
    raw = RawAgent(tmp_path, edition=edition, end={"_meta": {"accord/original": original}})
    turn, _ = await turn_of(raw, edition, tmp_path)

    assert turn.token_usage == accord.TokenUsage(100, 50, 160)
    assert turn.stop_reason == "end_turn"


@IN_EVERY_EDITION
async def test_a_turn_without_a_report_has_no_usage(tmp_path: Path, edition: str) -> None:
    turn, session = await turn_of(RawAgent(tmp_path, edition=edition), edition, tmp_path)

    assert turn.token_usage is None
    assert [span.token_usage for span in session.transcript.turns] == [None]


@pytest.mark.rotated("edition")
@IN_EDITIONS_WITH_A_PLACE
@pytest.mark.parametrize("broken", [None, "many", {"inputTokens": 1}, {**ALL, "totalTokens": -1}])
async def test_a_usage_that_cannot_be_read_does_not_harm_the_turn(tmp_path: Path, edition: str, broken: Any) -> None:
    raw = RawAgent(tmp_path, edition=edition, end={"usage": broken})
    turn, _ = await turn_of(raw, edition, tmp_path)

    assert (turn.stop_reason, turn.token_usage) == ("end_turn", None)


@IN_EDITIONS_WITH_A_PLACE
async def test_a_count_that_cannot_be_read_is_not_reported_and_the_others_are(tmp_path: Path, edition: str) -> None:
    raw = RawAgent(tmp_path, edition=edition, end={"usage": {**ALL, "thoughtTokens": "some", "cachedReadTokens": None}})
    turn, _ = await turn_of(raw, edition, tmp_path)

    assert turn.token_usage == accord.TokenUsage(100, 50, 160, None, None, 5)


async def test_a_turn_that_failed_has_the_usage_that_its_last_state_tells(tmp_path: Path) -> None:
    raw = RawAgent(
        tmp_path,
        edition="v2",
        end={"stopReason": "error", "error": {"code": -32603, "message": "no"}, "usage": ALL},
    )
    async with accord.connect(*raw.argv, edition="2") as agent:
        session = await agent.new_session(tmp_path)
        turn = session.prompt("hello")
        with pytest.raises(accord.RequestError):
            await turn

    assert turn.token_usage == HEARD


@pytest.mark.rotated("edition")
@IN_EDITIONS_WITH_A_PLACE
def test_a_blocking_client_has_it_with_the_reply(tmp_path: Path, edition: str) -> None:
    raw = RawAgent(tmp_path, edition=edition, end={"usage": ALL})
    with accord.open(*raw.argv, edition=WISHES[edition], cwd=tmp_path) as session:
        assert session.prompt("hello").token_usage == HEARD
