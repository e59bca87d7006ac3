"""`initialize`: versions, capabilities, and requests before it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeGuard

from accord.check.agent.conversation import BARE, INFO, AgentConversation, step
from accord.check.agent.exchange import NO_SESSION, answer_or_none, ask_all
from accord.check.agent.queries import (
    VERSION,
    as_dict,
    completed,
    handshake,
    handshakes,
    is_whole,
    meeting,
    must_be_refused,
    our_requests_in,
    request_fails_with,
)
from accord.check.engine.evidence import (
    INVALID_REQUEST,
    NO_VERSION,
    Evidence,
    Inconclusive,
    StepResult,
    Violation,
    is_answer,
    messages_in,
    skip_if,
    skip_unless,
)
from accord.check.engine.judging import Notes, judge, judge_rows, request_fails
from accord.check.engine.shape import Payload, shape_of
from accord.check.rule import FAR_FUTURE, JUNE, JUNE_V2, SESSIONS, V1, V1_JUNE, V2, RuleRow, agent_rules

# fmt: off
RULES = agent_rules(
    RuleRow("ACCORD-INIT-001", "II-", "initialization", "How a session before the handshake is answered"),
    RuleRow("ACCORD-INIT-002", "II-", "#ProtocolVersion", "How a handshake is answered whose version is no number"),
    RuleRow("ACCORD-INIT-201", "--M", "initialization", "A request before the handshake is refused with -32600"),
    RuleRow("ACCORD-INIT-202", "--M", "initialization", "A notification before the handshake is ignored"),
    RuleRow("ACCORD-INIT-203", "--A", "initialization",
        says="A handshake in this very version with an incomplete `info` is refused"),
    RuleRow("ACCORD-INIT-204", "--M", "initialization", "After a handshake that failed another one can succeed"),
    RuleRow("ACCORD-INIT-205", "--M", "#InitializeResponse", "Where no version fits, the handshake fails with -32022"),
    RuleRow("ACCORD-INIT-206", "--M", "#UnsupportedProtocolVersionErrorData",
        says="The error -32022 says which version was requested and which are supported"),
    RuleRow("ACCORD-INIT-207", "--M", "#ClientCapabilities",
        says="A capability of the client that is null or malformed counts as absent"),
    RuleRow("ACCORD-INIT-208", "--M", "initialization", "The handshake may be repeated before the first other request"),
    RuleRow("ACCORD-INIT-209", "--M", "initialization", "After another request the handshake is refused with -32600"),
    RuleRow("ACCORD-INIT-210", "--A", "initialization", "A client of a later version may leave out `info`"),
    RuleRow("ACCORD-INIT-211", "--M", "#InitializeResponse",
        says="The version that is agreed on is not above the one that was asked for"),
    RuleRow("ACP-INIT-001", "MMM", "initialization", says=(
        "The handshake succeeds, in the right shape, with a whole number for a version",
        "The handshake succeeds",
        "The handshake succeeds",
    )),
    RuleRow("ACP-INIT-002", "M--", "initialization", "A client that asks for version 1 gets it"),
    RuleRow("ACP-INIT-003", "MMM", "initialization", says=(
        "A client that asks for version 65535 gets an existing version, not below the one for v1",
        "A client that asks for version 65535 gets an existing version, not below the one for v2",
        "A client that asks for version 65535 gets an existing version, not below the one for v2",
    )),
    RuleRow("ACP-INIT-004", "AA-", ("#Implementation", "initialization", ""),
        says="The agent sends its name and its version"),
    RuleRow("ACP-INIT-201", "-MM", "initialization", says=(
        "",
        "The version in the handshake is a whole number: 2, or the agent's own latest",
        "The version in the handshake is a whole number, and not above the one asked for",
    )),
    RuleRow("ACP-INIT-202", "-MM", "initialization", says=(
        "",
        "A client that asks for version 1 gets a version, and is not refused",
        "A client that asks for version 1 gets it, gets 2, or gets the error that there is none so low",
    )),
    RuleRow("ACP-INIT-203", "--M", "#Implementation", "The agent sends a name and a version that are not empty"),
    RuleRow("ACP-INIT-204", "-MM", "initialization", "Capabilities are objects, null or absent, and never booleans"),
    RuleRow("ACCORD-JUNE-INIT-001", "-M-", "#InitializeResponse",
        says="Both sides send their capabilities in `capabilities`, and their names in `clientInfo` and `agentInfo`"),
)
# fmt: on


_ODD: dict[str, Any] = {"auth": None, "elicitation": True, "accord.check/unknown": {}}
_NOTHING: dict[str, Any] = {}

_SESSION_MARKERS: dict[str, Any] = {
    "prompt": {"image": {}, "audio": {}, "embeddedContext": {}},
    "mcp": {"stdio": {}, "http": {}},
    "delete": {},
    "additionalDirectories": {},
}

MARKERS: dict[str, dict[str, Any]] = {
    "v2": {"session": _SESSION_MARKERS, "auth": {}},
    "v2_june": {
        "session": {**_SESSION_MARKERS, "load": {}, "list": {}, "resume": {}, "close": {}},
        "auth": {"logout": {}},
    },
}
"""The capabilities of each edition as a tree."""


@step("able", gate=SESSIONS, order=10)
async def meet_able(agent: AgentConversation) -> Notes:
    """`initialized` is the result of its handshake; `prompt` the request of its turn."""
    new, opened = await agent.open()
    session = opened["sessionId"]
    prompt = await agent.turn(session, agent.tool_prompt)
    alive = await agent.is_alive()
    return {"initialized": agent.initialized, "new": new, "session": session, "prompt": prompt, "alive": alive}


@step("own", editions=V1_JUNE)
async def before_handshake(agent: AgentConversation) -> Notes:
    """A session before the handshake, a handshake without a version, and then a right one."""
    early = agent.ask("session/new", {"cwd": agent.cwd, "mcpServers": []})
    wrong = agent.ask("initialize", {**BARE[agent.edition], "protocolVersion": "newest"})
    right = agent.ask("initialize", BARE[agent.edition])
    await agent.wire.until(lambda entry: is_answer(entry.message, right), 0, agent.options.start_seconds)
    return {"early": early, "wrong": wrong, "right": right}


async def _probe(agent: AgentConversation, version: int) -> Notes:
    probe = agent.ask("initialize", {**BARE[agent.edition], "protocolVersion": version})
    await answer_or_none(agent, probe, agent.options.start_seconds)
    return {"probe": probe}


@step("own")
async def oversized_version(agent: AgentConversation) -> Notes:
    """A client with a version far above any that exists."""
    return await _probe(agent, FAR_FUTURE)


@step("own", editions=JUNE_V2)
async def version_one(agent: AgentConversation) -> Notes:
    """A client with the shape of this edition that asks for version 1."""
    return await _probe(agent, 1)


@step("own", editions=V2)
async def v2_before_the_handshake(agent: AgentConversation) -> Notes:
    """A request before the handshake; then clients of higher versions, one without a name and one with a name."""
    return await ask_all(
        agent,
        early=("session/list", {}),
        anonymous=("initialize", {"protocolVersion": 60000}),
        named=("initialize", {"protocolVersion": 60000, "info": INFO}),
    )


@step("own", editions=V2)
async def v2_early_notification(agent: AgentConversation) -> Notes:
    """A notification before the handshake, then the handshake; in its own process, since some agents exit."""
    since = agent.notify("session/cancel", {"sessionId": NO_SESSION})
    return {"since": since, **await ask_all(agent, handshake=("initialize", BARE["v2"]))}


@step("own", editions=V2)
async def v2_ancient_client(agent: AgentConversation) -> Notes:
    """A client that asks for version 0; in a process of its own, since an agent of version 1 may accept it."""
    return await ask_all(agent, ancient=("initialize", {**BARE["v2"], "protocolVersion": 0}))


@step("own", editions=V2)
async def v2_handshakes(agent: AgentConversation) -> Notes:
    """A handshake that fails, one with odd capabilities, one more; and another after the first request."""
    params = BARE["v2"]
    return await ask_all(
        agent,
        # Not without any `info`: that is the handshake of June, which an agent of both drafts may accept.
        incomplete=("initialize", {**params, "info": {"title": "A client without a name"}}),
        odd=("initialize", {**params, "capabilities": _ODD}),
        again=("initialize", params),
        other=("session/list", {}),
        late=("initialize", params),
    )


def _is_version(version: Any) -> TypeGuard[int]:
    return type(version) is int and 0 <= version <= FAR_FUTURE


@judge("ACP-INIT-001", steps=("meet",), editions=V1)
def the_handshake_succeeds(evidence: Evidence) -> None:
    meet = evidence.begun("meet")
    result, request, answer = meet.result(1), meet.request_entry(1), meet.answer_entry(1)
    if not isinstance(result, dict) or not _is_version(result.get("protocolVersion")):
        raise Violation("the answer to the handshake has no whole number for a version", request, answer)
    shape = shape_of("v1", Payload(answer, "initialize", result, is_result=True))
    if shape.problem:
        raise Violation(f"{shape.field or 'the answer'} does not fit: expected {shape.problem}", request, answer)


@judge("ACP-INIT-002", steps=("meet",))
def who_asks_for_version_one_gets_it(evidence: Evidence) -> None:
    meet, result = meeting(evidence)
    version = result.get("protocolVersion")
    skip_unless(_is_version(version), "the answer has no whole number for a version")
    if version != 1:
        raise meet.violation(f"asked for version 1 it answers {version}", 1)


@judge("ACP-INIT-003", steps=("meet", "oversized_version"), editions=V1)
def a_version_from_the_far_future_is_not_echoed(evidence: Evidence) -> None:
    _, plain = meeting(evidence)
    run = evidence.step("oversized_version")
    probe = run["probe"]
    result = run.result(probe)
    request, answer = run.request_entry(probe), run.answer_entry(probe)
    version = result.get("protocolVersion") if isinstance(result, dict) else None
    if not _is_version(version) or version == FAR_FUTURE:
        raise Violation(f"asked for a version that cannot be there it answers {version!r}", request, answer)
    plain_version = plain.get("protocolVersion")
    if _is_version(plain_version) and version < plain_version:
        raise Violation(
            f"asked for {FAR_FUTURE} it answers {version}, and asked for 1 it answers {plain_version}", request, answer
        )


@judge("ACP-INIT-004", steps=("meet",), editions=V1)
def the_agent_tells_its_name_and_version(evidence: Evidence) -> str:
    meet, result = meeting(evidence)
    info = result.get("agentInfo")
    name, version = (info.get("name"), info.get("version")) if isinstance(info, dict) else (None, None)
    if not isinstance(name, str) or not isinstance(version, str) or not name or not version:
        raise Violation("agentInfo with a name and a version is missing", meet.answer_entry(1))
    return f"{name} {version}"


def _outcome(evidence: Evidence, name: str) -> str:
    run = completed(evidence, "before_handshake")
    answers = run.answers(run[name])
    if not answers:
        return "it was not answered"
    error = as_dict(answers[0][1].get("error"))
    return f"it was refused with {error.get('code')}" if error else "it was accepted"


@judge("ACCORD-JUNE-INIT-001", steps=("meet",))
def the_handshake_is_in_junes_words(evidence: Evidence) -> None:
    meet = evidence.begun("meet")
    answers = meet.answers(meet.get("initialize"))
    result = as_dict(answers[0][1].get("result")) if answers else {}
    skip_unless(result, "there was no handshake")
    for key, wanted in (("agentCapabilities", "capabilities"), ("info", "agentInfo")):
        if key in result:
            raise Violation(f"it says `{key}` where June says `{wanted}`", answers[0][0])


def _version(value: dict[str, Any]) -> int | None:
    version = value.get("protocolVersion")
    return version if type(version) is int else None


@judge("ACP-INIT-001", steps=("meet",), editions=JUNE_V2, name="the_handshake_succeeds")
def the_handshake_succeeds_in_v2(evidence: Evidence) -> None:
    handshake(evidence)


@judge("ACP-INIT-201", steps=("meet",))
def the_version_is_one_that_was_asked_for(evidence: Evidence) -> None:
    asked, result = handshake(evidence)
    version = _version(result)
    # There is no version above the one that is asked for.
    if version is None or not 1 <= version <= VERSION:
        raise asked.violation(f"the version is {result.get('protocolVersion')!r}, and 2 was asked for")


@judge(
    "ACP-INIT-003",
    steps=("meet", "oversized_version"),
    editions=JUNE_V2,
    name="a_version_from_the_far_future_is_not_echoed",
)
def a_version_from_the_far_future_is_not_echoed_in_v2(evidence: Evidence) -> None:
    asked, result = handshake(evidence)
    (probe,) = our_requests_in(evidence.begun("oversized_version"), "initialize")
    if probe.result is None:
        raise probe.violation("a client that asks for version 65535 gets no version")
    version, plain = _version(probe.result), _version(result)
    if version is None or version == FAR_FUTURE:
        raise probe.violation(f"a client that asks for version 65535 gets {probe.result.get('protocolVersion')!r}")
    if plain is not None and version < plain:
        raise Violation(
            f"a client that asks for version 65535 gets {version}, and one that asks for 2 gets {plain}",
            asked.answer_entry,
            probe.answer_entry,
        )


@judge("ACP-INIT-202", steps=("version_one",))
def version_one_is_answered_with_a_version(evidence: Evidence) -> str:
    (probe,) = our_requests_in(evidence.begun("version_one"), "initialize")
    error = probe.answer.get("error")
    if evidence.edition == "v2" and isinstance(error, dict) and error.get("code") == NO_VERSION:
        return "there is no version so low"
    version = None if probe.result is None else _version(probe.result)
    if version not in {1, 2}:
        raise probe.violation("a client that asks for version 1 gets neither 1 nor 2")
    return f"version {version}"


@judge("ACP-INIT-203", steps=("meet",), name="the_agent_tells_its_name_and_version")
def the_agent_tells_its_name_and_version_in_v2(evidence: Evidence) -> None:
    asked = handshakes(evidence)[0]
    info = (asked.result or _NOTHING).get("info")
    if not isinstance(info, dict):
        raise Violation("there is no info", asked.answer_entry)
    for key in ("name", "version"):
        if not is_whole(info.get(key)):
            raise Violation(f"info.{key} is {info.get(key)!r}", asked.answer_entry)


@judge("ACP-INIT-004", steps=("meet",), editions=JUNE)
def the_agent_tells_its_name(evidence: Evidence) -> None:
    asked = handshakes(evidence)[0]
    info = (asked.result or _NOTHING).get("agentInfo")
    # That both are texts is for the rule about the schema.
    if not isinstance(info, dict) or not info.get("name") or not info.get("version"):
        raise Violation(f"agentInfo is {info!r}", asked.answer_entry)


def _markers(said: Any, tree: dict[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    """Every advertised capability that the edition defines, with its path."""
    yield path, said
    if isinstance(said, dict):
        for key, inner in tree.items():
            if key in said:
                yield from _markers(said[key], inner, f"{path}.{key}")


@judge("ACP-INIT-204", steps=("meet",))
def capabilities_are_objects(evidence: Evidence) -> None:
    for asked in handshakes(evidence):
        said = (asked.result or {}).get("capabilities")
        for path, marker in _markers(said, MARKERS[evidence.edition], "capabilities"):
            if marker is not None and not isinstance(marker, dict):
                raise Violation(f"{path} is {marker!r}, and no object", asked.answer_entry)


def _succeeded(run: StepResult, name: str) -> bool:
    return any("result" in answer for _, answer in run.answers(run[name]))


@judge("ACCORD-INIT-202", steps=("v2_early_notification",))
def early_notifications_are_ignored(evidence: Evidence) -> None:
    run = evidence.step("v2_early_notification")
    notified = run.entries[run["since"]]
    for entry, each in messages_in(run.entries):
        if "method" not in each and each.get("id") is None:
            raise Violation("something was said to it", notified, entry)
    if not run.answers(run["handshake"]):
        raise Violation("the handshake after it was not answered", notified, run.request_entry(run["handshake"]))


@judge("ACCORD-INIT-204", steps=("v2_handshakes",))
def a_failed_handshake_can_be_followed_by_another(evidence: Evidence) -> None:
    run = evidence.step("v2_handshakes")
    if not _succeeded(run, "odd"):
        run.result(run["again"])


@judge("ACCORD-INIT-205", steps=("v2_ancient_client",))
def no_version_fits(evidence: Evidence) -> None:
    run = evidence.step("v2_ancient_client")
    if _succeeded(run, "ancient"):
        result = run.result(run["ancient"])
        if isinstance(result, dict) and result.get("protocolVersion") == 1:
            raise Inconclusive("it speaks version 1 as well, which has no such error")
    must_be_refused(run, run["ancient"], NO_VERSION)


@judge("ACCORD-INIT-206", steps=("v2_ancient_client",))
def the_versions_are_sent(evidence: Evidence) -> None:
    run = evidence.step("v2_ancient_client")
    answer = run.answer(run["ancient"])
    error = answer.get("error")
    if not isinstance(error, dict) or error.get("code") != NO_VERSION:
        raise Inconclusive("there was no error -32022")
    data = error.get("data")
    supported = data.get("supported") if isinstance(data, dict) else None
    is_complete = isinstance(data, dict) and data.get("requested") == 0 and isinstance(supported, list)
    if not is_complete or not all(type(version) is int for version in supported or []):
        raise run.violation(f"the data is {data!r}", run["ancient"])


@judge("ACCORD-INIT-207", steps=("v2_handshakes",))
def odd_capabilities_count_as_absent(evidence: Evidence) -> None:
    run = evidence.step("v2_handshakes")
    if not _succeeded(run, "odd") and not _succeeded(run, "again"):
        raise Inconclusive("no handshake succeeded after one that had failed")
    run.result(run["odd"])


@judge("ACCORD-INIT-208", steps=("v2_handshakes",))
def the_handshake_can_be_repeated(evidence: Evidence) -> None:
    run = evidence.step("v2_handshakes")
    skip_unless(_succeeded(run, "odd"), "the handshake before did not succeed")
    run.result(run["again"])


@judge("ACCORD-INIT-209", steps=("v2_handshakes",))
def the_handshake_is_fixed_after_another_request(evidence: Evidence) -> None:
    run = evidence.step("v2_handshakes")
    skip_if(not _succeeded(run, "odd") and not _succeeded(run, "again"), "no handshake had succeeded")
    must_be_refused(run, run["late"], INVALID_REQUEST)


@judge("ACCORD-INIT-210", steps=("v2_before_the_handshake",))
def a_newer_client_may_be_nameless(evidence: Evidence) -> None:
    run = evidence.step("v2_before_the_handshake")
    skip_if(not _succeeded(run, "anonymous") and not _succeeded(run, "named"), "no newer client was welcome at all")
    run.result(run["anonymous"])


@judge("ACCORD-INIT-211", steps=("version_one",))
def no_version_is_above_the_one_asked_for(evidence: Evidence) -> None:
    run = evidence.step("version_one")
    result = run.answer(run["probe"]).get("result")
    version = result.get("protocolVersion") if isinstance(result, dict) else None
    if type(version) is int and version > 1:
        raise run.violation(f"version 1 was asked for, and {version} is the answer", run["probe"])


judge_rows(
    _outcome,
    ("ACCORD-INIT-001", "what_comes_of_a_session_before_the_handshake", "early"),
    ("ACCORD-INIT-002", "what_comes_of_a_handshake_without_a_number", "wrong"),
    steps=("before_handshake",),
)
judge_rows(
    request_fails_with,
    ("ACCORD-INIT-201", "early_requests_are_refused", "v2_before_the_handshake", "early", INVALID_REQUEST),
)
judge_rows(request_fails, ("ACCORD-INIT-203", "a_client_of_this_version_has_a_name", "v2_handshakes", "incomplete"))
