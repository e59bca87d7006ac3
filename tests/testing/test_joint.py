"""`join` is `connect` with a test's defaults: prepared answers, a recorder, and an end that tells what went wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import accord
from accord.client import FormQuestion, PermissionQuestion
from accord.testing import TEST_DEADLINES, Answers, Recorder, UnexpectedQuestion, join


def asking(times: int = 1) -> accord.Agent:
    agent = accord.Agent("asking", store=None)

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        for number in range(times):
            permission = await turn.request_permission(f"Question {number}?")
            await turn.say(f"{permission.option_id} ")

    return agent


def test_the_deadlines_are_those_of_a_test() -> None:
    assert None not in {
        TEST_DEADLINES.start_seconds,
        TEST_DEADLINES.first_seconds,
        TEST_DEADLINES.idle_seconds,
        TEST_DEADLINES.turn_seconds,
    }


async def test_answers_are_given_in_their_order_and_the_questions_kept() -> None:
    answers = Answers("allow", lambda question: question.reject())

    async with join(asking(2), permission=answers) as remote:
        turn = await (await remote.new_session()).prompt("go")

    assert turn.text.split() == ["allow", "reject"]
    assert answers.titles == ["Question 0?", "Question 1?"]
    assert answers.left == 0


async def test_a_question_without_an_answer_is_dismissed_and_told_at_the_end() -> None:
    texts: list[str] = []
    with pytest.raises(UnexpectedQuestion) as caught:
        async with join(asking(2), permission=["allow"]) as remote:
            texts.append((await (await remote.new_session()).prompt("go")).text)

    assert texts == ["allow None "]
    assert [getattr(question, "title", None) for question in caught.value.questions] == ["Question 1?"]


async def test_a_callback_stays_a_callback() -> None:
    async def allow(question: PermissionQuestion) -> bool:
        return question.title == "Question 0?"

    async with join(asking(), permission=allow) as remote:
        assert (await (await remote.new_session()).prompt("go")).text == "allow "


async def test_an_answer_may_be_an_exception() -> None:
    with pytest.raises(accord.AccordError):
        async with join(asking(), permission=[ValueError("no idea")]) as remote:
            await (await remote.new_session()).prompt("go")


async def test_forms_are_answered_from_a_series_too() -> None:
    agent = accord.Agent("asking", store=None)

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        answer = await turn.elicit("Where?", {"city": {"type": "string"}})
        await turn.say(str(answer.content))

    answers = Answers({"city": "Ghent"})
    async with join(agent, elicit=answers) as remote:
        turn = await (await remote.new_session()).prompt("go")

    assert turn.text == "{'city': 'Ghent'}"
    assert isinstance(answers.questions[0], FormQuestion)
    assert answers.titles == ["Where?"]


async def test_a_recorder_sees_both_directions_beside_other_observers() -> None:
    recorder, seen = Recorder(), list[Any]()

    async with join(asking(0), recorder=recorder, observers=[lambda way, _: seen.append(way)]) as remote:
        await (await remote.new_session()).prompt("go")

    assert recorder.methods("out") == ["initialize", "session/new", "session/prompt"]
    assert len(seen) == len(recorder)


async def test_the_default_store_is_closed_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    agent = accord.Agent("keeping")
    agent.prompt(lambda turn: turn.say("kept"))

    for _ in range(2):
        async with join(agent) as remote:
            await (await remote.new_session()).prompt("go")
        assert agent._store is None
    assert (tmp_path / "accord" / "keeping" / "sessions.db").exists()


async def test_what_the_test_raises_is_what_it_raises() -> None:
    with pytest.raises(ZeroDivisionError):
        async with join(asking(), permission=["allow"]):
            _ = 1 // 0
