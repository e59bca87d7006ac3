"""The agent's answer to `initialize`: all of it follows from its registrations."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from accord.agent import Agent, Turn
from accord.errors import LocalProtocolError
from accord.stores import MemoryStore
from accord.transport import memory_pair
from tests.agent.rig import EDITIONS, IN_EVERY_EDITION, Hand, served
from tests.agent.sessions import FORKS
from tests.tables import rows

TERMINAL_LOGIN: dict[str, dict[str, Any]] = {
    "v1": {"auth": {"terminal": True}},
    "v2": {"auth": {"terminal": {}}},
    "v2_june": {},
}


def agent(**options: Any) -> Agent:
    made = Agent("tested", version="1.2", **{"store": MemoryStore(), **options})

    @made.prompt
    async def reply(turn: Turn) -> None:
        await turn.say("yes")

    return made


def capabilities(hand: Hand) -> dict[str, Any]:
    found: dict[str, Any] = hand.info["agentCapabilities" if hand.edition == "v1" else "capabilities"]
    return found


def session_capabilities(hand: Hand) -> dict[str, Any]:
    found: dict[str, Any] = capabilities(hand)["sessionCapabilities" if hand.edition == "v1" else "session"]
    return found


@IN_EVERY_EDITION
async def test_an_agent_says_its_name_its_version_and_its_title(edition: str) -> None:
    async with served(agent(title="The Tested"), edition) as hand:
        who = hand.info["info" if edition == "v2" else "agentInfo"]
    assert who == {"name": "tested", "version": "1.2", "title": "The Tested"}


@IN_EVERY_EDITION
async def test_a_plain_agent_with_a_store_serves_everything_about_sessions(edition: str) -> None:
    async with served(agent(), edition) as hand:
        markers = set(session_capabilities(hand))
        if edition == "v1":
            assert capabilities(hand)["loadSession"] is True
    expected = {
        "v1": {"list", "delete", "resume", "close", "additionalDirectories"},
        "v2": {"delete", "additionalDirectories"},
        "v2_june": {"list", "load", "delete", "resume", "close", "additionalDirectories"},
    }
    assert markers == expected[edition]


def mcp_transports(hand: Hand) -> set[str]:
    """The transports that an agent declares."""
    if hand.edition == "v1":
        return {name for name, offered in capabilities(hand).get("mcpCapabilities", {}).items() if offered is True}
    return set(session_capabilities(hand).get("mcp", {}))


@IN_EVERY_EDITION
async def test_mcp_is_offered_by_agents_that_use_it(edition: str) -> None:
    async with served(agent(mcp=True), edition) as hand:
        assert mcp_transports(hand) == ({"http", "sse"} if edition == "v1" else {"stdio", "http"})


@pytest.mark.parametrize("edition", EDITIONS)
async def test_with_a_package_for_mcp_that_is_too_old_no_addresses_are_offered(
    edition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It has no types of its own before its version 2.
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    async with served(agent(mcp=True), edition) as hand:
        assert mcp_transports(hand) == (set() if edition == "v1" else {"stdio"})


@IN_EVERY_EDITION
async def test_an_agent_that_uses_no_mcp_offers_none_and_starts_no_server(edition: str, tmp_path: Path) -> None:
    started = tmp_path / "started"
    server: dict[str, Any] = {"name": "x", "command": sys.executable, "args": ["-c", f"open({str(started)!r}, 'w')"]}
    server |= {"env": []} if edition == "v1" else {"env": [], "type": "stdio"}
    refusals: list[LocalProtocolError] = []
    made = Agent("tested", store=None)

    @made.prompt
    async def reply(turn: Turn) -> None:
        try:
            await turn.mcp()
        except LocalProtocolError as error:
            refusals.append(error)

    async with served(made, edition) as hand:
        assert mcp_transports(hand) == set()
        answer = await hand.request("session/new", {"cwd": str(tmp_path), "mcpServers": [server]})
        if edition == "v1":
            # There every agent takes servers on stdio; this one has no use for them.
            await hand.turn(answer["result"]["sessionId"])
        else:
            assert answer["error"]["code"] == -32602
            await hand.turn(await hand.new_session(str(tmp_path)))
    assert len(refusals) == 1
    assert not started.exists()


@IN_EVERY_EDITION
async def test_without_a_store_nothing_that_needs_one_is_offered(edition: str) -> None:
    async with served(agent(store=None), edition) as hand:
        markers = set(session_capabilities(hand))
        if edition == "v1":
            assert not capabilities(hand).get("loadSession", False)
        assert not markers & {"list", "load", "delete", "resume"}
        session = await hand.new_session()
        refused = ["session/delete"] if edition == "v2" else ["session/delete", "session/list", "session/load"]
        for method in refused:
            params = {"sessionId": session, "cwd": "/tmp", "mcpServers": []}  # noqa: S108
            assert (await hand.request(method, params))["error"]["code"] == -32601
        assert (await hand.turn(session)).text == "yes"


@IN_EVERY_EDITION
async def test_what_prompts_may_hold_is_what_the_handler_accepts(edition: str) -> None:
    made = Agent("tested", store=None)
    made.prompt(accepts={"image", "resource"})(lambda _: None)
    async with served(made, edition) as hand:
        found = capabilities(hand)["promptCapabilities"] if edition == "v1" else session_capabilities(hand)["prompt"]
    if edition == "v1":
        assert {key for key, value in found.items() if value} == {"image", "embeddedContext"}
    else:
        assert found == {"image": {}, "embeddedContext": {}}


@IN_EVERY_EDITION
async def test_what_is_advertised_beside_the_protocol_stands_in_the_metadata(edition: str) -> None:
    made = agent()
    made.advertise("example.org/speed", {"fast": True})
    async with served(made, edition) as hand:
        assert capabilities(hand)["_meta"] == {"example.org/speed": {"fast": True}}


def test_what_cannot_be_written_as_json_cannot_be_advertised() -> None:
    with pytest.raises(TypeError):
        agent().advertise("example.org/it", object())


@IN_EVERY_EDITION
async def test_a_login_in_a_terminal_is_offered_only_to_clients_that_have_one(edition: str) -> None:
    made = agent()
    made.terminal_login("shell", "In a terminal", args=["--login"], env={"A": "1"})
    async with served(made, edition) as hand:
        assert not hand.info.get("authMethods")
        assert "logout" not in capabilities(hand).get("auth", {})
    async with served(made, edition, TERMINAL_LOGIN[edition]) as hand:
        methods = hand.info.get("authMethods", [])
    if edition == "v2_june":
        assert methods == []
        return
    (method,) = methods
    assert method["type"] == "terminal"
    assert method["methodId" if edition == "v2" else "id"] == "shell"
    assert method["args"] == ["--login"]
    assert method["env"] == ([{"name": "A", "value": "1"}] if edition == "v2" else {"A": "1"})


@IN_EVERY_EDITION
async def test_a_client_that_introduces_itself_again_is_known_by_its_last_words(edition: str) -> None:
    made = agent()
    made.terminal_login("shell", "In a terminal")
    request: dict[str, Any] = {"protocolVersion": 1 if edition == "v1" else 2}
    request["info" if edition == "v2" else "clientInfo"] = {"name": "again", "version": "2"}
    request["clientCapabilities" if edition == "v1" else "capabilities"] = TERMINAL_LOGIN[edition]
    names: list[str] = []
    made.check_login(lambda: True)
    made.on_session(lambda session: names.append(session.client.name))
    async with served(made, edition) as hand:
        answer = await hand.request("initialize", request)
        assert bool(answer["result"].get("authMethods")) is (edition != "v2_june")
        await hand.new_session()
    assert names == ["again"]


@IN_EVERY_EDITION
async def test_before_the_handshake_nothing_is_served(edition: str) -> None:
    async with served(agent(), edition) as hand:
        assert hand.info["protocolVersion"] == (1 if edition == "v1" else 2)
        assert await hand.is_alive()


async def test_a_fork_is_offered_only_with_the_drafts() -> None:
    for drafts in (False, True):
        for edition in FORKS:
            async with served(agent(drafts=drafts), edition) as hand:
                assert ("fork" in session_capabilities(hand)) is drafts
                session = await hand.new_session()
                answer = await hand.request("session/fork", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})  # noqa: S108
                assert ("result" in answer) is drafts


# --- what an author can get wrong


def test_an_agent_needs_a_name() -> None:
    with pytest.raises(ValueError, match="name"):
        Agent("")


async def test_an_agent_without_a_handler_is_not_served() -> None:
    ours, theirs = memory_pair()
    with pytest.raises(LocalProtocolError, match="prompt"):
        await Agent("tested", store=None).serve(ours)
    await theirs.close()


def test_there_is_one_handler_for_prompts() -> None:
    with pytest.raises(ValueError, match="one handler"):
        agent().prompt(lambda _: None)


def test_prompts_accept_only_kinds_that_exist() -> None:
    with pytest.raises(ValueError, match="audio, image, resource"):
        agent().prompt(accepts={"video"})  # type: ignore[arg-type]


@rows("name", ["", "/plan", "two words", "a/b"])
def test_the_name_of_a_command_is_one_word(name: str) -> None:
    with pytest.raises(ValueError, match="one word"):
        agent().command(name, "Does something")


def test_an_agent_shows_its_name() -> None:
    assert repr(agent()) == "<agent tested>"
