"""The tools `search` and `list`, which can be stopped, and the check of regular expressions to search for.

A search cannot be interrupted once it is inside one line, and holds up everything else meanwhile. So an expression that
may need exponential time is refused: a repetition without a bound inside of another one.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Annotated, Any, ClassVar, TypeVar

from msgspec import Meta

from accord.agent import ToolFailed
from accord.coder.tools.call import BadArguments, BuiltIn, ToolOutcome, Work
from accord.coder.tools.files import fenced
from accord.coder.tools.walk import MAX_DEPTH, Found, Stopped, walk
from accord.session.tool import ToolKind

# The parser of `re` itself; it has no types.
parser: Any = import_module("re._parser")
constants: Any = import_module("re._constants")

_REPEATS = {constants.MAX_REPEAT, constants.MIN_REPEAT}
# More repetitions than this count as unbounded.
MANY = 16


def check_expression(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """The expression, compiled.

    Raises:
        BadArguments: It is none, or one that may run for ever.
    """
    try:
        compiled = re.compile(pattern, flags)
        parsed = parser.parse(pattern, flags)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadArguments(f"{pattern!r} is no regular expression: {error}") from None
    if _depth(parsed) > 1:
        raise BadArguments(f"{pattern!r} has a repetition in a repetition, which may take for ever: simplify it")
    return compiled


def _depth(parsed: Any) -> int:
    """How many repetitions without a bound lie within each other."""
    deepest = 0
    for operation, argument in parsed:
        inner = max((_depth(below) for below in _parts(argument)), default=0)
        if operation in _REPEATS and argument[1] > MANY:
            inner += 1
        deepest = max(deepest, inner)
    return deepest


def _parts(argument: Any) -> list[Any]:
    if isinstance(argument, parser.SubPattern):
        return [argument]
    if isinstance(argument, tuple | list):
        return [part for each in argument for part in _parts(each)]
    return []


T = TypeVar("T")

MAX_MATCHES = 200
MAX_ENTRIES = 500
MAX_FILE_BYTES = 4 * 1024 * 1024
MAX_LINE = 400
# An expression may need time that grows much faster than the line that it looks at.
MAX_LINE_FOR_EXPRESSIONS = 1_000
SEARCH_SECONDS = 20.0


class Search(BuiltIn):
    """Search the text files below a folder for a text or a regular expression.

    Respects .gitignore. Gives path:line: text.
    """

    name: ClassVar[str] = "search"
    kind: ClassVar[ToolKind] = "search"
    cancellable: ClassVar[bool] = True

    pattern: Annotated[str, Meta(min_length=1, description="the text to look for")]
    path: Annotated[str, Meta(description="the folder, or one file")] = "."
    regex: Annotated[bool, Meta(description="whether the pattern is a Python regular expression")] = False
    ignore_case: bool = False
    glob: Annotated[str | None, Meta(description="only files whose name matches this, as *.py")] = None

    @property
    def title(self) -> str:
        return f"Search {self.pattern!r}" if self.path in {".", ""} else f"Search {self.pattern!r} in {self.path}"

    @property
    def locations(self) -> list[str]:
        return [self.path or "."]

    async def run(self, work: Work) -> ToolOutcome:
        """Find lines; the first of each file that match, up to a limit."""
        matches = self._matcher()
        await work.gate.permit(work.shown)
        place = work.shown.locations[0].path
        found, truncated = await _in_thread(lambda check: self._search(work, place, matches, check))
        if not found:
            text = f"Nothing matches {self.pattern!r}."
        else:
            text = "\n".join(found) + (f"\n[only the first {MAX_MATCHES} matches]" if truncated else "")
        await work.shown.complete(fenced(text), output={"matches": len(found), "complete": not truncated})
        return ToolOutcome(text)

    def _matcher(self) -> Callable[[str], object]:
        flags = re.IGNORECASE if self.ignore_case else 0
        if not self.regex:
            if not self.ignore_case:
                return lambda line: self.pattern in line
            return re.compile(re.escape(self.pattern), flags).search
        search = check_expression(self.pattern, flags).search
        return lambda line: search(line[:MAX_LINE_FOR_EXPRESSIONS])

    def _search(
        self, work: Work, place: str, matches: Callable[[str], object], check: Callable[[], None]
    ) -> tuple[list[str], bool]:
        session = work.turn.session
        found: list[str] = []
        wanted = None if self.glob is None else re.compile(_glob(self.glob))
        for path, data in self._files(work, place, check, wanted):
            if b"\0" in data[:8192]:
                continue
            shown = os.path.relpath(path, session.cwd)
            for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
                if matches(line):
                    if len(found) == MAX_MATCHES:
                        return found, True
                    found.append(f"{shown}:{number}: {line.strip()[:MAX_LINE]}")
        return found, False

    def _files(
        self, work: Work, place: str, check: Callable[[], None], wanted: re.Pattern[str] | None
    ) -> Iterator[tuple[str, bytes]]:
        folder, only = _folder_of(place)
        for each in walk(work.turn.session.workspace, folder, 1 if only else MAX_DEPTH, check):
            path = os.path.join(folder, each.path)  # noqa: PTH118
            if each.is_folder or (only and each.name != only) or not work.gate.may_read(path):
                continue
            if wanted is not None and not wanted.fullmatch(each.name):
                continue
            data = each.read(MAX_FILE_BYTES)
            if data is not None:
                yield path, data


class List(BuiltIn):
    """List the files and folders below a folder, as a tree. Respects .gitignore."""

    name: ClassVar[str] = "list"
    kind: ClassVar[ToolKind] = "search"
    cancellable: ClassVar[bool] = True

    path: Annotated[str, Meta(description="the folder")] = "."
    depth: Annotated[int, Meta(ge=1, le=MAX_DEPTH, description="how many levels to show")] = 2

    @property
    def title(self) -> str:
        return "List the files" if self.path in {".", ""} else f"List {self.path}"

    @property
    def locations(self) -> list[str]:
        return [self.path or "."]

    async def run(self, work: Work) -> ToolOutcome:
        """The tree, up to a limit."""
        await work.gate.permit(work.shown)
        place = work.shown.locations[0].path
        lines = await _in_thread(lambda check: self._lines(work, place, check))
        truncated = len(lines) > MAX_ENTRIES
        text = "\n".join(lines[:MAX_ENTRIES]) or "The folder is empty."
        if truncated:
            text += f"\n[only the first {MAX_ENTRIES} entries: list a folder below]"
        await work.shown.complete(fenced(text), output={"entries": min(len(lines), MAX_ENTRIES)})
        return ToolOutcome(text)

    def _lines(self, work: Work, place: str, check: Callable[[], None]) -> list[str]:
        lines: list[str] = []
        for each in walk(work.turn.session.workspace, place, self.depth, check):
            if work.gate.may_list(os.path.join(place, each.path), is_folder=each.is_folder):  # noqa: PTH118
                lines.append(_line(each))
            if len(lines) > MAX_ENTRIES:
                break
        return lines


def _line(each: Found) -> str:
    return f"{'  ' * each.depth}{each.name}{'/' if each.is_folder else ''}"


def _folder_of(place: str) -> tuple[str, str | None]:
    """The folder to walk, and the one file in it that is meant, if it is one."""
    if os.path.isfile(place) and not os.path.islink(place):  # noqa: PTH113, PTH114 - a hint; the walk decides
        return os.path.dirname(place), os.path.basename(place)  # noqa: PTH119, PTH120
    return place, None


def _glob(pattern: str) -> str:
    return "".join(".*" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern)


async def _in_thread(work: Callable[[Callable[[], None]], T]) -> T:
    """Run a search in a thread, which ends soon when the caller is cancelled, or when time is over."""
    stop, deadline = threading.Event(), time.monotonic() + SEARCH_SECONDS

    def check() -> None:
        if stop.is_set():
            raise Stopped
        if time.monotonic() > deadline:
            raise ToolFailed(f"It took longer than {SEARCH_SECONDS:g} seconds: look into a smaller folder")

    try:
        return await asyncio.to_thread(work, check)
    finally:
        stop.set()
