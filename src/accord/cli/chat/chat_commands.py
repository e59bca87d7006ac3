"""The implementations of the chat's own slash commands: each is a function of the app and the command's argument."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path

from accord.cli.chat.agent_log import SOURCES
from accord.cli.chat.dialogs.frame import Picker
from accord.cli.chat.menus import answered, choice_items, choose_session
from accord.cli.chat.screen import ChatScreen
from accord.cli.chat.state_files import THEMES, ThemeChoice
from accord.cli.chat.widgets import announce
from accord.cli.show.text_layout import markdown
from accord.config.paths import expand_home
from accord.display import exact, filled, joined, own, prose
from accord.session.option import Select

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
