"""Ids of sessions as they are shown and typed, and new names that look like one."""

from __future__ import annotations

import pytest

from accord.cli.session_index import short_id
from tests.cli.command import Accord, scripted


@pytest.mark.parametrize(
    ("session_id", "known", "short"),
    [
        ("session-0123456789", [], "01234567"),
        ("session-0123456789", ["session-0123456789"], "01234567"),
        ("session-0123456789", ["session-0123456xyz", "other"], "01234567"),
        ("session-0123456789", ["session-01234567xy"], "012345678"),
        ("session-0123456789", ["012345678x"], "0123456789"),
        ("session-0123456789", ["ses_012345678x"], "0123456789"),
        ("0123456789", ["session-0123456789"], "0123456789"),
        ("session-0123456789", ["session-0123456789abc"], "session-0123456789"),
        ("s1", [], "s1"),
    ],
)
def test_a_short_id_is_as_long_as_it_takes_to_be_unique(session_id: str, known: list[str], short: str) -> None:
    assert short_id(session_id, known) == short


def _run(accord: Accord, session_id: str, *words: str) -> str:
    (accord.cwd / "id").write_text(session_id, encoding="utf-8")
    result = accord("run", "x", *words, *scripted("has_id"))
    assert result.status == 0, result.stderr
    return result.stdout.splitlines()[0]


def test_the_id_that_is_shown_finds_its_session(accord: Accord) -> None:
    assert _run(accord, "0f9c2d1e-aaaa").endswith("session 0f9c2d1e")
    assert _run(accord, "0f9c2d1e-bbbb").endswith("session 0f9c2d1e-b")
    again = accord("run", "x", "-s", "0f9c2d1e-b", "-o", "events", *scripted("has_id")).of_type("start")[0]
    assert (again["session"], again["resumed"]) == ("0f9c2d1e-bbbb", True)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["0f9c2d1f", "0f9c2d1e-x", "0f9c2d1e-aaaabb"])
def test_a_new_name_that_looks_like_a_known_id_is_questioned(accord: Accord, name: str) -> None:
    _run(accord, "0f9c2d1e-aaaa")
    result = accord("run", "x", "-s", name, *scripted("has_id"))
    assert result.status == 4
    assert "looks like the session 0f9c2d1e-aaaa" in result.stderr
    assert "-s 0f9c2d1e" in result.stderr


def test_the_id_of_another_agent_s_session_is_questioned(accord: Accord) -> None:
    _run(accord, "0f9c2d1e-aaaa")
    assert accord("run", "demo", "list", "-s", "0f9c2d1e").status == 4


def test_a_name_of_its_own_begins_a_session_unasked(accord: Accord) -> None:
    _run(accord, "0f9c2d1e-aaaa")
    assert _run(accord, "1f9c2d1e-aaaa", "-s", "0f-notes").endswith("0f-notes")


@pytest.mark.parametrize(("answer", "status"), [("y\n", 0), ("n\n", 4)])
def test_at_a_terminal_the_user_says_whether_it_is_a_new_name(accord: Accord, answer: str, status: int) -> None:
    pytest.importorskip("termios")
    _run(accord, "0f9c2d1e-aaaa")
    (accord.cwd / "id").write_text("77777777", encoding="utf-8")
    with accord.terminal("run", "x", "-s", "0f9c2d1f", *scripted("has_id"), NO_COLOR="1") as screen:
        screen.expect("begin a new one of that name?  [y] yes  [n] no > ")
        screen.type(answer)
        assert screen.status() == status


def test_a_chat_questions_it_before_the_screen_opens(accord: Accord) -> None:
    pytest.importorskip("termios")
    pytest.importorskip("textual")
    _run(accord, "0f9c2d1e-aaaa")
    with accord.terminal("chat", "-s", "0f9c2d1f", *scripted("has_id"), NO_COLOR="1") as screen:
        screen.expect("begin a new one of that name?  [y] yes  [n] no > ")
        screen.type("n\n")
        assert screen.status() == 4
