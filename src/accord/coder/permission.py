"""Whether a tool call may go on: by the rules, by what the user allowed before, or by asking.

The first rule that matches counts, and what a rule denies is never asked. Reading is allowed unless a rule or the
session's own setting says otherwise; everything else is asked.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from accord.agent import Tool, Turn
from accord.coder.memory import Memory
from accord.coder.settings import AUTO_APPROVE_READS
from accord.session.option import PermissionOption
from accord.session.rules import Effect, Rule, Subject, decide

__all__ = ["Gate", "NotAllowed"]

READING = frozenset({"read", "search"})
OPTIONS = (
    PermissionOption("allow", "Allow once", "allow_once"),
    PermissionOption("allow-always", "Always allow in this session", "allow_always"),
    PermissionOption("reject", "Reject", "reject_once"),
)


class NotAllowed(Exception):
    """A tool call must not go on; `by_rule` tells a rule from the user. The text is for the model."""

    def __init__(self, message: str, *, by_rule: bool = False) -> None:
        super().__init__(message)
        self.by_rule = by_rule


class Gate:
    """One turn's permission. What the user allows "always" is remembered for the session, and for no other."""

    def __init__(self, turn: Turn, rules: Sequence[Rule], memory: Memory) -> None:
        self._turn = turn
        self._rules = rules
        self._memory = memory

    async def permit(self, call: Tool, *, command: Sequence[str] | None = None, key: str | None = None) -> None:
        """Return if the call, which shows what it is about to do, may go on.

        `key` is what "always" is about: the kind of the call unless given, and this very command for commands.

        Raises:
            NotAllowed: It may not.
        """
        line = None if command is None else shlex.join(command)
        paths = tuple(location.path for location in call.locations)
        effect, rule = decide(
            self._rules, Subject(call.kind, paths, line, self._turn.session.roots), self._default(call.kind)
        )
        # The words themselves, not a rule made of them: a star among them would stand for other words.
        key = key or (call.kind if line is None else f"{call.kind} {line}")
        if effect == "deny":
            raise NotAllowed(f"A rule forbids it: {rule}", by_rule=True)
        if effect == "allow" or key in self._memory.allowed:
            await call.update(status="in_progress")
            return
        permission = await self._turn.ask(call, options=OPTIONS, command=command)
        if not permission:
            raise NotAllowed("The user did not allow it")
        if permission.always:
            self._memory.allowed.append(key)

    def may_read(self, path: str) -> bool:
        """Whether a file may be looked at among others: what must not be read is not found either."""
        return decide(self._rules, Subject("read", (path,), None, self._turn.session.roots), "allow")[0] != "deny"

    def _default(self, kind: str) -> Effect:
        return "allow" if kind in READING and self._turn.option(AUTO_APPROVE_READS) else "ask"
