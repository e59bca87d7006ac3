"""Turns in v2: a receipt, the user's message, the states around the work, and blocks of every kind."""

from __future__ import annotations

from accord.check.case import Case, Unseen, Violation
from accord.check.entry import Entry, is_state, is_update, messages_in
from accord.check.judge import judge
from accord.check.judges.v2_fit import misfit
from accord.check.judges.v2_sight import (
    BOTH,
    STOP_REASONS,
    V2,
    Asked,
    asked,
    asked_in,
    idle_behind,
    is_extension,
    is_whole,
    prompts_of,
)
from accord.check.talk import StepFailed

__all__: list[str] = []

PLAIN = ("turns", "cancel", "cancel_with_meta", "keep", "resume", "meet_able")


@judge("ACP-PROMPT-201", steps=("turns",), editions=V2)
def a_prompt_is_answered_with_the_id_of_its_message(case: Case) -> None:
    first = prompts_of(case, "turns")[0]
    if first.result is None:
        raise Violation("a prompt was not answered with a result", first.entry, first.answer_entry)
    for prompt in asked(case, "session/prompt"):
        if prompt.result is None:
            continue
        if not is_whole(prompt.result.get("messageId")):
            raise Violation(
                f"the answer to a prompt has the messageId {prompt.result.get('messageId')!r}",
                prompt.entry,
                prompt.answer_entry,
            )
        if "stopReason" in prompt.result:
            raise Violation("the answer to a prompt has a stop reason", prompt.entry, prompt.answer_entry)


@judge("ACP-PROMPT-203", steps=("turns",), editions=V2)
def the_message_of_the_user_is_shown_before_the_turn_ends(case: Case) -> None:
    judged = 0
    for prompt in prompts_of(case, "turns"):
        message_id = (prompt.result or {}).get("messageId")
        idle = idle_behind(prompt)
        if not is_whole(message_id) or idle is None:
            continue
        shown = [
            message["params"]["update"].get("messageId")
            for _, message in messages_in(prompt.record.entries[prompt.entry.place : idle.place])
            if is_update(message, prompt.params["sessionId"], "user_message", "user_message_chunk")
        ]
        if message_id not in shown:
            raise Violation(f"the message {message_id!r} was not shown before the idle", prompt.answer_entry, idle)
        judged += 1
    if not judged:
        raise Unseen("no turn had both a messageId and an end")


@judge("ACP-PROMPT-205", steps=("turns",), editions=V2)
@judge("ACP-PROMPT-002", steps=("turns",), editions=("v2_june",))
def the_updates_of_a_turn_fit_and_are_those_of_its_session(case: Case) -> None:
    prompts = prompts_of(case, "turns")
    played = case.begun("turns")
    ours = {each.params.get("sessionId") for each in asked(case, "session/prompt")}
    ours |= {(each.result or {}).get("sessionId") for each in asked(case, "session/new")}
    for entry, message in messages_in(played.entries[prompts[0].entry.place : played.end]):
        if message.get("method") != "session/update":
            continue
        params = message.get("params")
        wrong = misfit(case.edition, "session/update", params, is_result=False)
        if wrong:
            raise Violation(f"an update does not fit: {wrong}", entry)
        if not isinstance(params, dict) or params.get("sessionId") not in ours:
            raise Violation("an update is about a session that there is not", prompts[0].entry, entry)


@judge("ACP-PATCH-203", steps=("turns",), editions=V2)
def two_prompts_have_two_ids(case: Case) -> None:
    prompts_of(case, "turns")
    seen: dict[tuple[int, str, str], Asked] = {}
    for prompt in asked(case, "session/prompt"):
        message_id = (prompt.result or {}).get("messageId")
        if not isinstance(message_id, str):
            continue
        key = (id(prompt.record.entries), str(prompt.params.get("sessionId")), message_id)
        other = seen.setdefault(key, prompt)
        if other is not prompt:
            raise Violation(f"two prompts are {message_id!r}", other.answer_entry, prompt.answer_entry)


# --- states


@judge("ACP-STATE-201", steps=("turns",), editions=V2)
def work_is_told_before_its_end(case: Case) -> None:
    judged = 0
    for prompt in prompts_of(case, "turns"):
        idle = idle_behind(prompt)
        if prompt.result is None or idle is None:
            continue
        before = prompt.record.entries[prompt.entry.place : idle.place]
        session = prompt.params["sessionId"]
        if not any(is_state(message, session, "running", "requires_action") for _, message in messages_in(before)):
            raise Violation("a turn became idle without having been running", prompt.entry, idle)
        judged += 1
    if not judged:
        raise Unseen("no turn became idle")


@judge("ACP-STATE-202", steps=("turns",), editions=V2)
def a_turn_becomes_idle(case: Case) -> None:
    for prompt in prompts_of(case, "turns"):
        if prompt.result is not None and idle_behind(prompt) is None:
            states = [
                entry
                for entry, message in messages_in(prompt.record.entries[prompt.entry.place :])
                if is_update(message, prompt.params["sessionId"], "state_update")
            ]
            raise Violation("the session never became idle", prompt.entry, *states[-1:])


@judge("ACP-STATE-203", steps=("turns",), editions=V2)
def a_stop_reason_is_known(case: Case) -> str:
    reasons = set()
    for prompt in prompts_of(case, "turns"):
        idle = idle_behind(prompt)
        reason = None if idle is None else _reason(idle)
        if reason is None:
            continue
        if reason not in STOP_REASONS and not is_extension(reason):
            raise Violation(f"the stop reason is {reason!r}", prompt.entry, idle)
        reasons.add(str(reason))
    if not reasons:
        raise Unseen("no idle had a stop reason, which v2 does not demand")
    return ", ".join(sorted(reasons))


def _reason(idle: Entry) -> object:
    for _, message in messages_in([idle]):
        if is_update(message, None, "state_update"):
            reason: object = message["params"]["update"].get("stopReason")
            return reason
    return None


# --- blocks


def _ended(case: Case, prompt: Asked) -> None:
    """A prompt was accepted, and its turn came to an end.

    Raises:
        Violation: It was not accepted.
        StepFailed: Its turn did not end.
    """
    if prompt.result is None:
        raise Violation("the prompt was not accepted", prompt.entry, prompt.answer_entry)
    if case.edition == "v2" and idle_behind(prompt) is None:
        raise StepFailed("its turn did not become idle", "ACP-STATE-202", prompt.entry)


def _third(case: Case, place: int) -> Asked:
    """A prompt of the step with plain turns, by its number."""
    prompts = prompts_of(case, "turns")
    if len(prompts) <= place:
        case.step("turns")
        raise Unseen("it was not prompted")
    return prompts[place]


@judge("ACP-PROMPT-003", steps=("turns",), editions=BOTH)
def a_prompt_may_hold_a_link(case: Case) -> None:
    _ended(case, _third(case, 1))


def _block(case: Case, type_: str) -> None:
    played = case.begun("prompt_blocks")
    for prompt in asked_in(played, "session/prompt"):
        blocks = prompt.params.get("prompt", [])
        if any(block.get("type") == type_ for block in blocks):
            return _ended(case, prompt)
    case.step("prompt_blocks")
    raise Unseen("there was no such prompt")


@judge("ACP-PROMPTCAP-001", steps=("prompt_blocks",), editions=BOTH)
def a_prompt_with_an_image_ends(case: Case) -> None:
    _block(case, "image")


@judge("ACP-PROMPTCAP-002", steps=("prompt_blocks",), editions=BOTH)
def a_prompt_with_a_recording_ends(case: Case) -> None:
    _block(case, "audio")


@judge("ACP-PROMPTCAP-003", steps=("prompt_blocks",), editions=BOTH)
def a_prompt_with_an_embedded_resource_ends(case: Case) -> None:
    _block(case, "resource")
