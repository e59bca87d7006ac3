"""What agents ask of clients in v2: permissions, forms, and nothing that there is not."""

from __future__ import annotations

from typing import Any

from accord.check.case import Case, Unseen, Violation
from accord.check.entry import Entry, Record, is_request, is_state, messages_in
from accord.check.judge import judge
from accord.check.judges.v2_sight import BOTH, V2, idle_behind, is_whole, played_or_broken, prompts_of

__all__: list[str] = []

ASK = "session/request_permission"
CLIENT_METHODS = {
    "v2": {"session/update", ASK, "elicitation/create", "elicitation/complete"},
    "v2_june": {"session/update", ASK},
}


def _questions(case: Case) -> list[tuple[Record, Entry, dict[str, Any]]]:
    found = [(record, entry, message) for record, entry, message in case.messages() if is_request(message, ASK)]
    if not found:
        raise Unseen("the agent asked for no permission: give --tool-prompt")
    return found


def _sessions_of(record: Record) -> set[Any]:
    """The sessions that were spoken of in a process by us."""
    named = [message.get("params") for _, message in messages_in(record.entries, sent=True)]
    return {params.get("sessionId") for params in named if isinstance(params, dict)}


@judge("ACP-PERM-201", steps=("turns", "meet_able"), editions=V2)
def a_permission_question_is_whole(case: Case) -> str:
    questions = _questions(case)
    # Once for each process: an agent may ask a million times.
    known: dict[int, set[Any]] = {}
    for record, entry, message in questions:
        params = message.get("params")
        sessions = known.get(id(record)) or known.setdefault(id(record), _sessions_of(record))
        wrong = _lack(params if isinstance(params, dict) else {}, sessions)
        if wrong:
            raise Violation(f"a question for permission has {wrong}", entry)
    for name in ("turns", "meet_able"):
        played_or_broken(case, name, "the turn did not go on when a permission was given")
    return f"{len(questions)} questions"


def _lack(params: dict[str, Any], sessions: set[Any]) -> str:
    """What is missing in a question, "" if nothing is."""
    if params.get("sessionId") not in sessions:
        return f"the sessionId {params.get('sessionId')!r}"
    if not is_whole(params.get("title")):
        return f"the title {params.get('title')!r}"
    options = params.get("options")
    if not isinstance(options, list) or not options:
        return "no options"
    for option in options:
        for key in ("optionId", "name", "kind"):
            if not isinstance(option, dict) or not is_whole(option.get(key)):
                return f"an option without {key}"
    return ""


def _offers_forms(record: Record) -> bool:
    for entry in record.entries:
        if entry.sent and isinstance(entry.message, dict) and entry.message.get("method") == "initialize":
            elicitation = entry.message["params"].get("capabilities", {}).get("elicitation")
            return isinstance(elicitation, dict) and any(value is not None for value in elicitation.values())
    return False


@judge("ACP-CLIENTCAP-201", steps=("turns",), editions=V2)
def forms_are_shown_only_where_they_are_offered(case: Case) -> None:
    prompts_of(case, "turns")
    for record, entry, message in case.messages():
        if message.get("method") == "elicitation/create" and not _offers_forms(record):
            raise Violation("a client that offers no forms was asked to fill one in", record.entries[0], entry)


@judge("ACP-CLIENTCAP-202", steps=("turns", "meet_able"), editions=BOTH)
def the_client_is_asked_nothing_that_is_not_named(case: Case) -> None:
    prompts_of(case, "turns")
    for _, entry, message in case.messages():
        method = message.get("method")
        if not isinstance(method, str) or method.startswith(("_", "$/")):
            continue
        if method not in CLIENT_METHODS[case.edition]:
            raise Violation(f"the agent said {method}, which is no method of clients", entry)


@judge("ACP-PATCH-209", steps=("turns",), editions=V2)
def a_session_requires_action_while_a_permission_is_awaited(case: Case) -> None:
    judged = 0
    for prompt in prompts_of(case, "turns"):
        idle = idle_behind(prompt)
        if idle is None:
            continue
        session = prompt.params["sessionId"]
        turn = list(messages_in(prompt.record.entries[prompt.entry.place : idle.place]))
        questions = [entry for entry, message in turn if is_request(message, ASK)]
        if not questions:
            continue
        judged += 1
        needs = [entry for entry, message in turn if is_state(message, session, "requires_action")]
        if not needs:
            raise Violation("while a permission was awaited the session did not require action", questions[0], idle)
        # Who gives up when it is answered need not run again; who goes on has to say so.
        runs = [entry for entry, message in turn if is_state(message, session, "running")]
        if not runs or runs[-1].place < needs[-1].place:
            raise Violation("behind the permission the session did not run again", needs[-1], idle)
    if not judged:
        raise Unseen("the agent asked for no permission: give --tool-prompt")


@judge("ACP-ENUM-203", steps=("turns", "strange_outcome"), editions=V2)
def an_outcome_in_a_word_of_the_client_does_no_harm(case: Case) -> None:
    prompts_of(case, "strange_outcome")
    played = case.begun("strange_outcome")
    part = played.entries[played.start : played.end]
    if not any(is_request(message, ASK) for _, message in messages_in(part)):
        raise Unseen("the agent asked for no permission: give --tool-prompt")
    played_or_broken(case, "strange_outcome", "a permission outcome with a word of the client's own did harm")
