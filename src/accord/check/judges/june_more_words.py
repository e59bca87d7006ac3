"""What only the v2 draft of June demands: its names for things, and ids of messages."""

from __future__ import annotations

from typing import Any

from accord.check.case import Case, Unseen, Violation
from accord.check.entry import Entry
from accord.check.judge import judge
from accord.check.judges.v1_more_sight import as_dict, asked, key_of, listed, seen, told
from accord.check.rule import EditionName

__all__: list[str] = []

JUNE: tuple[EditionName, ...] = ("v2_june",)
_TURNS = ("more_turn", "more_work")
_OWNER = {
    "user_message": "the user",
    "user_message_chunk": "the user",
    "agent_message": "the agent",
    "agent_message_chunk": "the agent",
    "agent_thought": "a thought",
    "agent_thought_chunk": "a thought",
}
_CHUNKS = tuple(kind for kind in _OWNER if kind.endswith("_chunk"))


@judge("ACCORD-JUNE-INIT-001", steps=("meet",), editions=JUNE)
def the_handshake_is_in_junes_words(case: Case) -> None:
    meet = case.begun("meet")
    answers = meet.answers(meet.get("initialize"))
    result = as_dict(answers[0][1].get("result")) if answers else {}
    if not result:
        raise Unseen("there was no handshake")
    for key, wanted in (("agentCapabilities", "capabilities"), ("info", "agentInfo")):
        if key in result:
            raise Violation(f"it says `{key}` where June says `{wanted}`", answers[0][0])


@judge("ACCORD-JUNE-AUTH-001", steps=("meet",), editions=JUNE)
def ways_to_log_in_have_a_type(case: Case) -> None:
    meet = case.begun("meet")
    for entry, answer in meet.answers(meet.get("initialize")):
        methods = listed(as_dict(answer.get("result")).get("authMethods"))
        if not methods:
            raise Unseen("there is no way to log in")
        for method in methods:
            _check_texts(as_dict(method), ("type", "id", "name"), "a way to log in", entry)


def _check_texts(value: dict[str, Any], keys: tuple[str, ...], what: str, entry: Entry) -> None:
    for key in keys:
        if not isinstance(value.get(key), str):
            raise Violation(f"{what} has no `{key}`", entry)


@judge("ACCORD-JUNE-PLAN-001", steps=_TURNS, editions=JUNE)
def plans_have_ids(case: Case) -> None:
    found = list(told(case, "plan_update"))
    for _, entry, _, update in found:
        _check_texts(as_dict(update.get("plan")), ("type", "id"), "a plan", entry)
    if not found:
        raise Unseen("it made no plan")


@judge("ACCORD-JUNE-PERM-001", steps=("more_work",), editions=JUNE)
def questions_are_about_tool_calls(case: Case) -> None:
    found = list(asked(case, "session/request_permission"))
    for _, entry, params in found:
        _check_texts(as_dict(params.get("toolCall")), ("toolCallId",), "the tool call", entry)
        if not isinstance(params.get("options"), list):
            raise Violation("there are no options", entry)
        for option in params["options"]:
            _check_texts(as_dict(option), ("optionId", "name", "kind"), "an option", entry)
    if not found:
        raise Unseen("it never asked for permission: give --tool-prompt")


@judge("ACCORD-JUNE-CONFIG-001", steps=("meet",), editions=JUNE)
def options_have_junes_names(case: Case) -> None:
    meet = case.begun("meet")
    for id_ in meet.get("new") or []:
        for entry, answer in meet.answers(id_):
            for option in listed(as_dict(answer.get("result")).get("configOptions")):
                _check_option(as_dict(option), entry)


def _check_option(option: dict[str, Any], entry: Entry) -> None:
    _check_texts(option, ("id", "name", "type"), "an option", entry)
    for choice in listed(option.get("options")):
        if "options" in as_dict(choice):
            _check_texts(choice, ("group", "name"), "a group", entry)


@judge("ACCORD-JUNE-MESSAGE-001", steps=_TURNS, editions=JUNE)
def an_id_belongs_to_one_message(case: Case) -> None:
    owners: dict[Any, tuple[str, Entry]] = {}
    for record, entry, session, update in told(case, *_OWNER):
        if isinstance(update.get("messageId"), str):
            owner, key = _OWNER[update["sessionUpdate"]], key_of(record.name, session, update["messageId"])
            if owners.setdefault(key, (owner, entry))[0] != owner:
                raise Violation(f"one id is of {owners[key][0]} and of {owner}", owners[key][1], entry)
    if not owners:
        raise Unseen("no message had an id")


@judge("ACCORD-JUNE-MESSAGE-002", steps=("more_turn",), editions=JUNE)
def chunks_of_a_message_stay_together(case: Case) -> None:
    played = seen(case, "more_turn")
    left: dict[Any, Entry] = {}
    current: Any = None
    for entry, update in played.updates(played["session"], *_CHUNKS):
        id_ = key_of(update.get("messageId"))
        if id_ != current and id_ in left:
            raise Violation("a chunk comes back to a message after another one began", left[id_], entry)
        if current is not None and id_ != current:
            left[current] = entry
        current = id_


@judge("ACCORD-JUNE-MESSAGE-003", steps=("more_turn", "more_load"), editions=JUNE)
def prompts_have_ids_of_their_own_in_a_replay(case: Case) -> None:
    played = seen(case, "more_load")
    updates = played.updates(
        played["session"], "user_message", "user_message_chunk", since=played["since"], before=played["answered"]
    )
    ids = {update.get("messageId") for _, update in updates if isinstance(update.get("messageId"), str)}
    if not ids:
        raise Unseen("the replay has no messages of the user, or none with ids")
    if len(ids) == 1:
        raise Violation("two prompts have one id", updates[0][0], updates[-1][0])


@judge("ACCORD-JUNE-TOOL-001", steps=_TURNS, editions=JUNE)
def a_tool_call_has_its_title_from_the_start(case: Case) -> None:
    known: set[Any] = set()
    for record, entry, session, update in told(case, "tool_call_update"):
        key = key_of(record.name, session, update.get("toolCallId"))
        if key not in known and not update.get("title"):
            raise Violation("the first that is told of a tool call has no title", entry)
        known.add(key)
    if not known:
        raise Unseen("no tool was used")
