from __future__ import annotations

from accord.session.option import PermissionOption
from accord.session.refusal import means_no
from tests.tables import rows

# ruff: noqa: RUF001 - letters that look alike are the topic


@rows(
    "text",
    [
        "No", "n", "NO!", "Nope", "Reject", "I reject", "Deny", "Don't", "Don\u2019t allow", "Do not allow", "Not now",
        "Never", "Rather not", "Yes? No", "No, and tell the agent what to do differently", "Cancel", "Skip",
        "Re\u200bject", "N\u0301o", "\u202eNo", "Nо", "Νο", "Ｎｏ", "Dеny", "rejесt", "𝐍𝐨",
        "Nein", "Non", "нет", "いいえ", "不允许", "拒绝", "거부", "❌ stop", "Hayır",
    ],
)  # fmt: skip
def test_a_refusal_is_recognised_however_it_is_spelt(text: str) -> None:
    assert means_no(text)
    assert PermissionOption("x", text, "allow_once").consent == "unknown"


@rows(
    "text",
    [
        "Yes", "Allow once", "Always allow", "Yes, and don't ask again", "Don't ask again for this session",
        "Allow, never ask again", "Just this once", "From now on", "Proceed", "OK", "Run without sandbox",
        "Notify me", "Note it", "Node test", "да", "Ja", "はい", "允许", "",
    ],
)  # fmt: skip
def test_what_allows_is_no_refusal(text: str) -> None:
    assert not means_no(text)
    assert PermissionOption("x", text, "allow_once").consent == "allow"
