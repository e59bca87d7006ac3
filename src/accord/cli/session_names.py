"""Short unique ids of sessions for people to type, and the check of names that look like an id."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable

from accord.cli.session_index import PREFIXES, SessionIndex
from accord.cli.status import CommandFailure, Status
from accord.config import ClientSessionRecord
from accord.display import SafeText, filled

SHORT_LETTERS = 8
# So many common characters, one of them a digit, are no coincidence.
ALIKE_LETTERS = 6


def bare_id(session_id: str) -> str:
    """An id without the prefix that agents put before every id."""
    for prefix in PREFIXES:
        session_id = session_id.removeprefix(prefix)
    return session_id


def short_id(session_id: str, known: Iterable[str]) -> str:
    """The beginning of an id that is unique among the known ids."""
    bare = bare_id(session_id)
    others = {form for other in known if other != session_id for form in (other, bare_id(other))}
    length = max((len(_common(bare, other)) + 1 for other in others), default=0)
    # An id that is the beginning of another one cannot be shortened.
    return bare[: max(length, SHORT_LETTERS)] if length <= len(bare) else session_id


def known_ids(index: SessionIndex) -> list[str]:
    """The ids of our records; none where they cannot be read, because that must not fail a run."""
    try:
        return [record.session_id for record in index.all(everywhere=True)]
    except CommandFailure:
        return []


async def check_new_name(
    index: SessionIndex, name: str, agent: str, yes: Callable[[SafeText], Awaitable[bool]] | None
) -> None:
    """Ask about the name of a new session that looks like the id of another one: a mistake, or another agent's id.

    `yes` asks the user; None where there is no user to ask.

    Raises:
        CommandFailure: The user does not want a session of that name, or cannot be asked.
    """
    records = index.all(everywhere=True)
    alike = next((record for record in records if _is_alike(name, record)), None)
    if alike is None:
        return
    known = f"{alike.session_id} of {alike.agent}"
    message = f"there is no session {name!r} of {agent}, and it looks like the session {known}"
    if yes is None:
        short = short_id(alike.session_id, (record.session_id for record in records))
        advice = f"To go on with that one, type -s {short} and its agent; to begin one, choose another name"
        raise CommandFailure(Status.NO_SESSION, "session", message, advice=advice)
    if not await yes(filled("{}.\nbegin a new one of that name?", message)):
        raise CommandFailure(Status.NO_SESSION, "session", f"there is no session {name!r}, and none was begun")


def _is_alike(name: str, record: ClientSessionRecord) -> bool:
    typed, known = bare_id(name), bare_id(record.session_id)
    common = _common(typed, known)
    is_beginning = len(common) == len(typed) >= ALIKE_LETTERS
    return is_beginning or (len(common) >= ALIKE_LETTERS and any(char.isdigit() for char in common))


def _common(one: str, other: str) -> str:
    return os.path.commonprefix((one, other))  # noqa: RUF071 - letters are what is compared
