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


def permission_for(policy: PermissionPolicy | None, ask: PermissionCallback | None = None, **options: Any) -> Policy:
    """The policy for `accord.connect(permission=...)`; `options` are further ones of `Policy`.

    `auto-approve` allows everything, with an option that holds on where the agent offers one; `deny` denies it.
    `prompt`, which is meant where no policy is named, asks `ask`; where that is None the answer is no.
    """
    asking = None if ask is None else _Asking(ask)
    return Policy(rules_for(policy), on_question=asking, prefer_lasting=policy == "auto-approve", **options)


class _Asking:
    """A callback of which no answer is a rejection, as far as the agent offers one."""

    def __init__(self, ask: PermissionCallback) -> None:
        self._ask = ask

    async def __call__(self, question: PermissionQuestion) -> PermissionAnswer:
        answer: PermissionAnswer = await called(self._ask, question)
        return question.reject() if answer is None else answer
