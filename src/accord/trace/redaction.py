"""Masking of secrets in recorded texts: by key and by shape, with the JSON type kept.

A secret becomes `<secret:1a2b>`: four hexadecimal digits of a keyed hash, whose key is random for each file and stored
nowhere. Equal secrets look equal within a file, and nothing can be computed back. Everything else of a text stays byte
for byte: prompts, file contents and answers too.

A text without any marker of a secret passes after a few searches for bytes; only others are scanned.
"""

from __future__ import annotations

import functools
import os
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence

__all__ = ["Redactor", "has_shape"]

# Lower case; a text without any of them has no secret by key. Each search runs at the speed of memory.
_KEY_MARKERS = (
    b'"env', b"header", b"auth", b"key", b"cookie", b"token", b"secret", b"passw", b"passphrase", b"cred",
    b"bearer",
)  # fmt: skip
# A key may be written with escapes: `\\u0074oken`. No encoder writes letters of ASCII so, but every parser reads it.
_ESCAPED_LETTER = re.compile(rb"\\u00([2-7][0-9A-Fa-f])")

# No letter or digit stands before it, but for those of an escape: a line break in a JSON string is `\\n`.
_START = rb"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4}))"

# A parameter of a URL, in its query or its fragment. Encoders write `&` and `=` as escapes, and a URL
# inside of another one is percent-encoded.
_PARAMETER_STARTS = (
    *((b"?", rb"\?"), (b"&", rb"&(?:amp;)?"), (b"\\u0026", rb"\\u0026"), (b"#", rb"#[!/]*")),
    *((code, b"(?i:%b)" % code) for code in (b"%3f", b"%26", b"%23", b"%3b", b"%253f", b"%2526", b"%2523")),
)
# The name may be in brackets: `auth[token]=`. A value of a name that often means something else is a long one.
_PARAMETER = (
    rb"(?i:(?:[a-z0-9_.\[%-]{0,40}?(?:api[-_]?key|access[-_]?key|token|secret|passw(?:or)?d|passphrase|pwd|signature|sig"
    rb"|jwt|jsessionid|bearer|authorization|credentials?)(?:\]|%(?:25)?5d)?"
    rb"|(?:auth|code|key|pass|session|sid)(?=(?:=|\\u003d|%3d|%253d)[a-z0-9._~+/%-]{16}))"
    rb"(?:=|\\u003d|%3d|%253d))((?i:(?!%26|%23|%2526|%2523)[^\s&#\"'<>\\]){3,})"
)
_PARAMETERS = tuple((marker, start + _PARAMETER) for marker, start in _PARAMETER_STARTS)

# By shape, anywhere: also in prose and in stderr. The group is the secret. Each pattern is tried only where its marker
# (lower case) stands, and a marker is only looked for in a text that has the sign, which a search for one byte finds
# fifty times as fast.
_SHAPES = {
    b"-": (
        (b"sk-", _START + rb"(sk-[A-Za-z0-9_-]{6,})"),
        (b"xox", _START + rb"(xox[abeoprs]-[A-Za-z0-9-]{8,})"),
        (b"private key-----", rb"(?i:private key-----)([^-\"]{16,})"),
    ),
    **dict.fromkeys((b"=", b"\\u003d", b"%3"), _PARAMETERS),
    # Everything before the last `@`: a password may have one.
    b"@": (
        (b"://", rb"://([^\s/?#\"'<>\\]+)@"),
        (b":\\/\\/", rb":\\/\\/([^\s/?#\"'<>\\]+)@"),
    ),
    # Addresses with a secret in their path, behind a `;` or as a segment: of web hooks, bots, models and tools.
    b"://": (
        (b";", b";" + _PARAMETER),
        (b"hooks.slack.com/", rb"(?i:hooks\.slack\.com)/[a-z]+/([A-Za-z0-9/_-]{16,})"),
        (b"/webhooks/", rb"/webhooks/[0-9]+/([A-Za-z0-9_-]{16,})"),
        (b"/webhookb2/", rb"/webhookb2/([A-Za-z0-9@/_-]{16,})"),
        (b"/hooks/catch/", rb"/hooks/catch/([A-Za-z0-9/]{6,})"),
        (b"/bot", rb"/bot([0-9]{5,}:[A-Za-z0-9_-]{16,})"),
        (b"/mcp/s/", rb"/mcp/s/([A-Za-z0-9=_-]{16,})"),
        (b"/with/key/", rb"/with/key/([A-Za-z0-9_-]{16,})"),
        *((host, rb"(?i:%b)/v[0-9]/([A-Za-z0-9_-]{16,})" % host) for host in (b"infura.io", b"alchemy.com")),
    ),
    b"K": ((b"akia", _START + rb"(AKIA[A-Z0-9]{12,})"),),
    b"z": ((b"aiza", _START + rb"(AIza[A-Za-z0-9_-]{20,})"),),
    b"J": ((b"eyj", rb"(?<!-)(?<!_)" + _START + rb"(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)"),),
    b" ": (
        (b"bearer ", rb"(?i:bearer) +([A-Za-z0-9._~+/=-]{8,})"),
        (b"basic ", rb"(?i:basic) +([A-Za-z0-9+/]{8,}={0,2})(?![A-Za-z0-9])(?<=[=A-Z0-9])"),
    ),
}

# Further shapes by their sign, all with a long word behind it: one search for such a word decides for all of them.
_LONG_SHAPE_BYTES = 20
_LONG_SHAPES = {
    b"-": (
        rb"-[A-Za-z0-9_-]{16}",
        (
            (b"glpat-", _START + rb"(glpat-[A-Za-z0-9_-]{16,})"),
            (b"xapp-", _START + rb"(xapp-[A-Za-z0-9-]{16,})"),
            (b"xai-", _START + rb"(xai-[A-Za-z0-9_-]{20,})"),
            (b"pypi-", _START + rb"(pypi-[A-Za-z0-9_-]{20,})"),
        ),
    ),
    b"_": (
        rb"_[A-Za-z0-9]{16}",
        (
            *((b"gh%c_" % kind, _START + rb"(gh%c_[A-Za-z0-9]{16,})" % kind) for kind in b"oprsu"),
            (b"github_pat_", _START + rb"(github_pat_[A-Za-z0-9_]{16,})"),
            (b"hf_", _START + rb"(hf_[A-Za-z0-9]{20,})"),
            (b"npm_", _START + rb"(npm_[A-Za-z0-9]{20,})"),
            (b"gsk_", _START + rb"(gsk_[A-Za-z0-9]{20,})"),
            (b"k_live_", rb"(?<=[rs])(k_live_[A-Za-z0-9]{16,})"),
        ),
    ),
}

# `KEY=value` and `key: value`, for lines that are no JSON: stderr, stray prints, command lines.
_VALUE = (
    rb"\\?[\"']?[ \t]*[:=][ \t]*\\?[\"']?(?:(?:bearer|basic)[ ]+)?"
    # A quoted value may have blanks in it.
    rb"((?!<secret:)(?:(?<=[\"'])[^\"'\\\r\n]{3,}|[^\s\"'\\,;}\])]{3,}))"
)
_ASSIGNMENTS = tuple(
    (marker, rb"(?i)" + word + _VALUE)
    for marker, word in (
        (b"authorization", rb"authorization"),
        (
            b"key",
            rb"(?:(?<=api)|(?<=api[-_])|(?<=access[-_])|(?<=proxy[-_])|(?<=private[-_])|(?<=secret[-_])"
            rb"|(?<=(?-i:[A-Z0-9])_))key",
        ),
        (b"token", rb"token"),
        (b"secret", rb"secret"),
        (b"passw", rb"passw(?:or)?d"),
        (b"passphrase", rb"passphrase"),
        (b"cookie", rb"cookie"),
    )
)

# Keys whose value is a secret, without `-`, `_`, `.`, blanks and upper case. Counts of tokens end in `tokens`.
_SECRET_KEY = re.compile(
    rb"(?:.*(?:authorization|(?:api|access|auth|encryption|private|proxy|secret|signing|subscription)keys?|token|secrets?"
    rb"|passwords?|passwd|passphrase)|(?:set)?cookies?|credentials?|bearer)\Z"
)
# The words of a command, which has secrets behind its options.
_COMMANDS = frozenset({b"args", b"argv", b"command", b"commandline"})
# Prompts, answers and file contents stay as they are, also where they are JSON. Any other string with JSON in it, the
# arguments of a tool for example, is scanned as a part of the text.
_CONTENTS = frozenset({b"text", b"content", b"newtext", b"oldtext", b"data", b"blob"})
_MAX_NESTED_BYTES = 1024 * 1024
_HOLDERS = frozenset({b"env", b"environment", b"headers", b"requestheaders", b"httpheaders"})

# A string may be cut at the end of the text.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)
_NUMBER = re.compile(rb"-?[0-9][0-9.eE+-]*")
_MARKS = frozenset({b"{", b"}", b"[", b"]", b":", b","})

_SECRET_ARGUMENT = re.compile(
    rb"--?[a-z0-9_-]*(?:key|token|secret|password|passwd|authorization|cookie)\Z", re.IGNORECASE
)
_VARIABLE_OPTIONS = frozenset({"-e", "--env"})


def has_shape(text: bytes) -> bool:
    """Whether a secret by shape is in it."""
    return bool(_shape_spans(text, text.lower()))


class Redactor:
    """Masks the secrets of the texts of one file."""

    def __init__(self) -> None:
        self._key = os.urandom(32)

    def label(self, secret: bytes) -> bytes:
        """The replacement of a secret."""
        # Not needed by a file without secrets, and not cheap to import.
        import hmac  # noqa: PLC0415

        return b"<secret:%b>" % hmac.digest(self._key, secret, "sha256")[:2].hex().encode()

    def text(self, text: bytes, *, is_json: bool = True) -> bytes:
        """The text without its secrets; the same object where there are none."""
        low = text.lower()
        if any(marker in low for marker in _KEY_MARKERS) or (b"\\u00" in low and _ESCAPED_LETTER.search(low)):
            if text.lstrip()[:1] in {b"{", b"["}:
                masked = self._replaced(text, _secret_spans(text))
                if masked is not text:
                    text, low = masked, masked.lower()
            if not is_json:
                masked = self._replaced(text, _spans_at(text, low, _ASSIGNMENTS))
                if masked is not text:
                    text, low = masked, masked.lower()
        return self._replaced(text, _shape_spans(text, low))

    def line(self, line: bytes) -> bytes:
        """A line of stderr without its secrets; it may be JSON too."""
        return self.text(line, is_json=False)

    def command(self, command: Sequence[str]) -> tuple[str, ...]:
        """A command line without its secrets: the values of options such as `--api-key`."""
        masked: list[str] = []
        hide, before = False, ""
        for argument in command:
            option, equals, _ = argument.partition("=")
            if hide and not argument.startswith("-"):
                masked.append(self._masked(argument))
            elif equals and (before in _VARIABLE_OPTIONS or _is_secret_option(_encoded(option))):
                masked.append(f"{option}={self._masked(argument[len(option) + 1 :])}")
            else:
                masked.append(_decoded(self.text(_encoded(argument), is_json=False)))
            hide, before = not equals and _is_secret_option(_encoded(argument)), argument
        return tuple(masked)

    def _masked(self, secret: str) -> str:
        return self.label(_encoded(secret)).decode()

    def _replaced(self, text: bytes, spans: list[tuple[int, int]]) -> bytes:
        if not spans:
            return text
        pieces: list[bytes] = []
        at = 0
        for begin, stop in sorted(spans):
            # Two patterns may find the same secret, or a part of it.
            start = max(begin, at)
            if start >= stop:
                continue
            value = text[start:stop]
            pieces.append(text[at:start])
            if value[:1] == b'"':
                pieces.append(b'"%b"' % self.label(value.strip(b'"')))
            else:
                # A number stays a number: a redacted trace must still replay.
                pieces.append(b"0" if _NUMBER.fullmatch(value) else self.label(value))
            at = stop
        pieces.append(text[at:])
        return b"".join(pieces)


def _shape_spans(text: bytes, low: bytes) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for sign, patterns in _SHAPES.items():
        if sign in text:
            spans += _spans_at(text, low, patterns)
    if len(text) >= _LONG_SHAPE_BYTES:
        for sign, (long_word, patterns) in _LONG_SHAPES.items():
            if sign in text and _compiled(long_word).search(text):
                spans += _spans_at(text, low, patterns)
    return spans


# Most conversations need none of them, and to compile all takes 3 ms.
_compiled = functools.cache(re.compile)


def _spans_at(text: bytes, low: bytes, patterns: Sequence[tuple[bytes, bytes]]) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for marker, pattern in patterns:
        at = low.find(marker)
        while at >= 0:
            found = _compiled(pattern).match(text, at)
            if found is not None:
                spans.append(found.span(1))
            at = low.find(marker, at + len(marker))
    return spans


class _Container:
    """An object or an array that is open at the place of the scan."""

    __slots__ = (
        "awaits_key", "hides", "hides_next", "is_command", "is_named_secret", "is_object", "key", "value",
    )  # fmt: skip

    def __init__(self, *, is_object: bool, hides: bool, is_command: bool) -> None:
        self.is_object = is_object
        self.is_command = is_command
        self.hides_next = False
        self.awaits_key = is_object
        self.hides = hides
        self.key = b""
        # `{"name": "API_KEY", "value": "…"}`, in either order.
        self.is_named_secret = False
        self.value: tuple[int, int] | None = None


def _secret_spans(text: bytes) -> list[tuple[int, int]]:
    """The places of the values that are secret by their key; also in a text that is cut or broken."""
    scan = _Scan()
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token in _MARKS:
            scan.mark(token)
        elif scan.stack:
            scan.value(token, found.span())
    while scan.stack:
        scan.close()
    return scan.spans


class _Scan:
    """The state of one pass over the tokens of a text."""

    def __init__(self) -> None:
        self.stack: list[_Container] = []
        self.spans: list[tuple[int, int]] = []

    def mark(self, token: bytes) -> None:
        """Take a bracket, a colon or a comma."""
        stack = self.stack
        if token in {b"{", b"["}:
            is_command = token == b"[" and bool(stack) and stack[-1].key in _COMMANDS
            stack.append(_Container(is_object=token == b"{", hides=self._hides(), is_command=is_command))
        elif token in {b"}", b"]"}:
            if stack:
                self.close()
        elif token == b"," and stack:
            stack[-1].awaits_key = stack[-1].is_object

    def value(self, token: bytes, span: tuple[int, int]) -> None:
        """Take a key, a string, a number or a word."""
        above = self.stack[-1]
        if above.awaits_key:
            above.awaits_key = False
            above.key = _plain(token[1:-1])
        elif above.is_object and above.key == b"name":
            # The name of a variable or of a header stays.
            above.is_named_secret = _SECRET_KEY.match(_plain(token[1:-1])) is not None
        elif token[:1] == b'"' or _NUMBER.fullmatch(token):
            if above.hides or (above.is_object and _SECRET_KEY.match(above.key)):
                self.spans.append(span)
                return
            if above.key == b"value":
                above.value = span
            if above.is_command:
                self._word(above, token, span)
            if token[1:2] in {b"{", b"["} and b'\\"' in token and above.key not in _CONTENTS:
                self.spans += _nested_spans(token[1:-1], span[0] + 1)

    def _word(self, above: _Container, token: bytes, span: tuple[int, int]) -> None:
        """Take a word of a command line: the value of a secret option is secret."""
        word, start = token[1:-1], span[0] + 1
        if above.hides_next and word[:1] != b"-":
            self.spans.append(span)
            above.hides_next = False
            return
        above.hides_next = _is_secret_option(word)
        option, equals, value = word.partition(b"=")
        if equals and value and _is_secret_option(option):
            self.spans.append((start + len(option) + 1, start + len(word)))
            return
        found = _spans_at(word, word.lower(), _ASSIGNMENTS)
        self.spans += [(start + first, start + last) for first, last in found]

    def close(self) -> None:
        """Take the end of the innermost container."""
        closed = self.stack.pop()
        if closed.is_named_secret and closed.value is not None:
            self.spans.append(closed.value)

    def _hides(self) -> bool:
        """Whether everything in a container that opens here is secret."""
        if not self.stack:
            return False
        above = self.stack[-1]
        return above.hides or (above.is_object and (above.key in _HOLDERS or _SECRET_KEY.match(above.key) is not None))


_ESCAPE = re.compile(rb"\\(?:u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_CONTROLS = {b"\\n": b"\n", b"\\r": b"\r", b"\\t": b"\t", b"\\b": b" ", b"\\f": b" "}


def _nested_spans(string: bytes, offset: int) -> Iterator[tuple[int, int]]:
    """The places of the secrets in a string that is JSON itself; `offset` is the place of the string."""
    if len(string) > _MAX_NESTED_BYTES:
        return
    unescaped = bytearray()
    # Where each escape ends, in the text without escapes and in the string. In arrays, because there may be half a
    # million of them, and tuples would take thirty times as much memory.
    ends, ends_in_string, at = array("I", [0]), array("I", [0]), 0
    for found in _ESCAPE.finditer(string):
        start, stop = found.span()
        unescaped += string[at:start]
        unescaped += _unescaped(found[0])
        ends.append(len(unescaped))
        ends_in_string.append(stop)
        at = stop
    unescaped += string[at:]
    text = bytes(unescaped)
    del unescaped

    def place(position: int) -> int:
        last_escape = bisect_right(ends, position) - 1
        return offset + ends_in_string[last_escape] + position - ends[last_escape]

    for first, last in _secret_spans(text):
        is_string = text[first : first + 1] == b'"'
        start, stop = (first + 1, last - 1) if is_string else (first, last)
        if start < stop:
            yield place(start), place(stop)


def _unescaped(escape: bytes) -> bytes:
    """One byte for an escape: a character beyond ASCII is of no interest here."""
    letter = _ESCAPED_LETTER.fullmatch(escape)
    if letter is not None:
        return bytes((int(letter[1], 16),))
    return _CONTROLS.get(escape, escape[1:] if escape[1:2] != b"u" else b"?")


def _is_secret_option(word: bytes) -> bool:
    return word[:1] == b"-" and _SECRET_ARGUMENT.match(word) is not None


def _plain(key: bytes) -> bytes:
    if b"\\u" in key:
        key = _ESCAPED_LETTER.sub(lambda found: bytes((int(found[1], 16),)), key)
    return key.lower().translate(None, b"-_. ")


def _encoded(argument: str) -> bytes:
    return argument.encode("utf-8", "surrogateescape")


def _decoded(argument: bytes) -> str:
    return argument.decode("utf-8", "surrogateescape")
