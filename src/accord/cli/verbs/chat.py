"""`accord chat`: the full-screen chat. Its widgets are imported only when there is a terminal."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from accord.cli.agent_session import RunningAgent, connected, directories_of, line_deadlines, noted_record, servers_of
from accord.cli.fault import set_up_advice
from accord.cli.options import (
    AgentOptions,
    Parser,
    add_agent_options,
    add_log_option,
    add_permission_options,
    add_session_options,
    agent_options_of,
    split_command,
)
from accord.cli.permission import decided_by, policy_of, rules_of
from accord.cli.run.output import RunOpening
from accord.cli.session_index import SessionIndex, check_new_name, is_listed, known_ids, short_id
from accord.cli.show.answer import (
    unasked_text,
    verdict_text,
)
from accord.cli.show.presentation import Level, Note
from accord.cli.show.question import (
    question_lines,
)
from accord.cli.show.screen import is_terminal
from accord.cli.status import CommandFailure, UsageFailure
from accord.cli.target import Target, approve, built_in_target, split_agent, target_of
from accord.cli.terminal import Questions, UserTerminal
from accord.client import ConnectedAgent, Session, Verdict
from accord.client.question import ElicitCallback, PermissionCallback
from accord.config import ClientSessionRecord
from accord.config.errors import ConfigError
from accord.config.paths import ConfigPaths
from accord.connection.sender import Observer
from accord.display import EMPTY, SafeText, filled, joined, own
from accord.errors import AccordError, LocalProtocolError
from accord.session.agent_requests import ReadFile
from accord.session.client_requests import SessionSummary
from accord.session.content import Text
from accord.session.entry import Message, ToolCall
from accord.session.event import Event, MessageChanged, StateChanged
from accord.session.rules import Rule
from accord.stores.interface import date_of
from accord.version import install_line

if TYPE_CHECKING:
    from accord.cli.run.owner_socket import OwnerSocket, SharedSession

USAGE = """accord chat AGENT [options]
       accord chat --model PROVIDER:NAME [options]
       accord chat [options] -- COMMAND..."""
EXAMPLES = """\
  accord chat demo
  accord chat demo -c
  accord chat --model anthropic:claude-sonnet-5-5
  accord chat gemini -s refactoring --allow read
  accord chat -- gemini --acp
"""


def _parser() -> Parser:
    parser = Parser("chat", USAGE, "A conversation with an agent, full screen.", EXAMPLES)
    parser.add_argument("arguments", nargs="*", metavar="AGENT", help="the agent")
    parser.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")
    add_session_options(parser)
    add_permission_options(parser)
    add_agent_options(parser)
    add_log_option(parser)
    return parser


def run(arguments: Sequence[str]) -> int:
    """Run the chat; returns the exit status."""
    before, command = split_command(arguments)
    parsed = _parser().read(before)
    options = agent_options_of(parsed)
    # Without an agent, a model is one for the built-in agent.
    own_model = options.model if command is None and not parsed.arguments else None
    if own_model is None:
        name, rest = split_agent(parsed.arguments, command, "chat")
        if rest:
            raise UsageFailure("accord chat takes no text", advice='For one prompt: accord run AGENT "text"')
        target = target_of(name, command)
    else:
        target = built_in_target(own_model)
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        raise UsageFailure("accord chat needs a terminal", advice='Without one: accord run AGENT "text"')
    if os.environ.get("TERM") == "dumb":
        message = "accord chat needs a terminal that can show a full screen, and TERM is dumb"
        raise UsageFailure(message, advice='Without one: accord run AGENT "text"')
    try:
        from accord.cli.chat.chat_session import ChatOptions  # noqa: PLC0415
        from accord.cli.chat.launch import run_chat  # noqa: PLC0415 - brings a whole screen along
    except ImportError as error:
        message = f"accord chat needs a package that is not installed ({error.name})"
        raise UsageFailure(message, advice=f"Type {install_line('cli')}") from error
    target = asyncio.run(_approved(target, options))
    with SessionIndex() as index:
        chat = _Chat(target, options, index)
        record = chat.record
        if record is None and options.session is not None:
            # Before there is a screen, and so before the agent is asked for its sessions: only a question.
            asyncio.run(check_new_name(index, options.session, target.key, _yes))
        sessions = ChatOptions(
            str(Path.cwd()),
            session=None if record is None else record.session_id,
            key=None if record is None else record.key,
            session_cwd=None if record is None else record.cwd,
            find=chat.find,
            roots=directories_of(options),
            servers=servers_of(options),
            prepare=chat.prepare,
            known=chat.known,
            set_up=functools.partial(set_up_advice, target.typed),
        )
        try:
            return run_chat(
                chat.connect, sessions, name=target.entry.name, ready=chat.show_notes_with, mouse=not parsed.no_mouse,
                state=_state_folder(), go_on=_go_on(target, own_model),
            )  # fmt: skip
        finally:
            chat.close()


def _state_folder() -> Path | None:
    """The folder for prompts and settings; None where there is no home directory."""
    try:
        return ConfigPaths.here().state
    except ConfigError:
        return None


def _go_on(target: Target, own_model: str | None) -> str:
    """The command line that continues the session."""
    if own_model is not None:
        return f"accord chat --model {shlex.quote(own_model)} -c"
    return f"accord chat -c {target.key}" if target.is_command else f"accord chat {target.key} -c"


async def _approved(target: Target, options: AgentOptions) -> Target:
    return await approve(target, trust=options.trust, yes=_yes)


async def _yes(question: SafeText) -> bool:
    return await Questions(UserTerminal(), lambda _: False).yes(question)


class _Chat:
    """The target and options of the command line, as the callbacks of the chat."""

    def __init__(self, target: Target, options: AgentOptions, index: SessionIndex) -> None:
        self._target = target
        self._options = options
        self._index = index
        self._rules = rules_of(options.rules)
        self._show_note: Callable[[Note], None] = lambda _: None
        self._owner: OwnerSocket | None = None
        self._shared: SharedSession | None = None
        record = noted_record(index, target, options)
        self._name = options.session if record is None else record.name
        self.record = record

    async def find(self, agent: ConnectedAgent) -> ClientSessionRecord | None:
        """The session of the line where only the agent has it."""
        with _as_errors():
            found = None if self._name is None else await self._running(agent).known(self._name)
        self._name = self._name if found is None else found.name
        return found

    def _running(self, agent: ConnectedAgent) -> RunningAgent:
        return RunningAgent(agent, self._target, self._options, line_deadlines(self._target, self._options))

    def connect(
        self,
        *,
        permission: PermissionCallback,
        elicit: ElicitCallback,
        stderr: Callable[[bytes], None],
        observers: Sequence[Observer],
    ) -> ConnectedAgent:
        """The agent, with the rules of the line before the user's answers."""
        policy = policy_of(
            self._target,
            self._rules,
            on_question=permission,
            environment=self._options.env,
            notify=lambda line: self._note(filled("{}", line)),
            on_verdict=self._judged,
            on_unasked=self._completed_unasked,
        )
        return connected(
            self._target, self._options, permission=policy, elicit=elicit, stderr=stderr,
            observers=observers,
        )  # fmt: skip

    def show_notes_with(self, show_note: Callable[[Note], None]) -> None:
        """Set the function that shows notes."""
        self._show_note = show_note

    def _note(self, text: SafeText, level: Level = "info", detail: SafeText = EMPTY) -> None:
        self._show_note(Note(text, level, detail=detail))

    def _judged(self, verdict: Verdict) -> None:
        """Show a decision that was made without the user; reads inside the session's directories are too many."""
        if self._shared is not None:
            self._shared.judged(verdict)
        request = verdict.question.request
        if verdict.by in {"user", "question"} or (
            verdict.is_allowed and (request is None or isinstance(request, ReadFile))
        ):
            return
        lines = question_lines(verdict.question, diffs=False)
        detail = joined((joined(span.text for span in line) for line in lines), own("\n"))
        text = verdict_text(verdict, decided_by(verdict, self._target))
        self._note(text, "info" if verdict.is_allowed else "warning", detail)

    def _completed_unasked(self, call: ToolCall, rule: Rule, *, refused: bool = False) -> None:
        if self._shared is not None:
            self._shared.completed_unasked(call, rule, refused=refused)
        self._note(unasked_text(call, rule, str(Path.cwd()), refused=refused), "warning")

    async def prepare(self, agent: ConnectedAgent, session: Session) -> None:
        """Record a session, and set the options of the line."""
        name, self._name = self._name, None
        said = [
            each.text for each in session.transcript.timeline if isinstance(each, Message) and each.speaker == "user"
        ]
        facts = {"name": name, "title": session.title, "key": session.key}
        self._index.note(
            self._target.key, session.id, session.cwd, **facts, prompt=said[0] if said else None, opened=not said
        )
        session.listen(lambda event: self._on_event(session, event))
        short = short_id(session.id, known_ids(self._index))
        self._share(RunOpening(agent, session, self._target, bool(said), name, short))
        with _as_errors():
            await self._running(agent).settle(session)

    def _share(self, opening: RunOpening) -> None:
        """Make this session alone reachable for `accord cancel` and `accord sessions watch`."""
        from accord.cli.run.owner_socket import OwnerSocket  # noqa: PLC0415 - when there is a session

        self._owner = self._owner or OwnerSocket()
        if self._shared is not None:
            self._owner.withdraw(self._shared)
        self._shared = self._owner.share(opening)

    def close(self) -> None:
        """Withdraw the session: the screen is gone."""
        if self._owner is not None:
            self._owner.stop()

    def _on_event(self, session: Session, event: Event) -> None:
        """Record the first prompt, and the title when a turn is over; send every event to the watchers."""
        if self._shared is not None and self._shared.opening.session is session:
            self._shared.happened(event)
        if isinstance(event, MessageChanged) and event.speaker == "user":
            texts = event.content if isinstance(event.content, list) else []
            prompt = next((each.text for each in texts if isinstance(each, Text)), "")
            self._index.note(self._target.key, session.id, session.cwd, key=session.key, prompt=prompt)
        elif isinstance(event, StateChanged) and event.state == "idle" and session.title is not None:
            self._index.note(self._target.key, session.id, session.cwd, title=session.title, key=session.key)

    def known(self) -> tuple[list[SessionSummary], set[str]]:
        """Our records of this directory, and the ids of sessions without a prompt, which are not listed."""
        with _as_errors():
            records = self._index.all(everywhere=False, agent=self._target.key)
        listed = [
            SessionSummary(
                each.session_id,
                each.cwd,
                title=each.prompt or each.title or each.name,
                updated_at=date_of(each.updated_at).isoformat(),
            )
            for each in records
            if is_listed(each)
        ]
        return listed, {each.session_id for each in records if not is_listed(each)}


@contextlib.contextmanager
def _as_errors() -> Iterator[None]:
    """Raise failures of the command as errors of the library, which the screen shows instead of ending."""
    try:
        yield
    except CommandFailure as failure:
        if isinstance(failure.__cause__, AccordError):
            raise failure.__cause__ from None
        raise LocalProtocolError(failure.message) from failure
