"""Downgrading: the closest shape in v1 and June for a value that they cannot express, and how a decoder restores it.

Everything here works on the core's own types. `downgrade_…` gives a value that the older editions can write, with the
original beside it in `_meta`; `restore_…` undoes it.
"""

from collections.abc import Callable

import msgspec

from accord.protocol.model import UNSET, Unknown, UnsetType
from accord.session.content import Block, Text
from accord.session.custom import Custom
from accord.session.event import Noticed, PlanChanged, PlanEntry, ToolChanged
from accord.session.git_patch import operation_of, read_patch
from accord.session.meta_original import (
    ChangeOriginal,
    EntryOriginal,
    ItemOriginal,
    MessageOriginal,
    NoticeOriginal,
    PlanOriginal,
    ToolOriginal,
    UnknownOriginal,
    keep,
    present,
    recall,
)
from accord.session.tool import Diff, FileChange, Shown, ToolContent

__all__ = [
    "JoinedPlans",
    "downgrade_block",
    "downgrade_diff",
    "downgrade_entry",
    "downgrade_notice",
    "downgrade_open_entry",
    "downgrade_open_status",
    "downgrade_status",
    "restore_block",
    "restore_diff",
    "restore_entry",
    "restore_notice",
    "restore_plan",
    "restore_shown",
    "restore_tool",
    "with_explicit_nulls",
]

FURTHER_STATUSES = {"paused": "in_progress", "cancelled": "failed"}
STATUSES = frozenset({"pending", "in_progress", "completed", "failed"})
ENTRY_STATUSES = frozenset({"pending", "in_progress", "completed"})
PRIORITIES = frozenset({"high", "medium", "low"})
_VERBS = {"add": "Added", "delete": "Deleted", "modify": "Changed", "move": "Moved", "copy": "Copied"}


def downgrade_open_status(status: str) -> str:
    """A tool call's status where further values are allowed, but two are not known yet."""
    return FURTHER_STATUSES.get(status, status)


def downgrade_status(status: str) -> str:
    """A tool call's status where there are four and no more; an unknown one counts as still in progress."""
    return status if status in STATUSES else FURTHER_STATUSES.get(status, "in_progress")


def with_explicit_nulls(event: ToolChanged) -> ToolChanged:
    """A report that restarts a known call, for editions in which only null clears a field."""
    cleared = {name: None for name in event.__struct_fields__ if getattr(event, name) is UNSET}
    return msgspec.structs.replace(event, **{**cleared, "cancellable": bool(event.cancellable)})


def restore_tool(event: ToolChanged, original: ToolOriginal, downgrade: Callable[[str], str]) -> ToolChanged:
    """The report before it was downgraded; `downgrade` is how the edition writes a status.

    A field of the original counts only where the report has what is written in its place: what an agent says to every
    other client is not taken back by an original.
    """
    meant = present(original)
    if event.kind != "other":
        meant.pop("kind", None)
    if event.status is UNSET or event.status != downgrade(meant.get("status", "")):
        meant.pop("status", None)
    for name in ("raw_input", "raw_output"):
        if getattr(event, name) is not UNSET:
            meant.pop(name, None)
    return msgspec.structs.replace(event, **meant)


def downgrade_block(value: Unknown) -> Text:
    """A line in place of a block or an item that a closed edition would drop with all that is around it."""
    original = ItemOriginal(unknown=UnknownOriginal(value.tag, value.payload))
    return Text(f"[{value.tag.strip('_') or 'unknown'}]", meta=keep(None, original))


def restore_block(block: Text) -> Block:
    """The block that was downgraded to a text; the text itself where it is no downgrade."""
    meta, original = recall(block.meta, ItemOriginal)
    if original is not None and original.unknown is not None:
        return Unknown(original.unknown.tag, original.unknown.payload)
    return msgspec.structs.replace(block, meta=meta) if meta is not block.meta else block


# ── diffs ──


def downgrade_diff(diff: Diff) -> list[ToolContent]:
    """A diff as items of one file each that have a new text, or as lines where texts are not known."""
    contents = read_patch(diff.patch) if diff.patch is not None and diff.patch_format == "git_patch" else {}
    items: list[ToolContent] = []
    for change in diff.changes:
        items += _downgrade_change(_with_contents(change, contents), diff.meta)
    return items


def _with_contents(change: FileChange, contents: dict[str, tuple[str | None, str | None]]) -> FileChange:
    if change.old is None and change.new is None and change.path in contents:
        old, new = contents[change.path]
        return msgspec.structs.replace(change, old=old, new=new)
    return change


def _downgrade_change(change: FileChange, meta: dict[str, object] | None) -> list[ToolContent]:
    operation = operation_of(change)
    gone = operation == "delete" and change.old is not None and change.new is None
    original = ChangeOriginal(
        operation=operation if operation != _implied(change) else None,
        old_path=change.old_path,
        file_type=change.file_type,
        mime_type=change.mime_type,
        gone=gone,
        payload=change.payload,
    )
    meta = {**(meta or {}), **(change.meta or {})} or None
    if change.new is None and not gone:
        original = msgspec.structs.replace(original, path=change.path, old=change.old, operation=operation)
        return [Shown(Text(_line(change)), meta=keep(meta, ItemOriginal(change=original)))]
    plain = FileChange(change.path, change.old, change.new or "")
    kept = keep(meta, ItemOriginal(change=original) if original != ChangeOriginal() else None)
    items: list[ToolContent] = [Diff([plain], meta=kept)]
    if change.old_path is not None:
        items.insert(0, Shown(Text(_line(change)), meta=keep(None, ItemOriginal(aside=True))))
    return items


def _implied(change: FileChange) -> str:
    return "add" if change.old is None else "modify"


def _line(change: FileChange) -> str:
    verb = _VERBS.get(change.operation, "Changed")
    return f"{verb} {change.old_path} to {change.path}" if change.old_path is not None else f"{verb} {change.path}"


def restore_diff(diff: Diff) -> Diff:
    """The diff that was downgraded to a path with two texts."""
    meta, original = recall(diff.meta, ItemOriginal)
    (change,) = diff.changes
    change = msgspec.structs.replace(change, operation=_implied(change))
    if original is not None and original.change is not None:
        change = _restore_change(change, original.change)
    return Diff([change], meta=meta)


def _restore_change(change: FileChange, original: ChangeOriginal) -> FileChange:
    # Only a file without a new text can be gone: a text that the report has is not taken back.
    is_gone = not change.new
    operation = Custom(original.operation or change.operation)
    return FileChange(
        change.path,
        change.old,
        None if original.gone and is_gone else change.new,
        operation if is_gone or operation != "delete" else change.operation,
        original.old_path,
        original.file_type,
        original.mime_type,
        payload=original.payload,
    )


def restore_shown(shown: Shown) -> list[ToolContent]:
    """The item that was downgraded to a block, else the block; an empty list where it only explains the next item."""
    meta, original = recall(shown.meta, ItemOriginal)
    if original is None:
        return [shown]
    if original.change is not None and original.change.path is not None:
        change = FileChange(original.change.path, original.change.old)
        return [Diff([_restore_change(change, original.change)], meta=meta)]
    if original.unknown is not None:
        return [Unknown(original.unknown.tag, original.unknown.payload)]
    return [] if original.aside else [Shown(shown.block, meta=meta)]


# ── plans ──


def downgrade_open_entry(entry: PlanEntry) -> PlanEntry:
    """A plan's entry where further values are allowed, but `cancelled` is not known yet."""
    return _with_original(entry, entry.status, entry.priority)


def downgrade_entry(entry: PlanEntry) -> PlanEntry:
    """A plan's entry where there are three statuses and three priorities."""
    status = entry.status if entry.status in ENTRY_STATUSES | {"cancelled"} else "pending"
    return _with_original(entry, status, entry.priority if entry.priority in PRIORITIES else "medium")


def _with_original(entry: PlanEntry, status: str, priority: str) -> PlanEntry:
    content = entry.content
    if status == "cancelled":
        status, content = "completed", f"{content} (cancelled)"
    original = EntryOriginal(
        _changed(entry.content, content), _changed(entry.status, status), _changed(entry.priority, priority)
    )
    if original == EntryOriginal():
        return entry
    return PlanEntry(content, Custom(status), Custom(priority), keep(entry.meta, original))


def _changed(meant: str, written: str) -> str | UnsetType:
    return meant if meant != written else UNSET


def restore_entry(entry: PlanEntry) -> PlanEntry:
    meta, original = recall(entry.meta, EntryOriginal)
    meant = present(original) if original is not None else {}
    return msgspec.structs.replace(entry, **meant, meta=meta)


class JoinedPlans:
    """All plans of a session, for an edition that has one: those with open entries joined, and the one that changed."""

    def __init__(self) -> None:
        self._plans: dict[str, list[PlanEntry]] = {}

    def join(self, event: PlanChanged) -> PlanChanged:
        """The joined plan to send, with the position of the changed one in it."""
        self._plans[event.id] = event.entries
        joined: list[PlanEntry] = []
        start = 0
        for plan_id, entries in self._plans.items():
            if plan_id == event.id:
                start = len(joined)
                joined += entries
            elif any(entry.status not in {"completed", "cancelled"} for entry in entries):
                joined += entries
        alone = event.id == "plan" and len(joined) == len(event.entries)
        original = None if alone else PlanOriginal(event.id, start, len(event.entries))
        return PlanChanged(joined, meta=keep(event.meta, original))


def restore_plan(plan: PlanChanged) -> PlanChanged:
    """The plan that changed, out of those that were joined."""
    meta, original = recall(plan.meta, PlanOriginal)
    if original is None:
        return PlanChanged(plan.entries, plan.id, meta)
    end = original.start + original.count
    return PlanChanged(plan.entries[original.start : end], original.id, meta)


# ── notices ──


def downgrade_notice(event: Noticed) -> tuple[Text, dict[str, object] | None]:
    """A notice as a message of the agent, and the metadata of that message."""
    label = event.severity.strip("_").capitalize() or "Notice"
    text = f"{label}: {event.title}" + (f"\n\n{event.description}" if event.description else "")
    original = NoticeOriginal(event.severity, event.title, event.description)
    return Text(text), keep(event.meta, MessageOriginal(notice=original))


def restore_notice(original: MessageOriginal | None, meta: dict[str, object] | None) -> Noticed | None:
    """The notice that was downgraded to a message."""
    if original is None or original.notice is None:
        return None
    return Noticed(original.notice.title, original.notice.severity, original.notice.description, meta)
