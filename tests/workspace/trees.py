"""Directories for the tests of this folder: a root with secrets beside it, and a process that swaps things."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

INSIDE = "inside\n"
SECRET = "secret\n"  # noqa: S105 - what nobody may read


class Tree:
    """A root, and a folder beside it that nobody may touch."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.outside = folder / "outside"
        self.root.mkdir()
        self.outside.mkdir()
        (self.outside / "file").write_text(SECRET, encoding="utf-8")
        (self.root / "file").write_text(INSIDE, encoding="utf-8")
        (self.root / "folder").mkdir()
        (self.root / "folder" / "file").write_text(INSIDE, encoding="utf-8")

    def outside_is_untouched(self) -> bool:
        names = [entry.name for entry in self.outside.iterdir()]
        return names == ["file"] and (self.outside / "file").read_text(encoding="utf-8") == SECRET


def descriptors() -> list[str]:
    """The descriptors that are open, and what they mean."""
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found.append(f"{entry.name} {entry.readlink()}")
        except FileNotFoundError:
            # The one that was open for looking.
            continue
    return sorted(found)


@contextmanager
def meanwhile(action: Callable[[], None]) -> Iterator[None]:
    """Somebody who does this again and again, in a thread, while the context lasts."""
    stop = Event()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            while not stop.is_set():
                action()
        except BaseException as error:  # noqa: BLE001 - told where the context ends
            failures.append(error)

    thread = Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(20)
    assert not thread.is_alive()
    assert not failures
