"""Messages that a client has to tolerate: each is sent, and followed by a request for a sign of life."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from accord.check.client.conversation import (
    STEPS,
    ClientConversation,
    ClientLeft,
    When,
    chunk,
    config_options,
    every_update,
    text,
    tool,
)
from accord.check.engine.evidence import Evidence, StepResult, skip_if
from accord.check.engine.judging import CheckStep, Notes, judge
from accord.check.rule import EDITIONS, V1_V2, EditionName, RuleRow, client_rules

# fmt: off
RULES = client_rules(
    RuleRow("ACCORD-CLIENT-CANCEL-002", "M-M", "cancellation",
        says="Withdrawing an unknown request changes nothing"),
    RuleRow("ACCORD-CLIENT-CONFIG-001", "MMM", "session-config-options",
        says="An option of an unknown type takes nothing from the others"),
    RuleRow("ACCORD-CLIENT-ELICIT-004", "M-M", "elicitation", "The completion of an unknown elicitation is ignored"),
    RuleRow("ACCORD-CLIENT-EXT-002", "MMM", "extensibility", "An unknown notification is ignored"),
    RuleRow("ACCORD-CLIENT-RUDE-001", "AAA", "transports", "A line that is no JSON ends nothing"),
    RuleRow("ACCORD-CLIENT-RUDE-002", "AAA", "transports", "JSON that is no message ends nothing"),
    RuleRow("ACCORD-CLIENT-RUDE-004", "MMM", "overview", "An answer to nothing is ignored"),
    RuleRow("ACCORD-CLIENT-RUDE-005", "AAA", "transports", "Blank lines are passed over"),
    RuleRow("ACCORD-CLIENT-UPDATE-001", "MMM", "extensibility", "An update of an unknown kind ends nothing"),
    RuleRow("ACCORD-CLIENT-UPDATE-002", "AMM", "extensibility", "Unknown content, tool kinds and statuses end nothing"),
    RuleRow("ACCORD-CLIENT-UPDATE-003", "AAM", "extensibility",
        says="An update that makes no sense is passed over and ends nothing"),
    RuleRow("ACCORD-CLIENT-UPDATE-004", "AAM", "session-setup",
        says="Updates of a session may come before the answer that names it"),
    RuleRow("ACCORD-CLIENT-UPDATE-005", "MMM", "prompt-turn", "Updates may come while no turn runs"),
    RuleRow("ACCORD-CLIENT-UPDATE-006", "AAA", "session-setup",
        says="An update of a session that the client does not have ends nothing"),
    RuleRow("ACCORD-CLIENT-UPDATE-007", "AAA", "transports", "An update of a megabyte is read"),
    RuleRow("ACCORD-CLIENT-UPDATE-008", "MMM", "prompt-turn", "Every kind of update of the edition is read"),
    RuleRow("ACCORD-CLIENT-UPDATE-009", "MMM", "schema", "What the schema lets be null may be null"),
    RuleRow("ACCORD-CLIENT-UPDATE-010", "--M", "prompt-turn", "An unknown state of a session ends nothing"),
    RuleRow("ACCORD-CLIENT-UPDATE-011", "MMM", "extensibility", "`_meta` may stand wherever it is reserved"),
)
# fmt: on


LARGE_BYTES = 1024 * 1024
Messages: TypeAlias = Callable[[ClientConversation], list[Any]]
"""The messages that are sent, as bytes where they are no JSON-RPC."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """One row: the step, and the rule that a client breaks which does not tolerate it."""

    name: str
    rule: str
    messages: Messages
    editions: tuple[EditionName, ...] = EDITIONS
    order: int = 20
    when: When = "turn"


def _late(turn: ClientConversation) -> list[Any]:
    updates: list[dict[str, Any]] = [
        {"sessionUpdate": "session_info_update", "title": "Late"},
        {"sessionUpdate": "usage_update", "used": 3, "size": 100},
        chunk(turn.edition, "And one more thing.", "m9"),
    ]
    return [_update(turn, update) for update in updates]


def _metas(turn: ClientConversation) -> list[Any]:
    meta = {
        "accord.check/x": {"deep": [1, None]},
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    }
    content = {**text("with notes "), "_meta": meta}
    update = {**chunk(turn.edition, ""), "content": content, "_meta": meta}
    message = _update(turn, update)
    message["params"]["_meta"] = meta
    return [message, _update(turn, tool(turn.edition, "call-6", _meta=meta))]


def _bad(turn: ClientConversation) -> list[Any]:
    bad: list[Any] = [{"sessionUpdate": "agent_message_chunk"}, {"sessionUpdate": 7}, "text", None]
    return [*(_update(turn, update) for update in bad), _note("session/update", {}), _note("session/update", [1])]


def _options(turn: ClientConversation) -> list[Any]:
    key = "configId" if turn.edition == "v2" else "id"
    strange = {key: "mood", "type": "_dial", "name": "Mood", "currentValue": 0.5}
    options = [strange, *config_options(turn.edition)]
    return [_update(turn, {"sessionUpdate": "config_option_update", "configOptions": options})]


def _states(turn: ClientConversation) -> list[Any]:
    said: list[dict[str, Any]] = [{"state": "_pondering"}, {"state": "running"}]
    return [_update(turn, {"sessionUpdate": "state_update", **each}) for each in said]


def _update(turn: ClientConversation, update: Any, session: Any = None) -> dict[str, Any]:
    params = {"sessionId": turn.session if session is None else session, "update": update}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def _known(turn: ClientConversation) -> list[Any]:
    return [_update(turn, update) for update in every_update(turn.edition, turn.offered)]


def _note(method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def _unknown(turn: ClientConversation) -> list[Any]:
    kinds = ("_accord_check", "future_thing")
    return [_update(turn, {"sessionUpdate": kind, "sessionId": 3, "content": ["x"]}) for kind in kinds]


def _nulls(turn: ClientConversation) -> list[Any]:
    clear = {"status": "in_progress", "content": None, "locations": None, "rawInput": None}
    updates: list[Any] = [
        tool(turn.edition, "call-5"),
        {"sessionUpdate": "tool_call_update", "toolCallId": "call-5", **clear},
        {"sessionUpdate": "session_info_update", "title": None, "updatedAt": None, "_meta": None},
        {"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": None},
    ]
    return [_update(turn, update) for update in updates]


def _values(turn: ClientConversation) -> list[Any]:
    block = {"type": "_hologram", "depth": 3}
    content = [{"type": "_sculpture", "weight": 1}, {"type": "content", "content": block}]
    updates = [
        {**chunk(turn.edition, ""), "content": block},
        tool(turn.edition, "call-3", status="_sleeping", content=content),
        tool(turn.edition, "call-4") | {"kind": "_juggle"},
    ]
    return [_update(turn, update) for update in updates]


TOLERANCES: tuple[Tolerance, ...] = (
    Tolerance("known_updates", "ACCORD-CLIENT-UPDATE-008", _known, order=10),
    Tolerance("null_fields", "ACCORD-CLIENT-UPDATE-009", _nulls, order=11),
    Tolerance("metas", "ACCORD-CLIENT-UPDATE-011", _metas, order=12),
    Tolerance("unknown_updates", "ACCORD-CLIENT-UPDATE-001", _unknown),
    Tolerance("unknown_values", "ACCORD-CLIENT-UPDATE-002", _values),
    Tolerance("unknown_option", "ACCORD-CLIENT-CONFIG-001", _options),
    Tolerance("unknown_state", "ACCORD-CLIENT-UPDATE-010", _states, ("v2",)),
    Tolerance(
        "unknown_notifications",
        "ACCORD-CLIENT-EXT-002",
        lambda _: [_note(method, {"x": 1}) for method in ("_accord.check/hello", "future/thing", "$/accord")],
    ),
    Tolerance(
        "unknown_cancel",
        "ACCORD-CLIENT-CANCEL-002",
        lambda _: [_note("$/cancel_request", {"requestId": id_}) for id_ in ("accord-never", 987654321)],
        V1_V2,
    ),
    Tolerance(
        "unknown_elicitation",
        "ACCORD-CLIENT-ELICIT-004",
        lambda _: [_note("elicitation/complete", {"elicitationId": "never"})],
        V1_V2,
    ),
    Tolerance(
        "large_update",
        "ACCORD-CLIENT-UPDATE-007",
        lambda turn: [_update(turn, chunk(turn.edition, "x" * LARGE_BYTES, "m8"))],
        order=60,
    ),
    Tolerance(
        "strange_session",
        "ACCORD-CLIENT-UPDATE-006",
        lambda turn: [_update(turn, chunk(turn.edition, "lost"), "session-of-nobody")],
        order=61,
    ),
    Tolerance("bad_updates", "ACCORD-CLIENT-UPDATE-003", _bad, order=62),
    Tolerance(
        "stray_answers",
        "ACCORD-CLIENT-RUDE-004",
        lambda _: [{"jsonrpc": "2.0", "id": id_, "result": {}} for id_ in ("accord-never", 987654321)],
        order=70,
    ),
    Tolerance("blank_lines", "ACCORD-CLIENT-RUDE-005", lambda _: [b"", b"\r"], order=71),
    Tolerance(
        "no_json", "ACCORD-CLIENT-RUDE-001", lambda _: [b"this is no JSON", b'{"jsonrpc": "2.0", "id":'], order=72
    ),
    Tolerance("no_message", "ACCORD-CLIENT-RUDE-002", lambda _: [b"42", b'"text"', b'{"hello": "world"}'], order=73),
    Tolerance("late_updates", "ACCORD-CLIENT-UPDATE-005", _late, order=10, when="after"),
)


def _step(tolerance: Tolerance) -> CheckStep:
    async def run(turn: ClientConversation) -> Notes:
        for message in tolerance.messages(turn):
            place = turn.wire.send(message) if isinstance(message, bytes) else turn.wire.send_json(message)
            await turn.is_alive(tolerance.rule, turn.wire.entries[place])
        return {}

    return CheckStep(tolerance.name, run, tolerance.when, tolerance.editions, {}, tolerance.order)


for _each in TOLERANCES:
    STEPS.add(_step(_each))


def _add(tolerance: Tolerance) -> None:
    def lived_with_it(evidence: Evidence) -> None:
        if tolerance.when == "after":
            _left_in_peace(evidence, evidence.begun(tolerance.name))
        evidence.step(tolerance.name)

    lived_with_it.__name__ = f"lived_with_{tolerance.name}"
    judge(tolerance.rule, steps=(tolerance.name,), editions=tolerance.editions)(lived_with_it)


for _each in TOLERANCES:
    _add(_each)


def _left_in_peace(evidence: Evidence, run: StepResult) -> None:
    """Skip a client that ends after every turn: an update after the turn did not end it."""
    if isinstance(run.failure, ClientLeft):
        statuses = {
            record.entries is run.entries: record.status for record in evidence.records if _is_plain(record.name)
        }
        skip_if(statuses.get(True) in {0, statuses.get(False, 0)}, "the client ended when its turn had ended")


def _is_plain(name: str) -> bool:
    return not name.endswith("strange")


@judge("ACCORD-CLIENT-UPDATE-004", steps=())
def updates_may_come_before_the_answer_that_names_their_session(evidence: Evidence) -> None:
    evidence.step("early")
