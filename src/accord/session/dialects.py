"""Every dialect, imported when its edition is first spoken: an agent offers three and pays for one.

Each has a second form, with `drafts`: the fields that only the unstable text has, in messages that the stable text has
too. An agent speaks it where its author wants that. A client always does: it sends nothing more by it, and reads what
agents send without having been asked.
"""

from __future__ import annotations

import functools
from importlib import import_module

from accord.protocol.edition import V1, V2, V2_JUNE, Edition
from accord.protocol.method import Method
from accord.session.dialect import Dialect

__all__ = ["DIALECTS", "DialectLoader", "dialect_of", "edition_as_client"]


class DialectLoader:
    """An edition that we can speak."""

    def __init__(self, stable: Edition, home: str) -> None:
        self._stable = stable
        self._home = home

    @property
    def name(self) -> str:
        """The edition's name."""
        return self._stable.name

    def edition(self, *, drafts: bool = False) -> Edition:
        """The edition; with `drafts` also what its unstable text adds."""
        return self._with_drafts if drafts else self._stable

    @functools.cached_property
    def _with_drafts(self) -> Edition:
        return self._drafted(self._stable.with_drafts)

    @functools.cached_property
    def as_client(self) -> Edition:
        """The edition as a client reads it."""
        return self._drafted(self._stable.as_client)

    def dialect(self, *, drafts: bool = False) -> Dialect:
        """Its dialect; with `drafts` that of its unstable text."""
        module = import_module(self._home)
        found: Dialect = module.DRAFT_DIALECT if drafts else module.DIALECT
        return found

    def _drafted(self, edition: Edition) -> Edition:
        """The edition with the rows that the dialect of the unstable text has of its own."""

        def methods() -> tuple[Method, ...]:
            own = {(row.name, row.side): row for row in self.dialect(drafts=True).draft_methods}
            return tuple(own.get((row.name, row.side), row) for row in edition.methods)

        return edition.with_methods(methods, self._home)


DIALECTS = (
    DialectLoader(V1, "accord.session.editions.v1"),
    DialectLoader(V2, "accord.session.editions.v2"),
    DialectLoader(V2_JUNE, "accord.session.editions.v2_june"),
)


def dialect_of(edition: Edition, *, drafts: bool = False) -> Dialect:
    """The dialect of an edition; with `drafts` that of its unstable text."""
    return _loader(edition).dialect(drafts=drafts)


def edition_as_client(edition: Edition) -> Edition:
    """The edition as a client reads it."""
    return _loader(edition).as_client


def _loader(edition: Edition) -> DialectLoader:
    return next(loader for loader in DIALECTS if loader.name == edition.name)
