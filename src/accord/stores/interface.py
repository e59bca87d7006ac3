"""The interface of every store, and the types of its results."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol, runtime_checkable

import msgspec

from accord.protocol.model import UNSET, Maybe, UnsetType
from accord.session.event import Event

__all__ = [
    "DRAFT",
    "IS_DRAFT",
    "PAGE_BYTES",
    "PAGE_EVENTS",
    "SessionPage",
    "SessionRecord",
    "Store",
    "clamped_time",
    "date_of",
    "is_draft",
]

PAGE_EVENTS = 512
PAGE_BYTES = 256 * 1024
DRAFT = "\x01draft:"
"""The beginning of the id of a draft. With a control character: no agent and no user names a session so."""
IS_DRAFT = f"(id >= '{DRAFT}' AND id < '{DRAFT[:-1]};')"
"""The same in SQL, for both databases and their index of ids; `;` follows the last character of `DRAFT`."""


def is_draft(session_id: str) -> bool:
    """Whether it is the id of a draft: see `Store`."""
    return session_id.startswith(DRAFT)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The first and the last second that a date can express: those of the years 1 and 9999.
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800.0, 253_402_300_799.0


def clamped_time(seconds: float) -> float:
    """The nearest time that a date can express; 0 for NaN."""
    return 0.0 if seconds != seconds else float(min(max(seconds, _FIRST_SECOND), _LAST_SECOND))  # noqa: PLR0124


def date_of(seconds: float) -> datetime:
    """The date of a time in seconds since 1970, in UTC; of any number."""
    return _EPOCH + timedelta(seconds=clamped_time(seconds))


class SessionRecord(msgspec.Struct, frozen=True):
    """The facts about a session that need no reading of its log.

    Times are seconds since 1970 (UTC) and always the caller's: a store reads no clock. One that no date can express is
    clamped, wherever a record is made: a file or a clock may be wrong. `cwd` and `roots` never change.
    `events` is the length of the log, which the store counts; a caller's value is ignored. `principal` is the user of
    a server to whom the session belongs, "" where there is only one; it never changes either.
    """

    id: str
    cwd: str
    created_at: float
    updated_at: float
    title: str | None = None
    roots: tuple[str, ...] = ()
    events: int = 0
    principal: str = ""

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "created_at", clamped_time(self.created_at))
        msgspec.structs.force_setattr(self, "updated_at", clamped_time(self.updated_at))


class SessionPage(msgspec.Struct, frozen=True):
    """Some sessions, newest first; `next_cursor` is None at the end.

    `left_out` has the ids of those whose record cannot be read: one of them does not end the list.
    """

    records: list[SessionRecord]
    next_cursor: str | None = None
    left_out: list[str] = []


@runtime_checkable
class Store(Protocol):
    """Keeps sessions: for each a record, an append-only log of events, and the author's state.

    A log is numbered from 1 without gaps; the number of an event is its *position*. Every write appends at the end.

    A session has at most one *owner*: the process that acquired it, until it releases it, closes the store or dies. The
    owner alone may write: `append`, `commit`, `patch` and `delete` of every other process fail with `in_use`. A session
    without an owner may be written by every process. Reading, listing and copying need no owner. A process that
    acquired a session and lost it, because it was deleted and made again, cannot write to it (`not_owned`). A store may
    refuse so too after a commit whose result it does not know. An agent releases and acquires a session again after
    each commit that failed, before it writes anything else: what was sent for the earlier claim must do nothing then,
    however late it arrives.

    A session whose id begins with `DRAFT` (`accord.stores.is_draft`) is a *draft*: a session that is being copied, and
    not whole yet. `get`, `exists` and `list_sessions` pass over it until `publish` gives it its own id. All other
    methods take it as any session.

    All calls of one store take effect in the order in which they were made. Every call raises `StoreError`, whose
    `reason` says why: `unknown_session` where the session must exist, `closed` after `close`, and the failures of the
    storage itself. `accord.stores.check_store` proves that an implementation keeps the promises of this interface.
    """

    async def create(self, record: SessionRecord, *, owned: bool = False) -> None:
        """Keep a new session with an empty log; `session_exists` where the id is taken.

        With `owned` it is acquired in the same step: no other process can come between.
        """
        ...

    async def acquire(self, session_id: str) -> bool:
        """Make this process the owner of the session; `in_use` where another process that is alive owns it.

        A process may acquire a session several times, from any of its stores, and must release it as often. True says
        that nothing in this process had it open before: then work that the log shows as unfinished was interrupted. The
        sessions of a process that died are free at once. A call that is cancelled acquires nothing.
        """
        ...

    async def release(self, session_id: str) -> None:
        """Undo one `acquire` of this store, after all queued events are committed; without one this does nothing."""
        ...

    async def get(self, session_id: str) -> SessionRecord | None:
        """The session's record, or None where there is no such session."""
        ...

    async def exists(self, session_id: str) -> bool:
        """Whether there is such a session."""
        ...

    async def patch(
        self,
        session_id: str,
        *,
        title: Maybe[str] = UNSET,
        updated_at: float | UnsetType = UNSET,
        state: Maybe[bytes] = UNSET,
    ) -> None:
        """Change the given fields, all or none; `UNSET` keeps, None clears."""
        ...

    async def state(self, session_id: str) -> bytes | None:
        """The author's own state, as it was last patched."""
        ...

    def queue(self, session_id: str, events: Sequence[Event]) -> int:
        """Append events behind all that were queued before; returns at once, with a ticket for `commit`.

        The events may be changed afterwards. They are kept with the next commit of any caller, at the latest at
        `close`, or earlier where many are waiting. An event that cannot be encoded raises here (`unwritable`), and then
        none of them is queued; every other failure is raised by `commit`.
        """
        ...

    async def commit(self, session_id: str, ticket: int) -> None:
        """Return when everything that was queued for the session up to `ticket` survives the death of this process.

        All events that wait at the same time are committed together, also for other sessions. When a commit fails,
        nothing of it is kept, and nothing that is queued for its sessions from then on, until a `commit`, an `append`
        or a `flush` has raised that: a log has no holes that were not reported. Cancelling the caller withdraws
        nothing.
        """
        ...

    async def flush(self) -> None:
        """Commit all that is queued; raises the first failure that was not reported yet."""
        ...

    async def append(self, session_id: str, events: Sequence[Event]) -> int:
        """Queue and commit; returns the position of the last event of the log."""
        ...

    async def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Event]:
        """The events behind position `after`, in order, including those queued before this call.

        The first has the position `after + 1`.
        """
        ...

    async def read_page(self, session_id: str, after: int = 0) -> list[Event]:
        """The next events behind position `after`, as many as fit into a page; none at the end of the log.

        A page has at most `PAGE_EVENTS` events, and about `PAGE_BYTES` of text unless its first event is larger.
        """
        ...

    async def list_sessions(
        self,
        *,
        cwd: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
        unprompted: bool = True,
        principal: str | None = None,
    ) -> SessionPage:
        """One page of the sessions, the last updated first, of exactly that `cwd` and `principal` where one is given.

        Without `unprompted`, a session whose log has no message of the user is listed only while a process owns it.

        `cursor` is the `next_cursor` of the page before, never anything else (`bad_cursor`). Sessions that are created
        or deleted meanwhile move nothing: none is listed twice, and none is missed but those whose `updated_at` was
        moved meanwhile.
        """
        ...

    async def fork(self, session_id: str, record: SessionRecord, *, owned: bool = False) -> None:
        """Create a session with a copy of the log, including queued events, and of the state.

        From then on the two are independent. `owned` is about the copy; the source may have any owner.
        """
        ...

    async def publish(self, draft_id: str, session_id: str) -> None:
        """Give a draft its own id, in one step: then it is a session like any other, and has no owner.

        `session_exists` where the id was taken meanwhile; the draft stays what it is then.
        """
        ...

    async def delete(self, session_id: str) -> None:
        """Delete the session, its log and its state. Without such a session this does nothing."""
        ...

    async def prune_unprompted(self, before: float) -> list[str]:
        """Delete the sessions without a prompt and an owner whose `updated_at` is earlier; returns their ids.

        Events that were queued before this call count. Drafts without an owner are deleted too, and not among the ids.
        """
        ...

    async def close(self) -> None:
        """Commit the queued events, release the sessions of this store and close it; may be called again.

        Raises the exceptions of `flush`, and is closed also then.
        """
        ...
