"""`accord.connect`: however an agent is reached, and whichever edition it speaks."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.stores import MemoryStore
from tests.client.programs import RawAgent
from tests.connection.rig import Hand
from tests.tables import rows

V1, V2, JUNE, FALSE = "v1", "v2", "v2_june", "false"


def made() -> accord.Agent:
    agent = accord.Agent("greeter", version="3.1", title="The Greeter", store=MemoryStore())

    @agent.prompt(accepts=["image"])
    async def reply(turn: accord.agent.Turn) -> None:
        await turn.say(f"You said: {turn.text}")

    return agent


def only(version: int, refuse: int | str = -32022, **more: Any) -> dict[str, Any]:
    return {"only": version, "refuse": refuse, **more}


# --- the edition


@rows(("wish", "spoken"), [("auto", "v1"), ("newest", "v2"), ("1", "v1"), ("2", "v2"), ("2-june", "v2_june")])
async def test_an_agent_that_speaks_every_edition_speaks_the_one_that_is_wished_for(wish: Any, spoken: str) -> None:
    async with accord.connect(made(), edition=wish) as agent:
        session = await agent.new_session()
        turn = await session.prompt("hello")
        assert (agent.edition, turn.text, turn.stop_reason) == (spoken, "You said: hello", "end_turn")


@pytest.mark.parametrize(
    ("wish", "plan", "spoken"),
    [
        ("auto", {"edition": V1}, "v1"),
        ("newest", {"edition": V1}, "v1"),
        ("1", {"edition": V1}, "v1"),
        ("auto", {"edition": FALSE}, "v1"),
        ("newest", {"edition": FALSE}, "v1"),
        ("auto", {"edition": V2}, "v2"),
        ("newest", {"edition": V2}, "v2"),
        ("2", {"edition": V2}, "v2"),
        ("auto", {"edition": JUNE}, "v2_june"),
        ("newest", {"edition": JUNE}, "v2_june"),
        ("2-june", {"edition": JUNE}, "v2_june"),
    ],
)
async def test_an_agent_with_one_edition_speaks_that(tmp_path: Path, wish: Any, plan: Any, spoken: str) -> None:
    raw = RawAgent(tmp_path, **plan)
    async with accord.connect(*raw.argv, edition=wish) as agent:
        session = await agent.new_session(tmp_path)
        turn = await session.prompt("hello")
        assert (agent.edition, turn.text, turn.stop_reason) == (spoken, "you said hello", "end_turn")
    assert raw.starts == 1


@pytest.mark.parametrize("code", [-32022, -32602, -32603])
async def test_an_agent_that_refuses_is_asked_for_the_next_edition_on_the_same_connection(
    tmp_path: Path, code: int
) -> None:
    raw = RawAgent(tmp_path, edition=V2, **only(2, code))
    async with accord.connect(*raw.argv) as agent:
        assert agent.edition == "v2"
    assert (raw.starts, [each["protocolVersion"] for each in raw.received("initialize")]) == (1, [1, 2])


@pytest.mark.parametrize("code", [-32022, -32602, -32603])
async def test_an_agent_that_refuses_drafts_is_asked_for_the_stable_edition(tmp_path: Path, code: int) -> None:
    raw = RawAgent(tmp_path, edition=V1, **only(1, code))
    async with accord.connect(*raw.argv, edition="newest") as agent:
        assert agent.edition == "v1"
    assert (raw.starts, [each["protocolVersion"] for each in raw.received("initialize")]) == (1, [2, 1])


@pytest.mark.parametrize(("wish", "edition", "version"), [("auto", V2, 2), ("newest", V1, 1), ("auto", JUNE, 2)])
async def test_an_agent_that_leaves_at_an_unknown_version_gets_a_fresh_start(
    tmp_path: Path, wish: Any, edition: str, version: int
) -> None:
    raw = RawAgent(tmp_path, edition=edition, **only(version, "exit"))
    async with accord.connect(*raw.argv, edition=wish) as agent:
        assert agent.edition == edition
    assert raw.starts == 2


@pytest.mark.parametrize(("wish", "edition", "version"), [("auto", V2, 2), ("newest", V1, 1)])
async def test_an_agent_that_refuses_and_then_leaves_gets_a_fresh_start(
    tmp_path: Path, wish: Any, edition: str, version: int
) -> None:
    raw = RawAgent(tmp_path, edition=edition, **only(version, then_exit=True))
    async with accord.connect(*raw.argv, edition=wish) as agent:
        assert agent.edition == edition
    assert raw.starts == 2


async def test_an_agent_that_is_initialized_once_and_not_again_gets_a_fresh_start(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path, edition=V2, once=True)
    async with accord.connect(*raw.argv) as agent:
        assert agent.edition == "v2"
    assert raw.starts == 2


@pytest.mark.parametrize(
    ("wish", "plan", "answered"),
    [
        ("2", {"edition": FALSE}, 2),
        ("2", {"edition": V1}, 1),
        ("2-june", {"edition": V1}, 1),
        ("2-june", {"edition": V2}, 2),
        ("2", {"edition": JUNE}, 2),
        ("1", {"edition": V2}, 2),
    ],
)
async def test_an_edition_that_is_insisted_on_is_not_given_up(
    tmp_path: Path, wish: Any, plan: Any, answered: int
) -> None:
    raw = RawAgent(tmp_path, **plan)
    with pytest.raises(accord.NegotiationFailed) as caught:
        await accord.connect(*raw.argv, edition=wish).open()
    assert (caught.value.answered, raw.starts) == (answered, 1)


async def test_the_first_refusal_is_what_the_caller_gets(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path, **only(9))
    with pytest.raises(accord.UnsupportedVersion) as caught:
        await accord.connect(*raw.argv).open()
    assert caught.value.supported == [9]


async def test_the_first_of_several_refusals_is_what_the_caller_gets() -> None:
    ours, theirs = accord.memory_pair()
    hand = Hand(theirs)
    opening = asyncio.ensure_future(accord.connect(ours).open())
    for code in (-32022, -32603):
        asked = await hand.hear()
        await hand.say({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": code, "message": "no"}})
    with pytest.raises(accord.UnsupportedVersion):
        await opening


async def test_a_strict_client_takes_no_number_that_does_not_fit(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path, edition=FALSE)
    with pytest.raises(accord.NegotiationFailed):
        await accord.connect(*raw.argv, edition="1", strict=True).open()


async def test_an_edition_that_nobody_knows_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path)
    with pytest.raises(ValueError, match="edition"):
        accord.connect(*raw.argv, edition="3")  # type: ignore[call-overload]
    assert raw.starts == 0


async def test_an_answer_that_is_none_is_no_edition() -> None:
    ours, theirs = accord.memory_pair()
    hand = Hand(theirs)
    opening = asyncio.ensure_future(accord.connect(ours, edition="1").open())
    asked = await hand.hear()
    await hand.say({"jsonrpc": "2.0", "id": asked["id"], "result": "hello"})
    with pytest.raises(accord.NegotiationFailed):
        await opening


# --- however it is reached


async def test_a_transport_is_asked_twice_but_not_opened_twice() -> None:
    ours, theirs = accord.memory_pair()
    hand = Hand(theirs)
    agent = accord.connect(ours)
    opening = asyncio.ensure_future(agent.open())
    asked = await hand.hear()
    await hand.say({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32022, "message": "no"}})
    asked = await hand.hear()
    result = {"protocolVersion": 2, "info": {"name": "hand", "version": "1"}, "capabilities": {"session": {}}}
    await hand.say({"jsonrpc": "2.0", "id": asked["id"], "result": result})
    await opening
    assert agent.edition == "v2"
    await agent.close()


async def test_a_transport_whose_other_end_leaves_is_lost() -> None:
    ours, theirs = accord.memory_pair()
    hand = Hand(theirs)
    opening = asyncio.ensure_future(accord.connect(ours).open())
    await hand.hear()
    await theirs.close()
    with pytest.raises(accord.ConnectionLost):
        await opening


async def test_a_path_may_stand_in_a_command(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path)
    program, *rest = raw.argv
    async with accord.connect(Path(program), *rest) as agent:
        assert agent.edition == "v1"


async def test_cwd_and_env_are_the_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "place"
    place.mkdir()
    monkeypatch.setenv("UNWANTED", "there")
    script = "import os, sys; sys.exit(os.environ['WANTED'] + os.environ.get('UNWANTED', ' gone ') + os.getcwd())"
    argv = (RawAgent(tmp_path).argv[0], "-c", script)
    with pytest.raises(accord.ConnectionLost) as caught:
        await accord.connect(*argv, program_cwd=place, env={"WANTED": "here", "UNWANTED": None}, edition="1").open()
    assert caught.value.stderr_tail.strip() == f"here gone {place}"


@rows("target", [(), (7,), (None,), ("program", 7), (accord.Agent,), (object(), "argument")])
def test_a_wrong_target_is_refused_at_once(target: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match=r"agent|Agent"):
        accord.connect(*target)


@rows("scheme", ["ws", "wss", "http", "https", "WSS"])
def test_an_address_is_taken_and_reached_later(scheme: str) -> None:
    accord.connect(f"{scheme}://localhost:1/acp", token="secret")  # noqa: S106


def test_an_address_as_an_argument_of_a_program_is_none_of_ours() -> None:
    accord.connect("proxy", "wss://localhost:1/acp")


async def test_an_agent_in_this_process_that_cannot_serve_says_why() -> None:
    useless = accord.Agent("useless", store=None)
    with pytest.raises(accord.ConnectionLost) as caught:
        await accord.connect(useless).open()
    assert isinstance(caught.value.__cause__, accord.LocalProtocolError)


async def test_an_agent_serves_several_clients_in_one_process() -> None:
    agent = made()
    async with accord.connect(agent) as one, accord.connect(agent, edition="2") as other:
        first, second = await one.new_session(), await other.new_session()
        turns = await asyncio.gather(first.prompt("1").wait(), second.prompt("2").wait())
        assert [turn.text for turn in turns] == ["You said: 1", "You said: 2"]


# --- what is at hand


@rows("wish", ["1", "2", "2-june"])
async def test_who_the_agent_is_and_what_it_can_is_at_hand(wish: Any) -> None:
    async with accord.connect(made(), edition=wish) as agent:
        assert agent.info is not None
        assert (agent.info.name, agent.info.version, agent.info.title) == ("greeter", "3.1", "The Greeter")
        assert agent.capabilities.prompts == {"image"}
        assert agent.capabilities.listing
        assert agent.auth_methods == []
        assert "greeter 3.1" in repr(agent)


async def test_the_client_introduces_itself(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path, edition=V2)
    async with accord.connect(
        *raw.argv,
        edition="2",
        client_info=accord.Implementation(name="mine", version="7", title="Mine"),
        offer=accord.client.Offer(terminals=False),
    ):
        pass
    (params,) = raw.received("initialize")
    assert params["info"] == {"name": "mine", "version": "7", "title": "Mine"}


async def test_only_what_is_offered_is_claimed(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path)
    async with accord.connect(*raw.argv, offer=accord.client.Offer(files=False, terminals=False)):
        pass
    async with accord.connect(*raw.argv):
        pass
    none, all_ = (params["clientCapabilities"] for params in raw.received("initialize"))
    assert not none.get("terminal")
    assert not any((none.get("fs") or {}).values())
    assert (all_["terminal"], all_["fs"]) == (True, {"readTextFile": True, "writeTextFile": True})
    assert "elicitation" not in all_


async def test_nothing_can_be_asked_of_an_agent_that_is_not_open() -> None:
    agent = accord.connect(made())
    assert (agent.edition, agent.info) == (None, None)
    with pytest.raises(accord.LocalProtocolError):
        await agent.new_session()


async def test_after_the_close_nothing_can_be_asked_and_nothing_is_started_again() -> None:
    async with accord.connect(made()) as agent:
        session = await agent.new_session()
    with pytest.raises(accord.ConnectionLost):
        await session.prompt("hello")
    with pytest.raises(accord.ConnectionLost):
        await agent.new_session()
    assert agent.respawns == 0
    await agent.close()


async def test_observers_see_every_text_of_every_start(tmp_path: Path) -> None:
    raw = RawAgent(tmp_path, edition=V2, **only(2, "exit"))
    seen: list[str] = []
    async with accord.connect(*raw.argv, observers=[lambda way, text: seen.append(f"{way} {bytes(text).decode()}")]):
        pass
    assert sum(text.startswith("out") and '"initialize"' in text for text in seen) == 2
    assert sum(text.startswith("in") and '"result"' in text for text in seen) == 1


async def test_what_an_agent_asks_right_behind_the_answer_to_a_new_session_is_served(tmp_path: Path) -> None:
    ours, theirs = accord.memory_pair()
    hand = Hand(theirs)
    (tmp_path / "file").write_text("text\n", encoding="utf-8")
    agent = accord.connect(ours, edition="1")
    opening = asyncio.ensure_future(agent.open())
    asked = await hand.hear()
    await hand.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"protocolVersion": 1, "agentCapabilities": {}}})
    await opening
    making = asyncio.ensure_future(agent.new_session(tmp_path))
    asked = await hand.hear()
    await hand.update("s", "early")
    await hand.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"sessionId": "s"}})
    read = await hand.request("fs/read_text_file", {"sessionId": "s", "path": str(tmp_path / "file")})
    session = await making
    assert read["result"] == {"content": "text\n"}
    assert session.transcript.text == "early"
    await agent.close()


async def test_open_gives_the_agent_itself_for_those_who_close_it_by_hand(tmp_path: Path) -> None:
    agent = accord.Agent("tested", store=None)
    agent.prompt(lambda turn: turn.say("hello"))
    connected = accord.connect(agent)
    opened = await connected.open()
    try:
        assert opened is connected
        turn = await (await opened.new_session(tmp_path)).prompt("hi")
    finally:
        await opened.close()
    assert turn.text == "hello"
