"""Requests about sessions that do not exist or must not be made."""

from __future__ import annotations

from typing import Any

from accord.check.agent.conversation import LOGIN, AgentConversation, step, text
from accord.check.agent.exchange import (
    NO_SESSION,
    UNKNOWN_ID,
    advertises,
    answer_or_none,
    ask_all,
    ask_and_blame,
    lives,
)
from accord.check.agent.queries import (
    as_dict,
    code_of_answer,
    completed,
    describe_reaction,
    dicts,
    judge_refusals,
    must_be_refused,
    refusal,
    request_fails_with,
)
from accord.check.engine.evidence import (
    INVALID_PARAMS,
    NOT_FOUND,
    Evidence,
    StepFailed,
    Violation,
    skip_if,
    skip_unless,
)
from accord.check.engine.judging import Notes, judge, judge_rows
from accord.check.engine.settings import Setting, settings_in
from accord.check.rule import SESSIONS, V1_JUNE, V2, RuleRow, agent_rules

# fmt: off
RULES = agent_rules(
    RuleRow("ACCORD-CONFIG-005", "AA-", "session-config-options", gate="new.configOptions",
        says="An option, or a value of one, that is not there is refused"),
    RuleRow("ACCORD-CONFIG-201", "--C", "#SetSessionConfigOptionRequest", gate="new.configOptions",
        says="An unknown option is refused with -32602"),
    RuleRow("ACCORD-CONFIG-202", "--C", "#SetSessionConfigOptionRequest", gate="new.configOptions",
        says="A value that an option does not have is refused with -32602"),
    RuleRow("ACCORD-CONFIG-203", "--C", "session-config-options", gate="new.configOptions",
        says="A value of an unknown type is refused with -32602"),
    RuleRow("ACCORD-CONFIG-204", "--C", "session-config-options", gate="new.configOptions",
        says="What was refused changes no option"),
    RuleRow("ACP-INFO-UNKNOWNSESSION-001", "III", ("#ErrorCode", "prompt-turn", "#SessionNotFoundErrorData"),
        "How a prompt for an unknown session is answered", gate="session"),
    RuleRow("ACCORD-SESSION-201", "--A", "session-setup", gate="session",
        says="A session in a relative directory is refused with -32602"),
    RuleRow("ACCORD-SESSION-202", "--C", "session-setup", gate="session",
        says="A session without a directory is refused with -32602"),
    RuleRow("ACCORD-UNKNOWN-201", "--C", "error", gate="session",
        says="A prompt for an unknown session is refused with -32002"),
    RuleRow("ACCORD-UNKNOWN-202", "--C", "error", "Resuming an unknown session is refused with -32002", gate="session"),
    RuleRow("ACCORD-UNKNOWN-203", "--C", "#SessionNotFoundErrorData", gate="session",
        says="The error -32002 says which session was not found"),
    RuleRow("ACCORD-VALID-001", "AA-", "#NewSessionRequest", gate="session",
        says="A session without a folder is refused with -32602"),
    RuleRow("ACCORD-VALID-002", "AA-", "session-setup", "A session in a relative folder is refused", gate="session"),
    RuleRow("ACCORD-VALID-003", "II-", "#NewSessionRequest", gate="session",
        says="How a session without a list of MCP servers is answered"),
    RuleRow("ACCORD-VALID-004", "AA-", "#ErrorCode", "Params that do not fit are refused with -32602", gate="session"),
    RuleRow("ACCORD-VALID-005", "AA-", "prompt-turn", gate="session",
        says="A prompt for a session that is not there is refused"),
)
# fmt: on


_NO_VALUE = "accord-check-no-such-value"

_SERVERS: dict[str, dict[str, Any]] = {
    "stdio": {"type": "stdio", "name": "accord-check", "command": "/bin/false", "args": [], "env": []},
    "http": {"type": "http", "name": "accord-check", "url": "http://127.0.0.1:9/", "headers": []},
}


@step("bare", editions=V1_JUNE, order=70)
async def invalid_sessions(agent: AgentConversation) -> Notes:
    """Sessions without a folder, in a relative one and without servers; a login method that was not offered."""
    return {
        "no_cwd": await ask_and_blame(agent, "session/new", {"mcpServers": []}, "ACCORD-VALID-001"),
        "relative": await ask_and_blame(
            agent, "session/new", {"cwd": "some/where", "mcpServers": []}, "ACCORD-VALID-002"
        ),
        "no_servers": await ask_and_blame(agent, "session/new", {"cwd": agent.cwd}, "ACCORD-VALID-003"),
        "login": await ask_and_blame(agent, LOGIN[agent.edition], {"methodId": UNKNOWN_ID}, "ACCORD-AUTH-001"),
    }


@step("bare", editions=V1_JUNE, order=72)
async def invalid_params(agent: AgentConversation) -> Notes:
    """Params that do not fit, of methods that every agent has."""
    session = await agent.new()
    probes = {
        "a prompt that is missing": ("session/prompt", {"sessionId": session}),
        "a prompt that is no list": ("session/prompt", {"sessionId": session, "prompt": "hello"}),
        "a session id that is a number": ("session/prompt", {"sessionId": 42, "prompt": []}),
        "a cwd that is a number": ("session/new", {"cwd": 5, "mcpServers": []}),
    }
    asked = {name: await ask_and_blame(agent, *probe, "ACCORD-VALID-004") for name, probe in probes.items()}
    blocks = [{"type": "text", "text": "hello"}]
    unknown = await ask_and_blame(
        agent, "session/prompt", {"sessionId": UNKNOWN_ID, "prompt": blocks}, "ACCORD-VALID-005"
    )
    if not await lives(agent):
        raise StepFailed("the agent did not survive params that do not fit", "ACCORD-VALID-004")
    return {"session": session, "asked": asked, "unknown": unknown}


@step("bare", editions=V1_JUNE, order=74, gate={"v1": "new.configOptions", "v2_june": "new.configOptions"})
async def invalid_options(agent: AgentConversation) -> Notes:
    """An unknown option, and a value that an option does not have."""
    opened = await agent.result("session/new", {"cwd": agent.cwd, "mcpServers": []}, "ACP-SESSION-001")
    session, rule = opened.get("sessionId"), "ACCORD-CONFIG-005"
    params = {"sessionId": session, "configId": UNKNOWN_ID, "value": "x"}
    notes: Notes = {"option": await ask_and_blame(agent, "session/set_config_option", params, rule)}
    for setting in settings_in(opened):
        is_select = setting.key.kind == "option" and isinstance(setting.value, str)
        # An agent that accepts any value has changed it then: so only where that is allowed, and restored.
        if is_select and agent.ledger is not None and not agent.ledger.why_not(setting, UNKNOWN_ID):
            params = {"sessionId": session, "configId": setting.key.id, "value": UNKNOWN_ID}
            notes["value"] = await ask_and_blame(agent, "session/set_config_option", params, rule)
            break
    return notes


@step(order=75)
async def unknown_session(agent: AgentConversation) -> Notes:
    """A prompt and a cancellation for an unknown session."""
    prompt = agent.prompt("nobody", agent.options.prompt)
    await answer_or_none(agent, prompt)
    cancel = agent.notify("session/cancel", {"sessionId": "nobody"})
    return {"prompt": prompt, "cancel": cancel, "alive": await agent.is_alive()}


@step("bare", editions=V2, gate=SESSIONS)
async def v2_refused_sessions(agent: AgentConversation) -> Notes:
    """Sessions with invalid params, and one with null in place of lists."""
    unknown = {"type": "_accord.check/pigeons", "name": "accord-check"}
    ids = await ask_all(
        agent,
        relative=("session/new", {"cwd": "somewhere/else"}),
        nowhere=("session/new", {"mcpServers": []}),
        nulls=("session/new", {"cwd": agent.cwd, "mcpServers": None, "additionalDirectories": None}),
        pigeons=("session/new", {"cwd": agent.cwd, "mcpServers": [unknown]}),
    )
    for name, server in _SERVERS.items():
        if not advertises(agent, f"mcp.{name}"):
            ids |= await ask_all(agent, **{name: ("session/new", {"cwd": agent.cwd, "mcpServers": [server]})})
    return ids


@step("bare", editions=V2, gate=SESSIONS)
async def v2_unknown_sessions(agent: AgentConversation) -> Notes:
    """An unknown session is prompted, resumed and closed."""
    named = {"sessionId": NO_SESSION}
    return await ask_all(
        agent,
        prompt=("session/prompt", {**named, "prompt": [text(agent.options.prompt)]}),
        resume=("session/resume", {**named, "cwd": agent.cwd, "mcpServers": []}),
        close=("session/close", named),
    )


@step("bare", editions=V2, gate={"v2": "new.configOptions"})
async def v2_wrong_options(agent: AgentConversation) -> Notes:
    """An unknown option, an unknown value and one of an unknown type; then a value that is set already."""
    new = agent.ask("session/new", {"cwd": agent.cwd, "mcpServers": []})
    result = (await agent.answer(new, "ACP-SESSION-001")).get("result")
    named = {"sessionId": result.get("sessionId") if isinstance(result, dict) else None}
    selects = _selects(agent, result)
    unknown = {"configId": "accord-check-no-such-option", "type": "id", "value": "x"}
    ids = await ask_all(agent, option=("session/set_config_option", {**named, **unknown}))
    if not selects:
        return {"new": new, **ids}
    # Setting the same option would hide a change by a refused request.
    last = {**named, "configId": selects[-1].key.id, "type": "id", "value": selects[-1].value}
    named |= {"configId": selects[0].key.id}
    ids |= await ask_all(
        agent,
        value=("session/set_config_option", {**named, "type": "id", "value": _NO_VALUE}),
        type=("session/set_config_option", {**named, "type": "_accord.check/colour", "value": "#fff"}),
        same=("session/set_config_option", last),
    )
    return {"new": new, **ids}


def _selects(agent: AgentConversation, result: Any) -> list[Setting]:
    """The options of a new session with values to choose from, without protected ones."""
    if agent.ledger is None:
        return []
    found = [each for each in settings_in(result) if each.key.kind == "option" and isinstance(each.value, str)]
    return [setting for setting in found if not agent.ledger.why_not(setting, _NO_VALUE)]


@judge("ACP-INFO-UNKNOWNSESSION-001", steps=("unknown_session",))
def how_a_prompt_for_an_unknown_session_is_answered(evidence: Evidence) -> str:
    run = evidence.step("unknown_session")
    answers = run.answers(run["prompt"])
    return f"it is answered with {describe_reaction(answers[0][1])}" if answers else "it is not answered"


@judge("ACCORD-CONFIG-005", steps=("invalid_options",))
def options_and_values_that_are_not_there_are_refused(evidence: Evidence) -> None:
    run = completed(evidence, "invalid_options", "ACCORD-CONFIG-005")
    refusal(run, run["option"])
    if run.get("value") is not None:
        refusal(run, run["value"])


@judge("ACCORD-VALID-003", steps=("invalid_sessions",))
def what_comes_of_a_session_without_a_list_of_servers(evidence: Evidence) -> str:
    run = completed(evidence, "invalid_sessions")
    answer = run.answer(run["no_servers"])
    return "it was accepted" if "result" in answer else f"it was refused with {as_dict(answer['error']).get('code')}"


@judge("ACCORD-VALID-004", steps=("invalid_params",))
def params_that_do_not_fit_are_invalid_params(evidence: Evidence) -> None:
    run = completed(evidence, "invalid_params", "ACCORD-VALID-004")
    for name, id_ in run["asked"].items():
        answer = run.answer(id_)
        code = as_dict(answer.get("error")).get("code")
        if code != INVALID_PARAMS:
            got = f"the error {code}" if "error" in answer else "a result"
            raise run.violation(f"{name} got {got}", id_)


@judge("ACCORD-UNKNOWN-203", steps=("v2_unknown_sessions",))
def the_unknown_session_is_named(evidence: Evidence) -> None:
    run = evidence.step("v2_unknown_sessions")
    ids = [run[name] for name in ("prompt", "resume") if code_of_answer(run, run[name]) == NOT_FOUND]
    skip_unless(ids, "there was no error -32002")
    for id_ in ids:
        data = run.error(id_).get("data")
        request = run.request_entry(id_)
        asked = request.message["params"]["sessionId"] if request else None
        if not isinstance(data, dict) or data.get("sessionId") != asked:
            raise Violation(f"the data is {data!r}", request, run.answer_entry(id_))


def _wrong_option(evidence: Evidence, name: str) -> None:
    run = evidence.step("v2_wrong_options")
    skip_unless(run.get(name), "there is no option with values to choose from")
    must_be_refused(run, run[name], INVALID_PARAMS)


@judge("ACCORD-CONFIG-204", steps=("v2_wrong_options",))
def what_was_refused_changes_nothing(evidence: Evidence) -> None:
    run = evidence.step("v2_wrong_options")
    skip_unless(run.get("same"), "there is no option with values to choose from")
    skip_if("result" not in run.answer(run["same"]), "session/set_config_option did not succeed")
    before, after = _option_values(run.result(run["new"])), _option_values(run.result(run["same"]))
    for id_, value in after.items():
        if id_ in before and before[id_] != value:
            raise Violation(f"{id_!r} was {before[id_]!r} and is {value!r}", run.answer_entry(run["same"]))


def _option_values(result: Any) -> dict[Any, Any]:
    return {option.get("configId"): option.get("currentValue") for option in dicts(result, "configOptions")}


judge_refusals(
    ("ACCORD-VALID-001", "a_session_needs_a_folder", "invalid_sessions", "no_cwd", INVALID_PARAMS),
    ("ACCORD-VALID-002", "a_relative_folder_is_refused", "invalid_sessions", "relative"),
    ("ACCORD-VALID-005", "a_session_that_is_not_there_gets_no_turn", "invalid_params", "unknown"),
)
judge_rows(
    request_fails_with,
    ("ACCORD-SESSION-201", "a_relative_directory_is_refused", "v2_refused_sessions", "relative", INVALID_PARAMS),
    ("ACCORD-SESSION-202", "no_directory_is_refused", "v2_refused_sessions", "nowhere", INVALID_PARAMS),
    ("ACCORD-UNKNOWN-201", "prompting_an_unknown_session_is_refused", "v2_unknown_sessions", "prompt", NOT_FOUND),
    ("ACCORD-UNKNOWN-202", "resuming_an_unknown_session_is_refused", "v2_unknown_sessions", "resume", NOT_FOUND),
)
judge_rows(
    _wrong_option,
    ("ACCORD-CONFIG-201", "an_unknown_option_is_refused", "option"),
    ("ACCORD-CONFIG-202", "an_unknown_value_is_refused", "value"),
    ("ACCORD-CONFIG-203", "a_value_of_an_unknown_type_is_refused", "type"),
    steps=("v2_wrong_options",),
)
