"""Sessions of v2 that are resumed: the state, what is replayed, and from where."""

from __future__ import annotations

from typing import Any

from accord.check.case import Case, Played, Unseen, Violation
from accord.check.entry import Entry
from accord.check.judge import judge
from accord.check.judges.v2_more_seen import must_be_refused, needed

__all__: list[str] = []

_INVALID_PARAMS = -32602
_PIECES = ("terminal_output_chunk", "compaction_summary_chunk")
_HISTORY = (
    *("user_message", "agent_message", "agent_thought"),
    *("user_message_chunk", "agent_message_chunk", "agent_thought_chunk"),
    *("tool_call_update", "tool_call_content_chunk", "terminal_update", "terminal_output_chunk"),
    *("plan_update", "compaction_update", "compaction_summary_chunk"),
)

Updates = list[tuple[Entry, dict[str, Any]]]


def _resumed(case: Case) -> Played:
    """The step, where resuming works at all."""
    played = case.step("v2_resumes")
    if "result" not in played.answer(played["plain"]):
        raise Unseen("the session could not be resumed")
    return played


def _between(played: Played, name: str, *kinds: str) -> Updates:
    """What was told between a request and its answer."""
    asked = played.request_entry(played[name])
    since = asked.place if asked else 0
    return played.updates(played["session"], *kinds, since=since, before=played.answer_entry(played[name]).place)


def _live(played: Played, *kinds: str) -> Updates:
    """What was told in the turn itself."""
    return played.updates(played["session"], *kinds, since=played["began"], before=played["ended"])


@judge("ACCORD-RESUME-201", steps=("v2_resumes",), editions=("v2",))
def the_state_is_told_before_the_answer(case: Case) -> None:
    played = _resumed(case)
    for name in ("plain", "start"):
        if "result" in played.answer(played[name]) and not _between(played, name, "state_update"):
            raise Violation(
                "no state was told before the answer",
                played.request_entry(played[name]),
                played.answer_entry(played[name]),
            )


@judge("ACCORD-RESUME-202", steps=("v2_resumes",), editions=("v2",))
def the_state_is_told_after_the_history(case: Case) -> None:
    played = _resumed(case)
    states, history = _between(played, "start", "state_update"), _between(played, "start", *_HISTORY)
    needed(states, "no state was told")
    needed(history, "nothing was replayed")
    if states[-1][0].place < history[-1][0].place:
        raise Violation("some of the history came after the state", states[-1][0], history[-1][0])


@judge("ACCORD-RESUME-203", steps=("v2_resumes",), editions=("v2",))
def an_unknown_cursor_is_refused(case: Case) -> None:
    played = _resumed(case)
    must_be_refused(played, played["unknown"], _INVALID_PARAMS)


@judge("ACCORD-RESUME-204", steps=("v2_resumes",), editions=("v2",))
def a_malformed_cursor_is_refused(case: Case) -> None:
    played = _resumed(case)
    must_be_refused(played, played["malformed"], _INVALID_PARAMS)


@judge("ACCORD-RESUME-205", steps=("v2_resumes",), editions=("v2",))
def notices_are_not_replayed(case: Case) -> None:
    played = _resumed(case)
    live = {repr(update.get("title")): entry for entry, update in _live(played, "notice")}
    needed(live, "there was no notice in the turn")
    for entry, update in _between(played, "start", "notice"):
        if repr(update.get("title")) in live:
            raise Violation("a notice of the turn was told again", live[repr(update.get("title"))], entry)


@judge("ACCORD-RESUME-206", steps=("v2_resumes",), editions=("v2",))
def messages_keep_their_text(case: Case) -> None:
    played = _resumed(case)
    kinds = ("agent_message", "agent_message_chunk")
    live, replayed = _texts(_live(played, *kinds)), _texts(_between(played, "start", *kinds))
    needed(live.keys() & replayed.keys(), "no message of the agent was replayed under its id")
    for id_ in live.keys() & replayed.keys():
        if live[id_] != replayed[id_]:
            raise Violation(
                f"message {id_!r} was {live[id_]!r} and is {replayed[id_]!r}",
                played.request_entry(played["start"]),
                _between(played, "start", *kinds)[-1][0],
            )


def _texts(updates: Updates) -> dict[Any, str]:
    """The text of each message: whole ones replace it, chunks add to it."""
    found: dict[Any, str] = {}
    for _, update in updates:
        id_ = update.get("messageId")
        if update["sessionUpdate"] == "agent_message_chunk":
            found[id_] = found.get(id_, "") + _text(update.get("content"))
        elif "content" in update:
            content = update["content"]
            found[id_] = "".join(map(_text, content)) if isinstance(content, list) else ""
    return found


def _text(block: Any) -> str:
    words = block.get("text") if isinstance(block, dict) else None
    return words if isinstance(words, str) else ""


@judge("ACCORD-RESUME-207", steps=("v2_resumes",), editions=("v2",))
def things_are_replayed_whole(case: Case) -> None:
    played = _resumed(case)
    needed(_live(played, *_PIECES), "there was no terminal and no compaction in the turn")
    for entry, update in _between(played, "start", *_PIECES):
        raise Violation(f"{update['sessionUpdate']} is a piece", entry)


@judge("ACCORD-RESUME-208", steps=("v2_resumes",), editions=("v2",))
def another_directory(case: Case) -> str:
    played = _resumed(case)
    error = played.answer(played["elsewhere"]).get("error")
    return f"error {error.get('code')}" if isinstance(error, dict) else "it succeeded"
