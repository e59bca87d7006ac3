from __future__ import annotations

from accord.protocol.model import Unknown
from accord.session.option import MADE_FROM, Choice, ConfigOption, Select, Toggle, mode_option, with_made, with_mode

MODE = Select("m", "Mode", "ask", [Choice("ask", "Ask"), Choice("code", "Code")], category="mode")
OTHERS: list[ConfigOption] = [Toggle("t", "T", value=True), Unknown("_x", {"type": "_x"}), Select("s", "S", "a")]


def test_the_option_with_the_category_mode_stands_for_the_mode() -> None:
    assert mode_option([*OTHERS, MODE]) is MODE
    assert mode_option(OTHERS) is None


def test_another_mode_changes_that_option_alone() -> None:
    changed = with_mode([*OTHERS, MODE], "code")
    assert changed is not None
    assert changed[:-1] == OTHERS
    assert mode_option(changed) == Select("m", "Mode", "code", MODE.choices, category="mode")
    assert MODE.value == "ask"


def test_nothing_changes_without_such_an_option_or_without_another_mode() -> None:
    assert with_mode(OTHERS, "code") is None
    assert with_mode([MODE], "ask") is None


MADE = Select("mode", "Mode", "ask", MODE.choices, category="mode", meta={MADE_FROM: "modes"})


def test_an_option_that_was_made_stays_among_new_ones() -> None:
    assert with_made(OTHERS, [MADE, Select("old", "Old", "a")]) == [*OTHERS, MADE]


def test_an_option_that_was_made_goes_when_the_agent_tells_its_own() -> None:
    named = Toggle("mode", "Mode", value=True)
    assert with_made([MODE], [MADE]) == [MODE]
    assert with_made([named], [MADE]) == [named]
    assert with_made([MADE], [MADE]) == [MADE]
