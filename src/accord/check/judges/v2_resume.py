"""Sessions from before in v2: resumed with and without a replay, while they are open and after a restart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from accord.check.case import Case, Played, Unseen, Violation
from accord.check.entry import Entry
from accord.check.judge import judge
from accord.check.judges.v2_sight import CHUNKS, HISTORY, MESSAGES, V2, next_about
from accord.check.talk import StepFailed

__all__: list[str] = []

STEPS = ("resume", "resume_after_restart")
BROKEN = (-32601, -32603)
"""Errors that do not say that there is no such session, but that nothing can be resumed."""
REPLAYED = (*HISTORY, "terminal_update", "terminal_output_chunk")


def _played(case: Case) -> list[Played]:
    """The steps that resumed something.

    Raises:
        StepFailed: None came so far.
    """
    played = [case.begun(name) for name in STEPS]
    done = [each for each in played if each.failure is None]
    if not done:
        raise played[0].failure or StepFailed("no session could be resumed", "ACP-RESUME-201")
    return done


def _succeeded(played: Played, note: str) -> bool:
    answers = played.answers(played.get(note))
    return bool(answers) and isinstance(answers[0][1].get("result"), dict)


@judge("ACP-RESUME-201", steps=STEPS, editions=V2)
def a_session_can_be_resumed(case: Case) -> str:
    errors = []
    for played in _played(case):
        for note in ("plain", "empty", "replayed"):
            id_ = played.get(note)
            if id_ is None:
                continue
            if _succeeded(played, note):
                return f"as {played.name.replace('_', ' ')}"
            entry, answer = played.answer_entry(id_), played.answer(id_)
            code = (answer.get("error") or {}).get("code")
            if code in BROKEN or "error" not in answer:
                raise Violation("sessions cannot be resumed", played.request_entry(id_), entry)
            errors.append(str(code))
    raise Unseen(f"no session was there to be resumed: {', '.join(errors)}")


def _replays(case: Case) -> Iterator[tuple[Played, list[tuple[Entry, dict[str, Any]]]]]:
    """What was told between the wish for a replay and its answer, where that was one.

    Raises:
        Unseen: There was none.
    """
    found = False
    for played in _played(case):
        if _succeeded(played, "replayed"):
            asked, answered = played.request_entry(played["replayed"]), played.answer_entry(played["replayed"])
            since = asked.place if asked is not None else 0
            found = True
            yield played, played.updates(played["session"], since=since, before=answered.place)
    if not found:
        raise Unseen("no session was resumed with a replay")


@judge("ACP-RESUME-202", steps=STEPS, editions=V2)
def a_replay_is_over_before_its_answer(case: Case) -> None:
    for played, _ in _replays(case):
        answered = played.answer_entry(played["replayed"])
        before = next_about(played, played["session"], answered.place)
        for entry, update in played.updates(played["session"], *REPLAYED, since=answered.place, before=before):
            raise Violation(f"a {update['sessionUpdate']} was told behind the answer to a replay", answered, entry)


@judge("ACP-RESUME-203", steps=STEPS, editions=V2)
def without_a_wish_for_a_replay_no_history_is_shown(case: Case) -> None:
    judged = 0
    for played in _played(case):
        if not _succeeded(played, "plain"):
            continue
        asked = played.request_entry(played["plain"])
        until = played.request_entry(played["replayed"])
        since, before = asked.place if asked else 0, until.place if until else None
        for entry, update in played.updates(played["session"], *HISTORY, since=since, before=before):
            raise Violation(f"a {update['sessionUpdate']} was shown that nobody wished for", asked, entry)
        judged += 1
    if not judged:
        raise Unseen("no session was resumed")


@judge("ACP-RESUME-204", steps=STEPS, editions=V2)
def a_message_of_the_user_keeps_its_id(case: Case) -> None:
    judged = 0
    for played, replay in _replays(case):
        result = played["prompt"].get("result")
        message_id = result.get("messageId") if isinstance(result, dict) else None
        shown = [(entry, update) for entry, update in replay if update.get("sessionUpdate") in _USERS]
        if not isinstance(message_id, str) or not shown:
            continue
        judged += 1
        if message_id not in [update.get("messageId") for _, update in shown]:
            raise Violation(
                f"the message {message_id!r} has another id in the replay: {shown[0][1].get('messageId')!r}",
                shown[0][0],
            )
    if not judged:
        raise Unseen("no message of the user was replayed")


_USERS = ("user_message", "user_message_chunk")


@judge("ACP-RESUME-205", steps=STEPS, editions=V2)
def in_a_replay_a_chunk_comes_behind_its_message(case: Case) -> None:
    for _, replay in _replays(case):
        begun = set()
        for entry, update in replay:
            kind = str(update.get("sessionUpdate"))
            if kind in MESSAGES:
                begun.add((kind, str(update.get("messageId"))))
            if kind in CHUNKS and (kind.removesuffix("_chunk"), str(update.get("messageId"))) not in begun:
                raise Violation(f"a {kind} was replayed without the message before it", entry)
