"""The chat's own commands, typed as a user types them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import accord
from accord.cli.chat.chat_commands import _COMMANDS
from accord.cli.chat.dialogs.frame import Picker, ReadingDialog
from accord.cli.chat.own_commands import NAMES, Typed, typed, unknown_command
from accord.cli.chat.state_files import SettingsFile
from accord.session.option import Command
from tests.cli.chat.actors import make_actor
from tests.cli.chat.rig import Chat, open_chat


def agent_with_help() -> tuple[accord.Agent, list[str]]:
    """An agent that has a command of the chat's name."""
    agent = accord.Agent("helpful", version="1", store=None)
    heard: list[str] = []

    @agent.command("help", "Helps in its own way")
    async def help_(turn: accord.agent.Turn, what: str) -> None:
        heard.append(what)
        await turn.say("The agent's help")

    @agent.prompt
    async def reply(turn: accord.agent.Turn) -> None:
        heard.append(turn.text)
        await turn.say(f"You said: {turn.text}")

    return agent, heard


async def run(chat: Chat, line: str) -> None:
    """Type a command; the list of proposals may be open."""
    await chat.write(line)
    await chat.press("escape", "enter") if chat.app.composer.is_completing else await chat.press("enter")


def test_every_command_that_is_offered_can_be_carried_out() -> None:
    assert set(_COMMANDS) == NAMES
    assert {"help", "exit", "new", "sessions", "theme", "export", "log", "model", "mode"} <= NAMES


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("hello", Typed("prompt", "hello")),
        ("/help", Typed("own", "", "help")),
        ("/theme light", Typed("own", "light", "theme")),
        ("//help me", Typed("prompt", "/help me")),
        ("//help me\nplease", Typed("prompt", "/help me\nplease")),
        ("// what is this?", Typed("prompt", "// what is this?")),
        ("//host/share", Typed("prompt", "//host/share")),
        ("/greet Ada", Typed("prompt", "/greet Ada")),
        ("/helping", Typed("prompt", "/helping")),
        ("/help\nand more", Typed("prompt", "/help\nand more")),
        ("/quit", Typed("own", "", "exit")),
        ("/q", Typed("own", "", "exit")),
        ("/clear", Typed("own", "", "new")),
        ("//quit", Typed("prompt", "/quit")),
        ("/etc/hosts", Typed("prompt", "/etc/hosts")),
        ("!ls -l", Typed("shell", "ls -l")),
        ("! ls", Typed("shell", "ls")),
        ("wow!", Typed("prompt", "wow!")),
    ],
)
def test_what_a_line_means(text: str, meaning: Typed) -> None:
    assert typed(text) == meaning


def test_an_alias_is_the_agents_command_where_the_agent_has_one_of_that_name() -> None:
    assert typed("/clear", [Command("clear", "Forgets all")]) == Typed("prompt", "/clear")


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("/exti", ("exti", "exit")),
        ("/hlep me", ("hlep", "help")),
        ("/reviwe", ("reviwe", "review")),
        ("/quti", ("quti", "quit")),
        ("/nosuch", ("nosuch", None)),
        ("/compact\nand more", ("compact", None)),
        ("/review now", None),
        ("//help", None),
        ("/etc/hosts is empty", None),
        ("/*.py is what I mean", None),
        ("/", None),
        ("/ help", None),
        ("exti", None),
    ],
)
def test_a_command_that_neither_side_has_is_recognised(text: str, unknown: tuple[str, str | None] | None) -> None:
    assert unknown_command(text, [Command("review", "Reviews a change")]) == unknown


@pytest.mark.parametrize("command", ["/exti", "/nosuch"])
async def test_an_unknown_command_comes_back_once_and_is_then_sent(tmp_path: Path, command: str) -> None:
    agent, heard = agent_with_help()
    async with open_chat(agent, tmp_path) as chat:
        await run(chat, command)
        await chat.until(lambda: chat.app.composer.text == command, "the text comes back")
        await chat.sees(f"There is no command {command}")
        assert heard == []
        await chat.press("enter")
        await chat.until(lambda: heard == [command], "the prompt")


@pytest.mark.parametrize("alias", ["/quit", "/q"])
async def test_an_alias_of_exit_leaves_and_is_not_sent(tmp_path: Path, alias: str) -> None:
    agent, heard = agent_with_help()
    async with open_chat(agent, tmp_path) as chat:
        await run(chat, alias)
        await chat.until(lambda: chat.app.return_code == 0, "the end")
        assert heard == []


async def test_the_descriptions_of_proposed_commands_stand_in_one_column(tmp_path: Path) -> None:
    agent, _ = agent_with_help()
    agent.command("summarize-the-folder", "Says what is in it")(lambda turn, _: turn.say("much"))
    async with open_chat(agent, tmp_path, size=(120, 40)) as chat:
        await chat.until(lambda: chat.app.chat_session.session and chat.app.chat_session.session.commands)
        await chat.press("/")
        await chat.sees("Says what is in it", "chat: Leave", "chat: Light or dark")
        abouts = ("Says what is in it", "chat: Leave", "chat: Light or dark")
        columns = {line.find(about) for line in chat.text.splitlines() for about in abouts if about in line}
        assert len(columns) == 1


async def test_the_chats_own_commands_are_completed_beside_the_agents(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path, size=(100, 40)) as chat:
        await chat.until(lambda: chat.app.chat_session.session and chat.app.chat_session.session.commands)
        await chat.press("/")
        await chat.sees("/greet", "Greets somebody", "/exit", "chat: Leave")


async def test_help_of_the_chat_and_help_of_the_agent_are_both_reached(tmp_path: Path) -> None:
    agent, heard = agent_with_help()
    async with open_chat(agent, tmp_path) as chat:
        await chat.until(lambda: chat.app.chat_session.session and chat.app.chat_session.session.commands)
        await chat.press("/", "h")
        await chat.sees("/help", "(the agent's: //help)", "//help", "Helps in its own way")
        await chat.press("e", "l", "p", "enter")
        await chat.until(lambda: isinstance(chat.app.screen, ReadingDialog), "the help")
        await chat.sees("Ctrl+X", "F2")
        await chat.press("escape")
        assert heard == []
        await run(chat, "//help")
        await chat.sees("The agent's help")


async def test_exit_leaves(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path) as chat:
        await run(chat, "/exit")
        await chat.until(lambda: chat.app.return_code == 0, "the end")


async def test_new_begins_a_session_and_sessions_lists_them(tmp_path: Path) -> None:
    async with open_chat(make_actor(accord.MemoryStore()).agent, tmp_path) as chat:
        first = chat.app.chat_session.session
        await chat.say("a thing to find again")
        await chat.sees("You said: a thing")
        await run(chat, "/new")
        await chat.until(lambda: chat.app.chat_session.session is not first, "another session")
        await chat.ready()
        await run(chat, "/sessions")
        await chat.until(lambda: isinstance(chat.app.screen, Picker), "the list")
        await chat.sees("Sessions")


async def test_model_and_mode_are_set_by_name(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path) as chat:
        await run(chat, "/model large")
        await chat.until(lambda: value_of(chat, "model") == "large", "the model")
        await run(chat, "/mode code")
        await chat.until(lambda: value_of(chat, "mode") == "code", "the mode")
        await run(chat, "/mode Ask first")
        await chat.until(lambda: value_of(chat, "mode") == "ask", "the mode by its title")


def value_of(chat: Chat, category: str) -> Any:
    session = chat.app.chat_session.session
    assert session is not None
    return next(option.value for option in session.options if getattr(option, "category", "") == category)  # type: ignore[union-attr]


async def test_model_is_chosen_from_a_list_and_a_wrong_name_is_said(tmp_path: Path) -> None:
    async with open_chat(make_actor().agent, tmp_path) as chat:
        await run(chat, "/model enormous")
        await chat.sees("There is no model enormous", "small, large")
        await run(chat, "/model")
        await chat.until(lambda: isinstance(chat.app.screen, Picker), "the list")
        await chat.press("down", "enter")
        await chat.until(lambda: value_of(chat, "model") == "large", "the model")


async def test_an_agent_without_modes_is_said(tmp_path: Path) -> None:
    agent, _ = agent_with_help()
    async with open_chat(agent, tmp_path) as chat:
        await run(chat, "/mode")
        await chat.sees("This agent has no choice of mode")


async def test_the_theme_is_changed_and_kept(tmp_path: Path) -> None:
    kept = tmp_path / "state" / "chat.json"
    async with open_chat(make_actor().agent, tmp_path, app={"settings": SettingsFile(kept)}) as chat:
        assert chat.app.current_theme.dark
        await run(chat, "/theme light")
        await chat.until(lambda: not chat.app.current_theme.dark, "a light theme")
        await run(chat, "/theme purple")
        await chat.sees("There is no such theme")
    async with open_chat(make_actor().agent, tmp_path, app={"settings": SettingsFile(kept)}) as chat:
        assert not chat.app.current_theme.dark
        await run(chat, "/theme")
        await chat.until(lambda: chat.app.current_theme.dark, "a dark theme")


async def test_the_bell_is_set_and_nonsense_changes_nothing(tmp_path: Path) -> None:
    settings = SettingsFile(tmp_path / "chat.json")
    async with open_chat(make_actor().agent, tmp_path, app={"settings": settings}) as chat:
        for answers, (line, seconds) in enumerate(
            [("/bell soon", 10.0), ("/bell 3.5", 3.5), ("/bell -1", 3.5), ("/bell off", None)], 1
        ):
            await run(chat, line)
            await has_answered(chat, answers)
            assert settings.settings.bell_seconds == seconds
            assert SettingsFile(tmp_path / "chat.json").settings.bell_seconds == seconds


async def has_answered(chat: Chat, answers: int) -> None:
    await chat.until(lambda: len(chat.app._notifications) == answers, "an answer")


async def test_the_conversation_is_exported_and_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text("mine")
    async with open_chat(make_actor().agent, tmp_path) as chat:
        await run(chat, "/export")
        await chat.sees("There is nothing to export yet")
        await chat.say("hello")
        await chat.sees("You said: hello")
        await chat.idle()
        await run(chat, "/export")
        await chat.until((tmp_path / "conversation-1.md").exists, "the file")
        assert "You said: hello" in (tmp_path / "conversation-1.md").read_text()
        await run(chat, "/export mine.md")
        await chat.sees("Not exported")
        assert (tmp_path / "mine.md").read_text() == "mine"


async def test_a_command_of_the_agent_that_comes_back_is_still_the_agents(tmp_path: Path) -> None:
    actor = make_actor()
    async with open_chat(actor.agent, tmp_path) as chat:
        await chat.say("wait")
        await chat.sees("Waiting.")
        await run(chat, "//help")
        await chat.sees("▹ /help")
        await chat.press("escape")
        await chat.until(lambda: chat.app.composer.text == "//help", "the text again")
