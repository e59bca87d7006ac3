"""`initialize`, sessions, prompts, cancellation, and the methods that a client calls."""

from __future__ import annotations

import re
from typing import Any

from accord.check.engine.evidence import Entry, Evidence, Inconclusive, Record, Violation, skip_unless
from accord.check.engine.judging import judge
from accord.check.rule import EditionName, RuleRow, client_rules

# fmt: off
RULES = client_rules(
    RuleRow("ACCORD-CLIENT-GATE-001", "MMM", "initialization",
        says="A client calls nothing optional that its agent does not advertise"),
    RuleRow("ACCORD-CLIENT-GATE-002", "MMM", "extensibility",
        says="What is no method of the edition is called only by a name that begins with an underscore"),
    RuleRow("ACCORD-CLIENT-INIT-001", "MMM", "initialization", "The first message of a client is `initialize`"),
    RuleRow("ACCORD-CLIENT-INIT-002", "MMM", "initialization",
        says="The version that a client asks for is an integer from 0 to 65535"),
    RuleRow("ACCORD-CLIENT-INIT-003", "AAM", "initialization", "A client says its name and version"),
    RuleRow("ACCORD-CLIENT-INIT-004", "MMM", "initialization",
        says="What a client offers has the shape that the edition gives it"),
    RuleRow("ACCORD-CLIENT-INIT-005", "AAA", "initialization",
        says="A client opens no session in a version that it did not ask for and does not know"),
    RuleRow("ACCORD-CLIENT-INIT-006", "III", "initialization", "What the client offers is recorded"),
    RuleRow("ACCORD-CLIENT-INIT-007", "--M", "initialization",
        says="The handshake is not repeated when something else was asked"),
    RuleRow("ACCORD-CLIENT-SESSION-001", "MMM", "session-setup", "A session works at an absolute path"),
    RuleRow("ACCORD-CLIENT-SESSION-002", "MMM", "session-setup",
        says="MCP servers are a list of servers that the agent can reach; before v2 it is always there"),
    RuleRow("ACCORD-CLIENT-SESSION-003", "MMM", "session-setup",
        says="Further directories are named only to an agent that takes them"),
    RuleRow("ACCORD-CLIENT-SESSION-004", "MMM", "session-setup",
        says="A client prompts and cancels only sessions that its agent opened"),
    RuleRow("ACCORD-CLIENT-CANCEL-003", "M-M", "cancellation", "A client takes back only requests that it made"),
    RuleRow("ACCORD-CLIENT-CANCEL-004", "MMM", "prompt-turn", "`session/cancel` is a notification"),
    RuleRow("ACCORD-CLIENT-CANCEL-005", "AAA", "prompt-turn",
        says="A client listens on after it has cancelled, until the work has ended"),
    RuleRow("ACCORD-CLIENT-CONFIG-002", "MMM", "session-config-options",
        says="An option is set with the value and the type that the edition wants"),
    RuleRow("ACCORD-CLIENT-META-001", "MMM", "extensibility",
        says="Nothing is added to the protocol's own types but inside `_meta`"),
    RuleRow("ACCORD-CLIENT-PROMPT-001", "MMM", "content",
        says="A prompt is a list of content blocks, each with its type and content"),
    RuleRow("ACCORD-CLIENT-PROMPT-002", "MMM", "prompt-turn",
        says="A prompt has only text and links where the agent advertises nothing else"),
    RuleRow("ACCORD-CLIENT-PROMPT-003", "--M", "prompt-turn", "A prompt has at least one block"),
    RuleRow("ACCORD-CLIENT-TURN-001", "MMM", "prompt-turn", "A client that prompts stays until the work has ended"),
)
# fmt: on


MAX_VERSION = 65535

METHODS: dict[EditionName, set[str]] = {
    "v1": {"initialize", "session/new", "session/prompt", "session/cancel", "session/set_config_option"},
    "v2_june": {"initialize", "session/new", "session/prompt", "session/cancel", "session/set_config_option"},
    "v2": {"initialize", "session/new", "session/prompt", "session/cancel", "session/set_config_option"}
    | {"session/list", "session/resume", "session/close"},
}
"""Methods of every agent, and those that our stub advertises."""

GATED: dict[EditionName, set[str]] = {
    "v1": {"authenticate", "logout", "session/set_mode"}
    | {f"session/{verb}" for verb in ("load", "list", "resume", "close", "delete")},
    "v2_june": {"authenticate", "logout"}
    | {f"session/{verb}" for verb in ("load", "list", "resume", "close", "delete")},
    "v2": {"auth/login", "auth/logout", "session/delete", "tool_call/cancel", "terminal/cancel"},
}
"""Methods that an agent has to advertise first."""
ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")

SHAPES: dict[EditionName, dict[str, type]] = {
    "v1": {
        "fs": dict,
        "fs.readTextFile": bool,
        "fs.writeTextFile": bool,
        "terminal": bool,
        "session": dict,
        "session.notices": dict,
        "session.compaction": dict,
        "session.configOptions": dict,
        "session.configOptions.boolean": dict,
        "auth": dict,
        "auth.terminal": bool,
        "elicitation": dict,
        "elicitation.form": dict,
        "elicitation.url": dict,
    },
    "v2_june": {},
    "v2": {"auth": dict, "auth.terminal": dict, "elicitation": dict, "elicitation.form": dict, "elicitation.url": dict},
}


def _calls(evidence: Evidence, method: str) -> list[tuple[Entry, dict[str, Any]]]:
    """Calls of a method by the client, without those to the agent with an unknown version."""
    found = [
        (entry, message)
        for record, entry, message in evidence.messages()
        if message.get("method") == method and not record.name.endswith("strange")
    ]
    if not found:
        raise Inconclusive(f"there was no {method}")
    return found


def _params(entry: Entry, message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params")
    if not isinstance(params, dict):
        raise Violation(f"{message['method']} has no params", entry)
    return params


@judge("ACCORD-CLIENT-INIT-001", steps=())
def the_handshake_comes_first(evidence: Evidence) -> None:
    for record in evidence.records:
        said = next((entry for entry in record.received() if isinstance(entry.message, dict)), None)
        if said is not None and said.message.get("method") != "initialize":
            raise Violation("the first message was no `initialize`", said)
    if not any(message.get("method") == "initialize" for _, _, message in evidence.messages()):
        raise Violation(
            f"the client never shook hands: does it start the agent that it was given?{_last_stderr_line(evidence)}"
        )


def _last_stderr_line(evidence: Evidence) -> str:
    said = [line for record in evidence.records for line in record.stderr.decode(errors="replace").splitlines() if line]
    return f" It said: {said[-1]}" if said else ""


@judge("ACCORD-CLIENT-INIT-002", steps=())
def the_version_is_a_small_integer(evidence: Evidence) -> None:
    for entry, message in _calls(evidence, "initialize"):
        version = _params(entry, message).get("protocolVersion")
        if type(version) is not int or not 0 <= version <= MAX_VERSION:
            raise Violation(f"the version is {version!r}", entry)


@judge("ACCORD-CLIENT-INIT-003", steps=())
def the_client_says_who_it_is(evidence: Evidence) -> None:
    key = "info" if evidence.edition == "v2" else "clientInfo"
    entry, message = _calls(evidence, "initialize")[-1]
    info = _params(entry, message).get(key)
    if not isinstance(info, dict) or not all(isinstance(info.get(word), str) for word in ("name", "version")):
        raise Violation(f"`{key}` has no name and version", entry)


@judge("ACCORD-CLIENT-INIT-004", steps=())
def what_is_offered_has_its_shape(evidence: Evidence) -> None:
    entry, message = _calls(evidence, "initialize")[-1]
    key = "clientCapabilities" if evidence.edition == "v1" else "capabilities"
    offered = _params(entry, message).get(key)
    if not isinstance(offered, dict | None):
        raise Violation(f"`{key}` is no object", entry)
    for path, kind in SHAPES[evidence.edition].items():
        said: Any = offered
        for word in path.split("."):
            said = said.get(word) if isinstance(said, dict) else None
        if said is not None and not isinstance(said, kind):
            raise Violation(f"`{key}.{path}` is {said!r}", entry)


@judge("ACCORD-CLIENT-INIT-005", steps=())
def a_strange_version_is_the_end(evidence: Evidence) -> None:
    records = [record for record in evidence.records if record.name.endswith("strange")]
    met = False
    for record in records:
        for entry in record.entries:
            message = entry.message if isinstance(entry.message, dict) else {}
            met = met or (entry.sent and "result" in message)
            if met and not entry.sent and str(message.get("method", "")).startswith("session/"):
                answer = next(each for each in record.entries if each.sent)
                raise Violation("it went on in a version that it cannot know", answer, entry)
    skip_unless(met, "the client did not shake hands again")


@judge("ACCORD-CLIENT-INIT-006", steps=())
def what_it_offers_is_recorded(evidence: Evidence) -> str:
    entry, message = _calls(evidence, "initialize")[-1]
    offered = _params(entry, message).get("clientCapabilities" if evidence.edition == "v1" else "capabilities")
    names = sorted(_leaves(offered))
    return f"offers {', '.join(names)}" if names else "offers nothing"


@judge("ACCORD-CLIENT-INIT-007", steps=())
def the_handshake_is_not_repeated_later(evidence: Evidence) -> None:
    for record in evidence.records:
        other: Entry | None = None
        for entry in record.received():
            message = entry.message if isinstance(entry.message, dict) else {}
            if message.get("method") == "initialize" and other is not None:
                raise Violation("`initialize` came again after another request", other, entry)
            if "id" in message and isinstance(message.get("method"), str) and message["method"] != "initialize":
                other = other or entry
    _calls(evidence, "initialize")


def _leaves(offered: Any, path: str = "") -> list[str]:
    if not isinstance(offered, dict) or (path and not offered):
        return [path] if path and offered not in (None, False) else []
    found = [_leaves(value, f"{path}.{key}" if path else key) for key, value in offered.items() if key != "_meta"]
    return [name for names in found for name in names]


@judge("ACCORD-CLIENT-SESSION-001", steps=())
def sessions_work_at_an_absolute_path(evidence: Evidence) -> None:
    for entry, message in _calls(evidence, "session/new"):
        cwd = _params(entry, message).get("cwd")
        if not isinstance(cwd, str) or not ABSOLUTE.match(cwd):
            raise Violation(f"`cwd` is {cwd!r}", entry)


@judge("ACCORD-CLIENT-SESSION-002", steps=())
def tool_servers_are_a_list(evidence: Evidence) -> None:
    for entry, message in _calls(evidence, "session/new"):
        servers = _params(entry, message).get("mcpServers", [] if evidence.edition == "v2" else None)
        if not isinstance(servers, list):
            raise Violation("`mcpServers` is no list", entry)
        for server in servers:
            _check_server(evidence, entry, server)


def _check_server(evidence: Evidence, entry: Entry, server: Any) -> None:
    if not isinstance(server, dict) or not isinstance(server.get("name"), str):
        raise Violation("an MCP server has no name", entry)
    if evidence.edition != "v1" and not isinstance(server.get("type"), str):
        raise Violation("an MCP server does not say its type", entry)
    if server.get("type") in {"http", "sse"}:
        raise Violation("an MCP server is reached in a way that the agent does not have", entry)


@judge("ACCORD-CLIENT-SESSION-003", steps=())
def further_roots_are_named_only_to_who_takes_them(evidence: Evidence) -> None:
    for entry, message in _calls(evidence, "session/new"):
        if _params(entry, message).get("additionalDirectories"):
            raise Violation("the agent takes no additional directories", entry)


@judge("ACCORD-CLIENT-SESSION-004", steps=())
def sessions_are_called_as_the_agent_called_them(evidence: Evidence) -> None:
    for record in evidence.records:
        given: set[str] = set()
        for entry in record.entries:
            message = entry.message if isinstance(entry.message, dict) else {}
            if entry.sent and isinstance(message.get("result"), dict) and "sessionId" in message["result"]:
                given.add(message["result"]["sessionId"])
            if not entry.sent and message.get("method") in {"session/prompt", "session/cancel"}:
                session = _params(entry, message).get("sessionId")
                if session not in given:
                    raise Violation(f"the agent has no session {session!r}", entry)
    _calls(evidence, "session/prompt")


@judge("ACCORD-CLIENT-GATE-001", steps=())
def nothing_is_called_that_the_agent_does_not_tell_of(evidence: Evidence) -> None:
    for _, entry, message in evidence.messages():
        if message.get("method") in GATED[evidence.edition]:
            raise Violation(f"the agent does not say that it has {message['method']}", entry)
    _calls(evidence, "initialize")


@judge("ACCORD-CLIENT-GATE-002", steps=())
def nothing_is_called_that_does_not_exist(evidence: Evidence) -> None:
    known = METHODS[evidence.edition] | GATED[evidence.edition]
    for _, entry, message in evidence.messages():
        method = message.get("method")
        if isinstance(method, str) and method not in known and not method.startswith(("_", "$/")):
            raise Violation(f"there is no method {method}", entry)
    _calls(evidence, "initialize")


NEEDED = {"text": "text", "resource_link": "uri", "image": "data", "audio": "data", "resource": "resource"}

ROOTS: dict[str, set[str]] = {
    "session/new": {"cwd", "mcpServers", "additionalDirectories"},
    "session/prompt": {"sessionId", "prompt"},
    "session/cancel": {"sessionId"},
}

SETS: dict[EditionName, dict[str, set[str | None]]] = {
    "v1": {"str": {None}, "bool": {"boolean"}},
    "v2_june": {"str": {None}, "bool": set()},
    "v2": {"str": {"id"}, "bool": {"boolean"}},
}
"""The type for each kind of value; None for no type at all."""


def _calls_in_all(evidence: Evidence, *methods: str) -> list[tuple[Record, Entry, dict[str, Any]]]:
    found = [each for each in evidence.messages() if each[2].get("method") in methods]
    if not found:
        raise Inconclusive(f"there was no {methods[0]}")
    return found


def _params_or_none(message: dict[str, Any]) -> dict[str, Any]:
    params = message.get("params")
    return params if isinstance(params, dict) else {}


@judge("ACCORD-CLIENT-TURN-001", steps=())
def a_client_stays_until_its_turn_has_ended(evidence: Evidence) -> None:
    if "calm" not in evidence.steps:
        raise Violation("the client never began a turn")
    evidence.step("calm")


@judge("ACCORD-CLIENT-PROMPT-001", steps=())
def a_prompt_is_a_list_of_blocks(evidence: Evidence) -> None:
    for _, entry, message in _calls_in_all(evidence, "session/prompt"):
        prompt = _params_or_none(message).get("prompt")
        if not isinstance(prompt, list):
            raise Violation("a prompt is no list", entry)
        for block in prompt:
            if not isinstance(block, dict) or not isinstance(block.get("type"), str):
                raise Violation("a block of a prompt has no type", entry)
            if NEEDED.get(block["type"], "type") not in block:
                raise Violation(f"a block of the type {block['type']} lacks its content", entry)


@judge("ACCORD-CLIENT-PROMPT-002", steps=())
def a_prompt_has_only_what_the_agent_takes(evidence: Evidence) -> None:
    for _, entry, message in _calls_in_all(evidence, "session/prompt"):
        prompt = _params_or_none(message).get("prompt")
        for block in prompt if isinstance(prompt, list) else []:
            kind = block.get("type") if isinstance(block, dict) else None
            if isinstance(kind, str) and kind not in {"text", "resource_link"}:
                raise Violation(f"the agent does not say that it takes {kind}", entry)


@judge("ACCORD-CLIENT-PROMPT-003", steps=())
def a_prompt_is_not_empty(evidence: Evidence) -> None:
    for _, entry, message in _calls_in_all(evidence, "session/prompt"):
        if _params_or_none(message).get("prompt") == []:
            raise Violation("a prompt is empty", entry)


@judge("ACCORD-CLIENT-META-001", steps=())
def nothing_is_added_to_the_types_of_the_protocol(evidence: Evidence) -> None:
    for _, entry, message in _calls_in_all(evidence, *ROOTS):
        strange = _params_or_none(message).keys() - ROOTS[message["method"]] - {"_meta"}
        if strange:
            raise Violation(f"{message['method']} has the field {min(strange)}", entry)


@judge("ACCORD-CLIENT-CANCEL-003", steps=())
def only_own_requests_are_taken_back(evidence: Evidence) -> None:
    for record, entry, message in _calls_in_all(evidence, "$/cancel_request"):
        id_ = _params_or_none(message).get("requestId")
        asked = [
            each.message["id"]
            for each in record.entries[: entry.place]
            if not each.sent and isinstance(each.message, dict) and {"id", "method"} <= each.message.keys()
        ]
        if not any(type(each) is type(id_) and each == id_ for each in asked):
            raise Violation(f"the client made no request {id_!r}", entry)


@judge("ACCORD-CLIENT-CANCEL-004", steps=("hold",))
def a_cancel_is_a_notification(evidence: Evidence) -> None:
    for _, entry, message in _calls_in_all(evidence, "session/cancel"):
        if "id" in message:
            raise Violation("session/cancel was sent as a request", entry)


@judge("ACCORD-CLIENT-CANCEL-005", steps=("hold",))
def a_client_listens_after_it_has_cancelled(evidence: Evidence) -> None:
    evidence.step("hold")


@judge("ACCORD-CLIENT-CONFIG-002", steps=())
def options_are_set_as_the_edition_says(evidence: Evidence) -> None:
    for _, entry, message in _calls_in_all(evidence, "session/set_config_option"):
        params = _params_or_none(message)
        kinds = SETS[evidence.edition].get(type(params.get("value")).__name__, set())
        if not isinstance(params.get("configId"), str) or params.get("type") not in kinds:
            raise Violation("the option is set in another way than this edition's", entry)
