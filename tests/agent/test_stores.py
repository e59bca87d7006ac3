"""Stores that fail: the client gets advice, nothing leaks, no handler runs whose prompt was not kept."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from accord.agent import Agent, Turn
from accord.agent.request_errors import store_error
from accord.errors import StoreError
from accord.session.event import Event
from accord.stores import MemoryStore, SqliteStore
from tests.agent.rig import EDITIONS, IN_EVERY_EDITION, Hand, Heard, agent_of, served
from tests.agent.sessions import CWD, FORKS, error_of, messages, reopen, reopening
from tests.tables import rows

MARK = "/home/somebody/secret.db"
SENTENCES = {
    "full": "free some space",
    "read_only": "a place where it may write",
    "busy": "try again",
    "damaged": "move the file away",
    "moved": "restart the agent",
    "newer": "update it",
    "foreign": "another path",
    "closed": "shutting down",
    "unwritable": "cannot be written down",
    "unreadable": "update it",
    "failed": "could not be kept",
}
REASONS = rows("reason", SENTENCES)
NEW = {"cwd": CWD, "mcpServers": []}


class Breaking(MemoryStore):
    """Keeps sessions until it is told not to: then the calls of these names fail for this reason."""

    def __init__(self) -> None:
        super().__init__()
        self.fails: set[str] = set()
        self.reason = "full"

    def __getattribute__(self, name: str) -> Any:
        # A log is read in pages: who cannot read cannot do that either.
        if name.removesuffix("_page") in super().__getattribute__("__dict__").get("fails", ()):
            raise StoreError(f"{MARK}: no", reason=self.reason, path=MARK)
        return super().__getattribute__(name)

    def queue(self, session_id: str, events: Sequence[Event]) -> int:
        # What a commit could not keep is nowhere.
        return 0 if "commit" in self.fails else super().queue(session_id, events)


def assert_told(error: dict[str, Any], reason: str, *, path: str = MARK) -> None:
    assert error["code"] == -32603
    assert SENTENCES[reason] in error["message"]
    assert error["data"] == {"reason": f"store_{reason}"}
    assert path not in str(error)


def echoing(store: Any, calls: list[str] | None = None, **options: Any) -> Agent:
    async def echo(turn: Turn) -> None:
        if calls is not None:
            calls.append(turn.text)
        await turn.say(f"You said: {turn.text}")

    agent = agent_of(echo, store=store, **options)
    agent.modes(["ask", "code"])
    return agent


# --- each call


@IN_EVERY_EDITION
@REASONS
async def test_a_session_that_cannot_be_kept_is_not_opened(edition: str, reason: str) -> None:
    store = Breaking()
    async with served(echoing(store), edition) as hand:
        store.fails, store.reason = {"create"}, reason
        assert_told(error_of(await hand.request("session/new", NEW)), reason)
        store.fails = set()
        assert await hand.new_session()


@IN_EVERY_EDITION
@rows("call", ["get", "read", "state"])
async def test_a_session_that_cannot_be_read_is_not_opened(edition: str, call: str) -> None:
    store = Breaking()
    agent = echoing(store)
    async with served(agent, edition) as hand:
        session = await hand.new_session()
        await hand.turn(session, "hello")
    async with served(agent, edition) as hand:
        for replay in (True, False):
            store.fails, store.reason = {call}, "damaged"
            start = len(hand.received)
            assert_told(error_of(await hand.request(*reopening(hand, session, replay=replay))), "damaged")
            assert Heard(hand.received[start:]).updates == []
        store.fails = set()
        assert messages(await reopen(hand, session)) == [("user", "hello"), ("agent", "You said: hello")]


@pytest.mark.parametrize("edition", EDITIONS)
async def test_the_log_names_the_file_that_cannot_be_used(
    edition: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = SqliteStore(tmp_path)  # a directory
    async with served(echoing(store), edition) as hand:
        for method, params in (("session/list", {}), ("session/new", NEW)):
            caplog.clear()
            assert_told(error_of(await hand.request(method, params)), "failed")
            assert str(tmp_path) in caplog.text
            assert str(tmp_path) not in str(hand.received)
    await store.close()


@IN_EVERY_EDITION
async def test_an_open_session_that_cannot_be_told_again_goes_on(edition: str) -> None:
    store = Breaking()
    async with served(echoing(store), edition) as hand:
        session = await hand.new_session()
        await hand.turn(session, "hello")
        store.fails, store.reason = {"read"}, "busy"
        assert_told(error_of(await hand.request(*reopening(hand, session))), "busy")
        store.fails = set()
        assert (await hand.turn(session, "more")).text == "You said: more"


@IN_EVERY_EDITION
async def test_sessions_that_cannot_be_listed_or_forgotten_are_told_so(edition: str) -> None:
    store = Breaking()
    async with served(echoing(store), edition) as hand:
        session = await hand.new_session()
        store.fails, store.reason = {"list_sessions", "delete"}, "busy"
        assert_told(error_of(await hand.request("session/list", {})), "busy")
        assert_told(error_of(await hand.request("session/delete", {"sessionId": session})), "busy")
        store.fails = set()
        assert (await hand.request("session/delete", {"sessionId": session}))["result"] == {}


@rows("edition", FORKS)
async def test_a_fork_that_cannot_be_kept_is_not_opened(edition: str) -> None:
    store = Breaking()
    async with served(echoing(store, drafts=True), edition) as hand:
        session = await hand.new_session()
        for call in ("fork", "read"):
            store.fails = {call}
            assert_told(error_of(await hand.request("session/fork", {**NEW, "sessionId": session})), "full")
        store.fails = set()
        listed = (await hand.request("session/list", {}))["result"]["sessions"]
        assert [info["sessionId"] for info in listed] == [session]


@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_session_that_could_not_be_opened_nor_forgotten_is_logged(
    edition: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = Breaking()
    agent = echoing(store)

    @agent.on_session
    def fail(_: object) -> None:
        store.fails = {"delete"}
        raise ValueError

    async with served(agent, edition) as hand:
        assert error_of(await hand.request("session/new", NEW))["code"] == -32603
        assert await hand.is_alive()
    assert "stays in the store" in caplog.text


@IN_EVERY_EDITION
@rows("call", ["patch", "queue", "commit"])
@rows("reason", ["full", "busy", "damaged"])
async def test_no_turn_runs_whose_prompt_was_not_kept(edition: str, call: str, reason: str) -> None:
    store = Breaking()
    calls: list[str] = []
    async with served(echoing(store, calls), edition) as hand:
        session = await hand.new_session()
        store.fails, store.reason = {call}, reason
        start = len(hand.received)
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "lost"}]}
        assert_told(error_of(await hand.request("session/prompt", prompt)), reason)
        assert calls == []
        assert "lost" not in str(Heard(hand.received[start:]).updates)
        store.fails = set()
        assert (await hand.turn(session, "kept")).text == "You said: kept"
        heard = await reopen(hand, session)
    assert calls == ["kept"]
    assert messages(heard) == [("user", "kept"), ("agent", "You said: kept")]


@IN_EVERY_EDITION
async def test_an_option_that_could_not_be_kept_is_as_it_was(edition: str) -> None:
    store = Breaking()
    async with served(echoing(store), edition) as hand:
        session = await hand.new_session()
        params = {"sessionId": session, "configId": "mode", "value": "code"}
        if edition == "v2":
            params["type"] = "id"
        store.fails = {"commit", "queue"}
        start = len(hand.received)
        assert_told(error_of(await hand.request("session/set_config_option", params)), "full")
        assert Heard(hand.received[start:]).updates == []
        store.fails = set()
        opened = await reopen(hand, session)
        assert opened.answer is not None
        assert opened.answer["result"]["configOptions"][0]["currentValue"] == "ask"
        assert "result" in await hand.request("session/set_config_option", params)


@IN_EVERY_EDITION
async def test_a_store_that_fails_in_a_turn_ends_it_with_what_to_do(edition: str) -> None:
    store = Breaking()

    async def break_it(turn: Turn) -> None:
        await turn.say("kept")
        await turn.session._publisher.flush()
        store.fails = {"queue"}
        await turn.say("lost")
        await asyncio.Event().wait()

    async with served(agent_of(break_it, store=store), edition) as hand:
        heard = await hand.turn(await hand.new_session())
        assert heard.text == "kept"
        assert heard.stop_reason == "error"
        assert_told(heard.error, "full")
        store.fails = set()


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.skipif(sys.platform == "win32", reason="Windows deletes no file that is open: run it on Linux or macOS")
async def test_a_turn_whose_database_is_deleted_ends_with_an_error(
    edition: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "sessions.db"

    async def delete(turn: Turn) -> None:
        await turn.say("kept")
        await turn.session._publisher.flush()
        for suffix in ("", "-wal", "-shm"):
            Path(f"{path}{suffix}").unlink()
        await turn.say("lost")
        await asyncio.Event().wait()

    store = SqliteStore(path)
    async with served(agent_of(delete, store=store), edition) as hand:
        heard = await hand.turn(await hand.new_session())
        assert heard.text == "kept"
        assert_told(heard.error, "moved", path=str(path))
        assert_told(error_of(await hand.request("session/new", NEW)), "moved", path=str(path))
    assert str(path) in caplog.text
    await store.close()


@IN_EVERY_EDITION
async def test_an_author_whose_state_cannot_be_kept_hears_of_it(edition: str) -> None:
    store = Breaking()

    async def save(turn: Turn) -> None:
        store.fails = {"patch"}
        try:
            await turn.save({"a": 1})
        finally:
            store.fails = set()

    async with served(agent_of(save, store=store), edition) as hand:
        heard = await hand.turn(await hand.new_session())
        assert_told(heard.error, "full")


@IN_EVERY_EDITION
async def test_a_session_can_be_closed_though_its_end_cannot_be_kept(edition: str) -> None:
    store = Breaking()

    async def wait(turn: Turn) -> None:
        await turn.say("working")
        await asyncio.Event().wait()

    async with served(agent_of(wait, store=store), edition) as hand:
        session = await hand.new_session()
        await hand.prompt(session)
        await hand.said("working")
        store.fails = {"queue"}
        assert (await hand.request("session/close", {"sessionId": session}))["result"] == {}
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "x"}]}
        assert error_of(await hand.request("session/prompt", prompt))["code"] == -32002
        store.fails = set()


@IN_EVERY_EDITION
async def test_a_session_that_another_program_deleted_is_unknown(edition: str) -> None:
    store = MemoryStore()
    async with served(echoing(store), edition) as hand:
        session = await hand.new_session()
        await store.delete(session)
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "x"}]}
        error = error_of(await hand.request("session/prompt", prompt))
        assert (error["code"], error["data"]) == (-32002, {"sessionId": session})


def test_a_reason_that_nobody_foresaw_has_a_sentence_too() -> None:
    error = store_error(StoreError(MARK, reason="eclipse"))
    assert error.message == "The session could not be kept"
    assert error.data == {"reason": "store_eclipse"}


# --- real files


@asynccontextmanager
async def on_file(path: Path, edition: str, calls: list[str]) -> AsyncIterator[tuple[Hand, SqliteStore]]:
    store = SqliteStore(path, busy_seconds=0.01)
    async with served(echoing(store, calls), edition) as hand:
        yield hand, store
    await store.close()


async def on_writer(store: SqliteStore, sql: str) -> None:
    def say() -> None:
        assert store._writing is not None
        store._writing._connection.execute(sql)

    await asyncio.wrap_future(store._writer.submit(say))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


def large(session: str) -> dict[str, Any]:
    return {"sessionId": session, "prompt": [{"type": "text", "text": "x" * 400_000}]}


@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_full_disk_ends_no_session(edition: str, tmp_path: Path) -> None:
    calls: list[str] = []
    path = tmp_path / "sessions.db"
    async with on_file(path, edition, calls) as (hand, store):
        session = await hand.new_session()
        await hand.turn(session, "one")
        await on_writer(store, "PRAGMA max_page_count = 20")
        assert_told(error_of(await hand.request("session/prompt", large(session))), "full", path=str(tmp_path))
        await on_writer(store, "PRAGMA max_page_count = 1000000")
        assert (await hand.turn(session, "two")).text == "You said: two"
        assert [text for _, text in messages(await reopen(hand, session))][::2] == ["one", "two"]
    assert calls == ["one", "two"]


@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_read_only_file_still_shows_its_sessions(edition: str, tmp_path: Path) -> None:
    calls: list[str] = []
    async with on_file(tmp_path / "sessions.db", edition, calls) as (hand, store):
        session = await hand.new_session()
        await hand.turn(session, "one")
        await on_writer(store, "PRAGMA query_only = 1")
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "two"}]}
        for method, params in (("session/new", NEW), ("session/prompt", prompt)):
            assert_told(error_of(await hand.request(method, params)), "read_only", path=str(tmp_path))
        listed = (await hand.request("session/list", {}))["result"]["sessions"]
        assert [info["sessionId"] for info in listed] == [session]
        assert messages(await reopen(hand, session))[0] == ("user", "one")
        await on_writer(store, "PRAGMA query_only = 0")
    assert calls == ["one"]


@IN_EVERY_EDITION
@rows(
    ("reason", "statement"),
    [("newer", "PRAGMA user_version = 1000"), ("foreign", "PRAGMA application_id = 9"), ("damaged", "")],
)
async def test_a_file_that_is_none_of_ours_is_left_alone(
    edition: str, tmp_path: Path, reason: str, statement: str
) -> None:
    path = tmp_path / "sessions.db"
    if statement and reason == "newer":
        async with on_file(path, edition, []) as (hand, _):
            await hand.new_session()
    if statement:
        other = sqlite3.connect(path)
        other.execute(statement)
        other.close()
    else:
        path.write_bytes(b"no database at all\n" * 1000)
    before = path.read_bytes()
    async with on_file(path, edition, []) as (hand, _):
        for method, params in (("session/new", NEW), ("session/list", {}), reopening(hand, "some")):
            assert_told(error_of(await hand.request(method, params)), reason, path=str(tmp_path))
        assert await hand.is_alive()
    assert path.read_bytes() == before


@IN_EVERY_EDITION
async def test_a_file_that_another_program_keeps_locked_is_waited_for_and_then_told(
    edition: str, tmp_path: Path
) -> None:
    calls: list[str] = []
    path = tmp_path / "sessions.db"
    async with on_file(path, edition, calls) as (hand, _):
        session = await hand.new_session()
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "one"}]}
        with locked(path):
            for method, params in (("session/new", NEW), ("session/prompt", prompt)):
                assert_told(error_of(await hand.request(method, params)), "busy", path=str(tmp_path))
        assert calls == []
        assert (await hand.turn(session, "two")).text == "You said: two"


@pytest.mark.parametrize("first", EDITIONS)
async def test_what_one_edition_kept_another_tells(first: str, tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    async with on_file(path, first, []) as (hand, _):
        session = await hand.new_session()
        await hand.turn(session, "hello")
    for edition in EDITIONS:
        async with on_file(path, edition, []) as (hand, _):
            assert messages(await reopen(hand, session)) == [("user", "hello"), ("agent", "You said: hello")]
