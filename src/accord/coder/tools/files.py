"""The tools `read`, `edit` and `write`. A change is shown as a diff before the user is asked about it."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, ClassVar

from msgspec import Meta

from accord.agent import ToolFailed
from accord.coder.tools.call import BadArguments, BuiltIn, ToolOutcome, Work, bounded
from accord.errors import AccordError
from accord.session.tool import Location, ToolKind
from accord.workspace import NoSuchFile

MAX_LINES = 2_000
MAX_SHOWN = 4_000


class Read(BuiltIn):
    """Read a text file, or some lines of it. Read a file before you change it."""

    name: ClassVar[str] = "read"
    kind: ClassVar[ToolKind] = "read"

    path: str
    line: Annotated[int, Meta(ge=1, description="the first line, counted from 1")] = 1
    limit: Annotated[int, Meta(ge=1, le=MAX_LINES, description="how many lines")] = MAX_LINES

    @property
    def title(self) -> str:
        return f"Read {self.path}" if self.line == 1 else f"Read {self.path} from line {self.line}"

    @property
    def locations(self) -> list[Location]:
        return [Location(self.path, self.line)]

    async def run(self, work: Work) -> ToolOutcome:
        """Its text, as the client has it."""
        await work.gate.permit(work.shown)
        # One line more than wanted shows whether there is more.
        text = await work.turn.files.read(self.path, self.line, self.limit + 1)
        lines = text.splitlines(keepends=True)
        kept = lines[: self.limit]
        text_for_model = bounded("".join(kept))
        await work.shown.complete(fenced(bounded("".join(kept), MAX_SHOWN)), output={"lines": len(kept)})
        if len(lines) > self.limit:
            text_for_model += f"\n[there is more: read on from line {self.line + self.limit}]"
        return ToolOutcome(text_for_model or "[the file is empty here]")


def fenced(text: str) -> str:
    """Text as a block of code, behind a fence that does not occur in it."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}"


class Edit(BuiltIn):
    """Replace a piece of text in a file by another.

    The old text must be exactly as in the file, and occur once unless all is true.
    """

    name: ClassVar[str] = "edit"
    kind: ClassVar[ToolKind] = "edit"

    path: str
    old: Annotated[str, Meta(min_length=1, description="the text to replace, exactly as it is in the file")]
    new: Annotated[str, Meta(description="the text that takes its place")]
    all: Annotated[bool, Meta(description="whether to replace every occurrence")] = False

    @property
    def title(self) -> str:
        return f"Edit {self.path}"

    @property
    def locations(self) -> list[str]:
        return [self.path]

    async def run(self, work: Work) -> ToolOutcome:
        """Change it, if it is still as it was shown."""
        if self.old == self.new:
            raise BadArguments("The old and the new text are the same")
        before = await work.turn.files.read(self.path)
        old, new = _line_ends_of(before, self.old, self.new)
        count = before.count(old)
        if count == 0:
            raise ToolFailed(f"{self.path} does not contain this text: read it again and give it exactly")
        if count > 1 and not self.all:
            raise ToolFailed(f"{self.path} contains this text {count} times: give more of it, or set all")
        line = before.count("\n", 0, before.index(old)) + 1
        await work.shown.locate(Location(self.path, line))
        await _change(work, self.path, before, before.replace(old, new))
        return ToolOutcome(f"Replaced {count} occurrence{'s' if count > 1 else ''} in {self.path}.")


class Write(BuiltIn):
    """Write a whole file, new or in place of what it holds. Prefer edit for changes."""

    name: ClassVar[str] = "write"
    kind: ClassVar[ToolKind] = "edit"

    path: str
    text: Annotated[str, Meta(description="the whole new text of the file")]

    @property
    def title(self) -> str:
        return f"Write {self.path}"

    @property
    def locations(self) -> list[str]:
        return [self.path]

    async def run(self, work: Work) -> ToolOutcome:
        """Write it, if what is there is still as it was shown."""
        before = await _present(work, self.path)
        if before == self.text:
            await work.gate.permit(work.shown)
            return ToolOutcome(f"{self.path} is like that already.")
        await _change(work, self.path, before, self.text)
        lines = len(self.text.splitlines())
        return ToolOutcome(f"Wrote {lines} line{'' if lines == 1 else 's'} to {self.path}.")


def _line_ends_of(text: str, old: str, new: str) -> tuple[str, str]:
    """Both with the line ends of a file that has Windows' own: models write newlines alone."""
    if "\r\n" in text and old not in text and "\r" not in old:
        return old.replace("\n", "\r\n"), new.replace("\n", "\r\n")
    return old, new


async def _change(work: Work, path: str, before: str | None, after: str) -> None:
    await work.shown.diff(path, before, after)
    await work.gate.permit(work.shown)
    # The user may have taken a while, and has allowed the shown change alone.
    if await _present(work, path) != before:
        raise ToolFailed(f"{path} was changed meanwhile: read it again")
    await work.turn.files.write(path, after)
    # As it is now: the line ends of the file are kept, and an editor may format the text.
    with suppress(AccordError):
        after = await work.turn.files.read(path)
    work.changes.note(work.shown.locations[0].path, before, after)


async def _present(work: Work, path: str) -> str | None:
    try:
        return await work.turn.files.read(path)
    except NoSuchFile:
        return None
