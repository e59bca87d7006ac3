"""The three policies take the options in simse's order."""

from __future__ import annotations

from typing import Any

from accord.client.question import PermissionAnswer, PermissionQuestion
from accord.config.permission import permission_for
from accord.session.option import PermissionOption
from tests.tables import rows


class Here:
    """As much of a session as a policy looks at."""

    cwd = "/"
    additional_directories: tuple[str, ...] = ()
    running_turn = True


HERE = Here()
ALL = ("reject_always", "reject_once", "allow_once", "allow_always")


def question(*kinds: str) -> PermissionQuestion:
    return PermissionQuestion(HERE, "Do it?", [PermissionOption(kind, kind, kind) for kind in kinds])  # type: ignore[arg-type]


async def chosen(policy: Any, asked: PermissionQuestion, on_question: Any = None) -> Any:
    answer = await permission_for(policy, on_question)(asked)
    return answer.id if isinstance(answer, PermissionOption) else answer


CHOICES = [
    ("auto-approve", ALL, "allow_always"),
    ("auto-approve", ("reject_once", "allow_once"), "allow_once"),
    ("auto-approve", ("other", "reject_once"), None),
    ("auto-approve", (), None),
    ("deny", ALL, "reject_once"),
    ("deny", ("allow_once", "reject_always"), "reject_always"),
    ("deny", ("allow_once",), None),
    ("prompt", ALL, "reject_once"),
    (None, ALL, "reject_once"),
]


@rows(("policy", "kinds", "expected"), CHOICES)
async def test_each_policy_takes_its_option(policy: Any, kinds: tuple[str, ...], expected: str | None) -> None:
    assert await chosen(policy, question(*kinds)) == expected


@rows("policy", ["prompt", None])
async def test_prompt_asks(policy: Any) -> None:
    async def on_question(_: PermissionQuestion) -> PermissionAnswer:
        return "allow_once"

    assert await chosen(policy, question(*ALL), on_question) == "allow_once"
    assert await chosen(policy, question(*ALL), lambda _: False) is False


async def test_no_answer_is_a_rejection() -> None:
    assert await chosen("prompt", question(*ALL), lambda _: None) == "reject_once"
    assert await chosen("prompt", question("allow_once"), lambda _: None) is None


@rows("policy", ["auto-approve", "deny"])
async def test_nobody_is_asked_where_the_policy_knows(policy: Any) -> None:
    def on_question(_: PermissionQuestion) -> PermissionAnswer:
        raise AssertionError("nobody should be asked")

    assert await chosen(policy, question(*ALL), on_question) is not None
