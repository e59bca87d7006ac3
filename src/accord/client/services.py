"""The services of a client for its agent: files and terminals of the session, the user's callbacks, and workarounds."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shlex
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec

from accord.client.consent import REPLACED
from accord.client.policy import Policy
from accord.client.question import (
    UNASKED,
    ElicitCallback,
    MachineRequest,
    OpenQuestions,
    PermissionCallback,
    PermissionQuestion,
    answered_elsewhere,
    elicit_question,
    elicited,
    permission_given,
    permission_question,
    unanswerable,
)
from accord.client.session import Session
from accord.client.terminals import ClientTerminals
from accord.errors import InvalidParams, MethodNotFound, PermissionDenied, RequestError, ResourceNotFound
from accord.session.agent_requests import (
    AwaitTerminal,
    CommandSubject,
    Elicited,
    ElicitForm,
    ElicitUrl,
    FileRead,
    KillTerminal,
    PermissionGiven,
    ReadFile,
    ReadTerminal,
    ReleaseTerminal,
    RequestPermission,
    StartTerminal,
    WriteFile,
)
from accord.session.capability import ClientCapabilities, Implementation
from accord.session.client_requests import Done
from accord.session.entry import ToolCall
from accord.session.meta_original import ORIGINAL
from accord.session.option import PermissionOption
from accord.session.rules import Subject
from accord.session.tool import Diff, FileChange, Location, ToolKind
from accord.workspace import NoSuchFile, Workspace, WorkspaceError
from accord.workspace.launch import command_argv

__all__ = ["Offer", "Quirks", "Services", "Serving", "WorkspaceFactory"]

# How much of a file is shown before it is overwritten; a person compares no more by eye.
MAX_SHOWN_CHARACTERS = 1024 * 1024
OPTIONS = (
    PermissionOption("allow", "Allow once", "allow_once"),
    PermissionOption("allow-always", "Always allow exactly this", "allow_always"),
    PermissionOption("reject", "Reject", "reject_once"),
    PermissionOption("reject-always", "Always reject exactly this", "reject_always"),
)
_SCOPES: dict[type[MachineRequest], str] = {
    ReadFile: "fs:read",
    WriteFile: "fs:write",
    StartTerminal: "terminal:create",
}
_KINDS: dict[type[MachineRequest], ToolKind] = {ReadFile: "read", WriteFile: "edit", StartTerminal: "execute"}


@dataclass(frozen=True, slots=True)
class Quirks:
    """The deviations of one agent; the defaults are the protocol."""

    missing_file: Literal["empty", "error"] = "error"
    """The answer to a read of a file that is not there."""
    repeats_prompts: bool = True
    """Whether it may repeat a prompt. Where it does not, no event is held back to wait for that."""


_NONE = Quirks()
_QUIRKS = {
    # Reads a file before it creates it, and gives up where that is an error (0.9 and later).
    "gemini-cli": Quirks(missing_file="empty", repeats_prompts=False),
}


def quirks_of(agent: Implementation | None) -> Quirks:
    """The row of an agent; agents that give no name have none."""
    return _NONE if agent is None else _QUIRKS.get(agent.name, _NONE)


log = logging.getLogger("accord.client")

WorkspaceFactory: TypeAlias = Callable[[Session], Workspace]
"""Makes the workspace of a session."""


@dataclass(frozen=True)
class Offer:
    """The parts of this machine that agents may use, for `accord.connect(offer=...)`."""

    files: bool | WorkspaceFactory = True
    """True for the disk inside the session's directories, or a function from a session to its `Workspace` (with hooks
    for unsaved buffers). False for none."""
    terminals: bool = True
    """Commands inside the session's directories."""
    pty: bool = False
    """Whether the programs run in a pseudo-terminal."""
    missing_file: Literal["empty", "error"] | None = None
    """The answer for a file that is not there: an error (-32002), or an empty text. None is an error, except for the
    agents that are known to need an empty text before they create a file."""
    terminal_login: bool = False
    """Whether the agent may offer logins that run its program on the terminal of this process."""


@dataclass(frozen=True)
class Serving:
    """The services of one connection: an offer, and the callbacks of the user.

    A `permission` that is a `Policy` also judges the requests for files and terminals; with any other callback, and
    with none, they are served inside the session's directories.
    """

    offer: Offer = field(default_factory=Offer)
    permission: PermissionCallback | None = None
    elicit: ElicitCallback | None = None

    @property
    def capabilities(self) -> ClientCapabilities:
        """The capabilities for the handshake."""
        return ClientCapabilities(
            read_files=bool(self.offer.files),
            write_files=bool(self.offer.files),
            terminals=self.offer.terminals,
            elicit_form=self.elicit is not None,
            elicit_url=self.elicit is not None,
            notices=True,
            compaction=True,
            toggles=True,
            terminal_login=self.offer.terminal_login,
            meta={ORIGINAL: True},
        )


class Services:
    def __init__(self, session: Session, serving: Serving) -> None:
        self._session = session
        self._serving = serving
        self._offer = offer = serving.offer
        self._workspace: Workspace | None = None
        self._terminals = ClientTerminals(self._place, session._apply, pty=offer.pty)
        self._questions = OpenQuestions()
        self._is_warned = False
        session._on_cancel = self._questions.cancel
        policy = serving.permission if isinstance(serving.permission, Policy) else None
        self._requests = MachineRequests(session, policy, self._questions, self._place)
        self._consent = None if policy is None else policy._consent(session)
        if self._consent is not None:
            session.listen(self._consent.on_event)

    async def serve(self, request: Any) -> Any:
        """The answer to a request of the agent.

        Raises:
            RequestError: The error to answer.
        """
        self._session._late.release()
        try:
            return await self._SERVERS[type(request)](self, request)
        except WorkspaceError as error:
            raise RequestError(str(error), {"path": error.path} if error.path else None, code=error.code) from error

    async def close(self) -> None:
        """End everything that was started for the agent."""
        self._questions.cancel()
        await self._terminals.close()

    def _place(self) -> Workspace:
        if self._workspace is None:
            if callable(self._offer.files):
                self._workspace = self._offer.files(self._session)
            else:
                missing = self._offer.missing_file or quirks_of(self._session._agent.info).missing_file
                self._workspace = Workspace(self._session._roots, missing=missing)
        return self._workspace

    async def _read_file(self, request: ReadFile) -> FileRead:
        self._need(self._offer.files, "fs/read_text_file")
        allowed = await self._requests.check(request)
        text = await self._place().read_text(request.path, request.line, request.limit, expected=allowed)
        self._requests.served(request)
        return FileRead(text)

    async def _write_file(self, request: WriteFile) -> Done:
        self._need(self._offer.files, "fs/write_text_file")
        allowed = await self._requests.check(request)
        await self._place().write_text(request.path, request.content, expected=allowed)
        self._requests.served(request)
        return Done()

    async def _start_terminal(self, request: StartTerminal) -> Any:
        self._need(self._offer.terminals, "terminal/create")
        cwd = request.cwd or str(self._place().roots[0])
        # Decided once, before the rules, so that the judged command is the one that runs. Without waiting: a prompt
        # that is sent meanwhile would make a request from before it one of its turn.
        program, *args = command_argv(request.command, request.args, cwd, dict(request.env))
        request = msgspec.structs.replace(request, command=program, args=args)
        started = await self._terminals.start(request, await self._requests.check(request))
        self._requests.served(request)
        return started

    async def _permission(self, request: RequestPermission) -> PermissionGiven:
        claims = (lambda _: None) if self._consent is None else self._consent.claims
        question = permission_question(self._session, request, claims)
        if self._serving.permission is None and not self._is_warned:
            self._is_warned = True
            log.warning("the agent asks for permission, and is refused: accord.connect was given no `permission=`")
        if self._serving.permission is None or self._session._is_cancelling:
            return PermissionGiven(None)
        if not question.options:
            self._session._apply(unanswerable(question))
            return PermissionGiven(None)
        with self._asked(question.options):
            answer = await self._questions.call(self._serving.permission, question)
        return permission_given(question, answer)

    async def _elicit(self, request: ElicitForm | ElicitUrl) -> Elicited:
        if self._serving.elicit is None:
            raise InvalidParams("This client declared no elicitation", {"field": "mode", "expected": "no elicitation"})
        if self._session._is_cancelling:
            return Elicited("cancel")
        with self._asked(()):
            answer = await self._questions.call(self._serving.elicit, elicit_question(self._session, request))
        return elicited(answer)

    @contextlib.contextmanager
    def _asked(self, options: Sequence[PermissionOption]) -> Iterator[None]:
        """The time in which the user is asked.

        A question that another client of the session answered is withdrawn; a notice says which answer counts.
        """
        try:
            with self._session._while_agent_waits():
                yield
        except asyncio.CancelledError as withdrawn:
            notice = answered_elsewhere(withdrawn, options)
            if notice is not None:
                self._session._apply(notice)
            raise

    def _need(self, offered: object, method: str) -> None:
        if not offered:
            raise MethodNotFound("This client does not offer that", {"method": method})

    _SERVERS: ClassVar[dict[type[Any], Callable[[Any, Any], Any]]] = {
        ReadFile: _read_file,
        WriteFile: _write_file,
        StartTerminal: _start_terminal,
        ReadTerminal: lambda self, request: self._terminals.read(request),
        AwaitTerminal: lambda self, request: self._terminals.wait(request),
        KillTerminal: lambda self, request: self._terminals.kill(request),
        ReleaseTerminal: lambda self, request: self._terminals.release(request),
        RequestPermission: _permission,
        ElicitForm: _elicit,
        ElicitUrl: _elicit,
    }


def unknown_session(session_id: str) -> ResourceNotFound:
    """-32002 for a session that this client does not have."""
    return ResourceNotFound("There is no such session", {"sessionId": session_id})


class MachineRequests:
    """Requests of an agent that touch this machine: each is judged by the policy before anything is done.

    They carry no id of a tool call. The policy judges the real path of the request, and the operation is bound to that
    path: if the path resolves differently by then, it is refused. Without a policy everything inside the session's
    directories is served.
    """

    def __init__(
        self,
        session: Session,
        policy: Policy | None,
        questions: OpenQuestions,
        workspace: Callable[[], Workspace],
    ) -> None:
        self._session = session
        self._policy = policy
        self._questions = questions
        self._workspace = workspace
        self._describing = asyncio.Lock()

    async def check(self, request: MachineRequest) -> Path | None:
        """The real path that the request may use; None without a policy.

        Raises:
            PermissionDenied: The policy denies it.
            WorkspaceError: It leads out of the session's directories.
        """
        if self._policy is None:
            return None
        # Resolving the path takes time, in which a prompt may be sent: an earlier request is not part of its turn.
        turn, workspace = self._session.running_turn, self._workspace()
        spelled = str(request.cwd or workspace.roots[0]) if isinstance(request, StartTerminal) else request.path
        real = await workspace.real_path(spelled)
        subject = self._subject(request, real, spelled)
        question, policy = replace(self._question(request, spelled), turn=turn), self._policy
        change_of = partial(self._change, request) if isinstance(request, WriteFile) else None
        with self._session._while_agent_waits():
            allowed = await self._questions.call(
                lambda each: policy._permits(each, subject, self._described, change_of), question
            )
        if allowed is not True:
            raise PermissionDenied(_SCOPES[type(request)])
        return real

    def served(self, request: MachineRequest) -> None:
        """Report that the request was executed; one that was allowed may still fail."""
        if self._policy is not None:
            self._policy._served(request)

    def _subject(self, request: MachineRequest, real: Path, spelled: str) -> Subject:
        assert self._policy is not None  # noqa: S101 - `check` asked for it
        resolver = self._policy._consent(self._session).resolver
        if isinstance(request, StartTerminal):
            return resolver.of_command([request.command, *request.args], str(real), request.env)
        return resolver.of_file(_KINDS[type(request)], str(real), spelled)

    def _question(self, request: MachineRequest, spelled: str) -> PermissionQuestion:
        if isinstance(request, StartTerminal):
            command = CommandSubject(shlex.join([request.command, *request.args]), spelled)
            title = f"The agent starts a command {UNASKED}"
            return PermissionQuestion(self._session, title, OPTIONS, None, command, request=request)
        kind = _KINDS[type(request)]
        title = f"The agent {'writes' if kind == 'edit' else 'reads'} a file {UNASKED}"
        call = ToolCall("", kind=kind, locations=[Location(spelled)])
        return PermissionQuestion(self._session, title, OPTIONS, call, request=request)

    @contextlib.asynccontextmanager
    async def _described(self, question: PermissionQuestion) -> AsyncIterator[PermissionQuestion]:
        """The question with the change to the file. One at a time: each of many requests may be as large as a file."""
        async with self._describing:
            request, call = question.request, question.tool
            if isinstance(request, WriteFile) and call is not None:
                change = await self._change(request)
                question = replace(question, tool=replace(call, content=[Diff([change])]))
                if change.operation == REPLACED:
                    question = replace(question, title=f"{question.title}, over one that cannot be shown")
            yield question

    async def _change(self, request: WriteFile) -> FileChange:
        """The change to the file as it is now; `REPLACED` where there is one that cannot be shown."""
        try:
            present = await self._workspace().read_text(request.path)
        except NoSuchFile:
            return FileChange(request.path, None, request.content)
        except WorkspaceError:
            return FileChange(request.path, None, request.content, REPLACED)
        if len(present) > MAX_SHOWN_CHARACTERS:
            return FileChange(request.path, None, request.content, REPLACED)
        return FileChange(request.path, present, request.content)
