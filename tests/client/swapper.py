"""A process that swaps files and folders for links to the outside, as fast as the system allows.

Started as `swapper.py ROOT OUTSIDE`; says how often he swapped when his stdin is closed.
"""

from __future__ import annotations

import itertools
import os
import select
import shutil
import sys
from contextlib import suppress
from pathlib import Path

ROOT, OUTSIDE = Path(sys.argv[1]), Path(sys.argv[2])
ASIDE = ROOT / "aside"
ASIDE.mkdir()
numbers = itertools.count()


def away(path: Path) -> Path:
    """Move whatever is there out of the way."""
    place = ASIDE / str(next(numbers))
    with suppress(OSError):
        path.rename(place)
    return place


def forget(path: Path) -> None:
    """Remove it, and never what a link leads to."""
    kept = away(path)
    if kept.is_dir() and not kept.is_symlink():
        shutil.rmtree(kept, ignore_errors=True)
    else:
        kept.unlink(missing_ok=True)


def be_folder(path: Path) -> None:
    """See that there is a folder, and not a link to one."""
    if path.is_symlink() or not path.is_dir():
        forget(path)
        path.mkdir(exist_ok=True)


def swap(path: Path, target: Path) -> None:
    """Take it away, put a link there, and put it back; others may be faster at each step."""
    kept = away(path)
    with suppress(OSError):
        path.symlink_to(target)
    forget(path)
    with suppress(OSError):
        kept.rename(path)


def replace(path: Path, target: Path) -> None:
    """In one step: now it is a link, now a file."""
    fresh = ASIDE / f"fresh-{next(numbers) % 8}"
    for make in (lambda: fresh.symlink_to(target), lambda: fresh.write_text("inside\n", encoding="utf-8")):
        with suppress(OSError):
            fresh.unlink()
        with suppress(OSError):
            make()
            os.replace(fresh, path)  # noqa: PTH105 - of a link, which is not to be followed


SWAPS = (
    (replace, ROOT / "file", OUTSIDE / "file"),
    (swap, ROOT / "folder", OUTSIDE),
    (replace, ROOT / "folder" / "file", OUTSIDE / "file"),
    (swap, ROOT / "folder" / "deep", OUTSIDE / "deep"),
    (swap, ROOT / "folder" / "deep" / "file", Path("../../../outside/file")),
    (swap, ROOT / "folder", Path("../outside")),
    (swap, ROOT / "file", Path("/proc/self/root") / str(OUTSIDE / "file").lstrip("/")),
)


def main() -> None:
    """Go on until nobody wants it any more."""
    rounds = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        for act, path, target in SWAPS:
            # Never through a link of his own: what happens outside must be somebody else's doing.
            be_folder(ROOT / "folder")
            be_folder(ROOT / "folder" / "deep")
            act(path, target)
        rounds += 1
    sys.stdout.write(f"{rounds * len(SWAPS)}\n")


main()
