"""`accord agent`: the built-in coding agent, as an editor starts it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import accord as library
from tests.cli.command import Accord
from tests.forked import forked_python


@pytest.fixture
def forks() -> Iterator[None]:
    """Starts the agents as forks."""
    with forked_python("accord.cli.verbs.agent"):
        yield


async def test_it_speaks_the_protocol_on_stdio(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("something\n", encoding="utf-8")
    command = (sys.executable, "-m", "accord", "agent", "--store", "none", "--allow", "read")
    async with library.connect(*command) as agent:
        session = await agent.new_session(tmp_path)
        turn = await session.prompt("read a.txt")
    assert turn.stop_reason == "end_turn"
    assert "something" in turn.text


@pytest.mark.usefixtures("forks")
async def test_its_sessions_are_kept_where_it_is_told(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "accord", "agent", "--store", f"sqlite:{tmp_path / 'kept.db'}")
    async with library.connect(*command) as agent:
        session = await agent.new_session(tmp_path)
        await session.prompt("/help")
    async with library.connect(*command) as agent:
        again = await agent.load_session(session.id, tmp_path)
        assert "/help" in again.transcript.messages[0].text


def test_its_rules_are_read_in_the_order_of_the_line(accord: Accord) -> None:
    (accord.cwd / "my.rules").write_text("deny execute\n", encoding="utf-8")
    words = ["--", sys.executable, "-m", "accord", "agent", "--store", "none"]
    first = accord("run", "run true", "--allow", "all", *words, "--allow", "execute:true", "--rules", "my.rules")
    second = accord("run", "run true", "--allow", "all", *words, "--rules", "my.rules", "--allow", "execute:true")
    assert "exit code 0" in first.stdout
    assert "A rule forbids it" in second.stdout


def test_what_it_cannot_use_is_usage(accord: Accord) -> None:
    for words in (("--model", "gpt"), ("--store", "paper"), ("--allow", "everything"), ("--rules", "no"), ("--", "x")):
        result = accord("agent", *words)
        assert result.status == 2
        assert len(result.stderr.splitlines()) == 1


def test_on_a_terminal_it_says_what_it_is_and_what_to_type(accord: Accord) -> None:
    with accord.terminal("agent", "--store", "none") as screen:
        screen.expect("accord chat demo")
        screen.expect("accord chat --model PROVIDER:NAME")
        screen.type("\x04")
        assert screen.status() == 0


def test_on_a_pipe_it_says_nothing_of_that(accord: Accord) -> None:
    result = accord("agent", "--store", "none")
    assert (result.status, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.usefixtures("forks")
async def test_its_models_come_from_the_users_config_unless_the_line_names_some(tmp_path: Path) -> None:
    config = tmp_path / "config" / "accord" / "acp.json"
    config.parent.mkdir(parents=True)
    config.write_text('{"models": ["anthropic:claude-sonnet-5-5", "openai:gpt-5"]}', encoding="utf-8")
    command = (sys.executable, "-m", "accord", "agent", "--store", "none")
    for more, expected in (
        ((), ["anthropic:claude-sonnet-5-5", "openai:gpt-5", "offline"]),
        (("--model", "offline"), ["offline"]),
    ):
        async with library.connect(*command, *more, env={"XDG_CONFIG_HOME": str(tmp_path / "config")}) as agent:
            session = await agent.new_session(tmp_path)
            selects = {option.id: option for option in session.options if isinstance(option, library.Select)}
            assert selects["model"].values() == expected
