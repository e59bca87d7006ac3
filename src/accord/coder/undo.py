"""`/undo`: puts the files back that the last turn changed, from the patches that were kept of it.

A file is put back only from the very text that its turn left, inside the session's directories, and as every change:
with its diff, and asked for. If one file is not as the turn left it, nothing is touched.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from accord.agent import ToolFailed, Turn
from accord.coder.file_changes import ChangeLog, FilePatch, digest, take_back
from accord.coder.permission import NotAllowed, PermissionGate
from accord.errors import RequestError
from accord.workspace import NoSuchFile, WorkspaceError


class NotUndone(Exception):
    """A turn's changes cannot be undone; the text says why, for the user."""


@dataclass(frozen=True, slots=True)
class _Reverse:
    """The reverse of one file's changes: the text that is there now, and the one before the turn, None for no file."""

    path: str
    now: str
    before: str | None


async def undo(
    turn: Turn, gate: PermissionGate, changes: ChangeLog, on_put_back: Callable[[Sequence[str]], Awaitable[None]]
) -> list[str]:
    """Undo the changes of the last turn that changed files; the paths that were put back.

    Each is shown as a diff and asked for. A file that the user refuses stays as it is, and can be undone later.
    `on_put_back` gets the paths so far as soon as a file is put back and no longer among the changes.

    Raises:
        NotUndone: There is nothing to undo, or a file is not as that turn left it: then nothing is touched.
    """
    if not changes.turns:
        raise NotUndone("There is nothing to undo: no turn has changed a file.")
    changes.is_begun = False
    last = changes.turns[-1]
    if not last.is_complete:
        changes.turns.pop()
        raise NotUndone("The last changes were too large to be kept, so they cannot be undone.")
    by_path: dict[str, list[FilePatch]] = {}
    for patch in last.patches:
        by_path.setdefault(patch.path, []).append(patch)
    reverses = [await _reverse(turn, path, patches) for path, patches in by_path.items()]
    done: list[str] = []
    for reverse in reverses:
        if await _put_back(turn, gate, reverse):
            done.append(reverse.path)
            last.patches = [patch for patch in last.patches if patch.path != reverse.path]
            if not last.patches:
                changes.turns.pop()
            await on_put_back(done)
    return done


async def _reverse(turn: Turn, path: str, patches: list[FilePatch]) -> _Reverse:
    name = short_name(turn, path)
    try:
        now = await _present(turn, path)
    except (WorkspaceError, RequestError) as error:
        raise NotUndone(f"I undid nothing: {name} cannot be read: {_reason(error)}.") from error
    text: str | None = now
    for patch in reversed(patches):
        if text is None or digest(text) != patch.after:
            raise NotUndone(f"I undid nothing: {name} is not as that turn left it.")
        try:
            text = None if patch.before is None else take_back(patch.patch, text)
        except ValueError:
            text = None
        if patch.before is not None and (text is None or digest(text) != patch.before):
            raise NotUndone(f"I undid nothing: the kept patch of {name} does not fit its text.")
    return _Reverse(path, now or "", text)


async def _put_back(turn: Turn, gate: PermissionGate, reverse: _Reverse) -> bool:
    name = short_name(turn, reverse.path)
    is_new = reverse.before is None
    shown = turn.tool(
        f"Undo the change of {name}", kind="delete" if is_new else "edit", status="pending", locations=[reverse.path]
    )
    async with shown:
        await shown.diff(reverse.path, reverse.now, reverse.before)
        try:
            await gate.permit(shown)
            # The user may have taken a while.
            if await _present(turn, reverse.path) != reverse.now:
                raise ToolFailed(f"{name} was changed meanwhile")
            if reverse.before is None:
                await turn.session.workspace.delete_file(reverse.path)
            else:
                await turn.files.write(reverse.path, reverse.before)
        except NotAllowed as refusal:
            if refusal.by_rule:
                raise ToolFailed(str(refusal)) from None
            return False
        except (WorkspaceError, RequestError) as error:
            raise ToolFailed(f"{name}: {_reason(error)}") from error
        await shown.complete()
    return not shown.failed


async def _present(turn: Turn, path: str) -> str | None:
    try:
        return await turn.files.read(path)
    except NoSuchFile:
        return None


def _reason(error: WorkspaceError | RequestError) -> str:
    """Why a file could not be read or written, here or by the client."""
    return error.message if isinstance(error, RequestError) else str(error)


def short_name(turn: Turn, path: str) -> str:
    """A path as the user reads it: from the session's directory where it lies in that."""
    inside = os.path.relpath(path, turn.session.cwd)
    return path if inside.startswith("..") else inside
