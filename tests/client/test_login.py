"""Logging in to an agent that wants it: by a call, or by its own program in a terminal."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import subprocess
import sys
import termios
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import accord
from accord.session.capability import AuthMethod
from tests.connection.rig import Hand
from tests.forked import forked_python
from tests.limits import limit
from tests.tables import rows

IN_EVERY_EDITION = rows("edition", ["1", "2", "2-june"])
PROGRAM = Path(__file__).with_name("login_agent.py")


class Closed:
    """An agent that wants a login, and how often it got one."""

    def __init__(self) -> None:
        self.logins: list[str] = []
        self.agent = accord.Agent("closed", store=None)
        self.agent.login("key", "By key")(lambda: self.logins.append("key"))
        self.agent.login("wrong", "By a wrong key")(lambda: False)

        @self.agent.logout
        async def logout() -> None:
            self.logins.append("logout")

        @self.agent.prompt
        async def reply(turn: accord.agent.Turn) -> None:
            await turn.say("welcome")


@IN_EVERY_EDITION
async def test_a_callback_chooses_how_to_log_in_and_the_session_is_opened(edition: Any) -> None:
    closed = Closed()
    offered: list[str] = []

    def choose(methods: Sequence[AuthMethod]) -> str:
        offered.extend(method.id for method in methods)
        return "key"

    async with accord.connect(closed.agent, edition=edition, login=choose) as agent:
        session = await agent.new_session()
        assert (await session.prompt("hello")).text == "welcome"
        await agent.new_session()
    assert (offered, closed.logins) == (["key", "wrong"], ["key"])


async def test_the_callback_may_take_its_time() -> None:
    closed = Closed()

    async def choose(methods: Sequence[AuthMethod]) -> str:
        await asyncio.sleep(0)
        return methods[0].id

    async with accord.connect(closed.agent, login=choose) as agent:
        await agent.new_session()
    assert closed.logins == ["key"]


@IN_EVERY_EDITION
@rows("login", [None, lambda _: None])
async def test_who_does_not_log_in_is_told_that_and_how(edition: Any, login: Any) -> None:
    closed = Closed()
    async with accord.connect(closed.agent, edition=edition, login=login) as agent:
        with pytest.raises(accord.AuthRequired) as caught:
            await agent.new_session()
        assert [method["name"] for method in caught.value.auth_methods] == ["By key", "By a wrong key"]
        assert [method.id for method in agent.auth_methods] == ["key", "wrong"]
        await agent.login("key")
        await agent.new_session()


async def test_the_methods_are_named_also_where_the_answer_names_none() -> None:
    ours, theirs = accord.memory_pair()
    hand = Hand(theirs)
    agent = accord.connect(ours, edition="1")
    opening = asyncio.ensure_future(agent.open())
    asked = await hand.hear()
    methods = [{"id": "key", "name": "By key", "description": "Paste it"}]
    result = {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": methods}
    await hand.say({"jsonrpc": "2.0", "id": asked["id"], "result": result})
    await opening
    making = asyncio.ensure_future(agent.new_session())
    asked = await hand.hear()
    error = {"code": -32000, "message": "Log in!", "data": {"hint": "kept"}}
    await hand.say({"jsonrpc": "2.0", "id": asked["id"], "error": error})
    with pytest.raises(accord.AuthRequired) as caught:
        await making
    (method,) = caught.value.auth_methods
    assert (method["id"], method["name"], method["description"]) == ("key", "By key", "Paste it")
    assert (caught.value.message, caught.value.data["hint"]) == ("Log in!", "kept")
    await agent.close()


async def test_a_way_that_is_not_offered_is_not_asked_for() -> None:
    closed = Closed()
    async with accord.connect(closed.agent, login=lambda _: "door") as agent:
        with pytest.raises(ValueError, match="door"):
            await agent.new_session()
        with pytest.raises(ValueError, match="window"):
            await agent.login("window")
    assert closed.logins == []


async def test_a_login_that_fails_is_told() -> None:
    async with accord.connect(Closed().agent, login=lambda _: "wrong") as agent:
        with pytest.raises(accord.AuthRequired):
            await agent.new_session()


@IN_EVERY_EDITION
async def test_after_a_logout_a_login_is_wanted_again(edition: Any) -> None:
    closed = Closed()
    async with accord.connect(closed.agent, edition=edition) as agent:
        await agent.login("key")
        await agent.new_session()
        await agent.logout()
        with pytest.raises(accord.AuthRequired):
            await agent.new_session()
    assert closed.logins == ["key", "logout"]


async def test_an_agent_without_a_logout_is_not_asked() -> None:
    agent = accord.Agent("open", store=None)
    agent.prompt(lambda _: None)
    async with accord.connect(agent) as remote:
        with pytest.raises(accord.LocalProtocolError):
            await remote.logout()


async def test_an_agent_in_this_process_has_no_login_in_a_terminal() -> None:
    agent = accord.Agent("closed", store=None)
    agent.terminal_login("tty", "In a terminal", args=["--login"])
    agent.prompt(lambda _: None)
    async with accord.connect(agent, offer=accord.client.Offer(terminal_login=True), login=lambda _: "tty") as remote:
        with pytest.raises(accord.LocalProtocolError):
            await remote.new_session()


async def test_a_client_that_cannot_is_not_offered_a_terminal(tmp_path: Path) -> None:
    async with accord.connect(sys.executable, PROGRAM, env={"LOGIN_FILE": str(tmp_path / "login")}) as agent:
        assert agent.auth_methods == []


SCRIPT = """
import asyncio, sys
import accord

async def main():
    connecting = accord.connect(
        sys.executable, {program!r}, env={{"LOGIN_FILE": {kept!r}}}, program_cwd={cwd!r},
        offer=accord.client.Offer(terminal_login=True),
        login=lambda methods: {way!r}, edition={edition!r},
    )
    async with connecting as agent:
        try:
            session = await agent.new_session({cwd!r})
        except accord.ConnectFailed as error:
            print("failed:", error)
        else:
            print("said:", (await session.prompt("hello")).text)

asyncio.run(main())
"""


def in_terminal(script: Path, answer: str) -> str:
    """Run a script on a terminal of its own, type an answer when it asks for a name, and return what was shown."""
    terminal, theirs = pty.openpty()
    # Neither it nor the programs that it starts are new interpreters.
    with forked_python():
        running = subprocess.Popen(
            [sys.executable, str(script)],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - what forks is Python
        )
    os.close(theirs)
    shown = b""
    typed = False
    try:
        while True:
            try:
                data = os.read(terminal, 4096)
            except OSError:
                break
            if not data:
                break
            shown += data
            if b"name: " in shown and not typed:
                typed = True
                os.write(terminal, answer.encode() + b"\n")
    finally:
        os.close(terminal)
        running.wait(limit(20))
    return shown.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("edition", ["1", "2"])
@pytest.mark.timeout(60)
def test_the_agents_own_program_asks_the_user_on_this_terminal(tmp_path: Path, edition: str) -> None:
    kept = tmp_path / "login"
    script = tmp_path / "client.py"
    text = SCRIPT.format(program=str(PROGRAM), kept=str(kept), cwd=str(tmp_path), way="tty", edition=edition)
    script.write_text(textwrap.dedent(text), encoding="utf-8")
    shown = in_terminal(script, "ada")
    assert kept.read_text(encoding="utf-8") == f"ada True tty {tmp_path}"
    assert f"said: ada True tty {tmp_path}" in shown


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.timeout(60)
def test_a_login_program_that_fails_is_told(tmp_path: Path) -> None:
    script = tmp_path / "client.py"
    text = SCRIPT.format(
        program=str(PROGRAM), kept=str(tmp_path / "login"), cwd=str(tmp_path), way="bad", edition="auto"
    )
    script.write_text(textwrap.dedent(text), encoding="utf-8")
    assert "failed: the login ended with status 3" in in_terminal(script, "ada")
