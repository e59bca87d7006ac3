"""Notices to the user, and the compaction of a long context."""

from typing import Literal, TypeAlias

from accord.protocol.model import UNSET, Lenient, Maybe, Metadata, NonEmpty, Sieved, Wire
from accord.protocol.v2.content import ContentBlock
from accord.protocol.v2.ids import CompactionId

NoticeSeverity: TypeAlias = Literal["info", "warning", "error"] | str


class Notice(Wire, tag_field="sessionUpdate", tag="notice"):
    """News for the user outside the transcript; may go unseen and is never replayed."""

    severity: NoticeSeverity
    title: NonEmpty[str]
    description: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


CompactionStatus: TypeAlias = Literal["in_progress", "completed", "failed", "cancelled"] | str


class CompactionUpdate(Wire, tag_field="sessionUpdate", tag="compaction_update"):
    """The first one for an id fixes its place in the history; later ones patch it."""

    compaction_id: CompactionId
    status: CompactionStatus
    summary: Lenient[Maybe[Sieved[list[ContentBlock]]]] = UNSET
    error: Lenient[Maybe[str]] = UNSET
    meta: Lenient[Maybe[Metadata]] = UNSET


class CompactionSummaryChunk(Wire, tag_field="sessionUpdate", tag="compaction_summary_chunk"):
    """One block to append to the summary, only while it is in progress."""

    compaction_id: CompactionId
    content: ContentBlock
    meta: Lenient[Maybe[Metadata]] = UNSET
