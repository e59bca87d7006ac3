"""The permission dialog: the mark before an answer."""

from __future__ import annotations

import pytest

from accord.cli.chat.dialogs.permission import _answer
from accord.session.custom import Custom
from accord.session.option import PermissionOption


@pytest.mark.parametrize(
    ("kind", "mark"),
    [
        ("allow_once", "✓"),
        ("allow_always", "✓"),
        ("reject_once", "✗"),
        ("reject_always", "✗"),
        # v2 has further kinds: what they mean is not known, however they begin.
        ("reject_nothing", "·"),
        ("allow_less", "·"),
        ("_other", "·"),
    ],
)
def test_an_answer_of_an_unknown_kind_is_marked_neither_as_allowing_nor_as_rejecting(kind: str, mark: str) -> None:
    assert f"{mark} Go on" in str(_answer(0, PermissionOption("o", "Go on", Custom(kind))).prompt)
