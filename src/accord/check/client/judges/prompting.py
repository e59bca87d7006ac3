"""How a client prompts, stays, cancels and sets options."""

from __future__ import annotations

from typing import Any

from accord.check.case import Case, Unseen, Violation
from accord.check.entry import Entry, Record
from accord.check.judge import judge
from accord.check.rule import EditionName

__all__: list[str] = []

NEEDED = {"text": "text", "resource_link": "uri", "image": "data", "audio": "data", "resource": "resource"}
ROOTS: dict[str, set[str]] = {
    "session/new": {"cwd", "mcpServers", "additionalDirectories"},
    "session/prompt": {"sessionId", "prompt"},
    "session/cancel": {"sessionId"},
}


def _told(case: Case, *methods: str) -> list[tuple[Record, Entry, dict[str, Any]]]:
    found = [each for each in case.messages() if each[2].get("method") in methods]
    if not found:
        raise Unseen(f"there was no {methods[0]}")
    return found


def _params(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params")
    return params if isinstance(params, dict) else {}


@judge("ACCORD-CLIENT-TURN-001", steps=())
def a_client_stays_until_its_turn_has_ended(case: Case) -> None:
    if "calm" not in case.steps:
        raise Violation("the client never began a turn")
    case.step("calm")


@judge("ACCORD-CLIENT-PROMPT-001", steps=())
def a_prompt_is_a_list_of_blocks(case: Case) -> None:
    for _, entry, message in _told(case, "session/prompt"):
        prompt = _params(message).get("prompt")
        if not isinstance(prompt, list):
            raise Violation("a prompt is no list", entry)
        for block in prompt:
            if not isinstance(block, dict) or not isinstance(block.get("type"), str):
                raise Violation("a block of a prompt has no type", entry)
            if NEEDED.get(block["type"], "type") not in block:
                raise Violation(f"a block of the type {block['type']} lacks its content", entry)


@judge("ACCORD-CLIENT-PROMPT-002", steps=())
def a_prompt_has_only_what_the_agent_takes(case: Case) -> None:
    for _, entry, message in _told(case, "session/prompt"):
        prompt = _params(message).get("prompt")
        for block in prompt if isinstance(prompt, list) else []:
            kind = block.get("type") if isinstance(block, dict) else None
            if isinstance(kind, str) and kind not in {"text", "resource_link"}:
                raise Violation(f"the agent does not say that it takes {kind}", entry)


@judge("ACCORD-CLIENT-PROMPT-003", steps=(), editions=("v2",))
def a_prompt_is_not_empty(case: Case) -> None:
    for _, entry, message in _told(case, "session/prompt"):
        if _params(message).get("prompt") == []:
            raise Violation("a prompt is empty", entry)


@judge("ACCORD-CLIENT-META-001", steps=())
def nothing_is_added_to_the_types_of_the_protocol(case: Case) -> None:
    for _, entry, message in _told(case, *ROOTS):
        strange = _params(message).keys() - ROOTS[message["method"]] - {"_meta"}
        if strange:
            raise Violation(f"{message['method']} has the field {min(strange)}", entry)


@judge("ACCORD-CLIENT-CANCEL-003", steps=())
def only_own_requests_are_taken_back(case: Case) -> None:
    for record, entry, message in _told(case, "$/cancel_request"):
        id_ = _params(message).get("requestId")
        asked = [
            each.message["id"]
            for each in record.entries[: entry.place]
            if not each.sent and isinstance(each.message, dict) and {"id", "method"} <= each.message.keys()
        ]
        if not any(type(each) is type(id_) and each == id_ for each in asked):
            raise Violation(f"the client made no request {id_!r}", entry)


@judge("ACCORD-CLIENT-CANCEL-004", steps=("hold",))
def a_cancel_is_a_notification(case: Case) -> None:
    for _, entry, message in _told(case, "session/cancel"):
        if "id" in message:
            raise Violation("session/cancel was sent as a request", entry)


@judge("ACCORD-CLIENT-CANCEL-005", steps=("hold",))
def a_client_listens_after_it_has_cancelled(case: Case) -> None:
    case.step("hold")


SETS: dict[EditionName, dict[str, set[str | None]]] = {
    "v1": {"str": {None}, "bool": {"boolean"}},
    "v2_june": {"str": {None}, "bool": set()},
    "v2": {"str": {"id"}, "bool": {"boolean"}},
}
"""Which type goes with which kind of value; None for no type at all."""


@judge("ACCORD-CLIENT-CONFIG-002", steps=())
def options_are_set_as_the_edition_says(case: Case) -> None:
    for _, entry, message in _told(case, "session/set_config_option"):
        params = _params(message)
        kinds = SETS[case.edition].get(type(params.get("value")).__name__, set())
        if not isinstance(params.get("configId"), str) or params.get("type") not in kinds:
            raise Violation("the option is set in another way than this edition's", entry)
