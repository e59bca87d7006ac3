"""Claims and grants of one session: the state that a policy needs beyond its rules.

Claims are collected from every report of a tool call. An allowed question is a grant: it lets the agent's requests for
the same files and commands pass, inside the same turn, until the call has ended.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from accord.client.question import PermissionQuestion
from accord.client.session import Session
from accord.session.claims import CallClaims, CommandClaim, claims_in, claims_of, with_shown_blocks
from accord.session.custom import Custom
from accord.session.entry import ToolCall
from accord.session.event import Event, TerminalChanged, ToolChanged, ToolContentAdded
from accord.session.readings import WRITING_KINDS
from accord.session.remembered import CommandTarget, PathTarget, RememberedAnswer, Target
from accord.session.rules import Access, Rule, Subject
from accord.session.shell_line import settings_are_harmless
from accord.session.tool import Diff, FileChange, TerminalView, ToolContent
from accord.workspace.subject import SubjectResolver, resolve_rules, spelled_path

__all__ = ["Grant", "SessionConsent"]

# The operation of a write over a file that is too large to be shown, or no text: it is not a new one.
REPLACED = Custom("replace")
# Passages may be replaced once or everywhere: more results of the shown changes than this are not tried.
MAX_RESULTS = 64


@dataclass(frozen=True)
class Grant:
    """A question that was allowed: its turn, its call, its subject, and the changes of files that it showed."""

    turn: object
    call_id: str | None
    targets: tuple[Target, ...]
    changes: tuple[tuple[str, FileChange], ...] = ()
    """Each with the real path of its file."""

    def covers(self, target: Target) -> bool:
        """Whether the grant covers a request."""
        if isinstance(target, PathTarget):
            return any(isinstance(each, PathTarget) and _is_same_file(each, target) for each in self.targets)
        return any(_is_same_command(each, target) for each in self.targets)


def _is_same_file(granted: PathTarget, wanted: PathTarget) -> bool:
    """A write needs a grant for an edit: a file that may be deleted or moved may not get another text."""
    if granted.path != wanted.path:
        return False
    return granted.kind == wanted.kind or (wanted.kind == "read" and granted.kind in WRITING_KINDS)


def _is_same_command(granted: Target, wanted: Target) -> bool:
    if granted == wanted:
        return True
    if not isinstance(granted, CommandTarget) or not isinstance(wanted, CommandTarget):
        return False
    if (granted.directory, granted.argv, granted.line) != (wanted.directory, wanted.argv, wanted.line):
        return False
    # Each variable that was shown has its value; agents add a few that change nothing about what runs.
    shown, used = dict(granted.environment), dict(wanted.environment)
    return shown.items() <= used.items() and settings_are_harmless(used.items() - shown.items())


def _differences(granted: Target, wanted: Target) -> Iterator[str]:
    """How a request differs from what was allowed about the same command."""
    if not isinstance(granted, CommandTarget) or not isinstance(wanted, CommandTarget):
        return
    if (granted.argv, granted.line) != (wanted.argv, wanted.line):
        return
    shown, used = dict(granted.environment), dict(wanted.environment)
    for name, value in sorted(used.items() - shown.items()):
        if not settings_are_harmless([(name, value)]):
            yield f"with {name}={value}"
    for name in sorted(shown.keys() - used.keys()):
        yield f"without {name}"
    if granted.directory != wanted.directory:
        yield f"in {wanted.directory}"


def _can_result(shown: Sequence[FileChange], write: FileChange) -> bool:
    """Whether a write makes the shown changes, some of them or all: of whole texts, or of passages in the present."""
    if write.operation == REPLACED:
        return False
    texts = {_text(write.old)}
    for change in shown:
        old, new = _text(change.old), _text(change.new)
        for text in list(texts):
            if text == old:
                texts.add(new)
            elif old and len(texts) < MAX_RESULTS:
                texts |= {text.replace(old, new, 1), text.replace(old, new)}
    # Agents differ in whether the last line is ended.
    return _text(write.new).rstrip("\n") in {text.rstrip("\n") for text in texts}


def _lasting(access: Access) -> Access:
    """The access without what it changes itself: a call may make a folder."""
    return replace(access, is_folder=False)


def _text(text: str | None) -> str:
    """The text as diffs show it: a write keeps the line ends of the file."""
    return (text or "").replace("\r\n", "\n")


@dataclass
class _Call:
    """One tool call: the claims that are not in its entry of the transcript."""

    claims: CallClaims | None = None
    allowed: set[Access] = field(default_factory=set)
    refused: set[Access] = field(default_factory=set)
    is_ended: bool = False


@dataclass
class SessionConsent:
    """One session's claims, grants and remembered answers; `on_completed` gets each call that was completed."""

    session: Session
    resolver: SubjectResolver
    answers: list[RememberedAnswer] = field(default_factory=list)
    on_completed: Callable[[SessionConsent, ToolCall], None] = lambda _consent, _call: None
    _calls: dict[str, _Call] = field(default_factory=dict)
    _viewers: dict[str, set[str]] = field(default_factory=dict)
    """By the id of a terminal: the calls that showed it."""
    _ended_terminals: set[str] = field(default_factory=set)
    """The terminals that ended and that no call showed."""
    _grants: list[Grant] = field(default_factory=list)

    # --- reports of the agent

    def on_event(self, event: Event) -> None:
        """Take an event of the session, after it was folded into the transcript."""
        if type(event) is TerminalChanged:
            self._on_terminal(event)
        elif type(event) is ToolContentAdded:
            self._on_report(event.id, [event.content])
        elif type(event) is ToolChanged:
            self._on_report(event.id, event.content or ())

    def _on_terminal(self, event: TerminalChanged) -> None:
        viewers = self._viewers.get(event.id, ())
        if event.command or event.cwd:
            # v2 rule 66: a call may show a terminal before the terminal is reported.
            for call_id in viewers:
                if not self._calls[call_id].is_ended:
                    self._on_report(call_id)
        terminal = self.session.transcript.terminals.get(event.id)
        is_over = terminal is not None and event.exit and not viewers and event.id not in self._ended_terminals
        if terminal is not None and is_over and not self.session._is_reopening:
            # No call shows it: its command is reported as a call of its own, once.
            self._ended_terminals.add(event.id)
            command = None if terminal.command is None else {"command": terminal.command, "cwd": terminal.cwd}
            self.on_completed(self, ToolCall(event.id, terminal.command, "execute", "completed", raw_input=command))

    def _on_report(self, call_id: str, news: Sequence[ToolContent] = ()) -> None:
        entry = self.session.transcript.tool_calls.get(call_id)
        if entry is None:
            return
        call = self._calls.setdefault(call_id, _Call())
        if call.is_ended and not entry.finished:
            # The id is used again, for another call: no grant applies to it.
            call = self._calls[call_id] = _Call()
        for item in news:
            if isinstance(item, TerminalView):
                self._viewers.setdefault(item.terminal_id, set()).add(call_id)
        now = claims_of(entry, self.session.transcript.terminals)
        call.claims = now if call.claims is None else now.joined(call.claims)
        if entry.finished and not call.is_ended:
            call.is_ended = True
            self._grants = [grant for grant in self._grants if grant.call_id != call_id]
            if entry.status == "completed" and not self.session._is_reopening:
                self.on_completed(self, entry)

    def claims(self, call_id: str) -> CallClaims | None:
        """All claims about a call so far."""
        call = self._calls.get(call_id)
        return None if call is None else call.claims

    # --- subjects

    def rules(self, rules: Sequence[Rule]) -> tuple[Rule, ...]:
        """The rules, with their patterns resolved to current paths."""
        return resolve_rules(rules, self.resolver.roots)

    def subject_of(self, question: PermissionQuestion) -> Subject:
        """The subject of a question, by all claims about its call."""
        claims, call = question.claims, question.tool
        if claims is None:
            claims = claims_in("other", question.other) if call is None else claims_of(call)
            if question.other is not None and not (claims.paths or claims.commands):
                # A subject of a kind that no edition names.
                claims = replace(claims, is_unread=True)
        if call is not None:
            claims = with_shown_blocks(claims, call)
        command = None
        if question.command is not None:
            command = CommandClaim(None, question.command.command, question.command.cwd)
            if call is None and question.claims is None:
                claims = CallClaims("execute")
        subject = self.resolver.of_call(claims, command)
        if call is not None:
            # It may be about any of them: one that is denied denies it, and only together they are allowed.
            meant = [self.resolver.of_call(self.claims(each.id) or claims_of(each)) for each in question.open_calls]
            accesses = (*subject.accesses, *(access for each in meant for access in each.accesses))
            subject = replace(subject, accesses=tuple(dict.fromkeys(accesses)))
        return subject

    def unallowed(self, call: ToolCall) -> Subject:
        """The accesses of a call beyond those that were allowed: later reports may have changed the call."""
        transcript = self.session.transcript
        # A terminal is none of the reported calls, also if it has the id of one.
        known = self._calls.get(call.id) if transcript.tool_calls.get(call.id) is call else None
        known = known or _Call()
        subject = self.resolver.of_call(known.claims or claims_of(call, transcript.terminals))
        left = tuple(each for each in subject.accesses if _lasting(each) not in known.allowed)
        # That a folder was listed or searched does not say that each of its files was read.
        return Subject(tuple(replace(each, is_alone=each.kind in {"read", "search"}) for each in left), subject.roots)

    # --- grants

    def grant(self, question: PermissionQuestion, subject: Subject) -> None:
        # Not the turn that runs now: the question may have come before it.
        turn, call_id = question.turn if question.is_in_turn else None, None
        for call_id in question._call_ids:
            call = self._calls.setdefault(call_id, _Call())
            call.allowed.update(map(_lasting, subject.accesses))
            if call.is_ended:
                return
        if turn is not None:
            targets = tuple(access.target for access in subject.accesses if access.target is not None)
            self._grants = [grant for grant in self._grants if grant.turn is turn]
            self._grants.append(Grant(turn, call_id, targets, tuple(self._shown_changes(question, subject))))

    def refuse(self, question: PermissionQuestion, subject: Subject) -> None:
        for call_id in question._call_ids:
            self._calls.setdefault(call_id, _Call()).refused.update(subject.accesses)

    def was_refused(self, call: ToolCall, subject: Subject) -> bool:
        """Whether the agent asked for all of it, and was refused."""
        return self._calls.get(call.id, _Call()).refused.issuperset(subject.accesses)

    def _shown_changes(self, question: PermissionQuestion, subject: Subject) -> Iterator[tuple[str, FileChange]]:
        places = {access.spelled: access.path for access in subject.accesses}
        for diff in [] if question.tool is None else question.tool.content:
            for change in diff.changes if isinstance(diff, Diff) else []:
                place = places.get(spelled_path(change.path, self.resolver.directory))
                if place is not None and change.new is not None:
                    yield place, change

    def is_granted(self, subject: Subject) -> bool:
        """Whether an allowed question of the running turn, whose call has not ended, was about the same."""
        turn, targets = self.session.running_turn, subject.targets
        if turn is None or targets is None:
            return False
        grants = [grant for grant in self._grants if grant.turn is turn]
        return all(any(grant.covers(target) for grant in grants) for target in targets)

    async def differences(
        self, subject: Subject, change_of: Callable[[], Awaitable[FileChange]] | None = None
    ) -> list[str]:
        """How a request differs from what was allowed in the running turn, where something alike was.

        A granted write differs if it does not make the change that the question showed; one without a diff showed the
        path alone.
        """
        grants = [grant for grant in self._grants if grant.turn is self.session.running_turn]
        if not self.is_granted(subject):
            found = (
                text for a in grants for t in a.targets for b in subject.targets or () for text in _differences(t, b)
            )
            return list(dict.fromkeys(found))
        target = PathTarget("edit", subject.accesses[0].path or "")
        covering = [grant for grant in grants if grant.covers(target)]
        shown = [[change for place, change in grant.changes if place == target.path] for grant in covering]
        if change_of is None or not all(shown):
            return []
        write = await change_of()
        if any(_can_result(changes, write) for changes in shown):
            return []
        is_there = write.old is not None and all(change.old is None for changes in shown for change in changes)
        return ["the diff showed a new file, but the file exists" if is_there else "with another text"]
