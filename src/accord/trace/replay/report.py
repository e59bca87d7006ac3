"""The comparison of recorded messages with live ones, and the report of the deviations, side by side."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from accord.display import SafeText, exact, filled, json_text, own
from accord.trace.replay.conversation import RecordedStep

__all__ = ["Deviation", "IdMap", "ReplayReport", "deviation_lines", "differences"]


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


DeviationKind = Literal["changed", "missing", "extra", "unanswered"]

VALUE_CHARACTERS = 60
PATH_CHARACTERS = 48


@dataclass(frozen=True, slots=True)
class Deviation:
    """One message that is not as recorded.

    `changed`: it has other values; `missing`: it was recorded and did not come; `extra`: it came and was not recorded;
    `unanswered`: a request of ours had no answer in time.
    """

    kind: DeviationKind
    source: str
    """The side whose message it is: `client` or `agent`."""
    method: str
    step: int | None = None
    """The number of the recorded text, from 1; None where there is none."""
    differences: tuple[Difference, ...] = ()
    remark: str = ""


class ReplayReport:
    """All deviations of one replay, in order; `on_deviation` gets each when it is found."""

    def __init__(self, on_deviation: Callable[[Deviation], None] = lambda _: None) -> None:
        self.deviations: list[Deviation] = []
        self.matched = 0
        """How many live messages were found in the recording."""
        self._on_deviation = on_deviation

    def add(self, deviation: Deviation) -> None:
        self.deviations.append(deviation)
        self._on_deviation(deviation)

    def found(self, step: RecordedStep, differing: Sequence[Difference]) -> None:
        """Note that a recorded message came, with its differences, if there are any."""
        self.matched += 1
        if differing:
            self.add(Deviation("changed", step.source, _name(step), step.index + 1, tuple(differing)))

    def missing(self, step: RecordedStep, remark: str = "") -> None:
        """Note that a recorded message did not come."""
        self.add(Deviation("missing", step.source, _name(step), step.index + 1, (), remark))

    def unrecorded(self, source: str, method: str, remark: str) -> None:
        """Note a message that was not recorded."""
        self.add(Deviation("extra", source, method, None, (), remark))


def _name(step: RecordedStep) -> str:
    return f"answer to {step.method}" if step.kind == "response" else step.method


def deviation_lines(deviation: Deviation) -> list[SafeText]:
    """The lines for people."""
    place = own("") if deviation.step is None else filled(" #{}", deviation.step)
    remark = filled(": {}", exact(deviation.remark)) if deviation.remark else own("")
    lines = [
        filled("{}{} {} of the {}{}", _KINDS[deviation.kind], place, exact(deviation.method), deviation.source, remark)
    ]
    width = min(max((len(each.path) for each in deviation.differences), default=0), PATH_CHARACTERS)
    for each in deviation.differences:
        path = exact(each.path or "(all of it)", PATH_CHARACTERS)
        recorded, live = _value(each.recorded), _value(each.live)
        lines.append(filled("  {:<{}}  recorded {}  |  live {}", path, width, recorded, live))
    return lines


_KINDS = {
    "changed": own("changed"),
    "missing": own("missing"),
    "extra": own("extra"),
    "unanswered": own("unanswered"),
}


def _value(value: Any) -> SafeText:
    return own("(absent)") if value is ABSENT else json_text(value, limit=VALUE_CHARACTERS)
