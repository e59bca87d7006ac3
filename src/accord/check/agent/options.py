"""Session config options: their shape, setting them, wrong values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from accord.check.agent.conversation import AgentConversation, can, step
from accord.check.agent.exchange import answer_or_none, ask_and_wait, closed
from accord.check.agent.queries import (
    as_dict,
    check_texts,
    check_unique,
    dicts,
    is_extension,
    is_whole,
    listed,
    offered,
    option_lists,
    updates_of,
)
from accord.check.engine.evidence import (
    Entry,
    Evidence,
    Inconclusive,
    Record,
    StepResult,
    Violation,
    messages_in,
    skip_unless,
)
from accord.check.engine.judging import Notes, judge
from accord.check.engine.settings import Key, Setting, Value, request_for
from accord.check.rule import JUNE, SESSIONS, V1, V2, RuleRow, agent_rules

# fmt: off
RULES = agent_rules(
    RuleRow("ACCORD-CONFIG-006", "AA-", "session-config-options", gate="new.configOptions",
        says="Options have an id each, and so have the choices of each option"),
    RuleRow("ACCORD-CONFIG-205", "--C", "#SessionConfigSelect", gate="new.configOptions",
        says="The values of an option are all different, also across groups"),
    RuleRow("ACP-CONFIG-001", "CC-", "session-config-options", gate="new.configOptions", says=(
        "The value of each option fits its type and its choices",
        "The value of each option is one of its choices",
        "",
    )),
    RuleRow("ACP-CONFIG-002", "CC-", "session-config-options", gate="new.configOptions", says=(
        "Setting an option is answered with all options, the new value among them",
        "Setting an option answers with all of them, the new value among them",
        "",
    )),
    RuleRow("ACP-CONFIG-003", "M--", "#BooleanConfigOptionCapabilities",
        says="A client that did not ask for toggles gets none"),
    RuleRow("ACP-CONFIG-201", "--C", "session-config-options", gate="new.configOptions",
        says="Options are whole: id, name, a known type, and choices all flat or all in groups"),
    RuleRow("ACP-CONFIG-202", "--C", "session-config-options", gate="new.configOptions",
        says="Setting an option is answered with every option that there was"),
    RuleRow("ACP-CONFIG-203", "--C", "session-config-options", gate="new.configOptions",
        says="Resuming sends the options in the same shape"),
    RuleRow("ACP-CONFIG-204", "--C", "session-config-options", gate="new.configOptions",
        says="The value of a select is one of its choices"),
    RuleRow("ACP-CONFIG-206", "-CC", "session-config-options", gate="new.configOptions",
        says="An update about options has all of them"),
    RuleRow("ACCORD-JUNE-CONFIG-001", "-C-", "#SessionConfigOption", gate="new.configOptions",
        says="Options have an `id`, a name and a type, and groups of choices are named by `group`"),
)
# fmt: on


_MOST_VALUES = 4
"""How many values of one option are tried until one is accepted."""
KEYS = {"v2": "configId", "v2_june": "id"}


@step("able", gate=SESSIONS, order=20)
async def options(agent: AgentConversation) -> Notes:
    """`changes` has for each change the option, the value, the request; `mode` is the mode that `set_mode` requested.

    A value that is refused is followed by the next; the last request counts. `untouched` are the reasons why something
    was left alone. `resume` is there where sessions can be resumed.
    """
    new, opened = await agent.open()
    session: str = opened["sessionId"]
    notes: Notes = {"session": session, "new": new, "changes": [], "untouched": []}
    for key in list(_settings(agent, session)):
        # One change may alter the choices of others: each is taken from the latest settings.
        setting = _settings(agent, session).get(key)
        if setting is not None and key.kind != "model":
            await _change(agent, session, setting, notes)
    if can(agent, "resume") and await closed(agent, session):
        notes["resume"] = await ask_and_wait(agent, "session/resume", {"sessionId": session, "cwd": agent.cwd})
    return {**notes, "alive": await agent.is_alive()}


def _settings(agent: AgentConversation, session: str) -> dict[Key, Setting]:
    return {} if agent.ledger is None else agent.ledger.settings(agent.wire, session)


async def _change(agent: AgentConversation, session: str, setting: Setting, notes: Notes) -> None:
    values, reason = offered_values(agent, setting)
    if not values:
        if reason:
            notes["untouched"].append(reason)
        return
    value, request = await set_first_taken(agent, session, setting.key, values)
    if setting.key.kind == "option":
        notes["changes"].append((setting.key.id, value, request))
    else:
        notes |= {setting.key.kind: value, f"set_{setting.key.kind}": request}


def offered_values(agent: AgentConversation, setting: Setting) -> tuple[list[Value], str]:
    """The values that a setting may get, its current value last; and the reason why others are left out.

    A setting that is to be left alone has none at all: not even its own value is sent to it.
    """
    if agent.ledger is None:
        return [], ""
    reasons = {value: agent.ledger.why_not(setting, value) for value in setting.others}
    allowed = [value for value, reason in reasons.items() if not reason]
    reason = next(iter(reasons.values()), agent.ledger.why_not(setting, None))
    if reason and not allowed:
        return [], reason
    # A toggle has no list of values, and another rule judges a list without the current value.
    own = [setting.value] if isinstance(setting.value, bool) or setting.value in setting.choices else []
    return [*allowed[:_MOST_VALUES], *own], ""


async def set_first_taken(agent: AgentConversation, session: str, key: Key, values: list[Value]) -> tuple[Value, Any]:
    """Set one value after the other until one is accepted; returns the last one and its request."""
    value, request = values[0], None
    for value in values:
        request = agent.ask(*request_for(agent.edition, session, key, value))
        answer = await answer_or_none(agent, request)
        # An agent may refuse a value that it offers (a plan without that model) with an error.
        if answer is None or "error" not in answer:
            break
    return value, request


def session_settings(evidence: Evidence) -> list[tuple[Entry, dict[str, Any]]]:
    """The answers of the step `meet` that opened sessions."""
    meet = evidence.begun("meet")
    answers = [each for id_ in meet.get("new") or [] for each in meet.answers(id_)]
    return [(entry, as_dict(answer.get("result"))) for entry, answer in answers]


def choices_of(option: dict[str, Any]) -> list[dict[str, Any]]:
    """The choices of a select, without their groups."""
    flat: list[dict[str, Any]] = []
    for each in listed(option.get("options")):
        flat.extend(as_dict(choice) for choice in listed(as_dict(each).get("options")) or [each])
    return flat


@judge("ACCORD-CONFIG-006", steps=("meet",))
def options_and_their_values_have_ids_of_their_own(evidence: Evidence) -> None:
    found = False
    for entry, settings in session_settings(evidence):
        options = [as_dict(option) for option in listed(settings.get("configOptions"))]
        found = found or bool(options)
        check_unique([option.get("id") for option in options], "options", entry)
        for option in options:
            check_unique([choice.get("value") for choice in choices_of(option)], f"values of {option.get('id')}", entry)
    skip_unless(found, "it has no options")


def first_session(evidence: Evidence) -> tuple[StepResult, Entry, dict[str, Any]]:
    """The run, the line and the result of the first `session/new`."""
    meet = evidence.step("meet")
    skip_unless(meet["new"], "no session was asked for")
    result = meet.result(meet["new"][0])
    return meet, meet.answer_entry(meet["new"][0]), result if isinstance(result, dict) else {}


def objects_in(said: Any) -> list[dict[str, Any]]:
    return [each for each in said if isinstance(each, dict)] if isinstance(said, list) else []


def _fits(option: dict[str, Any]) -> bool:
    current = option.get("currentValue")
    if option.get("type") == "boolean":
        return isinstance(current, bool)
    return option.get("type") != "select" or (
        isinstance(current, str) and current in [choice.get("value") for choice in choices_of(option)]
    )


@judge("ACP-CONFIG-001", steps=("meet", "options"), editions=V1)
def the_values_of_options_fit(evidence: Evidence) -> None:
    _, entry, opened = first_session(evidence)
    answers = [(entry, opened)]
    able = evidence.steps.get("options")
    # Where nothing may be changed the step ends early, and its session is not judged.
    if able is not None and able.failure is None and not able.skipped:
        answers.append((able.answer_entry(able["new"]), able.result(able["new"])))
    for line, said in answers:
        for option in objects_in(said.get("configOptions")):
            if not _fits(option):
                raise Violation(f"the value of the option {option.get('id')!r} does not fit it", line)


@judge("ACP-CONFIG-002", steps=("options",), editions=V1)
def setting_an_option_answers_with_all_of_them(evidence: Evidence) -> str:
    run = evidence.step("options")
    known = [option.get("id") for option in objects_in(run.result(run["new"]).get("configOptions"))]
    if not run["changes"] and run["untouched"]:
        raise Inconclusive(run["untouched"][0])
    for id_, value, request in run["changes"]:
        result = run.result(request)
        options = objects_in(result.get("configOptions") if isinstance(result, dict) else None)
        lines = run.request_entry(request), run.answer_entry(request)
        missing = [each for each in known if each not in [option.get("id") for option in options]]
        if missing:
            raise Violation(f"options are missing in the answer: {', '.join(map(repr, missing))}", *lines)
        if not any(option.get("id") == id_ and option.get("currentValue") == value for option in options):
            raise Violation(f"the option {id_!r} does not have the value that was set", *lines)
    return "; ".join([f"{len(run['changes'])} options were set", *run["untouched"]])


@judge("ACP-CONFIG-003", steps=("meet", "turns"))
def a_client_that_did_not_ask_for_toggles_gets_none(evidence: Evidence) -> None:
    for record in evidence.records:
        if _wants_toggles(offered(record)):
            continue
        for entry, option in _options(record):
            if option.get("type") == "boolean":
                raise Violation(f"the toggle {option.get('id')!r} is sent to a client without toggles", entry)


def _wants_toggles(offered: dict[str, Any]) -> bool:
    said: Any = offered
    for key in ("session", "configOptions", "boolean"):
        said = said.get(key) if isinstance(said, dict) else None
    return said is not None


def _options(record: Record) -> Iterator[tuple[Entry, dict[str, Any]]]:
    """Every option in the results and updates of a process."""
    for entry, message in messages_in(record.entries):
        params = message.get("params")
        for said in (message.get("result"), params.get("update") if isinstance(params, dict) else None):
            options = said.get("configOptions") if isinstance(said, dict) else None
            for option in options if isinstance(options, list) else ():
                if isinstance(option, dict):
                    yield entry, option


@judge("ACCORD-JUNE-CONFIG-001", steps=("meet",))
def options_have_junes_names(evidence: Evidence) -> None:
    meet = evidence.begun("meet")
    for id_ in meet.get("new") or []:
        for entry, answer in meet.answers(id_):
            for option in listed(as_dict(answer.get("result")).get("configOptions")):
                _check_option(as_dict(option), entry)


def _check_option(option: dict[str, Any], entry: Entry) -> None:
    check_texts(option, ("id", "name", "type"), "an option", entry)
    for choice in listed(option.get("options")):
        if "options" in as_dict(choice):
            check_texts(choice, ("group", "name"), "a group", entry)


@judge("ACCORD-CONFIG-205", steps=("meet", "v2_wrong_options"))
def values_are_different(evidence: Evidence) -> None:
    for entry, options in option_lists(evidence, "configOptions"):
        for option in options:
            choices = dicts(option, "options")
            values = [each.get("value") for choice in choices for each in dicts(choice, "options") or [choice]]
            if len(values) != len({repr(value) for value in values}):
                raise Violation(f"option {option.get('configId')!r} has a value twice", entry)


def _in(value: Any) -> list[dict[str, Any]] | None:
    found = value.get("configOptions") if isinstance(value, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else None


def _lack(option: dict[str, Any]) -> str:
    """The fault of an option of v2, or ""."""
    for key in ("configId", "name"):
        if not is_whole(option.get(key)):
            return f"the {key} {option.get(key)!r}"
    type_ = option.get("type")
    if type_ not in {"select", "boolean"} and not is_extension(type_):
        return f"the type {type_!r}"
    if type_ != "select":
        return ""
    choices = option.get("options")
    if not isinstance(choices, list) or not all(isinstance(each, dict) for each in choices):
        return "no list of choices"
    if len({"options" in each for each in choices}) > 1:
        return "choices in groups beside others that are in none"
    return ""


def _check(options: list[dict[str, Any]], entry: Entry) -> None:
    for option in options:
        wrong = _lack(option)
        if wrong:
            raise Violation(f"an option has {wrong}", entry)


def _offered(evidence: Evidence) -> tuple[StepResult, list[dict[str, Any]]]:
    """The run of the step with the options, and the options that its session offered."""
    run = evidence.step("options")
    options = _in(run.result(run["new"])) or []
    skip_unless(options, "this session has no options")
    return run, options


@judge("ACP-CONFIG-201", steps=("options",))
def options_are_whole(evidence: Evidence) -> None:
    run, options = _offered(evidence)
    _check(options, run.answer_entry(run["new"]))
    meet = evidence.begun("meet")
    for id_ in meet.get("new") or []:
        answers = meet.answers(id_)
        if answers:
            _check(_in(answers[0][1].get("result")) or [], answers[0][0])


@judge("ACP-CONFIG-202", steps=("options",))
def setting_an_option_is_answered_with_all(evidence: Evidence) -> None:
    run, options = _offered(evidence)
    known = {option.get("configId") for option in options}
    if not run["changes"]:
        raise Inconclusive(next(iter(run["untouched"]), "no option can have another value"))
    for id_, value, request in run["changes"]:
        entries = run.request_entry(request), run.answer_entry(request)
        after = _in(run.answer(request).get("result"))
        if after is None:
            raise Violation(f"the option {id_!r} could not be set to {value!r}", *entries)
        missing = known - {option.get("configId") for option in after}
        if missing:
            raise Violation(f"the answer does not have the options {sorted(map(str, missing))}", *entries)


@judge("ACP-CONFIG-002", steps=("options",), editions=JUNE)
def setting_an_option_is_answered_with_all_and_the_new_value(evidence: Evidence) -> None:
    run, options = _offered(evidence)
    known = {option.get("id") for option in options}
    if not run["changes"]:
        raise Inconclusive(next(iter(run["untouched"]), "no option can have another value"))
    for id_, value, request in run["changes"]:
        entries = run.request_entry(request), run.answer_entry(request)
        after = {option.get("id"): option for option in _in(run.answer(request).get("result")) or []}
        if id_ not in after or after[id_].get("currentValue") != value:
            raise Violation(f"the answer does not have {value!r} for the option {id_!r}", *entries)
        if known - set(after):
            raise Violation(f"the answer does not have the options {sorted(map(str, known - set(after)))}", *entries)


@judge("ACP-CONFIG-203", steps=("options",))
def resuming_tells_options_in_the_same_shape(evidence: Evidence) -> None:
    run, _ = _offered(evidence)
    if run.get("resume") is None or "result" not in run.answer(run["resume"]):
        raise Inconclusive("the session was not resumed")
    options = _in(run.result(run["resume"]))
    if options is None:
        raise Inconclusive("resuming sent no options")
    _check(options, run.answer_entry(run["resume"]))


def _lists(evidence: Evidence) -> Iterator[tuple[Entry, list[dict[str, Any]]]]:
    """Every list of options, in all processes."""
    for _, entry, message in evidence.messages():
        params = message.get("params")
        said = params.get("update") if isinstance(params, dict) else message.get("result")
        options = _in(said)
        if options is not None:
            yield entry, options


def _select_values(option: dict[str, Any]) -> list[Any]:
    """The values of a select, in groups or not."""
    choices = [each for each in option.get("options") or [] if isinstance(each, dict)]
    nested = [each.get("options", [each]) for each in choices]
    return [one.get("value") for each in nested if isinstance(each, list) for one in each if isinstance(one, dict)]


@judge("ACP-CONFIG-204", steps=("options",), editions=V2)
@judge("ACP-CONFIG-001", steps=("options",), editions=JUNE)
def the_value_of_a_select_is_one_of_its_choices(evidence: Evidence) -> None:
    judged = 0
    for entry, options in _lists(evidence):
        for option in options:
            if option.get("type") == "select":
                judged += 1
                if option.get("currentValue") not in _select_values(option):
                    name = option.get(KEYS[evidence.edition])
                    raise Violation(f"the option {name!r} is {option.get('currentValue')!r}, which is no choice", entry)
    skip_unless(judged, "there is no select")


@judge("ACP-CONFIG-206", steps=("options",))
def an_update_about_options_has_all(evidence: Evidence) -> None:
    run, options = _offered(evidence)
    key = KEYS[evidence.edition]
    known = {option.get(key) for option in options}
    judged = 0
    for each in updates_of(evidence, "config_option_update"):
        judged += 1
        missing = known - {option.get(key) for option in _in(each.update) or []}
        if each.record.entries is run.entries and missing:
            raise Violation(
                f"an update does not have the options {sorted(map(str, missing))}",
                run.answer_entry(run["new"]),
                each.entry,
            )
    skip_unless(judged, "no update was about options")
