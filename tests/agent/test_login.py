"""Logging in: the gate before sessions, the ways through it, and the way back out."""

from __future__ import annotations

import asyncio
from typing import Any

from accord.agent import Agent, Turn
from accord.errors import AuthRequired, RequestError
from accord.stores import MemoryStore
from tests.agent.rig import IN_EVERY_EDITION, Hand, served
from tests.agent.sessions import CWD, error_of, reopening
from tests.tables import rows

LOGIN = {"v1": "authenticate", "v2": "auth/login", "v2_june": "authenticate"}
LOGOUT = {"v1": "logout", "v2": "auth/logout", "v2_june": "logout"}
OPEN = {"cwd": CWD, "mcpServers": []}
TERMINAL_LOGIN: dict[str, dict[str, Any]] = {
    "v1": {"auth": {"terminal": True}},
    "v2": {"auth": {"terminal": {}}},
    "v2_june": {},
}


def agent(**options: Any) -> Agent:
    made = Agent("tested", store=MemoryStore(), **options)

    @made.prompt
    async def reply(turn: Turn) -> None:
        if turn.text == "expired":
            raise AuthRequired("The login is over")
        await turn.say("yes")

    return made


async def login(hand: Hand, method: str) -> dict[str, Any]:
    answer: dict[str, Any] = await hand.request(LOGIN[hand.edition], {"methodId": method})
    return answer


async def logout(hand: Hand) -> dict[str, Any]:
    answer: dict[str, Any] = await hand.request(LOGOUT[hand.edition], {})
    return answer


@IN_EVERY_EDITION
async def test_sessions_are_closed_to_who_has_not_logged_in(edition: str) -> None:
    made = agent()
    made.login("browser", "In the browser", description="Opens a page")(lambda: None)
    async with served(made, edition) as hand:
        offered = hand.info["authMethods"]
        for method, params in (
            ("session/new", OPEN),
            reopening(hand, "some"),
            reopening(hand, "some", replay=False),
            ("session/list", {}),
            ("session/delete", {"sessionId": "some"}),
        ):
            error = error_of(await hand.request(method, params))
            assert error["code"] == -32000
            assert error["data"]["reason"] == "auth_required"
            (told,) = error["data"]["authMethods"]
            assert told["name"] == offered[0]["name"] == "In the browser"
            assert told["description"] == "Opens a page"


@IN_EVERY_EDITION
async def test_a_login_opens_the_gate_and_a_logout_closes_it(edition: str) -> None:
    made, calls = agent(), []

    @made.login("browser", "In the browser")
    async def log_in() -> None:
        await asyncio.sleep(0)
        calls.append("in")

    @made.logout
    async def log_out() -> None:
        calls.append("out")

    async with served(made, edition) as hand:
        assert (await login(hand, "browser"))["result"] == {}
        session = await hand.new_session()
        assert (await logout(hand))["result"] == {}
        assert error_of(await hand.request("session/new", OPEN))["code"] == -32000
        # What is open stays open.
        assert (await hand.turn(session)).text == "yes"
        assert (await login(hand, "browser"))["result"] == {}
        assert await hand.new_session()
    assert calls == ["in", "out", "in"]


@IN_EVERY_EDITION
async def test_a_logout_without_a_handler_closes_the_gate_too(edition: str) -> None:
    made = agent()
    made.login("browser", "In the browser")(lambda: None)
    async with served(made, edition) as hand:
        await login(hand, "browser")
        await logout(hand)
        assert error_of(await hand.request("session/new", OPEN))["code"] == -32000


@IN_EVERY_EDITION
async def test_a_program_has_one_user_whoever_of_its_clients_logs_in(edition: str) -> None:
    made = agent()
    made.login("browser", "In the browser")(lambda: None)
    async with served(made, edition) as one, served(made, edition) as other:
        await login(one, "browser")
        assert await other.new_session()


@IN_EVERY_EDITION
async def test_an_author_says_whether_there_is_a_login(edition: str) -> None:
    made, there = agent(), [True]
    made.login("browser", "In the browser")(lambda: None)

    @made.check_login
    async def is_there() -> bool:
        return there[0]

    async with served(made, edition) as hand:
        assert await hand.new_session()
        there[0] = False
        assert error_of(await hand.request("session/new", OPEN))["code"] == -32000
        await login(hand, "browser")
        assert error_of(await hand.request("session/new", OPEN))["code"] == -32000


@IN_EVERY_EDITION
async def test_a_way_to_log_in_that_was_never_offered_is_refused(edition: str) -> None:
    made = agent()
    made.login("browser", "In the browser")(lambda: None)
    made.login("key", "By a key")(lambda: None)
    async with served(made, edition) as hand:
        error = error_of(await login(hand, "magic"))
        assert error["code"] == -32602
        assert error["data"] == {"field": "methodId", "expected": "one of browser, key"}
        assert "magic" not in str(error)


@IN_EVERY_EDITION
async def test_a_login_in_a_terminal_is_no_call(edition: str) -> None:
    made = agent()
    made.terminal_login("shell", "In a terminal")
    async with served(made, edition, TERMINAL_LOGIN[edition]) as hand:
        error = error_of(await login(hand, "shell"))
        assert error["code"] == -32602
        assert error["data"] == {"field": "methodId", "expected": "no call: log in by a terminal method"}
        gate = error_of(await hand.request("session/new", OPEN))
        assert gate["code"] == -32000
        assert len(gate["data"]["authMethods"]) == (0 if edition == "v2_june" else 1)


@IN_EVERY_EDITION
async def test_an_agent_without_logins_is_open_and_says_that_it_needs_none(edition: str) -> None:
    async with served(agent(), edition) as hand:
        assert not hand.info.get("authMethods")
        assert await hand.new_session()
        error = error_of(await login(hand, "browser"))
        assert error["code"] == -32602
        assert error["data"]["expected"] == "no login: this agent needs none"
        assert error_of(await logout(hand))["code"] == -32601


@IN_EVERY_EDITION
@rows("way", ["false", "raises", "refuses"])
async def test_a_login_that_fails_leaves_the_gate_closed(edition: str, way: str) -> None:
    made = agent()

    @made.login("browser", "In the browser")
    def fail() -> bool:
        if way == "raises":
            raise ValueError("the secret")
        if way == "refuses":
            raise RequestError("Wrong account", code=-32051)
        return False

    async with served(made, edition) as hand:
        error = error_of(await login(hand, "browser"))
        expected = {"false": (-32000, "The login failed"), "raises": (-32603, "Internal error")}
        assert (error["code"], error["message"]) == expected.get(way, (-32051, "Wrong account"))
        assert "secret" not in str(error)
        if way == "false":
            assert error["data"]["reason"] == "auth_required"
            assert len(error["data"]["authMethods"]) == 1
        assert error_of(await hand.request("session/new", OPEN))["code"] == -32000


@IN_EVERY_EDITION
async def test_a_login_that_ends_during_a_turn_is_told_with_the_ways_to_log_in(edition: str) -> None:
    made = agent()
    made.login("browser", "In the browser")(lambda: None)
    async with served(made, edition) as hand:
        await login(hand, "browser")
        heard = await hand.turn(await hand.new_session(), "expired")
        assert heard.stop_reason == "error"
        assert heard.error["code"] == -32000
        assert heard.error["message"] == "The login is over"
        assert heard.error["data"]["reason"] == "auth_required"
        assert [method["name"] for method in heard.error["data"]["authMethods"]] == ["In the browser"]


@IN_EVERY_EDITION
async def test_a_failing_logout_leaves_the_login(edition: str) -> None:
    made = agent()
    made.login("browser", "In the browser")(lambda: None)

    @made.logout
    def fail() -> None:
        raise ValueError("the secret")

    async with served(made, edition) as hand:
        await login(hand, "browser")
        error = error_of(await logout(hand))
        assert error["code"] == -32603
        assert "secret" not in str(error)
        assert await hand.new_session()
