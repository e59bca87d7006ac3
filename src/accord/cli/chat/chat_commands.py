"""The chat's own slash commands, each a function of the app and its argument, and the choices in dialogs."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from textual.app import App

from accord.cli.chat.agent_log import SOURCES
from accord.cli.chat.bars import value_name
from accord.cli.chat.chat_session import ChatSession
from accord.cli.chat.dialogs.frame import Dialog, Item, Picker
from accord.cli.chat.screen import ChatScreen
from accord.cli.chat.state_files import THEMES, ThemeChoice
from accord.cli.chat.widgets import announce
from accord.cli.show.line import ago, moment_of
from accord.cli.show.text_layout import markdown
from accord.client.session import Session
from accord.config.paths import expand_home
from accord.display import exact, filled, joined, own, prose
from accord.errors import AccordError
from accord.protocol.model import Unknown
from accord.session.capability import AuthMethod
from accord.session.client_requests import SessionSummary
from accord.session.option import ConfigOption, Select, Toggle, mode_option

Answer = TypeVar("Answer")


async def answered(app: App[Any], dialog: Dialog[Answer]) -> Answer | None:
    """The user's answer. When the caller is cancelled, the dialog is closed."""
    answer: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()

    def take(given: Answer | None) -> None:
        if not answer.done():
            answer.set_result(given)

    app.push_screen(dialog, take)
    try:
        return await answer
    finally:
        if not answer.done() or answer.cancelled():
            dialog.retire()


async def change_option(
    app: App[Any], session: Session | None, set_option: Callable[[Session, str, Any], Awaitable[None]]
) -> None:
    """One option, and then its value."""
    if session is None:
        announce(app, own("There is no session yet"))
        return
    wanted = await answered(
        app, Picker(own("Options"), option_items(session.options), empty=own("this agent has no options"))
    )
    if wanted is None:
        return
    option = session.option(wanted)
    value: str | bool | None
    if isinstance(option, Toggle):
        value = not option.value
    else:
        value = await answered(app, Picker(exact(option.name), choice_items(option), chosen=option.value))
    if value is not None:
        await set_option(session, wanted, value)


async def choose_session(app: App[Any], chat_session: ChatSession) -> None:
    """Another session of this directory."""
    if chat_session.is_busy:
        announce(app, own("The agent is at work: cancel that first (Esc)"), severity="warning")
        return
    try:
        found = await chat_session.sessions()
    except AccordError as error:
        announce(app, prose(str(error)), title=own("The sessions cannot be listed"), severity="error")
        return
    current = None if chat_session.session is None else chat_session.session.id
    picker = Picker(own("Sessions"), session_items(found), chosen=current, empty=own("this agent keeps no sessions"))
    wanted = await answered(app, picker)
    if wanted is not None and wanted != current:
        await chat_session.switch(wanted)


def option_items(options: Sequence[ConfigOption]) -> list[Item]:
    """The options with their values."""
    return [
        Item(option.id, filled("{}: {}", option.name, value_name(option)), option.description or "")
        for option in options
        if not isinstance(option, Unknown)
    ]


def choice_items(option: Select | object) -> list[Item]:
    """The values of an option, under their headings."""
    if not isinstance(option, Select):
        return []
    items = [Item(choice.value, exact(choice.name), choice.description or "") for choice in option.choices]
    for group in option.groups:
        items += [
            Item(each.value, filled("{} / {}", group.name, each.name), each.description or "") for each in group.choices
        ]
    return items


def next_mode(options: list[ConfigOption]) -> tuple[str, str] | None:
    """The option of the mode, and the value after the present one."""
    option = mode_option(options)
    values = [] if option is None else option.values()
    if option is None or len(values) < 2:  # noqa: PLR2004 - one mode is none to choose
        return None
    at = values.index(option.value) if option.value in values else -1
    return option.id, values[(at + 1) % len(values)]


def session_items(sessions: Sequence[SessionSummary]) -> list[Item]:
    """The sessions by their first prompt (or title) and their age."""
    now = time.time()
    return [Item(each.id, exact(each.title or each.id), _age(each.updated_at, now)) for each in sessions]


def _age(moment: str | None, now: float) -> str:
    """`2026-01-31T12:00:00Z` as an age in words; any other text unchanged."""
    seconds = moment_of(moment)
    return (moment or "") if seconds is None else ago(seconds, now)


def login_items(methods: Sequence[AuthMethod]) -> list[Item]:
    """The ways to log in."""
    where = {"terminal": "in this terminal"}
    return [
        Item(each.id, exact(each.name), " · ".join(part for part in (where.get(each.type), each.description) if part))
        for each in methods
    ]


MAX_NAMES = 1_000


async def carry_out(app: ChatScreen, name: str, argument: str) -> None:
    """Run a command of the chat."""
    await _COMMANDS[name](app, argument)


async def _help(app: ChatScreen, _argument: str) -> None:
    app.action_help()


async def _exit(app: ChatScreen, _argument: str) -> None:
    await app.action_leave()


async def _new(app: ChatScreen, _argument: str) -> None:
    app.action_new_session()


async def _sessions(app: ChatScreen, _argument: str) -> None:
    await choose_session(app, app.chat_session)


async def _model(app: ChatScreen, argument: str) -> None:
    await _choose(app, "model", argument)


async def _mode(app: ChatScreen, argument: str) -> None:
    await _choose(app, "mode", argument)


async def _choose(app: ChatScreen, category: str, wanted: str) -> None:
    """Set the option of a category; ask for the value where none is named."""
    session = app.chat_session.session
    if session is None:
        announce(app, own("There is no session yet"))
        return
    options = (each for each in session.options if isinstance(each, Select) and each.category == category)
    option = next(options, None)
    if option is None:
        announce(app, filled("This agent has no choice of {}", category), severity="warning")
        return
    items = choice_items(option)
    if not wanted:
        chosen = await answered(app, Picker(exact(option.name), items, chosen=option.value))
    else:
        named = {wanted.lower()}
        chosen = next((item.id for item in items if {item.id.lower(), item.name.lower()} & named), None)
        if chosen is None:
            names = joined((exact(item.id, 40) for item in items[:20]), own(", "))
            announce(app, names, title=filled("There is no {} {}; there are", category, exact(wanted, 40)))
    if chosen is not None:
        await app.set_option(session, option.id, chosen)


async def _theme(app: ChatScreen, argument: str) -> None:
    choice: ThemeChoice | None
    if argument:
        choice = next((each for each in THEMES if each == argument.lower()), None)
        if choice is None:
            announce(app, own("auto, dark or light"), title=own("There is no such theme"), severity="warning")
            return
    else:
        # The opposite of the current state.
        choice = "light" if app.current_theme.dark else "dark"
    app.use_theme(choice)
    _kept(app, app.settings.change(theme=choice))


async def _bell(app: ChatScreen, argument: str) -> None:
    seconds = app.settings.settings.bell_seconds
    if argument == "off":
        seconds = None
    elif argument:
        try:
            seconds = float(argument)
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds < 1e9:  # noqa: PLR2004 - a number of seconds
            announce(app, own("Type: /bell 10, or /bell off"), severity="warning")
            return
    if argument:
        _kept(app, app.settings.change(bell_seconds=seconds))
    text = own("The bell is off") if seconds is None else filled("Rings when a turn took {:g} s or more", seconds)
    announce(app, text)


def _kept(app: ChatScreen, problem: str | None) -> None:
    if problem is not None:
        announce(app, prose(problem), title=own("Used now, but not kept"), severity="warning")


async def _export(app: ChatScreen, argument: str) -> None:
    session = app.chat_session.session
    if session is None or app.timeline.is_empty:
        announce(app, own("There is nothing to export yet"))
        return
    text = markdown(session.transcript, session.id, session.cwd)
    try:
        path = _write_new(Path(session.cwd), argument, text)
    except OSError as error:
        announce(app, prose(error.strerror or str(error)), title=own("Not exported"), severity="error")
        return
    announce(app, exact(str(path)), title=own("Exported to"))


def _write_new(folder: Path, name: str, text: str) -> Path:
    """Write the text to the file; without a name to one that is not there yet. Nothing is overwritten."""
    if name:
        path = folder / expand_home(name)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
        return path
    for number in range(1, MAX_NAMES):
        path = folder / f"conversation-{number}.md"
        with contextlib.suppress(FileExistsError), path.open("x", encoding="utf-8") as file:
            file.write(text)
            return path
    raise FileExistsError(0, "there are too many files of that name")


async def _log(app: ChatScreen, argument: str) -> None:
    source = next((each for each in SOURCES if each == argument), None)
    if argument and source is None:
        announce(app, own("stderr, log or wire; nothing behind it shows all"), title=own("There is no such log"))
        return
    app.log_pane.toggle(source)


async def _editor(app: ChatScreen, argument: str) -> None:
    if argument:
        app.composer.put(argument)
    await app.edit_prompt()


_COMMANDS: dict[str, Callable[[ChatScreen, str], Awaitable[None]]] = {
    "help": _help,
    "exit": _exit,
    "new": _new,
    "sessions": _sessions,
    "model": _model,
    "mode": _mode,
    "theme": _theme,
    "bell": _bell,
    "export": _export,
    "log": _log,
    "editor": _editor,
}
