"""Requests that make no sense: each gets an error, and the agent goes on."""

from __future__ import annotations

from typing import Any

from accord.check.rule import EditionName
from accord.check.settings import Key, settings_in
from accord.check.step import Notes, step
from accord.check.steps.more_turns import lives
from accord.check.steps.options import offered_values, set_first_taken
from accord.check.talk import LOGIN, StepFailed, Talk

__all__: list[str] = []

BOTH: tuple[EditionName, ...] = ("v1", "v2_june")
NOBODY = "accord-check-nobody"
_MODE = Key("mode", "mode")


async def _asked(talk: Talk, method: str, params: Any, rule: str) -> Any:
    id_ = talk.ask(method, params)
    await talk.answer(id_, rule)
    return id_


@step("bare", editions=BOTH, order=70)
async def more_wrong_sessions(talk: Talk) -> Notes:
    """Sessions without a folder, in a relative one and without servers; a login that nobody offers."""
    return {
        "no_cwd": await _asked(talk, "session/new", {"mcpServers": []}, "ACCORD-VALID-001"),
        "relative": await _asked(talk, "session/new", {"cwd": "some/where", "mcpServers": []}, "ACCORD-VALID-002"),
        "no_servers": await _asked(talk, "session/new", {"cwd": talk.cwd}, "ACCORD-VALID-003"),
        "login": await _asked(talk, LOGIN[talk.edition], {"methodId": NOBODY}, "ACCORD-AUTH-001"),
    }


@step("bare", editions=BOTH, order=72)
async def more_wrong_params(talk: Talk) -> Notes:
    """Params that do not fit, of methods that every agent has."""
    session = await talk.new()
    probes = {
        "a prompt that is missing": ("session/prompt", {"sessionId": session}),
        "a prompt that is no list": ("session/prompt", {"sessionId": session, "prompt": "hello"}),
        "a session id that is a number": ("session/prompt", {"sessionId": 42, "prompt": []}),
        "a cwd that is a number": ("session/new", {"cwd": 5, "mcpServers": []}),
    }
    asked = {name: await _asked(talk, *probe, "ACCORD-VALID-004") for name, probe in probes.items()}
    blocks = [{"type": "text", "text": "hello"}]
    unknown = await _asked(talk, "session/prompt", {"sessionId": NOBODY, "prompt": blocks}, "ACCORD-VALID-005")
    if not await lives(talk):
        raise StepFailed("the agent did not survive params that do not fit", "ACCORD-VALID-004")
    return {"session": session, "asked": asked, "unknown": unknown}


@step("bare", editions=BOTH, order=74, gate={"v1": "new.configOptions", "v2_june": "new.configOptions"})
async def more_wrong_options(talk: Talk) -> Notes:
    """An option that is not there, and a value that an option does not have."""
    opened = await talk.result("session/new", {"cwd": talk.cwd, "mcpServers": []}, "ACP-SESSION-001")
    session, rule = opened.get("sessionId"), "ACCORD-CONFIG-005"
    params = {"sessionId": session, "configId": NOBODY, "value": "x"}
    notes: Notes = {"option": await _asked(talk, "session/set_config_option", params, rule)}
    for setting in settings_in(opened):
        is_select = setting.key.kind == "option" and isinstance(setting.value, str)
        # An agent that takes any value has another one then: also that only where it may be, and set back.
        if is_select and talk.ledger is not None and not talk.ledger.why_not(setting, NOBODY):
            params = {"sessionId": session, "configId": setting.key.id, "value": NOBODY}
            notes["value"] = await _asked(talk, "session/set_config_option", params, rule)
            break
    return notes


@step("bare", editions=("v1",), order=76, gate={"v1": "new.modes"})
async def v1_more_modes(talk: Talk) -> Notes:
    """A mode that is not there; then another mode, as a mode and as an option."""
    new = talk.ask("session/new", {"cwd": talk.cwd, "mcpServers": []})
    opened = (await talk.answer(new, "ACP-SESSION-001")).get("result")
    if not isinstance(opened, dict) or not isinstance(opened.get("modes"), dict):
        raise StepFailed("session/new gave no modes", "ACP-SESSION-001")
    session, modes = opened["sessionId"], opened["modes"]
    wrong = await _asked(talk, "session/set_mode", {"sessionId": session, "modeId": NOBODY}, "ACCORD-MODES-001")
    notes: Notes = {"session": session, "new": new, "wrong": wrong}
    setting = talk.ledger.settings(talk.wire, session).get(_MODE) if talk.ledger is not None else None
    values, reason = ([], "") if setting is None else offered_values(talk, setting)
    if setting is None or not setting.others or not values:
        return {**notes, "untouched": reason}
    notes["since_mode"] = talk.now
    notes["mode"], notes["set_mode"] = await set_first_taken(talk, session, _MODE, values)
    await talk.answer(notes["set_mode"], "ACP-MODES-002")
    await talk.is_alive()
    notes["since_option"] = talk.now
    option = next((each for each in opened.get("configOptions") or [] if each.get("category") == "mode"), None)
    if option is not None:
        params = {"sessionId": session, "configId": option["id"], "value": modes["currentModeId"]}
        notes |= {"option": option["id"], "back": modes["currentModeId"]}
        notes["set_option"] = await _asked(talk, "session/set_config_option", params, "ACP-CONFIG-002")
        await talk.is_alive()
    return notes
