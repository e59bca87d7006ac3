"""Every option that a session offers gets another value; then its mode, where the edition has modes.

What may be changed is decided by the ledger, which also sets it back.
"""

from __future__ import annotations

from typing import Any

from accord.check.settings import Key, Setting, Value, request_for
from accord.check.step import Notes, step
from accord.check.steps.asking import asked, heard
from accord.check.steps.capability import SESSIONS, can
from accord.check.steps.sessions import closed
from accord.check.talk import StepFailed, Talk

__all__ = ["offered_values", "options", "set_first_taken"]

_MOST_VALUES = 4
"""How many values of one option are tried until one is taken."""


@step("able", gate=SESSIONS, order=20)
async def options(talk: Talk) -> Notes:
    """`changes` has for each change the option, the value, the request; `mode` is the mode that `set_mode` wished for.

    A value that is refused is followed by the next; the last request counts. `untouched` are the reasons why something
    was left alone. `resume` is there where sessions can be resumed.
    """
    new = talk.ask("session/new", {"cwd": talk.cwd, "mcpServers": []})
    opened = (await talk.answer(new, "ACP-SESSION-001")).get("result")
    if not isinstance(opened, dict) or not isinstance(opened.get("sessionId"), str):
        raise StepFailed("session/new gave no session id", "ACP-SESSION-001")
    session: str = opened["sessionId"]
    notes: Notes = {"session": session, "new": new, "changes": [], "untouched": []}
    for key in list(_settings(talk, session)):
        # One change may alter the choices of others: each is taken from what was said last.
        setting = _settings(talk, session).get(key)
        if setting is not None and key.kind != "model":
            await _change(talk, session, setting, notes)
    if can(talk, "resume") and await closed(talk, session):
        notes["resume"] = await asked(talk, "session/resume", {"sessionId": session, "cwd": talk.cwd})
    return {**notes, "alive": await talk.is_alive()}


def _settings(talk: Talk, session: str) -> dict[Key, Setting]:
    return {} if talk.ledger is None else talk.ledger.settings(talk.wire, session)


async def _change(talk: Talk, session: str, setting: Setting, notes: Notes) -> None:
    values, reason = offered_values(talk, setting)
    if not values:
        if reason:
            notes["untouched"].append(reason)
        return
    value, request = await set_first_taken(talk, session, setting.key, values)
    if setting.key.kind == "option":
        notes["changes"].append((setting.key.id, value, request))
    else:
        notes |= {setting.key.kind: value, f"set_{setting.key.kind}": request}


def offered_values(talk: Talk, setting: Setting) -> tuple[list[Value], str]:
    """What a setting may be set to, the value that it has last; and why others are left out.

    A setting that is to be left alone has none at all: not even its own value is sent to it.
    """
    if talk.ledger is None:
        return [], ""
    reasons = {value: talk.ledger.why_not(setting, value) for value in setting.others}
    allowed = [value for value, reason in reasons.items() if not reason]
    reason = next(iter(reasons.values()), talk.ledger.why_not(setting, None))
    if reason and not allowed:
        return [], reason
    # A toggle has no list of values, and a list without the value that holds is another rule's business.
    own = [setting.value] if isinstance(setting.value, bool) or setting.value in setting.choices else []
    return [*allowed[:_MOST_VALUES], *own], ""


async def set_first_taken(talk: Talk, session: str, key: Key, values: list[Value]) -> tuple[Value, Any]:
    """Set one value after the other until one is taken; gives the last one and its request."""
    value, request = values[0], None
    for value in values:
        request = talk.ask(*request_for(talk.edition, session, key, value))
        answer = await heard(talk, request)
        # An agent may refuse a value that it offers (a plan without that model), and say so with an error.
        if answer is None or "error" not in answer:
            break
    return value, request
