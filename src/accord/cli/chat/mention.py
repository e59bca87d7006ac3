"""Files that a prompt names: `@path` and `@"path with blanks"`, and a pasted path of a picture turned into that."""

from __future__ import annotations

import mimetypes
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from accord.client.prompt import Promptable
from accord.config.places import expand_home

__all__ = ["mention_of", "pasted_picture", "prompt_of"]

_MENTION = re.compile(r'(?<![^\s("\'])@(?:"([^"\n]+)"|([^\s"]+))')
# What ends a sentence, not a name.
_TRAILING = ".,;:!?)]}'"


def mention_of(path: str) -> str:
    """How a path is written in a prompt."""
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
