"""The terminal of a chat: the light or the dark theme by the user's setting or its background, and its title."""

from __future__ import annotations

import contextlib
import os
import re
import select
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TextIO, TypeAlias

from accord.display import SafeText, exact, filled
from accord.time_scale import scaled

Shade: TypeAlias = Literal["dark", "light"]
TEXTUAL_THEMES: dict[Shade, str] = {"dark": "textual-dark", "light": "textual-light"}

# A terminal answers at once or never. Every terminal answers the second query, so its answer ends the wait.
QUERY = b"\x1b]11;?\x1b\\\x1b[c"
WAIT_SECONDS = scaled(0.5)
_COLOUR = re.compile(rb"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})")
_ATTRIBUTES = re.compile(rb"\x1b\[\?[0-9;]*c")
# The first sixteen colours of a terminal: these are light.
_LIGHT_COLOURS = {7, 9, 10, 11, 12, 13, 14, 15}
MAX_REPLY_BYTES = 4096


def shade_of_variable(environment: Mapping[str, str]) -> Shade | None:
    """The shade by `COLORFGBG`, which has the numbers of the text and background colours."""
    last = environment.get("COLORFGBG", "").rpartition(";")[2]
    if not last.isascii() or not last.isdigit():
        return None
    return "light" if int(last) in _LIGHT_COLOURS else "dark"


def shade_of_reply(reply: bytes) -> Shade | None:
    """The shade of the background that a terminal reports."""
    found = _COLOUR.search(reply)
    if found is None:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
    # How bright people see it (ITU-R BT.601).
    return "light" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "dark"  # noqa: PLR2004


def detected_shade() -> Shade:
    """The shade of this terminal: by the variable, by a query, and dark where neither answers."""
    return shade_of_variable(os.environ) or shade_of_reply(_ask()) or "dark"


def _ask() -> bytes:
    try:
        import termios  # noqa: PLC0415 - not on every system
        import tty  # noqa: PLC0415
    except ImportError:
        return b""
    if not _is_ours(sys.stdin) or not _is_ours(sys.stdout):
        return b""
    keys, screen = sys.stdin.fileno(), sys.stdout.fileno()
    try:
        before = termios.tcgetattr(keys)
    except termios.error:
        return b""
    try:
        tty.setcbreak(keys)
        os.write(screen, QUERY)
        return _reply(keys, time.monotonic() + WAIT_SECONDS)
    except (OSError, termios.error):
        return b""
    finally:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(keys, termios.TCSANOW, before)


def _reply(keys: int, deadline: float) -> bytes:
    reply = b""
    while not _ATTRIBUTES.search(reply) and len(reply) < MAX_REPLY_BYTES:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([keys], [], [], left)[0]:
            break
        data = os.read(keys, 1024)
        if not data:
            break
        reply += data
    return reply


def _is_ours(stream: TextIO | None) -> bool:
    """Whether this process may write to the terminal: a process in the background would be stopped."""
    try:
        return stream is not None and stream.isatty() and os.tcgetpgrp(stream.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False


# --- the title

# XTWINOPS: terminals that support it keep a stack of titles.
SAVE_TITLE = "\x1b[22;2t"
RESTORE_TITLE = "\x1b[23;2t"
_SET, _END = "\x1b]2;", "\x1b\\"


def title_text(agent: str, cwd: str) -> SafeText:
    """The title; it contains no text of the agent."""
    return filled("accord · {} · {}", exact(agent, 40), exact(Path(cwd).name or cwd, 60))


def title_sequence(agent: str, cwd: str) -> str:
    """The sequence that saves the current title and sets ours."""
    return f"{SAVE_TITLE}{_SET}{title_text(agent, cwd)}{_END}"
