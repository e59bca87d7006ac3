"""What the client did not offer, asked for all the same: it has to be refused, and not done."""

from __future__ import annotations

from pathlib import Path

from accord.check.case import Unseen
from accord.check.client.part import Notes, Turn, part
from accord.check.client.words import elicitation

__all__ = ["MODES"]

MODES = ("form", "url")

READ, WRITE, RUN, ELICIT = (
    "ACCORD-CLIENT-HONEST-001",
    "ACCORD-CLIENT-HONEST-002",
    "ACCORD-CLIENT-HONEST-003",
    "ACCORD-CLIENT-ELICIT-003",
)


def _need(turn: Turn, *path: str) -> None:
    """No edition but v1 has files and terminals to offer."""
    if turn.edition == "v1" and turn.offers(*path):
        raise Unseen(f"offered: {'.'.join(path)}")


def _place(folder: Path, name: str, content: str | None = None) -> str:
    if content is not None:
        (folder / name).write_text(content, encoding="utf-8")
    return str(folder / name)


@part(order=45)
async def unoffered_read(turn: Turn) -> Notes:
    """A file to read."""
    _need(turn, "fs", "readTextFile")
    id_ = turn.ask("fs/read_text_file", path=_place(turn.folder, "there.txt", "there\n"))
    await turn.answer(id_, READ)
    return {"id": id_}


@part(order=45)
async def unoffered_write(turn: Turn) -> Notes:
    """A file to write."""
    _need(turn, "fs", "writeTextFile")
    path = _place(turn.folder, "made.txt")
    id_ = turn.ask("fs/write_text_file", path=path, content="made\n")
    await turn.answer(id_, WRITE)
    return {"id": id_, "done": _exists(path)}


@part(order=45)
async def unoffered_terminal(turn: Turn) -> Notes:
    """A command to run, which would leave a trace."""
    _need(turn, "terminal")
    path = _place(turn.folder, "made.txt")
    id_ = turn.ask("terminal/create", command="touch", args=[path], cwd=turn.cwd)
    await turn.answer(id_, RUN)
    await turn.is_alive(RUN)
    return {"id": id_, "done": _exists(path)}


@part(order=45, editions=("v1", "v2"))
async def unoffered_elicitation(turn: Turn) -> Notes:
    """A question in a mode that was not offered."""
    ids = []
    for mode in MODES:
        if not turn.offers("elicitation", mode):
            ids.append(turn.seat.ask("elicitation/create", elicitation(turn.session, mode)))
            await turn.answer(ids[-1], ELICIT)
    if not ids:
        raise Unseen("offered: elicitation.form and elicitation.url")
    return {"ids": ids}


def _exists(path: str) -> bool:
    return Path(path).exists()
