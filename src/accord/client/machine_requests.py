"""Requests of an agent that touch this machine: each is judged by the policy before anything is done.

They carry no id of a tool call. The policy judges the real path of the request, and the operation is bound to that
path: if the path resolves differently by then, it is refused. Without a policy everything inside the session's
directories is served.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from accord.client.consent import REPLACED
from accord.client.policy import Policy
from accord.client.question import MachineRequest, OpenQuestions, PermissionQuestion
from accord.client.session import Session
from accord.errors import PermissionDenied
from accord.session.agent_requests import CommandSubject, ReadFile, StartTerminal, WriteFile
from accord.session.entry import ToolCall
from accord.session.option import PermissionOption
from accord.session.rules import Subject
from accord.session.tool import Diff, FileChange, Location
from accord.workspace import NoSuchFile, Workspace, WorkspaceError

__all__ = ["MachineRequests"]

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
_KINDS: dict[type[MachineRequest], str] = {ReadFile: "read", WriteFile: "edit", StartTerminal: "execute"}


class MachineRequests:
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
            PermissionDenied: The policy denies it. WorkspaceError: It leads out of the session's directories.
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

    def _subject(self, request: MachineRequest, real: Path, spelled: str) -> Subject:
        assert self._policy is not None  # noqa: S101 - `check` asked for it
        resolver = self._policy._consent(self._session).resolver
        if isinstance(request, StartTerminal):
            return resolver.of_command([request.command, *request.args], str(real), request.env)
        return resolver.of_file(_KINDS[type(request)], str(real), spelled)

    def _question(self, request: MachineRequest, spelled: str) -> PermissionQuestion:
        if isinstance(request, StartTerminal):
            command = CommandSubject(shlex.join([request.command, *request.args]), spelled)
            title = "The agent starts a command without having asked"
            return PermissionQuestion(self._session, title, OPTIONS, None, command, request=request)
        kind = _KINDS[type(request)]
        title = f"The agent {'writes' if kind == 'edit' else 'reads'} a file without having asked"
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
