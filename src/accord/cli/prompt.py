"""What is said to the agent: the words of the line, files, stdin, pictures."""

from __future__ import annotations

import mimetypes
import sys
from collections.abc import Sequence
from pathlib import Path

from accord.cli.show.screen import is_terminal
from accord.cli.status import UsageFailure

__all__ = ["picture_of", "read_prompt"]


def read_prompt(
    words: Sequence[str], files: Sequence[str], images: Sequence[str], verb: str = "run"
) -> list[str | Path]:
    """The parts of a prompt: one text, then the pictures. Without words and files the text is stdin.

    Raises:
        UsageFailure: There is nothing, or something cannot be read.
    """
    pictures = [picture_of(image) for image in images]
    texts = [" ".join(words)] if words else []
    if not words and not files and not (pictures and is_terminal(sys.stdin)):
        if is_terminal(sys.stdin):
            raise UsageFailure("there is no text", advice=f'Type: accord {verb} demo "text", or use -f FILE, or a pipe')
        files = ["-"]
    texts += [_text_of(file) for file in files]
    text = "\n\n".join(texts)
    if not text.strip() and not pictures:
        raise UsageFailure("the text is empty")
    return [*([text] if text.strip() else []), *pictures]


def _text_of(file: str) -> str:
    what = "stdin" if file == "-" else file
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise UsageFailure(f"{what} cannot be read: {error.strerror}") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageFailure(f"{what} is no UTF-8 text (byte {error.start})") from error


def picture_of(name: str) -> Path:
    """The path of a picture.

    Raises:
        UsageFailure: It is none, or cannot be read.
    """
    path = Path(name).absolute()
    kind, _ = mimetypes.guess_type(path.name)
    if not (kind or "").startswith("image/"):
        raise UsageFailure(f"--image {name}: its name is not that of a picture")
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise UsageFailure(f"--image {name}: {error.strerror}") from error
    return path
