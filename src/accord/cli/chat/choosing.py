"""What the user chooses in a dialog: an answer, an option's value, another session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from textual.app import App

from accord.cli.chat.dialogs.frame import Dialog
from accord.cli.chat.dialogs.picker import Picker
from accord.cli.chat.menus import choice_items, option_items, session_items
from accord.cli.chat.talk import Talk
from accord.cli.chat.widgets import announce
from accord.client.session import Session
from accord.display import exact, own, prose
from accord.errors import AccordError
from accord.session.option import Toggle

__all__ = ["answered", "change_option", "choose_session"]

Answer = TypeVar("Answer")


async def answered(app: App[Any], dialog: Dialog[Answer]) -> Answer | None:
    """What the user answers. When nobody waits for that any more, the dialog goes."""
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


async def choose_session(app: App[Any], talk: Talk) -> None:
    """Another session of this directory."""
    if talk.is_busy:
        announce(app, own("The agent is at work: cancel that first (Esc)"), severity="warning")
        return
    try:
        found = await talk.sessions()
    except AccordError as error:
        announce(app, prose(str(error)), title=own("The sessions cannot be listed"), severity="error")
        return
    current = None if talk.session is None else talk.session.id
    picker = Picker(own("Sessions"), session_items(found), chosen=current, empty=own("this agent keeps no sessions"))
    wanted = await answered(app, picker)
    if wanted is not None and wanted != current:
        await talk.switch(wanted)
