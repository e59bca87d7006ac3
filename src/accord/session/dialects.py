"""Every dialect, imported when its edition is first spoken: an agent offers three and pays for one."""

from __future__ import annotations

from importlib import import_module

from accord.protocol.edition import V1, V2, V2_JUNE, Edition
from accord.session.dialect import Dialect

__all__ = ["DIALECTS", "Spoken", "dialect_of"]


class Spoken:
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
        return self._stable.grown if drafts else self._stable

    def dialect(self) -> Dialect:
        """Its words."""
        found: Dialect = import_module(self._home).DIALECT
        return found


DIALECTS = (
    Spoken(V1, "accord.session.dialect_v1"),
    Spoken(V2, "accord.session.dialect_v2"),
    Spoken(V2_JUNE, "accord.session.dialect_v2_june"),
)


def dialect_of(edition: Edition) -> Dialect:
    """The dialect of an edition."""
    return next(spoken for spoken in DIALECTS if spoken.name == edition.name).dialect()
