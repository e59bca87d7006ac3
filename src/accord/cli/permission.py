"""Who answers the questions of one run: the rules of the line, what was answered "always" before, then the user."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from accord.client import PermissionQuestion, Policy, load_rules
from accord.client.policy import RulesFileError, rule_for, subject_of
from accord.client.question import PermissionAnswer, PermissionCallback
from accord.config.acp_json import PermissionPolicy
from accord.config.permission import permission_for
from accord.session.option import PermissionOption
from accord.session.rules import Effect, Rule
from accord.stores.folder import make_private

__all__ = ["Permissions", "Verdict"]


class Verdict:
    """How one question was answered, for whoever tells of it."""

    def __init__(self, question: PermissionQuestion, effect: Effect, rule: Rule | None) -> None:
        self.question = question
        self.effect = effect
        self.rule = rule
        self.by = "rule" if effect != "ask" else "nobody"
        self.option: PermissionOption | None = None


class Permissions:
    """A callback for `connect(permission=...)`.

    `ask` is None where nobody can be asked; `policy` is what the config says for that case. `folder` keeps what the
    user answered with "always", a file for each session, so that it holds when the session goes on later.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        *,
        ask: PermissionCallback | None,
        policy: PermissionPolicy | None,
        folder: Path,
        on_verdict: Callable[[Verdict], Any] = lambda _: None,
    ) -> None:
        self._rules = list(rules)
        self._ask = ask
        self._policy: PermissionPolicy | None = policy
        self._folder = folder
        self._on_verdict = on_verdict
        self._policies: dict[str, Policy] = {}
        self._verdicts: dict[int, Verdict] = {}
        self.denied_unasked = 0
        """How many questions were denied because nobody could be asked."""

    async def __call__(self, question: PermissionQuestion) -> PermissionAnswer:
        """The answer to one question."""
        session_id = question.session.id
        if session_id not in self._policies:
            self._policies[session_id] = self._make(session_id)
        policy = self._policies[session_id]
        before = policy.denied_unasked
        try:
            answer = await policy(question)
        except BaseException:
            self._verdicts.pop(id(question), None)
            raise
        verdict = self._verdicts.pop(id(question))
        verdict.option = _option(question, answer)
        if policy.denied_unasked > before:
            self.denied_unasked += 1
        elif verdict.effect == "ask":
            verdict.by = "policy" if self._policy in {"auto-approve", "deny"} else "user"
            if verdict.by == "user":
                self._remember(question, verdict.option)
        self._on_verdict(verdict)
        return answer

    def _make(self, session_id: str) -> Policy:
        ask = permission_for(self._policy, self._ask) if self._ask or self._policy in {"auto-approve", "deny"} else None
        return Policy([*self._rules, *self._kept(session_id)], ask=ask, on_decision=self._decided)

    def _decided(self, question: PermissionQuestion, effect: Effect, rule: Rule | None) -> None:
        self._verdicts[id(question)] = Verdict(question, effect, rule)

    def _file(self, session_id: str) -> Path:
        return self._folder / f"{hashlib.sha256(session_id.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.rules"

    def _kept(self, session_id: str) -> list[Rule]:
        path = self._file(session_id)
        if not path.exists():
            return []
        try:
            return load_rules(path)
        except RulesFileError:
            # What cannot be read allows nothing: the user is asked again.
            return []

    def _remember(self, question: PermissionQuestion, option: PermissionOption | None) -> None:
        if option is None or not option.kind.endswith("_always"):
            return
        rule = rule_for(subject_of(question), "allow" if option.kind.startswith("allow") else "deny")
        if any(char in "#*?" for char in rule.pattern or ""):
            # In a file it would mean other commands too.
            return
        path = self._file(question.session.id)
        try:
            make_private(path)
            with path.open("a", encoding="utf-8") as file:
                file.write(f"{rule}\n")
        except OSError:
            # It still holds for as long as this process.
            return


def _option(question: PermissionQuestion, answer: PermissionAnswer) -> PermissionOption | None:
    if isinstance(answer, PermissionOption):
        return answer
    if isinstance(answer, bool):
        return question.allow() if answer else question.reject()
    return next((option for option in question.options if option.id == answer), None)
