"""The failures of PostgreSQL: the reason of each SQLSTATE, the sentence for it, and whether to try again.

No text here holds a password: the address is described without it, and it is cut out of the server's messages.
"""

from __future__ import annotations

from typing import NamedTuple

from accord.errors import StoreError
from accord.version import install_line

__all__ = [
    "StatementFailure",
    "failure_of",
    "lease_too_short",
    "missing_extra",
    "name_taken",
    "newer",
    "pooled",
    "store_error",
    "wrong_conninfo",
]


class StatementFailure(NamedTuple):
    """How to go on after an exception of the driver."""

    reason: str
    is_lost: bool = False
    """Whether the connection is of no use any more."""
    again: bool = False
    """Whether the same statements may succeed soon."""


_SENTENCES = {
    "away": "PostgreSQL cannot be reached: check that the server runs and that the address is right",
    "slow": (
        "PostgreSQL did not answer in time: look for a lock or a load there, or allow more with patience_seconds "
        "(--patience)"
    ),
    "full": "the disk of PostgreSQL is full: free some space there and try again",
    "read_only": "PostgreSQL is read-only here: connect to the primary, or name all servers in the connection string",
    "busy": "PostgreSQL has too much to do at once: allow more connections, or try again later",
    "denied": "PostgreSQL refuses this user: check the user, the password, the database and its privileges",
    "failed": "PostgreSQL failed",
}

_AWAY = StatementFailure("away", is_lost=True, again=True)
_EXACT = {
    "57P01": _AWAY,  # shut down by an administrator, or the connection was terminated
    "57P02": _AWAY,
    "57P03": _AWAY,  # starting up or shutting down
    "57P05": _AWAY,
    # A prepared statement is missing or there already: a pooler was taken for the server, and changed it.
    "26000": _AWAY,
    "42P05": _AWAY,
    "25006": StatementFailure("read_only", is_lost=True, again=True),  # a standby: the primary is elsewhere now
    "40001": StatementFailure("busy", again=True),
    "40P01": StatementFailure("busy", again=True),
    # Two processes make one thing at the same moment: the second try finds that of the first.
    "23505": StatementFailure("failed", again=True),
    "53100": StatementFailure("full"),
    "53300": StatementFailure("busy", is_lost=True, again=True),
    "57014": StatementFailure("slow"),
    "42501": StatementFailure("denied"),
    "3D000": StatementFailure("denied", is_lost=True),
}
_CLASSES = {"08": _AWAY, "28": StatementFailure("denied", is_lost=True)}

# A connection that was never made has no SQLSTATE, only words.
_REFUSALS = (
    "authentication failed",
    "does not exist",
    "no pg_hba.conf entry",
    "not permitted to log in",
    "no password",
)
_STANDBYS = ("read-only", "hot standby", "recovery mode")


def failure_of(state: str | None, text: str, *, is_broken: bool) -> StatementFailure:
    """The failure of an exception with that SQLSTATE and text; `is_broken` says that the connection is gone."""
    if state is not None:
        found = _EXACT.get(state) or _CLASSES.get(state[:2]) or StatementFailure("failed")
        return found._replace(is_lost=found.is_lost or is_broken)
    if any(words in text for words in _REFUSALS):
        return StatementFailure("denied", is_lost=True)
    if any(words in text for words in _STANDBYS):
        return StatementFailure("read_only", is_lost=True, again=True)
    return _AWAY if is_broken else StatementFailure("failed")


def store_error(reason: str, where: str, details: str, secret: str) -> StoreError:
    """The error with its advice and the first line of the server's message."""
    line = details.strip().partition("\n")[0]
    if secret:
        line = line.replace(secret, "…")
    sentence = f"{where}: {_SENTENCES[reason]}"
    return StoreError(f"{sentence} ({line})" if line else sentence, reason=reason)


def newer(version: int, known: int) -> StoreError:
    """The tables were made by a later version, which code of this one may not write."""
    sentence = (
        f"a later version of Accord has made these tables (schema {version}, known up to {known}): update Accord on "
        "this machine, or give it another database"
    )
    return StoreError(sentence, reason="newer")


def name_taken(name: str) -> StoreError:
    """Two processes of one node name."""
    sentence = (
        f"another process serves as the node {name} already: stop it, or give this one another name; the name of a "
        "machine that was lost is free when its lease is over"
    )
    return StoreError(sentence, reason="name_taken")


def lease_too_short(seconds: float) -> StoreError:
    """The lease ended twice within one call."""
    sentence = (
        f"the lease of {seconds:g} s is over before PostgreSQL has answered: allow a longer one (lease_seconds, "
        "--lease), or look for a lock or a load there"
    )
    return StoreError(sentence, reason="slow")


def pooled(where: str) -> StoreError:
    """A pooler in transaction mode, where a connection of its own is needed."""
    sentence = (
        f"{where}: this is a pooler that changes the server between transactions, and the lease and the notifications "
        "need one that stays: give the address of PostgreSQL itself too (direct=, --direct-store-file), or a pool in "
        "session mode"
    )
    return StoreError(sentence, reason="pooled")


def wrong_conninfo() -> StoreError:
    """The text of the driver is left out: it quotes the connection string, which may hold a password."""
    sentence = (
        "the connection string of PostgreSQL cannot be read: give postgresql://USER@HOST:PORT/DATABASE, with the "
        "password in PGPASSWORD or a password file, or host=HOST dbname=DATABASE user=USER"
    )
    return StoreError(sentence, reason="bad_address")


def missing_extra() -> StoreError:
    return StoreError(f"PostgreSQL needs psycopg; type {install_line('postgres')}", reason="missing_extra")
