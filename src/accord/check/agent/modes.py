"""Session modes (v1), and the option that mirrors them."""

from __future__ import annotations

from typing import Any

from accord.check.agent.conversation import AgentConversation, step
from accord.check.agent.exchange import UNKNOWN_ID, ask_and_blame
from accord.check.agent.options import (
    choices_of,
    first_session,
    objects_in,
    offered_values,
    session_settings,
    set_first_taken,
)
from accord.check.agent.queries import as_dict, check_unique, completed, judge_refusals, listed
from accord.check.engine.evidence import Evidence, Inconclusive, StepFailed, StepResult, Violation, skip_if, skip_unless
from accord.check.engine.judging import Notes, judge
from accord.check.engine.settings import Key
from accord.check.rule import V1, RuleRow, agent_rules

# fmt: off
RULES = agent_rules(
    RuleRow("ACCORD-CONFIG-001", "A--", "session-config-options",
        says="Modes are sent both as modes and as an option of the category mode"),
    RuleRow("ACCORD-CONFIG-002", "A--", "session-config-options", "The mode and its option have the same value"),
    RuleRow("ACCORD-CONFIG-003", "A--", "session-config-options", gate="new.modes",
        says="Setting the mode is reported as a change of its option"),
    RuleRow("ACCORD-CONFIG-004", "A--", "session-config-options", gate="new.modes",
        says="Setting the option of the mode is reported as a change of the mode"),
    RuleRow("ACCORD-MODES-001", "A--", "session-modes", "A mode that is not there is refused", gate="new.modes"),
    RuleRow("ACCORD-MODES-002", "C--", "session-modes", "The mode can be set while a turn runs", gate="new.modes"),
    RuleRow("ACCORD-MODES-003", "A--", "session-modes", "Modes have an id each", gate="new.modes"),
    RuleRow("ACP-MODES-001", "C--", "session-modes", gate="new.modes",
        says="The current mode is one of those that are offered"),
    RuleRow("ACP-MODES-002", "C--", "session-modes", gate="new.modes",
        says="A mode can be set, and an update about it says currentModeId"),
)
# fmt: on


_MODE = Key("mode", "mode")


@step("bare", editions=V1, order=76, gate={"v1": "new.modes"})
async def set_modes(agent: AgentConversation) -> Notes:
    """A mode that does not exist; then another mode, as a mode and as an option."""
    new = agent.ask("session/new", {"cwd": agent.cwd, "mcpServers": []})
    opened = (await agent.answer(new, "ACP-SESSION-001")).get("result")
    if not isinstance(opened, dict) or not isinstance(opened.get("modes"), dict):
        raise StepFailed("session/new gave no modes", "ACP-SESSION-001")
    session, modes = opened["sessionId"], opened["modes"]
    wrong = await ask_and_blame(
        agent, "session/set_mode", {"sessionId": session, "modeId": UNKNOWN_ID}, "ACCORD-MODES-001"
    )
    notes: Notes = {"session": session, "new": new, "wrong": wrong}
    setting = agent.ledger.settings(agent.wire, session).get(_MODE) if agent.ledger is not None else None
    values, reason = ([], "") if setting is None else offered_values(agent, setting)
    if setting is None or not setting.others or not values:
        return {**notes, "untouched": reason}
    notes["since_mode"] = agent.now
    notes["mode"], notes["set_mode"] = await set_first_taken(agent, session, _MODE, values)
    await agent.answer(notes["set_mode"], "ACP-MODES-002")
    await agent.is_alive()
    notes["since_option"] = agent.now
    option = next((each for each in opened.get("configOptions") or [] if each.get("category") == "mode"), None)
    if option is not None:
        params = {"sessionId": session, "configId": option["id"], "value": modes["currentModeId"]}
        notes |= {"option": option["id"], "back": modes["currentModeId"]}
        notes["set_option"] = await ask_and_blame(agent, "session/set_config_option", params, "ACP-CONFIG-002")
        await agent.is_alive()
    return notes


@judge("ACCORD-MODES-002", steps=("two_sessions_at_once",))
def the_mode_can_be_set_while_a_turn_runs(evidence: Evidence) -> None:
    run = completed(evidence, "two_sessions_at_once")
    id_ = run.get("set_mode")
    if id_ is None:
        raise Inconclusive("the session had no modes")
    ends = [each.place for each, _ in run.answers(run["first"])]
    answers = [each.place for each, _ in run.answers(id_)]
    if ends and ends[0] < run.request_entry(id_).place:  # type: ignore[union-attr]
        raise Inconclusive("the turn ended before: give --cancel-prompt")
    if not answers or (ends and ends[0] < answers[0]):
        raise Violation("it was not answered while the turn ran", run.request_entry(id_))


def _mode_option(settings: dict[str, Any]) -> dict[str, Any] | None:
    for option in listed(settings.get("configOptions")):
        if as_dict(option).get("category") == "mode":
            return as_dict(option)
    return None


@judge("ACCORD-CONFIG-001", steps=("meet",))
def modes_are_sent_both_ways(evidence: Evidence) -> None:
    found = False
    for entry, settings in session_settings(evidence):
        has_modes, option = bool(settings.get("modes")), _mode_option(settings)
        found = found or has_modes or option is not None
        if has_modes and option is None:
            raise Violation("there are modes and no option of the category `mode`", entry)
        if option is not None and not has_modes:
            raise Violation("there is an option of the category `mode` and no modes", entry)
    skip_unless(found, "it has no modes")


@judge("ACCORD-CONFIG-002", steps=("meet",))
def mode_and_option_have_the_same_value(evidence: Evidence) -> None:
    found = False
    for entry, settings in session_settings(evidence):
        option, modes = _mode_option(settings), settings.get("modes")
        if option is None or not isinstance(modes, dict):
            continue
        found = True
        ids = [as_dict(mode).get("id") for mode in listed(modes.get("availableModes"))]
        values = [choice.get("value") for choice in choices_of(option)]
        # Another rule judges a value that is not in its own list.
        is_sound = modes.get("currentModeId") in ids and option.get("currentValue") in values
        if is_sound and modes["currentModeId"] != option["currentValue"]:
            raise Violation(f"the mode is {modes['currentModeId']!r}, its option {option['currentValue']!r}", entry)
    skip_unless(found, "its modes are sent in one way only")


@judge("ACCORD-CONFIG-003", steps=("set_modes",))
def the_option_follows_the_mode(evidence: Evidence) -> None:
    run = _switched(evidence)
    updates = run.updates(run["session"], "config_option_update", since=run["since_mode"], before=run["since_option"])
    for _, update in updates:
        if (_mode_option(update) or {}).get("currentValue") == run["mode"]:
            return
    raise run.violation("no config_option_update reported the new mode", run["set_mode"])


@judge("ACCORD-CONFIG-004", steps=("set_modes",))
def the_mode_follows_the_option(evidence: Evidence) -> None:
    run = _switched(evidence)
    skip_if("error" in run.answer(run["set_option"]), "the option could not be set")
    since, before = run["since_option"], run.end
    updates = run.updates(run["session"], "current_mode_update", since=since, before=before)
    if not any(run["back"] in update.values() for _, update in updates):
        raise run.violation("no current_mode_update reported the new mode", run["set_option"])


def _switched(evidence: Evidence) -> StepResult:
    run = completed(evidence, "set_modes")
    if run.get("set_option") is None:
        raise Inconclusive(run.get("untouched") or "there is no other mode, or no option for it")
    skip_if("error" in run.answer(run["set_mode"]), "the mode could not be set")
    return run


@judge("ACCORD-MODES-003", steps=("meet",))
def modes_have_ids_of_their_own(evidence: Evidence) -> None:
    found = False
    for entry, settings in session_settings(evidence):
        modes = listed(as_dict(settings.get("modes")).get("availableModes"))
        found = found or bool(modes)
        check_unique([as_dict(mode).get("id") for mode in modes], "modes", entry)
    skip_unless(found, "it has no modes")


@judge("ACP-MODES-001", steps=("meet",))
def the_current_mode_is_one_that_is_offered(evidence: Evidence) -> None:
    _, entry, opened = first_session(evidence)
    modes = opened.get("modes")
    if not isinstance(modes, dict):
        raise Violation("modes are no object", entry)
    current = modes.get("currentModeId")
    if current is None or current not in [mode.get("id") for mode in objects_in(modes.get("availableModes"))]:
        raise Violation(f"the current mode is {current!r}, which is not offered", entry)


def untouched(run: StepResult, what: str) -> str:
    """Why a setting was left alone; "" if it was not."""
    return next((reason for reason in run.get("untouched") or () if reason.startswith(what)), "")


@judge("ACP-MODES-002", steps=("options",))
def a_mode_can_be_set(evidence: Evidence) -> None:
    run = evidence.step("options")
    if "set_mode" not in run.notes:
        raise Inconclusive(untouched(run, "the mode") or "a client that offers everything is offered no modes")
    run.result(run["set_mode"])
    for entry, update in run.updates(run["session"], "current_mode_update"):
        if not isinstance(update.get("currentModeId"), str):
            raise Violation("an update about the mode has no currentModeId", run.request_entry(run["set_mode"]), entry)


judge_refusals(("ACCORD-MODES-001", "a_mode_that_is_not_there_is_refused", "set_modes", "wrong"))
