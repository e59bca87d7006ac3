"""Diffs in v2: changes and a patch, which tells the core's texts; they are kept beside for ears that are ours."""

from typing import Any

from accord.protocol import v2
from accord.protocol.model import UNSET, Unknown
from accord.session.git_patch import operation_of, read_patch, write_patch
from accord.session.original import DiffOriginal, TextsOriginal, keep, recall
from accord.session.presence import given, told
from accord.session.tool import Diff, FileChange

__all__ = ["diff_in", "diff_out"]

SINGLE: dict[str, type[v2.AddChange | v2.DeleteChange | v2.ModifyChange]] = {
    "add": v2.AddChange,
    "delete": v2.DeleteChange,
    "modify": v2.ModifyChange,
}
PAIRED: dict[str, type[v2.MoveChange | v2.CopyChange]] = {"move": v2.MoveChange, "copy": v2.CopyChange}
FORMAT = "git_patch"


def diff_out(diff: Diff) -> v2.Diff:
    """A diff with a patch: the agent's own, or one made from the texts."""
    changes = [_change_out(change) for change in diff.changes]
    if diff.patch is not None:
        return v2.Diff(changes, v2.DiffPatch(diff.patch_format, diff.patch), diff.meta or UNSET)
    made = write_patch(diff.changes)
    if made is None:
        return v2.Diff(changes, UNSET, diff.meta or UNSET)
    return v2.Diff(changes, v2.DiffPatch(FORMAT, made), given(keep(diff.meta, DiffOriginal(made=True))))


def _change_out(change: FileChange) -> v2.DiffChange:
    operation = operation_of(change)
    if change.payload is not None:
        return Unknown(operation, change.payload)
    texts = TextsOriginal(change.old, change.new)
    more: dict[str, Any] = {
        "file_type": given(change.file_type),
        "mime_type": given(change.mime_type),
        "meta": given(keep(change.meta, texts if texts != TextsOriginal() else None)),
    }
    if operation in PAIRED and change.old_path is not None:
        return PAIRED[operation](change.old_path, change.path, **more)
    if operation in SINGLE:
        return SINGLE[operation](change.path, **more)
    if operation in PAIRED:
        # Where it came from is not known: what is, is that it is there now.
        return v2.AddChange(change.path, **more)
    return Unknown(operation, {"operation": operation, "path": change.path, "_meta": more["meta"] or {}})


def diff_in(diff: v2.Diff) -> Diff:
    """A diff with texts: those that were kept, else what the patch shows of them."""
    meta, original = recall(diff.meta, DiffOriginal)
    patch = diff.patch or None
    shown = read_patch(patch.text) if patch is not None and patch.format == FORMAT else {}
    changes = [_change_in(change, shown) for change in diff.changes]
    if patch is None or (original is not None and original.made):
        return Diff(changes, meta=meta)
    return Diff(changes, patch.text, patch.format, meta)


def _change_in(change: v2.DiffChange, shown: dict[str, tuple[str | None, str | None]]) -> FileChange:
    if isinstance(change, Unknown):
        path = change.payload.get("path")
        return FileChange(path if isinstance(path, str) else "", operation=change.tag, payload=change.payload)
    meta, texts = recall(change.meta, TextsOriginal)
    old, new = (texts.old, texts.new) if texts is not None else shown.get(change.path, (None, None))
    return FileChange(
        change.path,
        old,
        new,
        str(type(change).__struct_config__.tag),
        change.old_path if isinstance(change, v2.DiffPathPairChange) else None,
        told(change.file_type),
        told(change.mime_type),
        meta,
    )
