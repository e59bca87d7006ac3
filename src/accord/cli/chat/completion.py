"""Files and commands in a prompt: their completion, and the files that are attached.

`@path` and `@"path with blanks"` name files, a slash at the begin names a command, a pasted path of a picture is named.
"""

from __future__ import annotations

import asyncio
import mimetypes
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from accord.cli.chat.own_commands import CommandOffer, offered
from accord.client.prompt import Promptable
from accord.coder.tools.walk import walk
from accord.config.paths import expand_home
from accord.display import SafeText, exact, filled
from accord.session.option import Command
from accord.workspace import Workspace, WorkspaceError

MAX_PROPOSALS = 50
_COMMAND = re.compile(r"/(\S*)\Z")
_FILE = re.compile(r'(?:^|(?<=[\s("\']))@("?)([^\s"]*)\Z')


@dataclass(frozen=True, slots=True)
class CompletionProposal:
    """One completion: the text that is inserted, its name and its description."""

    text: SafeText
    name: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Completion:
    """Proposals for the text between `start` and the cursor."""

    start: int
    proposals: tuple[CompletionProposal, ...]


def complete_command(before: str, commands: Sequence[Command]) -> Completion | None:
    """The commands of the agent and of the chat that begin so, then those that have it in their names."""
    match = _COMMAND.match(before)
    if match is None:
        return None
    word = match[1].lower()
    found = sorted(
        ((rank, at), each)
        for at, each in enumerate(offered(commands))
        if (rank := _command_rank(word, each.word.lower())) is not None
    )
    proposals = [_command(each) for _, each in found][:MAX_PROPOSALS]
    return Completion(0, tuple(proposals)) if proposals else None


def _command_rank(word: str, name: str) -> int | None:
    if name == word:
        return 0
    if name.startswith(word):
        return 1
    return 2 if word in name else None


def _command(offer: CommandOffer) -> CompletionProposal:
    hint = offer.hint if not offer.hint or offer.hint[0] in "[<" else f"<{offer.hint}>"
    return CompletionProposal(filled("/{} ", offer.word), f"/{offer.word} {hint}".rstrip(), offer.about)


def path_prefix(before: str) -> str | None:
    """The text behind an `@`, if the cursor is at such a word."""
    match = _FILE.search(before)
    return None if match is None else match[2]


def complete_file(before: str, files: Iterable[str]) -> Completion | None:
    """The files that match best: by name, by path, then by letters in order."""
    match = _FILE.search(before)
    if match is None:
        return None
    typed = match[2].lower()
    ranked = sorted(
        (rank, len(path), path)
        for path in files
        # A name that cannot be shown unchanged cannot be typed either.
        if exact(path) == path and (rank := _rank(typed, path.lower())) is not None
    )
    proposals = [CompletionProposal(filled("{} ", mention_of(path)), path) for _, _, path in ranked[:MAX_PROPOSALS]]
    return Completion(match.start(), tuple(proposals)) if proposals else None


def _rank(typed: str, path: str) -> int | None:
    name = path.rstrip("/").rsplit("/", 1)[-1]
    if name.startswith(typed):
        return 0
    if path.startswith(typed):
        return 1
    if typed in path:
        return 2
    letters = iter(path)
    return 3 if all(letter in letters for letter in typed) else None


_MENTION = re.compile(r'(?<![^\s("\'])@(?:"([^"\n]+)"|([^\s"]+))')
# Characters that end a sentence, not a name.
_TRAILING = ".,;:!?)]}'"


def mention_of(path: str) -> str:
    return f'@"{path}"' if re.search(r"\s", path) else f"@{path}"


def prompt_of(text: str, cwd: str) -> list[Promptable]:
    """The text as it was typed, and behind it every file that it names and that exists, once."""
    found: dict[Path, None] = {}
    for match in _MENTION.finditer(text):
        path = _existing(match[1] or match[2], Path(cwd), quoted=match[1] is not None)
        if path is not None:
            found[path] = None
    return [text, *found]


def _existing(name: str, cwd: Path, *, quoted: bool) -> Path | None:
    names = [name] if quoted else [name, name.rstrip(_TRAILING)]
    for each in names:
        path = cwd / expand_home(each)
        try:
            if each and path.exists():
                return path
        except (OSError, ValueError):
            continue
    return None


def pasted_picture(text: str, cwd: str) -> str | None:
    """The mention of a picture whose path was pasted or dropped into the terminal; None for anything else."""
    line = text.strip()
    if not line or "\n" in line or len(line) > 4096:  # noqa: PLR2004 - what a path can have
        return None
    if line.startswith("file://"):
        line = unquote(urlsplit(line).path)
    elif line[0] == line[-1] and line[0] in "'\"":
        line = line[1:-1]
    else:
        # Terminals escape blanks in the names of files that are dropped into them.
        line = re.sub(r"\\(.)", r"\1", line)
    kind, _ = mimetypes.guess_type(line)
    if kind is None or not kind.startswith("image/") or '"' in line:
        return None
    try:
        return mention_of(line) if Path(cwd, expand_home(line)).is_file() else None
    except (OSError, ValueError):
        return None


MAX_FILES = 20_000
MAX_SECONDS = 5.0
FRESH_SECONDS = 10.0


class _Enough(Exception):
    """The search takes too long."""


class FileList:
    """The files of one directory; read again when they are needed and the list is old."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd
        self._files: list[str] = []
        self._read_at: float | None = None
        self._reading: asyncio.Task[list[str]] | None = None

    @property
    def known(self) -> list[str]:
        """The files that were found last."""
        return self._files

    async def refresh(self) -> list[str]:
        """The files, read again where the list is old."""
        now = asyncio.get_running_loop().time()
        if self._read_at is not None and now - self._read_at < FRESH_SECONDS:
            return self._files
        if self._reading is None:
            self._reading = asyncio.get_running_loop().create_task(asyncio.to_thread(_read, self._cwd))
        try:
            self._files = await asyncio.shield(self._reading)
        finally:
            self._reading = None
        self._read_at = now
        return self._files


def _read(cwd: str) -> list[str]:
    deadline = time.monotonic() + MAX_SECONDS

    def check() -> None:
        if time.monotonic() > deadline:
            raise _Enough

    files: list[str] = []
    try:
        for found in walk(Workspace([cwd]), cwd, 32, check):
            files.append(f"{found.path}/" if found.is_folder else found.path)
            if len(files) >= MAX_FILES:
                break
    except (_Enough, WorkspaceError, OSError):
        # An incomplete list is better than none.
        pass
    return files
