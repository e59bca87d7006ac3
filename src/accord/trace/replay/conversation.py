"""A recorded conversation as steps: requests with their answers, and the session of each message."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from accord.trace.format import AGENT, CLIENT, TraceFileError
from accord.trace.reader import Trace, TraceRecord

__all__ = [
    "MAX_DEPTH",
    "Pace",
    "RecordedConversation",
    "RecordedStep",
    "ends_turn",
    "id_key",
    "read_message",
    "session_of",
]

# Values are compared, and get the live ids, by functions that call themselves for each level. Python ends those at
# 1,000 calls, of which a level takes up to two.
MAX_DEPTH = 256


StepKind = Literal["request", "response", "notification", "noise"]


@dataclass(slots=True)
class RecordedStep:
    """One text of the recording."""

    index: int
    t: float
    source: str
    raw: bytes
    kind: StepKind = "noise"
    method: str = ""
    """Of a response: that of its request."""
    session: str = ""
    """The session it names; of a response: that of its request. Empty where there is none."""
    value: dict[str, Any] | None = None
    partner: int | None = None
    """Of a request: the step that answers it; of a response: the request."""
    is_too_deep: bool = False
    """Whether it is noise because it is nested more than `MAX_DEPTH` levels deep."""

    @property
    def body(self) -> Any:
        """The compared part: the params, or the answer as `{"result": …}` or `{"error": …}`."""
        if self.value is None:
            return None
        if self.kind == "response":
            return {key: self.value[key] for key in ("result", "error") if key in self.value}
        return self.value.get("params")


class RecordedConversation:
    """The steps of one connection, in the order of the wire.

    Raises:
        TraceFileError: The connection has no messages.
    """

    def __init__(self, records: Iterable[TraceRecord], name: str = "the trace") -> None:
        self.steps: list[RecordedStep] = []
        open_requests: dict[tuple[str, str], int] = {}
        for record in records:
            step = RecordedStep(len(self.steps), record.t, record.source, record.raw)
            _classify(step)
            self._pair(step, open_requests)
            self.steps.append(step)
        if not any(step.kind != "noise" for step in self.steps):
            raise TraceFileError(f"{name} has no messages to replay")

    @classmethod
    def of(cls, trace: Trace, connection: int | None = None) -> RecordedConversation:
        """That of a connection; without a number, the one with the most texts."""
        texts = [record for record in trace.texts(connection) if record.source in {CLIENT, AGENT}]
        if connection is None and texts:
            most = Counter(record.connection for record in texts).most_common(1)[0][0]
            texts = [record for record in texts if record.connection == most]
        return cls(texts, str(trace.path))

    def of_side(self, source: str, *kinds: StepKind) -> list[RecordedStep]:
        """The steps that one side sent, of some kinds or of all."""
        return [step for step in self.steps if step.source == source and (not kinds or step.kind in kinds)]

    @property
    def cwd(self) -> str:
        """The working directory of the first session; empty where there is none."""
        for step in self.of_side(CLIENT, "request"):
            if isinstance(step.body, dict) and isinstance(step.body.get("cwd"), str):
                return str(step.body["cwd"])
        return ""

    def answer_of(self, step: RecordedStep) -> RecordedStep | None:
        return None if step.partner is None else self.steps[step.partner]

    def turn_of(self, request: RecordedStep) -> list[RecordedStep]:
        """The agent's messages from a request to its answer, or to the end of the turn where that comes later (v2)."""
        end = request.index if request.partner is None else request.partner
        for step in self.steps[end + 1 :]:
            if step.session == request.session and step.source == CLIENT and step.kind == "request":
                break
            if step.session == request.session != "" and ends_turn(step.value):
                end = step.index
                break
        return [step for step in self.steps[request.index + 1 : end + 1] if step.source == AGENT]

    def _pair(self, step: RecordedStep, open_requests: dict[tuple[str, str], int]) -> None:
        if step.value is None:
            return
        if step.kind == "request":
            open_requests[step.source, id_key(step.value["id"])] = step.index
        elif step.kind == "response":
            other = AGENT if step.source == CLIENT else CLIENT
            request = open_requests.pop((other, id_key(step.value.get("id"))), None)
            if request is None:
                # Its request was not recorded, so there is no live request that it could answer.
                step.kind = "noise"
                return
            step.partner, self.steps[request].partner = request, step.index
            step.method, step.session = self.steps[request].method, self.steps[request].session


def _classify(step: RecordedStep) -> None:
    try:
        value = read_message(step.raw)
    except RecursionError:
        step.is_too_deep = True
        return
    if value is None:
        return
    method = value.get("method")
    if isinstance(method, str):
        step.kind = "request" if "id" in value else "notification"
        step.method = method
        step.session = session_of(value.get("params"))
    elif "id" in value and ("result" in value or "error" in value):
        step.kind = "response"
    else:
        return
    step.value = value


def read_message(text: bytes) -> dict[str, Any] | None:
    """The JSON object of a text; None where it is none.

    Raises:
        RecursionError: It is nested more than `MAX_DEPTH` levels deep.
    """
    try:
        value = json.loads(text)
    except ValueError:
        return None
    if text.count(b"{") + text.count(b"[") > MAX_DEPTH and _is_deep(value):
        raise RecursionError
    return value if isinstance(value, dict) else None


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        inner = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        level = [each for values in inner for each in values]
        if not level:
            return False
    return any(isinstance(each, dict | list) for each in level)


def session_of(params: Any) -> str:
    """The session that params name."""
    session = params.get("sessionId") if isinstance(params, dict) else None
    return session if isinstance(session, str) else ""


def ends_turn(value: dict[str, Any] | None) -> bool:
    """Whether a notification ends a turn, as `idle` does in v2."""
    params = (value or {}).get("params")
    update = params.get("update") if isinstance(params, dict) else None
    return isinstance(update, dict) and update.get("sessionUpdate") == "state_update" and update.get("state") == "idle"


def id_key(value: Any) -> str:
    """An id by its JSON: `1` and `"1"` are two."""
    return json.dumps(value, sort_keys=True)


# A longer recorded pause is shortened: a recording may have hours without a message.
MAX_PAUSE_SECONDS = 5.0


class Pace:
    """Waits before a message as long as was recorded, divided by `speed`; 0 is at once."""

    def __init__(self, speed: float) -> None:
        self._speed = speed

    async def before(self, step: RecordedStep, conversation: RecordedConversation) -> None:
        """Wait for the time of a step, counted from the one before it."""
        if self._speed <= 0 or step.index == 0:
            return
        pause = step.t - conversation.steps[step.index - 1].t
        if pause > 0:
            await asyncio.sleep(min(pause, MAX_PAUSE_SECONDS) / self._speed)
