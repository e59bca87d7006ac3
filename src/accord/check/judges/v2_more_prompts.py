"""Prompts of v2: which are refused, when they are answered, and in which order they have their place."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from accord.check.case import Case, Played, Unseen, Violation
from accord.check.entry import Entry, is_state
from accord.check.judge import judge
from accord.check.judges.v2_more_seen import must_be_refused, needed

__all__: list[str] = []

_INVALID_PARAMS, _CANCELLED = -32602, -32800
_ECHOES = ("user_message", "user_message_chunk")


def _refused_prompts(case: Case, *names: str) -> None:
    played = case.step("v2_refused_prompts")
    asked = [played["ids"][name] for name in names if name in played["ids"]]
    needed(asked, "every kind of block is advertised")
    for id_ in asked:
        must_be_refused(played, id_, _INVALID_PARAMS)


@judge("ACCORD-PROMPT-201", steps=("v2_refused_prompts",), editions=("v2",))
def an_unknown_block_is_refused(case: Case) -> None:
    _refused_prompts(case, "pigeons")


@judge("ACCORD-PROMPT-202", steps=("v2_refused_prompts",), editions=("v2",))
def a_block_that_is_not_advertised_is_refused(case: Case) -> None:
    _refused_prompts(case, "image", "audio", "embeddedContext")


@judge("ACCORD-PROMPT-203", steps=("v2_refused_prompts",), editions=("v2",))
def a_bad_block_is_refused(case: Case) -> None:
    _refused_prompts(case, "bad")


@judge("ACCORD-PROMPT-204", steps=("v2_refused_prompts",), editions=("v2",))
def a_refused_prompt_has_no_message(case: Case) -> None:
    played = case.step("v2_refused_prompts")
    # What was not answered at all was not refused either; whose rule that is says so.
    answers = [answer for id_ in played["ids"].values() for _, answer in played.answers(id_)]
    needed([answer for answer in answers if "error" in answer], "no prompt was refused")
    inserted = [_message_id(answer) for answer in answers]
    for entry, update in played.updates(played["session"], *_ECHOES, since=played["since"]):
        if update.get("messageId") not in inserted:
            raise Violation("a message of the user was told, and every prompt was refused", entry)


def _message_id(answer: dict[str, Any]) -> Any:
    result = answer.get("result")
    return result.get("messageId") if isinstance(result, dict) else None


@judge("ACCORD-PROMPT-205", steps=("v2_prompt_taken_back",), editions=("v2",))
def the_answer_does_not_wait_for_the_work(case: Case) -> None:
    played = case.step("v2_prompt_taken_back")
    asked, answer = played.request_entry(played["working"]), played.answer_entry(played["working"])
    if "error" in played.answer(played["working"]):
        raise Unseen("the prompt was refused")
    since = asked.place if asked else 0
    idle = played.first(lambda message: is_state(message, played["session"], "idle"), since, answer.place)
    if idle is not None or answer.place >= played["answered_by"]:
        raise Violation("the answer came only when the work had ended", asked, answer)


@judge("ACCORD-PROMPT-206", steps=("v2_prompts_in_order",), editions=("v2",))
def prompts_keep_their_order(case: Case) -> None:
    played = case.step("v2_prompts_in_order")
    places = [_echo(played, id_) for id_ in played["ids"]]
    found = [entry for entry in places if entry is not None]
    if len(found) < len(places):
        raise Unseen("not every prompt was inserted")
    for before, after in pairwise(found):
        if before.place > after.place:
            raise Violation("a later prompt was inserted first", after, before)


def _echo(played: Played, id_: Any) -> Entry | None:
    """Where the message of a prompt was told first."""
    message_id = _message_id(played.answer(id_))
    for entry, update in played.updates(played["session"], *_ECHOES):
        if message_id is not None and update.get("messageId") == message_id:
            return entry
    return None


@judge("ACCORD-PROMPT-207", steps=("v2_prompt_taken_back",), editions=("v2",))
def a_prompt_that_is_taken_back_is_not_inserted(case: Case) -> None:
    played = case.step("v2_prompt_taken_back")
    if "result" in played.answer(played["behind"]):
        raise Unseen("no prompt was held: it was inserted at once")
    must_be_refused(played, played["behind"], _CANCELLED)
    kept = _message_id(played.answer(played["working"]))
    asked = played.request_entry(played["behind"])
    for entry, update in played.updates(played["session"], *_ECHOES, since=asked.place if asked else 0):
        if update.get("messageId") != kept:
            raise Violation("it was inserted nevertheless", played.answer_entry(played["behind"]), entry)


@judge("ACCORD-PROMPT-208", steps=("v2_refused_prompts",), editions=("v2",))
def an_empty_prompt(case: Case) -> str:
    played = case.step("v2_refused_prompts")
    error = played.answer(played["ids"]["empty"]).get("error")
    return f"error {error.get('code')}" if isinstance(error, dict) else "it was inserted"


@judge("ACCORD-PROMPT-209", steps=("v2_lenient_prompt",), editions=("v2",))
def bad_annotations_count_as_absent(case: Case) -> None:
    played = case.step("v2_lenient_prompt")
    played.result(played["prompt"])
