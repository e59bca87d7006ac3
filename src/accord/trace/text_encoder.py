"""The encoder of texts as lines of records: masks secrets, marks texts that are no JSON or no UTF-8. No I/O."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING

import msgspec

from accord.trace.chunks import ChunkTemplate, is_plain_chunk

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.trace.format import TextRecord
    from accord.trace.redaction import Redactor

__all__ = ["TextEncoder", "content"]

# A template saves time from so many texts on.
_TEMPLATE_TEXTS = 8

_UNREAD = ("not-json", "too-deep")
_NO_RAW = b'"raw":""'

_encode = msgspec.json.Encoder().encode
# Validates without building anything.
_skim: Callable[[bytes], object] = msgspec.json.Decoder(msgspec.Raw).decode


class TextEncoder:
    """Encodes the texts of one file; without a redactor nothing is masked.

    `crossing` is a record with all fields but those of its text; it is copied, not changed.
    """

    def __init__(self, redactor: Redactor | None) -> None:
        self._redactor = redactor
        self._is_ordinary = _is_json if redactor is None else is_plain_chunk
        self._template: ChunkTemplate | None = None

    def line(self, crossing: TextRecord, text: bytes) -> bytes:
        """The line of one text."""
        record, shown = copy(crossing), text
        if record.fault or not self._is_ordinary(text):
            record.fault = record.fault or _fault_of(text)
            if self._redactor is not None:
                shown = self._redactor.text(text, is_json=record.fault not in _UNREAD)
        record.redacted = shown is not text
        record.raw, record.encoding = content(shown)
        if record.encoding and record.fault in {"", *_UNREAD}:
            record.fault = "not-utf8"
        return _encode(record) + b"\n"

    def lines(self, crossing: TextRecord, texts: Sequence[bytes]) -> bytes:
        """The lines of the texts of one read: as `line` for each, in a fifth of the time where they are chunks."""
        before, _, after = _encode(crossing).partition(_NO_RAW)
        before, after = before + b'"raw":', after + b"\n"
        template = self._template_for(texts)
        masks = self._redactor is not None

        def line(text: bytes) -> bytes:
            if self._is_ordinary(text):
                try:
                    return before + _encode(text.decode()) + after
                except UnicodeDecodeError:
                    pass  # `self.line` records it as base64
            return self.line(crossing, text)

        def lines_of(texts: Sequence[bytes]) -> bytes:
            if template is None or len(texts) < _TEMPLATE_TEXTS:
                return b"".join([line(text) for text in texts])
            lines = template.lines(texts, before, after, masks=masks)
            if lines is None:
                # One of them is something else, or has a secret: the others are still recorded together.
                half = len(texts) // 2
                lines = lines_of(texts[:half]) + lines_of(texts[half:])
            return lines

        return lines_of(texts)

    def _template_for(self, texts: Sequence[bytes]) -> ChunkTemplate | None:
        """A template that some of the texts fit, perhaps; the former one is kept for as long as there is no better."""
        if len(texts) < _TEMPLATE_TEXTS:
            return None
        sample = texts[len(texts) // 2]
        if self._template is None or not self._template.fits(sample):
            self._template = ChunkTemplate.of(sample) or self._template
        return self._template


def content(raw: bytes) -> tuple[str, str]:
    """Bytes as the string of a record, and the name of their encoding where they are no UTF-8."""
    try:
        return raw.decode(), ""
    except UnicodeDecodeError:
        return b64encode(raw).decode(), "base64"


def _fault_of(text: bytes) -> str:
    try:
        _skim(text)
    except ValueError:
        return "not-json"
    except RecursionError:
        # It may be JSON all the same.
        return "too-deep"
    return ""


def _is_json(text: bytes) -> bool:
    return not _fault_of(text)
