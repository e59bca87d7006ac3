"""Files bounded to roots, and commands that leave no process behind; for agents and clients.

The protocol is not known here: no session, no terminal id, no message. Its exceptions are `WorkspaceError`s, whose
`code` is the JSON-RPC code for the other side. Each half is imported when it is first used: reading a file does not
import the code for processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.lazy import lazy_exports
from accord.workspace.errors import (
    AccessDenied as AccessDenied,
    FileFailed as FileFailed,
    FileTooLarge as FileTooLarge,
    InvalidPath as InvalidPath,
    NoSuchFile as NoSuchFile,
    NotADirectory as NotADirectory,
    NotAFile as NotAFile,
    NotText as NotText,
    PathChanged as PathChanged,
    PathOutsideRoots as PathOutsideRoots,
    StartFailed as StartFailed,
    WorkspaceError as WorkspaceError,
)

if TYPE_CHECKING:
    from accord.workspace.commands import (
        CommandResult as CommandResult,
        RunningCommand as RunningCommand,
        run_command as run_command,
        start_command as start_command,
    )
    from accord.workspace.disk import (
        Disk as Disk,
    )
    from accord.workspace.files import (
        Workspace as Workspace,
    )
    from accord.workspace.launch import (
        TerminalSize as TerminalSize,
    )
    from accord.workspace.output import (
        CommandOutput as CommandOutput,
        Exit as Exit,
    )

    __all__: list[str]
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "accord.workspace.commands": "CommandResult RunningCommand run_command start_command",
            "accord.workspace.disk": "Disk",
            "accord.workspace.files": "Workspace",
            "accord.workspace.launch": "TerminalSize",
            "accord.workspace.output": "CommandOutput Exit",
        },
        eager=[
            "AccessDenied",
            "FileFailed",
            "FileTooLarge",
            "InvalidPath",
            "NoSuchFile",
            "NotADirectory",
            "NotAFile",
            "NotText",
            "PathChanged",
            "PathOutsideRoots",
            "StartFailed",
            "WorkspaceError",
        ],
    )
