"""Every option that a session offers gets another value; then its mode, where the edition has modes."""

from __future__ import annotations

from typing import Any

from accord.check.step import Notes, step
from accord.check.steps.ability import SESSIONS, can
from accord.check.steps.asking import asked, heard
from accord.check.talk import StepFailed, Talk

__all__ = ["options"]


@step("able", gate=SESSIONS, order=20)
async def options(talk: Talk) -> Notes:
    """`changes` has for each change the option, the value, the request; `mode` is the mode that `set_mode` wished for.

    `resume` is there where sessions can be resumed.
    """
    new = talk.ask("session/new", {"cwd": talk.cwd, "mcpServers": []})
    opened = (await talk.answer(new, "ACP-SESSION-001")).get("result")
    if not isinstance(opened, dict) or not isinstance(opened.get("sessionId"), str):
        raise StepFailed("session/new gave no session id", "ACP-SESSION-001")
    session: str = opened["sessionId"]
    notes: Notes = {"session": session, "new": new, "changes": await _change_all(talk, session, opened)}
    if talk.edition == "v1":
        notes |= await _change_mode(talk, session, opened.get("modes"))
    if can(talk, "resume"):
        notes["resume"] = await asked(talk, "session/resume", {"sessionId": session, "cwd": talk.cwd})
    return {**notes, "alive": await talk.is_alive()}


def _options_in(said: Any) -> list[dict[str, Any]]:
    found = said.get("configOptions") if isinstance(said, dict) else None
    return [option for option in found if isinstance(option, dict)] if isinstance(found, list) else []


def _id_of(option: dict[str, Any]) -> Any:
    return option.get("configId", option.get("id"))


async def _change_all(talk: Talk, session: str, opened: dict[str, Any]) -> list[tuple[Any, str | bool, Any]]:
    """One change may alter the choices of others: each is taken from what was said last."""
    changes = []
    latest = _options_in(opened)
    for id_ in [_id_of(option) for option in latest]:
        option = next((option for option in latest if _id_of(option) == id_), None)
        value = None if option is None else _another(option)
        if option is None or value is None:
            continue
        params = {"sessionId": session, "configId": id_, "value": value}
        if isinstance(value, bool) or talk.edition == "v2":
            params["type"] = "boolean" if isinstance(value, bool) else "id"
        request = talk.ask("session/set_config_option", params)
        changes.append((id_, value, request))
        latest = _options_in((await heard(talk, request) or {}).get("result")) or latest
    return changes


def _another(option: dict[str, Any]) -> str | bool | None:
    """A value that the option does not have; the one it has where there is no other, None where it cannot be read."""
    current = option.get("currentValue")
    if option.get("type") == "boolean":
        return not current if isinstance(current, bool) else None
    choices = option.get("options")
    if not isinstance(current, str) or not isinstance(choices, list):
        return None
    nested = [each.get("options", [each]) for each in choices if isinstance(each, dict)]
    flat = [choice for each in nested if isinstance(each, list) for choice in each if isinstance(choice, dict)]
    values = [choice["value"] for choice in flat if isinstance(choice.get("value"), str)]
    return next((value for value in values if value != current), current)


async def _change_mode(talk: Talk, session: str, modes: Any) -> Notes:
    said = modes.get("availableModes") if isinstance(modes, dict) else None
    offered = [mode for mode in said if isinstance(mode, dict)] if isinstance(said, list) else []
    ids = [mode["id"] for mode in offered if isinstance(mode.get("id"), str)]
    if not ids:
        return {}
    mode = next((id_ for id_ in ids if id_ != modes.get("currentModeId")), ids[0])
    return {"mode": mode, "set_mode": await asked(talk, "session/set_mode", {"sessionId": session, "modeId": mode})}
