"""Knows the three permission policies of a config: `auto-approve`, `prompt` and `deny`, and which option each takes."""

from __future__ import annotations

from accord.client.question import PermissionAnswer, PermissionCallback, PermissionQuestion, called
from accord.config.acp_json import PermissionPolicy

__all__ = ["permission_for"]


def permission_for(policy: PermissionPolicy | None, ask: PermissionCallback | None = None) -> PermissionCallback:
    """The callback for `accord.connect(permission=...)`.

    `auto-approve` takes the first option that allows always, else one that allows once, else the first of all; `deny`
    the first that rejects once, else one that rejects always, else it dismisses the question. `prompt`, which is meant
    where no policy is named, asks `ask`; nobody to ask, or no answer, is a `deny`.
    """
    if policy == "auto-approve":
        return _approve
    if policy == "deny" or ask is None:
        return _deny
    return _Prompt(ask)


def _approve(question: PermissionQuestion) -> PermissionAnswer:
    return question.option("allow_always", "allow_once") or next(iter(question.options), None)


def _deny(question: PermissionQuestion) -> PermissionAnswer:
    return question.option("reject_once", "reject_always")


class _Prompt:
    def __init__(self, ask: PermissionCallback) -> None:
        self._ask = ask

    async def __call__(self, question: PermissionQuestion) -> PermissionAnswer:
        answer: PermissionAnswer = await called(self._ask, question)
        return _deny(question) if answer is None else answer
