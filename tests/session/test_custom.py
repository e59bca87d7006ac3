"""Values of one's own, and the check of values that an author writes."""

from __future__ import annotations

import pytest

from accord.session.custom import check_value, custom, known_values
from accord.session.event import PlanStatus, StopReason
from accord.session.option import OptionCategory, PermissionKind
from accord.session.tool import ToolKind, ToolStatus
from tests.tables import rows


def test_a_value_of_ones_own_is_the_text_itself() -> None:
    assert custom("_deploy") == "_deploy"


@rows("value", ["deploy", "", "_", "read"])
def test_a_value_of_ones_own_begins_with_an_underscore(value: str) -> None:
    with pytest.raises(ValueError, match="_"):
        custom(value)


@rows("kind", [ToolKind, ToolStatus, StopReason, PlanStatus, PermissionKind, OptionCategory])
def test_every_known_value_is_taken_and_one_beside_it_is_not(kind: object) -> None:
    known = known_values(kind)
    assert len(known) >= 3
    for value in known:
        check_value(value, known, "value")
        with pytest.raises(ValueError, match=f"did you mean '{value}'"):
            check_value(f"{value}s", known, "value")


@rows("value", ["", "hologram", 5, None])
def test_a_value_that_is_like_no_other_is_refused_without_a_guess(value: object) -> None:
    with pytest.raises(ValueError, match=r"One of read"):
        check_value(value, known_values(ToolKind), "kind")
