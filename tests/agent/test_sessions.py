"""Sessions: opened, found again with and without their conversation, listed, forked, closed and forgotten."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from accord.agent import Agent, Session, Turn
from accord.errors import LocalProtocolError, RateLimited
from accord.session.content import Text
from accord.session.event import (
    CompactionChanged,
    MessageChanged,
    MessageChunk,
    StateChanged,
    TerminalChanged,
    ToolChanged,
    ToolContentAdded,
)
from accord.session.option import Command
from accord.session.tool import Shown
from accord.stores import MemoryStore, SessionRecord, SqliteStore
from accord.workspace import PathOutsideRoots
from tests.agent.rig import EDITIONS, IN_EVERY_EDITION, Hand, Heard, agent_of, noting, served, until
from tests.agent.sessions import CWD, FORKS, error_of, messages, reopen, reopening
from tests.tables import rows

pytestmark = pytest.mark.timeout(60)


async def echo(turn: Turn) -> None:
    await turn.say(f"You said: {turn.text}")


async def converse(turn: Turn) -> None:
    """Everything that a replay must show, and a notice that it must not, unless it was shown as a message."""
    await turn.notice("Seen once")
    await turn.think("Hm.")
    await turn.plan(["look", "say"])
    async with turn.tool("Look", kind="read") as tool:
        await tool.show("one")
        await tool.show("two")
    await turn.say("Part one, ")
    await turn.say("part two.")
    await turn.update_usage(10, 100)
    await turn.session.set_title("A talk")


async def idle(hand: Hand) -> list[dict[str, Any]]:
    """What came without having been asked for."""
    return Heard(await hand.drain()).updates


# --- new


@IN_EVERY_EDITION
async def test_every_session_has_an_id_of_its_own(edition: str) -> None:
    async with served(agent_of(echo), edition) as hand:
        ids = [await hand.new_session() for _ in range(20)]
    assert len(set(ids)) == 20


@IN_EVERY_EDITION
async def test_commands_are_told_in_the_answer_or_right_behind_it(edition: str) -> None:
    agent = agent_of(echo)
    agent.command("plan", "Make a plan", hint="what for")(lambda _, __: None)
    async with served(agent, edition) as hand:
        answer = await hand.request("session/new", {"cwd": CWD, "mcpServers": []})
        behind = await idle(hand)
    if edition == "v2":
        (command,) = answer["result"]["availableCommands"]
        assert command["type"] == "command"
        assert command["input"] == {"type": "text", "hint": "what for"}
        assert behind == []
    else:
        (update,) = behind
        assert update["sessionUpdate"] == "available_commands_update"
        assert update["availableCommands"] == [
            {"name": "plan", "description": "Make a plan", "input": {"hint": "what for"}}
        ]


@IN_EVERY_EDITION
async def test_a_session_without_commands_says_nothing_of_its_own_accord(edition: str) -> None:
    async with served(agent_of(echo), edition) as hand:
        await hand.new_session()
        assert await idle(hand) == []


@IN_EVERY_EDITION
async def test_further_directories_belong_to_the_roots(edition: str, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "note.txt").write_text("found")
    (tmp_path / "here").mkdir()
    roots: list[tuple[str, ...]] = []

    async def read(turn: Turn) -> None:
        roots.append(turn.session._roots)
        await turn.say(await turn.files.read(str(tmp_path / "more" / "note.txt")))

    async with served(agent_of(read), edition) as hand:
        more = [str(tmp_path / "more")]
        session = await hand.new_session(str(tmp_path / "here"), additionalDirectories=more)
        assert (await hand.turn(session)).text == "found"
        listed = (await hand.request("session/list", {}))["result"]["sessions"]
    assert roots == [(str(tmp_path / "here"), str(tmp_path / "more"))]
    assert listed[0]["additionalDirectories"] == more


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("replay", [True, False])
async def test_a_session_that_is_opened_again_while_it_is_open_has_the_directories_of_the_last_request(
    edition: str,
    tmp_path: Path,
    replay: bool,  # noqa: FBT001
) -> None:
    for name in ("here", "first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "note.txt").write_text(name)

    async def read(turn: Turn) -> None:
        # Both are made before the directories change.
        await turn.terminals.run(["true"])
        try:
            await turn.say(await turn.files.read(turn.text))
        except PathOutsideRoots:
            await turn.say("outside")
        try:
            await turn.terminals.run(["true"], cwd=str(Path(turn.text).parent))
        except PathOutsideRoots:
            await turn.say(" for commands too")

    here, first, second = (str(tmp_path / name) for name in ("here", "first", "second"))
    async with served(agent_of(read), edition) as hand:
        session = await hand.new_session(here, additionalDirectories=[first])
        assert (await hand.turn(session, f"{first}/note.txt")).text == "first"
        assert (await hand.turn(session, f"{second}/note.txt")).text == "outside for commands too"
        heard = await reopen(hand, session, replay=replay, cwd=here, additionalDirectories=[second])
        assert heard.answer is not None
        assert "result" in heard.answer
        assert (await hand.turn(session, f"{first}/note.txt")).text == "outside for commands too"
        assert (await hand.turn(session, f"{second}/note.txt")).text == "second"


@IN_EVERY_EDITION
async def test_the_metadata_of_the_request_reaches_the_author(edition: str) -> None:
    agent, seen = agent_of(echo), []
    agent.on_session(lambda session: seen.append(session.meta))
    async with served(agent, edition) as hand:
        await hand.new_session(_meta={"traceparent": "00-a-b-01", "example.org/x": 1})
        await hand.new_session()
    assert seen == [{"traceparent": "00-a-b-01", "example.org/x": 1}, {}]


@IN_EVERY_EDITION
async def test_what_is_told_while_a_session_is_opened_leaves_behind_the_answer(edition: str) -> None:
    agent = agent_of(echo)

    @agent.on_session
    async def prepare(session: Session) -> None:
        await session.set_title("Ready")
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    async with served(agent, edition) as hand:
        start = len(hand.received)
        await hand.new_session()
        assert "result" in hand.received[start]
        (update,) = await idle(hand)
    assert update["sessionUpdate"] == "session_info_update"
    assert update["title"] == "Ready"


@IN_EVERY_EDITION
async def test_a_session_that_its_author_refuses_is_not_opened(edition: str) -> None:
    agent = agent_of(echo)

    @agent.on_session
    async def refuse(session: Session) -> None:
        raise RateLimited(3, f"Not {session.cwd} now")

    async with served(agent, edition) as hand:
        error = error_of(await hand.request("session/new", {"cwd": CWD, "mcpServers": []}))
        assert error == {
            "code": -32029,
            "message": f"Not {CWD} now",
            "data": {"reason": "rate_limited", "retryAfter": 3},
        }
        assert (await hand.request("session/list", {}))["result"]["sessions"] == []
        assert await idle(hand) == []


@IN_EVERY_EDITION
async def test_a_hook_that_fails_says_nothing_of_itself(edition: str) -> None:
    agent, store = agent_of(echo), MemoryStore()
    agent._store_wanted = store

    @agent.on_session
    async def fail(_: Session) -> None:
        raise ValueError("the secret")

    async with served(agent, edition) as hand:
        error = error_of(await hand.request("session/new", {"cwd": CWD, "mcpServers": []}))
        assert error["code"] == -32603
        assert "secret" not in str(error)
        assert await hand.is_alive()
    assert (await store.list_sessions()).records == []


# --- load and resume


async def one_talk(hand: Hand) -> tuple[str, Heard]:
    session = await hand.new_session()
    return session, await hand.turn(session, "hello")


@pytest.mark.parametrize("edition", EDITIONS)
async def test_the_whole_conversation_is_told_again_before_the_answer(edition: str) -> None:
    agent = agent_of(converse)
    async with served(agent, edition) as hand:
        session, first = await one_talk(hand)
        await hand.turn(session, "again")
    async with served(agent, edition) as hand:
        heard = await reopen(hand, session)
        assert heard.messages[-1] is heard.answer
        assert await idle(hand) == []
    notices = [] if edition == "v2" else [("agent", "Info: Seen once")]
    talk = [("user", "hello"), *notices, ("thought", "Hm."), ("agent", "Part one, part two.")]
    assert messages(heard) == [*talk, ("user", "again"), *talk[1:]]
    assert len(heard.tools()) == 2
    for call in heard.tools().values():
        assert call["title"] == "Look"
        assert call["status"] == "completed"
        assert [item["content"]["text"] for item in call["content"]] == ["one", "two"]
    assert ("Seen once" in str(heard.updates)) is bool(notices)
    assert {"session_info_update", "usage_update"} <= set(heard.kinds)
    assert {"plan", "plan_update"} & set(heard.kinds)
    # What had a name keeps it.
    assert set(first.tools()) <= set(heard.tools())
    live = {u["messageId"] for u in first.of("agent_message_chunk", "agent_thought_chunk")}
    assert live <= {u["messageId"] for u in heard.updates if "messageId" in u}


@IN_EVERY_EDITION
async def test_without_replay_nothing_of_the_conversation_is_told(edition: str) -> None:
    agent = agent_of(converse)
    async with served(agent, edition) as hand:
        session, _ = await one_talk(hand)
    async with served(agent, edition) as hand:
        heard = await reopen(hand, session, replay=False)
        assert "error" not in (heard.answer or {})
        assert heard.kinds == (["state_update"] if edition == "v2" else [])
        assert await idle(hand) == []


@rows("replay", [True, False])
async def test_one_state_stands_before_each_answer_in_v2(*, replay: bool) -> None:
    agent = agent_of(converse)
    async with served(agent, "v2") as hand:
        session, _ = await one_talk(hand)
        here = await reopen(hand, session, replay=replay)
        assert here.kinds[-1] == "state_update"
        assert here.of("state_update") == [{"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}]
    async with served(agent, "v2") as hand:
        heard = await reopen(hand, session, replay=replay)
        assert heard.kinds[-1] == "state_update"
        assert heard.states == ["idle"]


@IN_EVERY_EDITION
async def test_a_turn_goes_on_as_before_after_a_resume_without_replay(edition: str) -> None:
    """The voice knows what the client knows: in v1 a tool call that grows is told as a whole list."""

    async def grow(turn: Turn) -> None:
        tell = turn.session.send
        if turn.text == "begin":
            await tell(ToolChanged("call-1", title="Grow", status="completed", content=[Shown(Text("one"))]))
        else:
            await tell(ToolContentAdded("call-1", Shown(Text("two"))))

    agent = agent_of(grow)
    async with served(agent, edition) as hand:
        session = await hand.new_session()
        await hand.turn(session, "begin")
    async with served(agent, edition) as hand:
        await reopen(hand, session, replay=False)
        (update,) = (await hand.turn(session, "end")).of("tool_call", "tool_call_update", "tool_call_content_chunk")
    if edition == "v1":
        assert update["sessionUpdate"] == "tool_call_update"
        assert [item["content"]["text"] for item in update["content"]] == ["one", "two"]
    else:
        assert update["sessionUpdate"] == "tool_call_content_chunk"
        assert update["content"]["content"]["text"] == "two"


@IN_EVERY_EDITION
async def test_a_session_can_be_told_again_while_it_is_open(edition: str) -> None:
    async with served(agent_of(echo), edition) as hand:
        session, _ = await one_talk(hand)
        heard = await reopen(hand, session)
        assert messages(heard) == [("user", "hello"), ("agent", "You said: hello")]
        again = await hand.turn(session, "more")
        assert again.text == "You said: more"


@IN_EVERY_EDITION
async def test_commands_are_told_again_with_a_session_that_is_open(edition: str) -> None:
    agent = agent_of(echo)
    agent.command("plan", "Make a plan")(lambda _, __: None)
    async with served(agent, edition) as hand:
        session = await hand.new_session()
        await idle(hand)
        heard = await reopen(hand, session)
        assert heard.answer is not None
        behind = await idle(hand)
    if edition == "v2":
        assert [command["name"] for command in heard.answer["result"]["availableCommands"]] == ["plan"]
    else:
        # The client knows the session: nothing has to wait for the answer.
        assert heard.kinds[-1:] == ["available_commands_update"]
    assert behind == []


@IN_EVERY_EDITION
async def test_a_second_load_while_a_turn_runs_tells_all_so_far_and_then_the_rest(edition: str) -> None:
    go = asyncio.Event()

    async def slow(turn: Turn) -> None:
        await turn.say("before ")
        await go.wait()
        await turn.say("after")

    async with served(agent_of(slow), edition) as hand:
        session = await hand.new_session()
        start = len(hand.received)
        prompt = await hand.prompt(session, "hello")
        await hand.said("before ")
        heard = await reopen(hand, session)
        assert messages(heard) == [("user", "hello"), ("agent", "before ")]
        if edition == "v2":
            assert heard.states == ["running"]
        after = len(hand.received)
        go.set()
        ended = await hand.ended(prompt, start)
    assert Heard(hand.received[after:]).text == "after"
    assert ended.stop_reason == "end_turn"


class Slow(MemoryStore):
    """What is queued can be read at once; a commit takes as long as the test wants."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()
        self.go.set()

    async def commit(self, session_id: str, ticket: int) -> None:
        await self.go.wait()
        await super().commit(session_id, ticket)


@IN_EVERY_EDITION
async def test_what_is_on_its_way_out_when_a_load_comes_is_not_told_behind_it(edition: str) -> None:
    store, end = Slow(), asyncio.Event()

    async def work(turn: Turn) -> None:
        store.go.clear()
        await turn.say("once")
        await end.wait()

    async with served(agent_of(work, store=store), edition) as hand:
        session = await hand.new_session()
        prompt = await hand.prompt(session)
        await until(lambda: not store.go.is_set())
        loading = await hand.ask(*reopening(hand, session))
        await hand.drain()
        store.go.set()
        await hand.answer_to(loading)
        place = len(hand.received)
        end.set()
        await hand.ended(prompt)
    assert Heard(hand.received[place:]).text == ""
    replay = max(n for n, each in enumerate(hand.received) if "user_message" in str(each))
    assert messages(Heard(hand.received[replay:place])) == [("user", "go"), ("agent", "once")]


@pytest.mark.rotated("edition")
@pytest.mark.parametrize("edition", EDITIONS)
async def test_what_streams_during_a_load_is_told_once(edition: str, tmp_path: Path) -> None:
    stop = asyncio.Event()
    words: list[str] = []

    async def stream(turn: Turn) -> None:
        while not stop.is_set():
            words.append(f"{len(words)} ")
            await turn.say(words[-1])
            await asyncio.sleep(0)

    store = SqliteStore(tmp_path / "sessions.db")
    async with served(agent_of(stream, store=store), edition) as hand:
        session = await hand.new_session()
        prompt = await hand.prompt(session)
        await hand.said("5 ")
        for _ in range(2):
            start = len(hand.received)
            await hand.request(*reopening(hand, session))
        stop.set()
        await hand.ended(prompt, start)
    await store.close()
    updates = Heard(hand.received[start:]).updates
    # The conversation begins anew with what the user said.
    replay = max(n for n, update in enumerate(updates) if update["sessionUpdate"].startswith("user_message"))
    told = Heard([{"method": "session/update", "params": {"update": update}} for update in updates[replay:]])
    assert messages(told)[1] == ("agent", "".join(words))


@IN_EVERY_EDITION
async def test_a_session_of_another_directory_is_refused(edition: str, tmp_path: Path) -> None:
    async with served(agent_of(echo), edition) as hand:
        session = await hand.new_session(str(tmp_path))
        for replay in (True, False):
            error = error_of(await hand.request(*reopening(hand, session, replay=replay)))
            assert error["code"] == -32602
            assert error["data"]["field"] == "cwd"
            assert str(tmp_path) not in str(error)
        assert "result" in await hand.request(*reopening(hand, session, cwd=f"{tmp_path}/"))


@IN_EVERY_EDITION
async def test_an_unknown_session_cannot_be_opened_again(edition: str) -> None:
    async with served(agent_of(echo), edition) as hand:
        for replay in (True, False):
            error = error_of(await hand.request(*reopening(hand, "nobody", replay=replay)))
            assert error["code"] == -32002
            assert error["data"] == {"sessionId": "nobody"}


async def test_v2_resumes_what_is_open_also_without_a_store() -> None:
    async with served(agent_of(echo, stored=False), "v2") as hand:
        session, _ = await one_talk(hand)
        heard = await reopen(hand, session)
        assert heard.kinds == ["state_update"]
        assert (await hand.turn(session, "more")).text == "You said: more"
        assert error_of(await hand.request(*reopening(hand, "nobody")))["code"] == -32002


@IN_EVERY_EDITION
async def test_two_loads_at_once_open_one_session(edition: str) -> None:
    agent, opened = agent_of(echo), []
    async with served(agent, edition) as hand:
        session, _ = await one_talk(hand)

    @agent.on_session
    async def count(session: Session) -> None:
        opened.append(session)
        await asyncio.sleep(0)

    async with served(agent, edition) as hand:
        ids = [await hand.ask(*reopening(hand, session, replay=False)) for _ in range(5)]
        for id_ in ids:
            assert "result" in await hand.answer_to(id_)
        assert (await hand.turn(session, "more")).text == "You said: more"
    assert len(opened) == 1


@IN_EVERY_EDITION
async def test_a_load_that_comes_during_a_close_opens_the_session_anew(edition: str) -> None:
    release = asyncio.Event()

    async def slow(_: Turn) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await release.wait()

    async with served(agent_of(slow), edition) as hand:
        session = await hand.new_session()
        await hand.prompt(session)
        if edition == "v2":
            await hand.state("running")
        closing = await hand.ask("session/close", {"sessionId": session})
        loading = await hand.ask(*reopening(hand, session))
        await idle(hand)
        release.set()
        assert "result" in await hand.answer_to(loading)
        answers = [each.get("id") for each in hand.received if each.get("id") in (closing, loading)]
        assert answers == [closing, loading]
        assert "result" in await hand.request("session/close", {"sessionId": session})


# --- after a restart


@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_session_outlives_its_process_with_its_state_and_its_title(edition: str, tmp_path: Path) -> None:
    states: list[Any] = []

    async def count(turn: Turn) -> None:
        states.append(turn.session.state)
        await turn.save({"prompts": (turn.session.state or {"prompts": 0})["prompts"] + 1})
        await turn.session.set_title(f"Talk {len(states)}")
        history = await turn.history()
        await turn.say(" | ".join(message.text for message in history.messages if message.speaker == "user"))

    heard: list[Heard] = []
    session = ""
    for text in ("one", "two"):
        store = SqliteStore(tmp_path / "sessions.db")
        agent = agent_of(count, store=store)
        titles: list[str | None] = []
        agent.on_session(lambda session, titles=titles: titles.append(session.title))
        async with served(agent, edition) as hand:
            if not session:
                session = await hand.new_session()
                assert titles == [None]
            else:
                await reopen(hand, session)
                assert titles == ["Talk 1"]
            heard.append(await hand.turn(session, text))
        await store.close()
    assert states == [None, {"prompts": 1}]
    assert [each.text for each in heard] == ["one", "one | two"]


@IN_EVERY_EDITION
async def test_what_a_dead_process_left_open_is_brought_to_an_end(edition: str) -> None:
    store = MemoryStore()
    agent = agent_of(echo, store=store)
    async with served(agent, edition) as hand:
        session = await hand.new_session()
    await store.append(
        session,
        [
            MessageChanged("user", "m-1", [Text("hello")]),
            StateChanged("running"),
            ToolChanged("call-1", title="Look", status="in_progress"),
            ToolChanged("call-2", title="Done", status="completed"),
            TerminalChanged("terminal-1", command="sleep 100"),
            CompactionChanged("compaction-1", "in_progress"),
        ],
    )
    async with served(agent, edition) as hand:
        heard = await reopen(hand, session)
        assert [(call["title"], call["status"]) for call in heard.tools().values()] == [
            ("Look", "failed"),
            ("Done", "completed"),
        ]
        if edition == "v2":
            (terminal,) = heard.of("terminal_update")
            assert "exitStatus" in terminal
            (compaction,) = heard.of("compaction_update")
            assert compaction["status"] == "failed"
            assert heard.states == ["idle"]
        assert (await hand.turn(session, "again")).text == "You said: again"
    kept = len(await store.read(session))
    async with served(agent, edition) as hand:
        await reopen(hand, session)
    assert len(await store.read(session)) == kept


@IN_EVERY_EDITION
async def test_what_another_client_of_the_same_program_works_on_is_no_wreck(edition: str) -> None:
    go = asyncio.Event()

    async def work(turn: Turn) -> None:
        async with turn.tool("Look"):
            await turn.say("working")
            await go.wait()

    store = MemoryStore()
    agent = agent_of(work, store=store)
    async with served(agent, edition) as one, served(agent, edition) as other:
        session = await one.new_session()
        prompt = await one.prompt(session)
        await one.said("working")
        (call,) = (await reopen(other, session)).tools().values()
        assert call["status"] == "in_progress"
        go.set()
        assert (await one.ended(prompt)).stop_reason == "end_turn"
    states = [event for event in await store.read(session) if isinstance(event, StateChanged)]
    assert [state.stop_reason for state in states] == [None, "end_turn"]
    assert await store.acquire(session), "a connection that is gone still has the session"


async def test_an_author_without_a_store_is_told_that_nothing_is_kept() -> None:
    errors: list[LocalProtocolError] = []

    async def try_to_keep(turn: Turn) -> None:
        for attempt in (turn.save, turn.history):
            with pytest.raises(LocalProtocolError, match="store=None") as caught:
                await attempt()
            errors.append(caught.value)

    async with served(agent_of(try_to_keep, stored=False)) as hand:
        assert (await hand.turn(await hand.new_session())).stop_reason == "end_turn"
    assert len(errors) == 2


# --- lists


@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_list_has_pages_and_every_session_once_the_newest_first(edition: str) -> None:
    async with served(agent_of(echo), edition) as hand:
        made = [await hand.new_session() for _ in range(120)]
        await hand.turn(made[3])
        found: list[str] = []
        sizes: list[int] = []
        cursor: dict[str, Any] = {}
        while True:
            result = (await hand.request("session/list", cursor))["result"]
            found += [info["sessionId"] for info in result["sessions"]]
            sizes.append(len(result["sessions"]))
            if not result.get("nextCursor"):
                break
            cursor = {"cursor": result["nextCursor"]}
    assert sizes == [50, 50, 20]
    assert found[0] == made[3]
    assert sorted(found) == sorted(made)


@IN_EVERY_EDITION
async def test_a_list_shows_directory_title_and_time(edition: str, tmp_path: Path) -> None:
    async def name(turn: Turn) -> None:
        await turn.session.set_title("Named")

    async with served(agent_of(name), edition) as hand:
        session = await hand.new_session(str(tmp_path))
        await hand.new_session()
        await hand.turn(session)
        (info,) = (await hand.request("session/list", {"cwd": str(tmp_path)}))["result"]["sessions"]
        nowhere = await hand.request("session/list", {"cwd": str(tmp_path / "elsewhere")})
    assert info["sessionId"] == session
    assert info["cwd"] == str(tmp_path)
    assert info["title"] == "Named"
    assert info["updatedAt"].endswith("Z")
    assert nowhere["result"]["sessions"] == []


async def test_v2_lists_what_is_open_also_without_a_store(tmp_path: Path) -> None:
    async def name(turn: Turn) -> None:
        await turn.session.set_title("Named")

    async with served(agent_of(name, stored=False), "v2") as hand:
        first, second = await hand.new_session(), await hand.new_session(str(tmp_path))
        await hand.turn(first)
        listed = (await hand.request("session/list", {}))["result"]["sessions"]
        there = (await hand.request("session/list", {"cwd": str(tmp_path)}))["result"]["sessions"]
        bad = error_of(await hand.request("session/list", {"cursor": "x"}))
        await hand.request("session/close", {"sessionId": first})
        left = (await hand.request("session/list", {}))["result"]["sessions"]
    assert [(info["sessionId"], info.get("title")) for info in listed] == [(first, "Named"), (second, None)]
    assert [info["sessionId"] for info in there] == [second]
    assert bad["code"] == -32602
    assert [info["sessionId"] for info in left] == [second]


@IN_EVERY_EDITION
async def test_a_cursor_that_is_none_of_ours_is_refused(edition: str) -> None:
    async with served(agent_of(echo), edition) as hand:
        for cursor in ("nonsense", ""):
            error = error_of(await hand.request("session/list", {"cursor": cursor}))
            assert error["code"] == -32602
            assert error["data"] == {"field": "cursor", "expected": "a nextCursor"}


# --- close


@IN_EVERY_EDITION
async def test_a_closed_session_is_gone_until_it_is_opened_again(edition: str) -> None:
    async with served(agent_of(echo), edition) as hand:
        session, _ = await one_talk(hand)
        assert (await hand.request("session/close", {"sessionId": session}))["result"] == {}
        error = error_of(await hand.request("session/prompt", {"sessionId": session, "prompt": [text("x")]}))
        assert error["code"] == -32002
        assert error["data"] == {"sessionId": session}
        await reopen(hand, session)
        assert (await hand.turn(session, "back")).text == "You said: back"


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


@IN_EVERY_EDITION
async def test_closing_twice_or_what_was_never_there_succeeds(edition: str) -> None:
    async with served(agent_of(echo), edition) as hand:
        session = await hand.new_session()
        for name in (session, session, "nobody"):
            assert (await hand.request("session/close", {"sessionId": name}))["result"] == {}


@IN_EVERY_EDITION
async def test_closing_a_busy_session_ends_its_turns_and_then_is_silent(edition: str) -> None:
    cancelled = asyncio.Event()

    async def work(turn: Turn) -> None:
        await turn.say("working")
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
            await turn.say("last words")

    async with served(agent_of(work), edition) as hand:
        session = await hand.new_session()
        start = len(hand.received)
        prompt = await hand.prompt(session, "go")
        await hand.said("working")
        held = await hand.prompt(session, "held")
        closing = await hand.ask("session/close", {"sessionId": session})
        assert (await hand.answer_to(closing))["result"] == {}
        place = len(hand.received)
        ended = await hand.ended(prompt, start)
        assert ended.stop_reason == "cancelled"
        other = await hand.answer_to(held)
        assert await idle(hand) == []
    assert cancelled.is_set()
    if edition == "v2":
        assert error_of(other)["code"] == -32800
    else:
        assert other["result"] == {"stopReason": "cancelled"}
    assert Heard(hand.received[start:place]).text == "workinglast words"
    assert Heard(hand.received[place:]).updates == []


@IN_EVERY_EDITION
async def test_a_close_that_is_taken_back_closes_all_the_same(edition: str) -> None:
    release = asyncio.Event()

    async def work(turn: Turn) -> None:
        await turn.say("working")
        try:
            await asyncio.Event().wait()
        finally:
            await release.wait()

    async with served(agent_of(work), edition) as hand:
        session = await hand.new_session()
        await hand.prompt(session, "go")
        await hand.said("working")
        closing = await hand.ask("session/close", {"sessionId": session})
        await hand.withdraw(closing)
        answer = await hand.answer_to(closing) if edition != "v2_june" else None
        release.set()
        if answer is not None:
            assert error_of(answer)["code"] == -32800
        assert (await hand.request("session/close", {"sessionId": session}))["result"] == {}
        assert error_of(await hand.request("session/prompt", {"sessionId": session, "prompt": [text("x")]}))


# --- delete


@IN_EVERY_EDITION
@rows("closed", [True, False])
async def test_a_deleted_session_is_neither_listed_nor_found(edition: str, *, closed: bool) -> None:
    async with served(agent_of(echo), edition) as hand:
        session, _ = await one_talk(hand)
        if closed:
            await hand.request("session/close", {"sessionId": session})
        assert (await hand.request("session/delete", {"sessionId": session}))["result"] == {}
        assert (await hand.request("session/list", {}))["result"]["sessions"] == []
        assert error_of(await hand.request(*reopening(hand, session)))["code"] == -32002
        assert (await hand.request("session/delete", {"sessionId": session}))["result"] == {}
        assert (await hand.request("session/delete", {"sessionId": "nobody"}))["result"] == {}


# --- fork


@rows("edition", FORKS)
async def test_a_fork_begins_as_a_copy_and_goes_its_own_way(edition: str) -> None:
    async def remember(turn: Turn) -> None:
        await turn.save([*(turn.session.state or []), turn.text])
        await turn.session.set_title("The talk")
        await turn.say(", ".join(turn.session.state))

    async with served(agent_of(remember, drafts=True), edition) as hand:
        session = await hand.new_session()
        await hand.turn(session, "one")
        start = len(hand.received)
        params = {"sessionId": session, "cwd": CWD, "mcpServers": []}
        fork = (await hand.request("session/fork", params))["result"]["sessionId"]
        assert Heard(hand.received[start:]).updates == []
        assert fork != session
        assert (await hand.turn(fork, "two")).text == "one, two"
        assert (await hand.turn(session, "three")).text == "one, three"
        listed = (await hand.request("session/list", {}))["result"]["sessions"]
        assert {info["title"] for info in listed} == {"The talk"}
        error = error_of(await hand.request("session/fork", {**params, "sessionId": "nobody"}))
        assert error["code"] == -32002
        assert error["data"] == {"sessionId": "nobody"}


@rows("edition", FORKS)
async def test_a_fork_of_a_session_that_is_not_open_works_too(edition: str) -> None:
    agent = agent_of(echo, drafts=True)
    async with served(agent, edition) as hand:
        session, _ = await one_talk(hand)
    async with served(agent, edition) as hand:
        params = {"sessionId": session, "cwd": CWD, "mcpServers": []}
        fork = (await hand.request("session/fork", params))["result"]["sessionId"]
        heard = await reopen(hand, fork)
    assert messages(heard) == [("user", "hello"), ("agent", "You said: hello")]


@rows("edition", FORKS)
async def test_a_fork_that_its_author_refuses_leaves_nothing_behind(edition: str) -> None:
    agent = agent_of(echo, drafts=True)
    async with served(agent, edition) as hand:
        session, _ = await one_talk(hand)
        agent.on_session(_refuse)
        error = error_of(await hand.request("session/fork", {"sessionId": session, "cwd": CWD, "mcpServers": []}))
        assert error["code"] == -32029
        listed = (await hand.request("session/list", {}))["result"]["sessions"]
        assert [info["sessionId"] for info in listed] == [session]


async def _refuse(_: Session) -> None:
    raise RateLimited


# --- what an author sees


async def test_a_session_shows_where_it_is() -> None:
    agent, seen = agent_of(echo), []
    agent.on_session(lambda session: seen.append(repr(session)))
    async with served(agent) as hand:
        session = await hand.new_session()
    assert seen == [f"<blocking <session {session} in {CWD}>>"]


@IN_EVERY_EDITION
async def test_nothing_can_be_told_in_a_session_that_is_closed(edition: str) -> None:
    agent = agent_of(echo)
    sessions: list[Session] = []
    agent.on_session(noting(sessions))
    async with served(agent, edition) as hand:
        session = await hand.new_session()
        await hand.request("session/close", {"sessionId": session})
        with pytest.raises(LocalProtocolError, match="closed"):
            await sessions[0].set_title("too late")
        await sessions[0]._close()
        assert await idle(hand) == []


@IN_EVERY_EDITION
async def test_the_commands_of_one_session_can_be_others(edition: str) -> None:
    async def change(turn: Turn) -> None:
        await turn.session.set_commands([Command("more", "Say more")])

    async with served(agent_of(change), edition) as hand:
        session = await hand.new_session()
        heard = await hand.turn(session)
        (update,) = heard.of("available_commands_update")
        assert [command["name"] for command in update["availableCommands"]] == ["more"]


@IN_EVERY_EDITION
async def test_a_title_can_be_taken_away(edition: str) -> None:
    async def name(turn: Turn) -> None:
        await turn.session.set_title("Named")
        await turn.session.set_title(None)

    async with served(agent_of(name), edition) as hand:
        session = await hand.new_session()
        titles = [update["title"] for update in (await hand.turn(session)).of("session_info_update")]
        (info,) = (await hand.request("session/list", {}))["result"]["sessions"]
    assert titles == ["Named", None]
    assert info.get("title") is None


async def test_work_beside_the_turns_that_fails_is_logged_and_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise ValueError("beside")

    async def start(turn: Turn) -> None:
        task = turn.session.spawn(fail())
        await asyncio.wait([task])
        await turn.say("on")

    async with served(agent_of(start)) as hand:
        assert (await hand.turn(await hand.new_session())).text == "on"
    assert "work beside the turns" in caplog.text


@pytest.mark.usefixtures("short_graces")
@pytest.mark.rotated("edition")
@pytest.mark.parametrize("edition", EDITIONS)
async def test_a_client_that_vanishes_ends_its_turns_and_the_history_is_whole(edition: str) -> None:
    store, ended = MemoryStore(), asyncio.Event()

    async def work(turn: Turn) -> None:
        await turn.say("working")
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    agent: Agent = agent_of(work, store=store)
    async with served(agent, edition) as hand:
        session = await hand.new_session()
        await hand.prompt(session, "go")
        await hand.said("working")
    assert ended.is_set()
    events = await store.read(session)
    assert [event.block.text for event in events if isinstance(event, MessageChunk)] == ["working"]  # type: ignore[union-attr]
    assert isinstance(events[-1], StateChanged)
    assert events[-1].stop_reason == "cancelled"


# --- sessions that nobody prompted


async def test_a_session_that_nobody_prompted_is_listed_while_it_is_open_and_can_be_loaded_later(
    tmp_path: Path,
) -> None:
    async def ids(hand: Hand) -> list[str]:
        answer = await hand.request("session/list", {})
        return [each["sessionId"] for each in answer["result"]["sessions"]]

    def agent() -> Agent:
        return agent_of(echo, store=SqliteStore(tmp_path / "sessions.db"))

    async with served(agent(), "v1") as hand, served(agent(), "v1") as other:
        left = await hand.new_session()
        assert await ids(hand) == await ids(other) == [left]
    async with served(agent(), "v1") as hand:
        assert await ids(hand) == []
        await hand.request("session/load", {"sessionId": left, "cwd": CWD, "mcpServers": []})
        assert await ids(hand) == [left]
        await hand.request("session/prompt", {"sessionId": left, "prompt": [{"type": "text", "text": "hello"}]})
    async with served(agent(), "v1") as hand:
        assert await ids(hand) == [left]


async def test_a_session_that_nobody_prompted_for_a_week_is_gone_with_the_next_client(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "sessions.db")
    now = time.time()
    for name, age_days in (("old", 8), ("young", 6)):
        at = now - age_days * 24 * 3600
        await store.create(SessionRecord(name, CWD, at, at))
    async with served(agent_of(echo, store=store), "v1") as hand:
        await hand.new_session()
        assert not await store.exists("old")
        assert await store.exists("young")
