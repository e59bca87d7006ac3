"""Comparison of a recorded message with a live one, and the map between the ids of both."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["ABSENT", "Difference", "IdMap", "differences"]

# Chosen anew in each run by one of the two sides.
ID_KEYS = frozenset({"sessionId", "terminalId", "toolCallId", "messageId", "elicitationId"})

_VOLATILE = ID_KEYS | {"id", "timestamp", "time", "pid", "used", "cost", "traceparent", "tracestate", "baggage"}
_SECRET = re.compile(r"<secret:[0-9a-f]{4}>")


class _Absent:
    """The absence of a value, which is not null."""

    def __repr__(self) -> str:
        return "(absent)"


ABSENT = _Absent()


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where a live message is not as recorded."""

    path: str
    recorded: Any
    live: Any


def differences(recorded: Any, live: Any, ignore: Collection[str] = ()) -> list[Difference]:
    """The places where two JSON values differ, without those that differ in every run: ids, times, counts of tokens.

    `ignore` are further keys. A masked secret is equal to any text.
    """
    return list(_compare(recorded, live, "", frozenset(ignore)))


def _compare(recorded: Any, live: Any, path: str, ignore: frozenset[str]) -> Iterator[Difference]:
    if isinstance(recorded, dict) and isinstance(live, dict):
        for key in [*recorded, *(key for key in live if key not in recorded)]:
            if not _is_volatile(key) and key not in ignore:
                place = f"{path}.{key}" if path else key
                yield from _compare(recorded.get(key, ABSENT), live.get(key, ABSENT), place, ignore)
    elif isinstance(recorded, list) and isinstance(live, list):
        for index in range(max(len(recorded), len(live))):
            left = recorded[index] if index < len(recorded) else ABSENT
            right = live[index] if index < len(live) else ABSENT
            yield from _compare(left, right, f"{path}[{index}]", ignore)
    elif not _are_equal(recorded, live):
        yield Difference(path, recorded, live)


def _are_equal(recorded: Any, live: Any) -> bool:
    if isinstance(recorded, str) and isinstance(live, str) and _SECRET.search(recorded):
        # A redacted trace must still replay.
        pattern = ".*".join(map(re.escape, _SECRET.split(recorded)))
        return re.fullmatch(pattern, live, re.DOTALL) is not None
    # True == 1 in Python, not in JSON.
    return bool(recorded == live) and isinstance(recorded, bool) == isinstance(live, bool)


def _is_volatile(key: str) -> bool:
    return key in _VOLATILE or key.endswith(("At", "Ms", "Seconds")) or "token" in key.lower()


class IdMap:
    """The ids and the directory of the recording, and those that stand for them in the live conversation."""

    def __init__(self) -> None:
        self._live: dict[tuple[str, str], str] = {}
        self._recorded: dict[tuple[str, str], str] = {}
        self._roots: tuple[str, str] | None = None

    def learn(self, recorded: Any, live: Any) -> None:
        """Take the ids at the same places of two messages as standing for each other; the latest counts."""
        if isinstance(recorded, dict) and isinstance(live, dict):
            for key, value in recorded.items():
                other = live.get(key)
                if key in ID_KEYS and isinstance(value, str) and isinstance(other, str):
                    self.set(key, value, other)
                else:
                    self.learn(value, other)
        elif isinstance(recorded, list) and isinstance(live, list):
            for value, other in zip(recorded, live, strict=False):
                self.learn(value, other)

    def set(self, key: str, recorded: str, live: str) -> None:
        """Take one id of the recording as standing for a live one."""
        self._live[key, recorded] = live
        self._recorded[key, live] = recorded

    def set_root(self, recorded: str, live: str) -> None:
        """Take the working directory of the recording as standing for another one, in every text."""
        self._roots = (recorded, live) if recorded not in {"", "/", live} else None

    def live(self, value: Any) -> Any:
        """A recorded value with the live ids and paths."""
        return _replaced(value, self._live, self._roots)

    def recorded(self, value: Any) -> Any:
        """A live value with the paths of the recording; its ids stay, because they are not compared."""
        return value if self._roots is None else _replaced(value, {}, self._roots[::-1])

    def recorded_session(self, live: str) -> str:
        """The recorded session that a live one stands for."""
        return self._recorded.get(("sessionId", live), live)

    def knows_session(self, live: str) -> bool:
        """Whether a live session stands for a recorded one."""
        return ("sessionId", live) in self._recorded


def _replaced(value: Any, ids: dict[tuple[str, str], str], roots: tuple[str, str] | None) -> Any:
    if isinstance(value, dict):
        return {
            key: ids.get((key, each), each) if key in ID_KEYS and isinstance(each, str) else _replaced(each, ids, roots)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [_replaced(each, ids, roots) for each in value]
    if isinstance(value, str) and roots is not None:
        return value.replace(*roots)
    return value
