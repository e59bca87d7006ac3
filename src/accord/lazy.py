"""Packages whose names are imported when they are first used, so that importing the package costs next to nothing.

Such an `__init__` imports its names for type checkers under `TYPE_CHECKING`, and has the same names in a table for the
interpreter; a test compares the two.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["import_uncollected", "lazy_exports"]


def import_uncollected(name: str) -> ModuleType:
    """Import a module while the garbage collector is off, for commands.

    What an import makes stays: collections meanwhile free nothing, and are a fifteenth of the CPU of a program that
    imports asyncio and all that a connection needs. Not for `lazy_exports`: an agent of v2 that was imported so took
    half as long again for a prompt of 20 MB, because of where its memory lay.
    """
    if not gc.isenabled():
        return import_module(name)
    gc.disable()
    try:
        return import_module(name)
    finally:
        gc.enable()


def _elsewhere(package: str, modules: Iterable[str], name: str) -> str:
    """The public modules that have such a name, for the message of an `AttributeError`."""
    places = () if name.startswith("_") else sorted({"agent", "client", "testing"}.intersection(modules))
    found = [f"{package}.{each}.{name}" for each in places if name in import_module(f"{package}.{each}").__all__]
    return f"; it is {' or '.join(found)}" if found else ""


def lazy_exports(
    package: str, homes: Mapping[str, str], *, eager: Iterable[str] = (), submodules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The `__getattr__`, `__dir__` and `__all__` of a package.

    `homes` has the names of each module, separated by spaces; `eager` are the names that the package has already, and
    `submodules` those of its modules that are exported themselves.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}
    modules = frozenset(submodules)
    exported = sorted({*home_of, *modules, *eager})

    def get(name: str) -> Any:
        if name in modules:
            return import_module(f"{package}.{name}")
        home = home_of.get(name)
        if home is None:
            # With both, Python adds the name that is spelled like it.
            message = f"module {package!r} has no attribute {name!r}{_elsewhere(package, modules, name)}"
            raise AttributeError(message, name=name, obj=sys.modules[package])
        value = getattr(import_module(home), name)
        # The next use finds it without a call.
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        own = vars(sys.modules[package])
        return sorted({*exported, *(name for name in own if name.startswith("__"))})

    return get, list_names, exported
