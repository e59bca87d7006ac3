"""The deviations of a live conversation from its recording, and how they are shown: recorded and live side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from accord.display import SafeText, exact, filled, json_text, own
from accord.trace.replay.conversation import RecordedStep
from accord.trace.replay.differences import ABSENT, Difference

__all__ = ["Deviation", "ReplayReport", "deviation_lines"]

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
        """Note a deviation."""
        self.deviations.append(deviation)
        self._on_deviation(deviation)

    def found(self, step: RecordedStep, differing: Sequence[Difference], remark: str = "") -> None:
        """Note that a recorded message came, with its differences, if there are any."""
        self.matched += 1
        if differing:
            self.add(Deviation("changed", step.source, _name(step), step.index + 1, tuple(differing), remark))

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
