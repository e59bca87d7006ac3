"""The permission of tool calls: by the rules, by remembered answers, or by asking the user.

The decision is that of `accord.session.rules`, over the same resolved subject that clients judge. Reading is allowed
unless a rule or the session's own setting says otherwise; everything else is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from accord.agent import Tool, Turn
from accord.coder.memory import Memory
from accord.coder.model import AUTO_APPROVE_READS
from accord.session.claims import CallClaims, CommandClaim, PathClaim
from accord.session.option import PermissionOption
from accord.session.remembered import InputTarget, RememberedAnswer
from accord.session.rules import Access, Effect, Rule, Subject, judge
from accord.workspace.subject import SubjectResolver, resolve_rules

READING = frozenset({"read", "search"})
OPTIONS = (
    PermissionOption("allow", "Allow once", "allow_once"),
    PermissionOption("allow-always", "Always allow exactly this in this session", "allow_always"),
    PermissionOption("reject", "Reject", "reject_once"),
)
ALWAYS_THIS_TOOL = "allow-tool"


class NotAllowed(Exception):
    """A tool call must not go on; `by_rule` says whether a rule decided, not the user. The text is for the model."""

    def __init__(self, message: str, *, by_rule: bool = False) -> None:
        super().__init__(message)
        self.by_rule = by_rule


class PermissionGate:
    """The permission of one turn. An answer for "always" is remembered for the session, and for no other."""

    def __init__(self, turn: Turn, rules: Sequence[Rule], memory: Memory) -> None:
        self._turn = turn
        self._rules = rules
        self._memory = memory
        self._resolver = SubjectResolver(turn.session.cwd, turn.session.additional_directories)

    async def permit(
        self,
        call: Tool,
        *,
        command: Sequence[str] | None = None,
        line: str | None = None,
        directory: str | None = None,
        tool: str | None = None,
    ) -> None:
        """Return if the call, which shows what it is about to do, may go on.

        `command` is an argv that it runs, `line` a line for a shell. `tool` names a tool of a server: one that the user
        may also allow with any input.

        Raises:
            NotAllowed: A rule or the user refused it.
        """
        claim = None
        if command is not None or line is not None:
            claim = CommandClaim(None if command is None else tuple(command), line, directory)
        subject = await asyncio.to_thread(self._subject, call, claim, tool)
        rules = await asyncio.to_thread(resolve_rules, self._rules, self._resolver.roots)
        decision = judge(rules, subject, self._memory.answers, self._default(call.kind))
        if decision.effect == "deny":
            raise NotAllowed(f"A rule forbids it: {decision.rule}", by_rule=True)
        if decision.effect == "allow":
            await call.update(status="in_progress")
            return
        permission = await self._turn.request_permission(
            call, options=_options(tool), command=command, shell_line=line, directory=directory
        )
        if not permission:
            raise NotAllowed("The user did not allow it")
        if permission.option_id == ALWAYS_THIS_TOOL and tool is not None:
            self._memory.answers.append(RememberedAnswer("allow", targets=(InputTarget(call.kind, tool),)))
        elif permission.always and subject.targets is not None:
            self._memory.answers.append(RememberedAnswer("allow", targets=subject.targets))

    def may_read(self, path: str) -> bool:
        """Whether a search may read a file: one that a rule denies is not found either."""
        subject = self._resolver.of_call(CallClaims("read", (PathClaim("read", path),)))
        rules = resolve_rules(self._rules, self._resolver.roots)
        return judge(rules, subject, default="allow").effect != "deny"

    def may_list(self, path: str, *, is_folder: bool) -> bool:
        """Whether a list may name a file or a folder: a folder unless all that it has may not be read."""
        # A name that no pattern spells stands for any.
        return self.may_read(f"{path}/\ufffc" if is_folder else path)

    async def permit_host(self, call: Tool, host: str, private: str | None) -> None:
        """Return if a page of a host may be read. `private` describes a host outside of the public web; else None.

        A rule alone never allows a host that is not public: the user is asked about it, and sees the description.

        Raises:
            NotAllowed: A rule or the user refused it.
        """
        target = InputTarget("fetch", host if private is None else f"{host} ({private})")
        subject = Subject((Access("fetch", target=target),), self._resolver.roots)
        decision = judge(self._rules, subject, self._memory.answers, "ask")
        if decision.effect == "deny":
            raise NotAllowed(f"A rule forbids it: {decision.rule}", by_rule=True)
        if decision.effect == "allow" and (private is None or decision.answer is not None):
            await call.update(status="in_progress")
            return
        once, always, reject = OPTIONS
        always = PermissionOption(always.id, f"Always allow pages of {target.sha256} in this session", always.kind)
        permission = await self._turn.request_permission(call, options=(once, always, reject))
        if not permission:
            raise NotAllowed("The user did not allow it")
        if permission.always:
            self._memory.answers.append(RememberedAnswer("allow", targets=(target,)))

    def _subject(self, call: Tool, claim: CommandClaim | None, tool: str | None) -> Subject:
        if tool is not None:
            target = InputTarget(call.kind, tool)
            return Subject((Access(call.kind, target=target),), self._resolver.roots)
        paths = tuple(PathClaim(call.kind, location.path) for location in call.locations)
        subject = self._resolver.of_call(CallClaims(call.kind, paths), claim)
        if call.kind not in READING:
            return subject
        # What lies below is judged file by file.
        return replace(subject, accesses=tuple(replace(access, is_alone=True) for access in subject.accesses))

    def _default(self, kind: str) -> Effect:
        return "allow" if kind in READING and self._turn.option(AUTO_APPROVE_READS) else "ask"


def _options(tool: str | None) -> Sequence[PermissionOption]:
    if tool is None:
        return OPTIONS
    once, _, reject = OPTIONS
    name = f"Always allow {tool} in this session, whatever its input"
    return (once, PermissionOption(ALWAYS_THIS_TOOL, name, "allow_always"), reject)
