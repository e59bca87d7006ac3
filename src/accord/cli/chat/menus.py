"""Choices in a dialog: options and their values, modes, sessions, ways to log in."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from textual.app import App

from accord.cli.chat.bars import value_name
from accord.cli.chat.chat_session import ChatSession
from accord.cli.chat.dialogs.frame import Dialog, Item, Picker
from accord.cli.chat.widgets import announce
from accord.cli.show.line import ago, moment_of
from accord.client.session import Session
from accord.display import exact, filled, own, prose
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
