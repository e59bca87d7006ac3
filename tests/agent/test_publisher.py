"""The way out of a session: in order, kept before it is said, bounded, and honest when nothing can be kept."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from accord.agent import Session, Turn
from accord.agent.publisher import MAX_WAITING_BYTES, EventPublisher
from accord.errors import ConnectionLost, StoreError
from accord.protocol.model import Unknown
from accord.session.capability import ClientCapabilities
from accord.session.content import Text
from accord.session.dialect import DIALECTS
from accord.session.event import (
    Event,
    InfoChanged,
    MessageChunk,
    StateChanged,
    TerminalChanged,
    TerminalOutput,
    ToolChanged,
    ToolContentAdded,
    UnknownUpdate,
)
from accord.session.tool import Shown, TerminalView
from accord.stores import MemoryStore, SessionRecord, SqliteStore
from accord.stores.interface import Store
from tests.agent.rig import EDITIONS, IN_EVERY_EDITION, Hand, Heard, agent_of, served, until
from tests.tables import rows


class GatedStore(MemoryStore):
    """Commits when it is let, and can refuse to."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.gate.set()
        self.failing = False
        self.broken = False
        self.fails_at_the_end = False

    def queue(self, session_id: str, events: Sequence[Event]) -> int:
        if self.fails_at_the_end and any(isinstance(event, StateChanged) and event.stop_reason for event in events):
            self.failing = True
        return 0 if self.failing else super().queue(session_id, events)

    async def commit(self, session_id: str, ticket: int) -> None:
        await self.gate.wait()
        if self.failing:
            raise StoreError("the disk is full", reason="full", session_id=session_id)
        if self.broken:
            raise RuntimeError("a bug of the store")
        await super().commit(session_id, ticket)


# --- order


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("stored", ["memory", "sqlite", "nothing"])
async def test_what_is_told_from_several_tasks_arrives_in_the_order_in_which_it_was_told(
    edition: str, stored: str, tmp_path: Path
) -> None:
    told: list[str] = []

    async def speak(turn: Turn, name: str) -> None:
        for number in range(100):
            text = f"{name}{number} "
            told.append(text)
            await turn.say(text)
            if number % 7 == 0:
                await asyncio.sleep(0)

    async def reply(turn: Turn) -> None:
        await asyncio.gather(*(speak(turn, name) for name in "abc"))

    store: Store | None = SqliteStore(tmp_path / "s.db") if stored == "sqlite" else None
    async with served(agent_of(reply, store=store, stored=stored != "nothing"), edition) as hand:
        heard = await hand.turn(await hand.new_session())
    if store is not None:
        await store.close()
    assert heard.text == "".join(told)
    assert heard.stop_reason == "end_turn"


@IN_EVERY_EDITION
async def test_a_say_returns_when_it_is_queued_not_when_it_is_kept(edition: str) -> None:
    store, returned = GatedStore(), asyncio.Event()

    async def reply(turn: Turn) -> None:
        await turn.session._publisher.flush()
        store.gate.clear()
        await turn.say("queued")
        returned.set()

    async with served(agent_of(reply, store=store), edition) as hand:
        prompt = await hand.prompt(await hand.new_session())
        await returned.wait()
        # The commit hangs, and so nothing leaves; other requests are answered all the while.
        assert Heard(await hand.drain()).text == ""
        store.gate.set()
        assert (await hand.ended(prompt)).text == "queued"


@IN_EVERY_EDITION
async def test_nothing_is_on_the_wire_before_it_is_kept(edition: str) -> None:
    store = GatedStore()

    async def reply(turn: Turn) -> None:
        await turn.say("kept")

    async with served(agent_of(reply, store=store), edition) as hand:
        session = await hand.new_session()
        store.gate.clear()
        prompt = await hand.prompt(session)
        # The prompt itself is committed first: no echo, no state, no answer, no handler.
        assert await hand.drain() == []
        store.gate.set()
        heard = await hand.ended(prompt)
        assert heard.text == "kept"
        kept = await store.read(session)
        assert "kept" in str(kept)


# --- pressure


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("stored", [True, False], ids=["stored", "unstored"])
async def test_a_client_that_does_not_read_costs_a_bounded_amount_of_memory(edition: str, stored: bool) -> None:  # noqa: FBT001
    said = 0
    piece = "x" * 10_000

    async def reply(turn: Turn) -> None:
        nonlocal said
        for said in range(3000):  # noqa: B007 - how far it came
            await turn.say(piece)

    # The store keeps all of it by its nature; what is measured there is that the handler stands still.
    async with served(agent_of(reply, stored=stored), edition, max_bytes=100_000) as hand:
        session = await hand.new_session()
        tracemalloc.start()
        prompt = await hand.prompt(session)
        before = -1
        while said != before:
            before = said
            for _ in range(500):
                await asyncio.sleep(0)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert said * len(piece) < 4 * MAX_WAITING_BYTES
        assert peak < 16 * 1024 * 1024
        await hand.cancel(session)
        assert (await hand.ended(prompt)).stop_reason == "cancelled"


# --- a store that fails


@pytest.mark.parametrize("edition", EDITIONS)
async def test_what_cannot_be_kept_is_not_sent_and_ends_the_turn_with_an_error(
    edition: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = GatedStore()
    ends: list[BaseException] = []

    async def reply(turn: Turn) -> None:
        await turn.say("before ")
        await turn.session._publisher.flush()
        store.failing = turn.text == "bad"
        try:
            for _ in range(100):
                await turn.say("never ")
                await asyncio.sleep(0)
        except BaseException as error:
            ends.append(error)
            raise

    async with served(agent_of(reply, store=store), edition) as hand:
        session = await hand.new_session()
        heard = await hand.turn(session, "bad")
        assert heard.text == "before "
        assert heard.error["code"] == -32603
        assert heard.error["data"] == {"reason": "store_full"}
        assert "full" in heard.error["message"]
        assert ends
        if edition == "v2":
            assert heard.states == ["running", "idle"]
        # As long as it fails, prompts are refused: they could not be kept either.
        answer = (await hand.turn(session, "also bad")).answer
        assert answer is not None
        assert answer["error"]["data"] == {"reason": "store_full"}
        store.failing = False
        heard = await hand.turn(session, "good")
        assert heard.text == "before " + "never " * 100
        assert heard.stop_reason == "end_turn"
    assert "could not be kept" in caplog.text


@IN_EVERY_EDITION
async def test_a_handler_that_goes_on_when_nothing_can_be_kept_is_told_with_every_word(edition: str) -> None:
    store = GatedStore()
    caught: list[Exception] = []

    async def reply(turn: Turn) -> None:
        store.failing = True
        await turn.say("lost")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            for telling in (turn.say("x"), turn.think("x")):
                with pytest.raises(StoreError) as raised:
                    await telling
                caught.append(raised.value)

    async with served(agent_of(reply, store=store), edition) as hand:
        heard = await hand.turn(await hand.new_session())
        store.failing = False
    assert heard.stop_reason == "error"
    assert heard.text == ""
    assert [error.reason for error in caught if isinstance(error, StoreError)] == ["full", "full"]


@IN_EVERY_EDITION
async def test_a_last_word_that_cannot_be_kept_fails_the_turn(edition: str) -> None:
    store = GatedStore()

    async def reply(turn: Turn) -> None:
        store.failing = True
        await turn.say("lost")

    async with served(agent_of(reply, store=store), edition) as hand:
        heard = await hand.turn(await hand.new_session())
        store.failing = False
    assert heard.error["data"] == {"reason": "store_full"}
    assert heard.text == ""


@rows("edition", ["v1", "v2_june"])
async def test_an_end_that_cannot_be_kept_is_answered_with_an_error(edition: str) -> None:
    store = GatedStore()

    async def reply(turn: Turn) -> None:
        await turn.say("kept")

    async with served(agent_of(reply, store=store), edition) as hand:
        store.fails_at_the_end = True
        heard = await hand.turn(await hand.new_session())
        store.fails_at_the_end = store.failing = False
    assert heard.text == "kept"
    assert heard.error["data"] == {"reason": "store_full"}


@IN_EVERY_EDITION
async def test_a_handler_that_does_not_care_that_nothing_can_be_kept_is_left_behind(edition: str) -> None:
    store, let_go = GatedStore(), asyncio.Event()

    async def reply(turn: Turn) -> None:
        store.failing = True
        await turn.say("lost")
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue

    async with served(agent_of(reply, store=store, cancel_grace_seconds=0.05), edition) as hand:
        heard = await hand.turn(await hand.new_session())
        store.failing = False
        let_go.set()
    assert heard.error["data"] == {"reason": "store_full"}


@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_client_that_leaves_while_its_prompt_is_being_kept_harms_nothing(
    edition: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = GatedStore()
    async with served(agent_of(lambda _: None, store=store), edition) as hand:
        session = await hand.new_session()
        store.gate.clear()
        await hand.prompt(session)
        await hand.drain()
        await hand.transport.close()
        for _ in range(50):
            await asyncio.sleep(0)
        store.gate.set()
    assert "Traceback" not in caplog.text
    assert "go" in str(await store.read(session))


@IN_EVERY_EDITION
async def test_a_store_with_a_bug_ends_the_turn_and_not_the_session(edition: str) -> None:
    store = GatedStore()

    async def reply(turn: Turn) -> None:
        store.broken = turn.text == "bad"
        await turn.say("said")

    async with served(agent_of(reply, store=store), edition) as hand:
        session = await hand.new_session()
        heard = await hand.turn(session, "bad")
        assert heard.error["code"] == -32603
        assert "bug" not in str(heard.error)
        assert heard.text == ""
        refused = (await hand.turn(session)).answer
        assert refused is not None
        assert refused["error"]["code"] == -32603
        store.broken = False
        assert (await hand.turn(session)).text == "said"


@IN_EVERY_EDITION
async def test_what_no_edition_can_write_down_fails_the_turn_and_the_rest_is_said(edition: str) -> None:
    async def reply(turn: Turn) -> None:
        if turn.text == "bad":
            await turn.say([Text("fine"), Text("bad", meta={"k": object()}), Text("fine too")])
        await turn.say("well")

    async with served(agent_of(reply, stored=False), edition) as hand:
        session = await hand.new_session()
        heard = await hand.turn(session, "bad")
        assert heard.stop_reason == "error"
        assert "fine too" in heard.text
        assert (await hand.turn(session)).text == "well"


# --- opening


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("stored", [True, False], ids=["stored", "unstored"])
async def test_what_is_told_while_the_session_is_being_opened_leaves_after_the_answer(
    edition: str,
    stored: bool,  # noqa: FBT001
) -> None:
    agent = agent_of(lambda _: None, stored=stored)
    histories: list[Any] = []

    @agent.on_session
    async def opened(session: Session) -> None:
        await session.set_title("Early")
        await session._publisher.flush()
        if stored:
            histories.append((await session.history()).title)
        for number in range(2000):
            await session.notice(f"{number}")
        # Others have many turns meanwhile.
        for _ in range(20):
            await asyncio.sleep(0)

    async with served(agent, edition, {"session": {"notices": {}}} if edition == "v1" else None) as hand:
        id_ = await hand.ask("session/new", {"cwd": "/tmp", "mcpServers": []})  # noqa: S108 - no file is made there
        await hand.answer_to(id_)
        assert hand.updates == []
        # In June a notice is a message.
        last = "Info: 1999" if edition == "v2_june" else "'title': '1999'"
        await hand.hear_until(lambda message: last in str(message))
        updates = [u for u in hand.updates if u["sessionUpdate"] != "available_commands_update"]
        assert updates[0]["title"] == "Early"
        assert len(updates) == 2001
    assert histories == (["Early"] if stored else [])


# --- by itself


class Wire:
    """What a publisher needs of a connection."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.lost = False

    def try_notify(self, _method: Any, _params: Any) -> bool:
        """A wire on which everybody has to wait."""
        return False

    async def notify(self, _: Any, params: Any) -> None:
        await self.gate.wait()
        if self.lost:
            raise ConnectionLost
        self.sent.append(params.update)


def publisher_on(wire: Wire, store: Store | None = None, failures: list[Exception] | None = None) -> EventPublisher:
    dialect = next(loader.dialect() for loader in DIALECTS if loader.dialect().edition.name == "v2")
    noted = [] if failures is None else failures
    connection: Any = wire
    return EventPublisher("s", dialect, dialect.encoder(ClientCapabilities()), connection, store, noted.append)


def chunk(text: str) -> MessageChunk:
    return MessageChunk("agent", Text(text), "m")


def texts(wire: Wire) -> list[str]:
    return [update.content.text for update in wire.sent]


async def test_flushing_waits_for_what_is_on_its_way_out_and_no_longer() -> None:
    wire = Wire()
    publisher = publisher_on(wire)
    await publisher.flush()
    wire.gate.clear()
    await publisher.publish(chunk("a"))
    await asyncio.sleep(0)
    flush_future = [asyncio.ensure_future(publisher.flush()) for _ in range(2)]
    await asyncio.sleep(0)
    assert not any(task.done() for task in flush_future)
    wire.gate.set()
    await asyncio.gather(*flush_future)
    assert texts(wire) == ["a"]
    await publisher.flush()
    await publisher.close()


async def test_what_is_held_back_leaves_when_all_holds_are_gone() -> None:
    wire = Wire()
    publisher = publisher_on(wire)
    publisher.hold()
    publisher.release()
    publisher.hold()
    publisher.hold()
    await publisher.publish(chunk("a"))
    publisher.release()
    await asyncio.sleep(0)
    assert wire.sent == []
    publisher.release()
    await publisher.flush()
    assert texts(wire) == ["a"]


async def test_to_pause_waits_for_what_is_on_its_way_out_and_holds_the_rest() -> None:
    wire = Wire()
    publisher = publisher_on(wire)
    publisher.hold()
    publisher.release()
    wire.gate.clear()
    await publisher.publish(chunk("a"))
    await asyncio.sleep(0)
    pausing = asyncio.ensure_future(publisher.pause())
    await asyncio.sleep(0)
    await publisher.publish(chunk("b"))
    assert not pausing.done()
    wire.gate.set()
    await pausing
    assert texts(wire) == ["a"]
    await publisher.pause()
    publisher.release()
    publisher.release()
    await publisher.flush()
    assert texts(wire) == ["a", "b"]


async def test_before_the_session_is_open_things_are_kept_and_not_said() -> None:
    wire, store = Wire(), MemoryStore()
    await store.create(SessionRecord("s", "/", 0.0, 0.0))
    publisher = publisher_on(wire, store)
    publisher.hold()
    await publisher.publish(chunk("a"))
    await publisher.flush()
    assert (wire.sent, len(await store.read("s"))) == ([], 1)
    await publisher.publish(chunk("b"), keep=False)
    publisher.release()
    await publisher.flush()
    assert texts(wire) == ["a", "b"]
    assert len(await store.read("s")) == 1


async def test_a_close_says_what_waits() -> None:
    wire = Wire()
    publisher = publisher_on(wire)
    publisher.hold()
    await publisher.publish(chunk("a"))
    await publisher.close()
    assert texts(wire) == ["a"]
    await publisher.close()


async def test_when_nobody_is_there_any_more_what_is_told_is_kept_and_no_failure() -> None:
    wire, store, failures = Wire(), MemoryStore(), list[Exception]()
    await store.create(SessionRecord("s", "/", 0.0, 0.0))
    publisher = publisher_on(wire, store, failures)
    wire.lost = True
    await publisher.publish(chunk("a"))
    await publisher.publish(chunk("b"))
    with pytest.raises(ConnectionLost):
        await publisher.flush()
    assert failures == []
    assert len(await store.read("s")) == 2


async def test_states_are_told_even_if_nothing_can_be_kept() -> None:
    wire, store, failures = Wire(), GatedStore(), list[Exception]()
    publisher = publisher_on(wire, store, failures)
    store.failing = True
    publisher.publish_soon(chunk("lost"))
    publisher.publish_soon(StateChanged("idle", "error"))
    with pytest.raises(StoreError):
        await publisher.flush()
    assert [update.state for update in wire.sent] == ["idle"]
    assert len(failures) == 1
    # One who does not wait is no failure that nobody looked at.
    publisher.publish_soon(chunk("lost too"))
    waiting = asyncio.ensure_future(publisher.flush())
    await asyncio.sleep(0)
    waiting.cancel()
    await until(lambda: publisher.flush_future() is None)
    # It is reported once.
    assert len(failures) == 1


async def test_the_end_of_a_turn_that_could_not_be_kept_is_shown_as_an_error() -> None:
    wire, store = Wire(), GatedStore()
    publisher = publisher_on(wire, store, list[Exception]())
    store.failing = True
    publisher.publish_soon(StateChanged("idle", "end_turn"))
    with pytest.raises(StoreError):
        await publisher.flush()
    assert [(update.state, update.stop_reason) for update in wire.sent] == [("idle", "error")]


async def test_behind_a_commit_that_failed_nothing_is_kept_or_sent_until_the_log_is_repaired() -> None:
    wire, store = Wire(), GatedStore()
    await store.create(SessionRecord("s", "/", 0.0, 0.0))
    publisher = publisher_on(wire, store, list[Exception]())
    store.failing = True
    publisher.publish_soon(chunk("lost"))
    with pytest.raises(StoreError):
        await publisher.flush()
    store.failing = False
    publisher.publish_soon(chunk("behind the hole"))
    with pytest.raises(StoreError):
        await publisher.flush()
    assert (wire.sent, await store.read("s")) == ([], [])
    publisher.resume()
    publisher.publish_soon(chunk("after the repair"))
    await publisher.flush()
    assert await store.read("s") == [chunk("after the repair")]
    assert len(wire.sent) == 1


@rows(
    "event",
    [
        chunk("x" * 1000),
        ToolContentAdded("t", Shown(Text("x" * 1000))),
        UnknownUpdate("_x", {"k": [{"text": "x" * 1000}, ("x",), 1]}),
        MessageChunk("agent", Unknown("_x", {"x" * 1000: b"x"}), "m"),
        InfoChanged(title="x" * 1000),
    ],
)
async def test_an_event_weighs_what_it_holds(event: Event) -> None:
    wire = Wire()
    publisher = publisher_on(wire)
    wire.gate.clear()
    count = 0

    async def publish() -> None:
        nonlocal count
        while True:
            await publisher.publish(event)
            count += 1

    telling = asyncio.ensure_future(publish())
    before = -1
    while count != before:
        before = count
        for _ in range(10):
            await asyncio.sleep(0)
    telling.cancel()
    # As much on its way out as waits: twice the bound, for events of a bit more than a thousand bytes.
    assert MAX_WAITING_BYTES / 1300 < count < 2.1 * MAX_WAITING_BYTES / 1000
    wire.lost = True
    wire.gate.set()
    await publisher.close()


@rows("edition", EDITIONS)
async def test_two_sessions_do_not_wait_for_each_other(edition: str) -> None:
    gate = asyncio.Event()

    async def reply(turn: Turn) -> None:
        await turn.say("begun")
        if turn.text == "slow":
            await gate.wait()

    async with served(agent_of(reply), edition) as hand:
        slow, quick = await hand.new_session(), await hand.new_session()
        waiting = await hand.prompt(slow, "slow")
        assert (await quick_turn(hand, quick)).stop_reason == "end_turn"
        gate.set()
        assert (await hand.answer_to(waiting))["result"]


async def quick_turn(hand: Hand, session: str) -> Heard:
    start = len(hand.received)
    prompt = await hand.prompt(session)
    answer = await hand.answer_to(prompt)
    own = [m for m in hand.received[start:] if m.get("params", {}).get("sessionId") == session]
    while "stopReason" not in str([*own, answer]):
        own.append(await hand.hear())
    return Heard(own, answer)


class BusyWire(Wire):
    """One that is open at once after every few texts that had to wait, as a transport is behind a turn of the loop."""

    def __init__(self, closed_for: int) -> None:
        super().__init__()
        self.closed_for = closed_for
        self.left = closed_for
        self.tries = 0

    def try_notify(self, _method: Any, params: Any) -> bool:
        self.tries += 1
        if self.left:
            return False
        self.left = self.closed_for
        self.sent += [each.update for each in params]
        return True

    async def notify(self, method: Any, params: Any) -> None:
        self.left = max(self.left - 1, 0)
        await super().notify(method, params)


@rows("closed_for", [0, 1, 2, 3, 1000])
async def test_each_event_is_said_once_and_in_order_however_often_the_wire_is_closed(closed_for: int) -> None:
    wire = BusyWire(closed_for)
    publisher = publisher_on(wire)
    for number in range(500):
        await publisher.publish(chunk(str(number)), keep=number % 7 != 0)
        await publisher.publish(chunk("hidden"), show=False)
    await publisher.flush()
    assert texts(wire) == [str(number) for number in range(500)]
    # Texts are written down again each time: not for each of them.
    assert wire.tries < 100
    await publisher.close()


# --- without a store


class OpenWire(Wire):
    """One that takes everything at once until it is shut."""

    def __init__(self) -> None:
        super().__init__()
        self.shut = False

    def try_notify(self, _method: Any, params: Any) -> bool:
        if not self.shut:
            self.sent += [each.update for each in params]
        return not self.shut


def v1_publisher_on(wire: Wire) -> EventPublisher:
    dialect = next(loader.dialect() for loader in DIALECTS if loader.dialect().edition.name == "v1")
    connection: Any = wire
    return EventPublisher("s", dialect, dialect.encoder(ClientCapabilities()), connection, None, lambda _: None)


async def test_a_state_that_the_edition_does_not_show_waits_for_no_step_of_the_loop() -> None:
    publisher = v1_publisher_on(OpenWire())
    publisher.publish_soon(StateChanged("running"))
    assert publisher.flush_future() is None


async def test_a_state_sends_at_last_what_the_encoder_has_held_back() -> None:
    wire = OpenWire()
    publisher = v1_publisher_on(wire)
    await publisher.publish(ToolChanged("t", title="Run", status="in_progress"))
    await publisher.publish(ToolContentAdded("t", TerminalView("own")))
    await publisher.publish(TerminalChanged("own", command="make"))
    await publisher.flush()
    for output in (b"x" * 100_000, b"the last line"):
        await publisher.publish(TerminalOutput("own", output))
        await publisher.flush()
    assert publisher.encoder.holds_back
    before = len(wire.sent)
    publisher.publish_soon(StateChanged("idle", "end_turn"))
    await publisher.flush()
    assert not publisher.encoder.holds_back
    assert len(wire.sent) > before
    assert "the last line" in str(wire.sent[-1])
    await publisher.close()


async def test_an_event_that_is_published_at_once_does_not_overtake_another() -> None:
    wire = OpenWire()
    publisher = publisher_on(wire)
    assert publisher.publish_at_once(chunk("a"), show=True)
    assert texts(wire) == ["a"]
    await publisher.publish(chunk("b"))
    assert not publisher.publish_at_once(chunk("c"), show=True)
    assert texts(wire) == ["a"]
    await publisher.flush()
    assert texts(wire) == ["a", "b"]
    publisher.hold()
    assert not publisher.publish_at_once(chunk("d"), show=False)


async def test_an_event_is_not_published_at_once_where_it_has_to_be_kept_first() -> None:
    wire, store = OpenWire(), MemoryStore()
    await store.create(SessionRecord("s", "/", 0.0, 0.0))
    publisher = publisher_on(wire, store)
    assert not publisher.publish_at_once(chunk("a"), show=True)
    assert not publisher.publish_at_once(chunk("a"), show=False)
    assert wire.sent == []


async def test_a_flush_waits_for_what_a_client_did_not_take_at_once() -> None:
    wire = OpenWire()
    publisher = publisher_on(wire)
    wire.shut = True
    wire.gate.clear()
    for number in range(60):
        await publisher.publish(chunk(str(number)))
    flushing = asyncio.ensure_future(publisher.flush())
    assert publisher.flush_future() is not None
    await asyncio.sleep(0)
    assert not flushing.done()
    wire.shut = False
    wire.gate.set()
    await flushing
    assert texts(wire) == [str(number) for number in range(60)]
    await publisher.close()


async def test_an_event_that_cannot_be_encoded_fails_the_flush_and_no_other_event() -> None:
    wire, failures = OpenWire(), list[Exception]()
    publisher = publisher_on(wire, None, failures)
    broken: Any = "no event"
    await publisher.publish(chunk("a"))
    publisher.publish_soon(broken)
    await publisher.publish(chunk("b"))
    with pytest.raises(KeyError):
        await publisher.flush()
    assert texts(wire) == ["a", "b"]
    assert len(failures) == 1
    assert not publisher.publish_at_once(broken, show=False)
    await publisher.flush()
