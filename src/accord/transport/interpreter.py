"""The command line and the environment of our own interpreter, which then imports no file of the current directory.

A folder that was cloned may have a `logging.py`: with `python -m` it would run in place of the installed module. No
other module names `sys.executable`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["environment_of", "has_interpreter", "own_command"]

_MODULE, _FILE = ("-P", "-m"), ("-I", "-S")
# Variables with folders, from which the interpreter imports: relative ones mean those of the current directory.
_FOLDERS = ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONPYCACHEPREFIX")


def own_command(program: str | Path, *arguments: str) -> tuple[str, ...]:
    """The command that runs a module of Accord by its name, or a file that needs the standard library alone."""
    options = _MODULE if isinstance(program, str) else _FILE
    return (sys.executable, *options, str(program), *arguments)


def has_interpreter() -> bool:
    """Whether there is one to start: a frozen program is its own interpreter, and would start itself again."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)


def environment_of(argv: Sequence[str], given: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """The environment of a program: the `given` one with changes (None unsets a variable).

    Where the program is a module of Accord in our own interpreter, it gets no folder that is relative, no
    `PYTHONSTARTUP`, and of the changes no variable of Python: they may be those of a project's file.
    """
    changed: dict[str, str | None] = {**given, **changes}
    if _is_own(argv):
        changed.update({name: given.get(name) for name in changes if name.upper().startswith("PYTHON")})
        changed.update({name: _absolute(given.get(name, "")) for name in _FOLDERS})
        changed["PYTHONSTARTUP"] = None
    return {name: value for name, value in changed.items() if value is not None}


def _is_own(argv: Sequence[str]) -> bool:
    return tuple(argv[:3]) == (sys.executable, *_MODULE) and [each.split(".")[0] for each in argv[3:4]] == ["accord"]


def _absolute(folders: str) -> str | None:
    return os.pathsep.join(each for each in folders.split(os.pathsep) if Path(each).is_absolute()) or None
