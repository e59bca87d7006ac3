"""Texts that were valid once: a seeded generator that breaks messages in every way a wire or a peer can.

The same seed and the same ids give the same texts. Each text may hold newlines; what they mean is for the framing.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

from tests.fuzz.corpus import Corpus

# Stand-ins for what `json` does not write: put in as strings, replaced in the text.
_RAW: dict[str, bytes] = {
    "@huge@": b"9" * 5000,
    "@large@": b"-123456789012345678901234567890",
    "@inf@": b"1e999",
    "@tiny@": b"1e-999",
    "@fraction@": b"1.0",
    "@minus@": b"-0",
    "@nest@": b"[" * 60 + b"]" * 60,
    "@bomb@": b'{"a":' * 3000 + b"1" + b"}" * 3000,
    "@burst@": b"[" * 20_000,
    "@octal@": b"012",
    "@hex@": b"0x1f",
    "@bare@": b"undefined",
    "@single@": b"'text'",
}
_RAW_PATTERN = re.compile(rb'"(@[a-z]+@)"')
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63 - 1, 2**63, 2**64, 1.5, -1e300, 10**400, float("nan"), float("inf"),
    "", "x", "\0", "\ud83d", "\ude80 tail", "\u2028\x7f", "é" * 40, "1", "null", [], {}, [[]], {"": {}}, [None, 1, "a"],
    {"type": "from_the_future", "x": 1}, {"sessionUpdate": "_mine", "v": [1]},
)  # fmt: skip
_ODD_IDS: tuple[Any, ...] = (
    None, True, False, 1.5, "@fraction@", "@minus@", "@huge@", "@large@", "", "\ud800", "\0", {}, [], [1], {"a": 1},
    -1, 2**53, 2**63 - 1, -(2**63), 2**63, float("nan"), "x" * 3000,
)  # fmt: skip
_METHODS: tuple[Any, ...] = (
    "session/fly", "_fly", "$/fly", "", "\ud83d", "Session/New", "session/new ", "rpc.discover", "session/update",
    "session/prompt", "initialize", "$/cancel_request", "session/cancel", 5, None, True, ["session/new"], {"m": 1},
)  # fmt: skip
_TAGS = ("sessionUpdate", "type", "outcome", "mode", "state", "kind", "status", "stopReason", "operation", "action")
_GARBAGE: tuple[bytes, ...] = (
    b"Starting server ...", b"null", b"42", b"-1", b"true", b'"text"', b"[]", b"{}", b"[1,2]", b"[[]]", b"NaN",
    b"Infinity", b"{", b"[", b"}", b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"2.0","id":', b"\0\0\0", b"\xff\xfe{}",
    b"\xef\xbb\xbf", b"\xef\xbb\xbf{}", b"\xed\xa0\x80", b"\r", b"   ", b"\t{ }\t", b"{}{}", b"// comment", b"'a'",
    b'{"jsonrpc":"2.0","method":"session/update"}', b"Traceback (most recent call last):", b"\x1b[31mred\x1b[0m",
    b'{"id":null,"error":{"code":-32700,"message":"Parse error"}}', b"[" * 50_000, b'{"a":' * 20_000, b"[{}]",
    b"[null]",
)  # fmt: skip
_PIECES: tuple[bytes, ...] = (
    b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\n", b"\r\n", b"\r", b"\\", b'"', b"\\u", b"\\ud83d",
    b"{", b"}", b"[", b"]", b",", b":", b"NaN", b"-", b"1e9999", b"\t", b"\x0b", b"\x7f", b"\\x41", b"/*",
    b"\xe2\x80\xa8",
)  # fmt: skip


class Mutator:
    """Speaks to one side of one edition.

    `corpus` is what that side understands; `pending` are its own open calls, with a fitting result each, and is kept
    up to date by the owner.
    """

    def __init__(self, seed: int, corpus: Corpus) -> None:
        # A generator whose numbers can be repeated is the point here.
        self._random = random.Random(seed)
        self._requests = _templates(corpus.requests)
        self._notifications = _templates(corpus.notifications)
        self._number = 0
        self._recent: list[int | str] = [0]
        self.pending: list[tuple[int, Any]] = []
        self._kinds: Sequence[Callable[[], Any]] = [
            *[self._request] * 10, *[self._notification] * 5, *[self._answer] * 3,
            self._error, self._cancel, self._batch,
        ]  # fmt: skip
        self._breaks: Sequence[Callable[[Any, Any], None]] = [
            self._remove, self._rename, self._swap, self._swap,
            self._blow_up, self._retag, self._repeat, self._lengthen,
        ]  # fmt: skip
        self._damages: Sequence[Callable[[bytes], bytes]] = [
            self._flip, self._cut, self._truncate, self._insert, self._insert,
            self._double, self._join, self._noise,
        ]  # fmt: skip

    def text(self) -> bytes:
        """The next one."""
        chance = self._random.random()
        if chance < 0.06:
            return self._random.choice(_GARBAGE)
        message = self._random.choice(self._kinds)()
        if chance < 0.6:
            for _ in range(self._random.choice((1, 1, 2, 4))):
                self._break(message)
        text = self._write(message)
        if chance > 0.8:
            for _ in range(self._random.choice((1, 1, 1, 3))):
                text = self._random.choice(self._damages)(text)
        return text

    def cuts(self, data: bytes) -> list[bytes]:
        """The same bytes in a few pieces, as a pipe may deliver them."""
        ends = sorted(self._random.randrange(len(data) + 1) for _ in range(self._random.randrange(4)))
        return [data[start:end] for start, end in zip([0, *ends], [*ends, len(data)], strict=True)]

    def pick(self, *choices: bytes) -> bytes:
        """One of them, by the same seed."""
        return self._random.choice(choices)

    def damaged_frame(self, text: bytes) -> bytes:
        """The text behind a header that may lie about it, but never says more than a reader may hold."""
        length = max(0, len(text) + self._random.choice((0, 0, 1, -1, 7, -7, 40, -40, 300, -300, -len(text))))
        headers = (
            b"Content-Length: %d\r\n\r\n" % length, b"Content-Length: %d\n\n" % length,
            b"Content-Length: %d\r\n" % length,
            b"Content-Length: -1\r\n\r\n", b"Content-Length: x\r\n\r\n", b"Content-Length\r\n\r\n", b"\r\n\r\n", b"",
            b"Content-Length: 3\r\nContent-Length: %d\r\n\r\n" % length, b"\0\xffContent-Length: %d\r\n\r\n" % length,
        )  # fmt: skip
        return self._random.choice(headers) + text

    # --- whole messages

    def _next_id(self) -> int | str:
        self._number += 1
        id_ = self._number if self._number % 3 else f"r{self._number}"
        self._recent = [*self._recent[-9:], id_]
        return id_

    def _request(self) -> Any:
        method, params = self._random.choice(self._requests)
        message = {"jsonrpc": "2.0", "id": self._next_id(), "method": method, "params": json.loads(params)}
        if self._random.random() < 0.1:
            message["method"] = self._random.choice(("_fuzz/echo", "_fuzz/echo", "_unknown", "session/unknown"))
        return message

    def _notification(self) -> Any:
        method, params = self._random.choice(self._notifications)
        return {"jsonrpc": "2.0", "method": method, "params": json.loads(params)}

    def _answer(self) -> Any:
        id_, result = self._random.choice(self.pending) if self.pending else (self._random.randrange(99), {})
        return {"jsonrpc": "2.0", "id": id_, "result": json.loads(json.dumps(result))}

    def _error(self) -> Any:
        code = self._random.choice((-32601, -32000, 7, -32800))
        error = {"code": code, "message": "no", "data": {"reason": "rate_limited"}}
        return {"jsonrpc": "2.0", "id": self._answer()["id"], "error": error}

    def _cancel(self) -> Any:
        params = {"requestId": self._random.choice(self._recent)}
        return {"jsonrpc": "2.0", "method": "$/cancel_request", "params": params}

    def _batch(self) -> Any:
        kinds = (self._request, self._request, self._notification, self._answer, self._cancel, lambda: 5)
        return [self._random.choice(kinds)() for _ in range(self._random.randrange(5))]

    # --- breaks in the value

    def _break(self, message: Any) -> None:
        if isinstance(message, dict) and self._random.random() < 0.3:
            self._break_root(message)
            return
        holder = self._holder(message)
        if holder:
            keys = list(holder) if isinstance(holder, dict) else range(len(holder))
            self._random.choice(self._breaks)(holder, self._random.choice(keys))

    def _break_root(self, message: dict[str, Any]) -> None:
        match self._random.randrange(6):
            case 0:
                message["id"] = copy.deepcopy(self._random.choice((*_ODD_IDS, *self._recent)))
            case 1:
                message["method"] = copy.deepcopy(self._random.choice(_METHODS))
            case 2:
                message["params"] = self._value()
            case 3:
                message["jsonrpc"] = self._random.choice(("1.0", 2.0, None, "2.0 ", True, "2.0"))
            case 4:
                message[self._random.choice(("result", "error", "id", "extra"))] = self._value()
            case _:
                message.pop(self._random.choice(list(message) or [""]), None)

    def _value(self) -> Any:
        # A copy: what is put into a message may be broken again.
        return copy.deepcopy(self._random.choice(_VALUES))

    def _holder(self, value: Any) -> Any:
        """Some container inside the value, deep ones as likely as shallow ones."""
        found: list[Any] = []
        left = [value]
        while left:
            each = left.pop()
            if isinstance(each, dict | list):
                found.append(each)
                left.extend(each.values() if isinstance(each, dict) else each)
        return self._random.choice(found) if found else None

    def _remove(self, holder: Any, key: Any) -> None:
        del holder[key]

    def _rename(self, holder: Any, key: Any) -> None:
        if isinstance(holder, dict):
            name = self._random.choice((key.upper(), key + "_", "", "\ud83d", "_meta", "id", "a.b", key[:-1]))
            holder[name] = holder.pop(key)
        else:
            holder.reverse()

    def _swap(self, holder: Any, key: Any) -> None:
        holder[key] = self._value()

    def _blow_up(self, holder: Any, key: Any) -> None:
        # The largest ones seldom: they cost as much time as a hundred others.
        names = list(_RAW) if self._random.random() < 0.1 else [n for n in _RAW if n not in {"@bomb@", "@burst@"}]
        holder[key] = self._random.choice(names)

    def _retag(self, holder: Any, key: Any) -> None:
        tags = [tag for tag in _TAGS if tag in holder] if isinstance(holder, dict) else []
        tag = self._random.choice(tags) if tags else key
        holder[tag] = self._random.choice(("from_the_future", "_mine", "", "text", 1))

    def _repeat(self, holder: Any, key: Any) -> None:
        holder[key] = [holder[key]] * self._random.choice((1, 2, 5))

    def _lengthen(self, holder: Any, key: Any) -> None:
        size = 40_000 if self._random.random() < 0.05 else 300
        holder[key] = self._random.choice(("x", "é", "\U0001f680", "\\", "\n")) * size

    # --- damage to the text

    def _write(self, value: Any) -> bytes:
        separators = self._random.choice(((",", ":"), (",", ":"), (", ", ": "), (" ,\t", " : ")))
        text = json.dumps(value, ensure_ascii=self._random.random() < 0.5, separators=separators)
        data = text.encode("utf-8", "surrogatepass")
        return _RAW_PATTERN.sub(lambda match: _RAW.get(match[1].decode(), match[0]), data)

    def _place(self, text: bytes) -> int:
        return self._random.randrange(len(text) + 1)

    def _flip(self, text: bytes) -> bytes:
        if not text:
            return text
        at = self._random.randrange(len(text))
        return text[:at] + bytes([text[at] ^ (1 << self._random.randrange(8))]) + text[at + 1 :]

    def _cut(self, text: bytes) -> bytes:
        at = self._place(text)
        return text[:at] + text[at + self._random.randrange(1, 30) :]

    def _truncate(self, text: bytes) -> bytes:
        return text[: self._place(text)]

    def _insert(self, text: bytes) -> bytes:
        at = self._place(text)
        return text[:at] + self._random.choice(_PIECES) + text[at:]

    def _double(self, text: bytes) -> bytes:
        start, end = sorted((self._place(text), self._place(text)))
        return text[:end] + text[start : start + 500] + text[end:]

    def _join(self, text: bytes) -> bytes:
        return text + self._random.choice((b"", b" ", b",", b"\n", b"\0", b"\xef\xbb\xbf")) + text[:2000]

    def _noise(self, text: bytes) -> bytes:
        at = self._place(text)
        return text[:at] + self._random.randbytes(self._random.randrange(1, 12)) + text[at:]


def _templates(by_method: dict[str, list[dict[str, Any]]]) -> list[tuple[str, str]]:
    return [(method, json.dumps(params)) for method, all_params in by_method.items() for params in all_params]
