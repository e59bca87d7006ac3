"""The checker passes what keeps its promises (see the tests of each store) and says in a sentence what does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from accord.protocol.model import UNSET, Maybe, Omittable
from accord.session.event import Event
from accord.stores import MemoryStore, SessionPage, SessionRecord, Store, StoreCheckFailed, check, check_store
from accord.stores.interface import is_draft
from accord.stores.text import decode_cursor, encode_event


async def verdict(kind: type[MemoryStore], *, reopens: bool = False) -> str:
    async def make_store(_: str) -> Store:
        return kind()

    with pytest.raises(StoreCheckFailed) as caught:
        await check_store(make_store, reopens=reopens)
    return str(caught.value)


class ReversesGroups(MemoryStore):
    def queue(self, session_id: str, events: Sequence[Event]) -> int:
        return super().queue(session_id, events[::-1])


class ForgetsUnknown(MemoryStore):
    async def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Event]:
        return [event for event in await super().read(session_id, after, limit) if "Unknown" not in repr(event)]


class CountsFromZero(MemoryStore):
    async def append(self, session_id: str, events: Sequence[Event]) -> int:
        return await super().append(session_id, events) - 1


class ReadsOneEarly(MemoryStore):
    async def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Event]:
        return await super().read(session_id, max(after - 1, 0), limit)


class CountsNothing(MemoryStore):
    async def get(self, session_id: str) -> SessionRecord | None:
        return self._sessions[session_id].record if session_id in self._sessions else None


class KeepsTheCallersEvents(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.log: dict[str, list[Event]] = {}

    def queue(self, session_id: str, events: Sequence[Event]) -> int:
        self.log.setdefault(session_id, []).extend(events)
        return super().queue(session_id, events)

    async def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Event]:
        await super().read(session_id)
        log = self.log.get(session_id, [])
        return log[after:] if limit is None else log[after : after + limit]


class KeepsAtCommit(MemoryStore):
    """What is queued is nowhere until its own commit."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[tuple[str, Sequence[bytes]]] = []

    def queue(self, session_id: str, events: Sequence[Event]) -> int:
        ticket = super().queue(session_id, events)
        session = self._sessions.get(session_id)
        if session and events:
            self.held.append((session_id, session.texts[-len(events) :]))
            del session.texts[-len(events) :]
        return ticket

    async def commit(self, session_id: str, ticket: int) -> None:
        for name, texts in self.held:
            self._sessions[name].texts += texts
        self.held = []
        await super().commit(session_id, ticket)

    async def append(self, session_id: str, events: Sequence[Event]) -> int:
        await self.commit(session_id, self.queue(session_id, events))
        session = self._sessions.get(session_id)
        return len(session.texts) if session else 0


class MixesCase(MemoryStore):
    async def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Event]:
        return await super().read(session_id.lower(), after, limit)


class ForgetsRoots(MemoryStore):
    async def create(self, record: SessionRecord, *, owned: bool = False) -> None:
        bare = SessionRecord(record.id, record.cwd, record.created_at, record.updated_at, record.title)
        await super().create(bare, owned=owned)


class PatchesEverything(MemoryStore):
    async def patch(
        self,
        session_id: str,
        *,
        title: Maybe[str] = UNSET,
        updated_at: Omittable[float] = UNSET,
        state: Maybe[bytes] = UNSET,
    ) -> None:
        await super().patch(session_id, title=title or None, updated_at=updated_at, state=state)


class NeverClearsState(MemoryStore):
    async def patch(
        self,
        session_id: str,
        *,
        title: Maybe[str] = UNSET,
        updated_at: Omittable[float] = UNSET,
        state: Maybe[bytes] = UNSET,
    ) -> None:
        await super().patch(session_id, title=title, updated_at=updated_at, state=state or UNSET)


class InventsSessions(MemoryStore):
    async def read(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Event]:
        return await super().read(session_id, after, limit) if await self.exists(session_id) else []


class ReplacesSessions(MemoryStore):
    async def create(self, record: SessionRecord, *, owned: bool = False) -> None:
        await self.delete(record.id)
        await super().create(record, owned=owned)


class LeavesHoles(MemoryStore):
    def queue(self, session_id: str, events: Sequence[Event]) -> int:
        ticket = super().queue(session_id, events)
        session = self._sessions.get(session_id)
        if session and not session.texts:
            # It was lost, because nobody was told of an earlier loss; keep it all the same.
            session.texts += map(encode_event, events)
        return ticket


class TellsOnlyOne(MemoryStore):
    async def commit(self, session_id: str, ticket: int) -> None:
        if any(not loss.reported for loss in self._ledger._losses.get(session_id, ())):
            await super().commit(session_id, ticket)


class FlushesInSilence(MemoryStore):
    async def flush(self) -> None:
        await asyncio.sleep(0)


class ListsOldestFirst(MemoryStore):
    async def list_sessions(self, *, cwd: str | None = None, cursor: str | None = None, **others: Any) -> SessionPage:
        page = await super().list_sessions(cwd=cwd, cursor=cursor, **others)
        return SessionPage(page.records[::-1], page.next_cursor)


class ListsByNumber(MemoryStore):
    """Pages by offset: what is created or deleted meanwhile moves them."""

    async def list_sessions(self, *, cwd: str | None = None, cursor: str | None = None, **others: Any) -> SessionPage:
        start, limit = int(cursor or 0), others.get("limit", 50)
        records = (await super().list_sessions(cwd=cwd, limit=10_000)).records
        more = len(records) > start + limit
        return SessionPage(records[start : start + limit], str(start + limit) if more else None)


class IgnoresTies(MemoryStore):
    async def list_sessions(self, *, cwd: str | None = None, cursor: str | None = None, **others: Any) -> SessionPage:
        if cursor is None:
            return await super().list_sessions(cwd=cwd, **others)
        time, _ = decode_cursor(cursor)
        records = [one for one in (await super().list_sessions(cwd=cwd, limit=10_000)).records if one.updated_at < time]
        page = await super().list_sessions(cwd=cwd, cursor=cursor, **others)
        return SessionPage(records[: others.get("limit", 50)], page.next_cursor)


class NeverEnds(MemoryStore):
    async def list_sessions(self, *, cwd: str | None = None, cursor: str | None = None, **others: Any) -> SessionPage:
        return await super().list_sessions(cwd=cwd, cursor=cursor and None, **others)


class MatchesBeginnings(MemoryStore):
    async def list_sessions(self, *, cwd: str | None = None, cursor: str | None = None, **others: Any) -> SessionPage:
        if cwd is None:
            return await super().list_sessions(cursor=cursor, **others)
        records = (await super().list_sessions(limit=10_000)).records
        return SessionPage([one for one in records if one.cwd.startswith(cwd)])


class ListsEverything(MemoryStore):
    async def list_sessions(self, *, cwd: str | None = None, cursor: str | None = None, **others: Any) -> SessionPage:
        return await super().list_sessions(cwd=cwd, cursor=cursor, **{**others, "unprompted": True})


class PrunesWhatIsOpen(MemoryStore):
    async def prune_unprompted(self, before: float) -> list[str]:
        for session_id in ("open",):
            await self.delete(session_id)
        return await super().prune_unprompted(before)


class TakesAnyCursor(MemoryStore):
    async def list_sessions(self, *, cwd: str | None = None, cursor: str | None = None, **others: Any) -> SessionPage:
        return await super().list_sessions(cwd=cwd, cursor=cursor or None, **others)


class ListsDrafts(MemoryStore):
    async def list_sessions(self, *, cursor: str | None = None, **others: Any) -> SessionPage:
        page = await super().list_sessions(cursor=cursor, **others)
        drafts = [each.record for each in self._sessions.values() if is_draft(each.record.id)]
        return SessionPage([*drafts, *page.records], page.next_cursor)


class FindsDrafts(MemoryStore):
    async def get(self, session_id: str) -> SessionRecord | None:
        session = self._sessions.get(session_id)
        return session.record if session and is_draft(session_id) else await super().get(session_id)


class PublishesOverOthers(MemoryStore):
    async def publish(self, draft_id: str, session_id: str) -> None:
        await super().delete(session_id)
        await super().publish(draft_id, session_id)


class PublishesByHalf(MemoryStore):
    async def publish(self, draft_id: str, session_id: str) -> None:
        await super().publish(draft_id, session_id)
        self._sessions[session_id].state = None


class ForgetsPrincipals(MemoryStore):
    async def list_sessions(self, *, principal: str | None = None, **others: Any) -> SessionPage:
        return await super().list_sessions(**others, principal=principal and None)


class WatchesFromTheBegin(MemoryStore):
    def watch(self, session_id: str, after: int = 0) -> AsyncIterator[list[tuple[int, Event]]]:
        return super().watch(session_id, after * 0)


class SharesForks(MemoryStore):
    async def fork(self, session_id: str, record: SessionRecord, *, owned: bool = False) -> None:
        await super().fork(session_id, record, owned=owned)
        self._sessions[record.id].texts = self._sessions[session_id].texts


class ForgetsStateInForks(MemoryStore):
    async def fork(self, session_id: str, record: SessionRecord, *, owned: bool = False) -> None:
        await super().fork(session_id, record, owned=owned)
        await self.patch(record.id, state=None)


class DeletesOnce(MemoryStore):
    async def delete(self, session_id: str) -> None:
        self._find(session_id)
        await super().delete(session_id)


class RemembersStates(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.states: dict[str, bytes | None] = {}

    async def delete(self, session_id: str) -> None:
        if session_id in self._sessions:
            self.states[session_id] = self._sessions[session_id].state
        await super().delete(session_id)

    async def create(self, record: SessionRecord, *, owned: bool = False) -> None:
        await super().create(record, owned=owned)
        self._sessions[record.id].state = self.states.get(record.id)


class AlwaysFirst(MemoryStore):
    async def acquire(self, session_id: str) -> bool:
        await super().acquire(session_id)
        return True


class ReleasesAtOnce(MemoryStore):
    async def release(self, session_id: str) -> None:
        self._open_sessions()
        if session_id in self._sessions:
            self._sessions[session_id].claims = 0


class NeverReleases(MemoryStore):
    async def release(self, session_id: str) -> None:
        await self.get(session_id)


class OwnsNothingNew(MemoryStore):
    async def create(self, record: SessionRecord, *, owned: bool = False) -> None:
        await super().create(record, owned=owned and False)


class CopiesOwners(MemoryStore):
    async def fork(self, session_id: str, record: SessionRecord, *, owned: bool = False) -> None:
        await super().fork(session_id, record, owned=owned)
        self._sessions[record.id].claims = self._sessions[session_id].claims


class LosesWhenShared(MemoryStore):
    """Reads, waits, and writes back: what others wrote meanwhile is gone."""

    async def append(self, session_id: str, events: Sequence[Event]) -> int:
        session = self._sessions.get(session_id)
        before = list(session.texts) if session else []
        ticket = self.queue(session_id, events)
        if session and events:
            texts = before + session.texts[-len(events) :]
            del session.texts[-len(events) :]
            await asyncio.sleep(0)
            session.texts[:] = texts
        await self.commit(session_id, ticket)
        return len(session.texts) if session else 0


class TakesAPart(MemoryStore):
    def queue(self, session_id: str, events: Sequence[Event]) -> int:
        ticket = super().queue(session_id, [])
        for event in events:
            ticket = super().queue(session_id, [event])
        return ticket


class TakesAnything(MemoryStore):
    def queue(self, session_id: str, events: Sequence[Event]) -> int:
        return super().queue(session_id, [event for event in events if "object at" not in repr(event)])


class NeverCloses(MemoryStore):
    async def close(self) -> None:
        pass


class ClosesOnce(MemoryStore):
    async def close(self) -> None:
        self._open_sessions()
        await super().close()


class Hangs(MemoryStore):
    async def flush(self) -> None:
        await asyncio.Event().wait()


FAULTS: list[tuple[type[MemoryStore], str]] = [
    (ReversesGroups, "in order"),
    (ForgetsUnknown, "the log differs"),
    (CountsFromZero, "position"),
    (ReadsOneEarly, "reading 2 events after 249"),
    (CountsNothing, "another length than its log"),
    (KeepsTheCallersEvents, "changed after it was queued"),
    (KeepsAtCommit, "without a commit"),
    (MixesCase, "independent of each other"),
    (ForgetsRoots, "record is kept as it was given"),
    (PatchesEverything, "field by field"),
    (NeverClearsState, "None did not clear the state"),
    (InventsSessions, "distinguished from an empty one"),
    (ReplacesSessions, "a second create"),
    (LeavesHoles, "behind a hole"),
    (TellsOnlyOne, "the commit of a lost ticket"),
    (FlushesInSilence, "flush raised nothing"),
    (ListsOldestFirst, "newest is not first"),
    (ListsByNumber, "Pages"),
    (NeverEnds, "do not end"),
    (IgnoresTies, "a session was missed"),
    (MatchesBeginnings, "by its beginning"),
    (TakesAnyCursor, "the cursor ''"),
    (ListsEverything, "a session without a prompt or an owner is listed"),
    (PrunesWhatIsOpen, "a session that is owned was pruned"),
    (ListsDrafts, "before it is published"),
    (FindsDrafts, "there is a record of a draft"),
    (PublishesOverOthers, "publish onto another session"),
    (PublishesByHalf, "its state differs"),
    (SharesForks, "independent from then on"),
    (ForgetsPrincipals, "list of its own"),
    (WatchesFromTheBegin, "A watcher gets the events behind its position"),
    (ForgetsStateInForks, "has not its state"),
    (DeletesOnce, "deleting it again"),
    (RemembersStates, "has its state"),
    (LosesWhenShared, "Twenty tasks"),
    (TakesAPart, "a part of it was kept"),
    (TakesAnything, "queue raised nothing"),
    (AlwaysFirst, "taken for the first"),
    (ReleasesAtOnce, "once more than released"),
    (NeverReleases, "is not free"),
    (OwnsNothingNew, "made as an owned one has no owner"),
    (CopiesOwners, "the owner of its source"),
    (NeverCloses, "closed store refuses"),
    (ClosesOnce, "closed store refuses|: the store is closed"),
]


@pytest.mark.parametrize(("kind", "words"), FAULTS, ids=lambda value: getattr(value, "__name__", ""))
async def test_a_broken_promise_is_named(kind: type[MemoryStore], words: str) -> None:
    said = await verdict(kind)
    assert any(word in said for word in words.split("|")), said


async def test_a_store_that_forgets_at_close_is_found_out() -> None:
    assert "opened anew" in await verdict(MemoryStore, reopens=True)


async def test_a_store_that_hangs_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "PATIENCE_SECONDS", 0.2)
    assert "it hangs" in await verdict(Hangs)


async def test_a_rival_that_may_write_to_an_owned_session_is_found() -> None:
    stores: dict[str, MemoryStore] = {}

    async def make(name: str) -> Store:
        return stores.setdefault(name, MemoryStore())

    with pytest.raises(StoreCheckFailed, match="only the owner writes"):
        await check_store(make, reopens=False, make_rival=make)
