"""Dialect plug-ins by their names: the entry points of installed packages in the group `accord.dialects`.

A name is how a config file asks for a dialect. Programs hand over the plug-in itself and need no name.
"""

from __future__ import annotations

from importlib.metadata import EntryPoints, entry_points

from accord.dialects.plugin import DialectPlugin
from accord.errors import LocalProtocolError

__all__ = ["GROUP", "dialect_names", "load_dialect"]

GROUP = "accord.dialects"


def dialect_names() -> tuple[str, ...]:
    """The names of all installed plug-ins; none of them is imported."""
    return tuple(sorted(_installed().names))


def load_dialect(name: str) -> DialectPlugin:
    """The plug-in of a name, imported and called without arguments.

    Raises:
        LocalProtocolError: No installed package has it, or what it has is no plug-in.
    """
    known = dialect_names()
    if name not in known:
        raise LocalProtocolError(
            f"no dialect {name!r} is installed", field="dialect", expected=f"one of {', '.join(known)}"
        )
    plugin = _installed()[name].load()()
    if not isinstance(plugin, DialectPlugin):
        expected = "a class or a function that gives an accord.DialectPlugin"
        raise LocalProtocolError(f"the entry point {name!r} of {GROUP} gives none", field="dialect", expected=expected)
    return plugin


def _installed() -> EntryPoints:
    return entry_points(group=GROUP)
