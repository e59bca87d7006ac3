"""The three permission policies of a config, as rules that come after all others: `auto-approve`, `prompt`, `deny`."""

from __future__ import annotations

from typing import Any

from accord.client.policy import Policy
from accord.client.question import PermissionAnswer, PermissionCallback, PermissionQuestion, called
from accord.config.acp_json import PermissionPolicy
from accord.session.rules import Rule

__all__ = ["permission_for", "rules_for"]

_RULES: dict[PermissionPolicy | None, tuple[Rule, ...]] = {
    "auto-approve": (Rule("allow", "all"),),
    "deny": (Rule("deny", "all"),),
}


def rules_for(policy: PermissionPolicy | None) -> tuple[Rule, ...]:
    """What a policy says where no other rule does; nothing for `prompt`, which asks."""
    return _RULES.get(policy, ())


def permission_for(
    policy: PermissionPolicy | None, on_question: PermissionCallback | None = None, **options: Any
) -> Policy:
    """The policy for `accord.connect(permission=...)`; `options` are further ones of `Policy`.

    `auto-approve` allows everything, with an option that holds on where the agent offers one; `deny` denies it.
    `prompt`, which is meant where no policy is named, asks `on_question`; where that is None the answer is no.
    """
    callback = None if on_question is None else _RejectUnanswered(on_question)
    return Policy(rules_for(policy), on_question=callback, prefer_lasting=policy == "auto-approve", **options)


class _RejectUnanswered:
    """A callback of which no answer is a rejection, as far as the agent offers one."""

    def __init__(self, on_question: PermissionCallback) -> None:
        self._callback = on_question

    async def __call__(self, question: PermissionQuestion) -> PermissionAnswer:
        answer: PermissionAnswer = await called(self._callback, question)
        return question.reject() if answer is None else answer
