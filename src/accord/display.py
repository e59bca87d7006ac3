r"""Sanitizing of foreign text for terminals, log lines and exported pages, and the type that marks sanitized text.

Every screen takes `SafeText` alone. These functions make one:

- `prose`: text written for readers. Several lines; ZWJ, ZWNJ and variation selectors stay. Escape sequences and control
  characters are removed, and characters that reorder or hide letters become U+FFFD.
- `exact`: a command, a path, a title, an id. One line in which everything invisible is an escape such as `\u200d`, so
  that two different texts never look the same.
- `source_line`: a line of a file. Like `exact`, but blanks, tabs and backslashes are as they are.
- `printed`: a command's terminal output, as it looked there, without colours.
- `json_text`: any JSON value; invisible characters are JSON escapes.
- `markdown_line`, `markdown_code`, `markdown_block`, `markdown_text`: parts of a Markdown document. In the first three
  nothing is markup; in the last, what an author wrote as Markdown, there is no HTML and no picture.
- `own` and `filled`: our own literals, with foreign texts in their placeholders.

Widths, styles and streams belong to the screens.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

__all__ = [
    "EMPTY",
    "SafeText",
    "clip",
    "colours_kept",
    "exact",
    "filled",
    "joined",
    "json_line",
    "json_text",
    "markdown_block",
    "markdown_code",
    "markdown_line",
    "markdown_text",
    "own",
    "part_of",
    "printed",
    "prose",
    "prose_line",
    "safe_lines",
    "settled",
    "source_line",
    "trimmed",
    "whole",
]


class SafeText(str):
    """A text without terminal control. Only this module makes one; a test checks that."""

    __slots__ = ()


EMPTY = SafeText("")

# Control sequences, then strings that run to a terminator, each in the form with ESC and in the one of a single C1
# character, then what is left of an ESC. A string without its terminator is no sequence: it must hide nothing. No
# string holds what begins one, and nothing that was matched is tried again, so that time stays linear in the text.
_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x1b\x07\x90\x98\x9c-\x9f\n]{0,4096}+(?:\x1b\\|\x07|\x9c)"
    r"|\x1b[ -/]*[0-~]?"
)
# In what a command printed, a string that is not ended goes to the end of its line, as terminals have it.
_PRINTED_STRING = re.compile(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x1b\x07\x90\x98\x9c-\x9f\n]*+(?:\x1b\\|\x07|\x9c|(?=[\n\x90\x98\x9d-\x9f])|\Z)"
)
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")

_SURROGATES = "\ud800-\udfff"
_BREAKS = "\x0b\x0c\x85\u2028\u2029"
_CONTROLS = "\x00-\x08\x0e-\x1f\r\x7f-\x84\x86-\x9f"
# Directions: ALM, LRM, RLM, the embeddings and overrides, the isolates and their deprecated companions.
_TURNING = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"
# Tag characters, interlinear annotations and noncharacters.
_HIDING = "\U000e0000-\U000e007f\ufff9-\ufffb\ufdd0-\ufdef" + "".join(
    f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000)
)
# Without width and without meaning on a screen: soft hyphen, zero width space, word joiner and its invisible
# operators, byte order mark, the Mongolian vowel separator, musical and shorthand controls.
_NOTHING = "\u00ad\u180e\u200b\u2060-\u2065\ufeff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
_PROSE = re.compile(f"[{_CONTROLS}{_NOTHING}]+|([{_BREAKS}])|([{_TURNING}{_HIDING}])")
_PLAIN = re.compile(r"[\t\n\x20-\x7e]*+")
_HALF = re.compile(f"[{_SURROGATES}]")
# A sequence whose end may still come: no longer than a control sequence can reasonably be.
_CUT = re.compile(r"[\x1b\x9b][^@-~]{0,32}$|\x1b\[[^@-~]{0,32}$|[\ud800-\udbff]$")

# Letters and marks that Python calls printable but that are invisible: the grapheme joiner, Hangul fillers, Khmer
# inherent vowels, variation selectors, the blank Braille pattern.
_BLANK = frozenset(
    chr(code)
    for code in (
        0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164, 0xFFA0,
        *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0),
    )
)  # fmt: skip
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_UNUSUAL = re.compile(r"[^\x20-\x7e]")
# A longer gap looks like the end of a text, with the rest of it outside of the screen.
MAX_GAP_COLUMNS = 80
_TAB_COLUMNS = 8
_GAP = re.compile(f" {{{MAX_GAP_COLUMNS + 1},}}+")
_SOURCE_GAP = re.compile(rf"(?<=[^ \t])[ \t]{{{MAX_GAP_COLUMNS // _TAB_COLUMNS},}}+(?=.)")
# A backslash that would be read as the begin of one of our escapes is doubled.
_UNUSUAL_OR_ESCAPE = re.compile(r"[^\x20-\x7e]|\\(?=[\\nrtuUx]|[^\x20-\x7e])")


def whole(text: str) -> str:
    """The text with U+FFFD for each lone surrogate, so that it can be encoded."""
    if text.isascii() or _HALF.search(text) is None:
        return text
    # Two halves that came one after the other are a character.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def settled(text: str) -> int:
    """How much of a growing text can be shown already: not the half of a character or of an escape sequence."""
    cut = _CUT.search(text, max(0, len(text) - 40))
    return len(text) if cut is None else cut.start()


def prose(text: str) -> SafeText:
    """Text written for readers, with its line breaks."""
    if _PLAIN.fullmatch(text):
        return SafeText(text)  # 60 times faster, and nearly all that is said
    return SafeText(_PROSE.sub(_in_prose, _SEQUENCE.sub("", whole(text).replace("\r\n", "\n"))))


def _in_prose(found: re.Match[str]) -> str:
    if found[1]:
        return "\n"
    return "\ufffd" if found[2] else ""


def prose_line(text: str, limit: int | None = None) -> SafeText:
    """Text written for readers, as one line: any white space is one blank. Beyond the limit it ends in an ellipsis."""
    if limit is not None:
        text = text[: limit * 4]
    line = SafeText(" ".join(prose(text).split()))
    return line if limit is None else clip(line, limit)


def exact(text: str, limit: int | None = None) -> SafeText:
    """One line that differs for any two different texts, except that every lone surrogate is U+FFFD.

    Blanks at the begin and the end, and in gaps of more than 80, are escapes too. A longer one than the limit ends in
    an ellipsis.
    """
    if limit is not None and len(text) > limit:
        text = text[: limit + 1]
    shown = _GAP.sub(_escaped_gap, _edged(_UNUSUAL_OR_ESCAPE.sub(_in_exact, whole(text))))
    return SafeText(shown) if limit is None else clip(SafeText(shown), limit)


def _edged(text: str) -> str:
    """The text with its outer blanks as escapes."""
    inner = text.strip(" ")
    if len(inner) == len(text):
        return text
    before = len(text) - len(text.lstrip(" "))
    return "\\x20" * before + inner + "\\x20" * (len(text) - len(inner) - before)


def _escaped_gap(found: re.Match[str]) -> str:
    gap = found[0]
    if len(gap) + gap.count("\t") * (_TAB_COLUMNS - 1) <= MAX_GAP_COLUMNS:
        return gap
    return gap.replace(" ", "\\x20").replace("\t", "\\t")


def _in_exact(found: re.Match[str]) -> str:
    char = found[0]
    return "\\\\" if char == "\\" else _escape(char)


def _escape(char: str) -> str:
    if char.isprintable() and char not in _BLANK:
        return char
    if char in _NAMED:
        return _NAMED[char]
    code = ord(char)
    if code < 0x100:  # noqa: PLR2004 - one byte
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004 - the first plane


def source_line(text: str) -> SafeText:
    """A line of a file: what is invisible is an escape, blanks and tabs are as they are, except in wide gaps."""
    return SafeText(_SOURCE_GAP.sub(_escaped_gap, _UNUSUAL.sub(_in_source, whole(text))))


def _in_source(found: re.Match[str]) -> str:
    return "\t" if found[0] == "\t" else _escape(found[0])


def printed(text: str) -> SafeText:
    """A command's output without its colours; of an overwritten line only the last state."""
    text = _SEQUENCE.sub("", _PRINTED_STRING.sub("", text)).replace("\r\n", "\n")
    return prose("\n".join(map(_last_state, text.split("\n"))) if "\r" in text else text)


def _last_state(line: str) -> str:
    """The part of a line after its last carriage return; returns at its end overwrite nothing."""
    return line[line.rstrip("\r").rfind("\r") + 1 :]


def colours_kept(text: str) -> str:
    """A command's output with its colours and carriage returns: for a parser of colours, not for a screen."""
    text = _PRINTED_STRING.sub("", text.replace("\r\n", "\n"))
    kept = _SEQUENCE.sub(lambda found: found[0] if _COLOUR.fullmatch(found[0]) else "", text)
    pieces = _COLOUR.split(kept)
    colours = [*_COLOUR.findall(kept), ""]
    return "".join(
        "\r".join(prose(part) for part in piece.split("\r")) + colour
        for piece, colour in zip(pieces, colours, strict=True)
    )


def json_text(value: Any, indent: int | None = None, limit: int | None = None) -> SafeText:
    """Any JSON value; with an `indent` in several lines. It is valid JSON, unless it is longer than the limit."""
    try:
        text = json.dumps(value, indent=indent, ensure_ascii=False, default=repr)
    except (ValueError, RecursionError):
        return own("(too deep to be shown)")
    if limit is not None:
        text = text[: limit + 1]
    shown = SafeText(_UNUSUAL.sub(_in_json, text))
    return shown if limit is None else clip(shown, limit)


def json_line(value: Any, indent: int | None = None) -> SafeText:
    """Any JSON value for programs: ASCII, one line without `indent`, and read back as the same value."""
    return SafeText(json.dumps(value, indent=indent, default=repr))


def _in_json(found: re.Match[str]) -> str:
    char = found[0]
    # A line break is ours: inside of a string it is escaped already.
    if char == "\n" or (char.isprintable() and char not in _BLANK):
        return char
    return json.dumps(char)[1:-1]


# Of a part of a line: at its begin, headings and lists need further characters.
_MARKUP = re.compile(r"[\\`*_\[\]<>&|~$]")


def markdown_line(text: SafeText) -> SafeText:
    """A part of a line as Markdown that shows it as it is; something of ours has to stand before it."""
    return SafeText(_MARKUP.sub(r"\\\g<0>", text))


def markdown_code(text: SafeText) -> SafeText:
    """One line as Markdown that shows it as code; nothing where it is empty. A table wants its `|` escaped too."""
    fence = _fence("`", text)
    return filled("{0} {1} {0}" if "`" in text else "{0}{1}{0}", fence, text) if text else EMPTY


def markdown_block(text: str, language: SafeText = EMPTY) -> SafeText:
    """Lines as Markdown that shows them as they are, in a fence."""
    return filled("{0}{1}\n{2}\n{0}", _fence("```", text), language, prose(text))


def markdown_text(text: str) -> SafeText:
    """Markdown of others: HTML is text, and a picture is a link that no page loads.

    With code in it it is quoted: a fence that is not closed ends with the quotation, and not in what follows.
    """
    inert = SafeText(prose(text).replace("&", "&amp;").replace("<", "&lt;").replace("![", "\\!\\["))
    has_fence = "```" in inert or "~~~" in inert
    return filled("\n\n> {}", SafeText(inert.replace("\n", "\n> "))) if has_fence else inert


def _fence(shortest: str, text: str) -> SafeText:
    while shortest in text:
        shortest += "`"
    return SafeText(shortest)


def own(text: str) -> SafeText:
    """Our own text. The argument is a literal; a test checks that."""
    return SafeText(text)


def filled(template: str, *values: object) -> SafeText:
    """Our own text with `values` in the placeholders of `str.format`. The template is a literal.

    A value that is no `SafeText` goes through `exact`.
    """
    return SafeText(template.format(*map(_value, values)))


def _value(value: object) -> object:
    if isinstance(value, SafeText | int | float):
        return value
    return exact(str(value))


def joined(parts: Iterable[SafeText], by: SafeText = EMPTY) -> SafeText:
    """Safe texts one after the other."""
    return SafeText(by.join(parts))


def clip(text: SafeText, limit: int) -> SafeText:
    """No more characters than the limit; what is left out is an ellipsis."""
    return text if len(text) <= limit else SafeText(text[: limit - 1] + "…")


def part_of(text: SafeText, start: int, end: int | None = None) -> SafeText:
    """A slice of a safe text."""
    return SafeText(text[start:end])


def trimmed(text: SafeText) -> SafeText:
    """The text without trailing white space."""
    return SafeText(text.rstrip())


def safe_lines(text: SafeText) -> list[SafeText]:
    """The lines of a safe text; an end of line at its end begins none."""
    lines = [SafeText(line) for line in text.split("\n")]
    return lines[:-1] if not lines[-1] else lines
