"""Questions that an agent's code asks with any value: everything is shown, and only a plain yes consents."""

from __future__ import annotations

from typing import Any

import pytest

from accord.adapters import FrameworkRun
from accord.adapters.questions import is_yes, question_text, wants_consent

SQL = {"sql": "DROP TABLE users", "tables": ["users", "orders"]}
VALUES: list[Any] = [
    {"question": "Approve?", "details": SQL},
    {"message": "Approve?", "action": "DROP TABLE users", "also": {"deep": ["orders"]}},
    {"question": "", "details": SQL},
    {"question": None, "details": SQL},
    {"question": {"text": "Approve?"}, "details": SQL},
    {"details": SQL, "title": "Approve?", "instruction": "Look at it"},
    [{"action": SQL}, "orders"],
    ("DROP TABLE users", "orders"),
]


@pytest.mark.parametrize("value", VALUES)
def test_every_key_and_every_value_of_a_question_is_shown(value: Any) -> None:
    shown = question_text(value)
    assert "DROP TABLE users" in shown
    assert "orders" in shown
    if isinstance(value, dict):
        texts = [text for text in value.values() if isinstance(text, str)]
        assert [text for text in texts if text not in shown] == []
        assert [key for key, inner in value.items() if not isinstance(inner, str) and key not in shown] == []


def test_a_text_is_the_question_itself() -> None:
    assert question_text("Which city?") == "Which city?"
    assert question_text({"question": "Which city?"}) == "Which city?"


CONSENT: list[Any] = [
    "Do you approve this action?",
    {"question": "Do you want to proceed with this action?", "details": "…"},
    {"question": "Approve this action?", "details": SQL},
    {"question": "Run this?", "details": SQL},
    {"message": "Are you sure?"},
    "Shall I send it?",
]
OPEN: list[Any] = [
    "Which city?",
    "What is your age?",
    {"question": "Which table may I drop?", "details": SQL},
    {"instruction": "Review and edit this content", "content": "Dear Ada"},
    "Please confirm your address",
    {"number": 1},
    7,
    None,
]


def test_a_question_that_the_frameworks_examples_answer_by_a_boolean_wants_consent() -> None:
    assert [value for value in CONSENT if not wants_consent(value)] == []
    assert [value for value in OPEN if wants_consent(value)] == []


def test_only_a_plain_yes_consents() -> None:
    assert [answer for answer in ("yes", "Y", " Yes. ", "ok", "go ahead", "true", True) if not is_yes(answer)] == []
    refused: tuple[Any, ...] = (
        "no",
        "No.",
        "",
        "yes, but not the users",
        "yesterday",
        "nope",
        "false",
        "0",
        "null",
        False,
        None,
        1,
        {},
    )
    assert [answer for answer in refused if is_yes(answer)] == []


def test_a_prompt_that_answers_a_question_of_yes_or_no_is_a_boolean() -> None:
    schema = {"type": "boolean"}
    answers = {"yes": True, "true": True, "no": False, "false": False, "0": False, "null": False, '"yes"': False}
    assert {text: FrameworkRun.answer_of(text, schema) for text in answers} == answers
