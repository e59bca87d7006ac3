"""A conversation as lines that stay the same from run to run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from accord.testing.message import Message

__all__ = ["outline"]

ARROWS = {"in": "←", "out": "→"}
MAX_CHARACTERS = 60


def outline(records: Iterable[tuple[str, bytes, Message]]) -> str:
    """One line for each message; see `Recorder.outline`."""
    drawing = _Drawing()
    for direction, text, message in records:
        drawing.add(direction, text, message)
    return drawing.text()


class _Line:
    def __init__(self, arrow: str, parts: list[str], session: str | None, chunk: str | None = None) -> None:
        self.arrow = arrow
        self.parts = parts
        self.session = session
        self.chunk = chunk

    def is_like(self, arrow: str, parts: list[str], message: Message) -> bool:
        return (self.arrow, self.parts, self.session) == (arrow, parts, message.session)


class _Drawing:
    def __init__(self) -> None:
        self._lines: list[_Line] = []
        self._sessions: list[str] = []
        self._requests: dict[tuple[str, str], Message] = {}

    def add(self, direction: str, text: bytes, message: Message) -> None:
        arrow = ARROWS[direction]
        if message.session is not None and message.session not in self._sessions:
            self._sessions.append(message.session)
        if message.body:
            self._add_update(arrow, message)
        elif message.method:
            if message.is_request:
                self._requests[direction, _key(message.id)] = message
            self._put(arrow, [message.method, *_subject_of(message)], message.session)
        elif message.is_answer:
            self._add_answer(direction, arrow, message)
        else:
            self._put(arrow, [f"garbage {_short(text.decode(errors='replace'))}"], None)

    def text(self) -> str:
        many = len(self._sessions) > 1
        return "".join(f"{' '.join(self._parts(line, many=many))}\n" for line in self._lines)

    def _parts(self, line: _Line, *, many: bool) -> list[str]:
        parts = [line.arrow, *line.parts]
        if line.chunk is not None:
            parts.append(_short(line.chunk))
        if many and line.session is not None:
            parts.append(f"#{self._sessions.index(line.session) + 1}")
        return parts

    def _put(self, arrow: str, parts: list[str], session: str | None, chunk: str | None = None) -> None:
        self._lines.append(_Line(arrow, parts, session, chunk))

    def _add_update(self, arrow: str, message: Message) -> None:
        update = message.body
        parts = [str(update.get("sessionUpdate"))]
        chunk = _chunk(update)
        last = self._lines[-1] if self._lines else None
        if chunk is not None and last is not None and last.chunk is not None and last.is_like(arrow, parts, message):
            last.chunk += chunk
            return
        parts += [str(update[key]) for key in ("title", "status", "state", "stopReason") if _is_plain(update.get(key))]
        self._put(arrow, parts, message.session, chunk)

    def _add_answer(self, direction: str, arrow: str, message: Message) -> None:
        request = self._requests.get(("in" if direction == "out" else "out", _key(message.id)))
        method = f"answer to {_key(message.id)}" if request is None else request.method
        session = None if request is None else request.session
        if message.error is not None:
            code = message.error.get("code") if isinstance(message.error, dict) else message.error
            self._put(arrow, [method, "error", str(code)], session)
        else:
            self._put(arrow, [method, "ok", *_outcome(message.get("result"))], session)


def _subject_of(message: Message) -> list[str]:
    """What a request is about, in a word or two."""
    params = message.params
    if not isinstance(params, dict):
        return []
    blocks = params.get("prompt")
    if isinstance(blocks, list):
        texts = [block.get("text") or f"[{block.get('type')}]" for block in blocks if isinstance(block, dict)]
        return [_short("".join(map(str, texts)))]
    tool = params.get("toolCall")
    title = tool.get("title") if isinstance(tool, dict) else params.get("title")
    return [_short(title)] if isinstance(title, str) else []


def _outcome(result: Any) -> list[str]:
    """What matters in a result: why a turn ended, what was chosen."""
    if not isinstance(result, dict):
        return []
    chosen = result.get("outcome")
    if isinstance(chosen, dict):
        return [str(chosen[key]) for key in ("outcome", "optionId") if key in chosen]
    return [str(result[key]) for key in ("stopReason", "action") if _is_plain(result.get(key))]


def _chunk(update: dict[str, Any]) -> str | None:
    content = update.get("content")
    if not str(update.get("sessionUpdate")).endswith("_chunk") or not isinstance(content, dict):
        return None
    text = content.get("text")
    return text if isinstance(text, str) else None


def _is_plain(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _short(text: str) -> str:
    cut = text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}…"
    return json.dumps(cut, ensure_ascii=False)


def _key(id_: Any) -> str:
    # By its JSON: `1` and `"1"` are two ids.
    return json.dumps(id_)
