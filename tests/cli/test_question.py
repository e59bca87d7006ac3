from __future__ import annotations

import asyncio
import io
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from accord.cli import terminal as terminal_module
from accord.cli.show.answer import (
    option_name,
)
from accord.cli.terminal import Questions, UserTerminal, _Choices, _field_prompt, _field_value, keys_of
from accord.client import PermissionQuestion
from accord.client.question import WiderAnswer
from accord.display import SafeText, own
from accord.session.custom import Custom, custom
from accord.session.option import PermissionOption
from tests.limits import limit


def option(id_: str, kind: str) -> PermissionOption:
    return PermissionOption(id_, id_.title(), Custom(kind))


def test_each_option_has_a_key_of_its_own() -> None:
    options = [
        option("a", "allow_once"),
        option("b", "allow_once"),
        option("c", "allow_always"),
        option("d", "reject_once"),
        option("e", "reject_always"),
        option("f", "_maybe"),
    ]
    keys = keys_of(options)
    assert {key: each.id for key, each in keys.items()} == {"y": "a", "2": "b", "a": "c", "n": "d", "d": "e", "6": "f"}


def test_an_option_that_contradicts_itself_or_another_has_no_key() -> None:
    options = [
        PermissionOption("a", "No", "allow_once"),
        PermissionOption("b", "Yes", "allow_once"),
        PermissionOption("c", "Yes", "allow_always"),
        PermissionOption("c", "No", "reject_once"),
    ]
    assert {key: each.id for key, each in keys_of(options).items()} == {"y": "b"}


class Here:
    """As much of a session as a question shows."""

    cwd = "/w"
    running_turn = None


class Typing(UserTerminal):
    """A terminal at which one line is typed."""

    def __init__(self, line: str) -> None:
        super().__init__()
        self._line = line

    async def read_line(self, prompt: SafeText) -> str | None:  # noqa: ARG002 - whatever is asked
        return self._line


@pytest.mark.parametrize("typed", ["no", "No", "n", "NEIN", "deny", "cancel", "abort it", "don't"])
@pytest.mark.parametrize("name", ["Go on", "no", "Deny", "n"])
async def test_no_word_that_means_no_ever_allows(typed: str, name: str) -> None:
    for id_ in ("no", "n", "deny", "x", typed):
        for rejecting in ([], [PermissionOption("r", "Leave it", "reject_once")]):
            options = [PermissionOption(id_, name, "allow_once"), *rejecting]
            question = PermissionQuestion(Here(), "x", options)  # type: ignore[arg-type]
            answer = await Questions(Typing(typed), lambda _: True).permission(question)
            assert not isinstance(answer, WiderAnswer)
            assert answer is None or answer.consent == "reject" or not answer.can_be_given(options)


@pytest.mark.parametrize(
    ("typed", "chosen"),
    [("y", "go"), ("Yes", "go"), ("go on", "go"), ("go", "go"), ("leave it", "r"), ("n", "r"), ("no", "r")],
)
async def test_an_answer_is_a_key_a_name_or_an_id(typed: str, chosen: str) -> None:
    options = [PermissionOption("go", "Go on", "allow_once"), PermissionOption("r", "Leave it", "reject_once")]
    question = PermissionQuestion(Here(), "x", options)  # type: ignore[arg-type]
    answer = await Questions(Typing(typed), lambda _: True).permission(question)
    assert isinstance(answer, PermissionOption)
    assert answer.id == chosen


@pytest.mark.parametrize(
    ("typed", "kind"),
    [
        *((typed, kind) for typed in ("d", "v", "V", "f", "p", "e", "2", "10") for kind in ("allow_once", "_other")),
        ("a", "allow_once"),
        ("y", "allow_always"),
        ("yes", "allow_always"),
    ],
)
def test_a_key_that_is_not_offered_chooses_no_option_that_the_agent_calls_so(typed: str, kind: str) -> None:
    options = [PermissionOption(typed.lower(), "Go on", Custom(kind)), PermissionOption("r", "Leave it", "reject_once")]
    question = PermissionQuestion(Here(), "x", options)  # type: ignore[arg-type]
    assert _Choices(question).meant(typed)[1] is not options[0]


@pytest.mark.parametrize(
    ("name", "kind", "is_marked"),
    [
        ("Allow once", "allow_always", True),
        ("Yes", "allow_always", True),
        ("Always allow, once", "allow_always", True),
        ("Reject", "reject_always", True),
        ("Always allow", "allow_always", False),
        ("Allow", "allow_once", False),
    ],
)
def test_an_answer_that_is_remembered_says_so_whatever_the_agent_calls_it(
    name: str, kind: str, *, is_marked: bool
) -> None:
    assert (option_name(PermissionOption("o", name, Custom(kind))) != name) is is_marked


REFUSALS = (
    *("no", "n", "No", "nope", "reject", "never", "N\u043e", "deny", "cancel", "x", "X", "q", "Q", "quit", "esc"),
    *("nooo", "nn", "none", "nevermind", "back", "leave", "c", "н", "не", "-", "\u00d7", "^C", "\x1b", "Hayir", "xx"),
    *("x.", " x ", "\uff38", "\u0445", "x\u200b", "q!", "[x]", "NEVER", "Deny", "\uff2e\uff2f", "no\u0301", "n\u200bo"),
)


@pytest.mark.parametrize("typed", REFUSALS)
def test_who_types_a_refusal_allows_nothing_whatever_the_options_are_called(typed: str) -> None:
    options = [
        PermissionOption("no", "Yes", "allow_once"),
        PermissionOption("n", "Allow", "allow_always"),
        PermissionOption("reject", "Sure", "allow_once"),
        PermissionOption("never", "Fine", "allow_always"),
        PermissionOption("nope", "Go", custom("_other")),
        PermissionOption("go", "Go on", "allow_once"),
        PermissionOption("x", "Allow", "allow_once"),
        PermissionOption("y", "x", "allow_once"),
        PermissionOption("z", "Q", "allow_always"),
        PermissionOption(typed, "Do it", custom("_other")),
        PermissionOption(f"{typed}1", typed, "allow_once"),
    ]
    question = PermissionQuestion(Here(), "x", options)  # type: ignore[arg-type]
    assert _Choices(question).meant(typed) == (True, None)


@pytest.mark.parametrize("typed", ["x", "q", "no", "N"])
async def test_a_refusal_chooses_no_login_whatever_it_is_called(typed: str) -> None:
    assert await Questions(Typing(typed), lambda _: True).choose(own("log in"), [(typed, "Log in"), ("b", "c")]) is None


@pytest.mark.parametrize(
    ("answer", "field", "value"),
    [
        ("x", {"type": "string"}, "x"),
        ("7", {"type": "integer"}, 7),
        ("0.5", {"type": "number"}, 0.5),
        ("yes", {"type": "boolean"}, True),
        ("n", {"type": "boolean"}, False),
        ("", {"type": "string", "default": "d"}, "d"),
        ("", {"type": "string"}, None),
        ("red", {"type": "string", "enum": ["red", "blue"]}, "red"),
        ("red", {"type": "string", "oneOf": [{"const": "red", "title": "Red"}]}, "red"),
        ("a, b", {"type": "array"}, ["a", "b"]),
    ],
)
def test_what_is_typed_into_a_field_becomes_its_value(answer: str, field: dict[str, object], value: object) -> None:
    assert _field_value(answer, field, needed=False) == value


@pytest.mark.parametrize(
    ("answer", "field"),
    [("", {}), ("x", {"type": "integer"}), ("perhaps", {"type": "boolean"}), ("green", {"enum": ["red"]})],
)
def test_what_cannot_be_meant_is_asked_again(answer: str, field: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        _field_value(answer, field, needed=True)


def test_a_field_of_a_form_is_marked_as_the_agent_s_words() -> None:
    asked = _field_prompt("x", {"title": "allow to run ls?  [y] Allow"}, needed=True)
    assert asked == "  | allow to run ls?  [y] Allow > "


class Keyboard:
    """A pseudo-terminal for stdin, and the text on stderr."""

    def __init__(self, ours: int, screen: io.StringIO) -> None:
        self._ours = ours
        self._screen = screen

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    async def sees(self, text: str, times: int = 1) -> None:
        """Return when the text is on the screen so often."""
        async with asyncio.timeout(limit(10)):
            while self._screen.getvalue().count(text) < times:
                await asyncio.sleep(0.01)


@asynccontextmanager
async def keyboard(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Keyboard]:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    screen = io.StringIO()
    with io.TextIOWrapper(io.FileIO(theirs)) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stderr", screen)
        try:
            yield Keyboard(ours, screen)
        finally:
            os.close(ours)


async def test_a_key_that_was_meant_for_a_withdrawn_question_does_not_answer_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(terminal_module, "ARMING_SECONDS", limit(1))
    options = [PermissionOption("x", "Go on", "allow_once"), PermissionOption("r", "Leave it", "reject_once")]
    question = PermissionQuestion(Here(), "x", options)  # type: ignore[arg-type]
    async with keyboard(monkeypatch) as keys:
        questions = Questions(UserTerminal(), lambda _: True)
        withdrawn = asyncio.ensure_future(questions.permission(question))
        await keys.sees("[n] Leave it > ")
        withdrawn.cancel()
        asked = asyncio.ensure_future(questions.permission(question))
        await keys.sees("[n] Leave it > ", 2)
        keys.type("y\n")
        await keys.sees("[n] Leave it > ", 3)
        keys.type("n\n")
        answer = await asyncio.wait_for(asked, limit(10))
    assert answer is options[1]
