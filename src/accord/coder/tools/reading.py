"""Reading a file: the tool `read`."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from accord.coder.tools.call import BuiltIn, ToolOutcome, Work, bounded
from accord.session.tool import Location, ToolKind

__all__ = ["Read", "fenced"]

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
        """It in a few words."""
        return f"Read {self.path}" if self.line == 1 else f"Read {self.path} from line {self.line}"

    @property
    def locations(self) -> list[Location]:
        """The file."""
        return [Location(self.path, self.line)]

    async def run(self, work: Work) -> ToolOutcome:
        """Its text, as the client has it."""
        await work.gate.permit(work.shown)
        # One line more than wanted tells whether there is more.
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
