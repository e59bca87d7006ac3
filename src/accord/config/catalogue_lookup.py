"""The choice of the start line of a catalogue row that works on this machine, and the install advice where none does.

A program is taken from the `PATH` only where the project cannot put one: entries of the `PATH` that are empty, relative
or inside the project folder are skipped, and so is a program whose file is in the project folder, also through links. A
cloned repository must not decide which program the name of an agent starts.

A package runner must be started outside of the project folder as well: in it, `npx` reads the project's `.npmrc` and
runs programs of its `node_modules/.bin`. The agent gets the project's path with `session/new`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from accord.config.catalogue import CatalogueAgent, PackageManager, StartLine

__all__ = ["ResolvedAgent", "find_program", "login_sentence", "resolve_agent"]

PATH_EXTENSIONS = (".com", ".exe", ".bat", ".cmd")
"""The suffixes of programs on Windows, in the order in which Windows tries them."""

MAX_LINKS = 40

_WINDOWS: frozenset[PackageManager] = frozenset({"winget", "powershell"})
_POSIX: frozenset[PackageManager] = frozenset({"brew", "script"})
_MANAGER_PROGRAMS: dict[PackageManager, str] = {"script": "curl"}
_RUNNERS = {"npx": "Node.js (https://nodejs.org)", "uvx": "uv (https://docs.astral.sh/uv)"}


@dataclass(frozen=True, slots=True)
class ResolvedAgent:
    """A row resolved on one machine: `argv` with the program's absolute path, empty if nothing can be started.

    With `download`, the first word is a package runner: ask the user before it is started, and start it outside of the
    project folder. `ignored` are programs that would have fitted and are in the project folder.
    """

    agent: CatalogueAgent
    argv: tuple[str, ...] = ()
    download: bool = False
    ignored: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    install_line: str = ""

    @property
    def is_installed(self) -> bool:
        """Whether the agent can be started without a download."""
        return bool(self.argv) and not self.download

    @property
    def advice(self) -> str:
        """Advice in sentences: the missing program, the install line, and the login."""
        sentences = [f"{self.agent.name} is {'' if self.is_installed else 'not '}installed."]
        if not self.argv:
            sentences += [f"{file} is in the project folder and is not used." for file in self.ignored]
            sentences += [_missing_sentence(program) for program in self.missing]
        if not self.is_installed:
            sentences.append(_install_sentence(self.install_line))
        return " ".join([*sentences, login_sentence(self.agent)])


@dataclass(slots=True)
class _Search:
    """One search of the `PATH`; keeps the programs that it skipped."""

    path: str
    project: Path
    platform: str
    extensions: Sequence[str]
    ignored: list[str] = field(default_factory=list)

    def find(self, name: str) -> str | None:
        for folder in self._folders():
            for file in self._candidates(folder, name):
                if not _is_program(file):
                    continue
                if not _is_inside(file, self.project):
                    return str(file)
                if str(file) not in self.ignored:
                    self.ignored.append(str(file))
        return None

    def _folders(self) -> Iterator[Path]:
        for entry in self.path.split(";" if self.platform == "win32" else ":"):
            folder = Path(entry.strip('"') if self.platform == "win32" else entry)
            # An empty or relative entry means the current directory of the process.
            if entry and folder.is_absolute():
                yield folder

    def _candidates(self, folder: Path, name: str) -> Iterator[Path]:
        suffixes = self.extensions if self.platform == "win32" else ("",)
        return (folder / f"{name}{suffix}" for suffix in suffixes)


def find_program(
    name: str,
    *,
    path: str,
    project: str | os.PathLike[str],
    platform: str = sys.platform,
    extensions: Sequence[str] = PATH_EXTENSIONS,
) -> str | None:
    """The absolute path of a program on a `PATH`, never one of the project folder."""
    return _Search(path, Path(project).absolute(), platform, extensions).find(name)


def resolve_agent(
    agent: CatalogueAgent,
    *,
    path: str,
    project: str | os.PathLike[str],
    platform: str = sys.platform,
    extensions: Sequence[str] = PATH_EXTENSIONS,
) -> ResolvedAgent:
    """The first start line whose programs are all there; installed programs come before lines that download.

    Only `path` (the value of `PATH`) and the files that it leads to are looked at; nothing is started or fetched.
    """
    search = _Search(path, Path(project).absolute(), platform, extensions)
    install_line = _install_line(agent, search)
    search.ignored.clear()
    missing: tuple[str, ...] = ()
    for line in sorted(agent.start, key=lambda each: each.download):
        argv, absent = _resolve_line(line, search)
        if not absent:
            return ResolvedAgent(agent, argv, line.download, tuple(search.ignored), install_line=install_line)
        missing = absent
    # Of the last line, which needs the least to work: a package runner, where there is one.
    return ResolvedAgent(agent, ignored=tuple(search.ignored), missing=missing, install_line=install_line)


def _resolve_line(line: StartLine, search: _Search) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The command with its program's path, and the missing programs."""
    program = search.find(line.argv[0])
    absent = tuple(name for name in line.requires if search.find(name) is None)
    if program is None:
        return (), (line.argv[0], *absent)
    return (program, *line.argv[1:]), absent


def _install_line(agent: CatalogueAgent, search: _Search) -> str:
    """The line of a package manager that is installed here, or the first one for this platform."""
    foreign = _POSIX if search.platform == "win32" else _WINDOWS
    lines = {manager: line for manager, line in agent.install.items() if manager not in foreign} or agent.install
    for manager, line in lines.items():
        if manager != "page" and search.find(_MANAGER_PROGRAMS.get(manager, manager)) is not None:
            return line
    return next(iter(lines.values()))


def _missing_sentence(program: str) -> str:
    provider = _RUNNERS.get(program)
    return f"`{program}` is not on the PATH" + (f"; it comes with {provider}." if provider else ".")


def _install_sentence(line: str) -> str:
    return f"How to install it: {line}" if line.startswith("https://") else f"Install it with `{line}`."


def login_sentence(agent: CatalogueAgent) -> str:
    """How to log in to an agent: a sentence with its command, file and variables."""
    login = agent.login
    commands = [f"`{text}`" for text in (login.command, login.file) if text]
    return f"{login.sentence.removesuffix('.')}: {', '.join([*commands, *login.variables])}."


def _is_program(file: Path) -> bool:
    try:
        return file.is_file() and os.access(file, os.X_OK)
    except OSError:
        return False


def _is_inside(file: Path, project: Path) -> bool:
    """Whether a file is in a folder: by its own path, by a link on the way to it, or by where it really is.

    Folders are compared by identity and not by name: names may differ in case, and a folder may be mounted twice.
    """
    try:
        identity = project.stat()
    except OSError:
        return False
    for folder in {folder for path in _paths_of(file) for folder in path.parents}:
        try:
            if os.path.samestat(identity, folder.stat()):
                return True
        except OSError:
            continue
    return False


def _paths_of(file: Path) -> Iterator[Path]:
    """The path of a file, of every link on the way, and of the final target."""
    yield file
    for _ in range(MAX_LINKS):
        if not file.is_symlink():
            break
        file = Path(os.path.realpath(file.parent), file.readlink())
        yield file
    yield Path(os.path.realpath(file))
