"""`accord chat` as a verb; the screen itself is tested in `chat/`."""

from __future__ import annotations

import json
import sys

import pytest

from tests.cli.command import Accord, Screen, eventually, scripted

pytest.importorskip("termios")
pytest.importorskip("textual")


AGENT = """
import accord

agent = accord.Agent("keeps", version="1", store=accord.SqliteStore("kept.db"))


@agent.prompt
async def reply(turn: accord.agent.Turn) -> None:
    await turn.say(f"heard {turn.text}")


agent.run()
"""


def test_it_needs_a_terminal(accord: Accord) -> None:
    result = accord("chat", "demo")
    assert result.status == 2
    assert "accord chat needs a terminal" in result.stderr
    assert "accord run" in result.stderr


def test_it_needs_a_terminal_that_can_show_a_full_screen(accord: Accord) -> None:
    with accord.terminal("chat", "demo", TERM="dumb") as screen:
        assert "accord run" in screen.rest()
        assert screen.status() == 2


def test_a_program_that_is_started_on_a_terminal_says_what_to_type(accord: Accord) -> None:
    (accord.cwd / "keeps.py").write_text(AGENT)
    screen = Screen([sys.executable, "keeps.py"], accord.cwd, accord.env)
    try:
        screen.expect('accord run "hello" --')
        screen.type("\x04")
        assert screen.status() == 0
    finally:
        screen.close()


def test_it_takes_no_text(accord: Accord) -> None:
    assert accord("chat", "demo", "hello").status == 2


def test_it_opens_on_a_terminal_and_is_left_by_a_key(accord: Accord) -> None:
    with accord.terminal("chat", *scripted("plain")) as screen:
        screen.expect("\x1b[?1049h")
        # The session is noted once it is open.
        assert eventually(lambda: "s-1234567890" in accord("sessions", "ls", "--json").stdout)
        screen.type("\x11")
        assert screen.status() == 0


def test_the_last_session_must_be_there(accord: Accord) -> None:
    with accord.terminal("chat", "demo", "-c") as screen:
        assert "there is no session of demo in this directory" in screen.rest()
        assert screen.status() == 4


def test_a_directory_that_is_none_is_named_as_in_a_run(accord: Accord) -> None:
    with accord.terminal("chat", "--dir", "nowhere", *scripted("plain")) as screen:
        assert "nowhere: there is no such directory" in screen.rest()
        assert screen.status() == 2


def test_an_mcp_server_that_is_left_out_is_remarked_as_in_a_run(accord: Accord) -> None:
    off = {"mcpServers": {"quiet": {"command": "x", "disabled": True}}}
    (accord.cwd / "mcp.json").write_text(json.dumps(off), encoding="utf-8")
    with accord.terminal("chat", "--mcp", "mcp.json", *scripted("plain")) as screen:
        assert "the MCP server 'quiet' is switched off" in screen.expect("\x1b[?1049h")
        screen.expect("ready")
        screen.type("\x11")
        screen.status()


def test_a_session_that_only_the_agent_knows_is_gone_on_with_as_in_a_run(accord: Accord) -> None:
    (accord.cwd / "keeps.py").write_text(AGENT, encoding="utf-8")
    words = ["--", sys.executable, "keeps.py"]
    assert accord("run", "hello there", *words).status == 0
    (session,) = (each["session"] for each in json.loads(accord("sessions", "ls", "--json").stdout))
    # Another home: nothing is noted there.
    with accord.terminal("chat", "-s", session, *words, XDG_STATE_HOME=str(accord.home / "elsewhere")) as screen:
        screen.expect("heard hello there")
        screen.type("\x11")
        assert screen.status() == 0


def listed(accord: Accord) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads(accord("sessions", "ls", "--json").stdout)
    return rows


def test_a_chat_in_which_nothing_was_said_is_listed_only_while_it_is_open(accord: Accord) -> None:
    with accord.terminal("chat", "demo") as screen:
        screen.expect("\x1b[?1049h")
        assert eventually(lambda: listed(accord))
        screen.type("\x11")
        assert screen.status() == 0
    assert listed(accord) == []
    assert accord("run", "demo", "-c", "hello").status in {0, 4}


def test_the_picker_of_a_chat_shows_the_first_prompt_and_the_age(accord: Accord) -> None:
    (accord.cwd / "keeps.py").write_text(AGENT, encoding="utf-8")
    words = ["--", sys.executable, "keeps.py"]
    assert accord("run", "why is the sky blue?\nsay it in one line", *words).status == 0
    assert [each["prompt"] for each in listed(accord)] == ["why is the sky blue?"]
    with accord.terminal("chat", *words) as screen:
        screen.expect("ready")
        screen.type("\x12")
        screen.expect("why is the sky blue?")
        screen.expect("ago")
        screen.type("\x1b\x11")


def test_what_is_said_in_a_chat_is_noted_as_its_first_prompt(accord: Accord) -> None:
    with accord.terminal("chat", "demo") as screen:
        screen.expect("ready")
        screen.type("hello there\r")
        assert eventually(lambda: [each["prompt"] for each in listed(accord)] == ["hello there"])
        screen.type("\x11")
        assert screen.status() == 0
    assert [each["prompt"] for each in listed(accord)] == ["hello there"]


def test_a_model_alone_is_the_built_in_agent_with_that_model(accord: Accord) -> None:
    with accord.terminal("chat", "--model", "offline") as screen:
        screen.expect("\x1b[?1049h")
        # The session is noted once it is open.
        assert eventually(lambda: "accord.coder --model offline" in accord("sessions", "ls", "--json").stdout)
        screen.type("\x11")
        assert screen.status() == 0
