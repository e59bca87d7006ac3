"""Foreign text made harmless for a screen: no escape sequences, no control characters, no turned letters."""

from __future__ import annotations

import re

__all__ = ["safe_line", "safe_text", "without_escapes"]

# CSI, OSC and the other string sequences, and the short ones.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]|\x9b[0-?]*[ -/]*[@-~]", re.DOTALL
)
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_OVERWRITTEN = re.compile(r"[^\n]*\r(?=[^\r\n])")


def safe_text(text: str) -> str:
    """A text that may have several lines."""
    text = text.replace("\r\n", "\n")
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub("", text))


def safe_line(text: str) -> str:
    """A text that must stay on its line: whatever would break it becomes a blank."""
    return safe_text(" ".join(text.split()))


def without_escapes(text: str) -> str:
    """What a command printed: without its colours, and of a line that it wrote over only the last state."""
    text = _ESCAPES.sub("", text).replace("\r\n", "\n")
    return safe_text(_OVERWRITTEN.sub("", text))
