"""Answers that are not what they look like: names, kinds and ids of options that contradict each other.

After each question the agent writes the file that it asked about, whatever was answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.hostile.hand import Hand
from tests.hostile.registry import trick

Option = dict[str, str]


def option(id_: str, name: str, kind: str) -> Option:
    return {"optionId": id_, "name": name, "kind": kind}


def offers(*options: Option, allowing: Sequence[str] = ()) -> Callable[[Hand], object]:
    def play(hand: Hand) -> None:
        call = {"kind": "edit", "title": "edit", "locations": [{"path": f"{hand.cwd}/a.txt"}]}
        ids = [each["optionId"] for each in options if each["kind"].startswith("allow")]
        hand.permission(call, list(options), allowing=allowing or ids)
        hand.write("a.txt")

    return play


REFUSED: dict[str, Any] = {"status": 0}
ON_SCREEN: dict[str, Any] = {"status": 0, "chat": True}
NO = option("n", "No", "reject_once")

trick(
    "option-no-allows",
    "has an answer that allows under the name No",
    offers(option("x", "No", "allow_once")),
    answers=("y", "n"),
    **ON_SCREEN,
)
trick(
    "option-no-typed",
    "has an answer that allows under the name No, which is typed",
    offers(option("x", "No", "allow_once")),
    answers=("no", "n"),
    **REFUSED,
)
trick(
    "option-never-allows",
    "has an answer that allows always under the name Never",
    offers(option("x", "Never", "allow_always"), NO),
    answers=("a", "n"),
    **REFUSED,
)
trick(
    "option-wide-no",
    "has an answer that allows under the name No in wide letters",
    offers(option("x", "\uff2e\uff4f", "allow_once"), NO),
    answers=("y", "n"),
    **REFUSED,
)
trick(
    "option-split-no",
    "has an answer that allows under the name No with something invisible in it",
    offers(option("x", "N\u200bo\u202e", "allow_once"), NO),
    answers=("y", "n"),
    **ON_SCREEN,
)
trick(
    "option-yes-rejects",
    "has an answer that rejects under the name Yes",
    offers(option("r", "Yes", "reject_once")),
    answers=("n", "n"),
    **REFUSED,
)
trick(
    "option-id-no",
    "has an answer that allows with the id no",
    offers(option("no", "Go on", "allow_once"), option("yes", "Stop", "reject_once")),
    answers=("no", "n"),
    **ON_SCREEN,
)
trick(
    "option-id-n",
    "has an answer that allows with the id n, and none that rejects",
    offers(option("n", "Go on", "allow_once")),
    answers=("n", "n"),
    **REFUSED,
)
trick(
    "option-id-deny",
    "has an answer that allows with the id deny",
    offers(option("deny", "Go on", "allow_always"), option("x", "Leave it", "reject_once")),
    answers=("deny", "n"),
    **REFUSED,
)
trick(
    "option-one-id",
    "has two answers with one id, and no is meant",
    offers(option("x", "Yes", "allow_once"), option("x", "No", "reject_once")),
    answers=("n", "n"),
    **ON_SCREEN,
)
trick(
    "option-one-id-yes",
    "has two answers with one id, and yes is meant",
    offers(option("x", "Yes", "allow_once"), option("x", "No", "reject_once")),
    answers=("y", "n"),
    **REFUSED,
)
trick(
    "option-empty-ids",
    "has answers with empty ids",
    offers(option("", "Yes", "allow_once"), option("", "No", "reject_once")),
    answers=("y", "n"),
    **REFUSED,
)
trick(
    "option-unknown-kind",
    "has an answer of a kind that nobody knows, where a rule allows",
    offers(option("x", "Yes", "allow_forever_QZ\x1b[35mQZ")),
    rules=("allow edit",),
    status=0,
    granted=("write",),
    changes=("a.txt",),
)
trick(
    "option-only-rejects",
    "has only answers that reject, where a rule allows",
    offers(NO),
    rules=("allow execute",),
    status=5,
)
trick("option-none", "has no answers", offers(), answers=("n",), **ON_SCREEN)
trick(
    "option-many",
    "has a thousand answers",
    offers(*(option(f"o{n}", f"Answer {n}", "allow_once") for n in range(999)), NO),
    answers=("n", "n"),
    **ON_SCREEN,
)
trick(
    "option-poisoned",
    "has answers that would rewrite the screen",
    offers(
        option("y\x1b[2J", "QZ\x1b]777;QZ\x07\u202eseY\u2066QZ", "allow_once"),
        option("n", "\x9bQZ\U000e0041No\r", "reject_once"),
    ),
    answers=("n", "n"),
    **ON_SCREEN,
)
trick(
    "option-long",
    "has an answer of a hundred thousand letters",
    offers(option("y", "Yes " + "x" * 100_000, "allow_once"), NO),
    answers=("n", "n"),
    **ON_SCREEN,
)
trick(
    "option-key-taken",
    "has answers whose ids are the keys of others",
    offers(option("n", "Sure", "allow_once"), option("y", "Leave it", "reject_once")),
    answers=("n", "n"),
    **REFUSED,
)
trick(
    "option-number",
    "has an answer that allows with the number of another as its id",
    offers(option("2", "Sure", "allow_once"), option("z", "Leave it", "reject_once"), option("1", "Later", "unknown")),
    answers=("n", "n"),
    **REFUSED,
)


@trick(
    "option-half",
    "has answers that are half characters, and none of what answers are",
    answers=("n",),
    library_questions=1,
    status=0,
)
def _(hand: Hand) -> None:
    hand.permission(
        {"kind": "edit"},
        [
            {"optionId": "\ud800", "name": "\udc00Yes", "kind": "allow_once"},
            {"optionId": "n", "name": "No", "kind": "reject_once"},
        ],
        allowing=("\ud800",),
    )


@trick("option-broken", "has answers that are no objects", answers=(), status=0)
def _(hand: Hand) -> None:
    hand.permission({"kind": "edit"}, ["yes", 7, None, {"optionId": "yes"}])
