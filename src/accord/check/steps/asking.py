"""How a step asks without minding the answer, and makes folders for sessions; no step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from accord.check.talk import StepFailed, Talk

__all__ = ["asked", "folders", "heard", "lives"]


async def heard(talk: Talk, id_: Any, seconds: float | None = None) -> dict[str, Any] | None:
    """Wait for an answer; silence is not the step's concern, but of whoever judges."""
    try:
        return await talk.answer(id_, seconds=seconds)
    except StepFailed:
        return None


async def asked(talk: Talk, method: str, params: Any, id_: Any = None) -> Any:
    """Ask, and wait until it was answered or the time is over; gives the request's id."""
    id_ = talk.ask(method, params, id_)
    await heard(talk, id_)
    return id_


async def lives(talk: Talk) -> bool:
    """Whether the agent still answers; that it does not is not the step's concern either."""
    try:
        return await talk.is_alive()
    except StepFailed:
        return False


@contextmanager
def folders(talk: Talk, *names: str) -> Iterator[list[Path]]:
    """Folders beside each other where the sessions work; in somebody's own folder they do not stay."""
    made = [talk.folder / f"accord-check-{name}" for name in names]
    for folder in made:
        folder.mkdir(exist_ok=True)
    try:
        yield made
    finally:
        for folder in made if talk.options.cwd else ():
            with suppress(OSError):
                folder.rmdir()
