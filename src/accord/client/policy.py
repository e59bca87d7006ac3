"""Permission policies: decisions about an agent's questions and requests, by rules, remembered answers and the user.

A `Policy` is a callback for `accord.connect(permission=...)`. It also judges every request of the agent that touches
this machine: files that are written or read, terminals. `accord.session.rules` has the decision itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol, TypeAlias
from weakref import WeakKeyDictionary, proxy

from accord.client.consent import SessionConsent
from accord.client.question import (
    UNASKED,
    MachineRequest,
    PermissionAnswer,
    PermissionCallback,
    PermissionQuestion,
    WiderAnswer,
    called,
    chosen_option,
    given_option,
)
from accord.client.session import Session
from accord.errors import AccordError
from accord.session.entry import ToolCall
from accord.session.option import PermissionOption
from accord.session.remembered import RememberedAnswer
from accord.session.rules import Decision, Effect, Rule, RuleError, Subject, judge, parse_rule
from accord.session.tool import FileChange
from accord.workspace.subject import SubjectResolver

__all__ = ["AnswerStore", "Policy", "RulesFileError", "Verdict", "load_rules"]


READING_KINDS = frozenset({"read", "search", "think"})
Describe: TypeAlias = Callable[[PermissionQuestion], AbstractAsyncContextManager[PermissionQuestion]]
DecidedBy: TypeAlias = Literal["rule", "remembered", "question", "default", "user", "nobody"]
"""The source of a decision: see `Verdict`."""


@dataclass(frozen=True)
class Verdict:
    """The decision about one question, or one request, of the agent.

    `by` is the source of the decision: a `rule`, a `remembered` answer, an earlier `question` that was allowed, the
    `default` (a read inside the session's directories), the `user`, or `nobody`, where there is no user to ask.
    `option` is the answer.
    """

    question: PermissionQuestion
    is_allowed: bool
    by: DecidedBy
    rule: Rule | None = None
    option: PermissionOption | None = None


class AnswerStore(Protocol):
    """The interface of a store that keeps remembered answers beyond the process."""

    def load(self, session: Session) -> list[RememberedAnswer]:
        """The remembered answers of a session."""

    def add(self, session: Session, answer: RememberedAnswer) -> None:
        """Keep one more."""


class Policy:
    """A permission callback that answers by rules; it calls `on_question` where they say `ask`, and denies without one.

    `rules` are texts (`"allow read"`, `"deny execute:rm *"`) or `Rule`s; a `file` of such lines comes before them. An
    answer with "always" is remembered for exactly its subject, in this session (`remember="session"`), never, or in an
    `AnswerStore`. It applies only where no rule allows or denies.

    Where a rule allows, the agent gets its narrowest option that allows; with `prefer_lasting` the lasting one.

    `on_verdict` is called with each decision, `on_served` with each request for a file or a terminal that was allowed
    and did not fail, `on_unasked` with each call that a rule denies and that the agent completed without having been
    allowed to. `on_refused` is called instead, if there is one, where the agent had asked and was refused: some report
    such a call as completed although they did nothing.
    """

    def __init__(  # noqa: PLR0913 - each is one thing that a client may want to decide
        self,
        rules: Iterable[str | Rule] = (),
        *,
        on_question: PermissionCallback | None = None,
        file: str | os.PathLike[str] | None = None,
        default: Effect = "ask",
        remember: Literal["session", "never"] | AnswerStore = "session",
        prefer_lasting: bool = False,
        on_verdict: Callable[[Verdict], object] | None = None,
        on_served: Callable[[MachineRequest], object] | None = None,
        on_unasked: Callable[[ToolCall, Rule], object] | None = None,
        on_refused: Callable[[ToolCall, Rule], object] | None = None,
    ) -> None:
        own = [rule if isinstance(rule, Rule) else parse_rule(rule) for rule in rules]
        self.rules: tuple[Rule, ...] = (*([] if file is None else load_rules(file)), *own)
        """The rules, in order."""
        self._on_question = on_question
        self._default: Effect = default
        self._remember = remember
        self._prefer_lasting = prefer_lasting
        self._on_verdict = on_verdict
        self._on_served = on_served
        self._on_unasked = on_unasked
        self._on_refused = on_refused or on_unasked
        self._consents: WeakKeyDictionary[Session, SessionConsent] = WeakKeyDictionary()
        self.denied_unasked: int = 0
        """How many questions and requests were denied because there was no user to ask."""
        self.refused_requests: int = 0
        """How many requests for a file or a terminal a rule refused."""
        self.completed_unasked: int = 0
        """How many calls that a rule denies the agent completed without having been allowed to."""
        self.completed_refused: int = 0
        """How many of them the agent had asked for, and was refused."""

    def _consent(self, session: Session) -> SessionConsent:
        found = self._consents.get(session)
        if found is None:
            answers = [] if isinstance(self._remember, str) else self._remember.load(session)
            resolver = SubjectResolver(session.cwd, session.additional_directories)
            # Weakly: this state must not keep a session alive.
            found = SessionConsent(proxy(session), resolver, list(answers), self._completed)
            self._consents[session] = found
        return found

    # --- questions

    async def __call__(self, question: PermissionQuestion) -> PermissionAnswer:
        """The answer to one question of the agent."""
        consent = self._consent(question.session)
        subject, decision = await asyncio.to_thread(self._decide, consent, question)
        effect = decision.effect
        if effect == "allow" and not question.is_in_turn and set(subject.kinds) - READING_KINDS:
            # Outside a turn the user expects nothing to be done.
            effect = "ask"
        answer: PermissionAnswer
        if effect == "ask":
            answer, by = await self._ask_user(consent, question, subject)
        else:
            answer = self._allowing(question) if effect == "allow" else question.reject()
            by = _source(decision)
        option = chosen_option(question, answer)
        is_allowed = option is not None and option.consent == "allow"
        if is_allowed:
            consent.grant(question, subject)
        else:
            consent.refuse(question, subject)
        self._report(Verdict(question, is_allowed, by, decision.rule if by == "rule" else None, option))
        return answer

    def _allowing(self, question: PermissionQuestion) -> PermissionOption | None:
        lasting = question.option("allow_always") if self._prefer_lasting else None
        return lasting or question.allow()

    def _decide(self, consent: SessionConsent, question: PermissionQuestion) -> tuple[Subject, Decision]:
        subject = consent.subject_of(question) if question.subject is None else question.subject
        return subject, judge(consent.rules(self.rules), subject, tuple(consent.answers), self._default)

    async def _ask_user(
        self, consent: SessionConsent, question: PermissionQuestion, subject: Subject
    ) -> tuple[PermissionAnswer, DecidedBy]:
        if self._on_question is None:
            self.denied_unasked += 1
            return question.reject(), "nobody"
        answer: PermissionAnswer = await called(self._on_question, replace(question, subject=subject))
        self._note(consent, question, subject, answer)
        return answer, "user"

    def _note(
        self, consent: SessionConsent, question: PermissionQuestion, subject: Subject, answer: PermissionAnswer
    ) -> None:
        """Remember an answer with "always", for exactly the shown subject unless the user chose a wider scope."""
        option = chosen_option(question, answer)
        if option is None or option.consent == "unknown" or self._remember == "never":
            return
        effect: Literal["allow", "deny"] = "allow" if option.consent == "allow" else "deny"
        if isinstance(answer, WiderAnswer):
            # The user chose the scope, also where the agent offers no lasting answer.
            remembered = answer.remembered
            if remembered.effect != effect:
                return
        elif not option.is_lasting:
            return
        elif subject.targets is None:
            # The question names no subject, so there is nothing to remember.
            return
        else:
            remembered = RememberedAnswer(effect, "exact", subject.targets)
        consent.answers.insert(0, remembered)
        if not isinstance(self._remember, str):
            self._remember.add(question.session, remembered)

    # --- requests that touch this machine

    async def _permits(
        self,
        question: PermissionQuestion,
        subject: Subject,
        describe: Describe = contextlib.nullcontext,
        change_of: Callable[[], Awaitable[FileChange]] | None = None,
    ) -> bool:
        """Whether this client may execute the agent's request: `question` describes it, with options of our own.

        `describe` adds the details that only a question to the user needs. `change_of` returns the change of a write.
        """
        consent = self._consent(question.session)
        decision = await asyncio.to_thread(self._judge_request, consent, subject)
        is_reading = set(subject.kinds) <= READING_KINDS
        in_turn = question.is_in_turn
        is_denied = decision.effect == "deny"
        differences = await consent.differences(subject, change_of) if in_turn and not is_denied else []
        if differences:
            title = question.title.replace(UNASKED, f"otherwise than was allowed: {', '.join(differences)}")
            question = replace(question, title=title)
        by: DecidedBy
        rule = decision.rule if is_denied else None
        if is_denied:
            by, is_allowed = _source(decision), False
            self.refused_requests += decision.rule is not None
        # Before the rules that allow: the agent did ask, and the verdict must say so.
        elif in_turn and not differences and consent.is_granted(subject) and question.is_in_turn:
            by, is_allowed = "question", True
        elif decision.effect == "allow" and (in_turn or is_reading):
            by, rule, is_allowed = _source(decision), decision.rule, True
        elif is_reading and decision.rule is None:
            by, is_allowed = "default", True
        else:
            async with describe(question) as described:
                answer, by = await self._ask_user(consent, described, subject)
            option = given_option(question, answer)
            is_allowed = option is not None and option.consent == "allow"
        self._report(Verdict(question, is_allowed, by, rule))
        return is_allowed

    def _judge_request(self, consent: SessionConsent, subject: Subject) -> Decision:
        return judge(consent.rules(self.rules), subject, tuple(consent.answers), self._default)

    def _served(self, request: MachineRequest) -> None:
        """The request was executed."""
        if self._on_served is not None:
            self._on_served(request)

    # --- calls without permission

    def _completed(self, consent: SessionConsent, call: ToolCall) -> None:
        if not any(rule.effect == "deny" for rule in self.rules):
            return
        left = consent.unallowed(call)
        if not left.accesses:
            return
        decision = judge(consent.rules(self.rules), left)
        if decision.effect == "deny" and decision.rule is not None:
            was_refused = consent.was_refused(call, left)
            self.completed_unasked += 1
            self.completed_refused += was_refused
            callback = self._on_refused if was_refused else self._on_unasked
            if callback is not None:
                callback(call, decision.rule)

    def _report(self, verdict: Verdict) -> None:
        if self._on_verdict is not None:
            self._on_verdict(verdict)


def _source(decision: Decision) -> DecidedBy:
    if decision.rule is not None:
        return "rule"
    return "default" if decision.answer is None else "remembered"


# --- files of rules

MAX_RULES_FILE_BYTES = 1024 * 1024


class RulesFileError(AccordError):
    """A rules file that cannot be used; the message names the line and the expected form. None of its rules applies."""

    def __init__(self, message: str, *, path: str, line: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.line = line


def load_rules(path: str | os.PathLike[str]) -> list[Rule]:
    """The rules of a file: one per line, ended by a line feed alone (`#` begins a remark), or a JSON list of rules.

    Raises:
        RulesFileError: It cannot be read or understood.
    """
    place = Path(path)
    try:
        with place.open("rb") as file:
            data = file.read(MAX_RULES_FILE_BYTES + 1)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise RulesFileError(f"the rules file {place} cannot be read: {error}", path=str(place)) from error
    if len(data) > MAX_RULES_FILE_BYTES:
        raise RulesFileError(f"the rules file {place} is larger than {MAX_RULES_FILE_BYTES} bytes", path=str(place))
    if text.lstrip().startswith("["):
        return _from_json(text, place)
    rules = []
    # Not `splitlines`: it splits at nine further characters, which no editor shows as the end of a line.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.isprintable():
            odd = next(character for character in line if not character.isprintable())
            message = f"{place}, line {number}: {odd!r} is not allowed in a rules file; lines end with \\n alone"
            raise RulesFileError(message, path=str(place), line=number)
        rule = line.partition("#")[0].strip()
        if rule:
            rules.append(_parsed(rule, place, number))
    return rules


def _from_json(text: str, place: Path) -> list[Rule]:
    try:
        lines = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RulesFileError(f"the rules file {place} is no JSON: {error}", path=str(place)) from error
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise RulesFileError(f"the rules file {place} must be a list of texts", path=str(place))
    return [_parsed(line, place, None) for line in lines]


def _parsed(text: str, place: Path, line: int | None) -> Rule:
    try:
        return parse_rule(text)
    except RuleError as error:
        where = f"{place}" if line is None else f"{place}, line {line}"
        raise RulesFileError(f"{where}: {error}", path=str(place), line=line) from error
