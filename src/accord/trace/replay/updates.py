"""Comparison of the updates of a session: chunks are joined first, because no two runs cut them alike."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from accord.trace.format import AGENT
from accord.trace.replay.conversation import RecordedConversation
from accord.trace.replay.differences import IdMap, differences
from accord.trace.replay.report import Deviation, ReplayReport

__all__ = ["compare_updates", "joined_chunks"]


def compare_updates(
    conversation: RecordedConversation,
    live: Mapping[str, Sequence[Any]],
    ids: IdMap,
    ignore: Collection[str],
    report: ReplayReport,
) -> None:
    """Report how the updates of each session differ from the recorded ones."""
    recorded: dict[str, list[Any]] = {ids.recorded_session(session): [] for session in live}
    for step in conversation.of_side(AGENT, "notification"):
        if step.method == "session/update" and isinstance(step.body, dict):
            recorded.setdefault(step.session, []).append(step.body.get("update"))
    by_recorded = {ids.recorded_session(session): ids.recorded(list(updates)) for session, updates in live.items()}
    for session, updates in recorded.items():
        _compare(joined_chunks(updates), joined_chunks(by_recorded.get(session, [])), ignore, report)


def joined_chunks(updates: Sequence[Any]) -> list[dict[str, Any]]:
    """The updates, with the chunks of one message that follow each other as one."""
    runs: list[tuple[dict[str, Any], list[str]]] = []
    """Each update, and the texts of the chunks that are one with it."""
    for update in updates:
        if not isinstance(update, dict):
            continue
        text = _text_of(update)
        if text is not None and runs and runs[-1][1] and _key(runs[-1][0]) == _key(update):
            runs[-1][1].append(text)
        else:
            runs.append((update, [] if text is None else [text]))
    # Joined once: a turn may have a hundred thousand chunks.
    return [
        {**update, "content": {**update["content"], "text": "".join(texts)}} if len(texts) > 1 else update
        for update, texts in runs
    ]


def _compare(
    recorded: list[dict[str, Any]], live: list[dict[str, Any]], ignore: Collection[str], report: ReplayReport
) -> None:
    matcher = SequenceMatcher(None, list(map(_key, recorded)), list(map(_key, live)), autojunk=False)
    for tag, left, left_end, right, right_end in matcher.get_opcodes():
        if tag == "equal":
            for before, after in zip(recorded[left:left_end], live[right:right_end], strict=True):
                report.matched += 1
                found = differences(before, after, ignore)
                if found:
                    report.add(Deviation("changed", AGENT, f"session/update {_key(before)}", None, tuple(found)))
            continue
        for update in recorded[left:left_end]:
            report.add(Deviation("missing", AGENT, f"session/update {_key(update)}"))
        for update in live[right:right_end]:
            report.add(Deviation("extra", AGENT, f"session/update {_key(update)}"))


def _key(update: dict[str, Any]) -> str:
    kind = str(update.get("sessionUpdate"))
    details = [str(update[key]) for key in ("status", "state") if isinstance(update.get(key), str)]
    return " ".join([kind, *details])


def _text_of(update: dict[str, Any]) -> str | None:
    content = update.get("content")
    if not str(update.get("sessionUpdate")).endswith("_chunk") or not isinstance(content, dict):
        return None
    text = content.get("text")
    return text if isinstance(text, str) else None
