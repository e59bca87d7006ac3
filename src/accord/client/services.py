"""The services of a client for its agent: files and terminals of the session, the user's callbacks, and workarounds."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec

from accord.client.machine_requests import MachineRequests
from accord.client.policy import Policy
from accord.client.question import (
    ElicitCallback,
    OpenQuestions,
    PermissionCallback,
    answered_elsewhere,
    elicit_question,
    elicited,
    permission_given,
    permission_question,
    unanswerable,
)
from accord.client.session import Session
from accord.client.terminals import ClientTerminals
from accord.errors import InvalidParams, MethodNotFound, RequestError, ResourceNotFound
from accord.session.agent_requests import (
    AwaitTerminal,
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
from accord.session.meta_original import ORIGINAL
from accord.session.option import PermissionOption
from accord.workspace import Workspace, WorkspaceError
from accord.workspace.launch import command_argv

__all__ = ["Offer", "Quirks", "Services", "Serving", "WorkspaceFactory", "quirks_of"]


@dataclass(frozen=True, slots=True)
class Quirks:
    """The deviations of one agent; the defaults are the protocol."""

    missing_file: Literal["empty", "error"] = "error"
    """The answer to a read of a file that is not there."""


_NONE = Quirks()
_QUIRKS = {
    # Reads a file before it creates it, and gives up where that is an error (0.9 and later).
    "gemini-cli": Quirks(missing_file="empty"),
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
        return FileRead(await self._place().read_text(request.path, request.line, request.limit, expected=allowed))

    async def _write_file(self, request: WriteFile) -> Done:
        self._need(self._offer.files, "fs/write_text_file")
        allowed = await self._requests.check(request)
        await self._place().write_text(request.path, request.content, expected=allowed)
        return Done()

    async def _start_terminal(self, request: StartTerminal) -> Any:
        self._need(self._offer.terminals, "terminal/create")
        cwd = request.cwd or str(self._place().roots[0])
        # Decided once, before the rules, so that the judged command is the one that runs. Without waiting: a prompt
        # that is sent meanwhile would make a request from before it one of its turn.
        program, *args = command_argv(request.command, request.args, cwd, dict(request.env))
        request = msgspec.structs.replace(request, command=program, args=args)
        return await self._terminals.start(request, await self._requests.check(request))

    async def _permission(self, request: RequestPermission) -> PermissionGiven:
        claims = (lambda _: None) if self._consent is None else self._consent.claims
        question = permission_question(self._session, request, claims)
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
